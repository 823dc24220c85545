"""Tables that MathArena's own scripts wrote, as it uploads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from harness_scores import check_scores, damaged, read_all, runs_of, scored, verdicts_of

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.sources.matharena import MathArena
from gpassk_opencompass.sources.source import SOURCES, Place, Responded, Sampled

LOGS = Path(__file__).resolve().parents[1] / 'recorded' / 'matharena'
PARQUET, LINES = LOGS / 'org_sums.parquet', LOGS / 'sums.jsonl'

COUNTS = [4, 3, 2, 1, 0]
"""Right samples of the problems 1 to 5, by construction: those with the least numbers."""
VERDICTS = {'1': '1111', '2': '1110', '3': '1100', '4': '1000', '5': '0000'}


def changed(tmp_path: Path, **columns: Any) -> Path:
    """The table of one model with other values in its first rows."""
    rows = [row for row in map(json.loads, LINES.read_text().splitlines()) if _is_scripted(row)]
    rows.sort(key=lambda row: (row['problem_idx'], row['idx_answer']))
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=False):
            row[name] = value
    path = tmp_path / 'changed.jsonl'
    path.write_text(''.join(json.dumps(row) + '\n' for row in rows))
    return path


def _is_scripted(row: Any) -> bool:
    return 'someone/scripted' in (row.get('model_config'), row.get('model_name'))


@pytest.mark.parametrize('path', [PARQUET, LINES], ids=['parquet', 'lines'])
def test_its_verdicts_are_taken(path: Path, tmp_path: Path) -> None:
    """From both forms; the scores are exact."""
    result = scored(tmp_path / 'out.json', path, '--only', 'scripted', '--k', '2', '4')
    check_scores(result, COUNTS, 4)
    assert result.judge['name'] == 'MathArena'
    assert result.model_abbr == 'someone/scripted'


def test_a_table_of_many_row_groups_gives_each_model_its_rows(tmp_path: Path) -> None:
    """Row groups that hold other models are passed over."""
    path = tmp_path / 'many.parquet'
    table = pyarrow.parquet.read_table(PARQUET)
    pyarrow.parquet.write_table(table, path, row_group_size=3)
    for run in runs_of(path):
        questions = list(run.questions)
        assert len(questions) == 5
        for question in questions:
            assert isinstance(question, Responded)
            for place, (_, row) in enumerate(question.places):
                told = table.slice(row - 1, 1).to_pylist()[0]
                assert (told['model_config'], told['idx_answer']) == (run.model, place)
                assert (told['problem_idx'], told['answer']) == (
                    question.about.uid,
                    question.responses[place],
                )


def test_responses_can_be_judged_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the rule, and beside the verdicts of MathArena, with which it agrees."""
    result = scored(tmp_path / 'out.json', PARQUET, '--only', 'scripted', '--judge', 'rule', '--k', '2', '4')
    check_scores(result, COUNTS, 4)
    assert main(['score', str(PARQUET), '--only', 'scripted', '--judge', 'both']) == 0
    assert 'samples on which they differ' not in capsys.readouterr().out


def test_odd_samples_have_rules(tmp_path: Path) -> None:
    """Not graded yet, partial, missing, empty: said in remarks, and never a silent 0."""
    path = changed(tmp_path, correct=['TODO Grading', 0.5, True, True], answer=['a', 'b', None, ''])
    [run] = runs_of(path)
    first = next(one for one in run.questions if one.about.uid == '1')
    assert isinstance(first, Responded)
    assert first.verdicts == '?0?1'
    assert [one.state for one in first.generations] == [None, None, 'failed', 'empty']
    told = ' | '.join(run.remarks)
    for expected in (
        '1 samples are not yet graded: they are unjudged',
        '1 verdicts are partial credit',
        '1 samples have no response and are unjudged: 1 failed',
    ):
        assert expected in told


def test_proofs_have_no_reference_and_keep_their_verdicts(tmp_path: Path) -> None:
    """Nothing is judged anew without a final answer."""
    [run] = runs_of(changed(tmp_path, gold_answer=[None] * 20))
    assert run.kinds == ('labels',)
    assert verdicts_of(run) == VERDICTS


def test_damage_of_a_table_is_an_error(tmp_path: Path) -> None:
    """Of its bytes, and columns of other types."""
    path = tmp_path / 'damaged.parquet'
    for broken in damaged(PARQUET.read_bytes(), 5, 60):
        path.write_bytes(broken)
        for name, source in SOURCES.each():
            if not isinstance(source, InputError) and name != 'rows':
                source().recognises(Place(path))
        assert isinstance(read_all(path, 'matharena'), (str, list))
    rows = pyarrow.parquet.read_table(PARQUET).to_pylist()
    for column in ('problem_idx', 'idx_answer', 'model_config', 'correct', 'answer', 'gold_answer'):
        for odd in (None, [1], {'a': 1}, 2.5):
            changed_rows = [{**row, column: odd} for row in rows]
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(changed_rows), path)
            assert isinstance(read_all(path, 'matharena'), (str, list))


def test_files_of_others_are_not_recognised(tmp_path: Path) -> None:
    """By what is in them, whatever they are called."""
    (tmp_path / '1.json').write_text('{"idx": 1, "problem": "1 + 1?", "answer": "2"}')
    for path in (tmp_path, tmp_path / '1.json', LOGS):
        assert not MathArena().recognises(Place(path))


def test_texts_are_dropped_when_nobody_looks() -> None:
    """As for many samples."""
    for run in runs_of(PARQUET, texts=False):
        assert all(isinstance(question, Sampled) for question in run.questions)
