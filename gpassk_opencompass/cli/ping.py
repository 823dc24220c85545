"""`gpassk judge-ping`: are the servers of a judge fit to judge?"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from tabulate import tabulate

from ..files import parse_json
from ..judges.ping import EASY, Echo, Health, ping
from ..judges.protocol import Verdict
from ..judges.request import MAX_TOKENS
from .options import Several
from .shown import printable


def add_arguments(parser: ArgumentParser) -> None:
    """Who is asked, and how."""
    parser.add_argument('--model', required=True, metavar='NAME', help='the name that the servers know it by')
    parser.add_argument(
        '--url', action=Several, required=True, metavar='URL', help='http://host:port of each server'
    )
    parser.add_argument('--api-key-env', default='', metavar='NAME', help='environment variable with the key')
    parser.add_argument(
        '--prompts', default='auto', choices=['auto', 'own', 'protocol'], help='default: auto'
    )
    parser.add_argument(
        '--max-tokens', type=int, default=MAX_TOKENS, metavar='N', help=f'of a reply; default: {MAX_TOKENS}'
    )
    parser.add_argument('--extra-body', type=_json_object, metavar='JSON', help='more fields of the request')
    parser.add_argument(
        '--timeout', type=float, default=120.0, metavar='SECONDS', help='of one request; default: 120'
    )


def run(arguments: Namespace) -> int:
    """Ask, and print a table for each server; 0 if all are fit, else 1."""
    healths = ping(
        arguments.model,
        arguments.url,
        prompts=arguments.prompts,
        api_key_env=arguments.api_key_env,
        max_tokens=arguments.max_tokens,
        extra_body=arguments.extra_body,
        timeout=arguments.timeout,
    )
    for health in healths:
        _print(health)
    fit = sum(health.fit for health in healths)
    print(
        f'{fit} of {len(healths)} servers {"is" if fit == 1 else "are"} fit to judge as {arguments.model!r}'
    )
    return 0 if fit == len(healths) else 1


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except ValueError as error:
        raise ArgumentTypeError(f'{text!r} is no JSON: {error}') from error
    if not isinstance(value, dict):
        raise ArgumentTypeError(f'{text!r}: expected an object like {{"seed": 1}}')
    return value


def _print(health: Health) -> None:
    right = sum(echo.right for echo in health.echoes)
    print(f'{health.url}: {f"{right} of {len(EASY)} right" if health.reachable else "NOT REACHABLE"}')
    header = ['language', 'answer', 'expected', 'verdict', 'seconds', '']
    rows = [_row(echo) for echo in health.echoes]
    print(tabulate(rows, header, 'github', disable_numparse=True, colalign=(*['left'] * 4, 'right', 'left')))
    for problem in dict.fromkeys(echo.problem for echo in health.echoes if echo.problem):
        print(f'  {printable(problem)}')
    if health.advice:
        print(f'  → {printable(health.advice)}')
    print()


def _row(echo: Echo) -> tuple[str, ...]:
    judged = 'right' if echo.right else 'WRONG' if echo.verdict is not Verdict.UNJUDGED else 'no verdict'
    answer = f'{echo.pair.answer} for {echo.pair.reference}'
    return echo.pair.language, answer, echo.expected.value, echo.verdict.value, f'{echo.seconds:.2f}', judged
