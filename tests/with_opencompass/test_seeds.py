"""Every sample has its own seed, and the seed alone decides its random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hosts import import_plugin
from scipy.stats import chisquare

torch = pytest.importorskip('torch', reason='OpenCompass is not installed in this environment')
models = import_plugin('.engines')
seeds = import_plugin('.seeds')

PROBS = [0.5, 0.0, 0.3, 0.0, 0.2]


def draw(probs: Any, of_seeds: list[int], times: int = 1) -> list[list[int]]:
    with models.SeededMultinomial(of_seeds):
        return [torch.multinomial(probs, num_samples=1).squeeze(1).tolist() for _ in range(times)]


def test_a_seed_never_changes() -> None:
    """A published run must be repeatable with a later version: this value is part of the interface."""
    assert seeds.sample_seed(42, '202412/AMC_en/0', 0) == 4375039624031918


def test_draws_follow_the_distribution() -> None:
    """20,000 rows with seeds of their own against the probabilities; impossible tokens never come."""
    rows = 20_000
    drawn = np.array(draw(torch.tensor([PROBS] * rows), list(range(rows)))[0])
    counts = np.bincount(drawn, minlength=5)
    assert counts[1] == counts[3] == 0
    expected = [rows * p for p in PROBS if p]
    assert chisquare(counts[[0, 2, 4]], expected).pvalue > 1e-4


def test_a_row_draws_the_same_in_any_batch() -> None:
    """Ten steps of three rows, together and one by one."""
    probs = torch.rand(3, 50, generator=torch.Generator().manual_seed(0))
    together = draw(probs, [11, 22, 33], times=10)
    for row, seed in enumerate([11, 22, 33]):
        alone = draw(probs[row : row + 1], [seed], times=10)
        assert [step[0] for step in alone] == [step[row] for step in together]


def test_a_last_token_of_all_mass_is_reached_and_nothing_behind_it() -> None:
    """A distribution of float32 numbers that sum to less or more than one stays within its tokens."""
    probs = torch.tensor([[0.0, 0.999999, 0.0], [0.0, 0.0, 1.000001]]).repeat(500, 1)
    drawn = draw(probs, list(range(1000)))[0]
    assert drawn == [1, 2] * 500


def test_other_sampling_in_the_context_is_refused() -> None:
    """Several sequences a prompt would share a sample's seed."""
    with pytest.raises(RuntimeError, match='num_return_sequences'):
        draw(torch.ones(4, 5), [1, 2])
