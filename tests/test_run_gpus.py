"""`gpassk run` on GPUs: which command gets which, and what starts when some are free."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import behave, called, calls, config_text, run, write
from scripted_gpus import forget, install, mig, uuid

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
    return {call['name']: call['gpus'].get('CUDA_VISIBLE_DEVICES', '') for call in calls(folder)}


@pytest.fixture
def two(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to type commands in, on a machine of two GPUs."""
    install(sweep, monkeypatch, 2)
    return sweep


def test_runs_share_the_gpus(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two at the same time, as each of the first ones waits for the other."""
    write_model(two, 'org/a', 'a', behaviour='meet')
    write_model(two, 'org/b', 'b', behaviour='meet')
    write_model(two, 'org/c', 'c')
    assert run() == 0
    got = gpus_of(two)
    assert (got['a'], got['b']) == ('0', '1')
    assert got['c'] in ('0', '1')
    assert 'a: started on GPU 0\n' in capsys.readouterr().out


def test_gpus_are_told_as_they_were_named(two: Path) -> None:
    """In the process that does all of a run; for tasks with processes of their own by number."""
    write_model(two, 'org/a', 'ok')
    assert run('--gpus', uuid(1)) == 0
    write_model(two, 'org/a', 'more')
    assert run('--gpus', uuid(1), '--', '--max-num-workers', '2') == 0
    one, other = calls(two)
    assert one['gpus'] == {'CUDA_VISIBLE_DEVICES': uuid(1), 'CUDA_DEVICE_ORDER': 'PCI_BUS_ID'}
    assert other['gpus'] == {'CUDA_VISIBLE_DEVICES': '1', 'CUDA_DEVICE_ORDER': 'PCI_BUS_ID'}
    assert ['--debug' in call['arguments'] for call in (one, other)] == [True, False]


def test_a_device_without_a_number_is_for_one_process(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """OpenCompass would read numbers out of its id, to give them to its tasks."""
    install(sweep, monkeypatch, 1, profiles={0: ['1g.10gb']})
    write_model(sweep, 'org/a', 'ok')
    assert run('--', '--max-num-workers', '2') == 1
    assert f'{mig(0, 0)} has no number' in capsys.readouterr().out
    assert calls(sweep) == []
    assert run() == 0
    assert gpus_of(sweep) == {'ok': mig(0, 0)}


def test_workers_have_gpus_of_their_own_and_keep_their_number(two: Path) -> None:
    """Also where the run goes on with fewer GPUs, or nobody says how many workers."""
    write_model(two, 'org/a', 'long', behaviour='broken')
    assert run('--', '--max-num-workers', '2') == 1
    behave(two, 'long', 'ok')
    assert run('--gpus', '0') == 0
    assert [call['gpus']['CUDA_VISIBLE_DEVICES'] for call in calls(two)] == ['0,1', '0']
    assert [start.workers for start in Starts(two / 'out' / 'long')._starts] == [2, 2]
    assert ['--debug' in call['arguments'] for call in calls(two)] == [False, False]


def test_a_model_that_does_not_fit_is_told_before_anything_starts(
    two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others run."""
    write_model(two, 'org/large', 'large', run_cfg={'num_gpus': 4})
    write_model(two, 'org/a', 'ok', run_cfg={'num_gpus': 2})
    assert run() == 1
    said = capsys.readouterr().out
    assert 'large: missing: needs 4 GPUs, and 2 may be used: 0, 1; never started\n' in said
    assert said.index('needs 4 GPUs') < said.index('ok: started on GPUs 0, 1\n')
    assert gpus_of(two) == {'ok': '0,1'}


@pytest.mark.parametrize('options', [['--gpus', '1'], ['--jobs', '1']])
def test_fewer_are_used_where_fewer_are_wanted(two: Path, options: list[str]) -> None:
    """One after the other: the one that waits for another one waits in vain."""
    write_model(two, 'org/a', 'a')
    write_model(two, 'org/b', 'b')
    assert run(*options) == 0
    assert set(gpus_of(two).values()) == {options[1]} if options[0] == '--gpus' else {'0'}


@pytest.mark.parametrize('asked', [{'num_gpus': -1}, {'num_gpus': '2'}, 'x'])
def test_a_need_that_is_none_stops_nothing(two: Path, asked: Any) -> None:
    """A config is anybody's; OpenCompass says what it does not take."""
    write_model(two, 'org/a', 'a', 'b', run_cfg=asked)
    assert run() == 0
    assert sorted(called(two)) == ['a', 'b']


def test_what_is_sampled_needs_no_gpu(two: Path) -> None:
    """It is judged with none, also where its model would not fit any more."""
    write_model(two, 'org/a', 'a', run_cfg={'num_gpus': 2})
    assert run('--', '-m', 'infer') == 0
    assert run('--gpus', '0') == 0
    assert [call['gpus'].get('CUDA_VISIBLE_DEVICES') for call in calls(two)] == ['0,1', None]


def test_a_config_that_computes_its_models_gets_all_gpus(two: Path) -> None:
    """Nobody can tell how many it needs: as by hand."""
    write(two / 'configs' / 'ok.py', f'import os\n{config_text("ok")}')
    run()
    assert gpus_of(two) == {'ok': '0,1'}


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
    assert call['gpus'] == {}


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
