"""First templates: the shipped ones, and a short one for an engine and a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .engines import ENGINES, Engine

_PACKAGE = Path(__file__).resolve().parents[1]

_HEAD = '''\
"""A sweep, one setting a line: `gpassk expand` makes a config of each combination, `gpassk run` runs them.

A list is an axis of the sweep, a single value is an axis of one. A sampling setting whose line is removed is
not passed: the engine's own default holds. `gpassk init --template nono1` writes a longer example.
"""
'''

_TEMPERATURES = """\
# Temperature 0.0 is the greedy run: one answer a question. The paper's tables are for temperature 1.0.
temperatures = [0.0, 1.0]
"""

_SAMPLING = {
    'top_ps': 'top_ps = [0.8]\n',
    'top_ks': 'top_ks = [50]\n',
    'repetition_penalties': 'repetition_penalties = [1.0]\n',
}

_SEEDS = """\
# Each of the n samples of a question gets a seed of its own, derived from this one.
random_seeds = [42]
"""

_NO_SEEDS = """\
# No seeds: not every provider takes the field. With [42] each sample is sent a seed of its own.
random_seeds = None
"""

_REST = """\
# G-Pass@k for these k, from n = replications * max(k) samples a question.
k_lists = [[4, 8, 16]]
replications = [3]

# Which questions: 'math500-l5', 'aime2024', 'aime2025', 'olymmath-en-hard', …; 'livemathbench' is gated: ask
# for access on its hub page, then export HF_TOKEN. They are read from the hub, or from the folder that
# dataset_path = {'math500-l5': '/data/math500'} names.
benchmarks = ['math500-l5']

# An LLM judge behind OpenAI-compatible URLs; with none, answers are judged by rule.
eval_urls = []
eval_model_name = ''
"""


def shipped_templates() -> dict[str, Path]:
    """Return name → file of each template that comes with the package.

    >>> sorted(shipped_templates())
    ['close', 'close_o1', 'demo', 'nono1', 'o1']
    """
    installed = _PACKAGE / 'templates'  # where setup.py puts those of a clone
    folder = installed if installed.is_dir() else _PACKAGE.parent / 'config_templates'
    return {path.stem: path for path in sorted(folder.glob('*.py'))}


def starter_template(engine: str, models: Sequence[str] = ()) -> str:
    """Return the text of a short template for an engine.

    Args:
        models: what `path` may be for this engine; with none the engine's example stands there.

    >>> lines = starter_template('vllm', ['org/m']).splitlines()
    >>> [line for line in lines if 'org/m' in line or line.startswith('engine')]
    ["engine = 'vllm'", "    dict(path='org/m', tp=1, batch_size=64),"]
    """
    chosen = ENGINES[engine]
    starter, named = chosen.starter, list(models) or [chosen.starter.model]
    entries = ''.join(f'    dict(path={model!r}, {starter.fields}),\n' for model in named)
    parts = [
        _HEAD,
        f'{_comment(starter.about)}engine = {engine!r}\n',
        f'{_comment(starter.entries)}llm_infos = [\n{entries}]\n{starter.lines}',
        _sampling(chosen, named),
        _NO_SEEDS if chosen.default_seed is None else _SEEDS,
        _REST,
    ]
    return '\n'.join(parts)


def _sampling(engine: Engine, models: Sequence[str]) -> str:
    fixed = any(part in model for part in engine.starter.no_temperature for model in models)
    axes = ''.join(_SAMPLING[name] for name in engine.starter.sampling)
    return f'{"" if fixed else _TEMPERATURES}{axes}max_out_lens = [8192]\n'


def _comment(text: str) -> str:
    return ''.join(f'# {line}\n' for line in text.splitlines())
