"""The `lighteval` command on the demo's model and questions, and its responses scored by OpenCompass."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import details_of, lighteval, results_of

from gpassk_opencompass import demo

ROOT = Path(__file__).resolve().parents[2]
OPENCOMPASS = ROOT / '.venv' / 'bin' / 'python'
"""An environment with OpenCompass, which cannot stand in one with Lighteval."""

N, KS = 16, (4, 8, 16)
TASK, METRIC = 'gpassk_demo|0', 'G-Pass@k'

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('run')]


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where n = 16 samples of each of the demo's questions were drawn, n and k given with the task."""
    folder = tmp_path_factory.mktemp('run')
    shutil.copytree(demo.MODEL, folder / 'demo_model')
    done = lighteval(
        folder,
        'accelerate',
        'model_name=demo_model,cache_dir=cache,batch_size=48,generation_parameters={temperature:1.0}',
        f"gpassk_demo@n={N}@k='{' '.join(map(str, KS))}'",
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (folder / 'said.txt').write_text(done.stdout, encoding='utf-8')
    return folder


def test_the_table_has_scores(folder: Path) -> None:
    """Neither all nor nothing, less at higher thresholds, each with its standard error, and printed."""
    [table] = results_of(folder, TASK)
    said = (folder / 'said.txt').read_text(encoding='utf-8')
    assert 0.2 < table['accuracy'] < 0.95
    for k in KS:
        falling = [table[f'G-Pass@{k}_{tau}'] for tau in (0.0, 0.25, 0.5, 0.75, 1.0)]
        assert falling == sorted(falling, reverse=True)
        assert falling[0] > falling[-1] > 0
        for name in (f'G-Pass@{k}_1.0', f'mG-Pass@{k}'):
            assert 0 < table[f'{name}_stderr'] < 0.2
            assert f'|{name}' in said


def test_opencompass_gives_the_same_responses_the_same_scores(folder: Path) -> None:
    """To the last digit: in another environment, with other versions of numpy and math-verify."""
    if not OPENCOMPASS.is_file():
        pytest.skip('OpenCompass is not installed in .venv: make install')
    [table] = results_of(folder, TASK)
    record = scored_by_opencompass(folder)
    scores = {name: value for name, value in table.items() if not name.endswith(('_stderr', '_share'))}
    assert len(scores) == 1 + 7 * len(KS)
    assert {name: 100.0 * value for name, value in scores.items()} == {name: record[name] for name in scores}
    saved = {
        row['doc']['specific']['uid']: (
            row['metric'][METRIC]['c'],
            ''.join(row['metric'][METRIC]['verdicts']),
        )
        for row in details_of(folder)
    }
    counts = record['gpassk']['counts']
    columns = (counts['uid'], counts['c'], record['details']['verdicts'])
    assert saved == {uid: (c, verdicts) for uid, c, verdicts in zip(*columns, strict=True)}


def scored_by_opencompass(folder: Path) -> dict[str, Any]:
    """The record of the responses that Lighteval saved."""
    [details] = (folder / 'results' / 'details').rglob('details_*.parquet')
    done = subprocess.run(
        [OPENCOMPASS, Path(__file__).with_name('opencompass_scores.py'), details, str(N), *map(str, KS)],
        env={**os.environ, 'OMP_NUM_THREADS': '1'},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    record: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return record
