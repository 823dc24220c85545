"""The `lighteval` command with an LLM as the judge, and with a model behind an address."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiohttp import web
from commands import details_of, lighteval, results_of
from judge_server import PROMPTS, Act, Asked, JudgeServer, Say, completion

from gpassk_opencompass import demo

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('judged')]

DEMO = 'gpassk_demo|0'


def equal(asked: Asked) -> Act:
    """Says yes where reference and answer are one text."""
    said = re.search(r'(?:reference|参考)=(.*) answer=(.*) \.$', asked.prompt, re.DOTALL)
    assert said is not None
    return r'\boxed{yes}' if said[1].strip('$') == said[2].strip('$') else r'\boxed{no}'


def judging(server: JudgeServer, folder: Path) -> dict[str, str]:
    """Variables by which this server judges, asked for every answer, with the verdicts in a folder."""
    options = {'prompts': PROMPTS, 'accept_equal': False, 'progress': False}
    return {
        'GPASSK_JUDGE_MODEL': 'judge',
        'GPASSK_JUDGE_URLS': server.url,
        'GPASSK_JUDGE_OPTIONS': json.dumps(options),
        'GPASSK_VERDICTS': str(folder / 'verdicts'),
    }


def numbers(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries without what the judge did to come to them."""
    return [{**row['metric']['G-Pass@k'], 'gpassk': ''} for row in rows]


Run = subprocess.CompletedProcess[str]


class Judged(NamedTuple):
    """One command three times: with a judge that fails now and then, with a good one, and once more."""

    folder: Path
    stopped: Run
    mended: Run
    warm: Run
    results_of_stopped: bool
    first: list[dict[str, Any]]
    """The details of the second time."""
    asked: tuple[int, int]
    """Of the good judge, until after the second time and in all."""


@pytest.fixture(scope='module')
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """The demo's model and an LLM judge."""
    folder = tmp_path_factory.mktemp('judged')
    shutil.copytree(demo.MODEL, folder / 'demo_model')
    run = (
        'accelerate',
        'model_name=demo_model,cache_dir=cache,batch_size=48,generation_parameters={temperature:1.0}',
        'gpassk_demo@n=4@k=4',
    )
    with JudgeServer(lambda asked: 'hm' if asked.number % 3 == 0 else equal(asked)) as broken:
        stopped = lighteval(folder, *run, **judging(broken, folder))
    results_of_stopped = (folder / 'results').exists()
    with JudgeServer(equal) as server:
        mended = lighteval(folder, *run, **judging(server, folder))
        assert mended.returncode == 0, mended.stdout[-3000:] + mended.stderr[-3000:]
        asked, first = len(server.asked), details_of(folder)
        warm = lighteval(folder, *run, **judging(server, folder))
        return Judged(folder, stopped, mended, warm, results_of_stopped, first, (asked, len(server.asked)))


def test_a_stopped_judge_loses_nothing_and_a_warm_store_asks_nobody(judged: Judged) -> None:
    """Responses come from Lighteval's cache, verdicts from the store; what is missing is asked for."""
    assert judged.stopped.returncode != 0
    assert 'stayed unjudged' in judged.stopped.stdout + judged.stopped.stderr
    assert not judged.results_of_stopped
    assert '48/48 samples are cached' in judged.mended.stdout + judged.mended.stderr
    entries = [(row['doc']['id'], row['metric']['G-Pass@k']) for row in judged.first]
    pairs = {(number, answer) for number, entry in entries for answer in entry['answers']}
    asked, asked_in_all = judged.asked
    assert 0 < asked < len(pairs)
    assert (judged.warm.returncode, asked_in_all) == (0, asked)
    assert numbers(details_of(judged.folder)) == numbers(judged.first)
    one, other = results_of(judged.folder, DEMO)
    assert one == other
    assert 0.2 < one['accuracy'] < 0.95
    assert '|mG-Pass@4' in judged.warm.stdout.replace(' ', '')


def test_saved_details_have_each_verdict_beside_its_response(judged: Judged) -> None:
    """Read back from the file: the n texts, their answers, and a verdict that fits each."""
    assert len(judged.first) == 48
    for row in judged.first:
        entry, right = row['metric']['G-Pass@k'], row['doc']['specific']['reference'].strip('$')
        assert all(
            answer in text
            for answer, text in zip(entry['answers'], row['model_response']['text'], strict=True)
        )
        assert entry['verdicts'] == [
            '1' if answer.strip('$') == right else '0' for answer in entry['answers']
        ]
        assert entry['c'] == entry['verdicts'].count('1')
        assert json.loads(entry['gpassk'])['judge']['model'] == 'judge'


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
def model() -> Iterator[JudgeServer]:
    """A model behind an address."""
    with JudgeServer(lambda asked: Choices(n=asked.body.get('n', 1))) as server:
        yield server


@pytest.mark.skipif(find_spec('litellm') is None, reason='litellm is not installed in this environment')
def test_an_endpoint_is_asked_for_n_samples_a_question(model: JudgeServer, tmp_path: Path) -> None:
    """In one request with n and the seed given; the n choices are the n samples."""
    questions = tmp_path / 'questions' / '202412' / 'CNMO_en.jsonl'
    questions.parent.mkdir(parents=True)
    rows = [{'question': f'Which number is {number}?', 'answer': str(number)} for number in range(6)]
    questions.write_text('\n'.join(map(json.dumps, rows)), encoding='utf-8')
    done = lighteval(
        tmp_path,
        *('endpoint', 'litellm'),
        f'model_name=openai/stub,base_url={model.url}/v1,cache_dir=cache,'
        'generation_parameters={temperature:0.7,seed:3}',
        'livemathbench:v202412_CNMO_en@n=4@k=4',
        GPASSK_QUESTIONS=str(tmp_path / 'questions'),
        OPENAI_API_KEY='sk-secret',
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert len(model.asked) == 6
    assert {(asked.body['n'], asked.body['seed'], asked.body['temperature']) for asked in model.asked} == {
        (4, 3, 0.7)
    }
    [table] = results_of(tmp_path, 'livemathbench:v202412_CNMO_en|0')
    assert (table['accuracy'], table['pass@4'], table['distinct_share']) == (4 / 24, 4 / 6, 1.0)
    assert 'sk-secret' not in ''.join(
        file.read_text(encoding='utf-8') for file in (tmp_path / 'results').rglob('*.json')
    )
