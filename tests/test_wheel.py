"""What is published: the files of the wheel and of the source archive, and what an index shows of them."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from gpassk_opencompass import __version__

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / 'gpassk_opencompass'
WHERE = 'https://git.example/us/it'
"""A repository that there is not."""

README = """\
See [how](docs/how.md#why), [the paper](https://arxiv.org/abs/2412.13147), [below](#limits).

![A figure](docs/images/figure.png)

The end.
"""

BUILD = 'import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])'


def source_files() -> list[Path]:
    """What is in a clone, without what tools leave beside it."""
    skipped = {'__pycache__', 'outputs', 'site', 'build', 'dist', 'tmp', 'node_modules'}
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if name not in skipped and (not name.startswith('.') or name == '.ci') and 'egg-info' not in name
        ]
        found += [Path(folder, name).relative_to(ROOT) for name in files if not name.endswith('.pyc')]
    return found


def build(kind: str, source: Path, folder: Path) -> Path:
    """The source archive or the wheel of a folder, with the setuptools that is here and no network."""
    folder.mkdir()
    command = [sys.executable, '-W', 'ignore', '-c', BUILD, f'build_{kind}', str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [file] = folder.iterdir()
    return file


@pytest.fixture(scope='module')
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, and with the wheel that was built from what it holds."""
    place = tmp_path_factory.mktemp('published')
    for path in source_files():
        (place / 'clone' / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, place / 'clone' / path)
    with tarfile.open(build('sdist', place / 'clone', place / 'sdist')) as packed:
        packed.extractall(place / 'unpacked', filter='data')
    [source] = (place / 'unpacked').iterdir()
    build('wheel', source, place / 'wheel')
    return place


@pytest.fixture(scope='module')
def installed(published: Path) -> Path:
    """The wheel, unpacked as pip does."""
    [wheel] = (published / 'wheel').iterdir()
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(published / 'installed')
    return published / 'installed'


def gpassk(installed: Path, folder: Path, *arguments: str) -> str:
    """The command of the unpacked wheel, typed in a folder without a clone."""
    environment = {**os.environ, 'PYTHONPATH': str(installed)}
    code = 'import sys; from gpassk_opencompass.cli import main; sys.exit(main())'
    done = subprocess.run(
        [sys.executable, '-c', code, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package_and_the_templates(installed: Path) -> None:
    """Byte for byte, and nothing else."""
    files = {path.relative_to(PACKAGE): path for path in PACKAGE.rglob('*') if path.is_file()}
    # Of what the script of the page is made stands in the source archive.
    not_shipped = {'__pycache__', 'source'}
    expected = {path: file.read_bytes() for path, file in files.items() if not not_shipped & {*path.parts}}
    expected |= {
        Path('templates', path.name): path.read_bytes() for path in (ROOT / 'config_templates').glob('*.py')
    }
    place = installed / 'gpassk_opencompass'
    there = {path.relative_to(place): path.read_bytes() for path in place.rglob('*') if path.is_file()}
    assert set(there) == set(expected)
    assert there == expected
    assert {path.name.partition('-')[0] for path in installed.iterdir()} == {'gpassk_opencompass'}


@pytest.mark.slow
def test_the_source_archive_is_the_clone(published: Path) -> None:
    """All that git keeps, but for what only git reads."""
    [source] = (published / 'unpacked').iterdir()
    missing = {path for path in source_files() if not (source / path).exists()}
    assert missing <= {Path('.gitignore'), Path('.git')}


@pytest.mark.slow
def test_the_wheel_starts_a_sweep_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    """The templates come out of the wheel, and expand."""
    assert gpassk(installed, tmp_path, '--version') == f'gpassk {__version__}\n'
    for name in ('demo', 'nono1'):
        gpassk(installed, tmp_path, 'init', '--template', name)
        assert (tmp_path / f'{name}.py').read_bytes() == (ROOT / f'config_templates/{name}.py').read_bytes()
    said = gpassk(installed, tmp_path, 'expand', 'demo.py')
    assert said == '3 configs in opencompass_configs: 3 written, 0 unchanged\n'
    [config] = (tmp_path / 'opencompass_configs').glob('*_t1-0_*')
    assert str(installed / 'gpassk_opencompass' / 'demo' / 'model') in config.read_text()


@pytest.fixture(scope='module')
def metadata(installed: Path) -> Message:
    [folder] = installed.glob('*.dist-info')
    return message_from_bytes((folder / 'METADATA').read_bytes())


@pytest.mark.slow
def test_the_page_of_an_index_has_no_link_that_leads_nowhere(metadata: Message) -> None:
    """Links are addresses, or headings of the page itself; so are pictures."""
    text = str(metadata.get_payload())
    assert 'gpassk demo' in text
    links = re.findall(r'\]\(([^)\s]+)\)', re.sub(r'```.*?```', '', text, flags=re.DOTALL))
    assert links
    assert [link for link in links if not re.match('https://|#', link)] == []
    urls = [line.partition(', ')[2] for line in metadata.get_all('Project-URL', [])]
    assert 'https://arxiv.org/abs/2412.13147' in urls
    assert metadata['Version'] == __version__
    assert metadata['License-File'] == 'LICENSE'


@pytest.fixture(scope='module')
def setup_py() -> dict[str, Any]:
    """What setup.py defines, and the arguments of `setup` as `told`."""
    import setuptools

    told: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setuptools, 'setup', lambda **arguments: told.update(arguments))
        return {**runpy.run_path(str(ROOT / 'setup.py')), 'told': told}


def test_with_a_repository_links_and_pictures_are_of_this_version(setup_py: dict[str, Any]) -> None:
    """Its pages, and its files for what is shown."""
    page = setup_py['index_page'](README, WHERE, '1.0')
    assert f'[how]({WHERE}/blob/v1.0/docs/how.md#why), [the paper](https://arxiv.org' in page
    assert f'![A figure]({WHERE}/raw/v1.0/docs/images/figure.png)' in page
    assert '[below](#limits)' in page
    assert list(setup_py['project_urls'](WHERE, '1.0')) == ['Source', 'Documentation', 'Changelog', 'Paper']


def test_the_pythons_are_the_same_wherever_they_are_named(setup_py: dict[str, Any]) -> None:
    """What pip accepts, what the index lists, what make looks for, what the README says."""
    told = setup_py['told']
    assert told['python_requires'] == '>=3.10,<3.13'
    listed = [line.rpartition(' ')[2] for line in told['classifiers'] if '::' in line and ':: 3.' in line]
    assert listed == ['3.10', '3.11', '3.12']
    assert '(3, 10) <= sys.version_info < (3, 13)' in (ROOT / 'Makefile').read_text('utf-8')
    assert 'Python 3.10–3.12' in (ROOT / 'README.md').read_text('utf-8')


def test_the_hooks_of_pre_commit_are_those_of_make_lint() -> None:
    """The same tools, from the environment of `make`."""
    yaml = pytest.importorskip('yaml')
    config = yaml.safe_load((ROOT / '.pre-commit-config.yaml').read_text('utf-8'))
    [repository] = config['repos']
    assert repository['repo'] == 'local'
    hooks = {tuple(hook['entry'].split()[:2]) for hook in repository['hooks']}
    lint = (ROOT / 'Makefile').read_text('utf-8').partition('\nlint:')[2].partition('\n\n')[0]
    lines = [line.split() for line in re.findall(r'\$\(BIN\)/(.*)', lint)]
    assert hooks == {(f'.venv/bin/{words[0]}', *words[1:2]) for words in lines}


def test_the_changelog_begins_with_this_version() -> None:
    """What users get now stands first."""
    [first, *_] = re.findall(r'^## (\S+)', (ROOT / 'CHANGELOG.md').read_text('utf-8'), re.MULTILINE)
    assert first == __version__
