"""`gpassk init`: a first template, for an engine or of the shipped ones."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import InputError
from ..files import save
from ..sweep.engines import DEFAULT_ENGINE, ENGINES, shipped_templates, starter_template
from ..text import say
from .options import add_several, examples, path


def add_arguments(parser: ArgumentParser) -> None:
    """Add which engine and model, or which shipped template, and where to write it."""
    add = parser.add_argument
    add('--engine', choices=list(ENGINES), help=f'who runs the models (default: {DEFAULT_ENGINE})')
    models = 'what the engine loads: a name of the hub, a folder, or the name that a server knows'
    add_several(parser, '--model', models, metavar='MODEL')
    shipped = 'copy this shipped template instead: of open models, long reasoners, API models, or the demo'
    add('--template', choices=list(shipped_templates()), help=shipped)
    where = 'default: template.py, or <template>.py of a shipped one'
    add('-o', '--output', type=path, metavar='FILE', help=where)
    add('--force', action='store_true', help='write over a file that is there')
    parser.epilog = examples(
        'gpassk init --engine vllm --model Qwen/Qwen2.5-7B-Instruct',
        'gpassk init --engine openai --model gpt-4o-2024-11-20 -o api.py',
        'gpassk init --template nono1',
    )


def run(
    *, engine: str | None, model: Sequence[str], template: str | None, output: Path | None, force: bool
) -> int:
    """Write a first template and say what to type next; return 0.

    Raises:
        InputError: the file is there, cannot be written, or would not expand.
    """
    output = output or Path(f'{template or "template"}.py')
    if template and (engine or model):
        raise InputError(
            f'--template {template} has its own engine and models: leave out --engine and --model'
        )
    if output.is_file() and not force:
        raise InputError(f'{output} is there already: name another file with -o, or replace it with --force')
    if template:
        text = shipped_templates()[template].read_text(encoding='utf-8')
    else:
        text = starter_template(engine or DEFAULT_ENGINE, model)
        from ..sweep.template import expand  # slow to import

        with TemporaryDirectory() as folder:  # a model may be none that the engine takes
            draft = Path(folder, 'template.py')
            draft.write_text(text, encoding='utf-8', errors='surrogatepass')
            expand(draft)
    save(output, text)
    quoted = shlex.quote(str(output))
    say(
        f'wrote {output}',
        f'next: edit it, then\n  gpassk expand {quoted} --dry-run\n  gpassk expand {quoted}',
    )
    return 0
