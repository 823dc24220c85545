"""Reads samples from files of any format, by one set of rules for all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain, islice
from math import exp, inf, log
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ForeignFileError, InputError
from ..files import SAMPLES
from ..health import NOT_DRAWN, STATES
from ..json_rows import Row
from ..samples import COLUMNS, MISSING, Counts, Run, Samples
from . import (
    batch,
    evalscope,
    every_eval_ever,
    inspect_logs,
    lighteval_details,
    lm_eval,
    matharena,
    nemo_skills,
    opencompass,
    tau2,
    verifiers,
    verl,
)
from .format import NO_OPTIONS, OF_QUESTION, OF_SAMPLE, Format, Options, at, first_row, number_in
from .table import TABLE

FORMATS: dict[str, Format] = {
    'lm-eval': lm_eval.FORMAT,
    'inspect': inspect_logs.FORMAT,
    'evalscope': evalscope.FORMAT,
    'nemo-skills': nemo_skills.FORMAT,
    'verl': verl.FORMAT,
    'matharena': matharena.FORMAT,
    'opencompass': opencompass.FORMAT,
    'lighteval': lighteval_details.FORMAT,
    'verifiers': verifiers.FORMAT,
    'tau2': tau2.FORMAT,
    'every-eval-ever': every_eval_ever.FORMAT,
    'batch': batch.FORMAT,
    'table': TABLE,
}
"""Name of a format → where its files keep what; a file that no other recognises may be a table."""

_NUMBERS = {'n', 'c', 'unjudged', *(one.name for one in COLUMNS if one.kind in ('int64', 'double'))}
_LARGEST = 2**53
_FOREIGN = KeyError, IndexError, TypeError, AttributeError, ValueError
"""What a function of a row raises where the row is not what it expects."""

_WORDS: dict[Any, str] = {
    **dict.fromkeys(('correct', 'c', 'true', 'yes', 'pass'), 'correct'),
    **dict.fromkeys(('incorrect', 'i', 'n', 'false', 'no', 'fail'), 'incorrect'),
    **dict.fromkeys(('unjudged', '?', *MISSING), 'unjudged'),
}
"""Verdicts in words, in small letters; 'n' is inspect's "no answer"."""

_NOTES = {
    'partial': '{count} verdicts are partial credit, below {least:g}, and count as incorrect: --correct-from '
    'says from where on a number is correct',
    'above': '{count} verdicts are numbers above 1 and count as correct: are they rewards? --correct-from '
    'says from where on a number is correct',
    'below': '{count} verdicts are numbers below 0 and count as incorrect: are they rewards?',
    'none': '{count} samples have no verdict (empty, null or NaN) and are unjudged',
}


def read_samples(
    paths: Iterable[str | Path],
    format: str | None = None,
    options: Options = NO_OPTIONS,
    tell: Callable[[str], None] = lambda sentence: None,
) -> list[Run]:
    """Read the runs in files and folders, whichever programs wrote them.

    Args:
        paths: folders are searched, but for hidden files and the sample files beside results.
        format: one of `FORMATS`; None: the one that recognises a file.
        options: see `Options`.
        tell: gets a sentence for each file in a folder that is passed over, or cannot be read.

    Raises:
        InputError: nothing is there, no format recognises a file or several do, or rows are wrong: lists all.
    """
    if format is not None and format not in FORMATS:
        raise InputError(f'{format!r} is no format; expected one of {", ".join(FORMATS)}')
    own = (one for form in FORMATS.values() for one in form.options)
    known = dict.fromkeys((*OF_QUESTION, *OF_SAMPLE, *own))
    if unknown := sorted(options.fields.keys() - known):
        raise InputError(f'{unknown[0]!r} is no field; expected one of {", ".join(known)}')
    given = list(map(Path, paths))
    runs: list[Run] = []
    bad: list[str] = []
    failed: list[str] = []
    numbers = False
    for name, files in _files(given, format, tell):
        reading = _Reading(name, files, options)
        try:
            runs += reading.runs()
        except InputError as error:
            if not set(given).isdisjoint(files):
                raise
            foreign = isinstance(error, ForeignFileError)
            failed.append(f'passed over: {files[0]}' if foreign else f'left out: {error}')
        bad += [] if options.drop_bad else reading.bad
        numbers |= reading.numbers
    if bad:
        raise InputError(f'{_lines(bad)}\nmend the rows, or leave them out: --drop-bad')
    if not runs:
        failed = [one.removeprefix('left out: ') for one in failed]
        raise InputError('\n'.join(failed) or f'{", ".join(map(str, given))}: there is no run')
    for one in failed:
        tell(one)
    if options.correct_from is not None and not numbers:
        raise InputError(
            f'--correct-from {options.correct_from:g} changes nothing: no verdict is a number; leave it out, '
            'or name the field of a score: --field correct=NAME'
        )
    return _only(runs, options.only)


