"""Which GPUs may be used: those asked for, those of the environment, of the allocation, of the machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripted_gpus import forget, install, mig, uuid

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.runs.gpus import Gpu, usable_gpus

EIGHT = tuple(Gpu(str(number), str(number)) for number in range(8))


def ids(asked: str | None = None, **environment: str) -> list[str]:
    return [gpu.id for gpu in usable_gpus(asked, environment)]


def test_all_of_the_machine_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By number, as nvidia-smi counts them."""
    install(tmp_path, monkeypatch)
    assert usable_gpus(None, {}) == EIGHT


@pytest.mark.parametrize(
    ('asked', 'environment', 'expected'),
    [
        ('3,0', {'CUDA_VISIBLE_DEVICES': '1'}, ['3', '0']),
        (f'{uuid(2)}, 1', {}, [uuid(2), '1']),
        (uuid(5)[:12], {}, [uuid(5)]),
        (None, {'CUDA_VISIBLE_DEVICES': '2,6', 'SLURM_JOB_GPUS': '0'}, ['2', '6']),
        (None, {'CUDA_VISIBLE_DEVICES': uuid(7)}, [uuid(7)]),
        (None, {'CUDA_VISIBLE_DEVICES': '4,-1,5'}, ['4']),
        (None, {'CUDA_VISIBLE_DEVICES': '', 'SLURM_JOB_GPUS': '0'}, []),
        (None, {'CUDA_VISIBLE_DEVICES': 'NoDevFiles'}, []),
        (None, {'SLURM_JOB_GPUS': '0-3', 'SLURM_STEP_GPUS': '2,3'}, ['2', '3']),
        (None, {'SLURM_JOB_GPUS': '0-2,5'}, ['0', '1', '2', '5']),
    ],
)
def test_who_says_it_first_is_heard(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: str | None,
    environment: dict[str, str],
    expected: list[str],
) -> None:
    """The option, then CUDA's variable as CUDA reads it, then Slurm's of the step and of the job."""
    install(tmp_path, monkeypatch)
    assert ids(asked, **environment) == expected


def test_a_job_that_sees_only_its_own_has_numbers_from_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm tells those of the node, nvidia-smi within a control group those of the job."""
    install(tmp_path, monkeypatch, 2)
    assert ids(SLURM_JOB_GPUS='6,7') == ['0', '1']
    with pytest.raises(InputError, match='SLURM_JOB_GPUS: 5 is no GPU of this machine; there are 0 '):
        ids(SLURM_JOB_GPUS='5,6,7')


def test_a_divided_gpu_counts_as_its_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which work as GPUs of their own."""
    install(tmp_path, monkeypatch, 2, profiles={1: ['3g.40gb', '1g.10gb', '1g.10gb+me']})
    assert usable_gpus(None, {}) == (
        EIGHT[0],
        Gpu(mig(1, 0)),
        Gpu(mig(1, 1)),
        Gpu(mig(1, 2)),
    )
    assert ids(f'{mig(1, 1)},0') == [mig(1, 1), '0']
    with pytest.raises(InputError, match=f'GPU 1 is divided by MIG, name its devices: {mig(1, 0)}, '):
        ids('0,1')


@pytest.mark.parametrize(
    ('asked', 'message'),
    [
        ('8', f'--gpus: 8 is no GPU of this machine; there are 0 ({uuid(0)}), 1 ('),
        ('GPU-ffff', '--gpus: GPU-ffff is no GPU of this machine; there are 0 ('),
        ('GPU-', "'GPU-' is no GPU"),
        ('GPU-0', '--gpus: GPU-0 could be 8 GPUs, write more of its id'),
        ('0,0', "--gpus is '0,0': it names 0 twice"),
        (f'3,{uuid(3)}', f'it names {uuid(3)} twice'),
        ('', "--gpus '' names no GPU (is a variable empty?): expected numbers, GPU-… or MIG-… with commas"),
        ('0 1', "'0 1' is no GPU"),
        ('0,', "'' is no GPU"),
        ('-1', "'-1' is no GPU"),
        ('0-3', "'0-3' is no GPU"),
        ('all', "'all' is no GPU"),
        ('²', "'²' is no GPU"),
    ],
)
def test_a_wrong_id_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, message: str
) -> None:
    """With what was received, and what is there."""
    install(tmp_path, monkeypatch)
    with pytest.raises(InputError, match=re.escape(message)):
        ids(asked)


def test_where_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is assumed; who asks for one is told why there is none."""
    monkeypatch.setenv('PATH', str(tmp_path))
    forget(monkeypatch)
    assert ids() == []
    with pytest.raises(InputError, match=r'--gpus 0: there is no GPU to use here: nvidia-smi is not in'):
        ids('0')
    assert usable_gpus(None, {'CUDA_VISIBLE_DEVICES': '0,1'}) == (Gpu('0', '0'), Gpu('1', '1'))
