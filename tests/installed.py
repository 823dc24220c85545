"""Packages that are installed for one test, and Python with them on its path."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from doc_pages import ROOT, page

PAGE = page('extending')


def install(folder: Path, package: str, points: str, **files: str) -> None:
    """Put an installed package into a folder of the path: its metadata and its modules."""
    info = folder / f'{package}-1.0.dist-info'
    info.mkdir(parents=True)
    (info / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text(points)
    for name, text in files.items():
        file = folder / package / f'{name}.py'
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding='utf-8')


def install_theirs(folder: Path) -> Path:
    """Install the package of docs/extending.md, return the folder."""
    toml = PAGE.blocks('toml')[0].text
    points = re.sub(r"'([\w.:]+)'$", r'\1', toml, flags=re.M).replace("[project.entry-points.'", '[')
    named = re.findall(r'`theirs/(\w+)\.py`', PAGE.text)
    files = dict(zip(named, [block.text for block in PAGE.blocks('python')], strict=False))
    assert sorted(files) == ['judge', 'model']
    install(folder, 'theirs', points.replace("']", ']'), **files)
    return folder


def python(folder: Path, packages: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder with the packages installed."""
    path = os.pathsep.join([str(packages), str(ROOT)])
    return subprocess.run(
        [sys.executable, '-W', 'ignore', *words],
        cwd=folder,
        env={**os.environ, 'PYTHONPATH': path},
        capture_output=True,
        text=True,
        check=False,
    )
