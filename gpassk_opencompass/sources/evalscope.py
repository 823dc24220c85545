"""The source of EvalScope: its reviews, with the predictions, the config and the reports of the run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import mapping
from ..json_lines import Row
from .evalscope_run import RunFolder
from .evalscope_samples import PREDICTIONS, REVIEWS, Files, Subset, kind_of, rows_of, score_in
from .samples import Notes, questions_of
from .source import Place, Question, Reading, Run

_FIELDS = {
    'correct': 'the score that is the verdict',
    'reference': 'the key of the metadata that holds the reference',
}
"""What a reader may be told of the files."""

_USUAL = ('acc', 'accuracy', 'exact_match')
"""Scores of which one is the verdict where EvalScope names no main one; else its first."""

_UNFINISHED = 'EvalScope wrote no report of this run: it is still going on, or broke off'
_SEVERAL = 'the verdicts are the score {name!r} of {names}; --field correct=NAME takes another'
_LOOKED_AT = 3


class EvalScope:
    """The source of EvalScope's work directories (`outputs/<time>`), and of their files one by one."""

    def recognises(self, place: Place) -> bool:
        """Whether a folder is a work directory, its `reviews` or `predictions`; or a file one of theirs."""
        if place.path.is_dir():
            with suppress(OSError):
                found = islice((part.path for part in _parts_in(place.path)), _LOOKED_AT)
                return any(kind_of(Place(path).first) for path in found)
            return False
        return kind_of(place.first) is not None

    def read(self, place: Place, reading: Reading) -> list[Run]:
        """Return a run a model and benchmark; its subsets are splits.

        Raises:
            InputError: the files are of another program, or damaged, or hold no field that is asked for.
        """
        return self.read_all([place], reading)

    def read_all(self, places: Sequence[Place], reading: Reading) -> list[Run]:
        """Return the runs of several files and folders; errors are those of `read`."""
        if unknown := sorted(set(reading.fields) - set(_FIELDS)):
            known = ' or '.join(f'{name} ({meaning})' for name, meaning in _FIELDS.items())
            raise InputError(f'EvalScope has no field {unknown[0]!r} to choose; expected {known}')
        found = {part.key: part for place in places for part in _parts_of(place)}
        folders: dict[tuple[Path | None, str], RunFolder] = {}
        runs: dict[tuple[Path | None, str, str], list[Files]] = {}
        for part in found.values():
            key = part.root, part.model
            folder = folders.setdefault(key, RunFolder(*key))
            benchmark, subset = folder.parted(part.stem)
            runs.setdefault((*key, benchmark), []).append(
                Files(
                    subset,
                    part.of(REVIEWS),
                    part.of(PREDICTIONS),
                    folder.repeats(benchmark),
                    folder.planned(benchmark, subset),
                )
            )
        return [_run(folders[key[:2]], key[2], files, reading) for key, files in runs.items()]


class _Part(NamedTuple):
    """The files of one subset, of which one of the two kinds may be missing.

    root: the work directory; None of files that lie elsewhere.
    model: the folder in `reviews` and `predictions`, or what a file elsewhere says.
    path: a file of it, for what is to be known before the run is read.
    """

    root: Path | None
    model: str
    stem: str
    path: Path

    @property
    def key(self) -> tuple[Path | None, str, str]:
        """Return what is the same for the two files of one subset."""
        return self[:3] if self.root else (None, '', str(self.path))

    def of(self, kind: str) -> Path | None:
        """Return the file of a kind; None where there is none."""
        if self.root is None:
            return self.path if kind_of(Place(self.path).first) == kind else None
        path = self.root / kind / self.model / f'{self.stem}.jsonl'
        return path if path.is_file() else None


def _parts_of(place: Place) -> Iterator[_Part]:
    """Return the parts of a folder, or the one of a file."""
    if place.path.is_dir():
        yield from _known(place, list(_parts_in(place.path)))
        return
    if kind_of(place.first) is None:
        raise InputError(
            f'{place.name} is no file of EvalScope: expected rows with index and sample_score (a review) or '
            'model_output (a prediction)'
        )
    path = Path(os.path.abspath(place.path))
    if path.suffix == '.jsonl' and (part := _part(path)):
        yield part
    else:
        yield _Part(None, _model_in(place), place.path.name.split('.jsonl')[0], place.path)


def _known(place: Place, parts: Sequence[_Part]) -> Sequence[_Part]:
    if not parts:
        raise InputError(
            f'{place.name} holds no reviews of EvalScope: expected its work directory, outputs/<time>, with '
            f'{REVIEWS}/<model>/<benchmark>_<subset>.jsonl'
        )
    return parts


def _parts_in(folder: Path) -> Iterator[_Part]:
    """Return the parts of a work directory, or of a folder within its `reviews` or `predictions`."""
    whole = Path(os.path.abspath(folder))
    of_kind = _root_of(whole / 'file')
    seen = set()
    for start in [whole] if of_kind else [whole / REVIEWS, whole / PREDICTIONS]:
        for path in sorted(start.rglob('*.jsonl')):
            part = _part(path)
            if part and part.key not in seen and not _is_foreign(path):
                seen.add(part.key)
                yield part


