"""The samples in EvalScope's files of one subset: its reviews, and the predictions beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import mapping
from ..json_lines import JsonRows, Row
from ..results.health import CUT_OFF, NOT_DRAWN, Generation
from .samples import Notes, Sample, with_thought
from .source import Reading

REVIEWS, PREDICTIONS = 'reviews', 'predictions'
"""The kinds of files, and the folders that they lie in."""

_USABLE = (None, 'success', 'fallback', 'degraded')
"""The `status` of a score that counts."""

_UNSCORED = '{count} samples were not scored by EvalScope (its judge, or a metric, failed): they are unjudged'
_BROKEN = (
    '{count} samples have the score 0 because a metric failed, as EvalScope notes there: they are unjudged'
)
_SEVERAL = (
    '{count} samples are of a question with several accepted answers: the reference is the first, and the '
    'verdicts of EvalScope are by all of them'
)
_UNREVIEWED = '{count} responses have no review: they are unjudged'
_NO_REFERENCE = (
    '{count} responses are of questions without any review, so that no file has their reference: judged anew '
    'they count as incorrect'
)
_UNKNOWN = (
    '{count} predictions without a review are left out: no config of the run tells how many samples a '
    'question has (repeats), so nobody knows of which question they are'
)

_REASONS = {'max_tokens': CUT_OFF, 'model_length': None, 'unknown': None}
_STATES = {'model_length': 'too long', 'content_filter': 'filtered'}
"""Why a model stopped → the state of a sample whose text is the error of a server, and no response."""


class Files(NamedTuple):
    """The files of one subset.

    subset: its name; '' where nothing tells it.
    repeats: samples a question, where the config of the run says so.
    planned: samples of this subset that were asked for, where the run has ended; 0: of the questions that are
        there, `repeats` each; None: the run goes on, or broke off, or nothing tells.
    """

    subset: str
    reviews: Path | None
    predictions: Path | None
    repeats: int | None = None
    planned: int | None = None


def kind_of(row: Row | None) -> str | None:
    """Return 'reviews' or 'predictions' by the first row of a file; None for one of another program."""
    if row is None or 'index' not in row:
        return None
    if 'score' in mapping(row.get('sample_score')):
        return REVIEWS
    return PREDICTIONS if 'choices' in mapping(row.get('model_output')) else None


def rows_of(path: Path) -> Iterator[tuple[int, Row]]:
    """Return the rows of a file with their numbers; errors say what to do about one that is not whole."""
    try:
        yield from JsonRows(path)
    except InputError as error:
        raise InputError(
            f'{error}; if EvalScope is still writing, wait for its end; if it broke off, run it again with '
            'use_cache, which draws and scores what is missing'
        ) from error


def score_in(row: Row) -> Mapping[str, Any]:
    """Return what EvalScope says of a response in a review."""
    return mapping(mapping(row.get('sample_score')).get('score'))


class Subset:
    """Reads the samples of a subset.

    Args:
        split: as which split they count, which their uids begin with; '' of a sole subset.
        metric: the score that is the verdict.
        reading: `fields` may name the key of the metadata that holds the reference.
        notes: what is seen on the way is added to it.
    """

    def __init__(self, files: Files, split: str, metric: str, reading: Reading, notes: Notes) -> None:
        self._files = files
        self._split = split
        self._metric = metric
        self._texts = reading.texts
        self._key = reading.fields.get('reference')
        self._notes = notes
        self._told: dict[int, Generation] = {}
        self._thoughts: dict[int, str] = {}
        self._unreviewed: set[int] = set()
        self._open: dict[int, tuple[_Asked, set[int]]] = {}
        self._whole: set[int] = set()

    def samples(self) -> Iterator[Sample]:
        """Return the samples: those with a review, then those that were drawn alone, then those that failed.

        Raises:
            InputError: while iterating; names the file and the row.
        """
        files = self._files
        for number, row in rows_of(files.predictions) if files.predictions else ():
            with _naming(files.predictions, number):
                self._note(row)
        for number, row in rows_of(files.reviews) if files.reviews else ():
            with _naming(files.reviews, number):
                sample = self._reviewed(row)
            yield sample._replace(path=files.reviews, row=number)
        if files.predictions and self._unreviewed:
            yield from self._drawn_alone(files.predictions)
        yield from self._failed()

    def _note(self, row: Row) -> None:
        """Keep what a prediction tells of its sample, as far as anybody looks at it."""
        index = _number(row, 'index')
        self._unreviewed.add(index)
        told = _generation(row)
        if self._texts or told.state or told.finish_reason == CUT_OFF:
            self._told[index] = told
        if self._texts and (thought := _parts(_message(row))[0]):
            self._thoughts[index] = thought

    def _reviewed(self, row: Row) -> Sample:
        index, told = _number(row, 'index'), mapping(row.get('sample_score'))
        score, message = score_in(row), _last_answer(row)
        group, replica = self._place(index, told)
        self._unreviewed.discard(index)
        thought, text = _parts(message)
        prediction = _text(score, 'prediction')
        given = text if prediction is None and message else prediction
        return self._sample(
            group,
            replica,
            _Asked(_question(row), self._reference(row.get('target'), told.get('sample_metadata'))),
            None if given is None else with_thought(thought or self._thoughts.get(index, ''), given),
            self._verdict(score),
            self._told.get(index) or _measured(message),
            _text(score, 'extracted_prediction'),
        )

    def _drawn_alone(self, path: Path) -> Iterator[Sample]:
        """Return the samples of predictions that have no review."""
        if self._files.repeats is None:
            for _ in self._unreviewed:
                self._notes.say(_UNKNOWN)
            return
        for number, row in rows_of(path):
            if row.get('index') in self._unreviewed:
                with _naming(path, number):
                    sample = self._drawn(row)
                yield sample._replace(path=path, row=number)

    def _drawn(self, row: Row) -> Sample:
        index = _number(row, 'index')
        self._unreviewed.discard(index)
        group, replica = self._place(index, {})
        alone = _Asked(_question(row), self._reference(None, row.get('metadata')))
        asked, _ = self._open.get(group, (alone, set()))
        if self._files.reviews:
            self._notes.say(_UNREVIEWED)
        if not asked.reference:
            self._notes.say(_NO_REFERENCE)
        response, told = with_thought(*_parts(_message(row))), self._told.get(index, Generation())
        return self._sample(group, replica, asked, response, self._unjudged, told, None)

    @property
    def _unjudged(self) -> str:
        """Return the verdict on a sample that nobody judged: none, where nobody judged any."""
        return '?' if self._files.reviews else ''

    def _failed(self) -> Iterator[Sample]:
        """Return the samples that were asked for and are in no file: EvalScope goes on after errors."""
        size, planned = self._files.repeats, self._files.planned
        if size is None or planned is None:
            return
        last = max(self._whole | set(self._open), default=-1)
        failed = Generation(state='failed')
        for group in range(planned // size or last + 1):
            if group not in self._whole:
                asked, there = self._open.get(group, (_Asked('', ''), set()))
                for replica in sorted(set(range(size)) - there):
                    yield self._sample(group, replica, asked, None, '', failed, '')

    def _place(self, index: int, told: Mapping[str, Any]) -> tuple[int, int]:
        """Return the number of the question of a sample, and which of its samples it is."""
        size = self._files.repeats
        expected = index // size if size else index
        group = expected if told.get('group_id') is None else _number(told, 'group_id')
        if size and group != expected:
            raise InputError(
                f'sample {index} is of question {group}, but with {size} samples a question (repeats of the '
                f'config) of question {expected}: are these files of several runs?'
            )
        if told.get('generation_index') is None:
            return group, index % size if size else index
        return group, _number(told, 'generation_index')

    def _sample(
        self,
        group: int,
        replica: int,
        asked: _Asked,
        response: str | None,
        verdict: str,
        told: Generation,
        answer: str | None,
    ) -> Sample:
        self._count(group, replica, asked)
        if told.state in NOT_DRAWN:
            response, answer, verdict = None, '', self._unjudged
        return Sample(
            f'{self._split}/{group}' if self._split else str(group),
            asked.question,
            asked.reference,
            response,
            verdict,
            replica,
            answer,
            told,
            self._split,
        )

    def _count(self, group: int, replica: int, asked: _Asked) -> None:
        """Note that a sample is there; of questions that are whole no more than that is kept."""
        if self._files.repeats is None:
            return
        there = self._open.setdefault(group, (asked, set()))[1]
        there.add(replica)
        if len(there) == self._files.repeats:
            del self._open[group]
            self._whole.add(group)

    def _verdict(self, score: Mapping[str, Any]) -> str:
        values, beside = mapping(score.get('value')), mapping(score.get('metadata'))
        if score.get('status') not in _USABLE or self._metric not in values:
            self._notes.say(_UNSCORED)
            return '?'
        if not values[self._metric] and _is_broken(self._metric, beside):
            self._notes.say(_BROKEN)
            return '?'
        return self._notes.verdict(values[self._metric])

    def _reference(self, target: Any, metadata: Any) -> str:
        if self._key is not None:
            held = mapping(metadata)
            if self._key not in held:
                there = ', '.join(sorted(map(str, held))[:20]) or 'nothing'
                raise InputError(f'the metadata has no {self._key!r} for the reference; there is {there}')
            target = held[self._key]
        accepted = [] if target is None else target if isinstance(target, list) else [target]
        if not all(isinstance(one, (str, int, float)) and not isinstance(one, bool) for one in accepted):
            raise InputError(f'the reference is {target!r:.60}; expected a text, or a list of texts')
        if len(accepted) > 1:
            self._notes.say(_SEVERAL)
        return str(accepted[0]) if accepted else ''


class _Asked(NamedTuple):
    """What the samples of a question share."""

    question: str
    reference: str


@contextmanager
def _naming(path: Path | None, number: int) -> Iterator[None]:
    """Have errors say in which row of which file they are."""
    try:
        yield
    except InputError as error:
        raise InputError(f'{path}:{number}: {error}') from error


def _number(row: Mapping[str, Any], name: str) -> int:
    value = row.get(name)
    if type(value) is not int or value < 0:
        raise InputError(f'{name} is {value!r:.60}; expected a whole number from 0 on')
    return value


def _text(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise InputError(f'{name} is a {type(value).__name__}; expected a text')
    return value


def _messages(row: Row) -> list[Mapping[str, Any]]:
    given = row.get('messages')
    return [mapping(one) for one in given] if isinstance(given, list) else []


def _last_answer(row: Row) -> Mapping[str, Any]:
    """Return the last message of the model; {} where there is none."""
    answers = [one for one in _messages(row) if one.get('role') == 'assistant']
    return answers[-1] if answers else {}


def _question(row: Row) -> str:
    """Return what the user says before the first answer of the model."""
    said = []
    for message in _messages(row):
        if message.get('role') == 'assistant':
            break
        if message.get('role') == 'user':
            said.append(_parts(message)[1])
    return '\n\n'.join(said)


def _message(row: Row) -> Mapping[str, Any]:
    """Return the message of a prediction."""
    return mapping(_choice(row).get('message'))


def _choice(row: Row) -> Mapping[str, Any]:
    choices = mapping(row.get('model_output')).get('choices')
    return mapping(choices[0]) if isinstance(choices, list) and choices else {}


def _parts(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return the thought and the text of a message."""
    content = message.get('content')
    if isinstance(content, str):
        return '', content
    parts = [mapping(part) for part in content] if isinstance(content, list) else []
    thoughts, texts = (
        [str(part.get(kind) or '') for part in parts if part.get('type') == kind]
        for kind in ('reasoning', 'text')
    )
    return '\n'.join(thoughts), '\n'.join(texts)


