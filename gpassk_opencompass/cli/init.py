"""`gpassk init`: a first template, for an engine or of the shipped ones."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import InputError
from ..sweep.engines import DEFAULT_ENGINE, ENGINES, shipped_templates, starter_template
from ..unseen import printable
from .files import write_file
from .options import Several, path


@dataclass(frozen=True)
class InitRequest:
    """Which template to write where: a shipped one by name, or one for an engine and its models."""

    output: Path
    shipped: str | None = None
    engine: str | None = None
    models: Sequence[str] = ()
    force: bool = False


def add_arguments(parser: ArgumentParser) -> None:
    """Add which engine and model, or which shipped template, and where to write it."""
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
    """Write a first template and say what to type next; return 0.

    Raises:
        InputError: the file is there, cannot be written, or would not expand.
    """
    request = InitRequest(
        output=arguments.output or Path(f'{arguments.template or "template"}.py'),
        shipped=arguments.template,
        engine=arguments.engine,
        models=arguments.model,
        force=arguments.force,
    )
    write_file(request.output, _text(request))
    quoted = printable(shlex.quote(str(request.output)))
    print(f'next: edit it, then\n  gpassk expand {quoted} --dry_run\n  gpassk expand {quoted}')
    return 0


def _text(request: InitRequest) -> str:
    name, output = request.shipped, request.output
    if name and (request.engine or request.models):
        raise InputError(f'--template {name} has its own engine and models: leave out --engine and --model')
    if output.is_file() and not request.force:
        raise InputError(f'{output} is there already: name another file with -o, or replace it with --force')
    if name:
        return shipped_templates()[name].read_text(encoding='utf-8')
    return _checked(starter_template(request.engine or DEFAULT_ENGINE, request.models))


def _checked(text: str) -> str:
    """Return the text of a template if it expands: a model may be none that the engine takes."""
    from ..sweep.template import expand  # slow to import

    with TemporaryDirectory() as folder:
        template = Path(folder, 'template.py')
        template.write_text(text, encoding='utf-8', errors='surrogatepass')
        expand(template)
    return text
