"""Reads samples from files of any format, by one set of rules for all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain, islice
from math import exp, inf, log
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
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
from .format import (
    NO_OPTIONS,
    OF_QUESTION,
    OF_SAMPLE,
    Field,
    Format,
    Options,
    at,
    first_row,
    number_in,
)
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

_NUMBERS = frozenset(
    ('n', 'c', 'unjudged', *(one.name for one in COLUMNS if one.kind in ('int64', 'double')))
)
_LARGEST = 2**53
_FOREIGN = KeyError, IndexError, TypeError, AttributeError
"""What a function of a row raises where the row is not what it expects."""

_WORDS: dict[Any, str] = {
    **dict.fromkeys(('correct', 'c', 'true', 'yes', 'pass', '1', '1.0'), 'correct'),
    **dict.fromkeys(('incorrect', 'i', 'n', 'false', 'no', 'fail', '0', '0.0'), 'incorrect'),
    **dict.fromkeys(('unjudged', '?', *MISSING), 'unjudged'),
}
"""Verdicts in words, in small letters; 'n' is inspect's "no answer"."""


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
    runs: list[Run] = []
    bad: list[str] = []
    failed: list[str] = []
    numbers = False
    with TemporaryDirectory() as folder:
        given = [_from_pipe(Path(path), Path(folder, str(place))) for place, path in enumerate(paths)]
        for name, files in _found(given, format, tell):
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
        raise InputError(f'{_listed(bad)}\nmend the rows, or leave them out: --drop-bad')
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
            raise InputError(
                f'no run has --only {part!r} in its name; there are {", ".join(sorted(set(names)))}'
            )
    named = zip(runs, names, strict=True)
    return [run for run, name in named if not parts or any(part in name for part in parts)]


def _listed(lines: Sequence[str]) -> str:
    return '\n'.join([*lines[:50], *([f'… and {len(lines) - 50} more'] if len(lines) > 50 else [])])


def _shown(files: Sequence[Path]) -> str:
    return str(files[0]) + (f' and {len(files) - 1} more files' if len(files) > 1 else '')


# ---- files -----------------------------------------------------------------------------------------------


def _from_pipe(path: Path, folder: Path) -> Path:
    """Return a path that can be read several times."""
    if not path.exists():
        raise InputError(f'{path} is neither a file nor a folder')
    if path.is_file() or path.is_dir():
        return path
    copy = folder / path.name
    folder.mkdir()
    with path.open('rb') as pipe, copy.open('wb') as file:
        copyfileobj(pipe, file)
    return copy


def _found(
    given: Sequence[Path], wanted: str | None, tell: Callable[[str], None]
) -> Iterator[tuple[str, list[Path]]]:
    """Yield the format and the files of each run."""
    found: dict[tuple[str, Any], list[Path]] = defaultdict(list)
    seen: set[Path] = set()
    for path in given:
        passed_over: list[Path] = []
        some = path.resolve() in seen
        for place in _places(path, seen):
            name = _format_of(place, wanted, place == path)
            if name is None:
                passed_over += [] if place.is_dir() else [place]
                continue
            some = True
            if place.is_dir():
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
        hidden = entry.name.startswith('.') or entry.name.endswith(SAMPLES)
        named = entry.is_file() and entry.name.lower().removesuffix('.gz').endswith(endings)
        if not hidden and (named or entry.is_dir()):
            yield from _places(entry, seen)


def _format_of(path: Path, wanted: str | None, given: bool) -> str | None:
    """Return the format of a file or folder; None where no format recognises it."""
    folder = path.is_dir()
    if wanted and given and not folder:
        return wanted
    try:
        first = None if folder else first_row(path)
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
    if given and not folder:
        claims.append('table')  # which says what it expects
    return claims[0] if claims else None


# ---- rows ------------------------------------------------------------------------------------------------

_NOTES = {
    'partial': '{count} verdicts are partial credit, below {least:g}, and count as incorrect: --correct-from '
    'says from where on a number is correct',
    'above': '{count} verdicts are numbers above 1 and count as correct: are they rewards? --correct-from '
    'says from where on a number is correct',
    'below': '{count} verdicts are numbers below 0 and count as incorrect: are they rewards?',
    'none': '{count} samples have no verdict (empty, null or NaN) and are unjudged',
}


