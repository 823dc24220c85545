"""How often each fault is tried, from which seed, and the process whose copies are killed."""

from __future__ import annotations

import os
import random
import secrets
from collections import Counter

import pytest
from hosts import import_plugin
from sweep_run import sweep_run

import_plugin()  # before its tests: the first import of OpenCompass, and what it compiles then, warns

SHORT = 3
LONG = 'GPASSK_FAULTS'
SEED = 'GPASSK_FAULTS_SEED'


@pytest.fixture(scope='session')
def times():
    """How often a fault is tried where each try is a command; cheap ones are tried many times as often."""
    return int(os.environ.get(LONG, SHORT))


@pytest.fixture(scope='session')
def seed():
    """The same in every short run; a long one draws its own."""
    return os.environ.get(SEED) or (secrets.token_hex(4) if LONG in os.environ else '0')


@pytest.fixture
def chance(seed, request):
    """What a test draws its faults from; the line that replays it is printed with a failure."""
    print(f'{SEED}={seed} {LONG}={os.environ.get(LONG, SHORT)} pytest {request.node.nodeid}')
    return random.Random(f'{seed}/{request.node.name}')


@pytest.fixture
def tried(request):
    """Counts what was tried, printed at the end."""
    counter: Counter[str] = Counter()
    yield counter
    print(f'TRIED {request.node.name}: {dict(sorted(counter.items()))}')


@pytest.fixture
def run(forks, tmp_path):
    """A run of one config with an LLM judge, ready to be started."""
    with sweep_run(forks, tmp_path) as ready:
        yield ready
