"""A data set of a template of the older style, in the lines of a template of today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import TemplateError
from ..judges.build import refuse_extraction
from ..question_sets import LIVE_MATH_BENCH_HUB, STANDARD_LANGUAGES, STANDARD_SPLITS
from .older_models import Fields, class_name

BUILT_IN = 'LiveMathBenchDataset'
BUILT_IN_EVALUATOR = 'LiveMathBenchEvaluator'
"""OpenCompass's classes that are translated."""

_READER = {'input_columns': ['prompt'], 'output_column': 'answer'}
_TEMPLATE = {'round': [{'role': 'HUMAN', 'prompt': '{prompt}'}]}
_HUB_NAMES = frozenset({LIVE_MATH_BENCH_HUB, 'opencompass/LiveMathBench202412'})
"""OpenCompass's names for the data of the hub."""


@dataclass(frozen=True)
class TodaysDataset:
    """A data set of an older template as a template of today has it.

    Args:
        lines: those on benchmark, judge, k and n.
        max_out_len: that of its inferencer, which OpenCompass puts above the model's; None for none.
        changed: what is another than it was, a phrase each.
    """

    lines: Mapping[str, Any]
    max_out_len: int | None
    changed: tuple[str, ...]


def is_built_in(dataset: Mapping[str, Any]) -> bool:
    """Return whether it is judged by OpenCompass's own LiveMathBenchEvaluator."""
    evaluator = _evaluator(dataset)
    return 'type' in evaluator and class_name(evaluator['type']) == BUILT_IN_EVALUATOR


def samples_of(dataset: Mapping[str, Any]) -> Any:
    """Return n; templates of 2024 gave `replication` instead, n = replication × max(k)."""
    replication = dataset.get('replication')
    return dataset.get('n') if replication is None else replication * max(ks_of(dataset), default=1)


def ks_of(dataset: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the k list."""
    k = dataset.get('k')
    return tuple(k) if isinstance(k, (list, tuple)) else () if k is None else (k,)


def check_extraction(dataset: Mapping[str, Any]) -> None:
    """Raise InputError for an evaluator that should have a model extract the answers."""
    refuse_extraction(_evaluator(dataset).get('use_extract_model'))


def todays_dataset(dataset: Mapping[str, Any]) -> TodaysDataset:
    """Translate the config of OpenCompass's LiveMathBench with its own evaluator.

    Raises:
        TemplateError: another class or evaluator, or something that a template of today cannot say; the
            message is the reason.
    """
    kind, abbr = class_name(dataset.get('type')), dataset['abbr']
    if kind != BUILT_IN or not is_built_in(dataset):
        raise TemplateError(f'{abbr} is not {BUILT_IN} with {BUILT_IN_EVALUATOR} of OpenCompass')
    fields = Fields(abbr, dataset)
    path = fields.take('path', '', str)
    fields.forget('type', 'abbr')
    fields.forget_unset('replication')
    fields.take_all('k', 'n', 'replication')
    if (ks := ks_of(dataset)) == () and 'k' in dataset:
        raise TemplateError(f'{abbr}: k is empty, so there is no G-Pass@k')
    fields.expect('reader_cfg', _READER)
    length = _read_inferencer(fields.inner('infer_cfg'))
    judge, judged = _read_evaluator(fields.inner('eval_cfg'))
    hub = not path or path in _HUB_NAMES
    source = path or f"{LIVE_MATH_BENCH_HUB}, where path was '', for which there is no data"
    lines = {
        'k_lists': [sorted(ks) or [1]],
        'n': samples_of(dataset) or 1,
        'benchmarks': ['livemathbench'],
        'dataset_path': LIVE_MATH_BENCH_HUB if hub else path,
        'version': str(fields.take('version', '202412', str, int)),
        'dataset_splits': _take_listed(fields, 'dataset_splits', STANDARD_SPLITS),
        'dataset_languages': _take_listed(fields, 'dataset_languages', STANDARD_LANGUAGES),
        'cot': not fields.forget_unset('cot') and fields.take('cot', True),  # None: no chain of thought
        **judge,
    }
    fields.done()
    changed = [f"{BUILT_IN} of this package in place of OpenCompass's; questions: {source}", judged]
    return TodaysDataset(lines, length, tuple(changed))


def _evaluator(dataset: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = dataset
    for name in ('eval_cfg', 'evaluator'):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _take_listed(fields: Fields, name: str, default: Sequence[Any]) -> list[Any]:
    if not (found := list(fields.take(name, default, list, tuple))):
        raise TemplateError(f'{name} is empty, so there are no questions')
    return found


def _read_inferencer(fields: Fields) -> int | None:
    template, retriever = fields.inner('prompt_template'), fields.inner('retriever')
    inferencer = fields.inner('inferencer')
    fields.done()
    template.expect('template', _TEMPLATE)
    for part, name in (
        (template, 'PromptTemplate'),
        (retriever, 'ZeroRetriever'),
        (inferencer, 'GenInferencer'),
    ):
        if (kind := class_name(part.take('type', f'opencompass.{name}'))) != name:
            raise TemplateError(f'infer_cfg has {kind} in place of {name}')
        if name != 'GenInferencer':
            part.done()
    inferencer.forget('temperature')  # of some of OpenCompass's own configs; it reaches no model
    length: int | None = inferencer.take('max_out_len', None, int)
    inferencer.done()
    return length


def _read_evaluator(fields: Fields) -> tuple[dict[str, Any], str]:
    evaluator = fields.inner('evaluator')
    fields.expect('pred_role', 'BOT', None)
    fields.done()
    name, url = evaluator.take('model_name', '', str), evaluator.take('url', [], str, list, tuple)
    evaluator.forget('type', 'k', 'replication', 'use_extract_model', 'extract_url', 'extract_model_name')
    evaluator.done()
    urls = [url] if isinstance(url, str) else list(url)
    judged = f'GPassKEvaluator in place of {BUILT_IN_EVALUATOR}'
    if name and urls:
        more = 'each sample is judged, not the first of a question for all n'
        return {'eval_urls': urls, 'eval_model_name': name}, f'{judged}; {name} judges as before, but {more}'
    missing = f'URLs of {name}' if name else 'the name of a model' if urls else 'an LLM judge'
    return {
        'eval_urls': [],
        'eval_model_name': '',
    }, f'{judged}; answers are judged by rule, for want of {missing}'
