"""Shortened options that `gpassk run` passes on: understood as the installed OpenCompass does."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import pytest
from hosts import import_plugin

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.runs.command import OPTIONS, whole_options


class Parsed(Exception):
    """Carries the parser instead of parsing."""


def parser_of_opencompass(monkeypatch: pytest.MonkeyPatch) -> ArgumentParser:
    import_plugin()
    from opencompass.cli import main

    def hand_over(parser: ArgumentParser) -> Namespace:
        raise Parsed(parser)

    monkeypatch.setattr(ArgumentParser, 'parse_args', hand_over)
    with pytest.raises(Parsed) as parsed:
        main.parse_args()
    parser: ArgumentParser = parsed.value.args[0]
    return parser


def test_each_beginning_of_an_option_is_what_opencompass_takes_it_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One, several or none, by the table that argparse looks them up in."""
    parser = parser_of_opencompass(monkeypatch)
    longs = {name for action in parser._actions for name in action.option_strings if name.startswith('--')}
    assert longs == OPTIONS
    for beginning in {name[:end] for name in longs for end in range(3, len(name) + 1)}:
        actions = {id(found[0]) for found in parser._get_option_tuples(beginning)}
        if beginning in longs:
            assert whole_options([beginning]) == [beginning]
        elif len(actions) > 1:
            with pytest.raises(InputError, match='could be'):
                whole_options([beginning])
        else:
            [whole] = whole_options([beginning])
            assert {id(parser._option_string_actions[whole])} == actions
