"""MathArena's tables, as it uploads them: a row a sample, in Parquet or JSON lines; each model is a run."""

from __future__ import annotations

from collections.abc import Iterator

from ..json_rows import Row
from .format import Format

_UNGRADED = '{count} samples are not yet graded: they are unjudged'


def _sample(row: Row) -> Iterator[Row]:
    """Yield the row with its state, and without a verdict that is yet to be given."""
    if type(row['idx_answer']) is not int:
        raise ValueError(f'idx_answer is {row["idx_answer"]!r:.40}; expected the number of the sample')
    ungraded = isinstance(row['correct'], str) and row['correct'].startswith('TODO')
    yield {
        **row,
        '_correct': None if ungraded else row['correct'],
        '_state': 'failed' if row['answer'] is None else None if str(row['answer']).strip() else 'empty',
        '_said': [_UNGRADED] if ungraded else [],
    }


FORMAT = Format(
    fields={
        'model': lambda row: row.get('model_config', row.get('model_name')),
        'uid': 'problem_idx',
        'replica': 'idx_answer',
        'question': 'problem',
        'reference': 'gold_answer',
        'response': 'answer',
        'answer': lambda row: '' if row.get('parsed_answer') in (None, 'None') else row['parsed_answer'],
        'correct': '_correct',
        'prompt_tokens': 'input_tokens',
        'output_tokens': 'output_tokens',
        'seconds': 'time',
        'state': '_state',
    },
    needs=frozenset({'problem_idx', 'idx_answer', 'answer', 'correct'}),
    recognises=lambda path, row: row is not None and ('model_config' in row or 'model_name' in row),
    expand=_sample,
    about=lambda paths, row: {'written_by': 'MathArena', 'judge': {'name': 'MathArena'}},
)
