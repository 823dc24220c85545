"""What an answer can be: the types of its value."""

from __future__ import annotations

from dataclasses import dataclass

from .expressions import Expression
from .units import Unit


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
    """A phrase of mathematics by its meaning (`phrases.meaning_of`): true, increasing, "no solution"."""

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
    Formula | Quantity | Named | Labelled | Relation | Pair | Tuple | Set | Listed | Union | Domain | Matrix
    | Piecewise | BaseNumber | Ratio | Date | Time | Phrase | Conditioned | Text
)  # fmt: skip
