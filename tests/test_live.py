"""What `gpassk run` shows while it is at work: the table of a terminal, lines elsewhere, events as JSON."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import behave, run, write, write_configs
from formats import complaints
from rich.console import Console
from terminal import Picture, Terminal

from gpassk_opencompass.cli import live
from gpassk_opencompass.cli.board import Board
from gpassk_opencompass.cli.live import Screen
from gpassk_opencompass.cli.live_table import LiveTable, render
from gpassk_opencompass.runs.follow import Follower
from gpassk_opencompass.runs.plan import Planned
from gpassk_opencompass.runs.progress import Progress
from gpassk_opencompass.runs.state import Finding, State

pytestmark = pytest.mark.slow


@contextmanager
def typed(sweep: Path, *options: str, **settings: Any) -> Iterator[Terminal]:
    """`gpassk run` of the configs here, in a terminal."""
    program = sweep / 'control' / 'opencompass'
    with Terminal(['run', 'configs', '-w', 'out', *options], program, **settings) as terminal:
        yield terminal


def test_a_terminal_shows_how_far_each_run_is(sweep: Path) -> None:
    """Half of one is drawn while another fails; at the end the table is gone, and every line stands."""
    write_configs(sweep, 'ok', 'broken', 'draw')
    with typed(sweep, '--jobs', '2') as terminal:
        # 6 of 16 are multiples of 3 and wrong; a table may be drawn while only the first ones are judged.
        text = terminal.until(lambda text: '~62.5 %' in text and 'failed' in text and '16/32' in text)
        [row] = [line for line in text.splitlines() if line.startswith(' draw')]
        assert '~62.5 %' in row
        assert '25.0 %' in row, '4 of 16 were cut off'
        assert '3 runs: ' in text
        write(sweep / 'control' / 'go', '')
        assert terminal.end() == 1
    said = terminal.picture.lines
    for line in ('[1/3] broken: started', '[2/3] draw: started', '[3/3] ok: started'):
        assert said.count(line) == 1
    assert [line for line in said if re.fullmatch(r'\[2/3\] draw: complete, \d+ s', line)]
    assert 'RuntimeError: broken' in said, 'the end of the log'
    assert not [line for line in said if 'tokens/s' in line], 'the table is gone'
    assert said[-2:] == ['3 runs: 2 complete, 1 failed', ''] or said[-1] == '3 runs: 2 complete, 1 failed'


def test_ctrl_c_takes_the_table_away_and_says_how_to_go_on(sweep: Path) -> None:
    """As without a table."""
    write_configs(sweep, 'draw', 'never')
    with typed(sweep) as terminal:
        terminal.until(lambda text: '16/32' in text)
        terminal.interrupt()
        assert terminal.end() == 130
    assert 'tokens/s' not in terminal.picture.text
    assert '16 of 32 predictions' in terminal.picture.text
    assert 'gpassk run configs -w out' in terminal.picture.text


def test_without_colours_there_is_a_table_all_the_same(sweep: Path) -> None:
    """NO_COLOR is about colours alone."""
    write_configs(sweep, 'broken', 'draw')
    with typed(sweep, environment={'NO_COLOR': '1'}) as terminal:
        terminal.until(lambda text: '16/32' in text)
        write(sweep / 'control' / 'go', '')
        terminal.end()
    assert not re.search(r'\x1b\[[0-9;]*3[0-7]m', terminal.sent)


def test_a_dumb_terminal_gets_lines(sweep: Path) -> None:
    """No escape at all."""
    write_configs(sweep, 'ok')
    with typed(sweep, environment={'TERM': 'dumb'}) as terminal:
        assert terminal.end() == 0
    assert '\x1b' not in terminal.sent
    assert '[1/1] ok: started' in terminal.picture.text


def test_a_log_gets_a_line_a_minute_of_the_sweep(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here each time that it looks; not one of each run."""
    write_configs(sweep, 'draw', 'ok')
    monkeypatch.setattr(live, 'LINE', 0.0)

    def let_go(text: str) -> str:
        if ' 16 of 32 samples' in text:
            write(sweep / 'control' / 'go', '')
        return text

    own = Screen.show
    lines: list[str] = []

    def show(screen: Screen, note: str = '') -> None:
        own(screen, note)
        lines.append(let_go(capsys.readouterr().out))

    monkeypatch.setattr(Screen, 'show', show)
    assert run() == 0
    assert any('2 runs: 1 at work, 1 waiting · 16 of 32 samples' in line for line in lines)


