"""What is odd about the rows of lm-eval, NeMo-Skills, MathArena, Every Eval Ever, and what becomes of it."""

from __future__ import annotations

import csv
import json
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest
from exact import Exact
from harness_logs import (
    HARNESSES,
    RECORDED,
    Row,
    of_questions,
    rows_in,
    run_of,
    runs_of,
    said,
    samples_of,
    texts,
    verdicts,
    write,
)  # fmt: skip

from gpassk_opencompass import InputError
from gpassk_opencompass.formats import read_samples
from gpassk_opencompass.scoring import score

LM_EVAL = RECORDED / 'lm_eval' / '0.4.13' / 'org__scripted-7b'
RIGHT: tuple[str, ...] = runpy.run_path(str(HARNESSES / 'make_lm_eval_logs.py'))['RIGHT']
FIRST = [row[0] for row in RIGHT]


def log(task: str) -> Path:
    [path] = LM_EVAL.glob(f'samples_{task}_*.jsonl')
    return path


def test_a_run_of_lm_eval_is_named_by_its_summary():
    """Model, task, sampling, and who judged, with the filter and the version of the task."""
    run = run_of(log('sums_all'))
    assert (run.model, run.dataset, run.written_by) == ('org/scripted-7b', 'sums_all', 'lm-eval 0.4.13')
    assert run.settings == {'temperature': 0.8, 'max_out_len': 64, 'engine': 'scripted'}
    assert run.judge == {'name': 'correct of lm-eval', 'task': 'sums_all', 'filter': 'all', 'version': 1.0}


ONE_OF_N = "of 6 questions the harness scored only what its filter 'none' left of 4 responses (exact_match)"


def test_the_verdict_on_one_of_n_responses_is_not_taken_for_all():
    run = run_of(log('sums_first'))
    assert (list(verdicts(run).values()), run.judge) == (['----'] * 6, {})
    assert ONE_OF_N in said(run)
    assert 'no verdict' not in said(run)
    with pytest.raises(InputError, match=r'exact_match gives .* for 4 samples'):
        run_of(log('sums_first'), fields={'correct': 'exact_match'})


def test_each_filter_logs_each_question_and_the_first_one_counts():
    """Strict matching sees the box, the other filter the number of the try; that is chosen by its name."""
    run = run_of(log('sums_filters'))
    assert list(verdicts(run).values()) == FIRST
    assert texts(run, 'answer')[0] == '17'
    assert "6 rows are of another filter than 'strict-match'" in said(run)
    other = run_of(log('sums_filters'), fields={'filter': 'flexible-extract'})
    assert list(verdicts(other).values()) == list('000001')
    assert other.judge['filter'] == 'flexible-extract'
    with pytest.raises(InputError, match="12 rows are of another filter than 'strict' and"):
        run_of(log('sums_filters'), fields={'filter': 'strict'})


# ---- NeMo-Skills --------------------------------------------------------------------------------------

NEMO = RECORDED / 'nemo_skills'
TRUTH: dict[str, dict[str, str]] = json.loads((NEMO / 'truth.json').read_text())


@pytest.fixture
def results(tmp_path):
    return Path(shutil.copytree(NEMO, tmp_path / 'recorded')) / 'scripted-7b' / 'eval-results'


RESULTS = NEMO / 'scripted-7b' / 'eval-results'


def test_every_folder_of_nemo_skills_is_a_run():
    """Also `output.jsonl`, another run; what waits for its judge is not counted beside what was judged."""
    runs = runs_of(NEMO)
    assert {name.removeprefix('scripted-7b/') for name in runs} == set(TRUTH)
    assert set(runs_of(NEMO / 'scripted-7b' / 'tmp-eval-results')) == {'scripted-7b/sums-judged'}
    waiting = run_of(NEMO / 'scripted-7b' / 'tmp-eval-results')
    assert set(verdicts(waiting).values()) == {'----'}
    unjudged = run_of(RESULTS / 'sums-unjudged')  # without ids: questions are called by their lines
    assert verdicts(unjudged) == dict.fromkeys('12345', '----')
    assert set(texts(unjudged, 'group')) == {'sums'}
    assert set(runs_of(RESULTS / 'sums' / 'output.jsonl')) == {'scripted-7b/sums-greedy'}


