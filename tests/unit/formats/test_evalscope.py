"""What is odd about the reviews and predictions of EvalScope, and what becomes of it."""

from __future__ import annotations

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
    verdicts,
    write,
)

from gpassk_opencompass import InputError

SUMS, SCORES = (RECORDED / 'evalscope' / '1.14.1' / name for name in ('sums', 'scores'))
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


@pytest.mark.parametrize(
    ('note', 'remark'),
    [
        ({'metadata': {'metric_errors': {'acc': 'LookupError'}}}, 'score 0 because a metric failed'),
        ({'status': 'failed'}, '8 samples were not scored by EvalScope'),
    ],
)
def test_a_score_of_0_that_is_an_error_is_unjudged(note, remark, copy):
    """Releases write 0 where a metric raised; metadata or status tell."""
    rows = rows_in(copy / REVIEW)
    for row in rows:
        if row['sample_score']['group_id'] == 0:
            row['sample_score']['score'] |= note
    write(copy / REVIEW, rows)
    run = runs_of(copy / REVIEW)[AIME]
    assert verdicts(run)['0'] == '????'
    assert remark in said(run)
