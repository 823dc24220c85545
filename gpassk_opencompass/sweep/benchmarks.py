"""The data set part of a config: which questions, n samples of each, and how they are judged."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import InputError, TemplateError
from ..judges.build import judge_config, served_judge, with_server
from ..naming.names import DatasetName, LiveMathBenchName
from ..question_sets import (
    BENCHMARKS,
    LIVE_MATH_BENCH,
    LIVE_MATH_BENCH_HUB,
    LiveMathBenchRows,
    QuestionSet,
    live_math_bench_questions,
)
from ..serving import read_judge_server
from .axes import Number, read_axis, read_words, unknown, words
from .engines import with_home

ANY_VERSION = LIVE_MATH_BENCH.lower()
"""The benchmark whose rows a template's version, dataset_splits and dataset_languages say."""

BENCHMARK_LINES = words("""
    benchmarks version dataset_path dataset_revision dataset_splits dataset_languages cot
    eval_urls eval_model_name thresholds judge judge_serve unjudged_tolerance most_failed
""")
"""Lines of a template that this module reads."""

SHARE = Number(least=0, most=1)


def benchmark_names() -> tuple[str, ...]:
    """Return what a template's `benchmarks` may hold."""
    return (ANY_VERSION, *BENCHMARKS)


@dataclass(frozen=True)
class TemplateBenchmark:
    """One benchmark of a template; of LiveMathBench, one version.

    Args:
        key: its word in the template's `benchmarks`.
        label: its part of names.
        questions: how many it has, None where that is not known before it is loaded.
        type: its data set class.
        rows: the arguments of that class that say which questions.
        cot: whether the prompts ask for step-by-step reasoning.
        evaluator: arguments of `GPassKEvaluator`.
        inferencer: arguments of `SeededGenInferencer`.
    """

    key: str
    label: str
    questions: int | None
    type: str
    rows: Mapping[str, Any]
    cot: bool
    evaluator: Mapping[str, Any]
    inferencer: Mapping[str, Any] = field(default_factory=dict)

    def name(self, ks: tuple[int, ...], n: int) -> DatasetName:
        """Return the name with these k and n."""
        return DatasetName(self.label, ks, n, self.cot)

    def config(self, name: DatasetName, max_out_len: int) -> dict[str, Any]:
        """Return the data set of one run, as OpenCompass takes it."""
        return {
            'type': self.type,
            'abbr': str(name),
            **self.rows,
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
                'inferencer': {
                    'type': 'gpassk_opencompass.SeededGenInferencer',
                    'max_out_len': max_out_len,
                    **self.inferencer,
                },
            },
            'eval_cfg': {'evaluator': {'type': 'gpassk_opencompass.GPassKEvaluator', **self.evaluator}},
        }


def read_benchmarks(variables: Mapping[str, Any]) -> tuple[TemplateBenchmark, ...]:
    """Read the `BENCHMARK_LINES` of a template: one entry a benchmark, of LiveMathBench one a version.

    Raises:
        TemplateError: a value of the wrong type, a name that is no benchmark's, two entries that are the
            same, a path that no benchmark would read, or an unknown version without splits and languages.
    """
    cot = variables.get('cot', True)
    if not isinstance(cot, bool):
        raise TemplateError(f'cot is {cot!r}; expected True or False')
    keys = tuple(key.lower() for key in read_words('benchmarks', variables.get('benchmarks', ANY_VERSION)))
    for key in keys:
        if key not in benchmark_names():
            raise unknown('benchmark', key, benchmark_names())
    paths = _read_paths(variables, keys)
    revisions = _read_revisions(variables)
    evaluator = _read_evaluator(variables)
    inferencer = {}
    if 'most_failed' in variables:
        inferencer['most_failed'] = SHARE.read(variables['most_failed'], 'most_failed')
    benchmarks = tuple(
        TemplateBenchmark(key, *fields, cot, evaluator, inferencer)
        for key in keys
        for fields in _questions_of(key, _path(paths, key), _path(revisions, key), variables)
    )
    _check_labels(benchmarks)
    return benchmarks


def _questions_of(
    key: str, path: str | None, revision: str | None, variables: Mapping[str, Any]
) -> Iterator[tuple[str, int | None, str, dict[str, Any]]]:
    """Yield (label, questions, type, rows) of one word of `benchmarks`."""
    at = {} if revision is None else {'revision': revision}
    found = None if key == ANY_VERSION else BENCHMARKS[key]
    if isinstance(found, QuestionSet):
        if found.prompts and not variables.get('cot', True):
            raise TemplateError(
                f'cot = False is not for {key!r}, which is asked in its own words: remove one'
            )
        rows = {'benchmark': key, 'path': path or found.source, **at}
        yield found.label, found.questions, 'gpassk_opencompass.BenchmarkDataset', rows
        return
    for version, splits, languages in [found] if found else _live_math_bench_rows(variables):
        yield (
            str(LiveMathBenchName(version, splits, languages)),
            live_math_bench_questions(version, splits, languages),
            'gpassk_opencompass.LiveMathBenchDataset',
            {
                'path': path or LIVE_MATH_BENCH_HUB,
                **at,
                'version': version,
                'dataset_splits': list(splits),
                'dataset_languages': list(languages),
            },
        )


