"""Logs that real releases of EvalScope wrote of a scripted model, of which is known what it gets right."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from evalscope_truth import N, symbols_of, truth_of
from exact import EXACT, g_pass

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.results.read import read
from gpassk_opencompass.sources.evalscope import EvalScope
from gpassk_opencompass.sources.finding import find_runs
from gpassk_opencompass.sources.source import Place, Reading, Responded, Run, Sampled

RECORDED = Path(__file__).resolve().parents[1] / 'recorded'
LOGS = RECORDED / 'evalscope'
SUMS = LOGS / '1.14.1' / 'sums'
SCORES = LOGS / '1.14.1' / 'scores'
FOLDERS = sorted(path.parent for path in LOGS.rglob('truth.json'))


def by_name(path: Path) -> str:
    return str(path.relative_to(LOGS))


def runs_in(*paths: Path, **reading: Any) -> list[Run]:
    return [found.run for found in find_runs(paths, Reading(**reading)).runs]


def questions_in(run: Run) -> dict[str, Responded]:
    questions = list(run.questions)
    assert all(isinstance(one, Responded) for one in questions)
    return {one.about.uid: one for one in questions if isinstance(one, Responded)}


def symbols_in(run: Run) -> Iterator[tuple[str, str]]:
    for one in run.questions:
        assert isinstance(one, Responded | Sampled)
        yield one.about.uid, one.verdicts


@pytest.mark.parametrize('folder', FOLDERS, ids=by_name)
def test_each_response_has_the_verdict_that_it_should_have(folder: Path) -> None:
    """Of every release; samples that failed, or whose prompt was too long, are unjudged and have no text."""
    known = truth_of(folder)
    runs = runs_in(folder)
    assert {run.dataset for run in runs} == set(known)
    for run in runs:
        questions = questions_in(run)
        assert set(questions) == set(known[run.dataset])
        for uid, question in questions.items():
            told = known[run.dataset][uid]
            assert question.reference == told['reference']
            assert told['question'] in question.question
            assert len(question.responses) == len(question.generations) == len(question.verdicts) == N
            seen = {}
            for response, verdict in zip(question.responses, question.verdicts, strict=True):
                if said := re.search(r'Sample (\d):', response):
                    seen[int(said[1])] = verdict
                else:
                    assert (response, verdict) == ('', '?')
            expected = dict(enumerate(symbols_of(told)))
            lost = [place for place, letter in enumerate(told['replies']) if letter in 'lf']
            assert seen == {place: symbol for place, symbol in expected.items() if place not in lost}
            states = [one.state for one in question.generations]
            assert sorted(filter(None, states)) == sorted(
                {'l': 'too long', 'f': 'failed'}[letter] for letter in told['replies'] if letter in 'lf'
            )


@pytest.mark.parametrize('folder', FOLDERS, ids=by_name)
def test_scores_are_those_of_an_exact_computation(folder: Path, tmp_path: Path) -> None:
    """`gpassk score FOLDER`: pass@k and G-Pass@k of each benchmark, from the truth alone."""
    assert main(['score', str(folder), '--k', '2', '4', '-o', f'{tmp_path / "out"}/']) == 0
    for benchmark, questions in truth_of(folder).items():
        result = read(tmp_path / 'out' / f'scripted-1@{benchmark}.gpassk.json')
        right = [symbols_of(told).count('1') for told in questions.values()]
        for k in (2, 4):
            for threshold in (0.0, 0.5, 0.75, 1.0):
                name = f'G-Pass@{k}_{threshold}' if threshold else f'pass@{k}'
                assert result.record[name] == pytest.approx(g_pass(right, N, k, threshold), abs=1e-9)


def test_what_the_files_tell_of_a_run_is_kept() -> None:
    """Model, benchmark, version, sampling, who judged; the subsets are splits."""
    aime, math = runs_in(SUMS)
    assert (aime.model, aime.dataset, aime.written_by) == ('scripted-1', 'aime24', 'EvalScope 1.14.1')
    assert aime.settings == {'temperature': 0.7, 'top_p': 0.95, 'max_tokens': 64}
    assert aime.kinds == ('labels', 'responses')
    assert aime.judge['name'] == 'acc of EvalScope'
    assert {one.about.split for one in aime.questions} == {''}
    assert math.judge['name'] == 'accuracy of EvalScope'
    assert {one.about.split for one in math.questions} == {'Level 1', 'Level 2'}
    [judged] = runs_in(LOGS / '1.14.1' / 'judged')
    assert judged.judge == {
        'name': 'acc of EvalScope',
        'metric': 'acc',
        'models': ['judge'],
        'strategy': 'llm',
    }


def test_tokens_finish_reasons_and_answers_are_kept() -> None:
    """As the predictions tell them; the error of a server is no response."""
    run = runs_in(SUMS)[0]
    samples = [
        (response, told, answer)
        for question in questions_in(run).values()
        for response, told, answer in zip(
            question.responses,
            question.generations,
            question.answers or [''] * N,
            strict=True,
        )
    ]
    for response, told, _ in samples:
        assert told.finish_reason == (
            None if told.state else 'length' if response.endswith('first I') else 'stop'
        )
        assert told.output_tokens == (None if told.state else 20)
        assert told.prompt_tokens == (None if told.state else 9)
    assert all(told.seconds is None or told.seconds > 0 for _, told, _ in samples)
    assert {answer for response, _, answer in samples if 'boxed{7}' in response} == {'7'}


def test_a_thought_kept_apart_stands_before_its_answer() -> None:
    """`prediction` leaves the thought out; the messages of the review have it."""
    question = questions_in(runs_in(SUMS)[0])['4']
    thought = [response for response in question.responses if '</think>' in response]
    assert len(thought) == 2
    assert all(re.fullmatch(r'I add 6 and 7\.\n</think>\n\nSample \d: \\boxed\{13\}', one) for one in thought)


def test_responses_are_judged_anew_and_failed_samples_stay_unjudged(tmp_path: Path) -> None:
    """A judge of ours gives verdicts also where EvalScope's gave none."""
    command = ['score', str(SUMS), '--k', '2', *EXACT, '-o', f'{tmp_path / "out"}/']
    assert main(command) == 0
    block = read(tmp_path / 'out' / 'scripted-1@aime24.gpassk.json').record['gpassk']
    told = truth_of(SUMS)['aime24']
    for uid, c, unjudged in zip(*(block['counts'][name] for name in ('uid', 'c', 'unjudged')), strict=True):
        one = told[uid.removeprefix('aime24/')]
        right = symbols_of(one).count('1') if '.' not in one['reference'] else 0
        assert (c, unjudged) == (right, sum(letter in 'lf' for letter in one['replies']))
    assert block['truncated'] == 1


