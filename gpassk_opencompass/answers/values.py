r"""What an answer can be: the types of its value, and the units of quantities in exact numbers.

>>> from .formula import tokens_of
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

from .formula import FUNCTIONS, Token, Tokens, Unread, closes, opens, read_expression, words
from .numeric import Expression, Product, Sum, number, symbols


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
    'thousandth thousandths pair pairs couple couples gross fold ones tens trio trios wrong incorrect right '
    'correct false true digits digit place places'
)
_NOUN = re.compile('[A-Za-z]{3,}')
_PLURAL = re.compile(
    '(?!.*(?:illion|th|lakh|crore|zero|ten|[iou]ve|six|one|two|four|seven|eight|nine)s$'
    '|(?:oops|perhaps|always|less|was|has|does|yes|thus|this|its)$)[a-z]+(?<!s)s|[a-z]+sses'
)
_NOUNS = words(
    'people men women children person child way fish sheep mice feet teeth geese students dollar point team '
    'ways apple'
    '  ball book coin text digit integer solution triangle'
)
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
class Ratio:
    """`a : b`, `a : b : c`."""

    terms: tuple[Expression, ...]


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
    Formula | Quantity | Named | Chain | Labelled | Relation | Pair | Tuple | Set | Listed | Union | Domain
    | Matrix | Piecewise | Ratio | Time | Phrase | Conditioned | Text
)  # fmt: skip


_DIGITS = {
    **{digit: value for value, digit in enumerate('零一二三四五六七八九')},
    '〇': 0, '两': 2, '壹': 1, '贰': 2, '叁': 3,
}  # fmt: skip
_SMALL = {'十': 10, '百': 100, '千': 1000}
_LARGE = {'万': 10**4, '亿': 10**8}
_CHINESE = re.compile('[负零一二三四五六七八九〇两壹贰叁十百千万亿点半]+')

_LONGEST_NUMERAL = 40  # characters of a number: more make one that nobody means
_MOST_WORDS = 20

MULTIPLIERS = {
    '百': 100, '千': 1000, '万': 10**4, '十万': 10**5, '百万': 10**6, '千万': 10**7, '亿': 10**8,
    '十亿': 10**9,
    '百亿': 10**10, '万亿': 10**12, 'hundred': 100, 'thousand': 1000, 'million': 10**6, 'billion': 10**9,
    'trillion': 10**12, 'dozen': 12,
}  # fmt: skip
"""What a number is multiplied by if the word follows it."""

_NAMES = (
    'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen '
    'seventeen eighteen nineteen'
)
_TEN_NAMES = 'twenty thirty forty fifty sixty seventy eighty ninety'
_CARDINALS = {
    **{word: value for value, word in enumerate(_NAMES.split())},
    **{word: 10 * value for value, word in enumerate(_TEN_NAMES.split(), 2)},
}
_PARTS = {
    'half': 2, 'third': 3, 'thirds': 3, 'quarter': 4, 'quarters': 4, 'fourth': 4, 'fourths': 4, 'fifth': 5,
    'fifths': 5, 'sixth': 6, 'sixths': 6, 'eighth': 8, 'eighths': 8, 'tenth': 10, 'tenths': 10,
}  # fmt: skip


def chinese_number(text: str) -> Fraction | None:
    """Return the number that Chinese characters write out, or None.

    >>> chinese_number('三分之二'), chinese_number('负一百零五'), chinese_number('三点一四')
    (Fraction(2, 3), Fraction(-105, 1), Fraction(157, 50))
    """
    if len(text) > _LONGEST_NUMERAL:
        return None
    if '分之' in text:
        below, _, above = text.partition('分之')
        below = {'百': '一百', '千': '一千', '万': '一万'}.get(below, below)
        parts = chinese_number(above), chinese_number(below)
        return parts[0] / parts[1] if parts[0] is not None and parts[1] else None
    if text.startswith('负'):
        value = chinese_number(text[1:])
        return -value if value is not None else None
    return _positive(text) if _CHINESE.fullmatch(text) else None


def _positive(text: str) -> Fraction | None:
    if text in {'半', '一半'}:
        return Fraction(1, 2)
    whole, point, decimals = text.partition('点')
    if point and (not decimals or any(digit not in _DIGITS for digit in decimals)):
        return None
    value = _whole(whole)
    if value is None:
        return None
    digits = ''.join(str(_DIGITS[digit]) for digit in decimals)
    return value + (Fraction(int(digits), 10 ** len(digits)) if digits else 0)


def _whole(text: str) -> Fraction | None:
    if not text or any(char in '负点半' for char in text):
        return None
    if all(char in _DIGITS for char in text):  # 二〇二四
        return Fraction(int(''.join(str(_DIGITS[char]) for char in text)))
    total = section = digit = 0
    for char in text:
        if char in _DIGITS:
            digit = _DIGITS[char]
        elif char in _SMALL:
            section += (digit or 1) * _SMALL[char]
            digit = 0
        else:
            total = (total + section + digit) * _LARGE[char]
            section = digit = 0
    return Fraction(total + section + digit)


def english_number(words: list[str]) -> Fraction | None:
    """Return the number that English words write out, or None.

    >>> english_number(['twenty', 'five']), english_number(['two', 'thirds']), english_number(['one'])
    (Fraction(25, 1), Fraction(2, 3), Fraction(1, 1))
    """
    if len(words) > _MOST_WORDS:
        return None
    if words and words[0] in {'minus', 'negative'}:
        value = english_number(words[1:])
        return -value if value is not None else None
    if len(words) >= 2 and words[-1] in _PARTS:
        above = english_number([word for word in words[:-1] if word not in {'a', 'an'}] or ['one'])
        return above / _PARTS[words[-1]] if above is not None and above.denominator == 1 else None
    return _cardinal(words)


def _cardinal(words: list[str]) -> Fraction | None:
    total = section = 0
    last: int | None = None
    for word in words:
        if word in _CARDINALS:
            ones = _CARDINALS[word]
            if last is not None and not (last >= 20 and ones < 10):  # "three four" is no number
                return None
            section, last = section + ones, ones
        elif word == 'hundred' and last is not None:
            section *= 100
            last = None
        elif word in MULTIPLIERS and word.isascii() and section:
            total += section * MULTIPLIERS[word]
            section, last = 0, None
        elif word != 'and' or not (section or total):
            return None
    return Fraction(total + section) if words and words[-1] != 'and' else None


# a meaning: its spellings, separated by '|'; the line after it is its opposite where one is marked by '!'
_VOCABULARY = """
yes: yes|true|correct|是|是的|对|对的|正确|成立|真|真命题|a true statement|可以|能|会|存在|exists|\
it exists|有|√|✓|✔
no: no|false|incorrect|wrong|否|不是|错|错误|不正确|不对|不成立|假|假命题|不可以|不能|不会|it is not|不|\
\\times|✗|✘
nothing: none|no solution|no solutions|no real solution|no real solutions|does not exist|doesn't exist|\
dne|无解|无实数解|无实根|无实数根|没有解|没有实数解|不存在|there is no solution|there are no solutions|\
no such number exists|no real roots|方程无解|没有|无|null|not exist|no such number|none of them|\
there is none
necessary and sufficient: necessary and sufficient|sufficient and necessary|充要|充分必要|充分且必要|\
necessary and also sufficient|both sufficient and necessary|both necessary and sufficient|既充分又必要|\
既充分也必要|充分必要的
sufficient only: sufficient but not necessary|sufficient but unnecessary|sufficient not necessary|\
充分不必要|充分非必要|充分而不必要|充分但不必要|充分而非必要|充分但非必要|sufficient and not necessary|\
sufficient and unnecessary
necessary only: necessary but not sufficient|necessary but insufficient|necessary not sufficient|\
必要不充分|必要非充分|必要而不充分|必要但不充分|必要而非充分|必要但非充分|necessary and not sufficient|\
necessary and insufficient
neither sufficient nor necessary: neither sufficient nor necessary|neither necessary nor sufficient|\
既不充分也不必要|既不充分又不必要|既非充分也非必要|既非充分又非必要|不充分不必要|既不必要也不充分|\
非充分非必要|neither a sufficient nor a necessary|既非充分亦非必要|不充分也不必要|不充分且不必要|\
不充分又不必要|neither a necessary nor a sufficient|not sufficient and not necessary
increasing: increasing|monotonically increasing|strictly increasing|单调递增|单调增|递增|增函数|\
单调增函数|单调递增函数|an increasing function|monotonic increasing|increases|增加|上升|increase|\
increasing function
decreasing: decreasing|monotonically decreasing|strictly decreasing|单调递减|单调减|递减|减函数|\
单调减函数|单调递减函数|a decreasing function|monotonic decreasing|decreases|减少|下降|decrease|\
decreasing function
odd: odd|an odd number|奇数|奇|odd number
even: even|an even number|偶数|偶|even number
odd function: odd function|an odd function|奇函数
even function: even function|an even function|偶函数
neither odd nor even: neither odd nor even|非奇非偶|非奇非偶函数|既不是奇函数也不是偶函数|\
neither even nor odd
positive: positive|正|正数|为正
negative: negative|负|负数|为负
convex: convex|凸|凸函数
concave: concave|凹|凹函数
parallel: parallel|平行|互相平行|they are parallel
perpendicular: perpendicular|垂直|互相垂直|orthogonal|they are perpendicular|相互垂直
intersecting: intersecting|相交|intersect|they intersect
tangent: tangent|相切|相切的
convergent: convergent|converges|converge|收敛|it converges
divergent: divergent|diverges|diverge|发散|it diverges
linearly independent: linearly independent|线性无关|线性独立
linearly dependent: linearly dependent|线性相关
rational: rational|rational number|a rational number|有理数
irrational: irrational|irrational number|an irrational number|无理数
infinite: infinite|无限|无穷|无穷多|无数个|无穷多个|无限多个|infinitely many|无数|\
infinitely many solutions|无穷多解|无数组
maximum: maximum|a maximum|最大值|最大|有最大值|local maximum|极大值
minimum: minimum|a minimum|最小值|最小|有最小值|local minimum|极小值
acute: acute|acute triangle|锐角三角形|锐角|an acute triangle
obtuse: obtuse|obtuse triangle|钝角三角形|钝角|an obtuse triangle
right triangle: right triangle|直角三角形|a right triangle|right-angled triangle|rt三角形
isosceles: isosceles|isosceles triangle|等腰三角形|an isosceles triangle
equilateral: equilateral|equilateral triangle|等边三角形|正三角形|an equilateral triangle
circle: circle|a circle|圆
ellipse: ellipse|an ellipse|椭圆
first quadrant: 第一象限|first quadrant|quadrant i|the first quadrant
second quadrant: 第二象限|second quadrant|quadrant ii|the second quadrant
Monday: monday|星期一|周一|礼拜一
Tuesday: tuesday|星期二|周二|礼拜二
Wednesday: wednesday|星期三|周三|礼拜三
Thursday: thursday|星期四|周四|礼拜四
Friday: friday|星期五|周五|礼拜五
Saturday: saturday|星期六|周六|礼拜六
Sunday: sunday|星期日|星期天|周日|周天|礼拜天
"""
_ARTICLES = re.compile(r'\b(?:the|an?)\b\s*')
_NOISE = re.compile(r'[\s,.;:!，。；：！、"“”$*]+')
_CONDITION = re.compile('(?:的)?条件$|conditions?$')
_SAID = re.compile("^(?:答案?[是为:：]?|it is|it's|they are|the answer is|answer:)")


def _read() -> dict[str, str]:
    lines = (line.partition(': ') for line in _VOCABULARY.strip().split('\n'))
    return {_bare(spelling): meaning for meaning, _, spellings in lines for spelling in spellings.split('|')}


def _bare(text: str) -> str:
    """Return it without case, articles, blanks, punctuation, and the word "condition"."""
    text = _SAID.sub('', text.casefold().strip()).strip()
    return _CONDITION.sub('', _NOISE.sub('', _ARTICLES.sub('', text)))


_MEANINGS = _read()
_LONGEST_PHRASE = 60


def meaning_of(text: str) -> str | None:
    """Return what `text` means if all of it is one phrase of the vocabulary, else None.

    >>> meaning_of('充要条件'), meaning_of('A necessary and sufficient condition.'), meaning_of('5')
    ('necessary and sufficient', 'necessary and sufficient', None)
    """
    return _MEANINGS.get(_bare(text)) if len(text) <= _LONGEST_PHRASE else None


_TIMES = (
    re.compile(r'(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2}) ?(?P<half>[ap]\.?m)\.?', re.I),
    re.compile(r'(?P<hour>[0-9]{1,2}) ?(?P<half>[ap]\.?m)\.?(?P<minute>)', re.I),
    re.compile(r'(?P<hour>[0-9]{1,2}):(?P<minute>0[0-9])(?P<half>)'),
    re.compile(r"(?P<hour>[0-9]{1,2}) ?o'?clock(?P<minute>)(?P<half>)"),
    re.compile(
        r'(?P<half>上午|下午|凌晨|晚上|早上)?(?P<hour>[0-9]{1,2})[点时](?:(?P<minute>[0-9]{1,2})分|整|钟)'
    ),
    re.compile(r'(?P<half>上午|下午|凌晨|晚上|早上)(?P<hour>[0-9]{1,2})(?:[点时]|:(?P<minute>[0-9]{2}))'),
)
_AFTERNOON = frozenset({'p', '下午', '晚上'})


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


_WORDS = frozenset({'letters', 'words', 'chinese'})
_PERCENT = frozenset({'%', 'percent', 'percentage', 'pct'})
_CHINESE_NUMERAL = re.compile(
    '负?[零一二三四五六七八九〇两十百千万亿]+(?:分之[零一二三四五六七八九〇两十百千万亿]+|点[零一二三四五六七八九〇]+)?|一?半'
)
_ROOTS = {'根号': r'\sqrt', '根号下': r'\sqrt', '负根号': r'-\sqrt'}
_NEGATIVE = '负'
_CURRENCIES = frozenset({'dollars', '¥', '€', '£'})
_MINUS = frozenset({'minus', 'negative'})
_SCALES = frozenset(word for word in MULTIPLIERS if word.isascii())


def read_amount(tokens: Tokens) -> Formula | Quantity:
    r"""Return the number, expression or quantity that `tokens` are.

    >>> from .formula import tokens_of
    >>> read_amount(tokens_of('28 percent'))
    Formula(expression=Number(value=Fraction(28, 1), digits=None), percent=True)
    >>> read_amount(tokens_of('五千米')).amount
    Number(value=Fraction(5000, 1), digits=None)

    Raises:
        Unread: they are nothing of that.
    """
    tokens = _currency_last(_in_figures(tokens))
    if tokens and tokens[-1].text in _PERCENT:
        return Formula(read_expression(tokens[:-1]), percent=True)
    if quantity := _quantity(tokens):
        return quantity
    try:
        return Formula(_scaled(tokens))
    except Unread:
        if compound := _compound(tokens):
            return compound
        raise


def _in_figures(tokens: Tokens) -> list[Token]:
    """Write numerals as figures, `根号` as a root, a multiplier and the unit behind it apart."""
    figures: list[Token] = []
    for token in tokens:
        if token.kind == 'chinese':
            figures += _chinese_in_figures(token, after_number=bool(figures) and figures[-1].kind == 'number')
        else:
            figures.append(token)
    return _english_in_figures(figures)


def _currency_last(tokens: list[Token]) -> list[Token]:
    """Read `-$5 million` as `-5 million dollars`."""
    start = 1 if tokens and tokens[0].text == '-' else 0
    if len(tokens) < start + 2 or tokens[start].text not in _CURRENCIES or tokens[start + 1].kind != 'number':
        return tokens
    end = start + 3 if tokens[start + 2 : start + 3] and tokens[start + 2].text in MULTIPLIERS else start + 2
    return [*tokens[:start], *tokens[start + 1 : end], tokens[start], *tokens[end:]]


def _chinese_in_figures(token: Token, *, after_number: bool) -> list[Token]:
    text = token.text
    if text in _ROOTS:
        sign = [Token('mark', '-')] if text.startswith(_NEGATIVE) else []
        return [*sign, Token('command', r'\sqrt', token.spaced)]
    if text == _NEGATIVE:
        return [Token('mark', '-', token.spaced)]
    if after_number:
        if _is_known(token):  # 4000千克 are 4000 kilograms, not 4,000,000 grams
            return [token]
        width = max((len(word) for word in MULTIPLIERS if text.startswith(word)), default=0)
        parts = [text[:width], text[width:]]
        return [Token('chinese', part, token.spaced) for part in parts if part]
    match = _CHINESE_NUMERAL.match(text)
    value = chinese_number(match[0]) if match else None
    if match is None or value is None:
        return [token]
    rest = text[match.end() :]
    figures = [Token('mark', '-')] if value < 0 else []
    figures += _fraction(abs(value))
    return [*figures, Token('chinese', rest)] if rest else figures


def _fraction(value: Fraction) -> list[Token]:
    above = Token('number', str(value.numerator))
    if value.denominator == 1:
        return [above]
    below = Token('number', str(value.denominator))
    return [Token('mark', '('), above, Token('mark', '/'), below, Token('mark', ')')]


def _english_in_figures(tokens: list[Token]) -> list[Token]:
    """Read `twenty-five apples` as `25 apples`, `minus two` and `minus 2` as `-2`."""
    if len(tokens) > 1 and tokens[0].text.lower() in _MINUS and tokens[1].kind == 'number':
        return [Token('mark', '-'), *tokens[1:]]
    words: list[str] = []
    best: tuple[int, Fraction] | None = None
    for place, token in enumerate(tokens):
        if token.text == '-' and words:
            continue
        if token.kind not in {'letters', 'words'}:
            break
        words.append(token.text.lower())
        value = english_number(words)
        if value is not None:
            best = place + 1, value
    if best is None:
        return tokens
    width, value = best
    sign = [Token('mark', '-')] if value < 0 else []
    return [*sign, *_fraction(abs(value)), *tokens[width:]]


def _scaled(tokens: Tokens) -> Expression:
    """Read `5 million` or `5万`: an expression times what the word after it says."""
    if len(tokens) > 1 and (scale := MULTIPLIERS.get(tokens[-1].text)):
        return Product((read_expression(tokens[:-1]), number(scale)))
    return read_expression(tokens)


def _quantity(tokens: Tokens) -> Quantity | None:
    """Read an amount and its unit; the amount is as short as it can be."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += opens(token) - closes(token)
        if not place or depth or not _may_be_unit(tokens, place):
            continue
        try:
            unit = read_unit(tokens[place:])
            if unit == DEGREES and any(one.text == r'\circ' for one in tokens[:place]):
                return None  # 90° - 45° is a sum of angles
            amount = _scaled(tokens[:place])
        except Unread:
            continue
        return _with_product(tokens, place, amount, unit)
    return None


