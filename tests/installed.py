"""Packages that are installed for one test, and Python with them on its path."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from doc_pages import ROOT, page

PAGE = page('extending')


def install_theirs(folder: Path) -> Path:
    """Put the package of docs/extending.md into a folder of the path, and return it."""
    named = re.findall(r'`theirs/(\w+)\.py`', PAGE.text)
    files = dict(zip(named, [block.text for block in PAGE.blocks('python')], strict=False))
    assert sorted(files) == ['judge', 'model']
    (folder / 'theirs').mkdir(parents=True)
    for name, text in files.items():
        (folder / 'theirs' / f'{name}.py').write_text(text, encoding='utf-8')
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
