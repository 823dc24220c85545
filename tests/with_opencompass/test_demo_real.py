"""`gpassk demo --real`, with the small model in place of the real weights."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from pathlib import Path

import pytest
from hosts import import_plugin

from gpassk_opencompass import demo as files
from gpassk_opencompass.cli import demo_real, main
from gpassk_opencompass.demo import weights
from gpassk_opencompass.errors import InputError

import_plugin()
pytestmark = pytest.mark.e2e


@pytest.fixture
def port() -> str:
    """The first of two free ones in a row."""
    for _ in range(100):
        with socket.socket() as one, socket.socket() as two, suppress(OSError):
            one.bind(('127.0.0.1', 0))
            first = int(one.getsockname()[1])
            two.bind(('127.0.0.1', first + 1))
            return str(first)
    raise AssertionError('no two free ports in a row')


def sampled(out: Path) -> dict[Path, int]:
    """The files of responses, and when each was written."""
    return {path: path.stat().st_mtime_ns for path in out.glob('*/*/predictions/*/*.json')}


def test_a_served_model_is_sampled_judged_and_refused_as_judge(
    tmp_path: Path, port: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """All steps, and the same line again: nothing is sampled anew."""
    for name, value in (('TEMPERATURES', (1.0,)), ('N', 4), ('KS', (2, 4)), ('LONGEST', 24), ('PAIRS', 3)):
        monkeypatch.setattr(demo_real, name, value)
    monkeypatch.setattr(demo_real, 'WORDS', files.VERSION)
    monkeypatch.setattr(demo_real, 'WORD_SPLITS', ('ADD',))
    monkeypatch.setattr(weights, 'NAME', 'tiny')
    out = tmp_path / 'out'
    (out / 'model').mkdir(parents=True)
    (out / 'model' / 'tiny').symlink_to(files.MODEL)

    assert main(['demo', '--real', '-w', str(out), '--port', port]) == 0
    said, errors = capfd.readouterr()
    assert said.index('2 runs: 2 complete') < said.index('| model') < said.index('Refused, as it should be')
    assert 'is not fit to judge' in errors
    assert (out / 'report' / 'index.html').is_file()
    assert len((out / 'table.csv').read_text().splitlines()) == 3  # with the greedy run
    pairs = [json.loads(line) for line in (out / 'judge' / 'pairs.jsonl').read_text().splitlines()]
    assert {pair['label'] for pair in pairs} == {True, False}
    assert all((pair['answer'] == pair['reference'].strip('$')) == pair['label'] for pair in pairs)

    before = sampled(out)
    assert len(before) == 2
    assert main(['demo', '--real', '-w', str(out), '--port', port]) == 0
    assert 'already complete' in capfd.readouterr().out
    assert sampled(out) == before


def test_a_port_that_is_taken_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing is sampled; the message names the log and the option."""
    monkeypatch.setattr(weights, 'NAME', 'tiny')
    (tmp_path / 'model').mkdir()
    (tmp_path / 'model' / 'tiny').symlink_to(files.MODEL)
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        assert main(['demo', '--real', '-w', str(tmp_path), '--port', str(taken.getsockname()[1])]) == 2
    assert 'did not come up' in capfd.readouterr().err
    assert not (tmp_path / 'configs').exists()


def test_without_weights_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing is written."""
    monkeypatch.setattr(weights, 'find_spec', lambda name: None)
    assert main(['demo', '--real', '-w', str(tmp_path / 'out')]) == 2
    assert weights.INSTALL in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_weights_with_another_content_are_refused(tmp_path: Path) -> None:
    """The message has both digests."""
    file = tmp_path / weights.FILE
    file.write_bytes(b'other')
    with pytest.raises(InputError, match=rf'SHA-256 [0-9a-f]{{64}}, expected {weights.SHA256}'):
        weights.check(file)


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As by the small demo."""
    (tmp_path / 'notes.txt').write_text('mine')
    assert main(['demo', '--real', '-w', str(tmp_path)]) == 2
    assert 'is not of this demo' in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ['notes.txt']