def _texts(values: list[Any]) -> list[str | None]:
    """Return values as texts, see `_text`; columns mostly hold nothing, or texts alone."""
    kinds = set(map(type, values))
    if kinds == {str}:
        return [one if len(one) > 8 or one.strip().lower() not in MISSING else None for one in values]
    return values if kinds == {type(None)} else list(map(_text, values))


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
    if name == 'seconds':
        return float(number) if type(number) in (int, float) and 0 <= number < _LARGEST else None
    whole: int | None = number if isinstance(number, int) and not isinstance(number, bool) else None
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
        self._name = name
        self._format = FORMATS[name]
        told = {} if name == 'table' else options.fields  # a table finds all of them itself
        self._given = {key: one for key, one in told.items() if key not in self._format.options}
        self._touched: set[str] = set()
        self._fields: dict[str, Field] = {}
        self._first: Row | None = None
        self._skipped: Counter[str] = Counter()
        self._columns: dict[str, list[Any]] = defaultdict(list)
        self._pools: dict[str, dict[Any, Any]] = defaultdict(dict)
        self._least = 1.0 if options.correct_from is None else options.correct_from
        self._known: dict[Any, str] = (
            {True: 'correct', False: 'incorrect'} if options.correct_from is None else {}
        )

    def runs(self) -> list[Run]:
        """Read all files and return the runs in them; none where rows are wrong and nobody leaves them out.

        Raises:
            InputError: a file cannot be read, or samples contradict each other.
        """
        self.files = self._format.chosen(self.files)
        whole = self._format.read
        for path in self.files[:1] if whole else self.files:
            for some in self._batches(path, whole(self.files) if whole else self._format.rows(path)):
                self._add(some)
        if self.bad and not (self.options.drop_bad and self._columns):
            if self.options.drop_bad:
                raise InputError(f'no row is left:\n{_listed(self.bad)}')
            return []
        if not self._columns:
            why = f': {"; ".join(_filled(self._skipped))}' if self._skipped else ''
            raise InputError(f'{_shown(self.files)} is empty; expected samples, counts or responses{why}')
        for name, where in self._given.items():
            if name not in self._touched:
                there = ', '.join(one for one in self._first or () if one[:1] not in '_-')
                raise InputError(
                    f'--field {name}={where} finds nothing in {_shown(self.files)}; a row has {there}'
                )
        return [self._run(called, columns) for called, columns in self._split()]

    def _batches(self, path: Path, found: Iterator[Row]) -> Iterator[list[Row]]:
        rows = enumerate(found, 1)
        while True:
            try:
                batch = list(islice(rows, 256))
            except InputError:
                raise
            except (*_FOREIGN, ValueError) as error:
                raise InputError(f'{path} is not as {self._name} writes it: {error!r:.200}') from error
            if not batch:
                return
            for number, row in batch:
                row.setdefault('_row', number)
                row.setdefault('_file', path)
            yield [row for _, row in batch]

    def _add(self, batch: list[Row]) -> None:
        """Add rows to the columns: all at once, or one by one where one of them is wrong."""
        try:
            for name, values in self._converted(batch).items():
                self._columns[name] += values
        except InputError:
            raise
        except (*_FOREIGN, ValueError) as error:
            if len(batch) > 1:
                for row in batch:
                    self._add([row])
                return
            foreign = not isinstance(error, ValueError)
            why = f'not as {self._name} writes it: {error!r:.99}' if foreign else str(error)
            self.bad.append(f'{batch[0]["_file"]}:{batch[0]["_row"]}: {why}')

    def _converted(self, batch: list[Row]) -> dict[str, list[Any]]:
        for row in batch:
            if '_bad' in row:
                raise ValueError(row['_bad'])
        if self._first is None:
            self._begin(batch[0])
        rows = batch
        if self._given or self._format.expand is not Format.expand:
            expand = self._format.expand
            parts = ((row,) if '_skipped' in row else expand(row) for row in batch)
            if self._given:
                parts = (self._with_given(*both) for both in zip(batch, parts, strict=True))
            rows = list(chain.from_iterable(parts))
        skipped = [row['_skipped'] for row in rows if '_skipped' in row]
        if skipped:
            rows = [row for row in rows if '_skipped' not in row]
        columns: dict[str, list[Any]] = {}
        for name, how in self._fields.items():
            if callable(how):
                values = [how(row) for row in rows]
            else:
                values = [at(row, how) for row in rows] if '.' in how else [row.get(how) for row in rows]
            columns |= self._cleaned(name, values)
        files = self._pools['file']
        columns['file'] = [files.setdefault(one, one) for one in (str(row['_file']) for row in rows)]
        columns['row'] = [row['_row'] for row in rows]
        columns['_said'] = [row.get('_said') for row in rows]
        self._skipped.update(skipped)
        return columns if rows else {}

    def _begin(self, first: Row) -> None:
        """Learn from the first row where rows keep what."""
        if self._format.specialise:
            try:
                self._format = self._format.specialise(first, self.options)
            except InputError as error:
                raise InputError(f'{_shown(self.files)}: {error}') from error
        self._fields = {**self._format.fields, **{name: f'--{name}' for name in self._given}}
        self._about = self._format.about(self.files, first)
        self._first = first

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

    def _cleaned(self, name: str, values: list[Any]) -> dict[str, list[Any]]:
        """Return a column by the rules for all formats; verdicts also with what is to be said of each."""
        if name == 'correct':
            try:
                return {'verdict': [self._known[one] for one in values], '_note': [None] * len(values)}
            except (KeyError, TypeError):
                both = [self._verdict(value) for value in values]
            return {'verdict': [verdict for verdict, _ in both], '_note': [note for _, note in both]}
        if name in _NUMBERS:
            plain = name != 'seconds' and set(map(type, values)) == {int}
            plain = plain and 0 <= min(values) <= max(values) < _LARGEST
            return {name: values if plain else [_number(name, value) for value in values]}
        if name == 'reference':
            values = [one[0] if isinstance(one, list) and len(one) == 1 else one for one in values]
        texts = _texts(values)
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
            pool = self._pools[name]
            texts = list(map(pool.setdefault, texts, texts))
        return {name: texts}

    def _verdict(self, value: Any) -> tuple[str, str | None]:
        """Return a verdict, and the key of what is to be said of it."""
        if isinstance(value, bool):
            return ('correct' if value else 'incorrect'), None
        if isinstance(value, str) and (word := value.strip().lower()) in _WORDS and word[:1] not in '01':
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
        if number > max(1, self._least):
            note = 'above'
        return ('correct' if correct else 'incorrect'), note

    def _split(self) -> Iterator[tuple[dict[str, str], dict[str, list[Any]]]]:
        """Yield what the rows call a run, and its columns."""
        names = {key: self._columns.pop(key, None) for key in ('model', 'dataset', 'run')}
        told = {key: column for key, column in names.items() if column}
        rows: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
        for row, key in enumerate(zip(*told.values(), strict=True)):
            rows[key].append(row)
        if not told:
            yield {}, self._columns
        for key, chosen in rows.items():
            called = {name: value or '' for name, value in zip(told, key, strict=True)}
            of_run = {name: [column[row] for row in chosen] for name, column in self._columns.items()}
            yield {'model': called.pop('run', '')} | called, of_run

    def _run(self, called: Mapping[str, str], columns: dict[str, list[Any]]) -> Run:
        about = {**self._about, **{name: value for name, value in called.items() if value}}
        remarks = list(about.pop('remarks', ()))
        if self.bad:
            remarks.append(f'{len(self.bad)} bad rows are left out, the first: {self.bad[0]}')
        if field := self.options.fields.get('correct'):
            about['judge'] = {'name': f'field {field}'}
        said = Counter(one for some in columns.pop('_said') if some for one in some)
        remarks += _filled(said + self._skipped)
        _put_groups(columns)
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
                f'{_shown(self.files)} holds {" and ".join(held) or "nothing"}, and no {wanted}; leave out '
                + ('--judge' if wanted == 'responses' else '--judge none')
            )
        return replace(run, remarks=tuple(remarks))

    def _samples(self, columns: dict[str, list[Any]], remarks: list[str]) -> Samples:
        """Return the samples of a run: each once, numbered from 0."""
        numbered = None not in columns.get('replica', [None])
        columns['replica'] = _replicas(columns['uid'], columns.get('replica'))
        notes = columns.pop('_note', [])
        _settle(columns, notes)
        said = Counter(notes)
        if 'verdict' in columns and self.options.kind != 'responses':
            told = {key: said[key] for key in _NOTES if said[key]}
            remarks += [_NOTES[key].format(count=count, least=self._least) for key, count in told.items()]
        known = {name for name, column in columns.items() if any(one is not None for one in column)}
        samples = Samples({name: columns[name] for name in columns if name in known or name == 'verdict'})
        try:
            samples.check()
        except InputError as error:
            raise InputError(f'{error}{self._hint(samples)}') from error
        by_row = self._fields.get('uid') == '_row'
        if not numbered or by_row:
            self._refuse_copy({name: samples[name] for name in samples.names})
        sizes, places = Counter(samples['uid']), zip(samples['uid'], samples['replica'], strict=True)
        if not all(0 <= place < sizes[uid] for uid, place in places):
            dense = [0] * len(samples)
            for rows in samples.by_question().values():
                for place, row in enumerate(rows):
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
        keys = zip(samples['uid'], samples['replica'], strict=True)
        twice = [(first[key], row) for row, key in enumerate(keys) if first.setdefault(key, row) != row][:100]
        if not twice or len(self.files) > 1 or self._format.read or 'model' in self._fields:
            return ''
        pairs = [(samples['row'][one], samples['row'][other]) for one, other in twice]
        wanted = {number for pair in pairs for number in pair}
        numbered = enumerate(self._format.rows(self.files[0]), 1)
        rows = {at: row for n, row in numbered if (at := row.get('_row', n)) in wanted}
        taken = {'_row', *map(str, self._fields.values())}
        for name in (name for name in rows[pairs[0][0]] if name not in taken):
            told = [(rows[one].get(name), rows[other].get(name)) for one, other in pairs]
            values = {value for pair in told for value in pair if isinstance(value, str)}
            if all(a != b for a, b in told) and 1 < len(values) <= max(2, len(told) // 2):
                return f'\n{name!r} differs between them: where it names models, --field model={name}'
        return ''

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
                f'{_shown(self.files)} holds everything twice: its second half is its first half again. Take '
                'one out; other samples that are equal need numbers in a column replica'
            )


