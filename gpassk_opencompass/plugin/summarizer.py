"""Prints and writes the G-Pass@k table of a work directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opencompass.utils import get_infer_output_path, get_logger

from ..errors import InputError
from ..report.leaderboard import provenance_warnings
from ..report.summary import Run, breakdown_table, results_table, summary_table
from ..results.health import answer_warnings, copies_warnings, undecided_notes
from ..results.read import read
from ..times import utc_folder
from .task import Task, difference


class GPassKSummarizer:
    """A row a (model, data set): accuracy and the G-Pass family of the largest k; then contest × language.

    Below each score stands its 95 % interval, or why there is none. Printed, and written to
    `<work_dir>/summary/summary_<time>.md`; with every metric to `.csv` and `.breakdown.csv` beside it.
    Results that are missing are named, so that a failed task is not read as a short table.

    Args:
        config: the run's config, given by OpenCompass.
        kwargs: `dataset_abbrs`, `summary_groups` and the like, meant for other summarizers, are ignored.
    """

    def __init__(self, config: Any, **kwargs: Any) -> None:
        self._config = config
        self._logger = get_logger()
        if kwargs:
            self._logger.warning(f'GPassKSummarizer ignores {sorted(kwargs)}')

    def summarize(self, time_str: str | None = None) -> None:
        """Read the results below the work directory, print and write the tables."""
        runs, missing = self._runs()
        for path, why in missing.items():
            self._logger.error(f'no result at {path}: {why}')
        if not runs:
            return
        tables = (summary_table(runs), breakdown_table(runs).to_markdown())
        text = ''.join(f'{table}\n\n' for table in tables) + _footnotes(runs, missing)
        print(text)
        time_str = time_str or utc_folder()
        folder = Path(self._config['work_dir'], 'summary')
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in (
            ('md', text),
            ('csv', results_table(runs, every_metric=True).to_csv()),
            ('breakdown.csv', breakdown_table(runs, every_metric=True).to_csv()),
        ):
            (folder / f'summary_{time_str}.{name}').write_text(content, encoding='utf-8')
        self._logger.info(f'wrote {folder}/summary_{time_str}.md, .csv and .breakdown.csv')

    def _runs(self) -> tuple[list[Run], dict[str, str]]:
        """Read the results; of those that cannot be shown: path, and why."""
        runs: list[Run] = []
        missing: dict[str, str] = {}
        results = str(Path(self._config['work_dir'], 'results'))
        for model in self._config['models']:
            for dataset in self._config['datasets']:
                path = get_infer_output_path(model, dataset, results)
                try:
                    result = read(Path(path))
                except InputError as error:
                    missing[path] = _why_missing(path, error)
                    continue
                if (changed := _changed_since(result.record, model)) and not _may_differ(dataset):
                    missing[path] = changed
                else:
                    runs.append(Run(result.model_abbr, result.dataset_abbr, result.record))
        return runs, missing


def _changed_since(record: Any, model: Any) -> str:
    """Say which setting of the model changed since the samples of a result were drawn; '' if none did."""
    known = (record['gpassk'].get('provenance') or {}).get('model')
    found = difference(known, Task(model, {}).model_settings) if known else ''
    return found and (
        f'its samples were drawn with {found.lstrip(".")}; OpenCompass keeps it: start anew, without -r'
    )


def _may_differ(dataset: Any) -> bool:
    """Return whether the config accepts responses that were drawn with other settings of the model."""
    evaluator = (dataset.get('eval_cfg') or {}).get('evaluator') or {}
    return 'settings' in (evaluator.get('accept_changed') or ())


def _why_missing(path: str, error: InputError) -> str:
    if not Path(path).exists():
        return 'its task failed or was not run; see logs/ beside it'
    return f'{error}; OpenCompass would keep it: move it away, and use -r'


def _footnotes(runs: list[Run], missing: Mapping[str, str]) -> str:
    lines = [f'{run.model}@{run.dataset}: {run.record["gpassk"]["signature"]}' for run in runs]
    lines += [f'WARNING {run.model}@{run.dataset}: {text}' for run in runs for text in _warnings(run.record)]
    lines += [f'MISSING {path}: {why}' for path, why in missing.items()]
    return '\n'.join(lines) + '\n'


def _warnings(record: Any) -> list[str]:
    """Return what a reader of the numbers should know before quoting them."""
    block = record['gpassk']
    warnings = [*copies_warnings(block), *answer_warnings(block)]
    if block['unjudged']:
        low, high = block['bounds']['accuracy']
        warnings.append(
            f'{block["unjudged"]} samples unjudged: accuracy from {low:.2f} to {high:.2f}, see bounds'
        )
    return [*warnings, *provenance_warnings(block), *undecided_notes(block)]
