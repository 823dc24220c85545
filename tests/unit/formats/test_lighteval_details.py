"""Details that Lighteval 0.13 wrote: of tasks that are not of this package, and of one that is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from exact import g_pass
from harness_logs import RECORDED, run_of, samples_of
from pyarrow import parquet

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.formats import read_samples
from gpassk_opencompass.judges.rule import RuleJudge
from gpassk_opencompass.scoring import score

LOGS = RECORDED / 'lighteval_tasks'
COUNTS = {'0': 4, '1': 3, '2': 2, '3': 1, '4': 0, '5': 4}
"""Right samples of the six questions, by construction."""


def details(task: str) -> Path:
    [path] = (LOGS / task / 'details').rglob('*.parquet')
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


@pytest.mark.parametrize('whole', [True, False], ids=['folder', 'file'])
def test_responses_of_any_generative_task_are_judged_anew(whole):
    """Of a task with Lighteval's own avg@n; the scores are exact, and Lighteval's mean is ours."""
    told: list[str] = []
    [run] = read_samples([LOGS / 'sums' if whole else details('sums')], tell=told.append)
    assert told == []
    assert (run.model, run.dataset, run.judge) == ('someone/scripted', 'sums', {})
    assert run.settings == {'max_out_len': 40, 'temperature': 0}
    assert any('(avg@n:n=4)' in remark and 'judged anew' in remark for remark in run.remarks)
    with RuleJudge() as judge:
        result = score(samples_of(run), judge, k=[2, 4])
    assert dict(zip(result.counts.uid, result.counts.c, strict=True)) == COUNTS
    for k in (2, 4):
        assert abs(result.scores()[f'G-Pass@{k}_1.0'] - g_pass(COUNTS.values(), 4, k, 1.0)) < 1e-9
    [path] = (LOGS / 'sums' / 'results').rglob('*.json')
    told = json.loads(path.read_text())['results']['sums|0']
    [theirs] = [one for name, one in told.items() if name.startswith('avg@n') and 'stderr' not in name]
    assert abs(100 * theirs - result.scores()['accuracy']) < 1e-9


def test_choices_and_a_summary_alone_are_refused_with_a_hint(tmp_path):
    with pytest.raises(InputError, match='compares log-likelihoods of choices'):
        run_of(LOGS / 'choices')
    [summary] = (LOGS / 'sums' / 'results').rglob('*.json')
    shutil.copy(summary, tmp_path)
    with pytest.raises(InputError, match='--save-details'):
        run_of(tmp_path / summary.name)


def test_a_task_of_this_package_is_read_with_its_verdicts():
    """As a sweep calls it, with judge, k and the names of its questions."""
    [path] = (RECORDED / 'lighteval' / 'details').rglob('*.parquet')
    run = run_of(RECORDED / 'lighteval')
    assert run.model == 'demo_t1.0_p0.9_l40'
    assert run.dataset == 'LiveMathBench-vdemo-ADD_MUL_MIX-cn_en-k4_8-r1'
    assert (run.ks, run.judge['name']) == ((4, 8), 'rule')
    found, rows = samples_of(run), {row['doc']['specific']['uid']: row for row in rows_of(path)}
    told = found.counts()
    assert told.c.tolist() == [rows[uid]['metric']['G-Pass@k']['c'] for uid in told.uid]
    assert told.problem[0] == 'demo/ADD/0'
    assert set(told.group) == {
        f'{split}_{language}' for split in ('ADD', 'MUL', 'MIX') for language in ('cn', 'en')
    }
    first = next(iter(found.by_question().values()))
    assert [found['response'][row] for row in first] == rows[told.uid[0]]['model_response']['text']
    assert [found['answer'][row] for row in first] == rows[told.uid[0]]['metric']['G-Pass@k']['answers']
