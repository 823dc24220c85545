"""The samples of a model on disk: a line each while they are drawn, then OpenCompass's own predictions.

`<abbr>.rows.jsonl` gets a line a sample as soon as it is there; at the end they become `<abbr>.json`, a row
a line, as OpenCompass writes it. A row says which sample it is (`sample`, see `Sample`), so it is found
wherever it lies: in another shard, in another run. Rows without that are known by their place alone.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from loguru import logger
from pydantic_core import from_json

from .errors import IncompleteError, InputError
from .files import PROVENANCE, mapping, parse_json
from .health import Generation, generation_columns
from .json_rows import json_entries
from .marks import Notes, append, difference, known_by_content, other_model, read_notes
from .record import digest_of
from .text import utc_now

JOURNAL = '.rows.jsonl'
"""What the name of the file ends in where rows lie while they are drawn."""

_SHARD = re.compile(r'_\d+$')
_LINE = re.compile(rb'(?:"(\d+)": )?(\{.*\}),?\r?\n', re.DOTALL)
_SMALL = 1 << 24
"""Bytes of a file of predictions that is read at once."""

T = TypeVar('T')


@dataclass(frozen=True)
class Sample:
    """A row of a data set that a response is drawn for."""

    uid: str
    """Of the question."""
    replica: int
    number: int
    """Of the question, in the whole data set."""
    question: str
    """Mark of what fills the template."""
    reference: Any
    settings: str
    """Mark of `settings_of`."""
    prompt: Any = None
    seed: int | None = None

    @cached_property
    def task(self) -> str:
        """Return the mark of all that config and data say of it."""
        return digest_of([self.uid, self.replica, self.question, self.reference, self.settings])[:32]


class Row(NamedTuple):
    """A row of a file."""

    told: dict[str, Any]
    path: Path
    number: int
    """Of the row in predictions; -1 in a journal."""
    start: int = 0
    size: int = 0
    """Where its JSON lies, in a file with a row a line."""

    @property
    def marks(self) -> Mapping[str, Any]:
        """Return what says which sample it is; {} where nothing does."""
        marks = mapping(self.told.get('sample'))
        return marks if 'task' in marks else {}

    @property
    def is_whole(self) -> bool:
        """Return whether a row with marks is as it was written."""
        return _check(self.told) == self.marks['check'] if 'check' in self.marks else False


def _check(told: Mapping[str, Any]) -> str:
    marks = ('seed', 'task', 'source', 'uid', 'replica', 'question', 'settings')
    held = [told.get(name) for name in ('generation', 'gold', 'origin_prompt', 'prediction')]
    return digest_of([*held, *map(told['sample'].get, marks)])[:16]


# Files


def without_shard(stem: str) -> str:
    """Return the name of a data set without the number of its shard."""
    return _SHARD.sub('', stem)


def _files(whole: Path, suffix: str) -> list[Path]:
    """Return the files of a data set, whole or in shards, in their order."""
    own = re.compile(re.escape(whole.stem) + r'(?:_(\d+))?' + re.escape(suffix))
    paths = whole.parent.iterdir() if whole.parent.is_dir() else ()
    numbered = [(int(match[1] or -1), path) for path in paths if (match := own.fullmatch(path.name))]
    return [path for _, path in sorted(numbered)]


def _rows_of_lines(path: Path, file: IO[bytes]) -> Iterator[Row]:
    """Yield the rows of the lines of a file; what a kill has torn is left out."""
    place = 0
    for line in file:
        if found := _LINE.fullmatch(line):
            with suppress(ValueError):
                told = _parsed(found[2])
                start, end = found.span(2)
                yield Row(told, path, -1 if found[1] is None else int(found[1]), place + start, end - start)
        place += len(line)


def _parsed(text: bytes) -> Any:
    try:
        return from_json(text, cache_strings='keys')
    except ValueError:  # what json takes beyond, as halves of surrogates
        return parse_json(text)


def _readable_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of predictions; IncompleteError where a file is no JSON or holds something else."""
    try:
        with path.open('rb') as file:
            if file.read(8).startswith(b'{\n"'):
                file.seek(0)
                yield from _rows_of_lines(path, file)
                return
        entries: Iterable[tuple[Any, Any]] = ()
        if path.stat().st_size <= _SMALL:
            with suppress(ValueError, RecursionError):
                entries = mapping(from_json(path.read_bytes())).items()
        for name, told in entries or ((names[0], told) for names, told in json_entries(path)):
            if not isinstance(told, dict) or not name.isdecimal():
                raise InputError(f'{told!r:.40} stands where a row of predictions was expected')
            yield Row(told, path, int(name))
    except (OSError, InputError) as error:
        raise IncompleteError(
            f'{path} cannot be read as predictions ({type(error).__name__}: {error}): put it back from a '
            'copy, or move it away and run the same command with -r to sample its rows anew'
        ) from error


