"""What is known of each sample's generation, and what becomes of it in a record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpassk_opencompass.answers import FinalAnswer
from gpassk_opencompass.health import (
    NOT_DRAWN,
    STATES,
    Generation,
    generation_columns,
    health_of,
)
from gpassk_opencompass.judges import FunctionJudge
from gpassk_opencompass.record import Result, result_of
from gpassk_opencompass.samples import Samples
from gpassk_opencompass.scoring import score

SAMPLES = Samples(
    {
        'uid': ['a', 'b', 'a', 'b', 'a', 'b'],
        'replica': [0, 0, 1, 1, 2, 2],
        'question': ['qa', 'qb'] * 3,
        'reference': ['1', '2'] * 3,
        'response': [r'\boxed{1}', r'\boxed{2}', r'\boxed{3}', r'So \boxed{4', r'\boxed{1}', 'No idea.'],
    }
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


def scored_of(told: Sequence[Generation]) -> Result:
    judge = FunctionJudge(lambda pair: pair.answer == pair.reference)
    samples = SAMPLES.replace(**generation_columns(told)) if told else SAMPLES
    result = score(samples, judge, n=3, k=[1, 3])
    return result_of(Path('x.json'), result.as_json()).with_samples(result.samples() or SAMPLES)


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
    result = scored_of(TOLD)
    health, samples = result.health, result.samples()
    assert samples
    assert (health.prompt_tokens, health.output_tokens, health.seconds) == (90, 1500, 8.5)
    assert health.finish_reasons == {'stop': 3, 'length': 2, 'content_filter': 1}
    assert (health.truncated, health.truncated_by) == (2, 'engine')
    assert samples['output_tokens'] == [100, 300, 500, 200, 400, 0]
    assert samples['seconds'] == [1.5, 0.5, 0.0, 2.25, 4.0, 0.25]
    assert ''.join(name[0] for name in samples['finish_reason']) == 'slsslc'
    assert '2 of 6 responses were cut off: max_out_len is short' in health.remarks()


def test_what_an_engine_says_goes_before_the_look_of_a_text() -> None:
    """One response has an open box; the engine ended none of them, or all of them, for their length."""
    health = scored_of([]).health
    assert (health.truncated, health.truncated_by) == (1, 'text')
    for reason, expected in (('stop', 0), ('length', 6)):
        health = scored_of([Generation(reason)] * 6).health
        assert (health.truncated, health.truncated_by) == (expected, 'engine')


def test_a_sum_without_one_of_its_samples_is_none() -> None:
    """The others are told one by one."""
    result = scored_of([*TOLD[:5], Generation()])
    health, samples = result.health, result.samples()
    assert samples
    assert health.prompt_tokens is health.output_tokens is health.seconds is None
    assert health.finish_reasons == {'stop': 3, 'length': 2, 'unknown': 1}
    assert (health.truncated, health.truncated_by) == (2, 'both')
    assert samples['output_tokens'] == [100, 300, 500, 200, 400, None]


def test_facts_change_no_score() -> None:
    """Nor the signature by which runs are compared."""
    with_facts, without = scored_of(TOLD), scored_of([])
    assert with_facts.signature == without.signature
    assert with_facts.bounds == without.bounds
    assert with_facts.counts == without.counts


def samples_of(told: Sequence[Generation]) -> Samples:
    same = {'uid': ['a'] * len(told), 'replica': range(len(told)), 'verdict': ['correct'] * len(told)}
    return Samples({**same, **generation_columns(told)})


@given(st.lists(generations, min_size=1, max_size=8))
def test_sums_are_exact_and_only_of_all(told: list[Generation]) -> None:
    """Beside exact arithmetic; seconds to the millisecond."""
    health, _ = health_of(samples_of(told))
    drawn = [one for one in told if one.state not in NOT_DRAWN]
    for name in ('prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds'):
        if any(getattr(one, name) is None for one in drawn) or not drawn:
            assert getattr(health, name) is None
        else:
            computed = [one for one in told if one.state not in ('too long', 'refused')]
            exact = sum(Fraction(getattr(one, name) or 0) for one in computed)
            assert abs(getattr(health, name) - exact) <= Fraction(1, 1000)
    assert sum((health.states or {}).values()) == sum(one.state is not None for one in told)
    known = [one.finish_reason is not None or one.state in NOT_DRAWN for one in told]
    assert (health.truncated is not None) == all(known)


@given(st.lists(st.tuples(generations, st.booleans()), min_size=1))
def test_a_text_is_looked_at_only_where_the_engine_says_nothing(pairs: list[tuple[Generation, bool]]) -> None:
    """Sample by sample, and who says so of them."""
    told = [one for one, _ in pairs]
    answers = [FinalAnswer('', boxed=False, cut_off=looks) for _, looks in pairs]
    health, cut = health_of(samples_of(told), answers)
    assert cut is not None
    for (one, looks_cut), is_cut in zip(pairs, cut, strict=True):
        if one.state in NOT_DRAWN:
            assert not is_cut
        elif one.finish_reason is not None:
            assert is_cut == (one.finish_reason == 'length')
        else:
            assert is_cut == looks_cut
    by_text = sum(one.finish_reason is None and one.state not in NOT_DRAWN for one in told)
    assert health.truncated == sum(cut)
    assert health.truncated_by == ('engine' if not by_text else 'text' if by_text == len(pairs) else 'both')
