"""How fast are verdicts, against the LLM judge built into OpenCompass?

    python -m benchmarks.judge_throughput FILE.jsonl            # minutes: OpenCompass asks 4 times a second
    python -m benchmarks.judge_throughput FILE.jsonl --quick    # OpenCompass gets a part, scaled up

A line of FILE is a question with `question`, `answer` and `response` (n texts). All ask the same server: a
process of its own with two ports that replies after 200 ms. OpenCompass gets all answers as if they were n
= 1 (with its own n > 1 it would ask for the first replica only), and a tokenizer that splits at blanks,
since it would otherwise try to download one. A bare aiohttp loop shows what the machine and the stub allow
at that moment.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import aiohttp
from aiohttp import web
from datasets import Dataset
from loguru import logger

from gpassk_opencompass import Pair, final_answer
from gpassk_opencompass.judges.llm import LLMJudge

LATENCY = 0.2
PORTS = 2
IN_FLIGHT = 128
SUSTAINED = 50 * IN_FLIGHT
QUICK_ANSWERS = 96  # six batches of 16, three a port
MODEL = 'judge'


class Row(NamedTuple):
    """One measurement."""

    name: str
    answers: int
    requests: int
    seconds: float
    cpu: float
    timed: int = 0
    """Answers that were really judged where the time is scaled up, else 0."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('file', type=Path)
    parser.add_argument(
        '--quick', action='store_true', help=f'give the built-in judge {QUICK_ANSWERS} answers'
    )
    arguments = parser.parse_args()
    logger.remove()
    pairs = read_pairs(arguments.file)
    with stub_server() as urls:
        ours = [
            measure('this one, each answer asked', urls, distinct(pairs), accept_equal=False),
            measure('this one, each different answer asked', urls, pairs, accept_equal=False),
            measure('this one as it is', urls, pairs),
        ]
        bare = asyncio.run(measure_bare(urls, SUSTAINED))
        sustained = measure('LLMJudge', urls, distinct(pairs * 8)[:SUSTAINED], accept_equal=False)
        theirs = measure_builtin(urls, pairs[:QUICK_ANSWERS] if arguments.quick else pairs, len(pairs))
    print('\n'.join(report(theirs, ours, [bare, sustained])))


def read_pairs(file: Path) -> list[Pair]:
    """One pair a response."""
    questions = [json.loads(line) for line in file.read_text(encoding='utf-8').splitlines() if line.strip()]
    return [
        Pair(question['question'], question['answer'], final_answer(response).text, tail=response[-2000:])
        for question in questions
        for response in question['response']
    ]


def distinct(pairs: Iterable[Pair]) -> list[Pair]:
    """The same pairs, each with a question of its own, so that none can be spared."""
    return [pair._replace(question=f'({number}) {pair.question}') for number, pair in enumerate(pairs)]


def measure(name: str, urls: list[str], pairs: list[Pair], **settings: Any) -> Row:
    """LLMJudge with a store on disk, from the pairs to their verdicts."""
    with tempfile.TemporaryDirectory() as folder:
        judge = LLMJudge(
            MODEL,
            urls,
            prompts='protocol',
            store=folder,
            concurrency=IN_FLIGHT // PORTS,
            progress=False,
            **settings,
        )
        seconds, cpu = timed(lambda: judge.judge(pairs))
        judge.close()
    return Row(name, len(pairs), judge.statistics()['requests'], seconds, cpu)


async def measure_bare(urls: list[str], count: int) -> Row:
    """As many workers as may be in flight, each sending one small body after the other."""
    body = json.dumps({'model': MODEL, 'messages': [{'role': 'user', 'content': 'x' * 2000}]}).encode()
    left = iter(range(count))

    async def work(session: aiohttp.ClientSession, url: str) -> None:
        for _ in left:
            async with session.post(url, data=body) as response:
                json.loads(await response.read())

    start, cpu = time.perf_counter(), time.process_time()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        endpoints = [f'{urls[number % PORTS]}/v1/chat/completions' for number in range(IN_FLIGHT)]
        await asyncio.gather(*(work(session, endpoint) for endpoint in endpoints))
    return Row('bare aiohttp', count, count, time.perf_counter() - start, time.process_time() - cpu)


