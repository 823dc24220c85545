"""G-Pass@k of one question from its predictions, for use in any project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .errors import InputError
from .metrics import (
    DEFAULT_THRESHOLDS,
    LARGEST_N,
    Integer,
    Threshold,
    as_list,
    as_whole,
    metric_names,
    metric_table,
)


class GPassAtK:
    """G-Pass@k of one question from its predictions, for use in any project.

    Args:
        k: one k or several, each at least 1.
        n: predictions to use, at least k; None uses all that are given.
        thresholds: τ, each from 0 to 1.
        sample_scoring_function: when a prediction is correct. 'full' (also None): it equals the gold;
            'prefix': it starts with the gold; 'suffix': it ends with it; white space around either does not
            count. Or a function of (prediction, gold) that returns a boolean, 0 or 1.

    Raises InputError (a ValueError) or TypeError as `metric_names` and `g_pass_at_k` do.

    >>> metric = GPassAtK(k=2, thresholds=[0.5, 1.0])
    >>> metric.compute(['7', ' 7', '8', '7'], gold='7')
    {'G-Pass@2_0.5': 1.0, 'G-Pass@2_1.0': 0.5, 'mG-Pass@2': 0.5}
    """

    def __init__(
        self,
        k: Integer | Iterable[Integer],
        n: Integer | None = None,
        thresholds: Threshold | Iterable[Threshold] = DEFAULT_THRESHOLDS,
        sample_scoring_function: Callable[[Any, Any], object] | str | None = None,
    ) -> None:
        self.k = as_list(k)
        self.n = None if n is None else as_whole('n', n, 1, LARGEST_N)
        self.thresholds = as_list(thresholds)
        self.all_metrics = metric_names(self.k, self.thresholds)
        """The keys of a result, in its order."""
        if self.n is not None:  # an n below k is refused here, not at the first question
            metric_table(self.n, self.k, self.thresholds)
        self._score = _scoring_function(sample_scoring_function)

    def compute(self, predictions: Sequence[Any], gold: str | Sequence[Any]) -> dict[str, float]:
        """Return the metrics of one question, as fractions.

        Args:
            predictions: the answers, at least n of them. Of more, the first n are used: independent samples
                have no order, so these are as good as any, and n stays what the caller asked for.
            gold: the reference answer, or a list of exactly one.

        Raises:
            InputError: too few predictions, not one gold, or a score that is not 0 or 1.
            TypeError: `predictions` is no list, or 'full', 'prefix' or 'suffix' meets something but text.
        """
        if isinstance(predictions, (str, bytes)) or not isinstance(predictions, Sequence):
            raise TypeError(f'predictions must be a list of answers, got {type(predictions).__name__}')
        n = self._count('predictions', predictions)
        metric_table(n, self.k, self.thresholds)  # an n below k is refused before anything is scored
        reference = _only(gold)
        return self.g_pass_at_k(
            [_zero_or_one(self._score(prediction, reference)) for prediction in predictions[:n]]
        )

    def g_pass_at_k(self, all_scores: Sequence[Any]) -> dict[str, float]:
        """Return the metrics of one question from the scores of its answers, as fractions.

        Args:
            all_scores: True or 1 for a correct answer, False or 0 for another, at least n of them; of more
                the first n are used.

        Raises:
            InputError: too few scores, or one that is not 0 or 1.
            TypeError: `all_scores` is no list.

        >>> GPassAtK(k=2, thresholds=[0.5, 1.0]).g_pass_at_k([1, 1, 0, 1])
        {'G-Pass@2_0.5': 1.0, 'G-Pass@2_1.0': 0.5, 'mG-Pass@2': 0.5}
        """
        if isinstance(all_scores, np.ndarray):
            all_scores = all_scores.tolist()
        if isinstance(all_scores, (str, bytes)) or not isinstance(all_scores, Sequence):
            raise TypeError(f'all_scores must be a list of scores, got {type(all_scores).__name__}')
        n = self._count('all_scores', all_scores)
        correct = sum(
            _zero_or_one(score, 'all_scores must hold booleans, 0 or 1') for score in all_scores[:n]
        )
        table = metric_table(n, self.k, self.thresholds)
        return {name: float(table[name][correct]) for name in self.all_metrics}

    def _count(self, name: str, answers: Sequence[Any]) -> int:
        n = len(answers) if self.n is None else self.n
        if len(answers) < n or not answers:
            raise InputError(f'{name} must hold at least {max(n, 1)} answers, got {len(answers)}')
        return n


def _only(gold: object) -> object:
    if isinstance(gold, (str, bytes)) or not isinstance(gold, Sequence):
        return gold
    if len(gold) != 1:
        raise InputError(f'G-Pass@k is defined for exactly one gold answer, got {len(gold)}')
    return gold[0]


def _zero_or_one(
    score: object, expected: str = 'sample_scoring_function must return a boolean, 0 or 1'
) -> int:
    if not isinstance(score, (bool, int, float, np.bool_, np.number)) or score not in (0, 1):
        raise InputError(f'{expected}, got {score!r}')
    return int(score)


def _scoring_function(choice: Callable[[Any, Any], object] | str | None) -> Callable[[Any, Any], object]:
    if callable(choice):
        return choice
    named = {'full': _is_gold, 'prefix': _starts_with_gold, 'suffix': _ends_with_gold}
    choice = 'full' if choice is None else choice
    if not isinstance(choice, str) or choice not in named:
        raise InputError(
            f"sample_scoring_function must be 'full', 'prefix', 'suffix' or a function, got {choice!r}"
        )
    return named[choice]


def _is_gold(prediction: object, gold: object) -> bool:
    return _text('prediction', prediction) == _text('gold', gold)


def _starts_with_gold(prediction: object, gold: object) -> bool:
    return _text('prediction', prediction).startswith(_text('gold', gold))


def _ends_with_gold(prediction: object, gold: object) -> bool:
    return _text('prediction', prediction).endswith(_text('gold', gold))


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f'each {name} must be a string, got {value!r} ({type(value).__name__})')
    text = value.strip()
    if name == 'gold' and not text:
        raise InputError('gold is blank: every prediction would start and end with it')
    return text
