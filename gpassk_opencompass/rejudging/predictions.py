"""What OpenCompass kept of each response: the prompt, the response, and the reference answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import IncompleteError, InputError
from ..files import read_json
from ..results.health import Generation
from .old_runs import OldRun

ASKED = ('HUMAN', 'user')  # no set: a role in a damaged file may be of any type
"""The role of what the model was asked, in the messages of OpenCompass and of chat servers."""


NAMED = 20
"""Parts that a message names at most: a stray file may be called part five million."""


class Row(NamedTuple):
    """One row of a prediction file."""

    prompt: str
    """'' where the file does not hold it."""
    gold: str | None
    responses: tuple[str, ...]
    """One; several where the model returned a list."""
    generation: Generation = Generation()
    """What the engine said of the one response."""


@dataclass(frozen=True)
class Replicas:
    """n responses to each of Q questions."""

    n: int
    questions: list[Row]
    """The first row of each question."""
    responses: list[tuple[str, ...]]
    """The n responses to each."""
    generations: list[Generation]
    """What the engine said of each response, question by question."""
    places: list[tuple[Path, int]]
    """(file, row in it) of each response, question by question."""


def read_replicas(run: OldRun) -> Replicas:
    """All responses of a run, question by question.

    OpenCompass asks all questions, then all of them again: row = replica × Q + question. That the prompts
    and the reference answers do repeat in this way is checked, so that no row can be taken for another's.

    Raises:
        IncompleteError: the sampling is not finished.
        InputError: a file is damaged, a response is no text, or rows are not n times the same questions.
    """
    parts = {part: _rows(part) for part in run.parts}
    rows = [row for part in parts.values() for row in part]
    places = [(part, number) for part, held in parts.items() for number in range(len(held))]
    if not rows:
        raise InputError(f'{run.parts[0]} is empty')
    repeats = _repeat(run.n, rows)
    if run.n == 1 or not repeats:
        _check_finished(run)
    if not repeats:
        raise _not_repeated(run, rows)
    size = len(rows) // run.n
    first = rows[:size]
    lengths = Counter(len(row.responses) for row in rows)
    if len(lengths) > 1:
        raise InputError(f'{run.parts[0]}: rows have different numbers of responses: {dict(lengths)}')
    responses = [
        tuple(text for row in rows[question::size] for text in row.responses) for question in range(size)
    ]
    told = [row.generation for question in range(size) for row in rows[question::size] for _ in row.responses]
    own = range(max(lengths))
    where = [place for question in range(size) for place in places[question::size] for _ in own]
    return Replicas(run.n * len(own), first, responses, told, where)


def _check_finished(run: OldRun) -> None:
    """By names of parts and logs; logs may be of an older start with more parts, so rows tell first."""
    if not run.in_parts:
        return
    known = run.time_dir.predictions(run.wanted)
    numbers = {int(part.stem.removeprefix(f'{run.dataset}_')) for part in run.parts}
    gaps = (f'{run.dataset}_{number}' for number in range(max(numbers)) if number not in numbers)
    missing = list(dict.fromkeys([*islice(gaps, NAMED + 1), *known.unfinished]))
    if missing:
        more = ', …' if len(missing) > NAMED else ''
        raise IncompleteError(
            f'predictions are missing or unfinished: {", ".join(missing[:NAMED])}{more}; '
            'finish the run with opencompass -r and the --max-num-workers of its start'
        )


def _rows(path: Path) -> list[Row]:
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise InputError(f'{path} cannot be read: {error}') from error
    if not isinstance(content, dict) or set(content) != {str(number) for number in range(len(content))}:
        raise InputError(f'{path}: expected an object with the rows "0", "1", … of a data set, none left out')
    return [_row(path, number, content[str(number)]) for number in range(len(content))]


def _row(path: Path, number: int, entry: object) -> Row:
    if not isinstance(entry, dict) or 'prediction' not in entry:
        raise InputError(f'{path}, row {number}: expected an object with origin_prompt, prediction and gold')
    gold, prediction = entry.get('gold'), entry['prediction']
    if gold is not None and not isinstance(gold, str):
        raise InputError(f'{path}, row {number}: gold is a {type(gold).__name__}; expected a text')
    responses = prediction if isinstance(prediction, list) else [prediction]
    if not responses or not all(isinstance(response, str) for response in responses):
        raise InputError(
            f'{path}, row {number}: prediction is {prediction!r:.60}; expected a text, or a list of texts. '
            'The model gave no response here: delete the file and sample its rows again (opencompass -r)'
        )
    told = Generation() if isinstance(prediction, list) else Generation.from_json(entry.get('generation'))
    return Row(prompt_text(entry.get('origin_prompt')), gold, tuple(responses), told)


def prompt_text(prompt: object) -> str:
    """What a model was asked, of a prompt as OpenCompass keeps it: a text, or messages.

    >>> prompt_text([{'role': 'HUMAN', 'prompt': '1 + 1?'}])
    '1 + 1?'
    """
    if isinstance(prompt, list):
        return '\n'.join(filter(None, map(_asked, prompt)))
    return prompt if isinstance(prompt, str) else ''


def _asked(message: object) -> str:
    if isinstance(message, str):
        return message
    if not isinstance(message, Mapping) or message.get('role') not in ASKED:
        return ''
    text: Any = message.get('prompt', message.get('content'))
    return text if isinstance(text, str) else ''


def _repeat(n: int, rows: Sequence[Row]) -> bool:
    """Whether row = replica × Q + question holds for n and for the number of rows."""
    return not len(rows) % n and _first_wrong(n, rows) is None


def _first_wrong(n: int, rows: Sequence[Row]) -> int | None:
    size = len(rows) // n
    return next((at for at, row in enumerate(rows) if row[:2] != rows[at % size][:2]), None) if size else 0


def _not_repeated(run: OldRun, rows: Sequence[Row]) -> IncompleteError:
    wrong = None if len(rows) % run.n else _first_wrong(run.n, rows)
    counts = Counter(Counter(row[:2] for row in rows).values())
    shown = ', '.join(f'{questions} with {times}' for times, questions in sorted(counts.items()))
    where = '' if wrong is None else f'; row {wrong} repeats another question than it should'
    return IncompleteError(
        f'{len(rows)} rows are not n = {run.n} times the same questions{where}. Questions with so many '
        f'responses: {shown}. Rows are missing or are of other data: n was changed under the same abbr while '
        '.cache/dataset_size.json knew the old size, or a part was lost; sample again'
    )
