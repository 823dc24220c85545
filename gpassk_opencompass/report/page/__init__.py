"""The report as one page that works from disk, without a network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtraError
from ...files import write_file
from ..frame import Board
from .content import Responses, page_content

if TYPE_CHECKING:
    from jinja2 import Template


def write_page(
    boards: Sequence[Board],
    folder: Path,
    responses: Mapping[Path, Responses] | None = None,
) -> list[Path]:
    """Write `index.html`: tables, maps, comparisons and every answer, for a browser and for sharing.

    The file needs no other but those of `responses`: it holds counts, answers, style and script, and its
    security policy forbids everything else, so that no text of a model can load or run anything.

    Args:
        boards: each is chosen by name on the page.
        folder: made if it is missing.
        responses: path of a result → where its responses lie.

    Returns:
        The path of the page.

    Raises:
        InputError: there is nothing to show.
        MissingExtraError: Jinja2 is not installed.
    """
    script, style = _read('page.js'), _read('page.css')
    beside = any(one.folder for one in (responses or {}).values())
    page = _template().render(
        content=page_content(boards, responses),
        script=script,
        style=style,
        policy=_policy(script, style, beside),
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / 'index.html'
    write_file(path, page.encode())
    return [path]


def _policy(script: str, style: str, beside: bool) -> str:
    """Return the Content-Security-Policy: its own script and style, and no more than it needs.

    Args:
        beside: files with responses lie beside it; the page's own script alone names them (Trusted Types).
    """
    # A page on disk has no origin that 'self' would be: it is file: there, which reaches the disk alone.
    shards = " 'self' file:" if beside else ''
    return (
        f"default-src 'none'; script-src '{_hash(script)}'{shards}; style-src '{_hash(style)}'; img-src data:"
        f"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types "
        + ('gpassk-responses' if beside else "'none'")
    )


def as_script_data(content: Mapping[str, Any]) -> str:
    """Return JSON that stays data inside a <script> element: without <, >, & and beyond ASCII.

    >>> as_script_data({'answer': '</script>'})
    '{"answer":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(content, allow_nan=False, separators=(',', ':'))
    for character in '<>&':
        text = text.replace(character, f'\\u{ord(character):04x}')
    return text


def _template() -> Template:
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise MissingExtraError('jinja2', 'report') from error
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters['script_data'] = as_script_data
    return environment.from_string(_read('page.html.j2'))


def _read(name: str) -> str:
    return (files(__name__) / 'files' / name).read_text(encoding='utf-8')


def _hash(text: str) -> str:
    """Return what a Content-Security-Policy calls an inline script or style."""
    return 'sha256-' + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
