"""Runs in a work directory of OpenCompass; and all responses of one of its own LiveMathBench."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError
from ..files import mapping, read_json
from ..results.health import Generation

if TYPE_CHECKING:
    from ..runs.work_dir import TimeDir, Wanted

_DATASET_CLASS = 'LiveMathBenchDataset'
FOLDER = 'predictions'
_OWN_CLASS = 'gpassk_opencompass'
"""What the class of this package's data set begins with."""

_ASKED = ('HUMAN', 'user')  # no set: a role in a damaged file may be of any type
"""The role of what the model was asked, in the messages of OpenCompass and of chat servers."""

_MOST_NAMED = 20
"""Missing parts that a message names at most: a stray file may be called part five million."""


@dataclass(frozen=True)
class OldRun:
    """One model on one data set, as its config and its predictions tell it."""

    time_dir: TimeDir
    model: str
    dataset: str
    config: Mapping[str, Any]
    """The config of the data set."""
    model_config: Mapping[str, Any]
    """{} where no config tells it."""
    parts: tuple[Path, ...]
    """The prediction files, in order; () where there are none."""

    @property
    def name(self) -> str:
        """Return `<model>/<data set>`, for messages."""
        return f'{self.model}/{self.dataset}'

    @property
    def wanted(self) -> Wanted:
        """Return what `TimeDir` is asked for its files."""
        from ..runs.work_dir import Wanted

        return Wanted(self.model, self.dataset, None, None)

    @property
    def result(self) -> Path:
        """Return what the old evaluation wrote, if it came to its end."""
        return self.time_dir.result(self.wanted)

    @property
    def is_live_math_bench(self) -> bool:
        """Whether it is of OpenCompass's own LiveMathBench."""
        return _class_of(self.config) == _DATASET_CLASS

    @property
    def is_ours(self) -> bool:
        """Whether its data set is of this package, and its result is right as it is."""
        return str(self.config.get('type', '')).startswith(_OWN_CLASS)

    @property
    def n(self) -> int:
        """Return the samples a question, as the config has it."""
        return _whole('n', self.config.get('n', 1))

    @property
    def ks(self) -> list[int]:
        """Return the k of G-Pass@k, as the config has them."""
        given = self.config.get('k', 1)
        return [_whole('k', k) for k in (given if isinstance(given, (list, tuple)) else [given])]

    @property
    def version(self) -> str:
        """Return the version of LiveMathBench."""
        return str(self.config.get('version', '202412'))

    @property
    def splits(self) -> list[str]:
        """Return the splits that were asked, in order."""
        from ..question_sets import STANDARD_SPLITS

        return _texts('dataset_splits', self.config.get('dataset_splits', STANDARD_SPLITS))

    @property
    def languages(self) -> list[str]:
        """Return the languages of each split, in order."""
        from ..question_sets import STANDARD_LANGUAGES

        return _texts('dataset_languages', self.config.get('dataset_languages', STANDARD_LANGUAGES))

    @property
    def evaluator(self) -> Mapping[str, Any]:
        """Return the old evaluator's config."""
        return mapping(mapping(self.config.get('eval_cfg')).get('evaluator'))

    @property
    def evaluator_class(self) -> str:
        """Return the name of the old evaluator's class."""
        return _class_of(self.evaluator)

    @property
    def part_of_rows(self) -> bool:
        """Whether only some rows of the data set were asked."""
        limit = self.config.get('limit')
        return limit is not None or bool(mapping(self.config.get('reader_cfg')).get('test_range'))

    @property
    def in_parts(self) -> bool:
        """Whether the predictions lie in `_0`, `_1`, …"""
        return bool(self.parts) and self.parts[0].stem != self.dataset


def runs_in(time_dir: TimeDir, folder: str = FOLDER) -> Iterator[OldRun]:
    """Yield a run a model and data set, of any class, that has files in a folder of a time directory.

    Args:
        folder: of predictions; or of results, and then the runs are without prediction files.
    """
    datasets, models = _entries(time_dir, 'datasets'), _entries(time_dir, 'models')
    for (model, dataset), parts in _predictions(time_dir.path / folder, datasets).items():
        config, entry = datasets.get(dataset, {}), models.get(model, {})
        asked = parts if folder == FOLDER else ()
        yield OldRun(time_dir, model, dataset, config, entry, asked)


def _entries(time_dir: TimeDir, kind: str) -> dict[str, Mapping[str, Any]]:
    """Return abbreviation → entry of the configs that OpenCompass kept; of several the last one counts."""
    from ..runs.config_file import dicts_of

    entries = [entry for config in time_dir.configs for entry in dicts_of(config, kind)]
    return {entry['abbr']: entry for entry in entries if isinstance(entry.get('abbr'), str)}


def _predictions(folder: Path, datasets: Mapping[str, Any]) -> dict[tuple[str, str], tuple[Path, ...]]:
    """Return (model, data set) → its file, or its parts `_0`, `_1`, … where it was split."""
    found: dict[tuple[str, str], dict[int, Path]] = {}
    files = (Path(above, name) for above, _, names in os.walk(folder) for name in names)
    for path in sorted(file for file in files if file.suffix == '.json'):
        dataset, part = _split(path.stem, datasets)
        found.setdefault((path.parent.relative_to(folder).as_posix(), dataset), {})[part] = path
    # As OpenCompass does: where there is a whole file, it counts, and parts are not looked at.
    return {
        names: (parts[-1],) if -1 in parts else tuple(parts[number] for number in sorted(parts))
        for names, parts in found.items()
    }


