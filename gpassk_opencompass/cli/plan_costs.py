"""What a sample costs in the unit of a budget, from the records of a pilot or from options."""

from __future__ import annotations

import math
import re
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..results.result import Result

CURRENCIES = ('USD', 'EUR', 'CNY')

UNITS = {
    'samples': 'samples',
    'tokens': 'tokens',
    'gpuh': 'GPU hours',
    **{one.lower(): one for one in CURRENCIES},
}
"""How a unit is written behind the amount, in any case → how it is called."""

MOST_SAMPLES = 10**15
_LEAST_CUT_OFF = 0.01


@dataclass(frozen=True)
class Spending:
    """A budget, and what one sample takes of it.

    Args:
        amount, unit: the budget.
        of_sample: what one sample costs in that unit.
        told: where that is known from, for a reader; '' for samples.
        tokens_of_pilot: whether the pilot told how long a response is.
    """

    amount: float
    unit: str
    of_sample: float
    told: str
    tokens_of_pilot: bool = False

    @property
    def samples(self) -> int:
        """Return how many samples it affords; the last bits of a division do not lose one."""
        found = self.amount / self.of_sample
        nearest = round(found)
        return nearest if math.isclose(found, nearest, rel_tol=1e-12) else math.floor(found)


def spending_of(arguments: Namespace, pilot: Result | None) -> Spending:
    """Return the budget of --budget with what a sample costs.

    Raises:
        InputError: no amount and unit, or a cost that neither the pilot nor an option tells.
    """
    amount, unit = _read(arguments.budget)
    known = {'samples': _samples, 'tokens': _tokens, 'GPU hours': _gpu_hours}
    found = known.get(unit, _money)(amount, unit, arguments, pilot)
    if found.amount >= MOST_SAMPLES * found.of_sample:
        raise InputError(f'--budget {arguments.budget} affords {MOST_SAMPLES:.0e} samples or more; take less')
    return found


def cut_off_line(spending: Spending, pilot: Result | None) -> str:
    """Return what is to be said where the pilot's responses were cut off, or ''."""
    share = None if pilot is None else pilot.health.share('truncated')
    if pilot is None or share is None or share <= _LEAST_CUT_OFF or not spending.tokens_of_pilot:
        return ''
    longest = pilot.sampling.get('max_out_len')
    where = '' if longest is None else f' at max_out_len = {longest}'
    return (
        f"{100 * share:.1f} % of the pilot's responses were cut off{where}: where they may be longer, a "
        'sample takes more tokens than this, and more of them are right'
    )


def _read(text: str) -> tuple[float, str]:
    found = re.fullmatch(r'\s*([-+]?[0-9.,_]*)((?:[eE][-+]?[0-9]+)?)\s*([A-Za-z]*)\s*', text)
    unit = UNITS.get(found[3].lower()) if found else None
    expected = (
        f'expected an amount and its unit: 2e9tokens, 500GPUh, 40000samples, 300USD ({", ".join(CURRENCIES)})'
    )
    number = _without_commas(text, found[1]) + found[2] if found else ''
    try:
        amount = float(number) if found else math.nan
    except ValueError:
        amount = math.nan
    if unit is None:
        raise InputError(f'--budget {text!r}: {expected}')
    if not 0 < amount < math.inf:
        raise InputError(f'--budget {text!r}: {expected}, the amount above 0 and finite')
    return amount, unit


def _without_commas(text: str, number: str) -> str:
    """Return a number without the commas before groups of three digits."""
    if ',' in number and not re.fullmatch(r'[-+]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?', number):
        raise InputError(
            f'--budget {text!r}: commas stand before groups of three digits, as in 40,000samples; a decimal '
            'point is a point, as in 1.5GPUh'
        )
    return number.replace(',', '')


def _samples(amount: float, unit: str, arguments: Namespace, pilot: Result | None) -> Spending:
    return Spending(amount, unit, 1.0, '')


def _tokens(amount: float, unit: str, arguments: Namespace, pilot: Result | None) -> Spending:
    tokens, told = _response(arguments, pilot)
    return Spending(amount, unit, tokens, told, arguments.tokens_per_sample is None)


