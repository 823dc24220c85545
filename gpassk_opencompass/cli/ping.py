"""`gpassk judge-ping`: are the servers of a judge fit to judge?"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..files import parse_json
from ..judges.ping import Health, Outcome, ping
from ..judges.prompts import NAMES
from ..judges.protocol import Verdict
from ..tables import Column, Table
from ..unseen import printable
from .options import Several
from .shown import add_table_options, show

if TYPE_CHECKING:
    from ..tables.table import Value


def add_arguments(parser: ArgumentParser) -> None:
    """Add who is asked, and how."""
    parser.add_argument('--model', required=True, metavar='NAME', help='the name that the servers know it by')
    parser.add_argument(
        '--url', action=Several, required=True, metavar='URL', help='http://host:port of each server'
    )
    parser.add_argument('--api-key-env', default='', metavar='NAME', help='environment variable with the key')
    parser.add_argument('--prompts', default='auto', choices=NAMES, help='default: auto')
    parser.add_argument('--max-tokens', type=int, default=8192, metavar='N', help='of a reply; default: 8192')
    parser.add_argument(
        '--temperature',
        type=_temperature,
        default=0.0,
        metavar='T',
        help="default: 0; 'none' leaves it to the server",
    )
    parser.add_argument(
        '--proxy', default='', metavar='URL', help='default: of the environment (HTTPS_PROXY)'
    )
    parser.add_argument('--extra-body', type=_json_object, metavar='JSON', help='more fields of the request')
    parser.add_argument(
        '--finish-reason',
        action=Several,
        default=[],
        metavar='WORD',
        help="besides stop and its like, what it sends as finish_reason of a whole reply; '' for none",
    )
    parser.add_argument(
        '--timeout', type=float, default=120.0, metavar='SECONDS', help='of one request; default: 120'
    )
    add_table_options(parser)


def run(arguments: Namespace) -> int:
    """Ask, and print a table for each server; 0 if all are fit, else 1."""
    healths = ping(
        arguments.model,
        arguments.url,
        prompts=arguments.prompts,
        api_key_env=arguments.api_key_env,
        temperature=arguments.temperature,
        proxy=arguments.proxy,
        max_tokens=arguments.max_tokens,
        extra_body=arguments.extra_body,
        finish_reasons=arguments.finish_reason,
        timeout=arguments.timeout,
    )
    for health in healths:
        _print(health)
    mixed = _print_differences(healths)
    fit = sum(health.fit for health in healths)
    print(
        f'{fit} of {len(healths)} servers {"is" if fit == 1 else "are"} fit to judge as {arguments.model!r}'
    )
    return 0 if fit == len(healths) and not mixed else 1


def _temperature(text: str) -> float | None:
    return None if text == 'none' else float(text)


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except ValueError as error:
        raise ArgumentTypeError(f'{text!r} is no JSON: {error}') from error
    if not isinstance(value, dict):
        raise ArgumentTypeError(f'{text!r}: expected an object like {{"seed": 1}}')
    return value


def _print(health: Health) -> None:
    right = sum(outcome.right for outcome in health.outcomes)
    print(f'{health.url}: {f"{right} of {health.asked} right" if health.reachable else "NOT REACHABLE"}')
    texts = [Column(name, 'left') for name in ('language', 'answer', 'expected', 'verdict')]
    rows: list[Sequence[Value]] = [_row(outcome) for outcome in health.outcomes]
    show(Table(health.url, [*texts, Column('seconds', 'right'), Column('judged', 'left')], rows))
    if told := ', '.join(f'{name} {what!r}' for name, what in health.served.told().items()):
        print(f'  it says that it serves {printable(told)}')
    for problem in dict.fromkeys(outcome.problem for outcome in health.outcomes if outcome.problem):
        print(f'  {printable(problem)}')
    for advice in health.advice:
        print(f'  → {printable(advice)}')
    print()


def _print_differences(healths: Sequence[Health]) -> bool:
    """Print where servers serve another thing than the first says; return whether one does."""
    found = False
    for health in healths[1:]:
        if difference := healths[0].served.differs(health.served):
            found = True
            print(f'{health.url} serves {printable(difference)}, which {healths[0].url} says')
            print('  → a judge is one model: start the same in the same way everywhere, or name one server\n')
    return found


def _row(outcome: Outcome) -> Sequence[Value]:
    canary, verdict = outcome.canary, outcome.verdict
    wrong = 'no verdict' if verdict is Verdict.UNJUDGED else 'WRONG'
    kind = f', {canary.name}' if canary.injected else ''
    answer = f'{canary.pair.answer[:2]} for {canary.pair.reference}{kind}'
    judged = 'right' if outcome.right else wrong
    return canary.pair.language, answer, canary.verdict.value, verdict.value, outcome.seconds, judged
