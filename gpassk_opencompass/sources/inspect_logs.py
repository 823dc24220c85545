"""Logs of inspect_ai, `.eval` and `.json`: a run each, its epochs the samples of a question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError
from ..files import listed, mapping
from ..results.health import CUT_OFF, Generation
from .samples import Notes, Sample, number_in, questions_of, with_thought
from .source import Place, Question, Reading, Run

if TYPE_CHECKING:
    from .inspect_files import Fields, LogFile, Logged

_ZIP = b'PK\x03\x04'
_NAME_AT = 30
"""Where the name of its first member stands in a zip file."""

_MEMBERS = (b'header.json', b'_journal/', b'samples/', b'summaries.json', b'reductions.json')
"""What the names of the members of a `.eval` are, or begin with."""

_JSON = re.compile(rb'\s*\{\s*"version":\s*\d+,\s*"status":\s*"\w+",\s*"eval":\s*\{')
"""What a `.json` begins with."""

_NAMED = ('correct', 'reference', 'problem', 'split', 'language')
"""What `--field` may choose: a score, or a key of the samples' metadata."""

_PARTIAL = {'P': 0.5}
"""inspect_ai's word for partial credit, and what it is worth there."""

_ENDINGS = {'max_tokens': CUT_OFF, 'model_length': CUT_OFF, 'unknown': None}
"""Stop reasons that have another name here."""

_LIMITS = {'token': CUT_OFF, 'context': CUT_OFF}
"""Limits that are reached by the length of a response; the others are told as they are."""

_ATTACHED = 'attachment://'

UNFINISHED = (
    'the log says {status!r}: it was read as far as it goes, which is where its run stands, or was broken off'
)
CHOSEN = 'of the scores {names} the verdicts are those of {name}; --field correct=NAME takes another'
LIMITED = '{count} samples were ended by a limit of inspect_ai and count as it has scored them'
INVALID = '{count} samples were declared invalid in the log: they are unjudged'
SCORED_ERROR = '{count} samples ended in an error and count as they were scored all the same'
TARGETS = '{count} samples have several targets: the first is the reference, for who judges anew'
MISSING = '{missing} of the {expected} samples that the log was to have are not in it'


class InspectLog:
    """The source of logs of inspect_ai."""

    def recognises(self, place: Place) -> bool:
        """Whether a file begins as a log does: with the first member of its zip file, or its first keys."""
        if place.head.startswith(_ZIP):
            return place.head[_NAME_AT:].startswith(_MEMBERS)
        return bool(_JSON.match(place.head))

    def read(self, place: Place, reading: Reading) -> list[Run]:
        """Return the one run of a log.

        Raises:
            InputError: it is damaged, holds no samples, or not the score that is asked for.
        """
        if unknown := sorted(set(reading.fields) - set(_NAMED)):
            raise InputError(
                f'{unknown[0]!r} is no field of a log of inspect_ai; expected one of {", ".join(_NAMED)}'
            )
        from .inspect_files import log_file  # pyarrow and pydantic: who only looks at files needs none

        log = log_file(place)
        header = log.header()
        spec, notes = mapping(header.get('eval')), Notes(reading)
        first = next(log.samples(), None)
        if first is None:
            raise InputError(
                f'{place.name} holds no samples: it was written with --no-log-samples, or before the first '
                'one was completed'
            )
        score = _score_of(header, first, reading, place.name)
        _note(header, score, notes)
        return [
            Run(
                ('labels', 'responses') if score.name else ('responses',),
                _questions(log, header, score, reading, notes),
                model=_text(spec.get('model')),
                dataset=_text(spec.get('task')),
                judge={'name': f'{score} of inspect_ai'} if score.name else {},
                settings=_settings(header),
                where=lambda number: f'{place.name}, question {number}',
                remarks=notes,
                written_by=f'inspect_ai {_text(mapping(spec.get("packages")).get("inspect_ai"))}'.strip(),
            )
        ]


class _Score(NamedTuple):
    """The score of which the verdicts are."""

    name: str
    """'' where nothing was scored."""
    key: str = ''
    """In a score of several values: which."""
    names: tuple[str, ...] = ()
    """Of all scores."""

    def __str__(self) -> str:
        return f'{self.name}.{self.key}' if self.key else self.name


