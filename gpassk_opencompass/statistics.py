"""How far a score can be trusted: intervals, differences, reruns, ranks, decisions and plans.

One rule for new questions: whole opposite problems are added to those that were asked, so that an interval
says something of what was not drawn.

Shapes: values are (..., Q), one from 0 to 1 a question; leading axes are as many data sets. Questions lie in
J source problems (translations, variants) with sums s_j and sizes m_j; N = Σm_j; M = Σm_j²/N is their usual
size. A metric is a function n → table of the value with c = 0 … n of n answers right (`metrics.value_table`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import ceil, inf, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaincinv, ndtri, stdtrit, xlog1py, xlogy

from .errors import InputError

Floats = NDArray[np.float64]
ValueTable = Callable[[int], Floats]
Problems = Sequence[Hashable] | NDArray[np.integer[Any]] | None

REACH = 1.959964  # ± so many rerun errors are the 95 % interval of a score for the same questions again
FEW_PROBLEMS = 10  # in effect: below so many a sentence stands beside an interval
WIDER = 1.02  # ranks exceed what random signs say: at most 7 of 100 simulated tables then have a false one
PASSES = frozenset({'better', 'equivalent', 'not worse'})  # the outcomes of `decide` with which a run passes
_CHANCES = np.concatenate([[0.0], 1 / (1 + np.exp(-np.linspace(-7, 7, 57))), [1.0]])  # of `rerun_error`


class Interval(NamedTuple):
    """An estimate with what any of its intervals is made of; numbers, or arrays of the leading shape."""

    estimate: Floats  # what is printed: Σs/N
    centre: Floats  # with the added problems: the middle of the interval
    error: Floats  # standard error, with the added problems
    freedom: Floats  # of Student's t; infinite for the normal distribution
    problems: int
    effective: float  # problems in effect, N²/Σm² (Kish 1965, Survey Sampling)
    bounds: tuple[float, float]

    def at(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return low and high at `level`, within the bounds and never without the estimate."""
        half = stdtrit(self.freedom, 0.5 + level / 2) * self.error
        low = np.minimum(np.maximum(self.centre - half, self.bounds[0]), self.estimate)
        return low, np.maximum(np.minimum(self.centre + half, self.bounds[1]), self.estimate)

    @property
    def remark(self) -> str:
        """What to say beside an interval of few problems, or ''."""
        if self.effective >= FEW_PROBLEMS:
            return ''
        count = f'{self.problems} problem{"s" * (self.problems != 1)}'
        count += f', {self.effective:.1f} in effect' if round(self.effective, 1) != self.problems else ''
        return f'{count}: so few say little of others of their kind'


def mean_interval(values: ArrayLike, problems: Problems = None, top: float = 1.0) -> Interval:
    """Return the mean of (..., Q) values with its interval for new questions of the same kind.

    Two solved and two unsolved problems of the usual size are added: Agresti and Coull 1998, Am. Stat. 52,
    119, with problems in the place of trials. `problems` are those of the questions; None: each is its own.
    `top` is the largest value of the metric, 0.8 for mG-Pass@5: that of an added solved problem.
    """
    return _with_added(*problem_sums(_checked(values, top), problems), (top, top, 0.0, 0.0), (0.0, top))


def standard_error(values: ArrayLike, problems: Problems = None) -> float:
    """Return the error of a mean between problems, none added, as other programs print it; NaN for one."""
    sums, sizes = problem_sums(_checked(values), problems)
    return float(_with_added(sums, sizes, (), (0.0, 1.0)).error) if sizes.size > 1 else nan


def difference(first: ArrayLike, second: ArrayLike, problems: Problems = None) -> Interval:
    """Return mean(first) − mean(second) of (..., Q) values on the same questions, for new questions.

    A problem with a difference of +1 and one with −1 are added: Bonett and Price 2012, J. Educ. Behav.
    Stat. 37, 479. Two runs that agree everywhere may still differ by 2.8/J on what was not asked.
    """
    a, b = _checked(first), _checked(second)
    if a.shape[-1] != b.shape[-1]:
        raise InputError(f'{a.shape[-1]} values against {b.shape[-1]}: give the same questions in both')
    return _with_added(*problem_sums(a - b, problems), (1.0, -1.0), (-1.0, 1.0))


