"""Finding results: the newest complete one of each run, and what is said of the others."""

from __future__ import annotations

import errno
import json
import os
import pathlib
from pathlib import Path
from typing import Any

import pytest
from result_files import ABBR, HALVES, THIRDS, block, entry_of, write_result

from gpassk_opencompass import InputError
from gpassk_opencompass.naming.manifest import ModelFacts, manifest_text
from gpassk_opencompass.results.read import collect, read
from gpassk_opencompass.sweep import Entry

MODEL = ABBR.format(1)


def test_the_newest_result_of_a_run_counts(tmp_path: Path) -> None:
    """By the time that names its folder; the older one is named with the newer one."""
    old = write_result(tmp_path, MODEL, [0] * 24, time='20260101_000000')
    new = write_result(tmp_path, MODEL, THIRDS, time='20260102_000000')
    found = collect([tmp_path])
    assert [result.path for result in found.results] == [new.resolve()]
    assert found.passed_over == []
    [line] = found.older
    assert str(old) in line
    assert str(new) in line


def test_folders_that_cannot_be_read_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of somebody else, of which nothing else would say that they are not in the table."""
    whole = write_result(tmp_path, MODEL, THIRDS, work='z')
    closed = write_result(tmp_path, ABBR.format(2), THIRDS, work='theirs').parent
    for name, real in (('scandir', os.scandir), ('listdir', os.listdir)):

        def look(path: Any = '.', real: Any = real) -> Any:
            if Path(path) == closed:
                raise PermissionError(errno.EACCES, 'Permission denied', path)
            return real(path)

        monkeypatch.setattr(os, name, look)
        if hasattr(pathlib, '_normal_accessor'):  # Python 3.10 looks through one of its own
            monkeypatch.setattr(pathlib._normal_accessor, name, look)
    found = collect([tmp_path, tmp_path / 'theirs'])
    assert [result.path for result in found.results] == [whole.resolve()]
    assert found.passed_over == [f'{closed} cannot be read: Permission denied']


def test_folders_that_are_links_within_results_count(tmp_path: Path) -> None:
    """Runs of others, brought together."""
    path = write_result(tmp_path / 'theirs', MODEL, THIRDS)
    (tmp_path / 'ours' / 'results').mkdir(parents=True)
    (tmp_path / 'ours' / 'results' / MODEL).symlink_to(path.parent)
    assert [result.path for result in collect([tmp_path / 'ours']).results] == [path.resolve()]


def test_a_damaged_newer_result_does_not_hide_a_complete_one(tmp_path: Path) -> None:
    """The newest *complete* one counts."""
    old = write_result(tmp_path, MODEL, THIRDS, time='20260101_000000')
    new = write_result(tmp_path, MODEL, THIRDS, time='20260102_000000')
    new.write_text(new.read_text()[:100])
    found = collect([tmp_path])
    assert [result.path for result in found.results] == [old.resolve()]
    assert 'cannot be read' in found.passed_over[0]


def test_another_judge_in_the_same_work_directory_replaces_the_result(tmp_path: Path) -> None:
    """The run was evaluated again: its owner means the later one."""
    write_result(tmp_path, MODEL, THIRDS, time='20260101_000000', judge='rule')
    write_result(tmp_path, MODEL, THIRDS, time='20260102_000000', judge='llm')
    assert [result.judge['name'] for result in collect([tmp_path]).results] == ['llm']


def test_another_judge_in_another_work_directory_is_another_run(tmp_path: Path) -> None:
    """Both stay, and do not meet in one table."""
    write_result(tmp_path, MODEL, THIRDS, work='a', judge='rule')
    write_result(tmp_path, MODEL, THIRDS, work='b', judge='llm')
    assert {result.judge['name'] for result in collect([tmp_path]).results} == {'rule', 'llm'}


def test_the_same_run_in_two_work_directories_counts_once(tmp_path: Path) -> None:
    """The same model, data set, questions and judge."""
    write_result(tmp_path, MODEL, THIRDS, work='a', time='20260103_000000')
    write_result(tmp_path, MODEL, THIRDS, work='b', time='20260102_000000')
    found = collect([tmp_path])
    assert [result.path.parents[3].name for result in found.results] == ['a']
    assert len(found.older) == 1


def test_a_result_of_another_host_says_what_it_is_called(tmp_path: Path) -> None:
    """`*.gpassk.json` below a folder, or any file given."""
    names = {'run': {'model': 'my model', 'dataset': 'MATH500-L5', 'host': 'file'}}
    (tmp_path / 'a.gpassk.json').write_text(json.dumps({'gpassk': {**block(THIRDS, 4), **names}}))
    other = tmp_path / 'plain.json'
    other.write_text(json.dumps({'gpassk': block(THIRDS, 4)}))
    found = collect([tmp_path], files=[other]).results
    told = [(result.model_abbr, result.benchmark, result.host) for result in found]
    assert told == [('my model', 'MATH500-L5', 'file'), ('plain', 'samples', 'file')]


def scored(path: Path, c: list[int], time: float, **run: str) -> Path:
    """A `*.gpassk.json` of one and the same run, as `gpassk score -o` names it."""
    names = {'run': {'model': 'm', 'dataset': 'MATH500-L5', 'host': 'file', **run}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({'gpassk': {**block(c, 4), **names}}))
    os.utime(path, (time, time))
    return path


def test_of_scored_files_the_one_made_last_counts(tmp_path: Path) -> None:
    """By `created` of the record, whatever the names and the times of the files say."""
    scored(tmp_path / 'z.gpassk.json', HALVES, 9e8, created='2026-01-01T10:00:00+00:00')
    new = scored(tmp_path / 'a.gpassk.json', THIRDS, 1e8, created='2026-01-01T12:30:00+02:00')
    assert [result.path for result in collect([tmp_path]).results] == [new.resolve()]


def test_of_scored_files_that_do_not_say_it_the_time_of_the_file_counts(tmp_path: Path) -> None:
    """Not the last name, nor that of a folder; a `created` that is no time is none."""
    scored(tmp_path / 'z' / 'x' / 'y' / 'z.gpassk.json', HALVES, 1e8)
    scored(tmp_path / 'b.gpassk.json', HALVES, 2e8, created='yesterday')
    new = scored(tmp_path / 'a.gpassk.json', THIRDS, 3e8)
    assert [result.path for result in collect([tmp_path]).results] == [new.resolve()]
    assert [r.path for r in collect([], [new, tmp_path / 'b.gpassk.json']).results] == [new.resolve()]


def test_a_manifest_tells_what_a_name_does_not(tmp_path: Path) -> None:
    """The model's whole name, its path and settings, from a manifest anywhere below."""
    write_result(tmp_path, 'short~12345678_l100', THIRDS)
    told = {'model': 'the-long-name', 'settings': {'temperature': 0.7, 'max_out_len': 100}}
    saved(tmp_path / 'configs', entry_of('short~12345678_l100', path='org/name', **told))
    [result] = collect([tmp_path]).results
    assert result.model == 'the-long-name'
    assert result.settings is not None
    assert (result.settings.temperature, result.settings.max_out_len) == (0.7, 100)
    assert result.manifest is not None
    assert result.manifest.path == 'org/name'


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'schema': 9}, 'schema 9'),
        ({'n': 0}, 'n = 0'),
        ({'n': '4'}, "n = '4'"),
        ({'k': [5]}, 'k = 5; expected whole numbers from 1 to n = 4'),
        ({'counts': {'uid': ['u'], 'problem': ['p'], 'group': ['g'], 'c': [5]}}, "c of 'u' is 5"),
        (
            {'counts': {'uid': ['u'], 'problem': [], 'group': ['g'], 'c': [1]}},
            r'problem = \[\]; expected at least 1 entries',
        ),
        (
            {'counts': {'uid': [], 'problem': [], 'group': [], 'c': []}},
            r'uid = \[\]; expected at least 1 entries',
        ),
    ],
)
def test_a_damaged_result_is_refused_with_its_reason(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    """What everything rests on is checked when it is read."""
    path = tmp_path / 'r.json'
    path.write_text(json.dumps({'gpassk': {**block(THIRDS, 4), **change}}))
    with pytest.raises(InputError, match=message):
        read(path)


def test_what_is_missing_is_refused(tmp_path: Path) -> None:
    """A folder or a file that is not there."""
    with pytest.raises(InputError, match='no folder'):
        collect([tmp_path / 'gone'])
    with pytest.raises(InputError, match='no file'):
        collect([], files=[tmp_path / 'gone.json'])


NAME = 'Qwen2.5-7B_t0.3_l100'


def entry(path: str, **more: Any) -> Entry:
    """A line of a manifest."""
    settings = {'temperature': 0.3, 'max_out_len': 100}
    return entry_of(NAME, model='Qwen2.5-7B', path=path, settings=settings, **more)


def saved(folder: Path, *entries: Entry) -> None:
    folder.mkdir(parents=True)
    (folder / 'manifest.jsonl').write_text(manifest_text(entries))


def test_what_the_template_says_now_counts_before_what_is_stale(tmp_path: Path) -> None:
    """A config that it no longer gives keeps the facts of its time."""
    write_result(tmp_path, NAME, THIRDS)
    now = entry('Qwen/Qwen2.5-7B', facts=ModelFacts(open_source=True))
    saved(tmp_path / 'configs', now, entry('Qwen/Qwen2.5-7B', stale=True))
    [result] = collect([tmp_path]).results
    assert result.facts == ModelFacts(open_source=True)


def test_manifests_of_two_models_of_one_name_tell_nothing(tmp_path: Path) -> None:
    """It might be either."""
    write_result(tmp_path, NAME, THIRDS)
    saved(tmp_path / 'a', entry('a/x'))
    saved(tmp_path / 'b', entry('b/y'))
    [result] = collect([tmp_path]).results
    assert result.manifest is None
    assert (result.model, result.model_abbr) == ('Qwen2.5-7B', NAME)
