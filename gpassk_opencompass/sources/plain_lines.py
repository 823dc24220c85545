"""JSON lines many at once, column by column, as long as each is a flat object of the first one's fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..json_lines import Row
from .source import Place

_BLOCK = 2**18
"""Bytes that are read at once."""

_WORTH_IT = 2**20
"""Bytes of a file from which on columns are faster; one with fewer is read before pyarrow is loaded."""

_TYPES = {str: 'string', int: 'int64', bool: 'bool_'}


def plain_blocks(place: Place, first: Row) -> Iterator[Any]:
    """Yield a `pyarrow.RecordBatch` a block of lines, a row a line, and None where a block is not plain.

    What is yielded is what `json` would make of each line by itself: texts, whole numbers of 64 bits, true
    and false, all of the type that the field has in the first row; null where a row has null, or lacks the
    field. After None nothing comes: what is wrong there, if anything is, shows when its lines are read one by
    one.

    Args:
        place: a file, of which the first row was read already.
        first: that row.
    """
    if place.head[:1] != b'{' or not {type(value) for value in first.values()} <= _TYPES.keys():
        yield None
        return
    try:
        if place.path.stat().st_size < _WORTH_IT:
            yield None
            return
        with place.path.open('rb') as file:
            while block := file.read(_BLOCK):
                yield (batch := _batch(block + file.readline(), first))
                if batch is None:
                    return
    except OSError:  # whoever reads it line by line says so
        yield None


def _batch(block: bytes, first: Row) -> Any:
    """Return the rows of a block; None where a line may be anything but a flat object of its own.

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
    return batches[0] if len(batches) == 1 and batches[0].num_rows == lines else None


def are_whole(column: Any) -> bool:
    """Whether a `pyarrow.Array` has a whole number in each row."""
    return str(column.type) == 'int64' and not column.null_count


def texts_of(column: Any) -> list[str] | None:
    """Return a column of texts, or of whole numbers as texts; None where a row has neither."""
    if column.null_count or str(column.type) == 'bool':
        return None
    texts = column.cast('string') if str(column.type) == 'int64' else column
    return list(texts.to_numpy(zero_copy_only=False))