def _score_of(header: Fields, first: Logged, reading: Reading, file: str) -> _Score:
    """Return the score that is asked for; else the log's headline, or its first."""
    results = mapping(header.get('results'))
    named = [_text(mapping(one).get('scorer')) for one in listed(results.get('scores'))]
    named += [_text(mapping(one).get('name')) for one in listed(mapping(header.get('eval')).get('scorers'))]
    names = tuple(dict.fromkeys(filter(None, [*named, *_scores(first.fields)])))
    wanted = reading.fields.get('correct')
    if wanted is None:
        shown = [mapping(one) for one in listed(results.get('scores'))[:1]]
        headline = {**(shown[0] if shown else {}), **mapping(results.get('headline'))}
        name, key = _text(headline.get('scorer')), _text(headline.get('score') or headline.get('name'))
        if name in names:
            return _Score(name, '' if key == name else key, names)
        return _Score(names[0], '', names) if names else _Score('')
    name, _, key = (wanted, '', '') if wanted in names else wanted.partition('.')
    if name not in names:
        there = (
            f'it has {", ".join(names)}'
            if names
            else 'it has none: have its responses judged, --as responses'
        )
        raise InputError(f'{file} has no score {wanted!r}: {there}')
    return _Score(name, key, names)


def _note(header: Fields, score: _Score, notes: Notes) -> None:
    status = _text(header.get('status')) or 'started'
    if status != 'success':
        notes.say(UNFINISHED.format(status=status))
    if len(score.names) > 1:
        notes.say(CHOSEN.format(names=', '.join(score.names), name=score))


def _settings(header: Fields) -> dict[str, Any]:
    """Return the settings of the sampling that are numbers, and the effort of reasoning."""
    spec, plan = mapping(header.get('eval')), mapping(header.get('plan'))
    told = {**mapping(spec.get('model_generate_config')), **mapping(plan.get('config'))}
    return {
        name: value
        for name, value in told.items()
        if (isinstance(value, (int, float)) and isfinite(value)) or name == 'reasoning_effort'
    }


def _questions(
    log: LogFile, header: Fields, score: _Score, reading: Reading, notes: Notes
) -> Iterator[Question]:
    reader = _Reader(log, header, score, reading, notes)
    yield from questions_of(reader.samples(), reading, notes, in_order=log.in_order)
    spec = mapping(header.get('eval'))
    epochs = mapping(spec.get('config')).get('epochs') or 1
    keys = mapping(spec.get('dataset')).get('sample_ids')
    if isinstance(epochs, int) and isinstance(keys, list) and len(keys) * epochs > reader.read:
        expected = len(keys) * epochs
        notes.say(MISSING.format(missing=expected - reader.read, expected=expected))


class _Reader:
    """Takes the samples of a log one at a time."""

    def __init__(self, log: LogFile, header: Fields, score: _Score, reading: Reading, notes: Notes) -> None:
        self._log, self._score, self._notes = log, score, notes
        self._fields = reading.fields
        self._model = _text(mapping(header.get('eval')).get('model'))
        self.read = 0

    def samples(self) -> Iterator[Sample]:
        for logged in self._log.samples():
            self.read += 1
            try:
                yield self._sample(logged)
            except InputError as error:
                raise InputError(f'{logged.place}: {error}') from error

    def _sample(self, logged: Logged) -> Sample:
        told = logged.fields
        uid, epoch = told.get('id'), told.get('epoch')
        if not isinstance(uid, (str, int)) or not isinstance(epoch, int):
            raise InputError(f'id is {uid!r:.40} and epoch {epoch!r:.40}: expected the key and the number')
        value = mapping(_scores(told).get(self._score.name))
        response = _response(told)
        if response is None and self._is_scored(value):
            response = ''
        generation = _generation(told, response, self._model)
        return Sample(
            uid=str(uid),
            question=_question(told),
            reference=self._reference(told),
            response=response if generation.state is None else None,
            verdict=self._verdict(told, value, generation),
            replica=epoch,
            answer=_answer(value),
            generation=generation,
            split=self._metadata(told, 'split') or '',
            language=self._metadata(told, 'language') or '',
            problem=self._metadata(told, 'problem'),
            path=self._log.path,
            row=logged.row,
        )

    def _verdict(self, told: Fields, score: Fields, generation: Generation) -> str:
        if generation.state is not None or 'value' not in score:
            return ''
        for key, sentence in (('invalidation', INVALID), ('error', SCORED_ERROR), ('limit', LIMITED)):
            if told.get(key):
                self._notes.say(sentence)
        if told.get('invalidation'):
            return '?'
        return self._notes.verdict(_number(self._value(score['value'])))

    def _is_scored(self, score: Fields) -> bool:
        """Whether the scorer gave a value: then the sample came to its end, with a response or without."""
        try:
            return 'value' in score and not _is_nan(_number(self._value(score['value'])))
        except InputError:  # it has none of the chosen name
            return False

    def _value(self, value: Any) -> Any:
        """Return the value itself, or the chosen one of several."""
        name, key, _ = self._score
        if isinstance(value, dict):
            if not key and len(value) == 1:
                return next(iter(value.values()))
            if key in value:
                return value[key]
            raise InputError(
                f'the score {name} has the values {", ".join(map(str, value))}'
                f'{f", and none called {key}" if key else ""}; say which: --field correct={name}.KEY'
            )
        if key and not _is_nan(value):
            raise InputError(f'the score {name} is {value!r:.40}, and has no value {key}: leave out .{key}')
        return value

    def _reference(self, told: Fields) -> str:
        if 'reference' in self._fields:
            return self._metadata(told, 'reference') or ''
        target = told.get('target')
        if isinstance(target, list):
            if len(target) > 1:
                self._notes.say(TARGETS)
            target = target[0] if target else ''
        return _text(target)

    def _metadata(self, told: Fields, field: str) -> str | None:
        """Return what `--field` says is in the sample's metadata; None where it says nothing."""
        if field not in self._fields:
            return None
        metadata = mapping(told.get('metadata'))
        if (key := self._fields[field]) not in metadata:
            there = ', '.join(metadata) or 'nothing'
            raise InputError(f'the metadata has no {key!r}, which was to be the {field}; it has {there}')
        return str(metadata[key])


