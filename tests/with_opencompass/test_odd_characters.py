"""Responses that no UTF-8 file can hold, or whose characters some programs take for line breaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forks import Forks
from hosts import dataset_config, import_plugin, results_of, scripted, write_bench, write_config

from gpassk_opencompass.cli import main

import_plugin()
pytestmark = pytest.mark.e2e

TEXTS = ['It is \\boxed{7}. \ud800', '\\boxed{\udc00}', 'A\u2028B\x85C: \\boxed{7}', '二 \\boxed{8}']
"""Two halves of characters, what `str.splitlines` splits at, and what is to stay as it is."""

QUESTIONS = [(f'What is {i}+7-{i}?', '$7$') for i in range(4)]


def test_half_a_character_in_a_response_is_kept_and_scored(forks: Forks, tmp_path: Path) -> None:
    """Engines read it from JSON; predictions keep it, the result shows it, the run is complete."""
    root = write_bench(tmp_path / 'data', {'AMC_en': QUESTIONS})
    config = write_config(tmp_path / 'run.py', scripted(texts=TEXTS), dataset_config(root, k=[2, 4], n=4))
    forks.opencompass(config, tmp_path / 'out')
    [predictions] = (tmp_path / 'out').glob('*/predictions/*/bench.json')
    text = predictions.read_text(encoding='utf-8')
    assert text.isascii()  # so that no reader breaks a line within a row
    found = json.loads(text)
    assert [found[str(row)]['prediction'] for row in range(16)] == TEXTS * 4
    [result] = results_of(tmp_path / 'out')
    assert result['accuracy'] == 50.0
    given = {answer for question in result['details']['answers'] for answer in question}
    assert given == {'7', r'\udc00', '8'}
    assert main(['report', str(tmp_path / 'out'), '-o', str(tmp_path / 'report')]) == 0
