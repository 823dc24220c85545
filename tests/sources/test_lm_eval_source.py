"""Logs that lm-evaluation-harness wrote of a scripted model whose right answers are known, and damaged ones.

`tests/harnesses/make_lm_eval_logs.py` made them with version 0.4.13.
"""

from __future__ import annotations

import json
import runpy
import shutil
from collections.abc import Callable, Sequence
from math import comb
from pathlib import Path
from typing import Any

import pytest
from exact import g_pass
from hypothesis import given
from hypothesis import strategies as st

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.sources.finding import find_runs
from gpassk_opencompass.sources.lm_eval import LmEval
from gpassk_opencompass.sources.source import Counted, Place, Reading, Responded, Run, Sampled

TESTS = Path(__file__).resolve().parents[1]
RECORDED = TESTS / 'recorded' / 'lm_eval'
MADE = runpy.run_path(str(TESTS / 'harnesses' / 'make_lm_eval_logs.py'))
RIGHT: Sequence[str] = MADE['RIGHT']
FIRST = [row[0] for row in RIGHT]
"""The verdicts where a question was asked once."""

VERSION = '0.4.13'


def log(task: str) -> Path:
    """The samples of a task."""
    [found] = [path for path in (RECORDED / VERSION).rglob('*.jsonl') if f'_{task}' in path.name]
    return found


def read(path: Path, **asked: Any) -> Run:
    """The one run of a file, which is recognised as what it is."""
    [(run, name, _)] = find_runs([path], Reading(**asked)).runs
    assert name == 'lm-eval'
    return run


def verdicts(run: Run) -> list[str]:
    questions = list(run.questions)
    assert all(isinstance(question, (Sampled, Responded)) for question in questions)
    return [question.verdicts for question in questions]  # type: ignore[union-attr]


COUNTS = [row.count('1') for row in RIGHT]
EXPECTED = {f'G-Pass@{k}_{tau}': g_pass(COUNTS, 4, k, tau) for k in (2, 4) for tau in (0.5, 0.75, 1.0)}
EXPECTED |= {
    'mG-Pass@4': (g_pass(COUNTS, 4, 4, 0.75) + g_pass(COUNTS, 4, 4, 1.0)) / 2,
    'accuracy': 100 * sum(COUNTS) / 24,
}
"""In percent."""


def scores(path: Path, out: Path, *options: str) -> dict[str, Any]:
    """What `gpassk score` writes of a file."""
    assert main(['score', str(path), '--k', '2', '4', '-o', str(out), *options]) == 0
    return dict(json.loads(out.read_text(encoding='utf-8')))


def test_verdicts_of_all_responses_are_taken_where_a_task_gives_them() -> None:
    """The metric that is a list of n."""
    run = read(log('sums_all'))
    assert run.kinds == ('labels', 'responses')
    assert verdicts(run) == list(RIGHT)
    assert run.model == 'org/scripted-7b'
    assert run.dataset == 'sums_all'
    assert run.judge['name'] == 'correct of lm-eval'
    assert run.settings['temperature'] == 0.8
    assert run.settings['max_out_len'] == 64


def test_the_verdict_on_one_of_n_responses_is_not_taken_for_all() -> None:
    """It is said, and all n are judged anew."""
    run = read(log('sums_first'))
    assert run.kinds == ('responses',)
    questions = [question for question in run.questions if isinstance(question, Responded)]
    assert [len(question.responses) for question in questions] == [4] * 6
    assert [question.reference for question in questions] == [str(17 + 3 * number) for number in range(6)]
    assert [question.about.uid for question in questions] == list('012345')
    assert questions[1].question == 'What is 1 + 19?'
    assert questions[2].responses[3] == MADE['response'](2, 3)
    [said] = [remark for remark in run.remarks if 'of 6 questions' in remark]
    assert 'exact_match' in said


