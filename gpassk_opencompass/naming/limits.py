"""The marks in data set abbreviations: of runs made smaller with `--limit` and `--samples`."""

from __future__ import annotations

import re
from collections.abc import Sequence


def limit_marks(limit: int | None, samples: int | None) -> str:
    """Return what stands in the name of a run that was made smaller with `--limit` or `--samples`.

    >>> limit_marks(10, None), limit_marks(10, 4), limit_marks(None, None)
    ('-limit10', '-limit10-samples4', '')
    """
    return ''.join(
        f'-{mark}{count}' for mark, count in (('limit', limit), ('samples', samples)) if count is not None
    )


def sizes(ks: Sequence[int], n: int) -> str:
    """Return k and n as they end a name.

    >>> sizes((4, 8), 24), sizes([8], 12)
    ('k4_8-r3', 'k8-n12')
    """
    replication, rest = divmod(n, max(ks))
    return f'k{"_".join(map(str, ks))}-{f"n{n}" if rest else f"r{replication}"}'


_SIZES = re.compile(
    r'(?:-limit(?P<limit>[1-9][0-9]*))?(?:-samples(?P<samples>[1-9][0-9]*))?'
    r'(?P<sizes>-k[0-9]+(?:_[0-9]+)*-[rn][0-9]+)?'
)


def limited_abbr(abbr: str, limit: int | None, samples: int | None, ks: Sequence[int], n: int | None) -> str:
    """Return any data set abbreviation with the marks of `limit_marks`, in place of marks that it has.

    k and n are written where `abbr` has them.

    >>> limited_abbr('AIME2024-nocot-k4_8-r3', 10, 4, (4,), 4)
    'AIME2024-nocot-limit10-samples4-k4-r1'
    >>> limited_abbr('gsm8k', 10, None, (), None), limited_abbr('gsm8k-limit10', 5, None, (), None)
    ('gsm8k-limit10', 'gsm8k-limit5')
    """
    end = _end_of(abbr)
    written = f'-{sizes(ks, n)}' if end['sizes'] and ks and n else end['sizes'] or ''
    return f'{abbr[: end.start()]}{limit_marks(limit, samples)}{written}'


def limits_in(abbr: str) -> dict[str, int]:
    """Return what the marks in any data set abbreviation say: limit, samples, as far as they are there.

    >>> limits_in('gsm8k-limit10-samples4'), limits_in('gsm8k')
    ({'limit': 10, 'samples': 4}, {})
    """
    marks = _end_of(abbr).groupdict()
    return {name: int(marks[name]) for name in ('limit', 'samples') if marks[name]}


def _end_of(abbr: str) -> re.Match[str]:
    """Return the marks, k and n at the end of an abbreviation; of none of them nothing."""
    return next(found for start in range(len(abbr) + 1) if (found := _SIZES.fullmatch(abbr, start)))


def without_sizes(abbr: str) -> str:
    """Return any data set abbreviation without k, n and how they were set; which questions, stays.

    >>> without_sizes('mine-limit10-samples4-k4-r1')
    'mine-limit10'
    """
    return re.sub(r'(?:-samples[1-9][0-9]*)?(?:-k[0-9]+(?:_[0-9]+)*-[rn][0-9]+)?$', '', abbr)
