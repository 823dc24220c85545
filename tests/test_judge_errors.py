"""What an erring judge makes of G-Pass@k: exact enumeration, integrals and simulation as oracles."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from result_files import block
from scipy.integrate import quad
from scipy.stats import beta, binom

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.judge_errors import (
    ErrorRates,
    by_answers,
    drawn_from,
    mean_reported,
    reported_draws,
    reported_of_beta,
    reported_table,
)
from gpassk_opencompass.metrics import metric_table

MISSED, ACCEPTED = Fraction(1, 8), Fraction(3, 16)
RATES = ErrorRates(float(MISSED), float(ACCEPTED))


def outcomes(groups: Sequence[tuple[int, bool]]) -> Iterator[tuple[Fraction, list[bool]]]:
    """Every way in which groups of answers (size, correct) can be judged, with its probability."""
    for accepted in product([True, False], repeat=len(groups)):
        chance, judged = Fraction(1), []
        for (size, correct), accept in zip(groups, accepted, strict=True):
            share = 1 - MISSED if correct else ACCEPTED
            chance *= share if accept else 1 - share
            judged += [accept] * size
        yield chance, judged


def enumerated(groups: Sequence[tuple[int, bool]], k: int, least: int) -> Fraction:
    """P[at least `least` of k drawn answers are judged correct], draw by draw."""
    total = Fraction(0)
    for chance, judged in outcomes(groups):
        draws = list(combinations(judged, k))
        total += chance * Fraction(sum(sum(draw) >= least for draw in draws), len(draws))
    return total


@pytest.mark.parametrize(('n', 'k'), [(3, 1), (4, 2), (5, 3), (5, 5)])
def test_independent_errors_are_those_of_an_enumeration(n: int, k: int) -> None:
    """Every verdict flipped or not, every draw of k, in rationals."""
    judged = reported_draws(drawn_from(n, k), RATES)
    for c, least in product(range(n + 1), range(k + 1)):
        groups = [(1, place < c) for place in range(n)]
        assert judged[c, least] == pytest.approx(float(enumerated(groups, k, least)), abs=1e-14)


@pytest.mark.parametrize(('n', 'k'), [(3, 1), (4, 2), (6, 5), (6, 6)])
def test_errors_together_are_those_of_an_enumeration(n: int, k: int) -> None:
    """One verdict for all correct answers, one for all incorrect ones."""
    judged = reported_draws(drawn_from(n, k), RATES, together=True)
    for c, least in product(range(n + 1), range(k + 1)):
        expected = enumerated([(c, True), (n - c, False)], k, least)
        assert judged[c, least] == pytest.approx(float(expected), abs=1e-14)


def test_equal_answers_err_alike() -> None:
    """Groups of sizes 3, 1 and 2, and two answers that equal no other, enumerated."""
    answers = ['7', '7', '7', '6', '8', '8', None, None]
    correct = [True, True, True, False, False, False, True, False]
    found = by_answers([answers], [correct], 3, RATES, thresholds=[0.5, 1.0])
    groups = [(3, True), (1, False), (2, False), (1, True), (1, False)]
    assert found['pass@3'] == pytest.approx(float(enumerated(groups, 3, 1)))
    assert found['G-Pass@3_0.5'] == pytest.approx(float(enumerated(groups, 3, 2)))
    assert found['G-Pass@3_1.0'] == pytest.approx(float(enumerated(groups, 3, 3)))
    assert found['accuracy'] == pytest.approx(float(4 * (1 - MISSED) + 4 * ACCEPTED) / 8)


def test_grouping_by_answers_has_both_ends_as_limits() -> None:
    """All answers different: independent errors; two answers: errors together."""
    counts = {6: [0, 2, 5, 6]}
    correct = [[place < c for place in range(6)] for c in counts[6]]
    unlike = [[None] * 6 for _ in correct]
    for answers, together in ((unlike, False), (correct, True)):
        found = by_answers(answers, correct, [2, 4], RATES)
        assert found == pytest.approx(mean_reported(counts, [2, 4], RATES, together=together))


def test_one_percent_of_misses_caps_g_pass_at_16_near_85() -> None:
    """0.99^16 of a perfect model where verdicts err independently, 0.99 where they err together."""
    table = reported_table(48, 16, ErrorRates(0.01))
    assert table['G-Pass@16_1.0'][48] == pytest.approx(0.99**16, abs=1e-15)
    together = reported_table(48, 16, ErrorRates(0.01), together=True)
    assert together['G-Pass@16_1.0'][48] == pytest.approx(0.99, abs=1e-15)
    assert table['accuracy'][48] == together['accuracy'][48] == pytest.approx(0.99)


@pytest.mark.parametrize('together', [False, True])
def test_a_judge_without_errors_reports_the_truth(together: bool) -> None:
    """All metrics of the published table, to the last bit but rounding of sums."""
    truth = metric_table(24, [4, 7, 16])
    found = reported_table(24, [4, 7, 16], ErrorRates(0.0), together=together)
    assert found.keys() - truth.keys() == {'accuracy'}
    for name, column in truth.items():
        np.testing.assert_allclose(found[name], column, atol=1e-14)


@pytest.mark.parametrize('together', [False, True])
def test_a_judge_that_is_always_wrong_reports_the_opposite(together: bool) -> None:
    """What n − c correct answers would give."""
    truth = metric_table(10, 4)
    found = reported_table(10, 4, ErrorRates(1.0, 1.0), together=together)
    for name, column in truth.items():
        np.testing.assert_allclose(found[name], column[::-1], atol=1e-14)


def test_simulated_judging_of_real_sizes_agrees() -> None:
    """20,000 seeded runs of n = 48, k = 16: verdicts flipped one by one, scored by the metric's own table."""
    generator = np.random.default_rng(7)
    rates, table = ErrorRates(0.03, 0.02), metric_table(48, 16)
    for c in (30, 44, 48):
        judged = generator.binomial(c, 0.97, 20_000) + generator.binomial(48 - c, 0.02, 20_000)
        for name, values in reported_table(48, 16, rates).items():
            if name != 'accuracy':
                seen = table[name][judged]
                error = max(float(seen.std()) / math.sqrt(20_000), 1e-6)
                assert abs(values[c] - seen.mean()) < 4 * error


