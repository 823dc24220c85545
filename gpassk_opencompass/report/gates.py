"""What makes a report fail: shares of samples that are no good, as CI wants to be told."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import InputError
from ..health import WORDS, Health


class Gate(NamedTuple):
    """A share of samples above which a report fails."""

    what: str
    share: float

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read 'truncated>5%'.

        Raises:
            InputError: it is none.

        >>> Gate.parse('truncated>5%')
        Gate(what='truncated', share=0.05)
        """
        found = re.fullmatch(r'\s*(\w+)\s*>\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*', text)
        if not found or found[1] not in WORDS or float(found[2]) > 100:
            raise InputError(f'{text!r}: expected NAME>SHARE%, as in truncated>5%; names: {", ".join(WORDS)}')
        return cls(found[1], float(found[2]) / 100)

    def refused(self, health: Health) -> str:
        """Return why a run does not pass, '' if it does; what is not known does not pass."""
        share = health.share(self.what)
        if share is None:
            return f'how many samples are {WORDS[self.what]} is not known'
        if share <= self.share:
            return ''
        return f'{100 * share:.1f} % {WORDS[self.what]}, above {100 * self.share:g} %'
