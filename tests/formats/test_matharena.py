"""What is odd about the tables of MathArena, and what becomes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness_logs import RECORDED, of_questions, rows_in, run_of, runs_of, said, texts, verdicts, write

from gpassk_opencompass import InputError

MATHARENA = RECORDED / 'matharena'


def matharena(tmp_path: Path, **columns: list[Any]) -> Path:
    """The table of one model with other values in its first rows."""
    rows = [row for row in rows_in(MATHARENA / 'sums.jsonl') if row['model_config'] == 'someone/scripted']
    rows.sort(key=lambda row: (row['problem_idx'], row['idx_answer']))
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=False):
            row[name] = value
    return write(tmp_path / 'changed.jsonl', rows)


@pytest.mark.parametrize('name', ['org_sums.parquet', 'sums.jsonl'])
def test_models_of_a_table_of_matharena_are_runs(name: str) -> None:
    """In both of its forms; each row is where it was read."""
    runs = runs_of(MATHARENA / name)
    assert set(runs) == {'someone/scripted', 'someone/copies'}
    run = runs['someone/scripted']
    assert run.judge == {'name': 'MathArena'}
    assert sum(texts(run, 'output_tokens')) == 34_478
    assert sorted(texts(run, 'row') + texts(runs['someone/copies'], 'row')) == list(range(1, 41))


def test_odd_samples_of_matharena_have_rules(tmp_path: Path) -> None:
    """Not graded yet, partial, missing, empty: said in remarks, and never a silent 0."""
    run = run_of(matharena(tmp_path, correct=['TODO Grading', 0.5, True, True], answer=['a', 'b', None, '']))
    assert verdicts(run)['1'] == '?0?1'
    assert of_questions(run, 'state')['1'] == [None, None, 'failed', 'empty']
    assert '1 samples are not yet graded: they are unjudged' in said(run)
    assert '1 verdicts are partial credit' in said(run)
    with pytest.raises(InputError, match=r'changed\.jsonl:1: replica is .a.; expected a whole number'):
        run_of(matharena(tmp_path, idx_answer=['a']))


def test_proofs_have_no_reference_and_keep_their_verdicts(tmp_path: Path) -> None:
    run = run_of(matharena(tmp_path, gold_answer=[None] * 20))
    assert verdicts(run) == {'1': '1111', '2': '1110', '3': '1100', '4': '1000', '5': '0000'}
    assert set(texts(run, 'reference')) == {None}