def measure_builtin(urls: list[str], pairs: list[Pair], answers: int) -> Row:
    """LiveMathBenchEvaluator of OpenCompass, scaled up to all answers."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        from opencompass.datasets.livemathbench.livemathbench import LiveMathBenchEvaluator
        from opencompass.models import OpenAISDK
    # Tokens are only counted; the real tokenizer would have to be downloaded.
    OpenAISDK._init_tokenizer = lambda model: model.__dict__.update(
        tokenizer=lambda prompt: SimpleNamespace(input_ids=prompt.split()), tokenizer_type='hf'
    )
    rows = Dataset.from_list(
        [{'question': pair.question, 'question_type': '', 'subdivision': 'all_en'} for pair in pairs]
    )
    texts = [f'\\boxed{{{pair.answer}}}' for pair in pairs]
    evaluator = LiveMathBenchEvaluator(MODEL, [f'{url}/v1' for url in urls])
    with tempfile.TemporaryDirectory() as folder:
        evaluator._out_dir = folder
        seconds, cpu = timed(lambda: evaluator.judge(texts, [pair.reference for pair in pairs], rows))
    scale = answers / len(pairs)
    timed_answers = 0 if scale == 1 else len(pairs)
    return Row('built into OpenCompass', answers, answers, seconds * scale, cpu * scale, timed_answers)


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock and of this process's CPU time."""
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


@contextmanager
def stub_server() -> Any:
    """Its URLs, as long as the context lasts."""
    context = multiprocessing.get_context('spawn')
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there,), daemon=True)
    server.start()
    try:
        yield [f'http://127.0.0.1:{port}' for port in here.recv()]
    finally:
        server.terminate()
        server.join()


def serve(pipe: Connection) -> None:
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    choice = {
        'index': 0,
        'message': {'role': 'assistant', 'content': r'\boxed{yes}'},
        'finish_reason': 'stop',
    }
    reply = {'id': 'x', 'object': 'chat.completion', 'created': 0, 'model': MODEL, 'choices': [choice]}
    body = json.dumps(reply).encode()

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(LATENCY)
        return web.Response(body=body, content_type='application/json')

    app = web.Application(client_max_size=2**26)
    app.router.add_post('/v1/chat/completions', answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    for _ in range(PORTS):
        await web.TCPSite(runner, '127.0.0.1', 0).start()
    pipe.send([port for _, port in runner.addresses])
    await asyncio.Event().wait()


def report(theirs: Row, ours: list[Row], sustained: list[Row]) -> list[str]:
    ideal = IN_FLIGHT / LATENCY
    lines = [
        f'{PORTS} ports, {1000 * LATENCY:.0f} ms a reply, {IN_FLIGHT} in flight (OpenCompass: {PORTS});',
        f'{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}',
        '',
        '| judge | answers | requests | seconds | answers/s | CPU a request | ratio |',
        '| --- ' * 7 + '|',
        *(cells(row, theirs) for row in (theirs, *ours)),
        '',
        f'| {SUSTAINED:,} requests in a row | requests/s | of the ideal {ideal:.0f}/s | CPU a request |',
        '| --- ' * 4 + '|',
        *(sustained_cells(row, ideal) for row in sustained),
    ]
    if theirs.timed:
        scale = theirs.answers / theirs.timed
        lines += ['', f'OpenCompass was timed on {theirs.timed} answers, times {scale:.3g}.']
    return lines


def sustained_cells(row: Row, ideal: float) -> str:
    rate = row.requests / row.seconds
    return f'| {row.name} | {rate:.0f} | {rate / ideal:.1%} | {1000 * row.cpu / row.requests:.2f} ms |'


def cells(row: Row, theirs: Row) -> str:
    parts = [
        row.name,
        f'{row.answers}',
        f'{row.requests}',
        f'{row.seconds:.2f}',
        f'{row.answers / row.seconds:.1f}',
        f'{1000 * row.cpu / row.requests:.2f} ms' if row.requests else '–',
        f'{theirs.seconds / row.seconds:,.0f}×',
    ]
    return '| ' + ' | '.join(parts) + ' |'


if __name__ == '__main__':
    main()
