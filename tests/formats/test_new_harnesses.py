"""Logs of verifiers 0.3.1, tau2-bench 1.0.1 and Every Eval Ever 0.2.3rc1, which their makers wrote."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from exact import Exact, g_pass
from harness_logs import RECORDED, rows_in, run_of, said, samples_of, write

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.formats import read_samples
from gpassk_opencompass.scoring import score

KINDS = ['results', 'traces']


@pytest.mark.parametrize('kind', KINDS)
def test_rollouts_of_verifiers_count_by_their_reward(kind: str) -> None:
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


def test_the_threshold_of_verifiers_gives_its_pass_k() -> None:
    """metadata.json has what verifiers itself makes of a reward from 0.5 on."""
    folder = RECORDED / 'verifiers' / 'results'
    assert '--correct-from 0.5' in said(run_of(folder))
    run = run_of(folder, correct_from=0.5)
    theirs = json.loads((folder / 'metadata.json').read_text())['pass_all_k']
    scores = score(samples_of(run), run.judge, k=[2, 4], unjudged_tolerance=0.1).scores()
    for k in ('2', '4'):
        assert scores[f'G-Pass@{k}_1.0'] == pytest.approx(100 * theirs[k])


def test_rewards_of_an_episode_are_weighted(tmp_path: Path) -> None:
    """A scorer that did not run is unjudged; of several agents the first one that is trained counts."""
    rows, others = (rows_in(RECORDED / 'verifiers' / 'traces' / 'traces.jsonl')[:3] for _ in range(2))
    rows[0]['traces'][0]['rewards'] = {
        'a': {'score': 1.0, 'weight': 0.75},
        'b': {'score': 0.5, 'weight': 0.5},
    }
    rows[1]['traces'][0]['rewards'] = {'a': None}
    judge = others[2]['traces'][0]
    judge['agent']['trainable'], judge['rewards'] = False, {'a': {'score': 0.0}}
    rows[2]['traces'].insert(0, judge)
    run = run_of(write(tmp_path / 'traces.jsonl', rows))
    assert samples_of(run)['verdict'] == ['correct', 'unjudged', 'correct']
    assert '1 episodes are of several agents' in said(run)


def test_a_trial_of_tau2_that_cannot_be_evaluated_is_told_both_ways() -> None:
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


def test_simulations_of_tau2_may_lie_in_files_of_their_own(tmp_path: Path) -> None:
    """As newer runs have them; a simulation alone is no run."""
    whole = json.loads((RECORDED / 'tau2' / 'results.json').read_text())
    (tmp_path / 'simulations').mkdir()
    for one in whole.pop('simulations'):
        one['reward_info'] = {'reward': 1 - 1e-7} if one['trial'] < 2 else {'reward': 0.5}
        (tmp_path / 'simulations' / f'{one["id"]}.json').write_text(json.dumps(one))
    (tmp_path / 'results.json').write_text(json.dumps({**whole, 'simulations': []}))
    for path in (tmp_path, tmp_path / 'results.json'):
        run = run_of(path)
        assert samples_of(run).counts().c.tolist() == [2, 2]
        assert '3 verdicts are partial credit' in said(run)


def test_a_score_of_all_epochs_is_the_verdict_of_none() -> None:
    """inspect_ai's converter calls all 12 samples of the first and third question right; 10 are."""
    run = run_of(RECORDED / 'every_eval_ever')
    assert (run.model, run.dataset, run.written_by) == ('hf/scripted', 'sums', 'inspect_ai 0.3.285')
    assert '18 rows have one score for all epochs' in said(run)
    result = score(samples_of(run), Exact(), k=[2], answers=r'(?s).+')  # it keeps answers alone
    assert result.table.c.tolist() == [4, 0, 6]
    taken = run_of(RECORDED / 'every_eval_ever', fields={'correct': 'evaluation.score'})
    assert samples_of(taken).counts().c.tolist() == [6, 0, 6]


@pytest.mark.parametrize('missing', [None, float('nan')])
def test_a_missing_score_among_those_of_all_epochs_changes_nothing(missing: Any, tmp_path: Path) -> None:
    """The others are still no verdict."""
    [path] = (RECORDED / 'every_eval_ever').glob('*_samples.jsonl')
    rows = rows_in(path)
    rows[0]['evaluation'] |= {'score': missing, 'is_correct': None}
    assert '18 rows have one score for all epochs' in said(run_of(write(tmp_path / path.name, rows)))


def test_rows_of_every_eval_ever_are_split_by_evaluation(tmp_path: Path) -> None:
    """Own scores of epochs are taken; several responses under one score are unjudged."""
    [path] = (RECORDED / 'every_eval_ever').glob('*_samples.jsonl')
    rows = rows_in(path)
    for row in rows:
        row['evaluation'] = {
            'score': float(row['metadata']['epoch'] < '4'),
            'is_correct': row['metadata']['epoch'] < '4',
        }
    rows[0]['evaluation'] = {'score': 0.5, 'is_correct': True}
    several = {**rows[0], 'evaluation_result_id': 'sums.f1', 'metadata': {'epoch': '1'}}
    several['output'] = {'raw': ['39', '40'], 'reasoning_trace': ['so', None]}
    copy = write(tmp_path / path.name, [*rows, several])
    found = {run.dataset: run for run in read_samples([copy])}
    assert samples_of(found['sums']).counts().c.tolist() == [2, 3, 3]
    assert 'partial credit' in said(found['sums'])
    other = samples_of(found['sums sums.f1'])
    assert other['thought'] == ['so', None]
    assert score(other, Exact(), k=[1]).table.n.tolist() == [2]
    shutil.copy(path.with_name(path.name.replace('_samples.jsonl', '.json')), tmp_path / 'alone.json')
    with pytest.raises(InputError, match='give the _samples'):
        run_of(tmp_path / 'alone.json')
