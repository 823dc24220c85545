r"""What an answer can be: the types of its value, and the units of quantities in exact numbers.

>>> from .tokens import tokens_of
>>> read_unit(tokens_of(r'\text{km/h}')).factor
Fraction(5, 18)
>>> read_unit(tokens_of('小时')) == read_unit(tokens_of('hours'))
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from .expressions import Expression
from .tokens import Token, Tokens, Unread, words


class Unit(NamedTuple):
    """What is measured, and in what.

    Two units of one dimension can be converted. A noun ("apples", 个) has itself as dimension.
    """

    dimension: frozenset[tuple[str, int]]
    factor: Fraction = Fraction(1)


# dimension: names = how many of the basic unit; one line a scale, names of one unit separated by '|'
_TABLE = """
length: mm|millimeters|millimetres|毫米=1/1000
length: cm|centimeters|centimetres|centimeter|centimetre|厘米|公分=1/100
length: dm|decimeters|分米=1/10 m|meters|metres|meter|metre|米=1
length: km|kilometers|kilometres|kilometer|千米|公里=1000
length: inches|inch|英寸=127/5000 ft|feet|foot|英尺=381/1250 yd|yards|yard|码=1143/1250
length: miles|mile|mi|英里=201168/125
length: 里|华里=500 nm|纳米=1/1000000000 光年=9460730472580800
mass: mg|毫克=1/1000 g|grams|gram|克=1 kg|kilograms|kilogram|公斤|千克=1000 斤=500
mass: t|tons|tonnes|ton|吨=1000000
mass: lb|lbs|pounds|pound|磅=45359237/100000 oz|ounces|ounce=45359237/1600000
time: ms|毫秒=1/1000 s|sec|secs|seconds|second|秒|秒钟=1 min|mins|minutes|minute|分钟|分=60
time: h|hr|hrs|hours|hour|小时|时=3600
time: days|day|天|日=86400 weeks|week|周|星期=604800
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
_SQUARED = {'square': 2, 'sq': 2, 'cubic': 3, '平方': 2, '立方': 3}

_COUNTERS = words(
    '个 种 人 名 位 只 条 次 组 对 场 张 本 件 支 枝 辆 台 棵 颗 套 块 段 根 排 行 列 项 道 枚 瓶 箱 '
    '盒 桶 头 匹 朵 步 '
    '层 圈 倍 岁 级 届 站 家 所 座 篇 页 字 句 首 户 份 股 点 题 类 队 班 节 间 杯 袋 双 把 架 艘 片 '
    '面 种方法 种可能 '
    '种情况 种不同的方法 个数 个人 个点 对数 人次 分球 位数'
)
_NOT_A_NOUN = words(
    'more less fewer least most than times half double twice dozen squared cubed factorial percent '
    'percentage pct '
    'below above or and not no plus minus over under to by of mod modulo base if when where for with without '
    'million billion thousand hundred trillion negative positive is are was equals even odd prime only per '
    'remainder approximately about such that all each every between except unless in on at as '
    'either neither '
    'nor n k x y infinity undefined multiple multiples divisor divisors factors factor pi sin cos tan '
    'log ln sqrt '
    'th st nd rd root roots power powers hundreds thousands millions billions trillions dozens scores score '
    'halves third thirds quarter quarters fourth fourths fifth fifths tenth tenths hundredth hundredths '
    'thousandth thousandths pair pairs couple couples gross fold ones tens dozens trio trios hundred wrong incorrect right correct false true digits digit place places'
)
_NOUN = re.compile('[A-Za-z]{3,}')
_PLURAL = re.compile('(?!.*(?:illion|th|lakh|crore|zero|ten|[iou]ve|six|one|two|four|seven|eight|nine)s$|(?:oops|perhaps|always|less|was|has|does|yes|thus|this|its)$)[a-z]+(?<!s)s|[a-z]+sses')
_NOUNS = words('people men women children person child way fish sheep mice feet teeth geese students percent dollar point team ways apple ball book coin digit integer solution triangle')
_PEOPLE = re.compile('^([名位])(?:学生|同学|人|老师|教师|工人|队员|运动员|小朋友|选手|乘客)$')
_COUNTED = re.compile(
    '(?:[个只条位名本支棵辆张颗朵块枚根种件套])(?P<noun>(?![多少百千万亿以半不非或至约近倍分])[\u4e00-\u9fff]{1,3}(?<![多少以上下内外右半]))'
)
"""What is counted, behind its counter: 个苹果, 个小时."""
_LONGEST_NOUN = 3
_LONGEST = 16  # tokens of a unit


