"""Results with counts that a test chooses: two languages of each problem, samples cut off and unjudged."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from made_results import result_of

from gpassk_opencompass.record import Result

N = 10


def counted(
    model: str,
    c: Sequence[int],
    cut: Sequence[int] | None = None,
    unjudged: Sequence[int] | None = None,
    judge: str = 'rule',
    n: int = N,
    data: str = 'same',
    backwards: bool = False,
    more: Sequence[str] = (),
) -> Result:
    """A run with c[i] of n right on question i: problem i // 2 in Chinese (even) and in English (odd).

    Args:
        cut: samples of each question that were cut off, all of them wrong; None: nobody knows.
        unjudged: of each question; wrong, and in doubt.
        backwards: the result has its questions in the other order.
        more: fields of the signature.
    """
    order = list(range(len(c)))[:: -1 if backwards else 1]
    missing = list(unjudged or [0] * len(c))
    counts = {
        'uid': [uid_of(i) for i in order],
        'problem': [f'p{i // 2}' for i in order],
        'group': [('AMC_cn', 'AMC_en')[i % 2] for i in order],
        'c': [int(c[i]) for i in order],
        'unjudged': [missing[i] for i in order],
    }
    wrong = {i: n - c[i] - missing[i] for i in order}
    verdicts = {i: ['correct'] * c[i] + ['incorrect'] * wrong[i] + ['unjudged'] * missing[i] for i in order}
    columns = {
        'uid': [uid_of(i) for i in order for _ in range(n)],
        'replica': list(range(n)) * len(order),
        'question': [f'Question {i}' for i in order for _ in range(n)],
        'reference': ['42'] * (n * len(order)),
        'answer': [answer for i in order for answer in ['42'] * c[i] + ['43'] * (n - c[i])],
        'verdict': [verdict for i in order for verdict in verdicts[i]],
    }
    if cut is not None:
        ends = {i: ['stop'] * (n - cut[i]) + ['length'] * cut[i] for i in order}
        columns['finish_reason'] = [end for i in order for end in ends[i]]
    dataset = f'Counted-k{"1" if n == 1 else "4_8"}-n{n}'
    result = result_of(model, dataset, counts, n, (4, 8), judge, columns)
    result.data.sha256 = sha256(data.encode()).hexdigest()
    result.signature = '|'.join([f'judge:{judge}', f'model:{model}', *more])
    return result


def uid_of(place: int) -> str:
    """The name of a question."""
    return f'AMC_{("cn", "en")[place % 2]}/{place // 2}'