def test_notes_say_what_became_of_unusual_samples() -> None:
    """Nothing is dropped, and nothing becomes a wrong answer, without a word."""
    [run, _] = runs_in(SUMS)
    assert len(list(run.questions)) == 6
    assert list(run.remarks) == [
        '1 of 24 responses were cut off at the limit of tokens',
        '4 samples were not scored by EvalScope (its judge, or a metric, failed): they are unjudged',
        '2 samples have no response and are unjudged: 1 too long, 1 failed',
    ]


@pytest.mark.parametrize(
    ('reading', 'expected'),
    [
        ({}, ['1101', '0010']),
        ({'correct_from': 0.5}, ['1111', '0110']),
        ({'fields': {'correct': 'acc'}, 'correct_from': 0.5}, ['1101', '0010']),
        ({'fields': {'correct': 'credit'}}, ['1101', '0010']),
    ],
    ids=['main', 'half credit', 'acc', 'credit'],
)
def test_of_several_scores_one_is_the_verdict(reading: dict[str, Any], expected: list[str]) -> None:
    """EvalScope's main one, or the one that is named; partial credit counts from where one says."""
    [run] = runs_in(SCORES, **reading)
    found = questions_in(run)
    for number, symbols in enumerate(expected):
        question = found[str(number)]
        order = [int(response[7]) for response in question.responses]
        assert ''.join(question.verdicts[order.index(place)] for place in range(N)) == symbols
    named = reading.get('fields', {}).get('correct', 'credit')
    assert f"the verdicts are the score '{named}' of acc, credit; --field correct=NAME takes another" in list(
        run.remarks
    )


