"""Work directories of OpenCompass 0.5.4: data sets with n = 4, and its own LiveMathBench."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import old_work_dir as old
import pytest
from exact import Exact, g_pass
from harness_logs import RECORDED, said, samples_of
from harness_logs import verdicts as symbols_of
from hosts import write_bench

from gpassk_opencompass.benchmarks import dataset_rows
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.files import PROVENANCE
from gpassk_opencompass.formats import read_samples
from gpassk_opencompass.formats.opencompass import FORMAT
from gpassk_opencompass.samples import Run
from gpassk_opencompass.scoring import score

LOGS = RECORDED / 'opencompass'
GOLDEN = RECORDED.parent / 'golden' / 'work_dir'
TIME = '20260101_120000'
COUNTS = [4, 3, 2, 1, 0]
"""Right samples of the five questions, by construction: those with the least numbers."""
VERDICTS = ['1111', '1110', '1100', '1000', '0000']


def file(name: str, kind: str, *parts: str) -> Path:
    return LOGS.joinpath(name, TIME, kind, *parts)


def read(*paths: Path, only: str = '') -> Run:
    [run] = [run for run in read_samples(paths, 'opencompass') if only in run.name]
    return run


def verdicts(run: Run) -> list[str]:
    return list(symbols_of(run).values())


def edited(path: Path, change: Callable[[Any], Any]) -> None:
    content = json.loads(path.read_text(encoding='utf-8'))
    change(content)
    path.write_text(json.dumps(content), encoding='utf-8')


@pytest.fixture
def copied(tmp_path):
    return lambda name: shutil.copytree(LOGS / name, tmp_path / name)


@pytest.fixture
def nested(copied):
    """A copy of the run of `math`, its predictions and its result."""
    root = copied('math')
    return (root, *(next(root.rglob(f'{kind}/org/nested/*.json')) for kind in ('predictions', 'results')))


@pytest.mark.parametrize(
    ('name', 'model', 'dataset', 'counts', 'judge'),
    [
        ('rules', 'scripted', 'aime-rule', COUNTS, 'MATHVerifyEvaluator'),
        ('math', 'org/nested', 'aime-math', COUNTS, 'MATHEvaluator'),
        ('judges', 'in-words', 'aime-cascade', [4, 3, 2, 1], 'CascadeEvaluator'),
        ('llm', 'judged', 'aime-llm', COUNTS, 'GenericLLMEvaluator'),
    ],
    ids=['parts', 'nested name', 'cascade', 'LLM'],
)
def test_the_evaluators_verdicts_are_taken(name, model, dataset, counts, judge):
    """Of each evaluator, with who judged and its k; the scores are exact."""
    run = read(LOGS / name, only=model)
    assert (run.model, run.dataset, run.ks, run.written_by) == (model, dataset, (2, 4), 'OpenCompass')
    assert run.judge == {'name': f'OpenCompass {judge}'}
    assert run.created == '2026-01-01T12:00:00'
    told = samples_of(run).counts()
    assert (told.c.tolist(), set(told.n.tolist())) == (counts, {4})
    assert list(told.uid) == [f'{dataset}_{number}' for number in range(len(counts))]
    scores = score(samples_of(run), run.judge, k=run.ks, unjudged_tolerance=0.1).scores()
    for k in (2, 4):
        for threshold in (0.5, 1.0):
            assert abs(scores[f'G-Pass@{k}_{threshold}'] - g_pass(counts, 4, k, threshold)) < 1e-9


def test_samples_keep_their_order_texts_and_places():
    """Also over the two parts of the predictions: each text says which sample it is of which question."""
    run = read(LOGS / 'rules', only='scripted')
    assert run.settings == {'max_out_len': 64, 'temperature': 0.7, 'top_p': 0.95}
    assert verdicts(run) == VERDICTS
    found = samples_of(run)
    for number, rows in enumerate(found.by_question().values()):
        for replica, row in enumerate(rows):
            assert found['question'][row] == f'What is {number} + 10?'
            assert found['reference'][row] == str(number + 10)
            text = found['response'][row]
            assert text.startswith(f'Sample {replica} of question {number},')
            place = json.loads(Path(found['file'][row]).read_text())[str(found['row'][row] - 1)]
            assert place['prediction'] == text


def test_a_round_that_no_llm_judged_counts():
    """OpenCompass's own G-Pass@k takes these right samples for wrong ones, which is said."""
    theirs = json.loads(file('judges', 'results', 'in-words', 'aime-cascade.json').read_text())
    assert theirs['accuracy (4 runs average)'] == 62.5
    assert theirs['G-Pass@4_0.0'] < 100
    run = read(LOGS / 'judges')
    assert samples_of(run).counts().c.sum() / 16 == 0.625
    assert '4 questions have a round that no LLM judged' in said(run)


