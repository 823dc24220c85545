"""`gpassk run` on GPUs: which may be used, who gets which, servers of models and judges, what starts when."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from fake_opencompass import behave, called, calls, config_text, run, write
from hypothesis import given
from hypothesis import strategies as st
from scripted_gpus import forget, install, mig, uuid
from started_servers import Script, until

from gpassk_opencompass.cli import main
from gpassk_opencompass.demo import QUESTIONS, VERSION
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.runs.driver import CLIENTS, Entry, Pool, Task, usable_gpus
from gpassk_opencompass.runs.plan import Planned
from gpassk_opencompass.serving import Served, read_serve

pytestmark = pytest.mark.slow

# Which GPUs may be used


def test_which_gpus_are_used(tmp_path, monkeypatch):
    """Those of the option, else of CUDA, else all; none where there are none. MIG devices are named."""
    install(tmp_path, monkeypatch, 4)
    assert usable_gpus(None, {}) == ('0', '1', '2', '3')
    assert usable_gpus(None, {'CUDA_VISIBLE_DEVICES': '2,3,-1,1'}) == ('2', '3')
    assert usable_gpus(None, {'CUDA_VISIBLE_DEVICES': ''}) == ()
    assert usable_gpus('1,0', {'CUDA_VISIBLE_DEVICES': '2'}) == ('1', '0')
    assert usable_gpus(uuid(2), {}) == (uuid(2),)
    for wrong, complaint in (
        ('4', "'4' is no GPU of this machine; there are 0, GPU-"),
        ('0,0', 'stands there twice'),
    ):
        with pytest.raises(InputError, match=complaint):
            usable_gpus(wrong, {})
    install(tmp_path, monkeypatch, 2, profiles={1: ['3g.40gb']})
    assert usable_gpus(mig(1, 0), {}) == (mig(1, 0),)
    monkeypatch.setenv('PATH', '')
    assert usable_gpus(None, {}) == ()
    with pytest.raises(InputError, match='none that nvidia-smi -L lists'):
        usable_gpus('', {})


# The pool


def entry(gpus: int, tasks: int = 1, size: float = 1.0, *, serves: bool = True) -> Entry:
    served = Served(read_serve({}, 'vllm'), '/m', 'm', gpus) if serves else None
    return Entry([Task(Planned(str(number))) for number in range(tasks)], gpus, served, size=size)


def names(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def test_the_largest_starts_first_and_small_ones_fill_up():
    large, half, long, short = entry(8), entry(4), entry(1, size=9), entry(1, size=2)
    pool = Pool([short, long, half, large], names(8))
    assert pool.next() == [(large, tuple(names(8)))]
    pool.working.remove(large)
    assert pool.next() == [(half, ('0', '1', '2', '3')), (long, ('4',)), (short, ('5',))]


def test_a_model_gets_more_servers_where_gpus_are_left():
    """At its start, as many as its runs can ask, and later those that nobody waits for any more."""
    model, other = entry(2, tasks=3 * CLIENTS), entry(1)
    assert [gpus for _, gpus in Pool([model], names(8)).next()] == [tuple(names(6))]
    assert [len(gpus) for _, gpus in Pool([model, other], names(6)).next()] == [4, 1]
    assert [len(gpus) for _, gpus in Pool([entry(2, tasks=CLIENTS)], names(8)).next()] == [2]
    model, other = entry(2, tasks=30), entry(6)
    pool = Pool([other, model], names(8))
    assert dict(pool.next()) == {other: tuple(names(6)), model: ('6', '7')}
    assert pool.next() == []
    pool.working.remove(other)
    assert pool.next() == [(model, ('0', '1'))]
    model.tasks.clear()
    assert pool.next() == []


@given(st.lists(st.tuples(st.sampled_from([0, 1, 2, 4]), st.integers(1, 9)), max_size=20), st.data())
def test_whatever_happens_no_gpu_is_given_twice_and_all_come_to_their_turn(needs, data):
    pool = Pool([entry(gpus, tasks) for gpus, tasks in needs], names(data.draw(st.integers(4, 9))))
    working: dict[Entry, tuple[str, ...]] = {}
    done = 0
    while pool.waiting or working:
        for started, gpus in pool.next():
            working[started] = working.get(started, ()) + gpus
        used = [gpu for gpus in working.values() for gpu in gpus]
        assert len(used) == len(set(used))
        assert working
        one = list(working)[data.draw(st.integers(0, len(working) - 1))]
        del working[one]
        pool.working.remove(one)
        done += 1
    assert done == len(needs)


# Commands


def write_model(folder: Path, path: str, *names: str, behaviour: str = 'ok', **model: Any) -> None:
    """Configs of one model, on one GPU unless it says another need."""
    for name in names:
        text = config_text(name, path=path, **{'run_cfg': {'num_gpus': 1}, **model})
        write(folder / 'configs' / f'{name}.py', text)
        behave(folder, name, behaviour)


def gpus_of(folder: Path) -> dict[str, str]:
    """The real ids that each command got."""
    return {call['name']: call['gpus'].get('CUDA_VISIBLE_DEVICES', '') for call in calls(folder)}


@pytest.fixture
def two(sweep, monkeypatch):
    """A folder to type commands in, on a machine of two GPUs."""
    install(sweep, monkeypatch, 2)
    return sweep


def test_gpus_are_told_as_they_were_named(two, capsys):
    """In the process that does all of a run; OpenCompass's tasks know numbers alone."""
    write_model(two, 'org/a', 'ok')
    assert run('--gpus', uuid(1), '--', '--max-num-workers', '2') == 1
    assert f'{uuid(1)} has no number' in capsys.readouterr().out
    assert run('--gpus', uuid(1)) == 0
    [call] = calls(two)
    assert call['gpus'] == {'CUDA_VISIBLE_DEVICES': uuid(1), 'CUDA_DEVICE_ORDER': 'PCI_BUS_ID'}
    assert '--debug' in call['arguments']


