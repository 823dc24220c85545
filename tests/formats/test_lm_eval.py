"""What is odd about the samples of lm-evaluation-harness, and what becomes of it."""

from __future__ import annotations

import re
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness_logs import HARNESSES, RECORDED, Row, edited, rows_in, run_of, said, texts, verdicts, write

from gpassk_opencompass import InputError

LM_EVAL = RECORDED / 'lm_eval' / '0.4.13' / 'org__scripted-7b'
RIGHT: tuple[str, ...] = runpy.run_path(str(HARNESSES / 'make_lm_eval_logs.py'))['RIGHT']
FIRST = [row[0] for row in RIGHT]


def log(task: str) -> Path:
    [path] = LM_EVAL.glob(f'samples_{task}_*.jsonl')
    return path


def changed(tmp_path: Path, change: Callable[[Row], Row | None], task: str = 'sums_all') -> Path:
    return edited(log(task), change, tmp_path / log(task).name)


def metric(name: str, value: Callable[[Row], Any], left: int = 4) -> Callable[[Row], Row]:
    """Gives rows one metric in place of `correct`; the filter leaves some of four responses."""

    def change(row: Row) -> Row:
        kept = row['resps'][0][:left]
        row = {**row, 'metrics': [name], name: value(row), 'filtered_resps': [kept] if left > 1 else kept}
        return {key: told for key, told in row.items() if key != 'correct' or name == key}

    return change


def test_a_run_of_lm_eval_is_named_by_its_summary() -> None:
    """Model, task, sampling, and who judged, with the filter and the version of the task."""
    run = run_of(log('sums_all'))
    assert (run.model, run.dataset, run.written_by) == ('org/scripted-7b', 'sums_all', 'lm-eval 0.4.13')
    assert run.settings == {'temperature': 0.8, 'max_out_len': 64, 'engine': 'scripted'}
    assert run.judge == {'name': 'correct of lm-eval', 'task': 'sums_all', 'filter': 'all', 'version': 1.0}


def test_the_verdict_on_one_of_n_responses_is_not_taken_for_all() -> None:
    """It is said; and who asks for it is refused."""
    run = run_of(log('sums_first'))
    assert list(verdicts(run).values()) == ['----'] * 6
    assert run.judge == {}
    told = "of 6 questions the harness scored only what its filter 'none' left of 4 responses (exact_match)"
    assert told in said(run)
    assert 'no verdict' not in said(run)
    with pytest.raises(InputError, match=r'exact_match gives .* for 4 samples'):
        run_of(log('sums_first'), fields={'correct': 'exact_match'})


@pytest.mark.parametrize('name', ['accuracy', 'pass@1'])
def test_a_mean_of_what_a_filter_left_is_not_taken_for_all(name: str, tmp_path: Path) -> None:
    run = run_of(changed(tmp_path, metric(name, lambda row: float(row['correct'][0]), left=1)))
    assert list(verdicts(run).values()) == ['----'] * 6
    assert 'of 6 questions the harness scored only' in said(run)


def test_verdicts_of_instructions_are_not_taken_for_those_of_responses(tmp_path: Path) -> None:
    """As IFEval has them: as many as a question has instructions, by chance also n; unless they are named."""
    path = changed(tmp_path, metric('inst_level_strict_acc', lambda row: [True] * 4, left=1))
    assert list(verdicts(run_of(path)).values()) == ['----'] * 6
    chosen = run_of(path, fields={'correct': 'inst_level_strict_acc'})
    assert list(verdicts(chosen).values()) == ['1111'] * 6
    assert 'not taken' not in said(chosen)
    path = changed(tmp_path, metric('strict', lambda row: row['correct']))
    assert list(verdicts(run_of(path)).values()) == list(RIGHT)
    path = changed(tmp_path, metric('strict', lambda row: row['correct'][: 4 - (row['doc_id'] == 2)]))
    with pytest.raises(InputError, match=r':3: strict is .*, for 4 responses'):
        run_of(path)


