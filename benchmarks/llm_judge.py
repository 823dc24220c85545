"""How fast are verdicts of an LLM, against the LLM judge built into OpenCompass?

    python -m benchmarks.llm_judge

All ask the same server, a process of its own with two ports that replies after 200 ms. OpenCompass gets a
part of the answers as if they were n = 1 (with its own n > 1 it would ask for the first replica only),
scaled up: it asks twice a second and URL, whatever the server can do. Its tokenizer splits at blanks, since
the real one would have to be downloaded. A bare aiohttp loop shows what machine and server reach at that
moment.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import aiohttp

from gpassk_opencompass import Pair, final_answer
from gpassk_opencompass.judges.llm import LLMJudge

from .made import QUESTIONS, answer_of, made_responses
from .measuring import Cost, cost, progress, unwarned
from .stub_server import MODEL, stub_server
from .tables import Row, Section, Size, duration, main, megabytes, overview, times

LATENCY = 0.2
PORTS = 2
IN_FLIGHT = 128
MANY_IN_FLIGHT = 512
CASES = {'tiny': 1, 'quick': 12, 'full': 48}
"""Answers to each of the questions."""

BUILTIN = {'tiny': 2, 'quick': 32, 'full': 128}
"""Answers that OpenCompass judges; 16 are a batch, and each port has one at a time."""


def measure(size: Size) -> Section:
    """Every way to judge."""
    with unwarned():
        from opencompass.datasets.livemathbench.livemathbench import LiveMathBenchEvaluator
    pairs = made_answers(4 if size == 'tiny' else QUESTIONS, CASES[size])
    # Each with a question of its own, so that none can be spared.
    distinct = [pair._replace(question=f'({number}) {pair.question}') for number, pair in enumerate(pairs)]
    some, answers = pairs[: BUILTIN[size]], len(pairs)
    with stub_server(LATENCY, PORTS) as urls:
        progress(f'LLM judge: OpenCompass, {len(some)} answers')
        theirs = cost(partial(_judge_builtin, LiveMathBenchEvaluator, urls, some)).scaled(answers / len(some))
        rows = [_row('OpenCompass', PORTS, theirs._replace(value=answers), theirs, answers)]
        ways: list[tuple[str, int, Callable[[], int]]] = [
            ('ours, each asked', IN_FLIGHT, partial(_judge, urls, distinct, IN_FLIGHT, accept_equal=False)),
            ('bare aiohttp', IN_FLIGHT, partial(_ask_bare, urls, answers, IN_FLIGHT)),
            (
                'ours, each asked',
                MANY_IN_FLIGHT,
                partial(_judge, urls, distinct, MANY_IN_FLIGHT, accept_equal=False),
            ),
            ('bare aiohttp', MANY_IN_FLIGHT, partial(_ask_bare, urls, answers, MANY_IN_FLIGHT)),
            (
                'ours, equal answers once',
                IN_FLIGHT,
                partial(_judge, urls, pairs, IN_FLIGHT, accept_equal=False),
            ),
            ('ours as it is', IN_FLIGHT, partial(_judge, urls, pairs, IN_FLIGHT)),
        ]
        measured = []
        for name, in_flight, work in ways:
            progress(f'LLM judge: {name}, {answers:,} answers, {in_flight} in flight')
            measured.append(cost(work))
            rows.append(_row(name, in_flight, measured[-1], theirs, answers))
    return Section(
        'LLM judge',
        f'{answers:,} verdicts from a server with {PORTS} ports that replies after {LATENCY * 1e3:.0f} '
        'ms, by the '
        f'clock. No client surpasses {IN_FLIGHT / LATENCY:,.0f} requests/s with {IN_FLIGHT} in flight, '
        f'{MANY_IN_FLIGHT / LATENCY:,.0f} with {MANY_IN_FLIGHT}; OpenCompass has {PORTS}, whatever may be.',
        rows,
        f'OpenCompass judged {len(some)} answers, scaled up. "Each asked": every answer has a question '
        'of its own. '
        '"As it is": an answer that equals the reference is not asked either.',
        [
            overview(
                f'LLM judge, {answers:,} answers, each asked',
                'OpenCompass',
                measured[0],
                theirs,
                by_clock=True,
            ),
            overview(
                f'LLM judge, {answers:,} answers, as it is',
                'OpenCompass',
                measured[-1],
                theirs,
                by_clock=True,
            ),
        ],
    )


def _row(name: str, in_flight: int, cost: Cost, theirs: Cost, answers: int) -> Row:
    requests = cost.value
    row = {
        'judge': name,
        'in flight': f'{in_flight}',
        'requests': f'{requests:,}',
        'time': duration(cost.seconds),
    }
    row |= {
        'answers/s': f'{answers / cost.seconds:,.0f}',
        'OpenCompass / this': times(theirs.seconds / cost.seconds),
    }
    row |= {'of the bound': f'{100 * requests / cost.seconds / (in_flight / LATENCY):.0f} %'}
    return row | {'processor, a request': duration(cost.cpu / max(requests, 1)), 'memory': megabytes(cost)}


def made_answers(questions: int, n: int) -> list[Pair]:
    """One pair a response."""
    responses, _ = made_responses(questions, n, 200)
    return [
        Pair(
            f'Question {row % questions}: what is $x$?',
            answer_of(row % questions).reference,
            final_answer(response).text,
        )
        for row, response in enumerate(responses)
    ]


def _judge(urls: list[str], pairs: list[Pair], in_flight: int, **settings: Any) -> int:
    """From the pairs to their verdicts, with a store on disk; the number of requests."""
    with tempfile.TemporaryDirectory() as folder:
        judge = LLMJudge(
            MODEL,
            urls,
            prompts='protocol',
            verdicts=folder,
            concurrency=in_flight // PORTS,
            progress=False,
            **settings,
        )
        judge.judge(pairs)
        judge.close()
        return int(judge.statistics()['requests'])


def _ask_bare(urls: list[str], count: int, in_flight: int) -> int:
    """As many workers as may be in flight, each sending one small body after the other."""
    body = json.dumps({'model': MODEL, 'messages': [{'role': 'user', 'content': 'x' * 2000}]}).encode()
    left = iter(range(count))

    async def work(session: aiohttp.ClientSession, url: str) -> None:
        for _ in left:
            async with session.post(url, data=body) as response:
                json.loads(await response.read())

    async def ask() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            endpoints = [f'{urls[number % PORTS]}/v1/chat/completions' for number in range(in_flight)]
            await asyncio.gather(*(work(session, endpoint) for endpoint in endpoints))

    asyncio.run(ask())
    return count


def count_at_blanks(model: Any) -> None:
    """Be the tokenizer of OpenCompass's models: tokens are only counted, the real one would be downloaded."""
    model.tokenizer = lambda prompt: SimpleNamespace(input_ids=prompt.split())
    model.tokenizer_type = 'hf'


def _judge_builtin(evaluator: Callable[..., Any], urls: list[str], pairs: Sequence[Pair]) -> None:
    from datasets import Dataset
    from opencompass.models import OpenAISDK

    OpenAISDK._init_tokenizer = count_at_blanks
    rows = Dataset.from_list(
        [{'question': pair.question, 'question_type': '', 'subdivision': 'all_en'} for pair in pairs]
    )
    judge = evaluator(MODEL, [f'{url}/v1' for url in urls])
    with tempfile.TemporaryDirectory() as folder:
        judge._out_dir = folder
        judge.judge([f'\\boxed{{{pair.answer}}}' for pair in pairs], [p.reference for p in pairs], rows)


if __name__ == '__main__':
    main(measure, __doc__)
