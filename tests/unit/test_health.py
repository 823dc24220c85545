"""How samples ended: a run that was cut off, or not drawn, is not one that cannot do the task."""

import csv
import json
from fractions import Fraction
from itertools import cycle

import pytest
from exact import FunctionJudge
from hypothesis import given
from hypothesis import strategies as st
from result_files import ABBR, THIRDS, write_result

from gpassk_opencompass import IncompleteError, Samples, score
from gpassk_opencompass.answers import FinalAnswer
from gpassk_opencompass.cli import main
from gpassk_opencompass.health import NOT_DRAWN, STATES, Generation, Health, generation_columns, health_of

# What an engine says of a sample

generations = st.builds(
    Generation,
    st.none() | st.text(min_size=1, max_size=64),
    st.none() | st.integers(0, 2**53),
    st.none() | st.integers(0, 2**53),
    st.none() | st.floats(0, 1e9),
    st.none() | st.integers(0, 2**53),
    st.none() | st.sampled_from(list(STATES)),
)
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists)


@given(generations, st.dictionaries(st.sampled_from(Generation._fields) | st.text(), JSON) | JSON)
def test_a_file_gives_back_what_was_written_and_damage_is_not_known(told, damage):
    """What is not known takes no room; whatever stands in the place of a field, it is of its kind or None."""
    written = json.loads(json.dumps(told.as_json()))
    assert None not in written.values()
    assert Generation.from_json(written) == told
    reason, prompt, output, seconds, reasoning, state = Generation.from_json(damage)
    assert reason is None or 0 < len(reason) <= 64
    assert all(type(count) in (int, type(None)) for count in (prompt, output, reasoning))
    assert all(count is None or count >= 0 for count in (prompt, output, seconds, reasoning))
    assert state is None or state in STATES


@given(st.lists(st.tuples(generations, st.booleans()), min_size=1, max_size=8), st.booleans())
def test_sums_are_of_all_samples_and_texts_are_looked_at_where_the_engine_says_nothing(pairs, looked):
    """Beside exact arithmetic; seconds to the millisecond; cut off sample by sample, and who says so."""
    told = [one for one, _ in pairs]
    same = {'uid': ['a'] * len(told), 'replica': range(len(told)), 'verdict': ['correct'] * len(told)}
    answers = [FinalAnswer('', boxed=False, cut_off=looks) for _, looks in pairs] if looked else []
    health, cut = health_of(Samples({**same, **generation_columns(told)}), answers)
    drawn = [one for one in told if one.state not in NOT_DRAWN]
    for name in ('prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds'):
        if any(getattr(one, name) is None for one in drawn) or not drawn:
            assert getattr(health, name) is None
        else:
            computed = [one for one in told if one.state not in ('too long', 'refused')]
            exact = sum(Fraction(getattr(one, name) or 0) for one in computed)
            assert abs(getattr(health, name) - exact) <= Fraction(1, 1000)
    assert sum((health.states or {}).values()) == sum(one.state is not None for one in told)
    by_text = sum(one.finish_reason is None and one.state not in NOT_DRAWN for one in told)
    assert (cut is None) == (health.truncated is None) == (by_text > 0 and not looked)
    for (one, looks), is_cut in zip(pairs, cut or [], strict=cut is not None):
        said = looks if one.finish_reason is None else one.finish_reason == 'length'
        assert is_cut == (said and one.state not in NOT_DRAWN)
    if cut is not None:
        assert health.truncated == sum(cut)
        assert health.truncated_by == (
            'engine' if not by_text else 'text' if by_text == len(told) else 'both'
        )


RESPONSES = [r'\boxed{1}', r'\boxed{1}', r'\boxed{2}', r'\boxed{1}']
"""Of one question whose answer is 1."""


def samples_of(responses, told):
    same = {name: [text] * len(responses) for name, text in (('uid', 'u'), ('question', '1?'))}
    own = {'replica': list(range(len(responses))), 'reference': ['1'] * len(responses), 'response': responses}
    return Samples({**same, **own, **generation_columns(told)})