def integrated(chance: Callable[[float], float], a: float, b: float) -> float:
    value, _ = quad(lambda p: chance(p) * beta.pdf(p, a, b), 0, 1, limit=200)
    return float(value)


def test_a_beta_population_is_an_integral_over_the_chance_of_success() -> None:
    """Independent errors turn a chance p into p·(1 − missed) + (1 − p)·accepted."""
    a, b, k, rates = 2.0, 1.5, 5, ErrorRates(0.1, 0.05)
    found = reported_of_beta(a, b, k, rates, thresholds=[0.5, 1.0])
    for name, least in (('pass@5', 1), ('G-Pass@5_0.5', 3), ('G-Pass@5_1.0', 5)):
        expected = integrated(lambda p, m=least: binom.sf(m - 1, k, 0.9 * p + 0.05 * (1 - p)), a, b)
        assert found[name] == pytest.approx(expected, abs=1e-7)
    together = reported_of_beta(a, b, k, rates, thresholds=[1.0], together=True)
    both, missed_only = 0.9 * 0.05, 0.1 * 0.05
    expected = both + integrated(lambda p: 0.9 * 0.95 * p**5 + missed_only * (1 - p) ** 5, a, b)
    assert together['G-Pass@5_1.0'] == pytest.approx(expected, abs=1e-7)


def test_questions_with_different_n_are_averaged() -> None:
    """Each with the table of its own n."""
    rates = ErrorRates(0.1, 0.1)
    found = mean_reported({4: [4, 1], 6: [3]}, 2, rates)
    small, large = reported_table(4, 2, rates), reported_table(6, 2, rates)
    for name in found:
        assert found[name] == pytest.approx((small[name][4] + small[name][1] + large[name][3]) / 3)


@pytest.mark.parametrize(
    ('rates', 'k', 'message'),
    [
        (ErrorRates(-0.1), 2, 'false_negative must be a share'),
        (ErrorRates(0.1, 1.5), 2, 'false_positive must be a share'),
        (ErrorRates(float('nan')), 2, 'false_negative'),
        (ErrorRates(0.1), 9, 'k must be from 1 to n = 4'),
        (ErrorRates(0.1), 0, 'k must be from 1'),
    ],
)
def test_rates_and_sizes_out_of_range_are_refused(rates: ErrorRates, k: int, message: str) -> None:
    """With what was received."""
    with pytest.raises(InputError, match=message):
        reported_table(4, k, rates)


def test_no_question_and_uneven_rows_are_refused() -> None:
    """A mean over nothing is undefined."""
    with pytest.raises(InputError, match='no questions'):
        mean_reported({4: []}, 2, RATES)
    with pytest.raises(InputError, match='same number'):
        by_answers([['1', '2']], [[True]], 1, RATES)
    with pytest.raises(InputError, match='above 0'):
        reported_of_beta(0.0, 1.0, 2, RATES)


def table_of(output: str) -> list[list[str]]:
    lines = [line for line in output.splitlines() if line.startswith('|')]
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in [lines[0], *lines[2:]]]


