"""The measured part of docs/benchmarks.md: where, with what, an overview, and a section each."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .sections import Section, markdown, read_section, table

BEGIN, END = '<!-- measured: begin -->', '<!-- measured: end -->'
PACKAGES = (
    'gpassk_opencompass',
    'opencompass',
    'mmengine-lite',
    'datasets',
    'math-verify',
    'numpy',
    'scipy',
    'aiohttp',
)


def measured_part(files: Sequence[Path]) -> str:
    """Markdown of all results that there are."""
    results = [json.loads(file.read_text(encoding='utf-8')) for file in files if file.is_file()]
    return '\n\n'.join([machine(), overview(results), *(_section(result) for result in results)])


def put_into(page: Path, text: str) -> None:
    """Between the page's two marks.

    Raises:
        SystemExit: the page does not have them.
    """
    before, begin, rest = page.read_text(encoding='utf-8').partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f'{page} lacks {BEGIN} and {END}; the results are:\n{text}')
    page.write_text(f'{before}{begin}\n{text}\n{end}{after}', encoding='utf-8')


def machine() -> str:
    """Processor, memory, system, versions."""
    memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9
    packages = ', '.join(f'{name} {_version(name)}' for name in PACKAGES)
    return (
        f'{processor()}, {os.cpu_count()} cores, {memory:.0f} GB; {platform.system()} {platform.release()}; '
        f'Python {platform.python_version()}; {packages}.'
    )


def processor() -> str:
    """The name of the CPU where Linux tells it, else its architecture."""
    info = Path('/proc/cpuinfo')
    lines = info.read_text(encoding='utf-8').splitlines() if info.is_file() else []
    names = [line.partition(':')[2].strip() for line in lines if line.startswith('model name')]
    return names[0] if names else platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return '–'


def overview(results: Sequence[dict[str, Any]]) -> str:
    """The headlines of all sections in one table."""
    lines = [line for result in results if result['section'] for line in _read(result).headlines]
    return table(['what', 'against', 'ours', 'theirs', 'theirs / ours', 'memory, ours / theirs'], lines)


def _section(result: dict[str, Any]) -> str:
    name, size = result['name'], result['size']
    if result['section'] is None:
        return f'### {name}\n\nNot measured: {result["error"]} ({result["at"]}).'
    # The command in the words of the page: the full form needs no option.
    option = '' if size == 'full' else f' --size {size}'
    return (
        f'{markdown(_read(result))}\n\n`python -m benchmarks.{name}{option}`: {result["at"]}, '
        f'{result["seconds"]:.0f} s; load before it {result["load"]:.1f}.'
    )


def _read(result: dict[str, Any]) -> Section:
    return read_section(result['section'])