def test_workers_have_gpus_of_their_own_and_keep_their_number(two, capsys):
    """It decides which samples a shard has: also where the run goes on with fewer GPUs, or another number."""
    write_model(two, 'org/a', 'long', behaviour='broken')
    assert run('--', '--max-num-workers', '2', '--retry', '0') == 1
    assert run('--', '--max-num-workers', '5') == 1
    behave(two, 'long', 'ok')
    assert run('--gpus', '0') == 0
    first, *others = calls(two)
    assert first['arguments'][3:7] == ['--retry', '0', '--max-num-workers', '2']
    assert [call['gpus']['CUDA_VISIBLE_DEVICES'] for call in calls(two)] == ['0,1', '0,1', '0']
    for call in others:
        assert call['arguments'][3:] == ['--max-num-workers', '2', *first['arguments'][-2:]]
    time = first['arguments'][-1]
    assert f'goes on in {time} on GPUs 0, 1' not in (said := capsys.readouterr().out)
    assert f'goes on in {time}, with --max-num-workers 2 as it was begun on GPUs 0, 1' in said


def test_a_model_that_does_not_fit_is_told_before_anything_starts(two, capsys):
    write_model(two, 'org/large', 'large', run_cfg={'num_gpus': 4})
    write_model(two, 'org/a', 'ok', run_cfg={'num_gpus': 2})
    write_model(two, 'org/b', 'odd', run_cfg={'num_gpus': '2'})
    assert run() == 1
    said = capsys.readouterr().out
    assert 'large: missing: its model needs 4 GPUs, and 2 may be used: 0, 1; never started\n' in said
    assert said.index('needs 4 GPUs') < said.index('ok: started on GPUs 0, 1\n')
    assert gpus_of(two) == {'ok': '0,1', 'odd': ''}


def test_without_gpus_a_command_sees_what_there_is(sweep, monkeypatch):
    forget(monkeypatch)
    monkeypatch.setenv('PATH', os.fspath(sweep / 'empty'))
    write_model(sweep, 'org/a', 'ok', run_cfg={'num_gpus': 8})
    assert run('--gpus', '0') == 2
    assert run() == 0
    assert [call['gpus'] for call in calls(sweep)] == [{}]


def test_gpus_of_this_machine_are_not_for_a_cluster(two, capsys):
    """Which has others; and those of a login node are not counted, nor judges looked for."""
    write_model(two, 'org/a', 'ok', run_cfg={'num_gpus': 8})
    judged(two, 'judged', {'serve': {'command': 'no-such-judge --port {port}'}}, gpus=8)
    assert run('--gpus', '0', '--', '--slurm') == 2
    assert 'it names GPUs of this machine' in capsys.readouterr().err
    assert run('--', '--slurm', '-p', 'debug') == 0
    assert gpus_of(two) == {'ok': '', 'judged': ''}


# Servers


@pytest.fixture
def script(tmp_path):
    """A scripted server, of which nothing may be left."""
    found = Script(tmp_path / 'script')
    yield found
    until(lambda: not found.processes)


def served(script: Script, **more: Any) -> dict[str, Any]:
    return {'serve': script.serve(), 'served_name': 'm', 'batch_size': 8, 'run_cfg': {'num_gpus': 1}, **more}


def test_the_runs_of_a_model_share_a_server(two, script, capsys):
    """At once, on its GPU, with none of their own and a share of the requests; another model beside."""
    write_model(two, 'org/a', 'a', 'b', behaviour='meet', **served(script))
    write_model(two, 'org/c', 'c', **served(script))
    assert run() == 0  # each of the first two waits for the other one
    assert sorted(start['gpus'] for start in script.starts) == ['0', '1']
    one, other = (call['servers'] for call in calls(two) if call['name'] in 'ab')
    assert one == other
    [[address]] = one.values()
    assert address in {f'http://127.0.0.1:{start["port"]}' for start in script.starts}
    assert gpus_of(two) == {'a': '', 'b': '', 'c': ''}
    assert {call['hardware'] for call in calls(two)} == {'1 x NVIDIA H100 80GB HBM3'}
    [model] = runpy.run_path(str(two / 'out/a/.gpassk/a.py'))['models']
    assert (model['run_cfg'], model['batch_size']) == ({'num_gpus': 0}, 4)
    said = capsys.readouterr().out
    assert 'm: starting its server on GPU 0, log: ' in said
    assert 'm: its server is ready after' in said


