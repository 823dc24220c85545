"""What is odd about the reviews and predictions of EvalScope, and what becomes of it."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from harness_logs import (
    RECORDED,
    evalscope_truth,
    of_questions,
    rows_in,
    run_of,
    runs_of,
    said,
    texts,
    verdicts,
    write,
)

from gpassk_opencompass import InputError

SUMS, SCORES, JUDGED = (RECORDED / 'evalscope' / '1.14.1' / name for name in ('sums', 'scores', 'judged'))
REVIEW, PREDICTION = (f'{kind}/scripted-1/aime24_default.jsonl' for kind in ('reviews', 'predictions'))
AIME = 'scripted-1/aime24'


@pytest.fixture
def copy(tmp_path):
    return Path(shutil.copytree(SUMS, tmp_path / 'outputs' / '20260101_000000'))


def test_each_response_of_evalscope_has_the_verdict_that_it_should_have():
    """The numbers in the texts tell which is which; one that failed, or was too long, has no text."""
    run = runs_of(SUMS)[AIME]
    columns = [of_questions(run, name) for name in ('response', 'verdict', 'state', 'reference', 'question')]
    for uid, told in evalscope_truth(SUMS)['aime24'].items():
        samples = list(zip(*(column[uid] for column in columns), strict=True))
        lost = told['replies'].count('l') * ['too long'] + told['replies'].count('f') * ['failed']
        assert sorted(filter(None, (state for _, _, state, _, _ in samples))) == sorted(lost)
        for response, verdict, state, reference, question in samples:
            assert (reference, question) == (told['reference'], told['question'])
            letter = told['replies'][int(response[7])] if response else 'f'
            right = 'correct' if letter in '1tx' else 'incorrect'
            assert verdict == (right if response and '.' not in reference else 'unjudged')
            assert (response is None) == (state is not None)


def test_what_evalscope_tells_beside_its_verdicts_is_kept():
    run, math_500 = runs_of(SUMS).values()
    assert run.written_by == 'EvalScope 1.14.1'
    assert set(texts(math_500, 'group')) == {'Level 1', 'Level 2'}
    states, reasons = texts(run, 'state'), texts(run, 'finish_reason')
    cut = [response.endswith('first I') for response in texts(run, 'response') if response]
    assert [one == 'length' for one, state in zip(reasons, states, strict=True) if not state] == cut
    tokens = set(zip(texts(run, 'prompt_tokens'), texts(run, 'output_tokens'), states, strict=True))
    assert {(9, 20, None), (None, None, 'failed')} < tokens
    thoughts = [one for one in texts(run, 'thought') if one]
    assert thoughts == ['I add 6 and 7.'] * 2
    judge = {'name': 'acc of EvalScope', 'metric': 'acc', 'models': ['judge'], 'strategy': 'llm'}
    assert run_of(JUDGED).judge == judge


@pytest.mark.parametrize(
    ('options', 'expected'),
    [
        ({}, ['0111', '0001']),
        ({'correct_from': 0.5}, ['1111', '0011']),
        ({'fields': {'correct': 'acc'}}, ['0111', '0001']),
        ({'fields': {'correct': 'credit'}, 'correct_from': 0.5}, ['1111', '0011']),
    ],
    ids=['main', 'half credit', 'acc', 'credit'],
)
def test_of_several_scores_of_evalscope_one_is_the_verdict(options, expected):
    """Its main one, or the one that is named; partial credit counts from where one says."""
    run = run_of(SCORES, **options)
    assert [''.join(sorted(row)) for row in verdicts(run).values()] == expected
    assert "the verdicts are the score 'credit' of acc, credit" in said(run)
    with pytest.raises(InputError, match='correct=f1 finds nothing'):
        run_of(SCORES, fields={'correct': 'f1'})


@pytest.mark.parametrize('given', ['..', 'reviews/scripted-1', 'predictions', REVIEW, PREDICTION])
def test_a_run_of_evalscope_is_found_from_any_of_its_folders_and_files(copy, given):
    """What lies beside is read all the same: config, report and the other kind of file."""
    runs = runs_of(copy / given)
    assert set(runs) == {AIME, *([] if given.endswith('.jsonl') else ['scripted-1/math_500'])}
    assert verdicts(runs[AIME]) == verdicts(runs_of(SUMS)[AIME])


def test_models_and_subsets_of_a_work_directory_are_told_apart(copy):
    """A name with a slash makes a folder more; a subset `default` beside another is named."""
    for path in sorted(copy.glob('*/scripted-1/math_500_Level 1.jsonl')):
        path.rename(path.with_name('math_500_default.jsonl'))
    for kind in ('reviews', 'predictions'):
        shutil.copytree(copy / kind / 'scripted-1', copy / kind / 'them' / 'other-7b')
    runs = runs_of(copy)
    models = ('scripted-1', 'them/other-7b')
    assert set(runs) == {f'{model}/{name}' for model in models for name in ('aime24', 'math_500')}
    assert set(verdicts(runs['scripted-1/math_500'])) == {'default/0', 'Level 2/0', 'Level 2/1'}


def test_a_response_that_was_not_reviewed_is_unjudged(copy):
    lines = (copy / REVIEW).read_text().splitlines(keepends=True)
    place = next(at for at, line in enumerate(lines) if '"group_id": 2' in line and '"acc": 1.0' in line)
    (copy / REVIEW).write_text(''.join(lines[:place] + lines[place + 1 :]))
    run = runs_of(copy)[AIME]
    assert ''.join(sorted(verdicts(run)['2'])) == '011?'
    assert of_questions(run, 'reference')['2'] == ['9'] * 4
    assert of_questions(run, 'state')['2'].count('failed') == 1


def test_the_report_tells_how_many_samples_were_asked_for(copy):
    """A question all of whose samples failed is kept; without a report samples are missing, which is said."""
    for name in (REVIEW, PREDICTION):
        write(copy / name, [row for row in rows_in(copy / name) if row['index'] // 4 != 5])
    run = runs_of(copy)[AIME]
    assert verdicts(run)['5'] == '????'
    assert of_questions(run, 'state')['5'] == ['failed'] * 4
    (copy / 'reports' / 'scripted-1' / 'aime24.json').unlink()
    run = runs_of(copy)[AIME]
    assert len(verdicts(run)['3']) == 3
    assert 'wrote no report of this run' in said(run)
    shutil.rmtree(copy / 'reviews')
    with pytest.raises(InputError, match=r'aime24_default\.jsonl is not there: .* give the reviews'):
        run_of(copy / PREDICTION)


def test_one_sample_of_evalscope_twice_or_of_other_repeats_is_refused(copy):
    """Two processes wrote into one file; the number of a sample and that of its question tell."""
    lines = (copy / REVIEW).read_text().splitlines(keepends=True)
    (copy / REVIEW).write_text(''.join([*lines[:3], lines[1], *lines[3:]]))
    with pytest.raises(InputError, match=r'aime24_default\.jsonl:\d+: .*there twice'):
        runs_of(copy / REVIEW)
    config = copy / 'configs' / 'task_config.yaml'
    config.write_text(config.read_text().replace('\nrepeats: 4\n', '\nrepeats: 8\n'))
    with pytest.raises(InputError, match=r'is of question \d+, but by repeats = 8'):
        runs_of(copy / REVIEW)


@pytest.mark.parametrize(
    ('note', 'remark'),
    [
        ({'metadata': {'acc': 'error: no module'}}, 'score 0 because a metric failed'),
        ({'metadata': {'metric_errors': {'acc': 'LookupError'}}}, 'score 0 because a metric failed'),
        ({'status': 'failed'}, '8 samples were not scored by EvalScope'),
    ],
)
@pytest.mark.parametrize('fields', [{}, {'correct': 'acc'}])
def test_a_score_of_0_that_is_an_error_is_unjudged(fields, note, remark, copy):
    """Releases write 0 where a metric raised; metadata or status tell, whichever score is asked for."""
    rows = rows_in(copy / REVIEW)
    for row in rows:
        if row['sample_score']['group_id'] == 0:
            row['sample_score']['score'] |= note
    write(copy / REVIEW, rows)
    run = runs_of(copy / REVIEW, fields=fields)[AIME]
    assert verdicts(run)['0'] == '????'
    assert remark in said(run)


def test_of_several_accepted_answers_the_first_is_the_reference(copy):
    path = copy / REVIEW
    path.write_text(path.read_text().replace('"target": ["7"]', '"target": ["7", "seven"]'))
    run = runs_of(copy)[AIME]
    assert of_questions(run, 'reference')['1'] == ['7'] * 4
    assert '4 samples have several references' in said(run)


@pytest.mark.parametrize('name', ['configs/task_config.yaml', 'reports/scripted-1/aime24.json'])
def test_a_damaged_config_or_report_changes_no_verdict(copy, name):
    """They tell of what is beside the samples; cut off anywhere, the samples are what they were."""
    whole, known = (copy / name).read_bytes(), verdicts(runs_of(copy)[AIME])['0']
    for size in [0, *random.Random(3).sample(range(len(whole)), 15)]:
        (copy / name).write_bytes(whole[:size] + b'\xff' * (size % 2))
        rows = [row for run in runs_of(copy).values() for row in verdicts(run).values()]
        assert len(''.join(rows).replace('?', '')) == 18 + 12
        assert known in rows