def scored_with(responses, told, **settings):
    """The result, its samples, and the pairs that the judge was asked about."""
    asked = []
    judge = FunctionJudge(lambda pair: asked.append(pair) or pair.answer == pair.reference)
    settings = {'n': len(responses), 'k': [2], 'unjudged_tolerance': 1.0, **settings}
    result = score(samples_of(responses, told), judge, **settings)
    samples = result.samples()
    assert samples
    return result, samples, asked


def verdicts_of(result):
    [verdicts] = result.as_json()['details']['verdicts']
    return str(verdicts)


# States


@pytest.mark.parametrize(('state', 'text'), list(zip(sorted(NOT_DRAWN), cycle(['', r'\boxed{1}']))))
def test_what_was_not_drawn_is_unjudged(state, text):
    """No judge is asked, no answer taken; the state is the reason, and the bounds are apart by one sample.

    Also where another evaluator takes the empty text for a wrong answer.
    """
    told = [Generation('stop', 5, 10)] * 3 + [Generation(state=state)]
    result, samples, asked = scored_with([*RESPONSES[:3], text], told)
    health = result.health
    assert {pair.answer for pair in asked} == {'1', '2'}
    assert verdicts_of(result) == '110?'
    assert health.unjudged_reasons == health.states == {state: 1}
    assert result.bounds['accuracy'] == [50.0, 75.0]
    assert (samples['answer'][3], samples['why'][3], samples['state'][3]) == ('', state, state)
    assert (health.unanswered, health.truncated) == (0, 0)
    assert (health.prompt_tokens, health.output_tokens) == (15, 30)
    given = samples_of([*RESPONSES[:3], text], told).replace(verdict=['incorrect'] * 4)
    other = score(given, {'name': 'other'}, n=4, k=2, unjudged_tolerance=1)
    assert (verdicts_of(other), other.health.unjudged_reasons) == ('000?', {state: 1})
    with pytest.raises(IncompleteError, match=rf"1 of 4 .* unjudged {{'{state}': 1}}.* To draw anew"):
        scored_with(RESPONSES, told, unjudged_tolerance=0.24)


@pytest.mark.parametrize('state', sorted(STATES.keys() - NOT_DRAWN))
def test_a_response_of_another_kind_is_judged_as_it_is(state):
    for text, verdicts in (('', '1100'), (r'\boxed{1}', '1101')):
        told = [*[Generation()] * 3, Generation('stop', state=state)]
        result, *_ = scored_with([*RESPONSES[:3], text], told)
        assert (verdicts_of(result), result.health.states) == (verdicts, {state: 1})


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
    ('$7', 'length', '', None, True),  # it may be the beginning of $72$
    ('7', 'stop', '7', None, False),
]


@pytest.mark.parametrize(
    ('text', 'finish', 'answer', 'state', 'cut'), THINKING, ids=[f'{i}' for i in range(len(THINKING))]
)
def test_a_thought_is_kept_apart(text, finish, answer, state, cut):
    """By hand. It gives no answer; one without an end is cut off unless the engine says that it ended."""
    told = [Generation('stop', reasoning_tokens=3)] * 3 + [Generation(finish, reasoning_tokens=4)]
    result, samples, asked = scored_with([*RESPONSES[:3], text], told)
    assert (samples['answer'][3], samples.each('state')[3]) == (answer, state)
    assert (result.health.states, result.health.truncated) == ({state: 1} if state else {}, int(cut))
    assert (samples['response'][3], result.health.reasoning_tokens) == (text, 13)
    assert not any('think' in pair.tail.lower() for pair in asked)


# What a reader is told


def test_a_mark_and_a_sentence_stand_above_their_limits():
    """5 % cut off and 1 % without an answer are still no mark, 1 % of a state no sentence."""
    assert Health(samples=1000, truncated=50, unanswered=10).mark == ''
    assert Health(samples=1000, truncated=51, unanswered=10).mark == '5.1 % cut off'
    assert Health(samples=1000, truncated=50, unanswered=11).mark == '1.1 % without an answer'
    assert (Health(samples=1000).mark, Health(samples=1000).line) == ('', 'unjudged 0.0 %')
    assert Health(samples=2).share('unusual') is None
    health = Health(samples=200, states={'refusal': 3, 'failed': 2, 'empty': 200, 'of another release': 9})
    assert health.remarks() == ['200 of 200 samples are empty', '3 of 200 samples are refusals of the model']


