"""A clock that is set back or forward."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta, tzinfo

import pytest
from fake_opencompass import behave, calls, install, record, write_configs
from judge_server import JudgeServer, fair, pairs_of
from sweep_run import judge_with

from gpassk_opencompass import text
from gpassk_opencompass.cli import main
from gpassk_opencompass.judges.verdicts import VerdictStore

pytestmark = pytest.mark.e2e

JUMPS = (-86400.0, -3600.0, -1.0, 3600.0, 86400.0)
PAIRS = pairs_of(0, 20)


def jump(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the clock of the machine; what counts seconds since its start does not notice."""
    own, own_gmtime = time.time, time.gmtime
    monkeypatch.setattr(time, 'time', lambda: own() + seconds)
    monkeypatch.setattr(time, 'gmtime', lambda at=None: own_gmtime(own() + seconds if at is None else at))


@pytest.mark.parametrize('seconds', JUMPS)
def test_verdicts_are_found_across_a_jump(tmp_path, monkeypatch, seconds):
    """A store's files begin with a time; that of the jump stands before or behind the earlier one."""
    with JudgeServer(lambda asked: fair(asked.prompt)) as server:
        for part in (PAIRS[:12], PAIRS[8:]):
            judge = judge_with(tmp_path, server)
            judge.judge(part)
            judge.close()
            jump(monkeypatch, seconds)
        assert len(server.asked) == len(PAIRS)
    assert len(list(VerdictStore(tmp_path).lines())) == len(PAIRS)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize('seconds', JUMPS)
def test_a_sweep_goes_on_across_a_jump(tmp_path, monkeypatch, seconds):
    """In its directory, with the number of workers of its start, however often it is typed again."""
    install(tmp_path, monkeypatch)
    write_configs(tmp_path, 'run')
    monkeypatch.chdir(tmp_path)
    behave(tmp_path, 'run', 'broken')
    assert main(['run', 'configs', '--', '--max-num-workers', '3']) == 1
    [time_dir] = tmp_path.glob('outputs/run/2*')
    monkeypatch.setattr(text, 'datetime', _shifted(seconds))
    for workers in ('5', '6'):
        assert main(['run', 'configs', '--', '--max-num-workers', workers]) == 1
    behave(tmp_path, 'run', 'ok')
    assert main(['run', 'configs']) == 0
    for call in calls(tmp_path)[1:]:
        assert call['arguments'][-4:] == ['--max-num-workers', '3', '-r', time_dir.name]
    [result] = time_dir.glob('results/*/*.json')
    assert json.loads(result.read_text()) == record()


def _shifted(seconds: float) -> type[datetime]:
    """The class `datetime` of a machine whose clock is off."""

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.now(tz) + timedelta(seconds=seconds)

    return Shifted