def _only(runs: list[Run], parts: Sequence[str]) -> list[Run]:
    names = [run.name or run.files[0].name for run in runs]
    for part in parts:
        if not any(part in name for name in names):
            there = ', '.join(sorted(set(names)))
            raise InputError(f'no run has --only {part!r} in its name; there are {there}')
    named = zip(runs, names, strict=True)
    return [run for run, name in named if not parts or any(part in name for part in parts)]


def _lines(lines: Sequence[str]) -> str:
    return '\n'.join([*lines[:50], *([f'… and {len(lines) - 50} more'] if len(lines) > 50 else [])])


# ---- files -----------------------------------------------------------------------------------------------


def _files(
    given: Sequence[Path], wanted: str | None, tell: Callable[[str], None]
) -> Iterator[tuple[str, list[Path]]]:
    """Yield the format and the files of each run."""
    found: dict[tuple[str, Any], list[Path]] = defaultdict(list)
    seen: set[Path] = set()
    for path in given:
        if not (path.is_file() or path.is_dir()):
            raise InputError(f'{path} is neither a file nor a folder')
        passed_over: list[Path] = []
        some = path.resolve() in seen
        for place in _places(path, seen):
            name = _format_of(place, wanted, place == path)
            some |= name is not None
            if name is None:
                passed_over += [] if place.is_dir() else [place]
            elif place.is_dir():
                seen.update(file.resolve() for file in place.rglob('*'))
                yield from ((name, files) for files in FORMATS[name].files(place))  # type: ignore[misc]
            else:
                found[name, FORMATS[name].run_of(place)].append(place)
        if not some:
            there = f': there is {passed_over[0]}, …' if passed_over else ''
            which = 'that one of the formats recognises' if wanted is None else f'of {wanted}'
            raise InputError(
                f'{path} holds no file {which}{there}; name a file, or say what wrote it: '
                f'--from {" or ".join(FORMATS)}'
            )
        for one in passed_over:
            tell(f'passed over: {one}')
    yield from ((name, sorted(files)) for (name, _), files in found.items())


def _places(path: Path, seen: set[Path]) -> Iterator[Path]:
    """Yield a path, and what lies in it if it is a folder that was not taken as a whole."""
    if path.resolve() in seen:  # by a link, perhaps to a folder above
        return
    seen.add(path.resolve())
    yield path
    endings = '.json', '.jsonl', '.eval', '.parquet', '.csv', '.tsv'
    for entry in sorted(path.iterdir()) if path.is_dir() else ():
        named = entry.is_file() and entry.name.lower().removesuffix('.gz').endswith(endings)
        if entry.name[0] != '.' and not entry.name.endswith(SAMPLES) and (named or entry.is_dir()):
            yield from _places(entry, seen)


def _format_of(path: Path, wanted: str | None, given: bool) -> str | None:
    """Return the format of a file or folder; None where no format recognises it."""
    given &= not path.is_dir()
    if wanted and given:
        return wanted
    try:
        first = None if path.is_dir() else first_row(path)
    except InputError:
        if given:
            raise
        return None
    claims = [name for name in FORMATS if wanted in (None, name) and FORMATS[name].claims(path, first)]
    if len(claims) > 1 and 'table' in claims:
        claims.remove('table')
    if len(claims) > 1:
        raise InputError(
            f'{path} looks like files of {" and of ".join(claims)}; say which: --from {claims[0]}'
        )
    return [*claims, *(['table'] if given else []), None][0]  # which says what it expects


# ---- rows ------------------------------------------------------------------------------------------------


