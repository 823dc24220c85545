"""Which GPUs of this machine may be used."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Collection, Mapping, Sequence

from ..errors import InputError

VISIBLE = 'CUDA_VISIBLE_DEVICES'

_ALLOCATED = ('SLURM_STEP_GPUS', 'SLURM_JOB_GPUS')
"""What Slurm has given to a step or a job."""

_ID = re.compile(r'\d+|GPU-[0-9A-Za-z-]+|MIG-[0-9A-Za-z/-]+')


def usable_gpus(asked: str | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the GPUs to use, as CUDA_VISIBLE_DEVICES takes them, in the order in which they were named.

    Those that were asked for, else those of CUDA_VISIBLE_DEVICES, else those that Slurm has given, else all
    that `nvidia-smi` lists: of one that is divided its MIG devices. None at all where there are none.

    Args:
        asked: '0,1', also 'GPU-…' and 'MIG-…'; None: nobody has asked.
        environment: variables.

    Raises:
        InputError: an id that is malformed, named twice or not there; or GPUs were asked for, and there are
            none.
    """
    if asked is None and environment.get(VISIBLE) is not None:
        # As CUDA reads it: all before the first negative number.
        named = re.split(r'(?:^|,)\s*(?:-|,|$|NoDevFiles|none|void)', environment[VISIBLE])[0]
        return _named(named, VISIBLE, {}) if named.strip() else ()
    listed, trouble = _listed()
    if asked is not None:
        if not asked.strip(' ,'):
            raise InputError(
                f'--gpus {asked!r} names no GPU (is a variable empty?): expected numbers, GPU-… or MIG-… '
                f"with commas between them, or no --gpus for all; for none, set {VISIBLE}=''"
            )
        if not listed:
            raise InputError(f'--gpus {asked}: there is no GPU to use here: {trouble}')
        return _named(asked, '--gpus', listed)
    for variable in _ALLOCATED:
        if named := environment.get(variable, ''):
            spans = re.sub(
                r'(\d+)-(\d+)', lambda it: ','.join(map(str, range(int(it[1]), int(it[2]) + 1))), named
            )
            return _named(spans, variable, {})
    return tuple(name for name, parts in listed.items() if not parts and not name.startswith('GPU-'))


def free_gpus(gpus: Sequence[str], used: Collection[str], count: int) -> tuple[str, ...] | None:
    """Return free GPUs: neighbours from a multiple of `count` on, else the first ones; None: too few.

    CUDA shows one MIG device to a process, so no model takes two.

    >>> free_gpus([str(number) for number in range(6)], {'0'}, 2)
    ('2', '3')
    """
    able = [gpu for gpu in gpus if count == 1 or not gpu.startswith('MIG-')]
    blocks = [able[start : start + count] for start in range(0, len(able) - count + 1, count)]
    for block in (*blocks, [gpu for gpu in able if gpu not in used][:count]):
        if len(block) == count and not {*block} & {*used}:
            return tuple(block)
    return None


def _listed() -> tuple[dict[str, list[str]], str]:
    """Return each number, UUID and MIG device that there is, with the MIG devices of it; or none, and why."""
    if shutil.which('nvidia-smi') is None:
        return {}, 'nvidia-smi is not in $PATH'
    try:
        done = subprocess.run(
            ['nvidia-smi', '-L'], capture_output=True, text=True, errors='replace', timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {}, f'nvidia-smi: {error}'
    found: dict[str, list[str]] = {}
    devices: list[str] = []
    for line in done.stdout.splitlines():
        if match := re.match(r'GPU (\d+): .*\(UUID: (GPU-[^)]+)\)', line):
            found[match[1]] = found[match[2]] = devices = []
        elif match := re.match(r'\s+MIG .*\(UUID: (MIG-[^)]+)\)', line):
            devices.append(match[1])
            found[match[1]] = []
    said = (done.stderr.strip() or done.stdout.strip() or 'nothing').splitlines()[0]
    if done.returncode or not found:
        return {}, f'nvidia-smi ended with code {done.returncode}: {said}'
    return found, ''


def _named(value: str, where: str, listed: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Return the GPUs of a list of ids; without a listing they are taken as they are."""
    found: list[str] = []
    choice = f'; there are {", ".join(listed)}' if listed else ''
    for word in (word.strip() for word in value.split(',')):
        if not _ID.fullmatch(word):
            what = f'{word!r} is no GPU; expected numbers, GPU-… or MIG-… with commas between them{choice}'
        elif listed and word not in listed:
            what = f'{word} is no GPU of this machine{choice}'
        elif word in found:
            what = f'it names {word} twice'
        elif parts := listed.get(word):
            what = f'GPU {word} is divided by MIG, name its devices: {", ".join(parts)}'
        else:
            found.append(word)
            continue
        raise InputError(f'{where} is {value!r}: {what}')
    return tuple(found)
