"""OpenCompass imported once a machine: commands and tasks are copies of that process, models stay loaded."""

from .pool import Pool

__all__ = ['Pool']
