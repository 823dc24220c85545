"""The runs in a work directory of OpenCompass: which of them are LiveMathBench's, and what they left."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import mapping
from ..question_sets import STANDARD_LANGUAGES, STANDARD_SPLITS
from ..runs.config_file import dicts_of
from ..runs.work_dir import TimeDir, Wanted

DATASET_CLASS = 'LiveMathBenchDataset'
EVALUATOR_CLASS = 'LiveMathBenchEvaluator'
FOLDER = 'predictions'
OWN_CLASS = 'gpassk_opencompass'
"""What the class of this package's data set begins with: its results are right as they are."""


@dataclass(frozen=True)
class OldRun:
    """One model on one data set, as its config and its predictions tell it."""

    place: Path
    """Below the work directory: the time directory."""
    time_dir: TimeDir
    model: str
    dataset: str
    config: Mapping[str, Any]
    """Of the data set."""
    model_config: Mapping[str, Any]
    """{} where no config tells it."""
    parts: tuple[Path, ...]
    """The prediction files, in order."""

    @property
    def name(self) -> str:
        """For messages."""
        return f'{self.model}/{self.dataset}'

    @property
    def folder(self) -> Path:
        """Where its result goes, below the folder of all results."""
        return self.place / 'results' / self.model.replace('/', '_')

    @property
    def wanted(self) -> Wanted:
        """How `TimeDir` is asked for its files."""
        return Wanted(self.model, self.dataset, None, None)

    @property
    def result(self) -> Path:
        """What the old evaluation wrote, if it came to its end."""
        return self.time_dir.result(self.wanted)

    @property
    def replies(self) -> Path:
        """Where the built-in evaluator kept the judge's replies."""
        return self.result.with_suffix('') / 'tmp_judge.json'

    @property
    def n(self) -> int:
        """Samples a question, as the config has it."""
        return _whole('n', self.config.get('n', 1))

    @property
    def ks(self) -> list[int]:
        """The k of G-Pass@k, as the config has them."""
        given = self.config.get('k', 1)
        return [_whole('k', k) for k in (given if isinstance(given, (list, tuple)) else [given])]

    @property
    def version(self) -> str:
        """Of LiveMathBench."""
        return str(self.config.get('version', '202412'))

    @property
    def splits(self) -> list[str]:
        """The splits that were asked, in order."""
        return _texts('dataset_splits', self.config.get('dataset_splits', STANDARD_SPLITS))

    @property
    def languages(self) -> list[str]:
        """The languages of each split, in order."""
        return _texts('dataset_languages', self.config.get('dataset_languages', STANDARD_LANGUAGES))

    @property
    def evaluator(self) -> Mapping[str, Any]:
        """The old evaluator's config."""
        return mapping(mapping(self.config.get('eval_cfg')).get('evaluator'))

    @property
    def evaluator_class(self) -> str:
        """Of the old evaluator; that of LiveMathBench is the built-in one."""
        return _class_of(self.evaluator)

    @property
    def had_llm_judge(self) -> bool:
        """Whether the built-in evaluator had an LLM to ask; without one it judged by rules."""
        named = self.evaluator.get('model_name') and self.evaluator.get('url')
        return bool(self.evaluator_class == EVALUATOR_CLASS and named)

    @property
    def postprocessors(self) -> list[str]:
        """What the old evaluation made of each response before it judged it, by name."""
        holders = (self.model_config, mapping(self.config.get('eval_cfg')), self.evaluator)
        found = [mapping(holder.get('pred_postprocessor')) for holder in holders]
        return [_class_of(one) for one in found if one]

    @property
    def part_of_rows(self) -> bool:
        """Whether only some rows of the data set were asked."""
        return bool(mapping(self.config.get('reader_cfg')).get('test_range'))

    @property
    def in_parts(self) -> bool:
        """Whether the predictions lie in `_0`, `_1`, …"""
        return self.parts[0].stem != self.dataset


class Found(NamedTuple):
    """What a work directory holds."""

    runs: list[OldRun]
    left_alone: dict[str, str]
    """Other predictions → why nothing is done with them."""


def find_runs(work_dir: Path) -> Found:
    """The LiveMathBench runs below a folder; nothing is written, and of configs nothing is executed.

    Args:
        work_dir: `<work_dir>` or `<work_dir>/<time>` of OpenCompass, or a folder above several.

    Raises:
        InputError: there is no such folder, or there are no predictions in it.
    """
    if not work_dir.is_dir():
        raise InputError(
            f'{work_dir} is no folder; give a work directory of OpenCompass, the one after -w, or a '
            '<work_dir>/<time>'
        )
    found = Found([], {})
    # Unlike Path.rglob, os.walk passes over a folder that is removed meanwhile.
    walked = os.walk(work_dir)
    for folder in sorted(Path(above, name) for above, names, _ in walked for name in names if name == FOLDER):
        _search(work_dir, folder, found)
    if not found.runs and not found.left_alone:
        raise InputError(
            f'{work_dir} holds no predictions; expected <time>/predictions/<model>/<data set>.json, as '
            'OpenCompass writes them'
        )
    return found


def _search(work_dir: Path, folder: Path, found: Found) -> None:
    time_dir = TimeDir(folder.parent)
    place = folder.parent.relative_to(work_dir)
    place = Path(folder.parent.resolve().name) if place == Path() else place
    datasets = _entries(time_dir, 'datasets')
    models = _entries(time_dir, 'models')
    for (model, dataset), parts in _predictions(folder, datasets).items():
        config = datasets.get(dataset)
        why = _why_not(time_dir, config)
        if config is None or why:
            found.left_alone[f'{place / model / dataset}'] = why
        else:
            entry = models.get(model, {})
            found.runs.append(OldRun(place, time_dir, model, dataset, config, entry, parts))


def _entries(time_dir: TimeDir, kind: str) -> dict[str, Mapping[str, Any]]:
    """Abbreviation → entry of the configs that OpenCompass kept; of several the last one counts."""
    entries = [entry for config in time_dir.configs for entry in dicts_of(config, kind)]
    return {entry['abbr']: entry for entry in entries if isinstance(entry.get('abbr'), str)}


def _why_not(time_dir: TimeDir, config: Mapping[str, Any] | None) -> str:
    if config is None:
        kept = list(time_dir.path.glob('configs/*.py'))
        there = 'no config in configs/ names it' if kept else 'there is no configs/*.py that says what it is'
        return f'{there}; gpassk score judges responses of any program'
    if str(config.get('type', '')).startswith(OWN_CLASS):
        return 'it is of this package: move its result away, and opencompass -m eval -r judges it anew'
    if _class_of(config) != DATASET_CLASS:
        return f'it is of {_class_of(config) or "no class"}, not of LiveMathBench'
    return ''


def _predictions(folder: Path, datasets: Mapping[str, Any]) -> dict[tuple[str, str], tuple[Path, ...]]:
    """(model, data set) → its file, or its parts `_0`, `_1`, … where it was split."""
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
    """The data set's abbreviation and the number of the part, −1 for all of it."""
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
