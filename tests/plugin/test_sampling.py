"""The inferencer: hardly a usual response, or other prompts, end a run early, and nothing is lost."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest
from engine_fakes import QUESTIONS, REPLICAS, SAMPLING, config_of, recorded, rows_in, tasks_of
from hosts import import_plugin

from gpassk_opencompass import IncompleteError
from gpassk_opencompass.health import Generation
from gpassk_opencompass.predictions import Rows, Sample

plugin = import_plugin()

SIZE = REPLICAS * len(QUESTIONS)
pytestmark = [pytest.mark.filterwarnings('ignore')]


def sample(folder: Path, states: Sequence[str | None], most: float | None = None) -> int:
    """Draw (or go on drawing) 12 samples in batches of 3, which get these states; how many were drawn."""
    left = list(states)

    def told(self, prompts, seeds, max_out_len, done, **options):
        for number in range(len(prompts)):
            state = left.pop(0)
            said = 'HTTP 503:\n  no healthy upstream' if state else ''
            done(number, '' if state else 'fine', Generation(None if state else 'stop', state=state), said)

    with recorded('vllm', []) as options, pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugin.SeededVLLM, 'sample', told)
        lines = {'most_failed': most} if most is not None else {}
        config = config_of('vllm', folder, options, {**SAMPLING, **lines})
        config['models'][0]['batch_size'] = 3
        [task] = tasks_of(config, folder / 'work')
        task.run()
    return len(states) - len(left)


def test_a_run_ends_before_what_is_no_usual_response_is_written(tmp_path):
    """Of 12 samples 8 may be unusual; the 9th ends it, and a resume asks for all of them again."""
    states: list[str | None] = [*['failed'] * 7, 'refusal', None, None, 'failed', 'failed']
    with pytest.raises(IncompleteError) as raised:
        sample(tmp_path, states)
    message = str(raised.value)
    assert '\n' not in message
    assert '9 no usual response (8 failed, 1 refusal) of 12 samples' in message
    assert "'HTTP 503: no healthy upstream'" in message
    assert 'most_failed = 0.1 allows no more than 8' in message
    assert sample(tmp_path, [None, 'empty', *[None] * 8]) == 10
    told = [Generation.from_json(row['generation']).state for row in rows_in(tmp_path / 'work')]
    assert sorted(map(str, told)) == [*['None'] * 11, 'empty']


def test_what_was_drawn_before_counts_and_another_share_goes_on(tmp_path):
    """Also in predictions that are gone on with because there are more samples."""
    assert sample(tmp_path, ['empty'] * 8 + [None] * 4) == SIZE
    [path] = (tmp_path / 'work').rglob('*.json')
    rows = path.read_text().splitlines()
    path.with_name(f'{path.stem}.rows.jsonl').write_text('\n'.join([*rows[1:9], '']))
    path.unlink()
    with pytest.raises(IncompleteError, match='9 no usual response'):
        sample(tmp_path, ['failed'] * 4)
    assert sample(tmp_path, ['thought only'] * 4, most=1.0) == 4


def test_a_run_that_goes_on_holds_places_and_no_responses(tmp_path):
    """Those of a whole run may be more than the memory; here they are 20 MB."""
    samples = [Sample(f'q{number}', 0, number, '', '', '') for number in range(400)]
    before, after = (Rows(tmp_path / 'bench.json', 'bench', samples, {}) for _ in range(2))
    for one in samples:
        before.add(before.row(one, '', 'x' * 50_000, Generation()))
    tracemalloc.start()
    assert after.find() == []
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    after.close()
    assert most < 4_000_000
