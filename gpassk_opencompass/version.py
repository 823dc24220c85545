"""The version of this package; setup.py reads it from here."""

__version__ = '0.2.0'
