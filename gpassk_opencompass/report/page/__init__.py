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
from ..leaderboard import Board
from ..published import Published
from ..written import write_file
from .content import page_content

if TYPE_CHECKING:
    from jinja2 import Template

SCRIPTS = (
    'statistics.js',
    'dom.js',
    'columns.js',
    'table.js',
    'curves.js',
    'questions.js',
    'compare.js',
    'page.js',
)
"""Joined in this order into the one script of the page."""


def write_page(boards: Sequence[Board], folder: Path, published: Published | None = None) -> list[Path]:
    """Write `index.html`: tables, curves, comparisons and every answer, for a browser and for sharing.

    The file needs no other: it holds counts, answers, style and script, and its security policy forbids
    everything else, so that no text of a model can load or run anything.

    Args:
        boards: each is chosen by name on the page.
        folder: made if it is missing.
        published: aggregates of a published leaderboard, shown as tables of their own, without intervals.

    Returns:
        The path of the page.

    Raises:
        InputError: there is nothing to show.
        MissingExtraError: Jinja2 or latex2mathml is not installed.
    """
    template = _template()
    script = "'use strict';\n(() => {\n" + '\n'.join(map(_read, SCRIPTS)) + '\n})();\n'
    style = _read('page.css')
    page = template.render(
        content=page_content(boards, published),
        script=script,
        style=style,
        script_hash=_hash(script),
        style_hash=_hash(style),
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / 'index.html'
    write_file(path, page.encode())
    return [path]


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
