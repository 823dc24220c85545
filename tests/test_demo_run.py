"""The run of the demo: OpenCompass on every config of a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hosts import dataset_config, environment, write_bench, write_config

from gpassk_opencompass.demo.__main__ import main, step_of


@pytest.fixture
def _tasks_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('PYTHONPATH', environment()['PYTHONPATH'])


def test_a_folder_without_configs_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do first."""
    with pytest.raises(SystemExit, match='2'):
        main([str(tmp_path)])
    assert 'run dump_configs.py first' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('logs', 'step'),
    [
        ({}, 'starting OpenCompass'),
        ({'infer/m/d.out': ' 40%|████| 4/10\r 70%|███████| 7/10'}, 'sampling, 60 %'),
        ({'infer/m/d.out': '100%|██████████| 10/10', 'eval/m/d.out': ''}, 'judging the answers'),
    ],
)
def test_the_step_is_read_from_the_logs(tmp_path: Path, logs: dict[str, str], step: str) -> None:
    """Steps of 20 %, so that a log file gets a few lines and not thousands."""
    for name, text in logs.items():
        path = tmp_path / '20260101_000000' / 'logs' / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert step_of(tmp_path, started=0.0) == step


def test_logs_of_an_earlier_run_do_not_count(tmp_path: Path) -> None:
    """A second run starts at the start."""
    path = tmp_path / '20260101_000000' / 'logs' / 'eval' / 'm' / 'd.out'
    path.parent.mkdir(parents=True)
    path.touch()
    os.utime(path, (1, 1))
    assert step_of(tmp_path, started=2.0) == 'starting OpenCompass'


@pytest.mark.e2e
@pytest.mark.usefixtures('_tasks_find_the_tests')
def test_a_run_without_result_fails_and_shows_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OpenCompass exits with 0 when a task failed; the demo does not, and prints the task's last lines."""
    root = write_bench(tmp_path / 'data', {'AMC_en': [('What is 3+4?', '$7$')]})
    model = {'type': 'scripted.NoSuchModel', 'abbr': 'none', 'path': '', 'run_cfg': {'num_gpus': 0}}
    (tmp_path / 'configs').mkdir()
    write_config(tmp_path / 'configs' / 'run.py', model, dataset_config(root))
    assert main([str(tmp_path / 'configs'), '--work_dir', str(tmp_path / 'out')]) == 1
    said = capsys.readouterr().err
    assert 'run: no result' in said
    assert 'NoSuchModel' in said
