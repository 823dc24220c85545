"""Logs that MathArena itself writes of a model with known truth, and the tables that it uploads.

    MATHARENA=CHECKOUT MATHARENA_PYTHON=… python tests/slow/harnesses/make_matharena_logs.py FOLDER

with a checkout (commit e927660) and the interpreter (3.12) of an environment with what it imports;
tests/recorded/matharena is written again, too. Its own
scripts/run.py asks a server on the loopback, which this file starts. Five problems with four samples each;
which are right: `is_right`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

N = 4
COUNTS = (4, 3, 2, 1, 0)
"""Right samples of each problem, 1 to 5."""
COMPETITION = 'sums/sums_2026'
MODELS = ('someone/scripted', 'someone/copies')
LONG = (5, 2)
"""A wrong sample with so many tokens that MathArena warns of it: problem and replica."""


def is_right(problem: int, replica: int) -> bool:
    """Whether a sample is right, by construction."""
    return replica < COUNTS[problem - 1]


def response(problem: int, replica: int) -> str:
    """A sample, without its thought."""
    said = problem + 10 if is_right(problem, replica) else 99
    return f'Sample {replica} of problem {problem}, zehn plus {problem} – so it is $\\boxed{{{said}}}$.'


def tokens(problem: int, replica: int) -> int:
    """Output tokens of a sample."""
    return 32000 if (problem, replica) == LONG else 100 + 10 * problem + replica


class _Handler(BaseHTTPRequestHandler):
    asked: ClassVar[Counter[tuple[str, int]]] = Counter()
    lock = threading.Lock()

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        problem = int(re.findall(r'What is (\d+) \+', json.dumps(request['messages']))[-1])
        with self.lock:
            replica = self.asked[request['model'], problem]
            self.asked[request['model'], problem] += 1
        if request['model'] == 'copies':
            replica = 0
        message = {
            'role': 'assistant',
            'content': response(problem, replica),
            'reasoning_content': f'Let me see, {problem} …',
        }
        used = tokens(problem, replica)
        body = json.dumps(
            {
                'id': 'x', 'object': 'chat.completion', 'created': 0, 'model': request['model'],
                'choices': [{'index': 0, 'finish_reason': 'stop', 'message': message}],
                'usage': {'prompt_tokens': 30, 'completion_tokens': used, 'total_tokens': 30 + used},
            }
        ).encode()  # fmt: skip
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


_UPLOAD = """
import runpy, sys
from datasets import Dataset
Dataset.push_to_hub = lambda self, name, **_: self.to_parquet(name.replace('/', '_') + '.parquet')
script, *arguments = sys.argv[1:]
sys.argv = [script, *arguments]
runpy.run_path(script, run_name='__main__')
"""
"""Runs the script that uploads samples, with the upload itself replaced by a file."""


def make(checkout: Path, folder: Path) -> None:
    """Run the real scripts: `folder/outputs`, `folder/org_sums.parquet` and `folder/sums.jsonl`."""
    folder = folder.resolve()
    problems = folder / 'data' / 'problems'
    problems.mkdir(parents=True, exist_ok=True)
    numbers = range(1, len(COUNTS) + 1)
    (folder / 'data' / 'answers.csv').write_text(
        'id,answer\n' + ''.join(f'{number},{number + 10}\n' for number in numbers)
    )
    for number in numbers:
        (problems / f'{number}.tex').write_text(f'What is {number} + 10?')
    server = ThreadingHTTPServer(('127.0.0.1', 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _write_configs(folder, server.server_address[1])
    configs = ['--model-configs-dir', 'configs/models', '--comp-configs-dir', 'configs/competitions']
    _run(
        folder,
        'run',
        checkout,
        'scripts/run.py',
        '--comp',
        COMPETITION,
        '--models',
        *MODELS,
        '--n',
        str(N),
        *configs,
    )
    server.shutdown()
    server.server_close()
    upload = [
        '--org', 'org', '--repo-name', 'sums', '--comp', COMPETITION, '--configs-folder',
        'configs/models',
    ]  # fmt: skip
    upload += ['--competition-configs-folder', 'configs/competitions']
    script = 'scripts/curation/upload_outputs.py'
    _run(folder, 'upload', checkout, script, *upload)
    _run(folder, 'saved', checkout, script, *upload, '--local-save-path', 'sums.jsonl')


def _write_configs(folder: Path, port: int) -> None:
    competition = folder / 'configs' / 'competitions' / f'{COMPETITION}.yaml'
    competition.parent.mkdir(parents=True, exist_ok=True)
    competition.write_text(
        'instruction: "Put your final answer within \\\\boxed{{}}."\nstrict_parsing: false\n'
        f'n_problems: {len(COUNTS)}\ndate: "2026-01-01"\ndataset_path: data\n'
    )
    for model in MODELS:
        name = model.rpartition('/')[2]
        config = folder / 'configs' / 'models' / f'{model}.yaml'
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(
            f'model: {name}\napi: custom\nbase_url: http://127.0.0.1:{port}/v1\nmax_tokens: 32000\n'
            f'temperature: 0.6\ntop_p: 0.95\nread_cost: 1\nwrite_cost: 2\nconcurrent_requests: 1\n'
            f'human_readable_id: {name.capitalize()} 7B\ndate: "2026-01-01"\n'
        )


def _run(folder: Path, name: str, checkout: Path, script: str, *arguments: str) -> None:
    code = [os.environ.get('MATHARENA_PYTHON', sys.executable), '-c', _UPLOAD]
    paths = os.pathsep.join([str(checkout / 'src'), os.environ.get('PYTHONPATH', '')])
    done = subprocess.run(
        [*code, str(checkout / script), *arguments],
        cwd=folder,
        env={**os.environ, 'PYTHONPATH': paths, 'HF_HUB_OFFLINE': '1', 'OMP_NUM_THREADS': '1'},
        capture_output=True,
        text=True,
        check=False,
    )
    (folder / f'{name}.out').write_text(done.stdout + done.stderr)


def keep(folder: Path, target: Path) -> None:
    """Copy what the tests read."""
    for name in ('org_sums.parquet', 'sums.jsonl'):
        shutil.copy(folder / name, target / name)


if __name__ == '__main__':
    make(Path(os.environ['MATHARENA']).resolve(), Path(sys.argv[1]))
    keep(Path(sys.argv[1]), Path(__file__).resolve().parents[2] / 'recorded' / 'matharena')
