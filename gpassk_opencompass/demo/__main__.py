"""Run OpenCompass on every config of a folder and print one G-Pass@k table: `make demo`."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from ..report.table import Run, results_table

POLL_SECONDS = 0.2
LOG_TAIL = 40


def main(arguments: list[str] | None = None) -> int:
    """Run all configs one after the other; 0 when every one left a result."""
    parser = argparse.ArgumentParser(prog='python -m gpassk_opencompass.demo', description=__doc__)
    parser.add_argument('configs', type=Path, help='a folder of configs, as dump_configs.py writes it')
    parser.add_argument('--work_dir', type=Path, default=Path('outputs/demo'))
    options = parser.parse_args(arguments)
    configs = sorted(options.configs.glob('*.py'))
    if not configs:
        parser.error(f'no config in {options.configs}: run dump_configs.py first')
    started = time.monotonic()
    runs = []
    for number, config in enumerate(configs, start=1):
        work_dir = (options.work_dir / config.stem).resolve()
        run = run_config(config.resolve(), work_dir, f'[{number}/{len(configs)}] {config.stem}')
        if run is None:
            return 1
        runs.append(run)
    runs.sort(key=lambda run: run.record['gpassk']['n'])
    path = options.work_dir / 'table.csv'
    path.write_text(results_table(runs, every_metric=True).to_csv(), encoding='utf-8')
    print(f'\n{results_table(runs).without("dataset").to_markdown()}\n')
    print(f'{time.monotonic() - started:.0f} s. Every metric: {path}; the runs: {options.work_dir}/<config>/')
    return 0


def run_config(config: Path, work_dir: Path, label: str) -> Run | None:
    """Run `opencompass <config>`; the result, or None with the reason printed.

    OpenCompass exits with 0 even if a task failed, so the result file is what counts.
    """
    work_dir.mkdir(parents=True, exist_ok=True)
    earlier = set(work_dir.iterdir())
    log = work_dir / 'opencompass.log'
    command = [str(Path(sys.executable).with_name('opencompass')), str(config), '-w', str(work_dir)]
    # Matrices of this size gain nothing from threads, which wait for one another on a busy machine.
    environment = {'OMP_NUM_THREADS': '1', **os.environ}
    with log.open('w') as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, cwd=work_dir, env=environment
        )
        try:
            show_progress(process, label, work_dir)
        finally:
            process.terminate()
    new = [path for path in work_dir.iterdir() if path not in earlier]
    results = [result for path in new for result in path.glob('results/*/*.json')]
    if len(results) != 1:
        print(f'{label}: no result. What OpenCompass and its tasks said last:', file=sys.stderr)
        for said in (log, *(task for path in new for task in path.glob('logs/*/*/*.out'))):
            print(f'--- {said}', *said.read_text().splitlines()[-LOG_TAIL:], sep='\n', file=sys.stderr)
        return None
    return Run(results[0].parent.name, results[0].stem, json.loads(results[0].read_text(encoding='utf-8')))


def show_progress(process: subprocess.Popen[bytes], label: str, work_dir: Path) -> None:
    """What the run is at: one line that is rewritten, or without a terminal a line a step."""
    started = time.time()
    terminal = sys.stdout.isatty()
    shown = ''
    while process.poll() is None:
        step = f'{label}: {step_of(work_dir, started)}'
        if terminal:
            print(f'\r\033[K{step} … {time.time() - started:.0f} s', end='', flush=True)
        elif step != shown:
            print(step, flush=True)
        shown = step
        time.sleep(POLL_SECONDS)
    print('\r\033[K' if terminal else '', end='')
    print(f'{label}: {time.time() - started:.0f} s', flush=True)


def step_of(work_dir: Path, started: float) -> str:
    """As far as the logs of OpenCompass's tasks tell."""
    logs = [log for log in work_dir.glob('*/logs/*/*/*.out') if log.stat().st_mtime >= started]
    if any('eval' in log.parts for log in logs):
        return 'judging the answers'
    percents = re.findall(r'(\d+)%\|', ''.join(log.read_text(errors='replace')[-4000:] for log in logs))
    return f'sampling, {int(percents[-1]) // 20 * 20} %' if percents else 'starting OpenCompass'


if __name__ == '__main__':
    sys.exit(main())
