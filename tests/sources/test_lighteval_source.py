"""Details that Lighteval 0.13 wrote of tasks that are not of this package, judged anew."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from harness_scores import check_scores, damaged, read_all, runs_of, scored

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.sources.lighteval_details import LightevalDetails
from gpassk_opencompass.sources.source import SOURCES, Place, Responded

RECORDED = Path(__file__).resolve().parents[1] / 'recorded'
LOGS = RECORDED / 'lighteval_tasks'

COUNTS = [4, 3, 2, 1, 0, 4]
"""Right samples of the six questions, by construction: those with the least numbers."""


def details(task: str) -> Path:
    """The recorded details of a task."""
    [path] = (LOGS / task / 'details').rglob('*.parquet')
    return path


def rows_of(task: str) -> list[dict[str, Any]]:
    """What is in them."""
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(details(task)).to_pylist()
    return rows


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A table of rows."""
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize('whole', [True, False], ids=['folder', 'file'])
def test_responses_of_any_generative_task_are_judged_anew(whole: bool, tmp_path: Path) -> None:
    """Of a task with Lighteval's own avg@n; the scores are exact, and Lighteval's mean is ours."""
    result = scored(tmp_path / 'out.json', LOGS / 'sums' if whole else details('sums'), '--k', '2', '4')
    check_scores(result, COUNTS, 4)
    assert (result.model_abbr, result.dataset_abbr) == ('someone/scripted', 'sums')
    assert result.judge['name'] == 'rule'
    [path] = (LOGS / 'sums' / 'results').rglob('*.json')
    [theirs] = [
        value
        for name, value in json.loads(path.read_text())['results']['sums|0'].items()
        if name.startswith('avg@n') and 'stderr' not in name
    ]
    assert abs(100 * theirs - result.record['accuracy']) < 1e-9


def test_samples_keep_order_texts_and_tokens() -> None:
    """Under the key of the question, whatever order Lighteval asked them in."""
    [run] = runs_of(details('sums'))
    assert run.kinds == ('responses',)
    questions = list(run.questions)
    assert sorted(one.about.uid for one in questions) == [str(number) for number in range(6)]
    for question in questions:
        assert isinstance(question, Responded)
        number = int(question.about.uid)
        assert question.question == f'What is {number} + 10? Answer in a box.'
        assert question.reference == f'${number + 10}$'
        for replica, text in enumerate(question.responses):
            shown = 0 if number == 5 else replica
            assert text.startswith(f'<think>Sample {shown} of question {number}: zehn.</think>')
        told = [(one.finish_reason, one.prompt_tokens, one.output_tokens) for one in question.generations]
        assert told == [(None, 7, 10), (None, 7, 11), (None, 7, 12), ('length', 7, 40)]
    assert any(
        remark.startswith('Lighteval keeps a score a question (avg@n') and 'judged anew' in remark
        for remark in run.remarks
    )
    assert '6 of 24 responses were cut off at the limit of tokens' in list(run.remarks)


def test_choices_by_log_likelihood_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """There is no response to judge."""
    assert main(['score', str(details('choices'))]) == 2
    assert 'compares log-likelihoods of choices' in capsys.readouterr().err


