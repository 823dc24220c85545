"""The `gpassk` command: a module a subcommand, loaded when it is asked for.

A module offers `add_arguments(parser)` and `run(...) -> int`, which takes each option by its name and returns
the exit code: 0 done, 1 something is incomplete or worse, 2 refused or not decided, 3 no answer, 130 stopped.
"""

from __future__ import annotations

import errno
import signal
import sys
from argparse import Action, ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from traceback import print_exc
from types import FrameType
from typing import Any, NoReturn

from .. import __version__
from ..errors import GPassKError, IncompleteError
from ..text import drop_output, open_output, say, tables_as_json, warn

COMMANDS = {
    'init': 'write a first template, for an engine, or one of those that come along',
    'expand': 'write one OpenCompass config for each combination of a template',
    'run': 'run OpenCompass on every config that has no complete result',
    'check': 'in what state each run of a sweep is: complete, partial, failed, stale, missing',
    'score': 'score responses, labels or counts of any program, or rescore a result',
    'report': 'tables, figures and a page of the results of many runs',
    'compare': 'is a new run better than an old one, as good, or worse? also as a gate for CI',
    'judge': 'ping its servers, compare it with labels, audit the verdicts of a run',
    'plan': 'how many samples and questions an interval of a wanted width takes',
    'demo': 'a tiny model that comes along, sampled, judged and reported on this CPU',
}
"""Subcommand → one line of help; the module has the same name."""

INCOMPLETE, REFUSED, NO_ANSWER, INTERRUPTED = 1, 2, 3, 130

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The error numbers of a full disk, an exhausted quota and a limit on the size of files."""
BARRED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ESTALE})
"""The error numbers of a path that may not be used; `Path.is_dir` and the like raise them too."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit code; errors are one message on stderr."""
    name, *words = [*(sys.argv[1:] if argv is None else argv)] or ['--help']
    interrupts: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        interrupts.append(number)
        raise KeyboardInterrupt

    if argv is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    # With a margin the codes 1 and 2 are answers; of all that keeps a comparison from one the code is 3.
    answers = name == 'compare' and any(word.startswith('--margin') for word in words)
    try:
        code = one_line_errors(f'gpassk {name}', lambda: _run(name, words))
        return NO_ANSWER if code < 0 and answers else abs(code)
    except SystemExit as end:  # of the parser; 0 after --help
        raise SystemExit(end.code and NO_ANSWER if answers else end.code) from None
    except Exception:
        if interrupts:  # compiled code of a library made another error of Ctrl-C
            warn(f'gpassk {name}: stopped')
            return INTERRUPTED
        if not answers:
            raise
        print_exc()  # the interpreter would end with 1
        return NO_ANSWER


def one_line_errors(program: str, command: Callable[[], int]) -> int:
    """Run a command and return its exit code; what stops it is a line on stderr and a code below 0."""
    code = 0
    try:
        open_output()
        code = command()
        sys.stdout.flush()  # here, where a broken pipe is expected, not when the interpreter ends
        return code
    except GPassKError as error:
        say(end='', flush=True)
        warn(f'{program}: {error}')
        return -INCOMPLETE if isinstance(error, IncompleteError) else -REFUSED
    except KeyboardInterrupt:
        warn(f'{program}: stopped')
        return INTERRUPTED
    except BrokenPipeError:  # of `--help | head`, or of the last lines
        drop_output(sys.stdout)
        return code
    except OSError as error:
        if error.errno == errno.ENOENT and error.filename is None:  # of os.getcwd()
            warn(f'{program}: the current directory was deleted: change to one that is there')
            return -REFUSED
        if error.errno not in FULL | BARRED:
            raise
        what = error.filename
        if what is None:  # it is about standard output
            what = 'cannot write all of the output'
            drop_output(sys.stdout)
        warn(f'{program}: {what}: {error.strerror}')
        return -INCOMPLETE if error.errno in FULL else -REFUSED


