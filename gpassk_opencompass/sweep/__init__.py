"""Template → configs: the grid, the names, the checks."""

from .cli import main
from .manifest import Entry, read_manifest
from .names import DatasetName, LiveMathBenchName, ModelName, RunName, Settings
from .signatures import signature

__all__ = [
    'DatasetName',
    'Entry',
    'LiveMathBenchName',
    'ModelName',
    'RunName',
    'Settings',
    'main',
    'read_manifest',
    'signature',
]