def _generation(row: Row) -> Generation:
    """Return what a prediction tells of how its response came to its end."""
    output, choice = mapping(row.get('model_output')), _choice(row)
    reason, usage = choice.get('stop_reason'), mapping(output.get('usage'))
    state = _STATES.get(str(reason))
    if not choice:
        state = 'failed' if output.get('error') else 'no choice'
    elif reason == 'tool_calls' and not _parts(_message(row))[1].strip():
        state = 'tool call'
    return Generation.from_json(
        {
            'finish_reason': _REASONS.get(str(reason), reason),
            'prompt_tokens': usage.get('input_tokens'),
            'output_tokens': usage.get('output_tokens'),
            'seconds': output.get('time'),
            'reasoning_tokens': usage.get('reasoning_tokens'),
            'state': state,
        }
    )


def _measured(message: Mapping[str, Any]) -> Generation:
    """Return what a review tells of that, where there is no prediction."""
    told = mapping(message.get('perf_metrics'))
    return Generation.from_json(
        {
            'prompt_tokens': told.get('input_tokens'),
            'output_tokens': told.get('output_tokens'),
            'seconds': told.get('latency'),
        }
    )


def _is_broken(metric: str, beside: Mapping[str, Any]) -> bool:
    """Whether the metadata of a score say that the metric failed, in the ways of the releases."""
    told = beside.get(metric)
    broken = [name for name in mapping(beside.get('metric_errors')) if metric.startswith(name)]
    return bool(broken) or (isinstance(told, str) and told.startswith('error'))
