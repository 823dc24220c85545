"""G-Pass@k in inspect_ai, which finds it by an entry point: a metric over the scores of all epochs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from logging import getLogger  # inspect_ai shows and logs what goes through it

from inspect_ai import scorer as inspect

from .errors import InputError
from .metrics import SHOWN_THRESHOLDS, metrics_of, value_table
from .statistics import mean_interval, standard_error

_TO_FLOAT = inspect.value_to_float()
_TOO_FEW = 'G-Pass@k: %d of %d questions have fewer than k = %d scored epochs and are left out; sample more'


@inspect.metric(scores='unreduced')  # type: ignore[untyped-decorator]
def g_pass_at_k(
    k: int | list[int] | None = None,
    thresholds: float | list[float] | None = None,
    value: float = 1.0,
    cluster: str | None = None,
    level: float | None = None,
    to_float: inspect.ValueToFloat = _TO_FLOAT,
) -> inspect.Metric:
    """Return a metric: pass@k, G-Pass@k, mG-Pass@k over the epochs of questions with k or more scored ones.

    Args:
        k: how many epochs are drawn; None: 4, 8 and 16 as far as there are so many, else all of them.
        thresholds: τ, the share of the k that must be correct; None: 0.5, 0.75 and 1.
        value: from where on a score is correct, after `to_float`.
        cluster: the key in the metadata of samples that translations of one problem share.
        level: of intervals for new questions, `…_lower` and `…_upper`; None: without them.
    """
    taus = SHOWN_THRESHOLDS if thresholds is None else thresholds
    metrics_of(4 if k is None else k, taus)  # refuses what is no k or τ
    if level is not None and not 0 < level < 1:
        raise InputError(f'level = {level!r}: expected a confidence between 0 and 1, e.g. 0.95')

    def compute(scores: list[inspect.SampleScore]) -> dict[str, float]:
        n, c, problem = _counted(scores, value, to_float, cluster)
        most = max(n.values(), default=4)
        ks = k if k is not None else [usual for usual in (4, 8, 16) if usual <= most] or [most]
        means, beside, few = {}, {}, {}
        for metric in metrics_of(ks, taus, pass_at=True):
            enough, name = [uid for uid in n if n[uid] >= metric.k], str(metric)
            means[name] = beside[f'{name}_stderr'] = math.nan
            few[metric.k] = len(n) - len(enough)
            if enough:
                values = [float(value_table(metric, n[uid])[c[uid]]) for uid in enough]
                problems = [problem[uid] for uid in enough]
                found = mean_interval(values, problems, metric.top)
                means[name] = float(found.estimate)
                beside[f'{name}_stderr'] = standard_error(values, problems)
                if level is not None:
                    beside[f'{name}_lower'], beside[f'{name}_upper'] = map(float, found.at(level))
        for size in (size for size in few if few[size]):
            getLogger(__name__).warning(_TOO_FEW, few[size], len(n), size)
            beside[f'left_out@{size}'] = float(few[size])
        return means | beside

    return compute


def _counted(
    scores: Sequence[inspect.SampleScore], least: float, to_float: inspect.ValueToFloat, cluster: str | None
) -> tuple[Counter[str], Counter[str], dict[str, str]]:
    """Return the scored epochs of each question, those that are correct, and its problem."""
    n, c, problem = Counter[str](), Counter[str](), {}
    for one in scores:
        uid, about, value = str(one.sample_id), one.sample_metadata or {}, one.score.value
        if cluster is not None and about.get(cluster) is None:
            raise InputError(f'cluster: the metadata of sample {uid} has no {cluster!r}, but {list(about)}')
        if isinstance(value, (Mapping, list)):
            raise InputError(
                f"a score is {value!r:.40}, not one value; say metrics={{'KEY': [g_pass_at_k(4)]}}"
            )
        problem[uid] = uid if cluster is None else str(about[cluster])
        n[uid] += 1
        c[uid] += bool(to_float(value) >= least)
    return n, c, problem
