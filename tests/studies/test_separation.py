"""How far numbers tell kinds apart: against scipy, closed formulas, and made-up data with known truths."""

from __future__ import annotations

from statistics import fmean, variance

import numpy as np
import pytest
from scipy.stats import linregress, mannwhitneyu, norm, rankdata

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.studies.separation import (
    Concordance,
    Samples,
    cohens_d,
    residuals,
    separations,
    strata_of,
)


def samples_of(positive: np.ndarray, lengths: np.ndarray, of_each: int = 1) -> Samples:
    """Of questions with so many samples each, each a problem of its own."""
    names = [f'q{number // of_each}' for number in range(len(positive))]
    return Samples(positive, lengths, names, names)


def test_auroc_is_the_u_statistic_of_mann_and_whitney() -> None:
    """Over all pairs, with ties."""
    generator = np.random.default_rng(0)
    for _ in range(20):
        values, positive = generator.integers(8, size=60).astype(float), generator.random(60) < 0.4
        u = mannwhitneyu(values[positive], values[~positive]).statistic
        found = Concordance(values, positive, np.zeros(60, dtype=int))(np.ones(60))
        assert found == pytest.approx(u / positive.sum() / (~positive).sum(), rel=1e-12)


def test_pairs_are_of_one_stratum() -> None:
    """The sum over strata of U, over the sum of the numbers of pairs; a stratum of one kind has none."""
    generator = np.random.default_rng(1)
    values, strata = generator.normal(size=80), generator.integers(6, size=80)
    positive = (generator.random(80) < 0.5) & (strata != 3)
    parts = [
        (mannwhitneyu(values[own & positive], values[own & ~positive]).statistic, own)
        for number in range(6)
        if number != 3
        for own in [strata == number]
    ]
    pairs = sum((own & positive).sum() * (own & ~positive).sum() for _, own in parts)
    found = Concordance(values, positive, strata)(np.ones(80))
    assert found == pytest.approx(sum(u for u, _ in parts) / pairs, rel=1e-12)


def test_a_weight_is_a_number_of_copies() -> None:
    """What the bootstrap draws twice counts twice, in all statistics."""
    generator = np.random.default_rng(2)
    values, lengths = generator.normal(size=40), generator.normal(size=40)
    positive, strata = generator.random(40) < 0.5, generator.integers(4, size=40)
    weights = generator.integers(4, size=40)
    ones = np.ones(weights.sum())
    v, x, p, s = (np.repeat(column, weights) for column in (values, lengths, positive, strata))
    as_weights = weights.astype(float)
    assert Concordance(values, positive, strata)(as_weights) == pytest.approx(Concordance(v, p, s)(ones))
    assert cohens_d(values, positive, as_weights) == pytest.approx(cohens_d(v, p, ones))
    left = residuals(values, lengths, as_weights)
    np.testing.assert_allclose(np.repeat(left, weights), residuals(v, x, ones), atol=1e-12)


def test_d_has_the_pooled_variance() -> None:
    """Each kind's unbiased variance (`statistics`) counts with its degrees of freedom; a copy is a sample."""
    generator = np.random.default_rng(11)
    for size in (4, 9, 50):
        values, weights = generator.normal(size=size), generator.integers(1, 4, size=size)
        positive = np.arange(size) % 3 == 0
        first, second = (np.repeat(values[own], weights[own]).tolist() for own in (positive, ~positive))
        freedom = len(first) + len(second) - 2
        pooled = ((len(first) - 1) * variance(first) + (len(second) - 1) * variance(second)) / freedom
        found = cohens_d(values, positive, weights.astype(float))
        assert found == pytest.approx((fmean(first) - fmean(second)) / pooled**0.5, rel=1e-12)


def test_d_of_one_sample_each_is_not_defined() -> None:
    """Nothing says how far samples of one kind differ."""
    assert np.isnan(cohens_d(np.array([1.0, 2.0]), np.array([True, False]), np.ones(2)))


def test_residuals_are_those_of_least_squares() -> None:
    """scipy's line; without a spread of lengths nothing but the mean is taken away."""
    generator = np.random.default_rng(3)
    x = generator.normal(5, 1, size=50)
    y = 3 * x + generator.normal(size=50)
    line = linregress(x, y)
    np.testing.assert_allclose(residuals(y, x, np.ones(50)), y - line.intercept - line.slope * x, atol=1e-12)
    np.testing.assert_allclose(residuals(y, np.ones(50), np.ones(50)), y - y.mean(), atol=1e-12)


def test_a_value_that_is_the_length_has_no_residuals() -> None:
    """Rounding is no information: all pairs are ties."""
    lengths = np.log(np.arange(10, 60, dtype=float))
    left = residuals(7 * lengths + 2, lengths, np.ones(50))
    assert not left.any()


def test_normal_kinds_have_the_separation_that_theory_says() -> None:
    """AUROC is Φ(d/√2) for normal values of equal spread: here d = 1."""
    generator = np.random.default_rng(4)
    positive = np.arange(4000) % 2 == 0
    values = generator.normal(size=4000) + positive
    found = separations({'x': values}, samples_of(positive, generator.normal(size=4000)), replicates=200)['x']
    assert found.d.low < 1 < found.d.high
    assert found.auroc.low < norm.cdf(0.5**0.5) < found.auroc.high


