"""Reads samples from files of any format, by one set of rules for all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..files import SAMPLES
from ..health import NOT_DRAWN, STATES
from ..json_rows import Row
from ..samples import COLUMNS, Counts, Run, Samples
from . import evalscope, inspect_logs, lm_eval, matharena, nemo_skills, verl
from .format import FIELDS, MISSING, NO_OPTIONS, Field, Format, Options, at, first_row, number_in
from .table import TABLE

FORMATS: dict[str, Format] = {
    'lm-eval': lm_eval.FORMAT,
    'inspect': inspect_logs.FORMAT,
    'evalscope': evalscope.FORMAT,
    'nemo-skills': nemo_skills.FORMAT,
    'verl': verl.FORMAT,
    'matharena': matharena.FORMAT,
    'table': TABLE,
}
"""Name of a format → where its files keep what; a file that no other recognises may be a table."""

ENDINGS = ('.json', '.jsonl', '.eval', '.parquet', '.csv', '.tsv')
"""What the names of files end in that are looked at in a folder, also with .gz."""

_OF_SAMPLES = frozenset({'correct', *(c.name for c in COLUMNS)}) - {
    'run', 'uid', 'problem', 'group', 'language', 'question', 'reference',
}  # fmt: skip
"""Of which each sample of a row has its own."""

_COUNTED = 'n', 'c', 'unjudged'
_INTEGERS = frozenset({'turn', *_COUNTED, *(column.name for column in COLUMNS if column.kind == 'int64')})
_OF_RUN = 'model', 'dataset', 'run'
_BATCH = 256
_SHOWN = 50


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
    known = dict.fromkeys((*FIELDS, *(one for form in FORMATS.values() for one in form.options)))
    if unknown := sorted(options.fields.keys() - known):
        raise InputError(f'{unknown[0]!r} is no field; expected one of {", ".join(known)}')
    runs: list[Run] = []
    bad: list[str] = []
    failed: list[str] = []
    numbers = False
    for name, files, given in _found(paths, format, tell):
        try:
            reading = _Reading(name, files, options)
            runs += reading.runs()
            bad += reading.bad if not options.drop_bad else ()
            numbers |= reading.numbers
        except InputError as error:
            if given:
                raise
            failed.append(str(error))
    if bad:
        raise InputError(_listed(bad) + '\nmend the rows, or leave them out: --drop-bad')
    for one in failed if runs else ():
        tell(f'left out: {one}')
    if failed and not runs:
        raise InputError('\n'.join(failed))
    if options.correct_from is not None and not numbers:
        raise InputError(
            f'--correct-from {options.correct_from:g} changes nothing: no verdict is a number; leave it out, '
            'or name the field of a score: --field correct=NAME'
        )
    return _only(runs, options.only)


def _only(runs: list[Run], parts: Sequence[str]) -> list[Run]:
    if not parts:
        return runs
    names = ', '.join(sorted({run.name for run in runs}))
    for part in parts:
        if not any(part in run.name for run in runs):
            raise InputError(f'no run has --only {part!r} in its name; there are {names}')
    return [run for run in runs if any(part in run.name for part in parts)]


def _listed(lines: Sequence[str]) -> str:
    more = [f'… and {len(lines) - _SHOWN} more'] if len(lines) > _SHOWN else []
    return '\n'.join([*lines[:_SHOWN], *more])


# ---- files -----------------------------------------------------------------------------------------------


def _found(
    paths: Iterable[str | Path], wanted: str | None, tell: Callable[[str], None]
) -> Iterator[tuple[str, list[Path], bool]]:
    """Yield the format, the files of each run, and whether one of them was given by its name."""
    whole: list[tuple[str, list[Path], bool]] = []
    found: dict[tuple[str, Any], list[Path]] = defaultdict(list)
    seen: set[Path] = set()
    given = {Path(path) for path in paths}
    for path in map(Path, paths):
        if not path.exists():
            raise InputError(f'{path} is neither a file nor a folder')
        passed_over: list[Path] = []
        some, before = False, set(seen)
        for place, name in _places(path, wanted, path, seen):
            some |= name is not None
            if name is None:
                passed_over.append(place)
            elif place.is_dir():
                groups = FORMATS[name].files(place)  # type: ignore[misc]
                whole += ((name, files, place in given and len(groups) == 1) for files in groups)
            else:
                found[name, FORMATS[name].run_of(place)].append(place)
        if not some and (passed_over or path.resolve() not in before):
            there = f': there is {passed_over[0]}, …' if passed_over else ''
            which = 'that one of the formats recognises' if wanted is None else f'of {wanted}'
            raise InputError(
                f'{path} holds no file {which}{there}; name a file, or say what wrote it: '
                f'--from {" or ".join(FORMATS)}'
            )
        for one in passed_over:
            tell(f'passed over: {one}')
    yield from whole
    for (name, _), files in found.items():
        yield name, sorted(files), not given.isdisjoint(files)


def _places(
    path: Path, wanted: str | None, given: Path, seen: set[Path]
) -> Iterator[tuple[Path, str | None]]:
    """Yield files, and folders that are read as a whole, with their formats, or None."""
    if path.resolve() in seen:  # by a link, perhaps to a folder above
        return
    seen.add(path.resolve())
    name = _format_of(path, wanted, path == given)
    if name is None and path.is_dir():
        for entry in sorted(path.iterdir()):
            if _is_looked_at(entry):
                yield from _places(entry, wanted, given, seen)
    else:
        yield path, name


def _is_looked_at(entry: Path) -> bool:
    if entry.name.startswith('.') or entry.name.endswith(SAMPLES):
        return False
    return entry.is_dir() or (entry.is_file() and entry.name.lower().removesuffix('.gz').endswith(ENDINGS))


def _format_of(path: Path, wanted: str | None, given: bool) -> str | None:
    """Return the format of a file or folder; None where no format recognises it."""
    if wanted and given and not path.is_dir():
        return wanted
    try:
        first = None if path.is_dir() else first_row(path)
    except InputError:
        if given:
            raise
        first = None
    claims = [name for name in FORMATS if wanted in (None, name) and FORMATS[name].claims(path, first)]
    if len(claims) > 1 and 'table' in claims:
        claims.remove('table')
    if len(claims) > 1:
        raise InputError(
            f'{path} looks like files of {" and of ".join(claims)}; say which: --from {claims[0]}'
        )
    if not claims and given and not path.is_dir():
        return 'table'  # which says what it expects
    return claims[0] if claims else None


# ---- rows ------------------------------------------------------------------------------------------------

_WORDS: dict[Any, str] = {
    **dict.fromkeys(('correct', 'c', 'true', 'yes', 'pass', '1', '1.0'), 'correct'),
    **dict.fromkeys(('incorrect', 'i', 'n', 'false', 'no', 'fail', '0', '0.0'), 'incorrect'),
    **dict.fromkeys(('unjudged', '?', *MISSING), 'unjudged'),
}
"""Verdicts in words, in small letters; 'n' is inspect's "no answer"."""