def test_thoughts_ends_and_tokens_of_nemo_skills_are_those_of_the_model():
    """Whether a thought stands in a field of its own or in the text; a request without reply is no sample."""
    apart, joined = runs_of(RESULTS / 'sums')['scripted-7b/sums'], run_of(RESULTS / 'sums-thinking')
    for run in (apart, joined):
        assert of_questions(run, 'response')['sums-1'][0] == 'So \\boxed{7}'
        assert of_questions(run, 'thought')['sums-1'][0] == 'Let me add, attempt 0.'
        assert of_questions(run, 'response')['sums-2'][2] == ''
        assert of_questions(run, 'thought')['sums-2'][2] == 'Hmm, attempt 2'
        assert of_questions(run, 'state')['sums-4'][3] == 'too long'
        assert of_questions(run, 'response')['sums-4'][3] is None
    assert of_questions(apart, 'finish_reason')['sums-2'] == ['stop', 'length', 'length', 'stop']
    assert of_questions(apart, 'output_tokens')['sums-1'] == [7, 3, 7, 3]
    assert of_questions(apart, 'seconds')['sums-1'][0] == 0.5
    assert of_questions(apart, 'seed')['sums-1'] == [0, 1, 2, 3]
    assert of_questions(apart, 'answer')['sums-0'] == ['42', '42', '0002', '42']
    assert [each[0] for each in of_questions(apart, 'reference').values()] == ['42', '7', '18', '3/4', '101']


JUDGEMENTS = {
    'Judgement: No': '0', 'Judgement: Yes': '1', 'Judgement: No, first. Judgement: yes.': '1', True: '1',
    'judgement: Yes': '?', 'Judgement: **Yes**': '?', '': '?', None: '?',
}  # fmt: skip


def test_judgements_are_read_as_nemo_skills_reads_them(tmp_path):
    """By what follows the last "Judgement:"; a row without one has no verdict. Older fields, other names."""
    for seed, told in enumerate(JUDGEMENTS):
        row = {'generation': '4', 'expected_answer': '4'}
        judged = row | ({} if told is None else {'judgement': told})
        write(tmp_path / f'judge/output-rs{seed}.jsonl', [judged])
        write(tmp_path / f'rule/output-rs{seed}.jsonl', [row | {'is_correct': seed == 1, 'mine': True}])
    assert verdicts(run_of(tmp_path / 'judge')) == {'1': ''.join(JUDGEMENTS.values())}
    run = run_of(tmp_path / 'rule')
    assert (verdicts(run), run.judge['name']) == ({'1': '01000000'}, 'NeMo-Skills is_correct')
    assert verdicts(run_of(tmp_path / 'rule', fields={'correct': 'mine'})) == {'1': '11111111'}


def test_an_unfinished_seed_is_left_out_and_told_of(results):
    """Also where it is being written to its end; a folder with no finished one is refused."""
    folder = results / 'sums-unfinished'
    (folder / 'output-rs3.jsonl').write_text('{"generation": "4", "expected_answer": "4"}')
    run = run_of(folder)
    assert verdicts(run) == TRUTH['sums-unfinished']
    assert 'output-rs3.jsonl-async is unfinished: the samples of this seed are left out' in said(run)
    for seed in range(3):
        (folder / f'output-rs{seed}.jsonl').unlink()
    for given in (folder, folder / 'output-rs3.jsonl-async'):
        with pytest.raises(InputError, match=r'output-rs3\.jsonl-async is unfinished, as is every seed'):
            run_of(given)


# ---- MathArena ----------------------------------------------------------------------------------------

MATHARENA = RECORDED / 'matharena'


def matharena(tmp_path: Path, **columns: list[Any]) -> Path:
    """The table of one model with other values in its first rows."""
    rows = [row for row in rows_in(MATHARENA / 'sums.jsonl') if row['model_config'] == 'someone/scripted']
    rows.sort(key=lambda row: (row['problem_idx'], row['idx_answer']))
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=False):
            row[name] = value
    return write(tmp_path / 'changed.jsonl', rows)


def test_odd_samples_of_matharena_have_rules(tmp_path):
    """Not graded yet, partial, missing, empty: said in remarks, and never a silent 0."""
    run = run_of(matharena(tmp_path, correct=['TODO Grading', 0.5, True, True], answer=['a', 'b', None, '']))
    assert verdicts(run)['1'] == '?0?1'
    assert of_questions(run, 'state')['1'] == [None, None, 'failed', 'empty']
    assert '1 samples are not yet graded: they are unjudged' in said(run)
    assert '1 verdicts are partial credit' in said(run)
    with pytest.raises(InputError, match=r'changed\.jsonl:1: replica is .a.; expected a whole number'):
        run_of(matharena(tmp_path, idx_answer=['a']))


