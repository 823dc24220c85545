"""Runs of OpenCompass on any data set: n samples a question, judged by whichever evaluator, or not yet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError
from ..files import PROVENANCE, mapping
from ..json_entries import JsonEntries
from ..results.health import Generation
from .opencompass import FOLDER, OldRun, check_finished, prompt_text, read_questions, runs_in
from .opencompass_details import (
    DETAILS,
    OWN,
    Judged,
    first_detail,
    has_verdicts,
    is_of_samples,
    is_own,
    read_judged,
    reference_text,
)
from .result_files import ResultFile
from .samples import Notes, Sample, questions_of
from .source import Place, Question, Reading, Responded, Run

if TYPE_CHECKING:
    from ..runs.work_dir import TimeDir

RESULTS = 'results'

_BEGIN = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"0"\s*:\s*\{\s*"(origin_prompt|prediction|gold)"\s*:')
"""How a file of predictions begins."""

_SETTINGS = ('temperature', 'top_p', 'top_k', 'min_p', 'repetition_penalty', 'seed', 'random_seed')
_HOLDERS = ('generation_kwargs', 'gen_config', 'openai_extra_kwargs', 'extra_body')

SEVERAL = '{count} rows have several references, of which the first one is kept'
NO_REFERENCE = '{count} responses have no reference: a judge that is asked about them has nothing to go by'
LISTS = (
    '{count} rows hold several responses each (num_return_sequences), and what the evaluation says of a row '
    'is of none of them alone: their samples are unjudged'
)


@dataclass(frozen=True)
class _Files:
    """What there is of one model on one data set."""

    run: OldRun
    result: Path | None

    @property
    def is_ours(self) -> bool:
        """Whether this package sampled or evaluated it."""
        if self.run.is_ours or any((part.parent / PROVENANCE).is_file() for part in self.run.parts):
            return True
        return not self.run.config and self.result is not None and is_own(self.result)

    @property
    def is_known(self) -> bool:
        """Whether the files look as OpenCompass writes them."""
        if self.run.parts:
            return _begins_as_predictions(self.run.parts[0])
        detail = first_detail(self.result) if self.result else None
        return detail is not None and is_of_samples(detail)


class OpenCompass:
    """The source of work directories of OpenCompass, and of single files of predictions or results there."""

    def recognises(self, place: Place) -> bool:
        """Whether a folder is a work directory, or `<work_dir>/<time>`, with a run of another package.

        A file is recognised by how it begins, predictions, or by the first entry of its details, results.
        """
        if place.path.is_dir():
            return any(True for _ in _of_folder(place.path))
        if _BEGIN.match(place.head):
            return not (_is_of_judge(place.path) or _of_file(place.path).is_ours)
        told = place.first
        return told is not None and OWN not in told and _holds_details(told)

    def read(self, place: Place, reading: Reading) -> list[Run]:
        """Return a run a model and data set."""
        return self.read_all([place], reading)

    def read_all(self, places: Sequence[Place], reading: Reading) -> list[Run]:
        """Return a run a model and data set, also where parts of its predictions are given one by one.

        Raises:
            InputError: there is none.
        """
        found: dict[tuple[Path, str, str], _Files] = {}
        for place in places:
            is_folder = place.path.is_dir()
            for files in _of_folder(place.path, ours=True) if is_folder else [_of_file(place.path)]:
                run = files.run
                found.setdefault((run.time_dir.path.resolve(), run.model, run.dataset), files)
        if not found:
            raise InputError(
                f'{places[0].name} holds no run of OpenCompass; expected a work directory, the one after -w, '
                'a <work_dir>/<time>, or a file of its predictions/ or results/'
            )
        return [run for files in found.values() for run in _runs(files, reading)]


def _holds_details(told: Mapping[str, Any]) -> bool:
    details = told.get(DETAILS)
    rows = list(details.values()) if isinstance(details, dict) else details
    entries = [row for row in rows[:2] if isinstance(row, dict)] if isinstance(rows, list) else []
    return bool(entries) and is_of_samples(entries[0])


def _begins_as_predictions(path: Path) -> bool:
    return _BEGIN.match(Place(path).head) is not None


def _is_of_judge(path: Path) -> bool:
    """Whether a file that begins as predictions is of an LLM judge's replies: those lie among the results."""
    found = (above.name for above in path.absolute().parents if above.name in (FOLDER, RESULTS))
    return next(found, FOLDER) == RESULTS


def _of_folder(path: Path, ours: bool = False) -> Iterator[_Files]:
    """Yield the runs in time directories: those of other packages, with `ours` also those of this one."""
    from ..runs.work_dir import TimeDir, times_in

    times = [path] if _is_time_dir(path) else [path / name for name in sorted(times_in(path))]
    own = []
    for time in filter(_is_time_dir, times):
        for files in _of_time(TimeDir(time)):
            if files.is_ours:
                own.append(files)
            elif files.is_known:
                yield files
    if ours:
        yield from own


def _is_time_dir(path: Path) -> bool:
    return (path / FOLDER).is_dir() or (path / RESULTS).is_dir()


