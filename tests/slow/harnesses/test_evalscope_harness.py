"""EvalScope itself: logs that it writes now are read back.

In an environment of its own, see constraints/harnesses.txt.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from harness_logs import evalscope_symbols, evalscope_truth, runs_of, verdicts

if find_spec('evalscope') is None:
    pytest.skip('no EvalScope here: it has an environment of its own', allow_module_level=True)

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings('ignore')]

RUN = """
from pathlib import Path
from make_evalscope_logs import make
make(Path('FOLDER'), 'sums')
"""


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp('evalscope') / 'sums'
    here = Path(__file__).parent
    path = f'import sys; sys.path[:0] = {[str(here), str(here.parents[1])]}'
    command = [sys.executable, '-c', f'{path}{RUN.replace("FOLDER", str(folder))}']
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=here)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_fresh_logs_are_read_back(folder):
    """Each question has the verdicts of the script, whichever thread drew which sample."""
    known, runs = evalscope_truth(folder), runs_of(folder)
    assert {run.dataset for run in runs.values()} == set(known)
    for run in runs.values():
        found = {uid: ''.join(sorted(row)) for uid, row in verdicts(run).items()}
        told = known[run.dataset].items()
        assert found == {uid: ''.join(sorted(evalscope_symbols(one))) for uid, one in told}
