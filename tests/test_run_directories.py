"""`gpassk run`: where its commands run, and what of paths and stores they find there."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from fake_opencompass import called, calls, config_text, run, write, write_configs

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.runs.command import environment, prepare_directory

pytestmark = pytest.mark.slow


def test_every_command_runs_in_a_directory_of_its_own(sweep: Path) -> None:
    """OpenCompass writes ./tmp and ./.cache; a size of a data set that was remembered there is forgotten."""
    write_configs(sweep, 'ok')
    cache = write(sweep / 'out/ok/.gpassk/cwd/.cache/dataset_size.json', {'d-ok': 1})
    assert run() == 0
    assert calls(sweep)[0]['cwd'] == str(sweep / 'out/ok/.gpassk/cwd')
    assert json.loads(cache.read_text()) == {'d-ok': 32}
    assert sorted(path.name for path in (sweep / 'out/ok').iterdir())[0] == '.gpassk', 'for opencompass -r'


def test_relative_paths_of_a_config_lead_where_they_led(tmp_path: Path) -> None:
    """What exists as seen from where the command is typed is linked; the rest is left alone."""
    write(tmp_path / 'data' / 'bench' / 'x', 'found')
    config = write(
        tmp_path / 'run.py', "path = './data/bench'\nother = 'Qwen/Qwen2.5-7B'\nlong = " + repr('x' * 999)
    )
    directory = prepare_directory(tmp_path / 'out', config, tmp_path)
    assert (directory / './data/bench/x').read_text() == 'found'
    assert [path.name for path in directory.iterdir()] == ['data']
    write(config, 'path = 1')
    assert list(prepare_directory(tmp_path / 'out', config, tmp_path).iterdir()) == []


@pytest.mark.parametrize('path', ['../elsewhere', 'tmp/data'])
def test_a_relative_path_that_cannot_be_linked_is_refused(
    sweep: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other runs go on."""
    write(sweep / 'here' / path / 'x', '')
    os.chdir(sweep / 'here')
    write(sweep / 'configs' / 'a.py', config_text('a', path=path))
    write_configs(sweep, 'ok')
    assert main(['run', str(sweep / 'configs'), '-w', str(sweep / 'out')]) == 1
    assert 'write an absolute path' in capsys.readouterr().out
    assert called(sweep) == ['ok']


def test_paths_of_the_environment_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stores of a team, the cache of the hub, Python's path; ~ is the home, as in a shell."""
    monkeypatch.setenv('HOME', '/home/me')
    given = {
        'GPASSK_VERDICTS': 'v',
        'HF_HOME': '/hub',
        'PYTHONPATH': 'a:/b',
        'OTHER': 'x',
        'HF_HUB_CACHE': '~/c',
    }
    assert environment(tmp_path, given) == {
        'GPASSK_VERDICTS': f'{tmp_path}/v',
        'HF_HOME': '/hub',
        'PYTHONPATH': f'{tmp_path}/a:/b',
        'OTHER': 'x',
        'HF_HUB_CACHE': '/home/me/c',
        'TZ': 'UTC',
    }


@pytest.mark.parametrize('character', [' ', "'", '\\'])
def test_a_path_that_a_shell_would_take_apart_is_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str], character: str
) -> None:
    """OpenCompass's local runner does not quote the directory it runs in; the message names a way out."""
    write_configs(sweep, 'ok', f'a{character}b')
    assert main(['run', 'configs/ok.py', '-w', f'out{character}puts']) == 1
    assert 'in the path: give another -w; opencompass' in capsys.readouterr().out
    assert main(['run', f'configs/a{character}b.py']) == 1
    assert 'in the path: rename the config; opencompass' in capsys.readouterr().out
    assert calls(sweep) == []


def test_letters_of_any_alphabet_need_no_quotes(sweep: Path) -> None:
    """Nor does what names of models, versions and folders have."""
    write_configs(sweep, 'ok')
    assert main(['run', 'configs/ok.py', '-w', 'Ergebnisse-für_v1.2@x,y=z+w%']) == 0


JUDGES_WITH_A_STORE = [
    "judge = {'type': 'llm', 'model': 'm', 'verdicts': './team/verdicts'}",
    "judge = dict(type='cascade', first={'type': 'rule'}, second=dict(type='llm', verdicts='team/verdicts'))",
    "import os\njudge = dict(type='my.Judge', verdicts='team/verdicts', seed=os.getpid())",
]


@pytest.mark.parametrize('text', JUDGES_WITH_A_STORE)
def test_a_relative_verdict_store_lies_where_the_command_is_typed(tmp_path: Path, text: str) -> None:
    """Though it does not exist yet: all runs share it."""
    config = write(tmp_path / 'run.py', text)
    for name in 'ab':
        directory = prepare_directory(tmp_path / name, config, tmp_path)
        write(directory / 'team' / 'verdicts' / name, '')
    assert sorted(path.name for path in (tmp_path / 'team/verdicts').iterdir()) == ['a', 'b']


@pytest.mark.parametrize(
    ('store', 'message'),
    [
        ('../team', "'../team' in the config is relative: write an absolute path"),
        ('tmp/v', "'tmp/v' in the config is relative: write an absolute path"),
        ('~/v', "verdicts = '~/v' of a judge: write an absolute path"),
        ('.', "verdicts = '.' of a judge: write an absolute path"),
        ('run.py/v', 'cannot be made, Not a directory: name a folder'),
    ],
)
def test_a_verdict_store_that_cannot_be_shared_is_refused(tmp_path: Path, store: str, message: str) -> None:
    """It would be lost in the hidden directory of a run."""
    config = write(tmp_path / 'run.py', f"judge = dict(type='llm', verdicts={store!r})")
    with pytest.raises(InputError, match=re.escape(message)):
        prepare_directory(tmp_path / 'out', config, tmp_path)
