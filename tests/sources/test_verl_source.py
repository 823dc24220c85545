"""Dumps of verl, as its own trainer wrote them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from exact import EXACT, g_pass
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpassk_opencompass import InputError
from gpassk_opencompass.cli import main
from gpassk_opencompass.results.read import read
from gpassk_opencompass.sources.finding import find_runs
from gpassk_opencompass.sources.source import Place, Reading, Responded, Run, Sampled
from gpassk_opencompass.sources.verl import Verl

RECORDED = Path(__file__).parents[1] / 'recorded' / 'verl'
TRUTH: dict[str, dict[str, str]] = {
    f'{version.name}/{name}': known
    for version in sorted(RECORDED.iterdir())
    for name, known in json.loads((version / 'truth.json').read_text()).items()
}
"""File → ground truth → a symbol a sample."""

NEWEST = RECORDED / '0.9.1'


def runs_of(*paths: Path, **reading: Any) -> list[Run]:
    return [one.run for one in find_runs(paths, Reading(**reading)).runs]


def verdicts_of(run: Run) -> dict[str, str]:
    """What each question's samples are, by the answer that its prompt asks for."""
    found = {}
    for question in run.questions:
        assert isinstance(question, (Responded, Sampled))
        asked = int(question.question.partition('one more than ')[2].partition('?')[0])
        found[str(asked + 1)] = question.verdicts
    return found


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return path


def row(asked: str = 'q', score: object = 1.0, **more: object) -> dict[str, Any]:
    return {'input': asked, 'output': 'a', 'gts': '4', 'score': score, 'step': 1, **more}


@pytest.mark.parametrize('name', TRUTH)
def test_recorded_dumps_have_the_scores_of_their_script(name: str, tmp_path: Path) -> None:
    """Verdict by verdict, and G-Pass@k as an exact computation has it."""
    out = tmp_path / 'out.json'
    assert main(['score', str(RECORDED / name), '--k', '2', '4', '-o', str(out)]) == 0
    result = read(out)
    [run] = runs_of(RECORDED / name, texts=False)
    assert verdicts_of(run) == TRUTH[name]
    assert result.samples is not None
    assert list(result.samples.verdicts()) == list(TRUTH[name].values())
    path = Path(name)
    assert (result.model_abbr, result.dataset_abbr) == (f'step {path.stem}', path.parent.name)
    for k in (2, 4):
        for threshold in (0.5, 0.75, 1.0):
            expected = g_pass([symbols.count('1') for symbols in TRUTH[name].values()], 4, k, threshold)
            assert result.record[f'G-Pass@{k}_{threshold}'] == pytest.approx(expected, abs=1e-9)


def test_a_folder_is_a_run_a_step() -> None:
    """By the numbers of the steps; a question has one uid in all of them."""
    runs = runs_of(NEWEST / 'validation')
    assert [run.name for run in runs] == ['step 0/validation', 'step 5/validation', 'step 10/validation']
    uids = [[question.about.uid for question in run.questions] for run in runs]
    assert uids[0] == uids[1] == uids[2]
    assert len(set(uids[0])) == 5


def test_texts_references_and_answers_are_taken() -> None:
    """An answer that verl did not find is none."""
    [run] = runs_of(NEWEST / 'validation' / '0.jsonl')
    assert run.judge == {'name': 'verl acc'}
    questions = list(run.questions)
    first, unanswered = questions[0], questions[3]
    assert isinstance(first, Responded)
    assert isinstance(unanswered, Responded)
    assert first.reference == '42'
    assert first.question == 'user\nWhich number is one more than 41?\nassistant\n'
    assert first.responses[2] == 'Attempt 2.\n#### 42\nAnswer: 42'
    assert first.answers == ('42',) * 4
    assert unanswered.answers == ('', '2', '', '')
    assert [number for _, number in first.places] == [1, 2, 3, 4]


def test_what_was_rewarded_can_be_judged_anew(tmp_path: Path) -> None:
    """By the final answers of the texts."""
    rows = [
        row(f'{place % 2}?', -1, output=f'{place}: \\boxed{{{4 if place < 3 else 5}}}') for place in range(8)
    ]
    out = tmp_path / 'out.json'
    options = [*EXACT, '--k', '2', '-o', str(out)]
    assert main(['score', str(write(tmp_path / '1.jsonl', rows)), *options]) == 0
    assert read(out).counts.tolist() == [2, 1]


