"""Scoring: rows in any order, three verdicts, counts, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import hypergeom

from gpassk_opencompass import FunctionJudge, IncompleteError, InputError, Samples, Verdict, score
from gpassk_opencompass.judges import Pair
from gpassk_opencompass.results.health import Generation, answer_warnings


def make_samples(answers: Sequence[Sequence[str]], reference: str = '1') -> Samples:
    """Question q's replica r answers answers[q][r]; rows lie replica by replica, as OpenCompass puts them."""
    n, questions = len(answers[0]), len(answers)
    rows = [(q, r) for r in range(n) for q in range(questions)]
    return Samples(
        uid=[f'q{q}' for q, _ in rows],
        replica=[r for _, r in rows],
        question=[f'question {q}' for q, _ in rows],
        reference=[reference] * len(rows),
        response=[f'I think it is \\boxed{{{answers[q][r]}}}' if answers[q][r] else '' for q, r in rows],
        split=['A' if q % 2 == 0 else 'B' for q, _ in rows],
        language=['en'] * len(rows),
        problem=[f'p{q}' for q, _ in rows],
    )


def equal_judge() -> FunctionJudge:
    return FunctionJudge(lambda pair: pair.answer == pair.reference, name='equal')


def test_counts_and_metrics_follow_every_single_replica() -> None:
    """c of n a question and the means over questions, against scipy's hypergeometric tail."""
    counts, n, k = [0, 1, 2, 3, 4], 4, 4
    answers = [['1'] * c + ['0'] * (n - c) for c in counts]
    record = score(make_samples(answers), equal_judge(), n=n, k=[2, k])
    assert record['gpassk']['counts']['c'] == counts
    assert record['details']['verdicts'] == ['0000', '1000', '1100', '1110', '1111']
    assert record['accuracy'] == pytest.approx(50.0)
    for threshold, needed in ((0.0, 1), (0.25, 1), (0.5, 2), (0.75, 3), (1.0, 4)):
        expected = 100 * sum(hypergeom.sf(needed - 1, n, c, k) for c in counts) / len(counts)
        assert record[f'G-Pass@{k}_{threshold}'] == pytest.approx(expected)
    assert record['G-Pass@2_1.0'] == pytest.approx(100 * sum(hypergeom.sf(1, n, c, 2) for c in counts) / 5)
    assert record['pass@2'] == pytest.approx(100 * sum(hypergeom.sf(0, n, c, 2) for c in counts) / 5)


def test_the_order_of_rows_does_not_matter() -> None:
    """The same samples in reverse give the same metrics and, question by question, the same counts."""
    samples = make_samples([['1', '0', '1'], ['0', '0', '1'], ['1', '1', '1']])
    turned = Samples(**{name: list(reversed(column)) for name, column in vars(samples).items()})
    record, other = (score(s, equal_judge(), n=3, k=2) for s in (samples, turned))
    assert {key: value for key, value in record.items() if '@' in key} == {
        key: value for key, value in other.items() if '@' in key
    }
    counts, others = record['gpassk']['counts'], other['gpassk']['counts']
    assert dict(zip(counts['uid'], counts['c'], strict=True)) == dict(
        zip(others['uid'], others['c'], strict=True)
    )


def test_each_distinct_answer_is_judged_once() -> None:
    """Four questions with one or two different answers each: seven of twelve calls are saved."""
    seen: list[Pair] = []

    def grade(pair: Pair) -> bool:
        seen.append(pair)
        return pair.answer == '1'

    answers = [['1', '1', '1'], ['1', '0', '0'], ['0', '0', '0'], ['1', '0', '1']]
    score(make_samples(answers), FunctionJudge(grade), n=3, k=2)
    assert len(seen) == len(set(seen)) == 6


def test_the_breakdown_is_the_metric_of_each_group_alone() -> None:
    """Groups A and B, scored together, have the numbers that each has alone."""
    answers = [['1', '1'], ['0', '1'], ['0', '0'], ['1', '0']]
    record = score(make_samples(answers), equal_judge(), n=2, k=2)
    only_a = make_samples([answers[0], answers[2]])
    alone = score(replace(only_a, split=['A'] * 4), equal_judge(), n=2, k=2)
    for key in ('accuracy', 'G-Pass@2_1.0', 'mG-Pass@2', 'pass@2'):
        assert record[f'A_en/{key}'] == pytest.approx(alone[key])


def test_one_sample_a_question_gives_the_accuracy() -> None:
    """n = 1 promises nothing about stability, so only the accuracy is reported."""
    record = score(make_samples([['1'], ['0'], ['1'], ['1']]), equal_judge(), n=1, k=1)
    assert record['accuracy'] == 75.0
    assert not [key for key in record if 'G-Pass' in key]