@pytest.mark.parametrize(
    ('task', 'options'), [('sums_all', []), ('sums_all', ['--as', 'responses']), ('sums_first', [])], ids=str
)
def test_scores_equal_an_exact_computation(task: str, options: list[str], tmp_path: Path) -> None:
    """By the task's own verdicts, and by the rule judge of every response."""
    record = scores(log(task), tmp_path / 'scored.json', *options)
    for name, value in EXPECTED.items():
        assert record[name] == pytest.approx(value, rel=1e-12), name
    assert record['gpassk']['counts']['c'] == COUNTS


def test_the_first_filter_counts_and_the_rows_of_others_are_said() -> None:
    """Strict matching sees the box, the other filter the number of the try."""
    run = read(log('sums_filters'))
    assert verdicts(run) == FIRST
    [said] = [remark for remark in run.remarks if 'filter' in remark]
    assert said.startswith('6 rows are of another filter')


def test_another_filter_may_be_chosen() -> None:
    """By its name."""
    run = read(log('sums_filters'), fields={'filter': 'flexible-extract'})
    assert verdicts(run) == ['0', '0', '0', '0', '0', '1']  # the last one writes no number of a try
    assert run.judge['filter'] == 'flexible-extract'


def test_the_answers_that_a_filter_took_out_stand_beside_the_verdicts() -> None:
    """Where there is a verdict for each."""
    [first, *_] = read(log('sums_filters')).questions
    assert isinstance(first, Responded)
    assert first.answers == ('17',)


def test_weighed_choices_have_verdicts_and_no_responses() -> None:
    """A log-likelihood is no response."""
    run = read(log('sums_choices'))
    assert run.kinds == ('labels',)
    assert verdicts(run) == FIRST
    assert run.judge['name'] == 'acc of lm-eval'


def test_a_task_that_tells_its_judge_is_read_with_it_and_its_answers_and_names() -> None:
    """As its own record would be."""
    run = read(log('gpassk_questions'))
    questions = [question for question in run.questions if isinstance(question, Responded)]
    assert [question.verdicts for question in questions] == list(RIGHT)
    assert run.judge['name'] == 'rule'
    assert questions[1].answers == ('20', '22', '20', '20')
    assert all(question.about.uid.startswith('questions/') for question in questions)
    assert {question.about.group for question in questions} == {'all_en'}


def test_a_folder_is_a_run_a_task_and_nothing_is_left_over() -> None:
    """The summary is known for what it is."""
    found = find_runs([RECORDED / VERSION], Reading())
    names = sorted(one.run.dataset for one in found.runs)
    sums = ['sums_all', 'sums_choices', 'sums_class', 'sums_filters', 'sums_first']
    assert names == ['gpassk_questions', *sums]
    assert found.passed_over == []


def test_a_summary_alone_is_refused_with_what_to_give() -> None:
    summary, *_ = (RECORDED / VERSION).rglob('results_*.json')
    with pytest.raises(InputError, match='--log_samples'):
        find_runs([summary], Reading())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    name=st.sampled_from(['config', 'configs', 'versions', 'results', 'model_name', 'lm_eval_version']),
    inner=st.sampled_from(['', 'model_args', 'model', 'gpassk_questions']),
    value=_JSON,
)
def test_a_summary_with_a_field_of_another_type_does_no_harm(
    tmp_path_factory: pytest.TempPathFactory, name: str, inner: str, value: Any
) -> None:
    """What it says of the model is not known then; the samples are what they were."""
    folder = tmp_path_factory.mktemp('summary') / 'run'
    shutil.copytree(log('gpassk_questions').parent, folder)
    [file] = folder.glob('results_*.json')
    told = json.loads(file.read_text(encoding='utf-8'))
    told[name] = {inner: value} if inner else value
    file.write_text(json.dumps(told), encoding='utf-8')
    run = read(folder / log('gpassk_questions').name)
    assert verdicts(run) == list(RIGHT)
    assert isinstance(run.model, str)
    assert run.judge['name']