def test_what_the_length_explains_alone_is_gone() -> None:
    """Wrong responses are longer and the value follows length: told apart before, and not after."""
    generator = np.random.default_rng(5)
    positive = generator.random(3000) < 0.5
    lengths = generator.normal(5, 0.5, size=3000) - 0.5 * positive
    values = 0.3 * lengths + generator.normal(0, 0.1, size=3000)
    found = separations({'x': values}, samples_of(positive, lengths, 3), replicates=300)['x']
    assert found.auroc.high < 0.4
    for left in (found.auroc_of_residuals, found.auroc_in_strata):
        assert left.low < 0.5 < left.high


def test_what_only_questions_differ_in_is_no_difference_within_them() -> None:
    """Hard questions have other values, whatever the response: pairs of one question tell nothing."""
    generator = np.random.default_rng(6)
    hardness = np.repeat(generator.normal(size=200), 16)
    positive = generator.random(3200) < norm.cdf(-hardness)
    values = hardness + generator.normal(size=3200)
    found = separations({'x': values}, samples_of(positive, hardness * 0, 16), replicates=200)['x']
    assert found.auroc.high < 0.35
    within = found.auroc_in_questions
    assert within.low < 0.5 < within.high


def obuchowski(values: np.ndarray, positive: np.ndarray, clusters: np.ndarray) -> float:
    """The standard error of a clustered AUROC in closed form (Obuchowski 1997, Biometrics 53, 567)."""
    first, second = values[positive], values[~positive]
    m, n, count = first.size, second.size, int(clusters.max()) + 1
    both = np.concatenate([first, second])
    of_first = (rankdata(both)[:m] - rankdata(first)) / n
    of_second = 1 - (rankdata(both)[m:] - rankdata(second)) / m
    area = of_first.mean()
    x = np.bincount(clusters[positive], of_first - area, count)
    y = np.bincount(clusters[~positive], of_second - area, count)
    firsts, seconds = (len(set(clusters[kind])) for kind in (positive, ~positive))
    s10, s01 = firsts / (firsts - 1) / m * (x @ x), seconds / (seconds - 1) / n * (y @ y)
    s11 = count / (count - 1) * (x @ y)
    return float((s10 / m + s01 / n + 2 * s11 / m / n) ** 0.5)


def test_the_error_is_that_of_clustered_samples() -> None:
    """The bootstrap agrees with the closed formula for clusters, far from the one for single samples."""
    generator = np.random.default_rng(7)
    shared = np.repeat(generator.normal(size=120), 8)
    positive = generator.random(960) < norm.cdf(shared)
    values = shared + generator.normal(size=960)
    samples = samples_of(positive, generator.normal(size=960), 8)
    error = separations({'x': values}, samples, replicates=1500)['x'].auroc.error
    clusters = np.repeat(np.arange(120), 8)
    assert error == pytest.approx(obuchowski(values, positive, clusters), rel=0.07)
    assert error > 1.25 * obuchowski(values, positive, np.arange(960))


def test_the_same_data_have_the_same_intervals() -> None:
    """The resamples come from a seed."""
    generator = np.random.default_rng(8)
    positive, values = generator.random(200) < 0.5, generator.normal(size=200)
    samples = samples_of(positive, generator.normal(size=200), 4)
    first, again = (separations({'x': values}, samples, replicates=50) for _ in range(2))
    assert first == again


def test_few_problems_have_no_interval() -> None:
    """Nor has a kind from few problems: five samples of one question are no five questions."""
    generator = np.random.default_rng(9)
    values, lengths = generator.normal(size=400), generator.normal(size=400)
    few = separations({'x': values}, samples_of(np.arange(400) % 2 == 0, lengths, 40), replicates=20)['x']
    assert few.auroc.refused == '10 problems, fewer than 20'
    rare = separations({'x': values}, samples_of(np.arange(400) < 5, lengths, 10), replicates=20)['x']
    assert rare.auroc.refused == 'one kind from 1.0 problems in effect, fewer than 6'
    assert np.isnan(rare.auroc.low)
    assert 0 < rare.auroc.estimate < 1


def test_pairs_of_few_questions_have_no_interval() -> None:
    """Thirty questions, of which three have both kinds: the others say nothing of pairs within one."""
    generator, places = np.random.default_rng(10), np.arange(300)
    positive = (places < 150) ^ (places // 10 < 3) & (places % 2 == 0)
    samples = samples_of(positive, generator.normal(size=300), 10)
    found = separations({'x': generator.normal(size=300)}, samples, replicates=20)['x']
    assert (
        found.auroc_in_questions.refused == 'pairs of one question from 3.0 problems in effect, fewer than 6'
    )
    assert not found.auroc.refused


@pytest.mark.parametrize('positive', [[True] * 3, [False] * 3], ids=['all', 'none'])
def test_one_kind_is_no_contrast(positive: list[bool]) -> None:
    """The message counts."""
    with pytest.raises(InputError, match='of 3 samples are of the first kind'):
        separations({'x': [1.0, 2.0, 3.0]}, samples_of(np.array(positive), np.zeros(3)))


def test_values_must_be_finite() -> None:
    """A chain that is not defined is left out before."""
    samples = samples_of(np.array([True, False]), np.zeros(2))
    with pytest.raises(InputError, match='finite'):
        separations({'x': [1.0, np.nan]}, samples)


def test_strata_hold_as_many_samples_each() -> None:
    """Unless lengths are the same: those are of one stratum."""
    assert np.bincount(strata_of(np.random.default_rng(0).normal(size=1000))).tolist() == [100] * 10
    assert len(set(strata_of(np.ones(50)))) == 1