def test_a_reply_without_a_letter_is_unjudged():
    """'I Am not sure.' counts as A for OpenCompass, of a sample that is wrong."""
    theirs = json.loads(file('llm', 'results', 'judged', 'aime-llm.json').read_text())
    assert theirs['accuracy (4 runs average)'] == 55
    run = read(LOGS / 'llm')
    assert verdicts(run) == ['1111', '1110', '110?', '1000', '0000']
    assert 'more than its letter' in said(run)


def test_single_files_are_read_with_what_lies_beside_them():
    """A result with its responses; parts given one by one are one run; a judge's replies are no run."""
    result = file('rules', 'results', 'scripted', 'aime-rule.json')
    parts = [file('rules', 'predictions', 'scripted', f'aime-rule_{part}.json') for part in (0, 1)]
    for paths in ([result], parts[:1], parts[1:], parts, [*parts, result]):
        run = read(*paths)
        assert (run.model, run.dataset, verdicts(run)) == ('scripted', 'aime-rule', VERDICTS)
        assert 'response' in samples_of(run)
    replies = file('llm', 'results', 'judged', 'aime-llm_replica0.json')
    assert not FORMAT.recognises(replies, None)
    assert len(read_samples([LOGS / 'llm', LOGS / 'llm' / TIME])) == 1


def test_a_run_without_results_or_config_is_read_by_how_its_questions_repeat(copied, tmp_path):
    """n is that of the config, or without one, how often the questions repeat; also of parts, or alone."""
    root = copied('rules')
    shutil.rmtree(root / TIME / 'results')
    shutil.rmtree(root / TIME / 'predictions' / 'copies')
    with_config = read(root)
    shutil.rmtree(root / TIME / 'configs')
    [path] = (LOGS / 'math').rglob('predictions/org/nested/*.json')
    for run in (with_config, read(root), read(shutil.copy(path, tmp_path / 'd.json'))):
        assert 'verdict' not in samples_of(run)
        assert score(samples_of(run), Exact(), k=[2, 4]).table.c.tolist() == COUNTS
    edited(
        tmp_path / 'd.json', lambda rows: [row.update(origin_prompt='', gold='1') for row in rows.values()]
    )
    assert set(samples_of(read(tmp_path / 'd.json')).counts().n) == {1}


def test_results_of_this_package_are_left_to_the_records(nested):
    """Predictions of this package without a result are responses."""
    root, predictions, result = nested
    predictions.with_name(PROVENANCE).write_text('{}')
    assert not FORMAT.recognises(root, None)
    assert not FORMAT.recognises(predictions, None)
    predictions.with_name(PROVENANCE).unlink()
    assert FORMAT.recognises(root, None)
    result.write_text('{"details": {"question": ["1?"]}, "gpassk": {}}')
    assert not FORMAT.recognises(root, None)
    assert not FORMAT.recognises(result, json.loads(result.read_text()))
    run = read(GOLDEN)
    assert run.model == 'demo_t1.0_rs42_l40'
    assert samples_of(run).counts().n.tolist() == [8] * 12


