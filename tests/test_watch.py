"""`gpassk watch`: how far the runs of a sweep are that others run."""

from __future__ import annotations

import io
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import config_text, drawn, record, run, write, write_configs
from formats import complaints
from loguru import logger
from terminal import Terminal

from gpassk_opencompass.cli import main, watch
from gpassk_opencompass.naming.manifest import Entry
from gpassk_opencompass.runs import follow, plan
from gpassk_opencompass.runs.follow import Follower, Sweep
from gpassk_opencompass.runs.lock import WorkDirLock
from gpassk_opencompass.runs.plan import Planned, discovered_runs, planned_runs
from gpassk_opencompass.runs.state import State
from gpassk_opencompass.runs.work_dir import Start, Starts, Wanted

pytestmark = pytest.mark.slow
TIME = '20260101_000000'


def half_drawn(folder: Path, name: str = 'draw', rows: int = 16) -> Path:
    """A work directory with some of 32 samples, as a command leaves it that is at work."""
    work_dir = folder / 'out' / name
    config = (folder / 'configs' / f'{name}.py').read_text()
    write(work_dir / TIME / 'configs' / 'c.py', config)
    write(work_dir / '.gpassk/cwd/.cache/dataset_size.json', {f'd-{name}': 32})
    path = write(
        work_dir / TIME / 'predictions' / f'm-{name}' / f'tmp_d-{name}.jsonl',
        ''.join(f'{json.dumps(drawn(row))}\n' for row in range(rows)),
    )
    start = Start('20251231_235959', None, None, str(folder / 'configs' / f'{name}.py'), '', utc=True)
    Starts(work_dir).begin(start)
    return path


