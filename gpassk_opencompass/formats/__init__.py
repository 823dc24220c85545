"""Reads samples from the files of other programs: what each format is, and one reader for all."""

from .format import Format, Options, at, has, rows_of
from .reader import FORMATS, read_samples

__all__ = ['FORMATS', 'Format', 'Options', 'at', 'has', 'read_samples', 'rows_of']
