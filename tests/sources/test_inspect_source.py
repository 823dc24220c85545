"""Logs of inspect_ai as a source: recorded ones, whose truth is known, and what is made of damaged ones."""

from __future__ import annotations

import csv
import json
import math
import random
import runpy
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exact import g_pass

from gpassk_opencompass import InputError
from gpassk_opencompass.cli import main
from gpassk_opencompass.sources.inspect_logs import InspectLog
from gpassk_opencompass.sources.source import Place, Reading, Responded, Run, Sampled
from gpassk_opencompass.sources.zip_members import ZipMembers

TESTS = Path(__file__).resolve().parents[1]
LOGS = TESTS / 'recorded' / 'inspect'
TRUTH = runpy.run_path(str(TESTS / 'harnesses' / 'make_inspect_logs.py'))
WHOLE = ('whole.eval', 'whole.json', 'older.eval')
"""The same task: both formats of 0.3.285, and the `.eval` of 0.3.100, whose members are deflated."""

Fields = dict[str, Any]


def read(path: Path, **choices: Any) -> Run:
    [run] = InspectLog().read(Place(path), Reading(**choices))
    return run


def questions(run: Run) -> dict[str, Responded | Sampled]:
    found = list(run.questions)
    assert all(isinstance(one, (Responded, Sampled)) for one in found)
    return {one.about.uid: one for one in found}  # type: ignore[misc]


def verdict(kind: str) -> str:
    return '?' if kind in TRUTH['UNJUDGED'] else '01'[kind in TRUTH['CORRECT']]


def true_verdicts(epochs: int = TRUTH['EPOCHS']) -> dict[str, str]:
    return {
        uid: ''.join(verdict(kind) for kind in kinds[:epochs])
        for uid, (_, kinds) in TRUTH['QUESTIONS'].items()
    }


def edited(path: Path, edit: Callable[[str, Any], Any]) -> Path:
    """A copy of a log whose members an edit has changed; None leaves one out."""
    with zipfile.ZipFile(LOGS / 'older.eval') as old, zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if (told := edit(name, json.loads(old.read(name)))) is not None:
                new.writestr(name, json.dumps(told))
    return path


def with_sample(path: Path, name: str, **fields: Any) -> Path:
    """A copy of a log with other fields in one sample."""
    return edited(path, lambda member, told: {**told, **fields} if member == f'samples/{name}.json' else told)


@pytest.mark.parametrize('name', WHOLE)
def test_verdicts_are_those_that_the_scorer_gave(name: str) -> None:
    """Of every sample, in the order of the epochs; failed, withheld and unscored ones are unjudged."""
    found = questions(read(LOGS / name))
    assert {uid: one.verdicts for uid, one in found.items()} == true_verdicts()


@pytest.mark.parametrize('name', WHOLE)
def test_g_pass_at_k_of_a_log_is_the_exact_one(name: str, tmp_path: Path) -> None:
    """Through the command."""
    table = tmp_path / 'table.csv'
    assert main(['score', str(LOGS / name), '--k', '4', '--threshold', '0.5', '1.0', '-o', str(table)]) == 0
    with table.open(encoding='utf-8', newline='') as file:
        scores = {row['metric']: float(row['score']) for row in csv.DictReader(file)}
    counts = [one.count('1') for one in true_verdicts().values()]
    half, most, all_four, any_of_four = (g_pass(counts, 6, 4, needed / 4) for needed in (2, 3, 4, 1))
    expected = {'G-Pass@4_0.5': half, 'G-Pass@4_1.0': all_four, 'mG-Pass@4': (most + all_four) / 2}
    expected['pass@4'] = any_of_four
    assert {name: scores[name] for name in expected} == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize('name', WHOLE)
def test_responses_are_what_the_model_said(name: str) -> None:
    """With the thought before the answer, and the parts of one response put together."""
    for uid, one in questions(read(LOGS / name)).items():
        text, kinds = TRUTH['QUESTIONS'][uid]
        assert isinstance(one, Responded)
        assert one.question == f'{text} = ?'
        assert one.reference == str(TRUTH['answer_of'](text))
        for epoch, (kind, response) in enumerate(zip(kinds, one.responses, strict=True), 1):
            said = TRUTH['response_of'](text, epoch, kind)
            thought = f'Attempt {epoch}: {text} is easy.'
            expected = {
                'thought': f'{thought}\n</think>\n\n{said}',
                'thought only': f'<think>{thought}',
                'parts': f'{said[:20]}\n{said[20:]}',
                **dict.fromkeys(('failed', 'filtered', 'limit'), ''),
            }
            assert response == expected.get(kind, said), (uid, epoch)


