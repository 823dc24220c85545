"""A template of the older style, translated: the configs that a template of today gives in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple, TypeVar

from ..errors import InputError, TemplateError
from .computed import PAIRS, computed_file, computed_run, read_entries, read_parts, warn_of_defects
from .grid import Run, distinct, runs
from .older_datasets import TodaysDataset, check_extraction, todays_dataset
from .older_models import TodaysModel, todays_model

_OWN = f'{__name__.partition(".")[0]}.'
_Today = TypeVar('_Today', TodaysModel, TodaysDataset)


class Translated(NamedTuple):
    """What became of a template of the older style.

    `notes` say what is another than it was, a line each.
    """

    runs: list[Run]
    notes: list[str]


@dataclass(frozen=True)
class Pair:
    """A model and a data set of an older template, in the lines of a template of today.

    Args:
        was: the two abbreviations of OpenCompass, with an `@` between them.
        model, dataset: None where they stay as they were computed.
        run: the config of today, under the file name of the older style; or the computed one.
        reason: why they stay as they were computed; '' where they do not.
    """

    was: str
    model: TodaysModel | None
    dataset: TodaysDataset | None
    run: Run
    reason: str = ''

    def changed(self) -> Iterator[tuple[str, str]]:
        """Yield (kind of part, what of it is another than it was)."""
        if self.model is None or self.dataset is None:
            return
        yield from (('model', text) for text in self.model.changed)
        own, first = self.model.max_out_len, self.dataset.max_out_len
        if None not in (own, first) and own != first and 'max_out_lens' not in self.model.lines:
            yield (
                'model',
                f'max_out_len is {first}, of the data set, as OpenCompass puts that above its own {own}',
            )
        yield from (('data set', text) for text in self.dataset.changed)


def translated_runs(variables: Mapping[str, Any]) -> Translated:
    """Return a run for each model × data set, translated where that is possible.

    A pair with a class that is not known, or with something that no template of today says, stays as it
    was computed, and the notes say why; what makes its numbers wrong is warned of.

    Raises:
        InputError: as `computed.computed_runs`, or an evaluator that should have a model extract answers.
    """
    found = translated_pairs(variables)
    runs = distinct((pair.run for pair in found), PAIRS)
    _check_results(runs)
    left = [pair.run for pair in found if pair.reason]
    if left:
        warn_of_defects(left)
    return Translated(runs, notes_of(found, 'summarizer' in variables))


def translated_pairs(variables: Mapping[str, Any]) -> list[Pair]:
    """Return each model × data set of an older template, see `translated_runs`."""
    models, datasets = read_entries(variables)
    for dataset in datasets:
        check_extraction(dataset)
    parts = read_parts(variables)
    todays = [_attempt(todays_model, model) for model in models]
    read = [_attempt(todays_dataset, dataset) for dataset in datasets]
    return [
        _pair(model, dataset, *today, parts)
        for (model, dataset), today in zip(product(models, datasets), product(todays, read), strict=True)
    ]


def lines_of(model: TodaysModel, dataset: TodaysDataset) -> dict[str, Any]:
    """Return the sampling axes of a pair; the data set's max_out_len stands above the model's."""
    length = model.max_out_len if dataset.max_out_len is None else dataset.max_out_len
    return {**({} if length is None else {'max_out_lens': [length]}), **model.lines}


def _attempt(translate: Callable[[Mapping[str, Any]], _Today], part: Mapping[str, Any]) -> _Today | str:
    try:
        return translate(part)
    except _UNREADABLE as error:
        return _reason(error)


_UNREADABLE = (InputError, AttributeError, TypeError, ValueError)
"""What a value that nobody thought of ends in: an old template may have any."""


def _reason(error: Exception) -> str:
    return (
        str(error) if isinstance(error, InputError) else f'a value is of a kind that is not expected: {error}'
    )


def _pair(
    model: dict[str, Any],
    dataset: dict[str, Any],
    todays: TodaysModel | str,
    read: TodaysDataset | str,
    parts: Mapping[str, Any],
) -> Pair:
    was = f'{model["abbr"]}@{dataset["abbr"]}'
    if isinstance(read, str) or isinstance(todays, str):
        reason = read if isinstance(read, str) else str(todays)
        return Pair(was, None, None, computed_run(model, dataset, parts), reason)
    variables = {
        'engine': todays.engine,
        'llm_infos': [dict(todays.info)],
        **lines_of(todays, read),
        **read.lines,
        **parts,
    }
    try:
        (run,) = runs(variables)
    except _UNREADABLE as error:
        return Pair(was, None, None, computed_run(model, dataset, parts), _reason(error))
    return Pair(was, todays, read, replace(run, file=computed_file(model, dataset)))


def _check_results(found: Iterable[Run]) -> None:
    """Refuse two runs whose results would be one file: what made them different is not passed."""
    seen: dict[str, Run] = {}
    for run in found:
        other = seen.setdefault(_abbreviations(run), run)
        if other is run:
            continue
        why = 'what is passed to the model is the same; remove one'
        if other.path != run.path:
            why = f'their models, {other.path} and {run.path}, would have one name; give one another abbr'
        raise TemplateError(
            f'{other.file} and {run.file} would be translated to one run, {_abbreviations(run)}: {why}, or '
            'expand with --keep-built-in'
        )


def _abbreviations(run: Run) -> str:
    return f'{run.config["models"][0]["abbr"]}@{run.config["datasets"][0]["abbr"]}'


def notes_of(found: Sequence[Pair], own_summarizer: bool) -> list[str]:
    """Return what is another than it was, a line each; `own_summarizer`: the template has one itself."""
    return list(_notes(found, own_summarizer))


def _notes(found: Sequence[Pair], own_summarizer: bool) -> Iterator[str]:
    translated = [pair for pair in found if not pair.reason]
    if translated:
        yield (
            f'{_counted(len(translated), "config")} translated from the older style; gpassk migrate writes '
            'the template of today, --keep-built-in leaves everything as it was. What is another than it was:'
        )
        parts: dict[tuple[str, str], set[int]] = {}
        for pair in translated:
            for kind, text in pair.changed():
                part = pair.model if kind == 'model' else pair.dataset
                parts.setdefault((kind, text), set()).add(id(part))
        for (kind, text), ids in sorted(parts.items(), key=lambda part: part[0][0] != 'model'):
            yield f'  {_counted(len(ids), kind)}: {text}'
        if not own_summarizer:
            yield f'  {_counted(len(translated), "config")}: GPassKSummarizer'
        renamed = [pair for pair in translated if _abbreviations(pair.run) != pair.was]
        if renamed:
            one = renamed[0]
            named = f'results of other names, such as {_abbreviations(one.run)} for {one.was}'
            yield f'  {_counted(len(renamed), "config")}: {named}'
    reasons: dict[str, int] = {}
    for pair in found:
        if pair.reason and not _is_ours(pair.run):
            reasons[pair.reason] = reasons.get(pair.reason, 0) + 1
    for reason, count in reasons.items():
        yield f'{_counted(count, "config")} left as the template computed them: {reason}'


def _is_ours(run: Run) -> bool:
    return all(str(run.config[name][0].get('type')).startswith(_OWN) for name in ('models', 'datasets'))


def _counted(count: int, noun: str) -> str:
    return f'{count} {noun}{"" if count == 1 else "s"}'