def _live_math_bench_rows(variables: Mapping[str, Any]) -> Iterator[LiveMathBenchRows]:
    given = {
        name: read_words(name, variables[name])
        for name in ('dataset_splits', 'dataset_languages')
        if name in variables
    }
    for version in read_words('version', variables.get('version', '202412')):
        name = f'{ANY_VERSION}-v{version}'
        known = name in BENCHMARKS and BENCHMARKS[name]
        standard = known if isinstance(known, LiveMathBenchRows) else LiveMathBenchRows(version, (), ())
        rows = LiveMathBenchRows(
            version,
            given.get('dataset_splits', standard.splits),
            given.get('dataset_languages', standard.languages),
        )
        for line, given_words in (('dataset_splits', rows.splits), ('dataset_languages', rows.languages)):
            if not given_words:
                versions = {
                    found.version for _, found in BENCHMARKS.each() if isinstance(found, LiveMathBenchRows)
                }
                raise TemplateError(
                    f'{line} is missing: version {version!r} has no standard ones, only '
                    f'{", ".join(sorted(versions))} have'
                )
        yield rows


def _read_paths(variables: Mapping[str, Any], keys: Sequence[str]) -> dict[str, str]:
    """Return benchmark, or the beginning of its name up to a `-` → folder, file or hub name."""
    raw = variables.get('dataset_path', {})
    if isinstance(raw, dict):
        return {
            _path_key(key, 'dataset_path'): _read_path(path, f'dataset_path[{key!r}]')
            for key, path in raw.items()
        }
    path = _read_path(raw, 'dataset_path')
    if path != LIVE_MATH_BENCH_HUB and not any(key.startswith(ANY_VERSION) for key in keys):
        raise TemplateError(
            f'dataset_path is {path!r}, which is for LiveMathBench, and benchmarks does not have it; for '
            f'another write dataset_path = {{{keys[0]!r}: {path!r}}}'
        )
    return {ANY_VERSION: path}


def _read_revisions(variables: Mapping[str, Any]) -> dict[str, str]:
    """Read by benchmark, as `_read_paths`, which commit, branch or tag of the hub's data is meant."""
    raw = variables.get('dataset_revision', {})
    given = {ANY_VERSION: raw} if isinstance(raw, str) else raw
    if not isinstance(given, dict) or not all(isinstance(name, str) and name for name in given.values()):
        raise TemplateError(
            f'dataset_revision is {raw!r}; expected a commit, branch or tag of the hub data set of '
            'LiveMathBench, or a dict of them by benchmark'
        )
    return {_path_key(key, 'dataset_revision'): revision for key, revision in given.items()}


def _read_path(path: Any, where: str) -> str:
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise TemplateError(
            f'{where} is {path!r}; expected a hub name such as {LIVE_MATH_BENCH_HUB!r}, a folder, or a dict '
            'of them by benchmark'
        )
    return os.fspath(path)


def _path_key(key: Any, where: str) -> str:
    known = {name.rsplit('-', cuts)[0] for name in benchmark_names() for cuts in range(name.count('-') + 1)}
    if not isinstance(key, str) or key.lower() not in known:
        raise unknown(f'benchmark in {where}', key, sorted(known))
    return key.lower()


def _path(paths: Mapping[str, str], key: str) -> str | None:
    """Return the path of the longest beginning of the name that has one."""
    hits = [part for part in paths if f'{key}-'.startswith(f'{part}-')]
    return paths[max(hits, key=len)] if hits else None


def _check_labels(benchmarks: Sequence[TemplateBenchmark]) -> None:
    seen: dict[str, str] = {}
    for benchmark in benchmarks:
        if benchmark.label in seen:
            raise TemplateError(
                f'benchmarks has {seen[benchmark.label]!r} and {benchmark.key!r}, which are both '
                f'{benchmark.label}; remove one'
            )
        seen[benchmark.label] = benchmark.key


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
        if 'judge_serve' in variables:
            return {**arguments, **_read_judge_server(variables, arguments)}
        judge_config(model_name, arguments['url'], arguments.get('judge'))
    except InputError as error:
        raise TemplateError(str(error)) from error
    return arguments


def _read_judge_server(variables: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    server = read_judge_server(variables['judge_serve'])
    if arguments['model_name'] or arguments['url']:
        raise TemplateError('both judge_serve and eval_model_name or eval_urls are given: give one of them')
    server = replace(server, path=with_home(server.path))
    judge = arguments.get('judge', {'type': 'llm'})
    served_judge(judge, server.name, 'http://127.0.0.1', server.settings())
    return {'judge': with_server(judge, server.name, ''), 'judge_serve': server.config()}


def _read_urls(raw: Any) -> list[str]:
    if raw is None or raw in ('', [], ()):
        return []
    urls = read_words('eval_urls', raw)
    for url in urls:
        if not url.startswith(('http://', 'https://')):
            raise TemplateError(f'eval_urls has {url!r}; expected http://… or https://…')
    return list(urls)
