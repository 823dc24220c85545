"""Logs that real versions of other programs wrote of scripted models: of each sample the verdict is known.

tests/recorded/README.md says which versions. Two oracles: the script of each log, and an exact
computation of G-Pass@k from it; tests/golden has the counts that the first readers of these logs gave.
"""

from __future__ import annotations

import json
import random
import runpy
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from exact import g_pass
from harness_logs import (
    HARNESSES,
    RECORDED,
    evalscope_symbols,
    evalscope_truth,
    of_questions,
    rows_in,
    runs_of,
    verdicts,
    write,
)  # fmt: skip

from gpassk_opencompass import InputError
from gpassk_opencompass.formats import FORMATS, read_samples
from gpassk_opencompass.formats.format import first_row
from gpassk_opencompass.samples import Run
from gpassk_opencompass.scoring import score

PROGRAMS = ('evalscope', 'inspect', 'lm_eval', 'matharena', 'nemo_skills', 'verl')
LM_EVAL, INSPECT = (
    runpy.run_path(str(HARNESSES / f'make_{name}_logs.py')) for name in ('lm_eval', 'inspect')
)
INSPECT_LOGS = {'whole.eval': 6, 'older.eval': 6, 'whole.json': 6, 'running.eval': 1, 'stopped.eval': 2}
"""Log → its epochs. The last one broke off in the second, with two samples lost."""


def truths() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Path of a log, name of a run in it, uid → symbols of its samples; sorted where their order is lost."""
    right = {str(number): row for number, row in enumerate(LM_EVAL['RIGHT'])}
    for task in ('sums_all', 'sums_class'):
        yield 'lm_eval', f'org/scripted-7b/{task}', right
    for task in ('sums_filters', 'sums_choices'):
        yield 'lm_eval', f'org/scripted-7b/{task}', {uid: row[0] for uid, row in right.items()}
    for name, epochs in INSPECT_LOGS.items():
        lost = {'a/b': '1?', '5': '0?'} if name == 'stopped.eval' else {}
        yield f'inspect/{name}', 'mockllm/model/sums', INSPECT['truth'](epochs) | lost
    for folder in sorted(path.parent for path in RECORDED.glob('evalscope/*/*/truth.json')):
        for benchmark, questions in evalscope_truth(folder).items():
            known = {uid: ''.join(sorted(evalscope_symbols(told))) for uid, told in questions.items()}
            yield str(folder.relative_to(RECORDED)), f'scripted-1/{benchmark}', known
    for benchmark, known in json.loads((RECORDED / 'nemo_skills/truth.json').read_text()).items():
        if benchmark != 'sums-unjudged':
            yield 'nemo_skills', f'scripted-7b/{benchmark}', known
    for name, known in json.loads((RECORDED / 'verl/0.9.1/truth.json').read_text()).items():
        path = Path(name)
        yield f'verl/0.9.1/{name}', f'step {path.stem}/{path.parent}', known
    for name in ('org_sums.parquet', 'sums.jsonl'):
        known = {'1': '1111', '2': '1110', '3': '1100', '4': '1000', '5': '0000'}
        yield f'matharena/{name}', 'someone/scripted', known


TRUTHS = list(truths())
IDS = [f'{path} {name}' for path, name, _ in TRUTHS]


@pytest.mark.parametrize(('path', 'name', 'known'), TRUTHS, ids=IDS)
def test_each_sample_has_the_verdict_of_its_script(path, name, known):
    run = runs_of(RECORDED / path)[name]
    found = verdicts(run)
    if path.startswith('verl'):
        found = {of_questions(run, 'reference')[uid][0]: row for uid, row in found.items()}
    elif path.startswith('evalscope'):
        found = {uid: ''.join(sorted(row)) for uid, row in found.items()}
    assert found == known
    assert run.samples is not None
    n = len(next(iter(known.values())))
    ks = [k for k in (2, 3, 4) if k <= n] or [1]
    result = score(run.samples, run.judge, k=ks, unjudged_tolerance=1)
    counts = [row.count('1') for row in known.values()]
    for k in ks:
        for threshold in (0.0, 0.5, 0.75, 1.0):
            several = f'G-Pass@{k}_{threshold}' if threshold else f'pass@{k}'
            metric = several if k > 1 else 'accuracy'
            assert result.scores()[metric] == pytest.approx(g_pass(counts, n, k, threshold), abs=1e-9)


@pytest.mark.parametrize('folder', PROGRAMS)
def test_a_log_is_recognised_by_its_own_format_alone(folder, tmp_path):
    """Whatever lies in other logs, and in files that are none."""
    contents = (b'', b'{', b'[1]', b'{"index": 0, "sample_score": 3}', b'PK\x03\x04', b'\x00\xff')
    for number, content in enumerate(contents):
        (tmp_path / f'{number}.jsonl').write_bytes(content)
    for path in [*RECORDED.rglob('*.*'), *tmp_path.iterdir()]:
        if path.suffix in {'.jsonl', '.json', '.eval', '.parquet'}:
            own = path.is_relative_to(RECORDED / folder) and path.name != 'truth.json'
            own &= 'reports' not in path.parts
            with suppress(InputError):
                first = first_row(path)
                assert FORMATS[folder.replace('_', '-')].recognises(path, first) == own, path


CUT = [
    'lm_eval/0.4.13/org__scripted-7b/samples_sums_all*',
    'evalscope/1.14.1/scores/reviews/scripted-1/*',
    'nemo_skills/scripted-7b/eval-results/sums-refused/output-rs0.jsonl',
    'verl/0.9.1/agent/3.jsonl',
    'matharena/sums.jsonl',
]


of_each = pytest.mark.parametrize('pattern', CUT, ids=lambda pattern: pattern.split('/')[0])


@of_each
def test_a_file_of_rows_that_is_cut_is_refused_or_ends_at_a_row(pattern, tmp_path):
    """Within a row the error names file and line; no verdict becomes another."""
    [source] = RECORDED.glob(pattern)
    content, drawn = source.read_bytes(), random.Random(pattern)
    path = tmp_path / source.name
    write(path, rows_in(source))
    whole = {tuple(row) for run in read_samples([path]) for row in _samples(run)}
    for size in drawn.sample(range(2, len(content)), 25):
        path.write_bytes(content[:size])
        kept = content[:size].count(b'\n') + (content[size : size + 1] == b'\n')
        if content[:size].splitlines()[-1] != content.splitlines()[len(content[:size].splitlines()) - 1]:
            with pytest.raises(InputError, match=rf'{path.name}(:{kept + 1}| |$|:)'):
                read_samples([path])
        else:
            assert {tuple(row) for run in read_samples([path]) for row in _samples(run)} <= whole


def _samples(run: Run) -> Iterator[list[Any]]:
    assert run.samples is not None
    names = ('uid', 'replica', 'response', 'verdict')
    yield from map(list, zip([run.name] * len(run.samples), *map(run.samples.each, names), strict=True))
