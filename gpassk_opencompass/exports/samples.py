"""A table with a row a sample, of one result or of many: what is known of run, question and sample."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO, Any, TextIO

from ..errors import InputError
from ..samples import parted_group
from ..results.result import Result
from ..results.samples import COLUMNS, WORDS, Column, SampleColumns, arrow_schema, arrow_table
from ..tables import csv_cell, csv_lines, csv_text
from ..unseen import with_whole_characters
from ..version import __version__
from .responses import responses_of

LAYOUT = 1
"""Version of the columns; raised when a reader would have to change."""

RUN = (
    Column('model', 'label', 'The model with its settings, as the run calls it', True),
    Column('dataset', 'label', 'The benchmark with k and n', True),
    Column('host', 'label', 'Who ran it: opencompass, lighteval or file', True),
    Column('temperature', 'double', 'Sampling temperature'),
    Column('top_p', 'double', 'Nucleus sampling'),
    Column('top_k', 'int64', 'Top-k sampling'),
    Column('repetition_penalty', 'double', 'Repetition penalty'),
    Column('random_seed', 'int64', 'The seed of the run, of which the seeds of the samples are made'),
    Column('max_out_len', 'int64', 'Tokens that a response might have'),
    Column('judge', 'label', 'Who judged, and its model where it has one', True),
    Column('signature', 'label', 'How the scores came about, in a line'),
)
"""Columns of the run; those of the settings are empty where they are not known."""

QUESTION = (
    COLUMNS[0],
    Column('problem', 'label', 'What translations of one problem share', True),
    Column('split', 'label', 'The part of the benchmark'),
    Column('language', 'label', 'The language of the question'),
    Column('question', 'label', 'Text of the question'),
    Column('reference', 'label', 'The reference answer'),
)
"""Columns of the question."""

SAMPLE = tuple(one._replace(required=one.name in ('replica', 'verdict')) for one in COLUMNS[1:])
"""Columns of the sample: those of a sample file. Of verdicts alone the answers are not known."""

RESPONSE = Column('response', 'text', 'The whole response; only where responses were asked for')

SETTINGS = tuple(one.name for one in RUN[3:9])

NO_SAMPLES = (
    '{path} holds counts alone, so there is no row a sample to write; `gpassk score` '
    'of verdicts or responses makes a result with samples'
)

_ROWS = 20_000
"""Rows of CSV that are in memory as text at a time."""

_CELLS = 1024
"""Different cells of a column that are kept for the rows that have them, too."""


def columns_of(responses: bool = False) -> tuple[Column, ...]:
    """Return the columns of a table, in their order.

    Args:
        responses: with the responses.
    """
    return (*RUN, *QUESTION, *SAMPLE, *([RESPONSE] if responses else []))


def rows_of(result: Result, folder: Path, responses: bool = False) -> SampleColumns:
    """Return the columns of `columns_of` for a result, as far as they are known, an entry a sample.

    Args:
        folder: from which `file` is seen.
        responses: with the responses, see `responses_of`.

    Raises:
        InputError: it holds counts alone, or the responses are not there.
    """
    samples = _samples_of(result, folder)
    if samples is None:
        raise InputError(NO_SAMPLES.format(path=result.path))
    n, questions = result.n, len(result.uids)
    told = {
        'model': result.model_abbr,
        'dataset': result.dataset_abbr,
        'host': result.host,
        'judge': _judge_name(result.judge),
        'signature': result.signature or None,
        **{name: value for name, value in result.sampling.items() if name in SETTINGS},
    }
    parted = [parted_group(group) for group in result.groups]
    asked = {
        'problem': result.problems,
        'split': [split for split, _ in parted],
        'language': [language for _, language in parted],
        'question': result.questions,
        'reference': result.references,
    }
    return {
        **samples,
        **{name: [value] * (n * questions) for name, value in told.items()},
        **{name: _repeated(column, n) for name, column in asked.items() if column},
        **({RESPONSE.name: responses_of(result)} if responses else {}),
    }


def write_csv(results: Sequence[Result], file: TextIO, folder: Path, responses: bool = False) -> int:
    """Write a table as CSV in which a spreadsheet finds no formula; see `read_csv_cell`.

    Args:
        file: open for writing; in UTF-8, without translation of line ends.
        folder, responses: see `rows_of`.

    Returns:
        How many rows there were.
    """
    names = [one.name for one in columns_of(responses)]
    file.write(csv_text([names]))
    count = 0
    for result in results:
        columns = rows_of(result, folder, responses)
        nothing = [None] * len(columns['uid'])
        rows = zip(*(_cells(columns.get(name, nothing)) for name in names), strict=True)
        while part := list(islice(rows, _ROWS)):
            file.write(csv_lines(part))
            count += len(part)
    return count


def write_parquet(results: Sequence[Result], file: IO[bytes], folder: Path, responses: bool = False) -> int:
    """Write a table as Parquet, a row group a result; the metadata tell version, columns and runs.

    Args:
        file: open for writing.
        folder, responses: see `rows_of`.

    Returns:
        How many rows there were.
    """
    from pyarrow import parquet  # type: ignore[import-untyped]

    metadata = {
        'gpassk.export': str(LAYOUT),
        'gpassk_opencompass': __version__,
        'gpassk.runs': json.dumps([with_whole_characters(_about(one)) for one in results]),
    }
    schema = arrow_schema(columns_of(responses), metadata)
    count = 0
    with parquet.ParquetWriter(file, schema, compression='zstd') as writer:
        for result in results:
            table = arrow_table(rows_of(result, folder, responses), schema)
            writer.write_table(table)
            count += table.num_rows
    return count


def _cells(column: Sequence[Any]) -> Iterator[Any]:
    """Yield the values of a column as cells; each different one is escaped once, most repeat."""
    escape = lru_cache(_CELLS, typed=True)(csv_cell)
    return map(escape, column)


def _repeated(column: Sequence[str], n: int) -> list[str | None]:
    """Return the text of each question n times; None in the place of an empty one."""
    return [text or None for text in column for _ in range(n)]


def _samples_of(result: Result, folder: Path) -> SampleColumns | None:
    """Return what is known of each sample, question by question; None where only counts are known.

    Of verdicts without answers, which have no sample file, uid, replica and verdict are known.

    Args:
        folder: from which `file` is seen.
    """
    known = result.sample_columns(folder)
    if known is None and not result.verdicts:
        return None
    return {
        'replica': list(range(result.n)) * len(result.uids),
        'verdict': [WORDS[symbol] for symbols in result.verdicts for symbol in symbols],
        **(known or {}),
        'uid': [uid for uid in result.uids for _ in range(result.n)],
    }


def _judge_name(judge: Mapping[str, Any]) -> str:
    """Return the name of a judge, and of its model where it has one.

    >>> _judge_name({'name': 'llm', 'model': 'Qwen2.5-72B-Instruct'}), _judge_name({})
    ('llm-Qwen2.5-72B-Instruct', '')
    """
    return '-'.join(str(judge[part]) for part in ('name', 'model') if judge.get(part))


def _about(result: Result) -> Mapping[str, Any]:
    """Return what the columns do not tell of a run: its sizes, its whole judge, and its versions."""
    block = result.block
    return {
        'model': result.model_abbr,
        'dataset': result.dataset_abbr,
        'host': result.host,
        **{name: block[name] for name in ('n', 'k', 'thresholds')},
        'questions': len(result.uids),
        'judge': dict(result.judge),
        'signature': result.signature,
        'versions': dict(block.get('versions') or {}),
    }
