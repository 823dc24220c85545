"""The server of a judge: shared by evaluations, and kept by a run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import is_healthy
from started_servers import Script, until
from sweeping import configs_of as expand

from gpassk_opencompass.errors import InputError, TemplateError
from gpassk_opencompass.judges.build import served_judge
from gpassk_opencompass.runs.processes import kill_trees
from gpassk_opencompass.serving import read_judge_server, run_in_progress

USER = """
import json, sys
from pathlib import Path
from gpassk_opencompass.serving import read_judge_server
with read_judge_server(json.loads(sys.argv[1])).started(Path(sys.argv[2]), print) as address:
    print('at', address, flush=True)
    sys.stdin.read()
"""
"""An evaluation, which ends with its standard input."""


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    """A scripted judge, of which nothing may be left."""
    found = Script(tmp_path / 'script')
    yield found
    until(lambda: not found.processes)


class User:
    """An evaluation in a process of its own."""

    def __init__(self, script: Script, notes: Path, **more: Any) -> None:
        given = json.dumps({'path': '/m', 'serve': script.serve(), **more})
        self.process = subprocess.Popen(
            [sys.executable, '-c', USER, given, str(notes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def address(self) -> str:
        """Where its server is, once it knows."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(b'at '):
                return line.split()[1].decode()
        raise AssertionError('it ended without a server')

    def end(self) -> None:
        """Its block ends."""
        with self.process:
            assert self.process.stdin is not None
            self.process.stdin.close()
            assert self.process.wait(60) == 0

    def kill(self) -> None:
        """kill -9."""
        with self.process:
            self.process.kill()


def test_evaluations_at_one_time_share_a_server(script: Script, tmp_path: Path) -> None:
    """Started at once, by three processes: one life, until the last has ended."""
    users = [User(script, tmp_path / 'notes') for _ in range(3)]
    addresses = {user.address() for user in users}
    assert len(addresses) == len(script.starts) == 1
    users[0].end()
    users[1].kill()
    assert is_healthy(addresses.pop())
    users[2].end()
    until(lambda: not script.processes)
    again = User(script, tmp_path / 'notes')
    assert is_healthy(again.address())
    assert len(script.starts) == 2
    again.kill()


def test_a_server_outlives_the_evaluation_that_started_it(script: Script, tmp_path: Path) -> None:
    """Also where that is killed with all that it has started: another one has it in use."""
    first = User(script, tmp_path / 'notes')
    address = first.address()
    second = User(script, tmp_path / 'notes')
    assert second.address() == address
    with first.process:
        assert kill_trees([first.process.pid]) == {first.process.pid}
    assert is_healthy(address)
    second.end()


def test_a_server_is_on_the_gpus_that_the_run_gives_it(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it lasts as long as the run; GPUs of its own go before."""
    monkeypatch.setenv('GPASSK_JUDGE_GPUS', '2,5')
    with run_in_progress(tmp_path / 'notes' / 'servers'):
        for own in ({}, {}, {'gpus': '7'}):
            user = User(script, tmp_path / 'notes', **own)
            user.address()
            user.end()
    assert [start['gpus'] for start in script.starts] == ['2,5', '7']


def test_a_job_of_a_cluster_has_a_server_of_its_own(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends with the runs of its job, whatever other jobs of the same folder still do."""
    servers, own = tmp_path / 'notes' / 'servers', {'gpus': '3'}
    with run_in_progress(servers):
        monkeypatch.setenv('SLURM_JOB_ID', '1')
        with run_in_progress(servers):
            first = User(script, tmp_path / 'notes', **own)
            first.address()
        monkeypatch.setenv('SLURM_JOB_ID', '2')
        second = User(script, tmp_path / 'notes', **own)
        second.address()
        assert len(script.starts) == 2
        second.end()
        first.end()
        until(lambda: not script.processes)


@pytest.mark.parametrize(
    ('given', 'complaint'),
    [
        ('vllm', 'expected a dict like'),
        ({'server': 'vllm'}, 'judge_serve.path = None: which model judges'),
        ({'server': 'vllm', 'path': 'm', 'urls': []}, r"judge_serve has \['urls'\]; it takes server, path"),
        ({'server': 'vllm', 'path': 'm', 'tp': -1}, 'judge_serve.tp = -1'),
        ({'server': 'vllm', 'path': 'm', 'pp': 0}, 'judge_serve.pp = 0'),
        ({'server': 'vllm', 'path': 'm', 'gpus': 3}, 'judge_serve.gpus = 3: expected a text'),
        ({'path': 'm'}, 'judge_serve: which server'),
    ],
)
def test_a_judge_that_cannot_be_served_is_refused(given: Any, complaint: str) -> None:
    """Where it is read, before anything is generated."""
    with pytest.raises(InputError, match=complaint):
        read_judge_server(given)


def test_the_address_goes_to_the_llm_within_a_cascade() -> None:
    """The rule judge before it has none."""
    cascade = {'type': 'cascade', 'first': {'type': 'rule'}, 'second': {'type': 'llm', 'max_tokens': 9}}
    second = served_judge(cascade, 'j', 'http://127.0.0.1:1', {'patience': 7.0})['second']
    assert second == {
        'type': 'llm',
        'max_tokens': 9,
        'model': 'j',
        'urls': ['http://127.0.0.1:1'],
        'patience': 7.0,
    }
    with pytest.raises(InputError, match='asks no LLM'):
        served_judge({'type': 'rule'}, 'j', 'http://127.0.0.1:1', {})
    with pytest.raises(InputError, match='judge has urls'):
        served_judge({'type': 'llm', 'urls': ['http://x']}, 'j', 'http://127.0.0.1:1', {})


def test_a_template_says_judge_serve() -> None:
    """The config has the whole command line, and the judge's name; a second judge is refused."""
    lines = {
        'llm_infos': ['org/m'],
        'temperatures': [1.0],
        'max_out_lens': [64],
        'greedy': False,
        'judge_serve': {
            'server': 'vllm',
            'path': 'org/judge-7b',
            'tp': 2,
            'serve': {'arguments': '--dtype half'},
        },
    }
    [config] = expand(lines).values()
    evaluator = config['datasets'][0]['eval_cfg']['evaluator']
    assert evaluator['judge'] == {'type': 'llm', 'model': 'judge-7b'}
    assert evaluator['judge_serve']['serve']['command'].endswith('--dtype half')
    for more in (
        {'eval_urls': ['http://x']},
        {'judge': {'type': 'llm', 'model': 'x'}},
        {'judge': {'type': 'rule'}},
    ):
        with pytest.raises(TemplateError, match='judge'):
            expand(lines | more)