def test_credit_for_the_format_is_incorrect_and_told_of() -> None:
    """Unless somebody says from where on a score is correct."""
    path = NEWEST / 'format' / '3.jsonl'
    scores = [json.loads(line)['score'] for line in path.read_text().splitlines()]
    partial = sum(0 < score < 1 for score in scores)
    assert partial
    [run] = runs_of(path)
    assert verdicts_of(run) == TRUTH['0.9.1/format/3.jsonl']
    assert any(line.startswith(f'{partial} verdicts are partial credit') for line in run.remarks)
    [lenient] = runs_of(path, correct_from=0.05)
    correct = sum(symbols.count('1') for symbols in verdicts_of(lenient).values())
    assert correct == sum(score > 0 for score in scores)


def test_without_ground_truths_there_are_verdicts_alone(tmp_path: Path) -> None:
    """There is nothing to judge by."""
    path = write(tmp_path / '7.jsonl', [row(gts=None), row(gts=None, score=0)])
    [run] = runs_of(path)
    assert run.kinds == ('labels',)
    assert [question.verdicts for question in run.questions] == ['10']  # type: ignore[union-attr]


def test_the_last_output_of_a_rollout_is_its_sample() -> None:
    """Turns before it are told of; the question is the first input."""
    [run] = runs_of(NEWEST / 'agent')
    questions = list(run.questions)
    assert [len(question.responses) for question in questions if isinstance(question, Responded)] == [4] * 5
    first = questions[0]
    assert isinstance(first, Responded)
    assert first.responses[1] == 'Attempt 1.\n#### 42\nAnswer: 42'
    assert first.question.startswith('user\nWhich number is one more than 41?')
    assert first.question.endswith('?\nassistant\n')
    assert run.remarks[0].startswith('20 earlier turns of rollouts')


@pytest.mark.parametrize(
    ('scores', 'verdicts'),
    [
        ([{'acc': True}, {'acc': 0}, {'acc': None}, {'acc': 'True'}], '1011'),
        ([{'score': -1}, {'score': '1.0'}, {'score': '-1.0'}, {'score': '0.5'}], '0100'),
        ([{'score': None}, {'score': 'NaN'}, {'score': False}, {'score': 7}], '??01'),
    ],
    ids=['acc', 'texts', 'others'],
)
def test_acc_counts_before_the_score(scores: list[dict[str, Any]], verdicts: str, tmp_path: Path) -> None:
    """Numbers of numpy are written as texts by some versions."""
    rows = [{**row(), **more} for more in scores]
    [run] = runs_of(write(tmp_path / '1.jsonl', rows))
    [question] = run.questions
    assert isinstance(question, Responded)
    assert question.verdicts == verdicts
    told = any('have no acc: their score says' in line for line in run.remarks)
    assert told == ('acc' in scores[0])


def test_an_input_with_two_ground_truths_is_two_questions(tmp_path: Path) -> None:
    """As where prompts are cut to a length."""
    rows = [row(gts='4'), row(gts='5', score=0), row(gts='4'), row(gts='5', score=0), row('other')] * 2
    [run] = runs_of(write(tmp_path / '1.jsonl', rows))
    questions = [question for question in run.questions if isinstance(question, Responded)]
    assert [(one.reference, one.verdicts) for one in questions] == [('4', '1111'), ('5', '0000'), ('4', '11')]
    assert len({one.about.uid for one in questions}) == 3
    assert any(line.startswith('1 inputs have several ground truths') for line in run.remarks)


def test_a_question_that_is_there_twice_is_two_where_verl_has_uids(tmp_path: Path) -> None:
    """And one where it has none."""
    rows = [row(uid=f'{key}_{rollout}_0') for key in ('a', 'b') for rollout in range(2)]
    [run] = runs_of(write(tmp_path / '1.jsonl', rows))
    found = [(one.about.uid, one.verdicts) for one in run.questions if isinstance(one, Responded)]
    assert [verdicts for _, verdicts in found] == ['11', '11']
    assert len({uid for uid, _ in found}) == 2
    assert any(line.startswith('1 questions are there several times') for line in run.remarks)
    [run] = runs_of(write(tmp_path / '1.jsonl', [row(uid=name) for name in 'aabb']))
    assert [one.verdicts for one in run.questions if isinstance(one, Responded)] == ['1111']


