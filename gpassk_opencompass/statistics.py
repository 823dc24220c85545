"""How far a score can be trusted: intervals, differences, reruns, ranks, decisions and plans.

One rule for new questions: whole opposite problems are added to those that were asked, so that an interval
says something of what was not drawn. Nothing is refused; no interval is without the printed number.

Shapes: values are (..., Q), one from 0 to 1 a question; leading axes are as many data sets, computed at once.
Questions lie in J source problems (translations, variants) with sums s_j and sizes m_j; N = Σm_j;
M = Σm_j²/N is the size of the problem that a question taken at random is of, and m where all sizes are m.
A metric is a function n → table of the value with c = 0 … n of n answers right (`metrics.value_table`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import ceil, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaincinv, ndtri, stdtrit, xlog1py, xlogy

from .errors import InputError

Floats = NDArray[np.float64]
Metric = Callable[[int], Floats]
Problems = Sequence[Hashable] | None

REACH = 1.959964
"""± so many rerun errors are the 95 % interval of a score for the same questions asked again."""

FEW_PROBLEMS = 10
"""Below so many problems in effect a sentence stands beside an interval."""

PASSES = frozenset({'better', 'equivalent', 'not worse'})
"""The outcomes of `decide` with which a new run passes."""


# -------------------- new questions


class Interval(NamedTuple):
    """An estimate with what any of its intervals is made of; numbers, or arrays of the leading shape."""

    estimate: Floats
    """What is printed: Σs/N."""
    centre: Floats
    """The middle of the interval: the estimate after the added problems."""
    error: Floats
    """Standard error after the added problems."""
    freedom: Floats
    """Degrees of freedom of Student's t; infinite for the normal distribution."""
    problems: int
    effective: float
    """Problems in effect, N²/Σm² (Kish 1965, Survey Sampling): a few large ones outweigh many small ones."""
    bounds: tuple[float, float]

    def at(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return low and high at `level`, within the bounds and never without the estimate.

        (Below a level of 84 % the interval of a model that solves everything would leave 100 % out.)
        """
        half = stdtrit(self.freedom, 0.5 + level / 2) * self.error
        low = np.minimum(np.maximum(self.centre - half, self.bounds[0]), self.estimate)
        high = np.maximum(np.minimum(self.centre + half, self.bounds[1]), self.estimate)
        return low, high

    @property
    def remark(self) -> str:
        """What to say beside an interval of few problems, or ''."""
        if self.effective >= FEW_PROBLEMS:
            return ''
        count = f'{self.problems} problem{"s" * (self.problems != 1)}'
        if round(self.effective, 1) != self.problems:
            count += f', {self.effective:.1f} in effect'
        return f'{count}: so few say little of others of their kind'


def mean_interval(values: ArrayLike, problems: Problems = None, top: float = 1.0) -> Interval:
    """Return the mean of (..., Q) values with its interval for new questions of the same kind.

    Two solved and two unsolved problems of the usual size are added, as in `_with_added`: Agresti and
    Coull 1998, Am. Stat. 52, 119, with problems in the place of trials.

    Args:
        values: from 0 to `top`, a value a question.
        problems: the source problem of each question; None: each question is its own.
        top: the largest value of the metric, 0.8 for mG-Pass@5: that of an added solved problem.

    >>> low, high = mean_interval([0.0, 1.0] * 50).at()
    >>> round(float(low), 3), round(float(high), 3)
    (0.402, 0.598)
    """
    sums, sizes = problem_sums(_checked(values, 0.0, top), problems)
    return _with_added(sums, sizes, (top, top, 0.0, 0.0), (0.0, top))


def difference(first: ArrayLike, second: ArrayLike, problems: Problems = None) -> Interval:
    """Return mean(first) − mean(second) of (..., Q) values on the same questions, for new questions.

    A problem with a difference of +1 and one with −1 are added: Bonett and Price 2012, J. Educ. Behav.
    Stat. 37, 479. Two runs that agree everywhere may still differ by 2.8/J on what was not asked.

    >>> low, high = difference([1, 1, 0, 1] * 10, [1, 0, 0, 0] * 10).at()
    >>> round(float(low), 2), round(float(high), 2)
    (0.3, 0.65)
    """
    a, b = _checked(first, 0.0, 1.0), _checked(second, 0.0, 1.0)
    if a.shape[-1] != b.shape[-1]:
        raise InputError(
            f'{a.shape[-1]} values against {b.shape[-1]}: a difference needs the same questions in both'
        )
    return _with_added(*problem_sums(a - b, problems), (1.0, -1.0), (-1.0, 1.0))


def problem_sums(values: Floats, problems: Problems = None) -> tuple[Floats, Floats]:
    """Return the sums of the values of each problem, shape (..., J), and its size, shape (J,)."""
    if problems is None:
        return values, np.ones(values.shape[-1])
    if len(problems) != values.shape[-1]:
        raise InputError(f'{len(problems)} problems for {values.shape[-1]} questions: give one a question')
    numbers: dict[Hashable, int] = {}
    number = np.array([numbers.setdefault(problem, len(numbers)) for problem in problems])
    sizes = np.bincount(number)
    order, starts = np.argsort(number, kind='stable'), np.cumsum(sizes) - sizes
    return np.add.reduceat(values[..., order], starts, axis=-1), sizes.astype(np.float64)


def usual_size(sizes: Floats) -> float:
    """Return M = Σm²/Σm."""
    return float((sizes**2).sum() / sizes.sum())


def _with_added(sums: Floats, sizes: Floats, added: Sequence[float], bounds: tuple[float, float]) -> Interval:
    """Return Σs/N with error and degrees of freedom after A problems of size M with the values a_1 … a_A.

    N' = N + A·M, J' = J + A, c = (Σs + M·Σa)/N', SS = Σ(s_j − c·m_j)² + M²·Σ(a − c)²,
    error = √(J'/(J' − 1)·SS)/N', Student's t with N'²/(Σm_j² + A·M²) − 1 degrees of freedom (J' − 1 for equal
    sizes). It is the error of a ratio of sums over clusters: Cochran 1977, Sampling Techniques, 6.3.
    """
    a, size = np.array(added), usual_size(sizes)
    total, count = sizes.sum() + a.size * size, sizes.size + a.size
    centre = (sums.sum(-1) + size * a.sum()) / total
    squares = ((sums - centre[..., None] * sizes) ** 2).sum(-1)
    squares = squares + size**2 * ((a - centre[..., None]) ** 2).sum(-1)
    freedom = total**2 / ((sizes**2).sum() + a.size * size**2) - 1
    return Interval(
        sums.sum(-1) / sizes.sum(),
        centre,
        np.sqrt(count / (count - 1) * squares) / total,
        np.full(centre.shape, freedom)[()],
        sizes.size,
        float(sizes.sum() / size),
        bounds,
    )


def _checked(values: ArrayLike, low: float, high: float) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InputError(
            f'values of shape {array.shape}: expected a value a question, of one question at least'
        )
    if not (array.min() >= low - 1e-12 and array.max() <= high + 1e-12):  # not of NaN either
        raise InputError(f'values from {array.min()} to {array.max()}: expected {low:g} to {high:g}')
    return array


# -------------------- the same questions

_CHANCES = np.concatenate([[0.0], 1 / (1 + np.exp(-np.linspace(-7, 7, 57))), [1.0]])
"""Where the mixture of chances may lie."""


def rerun_error(counts: ArrayLike, n: int | ArrayLike, metric: Metric) -> Floats:
    """Return the standard error of the score of these very questions when their answers are drawn again.

    √max(A, B)/Q, both sums over the questions of Var(value of X), X ~ Binomial(n, p). A takes p = (c + ½)/(n
    + 1) of each question by itself, never 0 or 1. B takes the mixture of chances under which all counts are
    likeliest (nonparametric maximum likelihood, Laird 1978, JASA 73, 805; 100 EM steps on a grid): a metric
    that is steep near p = 1 varies more than A sees with few answers.

    Args:
        counts: right answers, shape (..., Q).
        n: answers a question; one number, or one a question (Q,): then each n has a mixture of its own.
        metric: n → table of the values of c = 0 … n.

    >>> round(float(rerun_error([1, 2, 3, 4], 4, lambda n: np.arange(n + 1) / n)), 3)
    0.112
    """
    c, sizes = np.asarray(counts), np.asarray(n)
    if sizes.ndim:
        parts = [(int(size), c[..., sizes == size]) for size in np.unique(sizes)]
        return np.asarray(
            np.sqrt(sum(_rerun_variance(part, size, metric) for size, part in parts)) / c.shape[-1]
        )
    return np.asarray(np.sqrt(_rerun_variance(c, int(sizes), metric)) / c.shape[-1])[()]


def _rerun_variance(counts: NDArray[np.intp], n: int, metric: Metric) -> Floats:
    """Return max(A, B) of `rerun_error`."""
    table = np.asarray(metric(n), dtype=np.float64)
    seen, place = np.unique(counts, return_inverse=True)
    alone = _value_variance(table, (seen + 0.5) / (n + 1))[place.reshape(counts.shape)].sum(-1)
    often = np.stack([(counts == c).sum(-1) for c in seen], axis=-1)  # (..., different counts)
    ways = _binomial(n, _CHANCES)[:, seen]
    weights = np.full((*counts.shape[:-1], _CHANCES.size), 1 / _CHANCES.size)
    for _ in range(100):
        weights = weights * ((often / np.maximum(weights @ ways, 1e-300)) @ ways.T) / counts.shape[-1]
    mixed = counts.shape[-1] * (weights @ _value_variance(table, _CHANCES))
    return np.asarray(np.maximum(alone, mixed))


def _value_variance(table: Floats, chances: Floats) -> Floats:
    """Return Var(table[X]), X ~ Binomial(n, p), for each chance p."""
    ways = _binomial(table.size - 1, chances)
    return np.asarray(np.maximum(ways @ table**2 - (ways @ table) ** 2, 0.0))


def _binomial(n: int, chances: Floats) -> Floats:
    """Return P[X = 0 … n] for each chance, shape (chances, n + 1)."""
    x = np.arange(n + 1)
    logs = -np.log(n + 1) - betaln(n - x + 1, x + 1)  # of C(n, x), which overflows beyond n = 1,029
    return np.asarray(np.exp(logs + xlogy(x, chances[:, None]) + xlog1py(n - x, -chances[:, None])))


# -------------------- between runs


class BetweenRuns(NamedTuple):
    """How much the mean of one model moves over R reruns; arrays of the leading shape."""

    variance: Floats
    """S² of the R means: all that makes a rerun differ, samples included."""
    sampling: Floats
    """The part of S² that samples, and what a run does to single questions, explain."""
    beyond: Floats
    """max(S² − sampling, 0): engine, batch, config. To be shown; no interval is made of it."""
    freedom: int
    """R − 1; with one run nothing is known, and all variances are 0."""
    runs: int


def between_runs(values: ArrayLike, problems: Problems = None) -> BetweenRuns:
    """Estimate from (..., R, Q) values, R reruns of one model, how far its mean moves from run to run.

    Two-way random effects, y_rq = question_q + run_r + rest_rq: S² = Σ_r(ȳ_r − ȳ)²/(R − 1) estimates
    var(run) + var(rest)/Q. The mean square of the interaction, clustered by problem, estimates the second
    term: J/(J − 1)·Σ_rj z_rj²/((R − 1)·N²), z_rj = Σ_{q in j}(y_rq − ȳ_q) − m_j·(ȳ_r − ȳ).
    Source: Searle, Casella and McCulloch 1992, Variance Components, chapter 4.
    """
    sums, sizes = problem_sums(np.asarray(values, dtype=np.float64), problems)
    runs, total = sums.shape[-2], sizes.sum()
    means = sums.sum(-1) / total
    if runs == 1:
        nothing = np.zeros(means.shape[:-1])
        return BetweenRuns(nothing, nothing, nothing, 0, 1)
    shift = means - means.mean(-1, keepdims=True)
    variance = (shift**2).sum(-1) / (runs - 1)
    rest = sums - sums.mean(-2, keepdims=True) - shift[..., None] * sizes
    sampling = (rest**2).sum((-1, -2)) / ((runs - 1) * total**2)
    sampling = sampling * (sizes.size / (sizes.size - 1)) if sizes.size > 1 else variance
    return BetweenRuns(variance, sampling, np.maximum(variance - sampling, 0.0), runs - 1, runs)


def pooled(models: Iterable[BetweenRuns]) -> tuple[Floats, int]:
    """Return S² over several models, weighed by their reruns, and its degrees of freedom ν = Σ(R − 1)."""
    known = list(models)
    freedom = sum(one.freedom for one in known)
    squares = sum((one.freedom * one.variance for one in known), np.zeros(()))
    return np.asarray(squares / max(freedom, 1))[()], freedom


def compare_runs(
    first: ArrayLike,
    second: ArrayLike,
    problems: Problems = None,
    questions: str = 'new',
    rerun_variance: ArrayLike = 0.0,
    between: tuple[ArrayLike, float] | None = None,
) -> Interval:
    """Return model − model over their reruns, first (..., R1, Q) and second (..., R2, Q).

    V = S²·(1/R1 + 1/R2) is the part of the runs. *Same* questions: the run is the unit; error² = max(V,
    rerun_variance), Student's t with ν, nothing added, for no question is new. *New* questions: error² = e² +
    V, e of `difference` of the means over reruns, with Satterthwaite's degrees of freedom. That is min F' of
    Clark 1973, J. Verb. Learn. Verb. Behav. 12, 335: sampling counts in both parts, so it errs to the wide
    side.

    One run a side and no `between`: sampling alone (same) or questions alone (new). Of these very questions
    that is a verdict only where nothing but the model differs; whoever prints it has to say so.

    Args:
        questions: 'same' or 'new'.
        rerun_variance: e1²/R1 + e2²/R2 of `rerun_error`: what sampling alone makes of the difference.
        between: (S², ν) of a whole table, or (sd², inf) where it is known; None: pooled over these two.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if questions not in ('same', 'new'):
        raise InputError(f"questions = {questions!r}: expected 'same' or 'new'")
    found = difference(a.mean(-2), b.mean(-2), problems)
    spread, freedom = between or pooled([between_runs(a, problems), between_runs(b, problems)])
    part = np.asarray(spread) * (1 / a.shape[-2] + 1 / b.shape[-2])
    if questions == 'same':
        error = np.sqrt(np.maximum(part, rerun_variance))
        return found._replace(
            centre=found.estimate, error=error, freedom=np.full(np.shape(error), freedom or inf)[()]
        )
    return _with_runs(found, part, freedom)