_FULL: dict[str, Any] = {'example_abbr': 'd_0', 'pred': ['7', '8'], 'correct': [True, False]}


@pytest.mark.parametrize(
    ('details', 'expected'),
    [
        ([{**_FULL, 'ref': ['7'] * 2, 'is_correct': [True, False], 'correct': None}], ['10']),
        ([{'example_abbr': 'd_0', 'pred': ['7', '8'], 'correct': [1.0, float('nan')]}], ['1?']),
        ([{**_FULL, 'correct': [True]}, {**_FULL, 'example_abbr': 'd_1'}], ['??', '10']),
        ({'type': 'GEN', '0': {'pred': '7', 'answer': '7', 'correct': True}}, ['1']),
        ([{'pred': '7', 'answer': '7', 'correct': False}, {'pred': '7', 'correct': True}], ['0', '1']),
    ],
    ids=['is_correct', 'numbers', 'too few', 'rows of an object', 'rows of a list'],
)
def test_forms_of_other_evaluators(details, expected, tmp_path):
    """Those of older versions have an entry a row; a list with too few verdicts tells of no sample."""
    path = tmp_path / 'd.json'
    path.write_text(json.dumps({'accuracy': 50.0, 'details': details}))
    run = read(path)
    assert verdicts(run) == expected
    assert ('??' in expected) == ('fewer verdicts than their samples' in said(run))


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda rows: rows.pop('3'), 'rows are missing, it has 19 and the last one is number 19'),
        (lambda rows: rows['7'].update(gold='0'), 'row 7 repeats another question than it should'),
        (lambda rows: rows['7'].update(prediction=[{}]), 'is a dict; expected a text'),
        (lambda rows: [rows.pop(str(row)) for row in range(15, 20)], '; 20 were evaluated'),
    ],
    ids=['middle', 'reference', 'prediction', 'fewer than judged'],
)
def test_predictions_that_do_not_fit_are_refused(change, message, nested):
    """No verdict is given to another sample than its own."""
    edited(nested[1], change)
    with pytest.raises(InputError, match=message.replace('?', '[?]')):
        read(nested[0])


def test_a_sample_without_a_response_is_unjudged(nested):
    """So are those of a question with too few verdicts, which is said; the others are what they were."""
    root, predictions, result = nested
    edited(predictions, lambda rows: rows['5'].update(prediction=None))
    run = read(root)
    assert verdicts(run) == ['1?11', *VERDICTS[1:]]
    assert [row for row, state in enumerate(samples_of(run)['state']) if state] == [5]
    edited(result, lambda told: told['details'][0]['correct'].pop())
    assert verdicts(run := read(root)) == ['????', *VERDICTS[1:]]
    assert 'fewer verdicts than their samples' in said(run)


def test_what_an_engine_told_is_kept(nested):
    """Rollouts with finish reasons, lengths of responses, and what this package's models note."""
    rollout = {'sum_neg_logprob': 1.0, 'num_tokens': 64, 'finish_reason': 'length'}

    def told(rows: Any) -> None:
        rows['0']['prediction'] = {'prediction': rows['0']['prediction'], 'rollout': rollout}
        rows['1']['res_length'] = 17
        rows['2']['generation'] = {'finish_reason': 'stop', 'output_tokens': 3, 'seconds': 0.5}

    edited(nested[1], told)
    found = samples_of(read(nested[0]))
    assert found['finish_reason'][:3] == ['length', None, 'stop']
    assert found['output_tokens'][:4] == [64, 17, 3, None]
    assert found['seconds'][2] == 0.5


# ---- LiveMathBench of OpenCompass itself


def refused(root: Path) -> str:
    with pytest.raises(InputError) as error:
        read(root)
    return str(error.value)


