"""What is odd about the rollouts of verl, verifiers and tau2-bench, and what becomes of it."""

from __future__ import annotations

import json

import pytest
from exact import g_pass
from harness_logs import (
    RECORDED,
    Row,
    run_of,
    said,
    samples_of,
    texts,
    verdicts,
    write,
)

from gpassk_opencompass.scoring import score

VERL = RECORDED / 'verl' / '0.9.1'


DUMPED: Row = {'input': 'q', 'gts': '4', 'score': 1.0, 'step': 1}


def test_the_last_output_of_a_rollout_is_its_sample():
    """Turns before it are told of; the question is the first input."""
    run = run_of(VERL / 'agent')
    assert texts(run, 'response')[1] == 'Attempt 1.\n#### 42\nAnswer: 42'
    assert all(one.endswith('?\nassistant\n') for one in texts(run, 'question'))
    assert '20 earlier turns of rollouts' in said(run)


@pytest.mark.parametrize(
    ('rows', 'expected'),
    [
        ([{'acc': True}, {'acc': 0}, {'acc': None}, {'acc': 'True'}], ['1011']),  # before the score
        ([{'score': one} for one in (-1, '1.0', '-1.0', '0.5')], ['0100']),  # as numpy's numbers are written
        ([{'score': one} for one in (None, 'NaN', False, 7)], ['??01']),
        ([{'gts': one, 'score': one == '4'} for one in '45' * 4], ['1111', '0000']),  # two ground truths
        ([{'uid': f'{key}_{place}_0'} for key in 'ab' for place in range(2)], ['11', '11']),  # verl's own
        ([{'uid': key} for key in 'aabb'], ['1111']),  # a question that the data has twice
    ],
)
def test_rows_of_verl_are_told_apart_and_counted(rows, expected, tmp_path):
    told = [{**DUMPED, 'output': f'{place}', **more} for place, more in enumerate(rows)]
    run = run_of(write(tmp_path / '1.jsonl', told))
    assert list(verdicts(run).values()) == expected
    assert ('1 samples have no acc: their score says' in said(run)) == ('acc' in rows[0])


# ---- verifiers, tau2-bench ----------------------------------------------------------------------------


@pytest.mark.parametrize('kind', ['results', 'traces'])
def test_rollouts_of_verifiers_count_by_their_reward(kind):
    """A server that failed is unjudged though its reward is 0; half a reward is not correct."""
    run = run_of(RECORDED / 'verifiers' / kind)
    assert (run.model, run.dataset, run.written_by) == ('org/scripted', 'sums', 'verifiers 0.3.1')
    assert run.settings['temperature'] == 0.7
    found = samples_of(run)
    table = found.counts()
    assert (table.c.tolist(), table.unjudged.tolist()) == ([4, 3, 2, 0], [0, 0, 1, 0])
    row = found['response'].index('Rollout 1 of 3: \\boxed{99}')
    names = ('question', 'reference', 'thought', 'prompt_tokens', 'output_tokens')
    assert [found[name][row] for name in names] == ['What is 3 + 10?', '13', '3 plus ten', 9, 6]
    assert found['state'].count('failed') == 1
    assert 'partial credit' in said(run)


def test_the_threshold_of_verifiers_gives_its_pass_k():
    """metadata.json has what verifiers itself makes of a reward from 0.5 on."""
    folder = RECORDED / 'verifiers' / 'results'
    assert '--correct-from 0.5' in said(run_of(folder))
    run = run_of(folder, correct_from=0.5)
    theirs = json.loads((folder / 'metadata.json').read_text())['pass_all_k']
    scores = score(samples_of(run), run.judge, k=[2, 4], unjudged_tolerance=0.1).scores()
    for k in ('2', '4'):
        assert scores[f'G-Pass@{k}_1.0'] == pytest.approx(100 * theirs[k])


def test_a_trial_of_tau2_that_cannot_be_evaluated_is_told_both_ways():
    """It counts as a failure; a remark has pass^k without it, as tau2-bench itself computes it."""
    run = run_of(RECORDED / 'tau2')
    assert (run.model, run.dataset, run.ks) == ('agent', 'tau2-mock', (1, 2, 3, 4))
    found = samples_of(run)
    assert found.counts().c.tolist() == [3, 2]
    [lost] = [row for row, verdict in enumerate(found['verdict']) if verdict == 'unjudged']
    place = (found['uid'][lost], found['replica'][lost], found['state'][lost], found['why'][lost])
    assert place == ('update_task_1', 3, 'failed', 'infrastructure_error')
    scores = score(found, run.judge, k=run.ks, unjudged_tolerance=0.2).scores()
    assert scores['G-Pass@2_1.0'] == pytest.approx(g_pass([3, 2], 4, 2, 1.0))
    theirs = json.loads((RECORDED / 'tau2' / 'pass_hat_k.json').read_text())
    told = ', '.join(f'pass^{k} {100 * value:.2f}' for k, value in theirs.items())
    [remark] = [one for one in run.remarks if 'left out' in one]
    assert remark == (
        '1 trials cannot be evaluated (infrastructure_error: 1) and count as failures; left out, as '
        f'tau2-bench does, they give {told} over 2 tasks'
    )
