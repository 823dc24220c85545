"""What `gpassk run` says while it is at work: how far each run is on a terminal, lines elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import QUESTIONS, behave, drawn, run, write, write_configs
from terminal import Terminal

from gpassk_opencompass.runs.drawn import DrawnSamples
from gpassk_opencompass.runs.plan import Planned
from gpassk_opencompass.runs.work_dir import Start, Starts, Wanted

TOTAL = 4 * QUESTIONS
TIME = '20260101_000000'
RUN = Planned('run', (Wanted('m-run', 'd-run', 4, (2, 4), QUESTIONS),))


def lines(rows: range) -> str:
    return ''.join(f'{json.dumps(drawn(row))}\n' for row in rows)


def begun(folder: Path, rows: range, time: str = TIME, shard: str = '') -> Path:
    """The resume file of a shard with these rows."""
    return write(folder / time / f'predictions/m-run/tmp_d-run{shard}.jsonl', lines(rows))


@contextmanager
def typed(sweep: Path, *options: str, **settings: Any) -> Iterator[Terminal]:
    """`gpassk run` of the configs here, in a terminal."""
    program = sweep / 'control' / 'opencompass'
    with Terminal(['run', 'configs', '-w', 'out', *options], program, **settings) as terminal:
        yield terminal


@pytest.mark.slow
def test_a_terminal_shows_how_far_each_run_is(sweep: Path) -> None:
    """Half of one is drawn while another fails; at the end its line is gone, and every other stands."""
    write_configs(sweep, 'ok', 'broken', 'draw')
    with typed(sweep, '--jobs', '2') as terminal:
        text = terminal.until(lambda text: '16/32' in text and 'failed' in text)
        [row] = [line for line in text.splitlines() if '16/32' in line]
        assert row.startswith('[2/3] draw ')
        write(sweep / 'control' / 'go', '')
        assert terminal.end() == 1
    said = terminal.picture.lines
    for line in ('[1/3] broken: started', '[2/3] draw: started', '[3/3] ok: started'):
        assert said.count(line) == 1
    assert [line for line in said if re.fullmatch(r'\[2/3\] draw: complete, \d+ s', line)]
    assert 'RuntimeError: broken' in said, 'the end of the log'
    assert not [line for line in said if re.search(r'\d+/32', line)], 'no bar is left'
    assert '3 runs: 2 complete, 1 failed' in said[-2:]


@pytest.mark.slow
def test_ctrl_c_takes_the_lines_away_and_says_how_to_go_on(sweep: Path) -> None:
    """As without them."""
    write_configs(sweep, 'draw', 'never')
    with typed(sweep) as terminal:
        terminal.until(lambda text: '16/32' in text)
        terminal.interrupt()
        assert terminal.end() == 130
    assert '16/32' not in terminal.picture.text
    assert '16 of 32 predictions' in terminal.picture.text
    assert 'gpassk run configs -w out' in terminal.picture.text


@pytest.mark.slow
def test_without_colours_there_are_lines_all_the_same(sweep: Path) -> None:
    """NO_COLOR is about colours alone."""
    write_configs(sweep, 'draw')
    with typed(sweep, environment={'NO_COLOR': '1'}) as terminal:
        terminal.until(lambda text: '16/32' in text)
        write(sweep / 'control' / 'go', '')
        terminal.end()
    assert not re.search(r'\x1b\[[0-9;]*3[0-7]m', terminal.sent)


@pytest.mark.slow
def test_a_dumb_terminal_gets_starts_and_ends(sweep: Path) -> None:
    """No escape at all."""
    write_configs(sweep, 'ok')
    with typed(sweep, environment={'TERM': 'dumb'}) as terminal:
        assert terminal.end() == 0
    assert '\x1b' not in terminal.sent
    assert '[1/1] ok: started' in terminal.picture.text


@pytest.mark.slow
def test_a_log_has_starts_and_ends_alone(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the states at the end."""
    write_configs(sweep, 'ok')
    assert run() == 0
    said = capsys.readouterr().out
    begin, end = [line for line in said.splitlines() if line.startswith('[')]
    assert begin == '[1/1] ok: started'
    assert re.fullmatch(r'\[1/1\] ok: complete, \d+ s', end)
    assert said.endswith('\n1 run: 1 complete\n')


@pytest.mark.slow
def test_rows_that_tell_nothing_are_no_error(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of an earlier start, and none of them a row."""
    write_configs(sweep, 'hang', 'ok')
    behave(sweep, 'hang', 'ok')
    write(sweep / 'out/hang/20200101_000000/predictions/m-hang/tmp_d-hang.jsonl', '{"idx": 0}\nno\n[]\n')
    assert run() == 0
    assert '2 runs: 2 complete' in capsys.readouterr().out


def test_a_growing_file_is_counted_by_its_lines(tmp_path: Path) -> None:
    """Half a line is no sample; of two shards both count."""
    counted = DrawnSamples(RUN, tmp_path)
    assert counted.count() == (0, TOTAL)
    path = begun(tmp_path, range(8), shard='_0')
    begun(tmp_path, range(3), shard='_1')
    assert counted.count() == (11, TOTAL)
    with path.open('a') as file:
        file.write(lines(range(8, 10)) + '{"idx": 10')
    assert counted.count() == (13, TOTAL)
    with path.open('a') as file:
        file.write('}\n')
    assert counted.count() == (14, TOTAL)


@pytest.mark.parametrize('kept', [0, 1, 5])
def test_a_file_that_was_cut_is_counted_anew(tmp_path: Path, kept: int) -> None:
    """A resume drops what is damaged."""
    counted = DrawnSamples(RUN, tmp_path)
    begun(tmp_path, range(8))
    assert counted.count()[0] == 8
    begun(tmp_path, range(kept))
    assert counted.count()[0] == kept


def test_predictions_take_the_place_of_their_resume_file(tmp_path: Path) -> None:
    """Nothing counts twice."""
    counted = DrawnSamples(RUN, tmp_path)
    path = begun(tmp_path, range(8))
    assert counted.count()[0] == 8
    write(path.with_name('d-run.json'), {str(row): drawn(row) for row in range(TOTAL)})
    assert counted.count() == (TOTAL, TOTAL)
    path.unlink()
    assert counted.count() == (TOTAL, TOTAL)


def test_a_new_start_is_not_the_old_one(tmp_path: Path) -> None:
    """Samples of an earlier time directory are not those of a command that began anew."""
    begun(tmp_path, range(16))
    starts = Starts(tmp_path)
    starts.begin(Start('20260102_000000', None, None, 'c', 'x', utc=True))
    counted = DrawnSamples(RUN, tmp_path)
    assert counted.count()[0] == 0
    begun(tmp_path, range(3), time='20260102_000001')
    assert counted.count()[0] == 3
    starts.begin(Start('20260103_000000', TIME, None, 'c', 'x', utc=True))
    assert counted.count()[0] == 16


def test_how_many_there_should_be_may_not_be_known(tmp_path: Path) -> None:
    """Before OpenCompass has counted the questions, and of a config that computes its data sets."""
    unsized = Planned('run', (Wanted('m-run', 'd-run', 4, (2, 4), None),))
    assert DrawnSamples(unsized, tmp_path).count() == (0, None)
    write(tmp_path / '.gpassk/cwd/.cache/dataset_size.json', {'d-run': 12})
    assert DrawnSamples(unsized, tmp_path).count() == (0, 12)
    assert DrawnSamples(Planned('run'), tmp_path).count() == (0, None)
