"""Something changes between two stages of a run: the numbers are true, or none are there and it is said why.

Drawn are what changes, when, how rows are cut into shards, which command goes on, and the kind of data set.
What is true is counted by the test, of what config and data say after the change.
"""

from __future__ import annotations

import csv
import json
import os
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from forks import Forks
from known_model import DELAY
from provenance_changes import CHANGES, JUDGED, KILLED, SAMPLED, STAGES, Change
from provenance_run import DATASET, LIVE, SHAPES, SHARDS, Run, Said, draw

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('faults')]

LONG = 'GPASSK_FAULTS' in os.environ
SEED = 'GPASSK_FAULTS_SEED'
SHORT = 10
COMMANDS = ('opencompass', 'gpassk')
RIGHT, REFUSED = 'right', 'refused'
WRONG, MUTE = 'WRONG WITHOUT A WORD', 'no result and no reason'
NEEDLESS, LOCKED = 'harmless and refused', 'refused when it is as it was'


class Combination(NamedTuple):
    """What is tried."""

    change: Change
    stage: str
    kind: str
    partition: str
    command: str
    only: bool
    """Whether the second command is to evaluate only (`-m eval`); else to do whatever is left."""

    def __str__(self) -> str:
        mode = ' -m eval' if self.only else ''
        return f'{self.change.name} | {self.stage} | {self.kind} | {self.partition} | {self.command}{mode}'


class Outcome(NamedTuple):
    """What came of it."""

    name: str
    told: str = ''
    """Why there is no result, or what is wrong with it."""

    @property
    def is_good(self) -> bool:
        return self.name in (RIGHT, REFUSED)


def drawn(seed: str, count: int) -> Iterator[tuple[Combination, random.Random]]:
    """So many that can be made, each with what the rest of it is drawn from; each change has its turn."""
    changes = random.Random(seed).sample(CHANGES, len(CHANGES))
    for number in range(count):
        chance = random.Random(f'{seed}/{number}')
        yield one_of(changes[number % len(changes)], chance), chance


def one_of(change: Change, chance: random.Random) -> Combination:
    while True:
        stage, kind = chance.choice(STAGES), chance.choice(list(SHAPES))
        partition, command = chance.choice(list(SHARDS)), chance.choice(COMMANDS)
        only = stage in (SAMPLED, JUDGED) and chance.random() < 0.5
        if change.can_be_made(stage, kind, partition):
            return Combination(change, stage, kind, partition, command, only)


def then_and_now(this: Combination, root: Path, chance: random.Random) -> tuple[Said, Said]:
    """What config and data say before and after, so that it makes a difference if it is meant to."""
    while True:
        then = draw(this.kind, chance)
        now = this.change.edit(then, chance) if this.change.edit else then
        before, after = (list(said.counts(root).values()) for said in (then, now))
        noticeable = sum(map(bool, before)) > len(before) / 2
        if noticeable and (before != after or not this.change.altering):
            return then, now


def begin(run: Run, this: Combination, chance: random.Random) -> None:
    """As far as the stage says; where it is killed, each question has been asked."""
    shards = SHARDS[run.partition]
    if this.stage == SAMPLED:
        assert run.go('infer') == 0, run.logs
    elif this.stage == JUDGED:
        assert run.go() == 0, run.logs
        run.put_result_aside()
    elif this.stage == KILLED:
        run.go(dies=chance.randrange(len(run.now.questions), 41))
        assert run.unfinished() or run.predictions(), run.logs
    else:
        finished = chance.randrange(max(1, this.change.shards), len(shards))
        run.go(dies=sum(shards[:finished]))
        assert len(run.predictions()) == finished, run.logs
    assert run.result() is None
    began = time.strftime('%S')
    while time.strftime('%S') == began:  # a second command in one second is a case of its own
        time.sleep(0.01)


