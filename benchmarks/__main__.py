"""All speed benchmarks, one after the other, and the page of what they found.

    python -m benchmarks                                # about 10 minutes on two idle cores
    python -m benchmarks --quick                        # about 4
    python -m benchmarks rule_judge metric_stage        # these only; the page keeps the others' last results
    python -m benchmarks --page docs/benchmarks.md      # write the page's measured part too

Each is a process of its own with a limit of time. One that fails does not keep the others from running; the
page says so, and the exit status is 1. What each found stays in outputs/benchmarks.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from . import ROOT
from .measuring import progress
from .page import measured_part, put_into
from .sections import Size, add_size

SUITE = (
    'expansion',
    'metric_stage',
    'rule_judge',
    'judge_throughput',
    'eval_stage',
    'report_of_many_runs',
    'score_counts',
    'source_files',
)
LIMIT: dict[Size, float] = {'tiny': 120, 'quick': 400, 'full': 1200}
"""Seconds that one benchmark may take, also on a busy machine."""


def main() -> int:
    """Run what was asked for; 1 if something failed."""
    options = _parse()
    options.results.mkdir(parents=True, exist_ok=True)
    failed = [name for name in options.names or SUITE if not run(name, options.size, options.results)]
    text = measured_part([options.results / f'{name}.json' for name in SUITE])
    if options.page:
        put_into(options.page, text)
        progress(f'wrote {options.page}')
    else:
        print(text)
    if failed:
        progress(f'failed: {", ".join(failed)}')
    return 1 if failed else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('names', nargs='*', metavar='NAME', help=', '.join(SUITE))
    add_size(parser)
    parser.add_argument('--page', type=Path, metavar='FILE', help='put the results between its two marks')
    parser.add_argument('--results', type=Path, default=ROOT / 'outputs' / 'benchmarks', metavar='FOLDER')
    options = parser.parse_args()
    if unknown := sorted({*options.names} - {*SUITE}):
        parser.error(f'no benchmark {", ".join(unknown)}; there are {", ".join(SUITE)}')
    return options


def run(name: str, size: Size, results: Path) -> bool:
    """One benchmark; its section, or why there is none, goes into `<name>.json`."""
    progress(f'--- {name}')
    started, load = time.perf_counter(), os.getloadavg()[0]
    section = results / f'{name}.section.json'
    section.unlink(missing_ok=True)
    status = _status([sys.executable, '-m', f'benchmarks.{name}', '--size', size, '--json', section], size)
    seconds = time.perf_counter() - started
    found = {
        'name': name,
        'size': size,
        'error': status,
        'seconds': seconds,
        'load': load,
        'at': time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime()),
        'section': None if status else json.loads(section.read_text(encoding='utf-8')),
    }
    section.unlink(missing_ok=True)
    (results / f'{name}.json').write_text(json.dumps(found, ensure_ascii=False), encoding='utf-8')
    progress(f'--- {name}: {status or "done"} after {seconds:.0f} s')
    return not status


def _status(command: list[str | Path], size: Size) -> str:
    """Why the command failed, or nothing."""
    # One thread a process: what is compared is the work, not how many cores a library takes.
    environment = {**os.environ, 'OMP_NUM_THREADS': '1', 'TOKENIZERS_PARALLELISM': 'false'}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=sys.stderr, start_new_session=True)
    try:
        status = process.wait(LIMIT[size])
    except subprocess.TimeoutExpired:
        return f'stopped: not done within {LIMIT[size]} s'
    finally:
        # Also what a failed benchmark left running.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return f'exit status {status}' if status else ''


if __name__ == '__main__':
    sys.exit(main())
