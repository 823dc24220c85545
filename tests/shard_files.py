"""Shards as a browser reads them: run by node, whose inflate and JSON are not those of Python."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

_READ = r"""
const fs = require('fs'), zlib = require('zlib');
const found = {};
globalThis.gpasskShard = (name, packed) => {
  const utf8 = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true});
  const shard = JSON.parse(utf8.decode(zlib.inflateSync(Buffer.from(packed, 'base64'))));
  for (const told of [shard.samples, ...(shard.greedy ? [shard.greedy] : [])]) {
    // What a script sees as thought: JavaScript counts UTF-16 code units.
    told.thoughts = told.response.map((text, i) => (text ?? '').slice(0, told.within[i]));
  }
  if (name in found) throw Error(`${name} twice`);
  found[name] = shard;
};
for (const file of JSON.parse(fs.readFileSync(0, 'utf8'))) (0, eval)(fs.readFileSync(file, 'utf8'));
process.stdout.write(JSON.stringify(found));
"""


def read_shards(folder: Path) -> dict[str, Any]:
    """The shards below a folder by their names, `<folder>/<number>`, each file run as a script."""
    node = shutil.which('node')
    if node is None:
        pytest.skip('needs node')
    files = sorted(map(str, folder.rglob('*.js')))
    done = subprocess.run(
        [node, '-e', _READ], input=json.dumps(files), capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert set(found) == {f'{Path(file).parent.name}/{Path(file).stem}' for file in files}
    return found
