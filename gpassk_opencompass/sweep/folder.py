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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le

from ..errors import InputError, TemplateError
from ..files import digest, replace_file
from ..text import progress, words

MANIFEST = 'manifest.jsonl'
LARGEST = 10**40
"""No setting or size is as large, and Python does not write numbers of thousands of digits."""
WIDTH = 100

_Count = Annotated[int, Ge(-LARGEST), Le(LARGEST)]


@dataclass(frozen=True)
class ModelFacts:
    """What a leaderboard says of a model beside its scores; None is not known.

    They change no score. A later version may tell more; that is passed over.
    """

    __pydantic_config__: ClassVar[Any] = {'strict': True, 'extra': 'ignore'}

    open_source: bool | None = None
    mathematical: bool | None = None
    o1_like: bool | None = None
    parameters: str | None = None  # how many it has: '7B', '1.5B', '671B'
    link: str | None = None

    def known(self) -> dict[str, Any]:
        """Return what is known."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a config is, in short.

    `n` is None if a template with data sets of its own does not say, `questions` where their number is not
    known; `limit` stands in trials alone.
    """

    file: str
    model: str
    path: str
    settings: Mapping[str, _Count | float]
    benchmark: str
    k: tuple[_Count, ...]
    n: _Count | None
    questions: _Count | None = None
    facts: ModelFacts = field(default=ModelFacts())
    limit: _Count | None = None


@dataclass(frozen=True, kw_only=True)
class Run(Summary):
    """One config of a sweep."""

    config: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Entry(Summary):
    """One config of a folder.

    The result of the config is `<work_dir>/<time>/results/<model_abbr>/<dataset_abbr>.json`. `template` is
    its path as seen from the folder, `sha256` of the file as it was written. `stale` says that the template
    no longer gives the config, whose file is still there.
    """

    __pydantic_config__: ClassVar[Any] = {'strict': True, 'extra': 'forbid', 'allow_inf_nan': False}

    template: str
    model_abbr: str
    dataset_abbr: str
    sha256: str
    signature: str = ''
    stale: bool = False
    template_sha256: str = ''  # it may be moved


@cache
def _entry() -> Any:
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
        lines = path.read_bytes().split(b'\n')
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise InputError(f'cannot read the manifest {path}: {error}') from error
    entries: list[Entry] = []
    for number, line in enumerate(lines if lines[-1] else lines[:-1], start=1):
        try:
            entries.append(_entry().validate_json(line))
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
    lines = []
    for entry in entries:
        line = {**vars(entry), 'facts': entry.facts.known()}
        if entry.limit is None:
            del line['limit']
        lines.append(f'{json.dumps(line, ensure_ascii=False)}\n')
    return ''.join(lines)


