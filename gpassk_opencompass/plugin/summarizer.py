"""Prints and writes the G-Pass@k table of a work directory, beside the summary of OpenCompass."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from opencompass.summarizers import DefaultSummarizer
from opencompass.summarizers.default import model_abbr_from_cfg_used_in_summarizer
from opencompass.utils import dataset_abbr_from_cfg, get_infer_output_path, get_logger

from ..errors import InputError
from ..marks import changed
from ..record import Result, read
from ..report.frame import provenance_warnings
from ..report.tables import results_table
from ..text import csv_text, markdown, say, show, utc_folder


class GPassKSummarizer(DefaultSummarizer):  # type: ignore[misc]
    """OpenCompass's own summary, and a row a (model, data set) with accuracy and the G-Pass family.

    `summary_<time>.txt`, `.csv` and `.md` are those that OpenCompass writes without it. Ours are
    `<work_dir>/summary/gpassk_<time>.md`, `.csv` with every metric, and `.breakdown.csv` by contest and
    language. Results that are missing are named, so that a failed task is not read as a short table; so are
    those that are not of the config as it is now.
    """

    _stale: set[tuple[str, str]]  # model and data set of each result that is not of the config as it is now

    def summarize(self, output_path: str | None = None, time_str: str | None = None) -> None:
        """Write OpenCompass's summary and ours."""
        time, log = time_str or utc_folder(), get_logger()
        results, missing = self._results()
        try:
            super().summarize(output_path, time)
        except Exception as error:  # whatever it meets in a result, ours is shown all the same
            log.error(f"OpenCompass's own summary failed: {type(error).__name__}: {error}")
        for path, why in missing.items():
            log.error(f'no result at {path}: {why}')
        if not results:
            return
        told = [(f'{one.run.model}@{one.run.dataset}', one) for one in results]
        lines = [f'{name}: {result.signature}' for name, result in told]
        lines += [f'WARNING {name}: {text}' for name, result in told for text in _warnings(result)]
        lines += [f'MISSING {path}: {why}' for path, why in missing.items()]
        tables = [results_table(results, intervals=True), results_table(results, by_group=True)]
        for table in tables:
            show(table)
            say('')
        say(*lines)
        text = '\n\n'.join([*map(markdown, tables), '\n'.join(lines)]) + '\n'
        folder = Path(self.work_dir, 'summary')
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f'gpassk_{time}.md').write_text(text, encoding='utf-8')
        for ending, by_group in (('csv', False), ('breakdown.csv', True)):
            table = results_table(results, every_metric=True, by_group=by_group)
            content = csv_text([table.columns, *table.rows])
            (folder / f'gpassk_{time}.{ending}').write_text(content, encoding='utf-8')
        log.info(f'wrote {folder}/gpassk_{time}.md, .csv and .breakdown.csv')

    def _pick_up_results(self) -> Any:
        """Leave out results that are not of the config as it is now."""
        raw, parsed, *rest = super()._pick_up_results()
        for model, dataset in self._stale:
            for results in (raw, parsed):
                results.get(model, {}).pop(dataset, None)
        return (raw, parsed, *rest)

    def _results(self) -> tuple[list[Result], dict[str, str]]:
        """Read the results of our evaluator; of those that cannot be shown: path, and why."""
        found, missing, self._stale = list[Result](), dict[str, str](), set()
        for model, dataset in product(self.model_cfgs, self.dataset_cfgs):
            evaluator = str((dataset.get('eval_cfg') or {}).get('evaluator', {}).get('type', ''))
            if evaluator and not evaluator.endswith('GPassKEvaluator'):
                continue
            path = get_infer_output_path(model, dataset, str(Path(self.work_dir, 'results')))
            try:
                result = read(Path(path))
            except InputError as error:
                there = f'{error}; OpenCompass would keep it: move it away, and use -r'
                absent = 'its task failed or was not run; see logs/ beside it'
                missing[path] = there if Path(path).exists() else absent
                continue
            if why := changed(result, model, dataset):
                missing[path] = f'{why}; OpenCompass keeps it: start anew, without -r, or move it away'
                name = model_abbr_from_cfg_used_in_summarizer(model)
                self._stale.add((name, dataset_abbr_from_cfg(dataset)))
            else:
                found.append(result)
        return found, missing


def _warnings(result: Result) -> list[str]:
    told = [*result.health.remarks(), *provenance_warnings(result), *result.remarks]
    if unjudged := result.health.unjudged:
        low, high = result.bounds['accuracy']
        told.append(f'{unjudged} samples unjudged: accuracy from {low:.2f} to {high:.2f}, see bounds')
    return told