def test_a_field_that_is_not_there_is_refused_by_name() -> None:
    """A score, a key of the metadata, and a field that EvalScope does not have."""
    [run] = runs_in(SCORES, fields={'correct': 'f1'})
    with pytest.raises(InputError, match="gave two_scores no score 'f1'; there is acc, credit"):
        list(run.questions)
    [run] = runs_in(SCORES, fields={'reference': 'gold'})
    with pytest.raises(
        InputError, match=r"two_scores_default.jsonl:1: the metadata has no 'gold'.*there is answer"
    ):
        list(run.questions)
    with pytest.raises(InputError, match="no field 'uid' to choose; expected correct"):
        runs_in(SCORES, fields={'uid': 'index'})


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A work directory that a test may change."""
    return Path(shutil.copytree(SUMS, tmp_path / 'outputs' / '20260101_000000'))


def verdicts(run: Run) -> dict[str, str]:
    return {uid: ''.join(sorted(question.verdicts)) for uid, question in questions_in(run).items()}


REVIEW = 'reviews/scripted-1/aime24_default.jsonl'
PREDICTION = 'predictions/scripted-1/aime24_default.jsonl'


@pytest.mark.parametrize(
    'given',
    ['', '..', 'reviews', 'reviews/scripted-1', 'predictions', REVIEW, PREDICTION],
    ids=['work dir', 'folder above', 'reviews', 'model', 'predictions', 'review', 'prediction'],
)
def test_a_run_is_found_from_any_of_its_folders_and_files(copy: Path, given: str) -> None:
    """What lies beside is read all the same: config, report and the other kind of file."""
    runs = {run.dataset: run for run in runs_in(copy / given)}
    assert set(runs) == ({'aime24'} if given.endswith('.jsonl') else {'aime24', 'math_500'})
    assert verdicts(runs['aime24']) == verdicts(runs_in(SUMS)[0])


def test_questions_of_two_benchmarks_have_names_of_their_own(copy: Path, tmp_path: Path) -> None:
    """A sole subset `default` is the same in each; the benchmark tells them apart."""
    for path in sorted(copy.rglob('*aime24*')):
        shutil.copy(path, path.with_name(path.name.replace('aime24', 'aime25')))
    config = copy / 'configs' / 'task_config.yaml'
    config.write_text(config.read_text().replace('\n- aime24\n', '\n- aime24\n- aime25\n'))
    assert main(['score', str(copy), '--k', '2', '-o', f'{tmp_path / "out"}/']) == 0
    found = [set(read(path).uids) for path in sorted((tmp_path / 'out').glob('*.gpassk.json'))]
    names = [{f'{name}/{number}' for number in range(6)} for name in ('aime24', 'aime25')]
    assert found == [*names, {'Level 1/0', 'Level 2/0', 'Level 2/1'}]


def test_a_default_subset_beside_another_is_named(copy: Path) -> None:
    """Both count from 0."""
    for path in sorted(copy.glob('*/scripted-1/math_500_Level 1.jsonl')):
        path.rename(path.with_name('math_500_default.jsonl'))
    found = questions_in(runs_in(copy)[1])
    assert set(found) == {'default/0', 'Level 2/0', 'Level 2/1'}


def test_files_given_one_by_one_become_one_run(copy: Path) -> None:
    """A glob over the subsets; a file and its twin of the other kind count once."""
    files = sorted(copy.glob('*/scripted-1/math_500_*.jsonl'))
    assert len(files) == 4
    [run] = runs_in(*files)
    assert verdicts(run) == verdicts(runs_in(SUMS)[1])
    [one] = runs_in(copy / 'reviews' / 'scripted-1' / 'math_500_Level 2.jsonl')
    assert {question.about.split for question in one.questions} == {'Level 2'}


def test_models_of_one_work_directory_are_runs_of_their_own(copy: Path) -> None:
    """Also one whose name has a slash, which makes a folder more."""
    for kind in ('reviews', 'predictions'):
        shutil.copytree(copy / kind / 'scripted-1', copy / kind / 'them' / 'other-7b')
    found = {(run.model, run.dataset) for run in runs_in(copy)}
    assert found == {
        (model, name) for model in ('scripted-1', 'them/other-7b') for name in ('aime24', 'math_500')
    }


def test_a_prediction_that_was_not_reviewed_is_an_unjudged_sample(copy: Path) -> None:
    """EvalScope goes on after an error of a scorer; the response is there, and can be judged anew."""
    path = copy / REVIEW
    lines = path.read_text().splitlines(keepends=True)
    place = next(at for at, line in enumerate(lines) if '"group_id": 2' in line and '"acc": 1.0' in line)
    path.write_text(''.join(lines[:place] + lines[place + 1 :]))
    run = runs_in(copy)[0]
    question = questions_in(run)['2']
    assert ''.join(sorted(question.verdicts)) == '011?'
    assert all(response.startswith('Sample') for response in question.responses)
    assert '1 responses have no review: they are unjudged' in list(run.remarks)


def test_a_run_that_is_not_over_is_said_to_be_so(copy: Path) -> None:
    """Without a report nobody knows that samples failed: they are missing, and n differs."""
    (copy / 'reports' / 'scripted-1' / 'aime24.json').unlink()
    run = runs_in(copy)[0]
    assert len(questions_in(run)['3'].responses) == 3
    assert 'EvalScope wrote no report of this run: it is still going on, or broke off' in list(run.remarks)


def test_a_question_all_of_whose_samples_failed_is_kept(copy: Path) -> None:
    """The report says how many samples were asked for, and nothing else is known of it."""
    for name in (REVIEW, PREDICTION):
        lines = (copy / name).read_text().splitlines(keepends=True)
        rows = [(json.loads(line)['index'], line) for line in lines]
        (copy / name).write_text(''.join(line for index, line in rows if index // N != 5))
    question = questions_in(runs_in(copy)[0])['5']
    assert (question.verdicts, question.responses) == ('????', ('',) * N)
    assert {told.state for told in question.generations} == {'failed'}


def test_predictions_alone_need_references(copy: Path) -> None:
    """They hold none, but perhaps in their metadata."""
    shutil.rmtree(copy / 'reviews')
    with pytest.raises(InputError, match=r'no reviews, and predictions hold no.*--field reference=KEY'):
        list(runs_in(copy)[0].questions)


def test_predictions_alone_are_responses_with_references_of_the_metadata(tmp_path: Path) -> None:
    """Grouped by the repeats of the config, without which they are refused."""
    folder = Path(shutil.copytree(SCORES, tmp_path / 'run'))
    shutil.rmtree(folder / 'reviews')
    [run] = runs_in(folder, fields={'reference': 'answer'})
    assert run.kinds == ('responses',)
    found = questions_in(run)
    assert {uid: question.reference for uid, question in found.items()} == {
        '0': '32',
        '1': '34',
    }
    for question in found.values():
        assert sorted(int(response[7]) for response in question.responses) == list(range(N))
        assert question.verdicts == ''
    shutil.rmtree(folder / 'configs')
    [run] = runs_in(folder, fields={'reference': 'answer'})
    with pytest.raises(InputError, match=r'are of one question: expected the configs/task_config\.yaml'):
        list(run.questions)


def test_one_sample_twice_is_refused(copy: Path) -> None:
    """Two processes wrote into one file: EvalScope takes the last, and nobody knows which that is."""
    path = copy / REVIEW
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(''.join([*lines[:3], lines[1], *lines[3:]]))
    with pytest.raises(InputError, match=r'aime24_default\.jsonl:\d+: .*there twice'):
        list(runs_in(copy)[0].questions)


def test_files_of_runs_with_other_repeats_are_refused(copy: Path) -> None:
    """The number of a sample and that of its question tell."""
    config = copy / 'configs' / 'task_config.yaml'
    config.write_text(config.read_text().replace('\nrepeats: 4\n', '\nrepeats: 8\n'))
    with pytest.raises(InputError, match=r'is of question \d+, but with 8 samples a question'):
        list(runs_in(copy)[0].questions)


@pytest.mark.parametrize('note', [{'acc': 'error: no module'}, {'metric_errors': {'acc': 'LookupError'}}])
def test_a_score_of_0_that_is_an_error_is_unjudged(copy: Path, note: dict[str, Any]) -> None:
    """Older releases write 0 where a metric raised, and general_qa does; the metadata tell."""
    path = copy / REVIEW
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        if row['sample_score']['group_id'] == 0:
            row['sample_score']['score']['metadata'] = note
    path.write_text(''.join(f'{json.dumps(row)}\n' for row in rows))
    run = runs_in(copy)[0]
    assert questions_in(run)['0'].verdicts == '????'
    assert any('score 0 because a metric failed' in remark for remark in run.remarks)


def test_of_several_accepted_answers_the_first_is_the_reference(copy: Path) -> None:
    """And a note says so; EvalScope's own verdicts are by all of them."""
    path = copy / REVIEW
    path.write_text(path.read_text().replace('"target": ["7"]', '"target": ["7", "seven"]'))
    run = runs_in(copy)[0]
    assert questions_in(run)['1'].reference == '7'
    assert any(remark.startswith('4 samples are of a question with several') for remark in run.remarks)


