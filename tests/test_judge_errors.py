"""What an erring judge makes of a metric: exact enumeration as the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

import pytest

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.judge_errors import reported
from gpassk_opencompass.metrics import Metric

MISSED, ACCEPTED = Fraction(1, 8), Fraction(3, 16)


def outcomes(n: int, c: int) -> Iterator[tuple[Fraction, tuple[bool, ...]]]:
    """Every way in which n answers, the first c of them correct, can be judged, with its probability."""
    for judged in product([True, False], repeat=n):
        chance = Fraction(1)
        for place, accept in enumerate(judged):
            share = 1 - MISSED if place < c else ACCEPTED
            chance *= share if accept else 1 - share
        yield chance, judged


def enumerated(n: int, c: int, k: int, least: int) -> Fraction:
    """P[at least `least` of k drawn answers are judged correct], draw by draw."""
    total = Fraction(0)
    for chance, judged in outcomes(n, c):
        draws = list(combinations(judged, k))
        total += chance * Fraction(sum(sum(draw) >= least for draw in draws), len(draws))
    return total


@pytest.mark.parametrize(('n', 'k'), [(3, 1), (4, 2), (5, 3), (5, 5)])
def test_errors_are_those_of_an_enumeration(n: int, k: int) -> None:
    """Every verdict flipped or not, every draw of k, in rationals."""
    rates = {'false_negative': float(MISSED), 'false_positive': float(ACCEPTED)}
    for c in range(n + 1):
        at_least = [enumerated(n, c, k, least) for least in range(k + 1)]
        for least in range(1, k + 1):
            found = reported(Metric.g_pass_at(k, least / k), n, c, **rates)
            assert found == pytest.approx(float(at_least[least]), abs=1e-14)
        mean = Fraction(2, k) * sum(at_least[(k + 1) // 2 + 1 :], Fraction(0))
        assert reported(Metric.mg_pass_at(k), n, c, **rates) == pytest.approx(float(mean), abs=1e-14)


def test_one_percent_of_misses_caps_g_pass_at_16_near_85() -> None:
    """0.99^16 of a model that is always right; its accuracy loses 1 %."""
    found = reported(Metric.parse('G-Pass@16_1.0'), 48, 48, false_negative=0.01)
    assert found == pytest.approx(0.99**16, abs=1e-14)
    assert found == pytest.approx(0.8515, abs=5e-5)
    assert reported(Metric.parse('accuracy'), 48, 48, false_negative=0.01) == pytest.approx(0.99)


@pytest.mark.parametrize(
    ('k', 'c', 'rates', 'message'),
    [
        (2, 4, (-0.1, 0.0), 'false_negative = -0.1: expected a share'),
        (2, 4, (0.1, 1.5), 'false_positive = 1.5: expected a share'),
        (2, 4, (float('nan'), 0.0), 'false_negative'),
        (9, 4, (0.1, 0.0), 'k must be from 1 to n = 4'),
        (2, 5, (0.1, 0.0), 'c must be from 0 to n = 4'),
    ],
)
def test_what_is_out_of_range_is_refused(k: int, c: int, rates: tuple[float, float], message: str) -> None:
    """With what was received."""
    with pytest.raises(InputError, match=message):
        reported(Metric.mg_pass_at(k), 4, c, false_negative=rates[0], false_positive=rates[1])