def _scores(told: Fields) -> Mapping[str, Any]:
    """Return the scores of a sample by name; the first versions had one, without a name."""
    return mapping(told.get('scores')) or ({'score': told['score']} if told.get('score') else {})


def _number(value: Any) -> Any:
    """Return a verdict as inspect_ai reads it: partial credit, and numbers in words, as numbers."""
    return _PARTIAL[value] if isinstance(value, str) and value in _PARTIAL else number_in(value)


def _is_nan(value: Any) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


def _answer(score: Fields) -> str | None:
    """Return the answer that the scorer took; '' where nothing was scored, None where it took none."""
    if not score:
        return ''
    answer = score.get('answer')
    return answer if isinstance(answer, str) else None


def _question(told: Fields) -> str:
    """Return what the user asked, with the choices that he gave."""
    asked = told.get('input')
    if isinstance(asked, list):
        messages = [mapping(message) for message in asked]
        users = [message for message in messages if message.get('role') == 'user'] or messages
        asked = '\n\n'.join(_parts(message.get('content'), told)[1] for message in users)
    choices = [f'{chr(ord("A") + place)}) {one}' for place, one in enumerate(listed(told.get('choices')))]
    return '\n'.join([_resolved(asked, told), *choices])


def _response(told: Fields) -> str | None:
    """Return the text of the first choice, the only one that is scored; None where there is none."""
    choices = listed(mapping(told.get('output')).get('choices'))
    if not choices:
        return '' if told.get('limit') else None
    message = mapping(mapping(choices[0]).get('message'))
    thought, text = _parts(message.get('content'), told)
    thought = thought or _text(message.get('reasoning'))
    return with_thought(thought, text)


def _parts(content: Any, told: Fields) -> tuple[str, str]:
    """Return the thought and the text of a message's content: a text, or a list of parts."""
    if not isinstance(content, list):
        return '', _resolved(content, told)
    parts = [mapping(part) for part in content]
    thoughts = [
        _text(part.get('summary' if part.get('redacted') else 'reasoning'))
        for part in parts
        if part.get('type') == 'reasoning'
    ]
    texts = [_resolved(part.get('text'), told) for part in parts if part.get('type') == 'text']
    return '\n'.join(filter(None, thoughts)), '\n'.join(texts)


def _resolved(text: Any, told: Fields) -> str:
    """Return a text, also one that the log keeps elsewhere because it comes several times."""
    found = _text(text)
    if found.startswith(_ATTACHED):
        return _text(mapping(told.get('attachments')).get(found.removeprefix(_ATTACHED), found))
    return found


def _generation(told: Fields, response: str | None, model: str) -> Generation:
    output = mapping(told.get('output'))
    choices = listed(output.get('choices'))
    reason = _text(mapping(choices[0]).get('stop_reason')) if choices else ''
    limit = _text(mapping(told.get('limit')).get('type'))
    by_limit = limit and not choices
    ending = _LIMITS.get(limit, f'{limit} limit') if by_limit else _ENDINGS.get(reason, reason)
    return Generation.from_json(
        {
            'finish_reason': ending or None,
            **_tokens(told, output, model),
            'state': _state(response, reason),
        }
    )


def _state(response: str | None, reason: str) -> str | None:
    if reason == 'content_filter' and not response:
        return 'filtered'
    return 'failed' if response is None else None


def _tokens(told: Fields, output: Fields, model: str) -> dict[str, Any]:
    """Return tokens and seconds: of the one request, or of all where a sample took several."""
    usage, seconds = mapping(output.get('usage')), output.get('time')
    if not usage or told.get('turn_count') not in {None, 1}:
        usage, seconds = mapping(mapping(told.get('model_usage')).get(model)), told.get('working_time')
    if not usage:
        return {}
    prompt = [usage.get(f'input_tokens{more}') or 0 for more in ('', '_cache_read', '_cache_write')]
    return {
        'prompt_tokens': sum(part for part in prompt if isinstance(part, int)),
        'output_tokens': usage.get('output_tokens'),
        'reasoning_tokens': usage.get('reasoning_tokens'),
        'seconds': seconds,
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ''