@pytest.mark.parametrize('name', [REVIEW, PREDICTION], ids=['review', 'prediction'])
def test_a_file_cut_off_anywhere_is_refused_or_read_as_far_as_it_goes(copy: Path, name: str) -> None:
    """At the end of a line the rest is missing, and no verdict is another; within one it is an error."""
    whole = (copy / name).read_bytes()
    known = {uid: question.verdicts for uid, question in questions_in(runs_in(copy)[0]).items()}
    ends = {at for at in range(len(whole) + 1) if whole[at : at + 1] == b'\n' or at == len(whole)}
    ends |= {at + 1 for at in ends}
    chosen = {0, 1, len(whole) - 1, *ends, *random.Random(7).sample(range(len(whole)), 20)}
    for size in sorted(at for at in chosen if at <= len(whole)):
        (copy / name).write_bytes(whole[:size])
        if size not in ends if size else name == REVIEW:
            with pytest.raises(InputError, match=name.rpartition('/')[2]):
                questions_in(runs_in(copy)[0])
            continue
        for uid, question in questions_in(runs_in(copy)[0]).items():
            for told, before in zip(question.verdicts, known[uid], strict=True):
                assert told in (before, '?') or name == PREDICTION  # which alone tells of a server's error


@pytest.mark.parametrize('name', ['configs/task_config.yaml', 'reports/scripted-1/aime24.json'])
def test_a_damaged_config_or_report_changes_no_verdict(copy: Path, name: str) -> None:
    """They tell of what is beside the samples; cut off anywhere, the samples are what they were."""
    whole = (copy / name).read_bytes()
    known = {uid: question.verdicts for uid, question in questions_in(runs_in(copy)[0]).items()}
    for size in [0, *random.Random(3).sample(range(len(whole)), 15)]:
        (copy / name).write_bytes(whole[:size] + b'\xff' * (size % 2))
        found = [question for run in runs_in(copy) for question in questions_in(run).values()]
        judged = ''.join(one.verdicts for one in found).replace('?', '')
        assert len(judged) == 18 + 12
        assert {one.verdicts for one in found if len(one.verdicts) == N} >= {known['0']}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the way to every value in a row, objects and lists too."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from leaves(one, (*path, key))


