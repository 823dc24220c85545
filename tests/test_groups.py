"""Splits and languages of questions that have one of them alone, wherever they are told apart again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from exported_runs import export
from pyarrow import parquet  # type: ignore[import-untyped]

from gpassk_opencompass.audit.sample import read_run
from gpassk_opencompass.cli import main
from gpassk_opencompass.exports.lm_eval import write_lm_eval
from gpassk_opencompass.results.groups import parted_group
from gpassk_opencompass.results.read import read
from gpassk_opencompass.sources.finding import find_runs
from gpassk_opencompass.sources.source import About, Reading

GIVEN = [('', ''), ('Level 1', ''), ('level_5', ''), ('level_5', 'en'), ('', 'cn'), ('sums', 'zh-Hans')]
"""Splits and languages, '' where there is none."""


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """The result of a question of each kind."""
    rows = [
        {
            'uid': f'q{number}', **({'split': split} if split else {}),
            **({'language': language} if language else {}), 'question': f'{number}?',
            'answer': str(number), 'responses': [f'\\boxed{{{number}}}', '\\boxed{-1}'],
        }
        for number, (split, language) in enumerate(GIVEN)
    ]  # fmt: skip
    given, path = tmp_path / 'rows.jsonl', tmp_path / 'rows.gpassk.json'
    given.write_text(''.join(f'{json.dumps(row)}\n' for row in rows), encoding='utf-8')
    assert main(['score', str(given), '--judge', 'rule', '-o', str(path)]) == 0
    return path


@pytest.mark.parametrize(('split', 'language'), GIVEN)
def test_a_group_comes_apart_as_it_was_made(split: str, language: str) -> None:
    """A split alone is no language, also where it has a `_` or is called like a level."""
    assert parted_group(About(1, 'q', None, split, language).group) == (split, language)


def test_each_export_has_split_and_language_as_they_were(result: Path, tmp_path: Path) -> None:
    """A table, the files of lm-eval, and the result read as a source."""
    assert export(result, '--to', 'parquet', '-o', tmp_path / 'out.parquet') == 0
    rows = parquet.read_table(tmp_path / 'out.parquet').to_pylist()[::2]
    assert [(row['split'] or '', row['language'] or '') for row in rows] == GIVEN
    samples, _ = write_lm_eval(read(result), tmp_path / 'lm')
    docs = [json.loads(line)['doc'] for line in samples.read_text(encoding='utf-8').splitlines()]
    assert [(doc['split'], doc['language']) for doc in docs] == GIVEN
    [found] = find_runs([result], Reading()).runs
    assert [(one.about.split, one.about.language) for one in found.run.questions] == GIVEN


def test_judges_are_asked_in_the_language_of_the_question(result: Path) -> None:
    """English where none is known."""
    asked = {answer.question: answer.pair.language for answer in read_run(read(result)).answers}
    assert list(asked.values()) == ['en', 'en', 'en', 'en', 'cn', 'zh-Hans']
