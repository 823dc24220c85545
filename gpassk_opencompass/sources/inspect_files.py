"""The two formats of a log of inspect_ai: a header, and samples one at a time, in bounded memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from ..errors import InputError
from ..files import mapping
from ..json_entries import JsonEntries
from .source import Place
from .zip_members import FIRST, ZipMembers

_HEADER, _START = 'header.json', '_journal/start.json'
_SAMPLE = re.compile(r'samples/(.+)_epoch_(\d+)(?:\.json|/sample\.json)', re.DOTALL)

Fields = Mapping[str, Any]


class _Looked(BaseModel):
    """The fields of a sample that somebody looks at: the others are passed over while it is parsed.

    Its events are several times as long as the rest.
    """

    model_config = ConfigDict(protected_namespaces=())

    id: Any = None
    epoch: Any = None
    input: Any = None
    choices: Any = None
    target: Any = None
    output: Any = None
    scores: Any = None
    score: Any = None
    metadata: Any = None
    model_usage: Any = None
    turn_count: Any = None
    working_time: Any = None
    error: Any = None
    limit: Any = None
    invalidation: Any = None
    attachments: Any = None


class Logged(NamedTuple):
    """A sample of a log.

    fields: as inspect_ai names them.
    place: where it stands, for messages.
    row: its number in the log, from 1.
    """

    fields: Fields
    place: str
    row: int


class LogFile(Protocol):
    """A log of either format."""

    path: Path
    in_order: bool
    """Whether the epochs of a question come one after the other."""

    def header(self) -> Fields:
        """Return all but the samples: `eval`, `plan`, `status`, `results`, …, as far as they are there."""

    def samples(self) -> Iterator[Logged]:
        """Return the samples, read while they are iterated."""


def log_file(place: Place) -> LogFile:
    """Return a log by what it begins with.

    Raises:
        InputError: it is neither a zip file nor an object of JSON.
    """
    if place.head.startswith(FIRST):
        return _Zipped(place.path)
    if place.head.lstrip()[:1] == b'{':
        return _Json(place.path)
    raise InputError(
        f'{place.name} begins with {place.head[:8]!r}: expected a log of inspect_ai, a .eval (a zip file) or '
        'a .json'
    )


class _Zipped:
    """A `.eval`: a zip file with a member a sample, in the order in which they were completed."""

    in_order = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begun: dict[str, int] = {}
        self._samples: dict[str, dict[int, int]] = {}
        with ZipMembers(path) as members:
            for name, at in members.entries():
                if found := _SAMPLE.fullmatch(name):
                    # Of two with one name the later counts: a sample that was drawn again.
                    self._samples.setdefault(found[1], {})[int(found[2])] = at
                elif name in {_HEADER, _START}:
                    self._begun[name] = at

    def header(self) -> Fields:
        for name in (_HEADER, _START):  # while it is written, a log has the second alone
            if name in self._begun:
                with ZipMembers(self.path) as members:
                    return mapping(_parsed(members.read(self._begun[name]), f'{self.path}, {name}'))
        raise InputError(
            f'{self.path} has neither {_HEADER} nor {_START}: expected a log of inspect_ai, as "inspect '
            'eval" writes it'
        )

    def samples(self) -> Iterator[Logged]:
        row = 0
        with ZipMembers(self.path) as members:
            for uid, epochs in self._samples.items():
                for epoch, at in sorted(epochs.items()):
                    row += 1
                    place = f'{self.path}, samples/{uid}_epoch_{epoch}'
                    fields = _looked(members.read(at), place)
                    if (str(fields.get('id')), fields.get('epoch')) != (uid, epoch):
                        raise InputError(
                            f'{place}.json holds epoch {fields.get("epoch")!r:.20} of '
                            f'{fields.get("id")!r:.60}: the log is damaged'
                        )
                    yield Logged(fields, place, row)


class _Json:
    """A `.json`: one object; its samples come in any order."""

    in_order = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def header(self) -> Fields:
        header = {}
        for keys, value in JsonEntries(self.path, 'samples'):
            if keys[0] == 'samples':  # what is told of the whole comes before them
                break
            header[keys[0]] = value
        return header

    def samples(self) -> Iterator[Logged]:
        for keys, value in JsonEntries(self.path, 'samples'):
            if keys[0] == 'samples' and len(keys) > 1:
                row = int(keys[1]) + 1
                place = f'{self.path}, sample {row}'
                if not isinstance(value, dict):
                    raise InputError(f'{place} is {value!r:.60}: expected an object')
                yield Logged(value, place, row)


def _looked(data: bytes, place: str) -> Fields:
    try:
        return _Looked.model_validate_json(data).__dict__
    except ValidationError:  # also of half a pair of surrogates, which JSON may hold
        return mapping(_parsed(data, place))


def _parsed(data: bytes, place: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f'{place} is no JSON, the log is damaged: {error}') from error
