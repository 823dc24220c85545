"""What runs are called beside each other: the settings that differ, whatever the others are called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import made_result, made_sweep
from result_files import HALVES, THIRDS, block, entry_of

from gpassk_opencompass.record import Result, result_of
from gpassk_opencompass.report.figures.labels import columns, labelled
from gpassk_opencompass.report.labels import labels_of
from gpassk_opencompass.report.leaderboard import boards

COUNTS = (0, 1, 3, 4, 6, 8, 8, 2, 5, 7)
LONG = 'organisation-of-models-with-a-name-of-ninety-characters-for-mathematics-instruct-checkpoint'


def texts(results: Sequence[Result]) -> list[str]:
    """The texts of the labels, in the order of the results."""
    return [label.text for label in labels_of(results)]


def named(*names: str) -> list[Result]:
    """Results that tell no more than their names."""
    return [made_result(name, COUNTS, 8, [4]) for name in names]


def recorded(name: str, config: dict[str, Any], n: int = 4, host: str = 'opencompass') -> Result:
    """A result whose record says this of the model's config."""
    counts = THIRDS if n == 4 else [2 * c for c in HALVES]
    run = {'model': name, 'dataset': f'MATH500-L5-k2-r{n // 2}', 'host': host}
    told = {**block(counts, n, run=run), 'provenance': {'model': config}}
    return result_of(Path(name), {'gpassk': told})


def test_a_run_without_settings_leaves_the_labels_of_others_as_they_are() -> None:
    """It has its name alone; the others have what they differ in."""
    sweep = [run for run in made_sweep(['a', 'b'], questions=4) if run.n > 1]
    alone = texts(sweep)
    assert alone[:2] == ['a t=0.3 p=0.8', 'a t=0.3 p=1']
    assert texts([*sweep, *named('gpt-4o', '千问（满血版）')]) == [*alone, 'gpt-4o', '千问（满血版）']


@pytest.mark.parametrize('model', ['Qwen2.5-7B', '数学-模型', '模型（数学）', 'my model', LONG])
def test_settings_are_read_behind_any_name(model: str) -> None:
    """Dots, Chinese, brackets, spaces, 90 characters; and from the record where the name tells none."""
    assert texts(named(f'{model}_t0.3_l64', f'{model}_t0.70_l64')) == [f'{model} t=0.3', f'{model} t=0.7']
    runs = [recorded(model, {'generation_kwargs': {'temperature': t}}) for t in (0.3, 0.7)]
    assert {label.settings['temperature'] for label in labels_of(runs)} == {'0.3', '0.7'}


def test_the_manifest_tells_model_and_settings() -> None:
    """Of runs whose names were cut, or are nobody's."""
    runs = []
    for name, temperature in (('x1', 0.3), ('x2', 0.7)):
        entry = entry_of(name, model=LONG, settings={'temperature': temperature, 'max_out_len': 64})
        [run] = named(name)
        run._manifest = entry
        runs.append(run)
    assert texts(runs) == [f'{LONG} t=0.3', f'{LONG} t=0.7']


def test_models_of_one_name_have_their_owners() -> None:
    """Of two owners on the hub in front, also where the settings would tell the runs apart."""
    runs = [
        recorded('m_l1', {'path': path, 'temperature': heat})
        for path, heat in (('one/m', 0.3), ('two/m', 0.7))
    ]
    assert [label.model for label in labels_of(runs)] == ['one/m', 'two/m']
    assert texts([*runs, recorded('x', {'path': 'one/x'})]) == ['one/m', 'two/m', 'x']


def test_checkpoints_of_one_name_have_the_part_of_the_path_that_is_their_own() -> None:
    """Only where nothing else tells them apart: a model may have been moved."""
    paths = ('/data/step-100/hf', '/data/step-200/hf')
    assert texts([recorded('hf_l1', {'path': path}) for path in paths]) == ['hf step-100', 'hf step-200']
    moved = [
        recorded('hf_l1', {'path': path, 'temperature': t}) for path, t in zip(paths, (0.3, 0.7), strict=True)
    ]
    assert texts(moved) == ['hf t=0.3', 'hf t=0.7']


def test_hosts_and_sizes_are_named_where_nothing_else_differs() -> None:
    """One model by two hosts, and with two n."""
    runs = [recorded('m', {}), recorded('m', {}, host='lighteval'), recorded('m', {}, n=8)]
    assert texts(runs) == ['m opencompass n=4', 'm lighteval', 'm opencompass n=8']
    assert texts(runs[:2]) == ['m opencompass', 'm lighteval']
    assert texts([runs[0], runs[2]]) == ['m n=4', 'm n=8']


def test_a_run_that_was_made_smaller_says_so() -> None:
    """Beside one that was not, also where the models differ."""
    small = recorded('a', {})
    small.limited = {'limit': 3, 'of': 8}
    assert texts([small, recorded('b', {})]) == ['a (3 of 8 questions)', 'b']


def test_a_run_has_one_label_on_all_benchmarks() -> None:
    """Also where k and n differ between them; what is alike in every way has a number."""
    runs = [*named('a_t0.3_l64', 'a_t0.7_l64'), *named('a_t0.3_l64', 'a_t0.7_l64')]
    for run in runs[2:]:
        run.run.dataset = 'AIME2024-k4-r1'
    assert texts(runs) == ['a t=0.3', 'a t=0.7'] * 2
    assert texts(named('a', 'a', 'b')) == ['a', 'a (2)', 'b']
    assert labels_of([]) == []


NAMES = st.sampled_from(
    ['m', 'Qwen2.5-7B', '数学', 'a b', LONG, LONG[:-1] + '2', LONG.replace('math', 'moth')]
)
TAGS = st.sampled_from(['', '_l64', '_t0.3_l64', '_t0.7_l64', '_t0.7_p0.8_l64', '_rs1_l64', '_t0.70_l64'])


@given(st.lists(st.tuples(NAMES, TAGS), min_size=1, max_size=12), st.integers(20, 50))
def test_labels_are_always_different_and_fit(parts: list[tuple[str, str]], width: int) -> None:
    """Whatever stands together; in figures they have at most the width, and keep the settings."""
    results = named(*(name + tags for name, tags in parts))
    told = labels_of(results)
    assert len({label.text for label in told}) == len(results)
    assert all(label.text.startswith(label.model) for label in told)
    [board], _ = boards(results)
    drawn = [run.label for run in labelled(board, width)]
    assert len(set(drawn)) == len(drawn)
    assert max(map(columns, drawn)) <= width
