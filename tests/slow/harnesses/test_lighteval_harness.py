"""A run of the real `lighteval` on a task that is not of this package, made anew and read."""

from __future__ import annotations

import warnings
from importlib.metadata import PackageNotFoundError, version

import pytest
from harness_logs import check_scores, run_of, scored

try:
    version('lighteval')
except PackageNotFoundError:
    pytest.skip('Lighteval is not installed in this environment', allow_module_level=True)

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    import make_lighteval_logs as logs


def test_a_run_made_now_is_read_as_the_recorded_one(tmp_path, monkeypatch):
    """All texts of all samples, and exact scores of what the rule finds in them."""
    monkeypatch.setattr(logs, 'TASKS_TABLE', logs.TASKS_TABLE[:1])
    logs.make(tmp_path)
    root = tmp_path / 'sums'
    assert root.is_dir(), (tmp_path / 'sums.out').read_text()[-2000:]
    run = run_of(root)
    assert run.samples is not None
    for uid, rows in run.samples.by_question().items():
        said = [run.samples['response'][row] for row in rows]
        assert said == [logs.response(int(uid), replica) for replica in range(logs.N)]
    check_scores(scored(tmp_path / 'out.json', root, '--k', '2', '4'), logs.COUNTS, logs.N)