def edited(
    folder: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None], task: str = 'sums_all'
) -> Path:
    """A copy of a log in which rows are changed, or left out."""
    rows = [json.loads(line) for line in log(task).read_text(encoding='utf-8').splitlines()]
    changed = [row for row in map(change, rows) if row is not None]
    path = folder / log(task).name
    path.write_text(''.join(json.dumps(row) + '\n' for row in changed), encoding='utf-8')
    return path


def attempt(path: Path) -> tuple[list[str], str]:
    """The verdicts of a file, or the message of its error."""
    try:
        [run] = LmEval().read(Place(path), Reading())
        found = verdicts(run)
        assert all(isinstance(remark, str) for remark in run.remarks)
    except InputError as error:
        return [], str(error)
    return found, ''


@pytest.mark.parametrize('task', ['sums_all', 'sums_filters', 'gpassk_questions', 'sums_choices'])
def test_a_file_in_the_middle_of_being_written_is_an_error_or_ends_at_a_row(
    task: str, tmp_path: Path
) -> None:
    """Cut at any byte; only whole rows are ever counted."""
    content, path = log(task).read_bytes(), tmp_path / log(task).name
    whole = verdicts(read(log(task)))
    for size in range(0, len(content), 97):
        path.write_bytes(content[:size])
        found, error = attempt(path)
        if error:
            assert str(path) in error
        else:
            assert found == whole[: len(found)]
            assert len(found) == min(len(content[:size].splitlines()), 6)


@given(
    task=st.sampled_from(['sums_all', 'sums_first', 'sums_filters', 'sums_choices', 'gpassk_questions']),
    number=st.integers(0, 5),
    name=st.sampled_from(
        [
            *('doc_id', 'doc', 'target', 'arguments', 'resps', 'filtered_resps', 'filter', 'metrics'),
            *('correct', 'exact_match', 'acc'),
        ]
    ),
    value=_JSON,
)
def test_a_field_of_another_type_is_an_error_or_has_a_rule(
    tmp_path_factory: pytest.TempPathFactory, task: str, number: int, name: str, value: Any
) -> None:
    """Never an exception of another kind."""
    at = iter(range(100))
    path = edited(
        tmp_path_factory.mktemp('damaged'),
        lambda row: {**row, name: value} if next(at) == number else row,
        task,
    )
    found, error = attempt(path)
    assert str(path) in error or all(set(row) <= set('01?') for row in found)


@pytest.mark.parametrize('name', ['doc_id', 'doc', 'target', 'arguments', 'resps', 'filtered_resps'])
def test_a_row_without_a_field_is_an_error_that_names_file_and_row(name: str, tmp_path: Path) -> None:
    path = edited(tmp_path, lambda row: {key: row[key] for key in row if row['doc_id'] != 3 or key != name})
    with pytest.raises(InputError, match=f'{path.name}:4: '):
        list(read(path).questions)


def test_a_file_with_every_row_twice_is_refused(tmp_path: Path) -> None:
    """The harness appends to a file of the same name."""
    path = tmp_path / log('sums_all').name
    path.write_bytes(log('sums_all').read_bytes() * 2)
    with pytest.raises(InputError, match="'0' is there twice"):
        list(read(path).questions)


def test_verdicts_that_are_missing_unjudged_or_partial_each_have_their_rule(tmp_path: Path) -> None:
    """Null and NaN are unjudged; partial credit is incorrect, and said."""
    values = {0: [1, None, 0, 1], 1: [1.0, float('nan'), 0.0, 1.0], 2: [0.5, 1, 1, 1], 3: [True, False, 7, 0]}
    path = edited(tmp_path, lambda row: {**row, 'correct': values.get(row['doc_id'], row['correct'])})
    run = read(path)
    assert verdicts(run)[:4] == ['1?01', '1?01', '0111', '1010']
    said = ' '.join(run.remarks)
    assert '1 verdicts are partial credit' in said
    assert '1 verdicts are numbers above 1' in said
    assert '1 verdicts are NaN' in said


