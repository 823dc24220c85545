"""A sample that is no usual response is named, and never a wrong answer in silence."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import old_work_dir as old
import pytest

from gpassk_opencompass import IncompleteError
from gpassk_opencompass.cli import main
from gpassk_opencompass.health import NOT_DRAWN, STATES, Generation, Health, generation_columns
from gpassk_opencompass.judges import FunctionJudge, Pair
from gpassk_opencompass.record import Result, json_schema, read
from gpassk_opencompass.samples import Samples
from gpassk_opencompass.scoring import score

RESPONSES = [r'\boxed{1}', r'\boxed{1}', r'\boxed{2}', r'\boxed{1}']
"""Of one question whose answer is 1."""


def samples_of(responses: Sequence[str], told: Sequence[Generation]) -> Samples:
    size = len(responses)
    same = {name: [text] * size for name, text in (('uid', 'u'), ('question', '1?'), ('reference', '1'))}
    own = {'replica': list(range(size)), 'response': responses}
    return Samples({**same, **own, **generation_columns(told)})


def scored_with(
    responses: Sequence[str], told: Sequence[Generation], **settings: Any
) -> tuple[Result, Samples, list[Pair]]:
    """The result, its samples, and the pairs that the judge was asked about."""
    asked: list[Pair] = []

    def grade(pair: Pair) -> bool:
        asked.append(pair)
        return pair.answer == pair.reference

    settings = {'n': len(responses), 'k': [2], 'unjudged_tolerance': 1.0, **settings}
    result = score(samples_of(responses, told), FunctionJudge(grade), **settings)
    samples = result.samples()
    assert samples
    return result, samples, asked


def verdicts_of(result: Result) -> list[str]:
    """A character a sample, a text a question."""
    verdicts: list[str] = result.as_json()['details']['verdicts']
    return verdicts


@pytest.mark.parametrize(('state', 'text'), list(zip(sorted(NOT_DRAWN), cycle(['', r'\boxed{1}']))))
def test_what_was_not_drawn_is_unjudged(state: str, text: str) -> None:
    """No judge is asked, no answer taken; the state is the reason, and the bounds are apart by one sample."""
    told = [Generation('stop', 5, 10)] * 3 + [Generation(state=state)]
    result, samples, asked = scored_with([*RESPONSES[:3], text], told)
    health = result.health
    assert {pair.answer for pair in asked} == {'1', '2'}
    assert verdicts_of(result) == ['110?']
    assert health.unjudged_reasons == health.states == {state: 1}
    assert result.bounds['accuracy'] == [50.0, 75.0]
    assert (samples['answer'][3], samples['why'][3], samples['state'][3]) == ('', state, state)
    assert (health.unanswered, health.truncated) == (0, 0)
    assert (health.prompt_tokens, health.output_tokens) == (15, 30)


@pytest.mark.parametrize('state', sorted(STATES.keys() - NOT_DRAWN))
def test_a_response_of_another_kind_is_judged_as_it_is(state: str) -> None:
    """It is counted by its name; right where its text is."""
    for text, verdicts in (('', '1100'), (r'\boxed{1}', '1101')):
        told = [*[Generation()] * 3, Generation('stop', state=state)]
        result, *_ = scored_with([*RESPONSES[:3], text], told)
        assert verdicts_of(result) == [verdicts]
        assert result.health.states == {state: 1}


def test_more_than_are_tolerated_give_no_result() -> None:
    """As of samples that a judge left open, and the message names the state."""
    told = [Generation('stop')] * 3 + [Generation(state='failed')]
    said = r"1 of 4 samples \(25.0%\) stayed unjudged {'failed': 1}.* no result was written\. To draw anew"
    with pytest.raises(IncompleteError, match=said):
        scored_with(RESPONSES, told, unjudged_tolerance=0.24)
    assert scored_with(RESPONSES, told, unjudged_tolerance=0.25)


def test_verdicts_of_somebody_else_do_not_count_for_what_was_not_drawn() -> None:
    """Another evaluator takes the empty text for a wrong answer."""
    told = [Generation('stop')] * 3 + [Generation(state='filtered')]
    samples = samples_of(RESPONSES, told).replace(verdict=['incorrect'] * 4)
    result = score(samples, {'name': 'other'}, n=4, k=2, unjudged_tolerance=1)
    assert verdicts_of(result) == ['000?']
    assert result.health.unjudged_reasons == {'filtered': 1}


THINKING = [
    # text, what the engine says, answer, state, cut off
    (r'<think>ab</think>\boxed{1}', 'stop', '1', None, False),
    (r'ab</think>\boxed{1}', None, '1', None, False),
    (r'<think>\boxed{1}</think>', 'stop', '', 'thought only', False),
    (r'<think>\boxed{1}', 'stop', '', 'thought only', False),
    (r'<think>\boxed{1}', 'length', '', None, True),
    (r'<think>\boxed{1}', None, '', None, True),
    (r'[THINK]ab', None, '', None, True),
    (r'<think>ab</think>Well, \boxed{', 'length', '', None, True),
    ('', 'stop', '', 'empty', False),
    (' \n', None, '', 'empty', False),
    ('', 'length', '', None, True),
    (r'\boxed{1}', 'length', '1', None, True),
    (r'\boxed{1', 'stop', '', None, False),
]


@pytest.mark.parametrize(
    ('text', 'finish', 'answer', 'state', 'cut'), THINKING, ids=[f'{i}' for i in range(len(THINKING))]
)
def test_a_thought_is_kept_apart(
    text: str, finish: str | None, answer: str, state: str | None, cut: bool
) -> None:
    """By hand. It gives no answer; one without an end is cut off unless the engine says that it ended."""
    told = [Generation('stop', reasoning_tokens=3)] * 3 + [Generation(finish, reasoning_tokens=4)]
    result, samples, asked = scored_with([*RESPONSES[:3], text], told)
    assert samples['answer'][3] == answer
    assert samples.each('state')[3] == state
    assert result.health.states == ({state: 1} if state else {})
    assert result.health.truncated == int(cut)
    assert samples['response'][3] == text
    assert result.health.reasoning_tokens == 13
    assert not any('think' in pair.tail.lower() for pair in asked)


@pytest.mark.parametrize('state', [None, *sorted(STATES)])
def test_the_word_of_an_engine_stays(state: str | None) -> None:
    """A text may look like something else."""
    _, samples, _ = scored_with(['', ''], [Generation('stop', state=state)] * 2)
    assert samples['state'] == [state or 'empty'] * 2


def test_above_one_in_a_hundred_a_state_stands_beside_the_score() -> None:
    """In the words of the table of states; at one in a hundred it does not."""
    health = Health(samples=200, states={'refusal': 3, 'failed': 2, 'empty': 200, 'of another release': 9})
    assert health.remarks() == ['200 of 200 samples are empty', '3 of 200 samples are refusals of the model']


def work_dir(tmp_path: Path) -> Path:
    """32 responses of an old run, the first one not drawn and the second one a refusal."""
    told = [Generation(state='failed'), Generation('stop', 5, 6, 1.0, 2, 'refusal')]
    told += [Generation('stop', 5, 6, 1.0, 2)] * 30
    rows = [{**row, 'generation': one.as_json()} for row, one in zip(old.rows(), told, strict=True)]
    rows[0]['prediction'], rows[2]['prediction'] = '', f'<think>abcd</think>{rows[2]["prediction"]}'
    return old.write(tmp_path / 'old', rows)


def check_states(path: Path) -> None:
    """What has to be left of them in a record."""
    result = read(path)
    health, samples = result.health, result.samples()
    assert health.states == {'failed': 1, 'refusal': 1}
    assert health.unjudged_reasons == {'failed': 1}
    assert health.reasoning_tokens == 62
    assert health.unusual == 2
    assert samples is not None
    assert [one for one in samples['state'] if one] == ['failed', 'refusal']
    assert [one[:13] for one in samples['response'] if 'think' in (one or '')] == ['<think>abcd</']


def test_they_come_through_every_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`score`, `score` of what it wrote, and `report`."""
    root, first, again = work_dir(tmp_path), tmp_path / 'a.gpassk.json', tmp_path / 'b.gpassk.json'
    assert main(['score', str(root), '--from', 'opencompass', *old.EXACT, '-o', str(first)]) == 0
    assert 'no usual response 6.2 %' in capsys.readouterr().out
    check_states(first)
    assert main(['score', str(first), '-o', str(again), '--k', '3']) == 0
    printed = capsys.readouterr().out
    for words in (
        '1 of 32 samples were not drawn: no reply after all attempts',
        '1 of 32 samples are refusals',
    ):
        assert words in printed
    check_states(again)
    report = tmp_path / 'report'
    assert main(['report', str(first), '-o', str(report), '--only', 'tables']) == 0
    scores = list(csv.DictReader((report / 'scores.csv').read_text().splitlines()))
    assert {one['unusual'] for one in scores} == {'2'}
    assert '1 of 32 samples are refusals of the model' in (report / 'leaderboard.md').read_text()


def test_a_record_that_does_not_tell_passes_no_gate() -> None:
    """One of labels."""
    health = Health(samples=2)
    assert health.unusual is None
    assert health.share('unusual') is None


def test_the_json_schema_knows_them() -> None:
    """For who reads the files with something else."""
    health = json_schema()['$defs']['Health']['properties']
    assert {'states', 'reasoning_tokens'} <= set(health)
    assert '["engine", "text", "both"]' in json.dumps(health['truncated_by'])