_FOREIGN = KeyError, IndexError, TypeError, AttributeError
"""What a function of a row raises where the row is not what it expects."""

_NOTES = {
    'partial': '{count} verdicts are partial credit, below {least:g}, and count as incorrect: --correct-from '
    'says from where on a number is correct',
    'above': '{count} verdicts are numbers above 1 and count as correct: are they rewards? --correct-from '
    'says from where on a number is correct',
    'below': '{count} verdicts are numbers below 0 and count as incorrect: are they rewards?',
    'none': '{count} samples have no verdict (empty, null or NaN) and are unjudged',
}


def _text(value: Any) -> str | None:
    """Return a value as text, a whole number without a point; None where there is nothing."""
    if isinstance(value, str):
        return None if len(value) < 9 and value.strip().lower() in MISSING else value
    if value is None or value != value:  # noqa: PLR0124 (NaN)
        return None
    if isinstance(value, (list, dict, bytes, tuple)):
        raise ValueError(f'{value!r:.60} is a {type(value).__name__}; expected a text or a number')
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _integer(name: str, value: Any) -> int | None:
    """Return a whole number; None where there is nothing, or no sensible number of tokens."""
    value = number_in(value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if name.endswith('_tokens'):
        return value if whole and 0 <= value < 2**53 else None
    if value is None or whole:
        return value
    raise ValueError(
        f'{name} is {value!r:.40}; expected a whole number, or another column: --field {name}=NAME'
    )


def _seconds(value: Any) -> float | None:
    value = number_in(value)
    return float(value) if type(value) in (int, float) and 0 <= value < inf else None


class _Reading:
    """The rows of one run's files, as columns; the files may turn out to hold several runs."""

    def __init__(self, name: str, files: Sequence[Path], options: Options) -> None:
        self.files, self.options = files, options
        self.bad: list[str] = []
        self.numbers = False
        """Whether a verdict was a number."""
        self._name = name
        self._format = FORMATS[name]
        told = {} if name == 'table' else options.given  # a table finds all of them itself
        self._given = {key: one for key, one in told.items() if key not in self._format.options}
        self._touched: set[str] = set()
        self._fields: dict[str, Field] = {}
        self._first: Row | None = None
        self._skipped: Counter[str] = Counter()
        self._columns: dict[str, list[Any]] = defaultdict(list)
        self._pools: dict[str, dict[Any, Any]] = defaultdict(dict)
        self._least = 1.0 if options.correct_from is None else options.correct_from
        known: dict[Any, str] = {True: 'correct', False: 'incorrect'}
        self._known = known if options.correct_from is None else {}

    def runs(self) -> list[Run]:
        """Read all files and return the runs in them; none where rows are wrong and nobody leaves them out.

        Raises:
            InputError: a file cannot be read, or samples contradict each other.
        """
        self.files = self._format.chosen(self.files)
        for path in self.files:
            for batch in self._batches(path):
                self._add(path, batch)
        if self.bad and not (self.options.drop_bad and self._columns):
            if self.options.drop_bad:
                raise InputError(f'no row is left:\n{_listed(self.bad)}')
            return []
        if not self._columns:
            why = f': {"; ".join(_filled(self._skipped))}' if self._skipped else ''
            raise InputError(f'{_shown(self.files)} is empty; expected samples, counts or responses{why}')
        for name, (_, option) in self._given.items():
            if name not in self._touched:
                there = ', '.join(one for one in self._first or () if one[:1] not in '_-')
                raise InputError(f'{option} finds nothing in {_shown(self.files)}; a row has {there}')
        runs = self._split()
        return [self._run(key, rows) for key, rows in runs.items()]

    def _batches(self, path: Path) -> Iterator[list[Row]]:
        rows = enumerate(self._format.rows(path), 1)
        while True:
            try:
                batch = list(islice(rows, _BATCH))
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

    def _add(self, path: Path, batch: list[Row]) -> None:
        """Add rows to the columns: all at once, or one by one where one of them is wrong."""
        try:
            columns = self._converted(batch)
        except InputError:
            raise
        except (*_FOREIGN, ValueError) as error:
            if len(batch) > 1:
                for row in batch:
                    self._add(path, [row])
                return
            why = (
                str(error)
                if isinstance(error, ValueError)
                else f'not as {self._name} writes it: {error!r:.99}'
            )
            self.bad.append(f'{batch[0]["_file"]}:{batch[0]["_row"]}: {why}')
            return
        for name, values in columns.items():
            self._columns[name] += values

    def _converted(self, batch: list[Row]) -> dict[str, list[Any]]:
        for row in batch:
            if '_bad' in row:
                raise ValueError(row['_bad'])
        if self._first is None:
            self._begin(batch[0])
        rows = batch
        if self._given or self._format.expand is not Format.expand:
            rows = [one for row in batch for one in self._expanded(row)]
        skipped = [row['_skipped'] for row in rows if '_skipped' in row]
        if skipped:
            rows = [row for row in rows if '_skipped' not in row]
        columns: dict[str, list[Any]] = {}
        for name, how in self._fields.items():
            if callable(how):
                values = [how(row) for row in rows]
            elif '.' in how:
                values = [at(row, how) for row in rows]
            else:
                values = [row.get(how) for row in rows]
            columns |= self._cleaned(name, values)
        columns['file'] = [self._pooled('file', str(row['_file'])) for row in rows]
        columns['row'] = [row['_row'] for row in rows]
        columns['_said'] = [row.get('_said') for row in rows]
        self._skipped.update(skipped)
        return columns if rows else {}

    def _begin(self, first: Row) -> None:
        """Learn from the first row where rows keep what."""
        if self._format.specialise:
            self._format = self._format.specialise(first, self.options)
        self._fields = {**self._format.fields, **{name: f'--{name}' for name in self._given}}
        self._about = self._format.about(self.files, first)
        self._first = first

    def _expanded(self, row: Row) -> Iterable[Row]:
        """Return the rows of samples of a row, with what the options give under '--NAME'."""
        samples = [row] if '_skipped' in row else list(self._format.expand(row))
        for name, (path, option) in self._given.items():
            told = at(row, path)
            values = [at(one, path) for one in samples] if told is None else [told] * len(samples)
            if told is not None and name in _OF_SAMPLES:
                if isinstance(told, list) and len(told) == len(samples):
                    values = told
                elif len(samples) != 1:
                    raise ValueError(
                        f'{option} gives {told!r:.60} for {len(samples)} samples; expected a list of as many'
                    )
            if any(value is not None for value in values):
                self._touched.add(name)
            samples = [{**one, f'--{name}': value} for one, value in zip(samples, values, strict=True)]
        return samples

    def _pooled(self, name: str, value: Any) -> Any:
        return self._pools[name].setdefault(value, value)

    def _cleaned(self, name: str, values: list[Any]) -> dict[str, list[Any]]:
        """Return a column by the rules for all formats; verdicts also with what is to be said of each."""
        if name == 'correct':
            return self._verdicts(values)
        if name in _INTEGERS:
            plain = set(map(type, values)) <= {int}
            return {name: values if plain else [_integer(name, value) for value in values]}
        if name == 'seconds':
            return {name: list(map(_seconds, values))}
        texts = list(map(_text, values))
        if name == 'uid' and None in texts:
            raise ValueError('nothing tells the question of this row: its key is empty')
        if name == 'state':
            texts = [one if one in STATES else None for one in texts]
        elif name == 'response':
            texts = [one or '' for one in texts]
        if name not in ('response', 'thought', 'answer', 'fingerprint'):  # which seldom repeat
            pool = self._pools[name]
            texts = list(map(pool.setdefault, texts, texts))
        return {name: texts}

    def _verdicts(self, values: list[Any]) -> dict[str, list[Any]]:
        try:
            return {'verdict': [self._known[one] for one in values], '_note': [None] * len(values)}
        except (KeyError, TypeError):
            both = [self._verdict(value) for value in values]
        return {'verdict': [verdict for verdict, _ in both], '_note': [note for _, note in both]}

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
        if number > max(1, self._least):
            note = 'above'
        else:
            note = 'below' if number < 0 else 'partial' if number and not correct else None
        return ('correct' if correct else 'incorrect'), note

    # -- runs

    def _split(self) -> dict[tuple[str, ...], list[int] | None]:
        """Return (model, data set) → the rows of each run; None: all."""
        told = [self._columns.pop(name, None) for name in ('model', 'dataset')]
        runs = self._columns.pop('run', None)
        if runs and not any(told):
            told = [
                list(column)
                for column in zip(*((one or '').partition('/')[::2] for one in runs), strict=True)
            ]
        size = len(self._columns['uid'])
        keys = list(zip(*(column or [None] * size for column in told), strict=True))
        if len(set(keys)) == 1:
            return {tuple(one or '' for one in keys[0]): None}
        found: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for row, key in enumerate(keys):
            found[tuple(one or '' for one in key)].append(row)
        return dict(found)

    def _run(self, key: tuple[str, ...], rows: list[int] | None) -> Run:
        columns = (
            dict(self._columns)
            if rows is None
            else {name: [column[row] for row in rows] for name, column in self._columns.items()}
        )
        about = {**self._about}
        about |= {name: one for name, one in zip(('model', 'dataset'), key, strict=True) if one}
        remarks = list(about.pop('remarks', ()))
        if self.bad:
            remarks.append(f'{len(self.bad)} bad rows are left out, the first: {self.bad[0]}')
        if 'correct' in self.options.given:
            about['judge'] = {'name': f'field {self.options.given["correct"][0]}'}
        said = Counter(one for some in columns.pop('_said') if some for one in some)
        remarks += _filled(said + self._skipped)
        notes = Counter(columns.pop('_note', ()))
        remarks += [
            said.format(count=notes[note], least=self._least) for note, said in _NOTES.items() if notes[note]
        ]
        if 'c' in columns:
            made: dict[str, Any] = {'samples': None, 'counts': _counts(columns)}
        else:
            made = {'samples': self._samples(columns, remarks)}
        run = Run(**made, **about, remarks=tuple(remarks), files=tuple(self.files))
        return self._of_kind(run)

    def _of_kind(self, run: Run) -> Run:
        """Return a run with what it is to be scored by."""
        wanted, samples = self.options.kind, run.samples
        if wanted is None:
            return run
        held = (
            ['counts']
            if samples is None
            else [
                kind
                for kind, column in (('responses', 'response'), ('labels', 'verdict'))
                if column in samples
            ]
        )
        if wanted not in held:
            raise InputError(
                f'{_shown(self.files)} holds {" and ".join(held)}, and no {wanted}; leave out --as {wanted}'
            )
        if wanted == 'responses' and samples is not None:
            return replace(run, samples=samples.replace(verdict=None, judged_by=None, why=None), judge={})
        return run

    def _samples(self, columns: dict[str, list[Any]], remarks: list[str]) -> Samples:
        """Return the samples of a run: each once, numbered from 0."""
        if turns := columns.pop('turn', None):
            columns = _last_turns(columns, turns)
        _put_groups(columns)
        columns['replica'] = _replicas(columns['uid'], columns.get('replica'))
        _settle(columns)
        known = {
            name: column
            for name, column in columns.items()
            if name == 'verdict' or any(one is not None for one in column)
        }
        samples = Samples(known)
        try:
            samples.check()
        except InputError as error:
            raise InputError(f'{error}{self._hint(samples)}') from error
        sizes = Counter(samples['uid'])
        if not all(
            0 <= place < sizes[uid] for uid, place in zip(samples['uid'], samples['replica'], strict=True)
        ):
            places = [0] * len(samples)
            for rows in samples.by_question().values():
                for place, row in enumerate(rows):
                    places[row] = place
            samples = samples.replace(replica=places)
        self._refuse_copy(samples)
        least, most = min(sizes.values()), max(sizes.values())
        if least < most:
            remarks.append(f'the questions have different numbers of samples, from {least} to {most}')
        if most == 1 < len(sizes) and self._name == 'table':
            remarks.append(
                f'each row is a question of its own by {self._fields["uid"]}; if several are samples of one, '
                '--group-by names the column that tells the questions apart'
            )
        return samples

    def _hint(self, samples: Samples) -> str:
        """Return what to do where samples are there twice that another column tells apart."""
        first: dict[Any, int] = {}
        pairs = [
            (first[key], row)
            for row, key in enumerate(zip(samples['uid'], samples['replica'], strict=True))
            if first.setdefault(key, row) != row
        ][:100]
        if not pairs or len(self.files) > 1 or 'model' in self._fields:
            return ''
        wanted = {samples['row'][row] for pair in pairs for row in pair}
        raw = {
            row.get('_row', n): row
            for n, row in enumerate(self._format.rows(self.files[0]), 1)
            if row.get('_row', n) in wanted
        }
        both = [(raw[samples['row'][one]], raw[samples['row'][two]]) for one, two in pairs]
        taken = set(map(str, self._fields.values()))
        for name in both[0][0]:
            told = [(one.get(name), two.get(name)) for one, two in both]
            if (
                name in taken
                or name[:1] == '_'
                or not all(isinstance(a, str) and isinstance(b, str) and a != b for a, b in told)
            ):
                continue
            if len({value for pair in told for value in pair}) <= max(2, len(told) // 2):
                return f'\n{name!r} differs between them: where it names models, --model-column {name}'
        return ''

    def _refuse_copy(self, samples: Samples) -> None:
        """Refuse a file whose second half is its first half once more."""
        half = len(samples) // 2
        numbered = self._fields.get('uid') == '_row'
        names = [
            name for name in samples.names if name not in ('replica', 'row', 'file', *['uid'] * numbered)
        ]
        if len(samples) % 2 or not half:
            return
        columns = [samples[name] for name in names]
        if not names or any(column[:half] != column[half:] for column in columns):
            return
        once = Counter(zip(*(column[:half] for column in columns), strict=True))
        by_chance = sum((number / half) ** 2 for number in once.values()) ** half
        texts = 'response' in samples and half > 1
        if texts or (numbered and by_chance < 1e-6):
            raise InputError(
                f'{_shown(self.files)} holds everything twice: its second {half} samples are the first ones '
                'again. Take one half out; other samples that are equal need numbers in a column replica'
            )


def _filled(said: Counter[str]) -> list[str]:
    return [sentence.replace('{count}', str(count)) for sentence, count in said.items()]


def _shown(files: Sequence[Path]) -> str:
    return str(files[0]) + (f' and {len(files) - 1} more files' if len(files) > 1 else '')


def _last_turns(columns: dict[str, list[Any]], turns: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the columns with the last turn of each sample alone."""
    last: dict[Any, tuple[Any, int]] = {}
    for row, (uid, place, turn) in enumerate(zip(columns['uid'], columns['replica'], turns, strict=True)):
        key = (uid, place, row if place is None else None)
        if key not in last or (turn or 0) > (last[key][0] or 0):
            last[key] = turn, row
        elif (turn or 0) == (last[key][0] or 0):
            last[key, row] = turn, row  # the same twice, which is refused
    rows = sorted(row for _, row in last.values())
    return {name: [column[row] for row in rows] for name, column in columns.items()}


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
        places.append(seen[uid] if uid in unnumbered else place)
        seen[uid] += 1
    return places  # type: ignore[return-value]


def _settle(columns: dict[str, list[Any]]) -> None:
    """Take out what says nothing: verdicts that nobody gave, responses that are not there."""
    states, verdicts, responses = (columns.get(name) for name in ('state', 'verdict', 'response'))
    if verdicts and responses and set(verdicts) == {'unjudged'}:
        del columns['verdict']
    for row, state in enumerate(states or ()):
        if state in NOT_DRAWN:
            if 'verdict' in columns:
                columns['verdict'][row] = 'unjudged'
            if responses:
                responses[row] = None
    if 'verdict' in columns and responses and not any(responses):
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
    _put_groups(columns)
    n, c = np.array(columns['n'], dtype=np.int64), np.array(columns['c'], dtype=np.int64)
    unjudged = np.array(columns.get('unjudged') or np.zeros(len(n)), dtype=np.int64)
    problems = columns.get('problem') or uids
    return Counts(
        uid=uids,
        problem=[problem or uid for problem, uid in zip(problems, uids, strict=True)],
        group=columns.get('group') or ['all'] * len(uids),
        n=n,
        c=c,
        unjudged=unjudged,
    )
