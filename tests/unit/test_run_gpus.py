"""`gpassk run` on GPUs: which may be used, who gets which, servers of models and judges, what starts when."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from fake_opencompass import behave, calls, config_text, run, write
from hypothesis import given
from hypothesis import strategies as st
from scripted_gpus import install, mig, uuid
from started_servers import Script, until

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.runs.driver import Entry, Pool, Task, usable_gpus
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


def test_a_model_that_does_not_fit_is_told_before_anything_starts(two, capsys):
    write_model(two, 'org/large', 'large', run_cfg={'num_gpus': 4})
    write_model(two, 'org/a', 'ok', run_cfg={'num_gpus': 2})
    write_model(two, 'org/b', 'odd', run_cfg={'num_gpus': '2'})
    assert run() == 1
    said = capsys.readouterr().out
    assert 'large: missing: its model needs 4 GPUs, and 2 may be used: 0, 1; never started\n' in said
    assert said.index('needs 4 GPUs') < said.index('ok: started on GPUs 0, 1\n')
    assert gpus_of(two) == {'ok': '0,1', 'odd': ''}


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
