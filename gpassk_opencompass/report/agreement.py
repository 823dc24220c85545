"""Our scores beside published ones: the same model, the same questions, within the interval or not."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

from ..errors import InputError
from .published import BENCHMARKS, Published
from .scores import ALL, Score

INSIDE, OUTSIDE, OPEN = 'inside', 'outside', 'no interval'


@dataclass(frozen=True)
class Pairing:
    """One of our scores and the published one, in percent."""

    score: Score
    model: str
    """As published."""
    benchmark: str
    """As published."""
    theirs: float

    @property
    def verdict(self) -> str:
        """Whether the published score lies in our interval, which has none of its own."""
        if self.score.low is None or self.score.high is None:
            return OPEN
        return INSIDE if self.score.low <= self.theirs <= self.score.high else OUTSIDE

    @property
    def rerun(self) -> float | None:
        """How far two runs of one model on the same questions lie apart at most, at the interval's level.

        z·√2·(rerun error): the published score is a sample of answers, too. None for a greedy run.
        """
        if self.score.rerun_error is None:
            return None
        return float(stats.norm.ppf((1 + self.score.level) / 2)) * math.sqrt(2) * self.score.rerun_error


def pair_scores(
    scores: Iterable[Score], published: Published, names: Mapping[str, str] | None = None
) -> tuple[list[Pairing], list[str]]:
    """Each of our scores over all questions with the published one of the same model and questions.

    Args:
        scores: of a report.
        published: the leaderboard.
        names: our name of a model, or of a run with its settings → the published one; others are matched by
            letters and digits alone.

    Returns:
        The pairs, and a line for each model or benchmark of ours without a partner.

    Raises:
        InputError: `names` has a model that neither we nor they have.
    """
    ours = [score for score in scores if score.group == ALL]
    _check_names(names or {}, ours, published)
    models = {score.run: _partner(score, published, names or {}) for score in ours}
    sets = {(score.benchmark, score.questions): _same_questions(score, published) for score in ours}
    pairs = []
    for score in ours:
        model, (benchmark, _) = models[score.run], sets[score.benchmark, score.questions]
        if model and benchmark and (model, benchmark, score.metric) in published.values:
            pairs.append(Pairing(score, model, benchmark, published.values[model, benchmark, score.metric]))
    alone = [f'{run}: {_suggestion(run, ours, published)}' for run, model in models.items() if model is None]
    return pairs, alone + [why for _, why in sets.values() if why]


def _partner(score: Score, published: Published, names: Mapping[str, str]) -> str | None:
    for name in (score.run, score.model):
        if name in names:
            return names[name]
    return next((model for model in published.models if _plain(model) == _plain(score.model)), None)


def _same_questions(score: Score, published: Published) -> tuple[str | None, str]:
    """The published name of the benchmark, or why there is none."""
    for name in published.benchmarks:
        known = BENCHMARKS.get(name)
        if score.benchmark not in (name, known.label if known else name):
            continue
        if known and known.questions != score.questions:
            return None, f'{score.benchmark}: {score.questions} questions here, {known.questions} in {name}'
        return name, ''
    return None, f'{score.benchmark}: not in the published leaderboard ({", ".join(published.benchmarks)})'


def _check_names(names: Mapping[str, str], ours: Sequence[Score], published: Published) -> None:
    known = {name for score in ours for name in (score.run, score.model)}
    for our_name, their_name in names.items():
        if our_name not in known:
            raise InputError(f'{our_name!r} is no model here; there are {", ".join(sorted(known))}')
        if their_name not in published.models:
            close = difflib.get_close_matches(their_name, published.models, 3, 0.0)
            raise InputError(f'{their_name!r} is not in the published leaderboard; close: {", ".join(close)}')


def _suggestion(run: str, ours: Sequence[Score], published: Published) -> str:
    model = next(score.model for score in ours if score.run == run)
    plain = {_plain(name): name for name in published.models}
    close = [plain[name] for name in difflib.get_close_matches(_plain(model), plain, 3, 0.6)]
    hint = f'; perhaps {" or ".join(close)}: --map {model!r}={close[0]!r}' if close else ''
    return f'no published model of the name {model}{hint}'


def _plain(name: str) -> str:
    return re.sub(r'[\W_]', '', name).casefold()
