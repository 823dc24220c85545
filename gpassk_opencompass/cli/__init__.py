"""The `gpassk` command: one module a subcommand, loaded when it is asked for."""

from __future__ import annotations

import errno
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from ..errors import GPassKError, IncompleteError
from ..text import drop_output, one_line, open_output, tables_as_json, warn
from ..version import __version__

COMMANDS = {
    'audit': ('audit', 'have some verdicts of a finished run checked: how many of all are wrong?'),
    'check': ('check', 'in what state each run of a sweep is: complete, partial, failed, stale, missing'),
    'compare': ('compare', 'runs with each other, or with a published leaderboard: what can be told apart'),
    'demo': ('demo', 'a tiny model that comes along, sampled, judged and reported on this CPU'),
    'expand': ('expand', 'write one OpenCompass config for each combination of a template'),
    'gate': ('gate', 'is a new run better than an old one, as good within a margin, or worse? for CI'),
    'init': ('init', 'write a first template, for an engine, or one of those that come along'),
    'judge-agreement': ('agreement', 'compare a judge with labels, or two verdict stores with each other'),
    'judge-ping': ('ping', 'ask each judge server one easy correct and one easy wrong pair'),
    'plan': ('plan', 'how many samples and questions an interval of a wanted width takes'),
    'report': ('report', 'tables, figures and a page of the results of many runs'),
    'run': ('run', 'run OpenCompass on every config that has no complete result'),
    'score': ('score', 'score responses, labels or counts of any program, or rescore a result'),
}
"""Subcommand → (module of this package, one line of help).

A module offers `add_arguments(parser)` and `run(arguments) -> int`, the exit code.
"""

PASSES_ON = frozenset({'run'})
"""Subcommands that take what follows `--` for another program, in `arguments.rest`."""

INCOMPLETE, REFUSED, INTERRUPTED = 1, 2, 130

NO_ANSWER = {'gate': 3}
"""Subcommands whose exit codes 1 and 2 are answers → the code of theirs where there is none."""

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The error numbers of a full disk, an exhausted quota and a limit on the size of files."""

BARRED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ESTALE})
"""The error numbers of a path that may not be used; `Path.is_dir` and the like raise them too."""


class Parser(ArgumentParser):
    """Tells a slip in one line."""

    def error(self, message: str) -> NoReturn:
        """End with the line."""
        self.exit(REFUSED, f'{self.prog}: error: {message} (see {self.prog} --help)\n')


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand.

    Returns:
        The exit code: 0; 1 if something is incomplete or failed; 2 if the input cannot be used; 130 after
        Ctrl-C. Errors are one message on stderr. Subcommands of `NO_ANSWER` have a code for all errors.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    name = arguments[0] if arguments else ''
    return _answered(name, arguments) if name in NO_ANSWER else _main(name, arguments)


def _answered(name: str, arguments: Sequence[str]) -> int:
    """Run a subcommand whose exit codes are answers; of all that keeps it from one the code is another."""
    try:
        return _main(name, arguments)
    except SystemExit as end:  # of the parser; 0 after --help
        raise SystemExit(end.code and NO_ANSWER[name]) from None
    except Exception:  # the interpreter would end with 1
        from traceback import print_exc

        print_exc()
        return NO_ANSWER[name]


def _main(name: str, arguments: Sequence[str]) -> int:
    try:
        open_output(lasting=name in COMMANDS)
        return _run(name, arguments or ['--help'])
    except GPassKError as error:
        warn(f'gpassk {name}: {error}')
        return NO_ANSWER.get(name, INCOMPLETE if isinstance(error, IncompleteError) else REFUSED)
    except KeyboardInterrupt:
        warn(f'gpassk {name}: stopped')
        return INTERRUPTED
    except BrokenPipeError:  # `gpassk … | head`
        drop_output()
        return NO_ANSWER.get(name, 0)
    except OSError as error:
        if error.errno not in (FULL | {errno.ENOENT} if error.filename is None else FULL | BARRED):
            raise
        return _barred(name, error)


def _barred(name: str, error: OSError) -> int:
    """Print one line about what the system refused, and return the exit code.

    An error without a path is about standard output, or about a working directory that was removed.
    """
    if error.filename is not None:
        what = one_line(error.filename)
    elif error.errno == errno.ENOENT:
        what = 'the folder that you are in is gone; go to another one'
    else:
        what = 'cannot write all of the output'
        drop_output()
    warn(f'gpassk {name}: {what}: {error.strerror}')
    return NO_ANSWER.get(name, INCOMPLETE if error.errno in FULL else REFUSED)


def _run(name: str, arguments: Sequence[str]) -> int:
    try:
        end = arguments.index('--') if name in PASSES_ON and '--' in arguments else len(arguments)
        rest = list(arguments[end + 1 :])
        parsed, unknown = parser_for(name).parse_known_args(arguments[:end], Namespace(rest=rest))
        if unknown:
            parsed.refuse(f'unrecognized arguments: {" ".join(unknown)}{_hint(name, unknown)}')
        code: int = _shown(name, parsed, import_module(f'.{COMMANDS[name][0]}', __name__).run)
        return code
    finally:
        sys.stdout.flush()  # here, where a broken pipe is expected, not when the interpreter ends


def _shown(name: str, parsed: Namespace, run: Callable[[Namespace], int]) -> int:
    """Run a subcommand; one with tables shows them as its options say."""
    if not getattr(parsed, 'tables_as_json', False):
        return run(parsed)
    with tables_as_json(name):
        return run(parsed)


def _hint(name: str, unknown: Sequence[str]) -> str:
    if name not in PASSES_ON:
        return ''
    return f'; options of opencompass go behind --, last of all: gpassk {name} … -- {" ".join(unknown)}'


def parser_for(name: str) -> Parser:
    """Return the parser of all subcommands, with the arguments of `name` alone: no other module is loaded."""
    parser = Parser(prog='gpassk', description='G-Pass@k: how stably does a language model reason?')
    parser.add_argument('--version', action='version', version=f'%(prog)s {__version__}')
    parser.set_defaults(refuse=parser.error)
    commands = parser.add_subparsers(metavar='command', required=True)
    for command, (module, line) in COMMANDS.items():
        subparser = commands.add_parser(command, help=line, description=line[0].upper() + line[1:] + '.')
        if command == name:
            import_module(f'.{module}', __name__).add_arguments(subparser)
            subparser.set_defaults(refuse=subparser.error)  # in its own name, not that of `gpassk`
    return parser
