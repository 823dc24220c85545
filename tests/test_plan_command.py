"""`gpassk plan`: how much to sample."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from result_files import ABBR, write_result

from gpassk_opencompass.cli import main
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.uncertainty import Population, mean_interval, plan, value_table


def rows(text: str) -> list[list[str]]:
    found = [
        [cell.strip() for cell in line.strip('|').split('|')]
        for line in text.splitlines()
        if line.startswith('|')
    ]
    return [found[0], *found[2:]]


def test_the_table_is_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    """In points; the rows are those of `uncertainty.plan`."""
    arguments = ['--half-width', '3', '--beta', '0.3', '0.3', '--questions', '238', '--translations', '2']
    assert main(['plan', *arguments, '--n', '48', '16']) == 0
    headers, first, second = rows(capsys.readouterr().out)
    assert headers[-2:] == ['± with 238 questions', '± with 476']
    expected = plan(Population(0.3, 0.3, 2, 0.9), Metric.parse('mG-Pass@16'), 0.03, [16, 48], 238)
    for row, one in zip((first, second), expected, strict=True):
        assert row[:3] == [str(one.n), str(one.questions), str(one.samples)]
        assert row[3:5] == [f'{100 * one.within_share:.1f} %', f'{100 * one.half_width:.2f}']
    assert float(second[5]) < float(second[4])


def test_more_samples_never_need_more_questions(capsys: pytest.CaptureFixture[str]) -> None:
    """Down the table, questions and the removable share fall."""
    assert main(['plan', '--half-width', '2', '--k', '8', '--beta', '1', '2']) == 0
    table = rows(capsys.readouterr().out)[1:]
    assert [int(row[0]) for row in table] == [8, 16, 24, 32, 48, 72, 96]
    questions = [int(row[1]) for row in table]
    assert questions == sorted(questions, reverse=True)


def test_a_pilot_tells_hardness_and_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """a and b are said, and the number of questions and their translations are those of the pilot."""
    generator = np.random.default_rng(3)
    counts = generator.binomial(32, generator.beta(0.5, 1.0, 400)).tolist()
    problems = [f'p{number // 2}' for number in range(400)]
    path = write_result(tmp_path, ABBR.format(1), counts, n=32, problems=problems)
    assert main(['plan', '--half-width', '2', '--pilot', str(path)]) == 0
    printed = capsys.readouterr().out
    found = re.search(
        r'400 questions × 32 samples, hardness Beta\((.+), (.+)\), 2 questions a source', printed
    )
    assert found is not None
    assert (float(found[1]), float(found[2])) == pytest.approx((0.5, 1.0), rel=0.25)
    assert '± with 400 questions' in printed


def test_a_plan_that_ends_in_no_interval_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Too few solved problems at this hardness."""
    arguments = [
        '--half-width', '2', '--beta', '0.1', '1.5', '--questions', '60', '--metric', 'G-Pass@16_1.0',
    ]  # fmt: skip
    assert main(['plan', *arguments]) == 0
    assert 'no interval would be printed' in capsys.readouterr().out


@pytest.mark.parametrize(('a', 'b'), [(0.1, 1.5), (3.0, 0.05)])
def test_a_plan_asks_for_as_many_questions_as_an_interval_takes(
    a: float, b: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """Few are solved (unsolved): far more questions than the width alone takes, with a star that says why.

    Simulated with a third more questions, an interval is printed mostly; with a third of them, hardly ever.
    """
    assert main(['plan', '--beta', str(a), str(b), '--half-width', '9', '--k', '16', '--n', '48']) == 0
    printed = capsys.readouterr().out
    found = re.search(r'\| +(\d+) \* \|', printed)
    assert found is not None
    assert '* as many as an interval takes at all' in printed
    questions, generator = int(found[1]), np.random.default_rng(4)

    def refused(count: int) -> int:
        counts = generator.binomial(48, generator.beta(a, b, size=(200, count)))
        values = value_table(Metric.parse('mG-Pass@16'), 48)[counts]
        return sum(bool(mean_interval(run).refused) for run in values)

    assert refused(questions * 4 // 3) < 80
    assert refused(questions // 3) > 160


def test_questions_at_hand_that_are_too_few_get_no_width(capsys: pytest.CaptureFixture[str]) -> None:
    """Fewer than 20 problems; the column of twice as many has its numbers."""
    assert main(['plan', '--beta', '1', '1', '--half-width', '3', '--questions', '15']) == 0
    printed = capsys.readouterr().out
    assert [row[4] for row in rows(printed)[1:]] == ['[a]'] * 7
    assert [row[5] for row in rows(printed)[1:3]] == ['12.80', '12.26']
    assert 'With 15 questions no interval would be printed: 15 problems, fewer than 20.' in printed
    assert 'any number of samples' not in printed


def test_samples_that_make_an_interval_possible_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """With few samples a question the scores vary more, and fewer problems are solved in effect."""
    options = ['--half-width', '2', '--metric', 'G-Pass@16_1.0', '--beta', '0.1', '1.5', '--n', '16', '192']
    assert main(['plan', *options, '--questions', '2000']) == 0
    printed = capsys.readouterr().out
    assert [row[4] == '[a]' for row in rows(printed)[1:]] == [True, False]
    assert 'With 2000 questions and 16 samples a question no interval would be printed' in printed


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['--half-width', '0', '--beta', '1', '1'], '--half-width 0: expected points'),
        (['--half-width', '200', '--beta', '1', '1'], 'less than 100'),
        (['--half-width', 'nan', '--beta', '1', '1'], '--half-width nan'),
        (['--half-width', '2', '--beta', '0.001', '1000'], 'another hardness'),
        (['--half-width', '2', '--beta', '0', '1'], 'two numbers > 0'),
        (['--half-width', '2', '--beta', '1', '1', '--n', '8'], '--n 8 is below k = 16 of mG-Pass@16'),
        (['--half-width', '2', '--beta', '1', '1', '--metric', 'accuracy', '--k', '4'], 'leave --k 4 out'),
        (['--half-width', '2', '--beta', '1', '1', '--k', '1'], 'k of at least 2'),
        (['--half-width', '2', '--beta', '1', '1', '--metric', 'F1'], 'no metric'),
        (['--half-width', '2', '--beta', '1', '1', '--questions', '1'], 'two source problems'),
        (['--half-width', '2', '--beta', '1', '1', '--questions', '-5'], '--questions must be from 1 to'),
        (['--half-width', '2', '--beta', '1', '1', '--questions', '0'], '--questions must be from 1 to'),
        (['--half-width', '2', '--beta', '1', '1', '--questions', '9' * 20], '--questions must be from 1 to'),
        (['--half-width', '2', '--beta', '1', '1', '--translations', '0'], '--translations must be from 1'),
        (['--half-width', '1e-300', '--beta', '1', '1'], 'points from 0.001 to less than 100'),
        (['--half-width', '2', '--pilot', 'gone.json'], 'gone.json is neither a file nor a folder'),
    ],
)
def test_what_cannot_be_planned_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that says what is allowed."""
    assert main(['plan', *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_greedy_pilot_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One answer does not tell a chance."""
    path = write_result(tmp_path, ABBR.format(1), [1, 0] * 12, n=1)
    assert main(['plan', '--half-width', '2', '--pilot', str(path)]) == 2
    assert 'take n ≥ 2' in capsys.readouterr().err
