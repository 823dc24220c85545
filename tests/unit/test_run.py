"""`gpassk run`: which commands it starts, what it makes of their end, what a stop or a kill leaves."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
import pytest
from fake_opencompass import behave, called, calls, config_text, record, run, write, write_configs
from started_servers import until

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import IncompleteError, InputError
from gpassk_opencompass.processes import marked
from gpassk_opencompass.runs.opencompass import prepare_directory
from gpassk_opencompass.runs.plan import part_of, planned_runs
from gpassk_opencompass.runs.work_dir import HOLDER, lock

pytestmark = pytest.mark.slow


def results(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in folder.glob(f'out/{name}/*/results/*/*.json')]


def is_running(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def times(folder: Path) -> list[str]:
    """The time directories that the commands were told to work in."""
    lines = [call['arguments'] for call in calls(folder)]
    return [words[words.index('-r') + 1] for words in lines]


def test_every_config_gets_a_work_directory_of_its_name(sweep, capsys):
    """With a result in a time directory that is named beforehand; a second command finds nothing to do."""
    write_configs(sweep, 'one', 'two')
    assert run() == 0
    for name in ('one', 'two'):
        assert results(sweep, name) == [record(model=f'm-{name}', dataset=f'd-{name}')]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == '[1/2] one: started'
    assert re.fullmatch(r'\[1/2\] one: complete, \d+ s', said[1])
    assert said[-1] == '2 runs: 2 complete'
    assert run() == 0
    assert '[1/2] one: already complete' in capsys.readouterr().out
    assert called(sweep) == ['one', 'two']
    assert [path.name for path in sweep.glob('out/one/2*')] == times(sweep)[:1]


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('configs -- --work x', 'give -w before the --'),
        ('configs -- -m viz', "choose from 'all', 'infer', 'eval'"),
        ('configs --keep all', 'a list of questions,'),
        ('configs/manifest.jsonl', 'did you mean gpassk run configs?'),
        ('configs -- --max-num-workers 0', 'at least 1'),
        ('configs -w configs/ok.py', 'ok.py is a file'),
        ('configs more/ok.py', 'have one name'),
        ('more/template.py', 'is a template: gpassk expand writes configs'),
        ('more/half.py', 'is no config of OpenCompass: it needs models and datasets'),
        ('more/computed.py', 'computes or imports its values'),
    ],
)
def test_what_would_mislead_is_refused(sweep, capsys, line, message):
    write_configs(sweep, 'ok')
    texts = {'ok': config_text(), 'half': "models = [{'abbr': 'm'}]", 'torn': 'models = ['}
    texts |= {
        'template': 'import os\nllm_infos = [dict(path=os.sep)]',
        'computed': f'import os\n{texts["ok"]}',
    }
    for name, text in texts.items():
        write(sweep / 'more' / f'{name}.py', text)
    assert main(['run', *line.split()]) == 2
    assert message in capsys.readouterr().err
    assert calls(sweep) == []


def test_a_changed_config_is_started_anew_and_a_changed_judge_takes_the_samples(sweep):
    """Samples of other settings are never mixed with those of these; what is not of use any more stays."""
    configs = write_configs(sweep, 'run')
    behave(sweep, 'run', 'ok')
    for settings, time_dirs in (({}, 1), ({'judge': 'Qwen'}, 1), ({'temperature': 0.5}, 2)):
        (configs / 'run.py').write_text(config_text(**settings))
        assert run() == 0
        assert len({*times(sweep)}) == len(results(sweep, 'run')) == time_dirs
        if 'judge' in settings:
            assert results(sweep, 'run') == [record(judge='Qwen')]
    [aside] = sweep.glob('out/run/*/results/*/*.aside')
    assert json.loads(aside.read_text()) == record()


@pytest.mark.parametrize('behaviour', ['killed', 'killed-late'])
def test_a_task_that_dies_without_a_traceback_shows_its_own_log(sweep, capsys, behaviour):
    """Killed for memory, aborted by CUDA, refused by srun; what opencompass says of it comes after."""
    write_configs(sweep, behaviour)
    assert run() == 1
    said = capsys.readouterr()
    assert f'srun: error: node7: Killed (end of d-{behaviour}_1.out, which has no traceback)' in said.out
    assert f'd-{behaviour}_1.out\nloading\nsrun: error: node7: Killed' in said.err
    assert 'failed with code 137' in said.err


def test_samples_first_and_verdicts_later(sweep, capsys):
    """-m infer is done with all samples drawn; -m eval starts nothing without them."""
    write_configs(sweep, 'ok')
    assert run('--', '-m', 'eval') == 1
    assert calls(sweep) == []
    assert run('--', '-m', 'infer') == run('--', '-m', 'infer') == 0
    assert 'ok: partial' in capsys.readouterr().out
    assert run('--', '-m', 'eval') == 0
    assert [call['arguments'][3:5] for call in calls(sweep)] == [['-m', 'infer'], ['-m', 'eval']]
    assert main(['check', 'out']) == 0


def test_data_sets_of_one_model_and_setting_are_one_run(sweep, capsys):
    """Where the model is loaded in process. All results lie in the work directory that is named before @."""
    kind, server = (
        {'type': f'gpassk_opencompass.{one}', 'abbr': 'm'} for one in ('SeededVLLM', 'SeededServed')
    )
    warm = {**kind, 'temperature': 0.5}
    for name, model in (
        ('m_t1@a', kind),
        ('m_t1@b', kind),
        ('m_t2@a', warm),
        ('s@a', server),
        ('s@b', server),
    ):
        write(sweep / 'configs' / f'{name}.py', config_text(name, **model))
        behave(sweep, name, 'ok')
    behave(sweep, 'm_t1', 'ok')
    assert run() == run() == 0
    assert sorted(called(sweep)) == ['m_t1', 'm_t2@a', 's@a', 's@b']
    found = {path.stem for path in sweep.glob('out/m_t1/*/results/m/*.json')}
    assert found == {'d-m_t1@a', 'd-m_t1@b'}
    for options in ([], ['--configs', 'configs']):
        assert main(['check', 'out', *options]) == 0
        assert '4 runs: 4 complete' in capsys.readouterr().out
    write(sweep / 'configs' / 'm_t1@b.py', config_text('m_t1@b', **kind, k=[4]))
    assert main(['check', 'out']) == 1
    assert '1 of 2 results: k or the judge was changed since' in capsys.readouterr().out


def test_only_what_failed_is_run_again(sweep, capsys):
    """Each failure has a line with its reason, though OpenCompass exits with 0, and the first one its log."""
    write_configs(sweep, 'broken', 'crash', 'good')
    assert run() == 1
    said = capsys.readouterr()
    assert said.err.count('Traceback') == 1
    assert 'failed with code 1' in said.err
    for name, reason in (('broken', 'RuntimeError: broken'), ('crash', 'KeyError: crash')):
        assert re.search(rf'\] {name}: failed, .*{reason}', said.out)
        assert [line for line in said.err.splitlines() if line.startswith('--- ') and f'/{name}/' in line]
        behave(sweep, name, 'ok')
    assert run() == 0
    assert called(sweep) == ['broken', 'crash', 'good', 'broken', 'crash']


# Where commands run


def test_parts_are_all_of_it_and_a_model_is_in_one(sweep):
    for number in range(6):
        for run_of in range(number + 1):
            text = config_text(f'{number}-{run_of}', path=f'org/{number}')
            write(sweep / 'configs' / f'm{number}-{run_of}.py', text)
    runs = planned_runs([sweep / 'configs'])
    for count in (1, 2, 3, 20):
        parts = [part_of(runs, number, count) for number in range(1, count + 1)]
        assert sorted(one.name for part in parts for one in part) == sorted(one.name for one in runs)
        assert sum(len({one.name[1] for one in part}) for part in parts) == 6
        assert max(map(len, parts)) - min(map(len, parts)) <= 6
    assert run('--part', '1/3', '--dry-run') == 0
    with pytest.raises(SystemExit):
        run('--part', '4/3')


def test_every_command_runs_in_a_directory_of_its_own(sweep):
    """OpenCompass writes ./tmp and ./.cache; a size of a data set that was remembered there is forgotten."""
    write_configs(sweep, 'ok')
    cache = write(sweep / 'out/ok/.gpassk/cwd/.cache/dataset_size.json', {'d-ok': 1})
    assert run() == 0
    assert calls(sweep)[0]['cwd'] == str(sweep / 'out/ok/.gpassk/cwd')
    assert json.loads(cache.read_text()) == {'d-ok': 32}
    assert sorted(path.name for path in (sweep / 'out/ok').iterdir())[0] == '.gpassk', 'for opencompass -r'


def test_relative_paths_of_a_config_lead_where_they_led(tmp_path):
    """What exists as seen from where the command is typed is linked, or refused; the rest is left alone."""
    write(tmp_path / 'data' / 'bench' / 'x', 'found')
    config = {'path': './data/bench', 'other': 'Qwen/Qwen2.5-7B', 'long': ['x' * 500, 'x' * 9999]}
    config |= {'judge': {'verdicts': './out/v'}, 'within': 'data/bench/x'}
    directory = prepare_directory(tmp_path / 'out', config, tmp_path)
    assert (directory / './data/bench/x').read_text() == 'found'
    # Not the folder around it, which may hold the work directory: a copy that follows links would not end.
    links = {path.relative_to(directory) for path in directory.rglob('*') if path.is_symlink()}
    assert links == {Path('data/bench'), Path('out/v')}
    assert (tmp_path / 'out/v').is_dir()
    assert list(prepare_directory(tmp_path / 'out', {'path': 1}, tmp_path).iterdir()) == []
    for path in ('../elsewhere', 'tmp/data'):
        write(tmp_path / 'here' / path / 'x', '')
        with pytest.raises(InputError, match='write an absolute path'):
            prepare_directory(tmp_path / 'out', {'path': path}, tmp_path / 'here')


# One at a time, stops and kills


def test_a_work_directory_in_use_is_left_alone(sweep, monkeypatch, capsys):
    """Who is at work is said by name; of another machine nobody can tell from here whether that is dead."""
    write_configs(sweep, 'a', 'ok')
    with lock(sweep / 'out' / 'a', 'mark'):
        assert run() == 1
    assert f'in use by process {os.getpid()} on {socket.gethostname()}' in capsys.readouterr().out
    assert called(sweep) == ['ok']
    with monkeypatch.context() as there:
        there.setattr(socket, 'gethostname', lambda: 'node7')
        there.setenv('SLURM_JOB_ID', '4711')
        with lock(sweep / 'out' / 'a', 'mark'):
            note = (sweep / 'out' / 'a' / HOLDER).read_bytes()
    (sweep / 'out' / 'a' / HOLDER).write_bytes(note)  # as if it had been killed
    assert run() == 1
    said = capsys.readouterr().out
    assert f'in use by process {os.getpid()} on node7, Slurm job 4711, since' in said
    assert '--take-over' in said
    assert main(['check', 'out']) == 1
    assert 'at work, 0 of ? predictions (process' in capsys.readouterr().out
    behave(sweep, 'a', 'ok')
    assert run('--take-over', 'node7 is down') == 0
    assert called(sweep) == ['ok', 'a']


def test_what_a_dead_process_left_is_ended_before_it_is_taken_over(tmp_path):
    code = (
        'import os, signal, subprocess, sys\nfrom pathlib import Path\n'
        'from gpassk_opencompass.runs.work_dir import lock\n'
        'from gpassk_opencompass.processes import MARKS\n'
        'signal.signal(signal.SIGTERM, signal.SIG_IGN)\n'
        "held = lock(Path(sys.argv[1]), 'mark-of-this')\nheld.__enter__()\n"
        "env = {**os.environ, MARKS: 'other,mark-of-this'}\n"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True, stdout=2, env=env)\n"
        'print(child.pid, flush=True)\nos.kill(os.getpid(), 9)\n'
    )
    killed = subprocess.run(
        [sys.executable, '-c', code, str(tmp_path)], stdout=subprocess.PIPE, text=True, check=False
    )
    child = psutil.Process(int(killed.stdout))
    assert child in marked('mark-of-this')
    with lock(tmp_path, 'mine'):
        assert not is_running(child.pid)
        with pytest.raises(IncompleteError, match='in use by process'):
            lock(tmp_path, 'mine').__enter__()


def at_work(sweep: Path) -> int:
    """The process of a task, when it hangs."""
    hanging = sweep / 'control' / 'hanging'
    return int(until(lambda: hanging.exists() and hanging.read_text()))


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_sweep_leaves_no_process_and_goes_on(sweep, capsys, number):
    """Ctrl-C, or the end of a job of a cluster: the tasks end too, and the message says how to go on."""
    write_configs(sweep, 'hang', 'never')
    Thread(target=lambda: at_work(sweep) and os.kill(os.getpid(), number)).start()
    assert run('--jobs', '1', '--', '--retry', '0') == 130
    said = capsys.readouterr()
    assert 'hang: partial' in said.out
    assert '16 of 32 predictions' in said.out
    assert 'Nothing is lost: type it again to go on' in said.err
    assert not is_running(at_work(sweep))
    assert called(sweep) == ['hang']
    behave(sweep, 'hang', 'ok')
    behave(sweep, 'never', 'ok')
    assert run() == 0
    assert times(sweep)[0] == times(sweep)[1]
