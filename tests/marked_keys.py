"""Keys that can be found again, and all the ways in which a server may quote one; by the standard library."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from urllib.parse import quote

MODEL_KEY = 'sk-marked-of/the+model"Zq9x8W7v6U5t4'
JUDGE_KEY = 'sk-marked-of/the+judge"Yp3n2M1k0J9h8'

_WINDOW = 12


def quotations(key: str) -> dict[str, str]:
    """The key as it stands, and in each encoding."""
    plain, escaped = key.encode(), json.dumps(key)[1:-1].replace('/', '\\/')
    return {
        'raw': key,
        'upper': key.upper(),
        'json': json.dumps(key)[1:-1],
        'json with escaped slashes': escaped,
        'json in json': json.dumps(escaped)[1:-1],
        'json of code points': ''.join(f'\\u{ord(one):04x}' for one in key),
        'json of code points in json': ''.join(f'\\\\u{ord(one):04X}' for one in key),
        'url': quote(key, safe=''),
        'url in small letters': quote(key, safe='').lower(),
        'url twice': quote(quote(key, safe=''), safe=''),
        'url of all characters': ''.join(f'%{one:02X}' for one in plain),
        'html': html.escape(key),
        'html decimal': ''.join(f'&#{one};' for one in plain),
        'html hexadecimal': ''.join(f'&#x{one:X};' for one in plain),
        'repr': repr(key)[1:-1],
        'repr of bytes': ''.join(f'\\x{one:02x}' for one in plain),
        'first half': key[: len(key) // 2],
        'second half': key[len(key) // 2 :],
    }


def _windows(text: str) -> set[str]:
    return {text[at : at + _WINDOW] for at in range(max(1, len(text) - _WINDOW + 1))}


def _needles(key: str) -> set[str]:
    """What must stand nowhere: 12 characters in a row of any quotation, but for those that others share."""
    harmless = set().union(*(_windows(text) for text in quotations('').values()))
    harmless |= set().union(
        *(_windows(text[: len(text) // 3]) for text in quotations('~' * len(key)).values())
    )
    found = set().union(*map(_windows, quotations(key).values()))
    return {needle for needle in found - harmless if needle.strip()}


NEEDLES = re.compile(
    b'|'.join(re.escape(one.encode()) for key in (MODEL_KEY, JUDGE_KEY) for one in _needles(key))
)


def told(key: str) -> str:
    """A sentence that quotes the key in every way."""
    return ' ; '.join(f'{name}: {text}' for name, text in quotations(key).items())


def with_a_key(folder: Path) -> list[str]:
    """Files and names of files that hold a part of a marked key in any encoding, and the part."""
    parts = [(path, NEEDLES.search(bytes(path)) or _within(path)) for path in folder.rglob('*')]
    return [f'{path}: {found[0]!r}' for path, found in parts if found]


def _within(path: Path) -> re.Match[bytes] | None:
    return NEEDLES.search(path.read_bytes()) if path.is_file() else None
