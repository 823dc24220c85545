"""How many different answers n samples of a question have, from those of a pilot.

Sources: rarefaction, Hurlbert 1971, Ecology 52, 577; answers not seen yet, Chao 1984, Scand. J. Stat. 11,
265; beyond what was drawn, Colwell et al. 2012, J. Plant Ecol. 5, 3, equation 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln


@dataclass(frozen=True)
class Answers:
    """How often each different answer to each question was given in a pilot.

    Args:
        counts: of each question the numbers of its different answers; [] where none was given.
        n: samples a question of the pilot, at least as many as any of the sums.
    """

    counts: Sequence[Sequence[int]]
    n: int

    def distinct(self, n: int) -> float:
        """Return how many different answers n samples of a question have, on average over the questions.

        Up to the n of the pilot that is exact for draws without replacement: Σ_i 1 − C(N − N_i, n)/C(N, n).
        Beyond, it is an extrapolation from the answers that were given once and twice, of all questions
        together.

        >>> round(Answers([[2, 1, 1], [4]], 4).distinct(2), 3)
        1.417
        """
        return self._within(n) if n <= self.n else self._beyond(n)

    def most(self, n: int) -> float:
        """Return what no number of different answers exceeds, on average: new ones never come faster.

        Beyond the pilot each further sample is new with a chance of at most that of the last one drawn.
        """
        if n <= self.n:
            return self._within(n)
        once, _ = self._rare()
        return self._within(self.n) + (n - self.n) * once / self.n

    def _within(self, n: int) -> float:
        sizes = np.array([size for sizes in self.counts for size in sizes], dtype=np.int64)
        left = self.n - sizes
        logs = gammaln(left + 1) - gammaln(np.maximum(left - n, 0) + 1)
        logs -= gammaln(self.n + 1) - gammaln(self.n - n + 1)
        missed = np.where(left >= n, np.exp(logs), 0.0)
        return float((1 - missed).sum()) / len(self.counts)

    def _beyond(self, n: int) -> float:
        once, twice = self._rare()
        if once == 0:
            return self._within(self.n)
        # not seen yet, over all questions together: many questions have no answer that was given twice
        pairs = once * max(len(self.counts) * once - 1, 0) / 2  # Chao's form where no answer was given twice
        unseen = (self.n - 1) / self.n * (once**2 / (2 * twice) if twice else pairs)
        rate = once / (self.n * unseen + once)
        return self._within(self.n) + unseen * (1 - (1 - rate) ** (n - self.n))

    def _rare(self) -> tuple[float, float]:
        """Return how many answers to a question were given once, and how many twice, on average."""
        flat = [size for sizes in self.counts for size in sizes]
        return flat.count(1) / len(self.counts), flat.count(2) / len(self.counts)
