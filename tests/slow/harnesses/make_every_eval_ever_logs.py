"""Rows that Every Eval Ever 0.2.3rc1 itself makes of a log of inspect_ai with six epochs.

    git clone https://github.com/evaleval/every_eval_ever
    python3.12 -m venv E && E/bin/pip install './every_eval_ever[inspect]'
    E/bin/python tests/slow/harnesses/make_every_eval_ever_logs.py FOLDER

which also writes tests/recorded/every_eval_ever again: `<uuid>.json` and `<uuid>_samples.jsonl`. The
converter writes a sum of all epochs of a sample into each row, and calls all correct where it is not 0.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LOG = Path(__file__).resolve().parents[2] / 'recorded' / 'inspect' / 'whole.json'
KEPT = {'1', '2', '3'}
"""Questions of it; the converter fails at those with a thought alone."""

if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as made:
        log = json.loads(LOG.read_text().replace('mockllm/', 'hf/demo/'))  # it wants a developer
        log['samples'] = [one for one in log['samples'] if str(one['id']) in KEPT]
        path, out = Path(made, 'whole.json'), Path(made, 'out')
        path.write_text(json.dumps(log))
        command = [sys.executable, '-m', 'every_eval_ever.converters.inspect', '--log_path', str(path)]
        subprocess.run([*command, '--output-dir', str(out), '--source_organization_name', 'demo'], check=True)
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        for found in sorted(out.rglob('*.json*')):
            shutil.copy(found, Path(sys.argv[1]) / found.name)
