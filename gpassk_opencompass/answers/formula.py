"""Formulas: their tokens, each spelling of a thing as one token, and the expression that they write out.

Whoever reads the tokens accounts for every one, or raises Unread: a part of a formula is not the formula.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from .normal import SIZES, SYNONYMS, ascii_latex, commands, join_thousands
from .numeric import DEGREE, INFINITY, MINUS_ONE, Call, Expression, Number, Symbol, joined
from .values import chinese_number


class Unread(Exception):
    """Raised where an answer cannot be read as what was expected; its text says what was left over."""


class Token(str):
    r"""One token, and whether a blank stands before it.

    Its kind is 'number', 'letters' (a run of Latin letters in a formula), 'words' (a run in `\text`),
    'chinese', 'command' (`\frac`), 'mark' (everything else), or, of `\begin` and `\end`, their environment.
    """

    __slots__ = ('kind', 'spaced')
    kind: str
    spaced: bool

    def __new__(cls, kind: str, text: str, spaced: bool = False) -> Token:
        token = super().__new__(cls, text)
        token.kind, token.spaced = kind, spaced
        return token


Tokens = Sequence[Token]

_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys('–—‒―﹣', '-'), **dict.fromkeys('’‘′ʹ', "'"), **dict.fromkeys('“”"`✓✔', ''),
        **{char: f'\\mathbb{{{letter}}}' for char, letter in zip('ℝℤℕℚℂ', 'RZNQC', strict=True)},
        **commands(
            '∠√△⟨⟩γξηψχκζνϕεΓΘΛΣΦΨ⩽⩾≦≧⟹⇒∖⊥∥∨∧',
            'angle sqrt triangle langle rangle gamma xi eta psi chi kappa zeta nu phi epsilon Gamma Theta '
            'Lambda Sigma Phi Psi le ge le ge Rightarrow Rightarrow setminus perp parallel vee wedge',
        ),
        '∶': ':', '【': '[', '】': ']', '〔': '(', '〕': ')', '￥': '¥', '℃': r'^{\circ}\text{C}', '∗': '*',
        '∕': '/', '㎝': r'\text{cm}', '㎡': r'\text{m}^2', '‰': r'\cdot\frac{1}{1000}',
        **{chr(0x2080 + digit): f'_{digit}' for digit in range(10)},
    }
)  # fmt: skip
_SUBSCRIPTS = re.compile('[₀-₉]{2,}')
_OTHER_TYPE = re.compile('[\U0001d400-\U0001d7ff]')  # letters and digits in another type
_DECORATION = re.compile(
    r'\\(?:textcolor|color|colorbox)\s*\{[^{}]*\}'
    r'|\\(?:underline|uline|underbrace|mathbf|bf|bfseries|tiny|small|normalsize|[lL]arge|LARGE|[hH]uge)(?![a-zA-Z])'
    r'|\\(?:checkmark|blacksquare|square|qed|blacksmiley)(?![a-zA-Z])\s*$'
)
_TOKEN = re.compile(
    r'(?P<space>\s+|\\[,;:! \n]|~|\\q?quad(?![a-zA-Z])|\\(?:en|thin)space(?![a-zA-Z])|\\hspace\{[^{}]*\})'
    r'|\\(?:text\w*|math(?:rm|sf|it|bf|cal)|mbox|hbox|operatorname\*?|boldsymbol|bm|rm)\s*\{(?P<quoted>[^{}]*)\}'
    r'|\\math(?:bb|bf)\s*(?:\{\s*)?(?P<domain>[RZNQC])(?![a-zA-Z])(?:\s*\})?'
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
_ESCAPED = re.compile(r'\\\\(?=[a-zA-Z]{2})')
_PRICE = re.compile(r'\A(\s*-?)\$(-?[0-9][^$]*)\Z')  # a dollar, no delimiter: it does not close
_INCHES = re.compile(r'[^"]*[0-9]"\s*')
_LARGE_CHINESE = re.compile(r'[0-9]+万[0-9]千(?:[0-9]百)?')
_SCIENTIFIC = re.compile(r'([-+]?[0-9]+(?:\.[0-9]+)?)[eE]([-+]?[0-9]{1,4})')
_REPEATING = re.compile(
    r'(?<![0-9.])(?P<whole>[0-9]{1,12})\.(?P<fixed>[0-9]{0,12}?)'
    r'(?:\\(?:overline|bar)\s*(?:\{(?P<bar>[0-9]{1,12})\}|(?P<bared>[0-9]))|\((?P<round>[0-9]{1,12})\)'
    r'|\\dot\s*\{?(?P<first>[0-9])\}?(?:(?P<middle>[0-9]{0,12})\\dot\s*\{?(?P<last>[0-9])\}?)?'
    r'|(?P<shown>[0-9]{1,6}?)(?P=shown){2,20}\s*(?:\.\.\.|\\[lc]?dots\s*))(?![0-9])'
)
_DROPPED = SIZES | frozenset(
    r'$ \( \) \[ \] \displaystyle \textstyle \limits \nolimits \rm \bf \it \mathrm \text \mathbf \mbox '
    r'\boxed \fbox \mathit \textbf \textit \mathcal \boldsymbol \bm \phantom'.split()
)
_SYNONYMS = {
    **SYNONYMS, r'\leqq': r'\le', '<=': r'\le', r'\geqq': r'\ge', '>=': r'\ge', '!=': r'\ne', '==': '=',
    r'\ldots': '...', r'\cdots': '...', r'\dots': '...', r'\mid': '|', r'\cdot': '*', r'\times': '*',
    r'\ast': '*', r'\*': '*', '×': '*', r'\div': '/', '**': '^', r'\lparen': '(', r'\rparen': ')',
    r'\colon': ':', '比': ':', **dict.fromkeys((r'\thickapprox', r'\approxeq', r'\simeq', r'\doteq', '≈'),
    r'\approx'), r'\infin': r'\infty', r'\varepsilon': r'\epsilon', r'\varphi': r'\phi',
    r'\vartheta': r'\theta', r'\vee': 'or', r'\lor': 'or', r'\wedge': 'and', r'\land': 'and',
    r'\dbinom': r'\binom', r'\tbinom': r'\binom', '±': r'\pm', r'\overrightarrow': r'\vec',
    r'\$': 'dollars', r'\&': '&', r'\prime': "'", r'\R': r'\mathbb R', r'\degree': r'\circ',
    r'\implies': r'\Rightarrow', r'\Longrightarrow': r'\Rightarrow', r'\backslash': r'\setminus',
}  # fmt: skip
BRACKETS = {'(': ')', '[': ']', '{': '}', r'\{': r'\}'}
BRACKETS |= {rf'\l{name}': rf'\r{name}' for name in ('angle', 'floor', 'ceil')}
OPENING = frozenset({*BRACKETS, r'\begin'})
CLOSING = frozenset({*BRACKETS.values(), r'\end'})
_LEADING = frozenset(
    '共 共有 一共 总共 一共有 约 大约 约为 约是 大约是 约等于 为 是 答 答案 等于 有 得 即 故 所以 因此 '
    r'答案是 答案为 解 解得 about approximately approx roughly therefore thus so hence \approx = : . , ~ '
    r'\sim \therefore \Rightarrow'.split()
)
_TRAILING = frozenset({'.', ',', ';', ':', '\\\\'})


def tokens_of(answer: str) -> list[Token]:
    r"""Return the tokens of `answer`, in time linear in its length; raise Unread where they are too many.

    >>> [(token.kind, token) for token in tokens_of(r'$\left[ 5\text{ cm} \right)$')]
    [('mark', '['), ('number', '5'), ('words', 'cm'), ('mark', ')')]
    """
    answer = _DECORATION.sub(' ', answer)
    if not answer.isascii():
        answer = _OTHER_TYPE.sub(lambda one: unicodedata.normalize('NFKC', one[0]), answer)
        answer = _SUBSCRIPTS.sub(lambda run: f'_{{{"".join(str(ord(c) - 0x2080) for c in run[0])}}}', answer)
    text = _PRICE.sub(r'\1\\$\2', answer)
    if _INCHES.fullmatch(text):
        raise Unread('"')
    if r'\begin' not in text:  # escaped once too often
        text = _ESCAPED.sub(r'\\', text)
    text = join_thousands(ascii_latex(text.translate(_CHARACTERS)))
    if _LARGE_CHINESE.fullmatch(text.strip()):
        text = str(chinese_number(text.strip()))
    elif scientific := _SCIENTIFIC.fullmatch(text.strip()):
        text = f'{scientific[1]}*10^{{{int(scientific[2])}}}'
    tokens = list(_tokens_in(_REPEATING.sub(_repeating, text)))
    if len(tokens) > _MOST_TOKENS:
        raise Unread('too long')
    return tokens


def _repeating(decimal: re.Match[str]) -> str:
    """Return a repeating decimal as a fraction."""
    block = decimal['bar'] or decimal['bared'] or decimal['round'] or decimal['shown']
    block = block or ''.join(decimal[name] or '' for name in ('first', 'middle', 'last'))
    shift = 10 ** len(decimal['fixed'])
    value = Fraction(int(decimal['whole'] + decimal['fixed']), shift)
    value += Fraction(int(block), (10 ** len(block) - 1) * shift)
    return rf'({value.numerator}/{value.denominator})'


def _tokens_in(text: str) -> Iterator[Token]:  # noqa: C901
    after_size, spaced, place, depth = False, False, 0, 0
    while place < len(text):
        match = _THOUSANDS.match(text, place) if depth == 0 and text[place] in '123456789' else None
        if match:
            kind, name = 'number', match[0].replace(',', '')
        else:
            match = _TOKEN.match(text, place)
            assert match  # the last alternative is any character
            kind, name = str(match.lastgroup), _SYNONYMS.get(match[0], match[0])
        place = match.end()
        if kind == 'quoted':
            for token in _tokens_in(match['quoted']):
                yield Token('words' if token.kind == 'letters' else token.kind, token, token.spaced or spaced)
                spaced = False
            spaced = after_size = False
            continue
        if kind == 'domain':
            kind, name = 'command', rf'\mathbb {match["domain"]}'
        elif kind == 'environment':
            side, _, kind = match['environment'].partition('{')
            kind, name = kind.partition('}')[0], '\\' + side.strip()
        elif kind == 'number':
            name = name.replace(' ', '').replace('\u00a0', '').removesuffix('.')
        elif kind == 'command' and not name[1:2].isalpha():
            kind = 'mark'
        elif kind == 'command' and not name.startswith('\\'):
            kind = 'letters'
        depth += (name in OPENING) - (name in CLOSING)
        if name in _DROPPED or kind == 'space':
            spaced |= name == '$' or kind == 'space'
            after_size = name in SIZES or (after_size and kind == 'space')
        elif name == '.' and after_size:
            after_size = False
        else:
            yield Token(kind, name, spaced)
            spaced = after_size = False


def split(tokens: Tokens, marks: Iterable[str]) -> tuple[list[list[Token]], list[str]]:
    """Return the parts of `tokens` between `marks` outside all brackets, and the marks between them."""
    if frozenset(marks).isdisjoint(tokens):
        return [[*tokens]], []
    parts: list[list[Token]] = [[]]
    between: list[str] = []
    depth = 0
    for token in tokens:
        depth += (token in OPENING) - (token in CLOSING)
        if depth == 0 and token in marks and token not in CLOSING:
            between.append(token)
            parts.append([])
        else:
            parts[-1].append(token)
    return parts, between


def closing(tokens: Tokens, start: int = 0) -> int:
    """Return the place of the bracket that closes the one at `start`; raise Unread if there is none."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += (tokens[place] in OPENING) - (tokens[place] in CLOSING)
        if depth == 0:
            return place
    raise Unread('a bracket is not closed')


