"""What `gpassk expand` says of questions that cannot be read, before it writes anything."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hosts import write_bench
from judge_server import dead_url
from sweeping import BASE, NOT_INSTALLED

from gpassk_opencompass.cli import main

AMC = {'AMC_en': [('What is 1 + 1?', '2')], 'AMC_cn': [('1 + 1 是多少？', '2')]}
SPLIT = "dataset_splits = 'AMC'\n"


class FakeHub(BaseHTTPRequestHandler):
    """Answers as the hub does: a data set and who may have it (the one with the token), its subsets."""

    gated, token = False, ''
    subsets: ClassVar[list[str]] = []
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        code, error, content = self.reply(self.headers.get('Authorization', ''))
        self.send_response(code)
        if error:
            self.send_header('X-Error-Code', error)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())

    def reply(self, authorization: str) -> tuple[int, str, Any]:
        name, _, rest = self.path.removeprefix('/api/datasets/').partition('LiveMathBench')
        if name != 'opencompass/':
            return 404 if authorization else 401, 'RepoNotFound', {}
        if rest == '/auth-check' and self.gated and authorization != f'Bearer {self.token}':
            return 403 if authorization else 401, 'GatedRepo', {}
        if rest.startswith('/revision/') and rest != '/revision/v2':
            return 404, 'RevisionNotFound', {}
        card = {'configs': [{'config_name': one} for one in self.subsets]}
        return 200, '', {'id': 'opencompass/LiveMathBench', 'gated': self.gated and 'auto', 'cardData': card}

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub on this machine, and a home without a token or a cache, where commands are typed."""
    constants = pytest.importorskip('huggingface_hub.constants', reason=NOT_INSTALLED)
    monkeypatch.setattr(constants, 'HF_HUB_OFFLINE', False)  # as it was when it was first imported
    http = import_module('huggingface_hub.utils._http')
    forget = getattr(http, 'reset_sessions', None) or http.close_session  # which may be offline ones
    forget()
    fake = type('Hub', (FakeHub,), {'asked': []})
    server = ThreadingHTTPServer(('127.0.0.1', 0), fake)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    offline = 'HF_HUB_OFFLINE HF_DATASETS_OFFLINE COMPASS_DATA_CACHE'
    for name in f'{offline} HF_TOKEN HUGGING_FACE_HUB_TOKEN HF_TOKEN_PATH HF_DATASETS_CACHE'.split():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('HF_ENDPOINT', f'http://127.0.0.1:{server.server_port}')
    monkeypatch.setenv('HF_HOME', str(tmp_path / 'hf'))
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('NO_PROXY', '127.0.0.1')
    monkeypatch.chdir(tmp_path)
    yield fake
    forget()
    server.shutdown()
    server.server_close()
    thread.join()


def expand(text: str, *options: str) -> int:
    Path('template.py').write_text(BASE + text, encoding='utf-8')
    return main(['expand', 'template.py', '--output-dir', 'configs', *options])


def refusal(capsys: pytest.CaptureFixture[str], text: str) -> list[str]:
    """The lines on the data sets that cannot be read; nothing may have been written."""
    capsys.readouterr()
    assert expand(text) == 2
    assert not Path('configs').exists()
    said = capsys.readouterr()
    assert said.out == ''
    head, *lines = said.err.splitlines()
    assert 'questions cannot be read here, so no config is written; --no-data-check' in head
    return [line.strip() for line in lines]


@pytest.mark.parametrize(
    ('lines', 'said'),
    [
        (
            f"{SPLIT}dataset_path = '/nowhere/data'",
            "LiveMathBench-v202412-AMC-cn_en: no data at path='/nowhere/data'",
        ),
        (
            "dataset_splits = ['AMC', 'AMX']; dataset_path = 'data'",
            '202412/AMX_cn.jsonl does not exist; its folder holds AMC_cn.jsonl, AMC_en.jsonl (looked',
        ),
        (
            f"{SPLIT}dataset_languages = ['en', 'fr']; dataset_path = 'data'",
            'AMC_fr.jsonl does not exist',
        ),
        (f"{SPLIT}dataset_path = 'torn'", 'AMC_en.jsonl, line 2: no JSON'),
    ],
)
def test_each_way_of_missing_data_is_a_line(hub, capsys, lines, said):
    write_bench(Path('data'), AMC)
    write_bench(Path('torn'), AMC)
    Path('torn', '202412', 'AMC_en.jsonl').write_text('{"question": "1 + 1?", "answer": "2"}\n{"question"\n')
    (line,) = refusal(capsys, f'{lines}\n')
    assert said in line