@contextmanager
def locked(predictions: Path) -> Iterator[None]:
    """Keep every other task off these predictions within the block; a kill lets go of them.

    IncompleteError says which task is at work on them, and where.
    """
    from filelock import FileLock, Timeout

    predictions.parent.mkdir(parents=True, exist_ok=True)
    path = predictions.with_suffix('.lock')
    try:
        with FileLock(path, timeout=0) as lock:
            told = {'host': socket.gethostname(), 'pid': os.getpid(), 'since': utc_now()}
            path.write_text(json.dumps(told))
            yield
            path.unlink()  # whoever waited would hold a file that is gone: nobody waits
            lock.release()
    except Timeout:
        holder: Mapping[str, Any] = {}
        with suppress(OSError, ValueError):
            holder = mapping(parse_json(path.read_bytes()))
        who = f'process {holder.get("pid")} on {holder.get("host")}, since {holder.get("since")}'
        raise IncompleteError(f'{predictions.stem}: another task is at work on it ({who})') from None


def reopen(predictions: Path) -> None:
    """Let finished files be gone on with: OpenCompass draws nothing for one that is there.

    So does a later run of more samples, or of other shards, find their rows in a journal.
    """
    if not _files(predictions, JOURNAL):
        for path in _files(predictions, '.json'):
            path.rename(path.with_suffix(JOURNAL))


def other_runs(folder: Path) -> list[Path]:
    """Return the folders of predictions from which rows may be taken, that of this run among them.

    With `gpassk run` they are those of all runs below its -w ($GPASSK_WORK_DIR), else of all time directories
    beside this one; `folder` is `<work_dir>/<time>/predictions/<model>`.
    """
    above = next((one for one in folder.parents if one.name == 'predictions'), None)
    if above is None:
        return []
    root, depth = above.parents[1], '*'
    if (outputs := os.environ.get('GPASSK_WORK_DIR')) and above.is_relative_to(outputs):
        root, depth = Path(outputs), '/'.join('*' * len(above.relative_to(outputs).parts[:-1]))
    return [path.parent for path in sorted(root.glob(f'{depth}/predictions/**/{PROVENANCE}'))]


# Which row is of which sample


