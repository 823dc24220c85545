"""Fresh dumps of verl, made by its own trainer and read; runs where verl can be imported."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from exact import g_pass

if find_spec('verl') is None:
    pytest.skip('verl is not installed: see constraints/harness-verl.txt', allow_module_level=True)

from gpassk_opencompass.cli import main
from gpassk_opencompass.results.read import read

SCRIPT = Path(__file__).with_name('make_verl_logs.py')
RECORDED = Path(__file__).parents[1] / 'recorded' / 'verl' / '0.9.1'


@pytest.fixture(scope='module')
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dumps that were made now."""
    folder = tmp_path_factory.mktemp('verl')
    subprocess.run([sys.executable, str(SCRIPT), str(folder)], check=True, cwd=folder, timeout=600)
    return folder


def test_fresh_dumps_are_scored_as_their_script_has_them(made: Path, tmp_path: Path) -> None:
    """Each file, by the command of the docs."""
    known = json.loads((made / 'truth.json').read_text())
    assert known
    for name, symbols in known.items():
        out = tmp_path / 'out.json'
        assert main(['score', str(made / name), '--k', '2', '-o', str(out)]) == 0
        result = read(out)
        assert result.samples is not None
        assert list(result.samples.verdicts()) == list(symbols.values())
        expected = g_pass([row.count('1') for row in symbols.values()], 4, 2, 1.0)
        assert result.record['G-Pass@2_1.0'] == pytest.approx(expected, abs=1e-9)


def test_recorded_dumps_are_those_of_this_version(made: Path) -> None:
    """What the tests of the reader read is what this version writes."""
    for path in RECORDED.rglob('*.jsonl'):
        assert (made / path.relative_to(RECORDED)).read_text() == path.read_text()
