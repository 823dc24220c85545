"""JSON lines many at once, column by column, as long as each is a flat object of the first one's fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..json_lines import Row
from .same_lines import Column, SameLines
from .source import Place
from .texts import PADDING, Texts

_BLOCK = 2**20
"""Bytes that are read at once."""

_WORTH_IT = 2**20
"""Bytes of a file from which on loading pyarrow is worth it, where lines are not made alike."""

_TYPES = {str: 'string', int: 'int64', bool: 'bool_'}


def plain_blocks(place: Place, first: Row) -> Iterator[Mapping[str, Column] | None]:
    """Yield the fields of a block of lines, a row a line, and None where a block is not plain.

    What is yielded is what `json` would make of each line by itself: texts, and whole numbers of 64 bits, all
    of the type that the field has in the first row; nothing of a field of which a row lacks that. After None
    nothing comes: what is wrong there, if anything is, shows when its lines are read one by one.

    Args:
        place: a file, of which the first row was read already.
        first: that row.
    """
    if place.head[:1] != b'{' or not {type(value) for value in first.values()} <= _TYPES.keys():
        yield None
        return
    try:
        large = place.path.stat().st_size >= _WORTH_IT
        with place.path.open('rb') as file:
            same = SameLines.of(file.readline())
            file.seek(0)
            while block := file.read(_BLOCK):
                whole = block + file.readline()
                found = same and same.columns(whole if whole.endswith(b'\n') else whole + b'\n')
                found = found or (_parsed(whole, first) if large else None)
                yield found
                if found is None:
                    return
    except OSError:  # whoever reads it line by line says so
        yield None


def _parsed(block: bytes, first: Row) -> Mapping[str, Column] | None:
    """Return the fields of a block; None where a line may be anything but a flat object of its own.

    Objects hold no others, by the schema, and texts no line breaks. So where each line begins with a brace,
    each begins with an object, and there are no more objects than lines only if each line is one.
    """
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import json

    lines = block.count(b'\n') + (not block.endswith(b'\n'))
    # A line ends at \r, too.
    if b'\r' in block or not block.startswith(b'{') or block.count(b'\n{') != lines - 1:
        return None
    schema = pyarrow.schema(
        [(name, getattr(pyarrow, _TYPES[type(value)])()) for name, value in first.items()]
    )
    try:
        if not block.isascii():
            block.decode()
        table = json.read_json(
            pyarrow.py_buffer(block),
            json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            json.ParseOptions(explicit_schema=schema, unexpected_field_behavior='error'),
        )
    except (ValueError, pyarrow.ArrowException):
        return None
    batches = table.combine_chunks().to_batches()
    if len(batches) != 1 or batches[0].num_rows != lines:
        return None
    return {name: _column(batches[0].column(name)) for name in first}


def _column(array: Any) -> Column:
    """Return what a `pyarrow.Array` holds in each row."""
    if array.null_count:
        return Column(None, None)
    kind = str(array.type)
    return Column(array.to_numpy() if kind == 'int64' else None, _texts(array) if kind == 'string' else None)


def _texts(array: Any) -> Texts:
    _, ends, data = array.buffers()
    ends = np.frombuffer(ends, np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    text = data.to_pybytes() if data else b''
    return Texts(np.frombuffer(text + PADDING, np.uint8), ends[:-1], np.diff(ends))
