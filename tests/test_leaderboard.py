"""Which results stand in one table, and their intervals and ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from result_files import ABBR, GREEDY, HALVES, THIRDS, block, write_result, write_three

from gpassk_opencompass.collect import collect
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.record import result_of
from gpassk_opencompass.report.figures.labels import labelled
from gpassk_opencompass.report.leaderboard import Board, boards
from gpassk_opencompass.report.published import as_published
from gpassk_opencompass.report.scores import scores_of
from gpassk_opencompass.sweep.folder import Entry as ManifestEntry
from gpassk_opencompass.sweep.folder import manifest_text


def boards_of(outputs: Path, **options: Any) -> tuple[list[Board], list[str]]:
    return boards(collect([outputs]).results, **options)


def test_runs_are_ranked_by_mg_pass_with_the_greedy_run_beside(tmp_path: Path) -> None:
    """The better one first; a greedy run is no row of its own."""
    write_three(tmp_path)
    [board], left_out = boards_of(tmp_path)
    assert [entry.name for entry in board.entries] == [ABBR.format(2), ABBR.format(1)]
    assert [entry.greedy is not None for entry in board.entries] == [True, False]
    assert left_out == []
    assert (board.k, board.questions, board.problems, board.judge) == (2, 24, 24, 'rule')
    assert board.groups == ['A_cn', 'A_en']


@pytest.mark.parametrize(
    ('other', 'reason'),
    [
        ({'judge': 'llm'}, 'another judge'),
        ({'data': 'e'}, 'other questions or references'),
        ({'judge': 'llm', 'data': 'e'}, 'other questions or references and another judge'),
    ],
)
def test_what_must_not_be_ranked_together_is_not(tmp_path: Path, other: dict[str, str], reason: str) -> None:
    """Two tables of one benchmark, and each says why it stands apart."""
    write_result(tmp_path, ABBR.format(1), THIRDS)
    write_result(tmp_path, ABBR.format(2), HALVES, **other)
    found, _ = boards_of(tmp_path)
    assert [board.title for board in found] == ['MATH500-L5 (part 1)', 'MATH500-L5 (part 2)']
    assert all(board.reason.endswith(reason) for board in found)


def test_runs_of_one_name_are_told_apart_by_k_and_n(tmp_path: Path) -> None:
    """In every table: none takes the place of another; a name that is its own stays as it is."""
    write_result(tmp_path, ABBR.format(1), THIRDS)
    write_result(tmp_path, ABBR.format(1), [2 * c for c in HALVES], n=8)
    write_result(tmp_path, ABBR.format(2), [3] * 12 + [1] * 12)
    [board], _ = boards_of(tmp_path)
    names = [f'{ABBR.format(1)} (k2-r4)', f'{ABBR.format(1)} (k2-r2)']
    assert [entry.name for entry in board.entries] == [*names, ABBR.format(2)]
    assert [entry.model for entry in board.entries] == ['m1', 'm1', 'm2']
    assert list(as_published([(board, scores_of(board))])) == [*names, 'm2']
    assert [run.label for run in labelled(board)] == ['m1 n=8', 'm1 n=4', 'm2']


def test_a_greedy_run_of_another_judge_does_not_stand_beside(tmp_path: Path) -> None:
    """It is left out with a reason."""
    write_result(tmp_path, ABBR.format(1), THIRDS)
    write_result(tmp_path, GREEDY.format(1), [1] * 24, n=1, judge='llm')
    [board], left_out = boards_of(tmp_path)
    assert board.entries[0].greedy is None
    assert 'a greedy run without samples' in left_out[0]


def test_one_hot_sample_is_no_result_of_stability(tmp_path: Path) -> None:
    """n = 1 at a temperature above 0."""
    write_result(tmp_path, ABBR.format(1), [1] * 24, n=1)
    found, left_out = boards_of(tmp_path)
    assert found == []
    assert 'says nothing of stability' in left_out[0]


@pytest.mark.parametrize('name', ['m1', 'm1_l100', 'm1_rs1_l100'])
def test_one_answer_at_an_unknown_temperature_is_not_called_greedy(tmp_path: Path, name: str) -> None:
    """It is left out, and the line says how a greedy run is known."""
    write_result(tmp_path, 'm1', THIRDS)
    write_result(tmp_path, ABBR.format(1), THIRDS, work='v')
    write_result(tmp_path, name, [1] * 24, n=1)
    [board], [line] = boards_of(tmp_path)
    assert [entry.greedy for entry in board.entries] == [None, None]
    assert 'a temperature that is not known' in line
    assert '_t0_' in line


def test_a_manifest_can_say_that_a_run_is_greedy(tmp_path: Path) -> None:
    """Where its name does not."""
    write_result(tmp_path, ABBR.format(1), THIRDS)
    write_result(tmp_path, 'short', [1] * 24, n=1)
    told = ('m1', 'org/m1', 'short', 'd', {'temperature': 0.0}, 'b', (1,), 1, 24, 's', 'h')
    (tmp_path / 'manifest.jsonl').write_text(manifest_text([ManifestEntry('x.py', 't.py', *told)]))
    [board], left_out = boards_of(tmp_path)
    assert board.entries[0].greedy is not None
    assert left_out == []


def test_the_greedy_run_has_the_length_of_the_samples_or_a_note(tmp_path: Path) -> None:
    """The same max_out_len if there is one, else the largest, as a sweep makes it."""
    for name in ('m1_t1.0_l100', 'm1_t1.0_l50', 'm2_t1.0_l50'):
        write_result(tmp_path, name, THIRDS)
    for name in ('m1_t0_l100', 'm1_t0_l200', 'm1_t0_l70', 'm2_t0_l20'):
        write_result(tmp_path, name, [1] * 24, n=1)
    [board], left_out = boards_of(tmp_path)
    notes = {entry.name: entry.greedy_note for entry in board.entries}
    assert notes == {
        'm1_t1.0_l100': '',
        'm1_t1.0_l50': 'greedy run with max_out_len 200',
        'm2_t1.0_l50': 'greedy run with max_out_len 20',
    }
    assert len(left_out) == 1
    assert left_out[0].endswith('another greedy run of its model stands beside its samples')


def test_a_run_with_too_few_samples_for_k_is_left_out(tmp_path: Path) -> None:
    """With n and k in the reason."""
    write_result(tmp_path, ABBR.format(1), THIRDS)
    write_result(tmp_path, ABBR.format(2), [2] * 24, n=2, work='v')
    [board], left_out = boards_of(tmp_path, k=4)
    assert len(board.entries) == 1
    assert left_out[0].endswith('n = 2 is less than k = 4')


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.lists(st.lists(st.integers(0, 4), min_size=24, max_size=24), min_size=1, max_size=5),
    st.lists(st.sampled_from(['rule', 'llm']), min_size=5, max_size=5),
)
def test_every_result_stands_in_exactly_one_place(counts: list[list[int]], judges: list[str]) -> None:
    """In one board or left out; boards are sorted, and ranks hold the places."""
    names = {'dataset': 'MATH500-L5-k2-r2'}
    results = [
        result_of(Path(f'{i}.json'), {'gpassk': block(c, 4, judge=judge, run={**names, 'model': f'm{i}_l1'})})
        for i, (c, judge) in enumerate(zip(counts, judges, strict=False))
    ]
    found, left_out = boards(results)
    placed = [entry.result.path for board in found for entry in board.entries]
    assert len(placed) + len(left_out) == len(results)
    assert sorted(set(placed)) == sorted(placed)
    for board in found:
        means = [float(entry.result.values(Metric.parse('mG-Pass@2')).mean()) for entry in board.entries]
        assert means == sorted(means, reverse=True)
        assert all(best <= worst for best, worst in board.ranks.tolist())