def test_a_summary_alone_is_refused_with_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has means, and no samples."""
    [summary] = (LOGS / 'sums' / 'results').rglob('*.json')
    shutil.copy(summary, tmp_path)
    assert main(['score', str(tmp_path / summary.name)]) == 2
    assert '--save-details' in capsys.readouterr().err


def test_thoughts_that_were_kept_apart_are_joined(tmp_path: Path) -> None:
    """To the response, where there is one."""
    rows = rows_of('sums')[:1]
    rows[0]['model_response'] |= {
        'text': ['\\boxed{1}', '', None, 'x'],
        'reasonings': ['so', 'hmm', 'hm', None],
    }
    [run] = runs_of(written(tmp_path / 'd.parquet', rows))
    [question] = run.questions
    assert isinstance(question, Responded)
    assert question.responses == ('so\n</think>\n\n\\boxed{1}', '<think>hmm', '<think>hm', 'x')


def test_missing_samples_are_unjudged_and_said(tmp_path: Path) -> None:
    """An endpoint that answered two of four times, and one that gave nothing."""
    rows = rows_of('sums')
    rows[0]['model_response']['text'] = rows[0]['model_response']['text'][:2]
    rows[1]['model_response'] |= {'text': [], 'output_tokens': [], 'input_tokens': []}
    [run] = runs_of(written(tmp_path / 'd.parquet', rows))
    states = Counter(one.state for question in run.questions for one in getattr(question, 'generations', ()))
    assert states == {None: 18, 'failed': 6}
    assert '6 samples have no response and are unjudged: 6 failed' in list(run.remarks)


def test_a_question_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """As with several few-shot seeds: other prompts, and no samples of one."""
    rows = rows_of('sums')
    told = read_all(written(tmp_path / 'd.parquet', [*rows, rows[0]]), 'lighteval')
    assert 'is there a second time' in told


def test_padded_responses_have_no_token_counts(tmp_path: Path) -> None:
    """transformers pads a batch to one length, which nothing marks."""
    rows = rows_of('sums')
    rows[0]['model_response']['output_tokens'] = [[5, 6, 0, 0], [5, 6, 7, 8], [5, 0, 0, 0], [5, 6, 7, 0]]
    first, second, *_ = next(iter(runs_of(written(tmp_path / 'd.parquet', rows)))).questions
    assert isinstance(first, Responded)
    assert isinstance(second, Responded)
    assert {one.output_tokens for one in first.generations} == {None}
    assert [one.output_tokens for one in second.generations] == [10, 11, 12, 40]


@pytest.mark.parametrize(
    ('index', 'choices', 'reference'),
    [([1, 0], ['a', 'b'], 'b'), (0, ['a'], 'a'), (3, ['a'], None), (None, ['a'], None), ([], ['a'], None)],
    ids=['several', 'one', 'beyond', 'none', 'empty'],
)
def test_the_reference_is_the_gold_choice(
    index: Any, choices: list[str], reference: str | None, tmp_path: Path
) -> None:
    """Of several the first, which is said; without one the file is refused."""
    rows = rows_of('sums')[:1]
    rows[0]['doc'] |= {'gold_index': index, 'choices': choices}
    path = written(tmp_path / 'd.parquet', rows)
    if reference is None:
        assert 'expected the place of the reference answer' in read_all(path, 'lighteval')
        return
    [run] = runs_of(path)
    assert [one.reference for one in run.questions if isinstance(one, Responded)] == [reference]
    assert any('several references' in remark for remark in run.remarks) == isinstance(index, list)


def test_damage_is_an_error(tmp_path: Path) -> None:
    """Of its bytes, and fields of other types: no traceback, and no question is dropped."""
    path = tmp_path / 'details_x.parquet'
    for broken in damaged(details('sums').read_bytes(), 13, 40):
        path.write_bytes(broken)
        _check(path)
    content = json.dumps(rows_of('sums'))
    for place, name in [
        *(('doc', name) for name in ('id', 'query', 'choices', 'gold_index', 'task_name', 'num_samples')),
        *(('doc', name) for name in ('generation_size', '')),
        *(('model_response', name) for name in ('text', 'reasonings', 'input_tokens', 'output_tokens', '')),
        *(('model_response', 'padded_tokens_count'), ('metric', '')),
    ]:
        for odd in (None, 'x', 7, 2.5, [], [1], [None], [[1]], {'a': 1}):
            rows = json.loads(content)
            for row in rows:
                if name:
                    row[place][name] = odd
                else:
                    row[place] = odd
            _check(written(path, rows))


def _check(path: Path) -> None:
    for name, source in SOURCES.each():
        if not isinstance(source, InputError) and name != 'rows':
            source().recognises(Place(path))
    told = read_all(path, 'lighteval')
    assert isinstance(told, str) or [len(questions) for questions in told] == [6]


def test_files_of_others_are_not_recognised(tmp_path: Path) -> None:
    """A table with other columns, and JSON by the name of a summary."""
    path = written(tmp_path / 'details_x.parquet', [{'doc': 1, 'metric': 2}])
    assert not LightevalDetails().recognises(Place(path))
    other = tmp_path / 'results_2026-01-01T00-00-00.000000.json'
    other.write_text('{"results": {}}')
    assert not LightevalDetails().recognises(Place(other))
