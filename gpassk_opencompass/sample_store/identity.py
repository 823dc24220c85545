"""What a sample is determined by: the identity that it shares with others, and its key."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from ..files import mapping, read_json, replace_file
from ..unseen import json_text

IDENTITY = 'identity.json'
"""Name of the file that tells a person what the samples beside it were drawn with."""


@dataclass(frozen=True)
class Identity:
    """All that samples have in common which a model draws with the same settings.

    The reference answers, the judge, k, n, batch sizes, servers' addresses and work directories are no part
    of it.
    """

    model: Mapping[str, Any]
    """Its entry in the config, without operational fields and secrets."""
    files: Mapping[str, Any]
    """Field of the model that names a path: the commit of the hub, or a digest of each file there."""
    versions: Mapping[str, str]
    """Package of the engine → version; {} for a model behind a server."""
    inference: Mapping[str, Any]
    """Prompts, and how long a response may be."""

    @property
    def settings(self) -> str:
        """Return 16 hexadecimal digits, the same for all versions of the engine."""
        return _digest([self.model, self.files, self.inference])[:16]

    @property
    def folder(self) -> str:
        """Return the name of the folder in the store; what stands before the dash is `settings`."""
        return f'{self.settings}-{_digest(self.versions)[:8]}'


class Origin(NamedTuple):
    """Who drew a sample: a run, with all its shards and resumes."""

    run: str
    """The name of its work directory."""
    since: str
    """When it began, ISO 8601 in UTC."""

    @property
    def id(self) -> str:
        """Return 16 hexadecimal digits; the moment has microseconds, so runs of one name differ."""
        return _digest(list(self))[:16]


def sample_key(identity: Identity, uid: str, replica: int, seed: int | None, prompt: Any) -> str:
    """Return 32 hexadecimal digits that name a sample by all that it is drawn from.

    Versions of the engine do not count here: samples of another one are found, and told apart by their
    folder.

    Args:
        prompt: JSON-able, as it is sent.

    >>> identity = Identity({'path': 'm'}, {}, {}, {})
    >>> sample_key(identity, 'a', 0, 1, '2+2?') == sample_key(identity, 'a', 1, 1, '2+2?')
    False
    """
    return _digest([identity.settings, uid, replica, seed, prompt])[:32]


def write_identity(folder: Path, identity: Identity) -> None:
    """Write what the samples of a folder have in common, unless it stands there.

    Raises:
        OSError: it cannot be written.
    """
    if read_identity(folder) != identity:
        draft = folder / f'.{IDENTITY}.{secrets.token_hex(4)}'
        replace_file(folder / IDENTITY, json_text(asdict(identity), indent=1).encode(), draft)


def read_identity(folder: Path) -> Identity | None:
    """Return what the samples of a folder have in common; None where no file tells, or it is damaged."""
    with suppress(OSError, ValueError):
        told = mapping(read_json(folder / IDENTITY))
        if all(isinstance(told.get(field.name), dict) for field in fields(Identity)):
            return Identity(**{field.name: told[field.name] for field in fields(Identity)})
    return None


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