@pytest.mark.parametrize('order', ['questions', 'rounds'])
@pytest.mark.parametrize('size', [1, 3])
def test_uids_that_only_end_in_two_numbers_hide_no_question(order: str, size: int, tmp_path: Path) -> None:
    """As those of a benchmark with a year: question 1 is no later turn of question 0."""
    rows = [
        row(f'{place}?', place % 2, gts=f'{place}', uid=f'aime_2024_{place}', output=f'{place}, {draw}')
        for place in range(4)
        for draw in range(size)
    ]
    if order == 'rounds':
        rows = [one for draw in range(size) for one in rows[draw::size]]
    [run] = runs_of(write(tmp_path / '1.jsonl', rows))
    found = [one for one in run.questions if isinstance(one, Responded)]
    assert [one.question for one in found] == ['0?', '1?', '2?', '3?']
    assert [one.verdicts for one in found] == ['0' * size, '1' * size] * 2
    assert [one.responses for one in found] == [
        tuple(f'{place}, {draw}' for draw in range(size)) for place in range(4)
    ]
    assert not any('earlier turns' in line for line in run.remarks)
    assert any("uids that begin with 'aime' look like" in line for line in run.remarks)


@pytest.mark.parametrize(
    ('rows', 'message'),
    [
        ([row(), row(step=2)], r'1\.jsonl:2: it is of step 2, the first row of step 1'),
        ([row(), {'input': 'q', 'step': 1}], r'1\.jsonl:2: input is .q. and output is None; expected two'),
        ([row(), row(score=[1])], r'1\.jsonl:2: \[1\] is no verdict'),
        ([row(uid='a_0_0'), row('b', uid='b_0_0'), row(uid='a_0_0')], 'is there twice'),
        ([row(uid='a_0_0'), row(uid='a_0_0')], 'is there twice'),
    ],
    ids=['step', 'output', 'score', 'rollout', 'rollout after itself'],
)
def test_damaged_rows_are_named(rows: list[Mapping[str, Any]], message: str, tmp_path: Path) -> None:
    """With file and line."""
    write(tmp_path / '1.jsonl', [dict(one) for one in rows])
    with pytest.raises(InputError, match=message):
        [list(run.questions) for run in runs_of(tmp_path / '1.jsonl')]


@pytest.mark.parametrize('name', [name for name in TRUTH if name.endswith(('/0.jsonl', '/3.jsonl'))])
def test_a_dump_that_is_cut_anywhere_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Within a row it names the line; between rows a question has too few samples."""
    whole = (RECORDED / name).read_bytes()
    path = tmp_path / '1.jsonl'
    chance = random.Random(name)
    rows = len(whole.splitlines())
    for size in sorted(chance.sample(range(1, len(whole)), 20)):
        path.write_bytes(whole[:size])
        kept = whole[:size].splitlines()
        try:
            found = sum(map(len, verdicts_of(runs_of(path)[0]).values()))
        except InputError as error:
            told = str(error)
        else:
            told = ''
            assert found == (len(kept) if 'agent' not in name else -(-len(kept) // 2))
        in_row = bool(whole[:size].rpartition(b'\n')[2]) and whole[size - 1 : size + 1] != b'}\n'
        assert (f'{path}:{len(kept)}' in told or (len(kept) == 1 and str(path) in told)) == in_row
    path.write_bytes(b''.join(whole.splitlines(keepends=True)[: rows - 2]))
    assert main(['score', str(path), '--k', '2']) == 2
    assert 'different numbers of samples' in capsys.readouterr().err


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JSON = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=5), SCALARS, max_size=3)
FIELDS = ['input', 'output', 'gts', 'score', 'step', 'acc', 'pred', 'uid', 'reward']


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(more=st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4), first=st.booleans())
def test_fields_of_other_types_are_read_or_refused(more: dict[str, Any], first: bool, tmp_path: Path) -> None:
    """Nothing else than questions or an InputError that names the file comes of them."""
    rows = [{**row(), **more}, row()] if first else [row(), {**row(), **more}]
    path = write(tmp_path / '1.jsonl', rows)
    told, samples = '', 0
    try:
        for question in Verl().read(Place(path), Reading())[0].questions:
            assert isinstance(question, (Responded, Sampled))
            samples += len(question.verdicts)
    except InputError as error:
        told = str(error)
    assert samples == 2 or str(path) in told


def test_other_files_are_not_recognised(tmp_path: Path) -> None:
    """Whatever they hold, and whatever their names are."""
    others = [path for path in RECORDED.parent.rglob('*') if RECORDED not in path.parents]
    chance = random.Random(5)
    contents = b'', b'{', b'[1]', b'{"input": 4}', json.dumps(row(step='1')).encode(), chance.randbytes(99)
    for number, content in enumerate(contents):
        path = tmp_path / f'{number}.jsonl'
        path.write_bytes(content)
        others.append(path)
        with pytest.raises(InputError, match=str(number)):
            Verl().read(Place(path), Reading())
    for path in [*others, tmp_path, tmp_path / 'absent']:
        assert not Verl().recognises(Place(path))
