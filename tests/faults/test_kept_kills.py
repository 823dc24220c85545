"""kill -9 of a run that takes samples from the store and adds to it; two such runs at once; a full disk."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest
from dying import ENDLESS, Fault, random_death
from forks import COUNTED, Forks
from hosts import results_of

pytest.importorskip('opencompass', reason='OpenCompass is not installed in this environment')
from kept_model import asked
from topped import BATCH, KEPT, LATER, SAMPLES, Topped

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('faults')]

BYTES = (1, 12_000)
"""In this range are the sizes of all files that are written here."""


@pytest.fixture
def topped(forks: Forks, tmp_path: Path) -> Topped:
    """With a run beside it that drew all at once, and left the store as it was."""
    made = Topped(forks, tmp_path)
    whole = made.start('direct', LATER, fault=Fault('opencompass', str(tmp_path / 'out'), ENDLESS))
    assert whole.wait() == 0
    made.forget('direct')
    return made


def changes_of(topped: Topped) -> int:
    """How many changes of files there are in a run of which nothing dies."""
    said = (topped.root / 'direct/said').read_text()
    return max(map(int, re.findall(rf'{COUNTED}(\d+)', said)))


def test_a_killed_run_draws_nothing_twice_but_what_was_under_way(
    topped: Topped, times: int, chance: random.Random, tried: Counter[str]
) -> None:
    """At any change of a file and any byte of one, up to three times; kept samples stay as they were."""
    changes = changes_of(topped)
    for number in range(times):
        name, deaths = f'run{number}', 0
        for _ in range(3):
            resumes = ['-r'] if any((topped.root / 'out' / name).glob('2*')) else []
            fault = random_death(chance, 'opencompass', topped.root / 'out', changes, BYTES)
            if topped.start(name, LATER, *resumes, fault=fault).wait() == 0:
                break
            deaths += 1
        tried[f'{deaths} deaths'] += 1
        topped.complete(name)
        topped.check(name, SAMPLES - KEPT, SAMPLES - KEPT + deaths * BATCH)
        topped.forget(name)


def test_a_run_begun_anew_takes_what_the_killed_one_has_drawn(
    topped: Topped, times: int, chance: random.Random
) -> None:
    """In another work directory: of what was drawn before, only the batch under way is asked for again."""
    for number in range(times):
        name = f'run{number}'
        fault = Fault('opencompass', str(topped.root / 'out'), size=chance.randrange(2000, 8000))
        topped.start(f'{name}-killed', fault=fault).wait()
        before = asked(topped.root / f'{name}-killed.trace').total()
        topped.complete(name)
        left = SAMPLES - KEPT - before
        topped.check(name, left, left + BATCH)
        topped.forget(name)


def test_two_runs_at_once_add_to_one_store(topped: Topped, times: int) -> None:
    """Each has every sample right, whoever drew it; nothing that one has written is lost to a third."""
    for number in range(times):
        names = [f'run{number}a', f'run{number}b']
        copies = [topped.start(name) for name in names]
        assert [copy.wait() for copy in copies] == [0, 0]
        for name in names:
            topped.check(name, 0, SAMPLES - KEPT)
        topped.complete(f'run{number}c')
        topped.check(f'run{number}c', 0, 0)
        for name in names:
            topped.forget(name)


def test_a_full_disk_loses_no_sample(topped: Topped, times: int, chance: random.Random) -> None:
    """Files that cannot grow: it says so, and goes on when they can, asking for the rest."""
    for number in range(times):
        name = f'run{number}'
        fault = Fault('opencompass', str(topped.root), size=chance.randrange(300, 12_000), deadly=False)
        disturbed = topped.start(name, fault=fault).wait() != 0 or not results_of(topped.root / 'out' / name)
        topped.complete(name)
        topped.check(name, SAMPLES - KEPT, SAMPLES - KEPT + disturbed * BATCH)
        topped.forget(name)
