"""Reads samples from files of any format, by one set of rules for all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import groupby, islice
from math import exp, inf, log
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ForeignFileError, InputError
from ..files import SAMPLES
from ..health import NOT_DRAWN, STATES
from ..json_rows import Row
from ..samples import COLUMNS, MISSING, Counts, Run, Samples
from . import evalscope, harnesses, inspect_logs, lighteval_details, opencompass, rollouts
from .format import NO_OPTIONS, OF_QUESTION, OF_SAMPLE, Format, Options, at, first_row, number_in
from .table import TABLE

FORMATS: dict[str, Format] = {
    'lm-eval': harnesses.LM_EVAL,
    'inspect': inspect_logs.FORMAT,
    'evalscope': evalscope.FORMAT,
    'nemo-skills': harnesses.NEMO_SKILLS,
    'verl': rollouts.VERL,
    'matharena': harnesses.MATHARENA,
    'opencompass': opencompass.FORMAT,
    'lighteval': lighteval_details.FORMAT,
    'verifiers': rollouts.VERIFIERS,
    'tau2': rollouts.TAU2,
    'every-eval-ever': harnesses.EVERY_EVAL_EVER,
    'batch': harnesses.BATCH,
    'table': TABLE,
}
"""Name for `--from` → the format; a file that no other recognises may be a table."""

_ENDINGS = '.json', '.jsonl', '.eval', '.parquet', '.csv', '.tsv'
_NUMBERS = {'n', 'c', 'unjudged', *(one.name for one in COLUMNS if one.kind in ('int64', 'double'))}
_LARGEST = 2**53
_FOREIGN = KeyError, IndexError, TypeError, AttributeError, ValueError
"""What a function of a row raises where the row is not what it expects."""

_WORDS = {
    **dict.fromkeys(('correct', 'c', 'true', 'yes', 'pass'), 'correct'),
    **dict.fromkeys(('incorrect', 'i', 'n', 'false', 'no', 'fail'), 'incorrect'),
    **dict.fromkeys(('unjudged', '?', *MISSING), 'unjudged'),
}
"""Verdicts in words, in small letters; 'n' is inspect's "no answer"."""

_FROM = '--correct-from says from where on a number is correct'
_NOTES = {
    'partial': f'{{count}} verdicts are partial credit, below {{least:g}}, and count as incorrect: {_FROM}',
    'above': f'{{count}} verdicts are numbers above 1 and count as correct: are they rewards? {_FROM}',
    'below': '{count} verdicts are numbers below 0 and count as incorrect: are they rewards?',
    'none': '{count} samples have no verdict (empty, null or NaN) and are unjudged',
}

_SEVERAL = '{count} samples have several references, of which the first one is kept'


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
    runs, bad, notes, numbers = list[Run](), list[str](), list[str](), False
    for name, files in _files(given, format, notes):
        reading = _Reading(name, files, options)
        try:
            runs += reading.runs()
        except InputError as error:
            if not set(given).isdisjoint(files):
                raise
            foreign = isinstance(error, ForeignFileError)
            notes.append(f'passed over: {files[0]}' if foreign else f'left out: {error}')
        bad += [] if options.drop_bad else reading.bad
        numbers |= reading.numbers
    if bad:
        raise InputError(f'{_lines(bad)}\nmend the rows, or leave them out: --drop-bad')
    if not runs:
        lost = [one.removeprefix('left out: ') for one in notes if one.startswith('left out')] or notes
        raise InputError('\n'.join(lost) or f'{", ".join(map(str, given))}: there is no run')
    for one in notes:
        tell(one)
    if options.correct_from is not None and not numbers:
        nothing = f'--correct-from {options.correct_from:g} changes nothing: no verdict is a number'
        raise InputError(f'{nothing}; leave it out, or name the field of a score: --field correct=NAME')
    return runs


def _lines(lines: Sequence[str]) -> str:
    return '\n'.join([*lines[:50], *[f'… and {len(lines) - 50} more'] * (len(lines) > 50)])


# ---- files -----------------------------------------------------------------------------------------------


