"""The package as a whole: cheap import, complete table of contents, registration, packaging."""

from __future__ import annotations

import ast
import doctest
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hosts import import_plugin

import gpassk_opencompass

ROOT = Path(gpassk_opencompass.__file__).parent


def run_python(code: str, *words: str | Path) -> list[str]:
    line = [sys.executable, '-W', 'ignore', '-c', code, *words]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT.parent, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr.split()


@pytest.mark.filterwarnings('ignore')
def test_every_name_of_the_table_of_contents_loads():
    import_plugin()
    for name in gpassk_opencompass.__all__:
        assert getattr(gpassk_opencompass, name) is not None
    assert set(gpassk_opencompass.__all__) <= set(dir(gpassk_opencompass))


@pytest.mark.slow
def test_a_missing_extra_is_one_line_with_the_pip_command():
    code = (
        'import sys; sys.modules["opencompass"] = None\n'
        'import gpassk_opencompass\n'
        'try: gpassk_opencompass.GPassKEvaluator\n'
        'except gpassk_opencompass.MissingExtraError as error: print(error, file=sys.stderr)'
    )
    assert 'pip install "gpassk_opencompass[opencompass]"' in ' '.join(run_python(code))


TABLE = """
errors:
files:
text:
metrics:
answers: answers
keys:
completion:
servers: completion keys
judges: answers completion judges keys servers
log_errors:
processes:
serving: keys log_errors processes
json_rows:
agreement: answers benchmarks collect json_rows judges metrics record statistics
statistics:
samples:
health: answers judges samples
record: health metrics samples sweep
scoring: answers benchmarks health judges metrics record samples
formats: benchmarks completion formats health json_rows judges metrics record runs samples
    sweep
collect: formats json_rows judges marks record runs samples scoring sweep
summary: metrics record samples scoring statistics
report: answers collect health judges keys metrics record report samples
    scoring statistics sweep
benchmarks: judges
configs: configs
sweep: benchmarks judges keys servers serving sweep
marks: record serving
predictions: health json_rows marks record
plugin: answers benchmarks completion health judges keys marks metrics plugin predictions
    record report samples scoring servers serving
inspect_ai: metrics statistics
lighteval: benchmarks demo judges metrics record samples scoring statistics sweep
runs: judges log_errors marks predictions processes record runs serving sweep
demo:
cli: agreement benchmarks cli collect formats
    health judges keys marks metrics plugin processes record report runs samples scoring serving statistics
    summary sweep
"""
ROOMS = {
    room: set(others.split())
    for room, _, others in (line.partition(':') for line in re.sub(r'\n +', ' ', TABLE).strip().split('\n'))
}
"""Which room may import which besides those of `EVERYWHERE`; arrows go one way."""

EVERYWHERE = {'errors', 'files', 'text', '__version__'}

PACKAGES = {
    'aiohttp': {'judges', 'plugin', 'servers'},
    'datasets': {'benchmarks', 'plugin'},
    'inspect_ai': {'inspect_ai'},
    'lighteval': {'lighteval'},
    'lmdeploy': {'plugin'},
    'matplotlib': {'report'},
    'mmengine': {'configs', 'plugin', 'sweep'},
    'opencompass': {'plugin'},
    'mpmath': {'answers'},
    'pandas': {'cli', 'report'},
    'filelock': {'plugin', 'runs', 'predictions'},
    'psutil': {'processes', 'runs', 'serving'},
    'pyarrow': {'formats', 'plugin', 'samples'},
    'pydantic': set('agreement health judges lighteval record runs servers serving sweep'.split()),
    'ray': {'runs'},
    'rich': {'cli', 'text'},
    'torch': {'plugin'},
    'transformers': {'plugin'},
    'vllm': {'plugin'},
    'tqdm': {'judges', 'plugin', 'text'},
}
"""Who may import a host, an engine, or a package that a single room needs."""

FILES = sorted(set(ROOT.rglob('*.py')) - {ROOT / '__init__.py'})


def room_of(file: Path) -> str:
    return file.relative_to(ROOT).parts[0].removesuffix('.py')


