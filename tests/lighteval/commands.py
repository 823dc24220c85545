"""The real `lighteval` command of this interpreter's environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet

TASKS = 'gpassk_opencompass.lighteval_tasks'


def lighteval(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end in a folder, with nothing to be had from the hub; results go into `results`."""
    given = {'HF_HUB_OFFLINE': '1', 'LITELLM_LOCAL_MODEL_COST_MAP': 'True', 'OMP_NUM_THREADS': '1'}
    return subprocess.run(
        [
            str(Path(sys.executable).with_name('lighteval')),
            *arguments,
            *('--custom-tasks', TASKS, '--output-dir', 'results', '--save-details'),
        ],
        cwd=folder,
        env={**os.environ, **given, 'COLUMNS': '200', **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def results_of(folder: Path, task: str) -> list[dict[str, float]]:
    """What each run there wrote of a task, the oldest first."""
    files = sorted((folder / 'results' / 'results').rglob('results_*.json'))
    return [json.loads(file.read_text(encoding='utf-8'))['results'][task] for file in files]


def details_of(folder: Path) -> list[dict[str, Any]]:
    """The rows of the newest details, one a question."""
    *_, newest = sorted((folder / 'results' / 'details').rglob('details_*.parquet'))
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(newest).to_pylist()
    return rows
