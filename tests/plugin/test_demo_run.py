"""`gpassk demo`: all steps in one folder of its own, on which nothing of others is lost."""

from __future__ import annotations

import importlib.util

import pytest
from fake_opencompass import called, install
from sweeping import NOT_INSTALLED

from gpassk_opencompass.cli import demo, main

NAMES = [
    'demo_t0_l40@LiveMathBench-vdemo-ADD_MUL_MIX-cn_en-k1-r1',
    'demo_t0-3_rs42_l40@LiveMathBench-vdemo-ADD_MUL_MIX-cn_en-k4_8_16-r3',
    'demo_t1-0_rs42_l40@LiveMathBench-vdemo-ADD_MUL_MIX-cn_en-k4_8_16-r3',
]
"""The runs of the shipped template."""

needs_opencompass = pytest.mark.skipif(importlib.util.find_spec('opencompass') is None, reason=NOT_INSTALLED)


def test_without_opencompass_one_line_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, 'find_spec', lambda name: None)
    assert main(['demo', '-w', str(tmp_path / 'out')]) == 2
    line = 'gpassk demo: opencompass is not installed; run: pip install "gpassk_opencompass[opencompass]"\n'
    assert capsys.readouterr() == ('', line)
    assert list(tmp_path.iterdir()) == []


@needs_opencompass
@pytest.mark.parametrize('other', ['notes.txt', 'configs/mine.py'])
def test_a_folder_of_somebody_else_is_left_alone(tmp_path, capsys, other):
    file = tmp_path / other
    file.parent.mkdir(exist_ok=True)
    file.write_text('mine')
    assert main(['demo', '-w', str(tmp_path)]) == 2
    assert f'gpassk demo: {file} is not of this demo' in capsys.readouterr().err
    assert [path for path in tmp_path.rglob('*') if path.is_file()] == [file]


@needs_opencompass
@pytest.mark.slow
def test_every_run_is_run_once(tmp_path, monkeypatch, capsys):
    install(tmp_path, monkeypatch)
    for _ in range(2):
        main(['demo', '-w', str(tmp_path / 'out')])
        assert '3 runs: 3 complete' in capsys.readouterr().out
    assert sorted(called(tmp_path)) == sorted(NAMES)
