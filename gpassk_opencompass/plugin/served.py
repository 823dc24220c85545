"""What the servers of a model say that they are, noted beside its predictions as they are met.

Their addresses and versions may change while a run goes on, so this is no part of what forbids a resume;
other weights do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from ..chat.served import About, told_by
from ..completion import Reply
from ..errors import IncompleteError
from ..text import json_text, utc_now

SERVERS = 'run.servers'
"""Name of the file beside the predictions: a line of JSON for each server, and for each change of one."""


class ServerNotes:
    """Notes of the servers that one process asks."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._about: dict[str, About] = {}
        self._heard: dict[str, tuple[str, str]] = {}
        self._roots: list[str] = []

    def keep_in(self, folder: Path) -> None:
        """Write notes from now on into the folder of the predictions, beside those that are there."""
        self._path = folder / SERVERS
        self._roots = [root for note in read_servers(folder) if (root := note.get('root'))]

    @property
    def folder(self) -> Path | None:
        """The folder of the predictions; None before it is known."""
        return None if self._path is None else self._path.parent

    def knows(self, url: str) -> bool:
        """Whether a server was met."""
        return url in self._about

    def met(self, url: str, about: About) -> None:
        """Take what a server says of itself, before it is asked for samples.

        Raises:
            IncompleteError: its weights have another name than those that samples of this run came from.
        """
        for root in self._roots:
            if about.root and _name(about.root) != _name(root):
                raise IncompleteError(
                    f'{url} serves {_name(about.root)!r}, and this run has samples from {_name(root)!r}: '
                    'serve that again, or start anew, without -r or in another work directory'
                )
        self._roots += [about.root] if about.root else []
        self._about[url] = about
        self._heard.pop(url, None)

    def heard(self, url: str, reply: Reply) -> None:
        """Take what a reply says; a note is written of the first one, and of one that says otherwise."""
        served = told_by(reply)
        said = served.model, served.fingerprint
        if self._heard.get(url) == said:
            return
        self._heard[url] = said
        if self._path is not None:
            told = {**self._about.get(url, About())._asdict(), 'model': said[0], 'fingerprint': said[1]}
            known = {name: text for name, text in told.items() if text}
            line = json_text({'time': utc_now(), 'url': url, **known})
            with self._path.open('a', encoding='utf-8') as file:
                file.write(f'{line}\n')


def read_servers(folder: Path) -> list[dict[str, str]]:
    """Return the notes in a folder of predictions, in their order; damaged lines are passed over."""
    try:
        lines = (folder / SERVERS).read_text(encoding='utf-8', errors='replace').splitlines()
    except OSError:
        return []
    return [note for line in lines if (note := _parsed(line))]


def servers_told(notes: Sequence[Mapping[str, str]]) -> tuple[list[dict[str, str]], list[str]]:
    """Return what a result says of the servers of a run, and warnings.

    Args:
        notes: of `read_servers`.

    Returns:
        Each different server once, with the time of its first reply, without its address, and of a path of
        weights the last part; and a sentence if several versions drew the samples, or if their weights lie in
        different places.
    """
    told: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    for note in notes:
        shown = {name: note[name] for name in (*About._fields, 'model', 'fingerprint') if name in note}
        if 'root' in shown:
            shown['root'] = _name(shown['root'])
        told.setdefault(tuple(shown.items()), {**shown, 'since': note.get('time', '')})
    versions = list(dict.fromkeys(_version(one) for one in told.values() if _version(one)))
    several = f'servers of {len(versions)} versions drew the samples: {", ".join(versions)}'
    return list(told.values()), [*([several] if len(versions) > 1 else []), *_places(notes)]


def _places(notes: Sequence[Mapping[str, str]]) -> list[str]:
    """Return a sentence if folders of the same name in several places served: checkpoints often share one."""
    roots = dict.fromkeys(note['root'] for note in notes if 'root' in note)
    if len(roots) < 2:
        return []
    name = _name(next(iter(roots)))
    return [f'the servers have their weights in {len(roots)} places that end in {name!r}: are they the same?']


def _version(told: Mapping[str, str]) -> str:
    return f'{told.get("engine", "")} {told["version"]}'.strip() if 'version' in told else ''


def _name(root: str) -> str:
    return PurePosixPath(root).name or root


def _parsed(line: str) -> dict[str, str]:
    try:
        note = json.loads(line)
    except ValueError:
        return {}
    texts = note.items() if isinstance(note, dict) else ()
    return {name: text for name, text in texts if isinstance(text, str)}