def test_unjudged_is_neither_right_nor_wrong_but_bounded() -> None:
    """One of 200 samples unjudged: counted as wrong, and the bounds say what it may be worth."""
    answers = [['1', '1']] * 99 + [['1', '?']]
    judge = FunctionJudge(lambda pair: None if pair.answer == '?' else pair.answer == '1')
    record = score(make_samples(answers), judge, n=2, k=2)
    assert record['gpassk']['unjudged'] == 1
    assert record['gpassk']['counts']['unjudged'][-1] == 1
    assert record['details']['verdicts'][-1] == '1?'
    assert record['G-Pass@2_1.0'] == pytest.approx(99.0)
    assert record['gpassk']['bounds']['G-Pass@2_1.0'] == pytest.approx([99.0, 100.0])


def test_too_many_unjudged_samples_stop_the_run() -> None:
    """Above the tolerance there is no record, and the message says how many and why."""
    judge = FunctionJudge(lambda pair: Verdict.UNJUDGED, name='outage')
    with pytest.raises(IncompleteError, match=r"4 of 4 samples .* \{'outage': 4\}.*run the evaluation again"):
        score(make_samples([['1', '0'], ['2', '3']]), judge, n=2, k=2)


def test_unboxed_empty_and_cut_off_responses_are_counted() -> None:
    """A response without a box, an empty one and one that stops inside its box are told apart."""
    samples = make_samples([['1', '1', '1', '1']])
    responses = ['so \\boxed{1}', '', 'the answer is 1', 'hence \\boxed{12']
    tally = score(replace(samples, response=responses), equal_judge(), n=4, k=4)['gpassk']
    assert (tally['unboxed'], tally['truncated']) == (3, 1)
    assert tally['unanswered'] >= 1


@pytest.mark.parametrize('told', [True, False])
def test_the_scores_of_completed_samples_stand_in_the_details_alone(told: bool) -> None:
    """By the engine's word or else by the text; against all draws of k from the samples that are left."""
    answers = [['1', '1', '1', '0'], ['1', '0', '0', '0'], ['1', '1', '0', '0'], ['1', '1', '1', '1']]
    cut = [(0, 3), (1, 0), (2, 2), (2, 3), (3, 0), (3, 1), (3, 2)]
    samples = make_samples(answers)
    places = [(int(uid[1:]), replica) for uid, replica in zip(samples.uid, samples.replica, strict=True)]
    if told:
        samples = replace(
            samples, generation=[Generation('length' if place in cut else 'stop') for place in places]
        )
    else:
        texts = [
            'hence \\boxed{0' if at in cut else text
            for at, text in zip(places, samples.response, strict=True)
        ]
        samples = replace(samples, response=texts)
    record = score(samples, equal_judge(), n=4, k=[2, 3], thresholds=[0.5, 1.0])
    left = [[a == '1' for r, a in enumerate(one) if (q, r) not in cut] for q, one in enumerate(answers)]
    completed = record['details'].pop('completed')
    assert completed['samples'] == 9
    assert completed['scores']['accuracy'] == pytest.approx(100 * np.mean([np.mean(one) for one in left]))
    for k, threshold in product((2, 3), (0.5, 1.0)):
        draws = [[sum(d) >= k * threshold for d in combinations(one, k)] for one in left if len(one) >= k]
        key = f'G-Pass@{k}_{threshold}'
        assert completed['questions'][key] == len(draws)
        assert completed['scores'][key] == pytest.approx(100 * np.mean([np.mean(one) for one in draws]))
    assert 'completed' not in json.dumps(record)
    assert 'completed' not in score(make_samples(answers), equal_judge(), n=4, k=2)['details']


def test_hedged_responses_are_counted_and_told() -> None:
    """Two of four: incorrect with their own origin, and worth a warning; an older record warns of nothing."""
    samples = make_samples([['1', '1', '1', '1']])
    responses = ['\\boxed{1}', '\\boxed{1} or \\boxed{2}', 'the answer is 1 or 2', 'the answer is 1']
    record = score(replace(samples, response=responses), equal_judge(), n=4, k=4)
    assert record['details']['verdicts'] == ['1001']
    assert record['details']['answers'] == [['1', '1, 2', '1 or 2', '1']]
    block = record['gpassk']
    assert (block['hedged'], block['origins']['hedged'], block['unjudged']) == (2, 2, 0)
    assert answer_warnings(block) == [
        '2 of 4 responses state more answers than are asked for and count as incorrect'
    ]
    assert answer_warnings({name: value for name, value in block.items() if name != 'hedged'}) == []


def test_a_judge_gets_the_end_of_a_response_without_answer() -> None:
    """Where no final answer is found, the pair carries the tail; where one is, it does not."""
    seen: list[Pair] = []
    judge = FunctionJudge(lambda pair: bool(seen.append(pair)))
    samples = replace(make_samples([['1', '1']]), response=['\\boxed{1}', 'no idea ' * 1000])
    score(samples, judge, n=2, k=2)
    assert [bool(pair.tail) for pair in seen] == [False, True]
    assert len(seen[1].tail) <= 2000


