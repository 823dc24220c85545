"""The questions and verdicts of our tasks in lm-eval; the harness itself is in tests/harnesses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import comb, isnan
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from gpassk_opencompass.errors import IncompleteError, InputError
from gpassk_opencompass.hosts.lm_eval import TASKS
from gpassk_opencompass.hosts.lm_eval.verdicts import Asked, correct_of, judge_all, values_of
from gpassk_opencompass.judges.protocol import FunctionJudge, Judgement, Pair
from gpassk_opencompass.lighteval_settings import Settings, read_settings
from gpassk_opencompass.question_sets import BENCHMARKS

RIGHT = ('1111', '1010', '0000')


class Exact(FunctionJudge):
    """Says correct where the answer is the reference, and nothing of the answer 13."""

    def __init__(self) -> None:
        super().__init__(lambda pair: None if pair.answer == '13' else pair.answer == pair.reference)


class Failing(FunctionJudge):
    """Is there when it is tried out, and gone when it is needed."""

    def __init__(self) -> None:
        super().__init__(lambda pair: None)

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        raise IncompleteError('the server of the judge is gone')


def settings(judge: str = 'Exact', **more: Any) -> Settings:
    return read_settings({'n': 4, 'k': [2, 4], 'judge': f'{__name__}.{judge}', **more}, {})


def asked(wrong: str = '8') -> list[Asked]:
    """Questions whose right responses are known, all of them different texts."""
    return [
        Asked(
            f'q{number}',
            f'What is {number} + 7?',
            str(number + 7),
            'en',
            [
                f'Try {replica}: \\boxed{{{number + 7 if symbol == "1" else wrong + "0" * replica}}}'
                for replica, symbol in enumerate(row)
            ],
        )
        for number, row in enumerate(RIGHT)
    ]


@pytest.fixture
def said() -> Iterator[list[str]]:
    """The warnings of a test."""
    messages: list[str] = []
    handler = logger.add(messages.append, level='WARNING', format='{message}')
    yield messages
    logger.remove(handler)


def test_each_question_has_its_verdicts_answers_and_metrics() -> None:
    """By the definition of G-Pass@k, in whole numbers."""
    judged = judge_all(asked(), settings())
    assert [answers.verdicts for answers in judged.answers] == list(RIGHT)
    assert list(judged.answers[1]) == ['8', '80', '8', '8000']
    assert judged.judge['name']
    values = [values_of(answers, settings().measures) for answers in judged.answers]
    assert [one['accuracy'] for one in values] == [1.0, 0.5, 0.0]
    assert values[1]['G-Pass@2_1.0'] == pytest.approx(float(Fraction(comb(2, 2), comb(4, 2))))
    assert values[1]['G-Pass@4_0.5'] == 1.0
    assert [one['correct'] for one in values] == [[True] * 4, [True, False, True, False], [False] * 4]
    assert [one['distinct_share'] for one in values] == [1.0] * 3
    assert correct_of([one['correct'] for one in values]) == 6


def test_few_unjudged_samples_count_as_incorrect_and_are_said(said: list[str]) -> None:
    """Up to the tolerance."""
    rows = asked()
    rows[2] = rows[2]._replace(responses=['\\boxed{13}', *rows[2].responses[1:]])
    judged = judge_all(rows, settings(unjudged_tolerance=0.1))
    assert judged.answers[2].verdicts == '?000'
    values = values_of(judged.answers[2], settings().measures)
    assert values['correct'] == [None, False, False, False]
    assert values['unjudged'] == 1
    assert values['accuracy'] == 0.0
    assert any('1 of 12 samples (8.3%) stayed unjudged' in message for message in said)


def test_more_unjudged_samples_than_tolerated_leave_no_score(said: list[str]) -> None:
    """And the verdicts that are there stay in the log."""
    rows = asked()
    rows[2] = rows[2]._replace(responses=['\\boxed{13}', *rows[2].responses[1:]])
    judged = judge_all(rows, settings())
    assert isnan(values_of(judged.answers[0], settings().measures)['G-Pass@4_0.5'])
    assert judged.answers[0].verdicts == '1111'
    assert any('there are no scores' in message for message in said)


def test_a_judge_that_fails_leaves_all_unjudged(said: list[str]) -> None:
    judged = judge_all(asked(), settings('Failing'))
    assert [answers.verdicts for answers in judged.answers] == ['????'] * 3
    assert list(judged.answers[0]) == ['7'] * 4
    assert any('the server of the judge is gone' in message for message in said)


def test_copies_are_warned_of(said: list[str]) -> None:
    rows = [one._replace(responses=[one.responses[0]] * 4) for one in asked()]
    judged = judge_all(rows, settings())
    assert values_of(judged.answers[0], settings().measures)['distinct_share'] == 0.25
    assert any('copies' in message for message in said)


def test_each_benchmark_has_a_task() -> None:
    """A file that says which benchmark it is, and no more."""
    names = [*BENCHMARKS, 'demo', 'questions']
    assert {file.name for file in TASKS.glob('*.yaml')} == {
        f'gpassk_{name.replace("-", "_")}.yaml' for name in names
    }
    for name in names[:-1]:
        text = (TASKS / f'gpassk_{name.replace("-", "_")}.yaml').read_text()
        assert f'benchmark: {name}\n' in text
        assert f'task: gpassk_{name.replace("-", "_")}\n' in text


def rows_of(metadata: dict[str, Any], environment: dict[str, str] | None = None) -> list[dict[str, Any]]:
    pytest.importorskip('datasets', reason='questions are read with datasets')
    from gpassk_opencompass.hosts.lm_eval.rows import task_rows

    return task_rows(metadata, environment or {})


def test_questions_of_ones_own_are_named_by_their_text_or_their_uid(tmp_path: Path) -> None:
    path = tmp_path / 'mine.jsonl'
    lines = [
        {'question': '1 + 1?', 'answer': 2},
        {'problem': '求 1 + 2。', 'answer': '3', 'uid': 'a', 'problem_id': 'p', 'split': 'sums'},
    ]
    path.write_text('\n'.join(json.dumps(line) for line in lines), encoding='utf-8')
    first, second = rows_of({'questions': str(path)})
    assert first['uid'].startswith('mine/')
    assert (first['answer'], first['language'], first['split']) == ('2', 'en', 'all')
    assert first['prompt'].startswith('1 + 1?\n\nWork this out')
    assert (second['uid'], second['problem'], second['split'], second['language']) == ('a', 'p', 'sums', 'cn')
    assert rows_of({}, {'GPASSK_QUESTIONS': str(path)}) == [first, second]


@pytest.mark.parametrize(
    ('lines', 'message'),
    [
        (['{"question": "1 + 1?"}'], "line 1: 'answer' must be a text"),
        (['{"question": "", "answer": "2"}'], "line 1: 'question' must be a text"),
        (
            ['{"question": "a?", "answer": "2", "id": 7}', '{"question": "b?", "answer": "2", "id": 7}'],
            "'7' is",
        ),
        (['{"question": "a?", "answer": true}'], "'answer' must be a text"),
        (['not JSON'], 'line 1: no JSON'),
        ([], 'is empty'),
    ],
    ids=['no answer', 'no question', 'one uid twice', 'no text', 'no JSON', 'empty'],
)
def test_questions_that_cannot_be_asked_are_refused(lines: list[str], message: str, tmp_path: Path) -> None:
    path = tmp_path / 'mine.jsonl'
    path.write_text('\n'.join(lines))
    with pytest.raises(InputError, match=message):
        rows_of({'questions': str(path)})


def test_a_benchmark_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InputError, match='expected one of demo, livemathbench'):
        rows_of({'benchmark': 'aime1983'})


def test_the_demo_needs_no_network() -> None:
    assert {row['split'] for row in rows_of({'benchmark': 'demo'})} == {'ADD', 'MUL', 'MIX'}


def test_a_benchmark_is_read_from_a_folder(tmp_path: Path) -> None:
    lines = [{'problem': f'What is {number} + 1?', 'answer': number + 1} for number in range(30)]
    (tmp_path / 'aime2025.jsonl').write_text('\n'.join(map(json.dumps, lines)))
    rows = rows_of({'benchmark': 'aime2025', 'questions': str(tmp_path)})
    assert [row['answer'] for row in rows] == [str(number + 1) for number in range(30)]
