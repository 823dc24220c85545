"""Servers that are started here: their command lines, their processes, and who shares them."""

from .judge import JUDGE_GPUS, JudgeServer, read_judge_server
from .keeper import GRACE, SHARED, described
from .line import (
    PRESETS,
    Preset,
    Serve,
    choosing,
    read_serve,
    taken_from_environment,
    variable_digest,
)
from .server import Asked, Server
from .shared import SERVERS, run_in_progress, shared_server

__all__ = [
    'GRACE',
    'JUDGE_GPUS',
    'PRESETS',
    'SERVERS',
    'SHARED',
    'Asked',
    'JudgeServer',
    'Preset',
    'Serve',
    'Server',
    'choosing',
    'described',
    'read_judge_server',
    'read_serve',
    'run_in_progress',
    'shared_server',
    'taken_from_environment',
    'variable_digest',
]
