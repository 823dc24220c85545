"""Stands for the `opencompass` command: leaves what it leaves, in milliseconds, and fails as a test asks for.

Run as a program it reads how to behave from `<folder>/<config name>`, notes how it was called in
`<folder>/calls`, and reads `models`, `datasets` of the config as OpenCompass does.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FOLDER = 'FAKE_OPENCOMPASS'
QUESTIONS = 8
GPU_VARIABLES = ('CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER')


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put it in the place of `opencompass`; a config named like a behaviour behaves so.

    Behaviours: ok, broken (a task fails, exit code 0), crash (before anything, exit code 1), hang (with half
    of the predictions), draw (half of its samples before the file `go` is there),
    meet (waits for another one), killed (a task leaves no traceback, exit code 0; killed-late: but the table
    does).
    """
    control = folder / 'control'
    control.mkdir()
    program = control / 'opencompass'
    found = f'import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})'
    program.write_text(f'#!{sys.executable}\n{found}\nfrom fake_opencompass import main\nmain()\n')
    program.chmod(0o755)
    monkeypatch.setenv(FOLDER, str(control))
    monkeypatch.setattr('gpassk_opencompass.runs.opencompass.program', lambda: str(program))


def behave(folder: Path, name: str, behaviour: str) -> None:
    (folder / 'control' / name).write_text(behaviour)


def calls(folder: Path) -> list[dict[str, Any]]:
    path = folder / 'control' / 'calls'
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def called(folder: Path) -> list[str]:
    return [call['name'] for call in calls(folder)]


def run(*options: str) -> int:
    from gpassk_opencompass.cli import main

    return main(['run', 'configs', '-w', 'out', *options])


def config_text(
    name: str = 'run', *, n: int = 4, k: list[int] | None = None, judge: str = '', **model: Any
) -> str:
    evaluator = {'type': 'gpassk_opencompass.GPassKEvaluator', 'model_name': judge}
    dataset = {'abbr': f'd-{name}', 'n': n, 'k': k or [2, 4], 'eval_cfg': {'evaluator': evaluator}}
    return f'models = [{ {"abbr": f"m-{name}", "path": "org/m", **model}!r}]\ndatasets = [{dataset!r}]\n'


def write_configs(folder: Path, *names: str) -> Path:
    configs = folder / 'configs'
    configs.mkdir(exist_ok=True)
    for name in names:
        (configs / f'{name}.py').write_text(config_text(name))
    return configs


def record(
    n: int = 4,
    k: list[int] | None = None,
    judge: str = '',
    questions: int = QUESTIONS,
    model: str = 'm-run',
    dataset: str = 'd-run',
) -> dict[str, Any]:
    """A result, as far as anybody here looks at it."""
    uids = [f'q{number}' for number in range(questions)]
    block = {
        'schema': 3, 'run': {'model': model, 'dataset': dataset, 'host': 'opencompass'},
        'n': n, 'k': k or [size for size in (2, 4) if size <= n], 'thresholds': [0.5, 1.0],
        'health': {'samples': n * questions}, 'data': {'questions': questions, 'sha256': 64 * '0'},
        'counts': {
            'uid': uids, 'problem': uids, 'group': ['A_en'] * questions,
            'c': [n // 2] * questions, 'unjudged': [0] * questions,
        },
        'judge': {'name': 'llm', 'model': judge} if judge else {'name': 'rule'},
    }  # fmt: skip
    return {'accuracy': 100 * (n // 2) / n, 'gpassk': block}


def write(path: Path, content: Any) -> Path:
    """A file with a text, or with anything else as JSON; with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def predictions(count: int) -> dict[str, Any]:
    return {str(row): {'prediction': 'x'} for row in range(count)}


def traceback_of(error: str) -> str:
    return f'working\r 50%|##\nTraceback (most recent call last):\n  File "x.py", line 1, in y\n{error}\n'


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument('config', type=Path)
    for name, kind in (('-w', Path), ('-r', str), ('-m', str), ('--max-num-workers', int)):
        parser.add_argument(name, type=kind, default='all' if name == '-m' else None)
    arguments, _ = parser.parse_known_args()
    name, folder = arguments.config.stem, Path(os.environ[FOLDER])
    call = {'name': name, 'arguments': sys.argv[1:], 'cwd': os.getcwd(), 'pid': os.getpid()}
    call['gpus'] = {key: os.environ[key] for key in GPU_VARIABLES if key in os.environ}
    call['servers'] = json.loads(os.environ.get('GPASSK_SERVERS', '{}'))
    call['hardware'] = os.environ.get('GPASSK_HARDWARE')
    with (folder / 'calls').open('a') as file:
        file.write(json.dumps(call) + '\n')
    control = folder / name
    behaviour = control.read_text() if control.exists() else name
    if behaviour == 'crash':
        print(traceback_of('KeyError: crash'), flush=True)
        sys.exit(1)
    config = runpy.run_path(str(arguments.config))
    for dataset in config['datasets']:
        place = arguments.w / arguments.r
        number = len(list((place / 'configs').glob('*.py')))
        kept = ''.join(f'{key} = {config[key]!r}\n' for key in ('models', 'datasets'))
        write(place / 'configs' / f'{place.name}_{number}_{os.getpid()}.py', kept)
        write(Path('.cache/dataset_size.json'), {dataset['abbr']: dataset['n'] * QUESTIONS})
        model, abbr = config['models'][0]['abbr'], dataset['abbr']
        if _samples(place, behaviour, folder, model, dataset) and arguments.m != 'infer':
            judge = dataset['eval_cfg']['evaluator']['model_name']
            result = record(dataset['n'], dataset['k'], judge, QUESTIONS, model, abbr)
            write(place / 'results' / model / f'{abbr}.json', result)


def _samples(place: Path, behaviour: str, folder: Path, model: str, dataset: dict[str, Any]) -> bool:
    """Draw them; whether that came to its end."""
    abbr, total = dataset['abbr'], dataset['n'] * QUESTIONS
    predicted, log = place / 'predictions' / model, place / 'logs/infer' / model
    half = ''.join(f'{json.dumps({"idx": row})}\n' for row in range(total // 2))
    if behaviour == 'broken':
        write(log / f'{abbr}.out', traceback_of('RuntimeError: broken'))
        print('OpenCompass - ERROR - task failed with code 1')
    elif behaviour.startswith('killed'):  # two shards; the log of the second is the newer one
        os.utime(write(log / f'{abbr}_0.out', 'waiting\n'), (1, 1))
        write(log / f'{abbr}_1.out', 'loading\nsrun: error: node7: Killed\n\n')
        print('OpenCompass - ERROR - task failed with code 137')
        if behaviour == 'killed-late':
            print(traceback_of('KeyError: no results'))
    elif behaviour == 'hang':
        write(predicted / f'{abbr}.rows.jsonl', half)
        child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])
        write(folder / 'hanging', str(child.pid))
        child.wait()
    else:
        if behaviour == 'draw':
            journal = write(predicted / f'{abbr}.rows.jsonl', half)
            _wait((folder / 'go').exists)
            journal.unlink()
        if behaviour == 'meet':
            write(folder / 'met' / str(os.getpid()), '')
            _wait(lambda: len(list((folder / 'met').iterdir())) > 1)
        write(predicted / f'{abbr}.json', predictions(total))
        return True
    return False


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(3)
        time.sleep(0.01)
