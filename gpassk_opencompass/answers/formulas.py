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
    deeper,
    negative,
    number,
    quotient,
)  # fmt: skip
from .tokens import Cursor, Token, Tokens, Unread, closing, split, written
from .words import (
    ACCENTS,
    ENGLISH,
    FIGURES,
    FUNCTIONS,
    GREEK,
    NAMED_FUNCTIONS,
    OF_SEVERAL,
    SPELLED,
    SPELLED_SYMBOLS,
)

_LONGEST_PRODUCT = 3  # letters in a row that are a product of symbols; more are a word
_DEEPEST = 60


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
