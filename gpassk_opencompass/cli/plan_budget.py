"""`gpassk plan --budget`: which questions and samples a budget affords, and what each of them buys."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import as_whole
from ..errors import InputError
from ..tables import Cell, Column, Table
from .files import opened_bytes
from .options import path
from .plan_costs import Spending, amount, count_of, cut_off_line, positive, spending_of
from .plan_pilot import Hardness, hardness_of, metric_and_sizes
from .plan_rival import LIKENESS, rival_of
from .shown import show

if TYPE_CHECKING:
    from ..results.result import Result
    from ..uncertainty.budgets import BudgetPlan, Offer, Question
    from ..uncertainty.rarefaction import Answers

FORMS = ('png', 'pdf', 'svg')

_LARGEST_K = 1_000

_OF_BUDGETS = (
    *('against', 'between_models', 'difference', 'margin', 'tokens_per_sample', 'prompt_tokens'),
    *('tokens_per_second', 'gpus', 'price', 'output'),
)
"""Options that say something of a budget alone."""


@dataclass(frozen=True)
class Bought:
    """A plan with what its numbers rest on.

    Args:
        plan: of the budget.
        spending: the budget and what a sample takes of it.
        ns: samples a question of the rows.
        best: what is best for the score, and for the difference; None where no interval would be printed.
        enough: the n beyond which nothing is won with the questions at hand; None: there is none.
        answers: of the pilot, where an LLM judged.
    """

    plan: BudgetPlan
    spending: Spending
    ns: Sequence[int]
    best: tuple[Offer | None, Offer | None]
    enough: tuple[int | None, int | None]
    answers: Answers | None


def add_budget_arguments(parser: ArgumentParser) -> None:
    """Add what samples cost, what they are compared with, and where the figure goes."""
    add = parser.add_argument_group('with --budget').add_argument
    add('--against', type=path, metavar='RESULT', help='the run to compare with: how alike are the two?')
    likeness = f'correlation between the true values of the two (default: of --against, else {LIKENESS})'
    add('--between-models', type=float, metavar='R', help=likeness)
    add('--difference', type=float, metavar='POINTS', help='that is to be found (default: 3)')
    add('--margin', type=float, metavar='POINTS', help='by which a run may be worse (default: 2)')
    tokens = 'tokens of a response (default: the mean of the pilot)'
    add('--tokens-per-sample', type=float, metavar='N', help=tokens)
    add(
        '--prompt-tokens', type=float, metavar='N', help='tokens of a prompt (default: the mean of the pilot)'
    )
    rate = 'what the engine makes, all requests together; for a budget in GPU hours'
    add('--tokens-per-second', type=float, metavar='N', help=rate)
    add('--gpus', type=int, metavar='N', help='on which it makes them (default: 1)')
    price = 'of a million tokens of prompts and of responses; for a budget in money'
    add('--price', type=float, nargs=2, metavar=('PROMPT', 'OUTPUT'), help=price)
    add('-o', '--output', type=path, metavar='FILE', help='the figure: .png, .pdf or .svg')


def refuse_options(arguments: Namespace) -> None:
    """Refuse what would be passed over without a budget.

    Raises:
        InputError: one of these options is given.
    """
    for name in _OF_BUDGETS:
        if getattr(arguments, name) is not None:
            raise InputError(f'--{name.replace("_", "-")} says something of a budget: give --budget with it')


def run_budget(arguments: Namespace) -> int:
    """Print the table, write the figure; the exit code is 0."""
    output: Path | None = arguments.output
    if output and output.suffix.removeprefix('.') not in FORMS:
        raise InputError(f'-o {output}: expected a name that ends in .png, .pdf or .svg')
    asked, ns = _asked(arguments)
    known = hardness_of(arguments)
    bought = _bought(arguments, known, asked, ns)
    _say_what_is_bought(bought, known)
    show(_table(bought))
    _say_how_to_read(bought)
    _say_what_is_best(bought)
    _say_of_the_pilot(bought, known)
    if output:
        _draw(bought, known, output)
    return 0


def _asked(arguments: Namespace) -> tuple[Question, Sequence[int]]:
    """Return what is to be found out, and the numbers of samples to look at."""
    from ..uncertainty.budgets import Question

    metric, ns = metric_and_sizes(arguments)
    as_whole('k of a budget', metric.k, 1, _LARGEST_K)
    difference, margin = _points(arguments, 'difference', 3), _points(arguments, 'margin', 2)
    return Question(metric, arguments.level, difference, margin), ns


def _bought(arguments: Namespace, known: Hardness, asked: Question, ns: Sequence[int]) -> Bought:
    from ..uncertainty.budgets import BudgetPlan, largest_n

    spending, k = spending_of(arguments, known.pilot), asked.metric.k
    rival, at_hand = rival_of(arguments, known, asked.metric), _at_hand(arguments, known)
    plan = BudgetPlan(known.population, rival, asked, spending.samples, at_hand)
    if not plan.offers([k]):
        raise InputError(_too_small(arguments.budget, plan, spending))
    best = plan.best()
    enough = plan.enough() if at_hand else (None, None)
    if not arguments.n:
        whole = [spending.samples // at_hand] if at_hand else []
        more = [*(one.n for one in best if one), *(n for n in enough if n), *whole]
        ns = sorted({*ns, *(n for n in more if k <= n <= largest_n(asked.metric))})
    return Bought(plan, spending, ns, best, enough, _answers(known.pilot))


def _too_small(budget: str, plan: BudgetPlan, spending: Spending) -> str:
    """Return why nothing can be bought: too few questions, or too few samples for two source problems."""
    k, translations = plan.asked.metric.k, plan.population.translations
    least = 2 * translations
    of_each = f' of {count_of(translations, "question")} each' if translations > 1 else ''
    if plan.at_hand is not None and plan.at_hand < least:
        return (
            f'{count_of(plan.at_hand, "question")} at hand: a plan takes two source problems{of_each} or '
            'more; see --questions and --translations'
        )
    each = '' if spending.unit == 'samples' else f' of {amount(spending.of_sample)} {spending.unit}'
    return (
        f'--budget {budget} affords {count_of(spending.samples, "sample")}{each}: two source '
        f'problems{of_each} with k = {k} samples of each question take {least * k:,}'
    )


def _at_hand(arguments: Namespace, known: Hardness) -> int | None:
    """Return how many questions there are: those of the benchmark where the pilot was a part of it."""
    if known.pilot is None or arguments.questions:
        return known.questions
    return int(known.pilot.limits.get('of') or len(known.pilot.uids))


def _points(arguments: Namespace, name: str, default: float) -> float:
    """Return a number of points as a fraction of 1."""
    if getattr(arguments, name) is None:
        return default / 100
    value = positive(arguments, name)
    if value >= 100:
        raise InputError(f'--{name} {value:g}: expected points, less than 100')
    return value / 100


def _answers(pilot: Result | None) -> Answers | None:
    """Return the answers that an LLM judge was asked about; None where none judged, or they are not known."""
    from ..uncertainty.rarefaction import Answers

    if pilot is None or pilot.samples is None or not _has_llm(pilot.judge):
        return None
    asked = pilot.samples.by_question('reply_key')
    if asked is None:
        return None
    return Answers([_sizes(keys) for keys in asked], pilot.n)


def _has_llm(judge: Mapping[str, Any]) -> bool:
    """Whether one of the judges of an identity is a model."""
    inner = (value for value in judge.values() if isinstance(value, Mapping))
    return judge.get('name') == 'llm' or any(map(_has_llm, inner))


def _sizes(keys: Sequence[Any]) -> list[int]:
    """Return how often each is there; None is not counted."""
    counts: dict[Any, int] = {}
    for key in keys:
        if key is not None:
            counts[key] = counts.get(key, 0) + 1
    return list(counts.values())


def _say_what_is_bought(bought: Bought, known: Hardness) -> None:
    plan, spending = bought.plan, bought.spending
    asked = plan.asked
    mean = known.population.moments(asked.metric, asked.metric.k)[0]
    affords = '' if spending.unit == 'samples' else f', which is {spending.samples:,} samples'
    told = f' ({spending.told})' if spending.told else ''
    there = 'as many questions as you like' if plan.at_hand is None else f'{plan.at_hand:,} questions at hand'
    print(
        f'\n{asked.metric}, expected {100 * mean:.1f} %, at {100 * asked.level:g} %; {there}\n'
        f'budget: {amount(spending.amount)} {spending.unit}{affords}{told}\n'
    )


def _table(bought: Bought) -> Table:
    """Return a row a number of samples, with as many questions as the budget affords."""
    asked, unit = bought.plan.asked, bought.spending.unit
    found, missed = f'finds {100 * asked.difference:g} points', f'not worse by {100 * asked.margin:g}'
    whole: dict[str, Any] = {'align': 'right', 'shown': '{:,}'.format}
    percent: dict[str, Any] = {'align': 'right', 'shown': '{:.0f} %'}
    columns = [
        Column('samples a question', **whole),
        Column('questions', **whole),
        Column('samples in all' if unit == 'samples' else unit, 'right', amount),
        Column('± score', 'right'),
        Column('± difference', 'right'),
        Column(found, **percent),
        Column(missed, **percent),
        *([Column('judge calls', **whole)] if bought.answers else []),
        Column('mark', 'left'),
    ]
    table = Table('plan', columns)
    for one in bought.plan.offers(bought.ns):
        chances = [None if one.paired_refused else 100 * share for share in (one.decides, one.not_worse)]
        table.add(
            one.n,
            one.questions,
            one.samples * bought.spending.of_sample,
            _half_width(one.half_width, one.refused),
            _half_width(one.paired, one.paired_refused),
            *chances,
            *([_judge_calls(bought.answers, one)] if bought.answers else []),
            _mark(bought, one) or None,
        )
    return table


def _half_width(half: float, refused: str) -> Cell:
    return Cell('', refused=refused) if refused else Cell(100 * half)


def _judge_calls(answers: Answers, one: Offer) -> Cell:
    calls = round(one.questions * answers.distinct(one.n))
    return Cell(calls, more='*' if one.n > answers.n else '')


def _mark(bought: Bought, one: Offer) -> str:
    """Return for what an offer is the best, or enough."""
    marks = []
    for what, best, enough in zip(('score', 'difference'), bought.best, bought.enough, strict=True):
        if best and (one.n, one.questions) == (best.n, best.questions):
            marks.append(f'best: {what}')
        if enough == one.n and one.questions == bought.plan.at_hand:
            marks.append(f'enough: {what}')
    return ', '.join(marks)


def _say_how_to_read(bought: Bought) -> None:
    asked = bought.plan.asked
    difference, margin = f'{100 * asked.difference:g}', f'{100 * asked.margin:g}'
    print(
        '\n± score, ± difference: half-widths in points.\n'
        f'finds {difference} points: the chance that the interval of the paired difference leaves out 0 '
        'where they differ by that.\n'
        f'not worse by {margin}: the chance that a run which is equal is called not worse by that margin.\n'
        'Both are of two runs that were chosen beforehand.\n'
    )


def _say_what_is_best(bought: Bought) -> None:
    """Say which offer is best for what, and from which n on nothing is won."""
    for what, best in zip(('score', 'difference'), bought.best, strict=True):
        print(f'Best for the {what}: {_described(best)}.')
    _say_what_it_would_take(bought)
    if bought.plan.at_hand is None:
        return
    print(f'With all {bought.plan.at_hand:,} questions at hand:')
    cost, unit = bought.plan.at_hand * bought.spending.of_sample, bought.spending.unit
    for what, enough in zip(('score', 'difference'), bought.enough, strict=True):
        if enough is None:
            print(f'- more samples keep helping the {what}.')
        else:
            print(
                f'- beyond n = {enough:,} ({amount(enough * cost)} {unit}) the interval of the {what} gets '
                'narrower by less than 5 %, whatever is spent: only more questions help.'
            )


def _say_what_it_would_take(bought: Bought) -> None:
    """Say how many questions would find the difference, where it is no use to look for it with fewer."""
    from ..uncertainty.budgets import LIKELY

    best, asked = bought.best[1], bought.plan.asked
    if best is None or best.decides >= LIKELY:
        return
    if (questions := bought.plan.questions_for(best.n)) is not None:
        print(
            f'To find {100 * asked.difference:g} points with a chance of {100 * LIKELY:g} % takes '
            f'{questions:,} questions with n = {best.n:,}.'
        )


def _described(best: Offer | None) -> str:
    if best is None:
        return 'nothing; the budget is too small for an interval'
    return f'{best.questions:,} questions × {best.n:,} samples'


def _say_of_the_pilot(bought: Bought, known: Hardness) -> None:
    """Say what limits what the pilot tells."""
    from ..uncertainty.intervals import FEWEST_PROBLEMS

    if line := cut_off_line(bought.spending, known.pilot):
        print(f'{line}.')
    if known.pilot is None:
        return
    problems = len(set(known.pilot.problems))
    if problems < FEWEST_PROBLEMS:
        print(f'The pilot has {problems} problems, fewer than {FEWEST_PROBLEMS}: its hardness is a guess.')
    if known.pilot.n < bought.plan.asked.metric.k:
        print(
            f'The pilot has fewer samples than k; {bought.plan.asked.metric} rests on the Beta that fits it.'
        )
    _say_of_the_judge(bought, known.pilot)


def _say_of_the_judge(bought: Bought, pilot: Result) -> None:
    if bought.answers is None:
        if _has_llm(pilot.judge):
            print('Judge calls are not known: the pilot has no sample file that names them.')
        return
    beyond = [one for one in bought.plan.offers(bought.ns) if one.n > pilot.n]
    if beyond:
        most = round(beyond[-1].questions * bought.answers.most(beyond[-1].n))
        print(
            f'* judge calls beyond n = {pilot.n} of the pilot are an extrapolation; the last row has at most '
            f'{most:,}.'
        )


def _draw(bought: Bought, known: Hardness, output: Path) -> None:
    from ..report.figures.plans import draw_plan

    budget = f'{amount(bought.spending.amount)} {bought.spending.unit}'
    pilot = f'{known.pilot.model_abbr} on {known.pilot.benchmark}' if known.pilot else ''
    form = output.suffix.removeprefix('.')
    content = draw_plan(bought.plan, (budget, pilot), bought.best[1], bought.enough, form)
    with opened_bytes(output) as file:
        file.write(content)
    print(f'wrote {output}')
