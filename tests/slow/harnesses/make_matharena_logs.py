"""Logs that MathArena itself writes of a model with known truth, and the tables that it uploads.

    MATHARENA=CHECKOUT MATHARENA_PYTHON=… python tests/slow/harnesses/make_matharena_logs.py FOLDER

with a checkout (commit e927660) and the interpreter (3.12) of an environment with what it imports;
tests/recorded/matharena is written again, too. Its own
scripts/run.py asks a server on the loopback, which this file starts. Five problems with four samples each;
which are right: `COUNTS`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from harness_script import Reply, Sums, completion, run, served

N = 4
COUNTS = (4, 3, 2, 1, 0)
"""Right samples of each problem, 1 to 5."""
COMPETITION = 'sums/sums_2026'
MODELS = ('someone/scripted', 'someone/copies')
LONG = (5, 2)
"""A wrong sample with so many tokens that MathArena warns of it: problem and replica."""
TEXT = 'Sample {replica} of problem {number}, zehn plus {number} – so it is $\\boxed{{{said}}}$.'
SUMS = Sums(COUNTS, TEXT, first=1)


def reply(path: str, request: dict[str, Any]) -> Reply:
    """Answer the n-th request for a problem with its n-th sample; the model `copies` with its first one."""
    model = request['model']
    problem, replica = SUMS.next(json.dumps(request['messages']), model)
    replica = 0 if model == 'copies' else replica
    message = {'content': SUMS.response(problem, replica), 'reasoning_content': f'Let me see, {problem} …'}
    used = 32000 if (problem, replica) == LONG else 100 + 10 * problem + replica
    return completion(model, message, prompt=30, used=used)


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
    answers = ['id,answer\n']
    for number, (text, answer) in enumerate(SUMS.questions().items(), 1):
        (problems / f'{number}.tex').write_text(text)
        answers.append(f'{number},{answer}\n')
    (folder / 'data' / 'answers.csv').write_text(''.join(answers))
    configs = ['--model-configs-dir', 'configs/models', '--comp-configs-dir', 'configs/competitions']
    of_run = ['--comp', COMPETITION, '--models', *MODELS, '--n', str(N), *configs]
    with served(reply) as port:
        _write_configs(folder, port)
        _run(folder, 'run', checkout, 'scripts/run.py', *of_run)
    upload = ['--org', 'org', '--repo-name', 'sums', '--comp', COMPETITION, '--configs-folder']
    upload += ['configs/models', '--competition-configs-folder', 'configs/competitions']
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
    command = [*code, str(checkout / script), *arguments]
    run(folder, folder / f'{name}.out', command, PYTHONPATH=paths)


def keep(folder: Path, target: Path) -> None:
    for name in ('org_sums.parquet', 'sums.jsonl'):
        shutil.copy(folder / name, target / name)


if __name__ == '__main__':
    make(Path(os.environ['MATHARENA']).resolve(), Path(sys.argv[1]))
    keep(Path(sys.argv[1]), Path(__file__).resolve().parents[2] / 'recorded' / 'matharena')
