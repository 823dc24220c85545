"""Pins of the environments are exact, and environments installed without dependencies have all of ours."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import setuptools

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The arguments of `setup`."""
    given: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, 'setup', lambda **arguments: given.update(arguments))
    runpy.run_path(str(ROOT / 'setup.py'))
    return given


def name_of(requirement: str) -> str:
    return re.split(r'[^A-Za-z0-9_.-]', requirement, maxsplit=1)[0]


def test_every_pin_is_exact_or_says_why_not() -> None:
    """A pin without == has its reason at the top of the file."""
    for path in (ROOT / 'constraints').glob('*.txt'):
        lines = path.read_text(encoding='utf-8').splitlines()
        reasons = ' '.join(line for line in lines if line.startswith('#'))
        for line in lines:
            if line and not line.startswith('#') and '==' not in line:
                assert name_of(line) in reasons, f'{path.name}: {line}'


@pytest.mark.parametrize('harness', ['evalscope', 'inspect', 'lm-eval', 'nemo-skills', 'verl'])
def test_a_lock_installed_without_dependencies_has_all_of_ours(told: dict[str, Any], harness: str) -> None:
    """This package runs beside the harness, and pip adds nothing to such a list."""
    lines = (ROOT / 'constraints' / f'harness-{harness}.txt').read_text(encoding='utf-8').splitlines()
    pinned = {name_of(line).lower().replace('_', '-') for line in lines}
    assert not {name_of(requirement).lower() for requirement in told['install_requires']} - pinned
