"""Engines, benchmarks and judges of other packages, as docs/extending.md shows how to write them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hosts import import_plugin
from installed import install, install_theirs, python
from sweeping import load

pytestmark = pytest.mark.slow

LINES = ["benchmarks=['contest2026', 'AIME2024']", 'temperatures=1.0', 'greedy=False', 'effort=high']


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


def overrides(lines: Sequence[str]) -> list[str]:
    return [word for line in lines for word in ('--override', line)]


def test_a_first_template_for_their_engine_expands(tmp_path: Path, packages: Path) -> None:
    """`gpassk init` writes what their `Starter` says; the configs name their class and their benchmark."""
    assert 'theirs' in gpassk(tmp_path, packages, 'init', '--help')
    gpassk(tmp_path, packages, 'init', '--engine', 'theirs', '--model', 'their-13b')
    template = (tmp_path / 'template.py').read_text()
    assert "engine = 'theirs'" in template
    assert "dict(path='their-13b', api_addr='http://localhost:9000', batch_size=8)," in template
    gpassk(tmp_path, packages, 'expand', 'template.py', *overrides(LINES))
    found = {path.name: load(path) for path in (tmp_path / 'opencompass_configs').glob('*.py')}
    model = 'their-13b_t1.0_p0.8_rs42_l8192'
    file = f'{model}@{{}}-k4_8_16-r3.py'.replace('.', '-', 2)
    assert set(found) == {file.format(name) for name in ('Contest2026', 'AIME2024')}
    config = found[file.format('Contest2026')]
    assert config['models'][0] == {
        'type': 'theirs.model.TheirModel', 'abbr': model, 'path': 'their-13b',
        'api_addr': 'http://localhost:9000', 'effort': 'high', 'temperature': 1.0, 'top_p': 0.8,
        'random_seed': 42, 'max_out_len': 8192, 'batch_size': 8, 'run_cfg': {'num_gpus': 0},
    }  # fmt: skip
    dataset = config['datasets'][0]
    assert dataset['benchmark'] == 'contest2026'
    assert dataset['path'] == str(packages / 'theirs' / 'data')


@pytest.mark.parametrize(
    ('line', 'said'),
    [
        ('engine=thiers', "unknown engine 'thiers': did you mean 'theirs'? Allowed: "),
        ('top_ks=50', 'this server takes no top_k'),
        ('effort=5', 'effort is of type int; expected str'),
        ('engine=vllm', "unknown key of llm_infos[0] 'api_addr'"),
        ("benchmarks=['contest2025']", "unknown benchmark 'contest2025': did you mean 'contest2026'?"),
        ('cot=False', "cot = False is not for 'contest2026'"),
        ('efort=high', "unknown variable of --override 'efort': did you mean 'effort'?"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_that_knows_them(
    tmp_path: Path, packages: Path, line: str, said: str
) -> None:
    gpassk(tmp_path, packages, 'init', '--engine', 'theirs')
    lines = [line] if line.startswith('benchmarks') else ["benchmarks=['contest2026']", line]
    assert said in refused(tmp_path, packages, 'expand', 'template.py', *overrides(lines))
    assert [path.name for path in tmp_path.glob('*.py')] == ['template.py']


@pytest.mark.parametrize(
    ('points', 'text', 'words', 'said'),
    [
        ('[gpassk_opencompass.engines]\nvllm = bad.engine:X', '', ['--engine', 'vllm'], 'is brought by'),
        ('[gpassk_opencompass.engines]\nbad = bad.engine:X', 'import nothing_such', [], 'nothing_such'),
        ('[gpassk_opencompass.engines]\nbad = bad.engine:X', 'X = 7', [], 'is 7; expected an Engine'),
    ],
    ids=['taken', 'broken', 'no engine'],
)
def test_a_bad_engine_is_one_line_and_the_others_work(
    tmp_path: Path, points: str, text: str, words: list[str], said: str
) -> None:
    folder = tmp_path / 'site'
    install(folder, 'bad', points, engine=text)
    assert said in refused(tmp_path, folder, 'init', *(words or ['--engine', 'bad']))
    gpassk(tmp_path, folder, 'init', '--engine', 'huggingface')
    gpassk(tmp_path, folder, 'expand', 'template.py')


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ("X = Q('Other', 's', 'o/d', (), 3)", 'whose label, in lower case, is this name'),
        ("X = 'contest'", "is 'contest'; expected a QuestionSet"),
        ("X = Q('bad-nocot', 's', 'o/d', (), 3)", "label 'bad-nocot' of a benchmark"),
        (
            "X = Q('Bad', 's', 'o/d', (F(('f',), 3, ()),), 3, prompts={'en': 'Say.'})",
            "prompts['en'] is 'Say.'",
        ),
    ],
    ids=['label', 'type', 'name', 'prompt'],
)
def test_a_bad_benchmark_is_one_line_and_the_others_work(tmp_path: Path, text: str, said: str) -> None:
    folder = tmp_path / 'site'
    head = 'from gpassk_opencompass.question_sets import QuestionFile as F, QuestionSet as Q\n'
    install(folder, 'bad', '[gpassk_opencompass.benchmarks]\nbad = bad.sets:X', sets=head + text)
    gpassk(tmp_path, folder, 'init')
    assert said in refused(tmp_path, folder, 'expand', 'template.py', '--override', 'benchmarks=bad')
    gpassk(tmp_path, folder, 'expand', 'template.py')


ROWS = """
import json
from gpassk_opencompass.plugin import BenchmarkDataset

