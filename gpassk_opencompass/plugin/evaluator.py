"""The G-Pass@k evaluator for OpenCompass."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from opencompass.openicl.icl_evaluator import BaseEvaluator
from opencompass.registry import ICL_EVALUATORS

from ..errors import IncompleteError, InputError
from ..judges.build import build_judge, judge_config
from ..metrics import DEFAULT_THRESHOLDS, metric_names
from ..scoring import Samples, score

HOST_PACKAGES = ('opencompass', 'numpy', 'datasets', 'transformers', 'torch')

CHINESE = re.compile(r'[\u4e00-\u9fff]')


@ICL_EVALUATORS.register_module()
class GPassKEvaluator(BaseEvaluator):  # type: ignore[misc]
    """Judges all n × Q responses together and reports G-Pass@k, mG-Pass@k, pass@k and accuracy.

    The result holds percentages under the published keys, the same for each `{split}_{language}/`,
    `details` (a column each, a question an entry) and `gpassk` (counts, bounds, warnings, signature); see
    `gpassk_opencompass.scoring.score`. With n = 1 it is the accuracy.

    Args:
        model_name, url: of an LLM judge, as for OpenCompass's own evaluator; short for
            `judge=dict(type='llm', model=model_name, urls=url)`. Its verdicts are kept in
            `<work_dir>/<time>/verdicts`, so that a stopped evaluation asks, with -r, for the rest only.
        thresholds: the τ of G-Pass@k_τ.
        judge: `dict(type='rule' | 'llm' | 'cascade', …)`, or the dotted path of any class with the methods
            of `judges.Judge`; default: the rule judge.
        unjudged_tolerance: the largest share of samples that may stay unjudged.
        pred_postprocessor: see OpenCompass; applied to each response before anything else.

    Raises:
        InputError: responses that are no text, or a data set whose rows cannot be told apart.
        IncompleteError: predictions are missing, or too many samples stayed unjudged. As it is raised,
            no result file is written, and the same command with -r tries again.
    """

    def __init__(
        self,
        model_name: str = '',
        url: str | Sequence[str] = (),
        thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
        judge: Mapping[str, Any] | None = None,
        unjudged_tolerance: float = 0.01,
        pred_postprocessor: Any = None,
    ) -> None:
        super().__init__(pred_postprocessor=pred_postprocessor)
        metric_names(1, thresholds)  # refuses what is no threshold, before anything is judged
        if not 0 <= unjudged_tolerance <= 1:
            raise InputError(f'unjudged_tolerance = {unjudged_tolerance!r}: expected a share from 0 to 1')
        self._thresholds = tuple(thresholds)
        self._judge_config = judge_config(model_name, url, judge)
        self._tolerance = unjudged_tolerance

    def evaluate(
        self, k: int | Sequence[int], n: int, original_dataset: Any, **score_kwargs: Any
    ) -> dict[str, Any]:
        """Called by OpenCompass with everything that `score` names."""
        predictions = score_kwargs['predictions']
        _check_count(predictions, original_dataset)
        if all(isinstance(prediction, str) for prediction in predictions):
            predictions = self.pred_postprocess(predictions)
        samples = samples_of(original_dataset, predictions, score_kwargs.get('references'))
        judge = build_judge(self._with_store(self._judge_config))
        try:
            return score(
                samples,
                judge,
                n=n,
                k=k,
                thresholds=self._thresholds,
                unjudged_tolerance=self._tolerance,
                versions={package: version(package) for package in HOST_PACKAGES},
            )
        finally:
            judge.close()

    def score(self, predictions: Any, references: Any, test_set: Any) -> dict[str, Any]:
        """The same for a caller that knows no n: as many samples a question as there are rows."""
        n = max(Counter(_uids(test_set)).values(), default=1)
        return self.evaluate(n, n, test_set, predictions=predictions, references=references)

    def _with_store(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The config with LLM verdicts kept in `<work_dir>/<time>/verdicts`, where it says nothing else."""
        parts = {key: self._with_store(part) for key, part in config.items() if isinstance(part, Mapping)}
        full = {**config, **(parts if config.get('type') == 'cascade' else {})}
        if config.get('type') == 'llm' and hasattr(self, '_out_dir'):
            # OpenCompass sets _out_dir to <work_dir>/<time>/results/<model>/<dataset>.
            full.setdefault('store', str(Path(self._out_dir).parents[2] / 'verdicts'))
        return full


def samples_of(rows: Any, responses: Sequence[Any], references: Sequence[str] | None) -> Samples:
    """The columns that scoring needs, from this package's data set or, as far as it goes, from another."""
    columns = {name: rows[name] for name in rows.column_names}
    uids = _uids(rows)
    questions = columns.get('question') or columns.get('problem') or columns.get('prompt')
    references = references if references is not None else columns.get('answer')
    if questions is None or references is None:
        raise InputError(f'need columns question and answer (or references), got {rows.column_names}')
    return Samples(
        uid=uids,
        replica=columns.get('replica') or _occurrences(uids),
        question=questions,
        reference=references,
        response=responses,
        split=columns.get('split') or ['all'] * len(uids),
        language=columns.get('language') or [_language_of(question) for question in questions],
        problem=columns['problem'] if 'uid' in columns and 'problem' in columns else uids,
    )


def _uids(rows: Any) -> list[str]:
    """Without our own column: the two that OpenCompass gives every row, the same for all replicas."""
    names = rows.column_names
    if 'uid' in names:
        return list(rows['uid'])
    if {'subdivision', 'idx'} <= set(names):
        return [f'{part}/{idx}' for part, idx in zip(rows['subdivision'], rows['idx'], strict=True)]
    raise InputError(f'rows have neither uid nor subdivision and idx, only {names}: cannot group replicas')


def _occurrences(uids: Sequence[str]) -> list[int]:
    seen: Counter[str] = Counter()
    replicas = []
    for uid in uids:
        replicas.append(seen[uid])
        seen[uid] += 1
    return replicas


def _language_of(question: str) -> str:
    return 'cn' if CHINESE.search(question) else 'en'


def _check_count(predictions: Any, rows: Any) -> None:
    count = 0 if predictions is None else len(predictions)
    if count == len(rows):
        return
    raise IncompleteError(
        f'{count} predictions for {len(rows)} rows, so no result was written. A shard of the predictions is '
        'missing or broken: run the same command with -r (and the same --max-num-workers) to generate what '
        'is missing. If the data set changed under the same abbr, delete .cache/dataset_size.json first and '
        'use a new work directory.'
    )
