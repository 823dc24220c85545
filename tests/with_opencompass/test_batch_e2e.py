"""From the template to the table through a batch: killed in the wait, resumed, paid once."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batch_server import KEY, BatchServer, Erred, Expired, Fault, Outcome, Said
from forks import Copy, Forks
from hosts import import_plugin, results_of, write_bench
from sweeping import dump

import_plugin()
handover = import_plugin('.handover')
pytestmark = pytest.mark.e2e

QUESTIONS = [(f'What is {i} + 30?', str(i + 30)) for i in range(6)]
N = 4
LINES = {
    'openai_batch': ["openai_api_base = '{url}/v1'", 'random_seeds = [42]', 'top_ps = [0.9]'],
    'anthropic_batch': ["base_url = '{url}'"],
}


def template(engine: str, server: BatchServer, data: Path) -> str:
    """Six questions, four samples each."""
    return '\n'.join(
        [
            f"engine, key_env, llm_infos = {engine!r}, 'IMITATED_KEY', ['claude-or-gpt']",
            'poll, patience, retry = 0.05, 60, 1',
            'temperatures, max_out_lens, greedy = [1.0], [64], False',
            'unjudged_tolerance = 0.05',
            f'k_lists, n = [[2, 4]], {N}',
            f"dataset_path, dataset_splits, dataset_languages = {str(data)!r}, ['AMC'], ['en']",
            *(line.format(url=server.url) for line in LINES[engine]),
        ]
    )


def question_in(body: dict[str, Any]) -> int:
    return int(re.findall(r'What is (\d+) \+ 30', body['messages'][-1]['content'])[0])


def replica_in(name: str) -> int:
    return int(name.split('_')[-2])


def right(name: str, body: dict[str, Any]) -> Outcome:
    """The first replicas of a question are right, as many as its number says, at most all."""
    question = question_in(body)
    return Said(f'\\boxed{{{question + 30 if replica_in(name) < question else 0}}}')


EXPECTED = [min(question, N) for question in range(len(QUESTIONS))]


def wait_for(condition: Callable[[], Any], copy: Copy, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, copy.said[-2000:]
        assert copy.poll() is None, copy.said[-3000:]
        time.sleep(0.02)


class Run:
    """A config, and where it runs."""

    def __init__(self, forks: Forks, folder: Path, engine: str, server: BatchServer) -> None:
        self.forks, self.out, self.server = forks, folder / 'out', server
        data = write_bench(folder / 'data', {'AMC_en': QUESTIONS})
        (folder / 'sweep').mkdir()
        assert dump(folder / 'sweep', template(engine, server, data)) == 0
        [self.config] = (folder / 'sweep' / 'configs').glob('*.py')

    def start(self) -> Copy:
        return self.forks.start('opencompass', self.config, '-w', self.out, folder=self.config.parent)

    def kill_in_the_wait(self) -> None:
        """kill -9 once the batch is waited for."""
        self.server.held.set()
        copy = self.start()
        wait_for(lambda: self.server.submitted and self.server.submitted[0].looks > 2, copy)
        copy.kill()
        self.server.held.clear()

    def resume(self) -> str:
        return self.forks.opencompass(self.config, self.out, '-r')

    @property
    def notes(self) -> list[Path]:
        return sorted(self.out.glob('*/predictions/*/*.batches'))

    @property
    def rows(self) -> list[dict[str, Any]]:
        [file] = self.out.glob('*/predictions/*/*.json')
        return list(json.loads(file.read_text()).values())

    def correct(self) -> list[int]:
        [result] = results_of(self.out)
        counts: list[int] = result['gpassk']['counts']['c']
        return counts


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('IMITATED_KEY', KEY)
    monkeypatch.setenv('NO_PROXY', '127.0.0.1')


@pytest.mark.parametrize('noted', [True, False], ids=['noted', 'note lost'])
@pytest.mark.parametrize('engine', LINES)
def test_a_run_killed_in_the_wait_collects_its_batch(
    engine: str, noted: bool, forks: Forks, tmp_path: Path
) -> None:
    """One batch for all samples, also where the note of its id was lost; verdicts are of the right rows."""
    with BatchServer(right, looks=2) as server:
        run = Run(forks, tmp_path, engine, server)
        run.kill_in_the_wait()
        [notes] = run.notes
        if not noted:
            lines = notes.read_text().splitlines(keepends=True)
            notes.write_text(''.join(line for line in lines if '"submitted"' not in line))
        server.faults = [Fault('GET .*', 429, {'Retry-After': '0.2'}, times=2), Fault('GET .*', 0, times=1)]
        said = run.resume()
        [batch] = server.submitted
    assert len(batch.requests) == N * len(QUESTIONS)
    assert batch.id in said
    assert run.correct() == EXPECTED
    assert run.notes == []
    for row in run.rows:
        assert row['generation']['finish_reason'] == 'stop'
    asked = batch.requests.items()
    seeds = {(question_in(body), replica_in(name)): body.get('seed') for name, body in asked}
    samples = [(number_of(row), row['sample']) for row in run.rows]
    assert seeds == {(number, sample['replica']): sample['seed'] for number, sample in samples}
    assert len(set(seeds.values())) == (len(seeds) if engine == 'openai_batch' else 1)
    for file in (path for path in run.out.rglob('*') if path.is_file()):
        assert KEY.encode() not in file.read_bytes(), file


def number_of(row: dict[str, Any]) -> int:
    """Which question a row of the predictions asks."""
    [found] = [number for number, (text, _) in enumerate(QUESTIONS) if text in str(row['origin_prompt'])]
    return found


@pytest.mark.parametrize('engine', LINES)
def test_samples_without_a_response_do_not_end_a_run(engine: str, forks: Forks, tmp_path: Path) -> None:
    """What expired is asked again, what is too long is named in its row, and all others are kept."""
    tries: dict[str, int] = {}

    def sometimes(name: str, body: dict[str, Any]) -> Outcome:
        tries[name] = tries.get(name, 0) + 1
        if (question_in(body), replica_in(name)) == (5, 0):
            code = 'context_length_exceeded' if engine == 'openai_batch' else 'invalid_request_error'
            return Erred(400, code, 'prompt is too long: 9 tokens > 8 maximum')
        late = question_in(body) == 2 and tries[name] == 1
        return Expired() if late else right(name, body)

    with BatchServer(sometimes, looks=1) as server:
        run = Run(forks, tmp_path, engine, server)
        said = run.forks.opencompass(run.config, run.out)
        sizes = [len(batch.requests) for batch in server.submitted]
    assert sizes == [24, 4]
    states = [row['generation'].get('state') for row in run.rows]
    assert np.count_nonzero(np.array(states) == 'too long') == 1
    assert len(states) == 24
    assert set(states) == {None, 'too long'}
    assert 'prompt is too long: 9 tokens > 8 maximum' in said
    assert run.correct() == [*EXPECTED[:5], EXPECTED[5] - 1]


def test_a_run_that_ends_for_too_many_refusals_keeps_what_was_paid_for(forks: Forks, tmp_path: Path) -> None:
    """It says what the server said; once that is mended, -r asks for the refused ones alone."""

    def half(name: str, body: dict[str, Any]) -> Outcome:
        if question_in(body) % 2:
            return Erred(403, 'billing_hard_limit_reached', 'Billing hard limit has been reached')
        return right(name, body)

    with BatchServer(half, looks=1) as server:
        run = Run(forks, tmp_path, 'openai_batch', server)
        copy = run.start()
        copy.wait()
        assert '12 no usual response (12 refused) of 24 samples' in copy.said
        assert 'Billing hard limit has been reached' in copy.said
        server.model = right
        run.resume()
        sizes = [len(batch.requests) for batch in server.submitted]
    assert sizes == [24, 12]
    assert run.correct() == EXPECTED


def test_shards_are_a_batch_each(forks: Forks, tmp_path: Path) -> None:
    """Two workers, two batches, together all samples."""
    with BatchServer(right, looks=1) as server:
        run = Run(forks, tmp_path, 'openai_batch', server)
        forks.opencompass(run.config, run.out, '--max-num-workers', '2')
        sizes = [len(batch.requests) for batch in server.submitted]
    assert (len(sizes), sum(sizes)) == (2, 24)
    assert run.correct() == EXPECTED


def test_a_refused_batch_ends_the_task_with_the_words_of_the_server(forks: Forks, tmp_path: Path) -> None:
    """And says on which line."""
    with BatchServer(right) as server:
        run = Run(forks, tmp_path, 'openai_batch', server)
        run.config.write_text(run.config.read_text().replace("'claude-or-gpt'", "'no-such-model'"))
        copy = run.start()
        copy.wait()
    assert "line 1 of the input file: The provided model 'no-such-model' is not supported" in copy.said