def _differences(row: Row, sample: Sample, notes: Notes, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return in what a row was drawn for something else than a sample: of `KEEP`, and in words."""
    marks, found = row.marks, {}
    if marks.get('settings') != sample.settings:
        was = notes.settings.get(str(marks.get('settings')))
        told = f'settings that {PROVENANCE} does not tell' if was is None else difference(was, settings)
        found['settings'] = told.lstrip('.')
    which = sample.uid, sample.replica, sample.question
    if (marks.get('uid'), marks.get('replica'), marks.get('question')) != which:
        found['questions'] = f'another question, {str(row.told.get("origin_prompt"))[-160:]!r}'
    was, now = row.told.get('gold'), sample.reference
    if was != now and repr(was) != repr(now):  # nan is not nan
        found['references'] = f'the reference {was!r:.60}, and has {now!r:.60} now'
    return found


def _pair(
    samples: Sequence[Sample],
    rows: Iterable[Row],
    differences: Callable[[Row, Sample], dict[str, str]],
    keep: Collection[str],
    take: Callable[[Row], T],
) -> tuple[dict[int, T], dict[str, str]]:
    """Find the row of each sample: by its mark, else at its place, where what differs may (`keep`).

    Returned are what `take` makes of the row of each sample, by its number, and what was accepted, in words.
    IncompleteError names the row at the place of a sample that was drawn from something else.
    """
    wanted = {sample.task: at for at, sample in enumerate(samples)}
    found: dict[int, T] = {}
    others: dict[tuple[Any, Any], Row] = {}
    for row in rows:
        at = wanted.get(row.marks['task'])
        if at is None or (at not in found and differences(row, samples[at])):
            others[row.marks.get('number'), row.marks.get('replica')] = row
        elif at not in found:
            found[at] = take(row)
    accepted: dict[str, str] = {}
    for at, sample in enumerate(samples):
        other = None if at in found else others.get((sample.number, sample.replica))
        if other is None:
            continue
        told = differences(other, sample)
        if not (wrong := [what for what in told if what not in keep]):
            found[at] = take(other)
            accepted |= {what: text for what, text in told.items() if what not in accepted}
        elif wanted.get(other.marks['task']) not in found:  # else it is wanted elsewhere
            what = wrong[0]
            where = f', row {other.number}' if other.number >= 0 else ''
            allow = f"; to take it all the same: keep=['{what}'] of inferencer and GPassKEvaluator, or --keep"
            raise IncompleteError(
                f'{other.path.name}{where} (question {sample.number}, replica {sample.replica}) was drawn '
                f'with {told[what]}. Go back to it, or start anew, without -r or in another work directory'
                + ('' if what == 'model' else f'{allow} {what} of gpassk run')
            )
    return found, accepted


class Rows:
    """The rows of one file of predictions: found where they lie, added, published. Hold its lock.

    `predictions` is the file that the finished shard will have, `dataset` its name without the number of the
    shard, `settings` what `Sample.settings` is the mark of, `identity` that of the model now, and `command`
    the `gpassk run` that draws, if one does, and the servers that it asks.
    """

    def __init__(
        self,
        predictions: Path,
        dataset: str,
        samples: Sequence[Sample],
        identity: Mapping[str, Any],
        settings: Mapping[str, Any],
        keep: Collection[str] = (),
        command: str | None = None,
    ) -> None:
        self.predictions, self.journal = predictions, predictions.with_suffix(JOURNAL)
        self._dataset, self._identity, self._settings, self._keep = dataset, identity, settings, keep
        self._samples, self.size, self._command = samples, len(samples), command
        self.states: list[str] = []
        """Of the rows that are there, those of `health.STATES`."""
        self._places: dict[str, tuple[Path, int, int]] = {}
        self._files: dict[Path, IO[bytes]] = {}  # kept open: a shard that ends drops its journal
        self._notes: dict[Path, Notes] = {}

    def find(self, elsewhere: Iterable[Path] = (), top_up: bool = False) -> list[Sample]:
        """Look for rows on disk, and return the samples that have none.

        Those in folders elsewhere are taken too, of the longest files first, where the model is known by its
        content, or the same command drew them, or with `top_up`.
        """
        whole = self.predictions.with_name(f'{self._dataset}.json')
        rows = (
            row
            for path in (*_files(whole, JOURNAL), *_files(whole, '.json'))
            for row in self._rows_in(path)
            if row.marks.get('dataset') == self._dataset
        )
        found, _ = _pair(self._samples, rows, self._differences, self._keep, self._place)
        self._places = {self._samples[at].task: place for at, place in found.items()}
        missing = {one.task: one for at, one in enumerate(self._samples) if at not in found}
        self._find_elsewhere(missing, elsewhere, top_up)
        return list(missing.values())

    def _find_elsewhere(self, missing: dict[str, Sample], folders: Iterable[Path], top_up: bool) -> None:
        mark = digest_of(self._settings)[:16]
        files = [
            (path.stat().st_size, path)
            for folder in (folders if missing else ())
            if mark in self._notes_of(folder).settings
            for path in (*folder.glob('*.json'), *folder.glob(f'*{JOURNAL}'))
        ]
        for _, path in sorted(files, key=lambda one: (-one[0], str(one[1]))):
            notes, taken = self._notes_of(path.parent), 0
            for row in self._rows_in(path) if missing else ():
                sample, marks = missing.get(row.marks['task']), row.told['sample']
                if sample is None or self._differences(row, sample):
                    continue
                same_command = self._command is not None and marks.get('command') == self._command
                if known_by_content(notes.sources[marks['source']]) or same_command or top_up:
                    origin = marks.get('taken_from') or '/'.join(path.parts[-5:-3] or path.parts[-1:])
                    marks |= {'number': sample.number, 'dataset': self._dataset, 'taken_from': origin}
                    self.add(row.told)
                    del missing[sample.task]
                    taken += 1
            if taken:
                logger.info(f'{self.predictions.stem}: {taken} samples are taken from {path}')

    def _differences(self, row: Row, sample: Sample) -> dict[str, str]:
        """Return in what a row is not one to go on with: of `KEEP` or 'model', and in words."""
        notes = self._notes_of(row.path.parent)
        found = _differences(row, sample, notes, self._settings)
        if not found and row.told.get('origin_prompt') != sample.prompt:
            found['questions'] = f'another prompt, {str(row.told.get("origin_prompt"))[-160:]!r}'
        if not found and row.marks.get('seed') != sample.seed:
            found['settings'] = f'the seed {row.marks.get("seed")}, and has {sample.seed} now'
        source = notes.sources.get(str(row.marks.get('source')))
        if source is None:
            found['model'] = f'a model that {PROVENANCE} beside it does not tell'
        elif told := other_model(source, self._identity):
            found['model'] = told
        return found

    def _rows_in(self, path: Path) -> Iterator[Row]:
        """Yield the rows of a file that have marks and are as they were written."""
        try:
            file = self._opened(path)
        except OSError:  # a shard that ended meanwhile
            return
        file.seek(0)
        for row in _rows_of_lines(path, file):
            if row.marks and row.is_whole:
                yield row

    def _opened(self, path: Path) -> IO[bytes]:
        if path not in self._files:
            self._files[path] = path.open('rb')
        return self._files[path]

    def _notes_of(self, folder: Path) -> Notes:
        if folder not in self._notes:
            self._notes[folder] = read_notes(folder)
        return self._notes[folder]

    def _place(self, row: Row) -> tuple[Path, int, int]:
        if state := Generation.from_json(row.told.get('generation')).state:
            self.states.append(state)
        return row.path, row.start, row.size

    def row(self, sample: Sample, source: str, text: Any, generation: Generation) -> dict[str, Any]:
        """Return the row of predictions of a response; `source` is the mark of the model's identity."""
        names = ('uid', 'replica', 'seed', 'number', 'question', 'settings', 'task')
        marks = {name: getattr(sample, name) for name in names}
        marks |= {'dataset': self._dataset, 'source': source}
        marks |= {'command': self._command} if self._command else {}
        told = generation.as_json()
        row = {'sample': marks, **({'generation': told} if told else {})}
        row |= {'gold': sample.reference, 'origin_prompt': sample.prompt, 'prediction': text}
        marks['check'] = _check(row)
        return row

    def add(self, row: Mapping[str, Any]) -> None:
        """Append the row of a sample that has none."""
        line = json.dumps(row, ensure_ascii=True).encode()  # no U+2028, no half of a character
        end = append(self.journal, line)
        self._places[row['sample']['task']] = self.journal, end - len(line) - 1, len(line)

    def publish(self) -> None:
        """Write the predictions in one step, in the order of the samples, without holding the responses."""
        draft = self.predictions.with_suffix(f'.part{os.getpid()}')
        with draft.open('wb') as out:
            for number, sample in enumerate(self._samples):
                path, start, size = self._places[sample.task]
                file = self._opened(path)
                file.seek(start)
                out.write(b'%s"%d": %s' % (b',\n' if number else b'{\n', number, file.read(size)))
            out.write(b'\n}\n' if self._samples else b'{}\n')
        draft.replace(self.predictions)
        own = {sample.task for sample in self._samples}
        # With another number of workers it may hold rows of a shard that is still to come.
        if self.journal.exists() and all(row.marks['task'] in own for row in self._rows_in(self.journal)):
            self.journal.unlink()

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files.values():
            file.close()


# Rows to judge


@dataclass
class Predictions:
    """The responses to the rows of a data set, in their order, and what is told of each."""

    responses: list[Any]
    generations: list[Generation]
    seeds: list[Any]
    marks: list[str | None]
    """`Sample.task`; None of a row without marks."""
    places: list[tuple[Path, int]]
    """File, and number of the row there, from 1."""
    unmarked: list[Mapping[str, Any]] = field(default_factory=list)
    """Prompt and reference of each row, where none has marks: they are at their places."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    sources: list[Mapping[str, Any]] = field(default_factory=list)
    """Identities of the models that drew them."""
    taken: dict[str, int] = field(default_factory=dict)
    """Run → how many of its samples were taken."""
    warnings: list[str] = field(default_factory=list)

    def columns(self, out: Path) -> dict[str, list[Any]]:
        """Return what is told of each response, as columns of `samples.Samples`.

        Args:
            out: `…/results/<model>/<dataset>`, beside which `file` is seen.
        """
        seen = {path: os.path.relpath(path, out.parent) for path in {path for path, _ in self.places}}
        return {
            **{name: list(column) for name, column in generation_columns(self.generations).items()},
            'seed': [seed if type(seed) is int and 0 <= seed < 2**63 else None for seed in self.seeds],
            'fingerprint': self.marks,
            'file': [seen[path] for path, _ in self.places],
            'row': [row for _, row in self.places],
        }


def load_predictions(
    predictions: Path, samples: Sequence[Sample], settings: Mapping[str, Any], keep: Collection[str] = ()
) -> Predictions:
    """Read the responses to the rows of a data set, each row wherever it lies among its files.

    Of rows with marks those of the samples are taken, whatever else there is; rows without lie where
    OpenCompass has put them. `<dataset>.json` may lie there as `<dataset>_0.json`, ….

    Raises:
        IncompleteError: rows are missing, were changed since, or are of other questions, references, settings
            or models than they should be.
    """
    notes, unmarked = read_notes(predictions.parent), list[Row]()

    def differences(row: Row, sample: Sample) -> dict[str, str]:
        return _differences(row, sample, notes, settings)

    rows = _marked_rows(predictions, unmarked)
    found, accepted = _pair(samples, rows, differences, keep, _taken_out)
    if unmarked:
        told = 'not known what model and settings the samples were drawn with'
        responses, generations, seeds, _, places, *_ = map(list, zip(*map(_taken_out, unmarked), strict=True))
        marks: list[Any] = [None] * len(unmarked)
        parts: list[Any] = [row.told for row in unmarked]
        return Predictions(responses, generations, seeds, marks, places, parts, warnings=[told])
    if missing := next((sample for at, sample in enumerate(samples) if at not in found), None):
        reopen(predictions)
        raise IncompleteError(
            f'{predictions.stem}: question {missing.number}, replica {missing.replica} has no row: run the '
            'same command with -r, which draws what is missing'
        )
    if not samples:
        return Predictions([], [], [], [], [])
    columns = zip(*(found[at] for at in range(len(samples))), strict=True)
    responses, generations, seeds, marks, places, given, drawn, origins = map(list, columns)
    names = list(dict.fromkeys(drawn))
    sources = [notes.sources.get(name, {}) for name in names]
    for name, other in zip(names[1:], sources[1:], strict=True):
        if told := other_model(sources[0], other) and other_model(other, sources[0]):
            raise IncompleteError(
                f'{places[drawn.index(name)][0].name} holds samples of two models: {told}. Move the wrong '
                'ones away, or start anew in another work directory'
            )
    return Predictions(
        responses,
        generations,
        seeds,
        marks,
        places,
        settings=notes.settings.get(given[0], {}),
        sources=sources,
        taken=dict(Counter(filter(None, origins))),
        warnings=[
            f'scored although {what} changed since sampling, as keep says: {text}'
            for what, text in accepted.items()
        ],
    )


def _marked_rows(predictions: Path, unmarked: list[Row]) -> Iterator[Row]:
    """Yield the rows with marks, and put the others into `unmarked`, in their order."""
    known: dict[str, Any] = {}
    marked = False
    for path in [predictions] if predictions.exists() else _files(predictions, '.json'):
        first = len(unmarked)
        for row in _readable_rows(path):
            for name in {'origin_prompt', 'gold'} & row.told.keys():  # the same in n samples: held once
                row.told[name] = known.setdefault(repr(row.told[name]), row.told[name])
            if not row.marks:
                unmarked.append(row)
                continue
            if not row.is_whole:
                raise IncompleteError(
                    f'{path.name}, row {row.number} is not as it was written: its response, prompt, '
                    'reference or seed was changed since; put the file back from a copy, or move it away '
                    'and run the same command with -r'
                )
            marked = True
            yield row
        unmarked[first:] = sorted(unmarked[first:], key=lambda row: row.number)
    if unmarked and marked:
        raise IncompleteError(
            f'{unmarked[0].path.name}: rows without marks lie beside rows with them: two runs are in one '
            'folder; sample anew in another one'
        )


def _taken_out(row: Row) -> tuple[Any, ...]:
    """Take out of a row what its result tells; the response goes with it."""
    known = mapping(row.told.get('sample'))  # also of versions before marks
    settings, source, origin = (str(known.get(name) or '') for name in ('settings', 'source', 'taken_from'))
    response, generation = row.told.pop('prediction', None), Generation.from_json(row.told.get('generation'))
    place = row.path, row.number + 1
    return response, generation, known.get('seed'), known.get('task'), place, settings, source, origin
