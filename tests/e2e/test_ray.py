"""`gpassk run --ray` without a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_opencompass import write_configs
from hosts import import_plugin

from gpassk_opencompass.cli import main

import_plugin()
pytestmark = pytest.mark.e2e


def test_a_cluster_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the address."""
    monkeypatch.chdir(tmp_path)
    write_configs(tmp_path, 'ok')
    assert main(['run', 'configs', '--ray', 'no address']) == 2
    assert '--ray no address: no cluster there: ' in capsys.readouterr().err
