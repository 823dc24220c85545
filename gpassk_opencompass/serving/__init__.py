"""Servers that are started here: their command lines, their processes, and who shares them."""

from .line import PLACEHOLDERS, PRESETS, Preset, Serve, choosing, read_serve
from .server import Asked, Server
from .shared import shared_server

__all__ = [
    'PLACEHOLDERS',
    'PRESETS',
    'Asked',
    'Preset',
    'Serve',
    'Server',
    'choosing',
    'read_serve',
    'shared_server',
]