def come_of(this: Combination, forks: Forks, root: Path, chance: random.Random) -> Outcome:
    """Try it."""
    then, now = then_and_now(this, root, chance)
    run = Run(forks, root, then, this.command, this.partition)
    begin(run, this, chance)
    before = {path: path.read_bytes() for path in run.work_dir.glob('*/predictions/*/*')}
    if this.change.damage:
        this.change.damage(run, chance)
    run.write(now)
    damaged = [path for path, content in before.items() if path.read_bytes() != content]
    run.logs = ''
    go_on(run, this.only)
    outcome = outcome_of(run, this.change)
    if outcome.name != REFUSED:
        return outcome
    for path in damaged:
        path.write_bytes(before[path])
    run.partition = this.partition
    run.write(then)
    return outcome if is_open(run) else Outcome(LOCKED, f'{outcome.told}\n{run.logs[-1500:]}')


def is_open(run: Run) -> bool:
    """Whether a refused run goes on when all is as it was, or it is said which predictions are in the way."""
    run.logs = ''
    go_on(run, False)
    result = run.result()
    named = re.compile(rf'\b{DATASET}(_\d+)?\.json')
    return run.is_true(result) if result else any(map(named.search, run.errors()))


def go_on(run: Run, only: bool) -> None:
    """Type the second command, once more if it leaves no result.

    Here a failed task is the end of `opencompass`; in its own processes it would evaluate all the same.
    """
    run.go('eval' if only else '', resume=True)
    if run.result() is None and not only:
        run.go('eval' if run.command == 'opencompass' else '', resume=True)


def outcome_of(run: Run, change: Change) -> Outcome:
    result = run.result()
    if result is not None:
        return Outcome(RIGHT) if run.is_true(result) else Outcome(WRONG, str(result['gpassk']['counts']['c']))
    told = [line for line in run.errors() if re.search(change.words, line)]
    if told:
        return Outcome(NEEDLESS if change.harmless else REFUSED, told[0])
    return Outcome(MUTE, '\n'.join(run.errors()) or run.logs[-1500:])


def test_what_changes_between_two_stages_is_never_scored_without_a_word(
    forks: Forks, tmp_path: Path, seed: str, times: int, tried: Counter[str]
) -> None:
    """Drawn combinations: 10, in a long run ten times as many as of other faults."""
    bad = []
    for number, (this, chance) in enumerate(drawn(seed, 10 * times if LONG else SHORT)):
        outcome = come_of(this, forks, tmp_path / str(number), chance)
        tried[f'{this.change.name}, {this.stage}: {outcome.name}'] += 1
        if not outcome.is_good:
            bad.append(f'{number} ({this}): {outcome.name}: {outcome.told}')
    assert not bad, f'{len(bad)} of {tried.total()}, {SEED}={seed}\n' + '\n'.join(bad)


@pytest.mark.parametrize(
    ('name', 'stage', 'command', 'only'),
    [
        ('lines reversed', SAMPLED, 'gpassk', True),
        ('lines reversed', KILLED, 'opencompass', False),
        ('path', KILLED, 'opencompass', False),
        ('random_seed', KILLED, 'opencompass', False),
        ('random_seed, and run.provenance as if it had always been so', SAMPLED, 'opencompass', True),
        ('cot', KILLED, 'opencompass', False),
        ('weights of the model', KILLED, 'opencompass', False),
    ],
)
def test_a_run_that_goes_on_with_something_else_is_noticed(
    forks: Forks, tmp_path: Path, name: str, stage: str, command: str, only: bool
) -> None:
    """The plainest cases: after sampling, or after a kill half-way, with the same command."""
    [change] = [change for change in CHANGES if change.name == name]
    this = Combination(change, stage, LIVE, 'workers 1', command, only)
    outcome = come_of(this, forks, tmp_path, random.Random(0))
    assert outcome.is_good, outcome


