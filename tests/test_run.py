"""`gpassk run`: which commands it starts, from where, and what it makes of their end."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from fake_opencompass import (
    behave,
    calls,
    config_text,
    install,
    predictions,
    record,
    write,
    write_configs,
)

from gpassk_opencompass.cli import main, parser_for
from gpassk_opencompass.errors import IncompleteError, InputError
from gpassk_opencompass.runs.command import program, read_options
from gpassk_opencompass.runs.directory import environment, prepare_directory
from gpassk_opencompass.runs.lock import Holder, WorkDirLock, holder_of
from gpassk_opencompass.runs.plan import planned_runs
from gpassk_opencompass.runs.processes import Stop
from gpassk_opencompass.runs.progress import step_of
from gpassk_opencompass.runs.starts import Start, Starts
from gpassk_opencompass.sweep.manifest import Entry, manifest_text

pytestmark = pytest.mark.slow


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to type commands in, with a stand-in for `opencompass`."""
    install(tmp_path, monkeypatch)
    (tmp_path / 'configs').mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*options: str) -> int:
    return main(['run', 'configs', '-w', 'out', *options])


def called(folder: Path) -> list[str]:
    return [call['name'] for call in calls(folder)]


def results(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in folder.glob(f'out/{name}/*/results/*/*.json')]


def test_every_config_gets_a_work_directory_of_its_name(sweep: Path) -> None:
    """And a result in it; a second command finds nothing to do."""
    write_configs(sweep, 'one', 'two')
    assert run() == 0
    assert called(sweep) == ['one', 'two']
    assert results(sweep, 'one') == results(sweep, 'two') == [record()]
    assert run() == 0
    assert called(sweep) == ['one', 'two']


