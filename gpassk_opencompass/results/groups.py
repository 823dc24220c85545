"""The group of a question, `{split}_{language}`, taken apart again; and the strata that groups make."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

_LANGUAGE = re.compile('[a-z]{2,3}(-[A-Za-z]+)?')
_NEITHER = 'all'


def parted_group(group: str) -> tuple[str, str]:
    """Return split and language of a group, '' where it has none.

    What stands behind the last `_`, or is the whole group, is a language where it looks like the code of one.

    >>> parted_group('test_set_en')
    ('test_set', 'en')
    >>> parted_group('level_5')
    ('level_5', '')
    >>> parted_group('cn')
    ('', 'cn')
    >>> parted_group('all')
    ('', '')
    """
    if group == _NEITHER:
        return '', ''
    split, _, language = group.rpartition('_')
    return (split, language) if _LANGUAGE.fullmatch(language) else (group, '')


def strata_of(problems: Sequence[str], groups: Sequence[str]) -> list[str] | None:
    """Return the stratum of each question: the groups in which its problem stands; None where there is one.

    The translations of a problem stand in several groups, `AMC_en` and `AMC_cn`, and are of one stratum.

    >>> strata_of(['a', 'a', 'b', 'b', 'c'], ['AMC_cn', 'AMC_en', 'AMC_en', 'AMC_cn', 'CCEE_cn'])
    ['AMC_cn, AMC_en', 'AMC_cn, AMC_en', 'AMC_cn, AMC_en', 'AMC_cn, AMC_en', 'CCEE_cn']
    """
    standing: defaultdict[str, set[str]] = defaultdict(set)
    for problem, group in zip(problems, groups, strict=True):
        standing[problem].add(group)
    found = [', '.join(sorted(standing[problem])) for problem in problems]
    return found if len(set(found)) > 1 else None