def _rows() -> Iterator[tuple[str, Unit]]:
    for line in _TABLE.split('\n'):
        dimension, _, entries = line.partition(': ')
        for entry in entries.split(' '):
            names, _, factor = entry.partition('=')
            measured = frozenset(_DEFINED_BY.get(dimension, ((dimension, 1),)))
            for name in names.split('|'):
                if name:
                    yield name, Unit(measured, Fraction(factor))


_UNITS = dict(_rows())
NONE = Unit(frozenset())
DEGREES = _UNITS['degrees']
RADIANS = _UNITS['rad']


def read_unit(tokens: Tokens) -> Unit:
    r"""Return the unit that `tokens` name: `cm`, `km/h`, `\text{m}^2`, `平方米`, `^\circ`, `apples`, `个`.

    Raises:
        Unread: they are no unit, no counter of Chinese and no plain noun.
    """
    rest = list(tokens)
    if not 0 < len(rest) <= _LONGEST:
        raise Unread('no unit')
    if [token.text for token in rest] in (['^', r'\circ'], ['^', '{', r'\circ', '}'], [r'\circ']):
        return DEGREES
    if (noun := _noun(rest)) is not None:
        return noun
    unit, sign = NONE, 1
    while rest:
        factor, rest = _one(rest)
        unit = _times(unit, factor, sign)
        if rest and rest[0].text in {'/', 'per', '每', '*'}:
            sign = 1 if rest[0].text == '*' else -1
            rest = rest[1:]
            if not rest:
                raise Unread('per what?')
        elif rest:
            raise Unread(rest[0].text)
    return unit


def _one(tokens: list[Token]) -> tuple[Unit, list[Token]]:
    """Return the first unit with its power, and what follows it."""
    name, rest, power = tokens[0].text, tokens[1:], 1
    for word, exponent in _SQUARED.items():
        if name == word and rest:
            name, rest, power = rest[0].text, rest[1:], exponent
        elif name.startswith(word) and word not in {'sq', 'square', 'cubic'} and name != word:
            name, power = name.removeprefix(word), exponent
    parts = name.split('每') if '每' in name[1:] else [name]
    unit = _looked_up(parts[0].rstrip('.'))
    for part in parts[1:]:
        unit = _times(unit, _looked_up(part), -1)
    if len(rest) >= 2 and rest[0].text == '^':
        exponent_tokens = [token for token in rest[1:4] if token.text in {'2', '3', '{', '}'}]
        digits = [token.text for token in exponent_tokens if token.text.isdigit()]
        if len(digits) != 1:
            raise Unread('the power of a unit')
        power *= int(digits[0])
        rest = rest[4:] if rest[1].text == '{' else rest[2:]
    return _to_the(unit, power), rest


def _looked_up(name: str) -> Unit:
    unit = _UNITS.get(name) or (_UNITS.get(name.lower()) if len(name) > 2 else None)
    if unit is None:
        raise Unread(name)
    return unit


def _noun(tokens: list[Token]) -> Unit | None:
    """Return a unit for what is counted, if that is all there is."""
    if len(tokens) == 1 and tokens[0].kind == 'chinese' and tokens[0].text not in _UNITS:
        name = _PEOPLE.sub(r'\1', tokens[0].text)
        if (counted := _COUNTED.fullmatch(name)) and name not in _COUNTERS:
            return _UNITS.get(counted['noun']) or Unit(frozenset({('个', 1)}))
        return Unit(frozenset({('个', 1)})) if name in _COUNTERS else None
    names = [token.text.lower() for token in tokens]
    if len(names) > _LONGEST_NOUN or any(name in _UNITS or name in _SQUARED for name in names):
        return None
    if not all(_NOUN.fullmatch(name) and name not in _NOT_A_NOUN for name in names):
        return None
    if not (_PLURAL.fullmatch(names[-1]) or names[-1] in _NOUNS):
        return None
    return Unit(frozenset({(' '.join(names), 1)}))


