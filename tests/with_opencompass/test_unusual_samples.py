"""A run whose engine hardly gives a usual response ends early, and loses nothing that was drawn before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from engine_requests import QUESTIONS, REPLICAS, SAMPLING, _rows, _tasks, config_of, recorded
from hosts import import_plugin

from gpassk_opencompass import IncompleteError, InputError
from gpassk_opencompass.health import Generation

plugin = import_plugin()

SIZE = REPLICAS * len(QUESTIONS)
pytestmark = [pytest.mark.filterwarnings('ignore')]


def sample(folder: Path, states: Sequence[str | None], most: float | None = None) -> int:
    """Draw (or go on drawing) 12 samples in batches of 3, which get these states; how many were drawn."""
    left = list(states)

    def told(
        self: Any, prompts: Sequence[Any], seeds: Any, max_out_len: int, done: Any, **options: Any
    ) -> None:
        for number in range(len(prompts)):
            state = left.pop(0)
            said = 'HTTP 503:\n  no healthy upstream' if state else ''
            done(number, '' if state else 'fine', Generation(None if state else 'stop', state=state), said)

    with recorded('vllm', []) as options, pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugin.SeededVLLM, 'sample', told)
        lines = {'most_failed': most} if most is not None else {}
        config = config_of('vllm', folder, options, {**SAMPLING, **lines})
        config['models'][0]['batch_size'] = 3
        [task] = _tasks(config, folder / 'work', 1)
        task.run()
    return len(states) - len(left)


def kept(folder: Path) -> int:
    """The rows that are kept, all of them usual."""
    rows = [json.loads(line) for path in (folder / 'work').rglob('*.rows.jsonl') for line in path.open()]
    assert {row['prediction'] for row in rows} <= {'fine'}
    return len(rows)


def test_a_run_ends_before_what_is_no_usual_response_is_written(tmp_path: Path) -> None:
    """Of 12 samples 8 may be unusual; the 9th ends it, and a resume asks for all of them again."""
    states: list[str | None] = [*['failed'] * 7, 'refusal', None, None, 'failed', 'failed']
    with pytest.raises(IncompleteError) as raised:
        sample(tmp_path, states)
    message = str(raised.value)
    assert '\n' not in message
    assert '9 no usual response (8 failed, 1 refusal) of 12 samples' in message
    assert "'HTTP 503: no healthy upstream'" in message
    assert 'most_failed = 0.1 allows no more than 8' in message
    assert kept(tmp_path) == 2
    assert sample(tmp_path, [None, 'empty', *[None] * 8]) == 10
    told = [Generation.from_json(row['generation']).state for row in _rows(tmp_path / 'work')]
    assert sorted(map(str, told)) == [*['None'] * 11, 'empty']


def test_what_was_drawn_before_counts(tmp_path: Path) -> None:
    """Also in predictions that are gone on with because there are more samples."""
    assert sample(tmp_path, ['empty'] * 8 + [None] * 4) == SIZE
    [path] = (tmp_path / 'work').rglob('*.json')
    rows = path.read_text().splitlines()
    path.with_name(f'{path.stem}.rows.jsonl').write_text('\n'.join([*rows[1:9], '']))
    path.unlink()
    with pytest.raises(IncompleteError, match='9 no usual response'):
        sample(tmp_path, ['failed'] * 4)


def test_a_run_that_ended_goes_on_with_another_share(tmp_path: Path) -> None:
    """It is no setting by which samples differ."""
    with pytest.raises(IncompleteError):
        sample(tmp_path, ['thought only'] * 12)
    assert sample(tmp_path, ['thought only'] * 12, most=1.0) == SIZE
    assert [row['prediction'] for row in _rows(tmp_path / 'work')] == [''] * SIZE


@pytest.mark.parametrize('share', [-0.1, 1.5, 10, True, 'most', None])
def test_what_is_no_share_is_refused(share: object) -> None:
    """Before anything is drawn."""
    with pytest.raises(InputError, match='most_failed'):
        plugin.SeededGenInferencer(None, 16, most_failed=share)