@pytest.mark.parametrize('bad', [None, ['a', 'b'], 3])
def test_a_response_that_is_no_text_is_named(bad: object) -> None:
    """None, a list or a number in the place of a response stops with its row."""
    samples = make_samples([['1', '0'], ['1', '0']])
    responses = [*samples.response[:2], bad, samples.response[3]]
    with pytest.raises(InputError, match='1 of 4 responses are no text, the first in row 2'):
        score(replace(samples, response=responses), equal_judge(), n=2, k=2)  # type: ignore[arg-type]


def test_missing_replicas_are_an_error_not_a_lower_score() -> None:
    """Three of four rows: incomplete, to be completed by running again."""
    samples = make_samples([['1', '0'], ['1', '0']])
    short = Samples(**{name: column[:3] for name, column in vars(samples).items()})
    with pytest.raises(IncompleteError, match='1 of 4 samples are missing'):
        score(short, equal_judge(), n=2, k=2)


def test_a_replica_that_occurs_twice_is_an_error() -> None:
    """The same (uid, replica) in two rows would count one sample twice."""
    samples = replace(make_samples([['1', '0']]), replica=[0, 0])
    with pytest.raises(InputError, match='occurs twice'):
        score(samples, equal_judge(), n=2, k=2)


@pytest.mark.parametrize(('n', 'k'), [(2, 3), (2, 0), (2, [1, 5])])
def test_k_outside_1_to_n_is_an_error(n: int, k: int | list[int]) -> None:
    """k > n or k < 1 has no meaning and no score."""
    with pytest.raises(ValueError, match='k'):
        score(make_samples([['1', '0']]), equal_judge(), n=n, k=k)


@pytest.mark.parametrize('references', [['1', '2'], ['1', None], [1, 1]])
def test_replicas_of_one_question_have_one_reference(references: list[object]) -> None:
    """Two references for one uid, or none, would be scored as if nothing were wrong."""
    samples = replace(make_samples([['1', '1']]), reference=references)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="reference of 'q0'"):
        score(samples, equal_judge(), n=2, k=2)


def test_mg_pass_at_1_is_not_reported() -> None:
    """Its published sum has no term, and a 0 would read like a result."""
    record = score(make_samples([['1', '0']]), equal_judge(), n=2, k=[1, 2])
    assert record['G-Pass@1_1.0'] == 50.0
    assert 'mG-Pass@1' not in record
    assert 'mG-Pass@2' in record


def test_nearly_all_questions_with_copies_are_reported() -> None:
    """One question that differs does not hide nineteen whose replicas are one short text."""
    answers = [['1'] * 4] * 19 + [['1', '2', '3', '4']]
    record = score(make_samples(answers), equal_judge(), n=4, k=4)
    assert '19 of 20 questions' in record['gpassk']['replicas']['warnings'][0]


def test_the_signature_tells_runs_apart() -> None:
    """Another judge or another question changes it; the same run again does not."""
    samples = make_samples([['1', '0']])
    first, again = (score(samples, equal_judge(), n=2, k=2)['gpassk']['signature'] for _ in range(2))
    judged = score(samples, FunctionJudge(lambda pair: True, 'yes'), n=2, k=2)['gpassk']['signature']
    asked = replace(samples, question=['another'] * 2)
    other = score(asked, equal_judge(), n=2, k=2)['gpassk']['signature']
    assert first == again
    assert len({first, judged, other}) == 3


def test_copies_are_reported() -> None:
    """n times one text for every question is not n samples."""
    record = score(make_samples([['1'] * 4] * 3), equal_judge(), n=4, k=4)
    assert record['gpassk']['replicas']['identical_questions'] == 3
    assert 'copies' in record['gpassk']['replicas']['warnings'][0]


def test_long_repeats_are_reported() -> None:
    """Long responses that repeat each other word for word point at one seed for several requests."""
    text = 'a long chain of thought, ' * 20
    samples = make_samples([['1', '0', '1', '0']] * 2)
    responses = [f'{text}{row == 7} \\boxed{{1}}' for row in range(8)]
    replicas = score(replace(samples, response=responses), equal_judge(), n=4, k=4)['gpassk']['replicas']
    assert replicas['long_repeats'] == 5
    assert 'repeat another replica' in replicas['warnings'][0]


def test_independent_samples_raise_no_warning() -> None:
    """Different texts, and short answers that agree, are what sampling gives."""
    samples = make_samples([['1', '1', '0', '1'], ['1', '2', '3', '4']])
    assert score(samples, equal_judge(), n=4, k=4)['gpassk']['replicas']['warnings'] == []
