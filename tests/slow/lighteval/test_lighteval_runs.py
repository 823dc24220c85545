"""The real `lighteval` command and the example's script, and what is read of their files elsewhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from judge_server import PROMPTS, Act, Asked, JudgeServer, Say, completion
from made import EXAMPLES, details_of, results_of, run, run_lighteval

from gpassk_opencompass import demo
from gpassk_opencompass.formats import read_samples
from gpassk_opencompass.lighteval import NAME

OPENCOMPASS = EXAMPLES.parents[1] / '.venv' / 'bin' / 'python'
"""An environment with OpenCompass, which cannot stand in one with Lighteval."""

ELSEWHERE = """
import json, sys
from importlib.metadata import version
from gpassk_opencompass import RuleJudge
from gpassk_opencompass.formats import read_samples
from gpassk_opencompass.scoring import score

[run] = read_samples([sys.argv[1]])
given = run.samples.counts()
anew = run.samples.replace(verdict=None, judged_by=None, why=None, answer=None)
with RuleJudge() as judge:
    result = score(anew, judge, k=run.ks)
print(json.dumps([given.c.tolist(), result.counts.c, result.scores(), result.judge, version('numpy')]))
"""


def started(folder: Path, task: str, **variables: str) -> subprocess.CompletedProcess[str]:
    model = 'model_name=demo_model,cache_dir=cache,batch_size=48,generation_parameters={temperature:1.0}'
    if not (folder / 'demo_model').exists():
        shutil.copytree(demo.MODEL, folder / 'demo_model')
    return run_lighteval(folder, 'accelerate', model, task, **variables)


def check(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def equal(asked: Asked) -> Act:
    said = re.search(r'(?:reference|参考)=(.*) answer=(.*) \.$', asked.prompt, re.DOTALL)
    assert said is not None
    return r'\boxed{yes}' if said[1].strip('$') == said[2].strip('$') else r'\boxed{no}'


@pytest.mark.e2e
@pytest.mark.xdist_group('run')
def test_the_demo_has_scores_and_opencompass_gives_the_same_ones(tmp_path):
    """Less at higher thresholds, each with its error, printed; in another environment to the last digit."""
    said = check(started(tmp_path, "gpassk_demo@n=16@k='4 8 16'"))
    [table] = results_of(tmp_path, 'gpassk_demo|0')
    assert 0.2 < table['accuracy'] < 0.95
    for k in (4, 8, 16):
        falling = [table[f'G-Pass@{k}_{tau}'] for tau in (0.0, 0.25, 0.5, 0.75, 1.0)]
        assert falling == sorted(falling, reverse=True)
        assert falling[0] > falling[-1] > 0
        assert 0 < table[f'mG-Pass@{k}_stderr'] < 0.2
        assert f'|mG-Pass@{k}' in said
    if not OPENCOMPASS.is_file():
        pytest.skip('OpenCompass is not installed in .venv: make install')
    done = run(tmp_path, str(OPENCOMPASS), '-c', ELSEWHERE, 'results')
    given, anew, scores, judge, numpy = json.loads(check(done).splitlines()[-1])
    assert given == anew
    assert judge == json.loads(details_of(tmp_path)[0]['metric'][NAME]['gpassk'])['judge']
    assert numpy != version('numpy')
    own = {name: value for name, value in table.items() if not name.endswith(('_stderr', '_share'))}
    assert len(own) == 1 + 7 * 3
    assert {name: 100.0 * value for name, value in own.items()} == {name: scores[name] for name in own}


@pytest.mark.e2e
@pytest.mark.xdist_group('judged')
def test_a_stopped_judge_loses_nothing_and_a_warm_store_asks_nobody(tmp_path):
    """Responses come from Lighteval's cache, verdicts from the store; each stands beside its response."""

    def judged_by(server: JudgeServer) -> subprocess.CompletedProcess[str]:
        options = {'prompts': PROMPTS, 'accept_equal': False, 'progress': False}
        judge = {'type': 'llm', 'model': 'judge', 'urls': [server.url], **options}
        (tmp_path / 'settings.json').write_text(json.dumps({'n': 4, 'k': 4, 'judge': judge}))
        return started(tmp_path, 'gpassk_demo', GPASSK_LIGHTEVAL='settings.json')

    with JudgeServer(lambda asked: 'hm' if asked.number % 3 == 0 else equal(asked)) as broken:
        stopped = judged_by(broken)
    assert stopped.returncode != 0
    assert 'stayed unjudged' in stopped.stdout + stopped.stderr
    assert not (tmp_path / 'results').exists()
    with JudgeServer(equal) as server:
        mended = judged_by(server)
        check(mended)
        asked, rows = len(server.asked), details_of(tmp_path)
        printed = check(judged_by(server))
        assert len(server.asked) == asked
    assert '48/48 samples are cached' in mended.stdout + mended.stderr
    assert '|mG-Pass@4' in printed.replace(' ', '')
    one, other = results_of(tmp_path, 'gpassk_demo|0')
    assert one == other
    assert 0.2 < one['accuracy'] < 0.95
    entries = [row['metric'][NAME] for row in rows]
    again = [row['metric'][NAME] for row in details_of(tmp_path)]
    assert [{**entry, 'gpassk': ''} for entry in entries] == [{**entry, 'gpassk': ''} for entry in again]
    answers = {(row['doc']['id'], answer) for row in rows for answer in row['metric'][NAME]['answers']}
    assert 0 < asked < len(answers)
    for row, entry in zip(rows, entries, strict=True):
        right, texts = row['doc']['specific']['reference'].strip('$'), row['model_response']['text']
        assert all(answer in text for answer, text in zip(entry['answers'], texts, strict=True))
        verdicts = [answer.strip('$') == right for answer in entry['answers']]
        assert entry['verdicts'] == ['correct' if one else 'incorrect' for one in verdicts]
        assert entry['c'] == sum(verdicts)


