"""Work directories that OpenCompass 0.5.4 wrote of data sets with n = 4, read as runs of questions."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import old_work_dir as old
import pytest
from harness_scores import changed, check_scores, damaged, read_all, runs_of, scored, verdicts_of

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.files import PROVENANCE
from gpassk_opencompass.sources.opencompass_runs import OpenCompass
from gpassk_opencompass.sources.source import SOURCES, Place, Responded, Sampled

LOGS = Path(__file__).resolve().parents[1] / 'recorded' / 'opencompass'
TIME = '20260101_120000'

COUNTS = [4, 3, 2, 1, 0]
"""Right samples of the five questions, by construction: those with the least numbers."""
VERDICTS = ['1111', '1110', '1100', '1000', '0000']
FOUR = [4, 3, 2, 1]


def file(name: str, kind: str, *parts: str) -> Path:
    """A file of a recorded work directory."""
    return LOGS.joinpath(name, TIME, kind, *parts)


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[str], Path]:
    """Copies a recorded work directory."""
    return lambda name: shutil.copytree(LOGS / name, tmp_path / name)


@pytest.mark.parametrize(
    ('name', 'only', 'uids', 'counts', 'judge'),
    [
        ('rules', 'scripted', 'aime-rule', COUNTS, 'MATHVerifyEvaluator'),
        ('math', 'org/nested', 'aime-math', COUNTS, 'MATHEvaluator'),
        ('judges', 'in-words', 'aime-cascade', FOUR, 'CascadeEvaluator'),
        ('llm', 'judged', 'aime-llm', COUNTS, 'GenericLLMEvaluator'),
    ],
    ids=['parts', 'nested name', 'cascade', 'LLM'],
)
def test_the_evaluators_verdicts_are_taken(
    name: str, only: str, uids: str, counts: list[int], judge: str, tmp_path: Path
) -> None:
    """Of each evaluator, with who judged, how it sampled and its k; the scores are exact."""
    result = scored(tmp_path / 'out.json', LOGS / name, '--only', only)
    check_scores(result, counts, 4)
    assert result.block['k'] == [2, 4]
    assert result.uids == [f'{uids}_{number}' for number in range(len(counts))]
    assert result.judge['name'] == f'OpenCompass {judge}'
    assert (result.model_abbr, result.dataset_abbr) == (only, uids)


def test_samples_keep_their_order_texts_and_places() -> None:
    """Also over the two parts of the predictions: each text says which sample it is of which question."""
    [run] = [run for run in runs_of(LOGS / 'rules') if run.model == 'scripted']
    assert run.kinds == ('labels', 'responses')
    assert run.settings == {'max_out_len': 64, 'temperature': 0.7, 'top_p': 0.95}
    for number, question in enumerate(run.questions):
        assert isinstance(question, Responded)
        assert question.question == f'What is {number} + 10?'
        assert question.reference == str(number + 10)
        assert question.verdicts == VERDICTS[number]
        for replica, text in enumerate(question.responses):
            assert text.startswith(f'Sample {replica} of question {number},')
            path, row = question.places[replica]
            assert json.loads(path.read_text())[str(row)]['prediction'] == text


def test_a_round_that_no_llm_judged_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OpenCompass's own G-Pass@k takes these right samples for wrong ones, which is said."""
    theirs = json.loads(file('judges', 'results', 'in-words', 'aime-cascade.json').read_text())
    assert theirs['accuracy (4 runs average)'] == 62.5
    assert theirs['G-Pass@4_0.0'] < 100
    assert [len(one['cascade_correct']) for one in theirs['details']] == [3] * 4
    assert main(['score', str(LOGS / 'judges')]) == 0
    out = capsys.readouterr().out
    assert '62.50' in out
    assert '4 questions have a round that no LLM judged' in out


def test_a_reply_without_a_letter_is_unjudged(capsys: pytest.CaptureFixture[str]) -> None:
    """'I Am not sure.' counts as A for OpenCompass, of a sample that is wrong."""
    theirs = json.loads(file('llm', 'results', 'judged', 'aime-llm.json').read_text())
    assert theirs['accuracy (4 runs average)'] == 55
    [run] = runs_of(LOGS / 'llm')
    assert list(verdicts_of(run).values()) == ['1111', '1110', '110?', '1000', '0000']
    assert any('more than its letter' in remark for remark in run.remarks)


@pytest.mark.parametrize('name', ['rules', 'math', 'sequences'])
def test_responses_can_be_judged_anew(name: str, tmp_path: Path) -> None:
    """By the rule, which finds what samples were made of; also of lists, which OpenCompass cannot judge."""
    only = {'rules': 'scripted', 'math': 'nested', 'sequences': 'lists'}[name]
    result = scored(
        tmp_path / 'out.json', LOGS / name, '--only', only, '--as', 'responses', '--judge', 'rule'
    )
    check_scores(result, COUNTS, 4)