def _times(one: Unit, other: Unit, sign: int) -> Unit:
    powers = dict(one.dimension)
    for name, power in other.dimension:
        powers[name] = powers.get(name, 0) + sign * power
    kept = frozenset((name, power) for name, power in powers.items() if power)
    return Unit(kept, one.factor * other.factor**sign)


def _to_the(unit: Unit, power: int) -> Unit:
    return Unit(frozenset((name, exponent * power) for name, exponent in unit.dimension), unit.factor**power)


@dataclass(frozen=True, slots=True)
class Formula:
    """A number or an expression; `percent` if a percent sign stands behind it."""

    expression: Expression
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Quantity:
    """So much of a unit. `product` is the other reading of `3 m`, where m may be a variable."""

    amount: Expression
    unit: Unit
    product: Expression | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A value and the name that the answer gives it: `x = 5`, `∠C = 115°`, `A(-4, 0)`.

    `left` is the name as an expression, where it is one, for an equation that says the same.
    """

    name: str
    value: Value
    left: Expression | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """The last member of a chain that holds: `2^{10} = 1024`, `3x = 15 \\Rightarrow x = 5`."""

    value: Value


@dataclass(frozen=True, slots=True)
class Labelled:
    """A value and the words before it: 墨水10元, "bus: 16 km/h"."""

    words: tuple[str, ...]
    value: Value


@dataclass(frozen=True, slots=True)
class Relation:
    """Sides and the signs between them (`=`, `<`, `\\le`, `\\ne`), as many sides as signs and one more."""

    sides: tuple[Expression, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`(a, b)`, `[a, b)` and the like: an interval, or a point if its brackets are those of one."""

    low: Value
    high: Value
    left_closed: bool
    right_closed: bool


@dataclass(frozen=True, slots=True)
class Tuple:
    """Three or more values in an order, in round or square brackets, or one in brackets."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Set:
    """Values in braces, in no order."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """Values without brackets: `2, 3`, `2 or 3`, `x = 1; y = 2`, `(1) 3; (2) 5`."""

    items: tuple[Value, ...]
    joined_by: str = ','
    """`and` where all of them are to hold at once; `or`, or `,`."""


@dataclass(frozen=True, slots=True)
class Union:
    """Sets and intervals taken together."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Domain:
    """A set that has a name: R, Z, N, Q, C, with its mark (`+`, `*`, '')."""

    name: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of expressions, all of one length."""

    rows: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, slots=True)
class Piecewise:
    """Branches: a value and the condition under which it holds."""

    branches: tuple[tuple[Value, Value], ...]


@dataclass(frozen=True, slots=True)
class BaseNumber:
    """A number written in a base that it names: `25_8`."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Ratio:
    """`a : b`, `a : b : c`."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Date:
    """A day of the calendar, or as much of it as the answer gives (None for the rest)."""

    year: int | None
    month: int | None
    day: int | None


@dataclass(frozen=True, slots=True)
class Time:
    """A time of day; `half` is 'am', 'pm' or '' where the answer leaves it open."""

    hour: int
    minute: int
    half: str = ''


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase of mathematics by its meaning (`words.meaning_of`): true, increasing, "no solution"."""

    meaning: str


@dataclass(frozen=True, slots=True)
class Conditioned:
    """A value and the condition written behind it: `2n - 1 (n ∈ N*)`."""

    value: Value
    condition: str


@dataclass(frozen=True, slots=True)
class Text:
    """Words that are none of the others, numbers among them."""

    words: tuple[str, ...]


Value = (
    Formula | Quantity | Named | Chain | Labelled | Relation | Pair | Tuple | Set | Listed | Union | Domain | Matrix
    | Piecewise | BaseNumber | Ratio | Date | Time | Phrase | Conditioned | Text
)  # fmt: skip
