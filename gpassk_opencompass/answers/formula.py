r"""Formulas: their tokens, each spelling of a thing as one token, and the expression that they write out.

Nothing is lost but what means nothing (math delimiters, sizes, thin spaces, quotes): whoever reads the tokens
accounts for every one of them, or raises Unread. A part of a formula is not the formula.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from .normal import ascii_latex, join_thousands
from .numeric import (
    DEGREE,
    HALF,
    INFINITY,
    MINUS_ONE,
    ONE,
    Call,
    Expression,
    Number,
    Power,
    Product,
    Sum,
    Symbol,
    deeper,
    negative,
    number,
    quotient,
)


class Unread(Exception):
    """Raised where an answer cannot be read as what was expected; its text says what was left over."""


class Token(NamedTuple):
    """One token of an answer."""

    kind: str
    r"""'number', 'letters' (a run of Latin letters in a formula), 'words' (a run in `\text`), 'chinese',
    'command' (`\frac`, `\sqrt`, …) or 'mark' (everything else)."""
    text: str
    spaced: bool = False
    """Whether a blank stands before it."""


Tokens = Sequence[Token]


def words(text: str) -> frozenset[str]:
    """Return the words of `text`, which blanks separate, as a set."""
    return frozenset(text.split())


_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys('–—‒―', '-'),
        **dict.fromkeys('’‘′ʹ', "'"),
        **dict.fromkeys('“”"`', ''),
        '∠': r'\angle ', '√': r'\sqrt ', '△': r'\triangle ', '∶': ':', '【': '[', '】': ']', '〔': '(',
        '〕': ')',
        '⟨': r'\langle ', '⟩': r'\rangle ', 'ℝ': r'\mathbb{R}', 'ℤ': r'\mathbb{Z}', 'ℕ': r'\mathbb{N}',
        'ℚ': r'\mathbb{Q}', 'ℂ': r'\mathbb{C}', '￥': '¥', '℃': r'^{\circ}\text{C}', '½': r'\frac{1}{2}',
        '㎝': r'\text{cm}', '㎡': r'\text{m}^2', '∗': '*', '﹣': '-', 'γ': r'\gamma ', 'ξ': r'\xi ',
        'η': r'\eta ',
        'ψ': r'\psi ', 'χ': r'\chi ', 'κ': r'\kappa ', 'ζ': r'\zeta ', 'ν': r'\nu ', 'ϕ': r'\phi ',
        'ε': r'\epsilon ',
        'Γ': r'\Gamma ', 'Θ': r'\Theta ', 'Λ': r'\Lambda ', 'Σ': r'\Sigma ', 'Φ': r'\Phi ', 'Ψ': r'\Psi ',
        '⩽': r'\le ', '⩾': r'\ge ', '≦': r'\le ', '≧': r'\ge ', '∕': '/', '‰': r'\cdot\frac{1}{1000}',
        '⟹': r'\Rightarrow ', '∖': r'\setminus ', '✓': '', '✔': '', '⊥': r'\perp ',
        '∥': r'\parallel ', '⇒': r'\Rightarrow ', '∨': r'\vee ', '∧': r'\wedge ',
        **{chr(0x2080 + digit): f'_{digit}' for digit in range(10)},
    }
)  # fmt: skip
_SUBSCRIPTS = re.compile('[₀-₉]{2,}')

_TOKEN = re.compile(
    r'(?P<space>\s+|\\[,;:! \n]|~|\\q?quad(?![a-zA-Z])|\\(?:en|thin)space(?![a-zA-Z])|\\hspace\{[^{}]*\})'
    r'|\\(?:text\w*|math(?:rm|sf|it|bf|cal)|mbox|hbox|operatorname\*?|boldsymbol|bm|rm)\s*'
    r'\{(?P<quoted>[^{}]*)\}'
    r'|\\math(?:bb|bf)\s*(?:\{\s*)?(?P<numbers>[RZNQC])(?![a-zA-Z])(?:\s*\})?'
    r'|\\(?P<environment>(?:begin|end)\s*\{[a-zA-Z*]+\}(?:\{[lcr|]*\})?)'
    r'|(?P<command>\\[a-zA-Z]+|\\.)'
    r'|(?P<number>[0-9]{1,3}(?:[ \u00a0][0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+'
    r'|[0-9]+\.(?![.0-9]))'
    r'|(?P<letters>[A-Za-z]+)'
    r'|(?P<chinese>[\u4e00-\u9fff]+)'
    r'|(?P<mark><=|>=|(?<![0-9)}])!=|==|\*\*|\.{3,}|.)',
    re.DOTALL,
)
_THOUSANDS = re.compile(r'(?<![0-9.,\w])[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9])(?!,[0-9])')
_MOST_TOKENS = 1000  # no answer has more, and what is made of them takes more than linear time
_DIGITS = frozenset('123456789')
_ESCAPED = re.compile(r'\\\\(?=[a-zA-Z]{2})')
_PRICE = re.compile(r'\A(\s*-?)\$(-?[0-9][^$]*)\Z')  # a dollar, no delimiter: it does not close
_INCHES = re.compile(r'[0-9]"\s*\Z')
_PLAIN_SCIENTIFIC = re.compile(r'[-+]?[0-9]+(?:\.[0-9]+)?[eE][-+]?[0-9]{1,4}')

_DROPPED = words(
    r'$ \( \) \[ \] \left \right \middle \displaystyle \textstyle \limits \nolimits \rm \bf \it '
    r'\mathrm \text '
    r'\mathbf \mbox \boxed \fbox \big \Big \bigg \Bigg \bigl \bigr \Bigl \Bigr \biggl \biggr \Biggl \Biggr '
    r'\mathit \textbf \textit \mathcal \boldsymbol \bm \phantom'
)
_SYNONYMS = {
    r'\dfrac': r'\frac', r'\tfrac': r'\frac', r'\cfrac': r'\frac', r'\leq': r'\le', r'\leqslant': r'\le',
    r'\leqq': r'\le', '<=': r'\le', r'\geq': r'\ge', r'\geqslant': r'\ge', r'\geqq': r'\ge', '>=': r'\ge',
    r'\neq': r'\ne', '!=': r'\ne', '==': '=', r'\gt': '>', r'\lt': '<', r'\rightarrow': r'\to',
    r'\ldots': '...', r'\cdots': '...', r'\dots': '...', r'\varnothing': r'\emptyset', r'\lbrace': r'\{',
    r'\rbrace': r'\}', r'\lbrack': '[', r'\rbrack': ']', r'\lvert': '|', r'\rvert': '|', r'\vert': '|',
    r'\mid': '|', r'\%': '%', r'\cdot': '*', r'\times': '*', r'\ast': '*', r'\*': '*', '×': '*', r'\div': '/',
    '**': '^', r'\lparen': '(', r'\rparen': ')', r'\colon': ':', r'\thickapprox': r'\approx',
    r'\approxeq': r'\approx', r'\simeq': r'\approx', r'\infin': r'\infty', r'\varepsilon': r'\epsilon',
    r'\varphi': r'\phi', r'\vartheta': r'\theta', r'\vee': 'or', r'\lor': 'or', r'\wedge': 'and',
    r'\land': 'and',
    r'\dbinom': r'\binom', r'\tbinom': r'\binom', r'\overrightarrow': r'\vec', r'\iff': r'\Leftrightarrow',
    r'\$': 'dollars', r'\&': '&', r'\prime': "'", r'\R': r'\mathbb R', r'\degree': r'\circ', '比': ':',
}  # fmt: skip
_OPENING = frozenset({'(', '[', '{', r'\{', r'\langle', r'\lfloor', r'\lceil', r'\begin'})
_CLOSING = frozenset({')', ']', '}', r'\}', r'\rangle', r'\rfloor', r'\rceil', r'\end'})

_LEADING = words(
    '共 共有 一共 总共 一共有 约 大约 约为 约是 大约是 约等于 为 是 答 答案 等于 有 得 即 故 所以 因此 '
    '答案是 答案为 解 解得 about approximately approx roughly therefore thus so hence '
    r'≈ \approx \doteq = : . , ~ \sim \therefore \Rightarrow'
)
_TRAILING = frozenset({'.', ',', ';', ':', '\\\\'})
_REPEATING = re.compile(
    r'(?<![0-9.])(?P<whole>[0-9]{1,12})\.(?P<fixed>[0-9]{0,12}?)'
    r'(?:\\(?:overline|bar)\s*(?:\{(?P<bar>[0-9]{1,12})\}|(?P<bared>[0-9]))|\((?P<round>[0-9]{1,12})\)'
    r'|\\dot\s*\{?(?P<first>[0-9])\}?(?:(?P<middle>[0-9]{0,12})\\dot\s*\{?(?P<last>[0-9])\}?)?'
    r'|(?P<shown>[0-9]{1,6}?)(?P=shown){2,20}\s*(?:\.\.\.|\\[lc]?dots\s*))(?![0-9])'
)


def tokens_of(answer: str) -> list[Token]:
    r"""Return the tokens of `answer`, in time linear in its length; raise Unread where they are too many.

    >>> [token.text for token in tokens_of(r'$\left[ 0,\dfrac{\pi}{2} \right)$')]
    ['[', '0', ',', '\\frac', '{', '\\pi', '}', '{', '2', '}', ')']
    >>> [(token.kind, token.text) for token in tokens_of(r'5\text{ cm}')]
    [('number', '5'), ('words', 'cm')]
    """
    tokens = list(_drop_sizes(_found(_spelled(answer))))
    if len(tokens) > _MOST_TOKENS:
        raise Unread('too long')
    return tokens


_DECORATION = re.compile(
    r'\\(?:textcolor|color|colorbox)\s*\{[^{}]*\}|\\(?:underline|uline|underbrace|mathbf|bf|bfseries|tiny|small|normalsize|large|Large|LARGE|huge|Huge)(?![a-zA-Z])'
    r'|\\(?:checkmark|blacksquare|square|qed|blacksmiley)(?![a-zA-Z])\s*$'
)
_MATHEMATICAL = re.compile('[\U0001d400-\U0001d7ff]')
"""Letters and digits that are letters and digits in another type."""


def _spelled(answer: str) -> str:
    answer = _DECORATION.sub(' ', answer)
    answer = _MATHEMATICAL.sub(lambda found: unicodedata.normalize('NFKC', found[0]), answer)
    answer = _PRICE.sub(r'\1\\$\2', answer)
    if answer.count('"') == 1 and _INCHES.search(answer):
        raise Unread('"')
    text = _SUBSCRIPTS.sub(lambda run: f'_{{{"".join(str(ord(c) - 0x2080) for c in run[0])}}}', answer)
    if r'\begin' not in text:  # escaped once too often
        text = _ESCAPED.sub(r'\\', text)
    text = join_thousands(ascii_latex(text.translate(_CHARACTERS)))
    if (mixed := _MIXED_CHINESE.fullmatch(text.strip())) is not None:
        text = str(sum(int(mixed[name] or 0) * size for name, size in _CHINESE_SIZES.items()))
    if _PLAIN_SCIENTIFIC.fullmatch(text.strip()):
        return _as_power(text.strip())
    return _REPEATING.sub(_as_fraction, text)


_CHINESE_SIZES = {'large': 10**4, 'thousand': 1000, 'hundred': 100}
_MIXED_CHINESE = re.compile(r'(?P<large>[0-9]+)万(?P<thousand>[0-9])千(?:(?P<hundred>[0-9])百)?')


def _as_power(number: str) -> str:
    mantissa, _, exponent = number.lower().partition('e')
    return f'{mantissa}*10^{{{int(exponent)}}}'


def _as_fraction(decimal: re.Match[str]) -> str:
    dotted = ''.join(decimal[name] or '' for name in ('first', 'middle', 'last'))
    block = decimal['bar'] or decimal['bared'] or decimal['round'] or decimal['shown'] or dotted
    shift = 10 ** len(decimal['fixed'])
    value = Fraction(int(decimal['whole'] + decimal['fixed']), shift)
    value += Fraction(int(block), (10 ** len(block) - 1) * shift)
    return rf'({value.numerator}/{value.denominator})'


def _found(text: str) -> Iterator[Token]:
    """Return the tokens as written; blanks are kept as the mark ' ' of the next one."""
    spaced, place, depth = False, 0, 0
    while place < len(text):
        match = (
            _THOUSANDS.match(text, place) if depth == 0 and text[place] in _DIGITS else None
        ) or _TOKEN.match(text, place)
        if match is None:  # cannot be: the last alternative is any character
            raise Unread(text[place:])
        place = match.end()
        if match.re is _THOUSANDS:
            yield Token('number', match[0].replace(',', ''), spaced)
        elif match['space']:
            spaced = True
            continue
        elif match['quoted'] is not None:
            yield from _quoted(match['quoted'], spaced)
        else:
            token = _token(match, spaced)
            depth += (token.text in _OPENING) - (token.text in _CLOSING)
            yield token
        spaced = False


def _token(match: re.Match[str], spaced: bool) -> Token:
    if match['numbers']:
        return Token('command', rf'\mathbb {match["numbers"]}', spaced)
    if match['environment']:
        side, _, name = match['environment'].partition('{')
        return Token(name.partition('}')[0], '\\' + side.strip(), spaced)
    kind = str(match.lastgroup)
    text = _SYNONYMS.get(match[0], match[0])
    if kind == 'number':
        text = re.sub(r'[  ]', '', text).removesuffix('.')
    elif kind == 'command' and not text.startswith('\\'):
        kind = 'letters' if text.isalpha() else 'mark'
    elif kind == 'command' and not text[1:2].isalpha():
        kind = 'mark'
    return Token(kind, text, spaced)


def _quoted(text: str, spaced: bool) -> Iterator[Token]:
    r"""Return the tokens of what stands in `\text{…}`: letters there are words."""
    for token in _found(text):
        yield token._replace(
            kind='words' if token.kind == 'letters' else token.kind, spaced=token.spaced or spaced
        )
        spaced = False


def _drop_sizes(tokens: Iterator[Token]) -> Iterator[Token]:
    after_size = spaced = False
    for token in tokens:
        if token.text in _DROPPED and token.kind != 'words':
            spaced = spaced or token.spaced or token.text == '$'
            after_size = token.text in {r'\left', r'\right', r'\middle'}
        elif token.text == '.' and after_size:
            after_size = False
        else:
            yield token._replace(spaced=token.spaced or spaced)
            after_size = spaced = False


def opens(token: Token) -> bool:
    """Return whether `token` opens a bracket, a brace or an environment."""
    return token.text in _OPENING


def closes(token: Token) -> bool:
    """Return whether `token` closes a bracket, a brace or an environment."""
    return token.text in _CLOSING


def split(tokens: Tokens, marks: frozenset[str]) -> tuple[list[list[Token]], list[str]]:
    """Return the parts of `tokens` between `marks` outside all brackets, and the marks between them.

    >>> parts, marks = split(tokens_of('(1,2),3'), frozenset(','))
    >>> [''.join(token.text for token in part) for part in parts], marks
    (['(1,2)', '3'], [','])
    """
    if marks.isdisjoint([token.text for token in tokens]):
        return [list(tokens)], []
    parts: list[list[Token]] = [[]]
    found: list[str] = []
    depth = 0
    for token in tokens:
        depth += opens(token) - closes(token)
        if depth == 0 and token.text in marks and not closes(token):
            found.append(token.text)
            parts.append([])
        else:
            parts[-1].append(token)
    return parts, found


def closing(tokens: Tokens, start: int) -> int:
    """Return the place of the bracket that closes the one at `start`; raise Unread if there is none."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += opens(tokens[place]) - closes(tokens[place])
        if depth == 0:
            return place
    raise Unread('a bracket is not closed')