def test_single_files_are_read_with_what_lies_beside_them() -> None:
    """A result with its responses; parts given one by one are one run; a judge's replies are no run."""
    result = file('rules', 'results', 'scripted', 'aime-rule.json')
    parts = [file('rules', 'predictions', 'scripted', f'aime-rule_{part}.json') for part in (0, 1)]
    for paths in ([result], parts[:1], parts, [*parts, result]):
        [run] = runs_of(*paths)
        assert (run.model, run.dataset, run.kinds) == ('scripted', 'aime-rule', ('labels', 'responses'))
        assert list(verdicts_of(run).values()) == VERDICTS
    replies = file('llm', 'results', 'judged', 'aime-llm_replica0.json')
    assert not OpenCompass().recognises(Place(replies))
    assert OpenCompass().recognises(Place(result))


def test_a_run_without_results_needs_a_judge(copied: Callable[[str], Path], tmp_path: Path) -> None:
    """As before its evaluation; n is that of the config, or without one, how often the questions repeat."""
    root = copied('math')
    shutil.rmtree(root / TIME / 'results')
    [run] = runs_of(root)
    assert run.kinds == ('responses',)
    check_scores(scored(tmp_path / 'out.json', root, '--k', '2', '4'), COUNTS, 4)
    shutil.rmtree(root / TIME / 'configs')
    check_scores(scored(tmp_path / 'out.json', root, '--k', '2', '4'), COUNTS, 4)


def test_runs_of_this_package_are_left_to_their_results(copied: Callable[[str], Path]) -> None:
    """Which `result` reads; their predictions are not taken for those of somebody else."""
    root = copied('math')
    [predictions] = root.rglob('predictions/org/nested/*.json')
    predictions.with_name(PROVENANCE).write_text('{}')
    assert not OpenCompass().recognises(Place(root))
    assert not OpenCompass().recognises(Place(predictions))
    predictions.with_name(PROVENANCE).unlink()
    shutil.rmtree(root / TIME / 'configs')
    assert OpenCompass().recognises(Place(root))
    [result] = root.rglob('results/org/nested/*.json')
    result.write_text('{"details": {"question": ["1?"]}, "gpassk": {}}')
    assert not OpenCompass().recognises(Place(root))


def test_a_row_without_a_reference_needs_a_verdict(copied: Callable[[str], Path]) -> None:
    """OpenCompass leaves out a `gold` of 0 or ''."""
    root = copied('math')
    [path] = root.rglob('predictions/org/nested/*.json')
    rows = json.loads(path.read_text())
    for row in rows.values():
        del row['gold']
    path.write_text(json.dumps(rows))
    [run] = runs_of(root)
    assert [one.reference for one in run.questions if isinstance(one, Responded)] == [
        str(number + 10) for number in range(5)
    ]
    shutil.rmtree(root / TIME / 'results')
    assert 'row 0 has no reference answer (gold)' in read_all(root, 'opencompass')


def test_an_old_live_math_bench_run_is_judged_anew(tmp_path: Path) -> None:
    """Beside a run of another data set: its verdicts are known to be wrong, and are not taken."""
    root = old.write(shutil.copytree(LOGS / 'math', tmp_path / 'work'), old.rows())
    result = root / old.TIME / 'results' / 'm' / f'{old.NAME}.json'
    result.parent.mkdir(parents=True)
    result.write_text(json.dumps({'details': [{'example_abbr': 'x_0', 'correct': [True] * 4}]}))
    kinds = {run.name: run.kinds for run in runs_of(root)}
    assert kinds == {f'm/{old.NAME}': ('responses',), 'org/nested/aime-math': ('labels', 'responses')}


_FULL: dict[str, Any] = {'example_abbr': 'd_0', 'pred': ['7', '8'], 'correct': [True, False]}


def _result(details: Any) -> dict[str, Any]:
    return {'accuracy': 50.0, 'details': details}


@pytest.mark.parametrize(
    ('details', 'expected'),
    [
        (
            [{'example_abbr': 'd_0', 'pred': ['7', '8'], 'ref': ['7'] * 2, 'is_correct': [True, False]}],
            ['10'],
        ),
        ([{'example_abbr': 'd_0', 'pred': ['7', '8'], 'correct': [1.0, float('nan')]}], ['1?']),
        ([_FULL, {**_FULL, 'example_abbr': 'd_1', 'correct': [True]}], ['10', '??']),
        ({'type': 'GEN', '0': {'pred': '7', 'answer': '7', 'correct': True}}, ['1']),
        ([{'pred': '7', 'answer': '7', 'correct': False}, {'pred': '7', 'correct': True}], ['0', '1']),
    ],
    ids=['is_correct', 'numbers', 'too few', 'rows of an object', 'rows of a list'],
)
def test_forms_of_other_evaluators(details: Any, expected: list[str], tmp_path: Path) -> None:
    """Those of older versions have an entry a row; a list with too few verdicts tells of no sample."""
    path = tmp_path / 'd.json'
    path.write_text(json.dumps(_result(details)))
    [run] = runs_of(path, source='opencompass')
    questions = list(run.questions)
    assert [one.verdicts for one in questions if isinstance(one, Sampled)] == expected
    assert ('??' in expected) == any('fewer than their samples' in remark for remark in run.remarks)


