"""Exports for Every Eval Ever, by its own validator: schema, paths, checksums, links, bounds, deployment.

The package is on no index: put its repository on PYTHONPATH, in an environment of Python 3.12 or later with
pydantic and rich.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exported_runs import TRUTH, export, scored_counts, scored_labels, scored_responses
from stored_results import with_columns

from gpassk_opencompass.exports.eee import SCHEMA_VERSION
from gpassk_opencompass.judges.prompts import find_prompts

validator = pytest.importorskip(
    'every_eval_ever.validator', reason='Every Eval Ever is not importable: put its repository on PYTHONPATH'
)

RECORDED = Path(__file__).parents[1] / 'recorded'


def complaints(files: list[Path], capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """The exit code of the validator, and its errors and warnings."""
    capsys.readouterr()
    code = validator.main(['--format', 'json', *map(str, files)])
    reports = json.loads(capsys.readouterr().out)
    assert len(reports) == len(files)
    return code, [str(one) for report in reports for one in (*report['errors'], *report['warnings'])]


def judged_by_a_model(result: Path) -> Path:
    record: dict[str, Any] = json.loads(result.read_text(encoding='utf-8'))
    prompts = find_prompts('own')
    record['gpassk']['judge'] = {
        'name': 'llm',
        'model': 'Qwen/Qwen2.5-72B-Instruct',
        'prompts': f'own:{prompts.digest}',
        'sampling': {'temperature': 0.0},
    }
    result.write_text(json.dumps(record), encoding='utf-8')
    return result


def test_the_validator_is_of_the_schema_that_is_written() -> None:
    """Another one would say less."""
    assert validator.get_schema_version() == SCHEMA_VERSION


def test_every_kind_of_result_is_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an error and without a warning, at the place where the datastore has it."""
    given = tmp_path / 'given'
    full = scored_responses(given, 'full')
    with_columns(full, output_tokens=20, prompt_tokens=9, reasoning_tokens=3, seconds=0.5)
    odd = [['\ud800', 'a\u2028b', 'c\x85d', '']] * len(TRUTH)
    unjudged = [symbols.replace('0', '?') for symbols in TRUTH]
    scored_labels(given, 'unjudged', unjudged, odd)
    scored_labels(given, 'sure', ['1111'] * 30)
    scored_labels(given, 'greedy', [symbols[0] for symbols in TRUTH])
    scored_counts(given)
    judged_by_a_model(scored_labels(given, 'llm'))
    old = [RECORDED / 'lighteval', RECORDED / 'results' / 'schema-1-whole.json']
    assert export(given, *old, '--to', 'eee', '-o', tmp_path / 'out') == 0
    ids = ('--model-id', 'full=Maker/Full-7B')
    assert export(full, '--to', 'eee', '-o', tmp_path / 'named', '--responses', *ids) == 0
    files = sorted(path for path in tmp_path.glob('*/data/**/*') if path.is_file())
    assert len([path for path in files if path.suffix == '.json']) == 9
    assert len([path for path in files if path.suffix == '.jsonl']) == 8
    assert complaints(files, capsys) == (0, [])


def test_the_validator_would_find_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A score out of its bounds, a lost line, another id: it is the real one that says nothing above."""
    result = scored_labels(tmp_path / 'given', 'labelled')
    assert export(result, '--to', 'eee', '-o', tmp_path / 'out') == 0
    [file], [lines] = (list((tmp_path / 'out').rglob(name)) for name in ('*.json', '*.jsonl'))
    record, rows = json.loads(file.read_text(encoding='utf-8')), lines.read_text(encoding='utf-8')
    lines.write_text(rows.partition('\n')[2], encoding='utf-8')
    code, said = complaints([file, lines], capsys)
    assert code == 1
    assert any('total_rows does not match' in one for one in said)
    lines.write_text(rows, encoding='utf-8')
    record['evaluation_results'][0]['score_details']['score'] = 50.0
    file.write_text(json.dumps(record), encoding='utf-8')
    code, said = complaints([file, lines], capsys)
    assert code == 1
    assert any('is outside' in one for one in said)
