"""`gpassk run --ray` on a real Ray cluster of two nodes in processes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_sweep import ClusterSweep, finished
from loopback import free_port
from ray_cluster import RayCluster, why_not

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group('ray'),
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
]


@pytest.fixture(scope='module')
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    """Two nodes with a CPU and a pretended GPU each."""
    with RayCluster(tmp_path_factory.mktemp('ray')) as started:
        yield started


@pytest.fixture
def sweep(cluster: RayCluster, tmp_path: Path) -> ClusterSweep:
    """A sweep whose commands reach the cluster."""
    return ClusterSweep(tmp_path, cluster.environment)


def test_sessions_work_on_two_nodes_at_once(cluster: RayCluster, sweep: ClusterSweep) -> None:
    """Two models with a GPU each meet, though no node has two; a failure takes no other run with it."""
    for name in ('meet-1', 'meet-2'):
        sweep.model(name, f'org/{name}', gpus=1)
        sweep.behave(name, 'meet')
    sweep.configs('broken', 'ok')
    code, said = sweep.run('--ray', cluster.address)
    assert code == 1, said
    assert '4 runs: 3 complete, 1 failed' in said
    assert sorted(sweep.called()) == ['broken', 'meet-1', 'meet-2', 'ok']


def test_ctrl_c_stops_the_tasks_cleanly(cluster: RayCluster, sweep: ClusterSweep) -> None:
    """No lock and no process is left, and the same line goes on."""
    sweep.configs('ok')
    sweep.behave('ok', 'hang')
    run = sweep.start('--ray', cluster.address)
    sweep.wait_until(sweep.hangs, run)
    run.send_signal(signal.SIGINT)
    code, said = finished(run)
    assert code == 130, said
    assert '1 run: 1 partial' in said
    assert (sweep.out / 'ok' / '.gpassk' / 'lock').read_text() == ''
    sweep.behave('ok', 'ok')
    assert sweep.run('--ray', cluster.address)[0] == 0
    assert sweep.resumed() == [False, True]


def test_a_session_is_continued_when_its_node_dies(cluster: RayCluster, sweep: ClusterSweep) -> None:
    """Ray starts the task again on the node that is left, which goes on in the time directory."""
    sweep.configs('ok')
    sweep.behave('ok', 'hang')
    run = sweep.start('--ray', cluster.address)
    sweep.wait_until(sweep.hangs, run)
    sweep.behave('ok', 'ok')
    cluster.lose(str(sweep.where('RAY_TEST_NODE')))
    code, said = finished(run)
    assert code == 0, said + sweep.logs()
    assert sweep.resumed() == [False, True]


def test_an_address_where_nobody_is_is_one_message(sweep: ClusterSweep) -> None:
    """At once, and nothing was begun."""
    sweep.configs('ok')
    address = f'127.0.0.1:{free_port()}'
    code, said = sweep.run('--ray', address)
    assert code == 2
    assert f'--ray {address}: nobody answers there' in said
    assert 'Traceback' not in said
    assert sweep.called() == []