# ---- Every Eval Ever ----------------------------------------------------------------------------------


def test_a_score_of_all_epochs_is_the_verdict_of_none():
    """inspect_ai's converter calls all 12 samples of the first and third question right; 10 are."""
    run = run_of(RECORDED / 'every_eval_ever')
    assert (run.model, run.dataset, run.written_by) == ('hf/scripted', 'sums', 'inspect_ai 0.3.285')
    assert '18 rows have one score for all epochs' in said(run)
    result = score(samples_of(run), Exact(), k=[2], answers=r'(?s).+')  # it keeps answers alone
    assert result.table.c.tolist() == [4, 0, 6]
    taken = run_of(RECORDED / 'every_eval_ever', fields={'correct': 'evaluation.score'})
    assert samples_of(taken).counts().c.tolist() == [6, 0, 6]


# ---- replies of a batch, joined by fingerprint with the table of the samples that were asked for ----------


def openai(key: str, text: str | None, finish: str = 'stop', **message: Any) -> Row:
    choice = {'message': {'role': 'assistant', 'content': text, **message}, 'finish_reason': finish}
    body = {'model': 'm-1', 'choices': [choice], 'usage': {'prompt_tokens': 9, 'completion_tokens': 5}}
    return {'id': 'r', 'custom_id': key, 'response': {'status_code': 200, 'body': body}, 'error': None}


def written(folder: Path, replies: list[Row], keys: str = 'abcd') -> list[Path]:
    """The replies, and a table of two samples of each of two questions."""
    with (folder / 'samples.csv').open('w', newline='') as file:
        table = csv.writer(file)
        table.writerow(['uid', 'replica', 'question', 'reference', 'fingerprint', 'seed'])
        for n, key in enumerate(keys):
            table.writerow([f'q{n // 2}', n % 2, f'{n // 2} + 1?', n // 2 + 1, key, 40 + n])
    return [write(folder / 'out.jsonl', replies), folder / 'samples.csv']


BAD = {'error': {'code': 'bad_request'}}
REFUSED: Row = {'id': 'r', 'custom_id': 'd', 'response': {'status_code': 400, 'body': BAD}}
REPLIES = [
    openai('b', '2', reasoning_content='hm'), REFUSED, openai('a', None, 'length'),
    openai('c', '', 'content_filter'),
]  # fmt: skip


def test_replies_are_joined_by_fingerprint(tmp_path):
    """In the order of the table, whatever that of the replies; what is missing or failed has its reason."""
    written(tmp_path, REPLIES)
    [run] = read_samples([tmp_path])
    found = samples_of(run)
    assert run.model == 'm-1'
    places = list(zip(*(found[name] for name in ('uid', 'replica', 'seed')), strict=True))
    assert places == [('q0', 0, 40), ('q0', 1, 41), ('q1', 0, 42), ('q1', 1, 43)]
    assert (found['question'][0], found['reference'][0], found['fingerprint'][3]) == ('0 + 1?', '1', 'd')
    assert found['response'] == ['', '2', None, None]
    assert found['thought'][:2] == [None, 'hm']
    assert found['state'] == [None, None, 'filtered', 'failed']
    assert found['finish_reason'][:2] == ['length', 'stop']
    assert found['output_tokens'][1] == 5
    assert [one.rpartition(': ')[2] for one in run.remarks] == ['bad_request']
    assert 'verdict' not in found


def test_replies_that_do_not_fit_are_listed(tmp_path):
    """One of no sample, one that is there twice, a fingerprint of two samples; all at once."""
    replies = [openai('z', '1'), openai('a', '1'), openai('a', '1')]
    with pytest.raises(InputError) as error:
        read_samples(written(tmp_path, replies, 'abcc'))
    for place in ("jsonl:1: custom_id 'z' is", "jsonl:3: custom_id 'a' has", "csv:4: fingerprint 'c'"):
        assert place in str(error.value)
    for path, missing in zip(written(tmp_path, [openai('a', '1')]), ('the table', 'replies'), strict=True):
        with pytest.raises(InputError, match=f'give {missing} of'):
            read_samples([path])
