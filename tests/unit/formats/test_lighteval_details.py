"""Details that Lighteval 0.13 wrote: of tasks that are not of this package, and of one that is."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from exact import Exact, g_pass
from harness_logs import RECORDED, run_of, said, samples_of
from pyarrow import parquet

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.formats import read_samples
from gpassk_opencompass.judges.rule import RuleJudge
from gpassk_opencompass.scoring import score

LOGS = RECORDED / 'lighteval_tasks'
COUNTS = {'0': 4, '1': 3, '2': 2, '3': 1, '4': 0, '5': 4}
"""Right samples of the six questions, by construction."""


def details(task: str) -> Path:
    [path] = (LOGS / task / 'details').rglob('*.parquet')
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize('whole', [True, False], ids=['folder', 'file'])
def test_responses_of_any_generative_task_are_judged_anew(whole):
    """Of a task with Lighteval's own avg@n; the scores are exact, and Lighteval's mean is ours."""
    told: list[str] = []
    [run] = read_samples([LOGS / 'sums' if whole else details('sums')], tell=told.append)
    assert told == []
    assert (run.model, run.dataset, run.judge) == ('someone/scripted', 'sums', {})
    assert run.settings == {'max_out_len': 40, 'temperature': 0}
    assert any('(avg@n:n=4)' in remark and 'judged anew' in remark for remark in run.remarks)
    with RuleJudge() as judge:
        result = score(samples_of(run), judge, k=[2, 4])
    assert dict(zip(result.counts.uid, result.counts.c, strict=True)) == COUNTS
    for k in (2, 4):
        assert abs(result.scores()[f'G-Pass@{k}_1.0'] - g_pass(COUNTS.values(), 4, k, 1.0)) < 1e-9
    [path] = (LOGS / 'sums' / 'results').rglob('*.json')
    told = json.loads(path.read_text())['results']['sums|0']
    [theirs] = [one for name, one in told.items() if name.startswith('avg@n') and 'stderr' not in name]
    assert abs(100 * theirs - result.scores()['accuracy']) < 1e-9


def test_questions_are_in_the_order_of_the_data_with_texts_and_tokens():
    """Under the key of the question, whatever order Lighteval asked them in."""
    run = run_of(details('sums'))
    found = samples_of(run)
    assert list(found.by_question()) == ['0', '1', '2', '3', '4', '5']
    for uid, rows in found.by_question().items():
        number = int(uid)
        assert found['question'][rows[0]] == f'What is {number} + 10? Answer in a box.'
        assert found['reference'][rows[0]] == f'${number + 10}$'
        for replica, row in enumerate(rows):
            shown = 0 if number == 5 else replica
            text = found['response'][row]
            assert text.startswith(f'<think>Sample {shown} of question {number}: zehn.</think>')
        told = [[found[name][row] for name in ('prompt_tokens', 'output_tokens')] for row in rows]
        assert told == [[7, 10], [7, 11], [7, 12], [7, 40]]
        assert [found['finish_reason'][row] for row in rows] == [None, None, None, 'length']
    assert '6 responses have as many tokens' in said(run)


def test_choices_and_a_summary_alone_are_refused_with_a_hint(tmp_path):
    with pytest.raises(InputError, match='compares log-likelihoods of choices'):
        run_of(LOGS / 'choices')
    [summary] = (LOGS / 'sums' / 'results').rglob('*.json')
    shutil.copy(summary, tmp_path)
    with pytest.raises(InputError, match='--save-details'):
        run_of(tmp_path / summary.name)


def test_thoughts_stay_apart_and_missing_samples_are_unjudged(tmp_path):
    """An endpoint that answered two of four times, one that gave nothing, and one that thought only."""
    rows = rows_of(details('sums'))[:3]
    rows[0]['model_response'] |= {'text': ['\\boxed{1}', ''], 'reasonings': ['so', 'hmm', None, None]}
    rows[1]['model_response'] |= {'text': [], 'output_tokens': [], 'input_tokens': []}
    found = samples_of(run_of(written(tmp_path / 'd.parquet', rows)))
    of_first = found.by_question()[rows[0]['doc']['id']]
    assert [found['thought'][row] for row in of_first] == ['so', 'hmm', None, None]
    assert [found['response'][row] for row in of_first] == ['\\boxed{1}', '', None, None]
    assert Counter(found['state']) == {None: 6, 'failed': 6}
    result = score(found, Exact(), k=[2], unjudged_tolerance=1)
    assert result.health.states == {'failed': 6}


def test_a_question_that_is_there_twice_is_refused(tmp_path):
    """As with several few-shot seeds: other prompts, and no samples of one."""
    rows = rows_of(details('sums'))
    with pytest.raises(InputError, match='is there twice'):
        run_of(written(tmp_path / 'd.parquet', [*rows, rows[0]]))


def test_padded_responses_have_no_token_counts(tmp_path):
    """transformers pads a batch to one length, which nothing marks."""
    rows = rows_of(details('sums'))
    rows[0]['model_response']['output_tokens'] = [[5, 6, 0, 0], [5, 6, 7, 8], [5, 0, 0, 0], [5, 6, 7, 0]]
    found = samples_of(run_of(written(tmp_path / 'd.parquet', rows)))
    tokens = {uid: [found['output_tokens'][row] for row in of] for uid, of in found.by_question().items()}
    assert tokens.pop(rows[0]['doc']['id']) == [None] * 4
    assert set(map(tuple, tokens.values())) == {(10, 11, 12, 40)}


@pytest.mark.parametrize(
    ('index', 'choices', 'reference'),
    [([1, 0], ['a', 'b'], 'b'), (0, ['a'], 'a'), (3, ['a'], None), (None, ['a'], None), ([], ['a'], None)],
    ids=['several', 'one', 'beyond', 'none', 'empty'],
)
def test_the_reference_is_the_gold_choice(index, choices, reference, tmp_path):
    """Of several the first, which is said; without one the row is refused."""
    rows = rows_of(details('sums'))[:1]
    rows[0]['doc'] |= {'gold_index': index, 'choices': choices}
    path = written(tmp_path / 'd.parquet', rows)
    if reference is None:
        with pytest.raises(InputError, match=r'd\.parquet:1: not as lighteval writes it'):
            run_of(path)
        return
    run = run_of(path)
    assert samples_of(run)['reference'][0] == reference
    assert ('several references' in said(run)) == isinstance(index, list)


def test_a_task_of_this_package_is_read_with_its_verdicts():
    """As a sweep calls it, with judge, k and the names of its questions."""
    [path] = (RECORDED / 'lighteval' / 'details').rglob('*.parquet')
    run = run_of(RECORDED / 'lighteval')
    assert run.model == 'demo_t1.0_p0.9_l40'
    assert run.dataset == 'LiveMathBench-vdemo-ADD_MUL_MIX-cn_en-k4_8-r1'
    assert (run.ks, run.judge['name']) == ((4, 8), 'rule')
    found, rows = samples_of(run), {row['doc']['specific']['uid']: row for row in rows_of(path)}
    told = found.counts()
    assert told.c.tolist() == [rows[uid]['metric']['G-Pass@k']['c'] for uid in told.uid]
    assert told.problem[0] == 'demo/ADD/0'
    assert set(told.group) == {
        f'{split}_{language}' for split in ('ADD', 'MUL', 'MIX') for language in ('cn', 'en')
    }
    first = next(iter(found.by_question().values()))
    assert [found['response'][row] for row in first] == rows[told.uid[0]]['model_response']['text']
    assert [found['answer'][row] for row in first] == rows[told.uid[0]]['metric']['G-Pass@k']['answers']
