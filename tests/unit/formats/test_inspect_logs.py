"""What is odd about the logs of inspect_ai, and what becomes of it."""

from __future__ import annotations

import json
import math
import runpy
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness_logs import HARNESSES, RECORDED, of_questions, run_of, said, verdicts

from gpassk_opencompass import InputError

INSPECT = RECORDED / 'inspect'
SCRIPT = runpy.run_path(str(HARNESSES / 'make_inspect_logs.py'))
WHOLE = ('whole.eval', 'whole.json', 'older.eval')
"""The same task: both formats of 0.3.285, and the `.eval` of 0.3.100, whose members are deflated."""


def remade(path: Path, edit: Callable[[str, Any], Any]) -> Path:
    old = zipfile.ZipFile(INSPECT / 'older.eval')
    with old, zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, json.dumps(edit(name, json.loads(old.read(name)))))
    return path


def with_sample(folder: Path, name: str, **fields: Any) -> Path:
    member = f'samples/{name}.json'
    return remade(folder / 'log.eval', lambda file, told: {**told, **fields} if file == member else told)


@pytest.mark.parametrize('name', WHOLE)
def test_responses_thoughts_ends_and_tokens_are_those_of_the_model(name):
    """Parts of a response are put together, a thought stands apart, cached tokens are tokens."""
    run = run_of(INSPECT / name)
    names = ['response', 'thought', 'finish_reason', 'state']
    names += ['prompt_tokens', 'output_tokens', 'reasoning_tokens']
    told = {name: of_questions(run, name) for name in names}
    for uid, (text, kinds) in SCRIPT['QUESTIONS'].items():
        for place, kind in enumerate(kinds):
            words = SCRIPT['response_of'](text, place + 1, kind)
            parts = f'{words[:20]}\n{words[20:]}'
            said = {'parts': parts, 'failed': None, 'filtered': None, 'limit': ''}.get(kind, words)
            thought = f'Attempt {place + 1}: {text} is easy.' if kind.startswith('thought') else None
            ending = {'cut': 'length', 'limit': 'length', 'failed': None, 'filtered': 'content_filter'}
            state = kind if kind in {'failed', 'filtered'} else None
            prompt, used = {'failed': (None, None), 'limit': (23, 5000)}.get(kind, (23, 11 + place))
            expected = [said, thought, ending.get(kind, 'stop'), state, prompt, used, 4 if thought else None]
            assert [told[name][uid][place] for name in names] == expected


@pytest.mark.parametrize('name', WHOLE)
def test_a_log_of_inspect_says_what_was_run_and_what_is_odd(name):
    run = run_of(INSPECT / name)
    assert run.settings == {'temperature': 0.7, 'top_p': 0.9, 'max_out_len': 256}
    assert run.judge == {'name': 'number of inspect_ai'}
    assert run.written_by == f'inspect_ai {"0.3.100" if name == "older.eval" else "0.3.285"}'
    assert run.created.startswith('2026-')
    for sentence in (
        'of the scores number, credit, parts the verdicts are those of number; --field correct=NAME',
        '1 verdicts are partial credit, below 1',
        '6 samples have several references, of which the first one is kept',
        '1 samples were ended by a limit of inspect_ai and count as it has scored them',
    ):
        assert sentence in said(run)
    assert 'not in it' not in said(run)


@pytest.mark.parametrize('name', WHOLE)
def test_another_score_of_inspect_is_taken_by_name(name):
    """One of numbers, one of the values of a score that has several, and partial credit as one chooses."""
    path = INSPECT / name
    assert verdicts(run_of(path, fields={'correct': 'credit'})) == verdicts(run_of(path))
    half = run_of(path, fields={'correct': 'credit'}, correct_from=0.5)
    assert verdicts(half)['2'] == verdicts(run_of(path, correct_from=0.5))['2'] == '001000'
    parts = run_of(path, fields={'correct': 'parts.number', 'problem': 'metadata.problem'})
    assert verdicts(parts)['a/b'] == '1?0111'  # what the others leave unscored this one scores
    assert of_questions(parts, 'problem')['a/b'] == ['odd'] * 6
    with pytest.raises(InputError, match='correct=grade finds nothing'):
        run_of(path, fields={'correct': 'grade'})
    with pytest.raises(InputError, match='is no verdict'):
        run_of(path, fields={'correct': 'parts'})


def test_a_log_of_inspect_that_is_not_whole_is_read_as_far_as_it_goes():
    for name, status, missing in (('running', 'started', 25), ('stopped', 'error', 20)):
        told = said(run_of(INSPECT / f'{name}.eval'))
        assert f"the log says '{status}'" in told
        assert f'{missing} of the 30 samples that the log was to have are not in it' in told


@pytest.mark.parametrize(
    ('fields', 'expected', 'state'),
    [
        ({'scores': {'number': {'value': 'C'}}, 'output': None}, '1', None),
        ({'scores': {'number': {'value': 0}}, 'output': None, 'error': {'message': ''}}, '0', None),
        ({'scores': {'number': {'value': math.nan}}, 'output': {'choices': []}}, '?', 'failed'),
        ({'scores': {'number': {}}, 'output': None, 'error': {'message': 'late'}}, '?', 'failed'),
        ({'scores': None, 'error': {'message': 'no'}}, '?', None),
        ({'invalidation': {'author': 'somebody'}}, '?', None),
    ],
    ids=['scored', 'scored after an error', 'nan', 'error', 'response without a score', 'invalid'],
)
def test_a_score_stands_without_an_output(fields, expected, state, tmp_path):
    """As of an agent whose work is scored, not its words; a sample failed only if it has neither."""
    run = run_of(with_sample(tmp_path, '3_epoch_2', **fields))
    assert verdicts(run)['3'] == f'1{expected}1111'
    assert of_questions(run, 'state')['3'][1] == state
    assert ('1 samples ended in an error and count as' in said(run)) == (expected == '0')
    assert ('1 samples were declared invalid' in said(run)) == ('invalidation' in fields)


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'scores': {'number': {'value': 'sandbagging'}}}, "'sandbagging' is no verdict"),
        ({'scores': {'number': {'value': {'a': 1, 'b': 0}}}}, r'which value: --field correct=number\.KEY'),
        ({'target': 'another'}, 'different references'),
    ],
    ids=str,
)
def test_a_sample_of_inspect_that_makes_no_sense_is_named(fields, message, tmp_path):
    with pytest.raises(InputError, match=rf'log\.eval.*{message}'):
        run_of(with_sample(tmp_path, '2_epoch_2', **fields))
