"""What is odd about the dumps of verl, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness_logs import RECORDED, Row, of_questions, rows_in, run_of, runs_of, said, texts, verdicts, write

VERL = RECORDED / 'verl' / '0.9.1'


def dumped(asked: str = 'q', score: object = 1.0, **more: object) -> Row:
    return {'input': asked, 'output': 'a', 'gts': '4', 'score': score, 'step': 1, **more}


def test_a_question_of_verl_has_one_uid_in_all_steps() -> None:
    runs = runs_of(VERL / 'validation')
    assert set(runs) == {f'step {step}/validation' for step in (0, 5, 10)}
    first, *others = (list(verdicts(run)) for run in runs.values())
    assert all(uids == first for uids in others)
    run = runs['step 0/validation']
    assert (run.judge, run.written_by) == ({'name': 'verl acc'}, 'verl')
    assert texts(run, 'answer')[12:16] == ['', '2', '', '']  # what verl did not find is none


def test_the_last_output_of_a_rollout_is_its_sample() -> None:
    """Turns before it are told of; the question is the first input."""
    run = run_of(VERL / 'agent')
    assert texts(run, 'response')[1] == 'Attempt 1.\n#### 42\nAnswer: 42'
    assert all(one.endswith('?\nassistant\n') for one in texts(run, 'question'))
    assert '20 earlier turns of rollouts' in said(run)


def test_credit_for_the_format_is_incorrect_unless_one_says_from_where_on() -> None:
    path = VERL / 'format' / '3.jsonl'
    scores = [row['score'] for row in rows_in(path)]
    assert f'{sum(0 < score < 1 for score in scores)} verdicts are partial credit' in said(run_of(path))
    lenient = ''.join(verdicts(run_of(path, correct_from=0.05)).values())
    assert lenient.count('1') == sum(score > 0 for score in scores)


@pytest.mark.parametrize(
    ('scores', 'expected'),
    [
        ([{'acc': True}, {'acc': 0}, {'acc': None}, {'acc': 'True'}], '1011'),
        ([{'score': -1}, {'score': '1.0'}, {'score': '-1.0'}, {'score': '0.5'}], '0100'),
        ([{'score': None}, {'score': 'NaN'}, {'score': False}, {'score': 7}], '??01'),
    ],
    ids=['acc', 'texts', 'others'],
)
def test_acc_counts_before_the_score(scores: list[Row], expected: str, tmp_path: Path) -> None:
    """Numbers of numpy are written as texts by some versions."""
    rows = [{**dumped(output=f'{place}'), **more} for place, more in enumerate(scores)]
    run = run_of(write(tmp_path / '1.jsonl', rows))
    assert list(verdicts(run).values()) == [expected]
    assert ('1 samples have no acc: their score says' in said(run)) == ('acc' in scores[0])


def test_another_score_of_verl_is_taken_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / '1.jsonl', [dumped(reward=0, output='a'), dumped(reward=1, output='b')])
    assert list(verdicts(run_of(path, fields={'correct': 'reward'})).values()) == ['01']


def test_an_input_with_two_ground_truths_is_two_questions(tmp_path: Path) -> None:
    """As where prompts are cut to a length."""
    rows = [dumped(gts=truth, score=truth == '4', output=f'{n}') for n in range(4) for truth in '45']
    run = run_of(write(tmp_path / '1.jsonl', rows))
    assert list(verdicts(run).values()) == ['1111', '0000']
    assert '1 inputs have several ground truths' in said(run)


def test_a_question_that_is_there_twice_is_two_where_verl_has_uids(tmp_path: Path) -> None:
    """And one where it has none."""
    rows = [dumped(uid=f'{key}_{place}_0', output=f'{place}') for key in 'ab' for place in range(2)]
    run = run_of(write(tmp_path / '1.jsonl', rows))
    assert list(verdicts(run).values()) == ['11', '11']
    assert '1 questions are there several times' in said(run)
    rows = [dumped(uid=name, output=f'{place}') for place, name in enumerate('aabb')]
    run = run_of(write(tmp_path / '1.jsonl', rows))
    assert list(verdicts(run).values()) == ['1111']


@pytest.mark.parametrize('order', ['questions', 'rounds'])
@pytest.mark.parametrize('size', [1, 3])
def test_uids_that_only_end_in_two_numbers_hide_no_question(order: str, size: int, tmp_path: Path) -> None:
    """As those of a benchmark with a year: question 1 is no later turn of question 0."""
    rows = [
        dumped(f'{place}?', place % 2, gts=f'{place}', uid=f'aime_2024_{place}', output=f'{place}, {draw}')
        for place in range(4)
        for draw in range(size)
    ]
    if order == 'rounds':
        rows = [one for draw in range(size) for one in rows[draw::size]]
    run = run_of(write(tmp_path / '1.jsonl', rows))
    assert list(verdicts(run).values()) == ['0' * size, '1' * size] * 2
    expected = [[f'{place}, {draw}' for draw in range(size)] for place in range(4)]
    assert list(of_questions(run, 'response').values()) == expected
    assert 'earlier turns' not in said(run)
