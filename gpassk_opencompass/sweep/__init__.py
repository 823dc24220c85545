"""Template → configs: the grid, the names, the checks."""

from ..naming.manifest import Entry, read_manifest
from ..naming.names import DatasetName, LiveMathBenchName, ModelName, RunName, Settings
from .cli import main
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
