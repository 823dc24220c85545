"""Greedy runs are found by what they were drawn with, whatever they are called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from result_files import THIRDS, block, write_result

from gpassk_opencompass.collect import collect
from gpassk_opencompass.record import Result, result_of
from gpassk_opencompass.report.frame import boards

RIGHT_HALF = [1, 0] * 12
"""Of one answer to each question."""


def made(name: str, n: int, model: dict[str, Any] | None = None, run: dict[str, Any] | None = None) -> Result:
    """A result of this name whose record says this of the model's config, or of another program's run."""
    counts = RIGHT_HALF if n == 1 else THIRDS
    dataset = 'MATH500-L5-k1-r1' if n == 1 else 'MATH500-L5-k2-r2'
    told = block(counts, n, run={'model': name, 'dataset': dataset, **(run or {})})
    return result_of(Path(name), {'gpassk': told | {'provenance': {'model': model or {}}}})


def beside(*results: Result) -> dict[str, str | None]:
    """Each sampled run with the greedy one that stands beside it, by their names."""
    found, _ = boards(results)
    entries = [entry for board in found for entry in board.entries]
    return {e.result.run.model: e.greedy.run.model if e.greedy else None for e in entries}


@pytest.mark.parametrize(
    ('model', 'temperature'),
    [('Qwen2.5-7B', '0'), ('通义千问2.5（数学）', '0.0'), ('my model:8b', '0-0'), ('Qwen/' + 90 * 'x', '0')],
)
def test_a_greedy_run_is_found_whatever_its_model_is_called(
    tmp_path: Path, model: str, temperature: str
) -> None:
    """Dots, Chinese, spaces, slashes, and a temperature that somebody wrote by hand."""
    write_result(tmp_path, f'{model}_t0.7_l64', THIRDS)
    write_result(tmp_path, f'{model}_t{temperature}_l64', RIGHT_HALF, n=1)
    (tmp_path / 'w' / '20260101_000000' / 'configs').mkdir()
    [board], left_out = boards(collect([tmp_path]).results)
    assert left_out == []
    [entry] = board.entries
    assert (entry.result.model, entry.result.sampling['temperature']) == (model, 0.7)
    assert entry.greedy is not None
    assert entry.greedy.sampling['temperature'] == 0


@pytest.mark.parametrize(
    'config',
    [
        {'temperature': 0}, {'temperature': 0.0, 'top_p': 0.9},
        {'generation_kwargs': {'temperature': 0.0}},
        {'generation_kwargs': {'do_sample': False, 'temperature': 0.6}},
        {'gen_config': {'do_sample': False, 'repetition_penalty': 1.0}},
        {'temperature': 1.0, 'top_p': 1.0, 'top_k': 1}, {'extra_body': {'top_k': 1}, 'temperature': 1.0},
    ],
)  # fmt: skip
def test_the_record_says_that_a_run_is_greedy(config: dict[str, Any]) -> None:
    """As each engine says it, of a model that somebody named by hand: its path tells which it is of."""
    path = {'path': 'org/model'}
    hot = made('sampled 数学', 4, {**path, 'temperature': 0.7})
    assert beside(hot, made('greedy.1', 1, {**path, **config})) == {'sampled 数学': 'greedy.1'}


def test_what_another_program_says_of_its_run_counts() -> None:
    hot = made('m', 4, run={'settings': {'temperature': 1.0}})
    assert beside(hot, made('m', 1, run={'settings': {'temperature': 0.0, 'max_tokens': 64}})) == {'m': 'm'}


def test_a_name_does_not_make_a_run_greedy() -> None:
    hot, named = made('m_t1.0_l64', 4), made('m_t0_l64', 1, {'temperature': 0.7})
    assert beside(hot, named) == {'m_t1.0_l64': None}
    assert not named.greedy


def test_greedy_runs_of_two_owners_are_not_exchanged() -> None:
    runs = [
        made(f'{owner}{kind}_l64', n, {'path': f'{owner}/m', 'temperature': temperature})
        for owner in ('one', 'two')
        for kind, n, temperature in (('-hot', 4, 1.0), ('-cold', 1, 0.0))
    ]
    third = made('one-cold_l64', 4, {'path': 'three/m', 'temperature': 1.0})
    assert beside(*runs, third) == {
        'one-hot_l64': 'one-cold_l64',
        'two-hot_l64': 'two-cold_l64',
        'one-cold_l64': None,
    }


def test_a_model_that_was_moved_keeps_its_greedy_run() -> None:
    hot = made('m_t1.0_l64', 4, {'path': '/data/m', 'temperature': 1.0})
    cold = made('m_t0_l64', 1, {'path': '/scratch/m', 'temperature': 0.0})
    assert beside(hot, cold) == {'m_t1.0_l64': 'm_t0_l64'}


def test_settings_are_those_of_the_manifest_the_record_and_the_name_in_this_order() -> None:
    result = made('m_t0.5_p0.8_l64', 4, {'temperature': 0.7, 'top_k': 50, 'random_seed': True})
    assert result.sampling == {'max_out_len': 64, 'temperature': 0.7, 'top_p': 0.8, 'top_k': 50}