def test_in_the_first_minute_a_log_has_starts_and_ends_alone(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As ever."""
    write_configs(sweep, 'ok')
    assert run() == 0
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if line.startswith('[')] == [
        '[1/1] ok: started',
        '[1/1] ok: complete, 0 s',
    ] or '[1/1] ok: complete, 1 s' in said
    assert 'at work' not in said


def events_of(text: str) -> list[dict[str, Any]]:
    """Every line is an event that fits the schema."""
    events = [json.loads(line) for line in text.splitlines()]
    assert [told for event in events for told in complaints('event', event, strict=False)] == []
    return events


def test_events_agree_with_the_states_at_the_end(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing else is on standard output; `gpassk check` says the same."""
    from gpassk_opencompass.cli import main

    write_configs(sweep, 'ok', 'broken', 'draw')
    monkeypatch.setattr(live, 'EVENT', 0.0)
    own = Screen.show
    said: list[str] = []

    def show(screen: Screen, note: str = '') -> None:
        own(screen, note)
        said.append(capsys.readouterr().out)
        if '"samples": 16' in said[-1]:
            write(sweep / 'control' / 'go', '')

    monkeypatch.setattr(Screen, 'show', show)
    assert run('--json') == 1
    events = events_of(''.join(said) + capsys.readouterr().out)
    kinds = [event['event'] for event in events]
    assert [kinds.count(kind) for kind in ('started', 'ended', 'summary')] == [3, 3, 1]
    assert kinds[-1] == 'summary'
    [half] = [one for one in events if one['event'] == 'progress' and one['samples'] == 16][-1:]
    assert (half['run'], half['state'], half['total'], half['cut_off']) == ('draw', 'sampling', 32, 4)
    ended = {event['run']: event['state'] for event in events if event['event'] == 'ended'}
    assert main(['check', 'out', '--json']) == 1
    states = {one['run']: one['state'] for one in json.loads(capsys.readouterr().out)['tables'][0]['rows']}
    assert ended == states == {'ok': 'complete', 'draw': 'complete', 'broken': 'failed'}
    assert events[-1]['states'] == {'complete': 2, 'failed': 1}
    [broken] = [event for event in events if event.get('run') == 'broken' and event['event'] == 'ended']
    assert 'RuntimeError: broken' in broken['logs'][0]['lines']


def test_events_of_a_stopped_sweep_end_with_a_summary(sweep: Path) -> None:
    """Which says that it was stopped."""
    write_configs(sweep, 'hang', 'never')
    with typed(sweep, '--json') as terminal:
        terminal.until(lambda text: '"progress"' in text or (sweep / 'control' / 'hanging').exists())
        terminal.interrupt()
        assert terminal.end() == 130
    events = [json.loads(line) for line in terminal.sent.splitlines() if line.startswith('{')]
    assert (events[-1]['event'], events[-1]['stopped'], events[-1]['runs']) == ('summary', True, 2)
    assert events[-1]['states'] == {'partial': 1}


class Told(Follower):
    """Knows what a test says."""

    def __init__(self, *told: Progress) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.told = {one.name: one for one in told}

    def follow(self, run: Planned, work_dir: Path) -> None:
        pass

    def progress(self, name: str) -> Progress | None:
        self.asked.append(name)
        return self.told.get(name)


def shown(board: Board, width: int, height: int = 40) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, height=height, force_terminal=True).print(render(board, width, height))
    picture = Picture(width)
    picture.feed(out.getvalue().replace('\n', '\r\n'))
    return picture.lines


LONG = 'DeepSeek-R1-Distill-Qwen-7B_t0-6_p0-95_k50_rp1-0_rs42_l32768@LiveMathBench-v202412-k4_8-r6'
NAMES = [LONG, '二次方程模型_t1-0@中文数学竞赛-k4_8-r6' * 3, 'a', 'evil\x1b[2J[red]name']


@pytest.mark.parametrize('width', [80, 99, 100, 133, 200])
def test_the_table_fits_its_terminal(width: int) -> None:
    """With names of 90 characters, of Chinese ones, and of those that steer terminals or look like markup."""
    told = [
        Progress(
            name,
            'sampling',
            samples=1_234_567,
            total=12_345_678,
            tokens=5,
            tokens_per_second=123_456.7,
            samples_per_second=3.0,
            cut_off=5,
            ended_known=10,
            accuracy=100 / 3,
            accuracy_by='rule',
            seconds_left=100_000,
        )
        for name in NAMES
    ]
    board = Board(NAMES, Told(*told))
    for name in NAMES:
        board.begin(name)
    lines = shown(board, width)
    rows = [line for line in lines if '33.3 %' in line]
    assert len(rows) == len(NAMES), lines
    assert all('1,234,567/12,345,678' in row and row.endswith('27:46 h') for row in rows)
    assert rows[0].startswith(' DeepSeek')
    assert all('k4_8-r6 ' in row for row in rows[:2]), 'names differ at their ends'
    assert 'red]name' in rows[3], 'no markup'
    assert '4,938,268 of 49,382,712 samples' in ' '.join(lines)
    assert any('━' in line for line in lines) is (width >= 100)


