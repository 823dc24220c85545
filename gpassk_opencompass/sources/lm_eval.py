"""The samples that lm-evaluation-harness 0.4 logs: `samples_<task>_<date>.jsonl` of `--log_samples`.

A row is a question under one filter, with all its responses. The harness scores the filtered response, which
with `repeats` above 1 is one of them; only a task that scores each leaves a verdict for all. What the model
was and how it sampled stands in `results_<date>.json` beside the samples.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from math import isfinite
from typing import Any

from ..errors import InputError
from ..files import mapping
from ..json_lines import Row
from ..results.health import Generation
from .lm_eval_rows import ALWAYS, NOTHING, Plan, kept_of, left_of, responses_of
from .lm_eval_summary import Summary, is_summary, request_of
from .samples import Notes, Sample, filled, new_sample, questions_of
from .source import About, Counted, Place, Question, Reading, Run

_OWN = ('uid', 'problem', 'split', 'language')
"""What files that this package exported say of a question."""

_GROUP = ('split', 'language')

_FIELDS = ('correct', 'filter', 'question', *_OWN)
"""What somebody may name with `--field`: a metric, a filter, and fields of the data of a task."""

_QUESTIONS = ('question', 'problem', 'Question', 'Problem', 'query', 'input')
"""Fields of a task's own data that hold a question; the first that is there."""

_EMPTY, _USUAL = Generation(state='empty'), Generation()

OTHER_FILTERS = (
    '{count} rows are of another filter than {filter} and were passed over: --field filter=… chooses another'
)
ONE_OF_N = (
    'of {count} questions the harness scored only what its filter {filter} left of {n} responses ({metric}): '
    'these verdicts are not taken'
)
EMPTY = '{count} responses are "None", written where a server sent no text: they count as empty'
WHOLE_PROMPT = (
    'the data of {count} questions has no field known to hold the question: the whole prompt stands for it'
)


class LmEval:
    """The source of samples logged by lm-evaluation-harness."""

    def recognises(self, place: Place) -> bool:
        """Whether a file holds such samples, or is the summary that lies beside them."""
        if place.path.suffix != '.gz' and not _may_be(place.head):
            return False
        first = place.first
        return first is not None and (set(first) >= ALWAYS or is_summary(first))

    def read(self, place: Place, reading: Reading) -> list[Run]:
        """Return the one run of a file of samples: a model on a task.

        Raises:
            InputError: it is none, or nobody has the field that is asked for.
        """
        if unknown := sorted(set(reading.fields) - set(_FIELDS)):
            raise InputError(f'{unknown[0]!r} is no field here; expected one of {", ".join(_FIELDS)}')
        first = place.first
        if first is not None and is_summary(first):
            raise InputError(
                f"{place.name} is lm-eval's summary, without samples; give the samples_*.jsonl beside it, "
                'which lm_eval writes with --log_samples'
            )
        rows = place.rows()
        head = next(rows, None)
        if head is None:
            raise InputError(f'{place.name} is empty; expected the samples of lm_eval --log_samples')
        with _at(place, head[0]):
            plan = Plan.of(head[1], reading)
            kinds = plan.kinds
        return [_run(place, chain([head], rows), plan, kinds, reading)]

    def read_all(self, places: Sequence[Place], reading: Reading) -> list[Run]:
        """Return a run a file of samples; the summaries among them are read with these."""
        samples = [place for place in places if place.first is None or not is_summary(place.first)]
        return [run for place in samples or places[:1] for run in self.read(place, reading)]


def _may_be(head: bytes) -> bool:
    return b'"doc_id"' in head or b'"results"' in head


def _run(
    place: Place, rows: Iterator[tuple[int, Row]], plan: Plan, kinds: tuple[str, ...], reading: Reading
) -> Run:
    notes = Notes(reading)
    summary = Summary.beside(place.path)
    reader = _Reader(place, plan, reading, notes)
    questions: Iterator[Question] = questions_of(reader.samples(rows), reading, notes, in_order=True)
    return Run(
        kinds,
        reader.counts(rows) if plan.counts_alone else questions,
        summary.model,
        summary.task,
        summary.judge(plan.metric, plan.filter) if plan.metric else {},
        settings=summary.settings(place.first or {}),
        where=place.row,
        remarks=notes,
        written_by=summary.written_by,
    )


