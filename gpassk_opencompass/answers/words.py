"""Words of an answer: the names of a formula, numbers in words, days and times, phrases of mathematics.

A phrase has one meaning, whatever its language and spelling; two phrases agree if they mean the same. The
vocabulary is closed: what is not in it is not a phrase.
"""

from __future__ import annotations

import re
from fractions import Fraction

from .tokens import words
from .values import Date, Time

FUNCTIONS = words(
    'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log lg exp gcd lcm max min abs'
)
OF_SEVERAL = frozenset({'gcd', 'lcm', 'max', 'min'})
SPELLED = {
    'asin': 'arcsin',
    'acos': 'arccos',
    'atan': 'arctan',
    'tg': 'tan',
    'ctg': 'cot',
    'arctg': 'arctan',
}
GREEK = words(
    'alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi rho sigma tau phi chi psi omega '
    'Gamma Delta Theta Lambda Sigma Phi Psi Omega ell'
)
SPELLED_SYMBOLS = {
    **{name: name for name in (*GREEK, 'pi', 'dx', 'dy', 'dz', 'dt')},
    **dict.fromkeys(('infinity', 'inf', 'oo'), 'oo'),
}
ACCENTS = words(r'\vec \overline \bar \hat \tilde \widehat \overset \underline')
FIGURES = words(r'\angle \triangle \odot')
NAMED_FUNCTIONS = frozenset('fgh')
ENGLISH = words(
    'no not it is of the and are for per bus car cat one two ten six all any can let but out men man '
    'day box cup egg '
    'pen dog yes if or to in on has was his her new old red top you she who how'
)


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
_WORDS = {
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
        if word in _WORDS:
            ones = _WORDS[word]
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
odd and even: 既是奇函数又是偶函数|both odd and even|both even and odd
positive: positive|正|正数|为正
negative: negative|负|负数|为负
convex: convex|凸|凸函数
concave: concave|凹|凹函数
parallel: parallel|平行|互相平行|they are parallel
perpendicular: perpendicular|垂直|互相垂直|orthogonal|they are perpendicular|相互垂直
intersecting: intersecting|相交|intersect|they intersect
tangent: tangent|相切|相切的
externally tangent: 外切|externally tangent
internally tangent: 内切|internally tangent
separate: 相离|disjoint|separate
externally separate: 外离
skew: skew|异面|skew lines
coincident: 重合|coincident|coincide|they coincide
collinear: collinear|共线|三点共线
convergent: convergent|converges|converge|收敛|it converges
divergent: divergent|diverges|diverge|发散|it diverges
absolutely convergent: absolutely convergent|converges absolutely|绝对收敛
conditionally convergent: conditionally convergent|converges conditionally|条件收敛
continuous: continuous|连续|it is continuous
discontinuous: discontinuous|not continuous|不连续|间断
differentiable: differentiable|可导|可微
not differentiable: not differentiable|不可导|不可微
linearly independent: linearly independent|线性无关|线性独立
linearly dependent: linearly dependent|线性相关
rational: rational|rational number|a rational number|有理数
irrational: irrational|irrational number|an irrational number|无理数
prime: prime|a prime|prime number|质数|素数|a prime number
composite: composite|composite number|合数|a composite number
finite: finite|有限|有限个|finitely many
infinite: infinite|无限|无穷|无穷多|无数个|无穷多个|无限多个|infinitely many|无数|\
infinitely many solutions|无穷多解|无数组
maximum: maximum|a maximum|最大值|最大|有最大值|local maximum|极大值
minimum: minimum|a minimum|最小值|最小|有最小值|local minimum|极小值
acute: acute|acute triangle|锐角三角形|锐角|an acute triangle
obtuse: obtuse|obtuse triangle|钝角三角形|钝角|an obtuse triangle
right triangle: right triangle|直角三角形|a right triangle|right-angled triangle|rt三角形
isosceles: isosceles|isosceles triangle|等腰三角形|an isosceles triangle
right isosceles: 等腰直角三角形|isosceles right triangle|right isosceles triangle|\
an isosceles right triangle
equilateral: equilateral|equilateral triangle|等边三角形|正三角形|an equilateral triangle
isosceles or right: 等腰三角形或直角三角形|等腰或直角三角形|isosceles or right triangle|isosceles or right
square: square|a square|正方形
rectangle: rectangle|a rectangle|矩形|长方形
rhombus: rhombus|a rhombus|菱形
parallelogram: parallelogram|a parallelogram|平行四边形
trapezoid: trapezoid|a trapezoid|梯形|trapezium
isosceles trapezoid: isosceles trapezoid|等腰梯形
circle: circle|a circle|圆
ellipse: ellipse|an ellipse|椭圆
hyperbola: hyperbola|a hyperbola|双曲线
parabola: parabola|a parabola|抛物线
line: line|a line|直线|straight line|a straight line
segment: line segment|a line segment|线段
first quadrant: 第一象限|first quadrant|quadrant i|the first quadrant
second quadrant: 第二象限|second quadrant|quadrant ii|the second quadrant
third quadrant: 第三象限|third quadrant|quadrant iii|the third quadrant
fourth quadrant: 第四象限|fourth quadrant|quadrant iv|the fourth quadrant
left: left|左|向左|左侧
right: 右|向右|右侧|to the right
greater: greater|greater than|大于|bigger|larger
less: less|less than|小于|smaller
equal: equal|equal to|等于|相等|equals|they are equal
unequal: unequal|not equal|不等|不相等|不等于
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
_LONGEST = 60


def meaning_of(text: str) -> str | None:
    """Return what `text` means if all of it is one phrase of the vocabulary, else None.

    >>> meaning_of('充要条件'), meaning_of('A necessary and sufficient condition.'), meaning_of('5')
    ('necessary and sufficient', 'necessary and sufficient', None)
    """
    return _MEANINGS.get(_bare(text)) if len(text) <= _LONGEST else None


_MONTH_NAMES = 'january february march april may june july august september october november december'
_MONTHS = _MONTH_NAMES.split()
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
    re.compile(r"(?P<hour>[0-9]{1,2}) ?o'?clock(?P<minute>)(?P<half>)"),
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
