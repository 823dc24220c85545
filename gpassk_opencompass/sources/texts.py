"""Many texts without an object each: their bytes, where each stands in them, and which of them are equal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_WORD = 8

PADDING = bytes(_WORD)
"""What has to stand behind the last text."""

_MASKS = np.array([2 ** (8 * length) - 1 for length in range(_WORD + 1)], dtype=np.uint64)
"""Number of bytes → which of a word they are."""

_FACTORS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9], dtype=np.uint64)
_SHIFT = np.uint64(32)


class Texts(NamedTuple):
    """Q texts in UTF-8, each a part of `data`, which has `PADDING` or more behind the last one."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """Put texts together."""
        parts = [text.encode('utf-8', 'surrogatepass') for text in texts]
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        data = np.frombuffer(b''.join([*parts, PADDING]), np.uint8)
        return cls(data, np.cumsum(lengths) - lengths, lengths)

    def keys(self) -> NDArray[np.int64]:
        """Return a number a text: equal for equal texts, of 64 bits that look like random ones for others.

        >>> one, two, three = Texts.of(['a question', 'another', 'a question']).keys().tolist()
        >>> one == three, one == two
        (True, False)
        """
        words: NDArray[np.uint64] = np.ndarray((self.data.size - _WORD + 1,), '<u8', self.data, 0, (1,))
        keys = mixed(self.lengths.astype(np.uint64))
        rows: slice | NDArray[np.intp] = slice(None)
        for at in range(0, int(self.lengths.max(initial=0)), _WORD):
            rest = self.lengths[rows] - at
            if int(rest.min()) <= 0:
                rows = np.flatnonzero(self.lengths > at)
                rest = self.lengths[rows] - at
            word = words[self.starts[rows] + at] & _MASKS[np.minimum(rest, _WORD)]
            keys[rows] = mixed(keys[rows] ^ word)
        return keys.view(np.int64)

    def distinct(self) -> tuple[list[str], NDArray[np.int64]]:
        """Return the different texts, and the place of each text among these."""
        _, first, places = np.unique(self.keys(), return_index=True, return_inverse=True)
        found = [
            self.data[start : start + length].tobytes().decode('utf-8', 'surrogatepass')
            for start, length in zip(self.starts[first].tolist(), self.lengths[first].tolist(), strict=True)
        ]
        return found, places.ravel()


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return other numbers that look like random ones, different ones for different ones."""
    for factor in _FACTORS:
        numbers = numbers * factor
        numbers ^= numbers >> _SHIFT
    return numbers
