"""Files replaced in one step, and JSON that may be damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpassk_opencompass.files import parse_json, read_json, save, write_file

DEEP = '[' * 100_000


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path, monkeypatch):
    """A disk that fills up in the middle of a write leaves the old content and no draft."""
    path = tmp_path / 'table.csv'
    path.write_text('old')

    def no_room(draft: Path, content: bytes) -> int:
        draft.open('wb').close()
        raise OSError(28, 'no room')

    with monkeypatch.context() as full:
        full.setattr(Path, 'write_bytes', no_room)
        with pytest.raises(OSError, match='no room'):
            write_file(path, b'new')
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [('table.csv', 'old')]


@pytest.mark.parametrize(
    'write',
    [lambda path: write_file(path, b'new'), lambda path: save(path, 'new')],
)
def test_permissions_stay(tmp_path, write):
    path = tmp_path / 'table.csv'
    path.touch()
    path.chmod(0o600)
    write(path)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ('new', 0o600)


@pytest.mark.parametrize('text', [DEEP, '{"a":' * 100_000, '{"a": 1', '', 'NaN,'])
def test_json_that_cannot_be_read_is_a_value_error(tmp_path, text):
    path = tmp_path / 'a.json'
    path.write_text(text)
    for read in (lambda: parse_json(text), lambda: read_json(path)):
        with pytest.raises(ValueError, match=r'.'):
            read()


def test_halves_of_characters_in_a_text_are_read():
    assert parse_json('["\ud800"]') == ['\ud800']