def problem_sums(values: Floats, problems: Problems = None) -> tuple[Floats, Floats]:
    """Return the sums of the values of each problem, shape (..., J), and its size, shape (J,)."""
    if problems is None:
        return values, np.ones(values.shape[-1])
    if len(problems) != values.shape[-1]:
        raise InputError(f'{len(problems)} problems for {values.shape[-1]} questions: give one a question')
    if isinstance(problems, np.ndarray):
        number = np.unique(problems, return_inverse=True)[1]
    else:
        numbers: dict[Hashable, int] = {}
        number = np.array([numbers.setdefault(problem, len(numbers)) for problem in problems])
    sizes = np.bincount(number)
    order, starts = np.argsort(number, kind='stable'), np.cumsum(sizes) - sizes
    return np.add.reduceat(values[..., order], starts, axis=-1), sizes.astype(np.float64)


def _with_added(sums: Floats, sizes: Floats, added: Sequence[float], bounds: tuple[float, float]) -> Interval:
    """Return Σs/N with error and degrees of freedom after A problems of size M with the values a_1 … a_A.

    N' = N + A·M, J' = J + A, c = (Σs + M·Σa)/N', SS = Σ(s_j − c·m_j)² + M²·Σ(a − c)²,
    error = √(J'/(J' − 1)·SS)/N', Student's t with N'²/(Σm_j² + A·M²) − 1 degrees of freedom (J' − 1 for equal
    sizes). It is the error of a ratio of sums over clusters: Cochran 1977, Sampling Techniques, 6.3.
    """
    a, size = np.array(added), float((sizes**2).sum() / sizes.sum())
    total, count = sizes.sum() + a.size * size, sizes.size + a.size
    centre = (sums.sum(-1) + size * a.sum()) / total
    squares = ((sums - centre[..., None] * sizes) ** 2).sum(-1)
    squares = squares + size**2 * ((a - centre[..., None]) ** 2).sum(-1)
    error = np.sqrt(count / (count - 1) * squares) / total
    freedom = np.full(centre.shape, total**2 / ((sizes**2).sum() + a.size * size**2) - 1)[()]
    effective = float(sizes.sum() / size)
    return Interval(sums.sum(-1) / sizes.sum(), centre, error, freedom, sizes.size, effective, bounds)


def _checked(values: ArrayLike, top: float = 1.0) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InputError(f'values of shape {array.shape}: expected one a question, of one question at least')
    if not (array.min() >= -1e-12 and array.max() <= top + 1e-12):  # not of NaN either
        raise InputError(f'values from {array.min()} to {array.max()}: expected 0 to {top:g}')
    return array


def rerun_error(counts: ArrayLike, n: int | ArrayLike, metric: ValueTable) -> Floats:
    """Return the standard error of the score of these very questions when their answers are drawn again.

    √max(A, B)/Q, both sums over the questions of Var(value of X), X ~ Binomial(n, p). A takes p = (c + ½)/(n
    + 1) of each question by itself. B takes the mixture of chances under which all counts are likeliest
    (nonparametric maximum likelihood, Laird 1978, JASA 73, 805; 100 EM steps on a grid): a metric that is
    steep near p = 1 varies more than A sees with few answers.

    `counts` of n right answers have shape (..., Q). Of several n, one a question, each has its own mixture. A
    metric may give a table with a row for each of several: then there is an error of each, (metrics, ...).
    """
    c, total = np.asarray(counts), np.zeros(())
    sizes = np.broadcast_to(n, c.shape[-1:])
    for size in np.unique(sizes).tolist():
        own, table = c[..., sizes == size], np.asarray(metric(size), dtype=np.float64)
        seen, place = np.unique(own, return_inverse=True)
        alone = value_variance(table, (seen + 0.5) / (size + 1))[..., place.reshape(own.shape)].sum(-1)
        rows = place.reshape(-1, own.shape[-1])
        often = np.stack([np.bincount(row, minlength=seen.size) for row in rows])
        often = often.reshape(*own.shape[:-1], seen.size)
        ways = _binomial(size, _CHANCES)[:, seen]
        weights = np.full((*own.shape[:-1], _CHANCES.size), 1 / _CHANCES.size)
        for _ in range(100):
            weights = weights * ((often / np.maximum(weights @ ways, 1e-300)) @ ways.T) / own.shape[-1]
        mixed = own.shape[-1] * np.tensordot(value_variance(table, _CHANCES), weights, axes=(-1, -1))
        total = total + np.maximum(alone, mixed)
    return np.asarray(np.sqrt(total) / c.shape[-1])[()]


def value_variance(table: Floats, chances: Floats) -> Floats:
    """Return Var(table[X]), X ~ Binomial(n, p), for each chance p; shape (..., chances)."""
    ways = _binomial(table.shape[-1] - 1, chances).T
    return np.asarray(np.maximum(table**2 @ ways - (table @ ways) ** 2, 0.0))