def _is_foreign(path: Path) -> bool:
    """Whether a file begins with a row of another program; a damaged or an empty one may be EvalScope's."""
    first = Place(path).first
    return first is not None and kind_of(first) is None


def _part(path: Path) -> _Part | None:
    """Return the part of a file in a work directory; None of one that lies elsewhere."""
    root = _root_of(path)
    if root is None:
        return None
    return _Part(root, '/'.join(path.relative_to(root).parts[1:-1]), path.stem, path)


def _root_of(path: Path) -> Path | None:
    """Return the work directory of a file, by the name of the folder that it lies in, or one above."""
    return next((above.parent for above in path.parents if above.name in (REVIEWS, PREDICTIONS)), None)


def _model_in(place: Place) -> str:
    """Return the model that a row names; '' where none does."""
    row = place.first or {}
    messages = row.get('messages')
    told = [row, *(messages if isinstance(messages, list) else [])]
    names = [one.get('model') for one in told if isinstance(one, dict)]
    return next((name for name in names if isinstance(name, str)), '')


def _run(folder: RunFolder, benchmark: str, files: Sequence[Files], reading: Reading) -> Run:
    notes = Notes(reading)
    if folder.has_config(benchmark) and not folder.has_report(benchmark):
        notes.say(_UNFINISHED)
    verdict = _verdict_in(files, reading)
    if len(verdict.there) > 1:
        notes.say(_SEVERAL.format(name=verdict.metric, names=', '.join(verdict.there)))
    judge = {'name': f'{verdict.metric} of EvalScope', 'metric': verdict.metric, **folder.judging}
    return Run(
        _kinds(next(_reviews(files), None), verdict, reading),
        _questions(folder, benchmark, files, verdict, reading, notes),
        folder.model,
        benchmark,
        {**judge, **({'models': verdict.models} if verdict.models else {})} if verdict.there else {},
        settings=folder.settings,
        where=lambda number: f'{folder.name}, question {number} of {benchmark}',
        remarks=notes,
        written_by=folder.written_by,
    )


class _Verdict(NamedTuple):
    """Which score is the verdict.

    there: the names of all scores that the first scored review has; [] where none is scored.
    models: those that judged.
    """

    metric: str
    there: list[str]
    models: list[Any]


def _questions(
    folder: RunFolder,
    benchmark: str,
    files: Sequence[Files],
    verdict: _Verdict,
    reading: Reading,
    notes: Notes,
) -> Iterator[Question]:
    if verdict.there and verdict.metric not in verdict.there:
        raise InputError(
            f'EvalScope gave {benchmark} no score {verdict.metric!r}; there is {", ".join(verdict.there)}'
        )
    if next(_reviews(files), None) is None:
        _check_can_be_judged(folder, benchmark, files, reading)
    splits = {one.subset for one in files} - {'default'}
    subsets = [Subset(one, one.subset if splits else '', verdict.metric, reading, notes) for one in files]
    samples = chain.from_iterable(subset.samples() for subset in subsets)
    yield from questions_of(samples, reading, notes, size=folder.repeats(benchmark))


def _reviews(files: Sequence[Files]) -> Iterator[Row]:
    return (row for one in files if one.reviews for _, row in rows_of(one.reviews))


def _check_can_be_judged(folder: RunFolder, benchmark: str, files: Sequence[Files], reading: Reading) -> None:
    """Raise InputError where there are predictions alone, without references or without an order."""
    path = files[0].predictions or files[0].reviews
    if 'reference' not in reading.fields:
        raise InputError(
            f'{path}: there are no reviews, and predictions hold no reference answers: have EvalScope review '
            'them (run it again with use_cache), or name the key of their metadata that has the answers: '
            '--field reference=KEY'
        )
    if folder.repeats(benchmark) is None:
        raise InputError(
            f'{path}: there are no reviews, and nothing tells which predictions are of one question: '
            'expected the configs/task_config.yaml of the run, with its repeats'
        )


def _kinds(first: Row | None, verdict: _Verdict, reading: Reading) -> tuple[str, ...]:
    """Return as what a run can be scored, by its first review."""
    if first is None:
        return ('responses',)
    text = score_in(first).get('prediction') is not None or bool(first.get('messages'))
    judgeable = text and (bool(first.get('target')) or 'reference' in reading.fields)
    labels = ['labels'] if verdict.there or not judgeable else []
    return (*labels, 'responses') if judgeable else ('labels',)


def _verdict_in(files: Sequence[Files], reading: Reading) -> _Verdict:
    """Return which score is the verdict, by the first review that has one."""
    asked = reading.fields.get('correct')
    for row in _reviews(files):
        score = score_in(row)
        if there := list(mapping(score.get('value'))):
            usual = [name for name in (score.get('main_score_name'), *_USUAL, there[0]) if name in there]
            models = mapping(score.get('judge_summary')).get('judge_models')
            return _Verdict(asked or str(usual[0]), there, models if isinstance(models, list) else [])
    return _Verdict(asked or '', [], [])
