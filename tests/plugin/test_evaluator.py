"""GPassKEvaluator as OpenCompass calls it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hosts import READER, import_plugin, write_bench
from judge_server import JudgeServer

from gpassk_opencompass import IncompleteError, InputError
from gpassk_opencompass.samples import Samples

plugin = import_plugin()

QUESTIONS = [(f'What is 3+{i}?', f'${3 + i}$') for i in range(4)]


def build_rows(tmp_path: Path, n: int = 2, **settings: Any) -> Any:
    root = write_bench(tmp_path, {'AMC_en': QUESTIONS})
    settings = {'dataset_splits': ['AMC'], 'dataset_languages': ['en'], 'reader_cfg': READER, **settings}
    return plugin.LiveMathBenchDataset(path=str(root), n=n, k=n, abbr='bench', **settings).test


def right_answers(rows: Any) -> list[str]:
    return [f'It is \\boxed{{{answer.strip("$")}}}' for answer in rows['answer']]


def evaluate(rows: Any, predictions: Any, n: int = 2, out: Path | None = None, **settings: Any) -> Any:
    evaluator = plugin.GPassKEvaluator(**settings)
    if out is not None:
        evaluator._out_dir = str(out)
    scored = {'predictions': predictions, 'references': rows['answer'], 'test_set': rows}
    if 'evaluator' in settings:
        scored = {**scored, 'origin_prompt': [''] * len(rows)}
        del scored['test_set']
    return evaluator.evaluate(n, n, rows, **scored)


@pytest.mark.parametrize(
    ('predictions', 'error', 'message'),
    [
        (lambda right: right[:7], IncompleteError, '7 predictions for 8 rows.*-r'),
        (lambda right: [], IncompleteError, '0 predictions for 8 rows'),
        (lambda right: [*right[:3], None, *right[4:]], InputError, r'the first in row 3 \(NoneType\)'),
        (lambda right: [*right[:3], ['a'], *right[4:]], InputError, 'the first in row 3'),
    ],
)
def test_predictions_that_are_not_a_text_a_row_stop(tmp_path, predictions, error, message):
    """A shard is missing: no score, and the message says how to go on; None or a list names its row."""
    rows = build_rows(tmp_path)
    with pytest.raises(error, match=message):
        evaluate(rows, predictions(right_answers(rows)))


def test_an_llm_at_a_url_judges_and_its_verdicts_are_kept(tmp_path):
    """The built-in evaluator's arguments; a second evaluation of the work directory asks nothing."""
    rows, out = build_rows(tmp_path), tmp_path / 'work' / 'results' / 'model' / 'bench'
    predictions = [f'It is \\boxed{{a_{row} + b}}' for row in range(8)]
    with JudgeServer(lambda asked: r'\boxed{no}') as server:
        given = {'out': out, 'model_name': 'judge', 'url': [server.url]}
        records = [evaluate(rows, predictions, **given) for _ in range(2)]
        assert len(server.asked) == 8
    first, second = (record['gpassk']['judge']['statistics'] for record in records)
    assert (first['asked'], second['asked'], second['stored']) == (8, 0, 8)
    assert list((tmp_path / 'work' / 'verdicts').iterdir())
    assert records[0]['gpassk']['signature'] == records[1]['gpassk']['signature']
    assert 'judge:llm-judge' in records[0]['gpassk']['signature']


EXACT = {'evaluator': {'type': 'opencompass.openicl.icl_evaluator.AccwithDetailsEvaluator'}}


@pytest.mark.parametrize('settings', [{}, EXACT], ids=['rule', 'wrapped'])
def test_a_row_a_sample_lies_beside_the_result(tmp_path, settings):
    """Where OpenCompass writes results, under the data set's whole name, with a dot too; else nowhere."""
    rows, folder = build_rows(tmp_path), tmp_path / 'work' / 'results' / 'model'
    predictions = [text if row < 4 else 'I give up' for row, text in enumerate(right_answers(rows))]
    alone = evaluate(rows, predictions, **settings)
    assert 'sample_file' not in alone['gpassk']
    record = evaluate(rows, predictions, out=folder / 'bench-0.5', **settings)
    told = record['gpassk'].pop('sample_file')
    assert record['gpassk']['counts'] == alone['gpassk']['counts']
    assert told['name'] == f'bench-0.5.{told["sha256"][:12]}.samples.parquet'
    samples = Samples.read(folder / told['name'])
    assert samples['uid'] == [uid for uid in record['gpassk']['counts']['uid'] for _ in range(2)]
    assert samples['replica'] == [0, 1] * 4
    assert samples['response'] == [predictions[at + 4 * r] for at in range(4) for r in range(2)]
    assert samples.counts().c.tolist() == record['gpassk']['counts']['c']
