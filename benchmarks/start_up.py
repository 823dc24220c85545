"""How long do small commands take to start?

    python -m benchmarks.start_up            # the least and the median of 15 starts of each
    python -m benchmarks.start_up --quick    # of 5

Each is a process of its own on an input so small that nearly all of it is Python's start and imports. The
floor of a command is a process that imports what no version of it can do without: nothing, numpy, or numpy
and `scipy.special`. Starts of command and floor alternate, so that both meet the same machine.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from . import ROOT
from .growth import Work
from .measuring import COMPILED, Cost, command_cost, progress
from .score_counts import write_counts
from .sections import Headline, Section, Size, duration, main, megabytes, times

STARTS: Mapping[Size, int] = {'tiny': 1, 'quick': 5, 'full': 15}
QUESTIONS = 100

NOTHING, NUMPY, SCIPY = 'pass', 'import numpy', 'import numpy, scipy.special'
FLOORS = {NOTHING: 'Python', NUMPY: 'numpy', SCIPY: 'numpy, scipy.special'}

GPASSK = (
    sys.executable,
    '-c',
    'import sys; from gpassk_opencompass.cli import main; sys.exit(main() not in (0, 1))',
)
"""`gpassk`, of which 1 is an answer too: a run that is missing."""

PLUGIN = 'import gpassk_opencompass'

SCORE = ('score', 'counts.jsonl')
COMMANDS: Sequence[tuple[Sequence[str], str]] = (
    (('--help',), NOTHING),
    (('expand', '--help'), NOTHING),
    (('report', '--help'), NUMPY),
    (('check', 'runs', '--configs', 'configs'), NUMPY),
    (SCORE, SCIPY),
    (('plan', '--half-width', '3', '--beta', '0.4', '0.4'), SCIPY),
    (('compare', 'results'), SCIPY),
    (('gate', 'results/new.gpassk.json', '--against', 'results/old.gpassk.json', '--margin', '5'), SCIPY),
)
"""What is typed behind `gpassk`, in the folder that `prepare` fills, and the floor of it."""


class Starts(NamedTuple):
    """Several starts of one command and of its floor."""

    name: str
    floor: str
    ours: Sequence[Cost]
    floors: Sequence[Cost]

    @property
    def ratio(self) -> float:
        """Of the least processor times: what else runs only adds."""
        return least(self.ours) / least(self.floors)


def measure(size: Size) -> Section:
    """Import and commands, each against its floor."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        found = [_starts(PLUGIN, [sys.executable, '-c', PLUGIN], NOTHING, folder, STARTS[size])]
        for words, floor in COMMANDS:
            shown = ' '.join(('gpassk', *words))
            found.append(_starts(shown, [*GPASSK, *words], floor, folder, STARTS[size]))
    return _section(found)


def prepare(folder: Path) -> None:
    """Write counts of `QUESTIONS` questions, two results of such, and configs of runs that never started."""
    write_counts(folder / 'counts.jsonl', QUESTIONS, False)
    for name in ('new', 'old'):
        target = f'results/{name}.gpassk.json'
        words = ('score', 'counts.jsonl', '-o', target, '--name', name, '--labelled-by', 'rule')
        command_cost([*GPASSK, *words], folder=folder)
    command_cost(
        [*GPASSK, 'expand', ROOT / 'config_templates/demo.py', '--output_dir', 'configs'], folder=folder
    )
    (folder / 'runs').mkdir()


def score_work(folder: Path) -> Work:
    """Return `gpassk score` of a few counts, and the floor of its start."""
    write_counts(folder / 'counts.jsonl', QUESTIONS, False)
    ours, floor = [*GPASSK, *SCORE], [sys.executable, '-c', SCIPY]
    return Work(*(partial(command_cost, line, folder=folder, environment=COMPILED) for line in (ours, floor)))


def least(costs: Sequence[Cost]) -> float:
    """Return the least processor time."""
    return min(cost.cpu for cost in costs)


def _starts(name: str, command: Sequence[str], floor: str, folder: Path, count: int) -> Starts:
    progress(f'start-up: {name}')
    pairs = []
    for number in range(count + 1):
        lines = command, [sys.executable, '-c', floor]
        pair = [command_cost(line, folder=folder, environment=COMPILED) for line in lines]
        pairs += [pair] if number else []  # the first one compiles and finds files on the disk
    return Starts(name, FLOORS[floor], *zip(*pairs, strict=True))


def _section(found: Sequence[Starts]) -> Section:
    score = next(one for one in found if one.name.startswith('gpassk score'))
    return Section(
        'Start-up',
        f'Small commands, a process each, on {QUESTIONS} questions or less: the least processor time of '
        'several starts, and the median. Floor: a process that imports only what is named.',
        ['command', 'least', 'median', 'by the clock', 'floor', 'least', 'ours / floor', 'memory'],
        [
            [
                f'`{one.name}`',
                duration(least(one.ours)),
                duration(statistics.median(cost.cpu for cost in one.ours)),
                duration(min(cost.seconds for cost in one.ours)),
                one.floor,
                duration(least(one.floors)),
                times(one.ratio),
                megabytes(max(one.ours, key=lambda cost: cost.mebibytes)),
            ]
            for one in found
        ],
        headlines=[
            Headline(
                f'Start-up, `gpassk score` of {QUESTIONS} lines of counts',
                f'importing {score.floor}',
                duration(least(score.ours)),
                duration(least(score.floors)),
                times(1 / score.ratio),
                '–',
            )
        ],
    )


if __name__ == '__main__':
    main(measure, __doc__)
