"""A run whose engine hardly gives a usual response ends early, and loses nothing that was drawn before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from engine_requests import QUESTIONS, REPLICAS, SAMPLING, _rows, _tasks, config_of, recorded
from hosts import import_plugin

from gpassk_opencompass import IncompleteError, InputError
from gpassk_opencompass.health import Generation

plugin = import_plugin()
unusual = import_plugin('.unusual')

SIZE = REPLICAS * len(QUESTIONS)
SAID = 'HTTP 503:\n  no healthy upstream'

pytestmark = [pytest.mark.filterwarnings('ignore')]


@contextmanager
def answering(states: Sequence[str | None]) -> Iterator[list[int]]:
    """An engine whose calls give samples of these states in turn; gives the sizes of its batches."""
    left, batches = list(states), []
    with pytest.MonkeyPatch.context() as patch:
        generate = plugin.SeededVLLM.generate

        def told(self: Any, inputs: list[Any], max_out_len: int, **options: Any) -> list[str]:
            texts: list[str] = generate(self, inputs, max_out_len, **options)
            batches.append(len(inputs))
            self.generations.take(len(inputs))
            own = [left.pop(0) for _ in inputs]
            self.generations.note([Generation(None if one else 'stop', state=one) for one in own], SAID)
            return ['' if one else text for one, text in zip(own, texts, strict=True)]

        patch.setattr(plugin.SeededVLLM, 'generate', told)
        yield batches


def sample(folder: Path, states: Sequence[str | None], most: float | None = None) -> list[int]:
    """Draw (or go on drawing) 12 samples in batches of 3; the sizes of the batches that were asked for."""
    with recorded('vllm', []) as options, answering(states) as batches:
        lines = {'most_failed': most} if most is not None else {}
        config = config_of('vllm', folder, options, {**SAMPLING, **lines})
        config['models'][0]['batch_size'] = 3
        [task] = _tasks(config, folder / 'work', 1)
        task.run()
    return batches


def kept(folder: Path) -> list[str | None]:
    """The states in the resume file."""
    [path] = (folder / 'work').rglob('tmp_*.jsonl')
    rows = map(json.loads, path.read_text().splitlines())
    return [row.get('generation', {}).get('state') for row in rows]


def test_a_run_ends_before_the_batch_that_was_too_much_is_written(tmp_path: Path) -> None:
    """Of 12 samples 8 may be unusual; the 9th ends it, and a resume asks for its batch and what follows."""
    states: list[str | None] = ['failed'] * 7 + ['refusal', None] + [None, 'failed', 'failed']
    with pytest.raises(IncompleteError) as raised:
        sample(tmp_path, states)
    message = str(raised.value)
    assert '\n' not in message
    assert '10 no usual response (9 failed, 1 refusal) of 12 samples' in message
    assert "'HTTP 503: no healthy upstream'" in message
    assert 'most_failed = 0.1 allows no more than 8' in message
    assert kept(tmp_path) == states[:9]
    assert sample(tmp_path, [None] * 3) == [3]
    told = [Generation.from_json(row['generation']).state for row in _rows(tmp_path / 'work')]
    assert told == [*states[:9], None, None, None]


def test_a_resume_counts_what_came_before(tmp_path: Path) -> None:
    """Else each start would have as many once more."""
    with pytest.raises(IncompleteError):
        sample(tmp_path, ['failed'] * 12)
    assert kept(tmp_path) == ['failed'] * 6
    with pytest.raises(IncompleteError, match='9 no usual response'):
        sample(tmp_path, ['failed'] * 6)
    assert kept(tmp_path) == ['failed'] * 6


def test_a_run_that_ended_goes_on_with_another_share(tmp_path: Path) -> None:
    """It is no setting by which samples differ."""
    with pytest.raises(IncompleteError):
        sample(tmp_path, ['thought only'] * 12)
    assert sample(tmp_path, ['thought only'] * 6, most=1.0) == [3, 3]
    assert [row['prediction'] for row in _rows(tmp_path / 'work')] == [''] * SIZE


@pytest.mark.parametrize(
    ('size', 'most', 'allowed'), [(1000, 0.1, 100), (1000, 0, 8), (50, 0.1, 8), (81, 0.1, 8), (1000, 1, 1000)]
)
def test_so_many_may_be_unusual(size: int, most: float, allowed: int) -> None:
    """The share of the shard, and 8 at least."""
    samples = unusual.UnusualSamples('x', size, most)
    for _ in range(allowed):
        samples.add([Generation(state='empty')])
    if allowed < size:
        with pytest.raises(
            IncompleteError, match=rf'{allowed + 1} no usual response \({allowed + 1} empty\)'
        ):
            samples.add([Generation(state='empty')])


@pytest.mark.parametrize('share', [-0.1, 1.5, 10, True, 'most', None])
def test_what_is_no_share_is_refused(share: object) -> None:
    """Before anything is drawn."""
    with pytest.raises(InputError, match='most_failed'):
        unusual.check_most_failed(share)
