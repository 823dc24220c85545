"""A folder of configs: each as Python source that mmengine loads to the same values, and `manifest.jsonl`.

The manifest says what the configs are, a line each, and what they were when they were written; so a second
expansion changes nothing, and what somebody has edited is left alone.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any, ClassVar, NamedTuple

from annotated_types import Ge, Le

from ..errors import InputError, TemplateError
from ..files import digest, write_file
from ..text import progress

MANIFEST = 'manifest.jsonl'
LARGEST = 10**40
"""No setting or size is as large, and Python does not write numbers of thousands of digits."""
WIDTH = 100

_Count = Annotated[int, Ge(-LARGEST), Le(LARGEST)]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One config of a folder, whose result is `<work_dir>/<time>/results/<model_abbr>/<dataset_abbr>.json`.

    Args:
        questions: None where that is not known, as n of a template with data sets of its own.
        template: its path as seen from the folder; it may be moved, and is then known by its content.
        sha256: of the config as it was written.
        stale: the template no longer gives the config, whose file is still there.
    """

    __pydantic_config__: ClassVar[Any] = {'strict': True, 'allow_inf_nan': False}

    file: str
    model: str
    path: str
    settings: Mapping[str, _Count | float]
    benchmark: str
    k: tuple[_Count, ...]
    n: _Count | None
    questions: _Count | None = None
    limit: _Count | None = None
    model_abbr: str
    dataset_abbr: str
    template: str = ''
    template_sha256: str = ''
    sha256: str = ''
    stale: bool = False


class SweepRun(NamedTuple):
    """One config of a sweep, and what its folder's manifest says of it."""

    entry: Entry
    config: Mapping[str, Any]


@cache
def _reader() -> Any:
    """Return what reads an entry; pydantic is slow to import, and not needed where there is no manifest."""
    from pydantic import TypeAdapter

    return TypeAdapter(Entry)


def read_manifest(folder: Path) -> tuple[Entry, ...]:
    """Return the entries of a folder's manifest, stale ones too; none if it has no manifest.

    Raises:
        InputError: the file cannot be read, or a line is not an entry.
    """
    path = folder / MANIFEST
    try:
        lines = path.read_bytes().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise InputError(f'cannot read the manifest {path}: {error}') from error
    entries: list[Entry] = []
    for number, line in enumerate(lines, start=1):
        try:
            entries.append(_reader().validate_json(line))
            if not re.fullmatch(r'[^/\0]+\.py', entries[-1].file, re.DOTALL):  # it may be removed
                raise ValueError(f'file {entries[-1].file!r}: expected the name of a config beside it')
        except ValueError as error:
            told = ', '.join(str(error).splitlines()[1:3]) or str(error)
            raise InputError(
                f'{path}:{number} is not an entry of a manifest ({told}); if it was changed by hand, or is '
                'of another version, remove the file: the next expansion writes it anew'
            ) from error
    return tuple(entries)


def manifest_text(entries: Iterable[Entry]) -> str:
    """Return the text of a manifest, as `read_manifest` reads it; `limit` stands in that of a trial alone."""
    lines = [
        {name: value for name, value in vars(one).items() if name != 'limit' or value} for one in entries
    ]
    return ''.join(f'{json.dumps(line, ensure_ascii=False)}\n' for line in lines)


def models_below(folders: Iterable[Path], more: Iterable[Path] = ()) -> dict[str, Entry]:
    """Return model abbreviation → entry of the manifests in or below folders, and in `more`.

    Not of one for which they tell different paths. Of several the last counts, and what is not stale first.
    """
    homes = [Path(root) for one in folders for root, _, names in os.walk(one) if MANIFEST in names]
    entries = [entry for home in dict.fromkeys([*homes, *more]) for entry in read_manifest(home)]
    entries.sort(key=lambda entry: not entry.stale)
    models = {entry.model_abbr: entry for entry in entries}
    unclear = {entry.model_abbr for entry in entries if entry.path != models[entry.model_abbr].path}
    return {abbr: entry for abbr, entry in models.items() if abbr not in unclear}


# Expansion into a folder


@dataclass(frozen=True)
class Changes:
    """What an expansion would do to its folder.

    `texts`: of each config that the template gives. Of files `written` are missing or say something else,
    `replaced` are those of them that are not as they were written (edited by hand, or another's), `stale`
    come from an earlier expansion of the template, `edited` are stale and not as they were written. `earlier`
    and `entries`: the manifest before, and afterwards if nothing is removed.
    """

    folder: Path
    texts: Mapping[str, str]
    written: Sequence[str]
    replaced: Sequence[str]
    stale: Sequence[str]
    edited: Sequence[str]
    earlier: Sequence[Entry]
    entries: Sequence[Entry]

    def apply(self, prune: bool = False) -> None:
        """Write what differs, then the manifest; with `prune` remove what is stale and unedited.

        The manifest first names all that is about to be written, so that an expansion that is killed leaves
        no unknown files. InputError if the folder cannot be made or written to.
        """
        known, removed = {entry.file for entry in self.earlier}, self.stale if prune else ()
        announced = [*self.earlier, *(entry for entry in self.entries if entry.file not in known)]

        def write(name: str, text: str) -> None:
            if _content(self.folder / name) != text.encode():
                write_file(self.folder / name, text.encode())

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write(MANIFEST, manifest_text(announced))
            for name in progress('writing configs', self.written):
                write(name, self.texts[name])
            for name in removed:
                (self.folder / name).unlink()
            write(MANIFEST, manifest_text(entry for entry in self.entries if entry.file not in removed))
        except OSError as error:
            raise InputError(
                f'cannot write configs to {self.folder}: {error}; choose another --output-dir'
            ) from error


