"""The run of the demo: OpenCompass on every config of a folder, then one table."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_opencompass import install, write_configs

from gpassk_opencompass.demo.__main__ import main


def test_a_folder_without_configs_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do first."""
    assert main([str(tmp_path)]) == 2
    assert 'run dump_configs.py first' in capsys.readouterr().err


@pytest.mark.slow
def test_the_table_is_the_last_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row a run, and a file with every metric."""
    install(tmp_path, monkeypatch)
    configs = write_configs(tmp_path, 'one', 'two')
    assert main([str(configs), '--work_dir', str(tmp_path / 'out')]) == 0
    said = capsys.readouterr().out
    assert said.index('2 runs: 2 complete') < said.index('| model')
    assert len((tmp_path / 'out' / 'table.csv').read_text().splitlines()) == 3


@pytest.mark.slow
def test_without_a_result_there_is_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is that of `gpassk run`, which shows why."""
    install(tmp_path, monkeypatch)
    configs = write_configs(tmp_path, 'one', 'broken')
    assert main([str(configs), '--work_dir', str(tmp_path / 'out')]) == 1
    said = capsys.readouterr()
    assert 'RuntimeError: broken' in said.err
    assert '| model' not in said.out
