r"""An expression read from tokens, all of them or none.

It reads LaTeX and what is typed as in a program (`2**3`, `sqrt(2)/3`, `x^2`); whatever it does not know
(`\sum`, an unknown word, a stray bracket) raises Unread: a part of a formula is not the formula.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from .expressions import (
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
    negative,
    number,
    quotient,
)  # fmt: skip
from .names import ACCENTS, ENGLISH, FIGURES, FUNCTIONS, GREEK, NAMED_FUNCTIONS, SPELLED
from .tokens import Token, Tokens, Unread, closing, split, written

_LONGEST_PRODUCT = 3  # letters in a row that are a product of symbols; more are a word
_DEEPEST = 60
_END = Token('end', '')
_PAIRS = {'(': ')', '[': ']', '{': '}', r'\lfloor': r'\rfloor', r'\lceil': r'\rceil'}


def read_expression(tokens: Tokens) -> Expression:
    r"""Return the expression that `tokens` write out.

    Raises:
        Unread: something is left over or unknown.

    >>> from .tokens import tokens_of
    >>> read_expression(tokens_of('x^2'))
    Power(base=Symbol(name='x'), exponent=Number(value=Fraction(2, 1), digits=None))
    """
    if not tokens:
        raise Unread('nothing')
    reader = _Reader(tokens)
    expression = reader.sum()
    reader.end()
    return expression


class _Reader:
    """Reads from left to right; every method takes what is its own and leaves the rest."""

    def __init__(self, tokens: Tokens, depth: int = 0) -> None:
        if depth > _DEEPEST:
            raise Unread('nested too deep')
        self._tokens = tokens
        self._count = len(tokens)
        self._place = 0
        self._depth = depth
        self._bars = 0

    def end(self) -> None:
        if self._place < self._count:
            raise Unread(written(self._tokens[self._place :]))

    def _peek(self, ahead: int = 0) -> Token:
        place = self._place + ahead
        return self._tokens[place] if place < self._count else _END

    def _next(self) -> Token:
        token = self._peek()
        self._place += 1
        return token

    def _take(self, *texts: str) -> str:
        """The next token if it is one of `texts`, else ''."""
        if self._place < self._count:
            token = self._tokens[self._place]
            if token.text in texts and token.kind != 'words':
                self._place += 1
                return token.text
        return ''

    def _inside(self) -> Tokens:
        """The tokens in the bracket that opens here; afterwards it is behind us."""
        end = closing(self._tokens, self._place)
        if _PAIRS.get(self._peek().text) != self._tokens[end].text:
            raise Unread('brackets that do not match')
        inside = self._tokens[self._place + 1 : end]
        self._place = end + 1
        return inside

    def _within(self, tokens: Tokens) -> Expression:
        reader = _Reader(tokens, self._depth + 1)
        expression = reader.sum()
        reader.end()
        return expression

    def sum(self) -> Expression:
        terms = [self._signed()]
        while sign := self._take('+', '-'):
            term = self._signed()
            terms.append(negative(term) if sign == '-' else term)
        return terms[0] if len(terms) == 1 else Sum(tuple(terms))

    def _signed(self) -> Expression:
        minus = False
        while sign := self._take('+', '-'):
            minus ^= sign == '-'
        term = self._product()
        return negative(term) if minus else term

    def _product(self) -> Expression:
        factors = [self._factor()]
        while True:
            if self._take('*'):
                factors.append(self._signed_factor())
            elif self._take('/'):
                factors.append(Power(self._signed_factor(), MINUS_ONE))
            elif self._starts_factor():
                factors.append(self._factor())
            else:
                return factors[0] if len(factors) == 1 else Product(tuple(factors))

    def _signed_factor(self) -> Expression:
        minus = self._take('-', '+') == '-'
        factor = self._factor()
        return negative(factor) if minus else factor

    def _starts_factor(self) -> bool:
        token = self._peek()
        if token.kind in {'letters', 'words'}:
            return True
        if token.kind == 'number':  # `2 3` and `x2` are no products, `N2^{-N}` is one
            before = self._peek(-1)
            return before.text == '}' or (self._peek(1).text == '^' and before.kind == 'letters')
        if token.text == '|':
            return self._bars == 0
        return token.kind == 'command' or token.text in {'(', '[', '{', r'\{'}

    def _factor(self) -> Expression:
        base = self._base()
        while True:
            if self._take('^'):
                base = self._raised(base)
            elif self._take('!'):
                base = Call('factorial', (base,))
            elif self._take('%'):
                base = Product((base, number(Fraction(1, 100))))
            elif self._take(r'\circ'):
                base = Product((base, DEGREE))
            else:
                return base

    def _raised(self, base: Expression) -> Expression:
        if self._take(r'\circ'):
            return Product((base, DEGREE))
        if self._peek().text == '{':
            inside = self._inside()
            if [token.text for token in inside] == [r'\circ']:
                return Product((base, DEGREE))
            if inside and inside[0].text == r'\circ':
                raise Unread(written(inside))
            return Power(base, self._within(inside))
        return Power(base, self._exponent())

    def _exponent(self) -> Expression:
        r"""`x^2`, `x^-2`, `x^{…}`, `x^(…)`, `2^2^3`; `x^10` is typed as in a program."""
        minus = self._take('-', '+') == '-'
        exponent = self._base()
        if self._take('^'):
            exponent = self._raised(exponent)
        return negative(exponent) if minus else exponent

    def _base(self) -> Expression:
        token = self._next()
        if token.kind == 'number':
            return self._number(token)
        if token.kind in {'letters', 'words'}:
            return self._letters(token)
        if token.kind == 'command':
            return self._command(token)
        self._place -= 1
        if token.text in {'(', '[', '{'}:
            return self._within(self._inside())
        if token.text == '|':
            return self._absolute()
        raise Unread(written(self._tokens[self._place :]) or 'the formula ends too early')

    def _number(self, token: Token) -> Expression:
        whole, _, decimals = token.text.partition('.')
        value = Fraction(int((whole or '0') + decimals), 10 ** len(decimals))
        if '.' not in token.text and (part := self._mixed()):
            return number(value + part)
        if self._peek().text == '_':
            raise Unread('a number with an index')
        return Number(value, len(decimals) if '.' in token.text else None)

    def _mixed(self) -> Fraction | None:
        r"""The fraction of a mixed number, `2\frac{1}{4}` and `2 1/4`."""
        if self._peek().text != r'\frac' and not (self._peek().spaced and self._peek().kind == 'number'):
            return None
        ahead = [self._peek(place) for place in range(7)]
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
        self._place += width
        return Fraction(above, below)

    def _letters(self, token: Token) -> Expression:
        text = SPELLED.get(token.text, token.text)
        if text in FUNCTIONS:
            return self._function(text)
        if text == 'sqrt':
            return Power(self._argument(), HALF)
        if text in {'pi', 'infinity', 'inf', 'oo'} or text in GREEK:
            return self._symbol({'pi': 'pi'}.get(text, 'oo') if text not in GREEK else text)
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
        parts = [*before, name, *after]
        return self._several(parts)

    def _several(self, names: list[str]) -> Expression:
        factors: list[Expression] = [Symbol(name) for name in names[:-1]]
        last = names[-1]
        factors.append(self._letters(Token('letters', last)) if len(last) > 1 else self._symbol(last))
        if self._peek().text == '^' and len(factors) > 1:
            self._place += 1
            factors[-1] = self._raised(factors[-1])
        return factors[0] if len(factors) == 1 else Product(tuple(factors))

    def _symbol(self, name: str) -> Expression:
        """With its index, primes and, of f, g and h, its argument."""
        if name == 'C' and (chosen := self._combinations()):
            return chosen
        while True:
            if self._take('_'):
                name += '_' + self._index()
            elif self._take("'"):
                name += "'"
            else:
                break
        if name[:1] in NAMED_FUNCTIONS and self._peek().text == '(':
            return Call(name, self._arguments())
        return Symbol(name)

    def _combinations(self) -> Expression | None:
        """`C_n^k`: n over k."""
        start = self._place
        if self._take('_') and (below := self._group()) and self._take('^') and (above := self._group()):
            return Call('binom', (self._within(below), self._within(above)))
        self._place = start
        return None

    def _group(self) -> Tokens:
        return self._inside() if self._peek().text == '{' else [self._next()]

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
            marked = self._group() if token.text in ACCENTS else [self._next()]
            return self._symbol(f'{name} {written(marked).replace(" ", "")}')
        raise Unread(token.text)

    def _fraction(self) -> Expression:
        above, below = self._part(), self._part()
        return quotient(above, below)

    def _part(self) -> Expression:
        r"""The argument of a command: a group, or one token: `\frac12` is a half, `\sqrt2` a root."""
        if self._peek().text == '{':
            return self._within(self._inside())
        token = self._peek()
        if token.kind == 'number' and len(token.text) > 1 and token.text.isdigit():
            self._tokens = [
                *self._tokens[: self._place],
                Token('number', token.text[0]),
                Token('number', token.text[1:]),
                *self._tokens[self._place + 1 :],
            ]
            self._count += 1
        if self._peek().kind == 'letters' and len(self._peek().text) > 1:
            return self._base()
        if self._peek().kind in {'letters', 'number'}:
            one = self._next()
            return number(int(one.text)) if one.text.isdigit() else self._within([one])
        return self._base()

    def _root(self) -> Expression:
        degree: Expression = number(2)
        if self._peek().text == '[':
            degree = self._within(self._inside())
        whole = self._peek()
        if whole.kind == 'number' and whole.text.isdigit() and self._peek(1).text != '{':
            self._place += 1
            return Power(number(int(whole.text)), quotient(ONE, degree))
        return Power(self._part(), HALF if degree == number(2) else quotient(ONE, degree))

    def _binomial(self) -> Expression:
        return Call('binom', (self._part(), self._part()))

    def _floor(self) -> Expression:
        self._place -= 1
        name = 'floor' if self._peek().text == r'\lfloor' else 'ceiling'
        return Call(name, (self._within(self._inside()),))

    def _absolute(self) -> Expression:
        self._place += 1
        end = self._place
        while end < len(self._tokens) and self._tokens[end].text != '|':
            end = closing(self._tokens, end) + 1 if self._tokens[end].text in {'(', '{', '['} else end + 1
        if end >= len(self._tokens):
            raise Unread('a bar is not closed')
        inside = self._tokens[self._place : end]
        self._place = end + 1
        return Call('abs', (self._within(inside),))

    def _function(self, name: str) -> Expression:
        base: Expression | None = number(10) if name == 'lg' else None
        if name in {'log', 'lg'} and self._take('_'):
            base = self._within(self._group())
        power = None
        if self._take('^'):
            power = self._exponent()
        arguments = self._arguments() if self._peek().text == '(' else (self._argument(),)
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
        parts, _ = split(self._inside(), frozenset({',', ';'}))
        return tuple(self._within(part) for part in parts)

    def _argument(self) -> Expression:
        r"""What a function without brackets is of: `\sin 2x` up to the next sign, product or function."""
        factors: list[Expression] = []
        while True:
            token = self._peek()
            minus = not factors and self._take('-')
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
