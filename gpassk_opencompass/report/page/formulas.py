"""LaTeX in questions and answers as MathML, which browsers show without fonts or scripts of ours."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from ...errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable

Tree = list[Any]
"""[tag, attributes, child, …]; a child is a text or a tree."""

MOST = 20_000
"""Texts that are converted; those beyond are shown as their source."""

LONGEST_FORMULA = 2_000

TAGS = frozenset(
    [
        'math',
        'maction',
        'menclose',
        'merror',
        'mfenced',
        'mfrac',
        'mi',
        'mmultiscripts',
        'mn',
        'mo',
        'mover',
        'mpadded',
        'mphantom',
        'mroot',
        'mrow',
        'mspace',
        'msqrt',
        'mstyle',
        'msub',
        'msubsup',
        'msup',
        'mtable',
        'mtd',
        'mtext',
        'mtr',
        'munder',
        'munderover',
    ]
)
ATTRIBUTES = frozenset(
    [
        'accent',
        'accentunder',
        'columnalign',
        'columnlines',
        'columnspacing',
        'depth',
        'display',
        'displaystyle',
        'fence',
        'form',
        'height',
        'linethickness',
        'lspace',
        'mathsize',
        'mathvariant',
        'maxsize',
        'minsize',
        'movablelimits',
        'notation',
        'rowalign',
        'rowlines',
        'rowspacing',
        'rspace',
        'scriptlevel',
        'separator',
        'stretchy',
        'symmetric',
        'voffset',
        'width',
    ]
)
"""What may stand on the page: nothing that links, loads, styles or names anything."""

_BLOCK = rf'.{{1,{LONGEST_FORMULA}}}?'  # without a limit a text of openings would take quadratic time
_DELIMITED = re.compile(
    rf'\$\$(?P<dollars>{_BLOCK})\$\$'
    r'|\$(?!\s)(?P<dollar>(?:\\.|[^$\\])+?)(?<!\s)\$(?!\d)'
    rf'|\\\[(?P<bracket>{_BLOCK})\\\]'
    rf'|\\\((?P<round>{_BLOCK})\\\)',
    re.DOTALL,
)
_BARE = re.compile(r'\\[A-Za-z]|\^')


class Formulas:
    """The texts that hold formulas, cut into plain parts and trees of MathML.

    >>> formulas = Formulas()
    >>> formulas.add('42', 'so $x$ is', r'\\frac{1}{')
    >>> list(formulas.trees)
    ['so $x$ is']
    >>> formulas.trees['so $x$ is']
    ['so ', ['math', {'display': 'inline'}, ['mrow', {}, ['mi', {}, 'x']]], ' is']

    Raises:
        MissingExtraError: latex2mathml is not installed.
    """

    def __init__(self) -> None:
        self._convert = _converter()
        self._seen: set[str] = set()
        self.trees: dict[str, list[Any]] = {}

    @property
    def full(self) -> bool:
        """No more texts are converted."""
        return len(self.trees) >= MOST

    def add(self, *texts: str) -> None:
        """Convert what there is to convert; a text with a formula that cannot be read stays source."""
        for text in texts:
            if text in self._seen or self.full:
                continue
            self._seen.add(text)
            parts = self._parts(text)
            if any(isinstance(part, list) for part in parts):
                self.trees[text] = parts

    def _parts(self, text: str) -> list[Any]:
        found = list(_DELIMITED.finditer(text)) if len(text) <= 10 * LONGEST_FORMULA else []
        if not found:
            return [self._formula(text, 'inline')] if _BARE.search(text) else [text]
        parts, position = [], 0
        for match in found:
            latex = match[match.lastgroup or 0]
            block = 'block' if match.lastgroup in ('dollars', 'bracket') else 'inline'
            tree = self._formula(latex, block)
            parts += [text[position : match.start()], match[0] if tree == latex else tree]
            position = match.end()
        return [part for part in [*parts, text[position:]] if part]

    def _formula(self, latex: str, display: str) -> Tree | str:
        """Return the tree, or the source where there is none to be had."""
        if len(latex) > LONGEST_FORMULA:
            return latex
        try:
            return _tree(self._convert(latex, display=display))
        except Exception:  # of any kind: a parser of others meets text of anybody
            return latex


def _converter() -> Callable[..., Element]:
    try:
        from latex2mathml.converter import convert_to_element
    except ModuleNotFoundError as error:
        raise MissingExtraError('latex2mathml', 'report') from error
    convert: Callable[..., Element] = convert_to_element
    return convert


def _tree(element: Element) -> Tree:
    """Return known tags and attributes; ValueError for others, and where a command was not understood."""
    if element.tag not in TAGS:
        raise ValueError(f'{element.tag} is no element of MathML that is shown')
    attributes = {name: value for name, value in element.attrib.items() if name in ATTRIBUTES}
    text = html.unescape(element.text or '')
    if '\\' in text:
        raise ValueError(f'{text} was not understood')
    return [element.tag, attributes, *([text] if text else []), *map(_tree, element)]
