"""The samples of a model on disk: a line each while they are drawn, then OpenCompass's own predictions.

`<abbr>.rows.jsonl` gets a line a sample as soon as it is there; at the end they become `<abbr>.json`, a row
a line. A row says which sample it is (`sample`), so it is found wherever it lies, in any shard or run. Rows
without that, as OpenCompass writes them, are known by their place alone.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple

from filelock import FileLock, Timeout
from loguru import logger

from .errors import IncompleteError, InputError
from .files import PROVENANCE, mapping, parse_json
from .health import Generation
from .json_rows import json_entries
from .marks import append, first_difference, other_model, read_notes
from .record import digest_of
from .text import utc_now

JOURNAL = '.rows.jsonl'
"""What the name of the file ends in where rows lie while they are drawn."""

_LINE = re.compile(rb'(?:"(\d+)": )?(\{.*\}),?\r?\n', re.DOTALL)
_MARKS = ('uid', 'replica', 'seed', 'question', 'settings', 'task')


@dataclass(frozen=True)
class Sample:
    """A row of a data set that a response is drawn for."""

    uid: str  # of the question
    replica: int
    number: int  # of the question, in the whole data set
    question: str  # mark of what fills the template
    reference: Any
    settings: str  # mark of `settings_of`
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
    number: int = -1  # of the row in predictions; -1 in a journal
    start: int = 0  # where its JSON lies, in a file with a row a line
    size: int = 0

    @property
    def marks(self) -> Mapping[str, Any]:
        """Return what says which sample it is; {} where nothing does."""
        marks = mapping(self.told.get('sample'))
        return marks if 'task' in marks else {}

    @property
    def is_whole(self) -> bool:
        """Return whether a row with marks is as it was written."""
        return 'check' in self.marks and self.marks['check'] == _check(self.told)

    @property
    def generation(self) -> Generation:
        """Return what the engine told."""
        return Generation.from_json(self.told.get('generation'))

    def without(self, *names: str) -> Row:
        """Return the row without some of what it tells, which may be large."""
        return self._replace(told={name: one for name, one in self.told.items() if name not in names})


def _check(told: Mapping[str, Any]) -> str:
    parts = [told.get(name) for name in ('generation', 'gold', 'origin_prompt', 'prediction')]
    return digest_of([*parts, *map(told['sample'].get, (*_MARKS, 'source'))])[:16]


# Files


def _files(whole: Path, suffix: str) -> list[Path]:
    """Return the files of a data set, whole or in shards, in their order."""
    own = re.compile(re.escape(whole.stem) + r'(?:_(\d+))?' + re.escape(suffix))
    paths = whole.parent.iterdir() if whole.parent.is_dir() else ()
    numbered = [(int(match[1] or -1), path) for path in paths if (match := own.fullmatch(path.name))]
    return [path for _, path in sorted(numbered)]


def _lines_of(path: Path, file: IO[bytes]) -> Iterator[Row]:
    """Yield the rows of the lines of a file; what a kill has torn is left out."""
    place = 0
    for line in file:
        if found := _LINE.fullmatch(line):
            start, end = found.span(2)
            with suppress(ValueError):
                yield Row(parse_json(found[2]), path, int(found[1] or -1), place + start, end - start)
        place += len(line)


def _rows_of(path: Path) -> Iterator[Row]:
    """Yield the rows of predictions; IncompleteError where a file is no JSON or holds something else."""
    try:
        with path.open('rb') as file:
            if file.read(8).startswith(b'{\n"'):
                file.seek(0)
                yield from _lines_of(path, file)
                return
        for (name,), told in json_entries(path):
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
    """Keep other tasks off these predictions within the block; IncompleteError names one that is at work."""
    predictions.parent.mkdir(parents=True, exist_ok=True)
    path, holder = predictions.with_suffix('.lock'), {'host': socket.gethostname(), 'pid': os.getpid()}
    try:
        with FileLock(path, timeout=0):
            path.write_text(json.dumps({**holder, 'since': utc_now()}))
            yield
            path.unlink()  # whoever waited would hold a file that is gone: nobody waits
    except Timeout:
        holder = {}
        with suppress(OSError, ValueError):
            holder |= mapping(parse_json(path.read_bytes()))
        who = f'process {holder.get("pid")} on {holder.get("host")}, since {holder.get("since")}'
        raise IncompleteError(f'{predictions.stem}: another task is at work on it ({who})') from None


def reopen(predictions: Path) -> None:
    """Make journals of finished files, so that OpenCompass, which draws nothing for those, goes on."""
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


@dataclass(eq=False)
class Rows:
    """The rows of one file of predictions, found wherever they lie; who draws holds the lock."""

    predictions: Path  # the file that the finished shard has or will have
    dataset: str  # its name without the number of the shard
    samples: Sequence[Sample]
    settings: Mapping[str, Any]  # what `Sample.settings` is the mark of
    keep: Collection[str] = ()
    identity: Mapping[str, Any] | None = None  # of the model that draws; None where rows are judged
    command: str | None = None  # the `gpassk run` that draws, if one does, and its servers

    def __post_init__(self) -> None:
        self.journal = self.predictions.with_suffix(JOURNAL)
        self.accepted: dict[str, str] = {}  # what `keep` names that did change, and how
        self.notes_of = cache(read_notes)
        self._places: dict[str, Row] = {}  # of a task mark
        self._files = ExitStack()
        # They stay open: a shard that ends drops its journal.
        self._open = cache(lambda path: self._files.enter_context(path.open('rb')))

    @property
    def states(self) -> Iterator[str]:
        """Yield the states of the rows that were there, of those that are no usual response."""
        return (state for row in self._places.values() if (state := row.generation.state))

    def find(self, elsewhere: Iterable[Path] = (), top_up: bool = False) -> list[Sample]:
        """Look for rows on disk, and return the samples that have none.

        Those in folders elsewhere are taken too, of the longest files first, where the model is known by its
        content, or the same command drew them, or with `top_up`.
        """
        whole = self.predictions.with_name(f'{self.dataset}.json')
        paths = [*_files(whole, JOURNAL), *_files(whole, '.json')]
        rows = (row for path in paths for row in self._rows_in(path))
        # Without the responses, which may be more than the memory holds.
        own = (row.without('prediction') for row in rows if row.marks.get('dataset') == self.dataset)
        self._places = {self.samples[at].task: row.without('sample') for at, row in self.pair(own).items()}
        missing = {one.task: one for one in self.samples if one.task not in self._places}
        mark = digest_of(self.settings)[:16]
        folders = [one for one in elsewhere if mark in self.notes_of(one).settings] if missing else []
        others = [path for one in folders for path in (*one.glob('*.json'), *one.glob(f'*{JOURNAL}'))]
        for path in sorted(others, key=lambda path: (-path.stat().st_size, str(path))):
            before, sources = len(missing), self.notes_of(path.parent).sources
            for row in self._rows_in(path) if missing else ():
                sample, marks = missing.get(row.marks['task']), row.told['sample']
                if sample is None or self._differences(row, sample):
                    continue
                same_command = self.command is not None and marks.get('command') == self.command
                known = mapping(sources[marks['source']].get('files')).get('path')  # by content
                if known or same_command or top_up:
                    origin = marks.get('taken_from') or '/'.join(path.parts[-5:-3] or path.parts[-1:])
                    marks |= {'number': sample.number, 'dataset': self.dataset, 'taken_from': origin}
                    self.add(row.told)
                    del missing[sample.task]
            if taken := before - len(missing):
                logger.info(f'{self.predictions.stem}: {taken} samples are taken from {path}')
        return list(missing.values())

    def pair(self, rows: Iterable[Row]) -> dict[int, Row]:
        """Find the row of each sample: by its mark, else at its place, where what differs may (`keep`).

        Returned are rows by the sample's number, without prompt and reference. IncompleteError names the row
        at the place of a sample that was drawn from something else.
        """
        wanted = {sample.task: at for at, sample in enumerate(self.samples)}
        found: dict[int, Row] = {}
        others: dict[tuple[Any, Any], Row] = {}
        for row in rows:
            at = wanted.get(row.marks['task'])
            if at is None or (at not in found and self._differences(row, self.samples[at])):
                others[row.marks.get('number'), row.marks.get('replica')] = row
            elif at not in found:
                found[at] = row.without('gold', 'origin_prompt')
        for at, sample in enumerate(self.samples):
            other = None if at in found else others.get((sample.number, sample.replica))
            if other is None:
                continue
            told = self._differences(other, sample)
            if not (wrong := [what for what in told if what not in self.keep]):
                found[at] = other.without('gold', 'origin_prompt')
                self.accepted = {**told, **self.accepted}
            elif wanted.get(other.marks['task']) not in found:  # else it is wanted elsewhere
                what, where = wrong[0], f', row {other.number}' if other.number >= 0 else ''
                where += f' (question {sample.number}, replica {sample.replica})'
                allow = f"keep=['{what}'] of inferencer and GPassKEvaluator, or --keep {what} of gpassk run"
                raise IncompleteError(
                    f'{other.path.name}{where} was drawn with {told[what]}. Go back to it, or start anew, '
                    'without -r or in another work directory'
                    + ('' if what == 'model' else f'; to take it all the same: {allow}')
                )
        return found

    def _differences(self, row: Row, sample: Sample) -> dict[str, str]:
        """Return in what a row is not of a sample: of `KEEP` or 'model', and in words."""
        marks, notes, found = row.marks, self.notes_of(row.path.parent), dict[str, str]()
        prompt = row.told.get('origin_prompt')
        if marks.get('settings') != sample.settings:
            was = notes.settings.get(str(marks.get('settings')))
            text = (
                first_difference(was, self.settings) if was else f'settings that {PROVENANCE} does not tell'
            )
            found['settings'] = text.lstrip('.')
        other = any(marks.get(name) != getattr(sample, name) for name in ('uid', 'replica', 'question'))
        if other or (self.identity is not None and not found and prompt != sample.prompt):
            found['questions'] = f'another prompt, {str(prompt)[-160:]!r}'
        gold, now = row.told.get('gold'), sample.reference
        if gold != now and repr(gold) != repr(now):  # nan is not nan
            found['references'] = f'the reference {gold!r:.60}, and has {now!r:.60} now'
        if self.identity is None:
            return found
        if not found and marks.get('seed') != sample.seed:
            found['settings'] = f'the seed {marks.get("seed")}, and has {sample.seed} now'
        source = notes.sources.get(str(marks.get('source')))
        if source is None:
            found['model'] = f'a model that {PROVENANCE} beside it does not tell'
        elif told := other_model(source, self.identity):
            found['model'] = told
        return found

    def _rows_in(self, path: Path) -> Iterator[Row]:
        """Yield the rows of a file that have marks and are as they were written."""
        with suppress(FileNotFoundError):  # a shard that ended meanwhile
            file = self._open(path)
            file.seek(0)
            yield from (row for row in _lines_of(path, file) if row.is_whole)

    def row(self, sample: Sample, source: str, text: Any, generation: Generation) -> dict[str, Any]:
        """Return the row of predictions of a response; `source` is the mark of the model's identity."""
        marks = {name: getattr(sample, name) for name in (*_MARKS, 'number')}
        marks |= {'dataset': self.dataset, 'source': source}
        marks |= {'command': self.command} if self.command else {}
        told = generation.as_json()
        row = {'sample': marks, **({'generation': told} if told else {})}
        row |= {'gold': sample.reference, 'origin_prompt': sample.prompt, 'prediction': text}
        marks['check'] = _check(row)
        return row

    def add(self, row: Mapping[str, Any]) -> None:
        """Append the row of a sample that has none."""
        line = json.dumps(row, ensure_ascii=True).encode()  # no U+2028, no half of a character
        end = append(self.journal, line)
        self._places[row['sample']['task']] = Row({}, self.journal, start=end - len(line) - 1, size=len(line))

    def publish(self) -> None:
        """Write the predictions in one step, in the order of the samples, without holding the responses."""
        draft = self.predictions.with_suffix(f'.part{os.getpid()}')
        with draft.open('wb') as out:
            for number, sample in enumerate(self.samples):
                row = self._places[sample.task]
                file = self._open(row.path)
                file.seek(row.start)
                out.write(b'%s"%d": %s' % (b',\n' if number else b'{\n', number, file.read(row.size)))
            out.write(b'\n}\n' if self.samples else b'{}\n')
        draft.replace(self.predictions)
        own = {sample.task for sample in self.samples}
        # With another number of workers it may hold rows of a shard that is still to come.
        if self.journal.exists() and all(row.marks['task'] in own for row in self._rows_in(self.journal)):
            self.journal.unlink()

    def close(self) -> None:
        """Let go of the files."""
        self._files.close()


