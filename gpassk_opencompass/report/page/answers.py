"""The answers and verdicts of every run, packed so that hundreds of runs fit into one file."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii as _quoted
from typing import NamedTuple

from ...adapter import counted_samples, deciders_of, verdicts_of
from ...health import CUT_OFF
from ...record import Result
from ...samples import Samples
from ...text import progress

BUDGET = 24 * 2**20
"""Characters that all packed answers may take on the page."""

LONGEST = 400
"""Characters of an answer that are shown."""

STEPS = (None, 16, 8, 4, 2, 1)
"""Different answers a question: all of them, or the largest of these that keeps within the budget."""

Answer = tuple[str, str, str]
"""Text, verdict (1, 0 or ?) and who judged, or why nobody did."""

_TRIED = 6
"""Runs that are packed to see which step will do for all."""


class Packed(NamedTuple):
    """A chunk a run, None where its result holds no answers; `shown` is the step that was taken."""

    chunks: list[str | None]
    shown: int | None
    cut_off: list[list[int]]
    """See `cut_off_of_each`."""


class _Run(NamedTuple):
    """What is packed of one run."""

    chunk: str | None
    cut_off: list[int]


def pack_answers(results: Sequence[Result]) -> Packed:
    """Return of each question its different answers, and of each sample which it gave and how it ended.

    Where all of them together exceed `BUDGET`, only the most frequent answers of each question stay, as many
    as fit, and nothing at all where not even one a question fits.
    """
    for shown in STEPS:
        if _fits_likely(results, shown) and (runs := _all_packed(results, shown)) is not None:
            return Packed([run.chunk for run in runs], shown, [run.cut_off for run in runs])
    return Packed([None] * len(results), 0, [cut_off_of_each(result) for result in results])


def pack(content: object) -> str:
    """Return JSON, deflated, in base 64; the page inflates it with the browser's DecompressionStream."""
    return _deflated(json.dumps(content, separators=(',', ':')))


def _deflated(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode('ascii'))).decode('ascii')


def cut_off_of_each(result: Result) -> list[int]:
    """Return how many samples of each question were cut off; [] where it is not known."""
    samples = counted_samples(result, 'finish_reason')
    ends = (samples and samples.get('finish_reason')) or ()
    return [list(ends[start : start + result.n]).count(CUT_OFF) for start in range(0, len(ends), result.n)]


def question_samples(result: Result, shown: int | None = None) -> str | None:
    """Return `QuestionSamples` of content.ts for each question, as JSON; None where answers are not known.

    Args:
        shown: different answers of a question that are kept, the most frequent ones; None: all.
    """
    columns = 'answer', 'verdict', 'judged_by', 'why', 'finish_reason', 'state'
    samples = counted_samples(result, *columns)
    if samples is None or 'answer' not in samples:
        return None
    answers = [_shortened(answer or '') for answer in samples['answer']]
    verdicts, ends = verdicts_of(samples), _ends(samples)
    given = list(zip(answers, verdicts, deciders_of(samples), strict=True))
    spans = [slice(start, start + result.n) for start in range(0, len(given), result.n)]
    return f'[{",".join(_of_question(given[one], verdicts[one], ends[one], shown) for one in spans)}]'


class _Places(dict[Answer, str]):
    """Where answers stand among those that are shown."""

    def __missing__(self, answer: Answer) -> str:
        return '-1'


def _of_question(given: Sequence[Answer], verdicts: str, ends: str, shown: int | None) -> str:
    # `json` would take longer for the numbers of a question than all else here does.
    known = Counter(given).most_common(shown)
    place = _Places((answer, str(position)) for position, (answer, _) in enumerate(known))
    rows = ','.join(
        f'[{_quoted(text)},"{verdict}",{_quoted(decider)},{times}]'
        for (text, verdict, decider), times in known
    )
    of = ','.join(map(place.__getitem__, given))
    return f'{{"answers":[{rows}],"of":[{of}],"verdicts":"{verdicts}","ends":"{ends}"}}'


def _ends(samples: Samples) -> str:
    """Return a letter a sample: c for one that was cut off, s for another unusual one, else a point."""
    pairs = zip(samples.each('finish_reason'), samples.each('state'), strict=True)
    return ''.join('c' if finish == CUT_OFF else 's' if state else '.' for finish, state in pairs)


def _fits_likely(results: Sequence[Result], shown: int | None) -> bool:
    """Whether all runs will fit, by the size of a few: packing hundreds in vain takes minutes."""
    if len(results) <= 2 * _TRIED:
        return True
    tried = results[:: -(-len(results) // _TRIED)]
    size = sum(len(_packed(shown, result).chunk or '') for result in tried)
    return size / len(tried) * len(results) <= BUDGET


def _all_packed(results: Sequence[Result], shown: int | None) -> list[_Run] | None:
    runs: list[_Run] = []
    room = BUDGET
    for result in progress('packing answers', results):
        run = _packed(shown, result)
        runs.append(run)
        room -= len(run.chunk or '')
        if room < 0:
            return None
    return runs


def _packed(shown: int | None, result: Result) -> _Run:
    questions = question_samples(result, shown)
    return _Run(None if questions is None else _deflated(questions), cut_off_of_each(result))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f'{text[:LONGEST]}… ({len(text)} characters)'