def test_a_sweep_of_2500_runs_shows_those_at_work_the_last_and_counts() -> None:
    """The table asks for those alone, whatever the number of the others."""
    names = [f'run-{number:04}' for number in range(2500)]
    follower = Told()
    board = Board(names, follower)
    for name in names[:2000]:
        board.begin(name)
        board.end(Finding(name, State.FAILED, predictions=3, expected=8), shown=True)
    for name in names[2000:2100]:
        board.begin(name)
    follower.asked.clear()
    lines = shown(board, 120, height=30)
    assert len(lines) <= 30
    assert '2500 runs: 2000 failed, 100 at work, 400 waiting' in ' '.join(lines)
    rows = [line.split()[0] for line in lines if line.startswith(' run-')]
    assert rows[0] == 'run-2000'
    assert f'{100 - len(rows)} more at work' in ' '.join(lines)
    assert set(follower.asked) == set(names[2000:2100])
    assert len(follower.asked) <= 2 * 100
    for name in names[2005:2100]:
        board.end(Finding(name, State.PARTIAL), shown=True)
    rows = [line.split()[0] for line in shown(board, 120, height=30) if line.startswith(' run-')]
    assert rows == [*names[2097:2100], *names[2000:2005]]


def test_a_table_on_a_narrowed_terminal_is_taken_away_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines are wrapped by then, and take more room."""
    out = io.StringIO()
    monkeypatch.setattr(sys, 'stdout', out)
    monkeypatch.setenv('COLUMNS', '120')
    table = LiveTable()
    board = Board([LONG], Told(Progress(LONG, 'sampling', samples=3, total=9)))
    board.begin(LONG)
    table.draw(board)
    wide = Picture(120)
    wide.feed(out.getvalue().replace('\n', '\r\n'))
    monkeypatch.setenv('COLUMNS', '60')
    out.truncate(0)
    table.clear()
    wrapped = sum(max(1, -(-len(line) // 60)) for line in wide.lines[:-1])
    assert wrapped > len(wide.lines)
    assert f'\x1b[{wrapped}A' in out.getvalue()


@pytest.mark.parametrize('height', [2, 5, 9, 30])
def test_a_table_is_never_higher_than_its_terminal(monkeypatch: pytest.MonkeyPatch, height: int) -> None:
    """What has scrolled away cannot be taken away."""
    out = io.StringIO()
    monkeypatch.setattr(sys, 'stdout', out)
    monkeypatch.setenv('COLUMNS', '80')
    monkeypatch.setenv('LINES', str(height))
    names = [f'run-{number}' for number in range(40)]
    board, table = Board(names, Told()), LiveTable()
    for name in names:
        board.begin(name)
    table.draw(board, 'a note')
    first = out.getvalue()
    assert 1 <= first.count('\n') < height
    table.draw(board, 'a note')
    assert out.getvalue() == first + f'\r\x1b[{first.count(chr(10))}A\x1b[J' + first


def test_unusual_samples_have_a_column_where_there_are_some() -> None:
    """An engine that answers nothing is to be seen while it does so."""
    for unusual in (0, 17):
        board = Board(['a'], Told(Progress('a', 'sampling', samples=20, total=30, unusual=unusual)))
        board.begin('a')
        text = '\n'.join(shown(board, 100))
        assert ('unusual' in text, ' 17 ' in text) == (unusual > 0, unusual > 0)


def test_a_run_that_comes_back_is_counted_once() -> None:
    """It failed, somebody goes on with it, and it ends again."""
    board = Board(['a', 'b'], Told())
    board.begin('a')
    board.end(Finding('a', State.FAILED), shown=True)
    board.begin('a')
    assert board.totals().line == '2 runs: 1 at work, 1 waiting'
    board.end(Finding('a', State.PARTIAL), shown=True)
    board.end(Finding('b', State.MISSING), shown=False)
    assert board.totals().line == '2 runs: 1 partial, 1 waiting'


def test_gpus_are_told_where_the_jobs_say_them() -> None:
    """Those that two share count once."""

    class Turn:
        def __init__(self, *gpus: str) -> None:
            self.gpus = gpus

    class Job:
        run, work_dir = Planned('a'), Path()

        def __init__(self, *gpus: str) -> None:
            self.turn = Turn(*gpus)

    board = Board(['a'], Told())
    board.begin('a')
    board.follow([Job('0', '1'), Job('1', '2')])
    assert board.totals().speed[-1] == '3 GPUs in use'


def test_what_a_run_does_not_tell_is_no_error(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows without anything of an engine, and predictions that cannot be read."""
    write_configs(sweep, 'hang', 'ok')
    behave(sweep, 'hang', 'ok')
    write(sweep / 'out/hang/20200101_000000/predictions/m-hang/tmp_d-hang.jsonl', '{"idx": 0}\nno\n[]\n')
    assert run() == 0
    assert '2 runs: 2 complete' in capsys.readouterr().out
