"""`gpassk run --ray`: two models on a cluster of two nodes, of which one dies."""

from __future__ import annotations

import subprocess
import sys

import pytest
from e2e.test_served_engine import BATCH, SAMPLES, configs_of, predictions, template
from hosts import environment, import_plugin
from started_servers import Script, until

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('started')]


def test_a_node_that_dies_loses_no_sample(tmp_path):
    from ray.cluster_utils import Cluster

    scripts, configs = [], []
    for name in 'ab':
        scripts.append(Script(tmp_path / f'script-{name}'))
        text = template(scripts[-1]).replace(
            "path='org/m', name='m', tp=0", f"path='org/{name}', name='{name}', tp=1"
        )
        configs += configs_of(tmp_path / f'template-{name}', text)
    cluster = Cluster(
        initialize_head=True, head_node_args={'num_cpus': 1, 'num_gpus': 1, 'include_dashboard': False}
    )
    try:
        node = cluster.add_node(num_cpus=1, num_gpus=1)
        line = [sys.executable, '-m', 'gpassk_opencompass.cli', 'run', *map(str, configs), '-w', 'out']
        run = subprocess.Popen([*line, '--ray', cluster.address], cwd=tmp_path, env=environment())
        until(lambda: all(script.replied for script in scripts), 400)
        cluster.remove_node(node, allow_graceful=False)
        assert run.wait(600) == 0
    finally:
        cluster.shutdown()
    for script, config in zip(scripts, configs, strict=True):
        assert len(predictions(tmp_path / 'out' / config.stem)) == SAMPLES
        assert len(script.replied) <= SAMPLES + BATCH
        until(lambda script=script: not script.processes)
