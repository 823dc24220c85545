"""The examples in docstrings run and print what they say; those of the pages: test_docs.py."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hosts import import_plugin

import gpassk_opencompass

PACKAGE = Path(gpassk_opencompass.__file__).parent


def modules_with_examples() -> list[Any]:
    """Those of the plugin import OpenCompass, which takes its time."""
    files = [file for file in PACKAGE.rglob('*.py') if '>>> ' in file.read_text(encoding='utf-8')]
    names = sorted('.'.join(file.relative_to(PACKAGE.parent).with_suffix('').parts) for file in files)
    return [pytest.param(name, marks=[pytest.mark.slow] if '.plugin' in name else []) for name in names]


@pytest.mark.parametrize('name', modules_with_examples())
def test_docstring_examples_hold(name):
    """Every `>>>` of a module gives what stands below it."""
    if '.plugin' in name:
        import_plugin()
    module = import_module(name.removesuffix('.__init__'))
    outcome = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.attempted > 0
    assert outcome.failed == 0