def test_a_dry_run_tells_the_costs_and_what_is_missing(hub, capsys):
    """It ends as the real call would."""
    assert expand("dataset_path = '/nowhere/data'\n", '--dry-run') == 2
    said = capsys.readouterr().out
    assert '| LiveMathBench-v202412 |' in said
    assert 'would be refused: template.py: questions cannot be read here' in said
    assert "no data at path='/nowhere/data'" in said


@pytest.mark.parametrize(
    ('token', 'said'),
    [
        (
            '',
            'there is no token here: ask for access at https://huggingface.co/datasets/opencompass/LiveMathBench',
        ),
        ('hf_other', 'your token has no access'),
    ],
)
def test_a_gated_data_set_says_what_to_do_and_shows_no_token(hub, capsys, monkeypatch, token, said):
    hub.gated, hub.token = True, 'right'
    if token:
        monkeypatch.setenv('HF_TOKEN', token)
    (line,) = refusal(capsys, '')
    assert f'LiveMathBench-v202412: opencompass/LiveMathBench is gated, and {said}' in line
    assert 'hf_other' not in line


def test_what_the_hub_does_not_have_is_a_line(hub, capsys):
    (line,) = refusal(capsys, "dataset_path = 'data/nothing'\n")
    assert f'data/nothing is no folder in {Path.cwd()}, so it is taken for a data set of the hub' in line
    assert 'the hub has no data set data/nothing' in line
    hub.subsets = ['v202412_AMC_en', 'v202412_AMC_cn']
    (line,) = refusal(capsys, "dataset_splits = ['AMC', 'AMX']\n")
    assert 'has no subset v202412_AMX_cn, v202412_AMX_en, only v202412_AMC_en, v202412_AMC_cn' in line
    (line,) = refusal(capsys, f"{SPLIT}dataset_revision = 'v3'\n")
    assert "opencompass/LiveMathBench has no revision 'v3'" in line
    assert expand(f"{SPLIT}dataset_revision = 'v2'\n") == 0


def test_without_a_network_it_is_said_that_nothing_was_checked(hub, monkeypatch, capsys):
    with dead_url() as nobody:
        monkeypatch.setenv('HF_ENDPOINT', nobody)
        assert expand("benchmarks = ['livemathbench', 'math500-l5', 'olymmath-en-hard']\n") == 0
    said = capsys.readouterr()
    assert said.out == '3 configs in configs: 3 written, 0 unchanged\n'
    (line,) = said.err.splitlines()
    assert line.startswith('data not checked: LiveMathBench-v202412, MATH500-L5, OlymMATH-en-hard: ')
    assert 'cannot be reached' in line
    assert hub.asked == []


NEEDS = """
llm_infos = [
    dict(path='gpt-4o', key_env='NO_SUCH_KEY_HERE'),
    dict(path='m', openai_api_base='http://127.0.0.1:1/v1', key='EMPTY', tokenizer_path='org/m'),
]
engine = 'openai'
"""


def test_what_a_run_would_miss_here_is_said(hub, capsys, monkeypatch):
    write_bench(Path('data'), AMC)
    there = f"{SPLIT}dataset_path = 'data'\n"
    assert expand(f"{there}llm_infos = ['/nowhere/model', '{Path.cwd()}', 'org/m']\n") == 0
    assert capsys.readouterr().err == '/nowhere/model does not exist here (the path of model)\n'
    monkeypatch.setenv('TIKTOKEN_CACHE_DIR', str(Path.cwd()))
    assert expand(there + NEEDS) == 0
    key, tokenizer = capsys.readouterr().err.splitlines()
    assert key == '$NO_SUCH_KEY_HERE is not set here: gpt-4o is asked with the key in it'
    assert 'tokenizer of gpt-4o' in tokenizer
    assert 'tokenizer_path' in tokenizer


def test_a_token_that_cannot_be_sent_is_not_shown(hub, capsys, monkeypatch):
    """What Python says of it has the token in it."""
    monkeypatch.setenv('HF_TOKEN', 'hf_secret二')
    assert expand('') == 0
    said = capsys.readouterr()
    assert 'the hub cannot be reached' in said.err
    assert 'hf_secret' not in said.out + said.err
