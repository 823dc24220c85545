"""`gpassk init`: a first template, for an engine or of the shipped ones."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import InputError
from ..sweep.cli import expand_template
from ..sweep.engines import ENGINES
from ..sweep.grid import DEFAULT_ENGINE
from ..sweep.starter import shipped_templates, starter_template
from ..unseen import printable
from .files import write_file
from .options import Several, path


def add_arguments(parser: ArgumentParser) -> None:
    """Which engine and model, or which shipped template, and where to write it."""
    add = parser.add_argument
    add('--engine', choices=list(ENGINES), help=f'who runs the models (default: {DEFAULT_ENGINE})')
    models = 'what the engine loads: a name of the hub, a folder, or the name that a server knows'
    add('--model', action=Several, default=[], metavar='MODEL', help=models)
    shipped = 'copy this shipped template instead: of open models, long reasoners, API models, or the demo'
    add('--template', choices=list(shipped_templates()), help=shipped)
    where = 'default: template.py, or <template>.py of a shipped one'
    add('-o', '--output', type=path, metavar='FILE', help=where)
    add('--force', action='store_true', help='write over a file that is there')


def run(arguments: Namespace) -> int:
    """Write it, say what to type next; 0.

    Raises:
        InputError: the file is there, cannot be written, or would not expand.
    """
    name = arguments.template
    output: Path = arguments.output or Path(f'{name or "template"}.py')
    if name and (arguments.engine or arguments.model):
        raise InputError(f'--template {name} has its own engine and models: leave out --engine and --model')
    if output.is_file() and not arguments.force:
        raise InputError(f'{output} is there already: name another file with -o, or replace it with --force')
    text = (
        shipped_templates()[name].read_text(encoding='utf-8')
        if name
        else _checked(starter_template(arguments.engine or DEFAULT_ENGINE, arguments.model))
    )
    write_file(output, text)
    quoted = printable(shlex.quote(str(output)))
    print(f'next: edit it, then\n  gpassk expand {quoted} --dry_run\n  gpassk expand {quoted}')
    return 0


def _checked(text: str) -> str:
    """The text of a template, if it expands: a model may be none that the engine takes."""
    with TemporaryDirectory() as folder:
        template = Path(folder, 'template.py')
        template.write_text(text, encoding='utf-8', errors='surrogatepass')
        expand_template(template)
    return text