def trimmed(tokens: Tokens) -> list[Token]:
    """Return `tokens` without what leads to an answer (≈, 共, "about") and the stop behind it."""
    start, end = 0, len(tokens)
    while start < end - 1 and tokens[start].lower() in _LEADING:
        start += 1
    while end > start and tokens[end - 1] in _TRAILING:
        end -= 1
    return list(tokens[start:end])


_END = Token('end', '')
_HALF, _HUNDREDTH = Number(Fraction(1, 2)), Number(Fraction(1, 100))
_OF_SEVERAL = frozenset({'gcd', 'lcm', 'max', 'min'})
FUNCTIONS = _OF_SEVERAL | frozenset(
    'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log lg exp abs'.split()
)
_OTHER_NAMES = dict(asin='arcsin', acos='arccos', atan='arctan', tg='tan', ctg='cot', arctg='arctan')
_NAMES = sorted(FUNCTIONS | {'sqrt', 'pi'}, key=len, reverse=True)
_GREEK = frozenset(
    'alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi rho sigma tau phi chi psi omega pi '
    'Gamma Delta Theta Lambda Sigma Phi Psi Omega ell'.split()
)
_SPELLED_SYMBOLS = {name: name for name in (*_GREEK, 'dx', 'dy', 'dz', 'dt')}
_SPELLED_SYMBOLS |= dict.fromkeys(('infinity', 'inf', 'oo'), 'oo')
_ACCENTS = frozenset(r'\vec \overline \bar \hat \tilde \widehat \overset \underline'.split())
_FIGURES = frozenset({r'\angle', r'\triangle', r'\odot'})
_ENGLISH = frozenset(
    'no not it is of the and are for per bus car cat one two ten six all any can let but out men man day '
    'box cup egg pen dog yes if or to in on has was his her new old red top you she who how'.split()
)
_OPEN_FACTORS = frozenset({'(', '[', '{', r'\{', '|'})
_LONGEST_PRODUCT = 3  # letters in a row that are a product of symbols; more are a word
_DEEPEST = 60


