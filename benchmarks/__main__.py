"""The speed benchmarks, one after the other, and the page of their tables.

    python -m benchmarks                                # all, about half an hour on two idle cores
    python -m benchmarks --quick                        # about 4 minutes: fewer and smaller cases
    python -m benchmarks rule_judge metric              # these only; the page keeps the others' last tables
    python -m benchmarks --page docs/benchmarks.md      # write the page's measured part too

Each is a process of its own with a limit of time. One that fails does not keep the others from running; the
page says so, and the exit status is 1. The tables stay in outputs/benchmarks.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .measuring import progress
from .tables import Section, markdown, options_of, table

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / 'outputs' / 'benchmarks'
SUITE = ('expansion', 'metric', 'rule_judge', 'llm_judge', 'models', 'stage', 'report', 'score')
LIMIT = {'tiny': 120, 'quick': 400, 'full': 1200}
"""Seconds that one benchmark may take, also on a busy machine."""

BEGIN, END = '<!-- measured: begin -->', '<!-- measured: end -->'
PACKAGES = ('opencompass', 'mmengine-lite', 'math-verify', 'numpy', 'scipy', 'aiohttp')


def main() -> int:
    """Run the benchmarks that are named, or all; 1 if one failed."""
    options = options_of(__doc__, names=SUITE)
    RESULTS.mkdir(parents=True, exist_ok=True)
    failed = [name for name in options.names or SUITE if not run(name, options.size)]
    text = measured_part()
    if options.page:
        before, _, rest = options.page.read_text(encoding='utf-8').partition(BEGIN)
        after = rest.partition(END)[2]
        options.page.write_text(f'{before}{BEGIN}\n{text}\n{END}{after}', encoding='utf-8')
    else:
        print(text)
    if failed:
        progress(f'failed: {", ".join(failed)}')
    return 1 if failed else 0


def run(name: str, size: str) -> bool:
    """Run one benchmark; its section, or why there is none, goes into `outputs/benchmarks/NAME.json`."""
    progress(f'--- {name}')
    started = time.perf_counter()
    # One thread a process: what is compared is the work, not how many cores a library takes.
    environment = {**os.environ, 'OMP_NUM_THREADS': '1', 'TOKENIZERS_PARALLELISM': 'false'}
    command = [sys.executable, '-m', f'benchmarks.{name}', '--size', size, '--json']
    result: dict[str, Any] = {'at': time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=LIMIT[size],
        )
        result['section'] = json.loads(done.stdout)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        result['error'] = f'{type(error).__name__}: {error}'
    # The command in the words of the page: the full form needs no option.
    result['command'] = f'python -m benchmarks.{name}' + ('' if size == 'full' else f' --size {size}')
    (RESULTS / f'{name}.json').write_text(json.dumps(result, ensure_ascii=False), encoding='utf-8')
    progress(f'--- {name}: {result.get("error", "done")} after {time.perf_counter() - started:.0f} s')
    return 'section' in result


def measured_part() -> str:
    """Markdown of all tables that there are: the machine, an overview, a section each."""
    files = [RESULTS / f'{name}.json' for name in SUITE]
    results = [json.loads(file.read_text(encoding='utf-8')) for file in files if file.is_file()]
    sections = [(result, Section(**result['section'])) for result in results if 'section' in result]
    overview = table([line for _, section in sections for line in section.overview])
    parts = [f'{markdown(section)}\n\n`{result["command"]}`, {result["at"]}.' for result, section in sections]
    parts += [f'Not measured: {one["command"]}: {one["error"]}' for one in results if 'error' in one]
    return '\n\n'.join([machine(), overview, *parts])


def machine() -> str:
    """Name processor, memory, system and versions."""
    info = Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines()
    processor = next((line.partition(':')[2].strip() for line in info if line.startswith('model name')), '?')
    memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9
    packages = ', '.join(f'{name} {version(name)}' for name in PACKAGES)
    return (
        f'{processor}, {os.cpu_count()} cores, {memory:.0f} GB; {platform.system()} {platform.release()}; '
        f'Python {platform.python_version()}; {packages}.'
    )


if __name__ == '__main__':
    sys.exit(main())