@pytest.mark.parametrize('name', WHOLE)
def test_how_samples_ended_and_what_they_cost_is_taken(name: str) -> None:
    """Finish reasons in our words, tokens with the cached ones, states of those without text."""
    found = questions(read(LOGS / name))
    for uid, (_, kinds) in TRUTH['QUESTIONS'].items():
        one = found[uid]
        assert isinstance(one, Responded)
        for epoch, (kind, told) in enumerate(zip(kinds, one.generations, strict=True), 1):
            ending = {'cut': 'length', 'limit': 'length', 'failed': None, 'filtered': 'content_filter'}
            assert told.finish_reason == ending.get(kind, 'stop')
            assert told.state == {'failed': 'failed', 'filtered': 'filtered'}.get(kind)
            if kind not in {'failed', 'limit'}:
                assert (told.prompt_tokens, told.output_tokens) == (23, 10 + epoch)
                assert told.reasoning_tokens == (4 if kind.startswith('thought') else None)
            if kind == 'limit':
                assert told.output_tokens == 5000


@pytest.mark.parametrize('name', WHOLE)
def test_a_log_says_what_was_run(name: str) -> None:
    """Model, task, settings of the sampling, scorer, version."""
    run = read(LOGS / name)
    assert (run.model, run.dataset) == ('mockllm/model', 'sums')
    assert run.settings == {'temperature': 0.7, 'top_p': 0.9, 'max_tokens': 256}
    assert run.judge == {'name': 'number of inspect_ai'}
    assert run.written_by == f'inspect_ai {"0.3.100" if name == "older.eval" else "0.3.285"}'
    assert run.kinds == ('labels', 'responses')


@pytest.mark.parametrize('name', WHOLE)
def test_what_is_odd_about_a_log_is_said(name: str) -> None:
    """Each rule once, with its count."""
    run = read(LOGS / name)
    list(run.questions)
    said = '\n'.join(run.remarks)
    for sentence in (
        'of the scores number, credit, parts the verdicts are those of number; --field correct=NAME',
        '1 verdicts are partial credit, below 1',
        '1 verdicts are NaN',
        '2 of 30 responses were cut off',
        '6 samples have several targets: the first is the reference',
        '1 samples were ended by a limit of inspect_ai and count as it has scored them',
        '2 samples have no response and are unjudged',
    ):
        assert sentence in said
    assert 'not in it' not in said


@pytest.mark.parametrize('name', WHOLE)
def test_another_score_is_taken_by_name(name: str) -> None:
    """One of numbers, one of the values of a score that has several, and partial credit as one chooses."""
    truth = true_verdicts()
    by_credit = read(LOGS / name, fields={'correct': 'credit'})
    assert {uid: one.verdicts for uid, one in questions(by_credit).items()} == truth
    assert by_credit.judge == {'name': 'credit of inspect_ai'}
    half = questions(read(LOGS / name, fields={'correct': 'credit'}, correct_from=0.5))
    assert half['2'].verdicts == '001000'
    assert questions(read(LOGS / name, correct_from=0.5))['2'].verdicts == '001000'
    parts = questions(read(LOGS / name, fields={'correct': 'parts.number'}))
    assert parts['a/b'].verdicts == '1?0111'  # what the others leave unscored this one scores