def _split(stem: str, datasets: Mapping[str, Any]) -> tuple[str, int]:
    """Return the data set's abbreviation and the number of the part, −1 for all of it."""
    head, mark, tail = stem.rpartition('_')
    is_part = mark and tail.isdecimal() and stem not in datasets and head in datasets
    return (head, int(tail)) if is_part else (stem, -1)


def _class_of(config: Mapping[str, Any]) -> str:
    return str(config.get('type', '')).rpartition('.')[2]


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f'{name} = {value!r} in the config: expected whole numbers of at least 1')
    return value


def _texts(name: str, value: object) -> list[str]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        raise InputError(f'{name} = {value!r:.80} in the config: expected a list of texts')
    return list(value)


class Row(NamedTuple):
    """A row of a prediction file; or a question with the responses of all rows that repeat it."""

    prompt: str
    """'' where the file does not hold it."""
    gold: str | None
    responses: tuple[str, ...]
    generations: tuple[Generation, ...]
    """What the engine said of each response."""
    places: tuple[tuple[Path, int], ...]
    """File and row of each response."""


def read_questions(run: OldRun) -> list[Row]:
    """Return all questions of a run, each with its n responses.

    OpenCompass asks all questions, then all of them again: row = replica × Q + question. That the prompts
    and the reference answers do repeat in this way is checked, so that no row can be taken for another's.

    Raises:
        InputError: the sampling is not finished, a file is damaged, a response is no text, or rows are not n
            times the same questions.
    """
    rows = [row for part in run.parts for row in _rows(part)]
    if not rows:
        raise InputError(f'{run.parts[0]} is empty')
    whole = len(rows) % run.n == 0
    wrong = _first_misplaced(rows, len(rows) // run.n) if whole else None
    if run.n == 1 or not whole or wrong is not None:
        check_finished(run)
    if not whole or wrong is not None:
        raise _not_repeated(run, rows, wrong)
    lengths = Counter(len(row.responses) for row in rows)
    if len(lengths) > 1:
        raise InputError(f'{run.parts[0]}: rows have different numbers of responses: {dict(lengths)}')
    size = len(rows) // run.n
    return [_merged(rows[question::size]) for question in range(size)]


def _merged(rows: Sequence[Row]) -> Row:
    return rows[0]._replace(
        responses=tuple(text for row in rows for text in row.responses),
        generations=tuple(told for row in rows for told in row.generations),
        places=tuple(place for row in rows for place in row.places),
    )


def _first_misplaced(rows: Sequence[Row], size: int) -> int | None:
    """Return the first row that does not repeat the one `size` rows before it; None if all do."""
    return next((at for at, row in enumerate(rows) if row[:2] != rows[at % size][:2]), None)


def check_finished(run: OldRun) -> None:
    """Raise InputError if names of parts and logs tell that one is missing.

    To be asked where the rows do not tell: logs may be of an older start with more parts.
    """
    if not run.in_parts:
        return
    known = run.time_dir.predictions(run.wanted)
    numbers = {int(part.stem.removeprefix(f'{run.dataset}_')) for part in run.parts}
    gaps = (f'{run.dataset}_{number}' for number in range(max(numbers)) if number not in numbers)
    missing = list(dict.fromkeys([*islice(gaps, _MOST_NAMED + 1), *known.unfinished]))
    if missing:
        more = ', …' if len(missing) > _MOST_NAMED else ''
        raise InputError(
            f'predictions are missing or unfinished: {", ".join(missing[:_MOST_NAMED])}{more}; '
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
    prompt = prompt_text(entry.get('origin_prompt'))
    size = len(responses)
    return Row(prompt, gold, tuple(responses), (told,) * size, ((path, number),) * size)


def prompt_text(prompt: object) -> str:
    """Return what a model was asked, of a prompt as OpenCompass keeps it: a text, or messages.

    >>> prompt_text([{'role': 'HUMAN', 'prompt': '1 + 1?'}])
    '1 + 1?'
    """
    if isinstance(prompt, list):
        return '\n'.join(filter(None, map(_asked, prompt)))
    return prompt if isinstance(prompt, str) else ''


def _asked(message: object) -> str:
    if isinstance(message, str):
        return message
    if not isinstance(message, Mapping) or message.get('role') not in _ASKED:
        return ''
    text: Any = message.get('prompt', message.get('content'))
    return text if isinstance(text, str) else ''


def _not_repeated(run: OldRun, rows: Sequence[Row], wrong: int | None) -> InputError:
    counts = Counter(Counter(row[:2] for row in rows).values())
    shown = ', '.join(f'{questions} with {times}' for times, questions in sorted(counts.items()))
    where = '' if wrong is None else f'; row {wrong} repeats another question than it should'
    return InputError(
        f'{len(rows)} rows are not n = {run.n} times the same questions{where}. Questions with so many '
        f'responses: {shown}. Rows are missing or are of other data: n was changed under the same abbr while '
        '.cache/dataset_size.json knew the old size, or a part was lost; sample again'
    )
