"""Fresh outputs of NeMo-Skills, made by its own code and read; runs where it can be imported.

NeMo-Skills is on no package index: `PYTHONPATH` names a checkout of it beside this project.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from exact import g_pass

if find_spec('nemo_skills') is None:
    pytest.skip(
        'NeMo-Skills is not installed: see constraints/harness-nemo-skills.txt', allow_module_level=True
    )

from gpassk_opencompass.cli import main
from gpassk_opencompass.results.read import read

SCRIPT = Path(__file__).with_name('make_nemo_skills_logs.py')
RECORDED = Path(__file__).parents[1] / 'recorded' / 'nemo_skills'


@pytest.fixture(scope='module')
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outputs that were made now."""
    folder = tmp_path_factory.mktemp('nemo-skills')
    environment = {**os.environ, 'HF_HUB_OFFLINE': '1', 'LITELLM_LOCAL_MODEL_COST_MAP': 'True'}
    subprocess.run(
        [sys.executable, str(SCRIPT), str(folder)], check=True, cwd=folder, env=environment, timeout=600
    )
    return folder


def test_fresh_outputs_are_scored_as_their_script_has_them(made: Path, tmp_path: Path) -> None:
    """Every benchmark with verdicts, by the commands of the docs."""
    known = json.loads((made / 'truth.json').read_text())
    results = made / 'scripted-7b' / 'eval-results'
    benchmarks = sorted(path.name for path in results.iterdir() if path.name != 'sums-unjudged')
    assert len(benchmarks) == 6
    for benchmark in benchmarks:
        (results / benchmark / 'output.jsonl').unlink(missing_ok=True)
        out = tmp_path / f'{benchmark}.json'
        assert main(['score', str(results / benchmark), '--k', '2', '-o', str(out)]) == 0
        result = read(out)
        assert result.samples is not None
        assert dict(zip(result.uids, result.samples.verdicts(), strict=True)) == known[benchmark]
        counts = [row.count('1') for row in known[benchmark].values()]
        expected = g_pass(counts, result.n, 2, 1.0)
        assert result.record['G-Pass@2_1.0'] == pytest.approx(expected, abs=1e-9)


def test_recorded_outputs_are_those_of_this_version(made: Path) -> None:
    """But for times: what the tests of the reader read is what this version writes."""
    names = sorted(path.relative_to(RECORDED) for path in RECORDED.rglob('*') if path.is_file())
    for name in names:
        if name.name != 'output.jsonl' or (made / name).exists():
            assert (made / name).read_text() == (RECORDED / name).read_text()
