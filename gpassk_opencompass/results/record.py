"""The result record: what counts of correct samples become, and all that is needed to trust them."""

from __future__ import annotations

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_letters
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..judges.protocol import Judge, Judgement, Verdict
from ..metrics import Metric, metric_means, metric_table
from ..version import __version__
from .health import NOT_DRAWN, Generation, cut_off, totals_of

SCHEMA = 2
"""Version of the record's layout; raised when a reader would have to change."""

SYMBOLS = {Verdict.CORRECT: '1', Verdict.INCORRECT: '0', Verdict.UNJUDGED: '?'}
"""What stands for a verdict in `details.verdicts`, a character a sample."""

_encoded = json.JSONEncoder(sort_keys=True, default=str).encode
"""`json.dumps` would make an encoder anew each time, and each sample has its digest."""

DOUBTS = ('unjudged', 'undecided')
"""Columns of `gpassk.counts`: samples that might be right although they count as wrong."""


@dataclass(frozen=True)
class Questions:
    """The Q questions of a run, a column each, and the row of each of their n samples."""

    uid: Sequence[str]
    question: Sequence[str]
    reference: Sequence[str]
    problem: Sequence[str]
    group: Sequence[str]
    """`{split}_{language}`"""
    rows: NDArray[np.int64]
    """(Q, n): the row of each sample."""

    @cached_property
    def data(self) -> dict[str, Any]:
        """See `data_of`."""
        return data_of(self.uid, self.question, self.reference)


def data_of(uid: Sequence[str], question: Sequence[str], reference: Sequence[str]) -> dict[str, Any]:
    """Sum up what was asked: two runs with one hash have the same uids, questions and references."""
    digest = hashlib.sha256()
    for texts in zip(uid, question, reference, strict=True):
        for text in texts:
            content = text.encode('utf-8', 'surrogatepass')
            digest.update(len(content).to_bytes(8, 'big') + content)
    return {'questions': len(uid), 'sha256': digest.hexdigest()}


def digest_of(settings: object) -> str:
    """Return the SHA-256 of settings, the same for equal JSON in any order of keys."""
    return hashlib.sha256(_encoded(settings).encode()).hexdigest()