@pytest.mark.parametrize(
    ('fields', 'said'),
    [
        ({'correct': 'grade'}, "no score 'grade': it has number, credit, parts"),
        ({'correct': 'parts'}, 'has the values number, work; say which: --field correct=parts.KEY'),
        ({'correct': 'parts.style'}, 'none called style'),
        ({'correct': 'number.style'}, 'leave out .style'),
        ({'problem': 'source'}, "no 'source', which was to be the problem; it has problem"),
        ({'response': 'output'}, "'response' is no field"),
    ],
    ids=lambda given: next(iter(given.values())) if isinstance(given, dict) else '',
)
def test_a_field_that_is_not_there_is_refused(fields: dict[str, str], said: str) -> None:
    """With the names that are there."""
    with pytest.raises(InputError) as refused:
        list(read(LOGS / 'whole.eval', fields=fields).questions)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    'results',
    [
        {
            'scores': [{'scorer': 'number', 'name': 'number'}],
            'headline': {'scorer': 'parts', 'score': 'number'},
        },
        {'scores': [{'scorer': 'parts', 'name': 'number'}, {'scorer': 'number', 'name': 'number'}]},
    ],
    ids=['headline', 'first'],
)
def test_the_score_that_inspect_shows_first_is_taken(results: Fields, tmp_path: Path) -> None:
    """Its headline; before there was one, the first; also where it is one value of several."""
    path = edited(
        tmp_path / 'log.eval',
        lambda name, told: {**told, 'results': results} if name == 'header.json' else told,
    )
    run = read(path)
    assert run.judge == {'name': 'parts.number of inspect_ai'}
    assert questions(run)['a/b'].verdicts == '1?0111'


def test_problems_come_from_the_metadata_of_the_samples() -> None:
    """So that intervals know which questions belong together."""
    found = questions(read(LOGS / 'whole.eval', fields={'problem': 'problem', 'split': 'problem'}))
    for uid, (text, _) in TRUTH['QUESTIONS'].items():
        expected = 'odd' if TRUTH['answer_of'](text) % 2 else 'even'
        assert (found[uid].about.problem, found[uid].about.group) == (expected, expected)


def test_a_log_that_is_being_written_is_read_as_far_as_it_goes() -> None:
    """It has no header and no summaries yet; what is missing is said."""
    run = read(LOGS / 'running.eval')
    assert {uid: one.verdicts for uid, one in questions(run).items()} == true_verdicts(1)
    said = '\n'.join(run.remarks)
    assert "the log says 'started'" in said
    assert '25 of the 30 samples that the log was to have are not in it' in said


def test_a_run_that_ended_in_an_error_is_read_as_far_as_it_goes() -> None:
    """The sample that failed and the one that was cancelled with it are unjudged."""
    run = read(LOGS / 'stopped.eval')
    expected = true_verdicts(2) | {'a/b': '1?', '5': '0?'}
    assert {uid: one.verdicts for uid, one in questions(run).items()} == expected
    said = '\n'.join(run.remarks)
    assert "the log says 'error'" in said
    assert '20 of the 30 samples' in said


def test_other_files_are_not_recognised(tmp_path: Path) -> None:
    """Another zip file, another object of JSON, bytes, nothing."""
    with zipfile.ZipFile(tmp_path / 'other.eval', 'w') as file:
        file.writestr('mimetype', 'application/epub+zip')
    (tmp_path / 'other.json').write_text('{"version": 2, "status": "success", "results": {}}')
    (tmp_path / 'bytes.eval').write_bytes(bytes(range(256)))
    (tmp_path / 'empty.eval').write_bytes(b'')
    assert not [path for path in tmp_path.iterdir() if InspectLog().recognises(Place(path))]
    with pytest.raises(InputError, match='expected a log of inspect_ai'):
        read(tmp_path / 'bytes.eval')
    with pytest.raises(InputError, match=r'neither header\.json nor'):
        read(tmp_path / 'other.eval')


def test_of_a_sample_that_was_drawn_again_the_later_counts(tmp_path: Path) -> None:
    """Both stand in the zip file under one name."""
    path = edited(tmp_path / 'log.eval', lambda _, told: told)
    with zipfile.ZipFile(path, 'a') as log:
        sample = json.loads(log.read('samples/2_epoch_1.json'))
        sample['scores']['number']['value'] = 'C'
        with pytest.warns(UserWarning, match='Duplicate name'):
            log.writestr('samples/2_epoch_1.json', json.dumps(sample))
    assert questions(read(path))['2'].verdicts == '100000'


def test_an_invalidated_sample_is_unjudged(tmp_path: Path) -> None:
    """Somebody said after the run that it does not count."""
    path = with_sample(tmp_path / 'log.eval', '3_epoch_2', invalidation={'author': 'somebody'})
    run = read(path)
    assert questions(run)['3'].verdicts == '1?1111'
    assert any('1 samples were declared invalid' in remark for remark in run.remarks)


