"""`gpassk plan`: how much to sample."""

import json
import re
from functools import partial

import numpy as np
import pytest
from result_files import ABBR, write_result

from gpassk_opencompass.cli import main
from gpassk_opencompass.metrics import Metric, value_table
from gpassk_opencompass.statistics import least_margin, plan

PROBLEMS = [f'p{number // 2}' for number in range(400)]
COUNTS = np.random.default_rng(3).binomial(32, np.random.default_rng(4).beta(0.5, 1.0, 400))


@pytest.fixture
def pilot(tmp_path):
    """Of 400 questions, two a problem, with 32 answers each, and k = 2."""
    return str(write_result(tmp_path, ABBR.format(1), COUNTS.tolist(), n=32, problems=PROBLEMS))


def rows(text):
    lines = [line.strip('|').split('|') for line in text.splitlines() if line.startswith('|')]
    return [[cell.strip() for cell in line] for line in lines]


@pytest.mark.parametrize(('option', 'goal'), [('--half-width', 'half_width'), ('--margin', 'margin')])
def test_the_table_is_the_plan(option, goal, pilot, capsys):
    metric = partial(value_table, Metric.parse('mG-Pass@16'))
    wanted = {goal: 0.03}
    expected = plan(COUNTS, 32, metric, [16, 64], problems=PROBLEMS, **wanted)
    arguments = ['plan', pilot, option, '3', '--metric', 'mG-Pass@16', '--n', '64', '16']
    assert main(arguments) == 0
    found = rows(capsys.readouterr().out)[-2:]
    assert found == [
        [str(one.n), str(one.questions), str(one.samples), f'{100 * one.removable:.1f} %'] for one in expected
    ]
    assert main([*arguments, '--json']) == 0
    [told] = json.loads(capsys.readouterr().out)['tables']
    assert [row['removable'] for row in told['rows']] == [one.removable for one in expected]


def test_a_margin_says_first_what_no_samples_can_mend(pilot, capsys):
    """Equal runs need so many problems; with those of the pilot they pass from another margin on."""
    assert main(['plan', pilot, '--margin', '1']) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    problems = int(re.search(r'with (\d+) problems', first)[1])
    assert least_margin(problems) <= 0.01 < least_margin(problems - 1)
    assert second.startswith(
        f'With the 200 problems of the pilot they pass from {100 * least_margin(200):.2f} points'
    )


def test_without_a_pilot_it_is_the_most_that_it_can_take(capsys):
    """A model that always or never solves a question: (1.96 · 0.5 / 0.02)² of them; of a margin the least."""
    assert main(['plan', '--half-width', '2', '--margin', '3', '--n', '16']) == 0
    printed = capsys.readouterr().out
    assert 'only with 93 problems or more' in printed
    [_, _, found] = rows(printed)
    assert int(found[1]) == pytest.approx((1.96 * 0.5 / 0.02) ** 2, rel=0.03)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ([], 'expected --half-width or --margin'),
        (['--half-width', '0'], '--half-width 0: expected points from 0.01'),
        (['--half-width', '2', '--n', '8'], 'mG-Pass@16: expected k from 2 (1 for others) to the 8'),
        (['gone.json', '--half-width', '2'], 'gone.json is neither a file nor a folder'),
    ],
)
def test_what_cannot_be_planned_is_refused(arguments, message, capsys):
    assert main(['plan', *arguments]) == 2
    assert message in capsys.readouterr().err