@pytest.mark.parametrize('trouble', ['broken', 'another name', 'killed'])
def test_a_server_that_fails_costs_its_runs_alone(two, script, capsys, trouble):
    wanted, cause = served(script), "the server of 'm' was killed by signal 9 (SIGKILL)"
    if trouble == 'another name':
        wanted['serve'] = {**wanted['serve'], 'command': script.command.replace('{name}', 'other')}
        cause = "the server has 'other', and not 'm'"
    elif trouble == 'broken':
        script.set('broken', 'RuntimeError: CUDA out of memory')
        cause = "the server of 'm' ended with code 1 before it was ready: RuntimeError: CUDA out of memory"
    else:
        Thread(target=lambda: until((two / 'control' / 'hanging').exists) and script.kill()).start()
    write_model(two, 'org/a', 'a', 'b', behaviour='hang', **wanted)
    write_model(two, 'org/c', 'other', behaviour='ok')
    assert run() == 1
    said = capsys.readouterr().out
    assert cause in said
    assert 'other: complete' in said
    assert ': failed' in said
    if trouble == 'killed':
        assert main(['check', 'out']) == 1
        assert cause in capsys.readouterr().out
    script.set('broken', '')
    write_model(two, 'org/a', 'a', 'b', **served(script))
    assert run() == 0


def judged(folder: Path, name: str, judge: dict[str, Any], *, gpus: int = 1, **model: Any) -> None:
    """A config of a model on GPUs, with a judge that is started for it."""
    command = f'{sys.executable} {{model}} --port {{port}}'
    text = config_text(name, path=f'org/{name}', run_cfg={'num_gpus': gpus}, **model)
    told = {'path': 'org/judge', 'serve': {'command': command}, **judge}
    text = text.replace("'model_name': ''", f"'model_name': '', 'judge_serve': {told!r}")
    write(folder / 'configs' / f'{name}.py', text)
    behave(folder, name, 'ok')


def test_a_judge_is_served_when_all_is_sampled(two, script):
    """Models have all GPUs before, the judge one server for all evaluations after."""
    judge = {'serve': script.serve(), 'name': 'j', 'tp': 2}
    for name, gpus in (('a', 2), ('b', 1)):
        judged(two, name, judge, gpus=gpus)
    write_model(two, 'org/c', 'plain')
    assert run() == 0
    sampling, judging = calls(two)[:3], calls(two)[3:]
    sampled = {call['name']: 'infer' in call['arguments'] for call in sampling}
    assert sampled == {'a': True, 'b': True, 'plain': False}
    assert {call['gpus']['CUDA_VISIBLE_DEVICES'] for call in judging} == {''}
    assert [start['gpus'] for start in script.starts] == ['0,1']
    [servers] = [call['servers'] for call in judging if call['name'] == 'a']
    assert [*servers.values()] == [[f'http://127.0.0.1:{script.starts[0]["port"]}']]
    assert run() == 0
    assert len(calls(two)) == 5


@pytest.mark.parametrize(
    ('judge', 'reason'),
    [
        ({'path': '/no/such/judge'}, "path = '/no/such/judge': there is no such file or folder"),
        ({'tp': 16}, 'judge needs 16 GPUs, and 2 may be used'),
    ],
)
def test_a_judge_that_cannot_be_started_costs_no_sample(two, capsys, judge, reason):
    judged(two, 'judged', judge)
    write_model(two, 'org/a', 'plain')
    assert run() == 1
    assert f'judged: missing: {reason}' in capsys.readouterr().out
    assert called(two) == ['plain']
    assert run('--', '-m', 'infer') == 0
    assert called(two) == ['plain', 'judged']


def test_expansion_says_that_a_judge_is_not_here(sweep, capsys):
    """Once, and the configs are written: they may be for another machine, of which --no-data-check tells."""
    lines = [
        "llm_infos, temperatures, max_out_lens, greedy = ['org/m'], [0.3, 1.0], [64], False",
        f"dataset_path, version, dataset_splits = {QUESTIONS!r}, {VERSION!r}, ['ADD']",
        "dataset_languages = ['en']",
        "judge_serve = dict(path='j', serve=dict(command='no-such-judge --port {port}'))",
    ]
    template = write(sweep / 'template.py', '\n'.join(lines))
    assert main(['expand', str(template)]) == 0
    said = capsys.readouterr()
    assert said.err.count("begins with 'no-such-judge'") == 1
    assert said.out.startswith('2 configs')
    assert main(['expand', str(template), '--no-data-check']) == 0
    assert 'no-such-judge' not in capsys.readouterr().err