def _with_runs(found: Interval, part: Floats, freedom: float) -> Interval:
    """Add the variance of the runs to that of the questions (Satterthwaite 1946, Biometrics Bull. 2, 110)."""
    if not freedom:
        return found
    squares = found.error**2
    together = squares + part
    return found._replace(
        error=np.sqrt(together),
        freedom=together**2 / (squares**2 / found.freedom + part**2 / freedom),
    )


# -------------------- ranks


class AllPairs(NamedTuple):
    """M models on the same questions, all pairs right at once; row i, column j is model i − model j."""

    difference: Floats
    low: Floats
    high: Floats
    better: NDArray[np.bool_]
    ranks: NDArray[np.intp]
    """Best and worst rank of each model, shape (M, 2)."""
    critical: float
    """Of |t| where only questions count."""


def all_pairs(
    values: ArrayLike,
    problems: Problems = None,
    level: float = 0.95,
    draws: int = 1999,
    seed: int = 0,
    runs: tuple[float, float, ArrayLike] | None = None,
) -> AllPairs:
    """Return all differences of M models, values (M, Q), with intervals and ranks that hold together.

    t_ij = centre/error of `difference`. In each draw every problem of the centred table s_ij − mean_i·m_j
    gets a random sign, one for all models; every pair's t is computed anew, with its added problems and its
    own error. The critical value is what max |t| exceeds in a share 1 − level of the draws. Sources: Romano
    and Wolf 2005, Econometrica 73, 1237; ranks: Mogstad, Romano, Shaikh and Wilhelm 2024, Rev. Econ. Stud.
    91, 476.

    No interval is narrower than that of `difference`, or with `runs` of `compare_runs`, at this level: what a
    table tells apart, a comparison of the two does.

    Args:
        draws: of random signs; more where the level needs them.
        runs: (S² pooled over the table, ν, reruns of each model); values are then means over reruns. The
            half-width is √((critical·error)² + q²/2·S²·(1/R_i + 1/R_j)), q the studentised range of M means
            with ν degrees of freedom (Tukey).

    >>> steady, shaky = [1, 1, 1, 0] * 10, [1, 0, 0, 0] * 10
    >>> all_pairs([shaky, steady, steady]).ranks.tolist()
    [[3, 3], [1, 2], [1, 2]]
    """
    sums, sizes = problem_sums(_checked(values, 0.0, 1.0), problems)
    models, size, squares = len(sums), usual_size(sizes), float((sizes**2).sum())
    means = sums.sum(1) / sizes.sum()
    centred = sums - means[:, None] * sizes
    count, total = sizes.size + 2, sizes.sum() + 2 * size
    gram, across = centred @ centred.T, centred @ sizes
    own = np.diag(gram)
    apart = own[:, None] + own - 2 * gram  # Σ(difference about its mean)²; rounding is nothing beside 2·M²

    def error(shift: Floats, weighed: Floats, i: int) -> Floats:
        """Return the errors of pairs (i, j ≥ i) where centres are `shift` off those of the centred sums."""
        left = apart[i, i:] - 2 * shift * weighed + shift**2 * (squares + 2 * size**2) + 2 * size**2
        return np.asarray(np.sqrt(count / (count - 1) * left) / total)

    # As `difference` has it: s_i − s_j − c·m = centred_i − centred_j − (c − d)·m, d the difference of means.
    gaps = means[:, None] - means
    centre = gaps * sizes.sum() / total
    off = centre - gaps
    weighed = across[:, None] - across
    left = apart - 2 * off * weighed + off**2 * squares + 2 * size**2 * (1 + centre**2)
    errors = np.sqrt(count / (count - 1) * left) / total
    freedom = total**2 / (squares + 2 * size**2) - 1

    signs = (
        np.random.default_rng(seed).integers(2, size=(max(draws, ceil(20 / (1 - level))), sizes.size)) * 2.0
        - 1
    )
    drawn, drawn_weighed = signs @ centred.T, signs @ (centred * sizes).T
    largest = np.zeros(len(signs))
    for i in range(models - 1):
        shift = (drawn[:, i, None] - drawn[:, i:]) / total
        t = np.abs(shift) / error(shift, drawn_weighed[:, i, None] - drawn_weighed[:, i:], i)
        np.maximum(largest, t.max(1), out=largest)
    place = ceil(round((largest.size + 1) * level, 9))
    critical = max(float(np.sort(largest)[place - 1]), float(stdtrit(freedom, 0.5 + level / 2)))
    alone = Interval(gaps, centre, errors, np.full(gaps.shape, freedom), sizes.size, 0.0, (-1.0, 1.0))
    half = critical * (1 + 1e-9) * errors
    if runs is not None and runs[1] > 0:
        from scipy.stats import studentized_range

        each = 1 / np.asarray(runs[2], dtype=np.float64)
        part = runs[0] * (each[:, None] + each)
        reach = studentized_range.ppf(level, max(models, 2), min(runs[1], 1e5)) / np.sqrt(2)
        half = np.sqrt(half**2 + reach**2 * part)
        alone = _with_runs(alone, part, runs[1])
    low, high = alone.at(level)
    low, high = np.minimum(centre - half, low), np.maximum(centre + half, high)
    better = low > 0
    ranks = np.stack([1 + better.sum(0), models - better.sum(1)], axis=1)
    return AllPairs(gaps, np.maximum(low, -1.0), np.minimum(high, 1.0), better, ranks, critical)


