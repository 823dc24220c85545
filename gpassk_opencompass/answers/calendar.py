"""Days and times of day."""

from __future__ import annotations

import re

from .values import Date, Time

_NAMES = 'january february march april may june july august september october november december'
_MONTHS = _NAMES.split()
_MONTH = '|'.join(f'{name}|{name[:3]}\\.?' for name in _MONTHS)
_DATES = (
    re.compile(r'(?:(?P<year>[0-9]{4})年)?(?P<month>[0-9]{1,2})月(?:(?P<day>[0-9]{1,2})[日号])?'),
    re.compile(r'(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})'),
    re.compile(
        rf'(?P<name>{_MONTH}) ?(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:, ?(?P<year>[0-9]{{4}}))?', re.I
    ),
    re.compile(
        rf'(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)? ?(?:of )?(?P<name>{_MONTH})(?:,? ?(?P<year>[0-9]{{4}}))?',
        re.I,
    ),
    re.compile(rf'(?P<name>{_MONTH}),? ?(?P<year>[0-9]{{4}})', re.I),
    re.compile(r'(?P<year>[0-9]{4})年'),
)
_TIMES = (
    re.compile(r'(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2}) ?(?P<half>[ap]\.?m)\.?', re.I),
    re.compile(r'(?P<hour>[0-9]{1,2}) ?(?P<half>[ap]\.?m)\.?(?P<minute>)', re.I),
    re.compile(r'(?P<hour>[0-9]{1,2}):(?P<minute>0[0-9])(?P<half>)'),
    re.compile(
        r'(?P<half>上午|下午|凌晨|晚上|早上)?(?P<hour>[0-9]{1,2})[点时](?:(?P<minute>[0-9]{1,2})分|整|钟)'
    ),
    re.compile(r'(?P<half>上午|下午|凌晨|晚上|早上)(?P<hour>[0-9]{1,2})(?:[点时]|:(?P<minute>[0-9]{2}))'),
)
_AFTERNOON = frozenset({'p', '下午', '晚上'})


def read_date(text: str) -> Date | None:
    """Return the day that `text` is, or the year or month; None if it is none.

    >>> read_date('2024年5月'), read_date('May 3, 2024') == read_date('2024年5月3日')
    (Date(year=2024, month=5, day=None), True)
    """
    for pattern in _DATES:
        if match := pattern.fullmatch(text):
            found = match.groupdict()
            month = found.get('month')
            if name := found.get('name'):
                month = str([full[:3] for full in _MONTHS].index(name[:3].lower()) + 1)
            year, day = found.get('year'), found.get('day')
            date = Date(int(year) if year else None, int(month) if month else None, int(day) if day else None)
            return date if (date.month or 1) <= 12 and (date.day or 1) <= 31 else None
    return None


def read_time(text: str) -> Time | None:
    """Return the time of day that `text` is; None if it is none.

    >>> read_time('4:30 p.m.') == read_time('下午4:30')
    True
    """
    for pattern in _TIMES:
        if match := pattern.fullmatch(text):
            hour, minute, half = int(match['hour']), int(match['minute'] or 0), match['half'] or ''
            if hour > 24 or minute > 59:
                return None
            if not half:
                return Time(hour, minute, '')
            afternoon = half[0].lower() in _AFTERNOON or half in _AFTERNOON
            return Time(hour % 12, minute, 'pm' if afternoon else 'am') if hour <= 12 else Time(hour, minute)
    return None
