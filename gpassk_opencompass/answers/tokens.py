r"""An answer as tokens: numbers, letters, words, commands and marks, each spelling of a thing as one token.

Nothing is lost but what means nothing (math delimiters, sizes, thin spaces, quotes): whoever reads the tokens
accounts for every one of them, or says that the answer was not read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from .normal import ascii_latex, join_thousands


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
        '⟹': r'\Rightarrow ', '∖': r'\setminus ', '✓': '', '✔': '', '⊥': r'\perp ', '∥': r'\parallel ', '⇒': r'\Rightarrow ', '∨': r'\vee ', '∧': r'\wedge ',
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
