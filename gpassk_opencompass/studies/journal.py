"""The values of a study as they are computed: a killed study goes on behind the last batch."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import mapping, parse_json
from .embedding_chain import Chain
from .layer_means import Tokens


class Journal:
    """The chains that are known, by what they are computed from; a line each in a file.

    Args:
        path: of the file, which is made where it is missing.
        computed_with: what the values depend on beside the tokens: the model's files, the type of numbers.

    Raises:
        InputError: the file has values of something else, or is no journal. One without a complete first
            line, which a kill leaves behind, is begun anew.
    """

    def __init__(self, path: Path, computed_with: Mapping[str, Any]) -> None:
        self.path = path
        self._known: dict[str, Chain] = {}
        told = json.dumps({'study': 'coe', **computed_with}, sort_keys=True)
        content = path.read_bytes() if path.exists() else b''
        if b'\n' not in content:
            path.write_text(f'{told}\n', encoding='utf-8')
            return
        first, *lines = content.splitlines(keepends=True)
        self._check_first(first, told)
        good = len(first)
        for line in lines:
            if (row := _row(line)) is None:  # a kill tears the last line
                break
            self._known[row['key']] = Chain(*(row[name] for name in Chain._fields))
            good += len(line)
        os.truncate(path, good)

    def get(self, key: str) -> Chain | None:
        """Return the chain of the response with this key (`key_of`); None where it is not known yet."""
        return self._known.get(key)

    def add(self, computed: Iterable[tuple[str, Chain]]) -> None:
        """Keep the chains of a batch, each with the key of its response, on the disk before this returns."""
        with self.path.open('a', encoding='utf-8') as file:
            for key, chain in computed:
                self._known[key] = chain
                file.write(json.dumps({'key': key, **chain._asdict()}) + '\n')
            file.flush()
            os.fsync(file.fileno())

    def _check_first(self, line: bytes, told: str) -> None:
        try:
            known, wanted = mapping(parse_json(line)), json.loads(told)
        except ValueError:
            known, wanted = {}, {}
        if known == wanted and known:
            return
        other = sorted(name for name in {*known, *wanted} if known.get(name) != wanted.get(name))
        what = f'were computed with another {" and ".join(other)}' if other else 'cannot be read'
        raise InputError(f'{self.path}: the values there {what}; give another folder with -o, or remove it')


def key_of(tokens: Tokens) -> str:
    """Return what names a response by its content: a digest of prompt and response, as tokens."""
    text = f'{list(tokens.prompt)}{list(tokens.response)}'
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _row(line: bytes) -> Mapping[str, Any] | None:
    try:
        row = mapping(parse_json(line)) if line.endswith(b'\n') else {}
    except ValueError:
        return None
    numbers = [row.get(name) for name in Chain._fields]
    sound = isinstance(row.get('key'), str) and all(isinstance(one, float) for one in numbers)
    return row if sound else None
