"""How fast are verdicts of an LLM, against the LLM judge built into OpenCompass?

    python -m benchmarks.judge_throughput            # up to 238 × 192 answers, each asked, and deduplicated
    python -m benchmarks.judge_throughput --quick    # up to 238 × 48

All ask the same server, a process of its own with two ports that replies after 200 ms. OpenCompass gets a
part of the answers as if they were n = 1 (with its own n > 1 it would ask for the first replica only),
scaled up: it asks twice a second and URL, whatever the server can do. Its tokenizer splits at blanks, since
the real one would have to be downloaded. The floor is what is allowed in flight over the time of a reply; a
bare aiohttp loop shows what machine and server reach of it at that moment.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import aiohttp
from datasets import Dataset

from gpassk_opencompass import Pair, final_answer
from gpassk_opencompass.judges.llm import LLMJudge

from .made import QUESTIONS, answer_of, made_responses
from .measuring import Cost, cost, progress, unwarned
from .sections import Section, Size, added, duration, headline, main, times
from .stub_judge import MODEL, stub_judge

LATENCY = 0.2
PORTS = 2
IN_FLIGHT = 128
CASES: Mapping[Size, tuple[int, ...]] = {'tiny': (1,), 'quick': (1, 4, 12), 'full': (3, 12, 48)}
"""Answers to each of the questions."""

MANY_IN_FLIGHT = 512
MANY: Mapping[Size, tuple[int, ...]] = {'tiny': (1,), 'quick': (48,), 'full': (48, 192)}
"""The same, with that many requests in flight."""

BUILTIN: Mapping[Size, int] = {'tiny': 2, 'quick': 64, 'full': 128}
"""Answers that OpenCompass judges; 16 are a batch, and each port has one at a time."""


class Row(NamedTuple):
    """One way to judge; `value` of the cost is the number of requests."""

    name: str
    in_flight: int
    answers: int
    cost: Cost

    @property
    def of_ideal(self) -> float:
        """The share of the requests a second that no client can surpass."""
        return float(self.cost.value / self.cost.seconds / (self.in_flight / LATENCY))


def measure(size: Size) -> Section:
    """Every case of this size."""
    questions = 4 if size == 'tiny' else QUESTIONS
    with unwarned():
        from opencompass.datasets.livemathbench.livemathbench import LiveMathBenchEvaluator
    with stub_judge(LATENCY, PORTS) as urls:
        pairs = {n: made_answers(questions, n) for n in CASES[size]}
        last = [*pairs.values()][-1]
        rows = [
            _ours('ours, each asked', urls, distinct(part), accept_equal=False) for part in pairs.values()
        ]
        rows += [
            _ours('ours, each different answer', urls, last, accept_equal=False),
            _ours('ours as it is', urls, last),
            _bare(urls, len(last)),
        ]
        for n in MANY[size]:
            many = distinct(made_answers(questions, n))
            rows += [
                _ours('ours, each asked', urls, many, MANY_IN_FLIGHT, accept_equal=False),
                _bare(urls, len(many), MANY_IN_FLIGHT),
            ]
        theirs = _builtin(LiveMathBenchEvaluator, urls, last[: BUILTIN[size]], len(last))
    return _section([*rows, theirs], min(BUILTIN[size], len(last)))


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


def distinct(pairs: Iterable[Pair]) -> list[Pair]:
    """The same pairs, each with a question of its own, so that none can be spared."""
    return [pair._replace(question=f'({number}) {pair.question}') for number, pair in enumerate(pairs)]


def _ours(name: str, urls: list[str], pairs: list[Pair], in_flight: int = IN_FLIGHT, **settings: Any) -> Row:
    progress(f'LLM judge: {name}, {len(pairs):,} answers, {in_flight} in flight')
    return Row(name, in_flight, len(pairs), cost(partial(_judge, urls, pairs, in_flight, settings)))


def _judge(urls: list[str], pairs: list[Pair], in_flight: int, settings: Mapping[str, Any]) -> int:
    """From the pairs to their verdicts, with a store on disk."""
    with our_judge(urls, in_flight, **settings) as judge:
        judge.judge(pairs)
    return int(judge.statistics()['requests'])


@contextmanager
def our_judge(urls: list[str], in_flight: int = IN_FLIGHT, **settings: Any) -> Iterator[LLMJudge]:
    """Our judge with so many requests in flight; its store lies on disk until it is closed."""
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
        yield judge
        judge.close()


def _bare(urls: list[str], count: int, in_flight: int = IN_FLIGHT) -> Row:
    progress(f'LLM judge: bare aiohttp, {count:,} requests, {in_flight} in flight')
    return Row('bare aiohttp', in_flight, count, cost(lambda: asyncio.run(_ask(urls, count, in_flight))))


async def _ask(urls: list[str], count: int, in_flight: int) -> int:
    """As many workers as may be in flight, each sending one small body after the other."""
    body = json.dumps({'model': MODEL, 'messages': [{'role': 'user', 'content': 'x' * 2000}]}).encode()
    left = iter(range(count))

    async def work(session: aiohttp.ClientSession, url: str) -> None:
        for _ in left:
            async with session.post(url, data=body) as response:
                json.loads(await response.read())

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        endpoints = [f'{urls[number % PORTS]}/v1/chat/completions' for number in range(in_flight)]
        await asyncio.gather(*(work(session, endpoint) for endpoint in endpoints))
    return count


def _builtin(evaluator: Callable[..., Any], urls: list[str], pairs: list[Pair], answers: int) -> Row:
    progress(f'LLM judge: OpenCompass, {len(pairs)} answers')
    found = cost(partial(_judge_builtin, evaluator, urls, pairs))
    return Row('OpenCompass', IN_FLIGHT, answers, found.scaled(answers / len(pairs))._replace(value=answers))


def _judge_builtin(evaluator: Callable[..., Any], urls: list[str], pairs: Sequence[Pair]) -> None:
    from opencompass.models import OpenAISDK

    # Tokens are only counted.
    OpenAISDK._init_tokenizer = lambda model: model.__dict__.update(
        tokenizer=lambda prompt: SimpleNamespace(input_ids=prompt.split()), tokenizer_type='hf'
    )
    rows = Dataset.from_list(
        [{'question': pair.question, 'question_type': '', 'subdivision': 'all_en'} for pair in pairs]
    )
    judge = evaluator(MODEL, [f'{url}/v1' for url in urls])
    with tempfile.TemporaryDirectory() as folder:
        judge._out_dir = folder
        judge.judge([f'\\boxed{{{pair.answer}}}' for pair in pairs], [p.reference for p in pairs], rows)


def _section(rows: list[Row], judged: int) -> Section:
    theirs = rows[-1]
    asked = [row for row in rows if row.name == 'ours, each asked' and row.in_flight == IN_FLIGHT][-1]
    [whole] = [row for row in rows if row.name == 'ours as it is']
    task = f'LLM judge, {theirs.answers:,} answers'
    return Section(
        'LLM judge',
        f'Verdicts from a server with {PORTS} ports that replies after {LATENCY * 1e3:.0f} ms, by '
        f'the clock. Ideal: {IN_FLIGHT / LATENCY:,.0f} requests/s with {IN_FLIGHT} in flight, '
        f'{MANY_IN_FLIGHT / LATENCY:,.0f} with {MANY_IN_FLIGHT}; OpenCompass has {PORTS}, whatever may be.',
        [
            'judge',
            'in flight',
            'answers',
            'requests',
            'time',
            'answers/s',
            'OpenCompass / this',
            '% of the ideal requests/s',
            'processor, a request',
            'memory',
        ],
        [_cells(row, theirs) for row in rows],
        [
            f'OpenCompass judged {judged} answers, scaled up. "Each asked": nothing can be spared, every '
            'answer has a question of its own. "Each different answer": equal answers to a question are '
            'asked once. "As it is": an answer that equals the reference is not asked either.'
        ],
        [
            headline(f'{task}, each asked', 'OpenCompass', asked.cost, theirs.cost, by_clock=True),
            headline(f'{task}, as it is', 'OpenCompass', whole.cost, theirs.cost, by_clock=True),
        ],
    )


def _cells(row: Row, theirs: Row) -> list[str]:
    found, requests = row.cost, row.cost.value
    alike = theirs.cost.seconds * row.answers / theirs.answers
    return [
        row.name,
        f'{row.in_flight}',
        f'{row.answers:,}',
        f'{requests:,}',
        duration(found.seconds),
        f'{row.answers / found.seconds:,.0f}',
        times(alike / found.seconds),
        f'{100 * row.of_ideal:.1f} %',
        duration(found.cpu / requests) if requests else '–',
        added(found),
    ]


if __name__ == '__main__':
    main(measure, __doc__)
