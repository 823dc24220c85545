"""What a task of OpenCompass is: its script, and the model that it needs loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ..errors import GPassKError
from ..runs.config_file import dicts_of, read_config
from ..runs.sessions import loading_key
from ..runs.turns import PART, SESSION
from .client import VISIBLE

KEPT = frozenset({'SeededHuggingFace', 'SeededVLLM', 'SeededTurboMind'})
"""Models that keep what they load, see `kept`; and all whose entry has `serve`."""

_INFER = 'openicl_infer.py'
_EVAL = 'opencompass.tasks.openicl_eval'
_OUR_EVAL = Path(__file__).parents[1] / 'plugin' / 'scripts' / 'gpassk_eval.py'
"""Does the same, and does not hold all responses in memory (`plugin.eval_task`)."""

_LAUNCHER = ('-m', 'torch.distributed.run')


class Held(NamedTuple):
    """What a task needs loaded, and where."""

    session: str
    gpus: frozenset[str]
    """Their real ids; none: it is loaded into the memory of the machine."""
    model: str
    """See `runs.sessions.loading_key`."""
    is_part: bool = False
    """Whether it takes only a part of its GPU, and who starts commands sees to it that all parts fit."""


class Release(NamedTuple):
    """What is not needed any more."""

    session: str
    gpus: frozenset[str]
    """Only where it is on these; none: wherever it is."""

    def is_of(self, held: Held) -> bool:
        """Whether it is this."""
        return held.session == self.session and (not self.gpus or held.gpus <= self.gpus)


def script_of(
    words: Sequence[str], folder: str, environment: Mapping[str, str]
) -> tuple[list[str], dict[str, str]] | None:
    """Return the script and arguments that `python WORDS` runs in a folder, and the environment for it.

    Launched by `torch.distributed.run` in one process, it is told so as that tells it. In the place of
    OpenCompass's script of evaluations there is ours.

    Returns:
        None: it is another thing than one script.
    """
    words, variables = list(words), dict(environment)
    if tuple(words[:2]) == _LAUNCHER:
        port, words = _launched(words[2:])
        if not port:
            return None
        ones = ('WORLD_SIZE', 'LOCAL_WORLD_SIZE', 'GROUP_WORLD_SIZE', 'ROLE_WORLD_SIZE')
        zeros = ('RANK', 'LOCAL_RANK', 'GROUP_RANK', 'ROLE_RANK', 'TORCHELASTIC_RESTART_COUNT')
        variables |= {**dict.fromkeys(ones, '1'), **dict.fromkeys(zeros, '0'), 'ROLE_NAME': 'default'}
        variables |= {'MASTER_ADDR': '127.0.0.1', 'MASTER_PORT': port, 'TORCHELASTIC_RUN_ID': 'none'}
    if not words or words[0].startswith('-') or not Path(folder, words[0]).is_file():
        return None
    if _is_script_of(sys.modules.get(_EVAL), Path(folder, words[0])):
        words[0] = str(_OUR_EVAL)
    return words, variables


def _is_script_of(module: ModuleType | None, script: Path) -> bool:
    """Return whether a script is the file of a module that this process, and so its copies, has imported."""
    file = getattr(module, '__file__', None)
    return file is not None and os.path.samefile(script, file)


def _launched(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the port and the script of the launcher's own arguments; '' if it is to start several."""
    port = ''
    words = list(words)
    while words and words[0].startswith('-'):
        name, _, value = words.pop(0).partition('=')
        value = value or (words.pop(0) if words else '')
        if name in ('--master_port', '--master-port'):
            port = value
        elif name not in ('--nproc_per_node', '--nproc-per-node') or value != '1':
            return '', []
    return port, words


def held_by(words: Sequence[str], folder: str, environment: Mapping[str, str]) -> Held | None:
    """Return what a task needs loaded; None where nothing is kept for it.

    That is: a task that is no sampling, one of several models, one outside of a session, or one whose model
    keeps nothing.
    """
    session = environment.get(SESSION)
    if not session or os.path.basename(words[0]) != _INFER or len(words) != 2:
        return None
    try:
        models = dicts_of(read_config(Path(folder, words[1])) or {}, 'models')
    except GPassKError:  # the task says what is wrong with it
        return None
    if len(models) != 1 or not _keeps(models[0]):
        return None
    gpus = frozenset(one for one in environment.get(VISIBLE, '').split(',') if one)
    return Held(session, gpus, loading_key(models[0]), bool(environment.get(PART)))


def _keeps(model: Mapping[str, Any]) -> bool:
    return str(model.get('type')).rpartition('.')[2] in KEPT or bool(model.get('serve'))