@pytest.mark.parametrize(
    ('value', 'expected', 'more', 'output'),
    [
        ('C', '1', {}, None),
        (0, '0', {'error': {'message': 'late'}}, {'choices': []}),
        (math.nan, '?', {}, {'choices': []}),
        ({}, '?', {'error': {'message': 'late'}}, None),
    ],
)
def test_a_score_stands_without_an_output(
    value: object, expected: str, output: object, more: Fields, tmp_path: Path
) -> None:
    """As of an agent whose work is scored, not its words; it failed only if it has no score."""
    scores = {'number': {'value': value}}
    path = with_sample(tmp_path / 'log.eval', '3_epoch_2', output=output, scores=scores, **more)
    run = read(path)
    one = questions(run)['3']
    assert one.verdicts == f'1{expected}1111'
    assert isinstance(one, Responded)
    assert one.responses[1] == ''
    assert one.generations[1].state == ('failed' if expected == '?' else None)
    kept = bool(more) and expected != '?'
    assert any('1 samples ended in an error and count as' in remark for remark in run.remarks) == kept


def test_a_response_that_nobody_scored_is_unjudged_and_can_be_judged(tmp_path: Path) -> None:
    """The scorer failed after the model had answered."""
    path = with_sample(tmp_path / 'log.eval', '3_epoch_2', error={'message': 'no'}, scores=None)
    one = questions(read(path))['3']
    assert one.verdicts == '1?1111'
    assert isinstance(one, Responded)
    assert one.responses[1].endswith('get 16')


def test_without_any_scores_there_are_responses_to_judge(tmp_path: Path) -> None:
    """As after `inspect eval --no-score`."""

    def unscored(name: str, told: Any) -> Any:
        if name.startswith('samples/'):
            told['scores'] = None
        if name in {'header.json', '_journal/start.json'}:
            told['results'], told['eval']['scorers'] = None, None
        return told

    run = read(edited(tmp_path / 'log.eval', unscored))
    assert run.kinds == ('responses',)
    assert {one.verdicts for one in questions(run).values()} == {''}
    with pytest.raises(InputError, match='it has none: have its responses judged'):
        read(tmp_path / 'log.eval', fields={'correct': 'number'})


def test_texts_that_a_log_keeps_elsewhere_are_put_back(tmp_path: Path) -> None:
    """Long texts of messages may be attachments; thoughts that are hidden have a summary."""
    content = [
        {'type': 'reasoning', 'reasoning': 'gAAAAB…', 'redacted': True, 'summary': 'It is a sum.'},
        {'type': 'text', 'text': 'attachment://5f'},
        {'type': 'image', 'image': 'data:'},
    ]
    output = {'choices': [{'message': {'content': content}, 'stop_reason': 'unknown'}]}
    asked = [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'attachment://7a'}]
    path = tmp_path / 'log.eval'
    attachments = {'5f': 'It is 16.', '7a': '8 + 8?'}
    more = {'input': asked, 'choices': ['15', '16'], 'attachments': attachments}
    edited(
        path,
        lambda name, told: (
            {**told, **more, **({'output': output} if name.endswith('_2.json') else {})}
            if name.startswith('samples/3_')
            else told
        ),
    )
    one = questions(read(path))['3']
    assert isinstance(one, Responded)
    assert one.responses[1] == 'It is a sum.\n</think>\n\nIt is 16.'
    assert one.generations[1].finish_reason is None
    assert one.question == '8 + 8?\nA) 15\nB) 16'


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        ('C', '1'), ('I', '0'), ('N', '0'), ('P', '0'), (1, '1'), (True, '1'), ('0.25', '0'), (None, '?'),
        ('Yes', '1'),
    ],
)  # fmt: skip
def test_every_value_of_a_score_has_a_verdict(value: object, expected: str, tmp_path: Path) -> None:
    """As inspect_ai turns values into numbers."""
    path = with_sample(tmp_path / 'log.eval', '2_epoch_1', scores={'number': {'value': value}})
    assert questions(read(path))['2'].verdicts == f'{expected}00000'


