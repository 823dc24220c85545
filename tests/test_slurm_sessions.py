"""`gpassk run --slurm` on a real Slurm of two nodes, each of which has a name of its own for its machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_sweep import ClusterSweep, finished
from slurm_cluster import PARTITION, SlurmCluster, why_not

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group('slurm'),
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
]
SLURM = ('--slurm', PARTITION)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SlurmCluster]:
    """Two nodes with a CPU and a pretended GPU each."""
    (tmp_path / 'slurm').mkdir()
    with SlurmCluster(tmp_path / 'slurm', hosts=True) as started:
        yield started


@pytest.fixture
def sweep(cluster: SlurmCluster, tmp_path: Path) -> ClusterSweep:
    """A sweep whose commands reach the cluster."""
    (tmp_path / 'sweep').mkdir()
    return ClusterSweep(tmp_path / 'sweep', cluster.environment)


def queue(cluster: SlurmCluster) -> list[str]:
    """The states of all jobs that Slurm has, without those that have ended."""
    return cluster.command('squeue', '--noheader', '--array', '--format=%T').split()


def test_sessions_work_on_two_nodes_at_once(cluster: SlurmCluster, sweep: ClusterSweep) -> None:
    """Two models, each with a GPU, meet; the third one's failure is told with its log; nothing runs twice."""
    for name in ('meet-1', 'meet-2'):
        sweep.model(name, f'org/{name}', gpus=1)
        sweep.behave(name, 'meet')
    sweep.configs('broken', 'ok')
    code, said = sweep.run(*SLURM)
    assert code == 1, said
    assert '4 runs: 3 complete, 1 failed' in said
    assert 'RuntimeError: broken' in said
    assert 'submitted to Slurm: 4 runs in 3 jobs' in said
    assert sorted(sweep.called()) == ['broken', 'meet-1', 'meet-2', 'ok']
    assert {job.node for job in cluster.jobs()} == {'n1', 'n2'}
    assert len(cluster.jobs()) == 3
    sweep.behave('broken', 'ok')
    code, said = sweep.run(*SLURM)
    assert code == 0, said
    assert sweep.called()[4:] == ['broken']
    assert [job.state for job in cluster.jobs()[3:]] == ['COMPLETED']


def test_a_job_at_its_time_limit_is_continued(cluster: SlurmCluster, sweep: ClusterSweep) -> None:
    """A minute's job gets its notice, stops, has itself started again, and goes on where it was."""
    sweep.configs('ok')
    sweep.behave('ok', 'hang')
    run = sweep.start(*SLURM, '--sbatch', 'time=1 signal=B:USR1@30')
    sweep.wait_until(sweep.hangs, run)
    sweep.behave('ok', 'ok')
    code, said = finished(run)
    assert code == 0, said + sweep.logs()
    assert sweep.called() == ['ok', 'ok']
    assert sweep.resumed() == [False, True]
    assert 'the allocation is about to end' in sweep.logs()
    assert queue(cluster) == []


def test_a_session_is_continued_on_another_node_when_its_own_dies(
    cluster: SlurmCluster, sweep: ClusterSweep
) -> None:
    """The lock names a process of a machine that is gone, of an earlier start of the job: it is taken."""
    sweep.configs('ok')
    sweep.behave('ok', 'hang')
    run = sweep.start(*SLURM)
    sweep.wait_until(sweep.hangs, run)
    sweep.behave('ok', 'ok')
    lock = (sweep.out / 'ok' / '.gpassk' / 'lock').read_text()
    assert '"n1"' in lock, 'the machine has the name of the node'
    cluster.lose('n1')
    code, said = finished(run)
    assert code == 0, said + sweep.logs()
    assert sweep.resumed() == [False, True]
    assert [
        path.read_text() for path in sweep.out.glob('.gpassk/slurm/*/0.begun') if '"n2"' in path.read_text()
    ]


def test_ctrl_c_stops_the_jobs_cleanly(cluster: SlurmCluster, sweep: ClusterSweep) -> None:
    """One at work and one that waits for its node: both are gone, and the same line goes on."""
    for number in range(3):
        sweep.model(f'run-{number}', f'org/{number}', gpus=1)
        sweep.behave(f'run-{number}', 'hang')
    run = sweep.start(*SLURM)
    sweep.wait_until(lambda: sweep.hangs() and len(sweep.called()) == 2, run)
    run.send_signal(signal.SIGINT)
    code, said = finished(run)
    assert code == 130, said
    assert queue(cluster) == []
    assert f'gpassk run configs -w out --slurm {PARTITION}' in said
    assert '2 runs: 2 partial' in said
    assert 'with 1 runs not begun' in said
    assert [path.read_text() for path in sweep.out.glob('*/.gpassk/lock')] == ['', '']
    for number in range(3):
        sweep.behave(f'run-{number}', 'ok')
    assert sweep.run(*SLURM)[0] == 0
    assert sorted(sweep.resumed()) == [False, False, False, True, True]


@pytest.mark.parametrize('how', ['--detach', 'kill -9'])
def test_jobs_outlive_their_command_and_are_found_again(
    cluster: SlurmCluster, sweep: ClusterSweep, how: str
) -> None:
    """Detached or orphaned: the next command waits for what is there, and starts nothing twice."""
    sweep.configs('meet')
    if how == '--detach':
        code, said = sweep.run(*SLURM, how)
        assert (code, 'submitted to Slurm: 1 run in 1 job' in said) == (0, True), said
    else:
        run = sweep.start(*SLURM)
        sweep.wait_until(sweep.called, run)
        os.kill(run.pid, signal.SIGKILL)
        finished(run)
    again = sweep.start(*SLURM)
    assert again.stdout
    found = again.stdout.readline()
    assert found.startswith('at work already in Slurm: ')
    sweep.wait_until(sweep.called, again)
    (sweep.root / 'control' / 'met').mkdir(exist_ok=True)
    (sweep.root / 'control' / 'met' / 'another').touch()
    code, said = finished(again)
    assert code == 0, said
    assert sweep.called() == ['meet']
    assert len(cluster.jobs()) == 1


def test_a_partition_that_is_not_there_is_one_message(sweep: ClusterSweep) -> None:
    """What Slurm says, the partitions that there are, and nothing was begun."""
    sweep.configs('ok')
    code, said = sweep.run('--slurm', 'nowhere')
    assert code == 2
    assert f'the partitions there are: {PARTITION}' in said
    assert 'Traceback' not in said
    assert sweep.called() == []
