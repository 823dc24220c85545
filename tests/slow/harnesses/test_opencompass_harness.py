"""A run of the real `opencompass` on a data set of its own with n = 4, made anew and read."""

from __future__ import annotations

import json

import pytest
from harness_logs import check_scores, run_of, scored, verdicts
from hosts import import_plugin

import_plugin()
from make_opencompass_logs import COUNTS, N, make  # noqa: E402


@pytest.mark.e2e
@pytest.mark.filterwarnings('ignore')
def test_a_run_made_now_is_read_as_the_recorded_one(tmp_path):
    """A cascade of rule and LLM: verdicts by construction, exact scores, and OpenCompass's own mean."""
    said = make(tmp_path)
    root = tmp_path / 'judges'
    results = list(root.glob('*/results/in-words/aime-cascade.json'))
    assert results, said.read_text()[-2000:]
    assert verdicts(run_of(root)) == {
        f'aime-cascade_{number}': '1' * count + '0' * (N - count) for number, count in enumerate(COUNTS)
    }
    check_scores(scored(tmp_path / 'out.json', root), COUNTS, N)
    assert json.loads(results[0].read_text())['accuracy (4 runs average)'] == 100 * sum(COUNTS) / (N * N)