def test_a_verdict_too_few_is_an_error(tmp_path: Path) -> None:
    path = edited(tmp_path, lambda row: {**row, 'correct': row['correct'][: 4 - (row['doc_id'] == 2)]})
    with pytest.raises(InputError, match=r':3: correct is .*, for 4 responses'):
        list(read(path).questions)


def test_an_incomplete_question_keeps_its_own_n(tmp_path: Path) -> None:
    """It is not filled up with wrong answers."""

    def cut(row: dict[str, Any]) -> dict[str, Any]:
        size = 3 if row['doc_id'] == 2 else 4
        return {**row, 'resps': [row['resps'][0][:size]], 'correct': row['correct'][:size]}

    assert [len(row) for row in verdicts(read(edited(tmp_path, cut)))] == [4, 4, 3, 4, 4, 4]


def test_a_reply_without_text_is_empty_and_said(tmp_path: Path) -> None:
    """The word None stands for it in logs of earlier versions."""
    path = edited(tmp_path, lambda row: {**row, 'resps': [['None', *row['resps'][0][1:]]]}, 'sums_first')
    run = read(path)
    [first, *_] = run.questions
    assert isinstance(first, Responded)
    assert first.responses[0] == ''
    assert first.generations[0].state == 'empty'
    assert any('6 responses are "None"' in remark for remark in run.remarks)


def test_the_share_of_correct_samples_is_their_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tasks of code score all n and log pass@1, which is c / n; a judge needs `--as responses`."""

    def coded(row: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in row.items() if key != 'correct'}
        c = sum(row['correct'])
        return {**kept, 'metrics': ['pass@1', 'pass@2'], 'pass@1': c / 4, 'pass@2': 1 - comb(4 - c, 2) / 6}

    path = edited(tmp_path, coded)
    run = read(path)
    assert run.kinds == ('counts',)
    counted = [question for question in run.questions if isinstance(question, Counted)]
    assert [(question.n, question.c) for question in counted] == [(4, c) for c in COUNTS]
    record = scores(path, tmp_path / 'scored.json', '--as', 'counts')
    for name, value in EXPECTED.items():
        assert record[name] == pytest.approx(value, rel=1e-12), name
    judged = scores(path, tmp_path / 'judged.json', '--as', 'responses', '--judge', 'rule')
    assert judged['G-Pass@4_1.0'] == pytest.approx(EXPECTED['G-Pass@4_1.0'], rel=1e-12)
    assert main(['score', str(path), '--judge', 'rule']) == 2
    assert '--judge goes with responses; ' in capsys.readouterr().err
    odd = edited(tmp_path, lambda row: {**coded(row), 'pass@1': 0.3})
    with pytest.raises(InputError, match=r'pass@1 is 0\.3, of 4 responses'):
        list(read(odd).questions)


def _metric(name: str, value: Any, left: int = 4) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Gives rows one metric, `{name: value(row)}`, in place of `correct`; the filter leaves some."""

    def changed(row: dict[str, Any]) -> dict[str, Any]:
        kept = {key: told for key, told in row.items() if key != 'correct'}
        texts = row['resps'][0][:left]
        return {**kept, 'metrics': [name], name: value(row), 'filtered_resps': [texts] if left > 1 else texts}

    return changed


def test_pass_at_1_of_the_one_response_that_a_filter_left_is_not_taken(tmp_path: Path) -> None:
    """All n are judged anew, which is said; nor is it where a later row has fewer."""
    path = edited(tmp_path, _metric('pass@1', lambda row: float(row['correct'][0]), left=1))
    run = read(path)
    assert run.kinds == ('responses',)
    assert [len(one.responses) for one in run.questions if isinstance(one, Responded)] == [4] * 6
    assert any('of 6 questions the harness scored only' in remark for remark in run.remarks)
    record = scores(path, tmp_path / 'scored.json')
    assert record['accuracy'] == pytest.approx(EXPECTED['accuracy'], rel=1e-12)
    path = edited(
        tmp_path, lambda row: _metric('pass@1', lambda row: 1.0, left=1 if row['doc_id'] else 4)(row)
    )
    with pytest.raises(InputError, match=r':2: filtered_resps is .*, for 4 responses'):
        list(read(path, kind='counts').questions)


