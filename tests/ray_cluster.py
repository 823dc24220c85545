"""A real Ray cluster of two nodes on this machine, in processes, for as long as a `with` block lasts.

As a program it is the process that keeps the nodes: it prints the address, and takes `lose r1` on its
standard input.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from loopback import end, free_port

NODE = 'RAY_TEST_NODE'
"""Variable of a node's processes with its name, 'r1' or 'r2'."""

SETTINGS = {
    'RAY_USAGE_STATS_ENABLED': '0',
    'RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER': '0',  # else it takes 127.0.0.1 for the address of the network card
    'RAY_DISABLE_IMPORT_WARNING': '1',
    'RAY_health_check_initial_delay_ms': '1000',
    'RAY_health_check_period_ms': '500',
    'RAY_health_check_timeout_ms': '2000',
    'RAY_health_check_failure_threshold': '4',
}


def why_not() -> str:
    """Why no cluster can be started here; empty if one can."""
    return '' if find_spec('ray') else 'Ray is not installed'


class RayCluster:
    """Two nodes with a CPU and a pretended GPU each; the head has none, so that each of the two can be lost.

    Args:
        folder: empty; keeps the logs.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self.environment = folder, SETTINGS

    def __enter__(self) -> RayCluster:
        with (self._folder / 'keeper.log').open('wb') as log:
            self._keeper = subprocess.Popen(
                [sys.executable, __file__, str(free_port())],
                env={**os.environ, **SETTINGS},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        try:
            self.address = str(self._told()['address'])
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._keeper.stdin
        self._keeper.stdin.close()
        try:
            self._keeper.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(self._keeper.pid, signal.SIGKILL)
        end(self._keeper)
        assert self._keeper.stdout
        self._keeper.stdout.close()

    def lose(self, node: str) -> None:
        """End a node and all its workers, as if the machine burnt down."""
        self._order(f'lose {node}')

    def add(self, node: str) -> None:
        """Add a node with this name."""
        self._order(f'add {node}')

    def _order(self, words: str) -> dict[str, Any]:
        assert self._keeper.stdin
        print(words, file=self._keeper.stdin, flush=True)
        return self._told()

    def _told(self) -> dict[str, Any]:
        assert self._keeper.stdout
        line = self._keeper.stdout.readline()
        if not line:
            raise RuntimeError(f'no Ray cluster:\n{(self._folder / "keeper.log").read_text()[-3000:]}')
        told: dict[str, Any] = json.loads(line)
        return told


def main() -> None:
    """Keep the nodes until standard input ends."""
    from ray.cluster_utils import Cluster

    out = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)  # what Ray prints is no answer
    common = {
        'node_ip_address': '127.0.0.1',
        'include_dashboard': False,
        'object_store_memory': 80 * 2**20,
    }
    cluster = Cluster(
        initialize_head=True,
        head_node_args={**common, 'num_cpus': 0, 'num_gpus': 0, 'gcs_server_port': int(sys.argv[1])},
    )
    nodes = {}

    def add(name: str) -> None:
        nodes[name] = cluster.add_node(**common, num_cpus=1, num_gpus=1, env_vars={NODE: name})
        cluster.wait_for_nodes()

    add('r1')
    add('r2')
    print(json.dumps({'address': cluster.address}), file=out, flush=True)
    for line in sys.stdin:
        order, name = line.split()
        if order == 'lose':
            cluster.remove_node(nodes.pop(name), allow_graceful=False)
        else:
            add(name)
        print('{}', file=out, flush=True)
    cluster.shutdown()


if __name__ == '__main__':
    main()