def events(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [told for event in said for told in complaints('event', event, strict=False)] == []
    return said


def test_once_tells_of_each_run_as_it_is(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One is complete, one failed, one is at work, one never began."""
    write_configs(sweep, 'ok', 'broken')
    assert run() == 1
    write_configs(sweep, 'draw', 'later')
    half_drawn(sweep)
    capsys.readouterr()
    with WorkDirLock(sweep / 'out' / 'draw'):
        assert main(['watch', 'out', '--configs', 'configs', '--once', '--json']) == 1
        told = events(capsys)
        assert main(['watch', 'out', '--configs', 'configs', '--once']) == 1
        table = capsys.readouterr().out
    [progress] = [event for event in told if event['event'] == 'progress']
    assert (progress['run'], progress['state'], progress['samples'], progress['total']) == (
        'draw',
        'sampling',
        16,
        32,
    )
    assert (progress['judged'], progress['accuracy'], progress['cut_off']) == (16, 62.5, 4)
    assert {event['run']: event['state'] for event in told if event['event'] == 'ended'} == {
        'ok': 'complete',
        'broken': 'failed',
    }
    assert [event['run'] for event in told if event['event'] == 'started'] == ['draw']
    [row] = [row for row in table.splitlines() if row.startswith(' draw')]
    assert row.split()[-5:] == ['25.0', '%', '~62.5', '%', 'sampling']
    assert ' 4 runs: 1 complete, 1 failed, 1 at work, 1 waiting\n 16 of 32 samples' in table


def test_it_ends_when_all_runs_have_ended(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also without the configs; the exit code says whether all is complete."""
    write_configs(sweep, 'ok')
    assert run() == 0
    assert main(['watch', 'out']) == 0
    assert main(['watch', 'out/ok', '--json']) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith('{"event": "summary"')


def test_a_sweep_is_seen_to_its_end_from_another_process(sweep: Path) -> None:
    """The table of `gpassk watch` beside a `gpassk run`; both end with what `gpassk check` says."""
    write_configs(sweep, 'broken', 'draw')
    program = sweep / 'control' / 'opencompass'
    with (
        Terminal(['run', 'configs', '-w', 'out'], program) as runs,
        Terminal(['watch', 'out', '--configs', 'configs'], program) as watches,
    ):
        watches.until(lambda text: '16/32' in text and '~62.5 %' in text)
        write(sweep / 'control' / 'go', '')
        assert runs.end() == 1
        assert watches.end() == 1
    assert '2 runs: 1 complete, 1 failed' in watches.picture.text
    assert 'draw: complete' in watches.picture.text
    assert watches.picture.text.count('tokens/s') == 1, 'the last table stands, and no other'


def test_ctrl_c_ends_it_and_stops_no_run(sweep: Path) -> None:
    """The table stays, the files are as they were."""
    write_configs(sweep, 'draw')
    half_drawn(sweep)
    before = snapshot(sweep / 'out')
    with (
        WorkDirLock(sweep / 'out' / 'draw'),
        Terminal(['watch', 'out'], sweep / 'control' / 'opencompass') as terminal,
    ):
        terminal.until(lambda text: '16/32' in text)
        terminal.interrupt()
        assert terminal.end() == 130
    assert '16/32' in terminal.picture.text
    assert 'Traceback' not in terminal.picture.text
    after = snapshot(sweep / 'out')
    assert {path for path in after if path.name != 'lock'} == set(before)


def snapshot(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob('*') if path.is_file()}


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    paths = [folder, *folder.rglob('*')]
    modes = {path: path.stat().st_mode for path in paths}
    for path in paths:
        path.chmod(modes[path] & 0o555)
    try:
        yield
    finally:
        for path in paths:
            path.chmod(modes[path])


def test_what_may_only_be_read_is_watched_and_left_as_it_is(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder of somebody else: nothing is written there."""
    write_configs(sweep, 'draw')
    half_drawn(sweep)
    write(sweep / 'out/draw/.gpassk/lock', [1, 'elsewhere', '2026-01-01T00:00:00Z', 2])
    before = snapshot(sweep / 'out')
    with read_only(sweep / 'out'):
        assert main(['watch', 'out', '--once']) == 1
    assert '1 at work\n 16 of 32 samples' in capsys.readouterr().out
    assert snapshot(sweep / 'out') == before


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['nowhere'], 'nowhere is no folder'),
        (['configs'], 'no work directory of OpenCompass in configs'),
        (['out', 'more', '--configs', 'configs'], 'give the one of their outputs'),
        (['configs/ok.py', '--configs', 'configs'], 'is no folder'),
    ],
)
def test_what_cannot_be_watched_is_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    """In a line that says why."""
    write_configs(sweep, 'ok')
    assert main(['watch', *arguments]) == 2
    assert message in capsys.readouterr().err


def test_folders_that_are_no_work_directories_are_named(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error; events are not disturbed."""
    write_configs(sweep, 'ok')
    run()
    write(sweep / 'out' / 'notes' / 'todo.txt', '')
    capsys.readouterr()
    assert main(['watch', 'out', '--once', '--json']) == 0
    said = capsys.readouterr()
    assert 'not a work directory: notes' in said.err
    assert all(json.loads(line) for line in said.out.splitlines())


def test_runs_of_one_name_in_two_folders_are_told_apart(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By their folders."""
    write_configs(sweep, 'ok')
    assert main(['run', 'configs', '-w', 'a']) == main(['run', 'configs', '-w', 'b']) == 0
    capsys.readouterr()
    assert main(['watch', 'a', 'b', '--once', '--json']) == 0
    assert [event.get('run') for event in events(capsys)] == ['a/ok', 'b/ok', None]


def test_an_opencompass_started_by_hand_is_seen_at_work(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no lock: files that are written to tell; old ones are those of a run that stopped."""
    config = write_configs(sweep, 'draw') / 'draw.py'
    place = sweep / 'out/draw' / TIME
    write(place / 'configs/c.py', config.read_text())
    rows = ''.join(f'{json.dumps(drawn(row))}\n' for row in range(16))
    path = write(place / 'predictions/m-draw/tmp_d-draw.jsonl', rows)
    assert main(['watch', 'out', '--once']) == 1
    assert '1 at work\n 16 of ? samples' in capsys.readouterr().out
    os.utime(path, (1, 1))
    assert main(['watch', 'out', '--once']) == 1
    assert '1 run: 1 partial' in capsys.readouterr().out


def test_runs_that_begin_later_are_taken_in(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the configs they are known by their work directories alone; the end waits for them."""
    write_configs(sweep, 'ok')
    assert run() == 0
    capsys.readouterr()
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            write_configs(sweep, 'broken')
            run('--json')
            capsys.readouterr()

    monkeypatch.setattr(watch.time, 'sleep', pause)
    assert main(['watch', 'out', '--json']) == 1
    *_, broken, summary = events(capsys)
    assert (broken['run'], broken['state']) == ('broken', 'failed')
    assert summary['states'] == {'complete': 1, 'failed': 1}
    assert len(pauses) < 10


def many(folder: Path, count: int) -> list[tuple[Planned, Path]]:
    wanted = (Wanted('m', 'd', 4, (2, 4), 8),)
    return [(Planned(f'run-{number:04}', wanted), folder / f'run-{number:04}') for number in range(count)]


def test_a_look_at_2500_runs_does_a_bounded_amount_of_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many runs are asked for, so many examined; all are known after as many looks as that takes."""
    asked: list[str] = []
    examined: list[str] = []
    own, in_use = follow.examine, follow.is_in_use

    def examine(run: Planned, work_dir: Path) -> Any:
        examined.append(run.name)
        return own(run, work_dir)

    def is_in_use(work_dir: Path) -> bool:
        asked.append(work_dir.name)
        return in_use(work_dir)

    monkeypatch.setattr(follow, 'examine', examine)
    monkeypatch.setattr(follow, 'is_in_use', is_in_use)
    runs = many(tmp_path, 2500)
    for _, work_dir in runs[:40]:
        write(work_dir / TIME / 'results/m/d.json', record())
        (work_dir / '.gpassk').mkdir()
    with Follower() as follower:
        sweep = Sweep(runs, follower)
        looks = 0
        while sweep.unknown:
            before = len(asked), len(examined)
            sweep.look()
            looks += 1
            assert len(asked) - before[0] <= follow.CHECKS
            assert len(examined) - before[1] <= follow.EXAMINATIONS
        assert looks <= 2500 / follow.EXAMINATIONS + 1
        assert len(examined) == len(set(examined)) == 2500, 'each once'
        for _ in range(50):
            sweep.look()
        assert len(examined) == 2500, 'none that has not changed'
        with WorkDirLock(runs[2000][1]):
            while not sweep.at_work:
                sweep.look()
        changes = [change for _ in range(2) for change in sweep.look()]
    assert [change.seen.run.name for change in changes] == ['run-2000']
    assert sweep.findings['run-2000'].state is State.MISSING


def test_the_manifest_of_a_sweep_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each work directory; a changed one is read again."""
    read: list[Path] = []
    own = plan.read_manifest

    def read_manifest(folder: Path) -> tuple[Entry, ...]:
        read.append(folder)
        return own(folder)

    monkeypatch.setattr(plan, 'read_manifest', read_manifest)
    for number in range(20):
        config = write(tmp_path / 'configs' / f'run-{number}.py', config_text())
        Starts(tmp_path / 'out' / config.stem).begin(Start(TIME, None, None, str(config), '', utc=True))
    manifest = write(tmp_path / 'configs' / 'manifest.jsonl', '')
    assert len(discovered_runs(tmp_path / 'out').runs) == 20
    assert len(read) == 1
    os.utime(manifest, (1, 1))
    assert len(discovered_runs(tmp_path / 'out').runs) == 20
    assert len(read) == 2


def test_a_lock_of_another_machine_counts_as_at_work(tmp_path: Path) -> None:
    """Its host is another one: nobody here can tell whether it lives."""
    [(run, work_dir)] = many(tmp_path, 1)
    write(work_dir / '.gpassk/lock', [1, f'not-{socket.gethostname()}', 'then'])
    with Follower() as follower:
        sweep = Sweep([(run, work_dir)], follower)
        [change] = sweep.look()
        assert (change.finding, change.first) == (None, True)
        assert not sweep.is_over
        write(work_dir / '.gpassk/lock', '')
        [change] = sweep.look()
    assert change.finding is not None


def test_a_run_that_cannot_be_read_hides_no_other(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever goes wrong while it is followed."""
    write_configs(sweep, 'bad', 'draw')
    half_drawn(sweep)
    half_drawn(sweep, 'bad')
    own = follow.RunReader.look

    def look(reader: Any, *arguments: Any) -> bool:
        if reader.run.name == 'bad':
            raise RuntimeError('no rule foresaw this')
        return own(reader, *arguments)

    monkeypatch.setattr(follow.RunReader, 'look', look)
    sink = io.StringIO()
    handler = logger.add(sink, format='{message}')
    with WorkDirLock(sweep / 'out' / 'bad'), WorkDirLock(sweep / 'out' / 'draw'):
        assert main(['watch', 'out', '--once', '--json']) == 1
    told = {event['run']: event['samples'] for event in events(capsys) if event['event'] == 'progress'}
    assert told == {'bad': 0, 'draw': 16}
    logger.remove(handler)
    assert sink.getvalue().count('bad: cannot tell how far it is: RuntimeError') == 1


def test_ctrl_c_as_events_ends_with_a_summary(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which says that it was stopped."""
    write_configs(sweep, 'ok')
    runs = planned_runs([sweep / 'configs']).runs
    assert len(runs) == 1

    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watch.time, 'sleep', stop)
    assert main(['watch', 'out', '--configs', 'configs', '--json']) == 130
    assert [(event['event'], event['stopped']) for event in events(capsys)] == [('summary', True)]