def _filled(said: Counter[str]) -> list[str]:
    return [sentence.replace('{count}', str(count)) for sentence, count in said.items()]


def _put_groups(columns: dict[str, list[Any]]) -> None:
    """Make groups of splits and languages, where there are none."""
    splits, languages = columns.pop('split', None), columns.get('language')
    if 'group' in columns or not (splits or languages):
        return
    size = len(columns['uid'])
    both = list(zip(splits or [None] * size, languages or [None] * size, strict=True))
    names = {key: '_'.join(filter(None, key)) or 'all' for key in set(both)}
    columns['group'] = [names[key] for key in both]


def _replicas(uids: Sequence[str], told: Sequence[int | None] | None) -> list[int]:
    """Return which of its question's samples each is: as told, else in the order of the file."""
    told = told or [None] * len(uids)
    unnumbered = {uid for uid, place in zip(uids, told, strict=True) if place is None}
    if not unnumbered:
        return list(told)  # type: ignore[arg-type]
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
    uids = columns['uid']
    first: dict[str, int] = {}
    twice = [
        f'{columns["file"][row]}:{columns["row"][row]}: {uid!r:.60} is there twice, first in row '
        f'{columns["row"][first[uid]]}: are these two runs?'
        for row, uid in enumerate(uids)
        if first.setdefault(uid, row) != row
    ]
    if twice:
        raise InputError(_listed(twice))
    unjudged = [one or 0 for one in columns.get('unjudged', [0] * len(uids))]
    problems = columns.get('problem') or uids
    return Counts(
        uids,
        [problem or uid for problem, uid in zip(problems, uids, strict=True)],
        columns.get('group') or ['all'] * len(uids),
        *(np.array(column, dtype=np.int64) for column in (columns['n'], columns['c'], unjudged)),
    )
