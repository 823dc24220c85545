"""A judge whose server `judge_serve` starts: whose verdicts it takes from a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hosts import import_plugin
from started_servers import Script, until
from test_evaluator import build_rows

plugin = import_plugin()
pytestmark = pytest.mark.xdist_group('started')


@pytest.fixture
def script(tmp_path):
    """A server that says the same of itself whatever it serves, as lmdeploy does."""
    found = Script(tmp_path / 'script')
    found.set('reply', r'\boxed{no}')
    yield found
    until(lambda: not found.processes)


class Bench:
    """An evaluation of eight different answers, with one store of verdicts for all."""

    def __init__(self, script: Script, root: Path) -> None:
        self.script, self.root, self.rows = script, root, build_rows(root)
        self.checkpoint = root / 'one' / 'judge'
        self.write(self.checkpoint, 'weights')

    def write(self, folder: Path, weights: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / 'model.safetensors').write_text(weights)
        return folder

    def asked(self, path: Path | str, **serve: Any) -> int:
        """How many answers a judge is asked about; all of them have the name `judge`."""
        judge = {'type': 'llm', 'canaries': False, 'prompts': 'own', 'accept_equal': False}
        served = {'path': str(path), 'serve': self.script.serve(**serve), 'tp': 0}
        evaluator = plugin.GPassKEvaluator(judge=judge, judge_serve=served)
        predictions = [f'It is \\boxed{{{row + 2}x+y}}' for row in range(8)]
        told = {'predictions': predictions, 'references': self.rows['answer'], 'test_set': self.rows}
        record = evaluator.evaluate(2, 2, self.rows, **told)
        count: int = record['gpassk']['judge']['statistics']['asked']
        return count


@pytest.fixture
def bench(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('GPASSK_VERDICTS', str(tmp_path / 'verdicts'))
    return Bench(script, tmp_path)


def test_checkpoints_of_one_name_share_no_verdicts(bench):
    """By their files, or by their name on the hub; a checkpoint that was moved is the same one."""
    assert bench.asked(bench.checkpoint) == 8
    assert bench.asked(bench.checkpoint) == 0
    assert bench.asked(bench.write(bench.root / 'two' / 'judge', 'others')) == 8
    assert bench.asked(bench.write(bench.root / 'moved' / 'judge', 'weights')) == 0
    bench.write(bench.checkpoint, 'trained further')
    assert bench.asked(bench.checkpoint) == 8
    assert bench.asked('hub-a/judge') == 8
    assert bench.asked('hub-b/judge') == 8
    assert bench.asked('hub-a/judge') == 0
