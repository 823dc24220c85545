"""The word problems of the real demo: right, the same in both languages, and and ever harder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpassk_opencompass.demo import LANGUAGES, QUESTIONS, WORD_SPLITS, WORDS

SOLUTIONS = {
    'EASY': [
        '2 + 3',
        '10 - 4',
        '10 + 5',
        '2 * 5',
        '20 - 10',
        '3 * 10',
        '10 // 2',
        '4 + 4',
        '2 * 12',
        '2 * 6',
    ],
    'MEDIUM': [
        '3 + 4',
        '9 - 5',
        '2 * 5',
        '12 // 3',
        '2 * 60',
        '10 - 6',
        '3 * 6',
        '8 // 2',
        '5 + 3 + 2',
        '2025 - 2015',
    ],
    'HARD': [
        '4 * 7 - 6',
        '50 - 3 * 12',
        '(18 + 24) // 6',
        '2 * (15 + 9)',
        '3 * 45 + 20',
        '80 * 25 // 100',
        '(96 - 16) // 4',
        '7 * 24 + 5',
        '60 * 45 // 60',
        '12 + 2 * 12',
    ],
}
"""How each problem is solved, line by line."""


def read(split: str, language: str) -> list[dict[str, Any]]:
    text = Path(QUESTIONS, WORDS, f'{split}_{language}.jsonl').read_text(encoding='utf-8')
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize('language', LANGUAGES)
@pytest.mark.parametrize('split', WORD_SPLITS)
def test_references_are_what_the_solution_gives(split: str, language: str) -> None:
    """Each reference is the value of the expression that solves the problem."""
    answers = [f'${eval(solution)}$' for solution in SOLUTIONS[split]]
    assert [row['answer'] for row in read(split, language)] == answers


@pytest.mark.parametrize('split', WORD_SPLITS)
def test_line_i_is_one_problem_in_both_languages(split: str) -> None:
    """Both languages give the same numbers, and each is its own language."""
    english, chinese = read(split, 'en'), read(split, 'cn')
    given = [[sorted(re.findall(r'\d+', row['question'])) for row in rows] for rows in (english, chinese)]
    assert given[0] == given[1]
    assert not any(re.search('[\u4e00-\u9fff]', row['question']) for row in english)
    assert all(re.search('[\u4e00-\u9fff]', row['question']) for row in chinese)


def test_rows_are_livemathbenchs_and_differ() -> None:
    """60 different questions with LiveMathBench's four fields."""
    rows = [row for split in WORD_SPLITS for language in LANGUAGES for row in read(split, language)]
    assert len({row['question'] for row in rows}) == len(rows) == 60
    for row in rows:
        assert set(row) == {'question', 'answer', 'question_type', 'options'}
        assert (row['question_type'], row['options']) == ('problem-solving', [])
