"""Template → configs: the grid, the names, the checks."""

from ..naming.manifest import Entry, read_manifest
from ..naming.names import DatasetName, LiveMathBenchName, ModelName, RunName, Settings
from .configs import signature

__all__ = [
    'DatasetName',
    'Entry',
    'LiveMathBenchName',
    'ModelName',
    'RunName',
    'Settings',
    'read_manifest',
    'signature',
]
