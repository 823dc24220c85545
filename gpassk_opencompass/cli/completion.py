"""`gpassk completion`: what has a shell complete the commands and options of `gpassk`."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable

SHELLS = ('bash', 'zsh', 'fish')

ASKED = '_ARGCOMPLETE'
"""A shell that asks for completions sets it to the number of words that start the program."""

_EPILOG = """\
examples:
  eval "$(gpassk completion bash)"                           now; in ~/.bashrc for all shells to come
  eval "$(gpassk completion zsh)"                            in ~/.zshrc, below compinit
  gpassk completion fish > ~/.config/fish/completions/gpassk.fish

At a Tab the shell asks `gpassk` itself, so that the options are always those of the version installed.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the shell."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument('shell', choices=SHELLS)


def run(arguments: Namespace) -> int:
    """Print what the shell is to read; return the exit code 0."""
    from argcomplete.shell_integration import shellcode

    print(shellcode(['gpassk'], shell=arguments.shell))
    return 0


def complete(parser_for: Callable[[str], ArgumentParser]) -> None:
    """Give a shell what fits the line that is being typed, and end.

    Args:
        parser_for: the name of a subcommand → the parser with its arguments; only that of the line is loaded.
    """
    from argcomplete import autocomplete

    words = os.environ.get('COMP_LINE', '').split()
    number = os.environ[ASKED]
    name = words[int(number)] if number.isdigit() and int(number) < len(words) else ''
    autocomplete(parser_for(name))
