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

from gpassk_opencompass import IncompleteError, Samples, Verdict
from gpassk_opencompass.cli import main
from gpassk_opencompass.judges.protocol import FunctionJudge, Judgement, Pair
from gpassk_opencompass.report.gates import Gate
from gpassk_opencompass.responses import read_response
from gpassk_opencompass.results.health import NOT_DRAWN, STATES, Generation, health_of, remarks_of
from gpassk_opencompass.results.read import read
from gpassk_opencompass.results.schema import json_schema
from gpassk_opencompass.scoring import Scored, score_judged, score_samples

RESPONSES = [r'\boxed{1}', r'\boxed{1}', r'\boxed{2}', r'\boxed{1}']
"""Of one question whose answer is 1."""


def samples_of(responses: Sequence[str], told: Sequence[Generation]) -> Samples:
    size = len(responses)
    return Samples(
        uid=['u'] * size,
        replica=list(range(size)),
        question=['1?'] * size,
        reference=['1'] * size,
        response=responses,
        split=['S'] * size,
        language=['en'] * size,
        problem=['u'] * size,
        generation=told,
    )


def scored_with(
    responses: Sequence[str], told: Sequence[Generation], **settings: Any
) -> tuple[Scored, list[Pair]]:
    """What scoring gives, and the pairs that the judge was asked about."""
    asked: list[Pair] = []

    def grade(pair: Pair) -> bool:
        asked.append(pair)
        return pair.answer == pair.reference

    samples = samples_of(responses, told)
    settings = {'n': len(responses), 'k': [2], 'unjudged_tolerance': 1.0, **settings}
    return score_samples(samples, FunctionJudge(grade), **settings), asked


@pytest.mark.parametrize(('state', 'text'), list(zip(sorted(NOT_DRAWN), cycle(['', r'\boxed{1}']))))
def test_what_was_not_drawn_is_unjudged(state: str, text: str) -> None:
    """No judge is asked, no answer taken; the state is the reason, and the bounds are apart by one sample."""
    told = [Generation('stop', 5, 10)] * 3 + [Generation(state=state)]
    scored, asked = scored_with([*RESPONSES[:3], text], told)
    block, samples = scored.record['gpassk'], scored.samples
    assert {pair.answer for pair in asked} == {'1', '2'}
    assert scored.record['details']['verdicts'] == ['110?']
    assert block['unjudged_reasons'] == block['states'] == {state: 1}
    assert block['bounds']['accuracy'] == [50.0, 75.0]
    assert (samples['answer'][3], samples['reason'][3], samples['state'][3]) == ('', state, state)
    assert (block['unanswered'], block['unboxed'], block['truncated']) == (0, 0, 0)
    assert (block['prompt_tokens'], block['output_tokens']) == (15, 30)


@pytest.mark.parametrize('state', sorted(STATES.keys() - NOT_DRAWN))
def test_a_response_of_another_kind_is_judged_as_it_is(state: str) -> None:
    """It is counted by its name; right where its text is."""
    for text, verdicts in (('', '1100'), (r'\boxed{1}', '1101')):
        scored, _ = scored_with(
            [*RESPONSES[:3], text], [*[Generation()] * 3, Generation('stop', state=state)]
        )
        assert scored.record['details']['verdicts'] == [verdicts]
        assert scored.record['gpassk']['states'] == {state: 1}


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
    judgements = [Judgement(Verdict.INCORRECT, 'other')] * 4
    judge = FunctionJudge(lambda pair: True)
    samples = samples_of(RESPONSES, told)
    record = score_judged(samples, judgements, [''] * 4, judge, n=4, k=2, unjudged_tolerance=1).record
    assert record['details']['verdicts'] == ['000?']
    assert record['gpassk']['unjudged_reasons'] == {'filtered': 1}


THINKING = [
    # text, what the engine says, answer, state, cut off, length of the thought
    (r'<think>ab</think>\boxed{1}', 'stop', '1', None, False, 2),
    (r'ab</think>\boxed{1}', None, '1', None, False, 2),
    (r'<think>\boxed{1}</think>', 'stop', '', 'thought only', False, 9),
    (r'<think>\boxed{1}', 'stop', '', 'thought only', False, 9),
    (r'<think>\boxed{1}', 'length', '', None, True, 9),
    (r'<think>\boxed{1}', None, '', None, True, 9),
    (r'[THINK]ab', None, '', None, True, 2),
    (r'<think>ab</think>Well, \boxed{', 'length', '', None, True, 2),
    ('', 'stop', '', 'empty', False, None),
    (' \n', None, '', 'empty', False, None),
    ('', 'length', '', None, True, None),
    (r'\boxed{1}', 'length', '1', None, True, None),
    (r'\boxed{1', 'stop', '', None, False, None),
]


