"""What an answer can be: the types of its value, units in exact numbers, numerals, phrases by meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from .numeric import Expression

# Types


@dataclass(frozen=True, slots=True)
class Formula:
    """A number or an expression; `percent` if a percent sign stands behind it."""

    expression: Expression
    percent: bool = False


class Unit(NamedTuple):
    """What is measured, with powers, and in what: units of one dimension can be converted.

    A noun ("apples", 个) has itself as dimension.
    """

    dimension: frozenset[tuple[str, int]]
    factor: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Quantity:
    """So much of a unit. `product` is the other reading of `3 m`, where m may be a variable."""

    amount: Expression
    unit: Unit
    product: Expression | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A value and its name, `∠C = 115°`; `left` is that name where it is an expression."""

    name: str
    value: Value
    left: Expression | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """The last member of a chain that holds: `2^{10} = 1024`, `3x = 15 \\Rightarrow x = 5`."""

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
class Several:
    """Values of a kind: 'list' (no brackets), 'set', 'tuple', 'union', 'ratio', 'matrix' (of tuples),
    'piecewise'.

    The branches of what is piecewise are tuples of a value and its condition.
    """

    kind: str
    items: tuple[Value, ...]
    joined_by: str = ','
    """Of a list: 'and' where all of them are to hold at once; 'or', or ','."""


@dataclass(frozen=True, slots=True)
class Words:
    """A 'phrase' by its meaning, a 'domain' by its letter and mark (R, N*), or 'text' that is neither."""

    kind: str
    words: tuple[str, ...]


Value = Formula | Quantity | Named | Chain | Relation | Pair | Several | Words
REALS = Words('domain', ('R',))

# Units. A line is a dimension and its units: names separated by '|' = how many of the basic unit

