"""Lighteval's own G-Pass@k on counts, run in Lighteval's environment, which cannot be that of OpenCompass.

`lighteval_stages` starts this file there as `python -m benchmarks.lighteval_side`, with the counts on stdin.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial

from . import ROOT
from .made import K_LIST
from .measuring import Cost, cost

PYTHON = ROOT / '.venv-lighteval' / 'bin' / 'python'
MISSING = 'Lighteval took no part: there is no `.venv-lighteval` (`make test-lighteval` makes it).'


def lighteval_stages(counts: Mapping[int, Sequence[int]]) -> dict[int, Cost]:
    """n → what Lighteval's metric costs for the counts of that n; nothing where it is not installed.

    Raises:
        RuntimeError: it is installed and fails.
    """
    if not PYTHON.is_file():
        return {}
    done = subprocess.run(
        [PYTHON, '-m', 'benchmarks.lighteval_side'],
        cwd=ROOT,
        env={**os.environ, 'PYTHONWARNINGS': 'ignore', 'HF_HUB_OFFLINE': '1'},
        input=json.dumps(list(counts.items())),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f'Lighteval failed: {done.stderr[-2000:]}')
    return {n: Cost(*found) for n, found in json.loads(done.stdout.splitlines()[-1])}


def _stage(n: int, scores: Sequence[Sequence[int]]) -> dict[str, float]:
    import numpy as np
    from lighteval.metrics.metrics_sample import GPassAtK

    metric = GPassAtK(k=list(K_LIST), n=n)
    found = [metric.g_pass_at_k(list(labels)) for labels in scores]
    means = {name: float(np.mean([values[name] for values in found])) for name in found[0]}
    return {name.replace('g-pass', 'G-Pass'): mean for name, mean in means.items()}


def _main() -> None:
    import lighteval.metrics.metrics_sample  # noqa: F401  # before the clock runs

    found = []
    for n, counts in json.load(sys.stdin):
        scores = [[1] * c + [0] * (n - c) for c in counts]
        found.append((n, cost(partial(_stage, n, scores))))
    print(json.dumps(found))


if __name__ == '__main__':
    _main()