def models_below(folders: Iterable[Path], more: Iterable[Path] = ()) -> dict[str, Entry]:
    """Return the abbreviation of each model of manifests in or below folders → its entry.

    Not of one for which they tell different paths. Of several the last counts, and what a template says now
    before what is stale. `more`: folders with a manifest.
    """
    walks = (os.walk(folder) for folder in folders)
    homes = [Path(root) for walk in walks for root, _, names in walk if MANIFEST in names]
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
        no unknown files. A reader of a file sees the old one or the new one, never a part.

        Raises:
            InputError: the folder cannot be made or written to.
        """
        known = {entry.file for entry in self.earlier}
        announced = [*self.earlier, *(entry for entry in self.entries if entry.file not in known)]
        removed = set(self.stale if prune else ())
        left = [entry for entry in self.entries if entry.file not in removed]
        draft = self.folder / f'.writing-{os.getpid()}'  # shorter than the names of configs may be

        def write(name: str, text: str) -> None:
            if _content(self.folder / name) != text.encode():
                replace_file(self.folder / name, text.encode(), draft)

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write(MANIFEST, manifest_text(announced))
            for name in progress('writing configs', self.written):
                write(name, self.texts[name])
            for name in removed:
                (self.folder / name).unlink()
            write(MANIFEST, manifest_text(left))
        except OSError as error:
            raise InputError(
                f'cannot write configs to {self.folder}: {error}; choose another --output-dir'
            ) from error


def changes(folder: Path, runs: Sequence[Run], template: Path, trial: bool = False) -> Changes:
    """Compare a folder with the configs that a template gives; what has not changed will not be touched.

    The template is known by its resolved path and by its content: moved or edited it is the same, another one
    of the same file name is not. `trial`: the runs were made smaller for a look, so whole ones do not become
    stale.
    """
    place = os.path.relpath(template.resolve(), folder.resolve())
    known = digest(template.read_bytes())
    head = f'# Written from the template {template.name!r}: change that, not this file.\n'
    source_of, canonical_of = _once(_source), _once(_canonical)
    texts, current = {}, []
    for run in runs:
        texts[run.file] = '\n'.join([head, *(source_of(name, part) for name, part in run.config.items())])
        current.append(
            Entry(
                **{each.name: getattr(run, each.name) for each in fields(Summary)},
                template=place,
                template_sha256=known,
                model_abbr=run.config['models'][0]['abbr'],
                dataset_abbr=run.config['datasets'][0]['abbr'],
                signature=signature(run.config, canonical_of),
                sha256=digest(texts[run.file].encode()),
            )
        )
    earlier = read_manifest(folder)
    before = {entry.file: entry.sha256 for entry in earlier}
    contents = {name: _content(folder / name) for name in texts}
    written = [name for name, text in texts.items() if contents[name] != text.encode()]
    here = {name: digest(content) for name in written if (content := contents[name]) is not None}
    replaced = [name for name, known_as in here.items() if before.get(name) != known_as]
    stale: list[str] = []
    edited: list[str] = []
    others: list[Entry] = []
    for entry in earlier:
        if entry.file in texts:
            continue
        own = known == entry.template_sha256 or place == entry.template
        is_stale = entry.stale or (own and (entry.limit is not None or not trial))
        content = _content(folder / entry.file) if is_stale else None
        if content is not None and own:
            (stale if digest(content) == entry.sha256 else edited).append(entry.file)
        if content is not None or not is_stale:
            others.append(replace(entry, stale=is_stale))
    entries = sorted([*current, *others], key=lambda entry: entry.template)
    return Changes(folder, texts, written, replaced, stale, edited, earlier, entries)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


# A config as text

_PartText = Callable[[str, Any], str]


def _once(text_of: _PartText) -> _PartText:
    """Return `text_of`, made once for a part that many configs share as one object."""
    known: dict[tuple[str, int], tuple[Any, str]] = {}  # a part too: its identity must not become another's

    def text(name: str, part: Any) -> str:
        if (name, id(part)) not in known:
            known[name, id(part)] = part, text_of(name, part)
        return known[name, id(part)][1]

    return text


def _source(name: str, part: Any) -> str:
    return f'{name} = {_rendered(plain(part, name), len(name) + 3, 0)}\n'


def _rendered(value: Any, column: int, indent: int) -> str:
    """Write a value on one line if it ends before WIDTH, else one item a line with a trailing comma."""
    line = repr(value)
    if not value or not isinstance(value, (dict, list)) or column + len(line) < WIDTH:
        return line
    inner = indent + 4
    heads = [f'{key!r}: ' for key in value] if isinstance(value, dict) else [''] * len(value)
    items = value.values() if isinstance(value, dict) else value
    lines = (
        f'{" " * inner}{head}{_rendered(item, inner + len(head) + 1, inner)},\n'
        for head, item in zip(heads, items, strict=True)
    )
    opening, closing = '{}' if isinstance(value, dict) else '[]'
    return f'{opening}\n{"".join(lines)}{" " * indent}{closing}'


def plain(value: Any, where: str) -> Any:
    """Return the value in literals alone: classes and functions as dotted paths, tuples as lists.

    Raises:
        TemplateError: a value that has no such form; `where` says which.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) > LARGEST:
        raise TemplateError(f'{where} is a whole number of more than 40 digits; no setting is as large')
    if isinstance(value, (int, str)) or (isinstance(value, float) and math.isfinite(value)):
        # A subclass (of numpy, an enum) may have a repr of its own.
        return next(kind for kind in (int, float, str) if isinstance(value, kind))(value)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, (str, int)):
                raise TemplateError(f'{where} has the key {key!r}; allowed are strings and whole numbers')
        return {key: plain(item, f'{where}.{key}') for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f'{where}[{i}]') for i, item in enumerate(value)]
    if isinstance(value, (type, FunctionType)) and '<' not in f'{value.__module__}{value.__qualname__}':
        return f'{value.__module__}.{value.__qualname__}'
    raise TemplateError(
        f'{where} is {value!r}, which cannot be written into a config; allowed are finite numbers, strings, '
        'True, False, None, lists, dicts, and classes or functions that can be imported'
    )