def test_of_one_response_a_number_is_taken_before_a_list(tmp_path: Path) -> None:
    """A question with one instruction has a list of one."""

    def ifeval(row: Row) -> Row:
        numbers = {'inst_level': [True], 'prompt_level': row['doc_id'] > 2}
        return {**row, 'resps': [row['resps'][0][:1]], 'metrics': list(numbers), **numbers}

    run = run_of(changed(tmp_path, ifeval, 'sums_first'))
    assert list(verdicts(run).values()) == list('000111')
    assert run.judge['name'] == 'prompt_level of lm-eval'


def test_each_filter_logs_each_question_and_the_first_one_counts() -> None:
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


def test_tasks_of_this_package_keep_their_judge_uids_and_groups() -> None:
    run = run_of(log('gpassk_questions'))
    assert run.judge['name'] == 'rule'
    assert all(uid.startswith('questions/') for uid in verdicts(run))
    assert set(texts(run, 'group')) == {'all_en'}
    assert texts(run, 'answer')[4:8] == ['20', '22', '20', '20']


def test_a_summary_alone_is_refused_with_what_to_give() -> None:
    [summary] = LM_EVAL.glob('results_*.json')
    with pytest.raises(InputError, match='--log_samples'):
        run_of(summary)


def test_a_summary_that_is_damaged_does_no_harm(tmp_path: Path) -> None:
    """The samples are what they were; what it says of the model is not known then."""
    folder = Path(shutil.copytree(LM_EVAL, tmp_path / 'run'))
    [summary] = folder.glob('results_*.json')
    whole = summary.read_text()
    odd = re.sub(r'"config(s?)": \{', r'"config\1": [], "x": {', whole)
    for content in ('{', '[]', '{"results": 3}', odd):
        summary.write_text(content)
        assert list(verdicts(run_of(folder / log('sums_all').name)).values()) == list(RIGHT)


def test_a_reply_without_text_is_empty_and_said(tmp_path: Path) -> None:
    """The word None stands for it in logs of earlier versions."""
    path = changed(tmp_path, lambda row: {**row, 'resps': [['None', *row['resps'][0][1:]]]}, 'sums_first')
    run = run_of(path)
    assert (texts(run, 'response')[0], texts(run, 'state')[:2]) == ('', ['empty', None])
    assert '6 responses are "None"' in said(run)


def test_a_question_in_no_known_field_is_the_prompt(tmp_path: Path) -> None:
    """And fields of a task's own data may name it, and the groups."""
    path = changed(tmp_path, lambda row: {**row, 'doc': {'asked': 'How much?', 'level': row['doc_id'] // 3}})
    run = run_of(path)
    assert texts(run, 'question')[0] == 'What is 0 + 17?'
    assert 'the data of 6 questions has no field known' in said(run)
    run = run_of(path, fields={'question': 'doc.asked', 'split': 'doc.level'})
    assert texts(run, 'question')[0] == 'How much?'
    assert texts(run, 'group') == ['0'] * 12 + ['1'] * 12
    assert 'whole prompt' not in said(run)
    with pytest.raises(InputError, match=r'split=doc\.subject finds nothing'):
        run_of(path, fields={'split': 'doc.subject'})


def test_rows_that_are_wrong_are_all_listed(tmp_path: Path) -> None:
    """With file and row."""

    def spoil(row: Row) -> Row:
        odd = {1: {'resps': 7}, 2: {'resps': [['a'], ['b']]}, 3: {'resps': [[{}]]}}
        return {**row, **odd.get(row['doc_id'], {'correct': [1, 'so', 0, 1]} if row['doc_id'] == 4 else {})}

    with pytest.raises(InputError) as refused:
        run_of(changed(tmp_path, spoil))
    for line in (
        r':2: ',
        r':3: it has 2 prompts',
        r':4: correct is .*, for 1 responses',
        r":5: 'so' is no verdict",
    ):
        assert re.search(line, str(refused.value))
    run = run_of(changed(tmp_path, spoil), drop_bad=True)
    assert list(verdicts(run)) == ['0', '5']


def test_a_file_of_lm_eval_with_every_row_twice_is_refused(tmp_path: Path) -> None:
    """The harness appends to a file of the same name."""
    with pytest.raises(InputError, match="'0' is there twice"):
        run_of(write(tmp_path / 'samples.jsonl', rows_in(log('sums_all')) * 2))
