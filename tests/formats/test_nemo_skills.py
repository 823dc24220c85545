"""What is odd about the outputs of NeMo-Skills, and what becomes of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from harness_logs import RECORDED, of_questions, rows_in, run_of, runs_of, said, texts, verdicts, write

from gpassk_opencompass import InputError

NEMO = RECORDED / 'nemo_skills'
TRUTH: dict[str, dict[str, str]] = json.loads((NEMO / 'truth.json').read_text())


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A copy of the recorded outputs, to be changed."""
    return Path(shutil.copytree(NEMO, tmp_path / 'recorded')) / 'scripted-7b' / 'eval-results'


RESULTS = NEMO / 'scripted-7b' / 'eval-results'


def test_every_folder_of_nemo_skills_is_a_run() -> None:
    """Also `output.jsonl`, another run; what waits for its judge is not counted beside what was judged."""
    runs = runs_of(NEMO)
    assert {name.removeprefix('scripted-7b/') for name in runs} == set(TRUTH)
    for name, run in runs.items():
        assert ('before they were judged, in tmp-eval-results' in said(run)) == name.endswith('sums-judged')
    assert set(runs_of(NEMO / 'scripted-7b' / 'tmp-eval-results')) == {'scripted-7b/sums-judged'}
    waiting = run_of(NEMO / 'scripted-7b' / 'tmp-eval-results')
    assert set(verdicts(waiting).values()) == {'----'}
    unjudged = run_of(RESULTS / 'sums-unjudged')  # without ids: questions are called by their lines
    assert verdicts(unjudged) == dict.fromkeys('12345', '----')
    assert set(texts(unjudged, 'group')) == {'sums'}
    assert set(runs_of(RESULTS / 'sums' / 'output.jsonl')) == {'scripted-7b/sums-greedy'}


def test_thoughts_ends_and_tokens_of_nemo_skills_are_those_of_the_model() -> None:
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


def test_what_a_judge_left_in_a_row_is_not_taken_for_the_models() -> None:
    """Where it was asked, its finish reason and its thought stand in place of the model's."""
    run = run_of(RESULTS / 'sums-judged')
    row = rows_in(RESULTS / 'sums-judged' / 'output-rs0.jsonl')[2]
    assert (row['reasoning_content'], row['finish_reason']) == ('The judge thinks.', 'stop')
    assert of_questions(run, 'finish_reason')['sums-2'][:2] == [None, 'length']
    assert 'judge' not in ''.join(filter(None, texts(run, 'thought')))
    assert '1 judgements say neither "Judgement: Yes" nor' in said(run)


@pytest.mark.parametrize(
    ('judgement', 'verdict'),
    [
        *(('Judgement: Yes', '1'), ('Judgement: No, first. Judgement: yes.', '1'), (True, '1')),
        *(('judgement: Yes', '?'), ('Judgement: **Yes**', '?'), ('', '?'), (None, '?')),
    ],
)
def test_judgements_are_read_as_nemo_skills_reads_them(judgement: Any, verdict: str, tmp_path: Path) -> None:
    """By what follows the last "Judgement:"; a row without one has no verdict."""
    asked = {'generation': '4', 'expected_answer': '4'}
    for seed, told in enumerate(('Judgement: No', judgement)):
        more = {} if told is None else {'judgement': told}
        write(tmp_path / f'output-rs{seed}.jsonl', [{**asked, **more}])
    assert verdicts(run_of(tmp_path)) == {'1': f'0{verdict}'}


def test_another_verdict_of_nemo_skills_is_taken_by_name(results: Path) -> None:
    """Also the one that older versions called is_correct."""
    folder = results / 'sums-refused'
    for path in folder.iterdir():
        rows = [{**row, 'is_correct': row.pop('symbolic_correct'), 'mine': True} for row in rows_in(path)]
        write(path, [{key: one for key, one in row.items() if key != 'symbolic_correct'} for row in rows])
    run = run_of(folder)
    assert (verdicts(run), run.judge['name']) == (TRUTH['sums-refused'], 'NeMo-Skills is_correct')
    mine = run_of(folder, fields={'correct': 'mine'})
    assert {uid: row.replace('0', '1') for uid, row in TRUTH['sums-refused'].items()} == verdicts(mine)


def test_an_unfinished_seed_is_left_out_and_told_of(results: Path) -> None:
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


def test_chunks_are_put_together(results: Path) -> None:
    """Unless they are merged to the end; one that is missing is refused."""
    folder = results / 'sums-chunked'
    chunks = [folder / f'output-rs0_chunk_{number}.jsonl' for number in range(2)]
    merged, lines = folder / 'output-rs0.jsonl', ''.join(chunk.read_text() for chunk in chunks)
    merged.write_text(lines[: lines.index('\n') + 1])
    assert verdicts(run_of(folder)) == TRUTH['sums-chunked']
    merged.write_text(lines)
    (folder / 'output-rs0.jsonl.done').touch()
    assert verdicts(run_of(folder)) == TRUTH['sums-chunked']
    merged.unlink()
    chunks[0].unlink()
    with pytest.raises(InputError, match='no chunk 0'):
        run_of(folder)


def test_a_seed_that_is_shorter_gives_a_sample_less(results: Path) -> None:
    """Its questions have a sample less."""
    path = results / 'sums-refused' / 'output-rs1.jsonl'
    write(path, rows_in(path)[:3])
    run = run_of(results / 'sums-refused')
    assert [len(row) for row in verdicts(run).values()] == [4, 4, 4, 3, 3]


def test_seeds_with_other_questions_or_a_line_twice_are_refused(results: Path) -> None:
    """Where they have no ids, by their texts."""
    path = results / 'sums-unjudged' / 'output-rs2.jsonl'
    one, two, *more = rows_in(path)
    write(path, [two, one, *more])
    with pytest.raises(InputError, match=r'output-rs2\.jsonl:1: the samples of .1. have different questions'):
        run_of(path.parent)
    path = results / 'sums-refused' / 'output-rs2.jsonl'
    write(path, rows_in(path) * 2)
    with pytest.raises(InputError, match=r'output-rs2\.jsonl:6: sample 2 of .sums-0. is there twice'):
        run_of(path.parent)
