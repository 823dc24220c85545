"""OpenCompass is imported once before its tests: its first import, and what it compiles then, warns."""

from importlib.util import find_spec

from hosts import import_plugin

if find_spec('opencompass'):
    import_plugin()