def _binomial(n: int, chances: Floats) -> Floats:
    """Return P[X = 0 … n] for each chance, shape (chances, n + 1)."""
    x = np.arange(n + 1)
    logs = -np.log(n + 1) - betaln(n - x + 1, x + 1)  # of C(n, x), which overflows beyond n = 1,029
    return np.asarray(np.exp(logs + xlogy(x, chances[:, None]) + xlog1py(n - x, -chances[:, None])))


def between_runs(models: Iterable[ArrayLike], problems: Problems = None) -> tuple[Floats, int]:
    """Estimate from reruns how far a mean moves from run to run: return S² and its degrees of freedom.

    S² = Σ(ȳ_r − ȳ)²/ν over the R runs of each model, values (..., R, Q), about their own mean, ν = Σ(R − 1):
    all that makes a rerun differ, samples included. With one run a model nothing is known: 0 and 0.
    """
    squares, freedom = np.zeros(()), 0
    for values in models:
        sums, sizes = problem_sums(np.asarray(values, dtype=np.float64), problems)
        means = sums.sum(-1) / sizes.sum()
        squares = squares + ((means - means.mean(-1, keepdims=True)) ** 2).sum(-1)
        freedom += means.shape[-1] - 1
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
    rerun_variance), Student's t with ν, nothing added. *New* questions: error² = e² + V, e of `difference` of
    the means over reruns, with Satterthwaite's degrees of freedom: min F' of Clark 1973, J. Verb. Learn.
    Verb. Behav. 12, 335; sampling counts in both parts, so it errs to the wide side. One run a side and no
    `between`: sampling alone (same), a verdict only where nothing but the model differs, or questions alone.

    Args:
        rerun_variance: e1²/R1 + e2²/R2 of `rerun_error`: what sampling alone makes of the difference.
        between: (S², ν) of a whole table, or (sd², inf) where it is known; None: pooled over these two.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if questions not in ('same', 'new'):
        raise InputError(f"questions = {questions!r}: expected 'same' or 'new'")
    found = difference(a.mean(-2), b.mean(-2), problems)
    spread, freedom = between or between_runs([a, b], problems)
    part = np.asarray(spread) * (1 / a.shape[-2] + 1 / b.shape[-2])
    if questions == 'new':
        return _with_runs(found, part, freedom)
    error = np.sqrt(np.maximum(part, rerun_variance))
    student = np.full(np.shape(error), freedom or inf)[()]
    return found._replace(centre=found.estimate, error=error, freedom=student)


def _with_runs(found: Interval, part: Floats, freedom: float) -> Interval:
    """Add the variance of the runs to that of the questions (Satterthwaite 1946, Biometrics Bull. 2, 110)."""
    if not freedom:
        return found
    squares = found.error**2
    degrees = (squares + part) ** 2 / (squares**2 / found.freedom + part**2 / freedom)
    return found._replace(error=np.sqrt(squares + part), freedom=degrees)


class AllPairs(NamedTuple):
    """M models on the same questions, all pairs right at once; row i, column j is model i − model j."""

    difference: Floats
    low: Floats
    high: Floats
    better: NDArray[np.bool_]
    ranks: NDArray[np.intp]  # best and worst rank of each model, shape (M, 2)
    critical: float  # of |t| where only questions count


