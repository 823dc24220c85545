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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from loguru import logger

from .errors import IncompleteError, InputError
from .files import PROVENANCE, mapping, parse_json
from .health import Generation, generation_columns
from .json_rows import json_entries
from .marks import Notes, append, difference, known_by_content, other_model, read_notes
from .record import digest_of
from .text import utc_now

JOURNAL = '.rows.jsonl'
_SHARD = re.compile(r'_\d+$')
_LINE = re.compile(rb'(?:"(\d+)": )?(\{.*\}),?\r?\n', re.DOTALL)


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


_CHECKED = ('seed', 'task', 'source', 'uid', 'replica', 'question', 'settings')


def _check(row: Mapping[str, Any]) -> str:
    marks = mapping(row.get('sample'))
    held = [row.get(name) for name in ('generation', 'gold', 'origin_prompt', 'prediction')]
    return digest_of([*held, *map(marks.get, _CHECKED)])[:16]


def is_whole(row: Mapping[str, Any]) -> bool:
    """Return whether a row with marks is as it was written."""
    return _check(row) == mapping(row.get('sample')).get('check')


# Files


def without_shard(stem: str) -> str:
    """Return the name of a data set without the number of its shard."""
    return _SHARD.sub('', stem)


def journal_of(predictions: Path) -> Path:
    """Return where rows lie while they are drawn."""
    return predictions.with_name(f'{predictions.stem}{JOURNAL}')


def results_above(out: Path) -> Path:
    """Return `<work_dir>/<time>/results`; a model with a `/` in its name has a folder in a folder there."""
    return next((above for above in out.parents[1:] if above.name == 'results'), out.parents[1])


def _own_files(predictions: Path, suffix: str) -> list[Path]:
    """Return the files of a data set, whole or in shards, in their order."""
    own = re.compile(re.escape(predictions.stem) + r'(_\d+)?' + re.escape(suffix))
    with suppress(OSError):
        return sorted(
            filter(lambda path: own.fullmatch(path.name), predictions.parent.iterdir()), key=_number
        )
    return []


def _number(path: Path) -> int:
    tail = path.name.partition('.')[0].rpartition('_')[2]
    return int(tail) if tail.isdecimal() else -1


def count_rows(path: Path) -> int | None:
    """Return how many rows a file of predictions, or a journal, has; None if it cannot be read."""
    try:
        return sum(1 for _ in read_rows(path))
    except (OSError, InputError):
        return None


def read_rows(path: Path) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Yield the rows of a file with their numbers, None in a journal; a row that a kill has torn is left out.

    Raises:
        InputError: predictions that are no JSON, or hold something else than rows.
    """
    if path.name.endswith(JOURNAL) or _has_lines(path):
        with path.open('rb') as file:
            for _, number, row in _rows_of_lines(file):
                yield number, row
        return
    for (name,), row in json_entries(path):
        if not isinstance(row, dict) or not name.isdecimal():
            raise InputError(f'{path}: {row!r:.40} stands where a row of predictions was expected')
        yield int(name), row


def _has_lines(path: Path) -> bool:
    with path.open('rb') as file:
        return file.read(8).startswith(b'{\n"')


def _rows_of_lines(file: IO[bytes]) -> Iterator[tuple[tuple[int, int], int | None, dict[str, Any]]]:
    """Yield (place, length), number, and row of each whole line."""
    place = file.tell()
    for line in file:
        if found := _LINE.fullmatch(line):
            with suppress(ValueError):
                row = parse_json(found[2])
                if isinstance(row, dict):
                    at = place + found.start(2), found.end(2) - found.start(2)
                    yield at, None if found[1] is None else int(found[1]), row
        place += len(line)


@contextmanager
def held(predictions: Path) -> Iterator[None]:
    """Keep every other task off these predictions within the block; a kill lets go of them.

    Raises:
        IncompleteError: another task is at work on them; says where it runs.
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
        holder = mapping(_json_in(path))
        who = f'process {holder.get("pid")} on {holder.get("host")}, since {holder.get("since")}'
        raise IncompleteError(f'{predictions.stem}: another task is at work on it ({who})') from None


