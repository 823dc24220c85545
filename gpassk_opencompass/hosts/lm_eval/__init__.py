"""G-Pass@k in lm-eval: `lm_eval --include_path $(python -m gpassk_opencompass.hosts.lm_eval)`."""

from __future__ import annotations

from pathlib import Path

TASKS = Path(__file__).parent / 'tasks'
"""The folder of the tasks' files, for `--include_path`."""