_UNIT_TABLE = """
length: mm|millimeters|millimetres|毫米=1/1000
length: cm|centimeters|centimetres|centimeter|centimetre|厘米|公分=1/100
length: dm|decimeters|分米=1/10 m|meters|metres|meter|metre|米=1
length: km|kilometers|kilometres|kilometer|千米|公里=1000
length: inches|inch|英寸=127/5000 ft|feet|foot|英尺=381/1250 yd|yards|yard|码=1143/1250
length: miles|mile|mi|英里=201168/125 里|华里=500 nm|纳米=1/1000000000 光年=9460730472580800
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
_SQUARED = {'square': 2, 'sq': 2, 'cubic': 3, '平方': 2, '立方': 3}
_SEVERAL = Unit(frozenset({('个', 1)}))
_COUNTERS = frozenset(
    '个 种 人 名 位 只 条 次 组 对 场 张 本 件 支 枝 辆 台 棵 颗 套 块 段 根 排 行 列 项 道 枚 瓶 箱 盒 桶 '
    '头 匹 朵 步 层 圈 倍 岁 级 届 站 家 所 座 篇 页 字 句 首 户 份 股 点 题 类 队 班 节 间 杯 袋 双 把 架 '
    '艘 片 面 种方法 种可能 种情况 种不同的方法 个数 个人 个点 对数 人次 分球 位数'.split()
)
_PEOPLE = re.compile('^([名位])(?:学生|同学|人|老师|教师|工人|队员|运动员|小朋友|选手|乘客)$')
_COUNTED = re.compile(
    '[个只条位名本支棵辆张颗朵块枚根种件套](?P<noun>(?![多少百千万亿以半不非或至约近倍分])[\u4e00-\u9fff]{1,3}'
    '(?<![多少以上下内外右半]))'
)  # what is counted, behind its counter: 个苹果, 个小时
_NO_NOUNS = frozenset(
    'more less fewer least most than times half double twice dozen squared cubed factorial percent '
    'percentage pct below above and not plus minus over under mod modulo base when where for with without '
    'million billion thousand hundred trillion negative positive are was equals even odd prime only per '
    'remainder approximately about such that all each every between except unless either neither nor '
    'infinity undefined multiple multiples divisor divisors factors factor sin cos tan log sqrt root roots '
    'power powers hundreds thousands millions billions trillions dozens scores score halves third thirds '
    'quarter quarters fourth fourths fifth fifths tenth tenths hundredth hundredths thousandth thousandths '
    'pair pairs couple couples gross fold ones tens trio trios wrong incorrect right correct false true '
    'digit digits place places'.split()
)
_PLURAL = re.compile(
    '(?!.*(?:illion|th|lakh|crore|zero|ten|[iou]ve|six|one|two|four|seven|eight|nine)s$'
    '|(?:oops|perhaps|always|less|was|has|does|yes|thus|this|its)$)[a-z]+(?<!s)s|[a-z]+sses'
)
_NOUNS = frozenset(
    'people men women children person child way fish sheep mice feet teeth geese students dollar point team '
    'ways apple ball book coin text integer solution triangle'.split()
)


def unit_of(names: Sequence[str]) -> Unit | None:  # noqa: C901
    r"""Return the unit that tokens name: `cm`, `km / h`, `m ^ 2`, `平方米`, `apples`, `个`; None if they do
    not.

    >>> unit_of(['km', '/', 'h']).factor, unit_of(['小时']) == unit_of(['hours'])
    (Fraction(5, 18), True)
    """
    if not 0 < len(names) <= 16:
        return None
    if list(names) in (['^', r'\circ'], ['^', '{', r'\circ', '}'], [r'\circ']):
        return DEGREES
    if (noun := _noun_of(names)) is not None:
        return noun
    dimension: dict[str, int] = {}
    factor, sign, rest = Fraction(1), 1, list(names)
    while rest:
        name, power = rest.pop(0), 1
        for word, exponent in _SQUARED.items():
            if name == word and rest:
                name, power = rest.pop(0), exponent
            elif word > 'z' and name.startswith(word) and name != word:
                name, power = name.removeprefix(word), exponent
        if rest[:1] == ['^']:
            exponents = rest[1:4] if rest[1:2] == ['{'] and rest[3:4] == ['}'] else rest[1:2]
            digits = ''.join(exponents).strip('{}')
            if digits not in {'2', '3'}:
                return None
            power, rest = power * int(digits), rest[1 + len(exponents) :]
        parts = name.split('每') if '每' in name[1:] else [name]
        for place, written in enumerate(parts):
            part = written if place else written.rstrip('.')
            unit = UNITS.get(part) or (UNITS.get(part.lower()) if len(part) > 2 else None)
            if unit is None:
                return None
            exponent = power * sign * (-1 if place else 1)
            factor *= unit.factor**exponent if unit.factor else 0
            for base, one in unit.dimension:
                dimension[base] = dimension.get(base, 0) + one * exponent
        if rest:
            if rest[0] not in {'/', 'per', '每', '*'} or len(rest) == 1:
                return None
            sign = 1 if rest.pop(0) == '*' else -1
    return Unit(frozenset((base, exponent) for base, exponent in dimension.items() if exponent), factor)


def _noun_of(names: Sequence[str]) -> Unit | None:
    """Return a unit for what is counted, if that is all there is."""
    if len(names) == 1 and names[0] > '\u4e00' and names[0] not in UNITS:
        name = _PEOPLE.sub(r'\1', names[0])
        if name in _COUNTERS:
            return _SEVERAL
        counted = _COUNTED.fullmatch(name)
        return UNITS.get(counted['noun'], _SEVERAL) if counted else None
    nouns = [name.lower() for name in names]
    if len(nouns) > 3 or any(noun in UNITS or noun in _SQUARED or noun in _NO_NOUNS for noun in nouns):
        return None
    if not all(noun.isascii() and noun.isalpha() and len(noun) > 2 for noun in nouns):
        return None
    if not _PLURAL.fullmatch(nouns[-1]) and nouns[-1] not in _NOUNS:
        return None
    return Unit(frozenset({(' '.join(nouns), 1)}))


# Numerals

_CHINESE_DIGITS = {digit: value for value, digit in enumerate('零一二三四五六七八九')}
_CHINESE_DIGITS |= {'〇': 0, '两': 2, '壹': 1, '贰': 2, '叁': 3}
_CHINESE_SIZES = {'十': 10, '百': 100, '千': 1000, '万': 10**4, '亿': 10**8}
MULTIPLIERS = {
    '百': 100, '千': 1000, '万': 10**4, '亿': 10**8, '十万': 10**5, '百万': 10**6, '千万': 10**7,
    '十亿': 10**9, '百亿': 10**10, '万亿': 10**12,
    'hundred': 100, 'thousand': 1000, 'million': 10**6, 'billion': 10**9, 'trillion': 10**12, 'dozen': 12,
}  # fmt: skip
"""What a number is multiplied by if the word follows it."""
_TO_NINETEEN = (
    'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen '
    'seventeen eighteen nineteen'
).split()
_TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split()
_CARDINALS = dict(zip([*_TO_NINETEEN, *_TENS], [*range(20), *range(20, 100, 10)], strict=True))
_PARTS = {'half': 2, 'third': 3, 'quarter': 4, 'fourth': 4, 'fifth': 5, 'sixth': 6, 'eighth': 8, 'tenth': 10}
_PARTS |= {f'{part}s': size for part, size in _PARTS.items() if part != 'half'}


def chinese_number(text: str) -> Fraction | None:  # noqa: C901
    """Return the number that Chinese characters write out, or None.

    >>> chinese_number('三分之二'), chinese_number('负一百零五'), chinese_number('三点一四')
    (Fraction(2, 3), Fraction(-105, 1), Fraction(157, 50))
    """
    if not 0 < len(text) <= 40:
        return None
    if '分之' in text:
        below, _, above = text.partition('分之')
        parts = chinese_number(above), chinese_number(f'一{below}' if below in {'百', '千', '万'} else below)
        return parts[0] / parts[1] if parts[0] is not None and parts[1] else None
    if text.startswith('负'):
        value = chinese_number(text[1:])
        return None if value is None else -value
    if text in {'半', '一半'}:
        return Fraction(1, 2)
    if '点' in text:
        whole, _, decimals = text.partition('点')
        value = chinese_number(whole)
        if value is None or not decimals or any(digit not in _CHINESE_DIGITS for digit in decimals):
            return None
        digits = ''.join(str(_CHINESE_DIGITS[digit]) for digit in decimals)
        return value + Fraction(int(digits), 10 ** len(digits))
    if any(char not in _CHINESE_DIGITS and char not in _CHINESE_SIZES for char in text):
        return None
    if all(char in _CHINESE_DIGITS for char in text):  # 二〇二四
        return Fraction(int(''.join(str(_CHINESE_DIGITS[char]) for char in text)))
    total = section = digit = 0
    for char in text:
        size = _CHINESE_SIZES.get(char)
        if size is None:
            digit = _CHINESE_DIGITS[char]
        elif size < 10**4:
            section, digit = section + (digit or 1) * size, 0
        else:
            total, section, digit = (total + section + digit) * size, 0, 0
    return Fraction(total + section + digit)


def english_number(words: list[str]) -> Fraction | None:
    """Return the number that English words write out, or None.

    >>> english_number(['twenty', 'five']), english_number(['two', 'thirds']), english_number(['one'])
    (Fraction(25, 1), Fraction(2, 3), Fraction(1, 1))
    """
    if not 0 < len(words) <= 20 or words[-1] == 'and':
        return None
    if words[0] in {'minus', 'negative'}:
        value = english_number(words[1:])
        return None if value is None else -value
    if len(words) > 1 and words[-1] in _PARTS:
        above = english_number([word for word in words[:-1] if word not in {'a', 'an'}] or ['one'])
        return above / _PARTS[words[-1]] if above is not None and above.denominator == 1 else None
    total = section = 0
    last: int | None = None
    for word in words:
        if word in _CARDINALS:
            ones = _CARDINALS[word]
            if last is not None and not (last >= 20 and ones < 10):  # "three four" is no number
                return None
            section, last = section + ones, ones
        elif word == 'hundred' and last is not None:
            section, last = section * 100, None
        elif word in MULTIPLIERS and word.isascii() and section:
            total, section, last = total + section * MULTIPLIERS[word], 0, None
        elif word != 'and' or not (section or total):
            return None
    return Fraction(total + section)


# Phrases. A line is a meaning and its spellings, separated by '|'

_VOCABULARY = """
yes: yes|true|correct|是|是的|对|对的|正确|成立|真|真命题|可以|能|会|存在|exists|it exists|有|√|✓|✔
no: no|false|incorrect|wrong|否|不是|错|错误|不正确|不对|不成立|假|假命题|不可以|不能|不会|it is not|不|\
\\times|✗|✘
nothing: none|no solution|no solutions|no real solution|no real solutions|does not exist|doesn't exist|dne|\
无解|无实数解|无实根|无实数根|没有解|没有实数解|不存在|there is no solution|there are no solutions|\
no real roots|方程无解|没有|无
necessary and sufficient: necessary and sufficient|sufficient and necessary|充要|充分必要|充分且必要|\
both sufficient and necessary|both necessary and sufficient|既充分又必要|既充分也必要
sufficient only: sufficient but not necessary|sufficient but unnecessary|sufficient not necessary|\
充分不必要|充分非必要|充分而不必要|充分但不必要|充分而非必要|充分但非必要|sufficient and not necessary
necessary only: necessary but not sufficient|necessary but insufficient|necessary not sufficient|必要不充分|\
必要非充分|必要而不充分|必要但不充分|必要而非充分|必要但非充分|necessary and not sufficient
neither sufficient nor necessary: neither sufficient nor necessary|neither necessary nor sufficient|\
既不充分也不必要|既不充分又不必要|既非充分也非必要|既非充分又非必要|不充分不必要|既不必要也不充分|\
非充分非必要|不充分也不必要
increasing: increasing|monotonically increasing|strictly increasing|单调递增|单调增|递增|增函数|单调增函数|\
单调递增函数|an increasing function|increases
decreasing: decreasing|monotonically decreasing|strictly decreasing|单调递减|单调减|递减|减函数|单调减函数|\
单调递减函数|a decreasing function|decreases
odd: odd|odd number|奇数|奇
even: even|even number|偶数|偶
odd function: odd function|奇函数
even function: even function|偶函数
positive: positive|正|正数
negative: negative|负|负数
parallel: parallel|平行|互相平行
perpendicular: perpendicular|垂直|互相垂直|orthogonal
convergent: convergent|converges|收敛
divergent: divergent|diverges|发散
infinite: infinite|infinitely many|infinitely many solutions|无限|无穷|无穷多|无数|无数个|无穷多个|无限多个|\
无穷多解
maximum: maximum|最大值
minimum: minimum|最小值
"""
_SAID = re.compile("^(?:答案?[是为:：]?|it is|it's|they are|the answer is|answer:)")
_NOISE = re.compile(r'\b(?:the|an?)\b\s*|[\s,.;:!，。；：！、"“”$*]+')
_CONDITION = re.compile('(?:的)?条件$|conditions?$')


def meaning_of(text: str) -> str | None:
    """Return what `text` means if all of it is one phrase of the vocabulary, else None.

    Case, articles, blanks, punctuation and the word "condition" do not matter.

    >>> meaning_of('充要条件'), meaning_of('A necessary and sufficient condition.'), meaning_of('5')
    ('necessary and sufficient', 'necessary and sufficient', None)
    """
    return _MEANINGS.get(_bare(text)) if len(text) <= 60 else None


def _bare(text: str) -> str:
    return _CONDITION.sub('', _NOISE.sub('', _SAID.sub('', text.casefold().strip()).strip()))


_MEANINGS = {
    _bare(spelling): meaning
    for meaning, _, spellings in (line.partition(': ') for line in _VOCABULARY.strip().split('\n'))
    for spelling in spellings.split('|')
}