# -------------------- decisions


def decide(found: Interval, margin: float, level: float = 0.95) -> NDArray[np.str_]:
    """Say of a difference new − old by its printed interval [low, high]; `margin` is chosen beforehand.

    1. *better* if low > 0; 2. else *equivalent* if −margin < low and high < margin; 3. else *not worse* if
    −margin < low; 4. else *worse* if high < 0; 5. else *undecided*.

    Whatever is said is false only if the true difference lies outside of the one interval: in at most 1 −
    level of cases as far as it covers; a run that is worse by the margin passes in half of that. (Two
    one-sided tests at 5 %, Schuirmann 1987, J. Pharmacokinet. Biopharm. 15, 657, would be the interval at 90
    %.)

    Args:
        margin: what does not matter, above 0 and below 1.

    >>> str(decide(difference([1, 1, 0, 1] * 50, [1, 1, 0, 1] * 50), margin=0.02))
    'equivalent'
    """
    if not 0 < margin < 1:  # not of NaN either
        raise InputError(
            f'margin = {margin!r}: expected a difference that does not matter, e.g. 0.02 for 2 points'
        )
    low, high = found.at(level)
    above = low > -margin
    names = ['better', 'equivalent', 'not worse', 'worse']
    return np.asarray(np.select([low > 0, above & (high < margin), above, high < 0], names, 'undecided'))