def _of_time(time_dir: TimeDir) -> Iterator[_Files]:
    seen = set()
    for run in runs_in(time_dir):
        seen.add((run.model, run.dataset))
        yield _Files(run, run.result if run.result.is_file() else None)
    for run in runs_in(time_dir, RESULTS):
        if (run.model, run.dataset) not in seen:
            yield _Files(run, run.result)


def _of_file(path: Path) -> _Files:
    """Return the run of a file, with all that is beside it where it lies as OpenCompass puts it."""
    from ..runs.work_dir import TimeDir

    for above in path.resolve().parents:
        if above.name in (FOLDER, RESULTS):
            for files in _of_time(TimeDir(above.parent)):
                known = [*files.run.parts, *([files.result] if files.result else [])]
                if path.resolve() in [one.resolve() for one in known]:
                    return files
    alone = OldRun(TimeDir(path.parent), '', path.stem, {}, {}, ())
    if _begins_as_predictions(path):
        return _Files(replace(alone, parts=(path,)), None)
    return _Files(alone, path)


def _runs(files: _Files, reading: Reading) -> Iterator[Run]:
    run = files.run
    if files.is_ours:
        if files.result and reading.kind is None:
            yield from ResultFile().read(Place(files.result), reading)
    elif run.is_live_math_bench and run.parts:
        remarks: list[str] = []
        questions = _of_live_math_bench(run, reading, remarks)
        yield Run(('responses',), questions, run.model, run.dataset, ks=tuple(run.ks), remarks=remarks)
    else:
        yield _run(files, reading)


def _of_live_math_bench(run: OldRun, reading: Reading, remarks: list[str]) -> Iterator[Responded]:
    from .opencompass_questions import questions_in  # prompts and answers: who only recognises needs none

    found = questions_in(run, read_questions(run), remarks)
    without = sum(not one.question for one in found)
    if without and reading.needs_questions:
        raise InputError(
            f'{without} questions are not in the prediction files of {run.name}, and the judge reads them; '
            'judge by the rule'
        )
    yield from found