def _may_be_unit(tokens: Tokens, place: int) -> bool:
    token = tokens[place]
    if token.text in _SCALES:
        return False
    if token.text == r'\circ' or (
        token.text == '^' and r'\circ' in [after.text for after in tokens[place:][1:3]]
    ):
        return not any(before.text.lstrip('\\') in FUNCTIONS for before in tokens[:place])
    if token.kind == 'letters' and not token.spaced:
        return len(token.text) > 1 and _is_known(token)
    return token.kind in _WORDS or token.text in {'¥', '€', '£', '¢'}


def _is_known(token: Token) -> bool:
    try:
        unit = read_unit([token])
    except Unread:
        return False
    return (token.text.lower(), 1) not in unit.dimension


def _with_product(tokens: Tokens, place: int, amount: Expression, unit: Unit) -> Quantity | None:
    """Note that `3 m` may be three times m; `3x m` is that always."""
    if tokens[place].kind != 'letters' or len(tokens[place].text) > 1:
        return Quantity(amount, unit)
    try:
        product: Expression | None = read_expression(tokens)
    except Unread:
        product = None
    if product is not None and next(symbols(amount), None) is not None:
        return None
    return Quantity(amount, unit, product)


def _compound(tokens: Tokens) -> Quantity | None:
    """Read `3小时5分`, `5 feet 3 inches`: amounts of one dimension, the larger unit first."""
    starts = [
        place
        for place, token in enumerate(tokens)
        if token.kind == 'number' and (place == 0 or tokens[place - 1].kind in _WORDS)
    ]
    if len(starts) < 2 or starts[0] != 0:
        return None
    parts = [
        _quantity(tokens[start:end]) for start, end in zip(starts, [*starts[1:], len(tokens)], strict=True)
    ]
    if any(part is None for part in parts):
        return None
    quantities = [part for part in parts if part is not None]
    factors = [part.unit.factor for part in quantities]
    if len({part.unit.dimension for part in quantities}) > 1 or factors != sorted(set(factors), reverse=True):
        return None
    last = quantities[-1].unit
    terms = tuple(Product((part.amount, number(part.unit.factor / last.factor))) for part in quantities)
    return Quantity(Sum(terms), last)
