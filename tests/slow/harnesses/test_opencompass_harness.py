"""A run of the real `opencompass` on a data set of its own with n = 4, made anew and read."""

from __future__ import annotations

import json

import pytest
from harness_logs import check_scores, run_of, scored, verdicts

pytest.importorskip('opencompass', reason='OpenCompass is not installed in this environment')

from make_opencompass_logs import COUNTS, FEW, N, make


@pytest.mark.e2e
@pytest.mark.filterwarnings('ignore')
def test_a_run_made_now_is_read_as_the_recorded_one(tmp_path):
    """A cascade of rule and LLM: verdicts by construction, exact scores, and OpenCompass's own mean."""
    make(tmp_path, ['judges'])
    root = tmp_path / 'judges'
    results = list(root.glob('*/results/in-words/aime-cascade.json'))
    assert results, (tmp_path / 'made' / 'judges.out').read_text()[-2000:]
    run = run_of(root)
    truth = {f'aime-cascade_{number}': '1' * count + '0' * (N - count) for number, count in enumerate(COUNTS)}
    assert verdicts(run) == dict(list(truth.items())[:FEW])
    check_scores(scored(tmp_path / 'out.json', root), COUNTS[:FEW], N)
    theirs = json.loads(results[0].read_text())
    assert theirs['accuracy (4 runs average)'] == 100 * sum(COUNTS[:FEW]) / (N * FEW)
