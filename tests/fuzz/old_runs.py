"""What the fuzz tests draw of old work directories of OpenCompass: some whole, most damaged or made up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import old_work_dir as old
from drawn import deep, mutated, values
from hypothesis import strategies as st

Files = dict[str, bytes]
"""Path below a folder → content."""

ASKS = [old.ASKS[place] for place in (0, 3, 4, 7)]
"""A question of each split and language; their answers are 6 and 7."""

GIVEN = old.responses(ASKS, [2, 1, 1, 1], n=2)
WORK_DIR = 'old'


class Kind(NamedTuple):
    """An old run that is whole."""

    rows: list[dict[str, Any]]
    data: dict[str, Any]
    parts: Sequence[int] = ()
    times: Sequence[str] = (old.TIME,)


ROWS = old.rows(ASKS, GIVEN)
DATASET = old.dataset(k=[1, 2], n=2)
KINDS = (
    Kind(ROWS, DATASET),
    Kind(ROWS, DATASET, parts=[4, 1, 3]),
    Kind(ROWS, DATASET, times=['20240101_000000', old.TIME]),
    Kind([{**row, 'origin_prompt': None} for row in ROWS], DATASET),
    Kind(
        [
            {
                'origin_prompt': [{'role': 'HUMAN', 'prompt': row['origin_prompt']}],
                'prediction': texts,
                'gold': row['gold'],
            }
            for row, texts in zip(ROWS, GIVEN, strict=False)
        ],
        old.dataset(k=2, n=1),
    ),
)


@cache
def whole_run(kind: int) -> Files:
    """One of `KINDS`."""
    rows, data, parts, times = KINDS[kind]
    with TemporaryDirectory() as folder:
        root = Path(folder, WORK_DIR)
        for time in times:
            old.write(root, rows, data, parts=parts)
            old.put_result(root, [[1, 1], [0, 0], [1, 1], [0, 0]])
            old.put_replies(root, [r'\boxed{yes}', r'\boxed{no}', r'\boxed{Yes.}', '?'])
            (root / old.TIME).rename(root / time)
        return old.contents(Path(folder))


class Source(str):
    """Stands for a value in a config as it is written there."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


SOURCES = [
    f'0x{"f" * 5000}', '-0x1', '1e999', '1_0', '2.0', 'True', "b'x'", '{1}', '...', '(1, 2)', "'a' * 3",
    'dict(a=1)', 'dict(**1)', "dict(type='x', abbr=[])", '[' * 80 + ']' * 80, 'None',
    "open('hacked', 'w')", "__import__('os').mkdir('hacked')", "f'{1}'", "'\\ud800'",
]  # fmt: skip
FIELDS = [*old.dataset(), 'pred_postprocessor', 'seed', 'generation_kwargs', 'gen_config', 'random_seed']
LIKELY = [
    0, 1, 2, 3, 8, 10**9, [1], [2, 1], [1, 1], [], ['en'], ['AMC', 'AMC'], ['en', 'cn'], ['fr'], 'AMC', '',
    '202505', '../..', old.NAME, 'LiveMathBench', 'x.LiveMathBenchDataset', 'gpassk_opencompass.X',
    {'test_range': '[0:2]'}, {'evaluator': {'type': 'x.y'}}, {'prompt_template': '{question}'}, False,
    {'prompt_template': {'template': {'round': [{'role': 'HUMAN', 'prompt': '{prompt}{prompt}'}]}}},
]  # fmt: skip
config_values = values | st.sampled_from(LIKELY) | st.sampled_from(SOURCES).map(Source)
changes = st.dictionaries(st.sampled_from(['abbr', 'type', *FIELDS]), config_values, max_size=2)


@st.composite
def _config(draw: st.DrawFn, data: Mapping[str, Any]) -> bytes:
    """Of the run, with other values."""
    data, model = {**data, **draw(changes)}, {'abbr': 'm', 'type': 'x.VLLM', **draw(changes)}
    return f'datasets = [{data!r}]\nmodels = [{model!r}]\n'.encode('utf-8', 'backslashreplace')