def all_pairs(
    values: ArrayLike,
    problems: Problems = None,
    level: float = 0.95,
    draws: int = 1999,
    runs: tuple[float, float, ArrayLike] | None = None,
) -> AllPairs:
    """Return all differences of M models, values (M, Q), with intervals and ranks that hold together.

    t_ij = centre/error as `difference` has them, but with two problems of +1 and two of −1. In each draw
    every problem of the centred table s_ij − mean_i·m_j gets a random sign, one for all models; every pair's
    t is computed anew. The critical value is what max |t| exceeds in a share 1 − level of the draws, times
    `WIDER`, never below Student's t. Sources: Romano and Wolf 2005, Econometrica 73, 1237; ranks: Mogstad,
    Romano, Shaikh and Wilhelm 2024, Rev. Econ. Stud. 91, 476. Where the differences of a pair are skew it is
    larger on the side of the thin tail, by the transformation of Hall 1992, J. R. Stat. Soc. B 54, 221: a
    model that was spared rare collapses looks better, and surer of it, than it is.

    With `runs`, (S² of the table, ν, reruns of each model), values are means over reruns, and half of the
    interval is √((critical·error)² + q²/2·S²·(1/R_i + 1/R_j)), q the studentised range of M means with ν
    degrees of freedom (Tukey). No interval is narrower than that of `difference` or `compare_runs`: what a
    table tells apart, a comparison of the two does.
    """
    sums, sizes = problem_sums(_checked(values), problems)
    models, squared = len(sums), float((sizes**2).sum())
    size = squared / sizes.sum()
    total, count = sizes.sum() + 4 * size, sizes.size + 4
    means = sums.sum(1) / sizes.sum()
    centred = sums - means[:, None] * sizes
    gram, weighed = centred @ centred.T, centred @ sizes
    # Of each pair, SS about a centre that is `off` the mean of their differences: that about their mean …
    apart = np.diag(gram)[:, None] + np.diag(gram) - 2 * gram + 4 * size**2
    # … − 2·off·Σ(difference about its mean)·m + off²·Σm² + 4M²·centre².
    drawn = max(draws, ceil(20 / (1 - level)))
    signs = np.random.default_rng(0).integers(2, size=(drawn, sizes.size)) * 2.0 - 1
    largest = np.zeros(drawn)
    alike = bool((sizes == size).all())
    for some in np.array_split(np.arange(drawn), ceil(drawn * models / 100_000)):  # what a cache holds
        shifts, weights = signs[some] @ centred.T / total, signs[some] @ (centred * sizes).T
        for i in range(models - 1):
            shift = shifts[:, i, None] - shifts[:, i:]
            squares, left = shift**2, apart[i, i:]
            if not alike:
                left = left + 2 * shift * (weights[:, i:] - weights[:, i, None])
                left += (squared + 4 * size**2) * squares
            squares /= left
            largest[some] = np.maximum(largest[some], squares.max(1))
    if alike:  # the same, from what rises with it and is had in half the time
        largest /= 1 - largest * count * size**2
    largest = np.sort(np.sqrt(largest * (count - 1) / count)) * total
    usual = float(stdtrit(total**2 / (squared + 4 * size**2) - 1, 0.5 + level / 2))
    critical = max(WIDER * float(largest[ceil(round((drawn + 1) * level, 9)) - 1]), usual)

    gaps = means[:, None] - means
    centre = gaps * sizes.sum() / total
    off = centre - gaps
    left = apart - 2 * off * (weighed[:, None] - weighed) + off**2 * squared + 4 * size**2 * centre**2
    cubes = centred**2 @ centred.T
    third = np.diag(cubes)[:, None] - np.diag(cubes) - 3 * (cubes - cubes.T)  # Σ(difference about its mean)³
    thin = np.minimum(third / left**1.5, -1e-9)
    reach = np.maximum(critical, 3 / thin * (np.cbrt(1 + thin * (critical - thin / 6)) - 1))
    side = reach * np.sqrt(count / (count - 1) * left) / total
    part, freedom = np.zeros(gaps.shape), 0.0
    if runs is not None and runs[1] > 0:
        from scipy.stats import studentized_range

        each = 1 / np.asarray(runs[2], dtype=np.float64)
        part, freedom = runs[0] * (each[:, None] + each), runs[1]
        tukey = studentized_range.ppf(level, max(models, 2), min(freedom, 1e5)) / np.sqrt(2)
        side = np.sqrt(side**2 + tukey**2 * part)
    low = centre - side
    for i in range(models):
        alone = _with_added(sums[i] - sums, sizes, (1.0, -1.0), (-1.0, 1.0))
        low[i] = np.minimum(low[i], _with_runs(alone, part[i], freedom).at(level)[0])
    better = low > 0
    ranks = np.stack([1 + better.sum(0), models - better.sum(1)], axis=1)
    return AllPairs(gaps, np.maximum(low, -1.0), np.minimum(-low.T, 1.0), better, ranks, critical)


def decide(found: Interval, margin: float | None, level: float = 0.95) -> NDArray[np.str_]:
    """Say of a difference new − old by its printed interval [low, high] and a margin that was chosen before.

    1. *better* if low > 0; 2. else *equivalent* if −margin < low and high < margin; 3. else *not worse* if
    −margin < low; 4. else *worse* if high < 0; 5. else *undecided*. False only if the true difference lies
    outside of the one interval. (Two one-sided tests at 5 %, Schuirmann 1987, would be at 90 %.)
    """
    if margin is not None and not 0 < margin < 1:  # not of NaN either
        raise InputError(f'margin = {margin!r}: expected a difference that does not matter: 0.02 is 2 points')
    low, high = found.at(level)
    margin = margin or 0.0
    above = low > -margin
    names = ['better', 'equivalent', 'not worse', 'worse']
    return np.asarray(np.select([low > 0, above & (high < margin), above, high < 0], names, 'undecided'))


