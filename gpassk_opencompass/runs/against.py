"""The run that others are to be decided against: where it is, and whether it shares their questions."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import mapping
from ..metrics import Metric
from ..naming.limits import until_abbr, without_sizes
from ..naming.names import DatasetName
from ..results.read import collect, read
from ..results.result import Result
from .examine import asked_judge, models_of_judge
from .plan import Planned
from .rounds import Stepwise

_SIZES = ('abbr', 'k', 'n', 'replication', 'samples')
"""Fields of a data set that change neither its questions, nor how they are asked and judged."""


@dataclass(frozen=True)
class Against:
    """A run as it was named.

    Args:
        name: as it was named.
        run: where a config of this command is meant: it is drawn whole before the others.
        results: where it is there already.
    """

    name: str
    run: Planned | None = None
    results: tuple[Result, ...] = ()


def find_against(name: str, runs: Sequence[Planned], outputs: Path) -> Against:
    """Find a run: the name of a config of this command, a result file, or a folder with its result.

    Args:
        name: as it was given.
        runs: of this command, as their configs were given.
        outputs: the folder of the work directories, in which names are looked up too.

    Raises:
        InputError: there is no such run, or it has no complete result.
    """
    called = Path(name).name.removesuffix('.py')
    for run in runs:
        if run.name == called:
            return Against(name, run)
        if until_abbr(run.name) == called:
            raise InputError(
                f'decided against {name}: it is sampled in rounds by this very command; name the config '
                f'{run.name}, which is then drawn whole first, or leave it out of the configs'
            )
    place = next((path for path in (Path(name).expanduser(), outputs / name) if path.exists()), None)
    if place is None:
        raise InputError(f'decided against {name}: {_unknown(called, runs, outputs)}')
    if place.suffix == '.py' and place.is_file():
        raise InputError(
            f'decided against {name}: that is a config, and none of this command; give it to the command '
            'too, which then draws it first, or name its result'
        )
    if not place.is_file() and not place.is_dir():
        raise InputError(f'decided against {name}: {place} is neither a file nor a folder')
    if place.is_file():
        return Against(name, results=(read(place),))
    found = collect([place])
    if not found.results:
        why = f': {found.passed_over[0]}' if found.passed_over else ''
        raise InputError(f'decided against {name}: no complete result in {place}{why}')
    return Against(name, results=tuple(found.results))


def fitting(against: Against, one: Stepwise, metric: Metric) -> Result | None:
    """Return the result that a config is to be decided against; None where that is still to be drawn.

    Raises:
        InputError: it has other questions, another judge, or too few samples, as far as that can be told
            before anything is sampled; it is a round of the config itself; or several fit.
    """
    if against.run is not None:
        _check_config(against.run, one)
        return None
    own = [result.path for result in against.results if _within(result.path, one.work_dir)]
    if own:
        raise InputError(
            f'decided against {against.name}: {own[0]} is a round of {one.name} itself, which has its '
            'samples; name another run'
        )
    reasons = [_misfit(result, one, metric) for result in against.results]
    fit = [result for result, why in zip(against.results, reasons, strict=True) if not why]
    if len(fit) == 1:
        return fit[0]
    if fit:
        names = ', '.join(str(result.path) for result in fit[:3])
        raise InputError(
            f'decided against {against.name}: {len(fit)} results there fit {one.whole.name}; name one of '
            f'them: {names}'
        )
    raise InputError(f'decided against {against.name}: {one.whole.name} cannot be: {reasons[0]}')


def unlike(result: Result, other: Result) -> str:
    """Return why two results cannot be compared question by question; '' if they can."""
    if set(result.uids) != set(other.uids):
        return f'{other.path} answers other questions'
    if result.data != other.data:
        return f'{other.path} has other reference answers'
    if result.judge_kind != other.judge_kind:
        return f'{other.path} was judged by another judge'
    return ''


def unlike_part(part: Result, whole: Result) -> str:
    """Return why the result of some questions of a run cannot be added to that of all; '' if it can."""
    if part.judge_kind != whole.judge_kind:
        return f'{whole.path} was judged by another judge'
    if part.references and whole.references:
        known = dict(zip(whole.uids, whole.references, strict=True))
        if [known.get(uid) for uid in part.uids] != list(part.references):
            return f'{whole.path} has other reference answers'
    return ''


def _within(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _unknown(called: str, runs: Sequence[Planned], outputs: Path) -> str:
    near = difflib.get_close_matches(called, [run.name for run in runs], 1, 0.3)
    meant = f'; did you mean {near[0]}?' if near else ''
    return (
        f'no config of this command is called so, and there is no such result file, work directory or '
        f'folder in {outputs}{meant}'
    )


def _check_config(run: Planned, one: Stepwise) -> None:
    values = run.values() or {}
    models = values.get('models', ())
    if len(models) != 1:
        raise InputError(
            f'decided against {run.name}: it has {len(models)} models, and one of them is meant; give that '
            'one a config of its own, or name its result file'
        )
    theirs = [entry for entry in values.get('datasets', ()) if isinstance(entry, Mapping)]
    if [_questions_of(entry) for entry in theirs] != [_questions_of(one.dataset)]:
        raise InputError(
            f'decided against {run.name}: {one.whole.name} has other questions, prompts or another judge; '
            'name configs that share them'
        )


def _questions_of(dataset: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in dataset.items() if name not in _SIZES}


def _misfit(result: Result, one: Stepwise, metric: Metric) -> str:
    """Return why a result cannot be of the questions and the judge of a config; '' if it may be."""
    if result.n < metric.k:
        return f'{result.path} has n = {result.n}, too few for {metric}'
    asked, told = one.questions, len(result.uids)
    if asked is not None and asked != told:
        return f'{result.path} has {told} questions, and the config {asked}'
    ours, theirs = _label(str(one.dataset['abbr'])), _label(result.dataset_abbr)
    if ours and theirs and ours != theirs:
        return f'{result.path} is of {theirs}, and the config of {ours}'
    judge = asked_judge(mapping(mapping(one.dataset.get('eval_cfg')).get('evaluator')))
    models = models_of_judge(result.block.get('judge'))
    if judge is not None and judge != models:
        return f'{result.path} was judged by {", ".join(models) or "rule"}, and the config says ' + (
            ', '.join(judge) or 'rule'
        )
    return ''


def _label(abbr: str) -> str:
    """Return the benchmark of an abbreviation, with which of its questions; '' where it is no known one."""
    try:
        DatasetName.parse(abbr)
    except ValueError:  # also a number of too many digits
        return ''
    return without_sizes(abbr)
