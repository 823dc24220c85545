"""A sweep on a real Slurm of two nodes: the numbers of one machine, also when a node dies."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forks import Forks
from hosts import command, environment, import_plugin, numbers, results_of, wait_until
from slurm_cluster import PARTITION, SlurmCluster, why_not
from sweeping import dump

import_plugin()
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group('slurm'),
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
]
traced = pytest.importorskip('traced')

# Shards of 64 rows are whole batches of 8, so a sample's batch is the same in one piece and in shards.
TEMPLATE = """
from gpassk_opencompass.demo import LANGUAGES, MODEL, QUESTIONS, SPLITS, VERSION
engine = 'huggingface'
llm_infos = [dict(path=MODEL, name='demo', tp={gpus}, batch_size=8)]
model_kwargs = dict(torch_dtype='torch.float32', device_map='cpu')
max_seq_len = 4096
temperatures = [0.0, 1.0]
max_out_lens = [40]
random_seeds = [42]
k_lists = [[2, 4]]
n = 4
dataset_path, version, dataset_splits, dataset_languages = QUESTIONS, VERSION, SPLITS, LANGUAGES
"""
GREEDY, SAMPLED = 'demo_t0_l40', 'demo_t1-0_rs42_l40'
SAMPLES = 48 * 4
SLURM = ('--slurm', '-p', PARTITION, '--max-num-workers')
SHARDS = 3
HUNG = 4 * 8  # samples asked on the node whose task hangs at its fourth batch


@pytest.fixture(scope='module')
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """Two nodes, which `opencompass --slurm` finds in the environment."""
    with SlurmCluster(tmp_path_factory.mktemp('slurm')) as started, pytest.MonkeyPatch.context() as patch:
        for name, value in started.environment.items():
            patch.setenv(name, value)
        yield started


@pytest.fixture(scope='module')
def local(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sweep on this machine, each run in one piece."""
    root = tmp_path_factory.mktemp('local')
    for model, config in expand(root, gpus=0).items():
        (root / model).mkdir()
        line = ('opencompass', config, '-w', root / model / 'out')
        traces = {traced.TRACE: str(root / model / 'trace')}
        copy = forks.start(*line, folder=root / model, variables=traces)
        assert copy.wait() == 0, copy.said[-3000:]
    return root


def expand(root: Path, gpus: int) -> dict[str, Path]:
    """Model as file names have it → its config, the sampled one with a trace."""
    assert dump(root, TEMPLATE.replace('{gpus}', str(gpus))) == 0
    configs = {path.name.split('@')[0]: path for path in (root / 'configs').glob('*.py')}
    assert set(configs) == {GREEDY, SAMPLED}
    text = configs[SAMPLED].read_text()
    configs[SAMPLED].write_text(
        text.replace('gpassk_opencompass.SeededHuggingFace', 'traced.TracedHuggingFace')
    )
    return configs


