"""Which GPUs of this machine may be used."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Collection, Mapping, Sequence

from ..errors import InputError

VISIBLE = 'CUDA_VISIBLE_DEVICES'

_ID = re.compile(r'\d+|(?:GPU|MIG)-[0-9A-Za-z/-]+')


def usable_gpus(asked: str | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the GPUs to use, as CUDA_VISIBLE_DEVICES takes them, in the order in which they were named.

    Those that were asked for, else those of CUDA_VISIBLE_DEVICES, which Slurm sets too, else all that
    `nvidia-smi` lists. None at all where there are none.

    Args:
        asked: '0,1', also 'GPU-…' and 'MIG-…'; None: nobody has asked.
        environment: variables.

    Raises:
        InputError: an id that is malformed, named twice or not there; or GPUs were asked for, and there are
            none.
    """
    visible = environment.get(VISIBLE)
    if asked is None and visible is not None:
        # As CUDA reads it: all before the first negative number.
        named = re.split(r'(?:^|,)\s*(?:-|,|$|NoDevFiles|none|void)', visible)[0]
        return _named(named, VISIBLE) if named.strip() else ()
    listed, trouble = _listed()
    if asked is None:
        return tuple(gpu for gpu in listed if gpu.isdigit())
    if not asked.strip(' ,'):
        raise InputError(
            f'--gpus {asked!r} names no GPU (is a variable empty?): expected numbers, GPU-… or MIG-… with '
            f"commas between them, or no --gpus for all; for none, set {VISIBLE}=''"
        )
    if not listed:
        raise InputError(f'--gpus {asked}: there is no GPU to use here: {trouble}')
    found = _named(asked, '--gpus')
    if unknown := [gpu for gpu in found if gpu not in listed]:
        raise InputError(f'--gpus: {unknown[0]} is no GPU of this machine; there are {", ".join(listed)}')
    return found


def free_gpus(gpus: Sequence[str], used: Collection[str], count: int) -> tuple[str, ...] | None:
    """Return free GPUs: neighbours from a multiple of `count` on, else the first ones; None: too few.

    >>> free_gpus([str(number) for number in range(6)], {'0'}, 2)
    ('2', '3')
    """
    blocks = [gpus[start : start + count] for start in range(0, len(gpus) - count + 1, count)]
    for block in (*blocks, [gpu for gpu in gpus if gpu not in used][:count]):
        if len(block) == count and not {*block} & {*used}:
            return tuple(block)
    return None


def _listed() -> tuple[list[str], str]:
    """Return the number and the UUID of each GPU and MIG device that there is; or none, and why."""
    if shutil.which('nvidia-smi') is None:
        return [], 'nvidia-smi is not in $PATH'
    try:
        done = subprocess.run(
            ['nvidia-smi', '-L'], capture_output=True, text=True, errors='replace', timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], f'nvidia-smi: {error}'
    found = re.findall(r'^GPU (\d+): |\(UUID: ((?:GPU|MIG)-[^)]+)\)', done.stdout, re.MULTILINE)
    said = (done.stderr.strip() or done.stdout.strip() or 'nothing').splitlines()[0]
    if done.returncode or not found:
        return [], f'nvidia-smi ended with code {done.returncode}: {said}'
    return [number or uuid for number, uuid in found], ''


def _named(value: str, where: str) -> tuple[str, ...]:
    found = [word.strip() for word in value.split(',')]
    for word in found:
        if not _ID.fullmatch(word):
            what = f'{word!r} is no GPU; expected numbers, GPU-… or MIG-… with commas between them'
            raise InputError(f'{where} is {value!r}: {what}')
        if found.count(word) > 1:
            raise InputError(f'{where} is {value!r}: it names {word} twice')
    return tuple(found)
