"""Template → configs: the grid, the names, the checks."""

from .cli import main
from .names import DatasetName, ModelName, RunName, Settings

__all__ = ['DatasetName', 'ModelName', 'RunName', 'Settings', 'main']