class _Reader:
    """Takes samples out of rows."""

    def __init__(self, place: Place, plan: Plan, reading: Reading, notes: Notes) -> None:
        self._place, self._plan, self._notes = place, plan, notes
        self._takes = reading.takes
        self._named = {name: there for name, there in reading.fields.items() if name in _OWN}
        self._seen: set[str] = set()

    def samples(self, rows: Iterator[tuple[int, Row]]) -> Iterator[Sample]:
        """Return each response, in the order of the rows."""
        for number, row in rows:
            with _at(self._place, number):
                samples = self._row(number, row)
            yield from samples
        self._check_filter()

    def counts(self, rows: Iterator[tuple[int, Row]]) -> Iterator[Question]:
        """Return how many responses to each question are correct, where the metric is their mean."""
        for number, row in rows:
            with _at(self._place, number):
                counted = self._counted(number, row)
            if counted and self._takes(counted.about):
                yield counted
        self._check_filter()

    def _check_filter(self) -> None:
        if not self._seen:
            raise InputError(f'{self._place.name} has no row of the filter {self._plan.filter!r}')

    def _counted(self, number: int, row: Row) -> Counted | None:
        sample = self._common(number, row)
        responses = responses_of(row) or ()
        if not self._counts_in(sample, row):
            return None
        self._check_left(row, len(responses))
        value = row.get(self._plan.metric)
        share = float(value) if isinstance(value, (int, float)) else -1.0
        c = share * len(responses) if isfinite(share) else -1.0
        if abs(c - round(c)) > 1e-6 or not 0 <= round(c) <= len(responses):
            raise InputError(
                f'{self._plan.metric} is {value!r:.40}, of {len(responses)} responses; expected the share of '
                'those that are correct'
            )
        about = About(number, sample.uid, sample.problem, sample.split, sample.language)
        return Counted(about, len(responses), round(c), 0)

    def _check_left(self, row: Row, n: int) -> None:
        if self._plan.by_filter and not left_of(row, n):
            raise InputError(
                f'filtered_resps is {row["filtered_resps"]!r:.60}, for {n} responses, so that '
                f'{self._plan.metric} is not of them all as it is in the first row'
            )

    def _row(self, number: int, row: Row) -> list[Sample]:
        common = self._common(number, row)
        responses = responses_of(row)
        if not self._counts_in(common, row):
            return []
        kept = responses is not None and row.get('responses_kept') is not False
        if kept is not self._plan.texts:
            raise InputError(
                'some rows hold responses and some the likelihoods of choices; expected one kind'
            )
        verdicts = self._verdicts(row, 1 if responses is None else len(responses))
        if responses is None:
            return [common._replace(verdict=verdicts[0])]
        answers = self._answers(row, responses)
        asked, (split, language, problem, path, _) = common[:3], common[8:]
        texts = map(self._text, responses) if kept else repeat(None, len(responses))
        columns = zip(texts, verdicts, range(len(responses)), answers, map(_end, responses), strict=True)
        return [
            new_sample((*asked, text, verdict, replica, answer, end, split, language, problem, path, number))
            for text, verdict, replica, answer, end in columns
        ]

    def _text(self, text: str) -> str:
        if text == NOTHING:
            self._notes.say(EMPTY)
            return ''
        return text

    def _counts_in(self, sample: Sample, row: Row) -> bool:
        """Whether a row is the one of its question that counts: each is there once a filter."""
        if row['filter'] != self._plan.filter:
            self._notes.say(filled(OTHER_FILTERS, {'filter': repr(self._plan.filter)}))
            return False
        if sample.uid in self._seen:
            raise InputError(f'{sample.uid!r:.60} is there twice; were the logs of two runs put together?')
        self._seen.add(sample.uid)
        return True

    def _common(self, number: int, row: Row) -> Sample:
        if missing := sorted(ALWAYS - set(row)):
            raise InputError(f'there is no {missing[0]}; expected a row of lm_eval --log_samples')
        doc = mapping(row['doc'])
        ours = all(isinstance(doc.get(name), str) for name in _OWN)
        about = {name: doc[name] for name in _OWN if ours or (name in doc and name in _GROUP)}
        for name, there in self._named.items():
            if there not in doc:
                raise InputError(f'doc has no {there!r}; there is {", ".join(map(str, doc))}')
            about[name] = doc[there]
        uid = about.get('uid', row['doc_id'])
        if isinstance(uid, bool) or not isinstance(uid, (int, str)):
            raise InputError(
                f'{self._named.get("uid", "doc_id")} is {uid!r:.60}; expected a text or a whole number'
            )
        split, language, problem = (_name_or_none(about.get(name)) for name in (*_GROUP, 'problem'))
        return Sample(
            str(uid),
            self._question(row, doc),
            _reference(row['target']),
            split=split or '',
            language=language or '',
            problem=problem,
            path=self._place.path,
            row=number,
        )

    def _question(self, row: Row, doc: Mapping[str, Any]) -> str:
        wanted = self._plan.question
        if wanted and wanted not in doc:
            raise InputError(f'doc has no {wanted!r}; there is {", ".join(map(str, doc))}')
        for name in (wanted,) if wanted else _QUESTIONS:
            if isinstance(doc.get(name), str):
                return str(doc[name])
        self._notes.say(WHOLE_PROMPT)
        return str(request_of(row)[0])

    def _verdicts(self, row: Row, n: int) -> list[str]:
        plan = self._plan
        if not plan.metric or plan.mean:
            if plan.passed_over and n > 1:
                said = {'metric': ', '.join(plan.passed_over), 'filter': repr(plan.filter), 'n': str(n)}
                self._notes.say(filled(ONE_OF_N, said))
            return [''] * n
        self._check_left(row, n)
        told = row.get(plan.metric)
        values = told if isinstance(told, list) else [told]
        if plan.metric not in row or len(values) != n:
            raise InputError(f'{plan.metric} is {told!r:.60}, for {n} responses; expected a verdict of each')
        return [self._notes.verdict(value) for value in values]

    def _answers(self, row: Row, responses: Sequence[str]) -> list[str | None]:
        """Return what the filter took out of each response; None where it left them as they are."""
        kept = kept_of(row)
        whole = len(kept) == len(responses) and all(isinstance(one, str) for one in kept)
        return (
            list(kept) if whole and self._plan.metric and kept != list(responses) else [None] * len(responses)
        )


def _end(text: str) -> Generation:
    return _EMPTY if text == NOTHING else _USUAL


@contextmanager
def _at(place: Place, number: int) -> Iterator[None]:
    """Name the row in errors."""
    try:
        yield
    except InputError as error:
        raise InputError(f'{place.row(number)}: {error}') from error


def _reference(target: Any) -> str:
    if isinstance(target, (list, dict)):
        return json.dumps(target, ensure_ascii=False)
    return '' if target is None else str(target)


def _name_or_none(value: Any) -> str | None:
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