def imported_by(file: Path) -> Iterator[list[str]]:
    """The parts of each module that a file imports, from the top-level package on, also within functions."""
    package = [ROOT.name, *file.relative_to(ROOT).parent.parts]
    for node in ast.walk(ast.parse(file.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split('.') for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *(node.module.split('.') if node.module else [])]
            # `from . import x` imports x; of `from .x import y` x is enough, y may be a function.
            yield from ([*module, alias.name] for alias in node.names) if len(module) == 1 else [module]


def test_no_room_imports_against_the_table():
    against = [
        f'{file.relative_to(ROOT)} imports {path[1]}'
        for file in FILES
        for path in imported_by(file)
        if path[0] == ROOT.name and len(path) > 1 and path[1] not in ROOMS[room_of(file)] | EVERYWHERE
    ]
    assert against == []


def test_a_host_is_imported_by_its_room_alone():
    elsewhere = [
        f'{file.relative_to(ROOT)} imports {path[0]}'
        for file in FILES
        for path in imported_by(file)
        if room_of(file) not in PACKAGES.get(path[0], {room_of(file)})
    ]
    assert elsewhere == []


def test_no_arrow_comes_back():
    for room, others in ROOMS.items():
        seen: set[str] = set()
        ahead = others - {room}
        while ahead:
            seen |= ahead
            ahead = {further for each in ahead for further in ROOMS[each] - {each}} - seen
        assert room not in seen, room


# What commands import: nothing that they do not need, so that small ones start at once


HOSTS = {'opencompass', 'mmengine', 'torch', 'transformers', 'datasets', 'lighteval', 'lm_eval', 'pandas'}
HEAVY_FOR_COMMANDS = HOSTS | {'matplotlib', 'pyarrow', 'aiohttp', 'scipy.stats'}
JUDGES = {'gpassk_opencompass.answers', 'gpassk_opencompass.judges.rule', 'gpassk_opencompass.scoring'}
LOOK = """
import sys
from gpassk_opencompass.cli import main
try: code = main()
except SystemExit as end: code = end.code
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""


def imported(*words: str | Path) -> set[str]:
    """Run a command to its good end; return the modules that are loaded then."""
    return set(run_python(LOOK, *words))


@pytest.mark.parametrize('command', ['score', 'plan', 'report', 'expand', 'check', 'compare'])
def test_the_help_of_a_command_needs_no_scipy(command):
    assert not (HEAVY_FOR_COMMANDS | JUDGES | {'scipy', 'asyncio', 'pydantic'}) & imported(command, '--help')


def test_importing_the_package_imports_nothing_heavy():
    code = 'import sys, gpassk_opencompass; print(*sys.modules, file=sys.stderr)'
    assert not HEAVY_FOR_COMMANDS & set(run_python(code))


def test_counts_are_scored_and_templates_expanded_without_heavy_packages(tmp_path):
    """Special functions are all that intervals of counts need; a sweep is written without its host."""
    counts = tmp_path / 'counts.jsonl'
    lines = [json.dumps({'uid': f'q{place}', 'n': 16, 'c': place}) for place in range(17)]
    counts.write_text('\n'.join(lines), encoding='utf-8')
    assert not (HEAVY_FOR_COMMANDS | {'scipy.optimize'}) & imported('score', counts, '--k', '4', '8')
    template = ROOT.parent / 'config_templates' / 'demo.py'
    assert not HEAVY_FOR_COMMANDS & imported('expand', template, '--output-dir', tmp_path / 'configs')
    assert not (HEAVY_FOR_COMMANDS | JUDGES | {'scipy.optimize'}) & imported('plan', '--half-width', '3')


# Examples in docstrings


def modules_with_examples() -> list[Any]:
    """Those of the plugin import OpenCompass, which takes its time."""
    files = [file for file in ROOT.rglob('*.py') if '>>> ' in file.read_text(encoding='utf-8')]
    names = sorted('.'.join(file.relative_to(ROOT.parent).with_suffix('').parts) for file in files)
    return [pytest.param(name, marks=[pytest.mark.slow] if '.plugin' in name else []) for name in names]


@pytest.mark.parametrize('name', modules_with_examples())
def test_docstring_examples_hold(name):
    if '.plugin' in name:
        import_plugin()
    module = import_module(name.removesuffix('.__init__'))
    outcome = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.attempted > 0
    assert outcome.failed == 0
