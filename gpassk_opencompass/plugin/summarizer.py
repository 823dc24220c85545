"""Prints and writes the G-Pass@k table of a work directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opencompass.utils import get_infer_output_path, get_logger

from ..errors import InputError
from ..record import Result, read
from ..report.frame import provenance_warnings
from ..report.tables import breakdown_table, results_table, summary_table
from ..text import Table, csv_text, markdown, utc_folder
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
        results, missing = self._results()
        for path, why in missing.items():
            self._logger.error(f'no result at {path}: {why}')
        if not results:
            return
        tables = (summary_table(results), markdown(breakdown_table(results)))
        text = ''.join(f'{table}\n\n' for table in tables) + _footnotes(results, missing)
        print(text)
        time_str = time_str or utc_folder()
        folder = Path(self._config['work_dir'], 'summary')
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in (
            ('md', text),
            ('csv', _csv(results_table(results, every_metric=True))),
            ('breakdown.csv', _csv(breakdown_table(results, every_metric=True))),
        ):
            (folder / f'summary_{time_str}.{name}').write_text(content, encoding='utf-8')
        self._logger.info(f'wrote {folder}/summary_{time_str}.md, .csv and .breakdown.csv')

    def _results(self) -> tuple[list[Result], dict[str, str]]:
        """Read the results; of those that cannot be shown: path, and why."""
        found: list[Result] = []
        missing: dict[str, str] = {}
        folder = str(Path(self._config['work_dir'], 'results'))
        for model in self._config['models']:
            for dataset in self._config['datasets']:
                path = get_infer_output_path(model, dataset, folder)
                try:
                    result = read(Path(path))
                except InputError as error:
                    missing[path] = _why_missing(path, error)
                    continue
                if (changed := _changed_since(result, model)) and not _may_differ(dataset):
                    missing[path] = changed
                else:
                    found.append(result)
        return found, missing


def _csv(table: Table) -> str:
    return csv_text([table.columns, *table.rows])


def _changed_since(result: Result, model: Any) -> str:
    """Say which setting of the model changed since the samples of a result were drawn; '' if none did."""
    known = result.provenance.get('model')
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


def _footnotes(results: list[Result], missing: Mapping[str, str]) -> str:
    named = [(f'{result.run.model}@{result.run.dataset}', result) for result in results]
    lines = [f'{name}: {result.signature}' for name, result in named]
    lines += [f'WARNING {name}: {text}' for name, result in named for text in _warnings(result)]
    lines += [f'MISSING {path}: {why}' for path, why in missing.items()]
    return '\n'.join(lines) + '\n'


def _warnings(result: Result) -> list[str]:
    """Return what a reader of the numbers should know before quoting them."""
    health = result.health
    warnings = [*health.copies_warnings(), *health.answer_warnings()]
    if health.unjudged:
        low, high = result.bounds['accuracy']
        warnings.append(
            f'{health.unjudged} samples unjudged: accuracy from {low:.2f} to {high:.2f}, see bounds'
        )
    return [*warnings, *provenance_warnings(result), *health.undecided_notes(), *result.remarks]
