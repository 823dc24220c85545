"""kill -9 of each command: before or after any change of a file, inside a write, at any time."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from dying import ENDLESS, Fault, random_death
from forks import COUNTED, Copy
from result_files import ABBR, write_result, write_three
from sweep_run import contents
from sweeping import BASE

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('faults')]

LONG = 'GPASSK_FAULTS' in os.environ

PARTS = ['tables', 'page', *(['figures'] if LONG else [])]
"""Figures take ten seconds: in a long run only."""

BYTES = (1, 25_000)
"""In this range are the sizes of all files that are written here."""


def changes_in(text: str) -> int:
    return max(map(int, re.findall(rf'{COUNTED}(\d+)', text)))


def stage(work_dir: Path) -> str:
    if list(work_dir.glob('*/results/*/*.json')):
        return 'with a result'
    if list(work_dir.glob('*/predictions/*/bench.json')):
        return 'while judging'
    return (
        'while sampling' if list(work_dir.glob('*/predictions/*/*.rows.jsonl')) else 'before the first sample'
    )


def test_a_death_at_any_change_of_a_file_loses_nothing(run, times, chance, tried):
    """Of `opencompass`, before the change, or when a file is made or emptied; a long run has all of them."""
    run.write('whole')
    assert run.start('whole', Fault('opencompass', str(run.root / 'out'), ENDLESS)).wait() == 0
    run.check('whole', deaths=0)
    changes = changes_in((run.root / 'out/whole/.gpassk/opencompass.log').read_text())
    places = [(change, emptied) for change in range(1, changes + 1) for emptied in (False, True)]
    for change, emptied in places if LONG else chance.sample(places, times):
        name = f'run{change}{"e" if emptied else ""}'
        run.write(name)
        run.start(name, Fault('opencompass', str(run.root / 'out'), change, emptied)).wait()
        tried[stage(run.root / 'out' / name)] += 1
        run.complete(name)
        run.check(name, deaths=1)


TEMPLATES = [
    BASE.replace('temperatures = [0.3]', f'temperatures = {temperatures}')
    for temperatures in ([0.3, 0.5, 0.7], [0.5, 0.7, 0.9])
]


def test_a_killed_expansion_leaves_whole_configs_and_can_be_typed_again(
    forks, tmp_path, times, chance, tried
):
    """Over an earlier expansion; in the end the folder is that of an undisturbed one, manifest and all."""
    template = tmp_path / 'template.py'

    def expand(text: str, folder: str, fault: Fault | None = None) -> Copy:
        template.write_text(text)
        line = ('-tc', template, '--output-dir', tmp_path / folder, '--prune')
        copy = forks.start('dump_configs', *line, folder=tmp_path, fault=fault)
        copy.wait()
        return copy

    expand(TEMPLATES[0], 'whole')
    old = contents(tmp_path / 'whole')
    count = changes_in(expand(TEMPLATES[1], 'whole', Fault('dump_configs', str(tmp_path), ENDLESS)).said)
    new = contents(tmp_path / 'whole')
    for number in range(3 * times):
        folder = f'killed{number}'
        first = chance.random() < 0.5
        if not first:
            expand(TEMPLATES[0], folder)
        text = TEMPLATES[0] if first else TEMPLATES[1]
        expand(text, folder, random_death(chance, 'dump_configs', tmp_path / folder, count, (1, 3000)))
        tried['kills'] += 1
        found = contents(tmp_path / folder)
        assert all(
            text in (old.get(name), new.get(name)) for name, text in found.items() if name[-3:] == '.py'
        )
        assert expand(TEMPLATES[1], folder).wait() == 0
        assert contents(tmp_path / folder) == new


@pytest.mark.parametrize('part', PARTS)
def test_a_killed_report_is_whole_when_it_is_typed_again(forks, tmp_path, times, chance, tried, part):
    """Over the report of other results, of which only the files stay that this one has not."""

    def report(outputs: str, folder: str, fault: Fault | None = None) -> Copy:
        line = ('report', tmp_path / outputs, '-o', tmp_path / folder, '--only', part)
        copy = forks.start('gpassk', *line, folder=tmp_path, fault=fault)
        copy.wait()
        return copy

    write_three(tmp_path / 'before')
    write_three(tmp_path / 'after')
    write_result(tmp_path / 'before', ABBR.format(3), [1] * 24, dataset='AIME2024')
    whole = report('after', 'whole', Fault('gpassk', str(tmp_path), ENDLESS))
    assert whole.wait() == 0
    expected = contents(tmp_path / 'whole')
    for number in range(times if part != 'figures' else times // 10):
        folder = f'killed{number}'
        assert report('before', folder).wait() == 0
        earlier = contents(tmp_path / folder)
        fault = random_death(chance, 'gpassk', tmp_path / folder, changes_in(whole.said), BYTES)
        tried['died' if report('after', folder, fault).wait() else 'lived'] += 1
        assert report('after', folder).wait() == 0
        assert contents(tmp_path / folder) == {**earlier, **expected}