# Rows to judge


@dataclass
class Predictions:
    """The rows of a data set in their order, each with its response, and what is told of all."""

    rows: list[Row]
    settings: Mapping[str, Any] = field(default_factory=dict)
    sources: list[Mapping[str, Any]] = field(default_factory=list)  # identities of the models that drew them
    warnings: list[str] = field(default_factory=list)


def load_predictions(
    predictions: Path, samples: Sequence[Sample], settings: Mapping[str, Any], keep: Collection[str] = ()
) -> Predictions:
    """Read the responses to the rows of a data set, each row wherever it lies among its files.

    Of rows with marks those of the samples are taken, whatever else there is; rows without lie where
    OpenCompass has put them, and keep their prompt and reference. `<dataset>.json` may lie there as
    `<dataset>_0.json`, ….

    Raises:
        IncompleteError: rows are missing, were changed since, or are of other questions, references, settings
            or models than they should be.
    """
    rows, unmarked = Rows(predictions, predictions.stem, samples, settings, keep), list[Row]()
    found = rows.pair(_marked_rows(predictions, unmarked))
    if unmarked and found:
        raise IncompleteError(
            f'{unmarked[0].path.name}: rows without marks lie beside rows with them: two runs are in one '
            'folder; sample anew in another one'
        )
    if unmarked:
        told = 'not known what model and settings the samples were drawn with'
        return Predictions(unmarked, warnings=[told])
    if missing := next((sample for at, sample in enumerate(samples) if at not in found), None):
        reopen(predictions)
        raise IncompleteError(
            f'{predictions.stem}: question {missing.number}, replica {missing.replica} has no row: run the '
            'same command with -r, which draws what is missing'
        )
    notes, own = rows.notes_of(predictions.parent), [found[at] for at in range(len(samples))]
    drawn = {str(row.marks.get('source')): row.path.name for row in own}
    sources = [notes.sources.get(source, {}) for source in drawn]
    for other, name in zip(sources, drawn.values(), strict=True):
        if (told := other_model(sources[0], other)) and other_model(other, sources[0]):
            raise IncompleteError(
                f'{name} holds samples of two models: {told}. Move the wrong ones away, or start anew in '
                'another work directory'
            )
    said = 'changed since sampling, as keep says'
    return Predictions(
        own,
        settings=notes.settings.get(str(own[0].marks.get('settings')), {}) if own else {},
        sources=sources,
        warnings=[f'scored although {what} {said}: {text}' for what, text in rows.accepted.items()],
    )


def _marked_rows(predictions: Path, unmarked: list[Row]) -> Iterator[Row]:
    """Yield the rows with marks, and put the others into `unmarked`, in their order."""
    known: dict[str, Any] = {}
    for path in [predictions] if predictions.exists() else _files(predictions, '.json'):
        first = len(unmarked)
        for row in _rows_of(path):
            if row.is_whole:
                yield row
            elif row.marks:
                raise IncompleteError(
                    f'{path.name}, row {row.number} is not as it was written: its response, prompt, '
                    'reference or seed was changed since; put the file back from a copy, or move it away '
                    'and run the same command with -r'
                )
            else:
                for name in {'origin_prompt', 'gold'} & row.told.keys():  # the same in n samples: held once
                    row.told[name] = known.setdefault(repr(row.told[name]), row.told[name])
                unmarked.append(row)
        unmarked[first:] = sorted(unmarked[first:], key=lambda one: one.number)
