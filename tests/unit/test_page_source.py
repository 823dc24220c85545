"""The script of the page is that of its sources, and what it holds of others is told."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / 'gpassk_opencompass' / 'report' / 'page'
MADE_OF = re.compile(r'.*\.(tsx?|css|mjs)|package.*\.json')


def test_the_script_was_made_of_the_sources() -> None:
    digest = hashlib.sha256()
    for path in sorted(PAGE.joinpath('source').iterdir(), key=lambda path: path.name):
        if MADE_OF.fullmatch(path.name):
            digest.update(f'{path.name}\n'.encode() + path.read_bytes())
    script = (PAGE / 'files' / 'page.js').read_text(encoding='utf-8')
    told = re.match(r'/\*! sources ([0-9a-f]{64})\n', script)
    assert told
    assert told[1] == digest.hexdigest(), 'make page'


def test_packages_in_the_script_are_told_with_their_licences() -> None:
    package = json.loads((PAGE / 'source' / 'package.json').read_text(encoding='utf-8'))
    script = (PAGE / 'files' / 'page.js').read_text(encoding='utf-8')
    told = (ROOT / 'docs' / 'trust.md').read_text(encoding='utf-8')
    rows = told.partition('\n### In the page of a report\n')[2].partition('\n### ')[0]
    named = set(re.findall(r'^\| `([^`]+)` ', rows, re.MULTILINE))
    assert named == {*package['dependencies'], *package['devDependencies']}
    for name, version in package['dependencies'].items():
        assert f'\n{name} {version}\n' in script
    assert script.count('Permission is hereby granted') == len(package['dependencies'])