def _json_in(path: Path) -> Any:
    with suppress(OSError, ValueError):
        return parse_json(path.read_bytes())
    return None


def mismatches(
    row: Mapping[str, Any], sample: Sample, notes: Notes, settings: Mapping[str, Any]
) -> dict[str, str]:
    """Return in what a row with marks was drawn for something else than a sample: of `KEEP`, and in words.

    Args:
        notes: beside the row.
        settings: what `sample.settings` is the mark of.
    """
    marks, found = row['sample'], {}
    if marks.get('settings') != sample.settings:
        was = notes.settings.get(str(marks.get('settings')))
        told = f'settings that {PROVENANCE} does not tell' if was is None else difference(was, settings)
        found['settings'] = told.lstrip('.')
    which = sample.uid, sample.replica, sample.question
    if (marks.get('uid'), marks.get('replica'), marks.get('question')) != which:
        found['questions'] = f'another question, {str(row.get("origin_prompt"))[-160:]!r}'
    was, now = row.get('gold'), sample.reference
    if was != now and repr(was) != repr(now):  # nan is not nan
        found['references'] = f'the reference {was!r:.60}, and has {now!r:.60} now'
    return found


# Rows to go on with


class Rows:
    """The rows of one file of predictions: found where they lie, added, published. Hold its lock.

    Args:
        predictions: the file that the finished shard will have.
        dataset: abbreviation of the data set, without the number of a shard.
        samples: all that are asked for.
        identity: of the model, as the config has it now.
        settings: what `Sample.settings` is the mark of.
        keep: of `KEEP`: what may have changed since rows were drawn.
        command: the `gpassk run` that draws, if one does, and the servers that it asks.
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
        self._drawn_by = {'command': command} if command else {}
        self.predictions, self.journal = predictions, journal_of(predictions)
        self._dataset, self._identity, self._settings, self._keep = dataset, identity, settings, keep
        self._missing = {sample.task: sample for sample in samples}
        self._samples, self.size = samples, len(samples)
        self.states: list[str] = []
        """Of the rows that are there, those of `health.STATES`."""
        self._places: dict[str, tuple[Path, int, int]] = {}
        self._files: dict[Path, IO[bytes]] = {}  # kept open: a shard that ends drops its journal
        self._notes: dict[Path, Notes] = {}

    def find(self, elsewhere: Iterable[Path] = (), top_up: bool = False) -> list[Sample]:
        """Look for rows on disk, and return the samples that have none.

        Args:
            elsewhere: folders of predictions whose rows may be taken too, those of the longest files first.
            top_up: take them of a model that is not known by its content as well.

        Raises:
            IncompleteError: a row of this data set was drawn from something else; it is named.
        """
        folder = self.predictions.parent
        others: dict[tuple[Any, Any], tuple[Path, dict[str, Any], tuple[Path, int, int]]] = {}
        whole = folder / f'{self._dataset}.json'
        for path in (*_own_files(whole, JOURNAL), *_own_files(whole, '.json')):
            for row, place in self._rows_in(path):
                marks = row['sample']
                if marks.get('dataset') != self._dataset:
                    continue
                sample = self._missing.get(marks['task'])
                if sample is not None and not self._mismatches(row, sample, folder):
                    self._take(sample, row, place)
                elif marks['task'] not in self._places:
                    others[marks.get('number'), marks.get('replica')] = path, row, place
        for sample in list(self._missing.values()):
            if (other := others.get((sample.number, sample.replica))) is None:
                continue
            path, row, place = other
            found = self._mismatches(row, sample, folder)
            wrong = {what: told for what, told in found.items() if what not in self._keep}
            if not wrong:
                self._take(sample, row, place)
            elif row['sample']['task'] not in self._places:
                what, told = next(iter(wrong.items()))
                allow = (
                    '' if what == 'model' else f"; to go on all the same: keep=['{what}'] of inferencer and "
                )
                allow += '' if what == 'model' else f'evaluator, or --keep {what} of gpassk run'
                raise IncompleteError(
                    f'{path.name}: question {sample.number}, replica {sample.replica} was drawn with {told}: '
                    f'go back to it, or start anew, without -r or in another work directory{allow}'
                )
        self._find_elsewhere(elsewhere, top_up)
        return list(self._missing.values())

    def _find_elsewhere(self, folders: Iterable[Path], top_up: bool) -> None:
        mark, command = digest_of(self._settings)[:16], self._drawn_by.get('command')
        files = []
        for folder in folders if self._missing else ():
            if mark in self._notes_of(folder).settings:
                found = [*folder.glob('*.json'), *folder.glob(f'*{JOURNAL}')]
                files += [(path.stat().st_size, path) for path in found]
        for _, path in sorted(files, key=lambda one: (-one[0], str(one[1]))):
            if not self._missing:
                return
            taken = 0
            for row, _ in self._rows_in(path):
                marks = row['sample']
                sample = self._missing.get(marks.get('task'))
                if sample is None or self._mismatches(row, sample, path.parent):
                    continue
                source = self._notes_of(path.parent).sources[marks['source']]
                same_command = command is not None and marks.get('command') == command
                if not (known_by_content(source) or same_command or top_up):
                    continue
                marks |= {'number': sample.number, 'dataset': self._dataset}
                marks['taken_from'] = marks.get('taken_from') or '/'.join(
                    path.parts[-5:-3] or path.parts[-1:]
                )
                self.add(row)
                taken += 1
            if taken:
                logger.info(f'{self.predictions.stem}: {taken} samples are taken from {path}')

    def _mismatches(self, row: Mapping[str, Any], sample: Sample, folder: Path) -> dict[str, str]:
        """Return in what a row is not one to go on with: of `KEEP` or 'model', and in words."""
        marks, notes = row['sample'], self._notes_of(folder)
        found = mismatches(row, sample, notes, self._settings)
        if not found and row.get('origin_prompt') != sample.prompt:
            found['questions'] = f'another prompt, {str(row.get("origin_prompt"))[-160:]!r}'
        if not found and marks.get('seed') != sample.seed:
            found['settings'] = f'the seed {marks.get("seed")}, and has {sample.seed} now'
        source = notes.sources.get(str(marks.get('source')))
        if source is None:
            found['model'] = f'a model that {PROVENANCE} beside it does not tell'
        elif told := other_model(source, self._identity):
            found['model'] = told
        return found

    def _rows_in(self, path: Path) -> Iterator[tuple[dict[str, Any], tuple[Path, int, int]]]:
        """Yield the rows of a file that have marks and are as they were written."""
        try:
            file = self._opened(path)
        except OSError:  # a shard that ended meanwhile
            return
        file.seek(0)
        for at, _, row in _rows_of_lines(file):
            if isinstance(row.get('sample'), dict) and is_whole(row):
                yield row, (path, *at)

    def _opened(self, path: Path) -> IO[bytes]:
        if path not in self._files:
            self._files[path] = path.open('rb')
        return self._files[path]

    def _notes_of(self, folder: Path) -> Notes:
        if folder not in self._notes:
            self._notes[folder] = read_notes(folder)
        return self._notes[folder]

    def row(self, sample: Sample, source: str, text: Any, generation: Generation) -> dict[str, Any]:
        """Return the row of predictions of a response; `source` is the mark of the model's identity."""
        marks = {'uid': sample.uid, 'replica': sample.replica, 'seed': sample.seed, 'number': sample.number}
        marks |= {'dataset': self._dataset, 'question': sample.question}
        marks |= {'settings': sample.settings, 'source': source, 'task': sample.task}
        told = generation.as_json()
        row = {'sample': marks, **({'generation': told} if told else {})}
        row |= {'gold': sample.reference, 'origin_prompt': sample.prompt, 'prediction': text}
        return row | {'sample': {**marks, **self._drawn_by, 'check': _check(row)}}

    def _take(self, sample: Sample, row: Mapping[str, Any], place: tuple[Path, int, int]) -> None:
        self._places[sample.task] = place
        if state := Generation.from_json(row.get('generation')).state:
            self.states.append(state)
        self._missing.pop(sample.task, None)

    def add(self, row: Mapping[str, Any]) -> None:
        """Append the row of a sample that has none."""
        line = json.dumps(row, ensure_ascii=True).encode()  # no U+2028, no half of a character
        append(self.journal, line)
        task = row['sample']['task']
        self._places[task] = self.journal, self.journal.stat().st_size - len(line) - 1, len(line)
        self._missing.pop(task, None)

    def publish(self) -> None:
        """Write the predictions in one step, in the order of the samples, without holding the responses."""
        draft = self.predictions.with_suffix(f'.part{os.getpid()}')
        with draft.open('wb') as out:
            for number, sample in enumerate(self._samples):
                out.write(
                    b'%s"%d": %s'
                    % (b',\n' if number else b'{\n', number, self._raw(self._places[sample.task]))
                )
            out.write(b'\n}\n' if self._samples else b'{}\n')
        draft.replace(self.predictions)
        own = {sample.task for sample in self._samples}
        # With another number of workers it may hold rows of a shard that is still to come.
        if self.journal.exists() and all(
            row['sample'].get('task') in own for row, _ in self._rows_in(self.journal)
        ):
            self.journal.unlink()

    def _raw(self, place: tuple[Path, int, int]) -> bytes:
        path, start, size = place
        file = self._opened(path)
        file.seek(start)
        return file.read(size)

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files.values():
            file.close()


