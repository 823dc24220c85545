"""Servers that are started here: their command lines, their processes, and who shares them."""

from .judge import JudgeServer, read_judge_server
from .line import PLACEHOLDERS, PRESETS, Preset, Serve, choosing, read_serve, taken_from_environment
from .server import Asked, Server
from .shared import SERVERS, run_in_progress, shared_server

__all__ = [
    'PLACEHOLDERS',
    'PRESETS',
    'SERVERS',
    'Asked',
    'JudgeServer',
    'Preset',
    'Serve',
    'Server',
    'choosing',
    'read_judge_server',
    'read_serve',
    'run_in_progress',
    'shared_server',
    'taken_from_environment',
]