def _run(files: _Files, reading: Reading) -> Run:
    run = files.run
    detail = first_detail(files.result) if files.result else None
    judged = detail is not None and reading.kind != 'responses' and has_verdicts(detail, run)
    kinds = (*(['labels'] if judged else []), *(['responses'] if run.parts else []))
    if not kinds:
        raise InputError(
            f'{files.result} tells of no sample whether it is correct, and there are no predictions to judge '
            f'in {run.time_dir.path / FOLDER}'
        )
    notes = Notes(reading)
    reads = _Reads(files, judged, reading, notes)
    return Run(
        kinds,
        reads.questions(),
        run.model,
        run.dataset,
        judge={'name': f'OpenCompass {run.evaluator_class}'.strip()} if judged else {},
        ks=tuple(run.ks) if run.config and run.n > 1 else (),
        settings=_settings(run.model_config),
        remarks=notes,
        written_by='OpenCompass',
    )


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the model sampled, as far as its config says."""
    told = {name: config[name] for name in (*_SETTINGS, 'max_out_len') if name in config}
    for holder in _HOLDERS:
        inner = mapping(config.get(holder))
        told |= {name: inner[name] for name in (*_SETTINGS, 'do_sample') if name in inner}
    return {name: value for name, value in told.items() if isinstance(value, (int, float))}


class _Row(NamedTuple):
    """A row of predictions."""

    number: int
    """Over all parts, from 0."""
    prompt: str
    reference: str
    responses: tuple[str | None, ...]
    generation: Generation
    path: Path
    key: int
    """Its number in its file, from 0."""


@dataclass(frozen=True)
class _Reads:
    """Reads the samples of a run; row = replica × Q + question, as OpenCompass asks them."""

    files: _Files
    judged: bool
    reading: Reading
    notes: Notes

    def questions(self) -> Iterator[Question]:
        """Yield the questions."""
        yield from questions_of(self._samples(), self.reading, self.notes)

    def _samples(self) -> Iterator[Sample]:
        run = self.files.run
        judged = Judged()
        if self.judged and self.files.result:
            judged = read_judged(self.files.result, run, self.notes, self.reading.texts)
        if not run.parts:
            yield from self._without_responses(judged)
        elif judged.n is not None:
            yield from self._of_rows(self._rows(), len(judged.uids), judged.n, judged)
        else:
            rows = list(self._rows())
            n = run.n if run.config else _repeats(rows)
            if len(rows) % n:
                raise self._incomplete(len(rows), f'n = {n} times the same questions')
            if judged.verdicts and len(judged.verdicts) != len(rows):
                raise self._incomplete(len(rows), f'the {len(judged.verdicts)} that were evaluated')
            yield from self._of_rows(iter(rows), len(rows) // n, n, judged)

    def _of_rows(self, rows: Iterator[_Row], size: int, n: int, judged: Judged) -> Iterator[Sample]:
        from .opencompass_questions import asker

        asked = asker(self.files.run)
        total = 0
        for row in rows:
            total += 1
            replica, place = divmod(row.number, size)
            if replica >= n:
                continue  # refused below, with the number of all
            verdict, answer, known = _said_of(judged, row.number, place, replica)
            if len(row.responses) > 1 and verdict:
                verdict, answer = '?', None
                self.notes.say(LISTS)
            uid = judged.uids[place] if judged.uids else f'{self.files.run.dataset}_{place}'
            reference = row.reference or known
            self._check_reference(row, reference, verdict)
            for number, response in enumerate(row.responses):
                yield Sample(
                    uid,
                    asked(row.prompt).question,
                    reference,
                    response,
                    '?' if response is None and verdict else verdict,
                    replica * len(row.responses) + number,
                    answer,
                    row.generation if response is not None else Generation(state='failed'),
                    path=row.path,
                    row=row.key,
                )
        if total != size * n or not total:
            raise self._incomplete(total, f'n = {n} times the {size} questions of its evaluation')

    def _check_reference(self, row: _Row, reference: str, verdict: str) -> None:
        if not reference and not verdict:
            raise InputError(
                f'{row.path}, row {row.key} has no reference answer (gold), and no evaluation tells a verdict'
            )
        if not reference and self.reading.texts:
            self.notes.say(NO_REFERENCE)

    def _without_responses(self, judged: Judged) -> Iterator[Sample]:
        run, path = self.files.run, self.files.result
        n = judged.n or run.n if judged.n or run.config else 1
        rows = len(judged.verdicts)
        if judged.n is None and rows % n:
            raise self._incomplete(rows, f'n = {n} times the same questions')
        size = rows if judged.n else rows // n
        for place in range(size):
            uid = judged.uids[place] if judged.uids else f'{run.dataset}_{place}'
            for replica in range(n):
                number = replica * size + place
                verdict, answer, reference = _said_of(judged, number, place, replica)
                reference = judged.references[place] if judged.references else reference
                yield Sample(uid, '', reference, None, verdict, replica, answer, path=path, row=place)

    def _rows(self) -> Iterator[_Row]:
        before = 0
        check_finished(self.files.run)
        for path in self.files.run.parts:
            size, largest = 0, -1
            for keys, value in JsonEntries(path):
                key = int(keys[0]) if keys[0].isdecimal() else -1
                if key < 0 or not isinstance(value, dict) or 'prediction' not in value:
                    raise InputError(
                        f'{path}, row {keys[0]!r:.40}: expected rows "0", "1", … with origin_prompt, '
                        'prediction and gold'
                    )
                size, largest = size + 1, max(largest, key)
                yield self._row(path, key, before + key, value)
            if largest + 1 != size:
                raise InputError(
                    f'{path}: rows are missing, it has {size} and the last one is number {largest}; finish '
                    'the run with opencompass -r'
                )
            before += size

    def _row(self, path: Path, key: int, number: int, value: Mapping[str, Any]) -> _Row:
        gold, prediction = value.get('gold'), value['prediction']
        if isinstance(gold, list) and len(gold) > 1:
            self.notes.say(SEVERAL)
        told = Generation.from_json(value.get('generation'))
        if isinstance(value.get('res_length'), int):
            told = told._replace(output_tokens=value['res_length'])
        if isinstance(prediction, dict):  # with what the engine said of it
            rollout = mapping(prediction.get('rollout'))
            told = Generation.from_json({**rollout, 'output_tokens': rollout.get('num_tokens')})
            prediction = prediction.get('prediction')
        responses = prediction if isinstance(prediction, list) else [prediction]
        if not responses or not all(one is None or isinstance(one, str) for one in responses):
            raise InputError(
                f'{path}, row {key}: prediction is {prediction!r:.60}; expected a text, or a list of texts'
            )
        if len(responses) > 1:
            told = Generation()
        prompt = prompt_text(value.get('origin_prompt'))
        return _Row(
            number, prompt, '' if gold is None else reference_text(gold), tuple(responses), told, path, key
        )

    def _incomplete(self, rows: int, expected: str) -> InputError:
        return InputError(
            f'{self.files.run.parts[0] if self.files.run.parts else self.files.result}: {rows} rows are not '
            f'{expected}: rows are missing, or are of another n than its config or its evaluation. Finish '
            'the run with opencompass -r, or evaluate it again; --as responses judges what is there anew'
        )


def _said_of(judged: Judged, number: int, place: int, replica: int) -> tuple[str, str | None, str]:
    """Return verdict, answer and reference of a sample, as its evaluation tells them."""
    if not judged.verdicts:
        return '', None, ''
    index, at = (place, replica) if judged.n is not None else (number, 0)
    answers = judged.answers[index] if judged.answers else ()
    return judged.verdicts[index][at], answers[at] if answers else None, judged.references[index]


def _repeats(rows: Sequence[_Row]) -> int:
    """Return how often the rows repeat the same questions in the same order."""
    asked = [(row.prompt, row.reference) for row in rows]
    sizes = (size for size in count(1) if size >= len(rows) or len(rows) % size == 0)
    for size in sizes:
        if size >= len(rows) or all(asked[at] == asked[at % size] for at in range(size, len(rows))):
            return max(len(rows) // size, 1)
    return 1