def decide_rows(rows: Sequence[Interval], margin: float, level: float = 0.95) -> tuple[str, list[str]]:
    """Decide B rows, benchmarks or metrics: return what is said of all together, and of each at `level`.

    That all pass is one statement without correction (intersection-union: Berger 1982, Technometrics 24,
    295). The whole is *worse* where a row that does not pass lies below 0 at 1 − α/B (Bonferroni).
    """
    each = [str(decide(row, margin, level)) for row in rows]
    if len(each) == 1:
        return each[0], each
    if all(outcome in PASSES for outcome in each):
        return ('better' if set(each) == {'better'} else 'not worse'), each
    strict = 1 - (1 - level) / len(rows)
    worse = any(
        outcome not in PASSES and float(row.at(strict)[1]) < 0
        for row, outcome in zip(rows, each, strict=True)
    )
    return ('worse' if worse else 'undecided'), each


def least_margin(problems: int, level: float = 0.95) -> float:
    """Return the margin up to which two runs that agree on all of so many problems do not pass.

    >>> round(100 * least_margin(119), 2)
    2.32
    """
    nothing = np.zeros(problems)
    return float(difference(nothing, nothing).at(level)[1])


# -------------------- plans


class Plan(NamedTuple):
    """What it takes with n samples a question."""

    n: int
    questions: int
    samples: int
    removable: float
    """The share of the variance that more samples a question could still remove."""


