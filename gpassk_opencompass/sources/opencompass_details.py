"""What an evaluation of OpenCompass wrote of each sample, in the forms that its evaluators have for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import mapping
from ..json_entries import JsonEntries
from .opencompass import OldRun
from .samples import Notes

DETAILS = 'details'
OWN = 'gpassk'
"""The entry of a result that marks it as one of this package."""

_VERDICTS = ('correct', 'is_correct', 'cascade_correct')
"""Where evaluators put a verdict, in the order in which OpenCompass itself looks for it."""

_ANSWERS = ('pred', 'parsed', 'prediction', 'predictions')
_REFERENCES = ('answer', 'ref', 'gold', 'reference', 'references', 'refr', 'answers')

NO_LETTER = (
    '{count} replies of the LLM judge are more than its letter, and their samples unjudged; OpenCompass '
    'takes the first such letter anywhere in a reply, also that of "Answer" or "Because"'
)
MISALIGNED = (
    'the verdicts of {count} questions are fewer than their samples, so that nothing says of which they are: '
    'these samples are unjudged'
)
UNFLAGGED = (
    "{count} questions have a round that no LLM judged, as the rule found all of it right: OpenCompass's own "
    'G-Pass@k counts its samples as wrong, here they are correct'
)


class _Nothing:
    """Stands for a verdict where nothing is said."""


_NOTHING = _Nothing()


@dataclass
class Judged:
    """The verdicts of a result file.

    In the first of two forms, a question has an entry with a list for each thing that was said of its n
    samples; in the other, each row of the predictions has an entry.

    n: samples a question; None in the second form, which does not tell.
    uids: of the questions; [] in the second form.
    verdicts: '1', '0' or '?' a sample, of each question; or of each row.
    answers: what the evaluator took for the final answers, in the same form; [] where nobody looks at them.
    references: of the questions, or rows; '' where it does not tell.
    """

    n: int | None = None
    uids: list[str] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    answers: list[tuple[str | None, ...]] = field(default_factory=list)
    references: list[str] = field(default_factory=list)


def first_detail(path: Path) -> Mapping[str, Any] | None:
    """Return the first entry of the details of a result of OpenCompass; None of any other file."""
    try:
        for keys, value in JsonEntries(path, DETAILS):
            if keys == (OWN,) or (len(keys) > 1 and keys[1] != 'type' and not isinstance(value, dict)):
                return None
            if len(keys) > 1 and isinstance(value, dict):
                return value
    except InputError:
        return None
    return None


def is_own(path: Path) -> bool:
    """Whether a result is one of this package."""
    try:
        return any(keys == (OWN,) for keys, _ in JsonEntries(path, DETAILS))
    except InputError:
        return False


def has_verdicts(detail: Mapping[str, Any], run: OldRun) -> bool:
    """Whether an entry of the details tells whether samples are correct, be it not of each of them."""
    if any(detail.get(name) is not None for name in _VERDICTS):
        return True
    return not isinstance(_verdict(samples_in(detail)[0], _letters(run)), _Nothing)


def is_of_samples(detail: Mapping[str, Any]) -> bool:
    """Whether an entry looks as if it were of OpenCompass."""
    if 'example_abbr' in detail:
        return True
    has_verdict = any(name in detail for name in _VERDICTS)
    return ('pred' in detail and has_verdict) or {'predictions', 'references'} <= set(detail)


def read_judged(path: Path, run: OldRun, notes: Notes, answers: bool) -> Judged:
    """Read the verdicts of a result file.

    Args:
        run: says which letters an LLM judge had to choose from.
        notes: gets what should be known of them.
        answers: whether anybody looks at final answers.

    Raises:
        InputError: the file is damaged, or its entries have several forms.
    """
    judged = Judged()
    letters = _letters(run)
    for keys, detail in JsonEntries(path, DETAILS):
        if len(keys) < 2 or keys[1] == 'type':
            continue
        where = f'{path}, details {keys[1]}'
        if not isinstance(detail, dict):
            raise InputError(f'{where}: it is {detail!r:.60}; expected an object')
        try:
            _add(judged, detail, letters, notes, answers)
        except InputError as error:
            raise InputError(f'{where}: {error}') from error
    return judged


def _add(
    judged: Judged, detail: Mapping[str, Any], letters: Mapping[str, bool], notes: Notes, answers: bool
) -> None:
    samples = samples_in(detail)
    uid = detail.get('example_abbr')
    n = None if uid is None else len(samples)
    if judged.verdicts and judged.n != n:
        raise InputError(
            f'it tells of {n or "no"} samples, those before it of {judged.n or "no"}: the file is damaged'
        )
    judged.n = n
    if uid is not None:
        if str(uid).rpartition('_')[2] != str(len(judged.uids)):
            raise InputError(f'it is of {uid!r:.60}; expected question number {len(judged.uids)}')
        judged.uids.append(str(uid))
    judged.verdicts.append(''.join(_symbol(sample, letters, notes) for sample in samples))
    if not any(name in sample for sample in samples for name in _VERDICTS) and any(
        name in detail for name in _VERDICTS
    ):
        notes.say(UNFLAGGED if 'rule_evaluation' in detail else MISALIGNED)
    references = [_first(sample, _REFERENCES) for sample in samples]
    judged.references.append(next(filter(None, references), ''))
    if answers:
        is_reply = _is_reply(samples[0])
        judged.answers.append(tuple(None if is_reply else _first(one, _ANSWERS) for one in samples))


def samples_in(detail: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what an entry says of each of its samples.

    OpenCompass makes a list of what is said of n samples under one name, and leaves out those of which
    nothing is: a list that is shorter than others does not tell of which samples it is.

    >>> samples_in({'example_abbr': 'aime_0', 'mG-Pass@2': 0.5, 'pred': ['7', '8'], 'correct': [True, False]})
    [{'pred': '7', 'correct': True}, {'pred': '8', 'correct': False}]
    """
    if 'example_abbr' not in detail:
        return [dict(detail)]
    lists = {name: value for name, value in detail.items() if isinstance(value, list)}
    size = max(map(len, lists.values()), default=0)
    if not size:
        raise InputError('it has no list of what is said of samples')
    samples = [
        {name: value[place] for name, value in lists.items() if len(value) == size} for place in range(size)
    ]
    for told in lists.get('llm_evaluation', ()):
        place = mapping(told).get('dataset_replica_idx')
        if isinstance(place, int) and 0 <= place < size:
            samples[place]['llm_evaluation'] = told
    return samples


