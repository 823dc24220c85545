"""`--limit` and `--samples`, as `gpassk expand` and `gpassk run` have them."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from ..sweep.limits import Limits
from .options import positive


def add_limits(parser: ArgumentParser) -> None:
    """Add both; such runs are marked, and stand in no leaderboard unless asked for."""
    limit = 'ask N questions of each benchmark, as many of one contest and language as of another, for a look'
    parser.add_argument('--limit', type=_bounded, metavar='N', help=limit)
    samples = 'draw n = N samples a question, for a look; k above N are left out, greedy runs keep theirs'
    parser.add_argument('--samples', type=_bounded, metavar='N', help=samples)


def _bounded(text: str) -> int:
    """Read a number that a record may hold: above it a run would sample, and its result be refused."""
    from ..arguments import LARGEST_N  # imports numpy

    if len(text) > len(str(LARGEST_N)) or positive(text) > LARGEST_N:
        raise ArgumentTypeError(f'{text[:40]!r}: expected an integer from 1 to {LARGEST_N:,}')
    return positive(text)


def limits_of(arguments: Namespace) -> Limits:
    """Return what they say."""
    return Limits(arguments.limit, arguments.samples)