def decide_rows(rows: Sequence[Interval], margin: float | None, level: float = 0.95) -> tuple[str, list[str]]:
    """Decide B rows, benchmarks or metrics: return what is said of all together, and of each at `level`.

    That all pass is one statement without correction (intersection-union: Berger 1982, Technometrics 24,
    295). The whole is *worse* where a row that does not pass lies below 0 at 1 − α/B (Bonferroni).
    """
    each = [str(decide(row, margin, level)) for row in rows]
    if len(each) == 1:
        return each[0], each
    failing = [row for row, outcome in zip(rows, each, strict=True) if outcome not in PASSES]
    if not failing:
        return ('better' if set(each) == {'better'} else 'not worse'), each
    strict = 1 - (1 - level) / len(rows)
    return ('worse' if any(row.at(strict)[1] < 0 for row in failing) else 'undecided'), each


def least_margin(problems: int, level: float = 0.95) -> float:
    """Return the margin up to which two runs that agree on all of so many problems do not pass."""
    return float(difference(np.zeros(problems), np.zeros(problems)).at(level)[1])


class Plan(NamedTuple):
    """What it takes with n samples a question."""

    n: int
    questions: int
    samples: int
    removable: float  # the share of the variance that more samples a question could still remove


def plan(
    counts: ArrayLike,
    n: int,
    metric: ValueTable,
    ns: Iterable[int],
    half_width: float | None = None,
    margin: float | None = None,
    problems: Problems = None,
    level: float = 0.95,
    assurance: float = 0.8,
) -> list[Plan]:
    """Return for each of `ns` samples a question how many questions it takes, from a pilot.

    *half_width*: of the interval of `mean_interval`. A problem's variance is between + within(n'): within
    is the mean of Var(value of X) with the A of `rerun_error`, between what the pilot's variance has more
    than within(n). That variance is the larger of s²·(J − 1)/χ²_{1 − assurance}(J − 1), for pilots of
    ordinary questions, and of SS/(J + 3) with the added problems, for those without rare ones.

    *margin*: with which two equal runs pass `decide` in a share `assurance` of cases; their difference
    varies by 2·within(n') alone. One of the two is given, on the scale from 0 to 1.
    """
    c, table = np.asarray(counts), np.asarray(metric(n), dtype=np.float64)
    wanted = half_width if margin is None else margin
    if wanted is None or None not in (half_width, margin) or not 0 < wanted < 1:
        raise InputError(f'half_width = {half_width}, margin = {margin}: expected one of them, from 0 to 1')
    if c.size < 2:
        raise InputError(f'{c.size} question in the pilot: expected two at least')
    sums, sizes = problem_sums(table[c], problems)
    each, top = float(sizes.mean()), max(float(table.max()), 1e-9)  # in units of `each` sizes are 1
    found = mean_interval(table[c], problems, top)
    rare = float(found.error) ** 2 * (sizes.size + 4)
    ordinary = (((sums - found.estimate * sizes) / each) ** 2).sum()
    ordinary /= 2 * gammaincinv(max(sizes.size - 1, 1) / 2, 1 - assurance)
    doubt = max(1.0, float(ordinary) / rare)

    def within(size: int) -> float:
        return float(value_variance(np.asarray(metric(size)), (c + 0.5) / (n + 1)).mean()) / each

    def reached(problems: int, variance: float) -> float:
        if margin is not None:
            error = np.sqrt((problems * variance + 2) / (problems + 1) / (problems + 2))
            apart = ndtri(0.5 + assurance / 2) * np.sqrt(variance / problems)
            return float(stdtrit(problems + 1, 0.5 + level / 2) * error + apart)
        mean = float(found.centre)
        centre = (problems * mean + 2 * top) / (problems + 4)
        squares = problems * (variance + (mean - centre) ** 2) + 2 * ((top - centre) ** 2 + centre**2)
        error = np.sqrt(squares / (problems + 3) / (problems + 4))
        return float(stdtrit(problems + 3, 0.5 + level / 2) * error)

    between, plans = max(rare - within(n), 0.0), list[Plan]()
    for size in ns:
        inside = within(size)
        variance = 2 * inside if margin is not None else doubt * (between + inside)
        many = 2 + bisect_left(range(2, 10**9), -wanted, key=lambda count: -reached(count, variance))
        questions = ceil(round(many * each, 9))
        plans.append(Plan(size, questions, questions * size, inside / max(between + inside, 1e-12)))
    return plans