def _gpu_hours(amount: float, unit: str, arguments: Namespace, pilot: Result | None) -> Spending:
    if arguments.tokens_per_second is None:
        raise InputError(
            '--budget in GPU hours: say with --tokens-per-second how many tokens the engine makes a second, '
            'all requests together, on its --gpus. Results do not tell it: they have the seconds of single '
            'requests, of which many run at a time'
        )
    rate = positive(arguments, 'tokens_per_second')
    gpus = 1 if arguments.gpus is None else arguments.gpus
    if gpus < 1:
        raise InputError(f'--gpus {gpus}: expected a number of GPUs of at least 1')
    tokens, told = _response(arguments, pilot)
    speed = f'{rate:,.0f} tokens a second on {gpus} GPU{"" if gpus == 1 else "s"}'
    return Spending(
        amount, unit, tokens * gpus / rate / 3600, f'{told}, {speed}', arguments.tokens_per_sample is None
    )


def _money(amount: float, unit: str, arguments: Namespace, pilot: Result | None) -> Spending:
    if arguments.price is None:
        raise InputError(
            f'--budget in {unit}: say with --price PROMPT OUTPUT what a million tokens of each cost'
        )
    ask, say = arguments.price
    if not (0 <= ask < math.inf and 0 < say < math.inf):
        raise InputError(f'--price {ask:g} {say:g}: expected {unit} a million tokens, the second above 0')
    tokens, told = _response(arguments, pilot)
    prompt, of_prompt = _prompt(arguments, pilot) if ask else (0.0, '')
    price = f'{ask:g} and {say:g} {unit} a million tokens of prompts and responses'
    return Spending(
        amount,
        unit,
        (prompt * ask + tokens * say) / 1e6,
        ', '.join(filter(None, (told, of_prompt, price))),
        arguments.tokens_per_sample is None,
    )


def _response(arguments: Namespace, pilot: Result | None) -> tuple[float, str]:
    """Return how many tokens a response has, and a text that says so."""
    if arguments.tokens_per_sample is not None:
        tokens = positive(arguments, 'tokens_per_sample')
        return tokens, f'{tokens:,.0f} tokens a response'
    found, of = _mean_tokens(pilot)
    if not found:
        who = 'without a pilot' if pilot is None else f'{pilot.path.name} does not tell it'
        raise InputError(f'how many tokens does a response have? {who}: say it, --tokens-per-sample 8000')
    return found, f'{found:,.0f} tokens a response, the mean of the pilot{of}'


def _mean_tokens(pilot: Result | None) -> tuple[float, str]:
    """Return the mean of what is known of a pilot's responses, 0 if nothing is, and of how many it is."""
    if pilot is None:
        return 0.0, ''
    if whole := pilot.health.tokens_a_response:
        return whole, ''
    column = pilot.samples.column('output_tokens') if pilot.samples else None
    known = [count for count in column or () if count is not None]
    share = f' ({len(known):,} of {len(column or ()):,} of them, which tell it)'
    return (sum(known) / len(known), share) if known else (0.0, '')


def _prompt(arguments: Namespace, pilot: Result | None) -> tuple[float, str]:
    """Return how many tokens a prompt has, and a text that says so."""
    if arguments.prompt_tokens is not None:
        tokens = positive(arguments, 'prompt_tokens')
    else:
        block: Mapping[str, Any] = {} if pilot is None else pilot.block
        if pilot is None or not block.get('prompt_tokens'):
            raise InputError(
                'how many tokens does a prompt have? Say it, --prompt-tokens 200, or --price 0 OUTPUT'
            )
        tokens = block['prompt_tokens'] / max(1, pilot.health.samples - pilot.health.not_drawn)
    return tokens, f'{tokens:,.0f} a prompt'


def positive(arguments: Namespace, name: str) -> float:
    """Return the number of an option.

    Raises:
        InputError: it is not above 0 and finite.
    """
    value = getattr(arguments, name)
    if not 0 < value < math.inf:
        raise InputError(f'--{name.replace("_", "-")} {value:g}: expected a number above 0')
    return float(value)


def count_of(number: int, what: str) -> str:
    """Return a number of things in words.

    >>> count_of(1, 'sample'), count_of(2000, 'sample')
    ('1 sample', '2,000 samples')
    """
    return f'{number:,} {what}{"" if number == 1 else "s"}'


def amount(value: float) -> str:
    """Return an amount with as many digits as say something.

    >>> amount(2e9), amount(12.5), amount(0.000123456)
    ('2,000,000,000', '12.50', '0.000123')
    """
    if value >= 1000 or float(value).is_integer():
        return f'{value:,.0f}'
    return f'{value:.2f}' if value >= 1 else f'{value:.3g}'
