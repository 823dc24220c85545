"""What is served: the content at each address below the token, and what a browser may do with it."""

from __future__ import annotations

import html
import mimetypes
import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol

HTML = 'text/html; charset=utf-8'
JAVASCRIPT = 'text/javascript; charset=utf-8'
JSON = 'application/json; charset=utf-8'

NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""The policy of what needs nothing beside itself."""

_META = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">\n?')
_OWN = "'self'"
_NOT_SERVED = ("'none'", 'file:', _OWN)


class Reply(NamedTuple):
    """What is at an address."""

    body: bytes
    kind: str
    """Its type."""
    policy: str = NOTHING
    """What the browser lets it load and run."""


class Site(Protocol):
    """What is served."""

    def get(self, path: str) -> Reply | None:
        """Return what is at an address below the token, '' for the page; None: nothing. Threads may call."""


class WrittenReport:
    """A report in a folder, served as it is.

    Args:
        folder: with `index.html`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def get(self, path: str) -> Reply | None:
        """See `Site`; nothing that is hidden, or that a link leads to outside of the folder."""
        parts = PurePosixPath(path or 'index.html').parts
        if any(part.startswith('.') or '\\' in part or '\0' in part for part in parts):
            return None
        try:
            file = self._folder.joinpath(*parts).resolve()
            if not file.is_relative_to(self._folder) or not file.is_file():
                return None
            content = file.read_bytes()
        except OSError:
            return None
        return as_page(content) if file.suffix == '.html' else Reply(content, _kind(file.name))


def as_page(page: bytes) -> Reply:
    """Return a page as it is served: its policy, which was made for one opened from disk, as a header.

    So that it can also load its shards and ask for the state of a sweep from where it came from, and nothing
    else from anywhere.
    """
    text = page.decode('utf-8', 'surrogateescape')
    found = _META.search(text)
    if found is None:
        return Reply(page, HTML)
    policy = _with_own(html.unescape(found[1]))
    served = text[: found.start()] + text[found.end() :]
    return Reply(served.encode('utf-8', 'surrogateescape'), HTML, policy)


def _with_own(policy: str) -> str:
    """Return a policy that allows scripts and requests of the same origin, no files, and no frames around it.

    >>> _with_own("default-src 'none'; script-src 'sha256-x' file:")
    "default-src 'none'; script-src 'sha256-x' 'self'; connect-src 'self'; frame-ancestors 'none'"
    """
    told = dict(directive.strip().partition(' ')[::2] for directive in policy.split(';') if directive.strip())
    for name in ('script-src', 'connect-src'):
        allowed = [one for one in told.get(name, '').split() if one not in _NOT_SERVED]
        told[name] = ' '.join([*allowed, _OWN])
    told['frame-ancestors'] = "'none'"
    return '; '.join(f'{name} {values}'.strip() for name, values in told.items())


def _kind(name: str) -> str:
    """Return the type of a file; of one that is not known, and of what could run, plain text."""
    kind = {'.js': 'text/javascript', '.md': 'text/plain', '.csv': 'text/csv'}.get(PurePosixPath(name).suffix)
    kind = kind or mimetypes.guess_type(name)[0] or 'text/plain'
    return kind if kind.startswith('image/') else f'{kind}; charset=utf-8'
