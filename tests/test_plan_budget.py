"""`gpassk plan --budget`: what a budget buys, from the records of a pilot."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from result_files import ABBR, block, write_result

from gpassk_opencompass.cli import main
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.results.samples import write_samples
from gpassk_opencompass.uncertainty import Population
from gpassk_opencompass.uncertainty.budgets import BudgetPlan, Question, affordable, offer
from gpassk_opencompass.uncertainty.rarefaction import Answers
from gpassk_opencompass.uncertainty.rivals import Rival

BETA = ['--beta', '0.5', '0.5']
N, QUESTIONS = 8, 60


def drawn(seed: int = 1, questions: int = QUESTIONS) -> list[int]:
    """Correct answers of questions of different hardness."""
    generator = np.random.default_rng(seed)
    found: list[int] = generator.binomial(N, generator.beta(0.6, 0.6, questions)).tolist()
    return found


def pilot(folder: Path, counts: list[int] | None = None, **more: Any) -> Path:
    """A result whose block has more entries."""
    record = {'gpassk': {**block(drawn() if counts is None else counts, N), **more}}
    path = folder / 'pilot.gpassk.json'
    path.write_text(json.dumps(record), encoding='utf-8')
    return path


def plan_rows(capsys: pytest.CaptureFixture[str], *words: object) -> list[dict[str, Any]]:
    """The rows of the table, with all digits."""
    capsys.readouterr()
    assert main(['plan', *map(str, words), '--json']) == 0
    [table] = json.loads(capsys.readouterr().out)['tables']
    rows: list[dict[str, Any]] = table['rows']
    return rows


def said(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """All that is printed."""
    capsys.readouterr()
    assert main(['plan', *map(str, words)]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """The one line on standard error."""
    capsys.readouterr()
    assert main(['plan', *map(str, words)]) == 2
    error = capsys.readouterr().err
    assert error.startswith('gpassk plan: ')
    assert error.count('\n') == 1
    return error


def test_the_table_has_the_numbers_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    """With as many questions as the budget affords at each n."""
    words = ['--budget', '20000samples', *BETA, '--difference', 4, '--margin', 3, '--between-models', 0.9]
    rows = plan_rows(capsys, *words, '--n', 48, 16, '--translations', 2)
    own = Population(0.5, 0.5, 2, 0.9)
    asked = Question(Metric.parse('mG-Pass@16'), difference=0.04, margin=0.03)
    for row, n in zip(rows, (16, 48), strict=True):
        expected = offer(own, Rival(own, 0.9), asked, affordable(20_000, n, 2), n)
        assert (row['samples a question'], row['questions']) == (n, expected.questions)
        assert row['samples in all'] == expected.samples <= 20_000
        assert row['± score'] == pytest.approx(100 * expected.half_width, rel=1e-12)
        assert row['± difference'] == pytest.approx(100 * expected.paired, rel=1e-12)
        assert row['finds 4 points'] == pytest.approx(100 * expected.decides, rel=1e-12)
        assert row['not worse by 3'] == pytest.approx(100 * expected.not_worse, rel=1e-12)


def test_the_best_and_enough_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where their n is none of those that are looked at by themselves."""
    words = ['--budget', '40000samples', *BETA, '--questions', 238]
    rows = plan_rows(capsys, *words)
    own = Population(0.5, 0.5)
    bought = BudgetPlan(own, Rival(own, 0.8), Question(Metric.parse('mG-Pass@16')), 40_000, 238)
    score, difference = bought.enough()
    marked = {row['mark']: row for row in rows if row['mark']}
    assert marked['enough: score']['samples a question'] == score
    assert marked['enough: difference']['samples a question'] == difference
    [best] = [row for mark, row in marked.items() if 'best: difference' in mark]
    assert best['samples a question'] == 40_000 // 238
    assert best['± difference'] == min(row['± difference'] for row in rows)
    assert all(row['questions'] <= 238 and row['samples in all'] <= 40_000 for row in rows)
    text = said(capsys, *words)
    assert f'beyond n = {difference} ({238 * difference:,} samples) the interval of the difference' in text
    assert f'takes {bought.questions_for(best["samples a question"]):,} questions with n = 168.' in text


