"""Model classes and judges of other packages, as docs/extending.md shows how to write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hosts import import_plugin
from installed import install_theirs, python

pytestmark = pytest.mark.slow


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """The folder that has the package of the page, and nothing else."""
    return install_theirs(tmp_path / 'site')


def gpassk(folder: Path, packages: Path, *words: str) -> str:
    done = python(folder, packages, '-m', 'gpassk_opencompass.cli', *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(folder: Path, packages: Path, *words: str) -> str:
    done = python(folder, packages, '-m', 'gpassk_opencompass.cli', *words)
    assert done.returncode == 2
    assert 'Traceback' not in done.stderr
    return done.stderr


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


def test_their_model_class_draws_each_sample_with_its_seed(tmp_path: Path, packages: Path) -> None:
    """Built as OpenCompass builds it, asking a server over a socket."""
    import_plugin()
    done = python(tmp_path, packages, '-c', ASKED)
    assert done.returncode == 0, done.stderr
    texts, asked, seeds, tokens = json.loads(done.stdout.splitlines()[-1])
    assert (texts, tokens) == (['so 7', 'so 7'], 2)
    assert [one['seed'] for one in asked] == seeds
    assert asked[0] == {
        'model': 'their-7b',
        'prompt': 'a',
        'seed': seeds[0],
        'max_tokens': 9,
        'temperature': 0.5,
    }


SAMPLES = json.dumps({'question': '1 + 1?', 'reference': '2', 'responses': [r'\boxed{2.004}', r'\boxed{3}']})


@pytest.mark.parametrize(
    ('judge', 'right'),
    [
        ('theirs.judge.Nearly', 0.0),
        ('{"type": "theirs.judge.Nearly", "tolerance": 0.01}', 50.0),
    ],
    ids=['path', 'arguments'],
)
def test_their_judge_judges_by_its_path(tmp_path: Path, packages: Path, judge: str, right: float) -> None:
    """With its arguments as JSON; half of the two samples are right where 2.004 is near enough to 2."""
    (tmp_path / 'samples.jsonl').write_text(SAMPLES)
    gpassk(tmp_path, packages, 'score', 'samples.jsonl', '--k', '1', '--judge', judge, '-o', 'out.json')
    record = json.loads((tmp_path / 'out.json').read_text())
    assert record['accuracy'] == right
    assert record['gpassk']['judge']['name'] == 'nearly'


@pytest.mark.parametrize(
    ('judge', 'said'),
    [
        ('{"type": "theirs.judge.Nearly", "tolerance": 2}', 'tolerance = 2: expected a number from 0 to 1'),
        ('{"type": "theirs.judge.Nearly", "width": 2}', 'it takes tolerance'),
        ('nearby', 'expected rule, llm, cascade, a dotted path'),
    ],
    ids=['value', 'argument', 'name'],
)
def test_what_their_judge_does_not_take_is_refused(
    tmp_path: Path, packages: Path, judge: str, said: str
) -> None:
    """In a line, before anything is judged."""
    (tmp_path / 'samples.jsonl').write_text(SAMPLES)
    assert said in refused(tmp_path, packages, 'score', 'samples.jsonl', '--k', '1', '--judge', judge)


TOLD = """
import json
from gpassk_opencompass.judges import Pair
from gpassk_opencompass.judges.build import build_judge, judge_config

pairs = [Pair('?', '2', said) for said in ('2.004', '3', 'two')]
config = {'type': 'theirs.judge.Nearly', 'tolerance': 0.01}
cascade = {'type': 'cascade', 'first': {'type': 'theirs.judge.Nearly'}, 'second': config}
judges = [config, judge_config('', (), config), cascade]
print(json.dumps([[said.verdict.value for said in build_judge(judge).judge(pairs)] for judge in judges]))
"""


def test_their_judge_is_built_from_any_config(tmp_path: Path, packages: Path) -> None:
    """Of a config, and of a cascade."""
    done = python(tmp_path, packages, '-c', TOLD)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [['correct', 'incorrect', 'unjudged']] * 3
