"""What several test files take as fixtures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path

import loguru  # noqa: F401  # logs to the stderr of its import, which shall not be that of one test
import pytest
from hypothesis import HealthCheck, settings

# How long an example takes depends on the machine and its other work; the examples are the same each time.
SLOW = [HealthCheck.too_slow]
settings.register_profile(
    'any machine', deadline=None, derandomize=True, database=None, suppress_health_check=SLOW
)
settings.load_profile('any machine')


def pytest_configure() -> None:
    """Commands under test have the usual signals, also where whoever runs the tests ignores some."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first, groups before all, so that no worker is left with one at the end."""
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in ('e2e', 'xdist_group')])


@pytest.fixture(scope='session', autouse=True)
def _same_everywhere():
    """Tables have a line a row; no test asks the hub of data sets, or the verdicts of who runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('COLUMNS', '1000')
        patch.delenv('GPASSK_VERDICTS', raising=False)
        patch.setenv('HF_HUB_OFFLINE', '1')
        yield


@pytest.fixture(scope='session')
def forks():
    from forks import Forks
    from sweeping import NOT_INSTALLED

    if find_spec('opencompass') is None:
        pytest.skip(NOT_INSTALLED)
    with Forks() as started:
        yield started


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """A folder to type commands in, with a stand-in for `opencompass`."""
    from fake_opencompass import install

    install(tmp_path, monkeypatch)
    (tmp_path / 'configs').mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope='session')
def site(tmp_path_factory):
    """The pages of the documentation, built as `make docs` does into a folder of their own."""
    folder = tmp_path_factory.mktemp('docs') / 'site'
    done = subprocess.run(
        [sys.executable, '-m', 'mkdocs', 'build', '--quiet', '--site-dir', str(folder)],
        cwd=Path(__file__).parents[1],
        env={**os.environ, 'NO_MKDOCS_2_WARNING': '1'},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f'make docs fails:\n{done.stderr}'
    return folder


@pytest.fixture(scope='session')
def lmdeploy_parser():
    """That of the real lmdeploy 0.18.0, installed without its dependencies beside the environment."""
    wheel = Path(sys.prefix) / 'lmdeploy-wheel'
    if not wheel.is_dir():
        pytest.skip('lmdeploy is not unpacked beside this environment; `make test` does it')
    sys.path.insert(0, str(wheel))
    try:
        from lmdeploy.cli.cli import CLI
        from lmdeploy.cli.serve import SubCliServe

        SubCliServe.add_parsers()
    finally:
        sys.path.remove(str(wheel))
    parser: ArgumentParser = CLI.parser
    return parser