def expression_of(tokens: Tokens) -> Expression:
    """Return the expression that `tokens` write out; raise Unread where something is left over or unknown."""
    expression = _Reader(tokens, 0).all()
    if len(tokens) > _DEEPEST:  # what walks through what is nested deeper would not come back
        level = [expression]
        for _ in range(_DEEPEST):
            level = [child for parent in level for child in parent.arguments]
        if level:
            raise Unread('nested too deep')
    return expression


class _Reader:
    """Reads from left to right; every method takes what is its own and leaves the rest."""

    def __init__(self, tokens: Tokens, depth: int) -> None:
        self.tokens, self.place, self.depth = tokens, 0, depth
        if depth > _DEEPEST:
            raise Unread('nested too deep')

    def all(self) -> Expression:
        """Read everything: a sum."""
        terms: list[Expression] = []
        while not terms or self.peek() in {'+', '-'}:
            minus = self.minus()
            terms.append(-self.product() if minus else self.product())
        if self.place < len(self.tokens):
            raise Unread(''.join(self.tokens[self.place :]))
        return joined('+', terms)

    def within(self, tokens: Tokens) -> Expression:
        return _Reader(tokens, self.depth + 1).all()

    def peek(self, ahead: int = 0) -> Token:
        """Return the next token, or one so many behind it; one without text if there is none."""
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else _END

    def take(self, *texts: str) -> str:
        """Take the next token if it is one of `texts`, no word, and return it; else return ''."""
        token = self.peek()
        if token not in texts or token.kind == 'words':
            return ''
        self.place += 1
        return token

    def minus(self) -> bool:
        """Take signs, and return whether they make a minus."""
        minus = False
        while sign := self.take('+', '-'):
            minus ^= sign == '-'
        return minus

    def inside(self) -> Tokens:
        """Take the bracket that opens here and return what it holds."""
        start, end = self.place, closing(self.tokens, self.place)
        if BRACKETS.get(self.peek()) != self.tokens[end]:
            raise Unread('brackets that do not match')
        self.place = end + 1
        return self.tokens[start + 1 : end]

    def group(self) -> Tokens:
        """Take a group in braces, or one token."""
        if self.peek() == '{':
            return self.inside()
        self.place += 1
        return self.tokens[self.place - 1 : self.place]

    def product(self) -> Expression:
        factors = [self.factor()]
        while True:
            token, before, after = self.peek(), self.peek(-1), self.peek(1)
            if sign := self.take('*', '/'):
                minus = self.take('-', '+') == '-'
                factor = -self.factor() if minus else self.factor()
                factors.append(factor**MINUS_ONE if sign == '/' else factor)
                continue
            if token == 'of' and before == '%':  # 25% of 60
                self.place += 1
            elif token.kind == 'number':  # `2 3` and `x2` are no products, `N2^{-N}` is one
                power = after == '^' and (before in {'!', ')'} or before.kind == 'letters')
                if not (power or before == '}' or (after == '!' and before in {'!', ')'})):
                    break
            elif token.kind not in {'letters', 'words', 'command'} and token not in _OPEN_FACTORS:
                break
            factors.append(self.factor())
        return joined('*', factors)

    def factor(self) -> Expression:
        base = self.base()
        while sign := self.take('^', '!', '%', r'\circ'):
            if sign == '^':
                base = self.raised(base)
            elif sign == '!':
                double = self.take('!')  # 5!! is 5·3·1, not (5!)!
                if double and self.peek() == '!':
                    raise Unread('more than two signs of a factorial')
                base = Call('double factorial' if double else 'factorial', (base,))
            else:
                base = base * (_HUNDREDTH if sign == '%' else DEGREE)
        return base

    def raised(self, base: Expression) -> Expression:
        """Read behind `^`: `2`, `-2`, `{…}`, `(…)`, `2^3`, a degree; `^10` is typed as in a program."""
        braced = self.peek() == '{'
        if self.peek(braced) == r'\circ':
            if len(self.group()) != 1:
                raise Unread('a degree with more')
            return base * DEGREE
        if braced:
            return base ** self.within(self.inside())
        minus = self.take('-', '+') == '-'
        token = self.peek()
        if token.kind == 'letters' and len(token) > 1 and token not in _SPELLED_SYMBOLS:
            raise Unread('an exponent of several letters without braces')
        exponent = self.base()
        if self.take('^'):
            exponent = self.raised(exponent)
        return base ** (-exponent if minus else exponent)

    def base(self) -> Expression:
        token = self.peek()
        if token in {'(', '[', '{'}:
            return self.within(self.inside())
        self.place += 1
        if token.kind == 'number':
            return self.number(token)
        if token.kind in {'letters', 'words'}:
            return self.letters(token)
        if token.kind == 'command':
            return self.command(token)
        if token != '|':
            raise Unread(''.join(self.tokens[self.place - 1 :]) or 'the formula ends too early')
        start = end = self.place
        while end < len(self.tokens) and self.tokens[end] != '|':
            end = closing(self.tokens, end) + 1 if self.tokens[end] in {'(', '{', '['} else end + 1
        if end >= len(self.tokens):
            raise Unread('a bar is not closed')
        self.place = end + 1
        return Call('abs', (self.within(self.tokens[start:end]),))

    def number(self, token: Token) -> Expression:
        r"""Read a number, and the fraction of a mixed one: `2\frac{1}{4}`, `2 1/4`."""
        whole, point, decimals = token.partition('.')
        if self.peek() == '_':
            raise Unread('a number with an index')
        if point:
            return Number(Fraction(int((whole or '0') + decimals), 10 ** len(decimals)), len(decimals))
        value = int(whole)
        match self.tokens[self.place : self.place + 6]:
            case [above, '/', below, *_] if self.peek().spaced and above.isdigit() and below.isdigit():
                width = 3
            case [r'\frac', '{', above, '}', '{', below] if above.isdigit() and below.isdigit():
                width = 7
            case [r'\frac', both, *_] if both.isdigit() and len(both) == 2:
                above, below, width = Token('number', both[0]), Token('number', both[1]), 2
            case _:
                return Number(value)
        if not 0 < int(above) < int(below):
            raise Unread('a whole number before a fraction that is not below 1')
        self.place += width
        return Number(value + Fraction(int(above), int(below)))

    def letters(self, token: Token) -> Expression:
        """Read a function, a symbol, or letters in a row as a product of symbols: `xsin`, `2pir`, `abc`."""
        text = _OTHER_NAMES.get(token, str(token))
        if text in FUNCTIONS:
            return self.function(text)
        if text == 'sqrt':
            return self.argument() ** _HALF
        if text in _SPELLED_SYMBOLS or len(text) == 1:
            return self.symbol(_SPELLED_SYMBOLS.get(text, text))
        names = list(text)
        within = next((name for name in _NAMES if name in text and len(text) <= len(name) + 2), None)
        if within:
            before, _, after = text.partition(within)
            names = [*before, within, *after]
        unknown = (after and within != 'pi') if within else len(text) > _LONGEST_PRODUCT
        if token.kind == 'words' or unknown or (not within and text.lower() in _ENGLISH):
            raise Unread(text)
        factors: list[Expression] = [Symbol(name) for name in names[:-1]]
        factors.append(self.letters(Token('letters', names[-1])))
        if self.take('^'):
            factors[-1] = self.raised(factors[-1])
        return joined('*', factors)

    def symbol(self, name: str) -> Expression:
        """Read a symbol with its index and primes, and what f, g, h, or a name, are applied to."""
        start = self.place
        if name == 'C' and self.take('_'):  # C_n^k is n over k
            below = self.group()
            if self.take('^') and (above := self.group()) and below:
                return Call('binom', (self.within(below), self.within(above)))
            self.place = start
        while mark := self.take('_', "'"):
            name += mark if mark == "'" else '_' + ''.join(self.group()).strip('()')
        if self.peek() == '(':
            inside = self.tokens[self.place + 1 : closing(self.tokens, self.place)]
            signed = inside[1:] if inside and inside[0] == '-' else inside
            applied = not self.peek().spaced and len(signed) == 1 and signed[0].kind == 'number'
            if name[:1] in {'f', 'g', 'h'} or applied:
                return Call(name, self.arguments())
        return Symbol(name)

    def command(self, token: Token) -> Expression:
        name = token[1:]
        if name in {'frac', 'binom'}:
            above, below = self.part(), self.part()
            return above / below if name == 'frac' else Call('binom', (above, below))
        if name == 'sqrt':
            degree = self.within(self.inside()) if self.peek() == '[' else Number(2)
            whole = self.peek()
            if whole.kind == 'number' and whole.isdigit():  # √12 is no √1·2
                self.place += 1
                return Number(int(whole)) ** (Number(1) / degree)
            return self.part() ** (Number(1) / degree)
        if name in {'lfloor', 'lceil'}:
            self.place -= 1
            return Call('floor' if name == 'lfloor' else 'ceiling', (self.within(self.inside()),))
        if name in FUNCTIONS:
            return self.function(name)
        if name in _GREEK:
            return self.symbol(name)
        if name == 'infty':
            return INFINITY
        if token in _ACCENTS | _FIGURES:
            return self.symbol(f'{name} {"".join(self.group())}')
        raise Unread(token)

    def part(self) -> Expression:
        r"""Return the argument of a command, a group or one token: `\frac12` is a half."""
        token = self.peek()
        if token.kind == 'number' and token.isdigit():
            tail = [Token('number', token[1:])] if token[1:] else []
            self.tokens = [*self.tokens[: self.place + 1], *tail, *self.tokens[self.place + 1 :]]
            self.place += 1
            return Number(int(token[0]))
        if token.kind == 'letters' and len(token) == 1:
            self.place += 1
            return self.within([token])
        return self.base()

    def function(self, name: str) -> Expression:
        base: Expression | None = Number(10) if name == 'lg' else None
        if name in {'log', 'lg'} and self.take('_'):
            base = self.within(self.group())
        exponent = self.raised(Number(1)).arguments[1] if self.take('^') else None
        arguments = self.arguments() if self.peek() in {'(', r'\{'} else (self.argument(),)
        if (len(arguments) > 1) is not (name in _OF_SEVERAL):
            raise Unread(f'{name} of {len(arguments)}')
        if exponent == MINUS_ONE and name in {'sin', 'cos', 'tan'}:
            return Call('arc' + name, arguments)
        if name in {'log', 'lg', 'ln'}:
            applied: Expression = Call('ln', arguments)
            applied = applied if base is None else applied / Call('ln', (base,))
        else:
            applied = Symbol('e') ** arguments[0] if name == 'exp' else Call(name, arguments)
        return applied if exponent is None else applied**exponent

    def arguments(self) -> tuple[Expression, ...]:
        return tuple(self.within(part) for part in split(self.inside(), ',;')[0])

    def argument(self) -> Expression:
        r"""Read up to where a function without brackets reaches: `\sin 2x` to the next sign or function."""
        minus, factors = self.minus(), list[Expression]()
        while True:
            bracket = self.peek() in {'(', '{'}
            factors.append(self.factor())
            token = self.peek()
            is_symbol = token.kind == 'letters' and len(token) <= _LONGEST_PRODUCT
            goes_on = is_symbol or token.kind == 'command'
            if bracket or not goes_on or token.lstrip('\\') in FUNCTIONS:
                return -joined('*', factors) if minus else joined('*', factors)