@pytest.mark.parametrize(
    ('text', 'finish', 'answer', 'state', 'cut', 'thought'),
    THINKING,
    ids=[f'{i}' for i in range(len(THINKING))],
)
def test_a_thought_is_kept_apart(
    text: str, finish: str | None, answer: str, state: str | None, cut: bool, thought: int | None
) -> None:
    """By hand. It gives no answer; one without an end is cut off unless the engine says that it ended."""
    told = [Generation('stop', reasoning_tokens=3)] * 3 + [Generation(finish, reasoning_tokens=4)]
    scored, asked = scored_with([*RESPONSES[:3], text], told)
    block, samples = scored.record['gpassk'], scored.samples
    assert samples['answer'][3] == answer
    assert samples.get('state', [None] * 4)[3] == state
    assert block['states'] == ({state: 1} if state else {})
    assert block['truncated'] == int(cut)
    assert samples.get('reasoning_characters', [None] * 4)[3] == thought
    assert block['reasoning_tokens'] == 13
    assert not any('think' in pair.tail.lower() for pair in asked)


@pytest.mark.parametrize('state', [None, *sorted(STATES)])
def test_the_word_of_an_engine_stays(state: str | None) -> None:
    """A text may look like something else."""
    assert read_response('', Generation('stop', state=state)).generation.state == (state or 'empty')


def test_above_one_in_a_hundred_a_state_stands_beside_the_score() -> None:
    """In the words of the table of states; at one in a hundred it does not."""
    block = {'samples': 200, 'states': {'refusal': 3, 'failed': 2, 'empty': 200}}
    assert remarks_of(block) == ['200 of 200 samples are empty', '3 of 200 samples are refusals of the model']


@pytest.mark.parametrize('damage', [None, 5, {'refusal': 'many'}, {'no such state': 100}])
def test_damage_is_warned_of_by_nobody(damage: object) -> None:
    """A record of another release may have other names."""
    assert remarks_of({'samples': 100, 'states': damage}) == []


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
    block = result.block
    assert block['states'] == {'failed': 1, 'refusal': 1}
    assert block['unjudged_reasons'] == {'failed': 1}
    assert block['reasoning_tokens'] == 62
    assert result.health.unusual == 2
    assert result.samples is not None
    assert [one for one in result.samples.column('state') or () if one] == ['failed', 'refusal']
    assert [one for one in result.samples.column('reasoning_characters') or () if one] == [4]


def test_they_come_through_every_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`score`, `score` of what it wrote, `report`, and the gate of a report."""
    root, first, again = work_dir(tmp_path), tmp_path / 'a.gpassk.json', tmp_path / 'b.gpassk.json'
    tolerance = ['--unjudged', 'wrong']
    assert (
        main(['score', str(root), '--source', 'opencompass', *old.EXACT, *tolerance, '-o', str(first)]) == 0
    )
    assert 'no usual response 6.2 %' in capsys.readouterr().out
    check_states(first)
    assert main(['score', str(first), *tolerance, '-o', str(again), '--k', '3']) == 0
    printed = capsys.readouterr().out
    for words in (
        '1 of 32 samples were not drawn: no reply after all attempts',
        '1 of 32 samples are refusals',
    ):
        assert words in printed
    check_states(again)
    report = tmp_path / 'report'
    line = ['report', str(first), '-o', str(report), '--only', 'tables', '--fail-on']
    assert main([*line, 'unusual>6%']) == 3
    assert '6.2 % no usual response, above 6 %' in capsys.readouterr().err
    assert main([*line, 'unusual>6.3%']) == 0
    scores = list(csv.DictReader((report / 'scores.csv').read_text().splitlines()))
    assert {one['unusual'] for one in scores} == {'2'}
    assert '1 of 32 samples are refusals of the model' in (report / 'leaderboard.md').read_text()


def test_a_record_that_does_not_tell_passes_no_gate() -> None:
    """An older one, or one of labels."""
    health = health_of({'n': 2, 'counts': {'c': [1], 'unjudged': [0]}})
    assert health.unusual is None
    assert Gate.parse('unusual>50%').refused(health)


def test_the_json_schema_knows_them() -> None:
    """For who reads the files with something else."""
    block = json_schema()['$defs']['Block']['properties']
    assert {'states', 'truncated_known', 'reasoning_tokens'} <= set(block)
    assert json.dumps(block['truncated_by']['enum']) == '["engine", "text", "both"]'
