"""Lighteval's results in a report, beside OpenCompass's: when they meet, and what is refused."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from gpassk_opencompass.cli import main
from gpassk_opencompass.collect import collect_one
from gpassk_opencompass.record import Names, write

parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow is not installed')
pyarrow = pytest.importorskip('pyarrow')

RECORDED = Path(__file__).parents[1] / 'recorded' / 'lighteval'
"""What Lighteval's own classes saved: `tests/slow/lighteval/made.py` wrote it."""

BENCHMARK = 'LiveMathBench-vdemo-ADD_MUL_MIX-cn_en'
NAME = 'demo_t1.0_p0.9_l40'


def one_file(folder, pattern):
    [path] = folder.rglob(pattern)
    return path


@pytest.fixture
def saved(tmp_path):
    """A copy of the recorded run."""
    return Path(shutil.copytree(RECORDED, tmp_path / 'lighteval'))


def beside(folder, change=bool, model='other_t0.7_l40', data=BENCHMARK):
    """The recorded run as OpenCompass would have written it, changed."""
    result = collect_one(RECORDED)
    result.run = Names(model=model, dataset=f'{data}-k4_8-r1', host='opencompass')
    result._samples, result.bounds = None, {}
    change(result)
    path = folder / 'work' / '20260101_000000' / 'results' / model / f'{data}-k4_8-r1.json'
    write(path, result)
    return path


def test_details_tell_all_that_a_record_of_opencompass_tells():
    """Names and settings as a sweep writes them, the counts, and who judged with which packages."""
    result = collect_one(RECORDED)
    run = result.run
    assert (run.host, run.model, run.dataset) == ('lighteval', NAME, f'{BENCHMARK}-k4_8-r1')
    assert (result.model, result.benchmark, result.model_path) == ('demo', BENCHMARK, 'someone/demo')
    assert result.sampling == {'max_out_len': 40, 'temperature': 1.0, 'top_p': 0.9}
    assert (result.n, result.ks, len(result.table), len(set(result.counts.problem))) == (8, [4, 8], 48, 24)
    assert result.signature.startswith('G-Pass@k|n:8|k:4_8|')
    assert result.judge['name'] == 'rule'


def test_two_hosts_stand_in_one_table(tmp_path, saved):
    """With the warning that each has its own prompt; one model of both has its host in its name."""
    beside(tmp_path / 'oc', model=NAME)
    output = tmp_path / 'report'
    assert main(['report', str(tmp_path / 'oc'), str(saved), '-o', str(output), '--only', 'tables']) == 0
    text = (output / 'leaderboard.md').read_text(encoding='utf-8')
    assert '| demo lighteval' in text
    assert '| demo opencompass' in text
    assert 'Runs of lighteval and opencompass stand together' in text
    assert "the prompt around a question and the chat template are each host's own" in text
    with (output / 'scores.csv').open(newline='') as file:
        told = {(row['run'], row['host']) for row in csv.DictReader(file)}
    assert told == {('demo lighteval', 'lighteval'), ('demo opencompass', 'opencompass')}


def test_keys_in_a_results_file_stay_there(tmp_path, saved):
    path = one_file(saved, 'results_*.json')
    summary = json.loads(path.read_text(encoding='utf-8'))
    summary['config_general']['model_config']['api_key'] = 'sk-secret'
    path.write_text(json.dumps(summary))
    assert main(['report', str(saved), '-o', str(tmp_path / 'r'), '--only', 'tables']) == 0
    written = [path.read_bytes() for path in (tmp_path / 'r').rglob('*') if path.is_file()]
    assert written
    assert not any(b'sk-secret' in text for text in written)