def test_only_what_failed_is_run_again(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A failed task is an exit code of 1 and the end of its log, though OpenCompass exits with 0."""
    write_configs(sweep, 'good', 'broken')
    assert run() == 1
    said = capsys.readouterr()
    assert 'broken: failed' in said.out
    assert 'RuntimeError: broken' in said.err
    assert 'failed with code 1' in said.err
    behave(sweep, 'broken', 'ok')
    assert run() == 0
    assert called(sweep) == ['broken', 'good', 'broken']


def test_a_command_that_fails_before_anything_is_a_failure(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no time directory then; the next command starts a new one."""
    write_configs(sweep, 'crash')
    assert run() == 1
    assert 'KeyError: crash' in capsys.readouterr().err
    assert main(['check', 'out']) == 1
    assert 'failed' in capsys.readouterr().out
    behave(sweep, 'crash', 'ok')
    assert run() == 0
    assert '-r' not in calls(sweep)[1]['arguments']


def test_a_run_goes_on_in_its_time_directory_with_the_workers_of_its_start(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number of workers decides which samples a shard has."""
    write_configs(sweep, 'broken')
    assert run('--', '--max-num-workers', '3', '--retry', '0') == 1
    behave(sweep, 'broken', 'ok')
    assert run('--', '--max-num-workers=5') == 0
    first, second = (call['arguments'] for call in calls(sweep))
    assert first[-4:] == ['--retry', '0', '--max-num-workers', '3']
    [time_dir] = sweep.glob('out/broken/2*')
    assert second[-4:] == ['--max-num-workers', '3', '-r', time_dir.name]
    assert f'goes on in {time_dir.name}, with --max-num-workers 3 as it was begun' in capsys.readouterr().out


def test_slurm_is_short_for_two_options(sweep: Path) -> None:
    """Everything behind -- goes to every command."""
    write_configs(sweep, 'ok')
    assert run('--slurm', 'debug', '--', '--qos', 'high') == 0
    assert calls(sweep)[0]['arguments'][3:] == ['--qos', 'high', '--slurm', '-p', 'debug']


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['-w', 'x'], 'give -w before the --'),
        (['-r'], 'what there is to resume is found for each run'),
        (['--reuse', 'latest'], 'what there is to resume is found for each run'),
        (['-a', 'vllm'], 'engine = … in the template'),
        (['--dry-run'], 'gpassk check says what is missing'),
        (['-m', 'viz'], 'allowed are all, infer, eval'),
        (['-m', 'nothing'], 'invalid choice'),
        (['--max-num-workers', '0'], 'at least 1'),
    ],
)
def test_options_that_would_mislead_are_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    """With the reason, before anything is started."""
    write_configs(sweep, 'ok')
    assert run('--', *options) == 2
    assert message in capsys.readouterr().err
    assert calls(sweep) == []


def test_a_changed_config_is_started_anew(sweep: Path) -> None:
    """Samples of other settings are never mixed with those of these; the old ones stay."""
    configs = write_configs(sweep, 'run')
    behave(sweep, 'run', 'ok')
    assert run() == 0
    (configs / 'run.py').write_text(config_text(temperature=0.5))
    assert run() == 0
    assert '-r' not in calls(sweep)[1]['arguments']
    assert len(results(sweep, 'run')) == 2


def test_a_changed_judge_takes_the_samples_as_they_are(sweep: Path) -> None:
    """The result of the other judge is put aside, not lost."""
    configs = write_configs(sweep, 'run')
    behave(sweep, 'run', 'ok')
    assert run() == 0
    (configs / 'run.py').write_text(config_text(judge='Qwen'))
    assert run() == 0
    assert '-r' in calls(sweep)[1]['arguments']
    assert results(sweep, 'run') == [record(judge='Qwen')]
    [aside] = sweep.glob('out/run/*/results/*/*.aside')
    assert json.loads(aside.read_text()) == record()


def test_a_damaged_result_is_put_aside(sweep: Path) -> None:
    """OpenCompass would take it for a finished one."""
    write_configs(sweep, 'ok')
    assert run() == 0
    [result] = sweep.glob('out/ok/*/results/*/*.json')
    result.write_text('{"accuracy": 5')
    assert run() == 0
    assert results(sweep, 'ok') == [record()]


def test_jobs_run_at_the_same_time(sweep: Path) -> None:
    """Each of the two waits until the other one is there."""
    write_configs(sweep, 'a', 'b')
    behave(sweep, 'a', 'meet')
    behave(sweep, 'b', 'meet')
    assert run('--jobs', '2') == 0


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
    """The verdict store of a team, the cache of the hub, Python's path; ~ is the home, as in a shell."""
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
    }


@pytest.mark.parametrize('character', [' ', "'", '$', ';', '(', '*', '\\'])
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


def test_an_opencompass_that_a_shell_cannot_start_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tasks run by the Python beside it, which is not quoted either."""
    write(tmp_path / 'my venv' / 'opencompass', '')
    monkeypatch.setattr(sys, 'executable', str(tmp_path / 'my venv' / 'python'))
    with pytest.raises(InputError, match=r"' ' in opencompass's own path: install it in an environment"):
        program()


JUDGES_WITH_A_STORE = [
    "judge = {'type': 'llm', 'model': 'm', 'store': './team/verdicts'}",
    "judge = dict(type='cascade', first=dict(type='rule'), second=dict(type='llm', store='team/verdicts'))",
    "import os\njudge = dict(type='my.Judge', store='team/verdicts', seed=os.getpid())",
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
        ('~/v', "store = '~/v' of a judge: write an absolute path"),
        ('.', "store = '.' of a judge: write an absolute path"),
        ('run.py/v', 'cannot be made, Not a directory: name a folder'),
    ],
)
def test_a_verdict_store_that_cannot_be_shared_is_refused(tmp_path: Path, store: str, message: str) -> None:
    """It would be lost in the hidden directory of a run."""
    config = write(tmp_path / 'run.py', f"judge = dict(type='llm', store={store!r})")
    with pytest.raises(InputError, match=re.escape(message)):
        prepare_directory(tmp_path / 'out', config, tmp_path)


def test_what_an_earlier_command_left_in_the_way_of_a_link_is_said(sweep: Path) -> None:
    """Nothing of it is removed: it may be verdicts that were paid for."""
    config = write(sweep / 'run.py', "trace = 'kept/trace'")
    write(sweep / 'kept' / 'trace', '')
    own = write(sweep / 'out' / '.gpassk' / 'cwd' / 'kept' / 'verdict', 'dear')
    message = (
        rf"'kept' of an earlier command is in the way of a link: .* to {sweep}/kept, and remove .*/cwd/kept"
    )
    with pytest.raises(InputError, match=message):
        prepare_directory(sweep / 'out', config, sweep)
    assert own.read_text() == 'dear'


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (
            'import os\nllm_infos = [dict(path=os.sep)]\n',
            'is a template; expand it first with dump_configs.py',
        ),
        ("llm_infos = [{'path': 'm'}]\nmodels = [1]\ndatasets = [1]\n", 'is a template; expand it first'),
        ("models = [{'abbr': 'm'}]\n", 'has no datasets, so it is no config of OpenCompass'),
        ('datasets = models = 1\nx = 1', None),
        ('x = 1\n', 'has no models and no datasets'),
    ],
)
def test_a_template_is_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str], text: str, message: str | None
) -> None:
    """It has to be expanded first; what cannot be read as data is left to OpenCompass."""
    write(sweep / 'configs' / 'crash.py', text)
    assert run() == (1 if message is None else 2)
    said = capsys.readouterr()
    assert (message or 'KeyError: crash') in said.err


@pytest.mark.parametrize('behaviour', ['killed', 'killed-late'])
def test_a_task_that_dies_without_a_traceback_shows_its_own_log(
    sweep: Path, capsys: pytest.CaptureFixture[str], behaviour: str
) -> None:
    """Killed for memory, aborted by CUDA, refused by srun; what opencompass says of it comes after."""
    write_configs(sweep, behaviour)
    assert run() == 1
    said = capsys.readouterr()
    assert f'{behaviour}: failed' in said.out
    assert f'srun: error: node7: Killed (end of d-{behaviour}_1.out, which has no traceback)' in said.out
    assert f'd-{behaviour}_1.out\nloading\nsrun: error: node7: Killed' in said.err
    assert 'failed with code 137' in said.err


def test_a_command_that_ends_without_a_traceback_is_quoted(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option that it does not know, say."""
    write_configs(sweep, 'usage')
    assert run() == 1
    assert 'opencompass ended with code 2: opencompass: error: unrecognized --x' in capsys.readouterr().out


def test_a_time_directory_made_by_hand_is_nobodys(tmp_path: Path) -> None:
    """A start makes one directory, the first after it and before the next start."""
    starts = Starts(tmp_path)
    for started, resumes in (
        ('20260101_000000', None),
        ('20260102_000000', None),
        ('20260103_000000', '20260102_000005'),
    ):
        starts.begin(Start(started, resumes, 4, '/c.py', 'x'))
    times = ['20260102_000005', '20260102_000900', '20260104_000000', '20251231_000000']
    for time_dir in times:
        (tmp_path / time_dir).mkdir()
    makers = [starts.made(time_dir) for time_dir in times]
    assert [maker and maker.started for maker in makers] == ['20260102_000000', None, None, None]


def test_a_run_begun_by_hand_takes_the_workers_given(sweep: Path) -> None:
    """Not those of a `gpassk run` before it."""
    write_configs(sweep, 'run')
    behave(sweep, 'run', 'ok')
    assert run('--', '--max-num-workers', '3') == 0
    [first] = sweep.glob('out/run/2*')
    (first / 'results').rename(first / 'gone')
    (first / 'configs').rename(first / 'configs-gone')
    by_hand = sweep / 'out' / 'run' / '29991231_000000'
    write(by_hand / 'configs' / 'x.py', config_text('run'))
    assert run('--', '--max-num-workers', '5') == 0
    assert calls(sweep)[-1]['arguments'][-4:] == ['--max-num-workers', '5', '-r', by_hand.name]


def test_the_table_keeps_the_way_out(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its last column is cut: the fact and the remedy come first, paths last."""
    write_configs(sweep, 'ok')
    write(
        sweep / 'out' / 'ok' / '.gpassk' / 'lock', [4194000, 'a-login-node-of-a-cluster', '20260101_000000']
    )
    assert run() == 1
    [row] = [line for line in capsys.readouterr().out.splitlines() if line.startswith('| ok ')]
    assert 'wait for it, or remove its .gpassk/lock' in row


def test_samples_first_and_verdicts_later(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-m infer is done with all samples drawn; -m eval starts nothing without them."""
    write_configs(sweep, 'ok')
    assert run('--', '-m', 'eval') == 1
    assert calls(sweep) == []
    assert run('--', '-m', 'infer') == 0
    assert 'ok: partial' in capsys.readouterr().out
    assert run('--', '-m', 'infer') == 0
    assert run('--', '-m', 'eval') == 0
    assert [call['arguments'][3:5] for call in calls(sweep)] == [['-m', 'infer'], ['-m', 'eval']]
    assert main(['check', 'out']) == 0


def test_a_work_directory_in_use_is_left_alone(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The other runs go on, and the exit code says that not all is complete."""
    write_configs(sweep, 'a', 'ok')
    with WorkDirLock(sweep / 'out' / 'a'):
        assert run() == 1
    assert f'in use by process {os.getpid()} on {socket.gethostname()}' in capsys.readouterr().out
    assert called(sweep) == ['ok']


def test_a_lock_that_a_dead_process_left_is_taken_over(tmp_path: Path) -> None:
    """One of another machine is not: nobody can tell whether that one is dead."""
    write(tmp_path / '.gpassk' / 'lock', [2**22 + 1, socket.gethostname(), 'then'])
    with WorkDirLock(tmp_path):
        pass
    write(tmp_path / '.gpassk' / 'lock', [1, 'elsewhere', 'then'])
    with pytest.raises(
        IncompleteError, match=r'process 1 on elsewhere since then: .* remove its .gpassk/lock'
    ):
        WorkDirLock(tmp_path).__enter__()


def is_running(pid: int) -> bool:
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    except OSError:
        return False


def test_a_command_that_outlives_its_driver_keeps_the_lock(tmp_path: Path) -> None:
    """After a kill -9 of `gpassk run`, OpenCompass goes on; nobody may start a second one beside it."""
    text = (
        'import os, subprocess, sys\n'
        'from pathlib import Path\n'
        'from gpassk_opencompass.runs.lock import WorkDirLock\n'
        'lock = WorkDirLock(Path(sys.argv[1])).__enter__()\n'
        "sleep = ['sleep', '600']\n"
        'child = subprocess.Popen(sleep, pass_fds=(lock.fileno,), start_new_session=True, stdout=2)\n'
        'lock.note_group(child.pid)\n'
        'print(child.pid, flush=True)\n'
        'os.kill(os.getpid(), 9)\n'
    )
    killed = subprocess.run(
        [sys.executable, '-c', text, str(tmp_path)], stdout=subprocess.PIPE, text=True, check=False
    )
    child = int(killed.stdout)
    with pytest.raises(
        IncompleteError, match=rf'left, since \d+_\d+: wait for it, or end it: kill -- -{child}$'
    ):
        WorkDirLock(tmp_path).__enter__()
    os.killpg(child, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    with WorkDirLock(tmp_path):
        pass


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_sweep_leaves_no_process_and_goes_on(
    sweep: Path, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    """Ctrl-C, or the end of a job of a cluster: the tasks end too, and the message says how to go on."""
    write_configs(sweep, 'hang', 'never')
    hanging = sweep / 'control' / 'hanging'
    noted: list[Holder | None] = []

    def interrupt() -> None:
        deadline = time.monotonic() + 60
        while not (hanging.exists() and hanging.read_text()) and time.monotonic() < deadline:
            time.sleep(0.01)
        noted.append(holder_of(sweep / 'out' / 'hang'))
        os.kill(os.getpid(), number)

    Thread(target=interrupt).start()
    assert run('--jobs', '1', '--', '--retry', '0') == 130
    said = capsys.readouterr()
    assert 'hang: partial' in said.out
    assert '16 of 32 predictions' in said.out
    assert 'gpassk run configs -w out -- --retry 0' in said.err
    assert not is_running(int(hanging.read_text()))
    assert [holder and holder.group for holder in noted] == [calls(sweep)[0]['pid']], 'for after a kill -9'
    assert called(sweep) == ['hang']
    behave(sweep, 'hang', 'ok')
    behave(sweep, 'never', 'ok')
    assert run() == 0
    assert '-r' in calls(sweep)[1]['arguments']


def test_after_a_kill_of_the_driver_its_notes_still_serve(tmp_path: Path) -> None:
    """A line without an end, or a torn one, is no obstacle; the workers of the start are known."""
    starts = Starts(tmp_path)
    starts.begin(Start('20260101_000000', None, 4, '/c.py', 'x'))
    path = tmp_path / '.gpassk' / 'starts.jsonl'
    with path.open('a') as file:
        file.write('{"started": "2026')
    starts = Starts(tmp_path)
    starts.begin(Start('20260101_000100', '20260101_000005', 4, '/c.py', 'x'))
    starts.end(0, stopped=False)
    starts = Starts(tmp_path)
    made, last = starts.made('20260101_000005'), starts.last_of('20260101_000005')
    assert made is not None
    assert last is not None
    assert (made.workers, made.code) == (4, None)
    assert (last.resumes, last.code) == ('20260101_000005', 0)
    assert len(path.read_text().splitlines()) == 4


def test_configs_that_the_template_no_longer_gives_are_left_out(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless they are named."""
    configs = write_configs(sweep, 'ok', 'old')
    behave(sweep, 'old', 'ok')
    entry = Entry('old.py', 't.py', 'm', 'm', 'm', 'd', {}, 'd', (2,), 4, None, 's', 'x', stale=True)
    write(configs / 'manifest.jsonl', manifest_text([entry]))
    assert run() == 0
    assert 'such as old.py' in capsys.readouterr().err
    assert called(sweep) == ['ok']
    assert main(['run', 'configs/old.py', '-w', 'out']) == 0
    assert called(sweep) == ['ok', 'old']


def test_two_configs_of_one_name_are_refused(tmp_path: Path) -> None:
    """They would share a work directory."""
    first, second = (write(tmp_path / folder / 'run.py', config_text()) for folder in 'ab')
    with pytest.raises(InputError, match='have one name'):
        planned_runs([first, second])
    assert len(planned_runs([first, tmp_path / 'a']).runs) == 1


@pytest.mark.parametrize('text', [None, 'models = ['])
def test_a_config_that_cannot_be_read_is_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str], text: str | None
) -> None:
    """Before anything is started."""
    write_configs(sweep, 'ok')
    if text is not None:
        write(sweep / 'configs' / 'wrong.py', text)
    assert main(['run', 'configs/ok.py', 'configs/wrong.py']) == 2
    assert 'wrong.py' in capsys.readouterr().err
    assert calls(sweep) == []


def test_without_opencompass_the_pip_line_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is an extra."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'executable', str(tmp_path / 'python'))
    monkeypatch.setenv('PATH', str(tmp_path))
    write_configs(tmp_path, 'ok')
    assert run() == 2
    assert 'pip install "gpassk_opencompass[opencompass]"' in capsys.readouterr().err


def test_where_nothing_can_be_written_the_run_says_so(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here a file is in the way."""
    write_configs(sweep, 'ok')
    write(sweep / 'out', '')
    assert run() == 1
    assert 'cannot be started' in capsys.readouterr().out


def test_a_terminal_shows_what_is_at_work(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, rewritten; a log file gets only the start and the end of each run."""
    write_configs(sweep, 'ok')
    monkeypatch.setattr(sys.stdout, 'isatty', lambda: True)
    assert run() == 0
    assert '[1/1] ok: starting OpenCompass, 0 s' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('logs', 'step'),
    [
        ({}, 'starting OpenCompass'),
        ({'infer/m/d.out': ' 40%|████| 4/10\r 72%|███████| 7/10'}, 'sampling, 70 %'),
        ({'infer/m/d_0.out': '100%|██| 9/9', 'infer/m/d_1.out': ''}, 'sampling, 50 %'),
        ({'infer/m/d.out': '100%|██████████| 10/10', 'eval/m/d.out': ''}, 'judging the answers'),
    ],
)
def test_the_step_is_read_from_the_logs(tmp_path: Path, logs: dict[str, str], step: str) -> None:
    """Shards are averaged."""
    for name, text in logs.items():
        write(tmp_path / '20260101_000000' / 'logs' / name, text)
    assert step_of(tmp_path, started=0.0) == step


def test_logs_of_an_earlier_command_do_not_count(tmp_path: Path) -> None:
    """A resumed run starts at the start."""
    path = write(tmp_path / '20260101_000000' / 'logs' / 'eval' / 'm' / 'd.out', '')
    os.utime(path, (1, 1))
    assert step_of(tmp_path, started=2.0) == 'starting OpenCompass'


def test_options_are_split_as_opencompass_would(tmp_path: Path) -> None:
    """Those that matter here are taken out, the others keep their order."""
    options = read_options(['--debug', '-m', 'infer', '--max-num-workers', '2', '--retry', '1'])
    assert options.passed == ('--debug', '--retry', '1', '-m', 'infer')
    assert (options.workers, options.mode) == (2, 'infer')


def test_predictions_without_an_end_are_not_evaluated_twice(sweep: Path) -> None:
    """All samples there, no result: the run goes on where it is."""
    write_configs(sweep, 'unjudged')
    assert run() == 1
    behave(sweep, 'unjudged', 'ok')
    assert run() == 0
    [path] = sweep.glob('out/unjudged/*/predictions/*/*.json')
    assert json.loads(path.read_text()) == predictions(32)


def test_nohup_keeps_its_promise() -> None:
    """The end of a terminal stops a sweep, unless the user has said that it shall not."""
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Stop() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with Stop() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stop
    finally:
        signal.signal(signal.SIGHUP, former)


PAGE = (Path(__file__).resolve().parents[1] / 'docs' / 'running.md').read_text(encoding='utf-8')
COMMANDS = re.findall(r'^gpassk (.*)$', PAGE, re.MULTILINE)


@pytest.mark.parametrize('line', COMMANDS)
def test_the_page_on_running_shows_what_is_understood(line: str) -> None:
    """Each command line is parsed, and what it passes on is accepted."""
    own, _, rest = line.partition(' -- ')
    name, *arguments = shlex.split(own, comments=True)
    parsed = parser_for(name).parse_args([name, *arguments])
    if name == 'run':
        read_options(shlex.split(rest, comments=True), parsed.slurm)
