"""`gpassk init`: a first template, for an engine or of the shipped ones."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import InputError
from ..files import save
from ..sweep.engines import DEFAULT_ENGINE, ENGINES, no_temperature, shipped_templates
from ..text import say
from .options import add_several, examples, path

_FIRST = '''\
"""A sweep, one setting a line: `gpassk expand` makes a config of each combination, `gpassk run` runs them.

A list is an axis of the sweep, a single value is an axis of one. A sampling setting whose line is removed is
not passed: the engine's own default holds. `gpassk init --template nono1` writes a longer example.
"""

{about}
engine = {engine!r}
{server}llm_infos = [
{models}
]

{sampling}max_out_lens = [8192]

{seeds}

# G-Pass@k for these k, from n = replications * max(k) samples a question.
k_lists = [[4, 8, 16]]
replications = [3]

# Which questions: 'math500-l5', 'aime2024', 'aime2025', 'olymmath-en-hard', …; 'livemathbench' is gated: ask
# for access on its hub page, then export HF_TOKEN. They are read from the hub, or from the folder that
# dataset_path = {{'math500-l5': '/data/math500'}} names.
benchmarks = ['math500-l5']

# Of 'livemathbench': which version, which of its contests, in which languages.
version = '202412'
dataset_splits = ['CNMO', 'CCEE', 'AMC', 'WLPMC']
dataset_languages = ['cn', 'en']

# An LLM judge behind OpenAI-compatible URLs; with none, answers are judged by rule.
eval_urls = []
eval_model_name = ''
'''
_TEMPERATURES = """\
# Temperature 0.0 is the greedy run: one answer a question. The paper's tables are for temperature 1.0.
temperatures = [0.0, 1.0]
"""
_AXES = 'top_ps = [0.8]\ntop_ks = [50]\nrepetition_penalties = [1.0]\n'
_SEEDS = """\
# Each of the n samples of a question gets a seed of its own, derived from this one.
random_seeds = [42]"""
_NO_SEEDS = """\
# No seeds: not every provider takes the field. With [42] each sample is sent a seed of its own.
random_seeds = None"""


def starter_template(engine: str, models: Sequence[str] = ()) -> str:
    """Return the text of a short template for an engine and these models, else for the engine's example."""
    chosen, named = ENGINES[engine], list(models)
    named = named or [chosen.example]
    fixed = chosen.api and any(map(no_temperature, named))
    return _FIRST.format(
        about='\n'.join(f'# {line}' for line in chosen.about.splitlines()),
        engine=engine,
        server="server = 'vllm'\n" if 'server' in chosen.options else '',
        models='\n'.join(f'    dict(path={model!r}, {chosen.entry}),' for model in named),
        sampling=f'{"" if fixed else _TEMPERATURES}{"" if chosen.api else _AXES}',
        seeds=_NO_SEEDS if chosen.api else _SEEDS,
    )


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
    """Write a first template and say what to type next; InputError if it is there or would not expand."""
    output = output or Path(f'{template or "template"}.py')
    if template and (engine or model):
        raise InputError(f'--template {template} has its own engine and models: no --engine and --model')
    if output.is_file() and not force:
        raise InputError(f'{output} is there already: name another file with -o, or replace it with --force')
    if template:
        text = shipped_templates()[template].read_text(encoding='utf-8')
    else:
        text = starter_template(engine or DEFAULT_ENGINE, model)
        from ..sweep.expansion import expand  # slow to import

        with TemporaryDirectory() as folder:  # a model may be none that the engine takes
            draft = Path(folder, 'template.py')
            draft.write_text(text, encoding='utf-8', errors='surrogatepass')
            expand(draft)
    save(output, text)
    quoted = shlex.quote(str(output))
    say(f'wrote {output}\nnext: edit it, then\n  gpassk expand {quoted} --dry-run\n  gpassk expand {quoted}')
    return 0
