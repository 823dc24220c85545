"""NeMo-Skills: the outputs of `ns eval` and `ns generate`, a file a seed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..json_lines import JsonRows, Row
from ..results.health import Generation
from .samples import Notes, Sample, as_text, questions_of, with_thought
from .source import Place, Reading, Run

_NAME = re.compile(r'(?P<stem>.+?)(-rs(?P<seed>\d+))?(_chunk_(?P<chunk>\d+))?\.jsonl(?P<unfinished>-async)?')
_USUAL_STEM = 'output'
_JUDGED, _BEFORE_JUDGING = 'eval-results', 'tmp-eval-results'
"""Folders of `ns eval`: of what is finished, and of responses that an LLM judge still has to see."""

_VERDICTS = ('judgement', 'symbolic_correct', 'is_correct')
"""Fields with a verdict, the one that counts first; the last is of versions before 0.7."""

_TOO_LONG = 'context_window_exceeded'

_DIFFERENT = '{count} judgements differ from symbolic_correct, which does not count here'
_NEITHER = (
    '{count} judgements say neither "Judgement: Yes" nor "Judgement: No" and are unjudged; NeMo-Skills '
    'counts them as incorrect'
)
_WAITING = f'the same responses before they were judged, in {_BEFORE_JUDGING}, are not counted'
_REPEATED = (
    '{count} lines repeat the id of an earlier line and count as questions of their own: were chunks merged '
    'twice?'
)


class NemoSkills:
    """The source of NeMo-Skills' `output-rs<seed>.jsonl` in a folder, and of `output.jsonl`, another run.

    The files of the seeds hold the same questions in the same order and are read side by side, so that no
    more than one question is in memory.
    """

    def recognises(self, place: Place) -> bool:
        """Whether a file begins with a generation and an expected answer, or a folder holds such outputs."""
        return _is_output(place.first) or any(
            _is_output(Place(one.path).first) for one in _outputs_in(place.path)
        )

    def read(self, place: Place, reading: Reading) -> list[Run]:
        """Return the runs of a folder or file: that of the seeds, and that of `output.jsonl`."""
        return self.read_all([place], reading)

    def read_all(self, places: Sequence[Place], reading: Reading) -> list[Run]:
        """Return the runs of several folders and files; files of one folder are seeds of one run.

        Raises:
            InputError: a run has no seed that is finished, or begins with no output of NeMo-Skills.
        """
        given: dict[tuple[Path, str, bool], dict[Path, _Output]] = {}
        for place in places:
            for one in list(_outputs_in(place.path)) or [_output(place.path)]:
                given.setdefault((one.path.parent, one.stem, one.seed is not None), {})[one.path] = one
        judged = {folder.absolute() for folder, _, _ in given}
        waiting = {folder for folder, _, _ in given if _twin(folder) in judged}
        told = {_twin(folder) for folder in waiting}
        runs = []
        for (folder, stem, seeded), outputs in given.items():
            if folder in waiting:
                continue
            greedy = not seeded and (folder, stem, True) in given
            notes = Notes(reading)
            if folder.absolute() in told:
                notes.say(_WAITING)
            for path in _others_in(folder) if len(outputs) > 1 else ():
                notes.say(f'{path.name} is not counted: its name is none of an output')
            runs.append(_run(folder, '-greedy' if greedy else '', list(outputs.values()), reading, notes))
        return runs


class _Output(NamedTuple):
    """What the name of a file tells."""

    path: Path
    stem: str = ''
    seed: int | None = None
    chunk: int | None = None
    unfinished: bool = False


def _output(path: Path) -> _Output:
    found = _NAME.fullmatch(path.name)
    if not found:
        return _Output(path, path.stem)
    seed, chunk = (int(found[name]) if found[name] else None for name in ('seed', 'chunk'))
    return _Output(path, found['stem'], seed, chunk, bool(found['unfinished']))


def _outputs_in(folder: Path) -> Iterator[_Output]:
    """Return the outputs of a folder by their names; nothing of what is no folder, or cannot be read."""
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            if _NAME.fullmatch(path.name) and (one := _output(path)).stem == _USUAL_STEM:
                yield one


def _others_in(folder: Path) -> Iterator[Path]:
    """Return the files of rows in a folder that are no outputs by their names."""
    names = {one.path.name for one in _outputs_in(folder)}
    yield from (path for path in sorted(folder.glob('*.jsonl')) if path.name not in names)


def _is_output(row: Row | None) -> bool:
    return row is not None and isinstance(row.get('generation'), str) and 'expected_answer' in row


def _twin(folder: Path) -> Path | None:
    """Return where the judged responses of a folder go; None of a folder that waits for no judge."""
    parts = folder.absolute().parts
    if _BEFORE_JUDGING not in parts:
        return None
    return Path(*(_JUDGED if part == _BEFORE_JUDGING else part for part in parts))


def _names(folder: Path) -> tuple[str, str]:
    """Return model and benchmark by `<model>/eval-results/<benchmark>`; else the folder is the benchmark."""
    parts = folder.absolute().parts
    for name in (_JUDGED, _BEFORE_JUDGING):
        if name in parts[1:-1]:
            at = len(parts) - 1 - parts[::-1].index(name)
            return parts[at - 1].strip('/'), '/'.join(parts[at + 1 :])
    return '', parts[-1].strip('/')


class _Seed(NamedTuple):
    number: int | None
    paths: tuple[Path, ...]
    """The file, or its chunks in their order."""

    def rows(self) -> Iterator[tuple[Path, int, Row]]:
        for path in self.paths:
            yield from ((path, number, row) for number, row in JsonRows(path))

    @property
    def name(self) -> str:
        return self.paths[0].name if len(self.paths) == 1 else f'{self.paths[0].name}, …'


def _seeds(outputs: Iterable[_Output], notes: Notes) -> list[_Seed]:
    """Return the finished seeds by their numbers; the others are told of."""
    by_seed: dict[int | None, list[_Output]] = {}
    for one in outputs:
        by_seed.setdefault(one.seed, []).append(one)
    seeds, unfinished = [], []
    for number in sorted(by_seed, key=lambda seed: -1 if seed is None else seed):
        parts = by_seed[number]
        if written := [one for one in parts if one.unfinished]:
            unfinished.append(written[0].path)
        else:
            seeds.append(_Seed(number, _in_order(parts)))
    if not seeds:
        raise InputError(
            f'{unfinished[0]} is unfinished, as is every seed beside it: NeMo-Skills writes the answers to '
            'the name without -async when all are there, and goes on with ++skip_filled=True'
        )
    for path in unfinished:
        notes.say(f'{path.name} is unfinished: the samples of this seed are left out')
    return seeds


def _in_order(parts: Sequence[_Output]) -> tuple[Path, ...]:
    """Return the file of a seed, or its chunks where they are not merged, or not to their end.

    Raises:
        InputError: a chunk is missing.
    """
    whole = [one.path for one in parts if one.chunk is None]
    chunks = {one.chunk: one.path for one in parts if one.chunk is not None}
    if whole and (0 not in chunks or whole[0].with_name(f'{whole[0].name}.done').exists()):
        return (whole[0],)
    for number in range(len(chunks)):
        if number not in chunks:
            raise InputError(
                f'{next(iter(chunks.values()))}: there are {len(chunks)} chunks of its seed, but no chunk '
                f'{number}: without it nobody knows which question a line of the others is'
            )
    return tuple(chunks[number] for number in range(len(chunks)))


def _run(folder: Path, name: str, outputs: Sequence[_Output], reading: Reading, notes: Notes) -> Run:
    seeds = _seeds(outputs, notes)
    first = next((row for seed in seeds for _, _, row in seed.rows()), None)
    if not _is_output(first):
        there = f'there is {", ".join(list(first)[:10])}' if first else 'there is no row'
        raise InputError(
            f'{seeds[0].paths[0]} is no output of NeMo-Skills with answers: expected a row with a text '
            f'"generation" and "expected_answer"; {there}'
        )
    verdict = next((field for field in _VERDICTS if field in (first or {})), None)
    model, dataset = _names(folder)
    if outputs[0].stem != _USUAL_STEM:
        dataset = outputs[0].stem
    lines = _Lines(seeds, verdict, notes)
    return Run(
        ('labels', 'responses') if verdict else ('responses',),
        questions_of(lines.samples(), reading, notes, in_order=True),
        model,
        f'{dataset}{name}',
        {'name': f'NeMo-Skills {verdict}'} if verdict else {},
        where=lambda number: f'{folder}, row {number} of a seed',
        remarks=notes,
        written_by='NeMo-Skills',
    )


@dataclass
class _Lines:
    """The rows of all seeds, a line of each at a time."""

    seeds: Sequence[_Seed]
    verdict: str | None
    """The field of the verdict that counts."""
    notes: Notes
    _ids: set[str] = field(default_factory=set)

    def samples(self) -> Iterator[Sample]:
        """Return the samples, those of a question one after the other.

        Raises:
            InputError: a row is damaged, or the seeds have different questions on a line.
        """
        counts = [0] * len(self.seeds)
        for line, rows in enumerate(zip_longest(*(seed.rows() for seed in self.seeds)), 1):
            uid = self._uid(line, [one for one in rows if one])
            for place, (seed, found) in enumerate(zip(self.seeds, rows, strict=True)):
                if found:
                    counts[place] += 1
                    yield self._sample(uid, seed, *found)
        for seed, count in zip(self.seeds, counts, strict=True):
            if count < max(counts):
                self.notes.say(
                    f'{seed.name} has {count} of {max(counts)} rows, is it unfinished? Questions without a '
                    'row in it have a sample less'
                )

    def _uid(self, line: int, rows: Sequence[tuple[Path, int, Row]]) -> str:
        ids = [row.get('id') for _, _, row in rows]
        if any(one != ids[0] for one in ids):
            at = next(place for place, one in enumerate(ids) if one != ids[0])
            (path, number, _), (other, other_number, _) = rows[at], rows[0]
            raise InputError(
                f'{path}:{number} is question {ids[at]!r:.60}, where {other}:{other_number} is '
                f'{ids[0]!r:.60}: seeds of one run hold the same questions in the same order; name the files '
                'of one run alone'
            )
        if isinstance(ids[0], bool) or not isinstance(ids[0], (str, int)):
            return str(line)
        uid = str(ids[0])
        if uid in self._ids:
            self.notes.say(_REPEATED)
            return f'{uid}, line {line}'
        self._ids.add(uid)
        return uid

    def _sample(self, uid: str, seed: _Seed, path: Path, number: int, row: Row) -> Sample:
        try:
            own = _of_the_model(row)
            told = _generation(own)
            return Sample(
                uid,
                as_text(row.get('problem', row.get('question'))),
                as_text(row.get('expected_answer')),
                None if told.state else _response(own),
                self._verdict(row, told),
                seed.number,
                as_text(row['predicted_answer']) if 'predicted_answer' in row else None,
                told,
                split=as_text(row.get('subset_for_metrics')),
                path=path,
                row=number,
            )
        except InputError as error:
            raise InputError(f'{path}:{number}: {error}') from error

    def _verdict(self, row: Row, generation: Generation) -> str:
        if self.verdict not in row:
            return ''
        if generation.state:
            return '?'
        told = row[self.verdict]
        if self.verdict != 'judgement' or not isinstance(told, str):
            return self.notes.verdict(told)
        verdict = _judged(told)
        if verdict == '?':
            self.notes.say(_NEITHER)
        elif isinstance(row.get('symbolic_correct'), bool) and row['symbolic_correct'] != (verdict == '1'):
            self.notes.say(_DIFFERENT)
        return verdict


def _judged(told: str) -> str:
    """Return the verdict of a judge's reply, by its last "Judgement:", as NeMo-Skills reads it.

    >>> [_judged(told) for told in ('Reasoning: …\\nJudgement: Yes', 'Judgement: no.', 'Yes')]
    ['1', '0', '?']
    """
    _, mark, verdict = told.rpartition('Judgement:')
    said = verdict.strip().lower()
    if not mark or not said.startswith(('yes', 'no')):
        return '?'
    return '1' if said.startswith('yes') else '0'


_ALSO_OF_A_JUDGE = ('finish_reason', 'reasoning_content', 'num_reasoning_tokens', 'num_answer_tokens')


def _of_the_model(row: Row) -> Row:
    """Return what is known to be of the model: a judge that was asked leaves its own in place of some fields.

    A judgement that was given without asking comes first in its row, and then nothing was replaced.
    """
    if 'judgement' not in row or next(iter(row)) == 'judgement':
        return row
    return {name: value for name, value in row.items() if name not in _ALSO_OF_A_JUDGE}


def _generation(row: Mapping[str, Any]) -> Generation:
    told = Generation.from_json(
        {
            'finish_reason': row.get('finish_reason'),
            'prompt_tokens': row.get('num_input_tokens'),
            'output_tokens': row.get('num_generated_tokens'),
            'seconds': row.get('generation_time'),
            'reasoning_tokens': row.get('num_reasoning_tokens'),
        }
    )
    if row.get('generation') == '' and told.output_tokens == 0 and not told.finish_reason:
        # What NeMo-Skills writes where it goes on after a request that the server did not answer.
        error = row.get('error')
        state = 'too long' if error == _TOO_LONG else 'refused' if error else 'failed'
        return told._replace(state=state)
    return told


def _response(row: Mapping[str, Any]) -> str:
    """Return the response with its thought, wherever the thought is kept."""
    said, whole, thought = (row.get(name) for name in ('generation', '_full_generation', 'reasoning_content'))
    if not isinstance(said, str):
        raise InputError(f'generation is {said!r:.60}; expected a text')
    if isinstance(whole, str):
        return _with_end_of_thought(whole, said)
    return with_thought(thought, said) if isinstance(thought, str) else said


def _with_end_of_thought(whole: str, said: str) -> str:
    """Return a whole response with the usual marks, where the model ended its thought by another one.

    >>> [_with_end_of_thought(*both) for both in (('Hm.[ANSWER]4', '4'), ('Hm.</think>4', '4'), ('Hm.', ''))]
    ['Hm.[ANSWER]</think>4', 'Hm.</think>4', '<think>Hm.']
    """
    if '</think>' in whole or whole.strip() == said.strip():
        return whole
    if not said:
        return whole if whole.lstrip().startswith('<think>') else f'<think>{whole}'
    at = whole.rfind(said)
    return whole if at < 0 else f'{whole[:at]}</think>{whole[at:]}'