def _symbol(sample: Mapping[str, Any], letters: Mapping[str, bool], notes: Notes) -> str:
    verdict = _verdict(sample, letters)
    if isinstance(verdict, _Nothing):
        return '?'
    if _is_reply(sample) and verdict is None:
        notes.say(NO_LETTER)
    return notes.verdict(verdict)


def _verdict(sample: Mapping[str, Any], letters: Mapping[str, bool]) -> Any:
    for name in _VERDICTS:
        if sample.get(name) is not None:
            return sample[name]
    if 'rule_evaluation' in sample:
        by_rule = mapping(sample['rule_evaluation']).get('correct')
        return bool(by_rule or mapping(sample.get('llm_evaluation')).get('llm_correct'))
    if _is_reply(sample):
        return letters.get(sample['prediction'].strip(' \n\t.*"\'()'))
    return _NOTHING


def _is_reply(sample: Mapping[str, Any]) -> bool:
    """Whether it is what a judge was asked and replied, where no verdict was made of it."""
    return 'origin_prompt' in sample and isinstance(sample.get('prediction'), str)


def _letters(run: OldRun) -> dict[str, bool]:
    made = mapping(run.evaluator.get('dict_postprocessor'))
    return {str(made.get('true_tag', 'A')): True, str(made.get('false_tag', 'B')): False}


def _first(sample: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Return the first of several entries that is there, also of those of a rule before an LLM, as a text."""
    by_rule = mapping(sample.get('rule_evaluation'))
    places = ((one, name) for one in (sample, by_rule) for name in names)
    found: Iterator[Any] = (one[name] for one, name in places if one.get(name) is not None)
    value = next(found, None)
    return None if value is None else reference_text(value)


def reference_text(value: object) -> str:
    """Return a reference as a text; of a list of several the first one.

    >>> [reference_text(value) for value in ('7', 7, ['7', 'seven'], [])]
    ['7', '7', '7', '']
    """
    if isinstance(value, list):
        return reference_text(value[0]) if value else ''
    return value if isinstance(value, str) else str(value)
