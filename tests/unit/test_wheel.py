"""What is published: files of the wheel and of the source archive, metadata, reasons of dependencies."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from gpassk_opencompass import __version__

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / 'gpassk_opencompass'
BUILD = 'import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])'


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding='utf-8')


def source_files() -> list[Path]:
    listed = subprocess.run(['git', 'ls-files'], cwd=ROOT, check=True, capture_output=True, text=True)
    return [Path(line) for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def build(kind: str, source: Path, folder: Path) -> Path:
    """The source archive or the wheel of a folder, with the setuptools that is here and no network."""
    folder.mkdir()
    command = [sys.executable, '-W', 'ignore', '-c', BUILD, f'build_{kind}', str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [file] = folder.iterdir()
    return file


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """The wheel, built from what the source archive of a clone holds, and unpacked as pip does."""
    place = tmp_path_factory.mktemp('published')
    for path in source_files():
        (place / 'clone' / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, place / 'clone' / path)
    with tarfile.open(build('sdist', place / 'clone', place / 'sdist')) as packed:
        packed.extractall(place / 'unpacked', filter='data')
    [source] = (place / 'unpacked').iterdir()
    assert {path for path in source_files() if not (source / path).exists()} <= {Path('.gitignore')}
    wheel = build('wheel', source, place / 'wheel')
    assert wheel.stat().st_size < 3_000_000
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(place / 'installed')
    return place / 'installed'


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package_and_the_templates(installed):
    # Of what the script of the page is made stands in the source archive.
    files = [path for path in source_files() if path.parts[0] == PACKAGE.name and 'source' not in path.parts]
    expected = {path.relative_to(PACKAGE.name): (ROOT / path).read_bytes() for path in files}
    expected |= {
        Path('templates', path.name): path.read_bytes() for path in (ROOT / 'config_templates').glob('*.py')
    }
    place = installed / PACKAGE.name
    there = {path.relative_to(place): path.read_bytes() for path in place.rglob('*') if path.is_file()}
    assert set(there) == set(expected)
    assert there == expected


@pytest.mark.slow
def test_metadata_makefile_readme_and_changelog_agree(installed):
    """On the version, on the Pythons, on the command."""
    [folder] = installed.glob('*.dist-info')
    metadata = message_from_bytes((folder / 'METADATA').read_bytes())
    assert (metadata['Version'], metadata['License-File']) == (__version__, 'LICENSE')
    assert re.search(r'^## (\S+)', text_of('CHANGELOG.md'), re.MULTILINE)[1] == __version__
    assert set(metadata['Requires-Python'].split(',')) == {'>=3.10', '<3.13'}
    classifiers = metadata.get_all('Classifier', [])
    assert [line[-4:] for line in classifiers if ':: 3.' in line] == ['3.10', '3.11', '3.12']
    assert '(3, 10) <= sys.version_info < (3, 13)' in text_of('Makefile')
    assert 'Python 3.10–3.12' in text_of('README.md')
    assert 'gpassk = gpassk_opencompass.cli:main' in (folder / 'entry_points.txt').read_text()


def test_each_dependency_has_its_reason():
    """In docs/trust.md, those of the core and of each extra."""
    listed = text_of('pyproject.toml').partition('\ndependencies = ')[2].partition('[project.urls]')[0]
    names = {re.split('[^A-Za-z0-9_.-]', name)[0] for name in re.findall(r'^ *"(.+?)"', listed, re.MULTILINE)}
    assert {name for name in names if f'`{name}`' not in text_of('docs/trust.md')} == set()