class Measures:
    """The metrics of a run as a function of the counts.

    Args:
        n: samples a question.
        k: one k or several, each 1 ≤ k ≤ n.
        thresholds: the τ of G-Pass@k_τ, each in [0, 1].

    Raises:
        InputError: settings that cannot be met.
    """

    def __init__(self, n: int, k: int | Sequence[int], thresholds: Sequence[float]) -> None:
        self.n = n
        self.ks = [k] if isinstance(k, int) else sorted(set(k))
        self.thresholds = [float(threshold) for threshold in thresholds]
        self._table = self._table_of(n, self.ks, thresholds)

    def __call__(self, correct: NDArray[np.int64]) -> dict[str, float]:
        """Return the means over the questions, in percent, under the published keys.

        With n = 1 there is the accuracy alone.
        """
        return {key: 100.0 * mean for key, mean in self.means(correct).items()}

    def means(self, correct: NDArray[np.int64]) -> dict[str, float]:
        """Return the means over the questions as fractions from 0 to 1."""
        means = {'accuracy': float(correct.mean()) / self.n}
        return means | metric_means(self._table, correct) if self._table else means

    def _table_of(
        self, n: int, ks: Sequence[int], thresholds: Sequence[float]
    ) -> dict[str, NDArray[np.float64]]:
        """Return the metrics of a question with n samples; see `metric_table`.

        Of a run with one sample a question there are none. mG-Pass@1 is left out: its published sum is
        empty, and its 0 would read like a result.
        """
        table = metric_table(n, ks, thresholds)
        table.pop(Metric.mg_pass_at(1).name, None)
        return table if self.n > 1 else {}

    def by_group(self, correct: NDArray[np.int64], group: Sequence[str]) -> dict[str, float]:
        """Return the means in percent over the questions of each group, under `{group}/{key}`."""
        groups = np.array(group)
        return {
            f'{name}/{key}': value
            for name in dict.fromkeys(group)
            for key, value in self(correct[groups == name]).items()
        }

    def bounds(self, correct: NDArray[np.int64], unjudged: NDArray[np.int64]) -> dict[str, list[float]]:
        """Return each metric with all samples in doubt (unjudged or undecided) wrong, and with all right."""
        low, high = self(correct), self(correct + unjudged)
        return {key: [low[key], high[key]] for key in low}

    def of_completed(self, correct: NDArray[np.bool_], whole: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the means in percent over the samples that were not cut off, each with its questions.

        A question counts in a metric if at least k of its samples are whole: it is then a question with as
        many samples as that. So other questions count than in the scores, most often the easier ones.

        Args:
            correct, whole: of each sample, shape (Q, n).
        """
        sizes, counts = whole.sum(1), (correct & whole).sum(1)
        values: dict[str, list[float]] = {}
        for size in np.unique(sizes[sizes > 0]).tolist():
            questions = counts[sizes == size]
            values.setdefault('accuracy', []).extend(questions / size)
            ks = [k for k in self.ks if k <= size]
            table = self._table_of(size, ks, self.thresholds) if ks else {}
            for key, column in table.items():
                values.setdefault(key, []).extend(column[questions])
        return {
            'samples': int(sizes.sum()),
            'scores': {key: 100.0 * float(np.mean(ones)) for key, ones in sorted(values.items())},
            'questions': {key: len(ones) for key, ones in sorted(values.items())},
        }

    def settings(self) -> dict[str, Any]:
        """Return n, k and τ as they stand in a record."""
        return {'n': self.n, 'k': self.ks, 'thresholds': self.thresholds}


def write_record(
    questions: Questions,
    measures: Measures,
    judgements: Sequence[Judgement],
    answers: Sequence[str],
    judge: Judge,
    generations: Sequence[Generation] = (),
    unfinished: Sequence[bool] = (),
    /,
    **more: Any,
) -> dict[str, Any]:
    """Return the record of one run; see `scoring.score`.

    Args:
        judgements, answers: one a row.
        judge: who judged; asked for its identity and statistics.
        generations: one a row, or none at all: what the engine said of it.
        unfinished: one a row, or none at all: whether the text looks cut off. It counts of those of which
            the engine says nothing.
        more: further entries of the block `gpassk`.
    """
    rows = questions.rows
    cut, truncated = cut_off(generations, unfinished)
    verdicts = np.array([SYMBOLS[judgement.verdict] for judgement in judgements])[rows]
    undecided = np.array([judgement.undecided for judgement in judgements])[rows].sum(1)
    record = counts_record(
        questions,
        measures,
        (verdicts == '1').sum(1),
        (verdicts == '?').sum(1),
        judge.identity(),
        undecided,
        unjudged_reasons=dict(unjudged_reasons(judgements)),
        undecided_reasons=dict(undecided_reasons(judgements)),
        origins=dict(Counter(judgement.origin for judgement in judgements)),
        **{**more, **truncated, **totals_of(generations)},
    )
    record['details'] |= {
        'answers': [[answers[row] for row in question] for question in rows],
        'verdicts': [''.join(question) for question in verdicts],
        **_deciders(judgements, rows),
    }
    if any(cut):
        drawn = [one.state not in NOT_DRAWN for one in generations] or [True] * len(cut)
        whole = (~np.array(cut) & np.array(drawn))[rows]
        record['details']['completed'] = measures.of_completed(verdicts == '1', whole)
    if statistics := dict(judge.statistics()):
        record['gpassk']['judge']['statistics'] = statistics
    return record


def counts_record(
    questions: Questions,
    measures: Measures,
    correct: NDArray[np.int64],
    unjudged: NDArray[np.int64],
    identity: Mapping[str, Any],
    undecided: NDArray[np.int64] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return a record of mere counts: the same layout, without what each sample said.

    Args:
        correct, unjudged: samples of each question, shape (Q,).
        identity: of the judge.
        undecided: samples that are not correct because the judge gave up, shape (Q,); None: not known.
        more: further entries of the block `gpassk`.
    """
    known = {} if undecided is None else {'undecided': undecided}
    return {
        **measures(correct),
        **measures.by_group(correct, questions.group),
        'details': {
            'question': list(questions.question),
            'reference': list(questions.reference),
        },
        'gpassk': {
            'schema': SCHEMA,
            **measures.settings(),
            'samples': measures.n * len(questions.uid),
            'data': questions.data,
            'counts': {
                'uid': list(questions.uid),
                'problem': list(questions.problem),
                'group': list(questions.group),
                'c': correct.tolist(),
                'unjudged': unjudged.tolist(),
                **{name: column.tolist() for name, column in known.items()},
            },
            'unjudged': int(unjudged.sum()),
            **{name: int(column.sum()) for name, column in known.items()},
            'bounds': measures.bounds(correct, unjudged + known.get('undecided', 0)),
            **more,
            'judge': dict(identity),
            'signature': _signature(measures, identity, questions.data),
        },
    }


def _deciders(judgements: Sequence[Judgement], rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return the two columns of details that say which check decided each sample, or why none did."""
    names = [judgement.reason or judgement.origin for judgement in judgements]
    return lettered([[names[row] for row in question] for question in rows])


def lettered(names: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return two columns of the details: a letter a sample, and what the letters stand for.

    A judge of one's own may give a reason a sample; all that come after the letters have run out are 'other'.

    >>> lettered([['string', 'math-verify'], ['string', 'string']])
    {'judged_by': ['ab', 'aa'], 'judges': {'a': 'string', 'b': 'math-verify'}}
    """
    different = list(dict.fromkeys(name for question in names for name in question))
    if len(different) > len(ascii_letters):
        different = [*different[: len(ascii_letters) - 1], 'other']
    letters = dict(zip(different, ascii_letters, strict=False))
    return {
        'judged_by': [''.join(letters.get(name, ascii_letters[-1]) for name in one) for one in names],
        'judges': {letter: name for name, letter in letters.items()},
    }


def unjudged_reasons(judgements: Sequence[Judgement]) -> Counter[str]:
    """Return how many samples stayed unjudged, by the reason."""
    return Counter(j.reason or j.origin for j in judgements if j.verdict is Verdict.UNJUDGED)


def undecided_reasons(judgements: Sequence[Judgement]) -> Counter[str]:
    """Return how many samples count as incorrect because the judge gave up, by the reason."""
    return Counter(judgement.reason for judgement in judgements if judgement.undecided)


def versions_with(hosts: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of this package, of Python, and of the host."""
    return {'gpassk_opencompass': __version__, 'python': platform.python_version(), **hosts}


def _signature(measures: Measures, identity: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """Return one line that says how a number came about; runs with the same line may be compared."""
    parts = {
        'n': measures.n,
        'k': '_'.join(map(str, measures.ks)),
        'tau': '_'.join(map(str, measures.thresholds)),
        'judge': '-'.join(str(identity[part]) for part in ('name', 'model') if part in identity),
        'rules': digest_of(identity)[:12],
        'questions': data['questions'],
        'data': data['sha256'][:12],
        'version': __version__,
    }
    return 'G-Pass@k|' + '|'.join(f'{key}:{value}' for key, value in parts.items())