rows = BenchmarkDataset(
    benchmark='contest2026', reader_cfg=dict(input_columns=['prompt'], output_column='answer'), n=2, k=2
).test
print(json.dumps([[row[name] for name in ('prompt', 'answer', 'split', 'language', 'uid')] for row in rows]))
"""


def test_their_questions_are_loaded_in_their_words(tmp_path: Path, packages: Path) -> None:
    """By OpenCompass's data set class, n times each, in their groups."""
    import_plugin()
    done = python(tmp_path, packages, '-c', ROWS)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout.splitlines()[-1])
    asked = 'Solve the problem of a contest and put the result into \\boxed{}.\n\nWhat is 0 + 1?'
    assert rows[0][:4] == [asked, '1', 'algebra', 'en']
    assert [row[2] for row in rows] == ['algebra', 'algebra', 'geometry', 'geometry'] * 2
    assert all(row[4].startswith('Contest2026/algebra_en/') for row in rows[:2])
    assert len({row[4] for row in rows}) == 4


ASKED = """
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from gpassk_opencompass.plugin.handover import Sample, sample_seed
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
samples = [Sample('q', 0), Sample('q', 1)]
model.seeds.announce(samples)
texts = model.generate(['a', 'b'], max_out_len=9)
expected = [sample_seed(42, sample, 31) for sample in samples]
print(json.dumps([texts, asked, expected, model.generations.take(2)[0].output_tokens]))
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
        ('nearly', 0.0),
        ('{"type": "nearly", "tolerance": 0.01}', 50.0),
        ('theirs.judge.Nearly', 0.0),
    ],
    ids=['name', 'arguments', 'path'],
)
def test_their_judge_judges_by_its_name(tmp_path: Path, packages: Path, judge: str, right: float) -> None:
    """With its arguments as JSON; half of the two samples are right where 2.004 is near enough to 2."""
    (tmp_path / 'samples.jsonl').write_text(SAMPLES)
    gpassk(tmp_path, packages, 'score', 'samples.jsonl', '--k', '1', '--judge', judge, '-o', 'out.json')
    record = json.loads((tmp_path / 'out.json').read_text())
    assert record['accuracy'] == right
    assert record['gpassk']['judge']['name'] == 'nearly'


@pytest.mark.parametrize(
    ('judge', 'said'),
    [
        ('{"type": "nearly", "tolerance": 2}', 'tolerance = 2: expected a number from 0 to 1'),
        ('{"type": "nearly", "width": 2}', 'it takes tolerance'),
        ('nearby', 'expected rule, llm, cascade, nearly, a dotted path'),
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
config = {'type': 'nearly', 'tolerance': 0.01}
cascade = {'type': 'cascade', 'first': {'type': 'nearly'}, 'second': config}
judges = [config, judge_config('', (), config), cascade]
print(json.dumps([[said.verdict.value for said in build_judge(judge).judge(pairs)] for judge in judges]))
"""


def test_their_judge_is_built_from_any_config(tmp_path: Path, packages: Path) -> None:
    """Of a config, and of a cascade."""
    done = python(tmp_path, packages, '-c', TOLD)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [['correct', 'incorrect', 'unjudged']] * 3