def _text(value: Any) -> str | None:
    """Return a value as text, a whole number without a point; None where there is nothing."""
    if isinstance(value, str):
        return None if len(value) < 9 and value.strip().lower() in MISSING else value
    if value is None or value != value:  # noqa: PLR0124 (NaN)
        return None
    if isinstance(value, (list, dict, bytes, tuple)):
        raise ValueError(f'{value!r:.60} is a {type(value).__name__}; expected a text or a number')
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _number(name: str, value: Any) -> float | None:
    """Return a number; None where there is nothing, or no sensible number of tokens or seconds."""
    number = number_in(value)
    real = type(number) in (int, float)
    if name == 'seconds':
        return float(number) if real and 0 <= number < _LARGEST else None
    whole = number if real and isinstance(number, int) else None
    if name.endswith('_tokens'):
        return whole if whole is not None and 0 <= whole < _LARGEST else None
    if number == whole and abs(whole or 0) < 2**63:
        return whole
    raise ValueError(
        f'{name} is {value!r:.40}; expected a whole number, or another column: --field {name}=NAME'
    )


class _Reading:
    """The rows of one run's files, as columns; the files may turn out to hold several runs."""

    def __init__(self, name: str, files: Sequence[Path], options: Options) -> None:
        self.files, self.options = files, options
        self.bad: list[str] = []
        self.numbers = False  # whether a verdict was a number
        self._name, self._format = name, FORMATS[name]
        told = {} if name == 'table' else options.fields  # a table finds all of them itself
        self._given = {key: one for key, one in told.items() if key not in self._format.options}
        self._touched: set[str] = set()
        self._first: Row | None = None
        self._said: Counter[str] = Counter()
        self._columns: dict[str, list[Any]] = defaultdict(list)
        self._pools: dict[str, dict[Any, Any]] = defaultdict(dict)  # equal texts are one object
        self._least = 1.0 if options.correct_from is None else options.correct_from
        self._known = {True: 'correct', False: 'incorrect'} if options.correct_from is None else {}

    @property
    def _where(self) -> str:
        return f'{self.files[0]}' + (f' and {len(self.files) - 1} more files' if len(self.files) > 1 else '')

    def runs(self) -> list[Run]:
        """Read all files and return the runs in them; none where rows are wrong and nobody leaves them out.

        Raises:
            InputError: a file cannot be read, or samples contradict each other.
        """
        self.files = self._format.chosen(self.files)
        whole = self._format.read
        for path in self.files[:1] if whole else self.files:
            rows, first = whole(self.files) if whole else self._format.rows(path), 1
            while batch := self._batch(path, rows, first):
                self._add(batch)
                first += len(batch)
        if self.bad and not (self.options.drop_bad and self._columns):
            if self.options.drop_bad:
                raise InputError(f'no row is left:\n{_lines(self.bad)}')
            return []
        if not self._columns:
            why = f': {"; ".join(self._remarks())}' if self._said else ''
            raise InputError(f'{self._where} is empty; expected samples, counts or responses{why}')
        for name, where in self._given.items():
            if name not in self._touched:
                there = ', '.join(one for one in self._first or () if one[:1] not in '_-')
                raise InputError(f'--field {name}={where} finds nothing in {self._where}; a row has {there}')
        return [self._run(*part) for part in self._parts()]

    def _batch(self, path: Path, rows: Iterator[Row], first: int) -> list[Row]:
        try:
            batch = list(islice(rows, 256))
        except InputError:
            raise
        except _FOREIGN as error:
            raise InputError(f'{path} is not as {self._name} writes it: {error!r:.200}') from error
        for number, row in enumerate(batch, first):
            row.setdefault('_row', number)
            row.setdefault('_file', path)
        return batch

    def _parts(self) -> Iterator[tuple[dict[str, str], dict[str, list[Any]]]]:
        """Yield what the rows call a run, and its columns."""
        names = {key: self._columns.pop(key, None) for key in ('model', 'dataset', 'run')}
        told = {key: column for key, column in names.items() if column}
        parts: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
        for row, called in enumerate(zip(*told.values(), strict=True)):
            parts[called].append(row)
        if not told:
            yield {}, self._columns
        for called, rows in parts.items():
            about = {name: value for name, value in zip(told, called, strict=True) if value}
            about = {'model': about.pop('run'), **about} if 'run' in about else about
            yield about, {name: [column[row] for row in rows] for name, column in self._columns.items()}

    def _remarks(self) -> list[str]:
        return [sentence.replace('{count}', str(count)) for sentence, count in self._said.items()]

    def _add(self, batch: list[Row]) -> None:
        """Add rows to the columns: all at once, or one by one where one of them is wrong."""
        try:
            for name, values in self._converted(batch).items():
                self._columns[name] += values
        except InputError:
            raise
        except _FOREIGN as error:
            if len(batch) > 1:
                for row in batch:
                    self._add([row])
                return
            foreign = not isinstance(error, ValueError)
            why = f'not as {self._name} writes it: {error!r:.99}' if foreign else str(error)
            self.bad.append(f'{batch[0]["_file"]}:{batch[0]["_row"]}: {why}')

    def _converted(self, batch: list[Row]) -> dict[str, list[Any]]:
        if wrong := next((row['_bad'] for row in batch if '_bad' in row), None):
            raise ValueError(wrong)
        if self._first is None:  # which shows where rows keep what
            self._first = batch[0]
            if self._format.specialise:
                try:
                    self._format = self._format.specialise(self._first, self.options)
                except InputError as error:
                    raise InputError(f'{self._where}: {error}') from error
            self._fields = {**self._format.fields, **{name: f'--{name}' for name in self._given}}
            self._about = self._format.about(self.files, self._first)
        rows = batch
        if self._given or self._format.expand is not Format.expand:
            expand = self._format.expand
            parts = ((row,) if '_skipped' in row else expand(row) for row in batch)
            if self._given:
                parts = (self._with_given(*both) for both in zip(batch, parts, strict=True))
            rows = list(chain.from_iterable(parts))
        skipped = [row['_skipped'] for row in rows if '_skipped' in row]
        rows = [row for row in rows if '_skipped' not in row] if skipped else rows
        columns: dict[str, list[Any]] = {}
        for name, how in self._fields.items():
            if callable(how):
                values = [how(row) for row in rows]
            else:
                values = [at(row, how) for row in rows] if '.' in how else [row.get(how) for row in rows]
            if name == 'correct':
                columns['verdict'], columns['_note'] = self._verdicts(values)
            else:
                columns[name] = self._cleaned(name, values)
        files = {id(row['_file']): str(row['_file']) for row in rows[:1] + rows[-1:]}
        columns['file'] = [files.get(id(row['_file'])) or str(row['_file']) for row in rows]
        columns['row'] = [row['_row'] for row in rows]
        columns['_said'] = [row.get('_said') for row in rows]
        self._said.update(skipped)
        return columns if rows else {}

    def _with_given(self, row: Row, of_samples: Iterable[Row]) -> list[Row]:
        """Return the rows of the samples of a row, with what the options give under '--NAME'."""
        samples = list(of_samples)
        for name, path in self._given.items():
            told = at(row, path)
            values = [at(one, path) for one in samples] if told is None else [told] * len(samples)
            if told is not None and name in OF_SAMPLE:
                if isinstance(told, list) and len(told) == len(samples):
                    values = told
                elif len(samples) != 1:
                    raise ValueError(
                        f'--field {name}={path} gives {told!r:.60} for {len(samples)} samples; expected a '
                        'list of as many'
                    )
            if any(value is not None for value in values):
                self._touched.add(name)
            samples = [{**one, f'--{name}': value} for one, value in zip(samples, values, strict=True)]
        return samples

    def _cleaned(self, name: str, values: list[Any]) -> list[Any]:
        """Return a column by the rules for all formats."""
        kinds = set(map(type, values))
        if name in _NUMBERS:
            plain = kinds == {int} and name != 'seconds' and 0 <= min(values) <= max(values) < _LARGEST
            return values if plain else [_number(name, value) for value in values]
        if name == 'reference' and list in kinds:
            values = [one[0] if isinstance(one, list) and len(one) == 1 else one for one in values]
        if kinds == {str}:
            texts = [one if len(one) > 8 or one.strip().lower() not in MISSING else None for one in values]
        else:
            texts = values if kinds == {type(None)} else list(map(_text, values))
        if name == 'uid' and None in texts:
            key = self.options.fields.get('uid')
            option = f'--field uid={key}' if key else 'its key'
            raise ValueError(f'nothing tells the question of this row: {option} finds nothing in it')
        if name == 'state':
            texts = [one if one in STATES else None for one in texts]
        elif name == 'response':
            texts = [one or '' for one in texts]
        elif name == 'answer':  # '' is none, None is not known
            texts = ['' if value == '' else one for one, value in zip(texts, values, strict=True)]
        if name not in ('response', 'thought', 'answer', 'fingerprint'):  # which are seldom equal
            texts = list(map(self._pools[name].setdefault, texts, texts))
        return texts

    def _verdicts(self, values: list[Any]) -> tuple[list[str], list[str | None]]:
        """Return verdicts, and the key of what is to be said of each."""
        try:
            return [self._known[one] for one in values], [None] * len(values)
        except (KeyError, TypeError):
            both = list(map(self._verdict, values))
        return [verdict for verdict, _ in both], [note for _, note in both]

    def _verdict(self, value: Any) -> tuple[str, str | None]:
        if isinstance(value, bool):
            return ('correct' if value else 'incorrect'), None
        if isinstance(value, str) and (word := value.strip().lower()) in _WORDS:
            return _WORDS[word], 'none' if word in MISSING else None
        number = number_in(value)
        if number is None:
            return 'unjudged', 'none'
        if not isinstance(number, (int, float, Decimal)) or abs(number) == inf:
            raise ValueError(
                f'{value!r:.60} is no verdict; expected true or false, a number, "correct" or '
                '"incorrect", or null where nobody judged'
            )
        self.numbers = True
        correct = number >= self._least
        note = 'below' if number < 0 else 'partial' if number and not correct else None
        return ('correct' if correct else 'incorrect'), 'above' if number > max(1, self._least) else note

    def _run(self, called: Mapping[str, Any], columns: dict[str, list[Any]]) -> Run:
        about = {**self._about, **called}
        remarks = list(about.pop('remarks', ()))
        if self.bad:
            remarks.append(f'{len(self.bad)} bad rows are left out, the first: {self.bad[0]}')
        if field := self.options.fields.get('correct'):
            about['judge'] = {'name': f'field {field}'}
        said = Counter(one for some in columns.pop('_said') if some for one in some)
        remarks += [
            sentence.replace('{count}', str(count)) for sentence, count in (said + self._said).items()
        ]
        splits, languages = columns.pop('split', None), columns.get('language')
        if 'group' not in columns and (splits or languages):
            nothing = [None] * len(columns['uid'])
            both = zip(splits or nothing, languages or nothing, strict=True)
            columns['group'] = ['_'.join(filter(None, one)) or 'all' for one in both]
        about['files'], wanted = tuple(self.files), self.options.kind
        if 'c' in columns:
            self._refuse_copy(columns)
            held, run = ['counts'], Run(None, _counts(columns), **about)
        else:
            samples = self._samples(columns, remarks)
            kinds = {'responses': 'response', 'labels': 'verdict'}
            held = [kind for kind, column in kinds.items() if column in samples]
            if wanted == 'responses' or 'verdict' not in samples:
                samples, about['judge'] = samples.replace(verdict=None, judged_by=None, why=None), {}
            run = Run(samples, **about)
        if wanted not in (None, *held):
            raise InputError(
                f'{self._where} holds {" and ".join(held) or "nothing"}, and no {wanted}; leave out '
                + ('--judge' if wanted == 'responses' else '--judge none')
            )
        return replace(run, remarks=tuple(remarks))

    def _samples(self, columns: dict[str, list[Any]], remarks: list[str]) -> Samples:
        """Return the samples of a run: each once, numbered from 0."""
        numbered = None not in columns.get('replica', [None])
        columns['replica'] = _replicas(columns['uid'], columns.get('replica'))
        notes = columns.pop('_note', [])
        _settle(columns, notes)
        if 'verdict' in columns and self.options.kind != 'responses':
            odd = Counter(notes)
            remarks += [
                one.format(count=odd[key], least=self._least) for key, one in _NOTES.items() if odd[key]
            ]
        known = {name for name, column in columns.items() if any(one is not None for one in column)}
        samples = Samples({name: columns[name] for name in columns if name in known or name == 'verdict'})
        try:
            samples.check()
        except InputError as error:
            raise InputError(f'{error}{self._hint(samples)}') from error
        by_row = self._fields.get('uid') == '_row'
        if not numbered or by_row:
            self._refuse_copy({name: samples[name] for name in samples.names})
        questions = samples.by_question()
        sizes = {uid: len(rows) for uid, rows in questions.items()}
        places = zip(samples['uid'], samples['replica'], strict=True)
        if not all(0 <= place < sizes[uid] for uid, place in places):
            dense = [0] * len(samples)
            for place, row in (both for rows in questions.values() for both in enumerate(rows)):
                dense[row] = place
            samples = samples.replace(replica=dense)
        if max(sizes.values()) == 1 < len(sizes) and self._name == 'table' and not by_row:
            remarks.append(
                f'each row is a question of its own by {self._fields["uid"]}; if several are samples of one, '
                '--field uid=NAME names the column that tells the questions apart'
            )
        return samples

    def _hint(self, samples: Samples) -> str:
        """Return what to do where samples are there twice and another column tells them apart."""
        first: dict[Any, int] = {}
        keys = enumerate(zip(samples['uid'], samples['replica'], strict=True))
        row = next((row for row, key in keys if first.setdefault(key, row) != row), 0)
        if not row or len(self.files) > 1 or self._format.read or 'model' in self._fields:
            return ''
        before = first[samples['uid'][row], samples['replica'][row]]
        places = samples['row'][before], samples['row'][row]
        rows = enumerate(self._format.rows(self.files[0]), 1)
        one, other = [told for number, told in rows if told.get('_row', number) in places][:2] or ({}, {})
        known = {'_row', *map(str, self._fields.values())}
        names = (name for name in one if name not in known and isinstance(one[name], str))
        name = next((name for name in names if one[name] != other.get(name)), '')
        return f'\n{name!r} differs between them: where it names models, --field model={name}' if name else ''

    def _refuse_copy(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Refuse files whose second half is their first half once more, and is so by no accident."""
        uids, (half, odd) = columns['uid'], divmod(len(columns['uid']), 2)
        # A question may be as stable as it likes.
        keys = [''] * (2 * half) if self._fields.get('uid') == '_row' else uids
        told = [column for name, column in columns.items() if name not in ('replica', 'row', 'file', 'uid')]
        if half < 2 or odd or any(column[:half] != column[half:] for column in (keys, *told)):
            return
        sizes = Counter(keys[:half])
        once = Counter(zip(keys[:half], *(column[:half] for column in told), strict=True))
        by_chance = exp(sum(count * log(count / sizes[key]) for (key, *_), count in once.items()))
        if 'response' in columns or by_chance < 1e-6:
            raise InputError(
                f'{self._where} holds everything twice: its second half is its first half again. Take '
                'one out; other samples that are equal need numbers in a column replica'
            )


def _replicas(uids: Sequence[str], told: Sequence[int | None] | None) -> list[int]:
    """Return which of its question's samples each is: as told, else in the order of the file."""
    told = told or [None] * len(uids)
    unnumbered = {uid for uid, place in zip(uids, told, strict=True) if place is None}
    seen: Counter[str] = Counter()
    places = []
    for uid, place in zip(uids, told, strict=True):
        places.append(seen[uid] if place is None or uid in unnumbered else place)
        seen[uid] += 1
    return places


def _settle(columns: dict[str, list[Any]], notes: list[str | None]) -> None:
    """Take out what says nothing: verdicts that nobody gave, responses that are not there."""
    verdicts, responses = columns.get('verdict'), columns.get('response')
    for row, state in enumerate(columns.get('state', ())):
        if state in NOT_DRAWN:
            if verdicts:
                verdicts[row], notes[row] = 'unjudged', None
            if responses:
                responses[row] = None
    if verdicts and responses and set(verdicts) == {'unjudged'}:
        del columns['verdict']
    elif verdicts and responses and not any(responses):
        del columns['response']


def _counts(columns: dict[str, list[Any]]) -> Counts:
    """Return the counts of questions, a row a question."""
    uids, size = columns['uid'], len(columns['uid'])
    if len(set(uids)) < size:
        first: dict[str, int] = {}
        raise InputError(
            _lines(
                [
                    f'{columns["file"][row]}:{columns["row"][row]}: {uid!r:.60} is there twice, first in row '
                    f'{columns["row"][first[uid]]}: are these two runs?'
                    for row, uid in enumerate(uids)
                    if first.setdefault(uid, row) != row
                ]
            )
        )
    problems = columns.get('problem') or uids
    unjudged = [one or 0 for one in columns['unjudged']] if 'unjudged' in columns else [0] * size
    return Counts(
        uids,
        problems if problems is uids else [one or uid for one, uid in zip(problems, uids, strict=True)],
        columns.get('group') or ['all'] * size,
        *(np.array(column, dtype=np.int64) for column in (columns['n'], columns['c'], unjudged)),
    )
