"""The lenient rules: when two answers that do not say the same count as equal."""

from __future__ import annotations

from collections.abc import Mapping

RULES: Mapping[str, str] = {
    'brackets': 'round and square brackets of what can be no interval: (3, -1), [3, -1]',
    'condition-missing': 'the range of an index on one side only: 2n-1 (n ∈ N*), 2n-1',
    'half-day': 'a.m. or p.m. on one side only: 4:30 p.m., 4:30',
    'label': 'fewer words before a quantity: 每瓶墨水10元, 墨水10元',
    'list-as-set': 'values without brackets, and the same in braces: 2, 5 and {2, 5}',
    'list-as-tuple': 'values without brackets, and the same in an order: 2, 5 and (2, 5)',
    'list-order': 'values without brackets in another order: 2, 5 and 5, 2',
    'long-decimal': 'a decimal of ten digits or more for an exact value: 1.5707963268, π/2',
    'name-missing': 'the name of a value on one side only: x = 5, 5',
    'percent-sign': 'the percent sign on one side only: 28 %, 28',
    'ratio-as-fraction': 'a ratio as a quotient: 1:2, 1/2',
    'rounded': 'an exact value for the decimal of the reference, to its three or more digits: 2/3 for 0.667',
    'stated': 'the value in a sentence that says or concludes it: "the area is $5$", 5',
    'unit-missing': 'the unit, or what is counted, on one side only: 5 cm, 5',
}
"""Each lenient rule by its id, with an example."""

ALL_RULES = frozenset(RULES)