# What a config measures

_NOT_CHOOSING = {
    'models': words("""
        abbr api_addr base_url key key_env openai_api_base served_name
        batch_size cache_max_entry_count gpu_memory_utilization max_batch_size max_num_seqs max_workers
        patience pp query_per_second retry run_cfg tensor_parallel_size timeout tp
    """),
    'datasets': words("""
        abbr api_key_env store url urls
        attempts concurrency gpus most_failed patience pp progress rate total_time tp
        unjudged_tolerance workers
    """),
}
"""Fields of our and OpenCompass's classes that change neither a sample nor a verdict: names and places; how
fast the work is done, on how many GPUs, and when it is given up."""
_ANYBODYS = {'models': {'abbr', 'run_cfg', 'batch_size'}, 'datasets': {'abbr'}}
"""Those that OpenCompass takes out of an entry before it builds the class, whosever that is."""


def signature(config: Mapping[str, Any], canonical_of: _PartText | None = None) -> str:
    """Return a hash of the models and data sets of a config: settings, questions, prompts, k, n and judge.

    Left out are names, addresses, keys, batch sizes, GPUs, runners and the summarizer: with others the
    numbers mean the same. Of a class that is neither ours nor OpenCompass's nothing is left out. So a config
    has the same signature as written, as loaded by mmengine, and as OpenCompass keeps it in
    `<work_dir>/<time>/configs/`.

    Raises:
        InputError: a value that cannot stand in a config.

    >>> run = {'models': [{'path': 'org/m', 'batch_size': 8}], 'datasets': [{'n': 48}]}
    >>> signature(run) == signature({**run, 'models': [{'path': 'org/m', 'batch_size': 64}]})
    True
    """
    text_of = canonical_of or _canonical
    return digest(''.join(text_of(name, config.get(name)) for name in _NOT_CHOOSING).encode())[:16]


def _canonical(name: str, part: Any) -> str:
    value, left_out = plain(part, name), _NOT_CHOOSING[name]
    for i, entry in enumerate(value if isinstance(value, list) else []):
        if isinstance(entry, dict):
            fields = {str(key): item for key, item in entry.items() if key not in _ANYBODYS[name]}
            parts = {key: fields.pop(key) for key in ('reader_cfg', 'infer_cfg', 'eval_cfg') if key in fields}
            value[i] = _chosen(fields, left_out) | {key: _chosen(one, left_out) for key, one in parts.items()}
    return json.dumps(value, sort_keys=True)


def _chosen(value: Any, left_out: frozenset[str], is_judge: bool = False) -> Any:
    """Return what of a value chooses something; of a user's own class all of it."""
    if isinstance(value, list):
        return [_chosen(item, left_out) for item in value]
    if not isinstance(value, dict):
        return value
    kind = str(value.get('type', ''))
    ours = kind in ('rule', 'llm', 'cascade') or not is_judge
    if not (kind.startswith(('gpassk_opencompass.', 'opencompass.')) if '.' in kind else ours):
        return value
    if isinstance(value.get('serve'), dict):
        from ..serving import choosing  # all that starts servers: few configs name one

        value = {**value, 'serve': choosing(value['serve'])}
    return {
        str(key): _chosen(item, left_out, key in ('judge', 'first', 'second'))
        for key, item in value.items()
        if key not in left_out
    }


# Source that is data

NO_LITERAL = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)
"""What `ast.parse` and `literal` raise for what is no Python, nested too deep, or no literal."""


class _Dicts(ast.NodeTransformer):
    """Makes `{'a': 1}` of `dict(a=1)` and of `dict({'a': 1})`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id != 'dict':
            return node
        if len(node.args) == 1 and isinstance(node.args[0], ast.Dict) and not node.keywords:
            return node.args[0]
        if node.args or any(keyword.arg is None for keyword in node.keywords):
            return node
        keys: list[ast.expr | None] = [ast.Constant(keyword.arg) for keyword in node.keywords]
        return ast.Dict(keys, [keyword.value for keyword in node.keywords])


def literal(node: ast.expr | ast.Expression) -> Any:
    """Return the value of a literal, in which `dict(…)` of literals may stand; else raise one of NO_LITERAL.

    >>> literal(ast.parse("[dict(type='rule'), 1]", mode='eval'))
    [{'type': 'rule'}, 1]
    """
    return ast.literal_eval(_Dicts().visit(node))
