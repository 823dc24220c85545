"""Sessions as Indexed Jobs of Kubernetes: written, and applied by nobody here."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InputError
from ...files import digest
from ...judges.store import STORE_VARIABLE
from ...sample_store.choice import REUSE_VARIABLE
from ...sample_store.store import STORE_VARIABLE as SAMPLES_VARIABLE
from ..cluster_jobs import JOB
from ..command import PATH_VARIABLES, with_absolute_paths
from ..config_file import stores_in
from .work import WORKS, WORKS_FOLDER, Work, works_text

RETRIES = 3
"""Times that a session is started again whose pod failed."""

GRACE = 120
"""Seconds that a pod gets between SIGTERM and SIGKILL, so that its runs are stopped cleanly."""

LARGEST = 900_000
"""Bytes of a ConfigMap, which may have a MiB in all."""

REFUSED = 2
"""The exit code of a session whose input is wrong: started again it would end the same."""

_KEPT = (STORE_VARIABLE, SAMPLES_VARIABLE)
_PASSED = (*PATH_VARIABLES, REUSE_VARIABLE, 'HF_HUB_OFFLINE', 'HF_ENDPOINT')
_TOLD = '/gpassk'
_LABEL = {'app.kubernetes.io/name': 'gpassk'}


class Volume(NamedTuple):
    """What all pods share, and what they run."""

    image: str
    claim: str
    """The name of a PersistentVolumeClaim that several nodes can mount."""
    mount: Path
    """Where the pods see it: configs and work directories have the same paths there as here."""

    def has(self, path: str) -> bool:
        """Whether the pods see an absolute path of this machine on it."""
        return Path(os.path.normpath(path)).is_relative_to(self.mount)


def manifest(works: Sequence[Work], outputs: Path, volume: Volume, at_once: int | None) -> str:
    """Return YAML with a ConfigMap and an Indexed Job for all sessions that need as many GPUs.

    Args:
        works: the sessions; each becomes one completion index.
        outputs: the folder of the work directories, absolute.
        at_once: pods of a Job that may run at a time; None: all.

    Raises:
        InputError: a path that is not on the volume, or a name that Kubernetes does not take.
    """
    _check(works, outputs, volume)
    parts: list[dict[str, Any]] = []
    for gpus, alike in groupby(sorted(works, key=lambda work: work.gpus), lambda work: work.gpus):
        for chunk in _chunks(list(alike)):
            parts += _job(chunk, gpus, outputs, volume, at_once)
    return ''.join(f'---\n{_yaml(part)}' for part in parts)


def label(name: str, content: str) -> str:
    """Return a name that Kubernetes takes for a Job: short, of ASCII letters, digits and '-', and unique.

    Args:
        name: what should be seen of it.
        content: other content gives another name.

    >>> label('Qwen2.5-模型@t1', 'x')
    'gpassk-qwen2-5-t1-2d711642'
    """
    ascii_only = unicodedata.normalize('NFKD', name).encode('ascii', 'ignore').decode().lower()
    seen = re.sub(r'[^a-z0-9]+', '-', ascii_only)[:30].strip('-')
    return '-'.join(part for part in ('gpassk', seen, digest(content.encode())[:8]) if part)


def _check(works: Sequence[Work], outputs: Path, volume: Volume) -> None:
    configs = {(word, work.here) for work in works for word in work.words if _is_config(word)}
    needed = {str(outputs), *(work.here for work in works), *(config for config, _ in configs)}
    lost = [name for name in _KEPT if name in _passed() and not volume.has(_passed()[name])]
    if lost:
        raise InputError(
            f'${lost[0]} is {_passed()[lost[0]]}, not below {volume.mount}, where the pods see the volume: '
            'what they keep there would be gone with them'
        )
    if STORE_VARIABLE not in _passed():  # which goes before what configs say
        for config, here in sorted(configs):
            _check_stores(Path(config), Path(here), volume)
    outside = sorted(path for path in needed if not volume.has(path))
    if outside:
        raise InputError(
            f'{outside[0]} is not below {volume.mount}, where the pods see the volume: give --mount, a '
            'folder that has the configs, OUTPUTS and the current directory in it, here and on the volume'
        )
    if not re.fullmatch(r'[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?', volume.claim):
        raise InputError(f'--claim {volume.claim}: expected the name of a claim: a-z, 0-9, - and . alone')
    if not re.fullmatch(r'[^\s\x00-\x1f]+', volume.image):
        raise InputError(f'--image {volume.image!r}: expected the name of an image, without blanks')


def _is_config(word: str) -> bool:
    return word.endswith('.py') and word.startswith('/')


def _check_stores(config: Path, here: Path, volume: Volume) -> None:
    """Refuse a judge whose verdicts the pods would keep elsewhere than on the volume."""
    for store in sorted(stores_in(config)):
        if not store.startswith('~') and volume.has(str(here / store)):
            continue
        home = 'lies in the home directory, which is another one in a pod'
        outside = f'is not below {volume.mount}, where the pods see the volume'
        raise InputError(
            f'store = {store!r} of a judge {home if store.startswith("~") else outside}: its verdicts would '
            f'be gone with the pod. Name a folder below {volume.mount}, or set ${STORE_VARIABLE} to one, '
            f'which goes before it ({config.name})'
        )


def _chunks(works: list[Work]) -> Iterator[list[Work]]:
    if len(works) > 1 and len(works_text(works).encode()) > LARGEST:
        half = len(works) // 2
        yield from _chunks(works[:half])
        yield from _chunks(works[half:])
    else:
        yield works


def _job(
    works: Sequence[Work], gpus: int, outputs: Path, volume: Volume, at_once: int | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    text = works_text(works)
    name = label(works[0].session, text)
    told = {
        'apiVersion': 'v1',
        'kind': 'ConfigMap',
        'metadata': {'name': name, 'labels': _LABEL},
        'data': {WORKS: text},
    }
    return told, {
        'apiVersion': 'batch/v1',
        'kind': 'Job',
        'metadata': {'name': name, 'labels': _LABEL},
        'spec': {
            'completionMode': 'Indexed',
            'completions': len(works),
            'parallelism': min(len(works), at_once or len(works)),
            'backoffLimitPerIndex': RETRIES,
            'podReplacementPolicy': 'Failed',  # never two pods at one session
            'podFailurePolicy': {
                'rules': [
                    {'action': 'Ignore', 'onPodConditions': [{'type': 'DisruptionTarget', 'status': 'True'}]},
                    {
                        'action': 'FailIndex',
                        'onExitCodes': {'containerName': 'gpassk', 'operator': 'In', 'values': [REFUSED]},
                    },
                ]
            },
            'template': {
                'metadata': {'labels': _LABEL},
                'spec': _pod(name, gpus, outputs / '.gpassk' / 'kubernetes' / name, volume),
            },
        },
    }


def _pod(name: str, gpus: int, notes: Path, volume: Volume) -> dict[str, Any]:
    shared = {'name': 'shared', 'persistentVolumeClaim': {'claimName': volume.claim}}
    memory = {'name': 'memory', 'emptyDir': {'medium': 'Memory'}}
    mounts = [
        {'name': 'shared', 'mountPath': str(volume.mount)},
        {'name': 'told', 'mountPath': _TOLD, 'readOnly': True},
        *([{'name': 'memory', 'mountPath': '/dev/shm'}] if gpus else []),  # engines share much there
    ]
    container = {
        'name': 'gpassk',
        'image': volume.image,
        'command': ['python', '-m', 'gpassk_opencompass.cli.run_in_job', str(notes)],
        'env': _variables(name),
        'volumeMounts': mounts,
        **({'resources': {'limits': {'nvidia.com/gpu': gpus}}} if gpus else {}),
    }
    return {
        'restartPolicy': 'Never',
        'terminationGracePeriodSeconds': GRACE,
        'containers': [container],
        'volumes': [
            shared,
            {'name': 'told', 'configMap': {'name': name}},
            *([memory] if gpus else []),
        ],
    }


def _variables(name: str) -> list[dict[str, Any]]:
    index = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    own = {'GPASSK_INDEX': index, 'GPASSK_POD': 'metadata.uid'}
    fixed = {WORKS_FOLDER: _TOLD, JOB: f'kubernetes:{name}:$(GPASSK_INDEX)#$(GPASSK_POD)', **_passed()}
    return [
        *({'name': given, 'valueFrom': {'fieldRef': {'fieldPath': path}}} for given, path in own.items()),
        *({'name': given, 'value': value} for given, value in fixed.items()),
    ]


def _passed() -> dict[str, str]:
    """Return the variables that pods are to have as this command has them, with absolute paths."""
    here = with_absolute_paths(Path.cwd(), os.environ)
    return {given: here[given] for given in _PASSED if here.get(given)}


def _yaml(value: Any, indent: int = 0) -> str:
    """Return a value as YAML, in blocks; texts are quoted."""
    blanks = ' ' * indent
    if isinstance(value, Mapping):
        return ''.join(f'{blanks}{_scalar(key)}:{_behind(item, indent)}' for key, item in value.items())
    return ''.join(f'{blanks}-{_behind(item, indent)}' for item in value)


def _behind(value: Any, indent: int) -> str:
    if isinstance(value, (Mapping, list)) and value:
        return '\n' + _yaml(value, indent + 2)
    return f' {_scalar(value)}\n'


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if re.fullmatch(r'[A-Za-z][A-Za-z]*', value) and value not in _WORDS else _quoted(value)
    return str(value)


_WORDS = frozenset(
    {'null', 'Null', 'true', 'false', 'True', 'False', 'yes', 'no', 'on', 'off', 'y', 'n', 'Yes', 'No'}
)
_ESCAPES = {'"': '\\"', '\\': '\\\\', '\n': '\\n', '\t': '\\t'}


def _quoted(text: str) -> str:
    return '"' + ''.join(_ESCAPES.get(c) or (c if c.isprintable() else _escape(c)) for c in text) + '"'


def _escape(character: str) -> str:
    number = ord(character)
    return (
        f'\\x{number:02x}'
        if number < 0x100
        else f'\\u{number:04x}'
        if number < 0x10000
        else f'\\U{number:08x}'
    )