def other_runs(folder: Path) -> list[Path]:
    """Return the folders of predictions from which rows may be taken, that of this run among them.

    With `gpassk run` they are those of all runs below its -w ($GPASSK_WORK_DIR), else of all time directories
    beside this one.

    Args:
        folder: `<work_dir>/<time>/predictions/<model>`.
    """
    above = next((one for one in folder.parents if one.name == 'predictions'), None)
    if above is None:
        return []
    root, depth = above.parents[1], '*'
    if (outputs := os.environ.get('GPASSK_WORK_DIR')) and above.is_relative_to(outputs):
        root, depth = Path(outputs), '/'.join('*' * len(above.relative_to(outputs).parts[:-1]))
    return [path.parent for path in sorted(root.glob(f'{depth}/predictions/**/{PROVENANCE}'))]


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
    unmarked: list[Mapping[str, Any]]
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
    OpenCompass has put them.

    Args:
        predictions: `…/predictions/<model>/<dataset>.json`, which may lie there as `<dataset>_0.json`, ….
        samples: the rows, without prompts.
        settings: what `Sample.settings` is the mark of.
        keep: of `KEEP`: what may have changed since they were drawn.

    Raises:
        IncompleteError: rows are missing, were changed since, or are of other questions, references, settings
            or models than they should be.
    """
    notes, shared = read_notes(predictions.parent), dict[Any, Any]()
    wanted = {sample.task: at for at, sample in enumerate(samples)}
    found: dict[int, tuple[dict[str, Any], tuple[Path, int]]] = {}
    others: dict[tuple[Any, Any], tuple[dict[str, Any], tuple[Path, int]]] = {}
    unmarked: list[tuple[dict[str, Any], tuple[Path, int]]] = []
    for path in [predictions] if predictions.exists() else _own_files(predictions, '.json'):
        of_file: dict[int, dict[str, Any]] = {}
        for number, row in _readable_rows(path):
            _share(row, shared)
            marks = row.get('sample')
            if not isinstance(marks, dict) or 'task' not in marks:
                of_file[number] = row
                continue
            place = path, number + 1
            if not is_whole(row):
                raise IncompleteError(
                    f'{path.name}, row {number} is not as it was written: its response, prompt, reference or '
                    'seed was changed since; put the file back from a copy, or move it away and run the same '
                    'command with -r'
                )
            if (at := wanted.get(marks['task'])) is not None:
                found.setdefault(at, (row, place))
            else:
                others[marks.get('number'), marks.get('replica')] = row, place
        unmarked += [(row, (path, number + 1)) for number, row in sorted(of_file.items())]
    if unmarked and (found or others):
        raise IncompleteError(f'{unmarked[0][1][0].name}: {_MIXED}')
    if unmarked:
        return _without_marks(unmarked)
    warnings: dict[str, str] = {}
    for at, sample in enumerate(samples):
        if at not in found:
            found[at] = _in_its_place(predictions, sample, others, notes, settings, keep, warnings)
    return _with_marks([found[at] for at in range(len(samples))], notes, list(warnings.values()))


_MIXED = (
    'rows without marks lie beside rows with them: two runs are in one folder; sample anew in another one'
)


def _readable_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        for number, row in read_rows(path):
            yield -1 if number is None else number, row
    except (OSError, InputError) as error:
        raise IncompleteError(
            f'{path} cannot be read as predictions ({type(error).__name__}: {error}): put it back from a '
            'copy, or move it away and run the same command with -r to sample its rows anew'
        ) from error


def _share(row: dict[str, Any], known: dict[Any, Any]) -> None:
    """Hold what n samples of a question repeat, its prompt and reference, once."""
    for name in ('origin_prompt', 'gold'):
        if name in row:
            row[name] = known.setdefault(repr(row[name]), row[name])


def _in_its_place(
    predictions: Path,
    sample: Sample,
    others: Mapping[tuple[Any, Any], tuple[dict[str, Any], tuple[Path, int]]],
    notes: Notes,
    settings: Mapping[str, Any],
    keep: Collection[str],
    warnings: dict[str, str],
) -> tuple[dict[str, Any], tuple[Path, int]]:
    """Return the row that was drawn for the place of a sample, if what differs may."""
    other = others.get((sample.number, sample.replica))
    if other is None:
        reopen(predictions)
        raise IncompleteError(
            f'{predictions.stem}: question {sample.number}, replica {sample.replica} has no row: run the '
            'same command with -r, which draws what is missing'
        )
    row, (path, number) = other
    found = mismatches(row, sample, notes, settings)
    if wrong := [what for what in found if what not in keep]:
        raise IncompleteError(
            f'{path.name}, row {number - 1} (question {sample.number}, replica {sample.replica}) was drawn '
            f'with {found[wrong[0]]}. Go back to what it was drawn with, or start anew in another work '
            f"directory; to score it all the same: keep=['{wrong[0]}'] of GPassKEvaluator, or --keep "
            f'{wrong[0]} of gpassk run'
        )
    for what, told in found.items():
        warnings.setdefault(what, f'scored although {what} changed since sampling, as keep says: {told}')
    return other


def reopen(predictions: Path) -> None:
    """Let finished files be gone on with: OpenCompass draws nothing for one that is there.

    So does a later run of more samples, or of other shards, find their rows in a journal.
    """
    if not _own_files(predictions, JOURNAL):
        for path in _own_files(predictions, '.json'):
            path.rename(journal_of(path))


def _with_marks(
    found: Sequence[tuple[dict[str, Any], tuple[Path, int]]], notes: Notes, warnings: list[str]
) -> Predictions:
    marks = [row['sample'] for row, _ in found]
    settings = list(dict.fromkeys(str(one.get('settings')) for one in marks))
    names = list(dict.fromkeys(str(one.get('source')) for one in marks))
    sources = [notes.sources.get(name, {}) for name in names]
    for other in sources[1:]:
        if told := other_model(sources[0], other) and other_model(other, sources[0]):
            path = found[next(at for at, one in enumerate(marks) if one.get('source') == names[1])][1][0]
            raise IncompleteError(
                f'{path.name} holds samples of two models: {told}. Move the wrong ones away, or start anew '
                'in another work directory'
            )
    return Predictions(
        [row.get('prediction') for row, _ in found],
        [Generation.from_json(row.get('generation')) for row, _ in found],
        [one.get('seed') for one in marks],
        [one['task'] for one in marks],
        [place for _, place in found],
        [],
        notes.settings.get(settings[0], {}),
        sources,
        dict(Counter(str(one['taken_from']) for one in marks if one.get('taken_from'))),
        warnings,
    )


def _without_marks(rows: Sequence[tuple[dict[str, Any], tuple[Path, int]]]) -> Predictions:
    known = [mapping(row.get('sample')) for row, _ in rows]  # of versions before marks
    return Predictions(
        [row.pop('prediction', None) for row, _ in rows],
        [Generation.from_json(row.get('generation')) for row, _ in rows],
        [one.get('seed') for one in known],
        [None] * len(rows),
        [place for _, place in rows],
        [row for row, _ in rows],
        warnings=['not known what model and settings the samples were drawn with'],
    )