@pytest.mark.parametrize(
    ('budget', 'options', 'samples'),
    [
        ('8e7tokens', ['--tokens-per-sample', '8000'], 10_000),
        ('80,000,000 TOKENS', ['--tokens-per-sample', '8000'], 10_000),
        ('20GPUh', ['--tokens-per-sample', '7200', '--tokens-per-second', '2000', '--gpus', '2'], 10_000),
        ('20GPUh', ['--tokens-per-sample', '7200', '--tokens-per-second', '1000'], 10_000),
        ('90USD', ['--tokens-per-sample', '1000', '--prompt-tokens', '500', '--price', '2', '8'], 10_000),
        ('80eur', ['--tokens-per-sample', '1000', '--price', '0', '8'], 10_000),
        ('0.3USD', ['--tokens-per-sample', '1', '--price', '0', '100'], 3_000),
    ],
)
def test_a_budget_in_any_unit_affords_what_it_costs(
    budget: str, options: list[str], samples: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The amounts stand in the unit of the budget."""
    words = ['--budget', budget, *BETA, *options, '--n', '16']
    [row] = plan_rows(capsys, *words)
    assert row['questions'] == samples // 16
    assert f'which is {samples:,} samples' in said(capsys, *words)


def test_the_pilot_tells_tokens_hardness_and_questions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mean of its responses, its Beta, and as many questions as the benchmark has."""
    tokens = 500 * N * QUESTIONS
    path = pilot(tmp_path, output_tokens=tokens, prompt_tokens=tokens // 5)
    words = ['--budget', '1e6tokens', '--k', 4, '--pilot', path]
    rows = plan_rows(capsys, *words)
    assert {row['questions'] for row in rows if row['samples a question'] <= 32} == {QUESTIONS}
    assert all(row['tokens'] == 500 * row['samples a question'] * row['questions'] for row in rows)
    text = said(capsys, *words)
    assert '2,000 samples (500 tokens a response, the mean of the pilot)' in text
    assert 'cut off' not in text
    assert '100 a prompt' in said(capsys, *words[2:], '--budget', '5USD', '--price', 1, 2)
    limited = pilot(tmp_path, output_tokens=tokens, limited={'limit': QUESTIONS, 'of': 90, 'samples': N})
    assert '90 questions at hand' in said(capsys, '--budget', '1e6tokens', '--k', 4, '--pilot', limited)
    assert '70 questions at hand' in said(capsys, *words, '--questions', 70)


@pytest.mark.parametrize(('cut', 'told'), [(4, False), (30, True)])
def test_tokens_of_responses_that_were_cut_off_are_said_to_be_too_few(
    cut: int, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Above 1 % of the samples, and only where they count."""
    path = pilot(tmp_path, output_tokens=240_000, truncated=cut)
    words = ['--budget', '1e6tokens', '--k', 4, '--pilot', path]
    assert ('6.2 % of the pilot’s'.replace('’', "'") in said(capsys, *words)) == told
    assert 'cut off' not in said(capsys, *words, '--tokens-per-sample', 900)


def test_a_pilot_without_tokens_names_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And without a pilot there is nobody to ask."""
    words = ['--budget', '1e6tokens', '--k', 4]
    assert '--tokens-per-sample 8000' in refused(capsys, *words, '--pilot', pilot(tmp_path))
    assert 'without a pilot' in refused(capsys, *words, *BETA)
    path = pilot(tmp_path, output_tokens=240_000)
    assert '--tokens-per-second' in refused(capsys, '--budget', '5GPUh', '--k', 4, '--pilot', path)
    assert '--price' in refused(capsys, '--budget', '5USD', '--k', 4, '--pilot', path)
    assert '--prompt-tokens' in refused(
        capsys, '--budget', '5USD', '--price', 1, 2, '--k', 4, '--pilot', path
    )


def judged_pilot(folder: Path, judge: dict[str, Any]) -> Path:
    """Of each question u the answers a, b, …: the first u of 8 samples are alike, the others all differ."""
    counts = drawn()
    record: dict[str, Any] = {'gpassk': {**block(counts, N), 'judge': judge}}
    keys = [f'{u}-{max(0, r - u % N)}' for u in range(QUESTIONS) for r in range(N)]
    columns = {
        'uid': [f'u{u}' for u in range(QUESTIONS) for _ in range(N)],
        'replica': list(range(N)) * QUESTIONS,
        'answer': keys,
        'verdict': ['correct' if r < c else 'incorrect' for c in counts for r in range(N)],
        'reply_key': [key if key[0] != '7' else None for key in keys],
    }
    path = folder / 'judged.gpassk.json'
    write_samples(path, record, columns)
    path.write_text(json.dumps(record), encoding='utf-8')
    return path


def test_judge_calls_are_the_answers_that_an_llm_is_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By rarefaction of the pilot's; what settled itself is not asked about, and beyond n it is said."""
    cascade = {'name': 'cascade', 'first': {'name': 'rule'}, 'second': {'name': 'llm', 'model': 'm'}}
    path = judged_pilot(tmp_path, cascade)
    words = ['--budget', '5000samples', '--k', 4, '--n', 4, 8, 16, '--pilot', path]
    first, whole, beyond = plan_rows(capsys, *words)
    alike = [(u % N + 1, *[1] * (N - 1 - u % N)) if str(u)[0] != '7' else () for u in range(QUESTIONS)]
    answers = Answers(alike, N)
    assert whole['judge calls'] == sum(map(len, alike))
    assert first['judge calls'] == round(QUESTIONS * answers.distinct(4))
    assert beyond['judge calls'] == round(QUESTIONS * answers.distinct(16))
    text = said(capsys, *words)
    assert re.search(r'\| +\d+ \* \|', text)
    assert f'at most {round(QUESTIONS * answers.most(16)):,}' in text
    [row] = plan_rows(capsys, *words[:4], '--n', 4, '--pilot', judged_pilot(tmp_path, {'name': 'rule'}))
    assert 'judge calls' not in row


def test_two_runs_tell_how_alike_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run beside itself sampled again is as like as can be; one of other questions is refused."""
    generator = np.random.default_rng(5)
    chances = generator.beta(0.6, 0.6, 300)
    first, again, other = (generator.binomial(32, p).tolist() for p in (chances, chances, chances[::-1]))
    paths = [
        write_result(tmp_path, ABBR.format(number), counts, n=32)
        for number, counts in enumerate((first, again, other))
    ]
    words = ['--budget', '5000samples', '--k', 4, '--pilot', paths[0], '--against']
    found = re.search(
        r'likeness of the two (\S+) ± (\S+), of their mG-Pass@4 on 300', said(capsys, *words, paths[1])
    )
    assert found is not None
    assert abs(float(found[1]) - 1) <= 2 * float(found[2]) + 0.01
    found = re.search(r'likeness of the two (\S+) ± (\S+),', said(capsys, *words, paths[2]))
    assert found is not None
    assert float(found[1]) <= 3 * float(found[2])
    assert 'is the pilot itself' in refused(capsys, *words, paths[0])
    assert 'fewer than k = 48' in refused(capsys, *words[:2], '--k', 48, *words[4:], paths[1])
    few = write_result(tmp_path, ABBR.format(7), drawn()[:10], n=8)
    assert '10 problems are too few' in refused(capsys, *words, few)
    assert '--pilot' in refused(capsys, *words[:4], *BETA, '--against', paths[1])
    assert 'likeness of the two 0.5, as you say' in said(capsys, *words, paths[1], '--between-models', 0.5)


def test_runs_that_no_gate_compares_are_not_planned_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under another judge, or on other questions; a pilot that was made smaller has a part of them."""
    first = write_result(tmp_path, ABBR.format(1), drawn(1), n=16, judge='rule')
    words = ('--budget', '1e5samples', '--pilot', first, '--against')
    by_llm = write_result(tmp_path, ABBR.format(2), drawn(2), n=16, judge='llm')
    assert 'another judge than that of the pilot' in refused(capsys, *words, by_llm)
    others = write_result(tmp_path, ABBR.format(3), drawn(3), n=16, data='e')
    assert f'{QUESTIONS} questions, {QUESTIONS} of the same name' in (
        said_of := refused(capsys, *words, others)
    )
    assert 'other questions or references than those of the pilot' in said_of
    record = json.loads(others.read_text())
    record['gpassk']['limited'] = {'limit': QUESTIONS, 'of': 2 * QUESTIONS}
    others.write_text(json.dumps(record))
    assert f'compared with {ABBR.format(3)}, n = 16' in said(capsys, *words, others, '--between-models', 0.5)


def test_a_pilot_of_three_questions_is_said_to_be_a_guess(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its three questions have no interval, either."""
    path = pilot(tmp_path, [0, 3, 8])
    text = said(capsys, '--budget', '5000samples', '--k', 4, '--pilot', path)
    assert 'The pilot has 3 problems, fewer than 20: its hardness is a guess.' in text
    assert 'no interval: 3 problems, fewer than 20' in text
    assert 'Best for the score: nothing' in text
    assert 'all alike' in refused(
        capsys, '--budget', '5000samples', '--k', 4, '--pilot', pilot(tmp_path, [8] * 30)
    )


def test_a_greedy_pilot_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As for a half-width."""
    path = write_result(tmp_path, ABBR.format(1), [1, 0] * 12, n=1)
    assert 'take n ≥ 2' in refused(capsys, '--budget', '5000samples', '--pilot', path)


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['--budget', '0tokens'], 'the amount above 0 and finite'),
        (['--budget=-5tokens'], 'the amount above 0 and finite'),
        (['--budget', 'nan'], 'expected an amount and its unit'),
        (['--budget', 'nantokens'], 'expected an amount and its unit'),
        (['--budget', 'inftokens'], 'expected an amount and its unit'),
        (['--budget', '1e999tokens'], 'the amount above 0 and finite'),
        (['--budget', 'abc'], 'expected an amount and its unit'),
        (['--budget', ''], 'expected an amount and its unit'),
        (['--budget', '5'], 'expected an amount and its unit'),
        (['--budget', '5parsecs'], '2e9tokens, 500GPUh'),
        (['--budget', '1.2.3tokens'], 'the amount above 0'),
        (['--budget', '1e30tokens'], 'affords 1e+15 samples or more'),
        (['--budget', '1e300tokens', '--tokens-per-sample', '1e-300'], 'affords 1e+15 samples or more'),
        (['--budget', '5GPUh', '--tokens-per-second', '1e308'], 'affords 1e+15 samples or more'),
        (['--budget', '5000samples', '--k', '2000'], 'k of a budget must be from 1 to 1000'),
        (['--budget', '9000tokens'], 'affords 1 sample of 8,000 tokens: two source problems with'),
        (
            ['--budget', '20samples'],
            'affords 20 samples: two source problems with k = 16 samples of each question take 32',
        ),
        (
            ['--budget', '90samples', '--translations', '3'],
            'two source problems of 3 questions each with k = 16',
        ),
        (
            ['--budget', '1e6samples', '--questions', '1'],
            '1 question at hand: a plan takes two source problems or',
        ),
        (['--budget', '1,5GPUh'], "'1,5GPUh': commas stand before groups of three digits"),
        (['--budget', '2,5e9tokens'], 'a decimal point is a point'),
        (['--budget', '1,00samples'], 'groups of three digits'),
        (['--budget', '5000samples', '--tokens-per-sample', '0', '--n', '8'], '--n 8 is below k = 16'),
        (
            ['--budget', '5e9tokens', '--tokens-per-sample', 'nan'],
            '--tokens-per-sample nan: expected a number',
        ),
        (
            ['--budget', '5GPUh', '--tokens-per-second', '0'],
            '--tokens-per-second 0: expected a number above 0',
        ),
        (['--budget', '5GPUh', '--tokens-per-second', '9', '--gpus', '0'], '--gpus 0: expected'),
        (['--budget', '5USD', '--price', '-1', '2'], '--price -1 2: expected USD a million tokens'),
        (['--budget', '5000samples', '--difference', '0'], '--difference 0: expected a number above 0'),
        (['--budget', '5000samples', '--difference', '100'], '--difference 100: expected points'),
        (['--budget', '5000samples', '--margin', 'nan'], '--margin nan: expected a number above 0'),
        (['--budget', '5000samples', '--level', '0.4'], 'above 0.5 and below 1'),
        (
            ['--budget', '5000samples', '--between-models', '1.5'],
            '--between-models 1.5: expected a correlation',
        ),
        (['--budget', '5000samples', '-o', 'plan.jpg'], '.png, .pdf or .svg'),
        (['--budget', '5000samples', '-o', 'no/such/plan.png'], 'cannot write no/such/plan.png'),
        (['--budget', '5000samples', '--against', '.'], '--against . is a folder; give one result file'),
        (['--half-width', '2', '--margin', '2'], '--margin says something of a budget'),
        (['--half-width', '2', '-o', 'plan.png'], '--output says something of a budget'),
    ],
    ids=' '.join,
)
def test_what_cannot_be_bought_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that says what is allowed."""
    more = (
        [] if '--tokens-per-sample' in words or '--half-width' in words else ['--tokens-per-sample', '8000']
    )
    assert message in refused(capsys, *words, *BETA, *more)


def test_a_folder_as_pilot_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As for a half-width."""
    assert 'is a folder; give one result' in refused(capsys, '--budget', '9000samples', '--pilot', tmp_path)


def test_huge_numbers_are_planned(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing overflows, and the chances are certain."""
    rows = plan_rows(capsys, '--budget', '9e14samples', *BETA)
    assert rows[0]['questions'] == 9 * 10**14 // 16
    assert rows[0]['finds 3 points'] == 100.0
    assert 0 < rows[0]['± score'] < 1e-3


@pytest.mark.parametrize(
    ('form', 'more'),
    [
        ('png', ['--budget', '50000samples', '--questions', '640']),
        ('pdf', ['--budget', '340samples', '--n', '16']),
        ('svg', ['--budget', '100samples']),
        ('png', ['--budget', '9e14samples', '--translations', '2']),
    ],
    ids=['five numbers of questions', 'one point', 'nothing', 'huge'],
)
def test_the_figure_is_drawn_and_the_same_at_every_run(
    form: str, more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is affordable."""
    contents = []
    for name in ('first', 'second'):
        path = tmp_path / f'{name}.{form}'
        assert f'wrote {path}' in said(capsys, *more, *BETA, '-o', path)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    if form == 'png':
        image = Image.open(io.BytesIO(contents[0]))
        assert image.size[0] > 1200
        assert math.isclose(image.info['dpi'][0], 150, abs_tol=0.1)
        assert 'samples buy' in image.info['Title']