def _run(name: str, words: Sequence[str]) -> int:
    if name in ('-h', '--help', '--version'):
        say(f'gpassk {__version__}' if name == '--version' else overview())
        return 0
    if name not in COMMANDS:
        close = get_close_matches(name, COMMANDS, 1)
        hint = f'did you mean {close[0]}?' if close else f'expected one of {", ".join(COMMANDS)}'
        Parser(prog='gpassk').error(f'there is no command {name!r}: {hint}')
    options = read_options(name, words)
    with tables_as_json(name) if options.pop('json', False) else nullcontext():
        return int(import_module(f'.{name}', __name__).run(**options))


def overview() -> str:
    """Return the help of all commands."""
    commands = ''.join(f'  {name:8}{line}\n' for name, line in COMMANDS.items())
    return f"""usage: gpassk COMMAND …

G-Pass@k: how stably does a language model reason?

{commands}
gpassk COMMAND --help says more. From a template to a report:
  gpassk init --engine vllm --model Qwen/Qwen2.5-7B-Instruct
  gpassk expand template.py && gpassk run opencompass_configs -w outputs
  gpassk report outputs -o report"""


class Parser(ArgumentParser):
    """Tells a slip in one line, and shows its help on one screen."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Help, allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """End with the line."""
        self.exit(REFUSED, f'{self.prog}: error: {message} (see {self.prog} --help)\n')


class _Help(RawDescriptionHelpFormatter):
    """Names what an option takes once: `-o, --output-dir FOLDER`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=27)

    def _format_args(self, action: Action, default_metavar: str) -> str:
        text = super()._format_args(action, default_metavar)
        return f'{text.split(" ")[0].strip("[")} …' if action.nargs in ('+', '*') else text

    def _format_action_invocation(self, action: Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        values = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f'{", ".join(action.option_strings)} {values}'


def parser_for(name: str) -> Parser:
    """Return the parser of a subcommand; no other module is loaded."""
    line = COMMANDS[name]
    parser = Parser(prog=f'gpassk {name}', description=f'{line[0].upper()}{line[1:]}.')
    import_module(f'.{name}', __name__).add_arguments(parser)
    if parser.usage is None and parser._subparsers is None:
        form = parser._get_formatter()
        values = [form._format_args(action, action.dest) for action in parser._get_positional_actions()]
        parser.usage = ' '.join([parser.prog, *values, '[options]'])
    return parser


def read_options(name: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the options of a subcommand as its `run` takes them."""
    parser = parser_for(name)
    passes_on = name == 'run'  # what follows `--` is for opencompass
    end = words.index('--') if passes_on and '--' in words else len(words)
    own = _files_first(parser, words[:end])
    if '--' in own:  # argparse forgets it between its two passes over intermixed words
        files = own.index('--') + 1
        own[files:] = [f'./{word}' if word.startswith('-') else word for word in own[files:]]
    parse = parser.parse_known_args if parser._subparsers else parser.parse_known_intermixed_args
    arguments, unknown = parse(own)
    if unknown:
        line = ' '.join(unknown)
        hint = f'; options of opencompass go behind --, last of all: gpassk {name} … -- {line}'
        parser.error(f'unrecognized arguments: {line}{hint if passes_on else ""}')
    return {**vars(arguments), **({'rest': list(words[end + 1 :])} if passes_on else {})}


def _files_first(parser: ArgumentParser, words: Sequence[str]) -> list[str]:
    """Move files that stand behind an option of several values to the front: `--k 2 4 FILE`."""
    files, others, option = [], [], None
    for word in words:
        if word.startswith('-'):
            option = parser._option_string_actions.get(word)
        elif option and option.nargs == '+' and callable(option.type):
            try:
                option.type(word)
            except (ArgumentTypeError, ValueError):
                if Path(word).exists():
                    files.append(word)
                    continue
        others.append(word)
    return [*files, *others]