def test_the_verdict_of_the_first_sample_is_not_taken_for_all(tmp_path):
    """Every sample is judged for itself: the counts that the responses were made with."""
    run = read(old.judged_run(tmp_path))
    assert 'verdict' not in samples_of(run)
    assert run.ks == (2, 4)
    assert 'the verdict of the first sample to all n' in said(run)
    result = score(samples_of(run), Exact(), k=run.ks)
    assert result.table.c.tolist() == old.COUNTS
    assert result.scores()['G-Pass@4_1.0'] == pytest.approx(g_pass(old.COUNTS, 4, 4, 1.0))
    shutil.rmtree(tmp_path / 'old' / old.TIME / 'predictions')
    assert 'tells of no sample whether it is correct' in refused(tmp_path / 'old')


def test_questions_are_those_of_a_new_run(tmp_path):
    """Name by name as this package's data set has them, so that old and new runs can be paired."""
    found = samples_of(read(old.judged_run(tmp_path)))
    part = {'version': '202412', 'dataset_splits': ['AMC', 'CNMO'], 'dataset_languages': ['cn', 'en']}
    rows = dataset_rows({'path': str(write_bench(tmp_path / 'data', old.files())), **part})
    names = ('uid', 'problem', 'question', 'reference', 'language')
    assert [[found[name][row] for name in names] for row in range(8)] == [
        [row[{'reference': 'answer'}.get(name, name)] for name in names] for row in rows
    ]
    assert found['group'][:8] == [f'{row["split"]}_{row["language"]}' for row in rows]


@pytest.mark.parametrize('form', ['messages', 'no chain of thought', 'foreign'])
def test_the_question_is_cut_out_of_its_prompt(form, tmp_path):
    """Of messages, and of the shorter prompt; what stands in another template is shown whole, and said."""
    rows = old.rows()
    for row in rows:
        prompt = row['origin_prompt']
        short = prompt.replace(', please reasoning step by step', '').replace('，请逐步推理', '')
        row['origin_prompt'] = {
            'messages': [{'role': 'SYSTEM', 'prompt': 'Be brief.'}, {'role': 'HUMAN', 'prompt': prompt}],
            'no chain of thought': short,
            'foreign': f'<user>{prompt}</user>',
        }[form]
    run = read(old.write(tmp_path / 'old', rows, old.dataset(cot=form != 'no chain of thought')))
    whole = [row['origin_prompt'] for row in rows[:8]]
    assert samples_of(run)['question'][:8] == (
        whole if form == 'foreign' else [ask.question for ask in old.ASKS]
    )
    assert ('the question cannot be cut out of 8 prompts' in said(run)) == (form == 'foreign')


def test_a_lost_part_is_an_error(tmp_path):
    """In the middle by its number, at the end by rows, log, or (n = 1) the size; or it is empty."""
    root = old.write(tmp_path / 'old', old.rows(), parts=[8, 8, 16])
    (root / old.TIME / 'predictions' / 'm' / f'{old.NAME}_1.json').unlink()
    assert f'missing or unfinished: {old.NAME}_1;' in refused(root)
    root = old.write(tmp_path / 'older', old.rows()[:28], parts=[16, 12])
    assert '28 rows are not n = 4 times the same questions' in refused(root)
    old.put(root / old.TIME / 'logs' / 'infer' / 'm' / f'{old.NAME}_3.out', 'killed')
    assert f'missing or unfinished: {old.NAME}_3;' in refused(root)
    (torn := root / old.TIME / 'predictions' / 'm' / f'{old.NAME}_0.json').write_text('')
    assert f'{torn} is damaged' in refused(root)
    asks = [old.Ask('AMC', 'cn' if number < 46 else 'en', f'{number}?', '1') for number in range(92)]
    rows = old.rows(asks, [['\\boxed{1}']] * 92)
    data = old.dataset(n=1, k=1, dataset_splits=['AMC'])
    root = old.write(tmp_path / 'single', rows[:80], data, parts=[40, 40])
    assert '2 parts of LiveMathBench_v202412 hold 80 questions, and its data 92' in refused(root)