def test_the_command_shows_the_truth_and_both_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """The perfect model: 100, 0.99^16 and 0.99."""
    assert main(['judge-errors', '--false-negative', '0.01', '--k', '16', '--threshold', '1']) == 0
    headers, *rows = table_of(capsys.readouterr().out)
    column = headers.index('G-Pass@16_1.0')
    assert [(row[2], row[column]) for row in rows] == [
        ('none', '100.00'),
        ('independent', '85.15'),
        ('together', '99.00'),
    ]


def test_the_command_reads_counts_in_lines_and_writes_all_digits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows with and without their own n."""
    counts, out = tmp_path / 'counts.jsonl', tmp_path / 'out.json'
    counts.write_text('{"uid": "a", "c": 4}\n\n{"uid": "b", "n": 6, "c": 3}\n', encoding='utf-8')
    line = ['judge-errors', '--false-negative', '0.1', '--k', '2', '--counts', str(counts), '--n', '4']
    assert main([*line, '-o', str(out)]) == 0
    assert 'wrote' in capsys.readouterr().out
    [_, independent, _] = json.loads(out.read_text(encoding='utf-8'))
    expected = mean_reported({4: [4], 6: [3]}, 2, ErrorRates(0.1), thresholds=[0.5, 1.0])
    assert independent['G-Pass@2_0.5'] == pytest.approx(100 * expected['G-Pass@2_0.5'])


def test_the_command_groups_the_answers_of_a_result_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Equal in normal form is equal; an empty answer equals no other; '?' counts as incorrect."""
    record = {
        'gpassk': block([3, 0], 4, unjudged=[0, 1]),
        'details': {
            'answers': [['7', '7', ' 7', '8'], ['', '', '5', '5']],
            'verdicts': ['1110', '00?0'],
        },
    }
    file = tmp_path / 'result.json'
    file.write_text(json.dumps(record), encoding='utf-8')
    line = ['judge-errors', '--false-negative', '0.125', '--false-positive', '0.1875', '--k', '2']
    assert main([*line, '--threshold', '1', '--counts', str(file)]) == 0
    headers, *rows = table_of(capsys.readouterr().out)
    assert [row[2] for row in rows] == ['none', 'independent', 'by answer', 'together']
    groups = [[(3, True), (1, False)], [(1, False), (1, False), (2, False)]]
    expected = 100 * float(sum(enumerated(group, 2, 2) for group in groups)) / 2
    assert float(rows[2][headers.index('G-Pass@2_1.0')]) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize(
    ('content', 'options', 'message'),
    [
        ('{"c": 3}\n', [], 'has no n'),
        ('{"c": 3, "n": 2}\n', [], r'counts\.jsonl:1: c must be from 0 to n = 2'),
        ('{"c": 1.5, "n": 2}\n', [], 'whole number'),
        ('{"c": true, "n": 2}\n', [], 'integer'),
        ('[]', [], 'holds no counts'),
        ('{"c": 1, "n": 2}\nnot\n', [], r'jsonl:2 is no JSON'),
        ('{"gpassk": {"n": 2}}', [], 'has schema None; this version reads 1'),
        ('{"n": 2, "c": 1}', ['--k', '5'], 'k must be from 1 to n = 2'),
    ],
)
def test_a_file_that_holds_no_counts_is_refused(
    content: str, options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and one line that says which file and row."""
    file = tmp_path / 'counts.jsonl'
    file.write_text(content, encoding='utf-8')
    line = ['judge-errors', '--false-negative', '0.1', '--k', '2', '--counts', str(file), *options]
    assert main(line) == 2
    error = capsys.readouterr().err
    assert error.count('\n') == 1
    assert re.search(message, error)


@pytest.mark.parametrize(
    'options',
    [
        ['--counts', 'nowhere.json'],
        ['--n', '4'],
        ['-o', 'table.txt'],
        ['--beta', '0', '1'],
        ['--false-negative', '1.1'],
        ['--threshold', '2'],
        ['--k', '2', '2'],
    ],
)
def test_arguments_that_cannot_be_used_are_refused(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, a message, no table."""
    assert main(['judge-errors', '--false-negative', '0.1', '--k', '2', *options]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith('gpassk judge-errors: ')
    assert captured.out == ''


def test_the_tables_of_the_documentation_are_what_its_commands_print(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each shell block that is followed by a table."""
    page = (Path(__file__).resolve().parents[1] / 'docs/judge-errors.md').read_text(encoding='utf-8')
    shown = re.findall(r'```sh\ngpassk (.+)\n```\n\n((?:\|.+\n)+)', page)
    assert len(shown) == 2
    for command, table in shown:
        assert main(shlex.split(command)) == 0
        assert capsys.readouterr().out == table
