"""A scripted `nvidia-smi`: lists the GPUs that a test wants, on a machine that has none."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest


def uuid(number: int) -> str:
    return f'GPU-{number:08x}-aaaa-bbbb-cccc-{number:012x}'


def mig(number: int, part: int) -> str:
    return f'MIG-{number:04x}{part:04x}-dddd-eeee-ffff-{part:012x}'


def install(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    count: int = 8,
    profiles: Mapping[int, Sequence[str]] | None = None,
) -> None:
    """Put it in front of $PATH, with some GPUs, some of which are cut into MIG devices, such as '3g.40gb'."""
    listing = ''
    for number in range(count):
        listing += f'GPU {number}: NVIDIA H100 80GB HBM3 (UUID: {uuid(number)})\n'
        for part, profile in enumerate((profiles or {}).get(number, ())):
            listing += f'  MIG {profile}     Device  {part}: (UUID: {mig(number, part)})\n'
    program = folder / 'bin' / 'nvidia-smi'
    program.parent.mkdir(exist_ok=True)
    program.write_text(
        f'#!{sys.executable}\nimport sys\n'
        'names = "NVIDIA H100 80GB HBM3\\n" * len(sys.argv[-1].split(","))  # asked for with -i 0,1\n'
        f'print({listing!r} if sys.argv[1] == "-L" else names, end="")\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv('PATH', f'{program.parent}{os.pathsep}{os.environ["PATH"]}')
    forget(monkeypatch)


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what the environment says of GPUs."""
    for name in ('CUDA_VISIBLE_DEVICES', 'SLURM_STEP_GPUS', 'SLURM_JOB_GPUS', 'CUDA_DEVICE_ORDER'):
        monkeypatch.delenv(name, raising=False)
