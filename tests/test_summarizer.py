"""GPassKSummarizer: what it prints, writes and warns of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hosts import import_plugin

from gpassk_opencompass import FunctionJudge, Samples, score

plugin = import_plugin()


def make_record(responses: list[str], verdicts: dict[str, bool | None]) -> dict[str, Any]:
    n = len(responses)
    columns = {
        'question': 'q',
        'reference': '1',
        'split': 'AMC',
        'language': 'en',
        'problem': 'p',
        'uid': 'u',
    }
    samples = Samples(
        response=responses, replica=list(range(n)), **{name: [value] * n for name, value in columns.items()}
    )
    judge = FunctionJudge(lambda pair: verdicts[pair.answer])
    return score(samples, judge, n=n, k=2, unjudged_tolerance=1.0)


def summarize(tmp_path: Path, record: dict[str, Any] | None, *others: str) -> Path:
    models = [{'abbr': 'model'}, *({'abbr': other} for other in others)]
    config = {'work_dir': str(tmp_path), 'models': models, 'datasets': [{'abbr': 'bench'}]}
    path = tmp_path / 'results' / 'model' / 'bench.json'
    path.parent.mkdir(parents=True)
    if record is not None:
        path.write_text(json.dumps(record))
    plugin.GPassKSummarizer(config).summarize('now')
    return tmp_path / 'summary'


def test_the_table_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same text on the screen and in the .md; every metric in the .csv files."""
    folder = summarize(tmp_path, make_record([r'\boxed{1}', r'\boxed{2}'], {'1': True, '2': False}))
    text = (folder / 'summary_now.md').read_text()
    assert text in capsys.readouterr().out
    assert '| model   | bench     |   2 |      50.00 |' in text
    assert 'WARNING' not in text
    assert 'G-Pass@2_0.25' in (folder / 'summary_now.csv').read_text()
    assert 'AMC_en' in (folder / 'summary_now.breakdown.csv').read_text()


def test_what_a_reader_should_know_is_said(tmp_path: Path) -> None:
    """Cut-off responses and unjudged samples stand below the table."""
    record = make_record(
        [r'\boxed{1}', r'\boxed{3}', r'hence \boxed{2'], {'1': True, '3': None, '2': False, '': False}
    )
    text = (summarize(tmp_path, record) / 'summary_now.md').read_text()
    assert '1 of 3 responses look cut off' in text
    assert '1 samples unjudged: accuracy from 33.33 to 66.67' in text


def test_a_missing_result_is_named(tmp_path: Path) -> None:
    """A failed task leaves a line, not only a row less; without any result there is no table."""
    record = make_record([r'\boxed{1}', r'\boxed{2}'], {'1': True, '2': False})
    text = (summarize(tmp_path / 'one', record, 'gone') / 'summary_now.md').read_text()
    assert 'MISSING' in text
    assert 'gone/bench.json' in text
    assert not summarize(tmp_path / 'none', None).exists()