def test_verdicts_of_instructions_are_not_taken_for_those_of_responses(tmp_path: Path) -> None:
    """As IFEval has them: as many as a question has instructions, by chance also n."""
    lists = _metric('inst_level_strict_acc', lambda row: [True] * 4, left=1)
    run = read(edited(tmp_path, lists))
    assert run.kinds == ('responses',)
    list(run.questions)
    assert any('inst_level_strict_acc' in remark for remark in run.remarks)
    chosen = read(edited(tmp_path, lists), fields={'correct': 'inst_level_strict_acc'})
    assert verdicts(chosen) == ['1111'] * 6
    each = _metric('strict', lambda row: row['correct'])
    assert verdicts(read(edited(tmp_path, each))) == list(RIGHT)
    uneven = _metric('strict', lambda row: row['correct'][: 4 - (row['doc_id'] == 2)])
    with pytest.raises(InputError, match=':3: strict is'):
        list(read(edited(tmp_path, uneven)).questions)


def test_of_one_response_a_number_is_taken_before_a_list(tmp_path: Path) -> None:
    """A question with one instruction has a list of one."""

    def ifeval(row: dict[str, Any]) -> dict[str, Any]:
        numbers = {'inst_level_strict_acc': [True], 'prompt_level_strict_acc': row['doc_id'] > 2}
        return {**row, 'resps': [row['resps'][0][:1]], 'metrics': list(numbers), **numbers}

    run = read(edited(tmp_path, ifeval, 'sums_first'))
    assert verdicts(run) == list('000111')
    assert run.judge['name'] == 'prompt_level_strict_acc of lm-eval'


def test_a_question_that_has_no_known_field_is_its_prompt(tmp_path: Path) -> None:
    """And somebody may say which field it is."""
    path = edited(tmp_path, lambda row: {**row, 'doc': {'asked': 'How much?'}})
    run = read(path)
    [first, *_] = run.questions
    assert isinstance(first, Responded)
    assert first.question == 'What is 0 + 17?'
    assert any('whole prompt' in remark for remark in run.remarks)
    [first, *_] = read(path, fields={'question': 'asked'}).questions
    assert isinstance(first, Responded)
    assert first.question == 'How much?'
    with pytest.raises(InputError, match='no field here; expected one of correct, filter, question'):
        read(path, fields={'responses': 'resps'})


def test_fields_of_a_tasks_own_data_may_name_and_group_its_questions(tmp_path: Path) -> None:
    """As the levels and subjects of a benchmark."""
    path = edited(
        tmp_path,
        lambda row: {
            **row,
            'doc': {**row['doc'], 'level': row['doc_id'] // 3, 'id': 'a' * (row['doc_id'] + 1)},
        },
    )
    questions = list(read(path, fields={'split': 'level', 'uid': 'id'}).questions)
    assert [question.about.group for question in questions] == ['0', '0', '0', '1', '1', '1']
    assert [question.about.uid for question in questions] == ['a' * size for size in range(1, 7)]
    with pytest.raises(InputError, match="doc has no 'subject'; there is question, answer"):
        list(read(path, fields={'split': 'subject'}).questions)


@pytest.mark.parametrize(
    'content',
    [
        '', '{}', '{"question": "1 + 1?", "answer": "2", "responses": ["2"]}', '[1, 2]', '{"doc_id": 1}',
        '\x00\xff',
    ],
)  # fmt: skip
def test_files_of_others_are_not_recognised(content: str, tmp_path: Path) -> None:
    path = tmp_path / 'samples_task_2026-11-23T05-30-50.998577.jsonl'
    path.write_text(content)
    assert not LmEval().recognises(Place(path))
    assert not LmEval().recognises(Place(tmp_path))
