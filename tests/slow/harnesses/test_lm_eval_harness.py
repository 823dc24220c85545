"""The real lm-evaluation-harness: its fresh logs, and our export in its hands.

It runs in the harness's environment: `docs/sources.md` says how that is made.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip('lm_eval', reason='lm-evaluation-harness is not installed in this environment')

import make_lm_eval_logs as made
from exact import g_pass
from harness_logs import check_scores, run_of, scored, verdicts
from harness_script import run

from gpassk_opencompass.samples import Run
from gpassk_opencompass.summary import write_lm_eval

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings('default')]

REPOSITORY = Path(__file__).resolve().parents[3]
COUNTS = [row.count('1') for row in made.RIGHT]


@pytest.fixture(scope='module')
def logs(tmp_path_factory):
    """The folder of a fresh run of all tasks, through the harness's own command line."""
    folder = tmp_path_factory.mktemp('lm-eval')
    run(folder, folder / 'shown.txt', [sys.executable, made.__file__, folder], PYTHONPATH=str(REPOSITORY))
    assert (folder / 'logs').is_dir(), (folder / 'shown.txt').read_text()[-3000:]
    return folder


def read_log(logs: Path, task: str) -> Run:
    [path] = (logs / 'logs').rglob(f'samples_{task}_*.jsonl')
    found = run_of(path)
    assert (found.written_by[:11], found.model) == ('lm-eval 0.4', 'org/scripted-7b')
    return found


def test_verdicts_are_read_from_fresh_logs(logs):
    assert list(verdicts(read_log(logs, 'sums_all')).values()) == list(made.RIGHT)
    for task in ('sums_choices', 'sums_filters'):
        assert list(verdicts(read_log(logs, task)).values()) == [row[0] for row in made.RIGHT]


def test_the_harness_takes_what_is_exported(logs, tmp_path):
    """Its table is made of the summary, its names and its data library read the samples; scores are exact."""
    from datasets import load_dataset
    from lm_eval.utils import get_file_datetime, get_file_task_name, get_sample_results_filenames, make_table

    [samples] = (logs / 'logs').rglob('samples_sums_all_*.jsonl')
    result = scored(tmp_path / 'scored.json', samples, '--k', '2', '4')
    check_scores(result, COUNTS, 4)
    written, summary = write_lm_eval(result, tmp_path / 'out')
    assert get_sample_results_filenames([str(written)]) == [str(written)]
    assert get_file_task_name(written.name) == 'sums_all'
    assert get_file_datetime(written.name) == get_file_datetime(summary.name).removesuffix('.json')
    table = make_table(json.loads(summary.read_text()))
    assert f'{g_pass(COUNTS, 4, 4, 0.5) / 100:.4f}' in table
    rows = load_dataset('json', data_files=str(written), split='train', cache_dir=str(tmp_path / 'cache'))
    told = [json.loads(line) for line in samples.read_text().splitlines()]
    assert [row['resps'] for row in rows] == [row['resps'] for row in told]
    assert [row['correct'] for row in rows] == [row['correct'] for row in told]
    boxes = [[[''.join(re.findall(r'boxed{(\w+)}', text)) for text in row['resps'][0]]] for row in told]
    assert [row['filtered_resps'] for row in rows] == boxes
