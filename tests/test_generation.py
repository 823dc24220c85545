"""What is known of each sample's generation, and what becomes of it in a record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpassk_opencompass import Samples, score
from gpassk_opencompass.judges.protocol import FunctionJudge
from gpassk_opencompass.results.check import check
from gpassk_opencompass.results.health import (
    NOT_DRAWN,
    STATES,
    Generation,
    answer_warnings,
    cut_off,
    health_of,
    totals_of,
)
from gpassk_opencompass.scoring import Scored, score_samples

SAMPLES = Samples(
    uid=['a', 'b', 'a', 'b', 'a', 'b'],
    replica=[0, 0, 1, 1, 2, 2],
    question=['qa', 'qb'] * 3,
    reference=['1', '2'] * 3,
    response=[r'\boxed{1}', r'\boxed{2}', r'\boxed{3}', r'So \boxed{4', r'\boxed{1}', 'No idea.'],
    split=['S'] * 6,
    language=['en'] * 6,
    problem=['a', 'b'] * 3,
)
"""Of two questions, replica by replica; one response looks cut off."""

TOLD = [
    Generation('stop', 10, 100, 1.5),
    Generation('stop', 20, 200, 2.25),
    Generation('length', 10, 300, 0.5),
    Generation('length', 20, 400, 4.0),
    Generation('stop', 10, 500, 0.0),
    Generation('content_filter', 20, 0, 0.25),
]

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


def judge() -> FunctionJudge:
    return FunctionJudge(lambda pair: pair.answer == pair.reference)


def scored_of(told: Sequence[Generation]) -> Scored:
    return score_samples(replace(SAMPLES, generation=told), judge(), n=3, k=[1, 3])


def record_of(told: Sequence[Generation]) -> dict[str, Any]:
    return score(replace(SAMPLES, generation=told), judge(), n=3, k=[1, 3])


@given(generations)
def test_a_file_gives_back_what_was_written(told: Generation) -> None:
    """Through JSON; what is not known takes no room."""
    written = json.loads(json.dumps(told.as_json()))
    assert None not in written.values()
    assert Generation.from_json(written) == told


@given(st.dictionaries(st.sampled_from(Generation._fields) | st.text(), JSON) | JSON)
def test_damage_is_not_known_and_no_error(told: Any) -> None:
    """Each field is of its kind or None, whatever a file or a server has in its place."""
    reason, prompt, output, seconds, reasoning, state = Generation.from_json(told)
    assert reason is None or 0 < len(reason) <= 64
    assert all(type(count) in (int, type(None)) for count in (prompt, output, reasoning))
    assert all(count is None or count >= 0 for count in (prompt, output, seconds, reasoning))
    assert state is None or state in STATES


def test_a_record_has_the_sums_and_each_sample() -> None:
    """By hand: sums of 90 and 1,500 tokens, 8.5 seconds, two cut off."""
    scored = scored_of(TOLD)
    block, samples = scored.record['gpassk'], scored.samples
    assert (block['prompt_tokens'], block['output_tokens'], block['seconds']) == (90, 1500, 8.5)
    assert block['finish_reasons'] == {'stop': 3, 'length': 2, 'content_filter': 1}
    assert (block['truncated'], block['truncated_by']) == (2, 'engine')
    assert samples['output_tokens'] == [100, 300, 500, 200, 400, 0]
    assert samples['seconds'] == [1.5, 0.5, 0.0, 2.25, 4.0, 0.25]
    assert ''.join(name[0] for name in samples['finish_reason']) == 'slsslc'
    assert health_of(block).output_tokens == 1500
    assert '2 of 6 responses were cut off: max_out_len is short' in answer_warnings(block)
    check('record', scored.record)


def test_what_an_engine_says_goes_before_the_look_of_a_text() -> None:
    """One response has an open box; the engine ended none of them, or all of them, for their length."""
    assert record_of([])['gpassk']['truncated'] == 1
    assert record_of([])['gpassk']['truncated_by'] == 'text'
    for reason, expected in (('stop', 0), ('length', 6)):
        block = record_of([Generation(reason)] * 6)['gpassk']
        assert (block['truncated'], block['truncated_by']) == (expected, 'engine')


def test_a_sum_without_one_of_its_samples_is_none() -> None:
    """The others are told one by one."""
    record, samples = scored_of([*TOLD[:5], Generation()])
    block = record['gpassk']
    assert not {'prompt_tokens', 'output_tokens', 'seconds'} & set(block)
    assert block['finish_reasons'] == {'stop': 3, 'length': 2, 'unknown': 1}
    assert (block['truncated'], block['truncated_by']) == (2, 'both')
    assert block['truncated_known'] == {'engine': 5, 'text': 1}
    assert samples['output_tokens'] == [100, 300, 500, 200, 400, None]
    check('record', record)


def test_facts_change_no_score() -> None:
    """Nor the signature by which runs are compared."""
    with_facts, without = record_of(TOLD), record_of([])
    assert with_facts['gpassk']['signature'] == without['gpassk']['signature']
    assert with_facts['gpassk']['bounds'] == without['gpassk']['bounds']
    assert with_facts['gpassk']['counts'] == without['gpassk']['counts']


@given(st.lists(generations, min_size=1, max_size=8))
def test_sums_are_exact_and_only_of_all(told: list[Generation]) -> None:
    """Beside exact arithmetic; seconds to the millisecond."""
    totals = totals_of(told)
    drawn = [one for one in told if one.state not in NOT_DRAWN]
    for name in ('prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds'):
        if any(getattr(one, name) is None for one in drawn) or not drawn:
            assert name not in totals
        else:
            computed = [one for one in told if one.state not in ('too long', 'refused')]
            exact = sum(Fraction(getattr(one, name) or 0) for one in computed)
            assert abs(totals[name] - exact) <= Fraction(1, 1000)
    assert sum(totals['states'].values()) == sum(one.state is not None for one in told)
    known = [one.finish_reason is not None or one.state in NOT_DRAWN for one in told]
    assert bool(cut_off(told, [])[1]) == all(known)


@given(st.lists(st.tuples(generations, st.booleans()), min_size=1))
def test_a_text_is_looked_at_only_where_the_engine_says_nothing(pairs: list[tuple[Generation, bool]]) -> None:
    """Sample by sample, and the record says of how many each is known."""
    told, looks = [one for one, _ in pairs], [looks for _, looks in pairs]
    cut, said = cut_off(told, looks)
    for (one, looks_cut), is_cut in zip(pairs, cut, strict=True):
        if one.state in NOT_DRAWN:
            assert not is_cut
        elif one.finish_reason is not None:
            assert is_cut == (one.finish_reason == 'length')
        else:
            assert is_cut == looks_cut
    by_text = sum(one.finish_reason is None and one.state not in NOT_DRAWN for one in told)
    assert said['truncated'] == sum(cut)
    assert said['truncated_known'] == {'engine': len(pairs) - by_text, 'text': by_text}
    assert said['truncated_by'] == ('engine' if not by_text else 'text' if by_text == len(pairs) else 'both')