def _files(given: Sequence[Path], wanted: str | None, notes: list[str]) -> Iterator[tuple[str, list[Path]]]:
    """Yield the format and the files of each run; `notes` gets a sentence for every other file."""
    found: dict[tuple[str, Any], list[Path]] = defaultdict(list)
    seen: set[Path] = set()
    for path in given:
        if not (path.is_file() or path.is_dir()):
            raise InputError(f'{path} is neither a file nor a folder')
        some, passed_over = path.resolve() in seen, list[Path]()
        for place in _places(path, seen):
            named = place == path and path.is_file()
            try:
                first = None if place.is_dir() or (wanted and named) else first_row(place)
            except InputError as error:
                if named:
                    raise
                notes.append(f'left out: {error}')
                some = True
                continue
            name = wanted if named and wanted else _format_of(place, first, wanted)
            if name is None and named:
                name = 'table'  # which says what it expects
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
            mend = f'name a file, or say what wrote it: --from {" or ".join(FORMATS)}'
            raise InputError(f'{path} holds no file {which}{there}; {mend}')
        notes += [f'passed over: {one}' for one in passed_over]
    yield from ((name, sorted(files)) for (name, _), files in found.items())


def _places(path: Path, seen: set[Path]) -> Iterator[Path]:
    """Yield a path, and what lies in it if it is a folder that was not taken as a whole."""
    if path.resolve() in seen:  # by a link, perhaps to a folder above
        return
    seen.add(path.resolve())
    yield path
    for entry in sorted(path.iterdir()) if path.is_dir() else ():
        named = entry.is_file() and entry.name.lower().removesuffix('.gz').endswith(_ENDINGS)
        if entry.name[0] != '.' and not entry.name.endswith(SAMPLES) and (named or entry.is_dir()):
            yield from _places(entry, seen)


def _format_of(path: Path, first: Row | None, wanted: str | None) -> str | None:
    """Return the format that recognises a folder or file, a table only if no other does; None if none."""
    formats = [(name, one) for name, one in FORMATS.items() if one.files or not path.is_dir()]
    claims = [name for name, one in formats if wanted in (None, name) and one.recognises(path, first)]
    claims = [name for name in claims if name != 'table'] or claims
    if len(claims) > 1:
        raise InputError(f'{path} may be of {" or of ".join(claims)}; say which: --from {claims[0]}')
    return claims[0] if claims else None


# ---- rows ------------------------------------------------------------------------------------------------