def test_too_few_verdicts_of_the_first_question_hide_no_others(copied: Callable[[str], Path]) -> None:
    """Its samples are unjudged, which is said; the verdicts of the others are taken."""
    root = copied('math')
    [path] = root.rglob('results/org/nested/*.json')
    told = json.loads(path.read_text())
    told['details'][0]['correct'].pop()
    path.write_text(json.dumps(told))
    [run] = runs_of(root)
    assert run.kinds == ('labels', 'responses')
    assert list(verdicts_of(run).values()) == ['????', *VERDICTS[1:]]
    assert any('fewer than their samples' in remark for remark in run.remarks)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda rows: rows.pop('19'), '19 rows are not n = 4 times the 5 questions'),
        (lambda rows: rows.pop('3'), 'rows are missing, it has 19 and the last one is number 19'),
        (lambda rows: rows['7'].update(gold='0'), "have different references, '12' and '0'"),
        (lambda rows: rows['7'].update(prediction=7), 'row 7: prediction is 7; expected a text'),
        (lambda rows: rows.update(x={}), "row 'x': expected rows"),
    ],
    ids=['last', 'middle', 'reference', 'prediction', 'row'],
)
def test_predictions_that_do_not_fit_are_refused(
    change: Callable[[Any], Any], message: str, copied: Callable[[str], Path]
) -> None:
    """No verdict is given to another sample than its own."""
    root = copied('math')
    [path] = root.rglob('predictions/org/nested/*.json')
    rows = json.loads(path.read_text())
    change(rows)
    path.write_text(json.dumps(rows))
    told = read_all(root, 'opencompass')
    assert isinstance(told, str)
    assert message in told


def test_a_sample_without_a_response_is_unjudged(copied: Callable[[str], Path]) -> None:
    """Whatever its evaluation says of it."""
    root = copied('math')
    [path] = root.rglob('predictions/org/nested/*.json')
    rows = json.loads(path.read_text())
    rows['5']['prediction'] = None
    path.write_text(json.dumps(rows))
    [run] = runs_of(root)
    assert list(verdicts_of(run).values()) == ['1?11', *VERDICTS[1:]]
    assert any('1 samples have no response and are unjudged: 1 failed' in one for one in run.remarks)


def test_what_an_engine_told_is_kept(copied: Callable[[str], Path]) -> None:
    """Rollouts with finish reasons, and lengths of responses, as options of OpenCompass write them."""
    root = copied('math')
    [path] = root.rglob('predictions/org/nested/*.json')
    rows = json.loads(path.read_text())
    rollout = {'sum_neg_logprob': 1.0, 'num_tokens': 64, 'finish_reason': 'length'}
    rows['0']['prediction'] = {'prediction': rows['0']['prediction'], 'rollout': rollout}
    rows['1']['res_length'] = 17
    path.write_text(json.dumps(rows))
    first, second, *_ = next(iter(runs_of(root))).questions
    assert isinstance(first, Responded)
    assert isinstance(second, Responded)
    assert first.generations[0][:3] == ('length', None, 64)
    assert second.generations[0].output_tokens == 17


@pytest.mark.parametrize('kind', ['results', 'predictions'])
def test_damage_is_an_error_or_changes_no_other_sample(kind: str, copied: Callable[[str], Path]) -> None:
    """Bytes cut off, turned or lost, and values of other types: no traceback, and no question is dropped."""
    root = copied('math')
    [path] = root.rglob(f'{kind}/org/nested/*.json')
    content = path.read_bytes()
    draw = random.Random(7)
    values = [json.dumps(changed(json.loads(content), draw)).encode() for _ in range(50)]
    for broken in [*damaged(content, 11, 20), *values]:
        path.write_bytes(broken)
        for name, source in SOURCES.each():
            if not isinstance(source, InputError) and name != 'rows':
                source().recognises(Place(path))
        told = read_all(root, 'opencompass')
        assert isinstance(told, str) or all(len(questions) == 5 for questions in told)


def test_files_of_others_are_not_recognised(tmp_path: Path) -> None:
    """By what is in them, whatever they are called."""
    (tmp_path / 'results' / 'm').mkdir(parents=True)
    (tmp_path / 'predictions').mkdir()
    (tmp_path / 'results' / 'm' / 'd.json').write_text('{"details": {"question": ["1?"]}, "gpassk": {}}')
    (tmp_path / 'predictions' / 'd.json').write_text('{"0": [1, 2]}')
    for path in (tmp_path, *tmp_path.rglob('*.json'), LOGS, LOGS / 'rules' / TIME / 'configs'):
        assert not OpenCompass().recognises(Place(path))
