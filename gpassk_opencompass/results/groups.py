"""The group of a question, `{split}_{language}`, taken apart again."""

from __future__ import annotations

import re

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