FOLDERS = [
    'm', 'a', 'b', 'a_b', 'predictions', 'results', 'configs', 'logs', old.TIME, '20250105_120001', '2025',
    '99999999_999999',
]  # fmt: skip
STEMS = [
    old.NAME, 'LiveMathBench', f'{old.NAME}_0', f'{old.NAME}_1', f'{old.NAME}_2', f'{old.NAME}_7',
    f'{old.NAME}_٣', f'{old.NAME}_²', f'{old.NAME}_', f'{old.NAME}_1000000', f'tmp_{old.NAME}_1', '', 'gsm8k',
]  # fmt: skip
ODD = [
    '\x1b[2J', '\x9b', '\u202e', '\udcff', '\n', 'é', ' ', '-', '~', '.', '<b>', '|', '=1', 'x' * 250,
    'x' * 255,
]  # fmt: skip
folders = st.sampled_from(FOLDERS) | st.sampled_from(ODD)
stems = st.sampled_from(STEMS) | st.sampled_from(ODD)


PLACE = 'where something deep will be'


@st.composite
def _changed_inside(draw: st.DrawFn, content: bytes) -> bytes:
    """JSON with one of its values another one, or left out."""
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        return content
    holder: Any = None
    inner, key = whole, None
    while isinstance(inner, (dict, list)) and inner and (holder is None or draw(st.integers(0, 3))):
        holder = inner
        key = draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
        inner = holder[key]
    if holder is None:
        return json.dumps(draw(values)).encode()
    change = draw(st.sampled_from(['value', 'value', 'gone', 'deep']))
    if change == 'value':
        holder[key] = draw(values)
    elif change == 'gone':
        del holder[key]
    else:
        holder[key] = PLACE
    text = json.dumps(whole)
    return (text.replace(f'"{PLACE}"', draw(deep)) if change == 'deep' else text).encode()


@st.composite
def _renamed(draw: st.DrawFn, path: str) -> str:
    """Another name for the file, or for one of the folders around it."""
    parts = path.split('/')
    place = draw(st.integers(1, len(parts) - 1))
    if place < len(parts) - 1:
        parts[place] = draw(folders)
    else:
        parts[place] = draw(stems) + draw(st.sampled_from([Path(path).suffix, '', '.json']))
    return '/'.join(parts)


DAMAGES = ['bytes', 'value', 'value', 'config', 'config', 'move', 'copy', 'copy', 'folder', 'stray']


@st.composite
def old_runs(draw: st.DrawFn) -> Files:
    """A work directory, with none to three damages."""
    of = draw(st.integers(0, len(KINDS) - 1))
    files = dict(whole_run(of))
    for _ in range(draw(st.integers(0, 3))):
        damage = draw(st.sampled_from(DAMAGES))
        path = draw(st.sampled_from(_suited(files, damage)))
        if damage == 'bytes':
            files[path] = draw(mutated(files[path]))
        elif damage == 'value':
            files[path] = draw(_changed_inside(files[path]))
        elif damage == 'config':
            files[path] = draw(_config(KINDS[of].data))
        elif damage == 'stray':
            time, model, stem = draw(folders), draw(folders), draw(stems)
            files[f'{WORK_DIR}/{time}/predictions/{model}/{stem}.json'] = b'{}'
        elif damage == 'folder':
            files[f'{path}/x'] = files.pop(path)
        else:
            content = files.pop(path) if damage == 'move' else files[path]
            files[draw(_renamed(path))] = content
    return files


def _suited(files: Files, damage: str) -> list[str]:
    """The files that can have a damage."""
    found = [
        path
        for path in sorted(files)
        if damage not in ('value', 'config') or ('/configs/' in path) == (damage == 'config')
    ]
    return found or sorted(files)


def put(root: Path, files: Files) -> None:
    """Only these files below the folder, as far as the file system can hold them."""
    shutil.rmtree(root, ignore_errors=True)
    for path, content in files.items():
        try:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        except (OSError, ValueError):  # a folder where a file should be, a name that is too long
            continue
