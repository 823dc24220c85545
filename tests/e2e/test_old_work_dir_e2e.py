"""A real run of OpenCompass's own LiveMathBench, and `gpassk score` of what it left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import old_work_dir as old
import pytest
from exact import g_pass
from hosts import TESTS, dataset_config, scripted, write_bench
from judge_server import Asked, JudgeServer

from gpassk_opencompass.cli import main
from gpassk_opencompass.collect import collect_one

JUDGE = TESTS.parent / 'gpassk_opencompass' / 'demo' / 'model'
"""The name of the judge: a folder, for the built-in evaluator looks for a tokenizer under this name."""

TEXTS = [texts[replica] for replica in (0, 1) for texts in old.responses()]
"""Two samples of each of 8 questions. Each of two parts of the run gets these 16, so n = 4."""

COUNTS = [2 * sum('\\boxed{0}' not in texts[replica] for replica in (0, 1)) for texts in old.responses()]


def fair(asked: Asked) -> str:
    """Right unless the answer is 0; both prompts end with the answer."""
    answer = asked.prompt.rstrip().splitlines()[-3]
    return '\\boxed{no}' if answer.endswith((': 0', '：0')) else '\\boxed{yes}'


def built_in(path: Path, url: str) -> dict[str, Any]:
    """The data set as OpenCompass's own configs have it."""
    ours = {'infer_cfg', 'path', 'reader_cfg'}
    config = dataset_config(path, **{key: value for key, value in old.dataset().items() if key not in ours})
    config['infer_cfg']['inferencer'] = {
        'type': 'opencompass.openicl.icl_inferencer.GenInferencer',
        'max_out_len': 64,
    }
    config['eval_cfg']['evaluator'] |= {'model_name': str(JUDGE), 'url': [f'{url}/v1/']}
    return config


@pytest.mark.e2e
def test_the_built_in_table_is_wrong_and_the_new_one_right(forks, tmp_path, monkeypatch):
    """The built-in evaluator asks about 8 of 32 samples; judged anew, every sample counts for itself."""
    data = write_bench(tmp_path / 'data', old.files())
    monkeypatch.chdir(tmp_path)
    config, work_dir, out = tmp_path / 'run.py', tmp_path / 'old', tmp_path / 'new'
    with JudgeServer(fair) as server:
        model = scripted(texts=TEXTS, batch_size=8, abbr='m')
        config.write_text(f'models = [{model!r}]\ndatasets = [{built_in(data, server.url)!r}]\n')
        said = forks.opencompass(config, work_dir, '--max-num-workers', '2')
        asked_by_built_in = len(server.asked)
        assert len(list(work_dir.glob('*/predictions/m/*_?.json'))) == 2, said
        [result] = work_dir.glob('*/results/m/*.json')
        before = old.contents(work_dir)
        llm = ['--judge', 'llm', '--model', str(JUDGE), '--url', server.url]
        assert main(['score', str(work_dir), '-o', str(out), *llm]) == 0
        asked_by_us = [asked.prompt for asked in server.asked[asked_by_built_in:]]
    wrong = json.loads(result.read_text())
    first = [4 * ('\\boxed{0}' not in texts[0]) for texts in old.responses()]
    assert asked_by_built_in == 8
    assert wrong['G-Pass@4_1.0'] == g_pass(first, 4, 4, 1.0)
    assert wrong['G-Pass@4_1.0'] != g_pass(COUNTS, 4, 4, 1.0)

    found = collect_one(out)
    assert found.counts.c == COUNTS
    for threshold in (0.5, 0.75, 1.0):
        assert found.scores()[f'G-Pass@4_{threshold}'] == pytest.approx(g_pass(COUNTS, 4, 4, threshold))
    # An answer that is the reference needs no call; the wrong one, '0', is the same in all samples.
    assert len(asked_by_us) == len(set(asked_by_us)) == sum(c < 4 for c in COUNTS)
    assert old.contents(work_dir) == before