ILL, WELL = ABBR.format(1), ABBR.format(2)
MARK = '88.3 % cut off, 97.9 % without an answer'
COPIES = 'all n = 10 responses are one text for 23 of 24 questions: the samples are copies'


def known(path, **health):
    """Say more of how the samples of a result ended."""
    record = json.loads(path.read_text())
    record['gpassk']['health'] |= health
    path.write_text(json.dumps(record))
    return path


def test_the_words_stand_in_every_output(tmp_path, capsys):
    """Beside the score, a word that is at no other one; copies in a sentence; a greedy run has a note."""
    outputs, report = tmp_path / 'outputs', tmp_path / 'report'
    ill = known(write_result(outputs, ILL, [0] * 23 + [5], n=10), truncated=212, unanswered=235, copies=24)
    well = write_result(outputs, WELL, THIRDS, n=10)
    known(well, truncated=12, unanswered=2, copies=24, warnings=[COPIES])
    known(write_result(outputs, 'm2_t0_l100', [1] * 12 + [0] * 12, n=1), truncated=6, unanswered=0)
    assert main(['report', str(outputs), '-o', str(report), '--only', 'tables']) == 0
    printed, written = capsys.readouterr().out, (report / 'leaderboard.md').read_text()
    for text in (printed, written):
        lines = [line for line in text.splitlines()[::-1] if line.startswith('| m')]
        rows = {line.split('|')[1].strip(): line for line in lines}
        assert rows['m1'].rstrip(' |').endswith(f'| check: {MARK}')
        assert rows['m2'].rstrip(' |').endswith('| 5.0 % cut off, 0.8 % without an answer, copies')
        assert COPIES in text
    assert 'greedy run: 25.0 % cut off' in printed
    scores = list(csv.DictReader((report / 'scores.csv').read_text().splitlines()))
    names = ('health', 'truncated', 'unanswered', 'copies')
    own = {tuple(one[name] for name in names) for one in scores if one['run'] == 'm1'}
    assert own == {(f'check: {MARK}', '212', '235', '24')}
    [latex] = (report / 'tables').glob('MATH500-L5.tex')
    assert r'88.3 \% cut off' in latex.read_text()
    for command, said in ((['compare', well, ill], f'MATH500-L5: new: {COPIES}'), (['score', well], COPIES)):
        assert main(list(map(str, command))) == 0
        assert said in capsys.readouterr().out


def copies_of(responses):
    """What speaks against these responses, a list a question, being independent."""
    n = len(responses[0])
    columns = {'uid': [f'q{q}' for q in range(len(responses)) for _ in range(n)]}
    columns |= {'replica': [*range(n)] * len(responses), 'reference': ['1'] * n * len(responses)}
    columns |= {'response': [text for each in responses for text in each]}
    return score(Samples(columns), FunctionJudge(lambda pair: False), k=1).health.remarks('copies')


def test_copies_are_seen_in_the_responses():
    """n times one text for nearly every question, or long ones that repeat another; nothing else is one."""
    one, four = ['\\boxed{1}'] * 4, [f'\\boxed{{{r}}}' for r in range(4)]
    [said] = copies_of([one] * 19 + [four])
    assert said.startswith('all n = 4 responses are one text for 19 of 20 questions')
    text = 'a long chain of thought, ' * 20
    [said] = copies_of([[f'{text}{q}'] * 3 + [f'{text}{q}.'] for q in range(2)])
    assert said.startswith('4 of 8 long responses repeat another replica of the same question word for word')
    assert copies_of([one, four]) == []
    assert copies_of([[text, text, *four[:2]], [f'{text}{r}' for r in range(4)]]) == []
    assert copies_of([one[:1]] * 20) == []