@pytest.mark.parametrize(
    'fields',
    [
        {'scores': {'number': {'value': 'sandbagging'}}}, {'scores': {'number': {'value': ['C', 'I']}}},
        {'epoch': 'first'}, {'epoch': 3}, {'id': None}, {'id': 'other'}, {'target': 'another'},
    ],
    ids=str,
)  # fmt: skip
def test_a_sample_that_makes_no_sense_is_named(fields: Fields, tmp_path: Path) -> None:
    """With what it holds instead."""
    path = with_sample(tmp_path / 'log.eval', '2_epoch_2', **fields)
    with pytest.raises(InputError, match=r'log\.eval'):
        list(read(path).questions)


ODD: tuple[Any, ...] = (None, [], {}, 'text', 7, [None], {'a': None}, [{'a': []}])


@pytest.mark.parametrize('seed', range(15))
def test_odd_fields_are_refused_or_read(seed: int, tmp_path: Path) -> None:
    """Whatever stands in a field of a sample or of the header: never another error."""
    drawn = random.Random(seed)

    def spoilt(told: Any) -> Any:
        if isinstance(told, dict) and told:
            key = drawn.choice(sorted(told))
            return {**told, key: spoilt(told[key]) if drawn.random() < 0.6 else drawn.choice(ODD)}
        return drawn.choice(ODD)

    path = edited(
        tmp_path / 'log.eval',
        lambda name, told: (
            spoilt(told)
            if name in {'header.json', 'samples/3_epoch_1.json', 'samples/5_epoch_3.json'}
            else told
        ),
    )
    try:
        found = questions(read(path))
    except InputError:
        return
    assert sum(len(one.verdicts or ()) for one in found.values()) in {0, 30}


@pytest.mark.parametrize('name', ['whole.eval', 'whole.json', 'running.eval', 'older.eval'])
def test_a_log_that_was_cut_off_is_refused(name: str, tmp_path: Path) -> None:
    """At whatever byte the copy ended."""
    data = (LOGS / name).read_bytes()
    drawn = random.Random(name)
    path = tmp_path / name
    for cut in [0, 1, 4, 30, len(data) - 1, *(drawn.randrange(len(data)) for _ in range(20))]:
        path.write_bytes(data[:cut])
        with pytest.raises(InputError):
            list(read(path).questions)


@pytest.mark.parametrize('name', ['whole.eval', 'older.eval'])
def test_a_changed_byte_of_a_zip_file_is_noticed_or_does_not_matter(name: str, tmp_path: Path) -> None:
    """Checksums are compared: the verdicts are those of the log, or it is refused."""
    data = (LOGS / name).read_bytes()
    drawn = random.Random(name)
    path = tmp_path / name
    truth = true_verdicts()
    refused = 0
    for _ in range(150):
        changed = bytearray(data)
        changed[drawn.randrange(len(data))] ^= 1 << drawn.randrange(8)
        path.write_bytes(changed)
        try:
            found = {uid: one.verdicts for uid, one in questions(read(path)).items()}
        except InputError:
            refused += 1
        else:  # a changed name or place of a member may hide it, and then it is missing
            assert all(truth[uid] == said or len(said) == 5 for uid, said in found.items())
    assert refused > 50


def test_members_are_those_that_zipfile_finds(tmp_path: Path) -> None:
    """Stored, deflated, with names of all letters, with a comment at the end."""
    path = tmp_path / 'some.zip'
    with zipfile.ZipFile(path, 'w') as file:
        for place, how in enumerate([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED] * 3):
            file.writestr(f'Größe/{place}', bytes([place]) * place * 1000, compress_type=how)
        file.comment = b'PK a comment'
    with ZipMembers(path) as members, zipfile.ZipFile(path) as file:
        found = {name: members.read(at) for name, at in members.entries()}
        assert found == {name: file.read(name) for name in file.namelist()}


def test_more_members_than_sixteen_bits_count_are_found(tmp_path: Path) -> None:
    """Then the directory is told of in 64 bits, and so are sizes that were announced so."""
    path = tmp_path / 'many.zip'
    with zipfile.ZipFile(path, 'w') as file:
        with file.open('first', 'w', force_zip64=True) as member:
            member.write(b'of 64 bits')
        for place in range(66_000):
            file.writestr(f'{place}', b'')
    with ZipMembers(path) as members:
        entries = dict(members.entries())
        assert len(entries) == 66_001
        assert members.read(entries['first']) == b'of 64 bits'