@dataclass(frozen=True)
class Choices(Say):
    """A reply with several choices, as a server gives for n > 1: the numbers 0, 1, 2, …"""

    text: str | None = None
    n: int = 1

    async def respond(self, request: web.Request) -> web.StreamResponse:
        texts = [rf'I say \boxed{{{number}}}.' for number in range(self.n)]
        choices = [completion(text)['choices'][0] | {'index': i} for i, text in enumerate(texts)]
        return web.json_response(completion('') | {'choices': choices})


@pytest.fixture
def model():
    with JudgeServer(lambda asked: Choices(n=asked.body.get('n', 1))) as server:
        yield server


@pytest.mark.e2e
@pytest.mark.xdist_group('judged')
@pytest.mark.skipif(find_spec('litellm') is None, reason='litellm is not installed in this environment')
def test_an_endpoint_is_asked_for_n_samples_a_question(model, tmp_path):
    """In one request with n and the seed given; the n choices are the n samples."""
    questions = tmp_path / 'questions' / '202412' / 'CNMO_en.jsonl'
    questions.parent.mkdir(parents=True)
    rows = [{'question': f'Which number is {number}?', 'answer': str(number)} for number in range(6)]
    questions.write_text('\n'.join(map(json.dumps, rows)), encoding='utf-8')
    (tmp_path / 'settings.yaml').write_text('questions: questions\n')
    client = f'model_name=openai/stub,base_url={model.url}/v1,cache_dir=cache'
    done = run_lighteval(
        tmp_path,
        *('endpoint', 'litellm', f'{client},generation_parameters={{temperature:0.7,seed:3}}'),
        'livemathbench:v202412_CNMO_en@n=4@k=4',
        GPASSK_LIGHTEVAL='settings.yaml',
        OPENAI_API_KEY='sk-secret',
    )
    check(done)
    asked = [(one.body['n'], one.body['seed'], one.body['temperature']) for one in model.asked]
    assert asked == [(4, 3, 0.7)] * 6
    [table] = results_of(tmp_path, 'livemathbench:v202412_CNMO_en|0')
    assert (table['accuracy'], table['pass@4'], table['distinct_share']) == (4 / 24, 4 / 6, 1.0)
    written = [file.read_text(encoding='utf-8') for file in (tmp_path / 'results').rglob('*.json')]
    assert 'sk-secret' not in ''.join(written)


def script(folder: Path, **config: Any) -> subprocess.CompletedProcess[str]:
    """The example's script with a changed file; None takes a key out."""
    known = yaml.safe_load((EXAMPLES / 'eval_cfg.yaml').read_text(encoding='utf-8'))
    changed = {name: value for name, value in {**known, **config}.items() if value is not None}
    (folder / 'cfg.yaml').write_text(yaml.safe_dump(changed))
    return run(folder, 'python', str(EXAMPLES / 'lighteval_run.py'), 'cfg.yaml')


@pytest.mark.e2e
@pytest.mark.xdist_group('run')
def test_one_file_runs_questions_in_both_languages_before_an_llm_judge(tmp_path):
    """Asked in the row's language, judged likewise, each n times; details for the report."""
    shutil.copytree(demo.MODEL, tmp_path / 'demo_model')
    asks = {'version': demo.VERSION, 'dataset_splits': ['ADD'], 'questions': demo.QUESTIONS, 'max_tokens': 40}
    with JudgeServer(lambda asked: r'\boxed{no}') as server:
        judge = {'eval_model': 'judge', 'eval_urls': [server.url]}
        done = script(
            tmp_path, model_name_or_path='demo_model', n=2, k=[1, 2], thresholds=[1.0], **asks, **judge
        )
        prompts = [one.prompt for one in server.asked]
    assert '|mG-Pass@2' in check(done)
    assert {'请一步一步地推导' in row['doc']['query'] for row in details_of(tmp_path)} == {True, False}
    assert {'参考结果视为正确' in prompt for prompt in prompts} == {True, False}
    [read] = read_samples([tmp_path / 'outputs' / 'lighteval'])
    assert read.samples is not None
    assert (len(read.samples), read.ks, read.judge['model']) == (2 * 2 * 8, (1, 2), 'judge')
    assert {'ADD_cn', 'ADD_en'} == set(read.samples['group'])
