"""A template taken apart once, so that each prompt costs what is filled in and not what stands around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from json.encoder import encode_basestring_ascii
from string import Formatter
from typing import NamedTuple

_LONGEST_MARK, _SHORTEST_MARK = 80, 40


class Template:
    """What stands in a template around its slots: as it is, as JSON, and without blanks.

    Args:
        text: with named slots and no other braces that are not doubled.
    """

    def __init__(self, text: str) -> None:
        self.names: list[str] = []
        self.parts = ['']
        for part, name, *_ in Formatter().parse(text):
            self.parts[-1] += part
            if name is not None:
                self.names.append(name)
                self.parts.append('')
        self.as_json = [_escaped(part) for part in self.parts]
        self.squeezed = [squeezed(part) for part in self.parts]
        self.marks = _marks(self.squeezed)


class Asked(NamedTuple):
    """What a server was asked."""

    template: Template
    texts: Sequence[str]
    """What stands in its slots, in their order."""
    slots: str
    """Question, reference and answer, which a reply may well quote."""

    @property
    def prompt(self) -> str:
        """Return the prompt."""
        return _woven(self.template.parts, self.texts)

    @property
    def as_json(self) -> str:
        """Return the prompt as a string of JSON in ASCII, with its quotation marks."""
        return f'"{_woven(self.template.as_json, map(_escaped, self.texts))}"'

    @property
    def squeezed(self) -> str:
        """Return the prompt without blanks."""
        return _woven(self.template.squeezed, map(squeezed, self.texts))

    @property
    def marks(self) -> Sequence[str]:
        """Return stretches of the instructions, without blanks, that no reply has reason to repeat."""
        return self.template.marks


@cache
def template_of(text: str) -> Template:
    """Return a template taken apart; it is kept, as there are few."""
    return Template(text)


def squeezed(text: str) -> str:
    """Return the text without blanks, which servers and models change at will."""
    return ''.join(text.split())


def _escaped(text: str) -> str:
    return encode_basestring_ascii(text)[1:-1]


def _woven(parts: Sequence[str], texts: Iterable[str]) -> str:
    """Return the texts with the parts around them, of which there is one more."""
    woven = [*parts, *parts[1:]]
    woven[::2], woven[1::2] = parts, texts
    return ''.join(woven)


def _marks(parts: Sequence[str]) -> Sequence[str]:
    """Return beginning and end of what is before the slots, and the end of what is behind them."""
    head, *_, foot = parts
    marks = (head[:_LONGEST_MARK], head[-_LONGEST_MARK:], foot[-_LONGEST_MARK:])
    return tuple(dict.fromkeys(mark for mark in marks if len(mark) >= _SHORTEST_MARK))