@pytest.mark.parametrize(('partition', 'apart'), [('workers 1', 0.3), ('workers 3', 0.0), ('workers 3', 0.3)])
def test_two_configs_started_in_one_second_do_not_mix(
    forks: Forks, tmp_path: Path, partition: str, apart: float
) -> None:
    """They differ in the seed and have one work directory: at most one is judged, the other one is told."""
    for attempt in range(8):
        first, second = two_configs(forks, tmp_path / str(attempt), partition)
        time.sleep(1 - time.time() % 1)
        copies = [first.start()]
        time.sleep(apart)
        copies.append(second.start())
        codes = [copy.wait() for copy in copies]
        if len(list(first.work_dir.glob('2*'))) == 1:
            break
    else:
        raise AssertionError('never in one second')
    result = first.result()
    true = [result is not None and run.is_true(result) for run in (first, second)]
    assert result is None or any(true), result['gpassk']['counts']['c']
    for code, copy, is_its_own in zip(codes, copies, true, strict=True):
        assert (code == 0) == is_its_own
        assert code == 0 or re.search('Error: .*(random_seed|taken over)', copy.said)


def two_configs(forks: Forks, root: Path, partition: str) -> tuple[Run, Run]:
    """Of the same model and data, each with a place of its own to be typed in."""
    said = draw(LIVE, random.Random(0))
    first = Run(forks, root / 'first', said, 'opencompass', partition)
    second = Run(
        forks, root / 'second', replace(said, random_seed=said.random_seed + 1), 'opencompass', partition
    )
    for run in (first, second):
        run.work_dir, run.home = root / 'out', first.root
        run.variables[DELAY] = '0.05'
        run.write(run.now)
    return first, second


@pytest.mark.parametrize('elsewhere', [False, True], ids=['one work directory', 'two'])
def test_the_later_run_is_the_newest_whatever_the_clock_on_the_wall_said(
    forks: Forks, tmp_path: Path, elsewhere: bool
) -> None:
    """One in Tokyo, then one in Greenwich, whose folder has the name of an earlier hour."""
    run = Run(forks, tmp_path, draw(LIVE, random.Random(0)), 'opencompass', 'workers 1')
    run.variables['TZ'] = 'JST-9'
    assert run.go() == 0, run.logs
    before = {path.name for path in run.work_dir.iterdir()}
    run.variables['TZ'] = 'UTC'
    if elsewhere:
        run.work_dir = tmp_path / 'out' / 'd'
    run.write(replace(run.now, random_seed=run.now.random_seed + 1))
    assert run.go() == 0, run.logs
    [later] = {path.name for path in run.work_dir.iterdir()} - before
    assert later < min(before)
    reported = gpassk(run, 'report', 'out', '-o', 'report', '--only', 'tables')
    [line] = [
        line
        for line in csv.DictReader((tmp_path / 'report' / 'scores.csv').read_text().splitlines())
        if (line['metric'], line['group']) == ('accuracy', '')
    ]
    assert f'/{later}/' in line['path'], reported
    assert float(line['value']) == pytest.approx(run.now.metrics(tmp_path)['accuracy'])
    if not elsewhere:
        [found] = json.loads(gpassk(run, 'check', 'out', '--configs', 'c.py', '--json'))['tables'][0]['rows']
        assert (found['state'], found['time']) == ('complete', later)


def test_of_two_equal_runs_the_later_one_is_checked(forks: Forks, tmp_path: Path) -> None:
    """Both are complete; again from Tokyo to Greenwich."""
    run = Run(forks, tmp_path, draw(LIVE, random.Random(0)), 'opencompass', 'workers 1')
    names = []
    for zone in ('JST-9', 'UTC'):
        run.variables['TZ'] = zone
        assert run.go() == 0, run.logs
        names += [path.name for path in run.work_dir.glob('2*') if path.name not in names]
    [found] = json.loads(gpassk(run, 'check', 'out', '--configs', 'c.py', '--json'))['tables'][0]['rows']
    assert (found['state'], found['time']) == ('complete', names[1])


def gpassk(run: Run, *line: str) -> str:
    """What a command prints."""
    before = len(run.printed())
    run.forks.start('gpassk', *line, folder=run.root, variables=run.variables).wait()
    return run.printed()[before:]
