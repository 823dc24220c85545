"""Cover@τ, Bayes@N, consistency, std@m and the tail profile: enumeration, scipy and simulation as oracles."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb
from pathlib import Path

import numpy as np
import pytest
from made_results import board_of, made_result
from scipy import stats

from gpassk_opencompass import InputError
from gpassk_opencompass.cli import main
from gpassk_opencompass.lighteval_settings import read_settings
from gpassk_opencompass.metrics import ACCURACY, Metric, g_pass_at_k
from gpassk_opencompass.report.stability import stability_section, write_stability
from gpassk_opencompass.uncertainty import (
    Interval,
    Stability,
    TailProfile,
    fit_population,
    mean_interval,
    rerun_interval,
    stability,
    tail_profile,
    value_table,
)
from gpassk_opencompass.uncertainty.intervals import quantile
from gpassk_opencompass.uncertainty.planning import fit_histogram
from gpassk_opencompass.uncertainty.profile import profile_of
from gpassk_opencompass.uncertainty.stability import DOUBT, cover_bounds, samples_for_cover, stability_of

COUNTS = [0, 1, 3, 4, 6, 8, 8, 2, 5, 7, 8, 0, 8, 8, 1, 6, 4, 0, 3, 8, 8, 7, 5, 0, 2, 6]


def named(c: Sequence[int], n: int, taus: Sequence[float] = (0.5, 0.75, 1.0)) -> dict[str, Stability]:
    return {row.name: row for row in stability(c, n, thresholds=taus)}


@pytest.mark.parametrize('k', [2, 3, 5])
def test_consistency_is_the_share_of_draws_with_one_verdict(k: int) -> None:
    """Of all subsets of k of the n answers."""
    n = 6
    for c, value in enumerate(value_table(Metric.consistency_at(k), n)):
        verdicts = [1] * c + [0] * (n - c)
        alike = [len(set(drawn)) == 1 for drawn in combinations(verdicts, k)]
        assert value == pytest.approx(sum(alike) / len(alike), abs=1e-15)


@pytest.mark.parametrize('p', [Fraction(1, 7), Fraction(1, 2), Fraction(9, 10)])
def test_consistency_and_the_variance_between_reruns_are_unbiased(p: Fraction) -> None:
    """E over c ~ Binomial(n, p), in rationals: p² + (1 − p)², and p(1 − p)/n for the variance of c/n."""
    n = 7
    chances = [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    agree = [Fraction(c * (c - 1) + (n - c) * (n - c - 1), n * (n - 1)) for c in range(n + 1)]
    assert value_table(Metric.consistency_at(2), n).tolist() == pytest.approx([float(one) for one in agree])
    assert sum(chance * one for chance, one in zip(chances, agree, strict=True)) == p**2 + (1 - p) ** 2
    variances = [Fraction(c * (n - c), n * n * (n - 1)) for c in range(n + 1)]
    assert sum(chance * one for chance, one in zip(chances, variances, strict=True)) == p * (1 - p) / n
    for c, variance in enumerate(variances):
        assert named([c], n)[f'std@{n}'].value == pytest.approx(math.sqrt(variance), abs=1e-12)


def test_consistency_has_the_key_of_a_metric() -> None:
    """So plans, comparisons and intervals take it; one answer has nothing to agree with."""
    assert str(Metric.parse('consistency@2')) == 'consistency@2'
    with pytest.raises(InputError, match='consistency@1 is undefined'):
        Metric.parse('consistency@1')
    with pytest.raises(InputError, match='k'):
        value_table(Metric.parse('consistency@2'), 1)
    row = named(COUNTS, 8)['consistency@2']
    assert row.new == mean_interval(value_table(Metric.consistency_at(2), 8)[COUNTS])
    assert row.again == rerun_interval(COUNTS, 8, Metric.consistency_at(2))


def test_published_outcome_consistency_stands_beside_the_unbiased_one() -> None:
    """(2c/n − 1)² is too high by 4·c(n − c)/(n²(n − 1)) a question."""
    rows, c = named(COUNTS, 8), np.array(COUNTS)
    assert rows['C_out'].beside == pytest.approx(np.mean((2 * c / 8 - 1) ** 2))
    excess = np.mean(4 * c * (8 - c) / (8 * 8 * 7))
    assert rows['C_out'].beside - rows['C_out'].value == pytest.approx(excess)
    assert rows['C_out'].new.low == pytest.approx(max(0, 2 * rows['consistency@2'].new.low - 1))


def test_std_is_that_of_the_accuracy_of_reruns() -> None:
    """Simulated reruns of the same questions; and the error of `rerun_interval` is this or more."""
    generator = np.random.default_rng(0)
    chances = generator.beta(0.6, 0.9, size=60)
    runs = generator.binomial(16, chances, size=(4000, 60))
    for m, drawn in ((16, runs), (1, generator.binomial(1, chances, size=(4000, 60)))):
        spread = (drawn.mean(1) / m).std(ddof=1)
        found = np.sqrt(np.mean([named(run.tolist(), 16, [])[f'std@{m}'].value ** 2 for run in runs[:200]]))
        assert found == pytest.approx(spread, rel=4 / math.sqrt(2 * 4000))
    for run in runs[:20]:
        ours, theirs = named(run.tolist(), 16, [])['std@16'], rerun_interval(run, 16, ACCURACY)
        assert ours.value <= theirs.error * (1 + 1e-9)
        assert ours.again.low < ours.value < ours.again.high


def test_the_error_of_std_is_that_of_consistency_times_the_slope() -> None:
    """With √((1 − consistency)/(2·m·Q)) differentiated in small steps."""
    rows = named(COUNTS, 8)
    for m, kind in product((1, 8), ('new', 'again')):
        agree, found = (getattr(rows[name], kind) for name in ('consistency@2', f'std@{m}'))
        low, high = (math.sqrt((1 - agree.estimate - step) / (2 * m * len(COUNTS))) for step in (1e-5, -1e-5))
        assert found.error == pytest.approx((high - low) / 2e-5 * agree.error, rel=1e-6)


def test_one_sample_a_question_leaves_it_undefined() -> None:
    """By name, and not 0."""
    rows = named([0, 1] * 20, 1)
    for name in ('consistency@2', 'C_out', 'std@1'):
        assert math.isnan(rows[name].value)
        assert 'undefined' in rows[name].new.refused
        assert 'undefined' in rows[name].again.refused


def test_bayes_is_the_mean_of_beta_posteriors() -> None:
    """Mean and deviation by scipy; the numbers that scorio 0.2.3 documents for a matrix of its own."""
    row, n = named(COUNTS, 8)['Bayes@8'], 8
    posteriors = [stats.beta(c + 1, n - c + 1) for c in COUNTS]
    assert row.value == pytest.approx(np.mean([one.mean() for one in posteriors]), abs=1e-14)
    error = math.sqrt(sum(one.var() for one in posteriors)) / len(COUNTS)
    assert row.again.error == pytest.approx(error, abs=1e-14)
    published = named([3, 4], 5, [])['Bayes@5']
    assert (round(published.value, 6), round(published.again.error, 6)) == (0.642857, 0.118451)


def test_bayes_has_no_posterior_interval_where_the_prior_decides() -> None:
    """A model that is nearly always right: the prior alone moves it by points."""
    sure = named([48] * 90 + [47] * 10, 48)['Bayes@48']
    assert 'prior moves the score' in sure.again.refused
    assert math.isnan(sure.again.low)
    fair = named([24, 12, 36, 20, 28] * 10, 48)['Bayes@48']
    assert fair.again.refused == ''
    half = stats.norm.ppf(0.975) * fair.again.error
    assert (fair.again.low, fair.again.high) == pytest.approx((fair.value - half, fair.value + half))


def test_the_prior_decides_from_two_fifths_of_a_deviation_on() -> None:
    """Posteriors by scipy, of runs that are less and less often right."""
    told = {}
    for half_right in range(80, 95):
        c = np.r_[np.full(100 - half_right, 48), np.full(half_right, 24)]
        posteriors = stats.beta(c + 1, 49 - c)
        shift = abs(posteriors.mean().mean() - c.mean() / 48) / (math.sqrt(posteriors.var().sum()) / 100)
        told[shift] = bool(named(c.tolist(), 48, [])['Bayes@48'].again.refused)
    assert all(refused == (shift > 0.4) for shift, refused in told.items())
    assert set(told.values()) == {True, False}
    assert min(abs(shift - 0.4) for shift in told) < 0.1


def test_the_interval_of_bayes_is_that_of_the_accuracy_on_its_scale() -> None:
    """So it is refused where that is: a constant prior hides no rare success."""
    accuracy, row = mean_interval(np.array(COUNTS) / 8), named(COUNTS, 8)['Bayes@8']
    assert row.new.low == pytest.approx((8 * accuracy.low + 1) / 10)
    assert row.new.high == pytest.approx((8 * accuracy.high + 1) / 10)
    assert 'too few problems solved' in named([0] * 200 + [8] * 2, 8)['Bayes@8'].new.refused


@pytest.mark.parametrize(('tau', 'n'), [(0.5, 16), (0.8, 16), (0.8, 48), (1 / 3, 96)])
def test_two_counts_bracket_every_chance(tau: float, n: int) -> None:
    """At or above τ the lower one is reached as often as promised, below τ the upper one no more often."""
    (may, power), sure = cover_bounds(tau, n)
    assert sure is not None
    surely, false = sure
    above, below = np.linspace(tau, 1, 101), np.linspace(0, tau, 100, endpoint=False)
    assert (stats.binom.sf(may - 1, n, above) >= power - 1e-12).all()
    assert power >= 1 - DOUBT
    assert (stats.binom.sf(surely - 1, n, below) <= false + 1e-12).all()
    assert false <= DOUBT
    assert may <= math.ceil(n * tau - 1e-9) <= surely


def test_cover_is_the_plug_in_within_its_interval() -> None:
    """The share with c ≥ τ·n, G-Pass@n_τ; the fit is the tail of the population of `fit_population`."""
    c = np.random.default_rng(3).binomial(48, np.random.default_rng(4).beta(0.5, 0.5, size=120))
    row = named(c.tolist(), 48, [0.8])['Cover@0.8']
    assert row.value == np.mean(c >= 0.8 * 48) == g_pass_at_k(48, c, 48, 0.8).mean()
    for interval in (row.new, row.again):
        assert interval.low < row.value < interval.high
    population = fit_population(c, 48)
    assert row.beside == pytest.approx(stats.beta.sf(0.8, population.a, population.b))
    assert fit_histogram(np.bincount(c, minlength=49).astype(float)) == population


def test_the_interval_of_cover_is_that_of_two_counts() -> None:
    """10 and 16 of 16, which with a chance of 0.8 are reached with P[X ≥ 10] and 0.8¹⁶."""
    ends = {'G-Pass@16_0.625': (0.5, 0.6), 'G-Pass@16_1.0': (0.2, 0.3)}

    def interval(metric: Metric) -> Interval:
        low, high = ends.get(str(metric), (0.05, 0.95))
        return Interval((low + high) / 2, 0.05, low, high, 0.95, 60)

    [row] = stability_of(np.eye(17)[[3, 12, 16]].sum(0), interval, [0.8])[:1]
    power = sum(comb(16, x) * 0.8**x * 0.2 ** (16 - x) for x in range(10, 17))
    assert row.new.low == pytest.approx((0.2 - 0.8**16) / (1 - 0.8**16))
    assert row.new.high == pytest.approx(0.6 / power)


@pytest.mark.parametrize(
    ('tau', 'n', 'reason'),
    [
        (0.95, 16, 'n = 16 cannot place a question above τ = 0.95; 59 samples can'),
        (0.75, 8, '11 samples can'),
        (1.0, 48, 'no number of samples can'),
    ],
)
def test_cover_is_refused_where_samples_are_too_few(tau: float, n: int, reason: str) -> None:
    """All n right is likely just below τ as well."""
    row = named([0, n // 2, n] * 20, n, [tau])[f'Cover@{tau:g}']
    assert reason in row.new.refused
    assert reason in row.again.refused
    needed = samples_for_cover(tau)
    if needed:
        assert cover_bounds(tau, needed)[1] is not None
        assert cover_bounds(tau, needed - 1)[1] is None


def test_with_very_many_samples_only_reruns_have_no_interval() -> None:
    """Their tables would have n² entries."""
    for row in stability([0, 1000, 2000] * 20, 2000, thresholds=[0.4]):
        assert 'more than 1,024 samples' in row.again.refused or row.name.startswith('Bayes')
        assert not math.isnan(row.new.low)


def test_thresholds_that_mean_nothing_are_refused() -> None:
    """Cover@0 is 1 for every model."""
    with pytest.raises(InputError, match='Cover@0'):
        stability(COUNTS, 8, thresholds=[0])
    with pytest.raises(InputError, match='empty'):
        stability([], 8)


@pytest.mark.parametrize('pair', [(0.0, 0.8), (0.8 - 1e-6, 1.0)])
def test_cover_holds_where_no_sample_tells_the_side(pair: tuple[float, float]) -> None:
    """Half of the questions at τ, or half just below it: 200 runs, at least 95 % less three errors."""
    generator, held = np.random.default_rng(5), 0
    for _ in range(200):
        c = generator.binomial(16, generator.choice(pair, size=60))
        interval = named(c.tolist(), 16, [0.8])['Cover@0.8'].new
        assert interval.refused == ''
        held += interval.low <= 0.5 <= interval.high
    assert held / 200 > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 200)


def test_a_profile_is_g_pass_at_every_threshold() -> None:
    """Each point with the interval of the tables, within the band, which never rises."""
    profile = tail_profile(COUNTS * 4, 8, 4)
    for place, tau in enumerate(profile.thresholds):
        values = g_pass_at_k(8, COUNTS * 4, 4, float(tau))
        assert profile.intervals[place] == mean_interval(values)
    single = [(one.low, one.high) for one in profile.intervals]
    for (low, high), band_low, band_high in zip(single, profile.low, profile.high, strict=True):
        assert band_low < low < high < band_high
    assert (np.diff(profile.low) <= 0).all()
    assert (np.diff(profile.high) <= 0).all()
    assert profile.refused == [''] * 4


def test_the_critical_value_is_that_of_a_multivariate_t() -> None:
    """For two points without correlation by scipy's distribution function; for one it is Student's t."""
    signs = np.array([[1, -1] * 20, [1, 1, -1, -1] * 10], dtype=float)
    curves = 0.5 + 0.2 * signs  # two points whose residuals are orthogonal
    critical = profile_of(curves[::1], np.arange(40), draws=40_000).critical
    reached = stats.multivariate_t(shape=np.eye(2), df=39).cdf([critical] * 2, lower_limit=[-critical] * 2)
    assert reached == pytest.approx(0.95, abs=0.005)
    one = profile_of(curves[:1], np.arange(40), draws=40_000)
    assert one.critical == pytest.approx(quantile(0.95, 39), rel=0.02)
    assert one.critical >= quantile(0.95, 39)


def test_the_critical_value_is_never_below_students_t() -> None:
    """Which it is for one point: few draws alone would often give less."""
    values = 0.5 + 0.2 * np.array([[1, -1] * 20])
    found = [profile_of(values, np.arange(40), draws=200, seed=seed).critical for seed in range(10)]
    assert min(found) == pytest.approx(stats.t.ppf(0.975, 39), rel=1e-12)
    assert max(found) > min(found)


def test_the_surest_point_bounds_those_beside_it() -> None:
    """As no curve rises: those before it are not below its lower limit, those behind not above its upper."""
    spreads = np.array([0.3, 0.05, 0.3])
    profile = profile_of(0.5 + np.outer(spreads, [1, -1] * 20), np.arange(40))
    ends = []
    for error in spreads / math.sqrt(39):  # Wilson's: (x − ½)² = critical²·error²·x(1 − x)/¼
        factor = 4 * (profile.critical * error) ** 2
        ends.append(sorted(np.roots([1 + factor, -1 - factor, 0.25])))
    (wide_low, wide_high), (low, high), _ = ends
    assert profile.low == pytest.approx([low, low, wide_low])
    assert profile.high == pytest.approx([wide_high, high, high])


def test_points_without_an_interval_have_no_band() -> None:
    """The others keep theirs."""
    profile = tail_profile([0] * 20 + [8] * 3 + [5] * 40, 8, 8)
    assert profile.refused[-1] != ''
    assert np.isnan(profile.low[-1])
    assert profile.refused[3] == ''
    assert not np.isnan(profile.high[3])
    nothing = tail_profile([3, 5], 8, 2)
    assert np.isnan(nothing.critical)
    assert all(nothing.refused)


def test_translations_count_once_in_a_profile() -> None:
    """Every question twice, as two versions of one problem, is every question once."""
    problems = [f'p{place // 2}' for place in range(2 * 4 * len(COUNTS))]
    once = tail_profile(COUNTS * 4, 8, 4)
    twice = tail_profile(np.repeat(COUNTS * 4, 2), 8, 4, problems)
    assert twice.low == pytest.approx(once.low)
    assert twice.high == pytest.approx(once.high)


def test_the_whole_curve_lies_in_its_band() -> None:
    """Of 300 simulated runs, at least 95 % less three errors; with single intervals many fewer."""
    generator, band, alone = np.random.default_rng(6), 0, 0
    truth = [stats.betabinom.sf(i - 1, 8, 1.0, 1.0) for i in range(1, 9)]
    for _ in range(300):
        c = generator.binomial(16, generator.beta(1.0, 1.0, size=100))
        profile = tail_profile(c, 16, 8, draws=500)
        printed = ~np.isnan(profile.low)
        band += bool(((profile.low <= truth) & (truth <= profile.high))[printed].all())
        alone += all(one.low <= at <= one.high for one, at in zip(profile.intervals, truth, strict=True))
    assert band / 300 > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 300)
    assert alone < band


def test_score_prints_them_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table of their own with both intervals; all digits in the file; without it the file is as before."""
    path = tmp_path / 'counts.jsonl'
    path.write_text(''.join(json.dumps({'n': 8, 'c': c}) + '\n' for c in COUNTS * 2))
    out = tmp_path / 'scores.csv'
    assert main(['score', str(path), '--k', '4', '--also', 'stability', 'profile', '-o', str(out)]) == 0
    printed = capsys.readouterr().out
    assert '| these again' in printed
    assert 'band of the curve' in printed
    assert '11 samples can' in printed
    with out.open() as file:
        rows = {row['metric']: row for row in csv.DictReader(file)}
    for row in stability(COUNTS * 2, 8):
        assert float(rows[row.name]['score']) == pytest.approx(100 * row.value)
        told = rows[row.name]['again low']
        assert told == '' if row.again.refused else float(told) == pytest.approx(100 * row.again.low)
    assert main(['score', str(path), '--k', '4', '-o', str(out)]) == 0
    assert 'these again' not in capsys.readouterr().out
    assert 'again low' not in out.read_text()


