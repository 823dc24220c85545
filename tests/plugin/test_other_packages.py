"""Model classes and judges of other packages, as docs/extending.md shows how to write them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT, page
from hosts import import_plugin

from gpassk_opencompass.formats import FORMATS

pytestmark = pytest.mark.slow


@pytest.fixture
def packages(tmp_path):
    """A folder of the path that has the package of the page, and nothing else."""
    named = re.findall(r'`theirs/(\w+)\.py`', page('extending').text)
    files = dict(zip(named, [block.text for block in page('extending').blocks('python')], strict=False))
    assert sorted(files) == ['judge', 'model']
    (tmp_path / 'site' / 'theirs').mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / 'site' / 'theirs' / f'{name}.py').write_text(text, encoding='utf-8')
    return tmp_path / 'site'


def python(packages: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the folder above, with the packages installed."""
    path = os.pathsep.join([str(packages), str(ROOT)])
    return subprocess.run(
        [sys.executable, '-W', 'ignore', *words],
        cwd=packages.parent,
        env={**os.environ, 'PYTHONPATH': path},
        capture_output=True,
        text=True,
        check=False,
    )


ASKED = """
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from gpassk_opencompass.plugin.seeds import sample_seed
from opencompass.utils import build_model_from_cfg

asked = []


class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers['Content-Length']))))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({'text': 'so 7', 'finish_reason': 'stop', 'output_tokens': 2}).encode())

    def log_message(self, *_):
        pass


server = HTTPServer(('127.0.0.1', 0), Server)
Thread(target=server.serve_forever, daemon=True).start()
model = build_model_from_cfg(
    dict(
        type='theirs.model.TheirModel', abbr='m', path='their-7b', temperature=0.5, random_seed=42,
        max_out_len=9, batch_size=2, run_cfg=dict(num_gpus=0),
        api_addr=f'http://127.0.0.1:{server.server_port}',
    )
)
told = []
expected = [sample_seed(42, 'q', replica, 31) for replica in range(2)]
seeds = [model.seed_of('q', replica) for replica in range(2)]
model.sample(['a', 'b'], seeds, 9, lambda number, *answer: told.append(answer))
print(json.dumps([[text for text, *_ in told], asked, expected, told[0][1].output_tokens]))
"""


def test_their_model_class_draws_each_sample_with_its_seed(packages):
    import_plugin()
    done = python(packages, '-c', ASKED)
    assert done.returncode == 0, done.stderr
    texts, asked, seeds, tokens = json.loads(done.stdout.splitlines()[-1])
    assert (texts, tokens) == (['so 7', 'so 7'], 2)
    assert [one['seed'] for one in asked] == seeds
    settings = {'max_tokens': 9, 'temperature': 0.5}
    assert asked[0] == {'model': 'their-7b', 'prompt': 'a', 'seed': seeds[0], **settings}


@pytest.mark.parametrize(
    ('judge', 'right', 'said'),
    [
        ('theirs.judge.Nearly', 0.0, ''),
        ('{"type": "theirs.judge.Nearly", "tolerance": 0.01}', 50.0, ''),
        ('{"type": "theirs.judge.Nearly", "tolerance": 2}', None, 'tolerance = 2'),
        ('{"type": "theirs.judge.Nearly", "width": 2}', None, 'it takes tolerance'),
        ('nearby', None, 'a dotted path'),
    ],
    ids=['path', 'arguments', 'value', 'argument', 'name'],
)
def test_their_judge_judges_by_its_path(packages, judge, right, said):
    """2.004 is near enough to 2 or not; what it does not take is refused in a line."""
    rows = {'question': '1 + 1?', 'reference': '2', 'responses': [r'\boxed{2.004}', r'\boxed{3}']}
    (packages.parent / 'samples.jsonl').write_text(json.dumps(rows))
    options = ('--k', '1', '--judge', judge, '-o', 'out.json')
    done = python(packages, '-m', 'gpassk_opencompass.cli', 'score', 'samples.jsonl', *options)
    assert done.returncode == (0 if right is not None else 2), done.stderr
    assert 'Traceback' not in done.stderr
    assert said in done.stderr
    if right is not None:
        record = json.loads((packages.parent / 'out.json').read_text())
        assert record['accuracy'] == right
        assert record['gpassk']['judge']['name'] == 'nearly'


def test_a_format_of_ones_own_is_read(tmp_path, monkeypatch):
    """As the page shows it, in a folder with such a file."""
    row = {'name': 'u', 'asked': '1 + 1?', 'key': ' 2 ', 'said': {'text': 'It is 2.'}, 'right': True}
    (tmp_path / 'logs').mkdir()
    (tmp_path / 'logs' / 'a.jsonl').write_text(json.dumps(row))
    monkeypatch.chdir(tmp_path)
    found = {}
    try:
        [shown] = [block.text for block in page('extending').blocks('python') if 'FORMATS[' in block.text]
        exec(shown, found)
    finally:
        FORMATS.pop('quiz', None)
    [run] = found['runs']
    columns = ('uid', 'question', 'reference', 'response', 'verdict')
    assert [run.samples[name][0] for name in columns] == ['u', '1 + 1?', '2', 'It is 2.', 'correct']
