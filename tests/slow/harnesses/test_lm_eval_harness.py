"""The real lm-evaluation-harness: its fresh logs, and our export in its hands.

It runs in the harness's environment: `docs/sources.md` says how that is made.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('lm_eval', reason='lm-evaluation-harness is not installed in this environment')

import make_lm_eval_logs as made
from exact import g_pass
from harness_logs import run_of, verdicts

from gpassk_opencompass.cli import main
from gpassk_opencompass.record import read
from gpassk_opencompass.samples import Run
from gpassk_opencompass.summary import write_lm_eval

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings('default')]

REPOSITORY = Path(__file__).resolve().parents[3]
COUNTS = [row.count('1') for row in made.RIGHT]


@pytest.fixture(scope='module')
def logs(tmp_path_factory):
    """The folder of a fresh run of all tasks, through the harness's own command line."""
    folder = tmp_path_factory.mktemp('lm-eval')
    environment = {**os.environ, 'PYTHONPATH': str(REPOSITORY)}
    script = Path(made.__file__)
    done = subprocess.run(
        [sys.executable, str(script), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / 'shown.txt').write_text(done.stdout)
    return folder


def read_log(logs: Path, task: str) -> Run:
    [path] = (logs / 'logs').rglob(f'samples_{task}_*.jsonl')
    run = run_of(path)
    assert run.written_by.startswith('lm-eval 0.4.')
    return run


def test_verdicts_of_all_responses_are_read_from_fresh_logs(logs):
    run = read_log(logs, 'sums_all')
    assert list(verdicts(run).values()) == list(made.RIGHT)
    assert run.model == 'org/scripted-7b'


@pytest.mark.parametrize('task', ['sums_choices', 'sums_filters'])
def test_verdicts_on_one_response_are_read_from_fresh_logs(logs, task):
    assert list(verdicts(read_log(logs, task)).values()) == [row[0] for row in made.RIGHT]


def test_scores_of_fresh_logs_are_exact(logs, tmp_path):
    [samples] = (logs / 'logs').rglob('samples_sums_all_*.jsonl')
    out = tmp_path / 'scored.json'
    assert main(['score', str(samples), '--k', '2', '4', '-o', str(out)]) == 0
    scored = json.loads(out.read_text())
    for k, tau in product((2, 4), (0.5, 0.75, 1.0)):
        assert scored[f'G-Pass@{k}_{tau}'] == pytest.approx(g_pass(COUNTS, 4, k, tau), abs=1e-10)
    assert scored['gpassk']['counts']['c'] == COUNTS


def test_the_harness_takes_what_is_exported(logs, tmp_path):
    """Its table is made of the summary, and its names and its data library read the samples."""
    from datasets import load_dataset
    from lm_eval.utils import get_file_datetime, get_file_task_name, get_sample_results_filenames, make_table

    [samples] = (logs / 'logs').rglob('samples_sums_all_*.jsonl')
    out = tmp_path / 'scored.json'
    assert main(['score', str(samples), '--k', '4', '-o', str(out)]) == 0
    written, summary = write_lm_eval(read(out), tmp_path / 'out')
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


def test_a_server_gets_one_seed_for_all_responses_unless_it_is_taken_away():
    """As the page on sources says: with the harness's own seed a server draws one text n times."""
    pytest.importorskip('tenacity', reason="the harness's API models need lm_eval[api]")
    from lm_eval.models.openai_completions import LocalChatCompletion

    model = LocalChatCompletion(base_url='http://127.0.0.1:9/v1', pretrained='m', tokenizer_backend=None)
    asked = [{'role': 'user', 'content': '1 + 1?'}]

    def payload(**more: Any) -> dict[str, Any]:
        told = {'until': [], 'do_sample': True, 'temperature': 1.0, **more}
        return dict(model._create_payload(asked, generate=True, gen_kwargs=told, seed=model._seed, eos=None))

    assert payload()['seed'] == payload()['seed'] == 1234
    assert payload(seed=None)['seed'] is None
