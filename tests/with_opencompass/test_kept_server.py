"""One server for all configs of a model, in a process of OpenCompass that is kept for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hosts import environment, import_plugin
from started_servers import Script, until
from test_served_engine import SAMPLES, configs_of, predictions, template

from gpassk_opencompass.prefork import Pool

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('started')]


def test_one_server_for_the_runs_of_a_session(tmp_path: Path) -> None:
    """Started for the first config, asked by all three, ended when the session is released."""
    script = Script(tmp_path / 'script')
    configs = configs_of(tmp_path / 'template', template(script, 'max_out_lens = [40, 41, 42]'))
    program = str(Path(sys.executable).with_name('opencompass'))
    variables = {**environment(), 'GPASSK_SESSION': 's', 'CUDA_VISIBLE_DEVICES': ''}
    with Pool(environment()) as pool:
        for number, config in enumerate(configs, 1):
            out = tmp_path / f'out{number}'
            line = pool.command([program, str(config), '-w', str(out)])
            done = subprocess.run(
                line, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr[-3000:]
            assert len(predictions(out)) == SAMPLES, done.stdout[-3000:]
            assert len(script.starts) == 1
        assert len(script.replied) == 3 * SAMPLES
        assert script.processes
        pool.release('s')
        assert not script.processes
    until(lambda: not script.processes)
