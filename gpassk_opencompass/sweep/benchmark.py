"""The data set part of a config: LiveMathBench with n samples a question, and how it is judged."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import InputError, TemplateError
from ..judges.build import judge_config
from .axes import Number, read_axis, read_words
from .names import DEFAULT_LANGUAGES, DEFAULT_SPLITS, DatasetName

HUB_PATH = 'opencompass/LiveMathBench'

STANDARD: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    '202412': (DEFAULT_SPLITS, DEFAULT_LANGUAGES),
    '202505': (('all',), ('en',)),
}
"""The splits and languages of a version, for templates that do not say."""

SHARE = Number(least=0, most=1)


@dataclass(frozen=True)
class Benchmark:
    """LiveMathBench as a template wants it.

    `rows` are the splits and languages of each version, `evaluator` the arguments of `GPassKEvaluator`.
    """

    VARIABLES: ClassVar[tuple[str, ...]] = (
        'version',
        'dataset_path',
        'dataset_splits',
        'dataset_languages',
        'cot',
        'eval_urls',
        'eval_model_name',
        'thresholds',
        'judge',
        'unjudged_tolerance',
    )

    path: str
    rows: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
    cot: bool
    evaluator: Mapping[str, Any]

    @property
    def versions(self) -> tuple[str, ...]:
        """The axis of versions."""
        return tuple(self.rows)

    def name(self, version: str, ks: tuple[int, ...], n: int) -> DatasetName:
        """The name of a version with these k and n."""
        splits, languages = self.rows[version]
        return DatasetName(version, ks, n, splits, languages, self.cot)

    def config(self, name: DatasetName, max_out_len: int) -> dict[str, Any]:
        """The data set of one run, as OpenCompass takes it."""
        return {
            'type': 'gpassk_opencompass.LiveMathBenchDataset',
            'abbr': str(name),
            'path': self.path,
            'version': name.version,
            'dataset_splits': list(name.splits),
            'dataset_languages': list(name.languages),
            'cot': name.cot,
            'k': list(name.ks),
            'n': name.n,
            'reader_cfg': {'input_columns': ['prompt'], 'output_column': 'answer'},
            'infer_cfg': {
                'prompt_template': {
                    'type': 'opencompass.openicl.icl_prompt_template.PromptTemplate',
                    'template': {'round': [{'role': 'HUMAN', 'prompt': '{prompt}'}]},
                },
                'retriever': {'type': 'opencompass.openicl.icl_retriever.ZeroRetriever'},
                'inferencer': {'type': 'gpassk_opencompass.SeededGenInferencer', 'max_out_len': max_out_len},
            },
            'eval_cfg': {'evaluator': {'type': 'gpassk_opencompass.GPassKEvaluator', **self.evaluator}},
        }


def read_benchmark(variables: Mapping[str, Any]) -> Benchmark:
    """Read `Benchmark.VARIABLES` of a template.

    Raises:
        TemplateError: a value of the wrong type, or an unknown version without splits and languages.
    """
    path = variables.get('dataset_path', HUB_PATH)
    cot = variables.get('cot', True)
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise TemplateError(f'dataset_path is {path!r}; expected {HUB_PATH!r} or a folder')
    if not isinstance(cot, bool):
        raise TemplateError(f'cot is {cot!r}; expected True or False')
    versions = read_words('version', variables.get('version', '202412'))
    rows = {version: (_splits(variables, version, 0), _splits(variables, version, 1)) for version in versions}
    return Benchmark(os.fspath(path), rows, cot, _read_evaluator(variables))


def _splits(variables: Mapping[str, Any], version: str, part: int) -> tuple[str, ...]:
    name = ('dataset_splits', 'dataset_languages')[part]
    if name in variables:
        return read_words(name, variables[name])
    if version not in STANDARD:
        raise TemplateError(
            f'{name} is missing: version {version!r} has no standard ones, only {", ".join(STANDARD)} have'
        )
    return STANDARD[version][part]


def _read_evaluator(variables: Mapping[str, Any]) -> dict[str, Any]:
    urls, model_name = variables.get('eval_urls', []), variables.get('eval_model_name', '')
    if not isinstance(model_name, str):
        raise TemplateError(f"eval_model_name is {model_name!r}; expected text, '' for the rule judge")
    arguments: dict[str, Any] = {'model_name': model_name, 'url': _read_urls(urls)}
    if 'thresholds' in variables:
        arguments['thresholds'] = list(read_axis('thresholds', variables['thresholds'], SHARE))
    if 'unjudged_tolerance' in variables:
        arguments['unjudged_tolerance'] = SHARE.read(variables['unjudged_tolerance'], 'unjudged_tolerance')
    if 'judge' in variables:
        if not isinstance(variables['judge'], dict):
            raise TemplateError(f"judge is {variables['judge']!r}; expected a dict, e.g. dict(type='rule')")
        arguments['judge'] = variables['judge']
    try:
        judge_config(model_name, arguments['url'], arguments.get('judge'))
    except InputError as error:
        raise TemplateError(str(error)) from error
    return arguments


def _read_urls(raw: Any) -> list[str]:
    if raw is None or raw in ('', [], ()):
        return []
    urls = read_words('eval_urls', raw)
    for url in urls:
        if not url.startswith(('http://', 'https://')):
            raise TemplateError(f'eval_urls has {url!r}; expected http://… or https://…')
    return list(urls)
