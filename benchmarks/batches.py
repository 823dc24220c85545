"""What a batch costs on this side: time, memory and disk beside what the provider takes.

    python -m benchmarks.batches

The provider is one in memory that answers at once, so that all that is measured is this package: the lines of
the requests, the notes on the disk, the answers, and the same once more by a task that was killed.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpassk_opencompass.batches import Answer, Collector, Patience, Progress, Request
from gpassk_opencompass.batches.notes import Notes
from gpassk_opencompass.batches.openai_batches import MOST_BYTES, MOST_REQUESTS, OpenAIBatches
from gpassk_opencompass.batches.protocol import custom_id
from gpassk_opencompass.chat.completion import Reply

PROMPT, RESPONSE = 'p' * 1_000, 'r' * 8_000
SIZES = (11_424, 50_000)


class AtOnce:
    """A provider that has answered before it is asked."""

    name = 'memory'
    most_requests, most_bytes = MOST_REQUESTS, MOST_BYTES
    line = OpenAIBatches.line

    def __init__(self) -> None:
        self.submitted = 0
        self.sent = 0

    def submit(self, lines: Sequence[bytes], mark: str) -> str:
        self.submitted, self.sent = self.submitted + 1, sum(map(len, lines))
        return 'batch_1'

    def find(self, mark: str, count: int, since: float) -> list[str]:
        return []

    def look(self, batch: str) -> Progress:
        return Progress('completed', True, 'all')

    def answers(self, batch: str) -> Iterator[tuple[str, Answer]]:
        for number in range(self.count):
            yield named(number), Answer(Reply(f'{RESPONSE}{number}', 'stop'))

    def close(self) -> None:
        pass

    count = 0


def named(number: int) -> str:
    return custom_id(f'question/{number // 48}', number % 48, body(number))


def body(number: int) -> dict[str, object]:
    return {
        'model': 'm',
        'messages': [{'role': 'user', 'content': f'{PROMPT}{number // 48}'}],
        'seed': number,
    }


def seconds(api: AtOnce, notes: Path, requests: Sequence[Request]) -> float:
    """Until all answers are here."""
    start = time.perf_counter()
    found = Collector(api, Notes(notes), Patience(), lambda line, level: None).answers(requests)
    assert len(found) == len(requests)
    return time.perf_counter() - start


def main() -> None:
    print('| requests | input file | submit, collect, note | by a task killed after that | notes | memory |')
    print('| --- | --- | --- | --- | --- | --- |')
    for count in SIZES:
        requests = [Request(named(number), body(number)) for number in range(count)]
        api = AtOnce()
        api.count = count
        with tempfile.TemporaryDirectory() as folder:
            notes = Path(folder, 'run.batches')
            first, again = seconds(api, notes, requests), seconds(api, notes, requests)
            disk = notes.stat().st_size / 1e6
        assert api.submitted == 1
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sent = api.sent / 1e6
        row = (
            f'| {count:,} | {sent:.0f} MB | {first:.1f} s | {again:.1f} s | {disk:.0f} MB | {memory:.0f} MB |'
        )
        print(row)


if __name__ == '__main__':
    main()
