"""What stands left of an equals sign: the name of a value, or words for it."""

from __future__ import annotations

from .expressions import Call, Expression, Power, Product, Sum, Symbol, number
from .formulas import read_expression
from .names import FUNCTIONS
from .tokens import Token, Tokens, Unread, written

_LONGEST_NAME = 14


def ends_in_a_term(tokens: Tokens) -> bool:
    """Whether words end in what is no name: "the value 2x" = 5 says nothing of a value of 5."""
    words = [place for place, token in enumerate(tokens) if _is_word(token)]
    term = tokens[words[-1] + 1 :] if words else ()
    try:
        return bool(term) and not is_name(read_expression(term))
    except Unread:
        return False


def name_of(tokens: Tokens) -> str:
    """Return what stands there without blanks; raise Unread where it is too long for a name."""
    name = written(tokens).replace(' ', '')
    if len(tokens) > _LONGEST_NAME or not name:
        raise Unread(name)
    return name


def is_name(expression: Expression) -> bool:
    """Whether an equation with this on its left says what something is worth: x, f(2), |AB|, NO/BO."""
    if isinstance(expression, Symbol):
        return expression.name not in {'pi', 'e', 'oo'}
    if isinstance(expression, Call):
        return True
    if isinstance(expression, Sum):  # x_1 + x_2
        return all(isinstance(term, Symbol) and '_' in term.name for term in expression.terms)
    if isinstance(expression, Product):
        return all(
            is_name(factor) and (not isinstance(factor, Symbol) or factor.name[0].isupper())
            for factor in expression.factors
        )
    if isinstance(expression, Power):
        return expression.exponent == number(-1) and is_name(expression.base)
    return False


def _is_word(token: Token) -> bool:
    if token.kind == 'letters':
        return len(token.text) > 1 and token.text not in FUNCTIONS
    return token.kind in {'words', 'chinese'}
