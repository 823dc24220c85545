"""Which GPUs of this machine may be used."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..errors import InputError
from .command import ELSEWHERE, Options

VISIBLE = 'CUDA_VISIBLE_DEVICES'

ORDER = 'CUDA_DEVICE_ORDER'

ALLOCATED = ('SLURM_STEP_GPUS', 'SLURM_JOB_GPUS')
"""What Slurm has given to a step or a job, as numbers of the whole machine."""

PATIENCE = 60.0
"""Seconds; `nvidia-smi` takes some where no process keeps the driver loaded."""

_ID = re.compile(r'[0-9]+|GPU-[0-9A-Za-z-]+|MIG-[0-9A-Za-z/-]+')
_RANGE = re.compile(r'(\d+)-(\d+)')
_WHOLE = re.compile(r'GPU (\d+): .*\(UUID: (GPU-[^)]+)\)')
_PART = re.compile(r'\s+MIG \d+[cg]\..*\(UUID: (MIG-[^)]+)\)')


class Gpu(NamedTuple):
    """A GPU, or a MIG device, which is a part of one that works as one of its own."""

    id: str
    """As CUDA_VISIBLE_DEVICES takes it: a number, 'GPU-…' or 'MIG-…'."""
    number: str | None = None
    """As nvidia-smi counts, where it has one and is not part of another."""

    @property
    def is_part(self) -> bool:
        """Whether it is a MIG device: CUDA shows one of them to a process, so no model takes two."""
        return self.id.startswith('MIG-')


def gpus_for(options: Options, asked: str | None, environment: Mapping[str, str]) -> tuple[Gpu, ...]:
    """Return the GPUs to use for commands with these options; none where a cluster has them.

    Raises:
        InputError: see `usable_gpus`; or GPUs of this machine were asked for where a cluster has them.
    """
    if elsewhere := [option for option in ELSEWHERE if option in options.passed]:
        if asked is not None:
            raise InputError(
                f'--gpus {asked!r} with {elsewhere[0]}: it names GPUs of this machine, a cluster gives '
                'its own'
            )
        return ()
    return usable_gpus(asked, environment)


def usable_gpus(asked: str | None, environment: Mapping[str, str]) -> tuple[Gpu, ...]:
    """Return the GPUs to use, in the order in which they were named.

    Those that were asked for, else those of CUDA_VISIBLE_DEVICES, else those that Slurm has given, else all
    that `nvidia-smi` lists.

    Args:
        asked: '0,1', also 'GPU-…' and 'MIG-…', of which the first characters do; None: nobody has asked.
        environment: variables.

    Returns:
        None at all where there are no GPUs, or they cannot be listed and no variable names them.

    Raises:
        InputError: an id that is malformed, named twice or not there; or GPUs were asked for, and there are
            none.
    """
    there, trouble = _listed()
    if asked is not None:
        if not asked.strip(' ,'):
            raise InputError(
                f'--gpus {asked!r} names no GPU (is a variable empty?): expected numbers, GPU-… or MIG-… '
                f'with commas between them, or no --gpus for all{_choice(there)}; for none, set '
                f"{VISIBLE}=''"
            )
        if not there:
            raise InputError(f'--gpus {asked}: there is no GPU to use here: {trouble}')
        return _named(asked, '--gpus', there)
    if VISIBLE in environment:
        named = _visible(environment[VISIBLE])
        return _named(','.join(named), VISIBLE, there) if named else ()
    for variable in ALLOCATED:
        if environment.get(variable):
            return _allocated(environment[variable], variable, there)
    whole = (gpu._replace(id=gpu.number or gpu.id) for gpu in there if not _parts_of(gpu, there))
    return tuple(whole)


def also_named(value: str, gpus: Sequence[Gpu]) -> list[str]:
    """Return the ids of those of some GPUs that are also GPUs of a judge.

    Args:
        value: `judge_serve.gpus`, a list for CUDA_VISIBLE_DEVICES.
        gpus: as `usable_gpus` returns them.

    Raises:
        InputError: an id that is malformed, named twice or not there.
    """
    if not (words := _visible(value)):
        return []
    named = _named(','.join(words), 'judge_serve.gpus', _listed()[0])
    return [gpu.id for gpu in gpus if any(_is_same(gpu, other) for other in named)]


def numbers_of(names: Sequence[str], gpus: Sequence[Gpu]) -> str:
    """Return CUDA_VISIBLE_DEVICES for an OpenCompass that hands GPUs to its tasks: it reads numbers alone.

    Raises:
        InputError: one has none.
    """
    numbers = {gpu.id: gpu.number for gpu in gpus}
    if nameless := [name for name in names if numbers[name] is None]:
        raise InputError(
            f'{nameless[0]} has no number, and opencompass gives its tasks GPUs by number alone: leave out '
            '--max-num-workers, or name other GPUs'
        )
    return ','.join(str(numbers[name]) for name in names)


def free_gpus(gpus: Sequence[Gpu], used: Collection[str], count: int) -> tuple[str, ...] | None:
    """Return the ids of free GPUs: neighbours from a multiple of `count` on, else the first; None: too few.

    >>> free_gpus([Gpu(str(number)) for number in range(6)], {'0'}, 2)
    ('2', '3')
    """
    able = [gpu.id for gpu in gpus if count == 1 or not gpu.is_part]
    blocks = (able[start : start + count] for start in range(0, len(able) - count + 1, count))
    for block in (*blocks, [name for name in able if name not in used][:count]):
        if len(block) == count and not {*block} & {*used}:
            return tuple(block)
    return None


def why_never(count: int, gpus: Sequence[Gpu]) -> str:
    """Return why a model that takes so many GPUs can never be loaded here, for a message; '' if it can.

    >>> why_never(4, [Gpu('0'), Gpu('1')])
    'needs 4 GPUs, and 2 may be used: 0, 1'
    """
    names = ', '.join(gpu.id for gpu in gpus) or 'none'
    needs = '1 GPU' if count == 1 else f'{count} GPUs'
    if count > len(gpus):
        return f'needs {needs}, and {len(gpus)} may be used: {names}'
    if count > 1 and count > sum(not gpu.is_part for gpu in gpus):
        return f'needs {needs}, and a model takes only one MIG device; may be used: {names}'
    return ''


def _listed() -> tuple[tuple[Gpu, ...], str]:
    """Return all GPUs, and those with MIG devices in front of these; or none, and why."""
    if shutil.which('nvidia-smi') is None:
        return (), 'nvidia-smi is not in $PATH'
    query = _output('--query-gpu=index,uuid', '--format=csv,noheader')
    if isinstance(query, InputError):
        return (), str(query)
    rows = [[cell.strip() for cell in line.split(',')] for line in query.splitlines()]
    wholes = [Gpu(row[1], row[0]) for row in rows if len(row) == 2 and row[0].isdigit()]
    parts = _mig_devices()
    gpus = [part for whole in wholes for part in (whole, *parts.get(whole.id, ()))]
    return tuple(gpus), '' if gpus else 'nvidia-smi lists none'


def _output(*options: str) -> str | InputError:
    try:
        done = subprocess.run(
            ['nvidia-smi', *options],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors='replace',
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return InputError(f'nvidia-smi: {error}')
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or 'nothing').splitlines()[0]
        return InputError(f'nvidia-smi ended with code {done.returncode}: {said}')
    return done.stdout


def _mig_devices() -> dict[str, list[Gpu]]:
    """Return the MIG devices of each GPU that is divided, by its UUID."""
    found: dict[str, list[Gpu]] = {}
    listing = _output('-L')
    if isinstance(listing, InputError):
        return found
    whole = ''
    for line in listing.splitlines():
        if match := _WHOLE.match(line):
            whole = match[2]
        elif match := _PART.match(line):
            found.setdefault(whole, []).append(Gpu(match[1]))
    return found


def _parts_of(whole: Gpu, there: Sequence[Gpu]) -> list[Gpu]:
    """Return the MIG devices of a GPU, which stand behind it."""
    parts: list[Gpu] = []
    if whole.is_part:
        return parts
    for gpu in there[there.index(whole) + 1 :]:
        if not gpu.is_part:
            break
        parts.append(gpu)
    return parts


def _visible(value: str) -> list[str]:
    """Return what CUDA_VISIBLE_DEVICES names: all before the first negative number, as CUDA reads it."""
    named: list[str] = []
    for word in (word.strip() for word in value.split(',')):
        if word.startswith('-') or word in ('', 'NoDevFiles', 'none', 'void'):
            break
        named.append(word)
    return named


def _allocated(value: str, variable: str, there: Sequence[Gpu]) -> tuple[Gpu, ...]:
    """Return what Slurm has given; where a job sees no others, their numbers start at 0 again."""
    words = [one for word in value.split(',') for one in _span(word.strip())]
    if there and any(word not in {gpu.number for gpu in there} for word in words):
        wholes = [gpu.number for gpu in there if gpu.number is not None]
        words = wholes if len(wholes) == len(words) else words
    return _named(','.join(words), variable, there)


def _span(word: str) -> Iterable[str]:
    match = _RANGE.fullmatch(word)
    return [str(number) for number in range(int(match[1]), int(match[2]) + 1)] if match else [word]


def _named(value: str, where: str, there: Sequence[Gpu]) -> tuple[Gpu, ...]:
    """Return the GPUs of a list of ids; without a listing they are taken as they are."""
    found: list[Gpu] = []
    for word in (word.strip() for word in value.split(',')):
        if not _ID.fullmatch(word):
            raise InputError(
                f'{where} is {value!r}: {word!r} is no GPU; expected numbers, GPU-… or MIG-… with commas '
                f'between them{_choice(there)}'
            )
        gpu = _find(word, where, there) if there else Gpu(word, word if word.isdigit() else None)
        if any(_is_same(gpu, other) for other in found):
            raise InputError(f'{where} is {value!r}: it names {word} twice')
        found.append(gpu)
    _check_wholes(found, where, there)
    return tuple(found)


def _is_same(one: Gpu, other: Gpu) -> bool:
    return one.id == other.id or one.number == other.number is not None


def _find(word: str, where: str, there: Sequence[Gpu]) -> Gpu:
    matches = [gpu for gpu in there if word in (gpu.number, gpu.id)] or [
        gpu for gpu in there if not word.isdigit() and gpu.id.startswith(word)
    ]
    if len(matches) != 1:
        what = (
            f'could be {len(matches)} GPUs, write more of its id' if matches else 'is no GPU of this machine'
        )
        raise InputError(f'{where}: {word} {what}{_choice(there)}')
    # As it was named: a number stays one, which programs that read no UUID understand.
    return matches[0]._replace(id=word) if word.isdigit() else matches[0]


def _check_wholes(found: Sequence[Gpu], where: str, there: Sequence[Gpu]) -> None:
    for gpu in found:
        whole = next((one for one in there if one.number is not None and one.number == gpu.number), None)
        if whole is not None and (parts := _parts_of(whole, there)):
            raise InputError(
                f'{where}: GPU {gpu.number} is divided by MIG, name its devices: '
                f'{", ".join(part.id for part in parts)}'
            )


def _choice(there: Sequence[Gpu]) -> str:
    names = [gpu.id if gpu.is_part else f'{gpu.number} ({gpu.id})' for gpu in there]
    return f'; there are {", ".join(names)}' if names else ''
