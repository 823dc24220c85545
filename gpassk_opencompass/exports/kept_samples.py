"""Samples of a store as a table with a row a sample, as `gpassk score` reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple, TextIO

from ..errors import InputError
from ..files import mapping
from ..results.samples import Column, arrow_schema, arrow_table
from ..sample_store.stock import Stock
from ..sample_store.store import Kept, samples_in
from ..unseen import json_text, with_whole_characters

COLUMNS = (
    Column('model', 'label', 'The last part of its path, with its settings where several share it', True),
    Column('uid', 'label', 'The question', True),
    Column('question', 'label', 'Text of the question', True),
    Column('reference', 'label', 'The reference answer when it was drawn', True),
    Column('replica', 'int32', 'Which of the samples of its question, from 0', True),
    Column('seed', 'int64', 'What the sample was drawn with'),
    Column('response', 'text', 'The whole response', True),
    Column('finish_reason', 'label', 'Why the engine ended it'),
    Column('prompt_tokens', 'int32', 'Tokens of the prompt'),
    Column('output_tokens', 'int32', 'Generated tokens'),
    Column('reasoning_tokens', 'int32', 'Of these, those of the thought'),
    Column('seconds', 'double', 'From request to reply'),
    Column('state', 'label', 'What kind of response it is, where it is no usual one'),
    Column('run', 'label', 'The run that drew it, by the name of its work directory', True),
    Column('since', 'label', 'When that run began', True),
    Column('settings', 'label', 'Its folder in the store', True),
)

_TOLD = tuple(one.name for one in COLUMNS[7:13])


class Rows(NamedTuple):
    """Rows of a table, by the names of `COLUMNS`, and how many samples of other runs were left out."""

    rows: list[dict[str, Any]]
    left_out: int


def rows_of(chosen: Sequence[Stock], run: str | None = None) -> Rows:
    """Return the samples of some identities, each once.

    Args:
        run: take those alone that the run with this work directory drew; None: of several runs that drew one
            sample the first.

    Raises:
        InputError: a file cannot be read, or a question was asked in several ways, which are no samples of
            one thing.
    """
    rows, left_out = [], 0
    for stock, label in zip(chosen, _labels(chosen), strict=True):
        seen: dict[tuple[str, Any], Kept] = {}
        for kept in _kept(stock, run):
            sample = str(kept.about.get('uid')), kept.about.get('replica')
            first = seen.setdefault(sample, kept)
            if first is kept:
                rows.append(_row(stock, kept, label))
            elif first.key == kept.key:
                left_out += 1
            else:
                names = ', '.join(dict.fromkeys(str(one.about.get('run')) for one in (first, kept)))
                raise InputError(
                    f'{stock.folder.name} has question {sample[0]} with several prompts, as with and without '
                    f'cot: --run NAME chooses one, such as {names}'
                )
    return Rows(rows, left_out)


def write_lines(rows: Sequence[dict[str, Any]], file: TextIO) -> None:
    """Write rows as JSON lines."""
    file.writelines(f'{json_text(row)}\n' for row in rows)


def write_parquet(rows: Sequence[dict[str, Any]], file: IO[bytes]) -> None:
    """Write rows as Parquet; its metadata say of each column what it is."""
    from pyarrow import parquet  # type: ignore[import-untyped]

    whole = [with_whole_characters(row) for row in rows]
    columns = {column.name: [row[column.name] for row in whole] for column in COLUMNS}
    schema = arrow_schema(COLUMNS, {'gpassk.kept': '1'})
    parquet.write_table(arrow_table(columns, schema), file, compression='zstd')


def _kept(stock: Stock, run: str | None) -> Iterator[Kept]:
    for kept in samples_in(stock.folder):
        if kept is not None and run in (None, kept.about.get('run')):
            yield kept


def _row(stock: Stock, kept: Kept, label: str) -> dict[str, Any]:
    about = kept.about
    generation = mapping(about.get('generation'))
    return {
        'model': label,
        'uid': str(about.get('uid')),
        'question': _text(about.get('question')),
        'reference': _text(about.get('reference')),
        'replica': about.get('replica'),
        'seed': about.get('seed'),
        'response': kept.response,
        **{name: generation.get(name) for name in _TOLD},
        'run': str(about.get('run')),
        'since': str(about.get('since')),
        'settings': stock.folder.name,
    }


def _labels(chosen: Sequence[Stock]) -> list[str]:
    counts = Counter(one.model for one in chosen)
    return [
        one.model if counts[one.model] == 1 else f'{one.model} ({one.sampling}; {one.folder.name})'
        for one in chosen
    ]


def _text(value: Any) -> str:
    if value is None:
        return ''
    return value if isinstance(value, str) else json_text(value)
