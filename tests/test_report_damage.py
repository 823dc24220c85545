"""Damaged result files: each is refused with its reason, or a whole report can be made of it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from damaged_records import damaged_records, results_with
from hypothesis import HealthCheck, given, settings
from result_files import ABBR, HALVES, THIRDS, block

from gpassk_opencompass.record import result_of
from gpassk_opencompass.report import frame
from gpassk_opencompass.report.leaderboard import boards
from gpassk_opencompass.report.page import write_page
from gpassk_opencompass.report.scores import read_scores, scores_of
from gpassk_opencompass.report.tables import write_scored

SOME = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.slow
@SOME
@given(damaged_records())
def test_a_damaged_record_is_refused_or_makes_whole_tables(record: dict[str, Any]) -> None:
    """Nothing but an InputError, whatever part is replaced or missing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found, left_out = boards(results_with(record, folder))
        write_scored([(board, scores_of(board)) for board in found], folder, left_out, average=True)
        assert {score.questions for score in read_scores(folder / 'scores.csv') if not score.group} <= {24}


@pytest.mark.slow
@SOME
@given(damaged_records())
def test_a_damaged_record_is_refused_or_makes_a_whole_page(record: dict[str, Any]) -> None:
    """The page reads more of a record than the tables."""
    with tempfile.TemporaryDirectory() as name:
        found, _ = frame.boards(results_with(record, Path(name)))
        if found:
            write_page(found, frame.frame(found).itertuples(), Path(name) / 'report')


def test_a_run_on_other_questions_under_the_same_hash_is_left_out(tmp_path: Path) -> None:
    """The questions that most have stay, wherever the other run would rank."""
    made = []
    for number, counts in enumerate((HALVES, THIRDS, [4] * 24)):
        one = block(counts, 4, run={'model': ABBR.format(number), 'dataset': 'MATH500-L5-k2-r2'})
        if number == 2:
            one['counts']['uid'] = [f'other{row}' for row in range(24)]
        made.append(result_of(tmp_path / f'{number}.json', {'gpassk': one}))
    [board], [line] = boards(made)
    assert [entry.name for entry in board.entries] == [ABBR.format(0), ABBR.format(1)]
    assert line.startswith(str(tmp_path / '2.json'))
    assert 'its questions (counts.uid) are not those' in line