@pytest.mark.parametrize('texts', [True, False], ids=['texts', 'verdicts'])
@pytest.mark.parametrize('name', [REVIEW, PREDICTION], ids=['review', 'prediction'])
def test_other_types_in_any_field_are_refused_or_mean_nothing(tmp_path: Path, name: str, texts: bool) -> None:
    """Never a traceback of Python's."""
    folder = Path(shutil.copytree(SCORES, tmp_path / 'run'))
    file = folder / name.replace('aime24', 'two_scores')
    lines = file.read_text().splitlines(keepends=True)
    row = json.loads(lines[0])
    values = (None, True, -1, 0.5, 'x', [None], {'x': []})
    changes = [(path, value) for path in leaves(row) for value in values]
    for path, value in random.Random(texts).sample(changes, 40):
        changed = json.loads(lines[0])
        holder = changed
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = value
        file.write_text(''.join([f'{json.dumps(changed)}\n', *lines[1:]]))
        with suppress(InputError):
            [run] = runs_in(folder, texts=texts)
            assert sum(len(verdicts) for _, verdicts in symbols_in(run)) >= 2 * N


@pytest.mark.parametrize(
    'content',
    [b'', b'\x00\xff', b'[', b'[[1]]', b'{"index": 1}', b'{"index": 0, "sample_score": 3}', b'7\n', b'{}'],
    ids=str,
)
def test_other_files_are_not_taken_for_its_own(tmp_path: Path, content: bytes) -> None:
    """Whatever they hold, and wherever they lie."""
    for name in ('rows.jsonl', 'reviews/model/x.jsonl', 'predictions/y.jsonl'):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        assert not EvalScope().recognises(Place(path))
    assert not EvalScope().recognises(Place(tmp_path))
    assert not EvalScope().recognises(Place(tmp_path / 'reviews'))
    assert not EvalScope().recognises(Place(tmp_path / 'nowhere'))


def test_a_folder_or_file_without_samples_says_what_is_expected(tmp_path: Path) -> None:
    """Where somebody says that EvalScope wrote it."""
    with pytest.raises(InputError, match='no reviews of EvalScope: expected its work directory'):
        find_runs([tmp_path], Reading(), 'evalscope')
    path = tmp_path / 'x.jsonl'
    path.write_text('{"question": "1 + 1?"}\n')
    with pytest.raises(InputError, match='no file of EvalScope: expected rows with index'):
        find_runs([path], Reading(), 'evalscope')
