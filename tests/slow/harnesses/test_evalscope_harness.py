"""EvalScope itself: logs that it writes now are read back.

In an environment of its own, see constraints/harnesses.txt.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from harness_logs import evalscope_symbols, evalscope_truth, runs_of, verdicts
from harness_script import run

if find_spec('evalscope') is None:
    pytest.skip('no EvalScope here: it has an environment of its own', allow_module_level=True)

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings('ignore')]


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp('evalscope')
    maker = Path(__file__).with_name('make_evalscope_logs.py')
    run(folder, folder / 'shown.txt', [sys.executable, maker, folder / 'sums'])
    assert (folder / 'sums' / 'truth.json').exists(), (folder / 'shown.txt').read_text()[-3000:]
    return folder / 'sums'


def test_fresh_logs_are_read_back(folder):
    """Each question has the verdicts of the script, whichever thread drew which sample."""
    known, runs = evalscope_truth(folder), runs_of(folder)
    assert {one.dataset for one in runs.values()} == set(known)
    for one in runs.values():
        found = {uid: ''.join(sorted(row)) for uid, row in verdicts(one).items()}
        told = known[one.dataset].items()
        assert found == {uid: ''.join(sorted(evalscope_symbols(question))) for uid, question in told}