def start(config: Path, root: Path, *options: str, **variables: str) -> subprocess.Popen[bytes]:
    """`opencompass`, with its work directory and its trace below `root`."""
    folder = root / config.name.split('@')[0]
    folder.mkdir(exist_ok=True)
    with (folder / 'opencompass.log').open('ab') as log:
        return subprocess.Popen(
            command(config, folder / 'out', *options),
            cwd=folder,
            env={**environment(), traced.TRACE: str(folder / 'trace'), **variables},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def end(run: subprocess.Popen[bytes]) -> None:
    """Wait for its end."""
    try:
        run.wait(timeout=600)
    finally:
        run.kill()
        run.wait()


def result_of(root: Path, model: str) -> dict[str, Any]:
    """The numbers of the only result, or what the logs say about its absence."""
    out = root / model / 'out'
    found = results_of(out)
    logs = [path.read_text()[-1500:] for path in out.glob('*/logs/*/*/*.out')]
    assert len(found) == 1, '\n'.join([(root / model / 'opencompass.log').read_text()[-1500:], *logs])
    return numbers(found[0])


def predictions_of(root: Path, model: str) -> list[dict[str, Any]]:
    """Prompts and responses of all shards, in the order of the rows."""
    shards = sorted((root / model / 'out').glob('*/predictions/*/*.json'))
    return [row for shard in shards for row in json.loads(shard.read_text()).values()]


def seeds_of(trace: list[Any]) -> dict[tuple[str, str], str]:
    """Sample → seed."""
    return {(drawn.uid, drawn.replica): drawn.seed for drawn in trace}


def test_a_sweep_on_two_nodes_gives_the_numbers_of_one_machine(
    cluster: SlurmCluster, local: Path, tmp_path: Path
) -> None:
    """Two runs at once, one in three shards, a GPU a shard: every text and number as from one piece here."""
    configs, shards_of = expand(tmp_path, gpus=1), {GREEDY: 1, SAMPLED: SHARDS}
    for run in [start(configs[model], tmp_path, *SLURM, str(shards)) for model, shards in shards_of.items()]:
        end(run)
    for model, shards in shards_of.items():
        assert result_of(tmp_path, model) == result_of(local, model)
        assert predictions_of(tmp_path, model) == predictions_of(local, model)
        assert len(list((tmp_path / model / 'out').glob('*/predictions/*/*.json'))) == shards
    here, there = (traced.read_trace(root / SAMPLED / 'trace') for root in (local, tmp_path))
    assert len(there) == len(seeds_of(there)) == SAMPLES, 'each sample once'
    assert seeds_of(there) == seeds_of(here)
    assert {(drawn.node, drawn.gpus) for drawn in there} == {('n1', '0'), ('n2', '0')}
    jobs = cluster.jobs()
    print(*jobs, sep='\n')
    assert Counter(job.name.split('[')[0] for job in jobs) == {'OpenICLInfer': SHARDS + 1, 'OpenICLEval': 2}
    assert {job.state for job in jobs} == {'COMPLETED'}


def test_a_shard_that_died_with_its_node_is_finished_on_the_other(
    cluster: SlurmCluster, local: Path, tmp_path: Path
) -> None:
    """A node lost after three batches: -r keeps them, asks for the rest of that shard alone, same numbers."""
    config, ended = expand(tmp_path, gpus=1)[SAMPLED], len(cluster.jobs())
    trace = tmp_path / SAMPLED / 'trace'
    run = start(config, tmp_path, '-m', 'infer', '--retry', '0', *SLURM, str(SHARDS), **{traced.HANGS: 'n2'})
    try:
        wait_until(lambda: sum(drawn.node == 'n2' for drawn in traced.read_trace(trace)) == HUNG, run, 300)
        cluster.lose('n2')
    finally:
        end(run)
    lost = [job for job in cluster.jobs()[ended:] if job.state != 'COMPLETED']
    assert [(job.node, job.state) for job in lost] == [('n2', 'NODE_FAIL')]
    [resume_file] = (tmp_path / SAMPLED / 'out').glob('*/predictions/*/tmp_*.jsonl')
    assert len(resume_file.read_text().splitlines()) == HUNG - 8

    before = traced.read_trace(trace)
    end(start(config, tmp_path, '-r', *SLURM, str(SHARDS)))
    print(*cluster.jobs()[ended:], sep='\n')
    assert result_of(tmp_path, SAMPLED) == result_of(local, SAMPLED)
    assert predictions_of(tmp_path, SAMPLED) == predictions_of(local, SAMPLED)
    resumed = traced.read_trace(trace)[len(before) :]
    assert {drawn.node for drawn in resumed} == {'n1'}
    hung = seeds_of([drawn for drawn in before if drawn.node == 'n2'][-8:])
    assert set(seeds_of(before)) & set(seeds_of(resumed)) == set(hung), 'nothing twice that was finished'
    assert len(before) + len(resumed) == SAMPLES + len(hung)
    assert seeds_of(before + resumed) == seeds_of(traced.read_trace(local / SAMPLED / 'trace'))
