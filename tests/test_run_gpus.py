"""`gpassk run` on GPUs: which command gets which, and what starts when some are free."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import behave, called, calls, config_text, run, write
from scripted_gpus import Silent, forget, install, mig, uuid

from gpassk_opencompass.cli import main
from gpassk_opencompass.runs.command import Options
from gpassk_opencompass.runs.driver import Driver
from gpassk_opencompass.runs.gpus import usable_gpus
from gpassk_opencompass.runs.plan import planned_runs
from gpassk_opencompass.runs.processes import Stop
from gpassk_opencompass.runs.work_dir import Starts

pytestmark = pytest.mark.slow


def write_model(folder: Path, path: str, *names: str, behaviour: str = 'ok', **model: Any) -> None:
    """Configs of one model, on one GPU unless it says another need."""
    for name in names:
        text = config_text(name, path=path, **{'run_cfg': {'num_gpus': 1}, **model})
        write(folder / 'configs' / f'{name}.py', text)
        behave(folder, name, behaviour)


def gpus_of(folder: Path) -> dict[str, str]:
    """The real ids that each command got."""
    return {call['name']: call['gpus'].get('GPASSK_GPUS', '') for call in calls(folder)}


@pytest.fixture
def two(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to type commands in, on a machine of two GPUs."""
    install(sweep, monkeypatch, 2)
    return sweep


