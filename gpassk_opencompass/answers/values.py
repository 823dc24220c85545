"""What an answer can be: the types of its value, units in exact numbers, numerals and phrases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from .numeric import DEGREE, Expression, Number


class Unit(NamedTuple):
    """What is measured ("apples", or 个: itself), with powers, and in how many of its basic unit."""

    dimension: frozenset[tuple[str, int]]
    factor: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, an expression, or so much of a unit; `product` is `3 m` where m is a variable."""

    expression: Expression
    unit: Unit | None = None
    product: Expression | None = None

    @property
    def worth(self) -> Expression:
        """What it is in the basic unit, an angle as a number."""
        if self.unit is None or self.unit == RADIANS:
            return self.expression
        if self.unit == DEGREES:
            return self.expression * DEGREE
        if self.unit == PERCENT and isinstance(self.expression, Number):
            digits = self.expression.digits
            return Number(Fraction(self.expression.value, 100), None if digits is None else digits + 2)
        return self.expression * Number(self.unit.factor) if self.unit.factor != 1 else self.expression


@dataclass(frozen=True, slots=True)
class Named:
    """A value and its name, `∠C = 115°`; `left` is that name where it is an expression."""

    name: str
    value: Value
    left: Expression | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """Sides and the signs between them (`=`, `<`, `\\le`, `\\ne`), as many sides as signs and one more."""

    sides: tuple[Expression, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Several:
    """Values of a kind: 'list' (no brackets), 'set', 'tuple', 'union', 'ratio', 'matrix' (of tuples),
    'piecewise' (of tuples of a value and its condition), or '()', '[)', '(]', '[]': an interval, or a point.
    """

    kind: str
    items: tuple[Value, ...]
    joined_by: str = ','  # a list: 'and' where all of them are to hold at once; 'or', or ','


@dataclass(frozen=True, slots=True)
class Words:
    """A 'phrase' by its meaning, a 'domain' by its letter and mark (R, N*), a 'time' of day, or 'text'."""

    kind: str
    words: tuple[str, ...]


Value = Amount | Named | Relation | Several | Words
REALS = Words('domain', ('R',))
PAIRS = frozenset({'()', '[)', '(]', '[]'})

# Units. A line is a dimension and its units: names separated by '|' = how many of the basic unit

_UNIT_TABLE = """
length: mm|millimeters|millimetres|毫米=1/1000
length: cm|centimeters|centimetres|centimeter|centimetre|厘米|公分=1/100
length: dm|decimeters|分米=1/10 m|meters|metres|meter|metre|米=1
length: km|kilometers|kilometres|kilometer|千米|公里=1000
length: inches|inch|英寸=127/5000 ft|feet|foot|英尺=381/1250 yd|yards|yard|码=1143/1250
length: miles|mile|mi|英里=201168/125 里|华里=500 nm|纳米=1/1000000000
mass: mg|毫克=1/1000 g|grams|gram|克=1 kg|kilograms|kilogram|公斤|千克=1000 斤=500
mass: t|tons|tonnes|ton|吨=1000000 lb|lbs|pounds|pound|磅=45359237/100000 oz|ounces|ounce=45359237/1600000
time: ms|毫秒=1/1000 s|sec|secs|seconds|second|秒|秒钟=1 min|mins|minutes|minute|分钟|分=60
time: h|hr|hrs|hours|hour|小时|时=3600 days|day|天|日=86400 weeks|week|周|星期=604800
months: months|month|个月|月=1 years|year|yr|yrs|年=12
volume: ml|mL|milliliters|milliliter|毫升=1/1000000 l|L|liters|liter|litres|升=1/1000
volume: gallons|gallon=473176473/125000000000
area: 公顷|hectares|hectare|ha=10000 亩=2000/3 acres|acre=316160658/78125
angle: degrees|degree|deg|度=1 rad|radians|radian|弧度=0
money: 分钱|fen=1/100 角=1/10 元|yuan|¥|块|块钱|人民币|RMB=1
money of the US: cents|cent|¢=1/100 dollars|dollar|USD|美元=1
money of the EU: euros|euro|€|欧元=1
money of the UK: £|英镑=1
speed: mph=1397/3125 knots=463/900
temperature: 摄氏度|Celsius=1
fahrenheit: 华氏度|Fahrenheit=1
energy: J|joules|joule|焦耳|焦=1 kJ|千焦=1000
power: W|watts|watt|瓦=1 kW|千瓦=1000
force: N|newtons|newton|牛顿|牛=1
voltage: V|volts|volt|伏特|伏=1
current: A|amperes|安培|安=1
units: units|unit|单位|个单位|个单位长度=1
"""
_DEFINED_BY = {'volume': (('length', 3),), 'area': (('length', 2),), 'speed': (('length', 1), ('time', -1))}
UNITS = {
    name: Unit(frozenset(_DEFINED_BY.get(dimension, ((dimension, 1),))), Fraction(entry.partition('=')[2]))
    for dimension, _, entries in (line.partition(': ') for line in _UNIT_TABLE.strip().split('\n'))
    for entry in entries.split(' ')
    for name in entry.partition('=')[0].split('|')
}
DEGREES, RADIANS = UNITS['degrees'], UNITS['rad']
PERCENT = Unit(frozenset(), Fraction(1, 100))
_POWERS = {'square': 2, 'sq': 2, 'cubic': 3, '平方': 2, '立方': 3}
_MEASURE = re.compile(
    r'(?:(?P<power>square |sq |cubic |平方|立方)\s?)?(?P<name>[^\s^/*每]+)'
    r'(?:\s?\^\s(?:(?P<exponent>[23])|\{ (?P<braced>[23]) \}))?\s?(?P<sign>(?:/|per\b|每|\*)\s?(?!\Z)|\Z)'
)
_COUNTERS = frozenset(
    '个 种 人 名 位 只 条 次 组 对 场 张 本 件 支 枝 辆 台 棵 颗 套 块 段 根 排 行 列 项 道 枚 瓶 箱 盒 桶 '
    '头 匹 朵 步 层 圈 倍 岁 级 届 站 家 所 座 篇 页 字 句 首 户 份 股 点 题 类 队 班 节 间 杯 袋 双 把 架 '
    '艘 片 面 种方法 种可能 种情况 种不同的方法 个数 个人 个点 对数 人次 分球 位数'.split()
)
_COUNTED = re.compile(
    '[个只条位名本支棵辆张颗朵块枚根种件套](?P<noun>(?![多少百千万亿以半不非或至约近倍分])[\u4e00-\u9fff]{1,3}'
    '(?<![多少以上下内外右半]))'
)  # what is counted, behind its counter: 个苹果, 名学生, 个小时
_NO_NOUNS = frozenset(
    'more less fewer least most than times half double twice dozen squared cubed factorial percent '
    'percentage pct below above and not plus minus over under mod modulo base when where for with without '
    'million billion thousand hundred trillion negative positive are was equals even odd prime only per '
    'remainder approximately about such that all each every between except unless either neither nor '
    'infinity undefined multiple multiples divisor divisors factors factor sin cos tan log sqrt root roots '
    'power powers dozens scores score half halves quarter quarters pair pairs couple couples gross fold ones '
    'trio trios among others wrong incorrect right correct false true digit digits place places'.split()
)
_PLURAL = re.compile(
    '(?!.*(?:illion|th|thousand|hundred|third|lakh|crore|zero|ten|[iou]ve|six|one|two|four|seven|eight|nine)s$'
    '|(?:oops|perhaps|always|less|was|has|does|yes|thus|this|its)$)[a-z]+(?<!s)s|[a-z]+sses'
)
_NOUNS = frozenset(
    'people men women children person child way fish sheep mice feet teeth geese students dollar point team '
    'ways apple ball book coin text integer solution triangle'.split()
)


def unit_of(names: Sequence[str]) -> Unit | None:
    r"""Return the unit that tokens name: `cm`, `km / h`, `m ^ 2`, `平方米`, `apples`, `个`; None for none."""
    if not 0 < len(names) <= 16:
        return None
    if ''.join(names).strip('^{}') == r'\circ':
        return DEGREES
    if (noun := _noun_of(names)) is not None:
        return noun
    text, dimension, factor = ' '.join(names), Counter[str](), Fraction(1)
    place, sign = 0, 1
    while place < len(text):
        if (part := _MEASURE.match(text, place)) is None:
            return None
        name = part['name'].rstrip('.')
        unit = UNITS.get(name) or (UNITS.get(name.lower()) if len(name) > 2 else None)
        if unit is None:
            return None
        exponent = sign * _POWERS.get((part['power'] or '').strip(), 1)
        exponent *= int(part['exponent'] or part['braced'] or 1)
        factor *= unit.factor**exponent if unit.factor else 0
        for base, one in unit.dimension:
            dimension[base] += one * exponent
        place, sign = part.end(), 1 if part['sign'].strip() == '*' else -1
    return Unit(frozenset((base, exponent) for base, exponent in dimension.items() if exponent), factor)


def _noun_of(names: Sequence[str]) -> Unit | None:
    """Return a unit for what is counted, if that is all there is."""
    if len(names) == 1 and names[0] > '\u4e00' and names[0] not in UNITS:
        several = Unit(frozenset({('个', 1)}))
        counted = _COUNTED.fullmatch(names[0])
        return several if names[0] in _COUNTERS else counted and UNITS.get(counted['noun'], several)
    nouns = [name.lower() for name in names]
    are_words = all(noun.isascii() and noun.isalpha() and len(noun) > 2 for noun in nouns)
    is_noun = are_words and len(nouns) <= 3 and (_PLURAL.fullmatch(nouns[-1]) or nouns[-1] in _NOUNS)
    others = (UNITS.keys() | _POWERS.keys() | _NO_NOUNS).isdisjoint(nouns)
    return Unit(frozenset({(' '.join(nouns), 1)})) if is_noun and others else None


# Numerals and phrases

_DIGITS = {digit: value % 10 for value, digit in enumerate('零一二三四五六七八九0123456789')}
_DIGITS |= {'〇': 0, '两': 2}
_SIZES = {'十': 10, '百': 100, '千': 1000, '万': 10**4, '亿': 10**8}
MULTIPLIERS = {  # what a number is multiplied by if the word follows it
    '百': 100, '千': 1000, '万': 10**4, '亿': 10**8, '十万': 10**5, '百万': 10**6, '千万': 10**7,
    '十亿': 10**9, '百亿': 10**10, '万亿': 10**12,
    'hundred': 100, 'thousand': 1000, 'million': 10**6, 'billion': 10**9, 'trillion': 10**12, 'dozen': 12,
}  # fmt: skip
_TO_NINETEEN = (
    'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen '
    'seventeen eighteen nineteen'
).split()
_TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split()
_CARDINALS = dict(zip(_TO_NINETEEN + _TENS, (*range(20), *range(20, 100, 10)), strict=True))
_PARTS = {'half': 2, 'third': 3, 'quarter': 4, 'fourth': 4, 'fifth': 5, 'sixth': 6, 'eighth': 8, 'tenth': 10}


def english_number(words: Sequence[str]) -> Fraction | None:
    """Return the number that up to three English words write out ("two thirds"), or None."""
    if len(words) > 1 and (part := _PARTS.get(words[-1].removesuffix('s'))):
        above = english_number(words[:-1])
        return above and above / part
    match [_CARDINALS.get(word) for word in words]:
        case [int() as value]:
            return Fraction(value)
        case [int() as tens, int() as ones] if tens >= 20 and tens % 10 == 0 < ones < 10:
            return Fraction(tens + ones)
    return None


def chinese_number(text: str) -> Fraction | None:
    """Return the number that Chinese characters and digits write out (三分之二, 3万5千), or None."""
    below, parted, above = text.partition('分之')
    if parted:
        terms = chinese_number(above), chinese_number(below)
        return terms[0] / terms[1] if terms[0] is not None and terms[1] else None
    if text.startswith('负'):
        value = chinese_number(text[1:])
        return None if value is None else -value
    if not 0 < len(text) <= 40 or not {*text} <= _DIGITS.keys() | _SIZES.keys():
        return Fraction(1, 2) if text in {'半', '一半'} else None
    total = section = digit = 0
    written_out = _SIZES.keys().isdisjoint(text)
    for char in text:
        if (size := _SIZES.get(char)) is None:
            digit = (10 * digit if written_out or char.isascii() else 0) + _DIGITS[char]
        elif size < 10**4:
            section, digit = section + (digit or 1) * size, 0
        else:
            total, section, digit = (total + section + digit) * size, 0, 0
    return Fraction(total + section + digit)


_SPELLINGS = {
    'yes': 'yes|true|correct|是|是的|对|对的|正确|成立|真|真命题|可以|能|会|存在|exists|有|√|✓|✔',
    'no': r'no|false|incorrect|wrong|否|不是|错|错误|不正确|不对|不成立|假|假命题|不能|不会|不|\times|✗|✘',
    'nothing': 'none|no solution|no solutions|no real solution|no real solutions|does not exist|无解|没有解|'
    'there is no solution|there are no solutions|no real roots|无实数解|无实根|无实数根|没有实数解|不存在|'
    '方程无解|没有|无',
}  # fmt: skip
_SAID = re.compile("^(?:答案?[是为:：]?|it is|it's|they are|the answer is|answer:)")
_NOISE = re.compile(r'\b(?:the|an?)\b\s*|[\s,.;:!，。；：！、"“”$*]+')


def meaning_of(text: str) -> str | None:
    """Return 'yes', 'no' or 'nothing' if that is all `text` says in any case and punctuation, else None."""
    return _MEANINGS.get(_bare(text)) if len(text) <= 60 else None


def _bare(text: str) -> str:
    return _NOISE.sub('', _SAID.sub('', text.casefold().strip()).strip())


_MEANINGS = {_bare(text): meaning for meaning, texts in _SPELLINGS.items() for text in texts.split('|')}