def changes(folder: Path, runs: Sequence[SweepRun], template: Path, trial: bool = False) -> Changes:
    """Compare a folder with the configs that a template gives; what has not changed will not be touched.

    The template is known by its resolved path and by its content: moved or edited it is the same, another one
    of the same file name is not. `trial`: the runs were made smaller for a look, so whole ones do not become
    stale.
    """
    place = os.path.relpath(template.resolve(), folder.resolve())
    known = digest(template.read_bytes())
    head = f'# Written from the template {template.name!r}: change that, not this file.\n'
    rendered: dict[tuple[str, int], str] = {}  # many configs share a part as one object
    texts, entries = {}, []
    for entry, config in runs:
        for name, part in config.items():
            if (name, id(part)) not in rendered:
                rendered[name, id(part)] = f'{name} = {_rendered(plain(part, name), len(name) + 3, 0)}\n'
        text = '\n'.join([head, *(rendered[name, id(part)] for name, part in config.items())])
        texts[entry.file], mark = text, digest(text.encode())
        entries.append(replace(entry, template=place, template_sha256=known, sha256=mark))
    earlier = read_manifest(folder)
    before = {entry.file: entry.sha256 for entry in earlier}
    contents = {name: _content(folder / name) for name in {**texts, **before}}
    now = {name: digest(content) for name, content in contents.items() if content is not None}
    written = [name for name, text in texts.items() if contents[name] != text.encode()]
    replaced = [name for name in written if name in now and before.get(name) != now[name]]
    stale: list[str] = []
    edited: list[str] = []
    for entry in earlier:
        if entry.file in texts:
            continue
        own = known == entry.template_sha256 or place == entry.template
        is_stale = entry.stale or (own and (entry.limit is not None or not trial))
        if is_stale and own and entry.file in now:
            (stale if now[entry.file] == entry.sha256 else edited).append(entry.file)
        if entry.file in now or not is_stale:
            entries.append(replace(entry, stale=is_stale))
    entries.sort(key=lambda entry: entry.template)
    return Changes(folder, texts, written, replaced, stale, edited, earlier, entries)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _rendered(value: Any, column: int, indent: int) -> str:
    """Write a value on one line if it ends before WIDTH, else one item a line with a trailing comma."""
    line = repr(value)
    if not value or not isinstance(value, (dict, list)) or column + len(line) < WIDTH:
        return line
    named = value.items() if isinstance(value, dict) else [(None, item) for item in value]
    lines, inner = [], ' ' * (indent + 4)
    for name, item in named:
        start = f'{inner}{name!r}: ' if isinstance(value, dict) else inner
        lines.append(f'{start}{_rendered(item, len(start) + 1, indent + 4)},\n')
    opening, closing = '{}' if isinstance(value, dict) else '[]'
    return f'{opening}\n{"".join(lines)}{" " * indent}{closing}'


def plain(value: Any, where: str) -> Any:
    """Return the value in literals alone: classes and functions as dotted paths, tuples as lists.

    TemplateError for a value that has no such form, of which it shows nothing; `where` says which.
    """
    if isinstance(value, (list, tuple, range)):
        return [plain(item, f'{where}[{i}]') for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return _plain_leaf(value, where)
    for key in value:
        if not isinstance(key, (str, int)):
            raise TemplateError(f'{where} has the key {key!r}; allowed are strings and whole numbers')
    named = [(_plain_leaf(key, f'the name of an entry of {where}'), key) for key in value]
    return {name: plain(value[key], f'{where}.{name}') for name, key in named}


def _plain_leaf(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Integral) and abs(int(value)) <= LARGEST:  # numpy's too
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and math.isfinite(value):
        return float(value)
    if isinstance(value, (str, os.PathLike)):
        text = str.__str__(os.fspath(value))
        if text.isascii() or not re.search('[\ud800-\udfff]', text):
            return text
        raise TemplateError(f'{where} has a half of a character, which no file can hold: give it in UTF-8')
    if isinstance(value, (type, FunctionType)) and '<' not in f'{value.__module__}{value.__qualname__}':
        return f'{value.__module__}.{value.__qualname__}'
    kind = value if isinstance(value, float) else f'of type {type(value).__name__}'
    raise TemplateError(
        f'{where} is {kind}, which cannot be written into a config; allowed are finite numbers of up to 40 '
        'digits, strings, True, False, None, lists, dicts, and classes or functions that can be imported'
    )


NO_LITERAL = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)
"""What `ast.parse` and `literal` raise for what is no Python, nested too deep, or no literal."""


class _DictCalls(ast.NodeTransformer):
    """Writes `dict({'a': 1}, b=2)` as `{'a': 1, 'b': 2}`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        dicts = [one for one in node.args if isinstance(one, ast.Dict)]
        named = [one for one in node.keywords if one.arg]
        if getattr(node.func, 'id', '') != 'dict' or [*dicts, *named] != [*node.args, *node.keywords]:
            return node
        keys = [key for one in dicts for key in one.keys] + [ast.Constant(one.arg) for one in named]
        return ast.Dict(keys, [value for one in dicts for value in one.values] + [one.value for one in named])


def literal(node: ast.expr | ast.Expression) -> Any:
    """Return the value of a literal, in which `dict(a=…)` may stand; else raise one of NO_LITERAL.

    >>> literal(ast.parse("[dict(type='rule'), 1]", mode='eval'))
    [{'type': 'rule'}, 1]
    """
    return ast.literal_eval(_DictCalls().visit(node))