def test_two_models_share_two_gpus(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At the same time, as each first run waits for the other; the second ones stay where they are loaded."""
    write_model(two, 'org/a', 'a1', 'b1', behaviour='meet')
    write_model(two, 'org/b', 'b1', behaviour='meet')
    write_model(two, 'org/a', 'a2')
    write_model(two, 'org/b', 'b2')
    assert run() == 0
    got = gpus_of(two)
    assert sorted(got) == ['a1', 'a2', 'b1', 'b2']
    assert {got['a1'], got['b1']} == {'0', '1'}
    assert (got['a1'], got['b1']) == (got['a2'], got['b2'])
    sessions = {call['name']: call['gpus']['GPASSK_SESSION'] for call in calls(two)}
    assert sessions == {'a1': 'a1', 'a2': 'a1', 'b1': 'b1', 'b2': 'b1'}
    assert f'a1: started on GPU {got["a1"]}\n' in capsys.readouterr().out


def test_opencompass_of_another_environment_gets_real_numbers(two: Path) -> None:
    """Counted as nvidia-smi counts, also where they were named otherwise."""
    write_model(two, 'org/a', 'ok')
    assert run('--gpus', uuid(1)) == 0
    [call] = calls(two)
    assert call['gpus'] == {
        'CUDA_VISIBLE_DEVICES': '1',
        'GPASSK_GPUS': uuid(1),
        'GPASSK_SESSION': 'ok',
        'CUDA_DEVICE_ORDER': 'PCI_BUS_ID',
    }


def test_a_device_without_a_number_needs_the_own_opencompass(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another one would read numbers out of its id."""
    install(sweep, monkeypatch, 1, profiles={0: ['1g.10gb']})
    write_model(sweep, 'org/a', 'ok')
    assert run() == 1
    assert f'{mig(0, 0)} has no number' in capsys.readouterr().out
    assert calls(sweep) == []


def test_a_model_that_does_not_fit_is_told_before_anything_starts(
    two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others run."""
    write_model(two, 'org/large', 'large', run_cfg={'num_gpus': 4})
    write_model(two, 'org/wide', 'wide', run_cfg={'num_gpus': 1, 'gpu_memory': 100.0})
    write_model(two, 'org/a', 'ok', run_cfg={'num_gpus': 2})
    assert run() == 1
    said = capsys.readouterr().out
    assert 'large: missing: needs 4 GPUs, and 2 may be used: 0, 1; never started\n' in said
    assert 'wide: missing: needs 100 GB of a GPU, and the largest has 80 GB; never started\n' in said
    assert said.index('needs 4 GPUs') < said.index('ok: started on GPUs 0, 1\n')
    assert gpus_of(two) == {'ok': '0,1'}


@pytest.mark.parametrize('options', [['--gpus', '1'], ['--jobs', '1']])
def test_fewer_are_used_where_fewer_are_wanted(two: Path, options: list[str]) -> None:
    """One after the other: the one that waits for another one waits in vain."""
    write_model(two, 'org/a', 'a')
    write_model(two, 'org/b', 'b')
    assert run(*options) == 0
    assert set(gpus_of(two).values()) == {options[1]} if options[0] == '--gpus' else {'0'}


def test_a_long_run_is_divided_among_idle_gpus_and_goes_on_so(two: Path) -> None:
    """With as many workers as it has slots, also when it goes on with fewer GPUs."""
    write_model(two, 'org/a', 'long', max_out_len=10**6, behaviour='broken')
    assert run() == 1
    behave(two, 'long', 'ok')
    assert run('--gpus', '0') == 0
    first, second = calls(two)
    assert first['arguments'][-2:] == ['--max-num-workers', '2']
    assert second['arguments'][-4:-2] == ['--max-num-workers', '2']
    assert [call['gpus']['CUDA_VISIBLE_DEVICES'] for call in (first, second)] == ['0,1', '0']
    assert [start.workers for start in Starts(two / 'out' / 'long')._starts] == [2, 2]


def test_a_run_begun_on_one_gpu_goes_on_as_one(two: Path) -> None:
    """Its samples lie in one file."""
    write_model(two, 'org/a', 'long', max_out_len=10**6, behaviour='broken')
    assert run('--gpus', '0') == 1
    behave(two, 'long', 'ok')
    assert run() == 0
    assert ['--max-num-workers' in call['arguments'] for call in calls(two)] == [False, False]
    assert gpus_of(two) == {'long': '0'}


def test_a_run_begun_by_hand_is_not_divided(two: Path) -> None:
    """Nobody knows how many shards it was begun with, so it has those of the command: one."""
    write_model(two, 'org/a', 'long', max_out_len=10**6)
    config = (two / 'configs' / 'long.py').read_text()
    write(two / 'out' / 'long' / '20260101_000000' / 'configs' / 'x.py', config)
    assert run() == 0
    [call] = calls(two)
    assert '-r' in call['arguments']
    assert call['gpus']['GPASSK_GPUS'] == '0'


@pytest.mark.parametrize(
    'asked', [{'num_gpus': -1}, {'num_gpus': '2'}, {'num_gpus': 1, 'gpu_memory': -3}, 'x']
)
def test_a_need_that_is_none_stops_nothing(two: Path, asked: Any) -> None:
    """A config is anybody's; OpenCompass says what it does not take."""
    write_model(two, 'org/a', 'a', 'b', run_cfg=asked)
    assert run() == 0
    assert sorted(called(two)) == ['a', 'b']


def test_parts_of_a_gpu_are_shared(two: Path) -> None:
    """Two models of 30 GB at the same time on one of 80."""
    for name in ('a', 'b'):
        write_model(two, f'org/{name}', name, behaviour='meet', run_cfg={'num_gpus': 1, 'gpu_memory': 30.0})
    assert run('--gpus', '0') == 0
    assert gpus_of(two) == {'a': '0', 'b': '0'}
    assert {call['gpus']['GPASSK_GPU_MEMORY'] for call in calls(two)} == {'30'}


def test_the_next_run_samples_while_answers_are_judged(two: Path) -> None:
    """Each of the two waits in its evaluation until the other one is there, on one GPU."""
    write_model(two, 'org/a', 'a', 'b', behaviour='judge')
    assert run('--gpus', '0') == 0
    assert gpus_of(two) == {'a': '0', 'b': '0'}


def test_another_model_takes_the_gpu_while_the_last_answers_are_judged(two: Path) -> None:
    """Nothing is left to sample for the one before."""
    write_model(two, 'org/a', 'a', behaviour='judge')
    write_model(two, 'org/b', 'b', behaviour='judge')
    assert run('--gpus', '0') == 0


def test_what_is_sampled_needs_no_gpu(two: Path) -> None:
    """It is judged with none, also where its model would not fit any more."""
    write_model(two, 'org/a', 'a', run_cfg={'num_gpus': 2})
    assert run('--', '-m', 'infer') == 0
    assert run('--gpus', '0') == 0
    assert [call['gpus'].get('CUDA_VISIBLE_DEVICES') for call in calls(two)] == ['0,1', None]


def test_models_behind_a_server_are_bounded_by_jobs_alone(two: Path) -> None:
    """And do not wait for GPUs."""
    write_model(two, 'org/api', 'a', 'b', behaviour='meet', run_cfg={'num_gpus': 0})
    write_model(two, 'org/gpu', 'c', 'd', run_cfg={'num_gpus': 2})
    assert run('--jobs', '2') == 0
    assert gpus_of(two) == {'a': '', 'b': '', 'c': '0,1', 'd': '0,1'}


def test_a_config_that_computes_its_models_gets_all_gpus(two: Path) -> None:
    """Nobody can tell how many it needs: as by hand."""
    write(two / 'configs' / 'ok.py', f'import os\n{config_text("ok")}')
    run()
    assert gpus_of(two) == {'ok': '0,1'}


def test_a_config_of_several_models_gets_what_the_largest_needs(two: Path) -> None:
    """OpenCompass has one at a time on them, or more."""
    models = [{'abbr': f'm{gpus}', 'run_cfg': {'num_gpus': gpus}} for gpus in (1, 2)]
    write(two / 'configs' / 'crash.py', f'models = {models!r}\ndatasets = [{{"abbr": "d"}}]\n')
    assert run() == 1
    assert gpus_of(two) == {'crash': '0,1'}


def test_gpus_on_a_machine_without_any_are_an_error(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the option all is as it was: a command at a time, which sees what there is."""
    forget(monkeypatch)
    monkeypatch.setenv('PATH', os.fspath(sweep / 'empty'))
    write_model(sweep, 'org/a', 'ok', run_cfg={'num_gpus': 8})
    assert run('--gpus', '0') == 2
    assert 'there is no GPU to use here: nvidia-smi is not in $PATH' in capsys.readouterr().err
    assert run() == 0
    [call] = calls(sweep)
    assert call['gpus'] == {'GPASSK_SESSION': 'ok'}


@pytest.mark.parametrize('options', [['--', '--slurm', '-p', 'debug'], ['--', '--dlc']])
def test_gpus_of_this_machine_are_not_for_a_cluster(
    two: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    """Which has others; and those of a login node are not counted."""
    write_model(two, 'org/a', 'ok', run_cfg={'num_gpus': 8})
    assert run('--gpus', '0', *options) == 2
    assert 'it names GPUs of this machine' in capsys.readouterr().err
    assert run(*options) == 0
    assert gpus_of(two) == {'ok': ''}


class Recorded:
    """A stand-in for the pool of warm processes: notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def command(self, line: Sequence[str]) -> list[str]:
        """The same, by another program."""
        self.asked.append(f'start {Path(line[1]).stem}')
        return ['env', *line]

    def release(self, session: str, gpus: Collection[str] = ()) -> None:
        self.asked.append(f'release {session}')


def test_a_model_is_released_before_its_gpus_are_given_away(two: Path) -> None:
    """Each once, when no run of it waits or samples; numbers are virtual where they are translated."""
    write_model(two, 'org/a', 'a1', 'a2')
    write_model(two, 'org/b', 'b')
    write_model(two, 'org/api', 'c', run_cfg={'num_gpus': 0})
    pool = Recorded()
    with Stop() as stop:
        gpus = usable_gpus('1', {})
        driver = Driver(two / 'out', Options(), Silent(), stop, gpus, pool)
        findings = driver.drive(planned_runs([two / 'configs']).runs)
    assert all(map(Options().is_done, findings))
    own = [asked for asked in pool.asked if asked not in ('start c', 'release c')]
    assert own[:4] == ['start a1', 'start a2', 'release a1', 'start b']
    assert len(pool.asked) == len(set(pool.asked))
    told = {call['name']: call['gpus'].get('CUDA_VISIBLE_DEVICES') for call in calls(two)}
    assert told == {'a1': '0', 'a2': '0', 'b': '0', 'c': None}


@pytest.mark.parametrize('given', ['', ' ', ','])
def test_a_list_of_no_gpus_is_refused(two: Path, capsys: pytest.CaptureFixture[str], given: str) -> None:
    """A variable that is not set stands for all GPUs no more than for none."""
    write_model(two, 'org/a', 'a')
    assert run('--gpus', given) == 2
    said = capsys.readouterr().err
    assert f'--gpus {given!r} names no GPU (is a variable empty?): expected numbers' in said
    assert f'there are 0 ({uuid(0)}), 1 ({uuid(1)})' in said
    assert called(two) == []


def test_ctrl_c_says_how_to_go_on_with_the_same_gpus(two: Path) -> None:
    """The command is the one that was typed."""
    from gpassk_opencompass.cli.run import RunRequest

    request = RunRequest([Path('configs')], Path('out'), 3, '0,1', [])
    assert request.command() == 'gpassk run configs -w out --jobs 3 --gpus 0,1'


def test_a_busy_directory_does_not_hold_its_gpu(two: Path) -> None:
    """What cannot start makes room for what can."""
    from gpassk_opencompass.runs.lock import WorkDirLock

    write_model(two, 'org/a', 'a')
    write_model(two, 'org/b', 'b')
    with WorkDirLock(two / 'out' / 'a'):
        assert main(['run', 'configs', '-w', 'out', '--gpus', '0']) == 1
    assert called(two) == ['b']