class _Reading:
    """The rows of one run's files, as columns; the files may turn out to hold several runs."""

    def __init__(self, name: str, files: Sequence[Path], options: Options) -> None:
        self.bad: list[str] = []
        self.numbers = False  # whether a verdict was a number
        self._files, self._options, self._name, self._format = files, options, name, FORMATS[name]
        told = {} if name == 'table' else options.fields  # a table finds all of them itself
        self._given = {key: one for key, one in told.items() if key not in self._format.options}
        self._touched: set[str] = set()
        self._first: Row | None = None
        self._skipped: defaultdict[str, set[Any]] = defaultdict(set)  # remark → the rows
        self._size = 0
        self._columns: dict[str, list[Any]] = {}
        self._pools: dict[str, dict[Any, Any]] = defaultdict(dict)  # equal texts are one object
        self._least = 1.0 if options.correct_from is None else options.correct_from
        self._where = f'{files[0]}' + (f' and {len(files) - 1} more files' if len(files) > 1 else '')

    def runs(self) -> list[Run]:
        """Read all files and return the runs in them; none where rows are wrong and not to be left out."""
        rows = self._format.rows(self._files)
        try:
            while batch := list(islice(rows, 256)):
                self._add(batch)
        except InputError:
            raise
        except _FOREIGN as error:
            raise InputError(f'{self._where} is not as {self._name} writes it: {error!r:.200}') from error
        if self.bad and not self._options.drop_bad:
            return []
        if self.bad and not self._size:
            raise InputError(f'no row is left:\n{_lines(self.bad)}')
        if not self._size:
            why = ''.join(f': {one}' for one in self._sentences({}))
            raise InputError(f'{self._where} is empty; expected samples, counts or responses{why}')
        for name in self._given.keys() - self._touched:
            there = ', '.join(one for one in self._first or () if one[:1] not in '_-')
            where = f'--field {name}={self._given[name]}'
            raise InputError(f'{where} finds nothing in {self._where}; a row has {there}')
        columns, parts = self._columns, defaultdict[Any, list[int]](list)
        told = {key: columns.pop(key) for key in ('model', 'dataset', 'run') if key in columns}
        if not told:
            return [self._run({}, columns)]
        for row, called in enumerate(zip(*told.values(), strict=True)):
            parts[called].append(row)
        return [
            self._run(
                {key: one for key, one in zip(told, called, strict=True) if one},
                {key: [one[row] for row in rows] for key, one in columns.items()},
            )
            for called, rows in parts.items()
        ]

    def _add(self, batch: list[Row]) -> None:
        """Add rows to the columns: all at once, or one by one where one of them is wrong."""
        try:
            columns = self._converted(batch)
        except InputError:
            raise
        except _FOREIGN as error:
            if len(batch) > 1:
                for row in batch:
                    self._add([row])
                return
            foreign = f'not as {self._name} writes it: {error!r:.99}'
            why = str(error) if isinstance(error, ValueError) else foreign
            self.bad.append(f'{batch[0]["_file"]}:{batch[0]["_row"]}: {why}')
            return
        size = len(columns['row'])
        for name in columns.keys() - self._columns.keys():
            self._columns[name] = [None] * self._size
        for name, column in self._columns.items():
            column.extend(columns.get(name) or [None] * size)
        self._size += size

    def _converted(self, batch: list[Row]) -> dict[str, list[Any]]:
        """Return the columns of the samples of some rows."""
        pairs = self._expanded(batch)
        columns: dict[str, list[Any]] = {'_said': [one.get('_said') or () for one, _ in pairs]}
        made = set().union(*(one for one, _ in pairs))
        there = made.union(self._given, self._format.fields)
        for name in (*OF_QUESTION, *OF_SAMPLE):
            if name in there:
                values = self._values(name, pairs, name in made)
                columns[name] = values if name == 'correct' else self._cleaned(name, values, columns['_said'])
        lost = [state in NOT_DRAWN for state in columns.get('state') or [None] * len(pairs)]
        if 'correct' in columns:
            self._add_verdicts(columns, lost)
        if 'response' in columns and any(lost):
            texts = zip(lost, columns['response'], strict=True)
            columns['response'] = [None if one else text for one, text in texts]
        columns['file'] = [str(row['_file']) for _, row in pairs]
        columns['row'] = [row['_row'] for _, row in pairs]
        return columns

    def _expanded(self, batch: list[Row]) -> list[tuple[Row, Row]]:
        """Return the samples of some rows, each with its row."""
        if bad := [row['_bad'] for row in batch if '_bad' in row]:
            raise ValueError(bad[0])
        if self._first is None and '_skipped' not in batch[0]:
            try:  # the first row tells where rows keep what
                self._format = self._format.specialise(batch[0], self._options) or self._format
            except InputError as error:
                raise InputError(f'{self._where}: {error}') from error
            self._first, self._about = batch[0], self._format.about(batch[0])
        expand, pairs = self._format.expand, list[tuple[Row, Row]]()
        for row in batch:
            for one in (row,) if '_skipped' in row else expand(row):
                if '_skipped' in one:
                    self._skipped[one['_skipped']].add(row.get('_row'))
                else:
                    pairs.append((one, row))
        return pairs

    def _values(self, name: str, pairs: Sequence[tuple[Row, Row]], made: bool) -> list[Any]:
        """Return what an option, else the samples, else their rows give for a column."""
        if name not in self._given:
            if made:
                return [one.get(name) for one, _ in pairs]
            path = self._format.fields[name]
            return [at(row, path) for _, row in pairs] if '.' in path else [row.get(path) for _, row in pairs]
        path, values = self._given[name], list[Any]()
        for _, same in groupby((row for _, row in pairs), key=id):
            row, *more = same
            told, n = at(row, path), len(more) + 1
            if told is None or n == 1 or name not in OF_SAMPLE:
                values += [told] * n
            elif isinstance(told, list) and len(told) == n:
                values += told
            else:
                given = f'--field {name}={path} gives {told!r:.60} for {n} samples'
                raise ValueError(f'{given}; expected a list of as many')
        self._touched |= {name} if any(one is not None for one in values) else set()
        return values

    def _cleaned(self, name: str, values: list[Any], said: list[Any]) -> list[Any]:
        """Return a column by the rules for all formats."""
        kinds = set(map(type, values))
        if name in _NUMBERS:
            plain = kinds == {int} and name != 'seconds' and 0 <= min(values) <= max(values) < _LARGEST
            return values if plain else [_number(name, value) for value in values]
        if name == 'reference' and list in kinds:
            for row, value in enumerate(values):
                if isinstance(value, list) and len(value) > 1:
                    said[row] = [*said[row], _SEVERAL]
            values = [next(iter(one), None) if isinstance(one, list) else one for one in values]
        texts = values if kinds == {type(None)} else list(map(_text, values))
        if name == 'uid' and None in texts:
            key = self._options.fields.get('uid')
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

    def _add_verdicts(self, columns: dict[str, list[Any]], lost: Sequence[bool]) -> None:
        """Make verdicts of what is told; `_said` gets the keys in `_NOTES` of what is to be said of one."""
        told, said = columns.pop('correct'), columns['_said']
        columns['verdict'] = verdicts = list[str]()
        for row, value in enumerate(told):
            note = None
            if isinstance(value, bool):
                verdict = 'correct' if value else 'incorrect'
            elif isinstance(value, str) and (word := value.strip().lower()) in _WORDS:
                verdict, note = _WORDS[word], 'none' if word in MISSING else None
            elif (number := number_in(value)) is None:
                verdict, note = 'unjudged', 'none'
            elif not isinstance(number, (int, float, Decimal)) or abs(number) == inf:
                expected = 'true or false, a number, "correct" or "incorrect", or null where nobody judged'
                raise ValueError(f'{value!r:.60} is no verdict; expected {expected}')
            else:
                self.numbers, verdict = True, 'correct' if number >= self._least else 'incorrect'
                note = 'below' if number < 0 else 'partial' if 0 < number < self._least else None
                note = 'above' if number > max(1, self._least) else note
            verdicts.append('unjudged' if lost[row] else verdict)
            if note and not lost[row]:
                said[row] = [*said[row], note]

    # ---- runs

    def _run(self, names: dict[str, str], columns: dict[str, list[Any]]) -> Run:
        """Return the run of which all samples or counts are in some columns, as it is called there."""
        about = {**self._about, 'files': tuple(map(Path, dict.fromkeys(columns['file'])))}
        about |= {'model': names.pop('run'), **names} if 'run' in names else names
        remarks = list(about.pop('remarks', ()))
        if self.bad:
            remarks.append(f'{len(self.bad)} bad rows are left out, the first: {self.bad[0]}')
        if path := self._options.fields.get('correct'):
            about['judge'] = {'name': f'field {path}'}
        said = Counter(one for some in columns.pop('_said') for one in some)
        remarks += self._sentences(said)
        splits, languages = columns.pop('split', None), columns.get('language')
        if 'group' not in columns and (splits or languages):
            nothing = [None] * len(columns['uid'])
            both = zip(splits or nothing, languages or nothing, strict=True)
            columns['group'] = ['_'.join(filter(None, one)) or 'all' for one in both]
        if 'c' in columns:
            self._refuse_copy(columns)
            run, held = Run(None, _counts(columns), **about), ['counts']
        else:
            samples = self._samples(columns, remarks)
            kinds = {'responses': 'response', 'labels': 'verdict'}
            held = [kind for kind, column in kinds.items() if column in samples]
            if self._options.kind == 'responses' or 'labels' not in held:
                samples, about['judge'] = samples.replace(verdict=None, judged_by=None, why=None), {}
            else:
                told = ((sentence, said[key]) for key, sentence in _NOTES.items() if said[key])
                remarks += [sentence.format(count=count, least=self._least) for sentence, count in told]
            run = Run(samples, **about)
        if (wanted := self._options.kind) not in (None, *held):
            option = '--judge' if wanted == 'responses' else '--judge none'
            there = ' and '.join(held) or 'nothing'
            raise InputError(f'{self._where} holds {there}, and no {wanted}; leave out {option}')
        return replace(run, remarks=tuple(remarks))

    def _sentences(self, said: Mapping[str, int]) -> list[str]:
        told = {**said, **{sentence: len(rows) for sentence, rows in self._skipped.items()}}
        return [one.replace('{count}', str(count)) for one, count in told.items() if one not in _NOTES]

    def _samples(self, columns: dict[str, list[Any]], remarks: list[str]) -> Samples:
        """Return the samples of a run: each once, numbered from 0."""
        if {'verdict', 'response'} <= columns.keys():  # of which one may say nothing
            if set(columns['verdict']) == {'unjudged'}:
                del columns['verdict']
            elif not any(columns['response']):
                del columns['response']
        uids, told = columns['uid'], columns.get('replica') or [None] * len(columns['uid'])
        uid_from = self._format.fields.get('uid')
        unnumbered = {uid for uid, place in zip(uids, told, strict=True) if place is None}
        in_order: Counter[str] = Counter()
        columns['replica'] = []
        for uid, place in zip(uids, told, strict=True):
            columns['replica'].append(in_order[uid] if uid in unnumbered else place)
            in_order[uid] += 1
        known = {
            name: one for name, one in columns.items() if name == 'verdict' or any(v is not None for v in one)
        }
        samples = Samples(known)
        try:
            samples.check()
        except InputError as error:
            raise InputError(f'{error}{self._other_models()}') from error
        if unnumbered or uid_from == '_row':
            self._refuse_copy(known)
        questions = samples.by_question()
        dense = {row: place for rows in questions.values() for place, row in enumerate(rows)}
        samples = samples.replace(replica=[dense[row] for row in range(len(samples))])
        if self._name == 'table' and max(in_order.values()) == 1 < len(questions) and uid_from != '_row':
            alone = f'each row is a question of its own by {uid_from}; if several are samples of one,'
            remarks.append(f'{alone} --field uid=NAME names the column that tells the questions apart')
        return samples

    def _other_models(self) -> str:
        """Return a hint at the columns of a table that may name models, as doubled samples may be of two."""
        used, first = {'_file', *self._format.fields.values()}, self._first or {}
        names = [name for name, one in first.items() if type(one) is str and name not in used]
        if self._name != 'table' or 'model' in self._format.fields or not names:
            return ''
        return f'\nwhere one of {", ".join(names)} names models: --field model={names[0]}'

    def _refuse_copy(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Refuse files whose second half is their first half once more, and is so by no accident."""
        uids, (half, odd) = columns['uid'], divmod(len(columns['uid']), 2)
        # A question may be as stable as it likes.
        keys = [''] * (2 * half) if self._format.fields.get('uid') == '_row' else uids
        told = [column for name, column in columns.items() if name not in ('replica', 'row', 'file', 'uid')]
        if half < 2 or odd or any(column[:half] != column[half:] for column in (keys, *told)):
            return
        sizes = Counter(keys[:half])
        once = Counter(zip(keys[:half], *(column[:half] for column in told), strict=True))
        by_chance = exp(sum(count * log(count / sizes[key]) for (key, *_), count in once.items()))
        if 'response' in columns or by_chance < 1e-6:
            twice = f'{self._where} holds everything twice: its second half is its first half again'
            mend = 'Take one out; other samples that are equal need numbers in a column replica'
            raise InputError(f'{twice}. {mend}{self._other_models()}')


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
    if name == 'seconds' or name.endswith('_tokens'):
        kinds = (int, float) if name == 'seconds' else (int,)
        return kinds[-1](number) if type(number) in kinds and 0 <= number < _LARGEST else None
    if number is None or (type(number) is int and abs(number) < 2**63):
        return number
    raise ValueError(
        f'{name} is {value!r:.40}; expected a whole number, or take another: --field {name}=NAME'
    )


def _counts(columns: dict[str, list[Any]]) -> Counts:
    """Return the counts of questions, a row a question."""
    uids, size = columns['uid'], len(columns['uid'])
    # Which refuses a question that is there twice.
    Samples({'uid': uids, 'replica': [0] * size, 'file': columns['file'], 'row': columns['row']}).check()
    problems = columns.get('problem') or uids
    unjudged = [one or 0 for one in columns.get('unjudged', [0] * size)]
    return Counts(
        uids,
        [one or uid for one, uid in zip(problems, uids, strict=True)],
        columns.get('group') or ['all'] * size,
        *(np.array(column, dtype=np.int64) for column in (columns['n'], columns['c'], unjudged)),
    )