def test_score_needs_one_n_for_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where samples are left out, questions have different numbers of them."""
    path = tmp_path / 'counts.jsonl'
    path.write_text('{"n": 8, "c": 3, "unjudged": 1}\n{"n": 8, "c": 3}\n')
    arguments = ['score', str(path), '--k', '2', '--also', 'stability', '--unjudged', 'leave-out']
    assert main(arguments) != 0
    assert 'give --n 7' in capsys.readouterr().err
    assert main([*arguments, '--n', '7']) == 0
    assert 'Bayes@7' in capsys.readouterr().out


def test_a_report_has_them_of_every_run(tmp_path: Path) -> None:
    """In a section and two files, from the counts alone; one run has nothing but accuracies."""
    board = board_of(
        [made_result('a_t1.0_l64', COUNTS * 2, 8, [4]), made_result('b_t1.0_l64', [8] * 52, 8, [4])]
    )
    first, second = write_stability([board], tmp_path)
    with first.open() as file:
        rows = list(csv.DictReader(file))
    mine = {row['metric']: row for row in rows if row['model'] == 'a'}
    for row in stability(COUNTS * 2, 8):
        assert float(mine[row.name]['value']) == pytest.approx(100 * row.value)
        assert mine[row.name]['refused'] == row.new.refused
    with second.open() as file:
        points = [row for row in csv.DictReader(file) if row['model'] == 'a']
    profile = tail_profile(COUNTS * 2, 8, 4)
    assert [float(row['band_low']) for row in points] == pytest.approx(100 * profile.low)
    section = stability_section(board)
    assert 'Cover@0.5' in section
    assert 'no interval' in section


def test_the_figure_shows_curve_and_band(tmp_path: Path) -> None:
    """A panel a run; the others are there to compare with."""
    pytest.importorskip('matplotlib')
    from gpassk_opencompass.report.figures.drawing import Drawing
    from gpassk_opencompass.report.figures.profile import profile as drawn
    from gpassk_opencompass.report.figures.style import house_style

    board = board_of([made_result(f'{name}_t1.0_l64', COUNTS * 2, 8, [4]) for name in 'ab'])
    with house_style():
        [one] = [each for each in drawn(board) if isinstance(each, Drawing)]
    found: TailProfile = tail_profile(COUNTS * 2, 8, 4)
    assert len(one.figure.axes) == 2
    for axes in one.figure.axes:
        assert axes.lines[-1].get_ydata() == pytest.approx(100 * found.estimates)
        [box] = [band.get_datalim(axes.transData) for band in axes.collections[:1]]
        assert (box.y0, box.y1) == pytest.approx((100 * found.low.min(), 100 * found.high.max()))


def test_lighteval_shows_them_when_asked() -> None:
    """By a parameter or the environment; what is unknown, or undefined for n = 1, is refused."""
    assert read_settings({}, {}).also == ()
    assert read_settings({'also': 'stability'}, {}).also == ('stability',)
    assert read_settings({}, {'GPASSK_ALSO': 'stability'}).also == ('stability',)
    with pytest.raises(InputError, match=r"GPASSK_ALSO\) = 'cover': expected stability"):
        read_settings({'also': 'cover'}, {})
    with pytest.raises(InputError, match='undefined for n = 1'):
        read_settings({'also': 'stability', 'n': 1, 'k': 1}, {})
