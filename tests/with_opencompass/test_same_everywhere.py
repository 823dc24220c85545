"""One small sweep on this machine, on a real Slurm and on a real Ray: the same files, to the byte."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import ray_cluster
import slurm_cluster
from hosts import environment, import_plugin, numbers, results_of
from sweeping import dump

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('slurm')]

# Two models, each for two configs: two sessions, which the clusters have on a node each.
TEMPLATE = """
from gpassk_opencompass.demo import LANGUAGES, MODEL, QUESTIONS, VERSION
engine = 'huggingface'
llm_infos = [dict(path=MODEL, name='one', tp=0), dict(path={other}, name='two', tp=0)]
model_kwargs = dict(torch_dtype='torch.float32', device_map='cpu')
max_seq_len = 4096
temperatures = [0.7, 1.0]
greedy = False
max_out_lens = [40]
random_seeds = [42]
k_lists = [[2]]
n = 2
dataset_path, version, dataset_splits, dataset_languages = QUESTIONS, VERSION, ['plus'], LANGUAGES
"""
RUNS = 4


@pytest.fixture(scope='module')
def configs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configs of the sweep."""
    from gpassk_opencompass.demo import MODEL, SPLITS

    root = tmp_path_factory.mktemp('sweep')
    shutil.copytree(MODEL, root / 'copy')
    text = TEMPLATE.replace('{other}', repr(str(root / 'copy'))).replace("['plus']", repr(list(SPLITS[:1])))
    assert dump(root, text) == 0
    assert len(list((root / 'configs').glob('*.py'))) == RUNS
    return root / 'configs'


def run(configs: Path, root: Path, variables: Mapping[str, str], *options: str) -> Path:
    """`gpassk run` to its end; return the folder of its work directories."""
    done = subprocess.run(
        [sys.executable, '-m', 'gpassk_opencompass.cli', 'run', str(configs), '-w', 'out', *options],
        cwd=root,
        env={**environment(), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
        check=False,
    )
    logs = [path.read_text()[-3000:] for path in root.glob('out/.gpassk/*/*/*.log')]
    assert done.returncode == 0, '\n'.join([done.stdout[-3000:], *logs])
    print(done.stdout[-3000:])
    return root / 'out'


def predictions(out: Path) -> dict[str, bytes]:
    """Run and file → the bytes of its predictions."""
    files = out.glob('*/2*/predictions/*/*.json')
    return {f'{path.relative_to(out).parts[0]}/{path.name}': path.read_bytes() for path in files}


def results(out: Path) -> dict[str, list[dict[str, Any]]]:
    """Run → its results without the moments in them."""
    return {
        path.name: [numbers(one) for one in results_of(path)] for path in out.iterdir() if path.name[0] != '.'
    }


@pytest.fixture(scope='module')
def here(configs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What this machine makes of it."""
    return run(configs, tmp_path_factory.mktemp('here'), {}, '--jobs', '2')


@contextmanager
def slurm(folder: Path) -> Iterator[tuple[Mapping[str, str], tuple[str, ...]]]:
    """Variables and options for a Slurm of two nodes."""
    with slurm_cluster.SlurmCluster(folder, hosts=True) as cluster:
        yield cluster.environment, ('--slurm', slurm_cluster.PARTITION)


@contextmanager
def ray(folder: Path) -> Iterator[tuple[Mapping[str, str], tuple[str, ...]]]:
    """Variables and options for a Ray of two nodes."""
    with ray_cluster.RayCluster(folder) as cluster:
        yield cluster.environment, ('--ray', cluster.address)


CLUSTERS = [
    pytest.param(
        slurm, marks=pytest.mark.skipif(bool(slurm_cluster.why_not()), reason=slurm_cluster.why_not())
    ),
    pytest.param(ray, marks=pytest.mark.skipif(bool(ray_cluster.why_not()), reason=ray_cluster.why_not())),
]


@pytest.mark.parametrize('cluster', CLUSTERS)
def test_a_cluster_gives_the_files_of_one_machine(
    configs: Path, here: Path, tmp_path: Path, cluster: Callable[[Path], Any]
) -> None:
    """Predictions equal to the byte; results in everything but the moment at which they were made."""
    (tmp_path / 'cluster').mkdir()
    with cluster(tmp_path / 'cluster') as (variables, options):
        there = run(configs, tmp_path, variables, *options)
    assert len(predictions(here)) == RUNS
    assert predictions(there) == predictions(here)
    assert results(there) == results(here)
    begun = [path.read_text() for path in there.glob('.gpassk/*/*/*.begun')]
    assert len(begun) == 2, 'a job for each model'
