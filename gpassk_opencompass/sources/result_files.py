"""Result files: those of an evaluation with this package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import InputError
from ..results.health import remarks_of
from ..results.named import is_named_as_result
from ..samples import parted_group
from .source import About, Counted, Place, Question, Reading, Run, Sampled

if TYPE_CHECKING:
    from ..results.result import Result

RESULT = 'result'
"""The kind of a run that is a whole result."""


class ResultFile:
    """The source of result records: one JSON object, which an evaluation, or `gpassk score`, wrote."""

    def recognises(self, place: Place) -> bool:
        """Whether a file begins as a result does."""
        return place.first is not None and 'gpassk' in place.first

    def read(self, place: Place, reading: Reading) -> list[Run]:
        """Return the one run of a result; errors are those of `read_result`."""
        if reading.kind is not None:
            raise InputError(
                f'{place.name} is the result of an evaluation, which holds no {reading.kind}; leave out --as'
            )
        result = read_result(place)
        return [
            Run(
                (RESULT,),
                _questions(result),
                result.model_abbr,
                result.dataset_abbr,
                result.judge,
                tuple(result.block['k']),
                record=result.record,
                samples_for=result.sample_columns,
                remarks=[f'health: {result.health.line}', *remarks_of(result.block)],
            )
        ]


def holds_result(place: Place) -> bool:
    """Whether a file is a result, by its name or by how it begins."""
    return is_named_as_result(place.path) or (place.first is not None and 'gpassk' in place.first)


def read_result(place: Place) -> Result:
    """Return the result in a file, of which what `place` has read already is not read again.

    Raises:
        InputError: as `results.read.read`.
    """
    from ..results.read import read, result_of  # of those who look whose a file is, few read a result

    return read(place.path) if place.only is None else result_of(place.path, place.only)


def _questions(result: Result) -> Iterator[Question]:
    columns = zip(result.uids, result.problems, result.groups, strict=True)
    for row, (uid, problem, group) in enumerate(columns):
        about = About(row + 1, uid, problem, *parted_group(group))
        if not result.verdicts:
            yield Counted(about, result.n, int(result.counts[row]), int(result.unjudged_of_each[row]))
            continue
        answers = tuple(result.answers[row]) if result.answers else None
        texts = (column[row] if column else '' for column in (result.questions, result.references))
        yield Sampled(about, result.verdicts[row], answers, *texts)