def written(tokens: Tokens) -> str:
    """Return `tokens` as text, for messages and names."""
    return ''.join(' ' + token.text if token.spaced else token.text for token in tokens).strip()


def trimmed(tokens: Tokens) -> list[Token]:
    """Return `tokens` without what leads to an answer (≈, 共, "about") and the stop behind it."""
    start, end = 0, len(tokens)
    while start < end - 1 and tokens[start].text.lower() in _LEADING:
        start += 1
    while end > start and tokens[end - 1].text in _TRAILING:
        end -= 1
    return list(tokens[start:end])


_END = Token('end', '')
_PAIRS = {
    '(': ')', '[': ']', '{': '}', r'\{': r'\}', r'\lfloor': r'\rfloor', r'\lceil': r'\rceil',
}  # fmt: skip


class Cursor:
    """Knows what comes next; what is taken lies behind it."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.place = 0

    def end(self) -> None:
        """Raise Unread if anything is left."""
        if self.place < len(self.tokens):
            raise Unread(written(self.tokens[self.place :]))

    def peek(self, ahead: int = 0) -> Token:
        """Return the next token, or the one so many behind it; a token without text if there is none."""
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else _END

    def next(self) -> Token:
        """Take the next token."""
        token = self.peek()
        self.place += 1
        return token

    def take(self, *texts: str) -> str:
        """Take the next token if it is one of `texts`, no word, and return it; else return ''."""
        token = self.peek()
        if token.text not in texts or token.kind == 'words':
            return ''
        self.place += 1
        return token.text

    def inside(self) -> Tokens:
        """Take the bracket that opens here and return what it holds."""
        end = closing(self.tokens, self.place)
        if _PAIRS.get(self.peek().text) != self.tokens[end].text:
            raise Unread('brackets that do not match')
        inside = self.tokens[self.place + 1 : end]
        self.place = end + 1
        return inside

    def part(self) -> None:
        """Part the first digit of the next number from the others: in TeX, `\\frac12` is a half."""
        number = self.peek().text
        digits = [Token('number', number[0]), Token('number', number[1:])]
        self.tokens = [*self.tokens[: self.place], *digits, *self.tokens[self.place + 1 :]]


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


_LONGEST_PRODUCT = 3  # letters in a row that are a product of symbols; more are a word
_DEEPEST = 60


def read_expression(tokens: Tokens) -> Expression:
    r"""Return the expression that `tokens` write out.

    Raises:
        Unread: something is left over or unknown.

    >>> from .formula import tokens_of
    >>> read_expression(tokens_of('x^2'))
    Power(base=Symbol(name='x'), exponent=Number(value=Fraction(2, 1), digits=None))
    """
    if not tokens:
        raise Unread('nothing')
    reader = _Reader(tokens)
    expression = reader.sum()
    reader.end()
    if deeper(expression, _DEEPEST):
        raise Unread('nested too deep')
    return expression


class _Reader(Cursor):
    """Reads from left to right; every method takes what is its own and leaves the rest."""

    def __init__(self, tokens: Tokens, depth: int = 0) -> None:
        super().__init__(tokens)
        if depth > _DEEPEST:
            raise Unread('nested too deep')
        self._depth = depth

    def _within(self, tokens: Tokens) -> Expression:
        reader = _Reader(tokens, self._depth + 1)
        expression = reader.sum()
        reader.end()
        return expression

    def sum(self) -> Expression:
        terms = [self._signed()]
        while sign := self.take('+', '-'):
            term = self._signed()
            terms.append(negative(term) if sign == '-' else term)
        return terms[0] if len(terms) == 1 else Sum(tuple(terms))

    def _signed(self) -> Expression:
        minus = False
        while sign := self.take('+', '-'):
            minus ^= sign == '-'
        term = self._product()
        return negative(term) if minus else term

    def _product(self) -> Expression:
        factors = [self._factor()]
        while True:
            if self.take('*'):
                factors.append(self._signed_factor())
            elif self.take('/'):
                factors.append(Power(self._signed_factor(), MINUS_ONE))
            elif self._of_percent():
                self.place += 1
                factors.append(self._factor())
            elif self._starts_factor():
                factors.append(self._factor())
            else:
                return factors[0] if len(factors) == 1 else Product(tuple(factors))

    def _of_percent(self) -> bool:
        """Whether `25% of 60` goes on with its `of`."""
        return self.peek().text == 'of' and self.peek(-1).text == '%'

    def _signed_factor(self) -> Expression:
        minus = self.take('-', '+') == '-'
        factor = self._factor()
        return negative(factor) if minus else factor

    def _starts_factor(self) -> bool:
        token = self.peek()
        if token.kind in {'letters', 'words'}:
            return True
        if token.kind == 'number':  # `2 3` and `x2` are no products, `N2^{-N}` is one
            before = self.peek(-1)
            if before.text in {'!', ')'}:
                return self.peek(1).text in {'^', '!'}
            return before.text == '}' or (self.peek(1).text == '^' and before.kind == 'letters')
        return token.kind == 'command' or token.text in {'(', '[', '{', r'\{', '|'}

    def _factor(self) -> Expression:
        base = self._base()
        while True:
            if self.take('^'):
                base = self._raised(base)
            elif self.take('!'):
                base = Call('double factorial' if self._doubled() else 'factorial', (base,))
            elif self.take('%'):
                base = Product((base, number(Fraction(1, 100))))
            elif self.take(r'\circ'):
                base = Product((base, DEGREE))
            else:
                return base

    def _doubled(self) -> bool:
        """Whether a second `!` belongs to the one before: `5!!` is 5·3·1, not (5!)!."""
        doubled = bool(self.take('!'))
        if doubled and self.peek().text == '!':
            raise Unread('more than two signs of a factorial')
        return doubled

    def _raised(self, base: Expression) -> Expression:
        if self.take(r'\circ'):
            return Product((base, DEGREE))
        if self.peek().text == '{':
            inside = self.inside()
            if [token.text for token in inside] == [r'\circ']:
                return Product((base, DEGREE))
            if inside and inside[0].text == r'\circ':
                raise Unread(written(inside))
            return Power(base, self._within(inside))
        return Power(base, self._exponent())

    def _exponent(self) -> Expression:
        r"""Read `x^2`, `x^-2`, `x^{…}`, `x^(…)`, `2^2^3`; `x^10` is typed as in a program."""
        minus = self.take('-', '+') == '-'
        if (
            self.peek().kind == 'letters'
            and len(self.peek().text) > 1
            and self.peek().text not in SPELLED_SYMBOLS
        ):
            raise Unread('an exponent of several letters without braces')
        exponent = self._base()
        if self.take('^'):
            exponent = self._raised(exponent)
        return negative(exponent) if minus else exponent

    def _base(self) -> Expression:
        token = self.next()
        if token.kind == 'number':
            return self._number(token)
        if token.kind in {'letters', 'words'}:
            return self._letters(token)
        if token.kind == 'command':
            return self._command(token)
        self.place -= 1
        if token.text in {'(', '[', '{'}:
            return self._within(self.inside())
        if token.text == '|':
            return self._absolute()
        raise Unread(written(self.tokens[self.place :]) or 'the formula ends too early')

    def _number(self, token: Token) -> Expression:
        whole, _, decimals = token.text.partition('.')
        value = Fraction(int((whole or '0') + decimals), 10 ** len(decimals))
        if '.' not in token.text and (part := self._mixed()):
            return number(value + part)
        if self.peek().text == '_':
            raise Unread('a number with an index')
        return Number(value, len(decimals) if '.' in token.text else None)

    def _mixed(self) -> Fraction | None:
        r"""Return the fraction of a mixed number, `2\frac{1}{4}` and `2 1/4`."""
        if self.peek().text != r'\frac' and not (self.peek().spaced and self.peek().kind == 'number'):
            return None
        ahead = [self.peek(place) for place in range(7)]
        texts = [token.text for token in ahead]
        digits = [text.isdigit() for text in texts]
        if ahead[0].spaced and digits[0] and texts[1] == '/' and digits[2]:
            above, below, width = int(texts[0]), int(texts[2]), 3
        elif (
            texts[0] == r'\frac' and texts[1] == '{' and digits[2] and texts[3:5] == ['}', '{'] and digits[5]
        ):
            above, below, width = int(texts[2]), int(texts[5]), 7
        elif texts[0] == r'\frac' and digits[1] and len(texts[1]) == 2:
            above, below, width = int(texts[1][0]), int(texts[1][1]), 2
        else:
            return None
        if not 0 < above < below:
            raise Unread('a whole number before a fraction that is not below 1')
        self.place += width
        return Fraction(above, below)

    def _letters(self, token: Token) -> Expression:
        text = SPELLED.get(token.text, token.text)
        if text in FUNCTIONS:
            return self._function(text)
        if text == 'sqrt':
            return Power(self._argument(), HALF)
        if text in SPELLED_SYMBOLS:
            return self._symbol(SPELLED_SYMBOLS[text])
        if token.kind == 'words':
            if len(text) > 1:
                raise Unread(text)
            return self._symbol(text)
        for name in sorted(FUNCTIONS | {'sqrt', 'pi'}, key=len, reverse=True):  # `xsin`, `2pir`
            if len(text) > len(name) and name in text and len(text) <= len(name) + 2:
                return self._apart(text, name)
        if len(text) > _LONGEST_PRODUCT or text.lower() in ENGLISH:
            raise Unread(text)
        return self._several(list(text))

    def _apart(self, text: str, name: str) -> Expression:
        before, _, after = text.partition(name)
        if after and name != 'pi':
            raise Unread(text)
        return self._several([*before, name, *after])

    def _several(self, names: list[str]) -> Expression:
        factors: list[Expression] = [Symbol(name) for name in names[:-1]]
        last = names[-1]
        factors.append(self._letters(Token('letters', last)) if len(last) > 1 else self._symbol(last))
        if self.peek().text == '^' and len(factors) > 1:
            self.place += 1
            factors[-1] = self._raised(factors[-1])
        return factors[0] if len(factors) == 1 else Product(tuple(factors))

    def _symbol(self, name: str) -> Expression:
        """Read a symbol with its index, primes and, of f, g and h, its argument."""
        if name == 'C' and (chosen := self._combinations()):
            return chosen
        while True:
            if self.take('_'):
                name += '_' + self._index()
            elif self.take("'"):
                name += "'"
            else:
                break
        if self.peek().text == '(' and (name[:1] in NAMED_FUNCTIONS or self._applied()):
            return Call(name, self._arguments())
        return Symbol(name)

    def _applied(self) -> bool:
        """Whether a bracket that touches a name holds a number alone: P(0) is no product."""
        end = closing(self.tokens, self.place)
        inside = self.tokens[self.place + 1 : end]
        signed = inside[1:] if inside and inside[0].text == '-' else inside
        return not self.peek().spaced and len(signed) == 1 and signed[0].kind == 'number'

    def _combinations(self) -> Expression | None:
        """Read `C_n^k`: n over k."""
        start = self.place
        if self.take('_') and (below := self._group()) and self.take('^') and (above := self._group()):
            return Call('binom', (self._within(below), self._within(above)))
        self.place = start
        return None

    def _group(self) -> Tokens:
        return self.inside() if self.peek().text == '{' else [self.next()]

    def _index(self) -> str:
        return written(self._group()).replace(' ', '').strip('()')

    def _command(self, token: Token) -> Expression:
        name = token.text[1:]
        if token.text in _COMMANDS:
            return _COMMANDS[token.text](self)
        if name in FUNCTIONS:
            return self._function(name)
        if name in GREEK or name == 'pi':
            return self._symbol(name)
        if name == 'infty':
            return INFINITY
        if token.text in ACCENTS or token.text in FIGURES:
            marked = self._group() if token.text in ACCENTS else [self.next()]
            return self._symbol(f'{name} {written(marked).replace(" ", "")}')
        raise Unread(token.text)

    def _fraction(self) -> Expression:
        above, below = self._part(), self._part()
        return quotient(above, below)

    def _part(self) -> Expression:
        r"""Return the argument of a command, a group or one token: `\frac12` is a half, `\sqrt2` a root."""
        if self.peek().text == '{':
            return self._within(self.inside())
        token = self.peek()
        if token.kind == 'number' and len(token.text) > 1 and token.text.isdigit():
            self.part()
        if self.peek().kind == 'letters' and len(self.peek().text) > 1:
            return self._base()
        if self.peek().kind in {'letters', 'number'}:
            one = self.next()
            return number(int(one.text)) if one.text.isdigit() else self._within([one])
        return self._base()

    def _root(self) -> Expression:
        degree: Expression = number(2)
        if self.peek().text == '[':
            degree = self._within(self.inside())
        whole = self.peek()
        if whole.kind == 'number' and whole.text.isdigit() and self.peek(1).text != '{':
            self.place += 1
            return Power(number(int(whole.text)), quotient(ONE, degree))
        return Power(self._part(), HALF if degree == number(2) else quotient(ONE, degree))

    def _binomial(self) -> Expression:
        return Call('binom', (self._part(), self._part()))

    def _floor(self) -> Expression:
        self.place -= 1
        name = 'floor' if self.peek().text == r'\lfloor' else 'ceiling'
        return Call(name, (self._within(self.inside()),))

    def _absolute(self) -> Expression:
        self.place += 1
        end = self.place
        while end < len(self.tokens) and self.tokens[end].text != '|':
            end = closing(self.tokens, end) + 1 if self.tokens[end].text in {'(', '{', '['} else end + 1
        if end >= len(self.tokens):
            raise Unread('a bar is not closed')
        inside = self.tokens[self.place : end]
        self.place = end + 1
        return Call('abs', (self._within(inside),))

    def _function(self, name: str) -> Expression:
        base: Expression | None = number(10) if name == 'lg' else None
        if name in {'log', 'lg'} and self.take('_'):
            base = self._within(self._group())
        power = None
        if self.take('^'):
            power = self._exponent()
        bracketed = self.peek().text in {'(', r'\{'}
        arguments = self._arguments() if bracketed else (self._argument(),)
        if (len(arguments) > 1) is not (name in OF_SEVERAL):
            raise Unread(f'{name} of {len(arguments)}')
        if name in {'log', 'lg', 'ln'}:
            applied: Expression = Call('ln', arguments)
            if base is not None:
                applied = quotient(applied, Call('ln', (base,)))
        elif name == 'exp':
            applied = Power(Symbol('e'), arguments[0])
        else:
            applied = Call(name, arguments)
        if power is None:
            return applied
        if power == MINUS_ONE and name in {'sin', 'cos', 'tan'}:
            return Call('arc' + name, arguments)
        return Power(applied, power)

    def _arguments(self) -> tuple[Expression, ...]:
        parts, _ = split(self.inside(), frozenset({',', ';'}))
        return tuple(self._within(part) for part in parts)

    def _argument(self) -> Expression:
        r"""Read up to where a function without brackets reaches: `\sin 2x` to the next sign or function."""
        factors: list[Expression] = []
        while True:
            token = self.peek()
            minus = not factors and self.take('-')
            if minus:
                factors.append(MINUS_ONE)
                continue
            if factors and factors != [MINUS_ONE] and not self._continues(token):
                break
            factors.append(self._factor())
            if token.text in {'(', '{'}:
                break
        return factors[0] if len(factors) == 1 else Product(tuple(factors))

    def _continues(self, token: Token) -> bool:
        """Whether `token` goes on with the argument of a function: not a bracket, not the next function."""
        if token.kind == 'letters':
            return token.text not in FUNCTIONS and len(token.text) <= _LONGEST_PRODUCT
        return token.kind == 'command' and token.text[1:] not in FUNCTIONS and self._starts_factor()


_COMMANDS: dict[str, Callable[[_Reader], Expression]] = {
    r'\frac': _Reader._fraction,
    r'\sqrt': _Reader._root,
    r'\binom': _Reader._binomial,
    r'\lfloor': _Reader._floor,
    r'\lceil': _Reader._floor,
}