def plan(
    counts: ArrayLike,
    n: int,
    metric: Metric,
    ns: Iterable[int],
    half_width: float | None = None,
    margin: float | None = None,
    problems: Problems = None,
    level: float = 0.95,
    assurance: float = 0.8,
) -> list[Plan]:
    """Return for each of `ns` samples a question how many questions it takes, from a pilot.

    *half_width*: of the interval of `mean_interval`. A problem's variance is between + within(n'): within is
    the mean of Var(value of X) with the A of `rerun_error`, between what the pilot's variance has more than
    within(n). For the pilot's own error that variance is the larger of s²·(J − 1)/χ²_{1 − assurance}(J − 1)
    and of SS/(J + 3)
    with the added problems: the first serves pilots of ordinary questions, the second those without rare
        ones.

    *margin*: with which two equal runs pass `decide` in a share `assurance` of cases; their difference varies
    by 2·within(n') alone.

    Args:
        counts, n: right answers of each question of the pilot, of n.
        ns: numbers of samples a question to look at.
        half_width, margin: one of the two, on the scale from 0 to 1.
    """
    c, table = np.asarray(counts), np.asarray(metric(n), dtype=np.float64)
    wanted = half_width if margin is None else margin
    if wanted is None or (half_width is None) == (margin is None) or not 0 < wanted < 1:
        raise InputError(
            f'half_width = {half_width}, margin = {margin}: expected one of them, above 0 and below 1'
        )
    if c.size < 2:
        raise InputError(f'{c.size} question in the pilot: expected two at least')
    sums, sizes = problem_sums(table[c], problems)
    count, each = sizes.size, float(sizes.mean())  # in units of the mean size, the problems are of size 1
    found = mean_interval(table[c], problems, max(float(table.max()), 1e-9))
    residuals = (sums - found.estimate * sizes) / each
    ordinary = (residuals**2).sum() / (2 * gammaincinv((count - 1) / 2, 1 - assurance)) if count > 1 else 0.0
    rare = float(found.error) ** 2 * (count + 4)
    variance = max(ordinary, rare)

    def within(size: int) -> float:
        return float(_value_variance(np.asarray(metric(size)), (c + 0.5) / (n + 1)).mean()) / each

    between = max(rare - within(n), 0.0) * variance / rare
    scale = variance / rare

    def reached(problems: int, spread: float) -> float:
        if margin is not None:
            half = stdtrit(problems + 1, 0.5 + level / 2)
            half *= np.sqrt((problems + 2) / (problems + 1) * (problems * spread + 2)) / (problems + 2)
            return float(half + ndtri(0.5 + assurance / 2) * np.sqrt(spread / problems))
        centre = (problems * float(found.centre) + 2 * top) / (problems + 4)
        squares = problems * (spread + (float(found.centre) - centre) ** 2)
        squares += 2 * ((top - centre) ** 2 + centre**2)
        half = stdtrit(problems + 3, 0.5 + level / 2)
        return float(half * np.sqrt((problems + 4) / (problems + 3) * squares) / (problems + 4))

    top, plans = found.bounds[1], list[Plan]()
    for size in ns:
        inside = within(size)
        spread = 2 * inside if margin is not None else between + scale * inside
        low, high = 1, 2
        while reached(high, spread) > wanted:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle, spread) <= wanted else (middle, high)
        questions = ceil(round(high * each, 9))
        share = scale * inside / max(between + scale * inside, 1e-12)
        plans.append(Plan(size, questions, questions * size, share))
    return plans
