"""Scoring: samples in any order, three verdicts, counts, and what is refused or left out."""

from itertools import combinations, product

import numpy as np
import pytest
from exact import FunctionJudge
from loguru import logger
from scipy.stats import hypergeom

from gpassk_opencompass import (
    IncompleteError,
    InputError,
    RuleJudge,
    Samples,
    Verdict,
    score,
)
from gpassk_opencompass.health import Generation, generation_columns
from gpassk_opencompass.judges import CascadeJudge, Judgement
from gpassk_opencompass.scoring import answer_pattern, reference_of


def make_samples(answers, reference='1', **columns):
    """Question q's replica r answers answers[q][r]; rows lie replica by replica, as OpenCompass puts them."""
    most = max(map(len, answers))
    rows = [(q, r) for r in range(most) for q in range(len(answers)) if r < len(answers[q])]
    made = {
        'uid': [f'q{q}' for q, _ in rows],
        'replica': [r for _, r in rows],
        'question': [f'question {q}' for q, _ in rows],
        'reference': [reference] * len(rows),
        'response': [f'I think it is \\boxed{{{answers[q][r]}}}' if answers[q][r] else '' for q, r in rows],
        'group': ['B_en' if q % 2 else 'A_en' for q, _ in rows],
        'language': ['en'] * len(rows),
        'problem': [f'p{q}' for q, _ in rows],
    }
    return Samples({**made, **columns})


def responses(texts, reference='1', **columns):
    return make_samples([[''] * len(texts)], reference, response=list(texts), **columns)


def equal_judge():
    return FunctionJudge(lambda pair: pair.answer == pair.reference, name='equal')


def noting(asked):
    """Says yes to 1, and notes all that it is asked."""
    return FunctionJudge(lambda pair: asked.append(pair) or pair.answer == '1')


def verdicts(result):
    """A character a sample, a text a question."""
    return result.as_json()['details']['verdicts']


# Counts and metrics


def test_counts_and_metrics_follow_every_single_replica():
    """c of n a question and the means over questions, against scipy's hypergeometric tail."""
    counts, n, k = [0, 1, 2, 3, 4], 4, 4
    result = score(make_samples([['1'] * c + ['0'] * (n - c) for c in counts]), equal_judge(), n=n, k=[2, k])
    scores = result.scores()
    assert result.counts.c == counts
    assert verdicts(result) == ['0000', '1000', '1100', '1110', '1111']
    assert scores['accuracy'] == 50.0
    for threshold, needed in ((0.0, 1), (0.25, 1), (0.5, 2), (0.75, 3), (1.0, 4)):
        expected = 100 * sum(hypergeom.sf(needed - 1, n, c, k) for c in counts) / len(counts)
        assert scores[f'G-Pass@{k}_{threshold}'] == pytest.approx(expected)
    assert scores['G-Pass@2_1.0'] == pytest.approx(100 * sum(hypergeom.sf(1, n, c, 2) for c in counts) / 5)
    assert scores['pass@2'] == pytest.approx(100 * sum(hypergeom.sf(0, n, c, 2) for c in counts) / 5)


def test_what_one_sample_does_not_tell_is_left_out():
    """n = 1 gives the accuracy alone; mG-Pass@1, whose published sum has no term, would be a 0."""
    scores = score(make_samples([['1'], ['0'], ['1'], ['1']]), equal_judge(), n=1, k=1).scores()
    assert scores['accuracy'] == 75.0
    assert {key.rpartition('/')[2] for key in scores} == {'accuracy'}
    scores = score(make_samples([['1', '0']]), equal_judge(), n=2, k=[1, 2]).scores()
    assert (scores['G-Pass@1_1.0'], 'mG-Pass@2' in scores, 'mG-Pass@1' in scores) == (50.0, True, False)


@pytest.mark.parametrize(('n', 'k'), [(2, 3), (2, 0), (2, [1, 5]), (None, 3), (2, True)])
def test_k_outside_1_to_n_is_an_error_before_a_judge_is_asked(n, k):
    """k > n or k < 1 has no meaning and no score; without k 4, 8 and 16 count, as far as n goes, else n."""
    asked = []
    with pytest.raises(InputError, match=r'k = .*expected whole numbers from 1 to n = 2'):
        score(make_samples([['1', '0']]), noting(asked), n=n, k=k)
    assert asked == []
    usual = {n: score(make_samples([['1'] * n]), equal_judge()).ks for n in (1, 3, 4, 9, 16)}
    assert usual == {1: [1], 3: [3], 4: [4], 9: [4, 8], 16: [4, 8, 16]}


def test_missing_replicas_are_an_error_not_a_lower_score():
    """Three of four rows: incomplete, to be completed by running again; a replica too many is none of n."""
    samples = make_samples([['1', '0'], ['1', '0']])
    with pytest.raises(IncompleteError, match='1 of 4 samples are missing'):
        score(samples.select(range(3)), equal_judge(), n=2, k=2)
    with pytest.raises(InputError, match="row 3: replica 1 of 'q0'; expected 0 … 0"):
        score(samples, equal_judge(), n=1, k=1)


# Judges


def test_each_distinct_answer_is_judged_once_by_its_shortest_spelling():
    """Of equal normal forms the shortest, whatever came first; the same answer to another question anew."""
    asked = []
    answers = [[r'\dfrac{1}{2}', '$\\frac{1}{2}$', r'\frac12'], ['1', '1.', '2'], ['1', '1', '1']]
    result = score(make_samples(answers), noting(asked), n=3, k=2)
    expected = [('0', r'\frac12'), ('1', '1'), ('1', '2'), ('2', '1')]
    assert sorted((pair.question[-1], pair.answer) for pair in asked) == expected
    assert verdicts(result) == ['000', '110', '111']
    backwards = []
    score(make_samples([each[::-1] for each in answers]), noting(backwards), n=3, k=2)
    assert set(backwards) == set(asked)


def test_hedged_responses_are_counted_and_no_judge_is_asked():
    asked = []
    texts = ['\\boxed{1}', '\\boxed{1} or \\boxed{2}', 'the answer is 1 or 2', 'the answer is 1']
    result = score(responses(texts), noting(asked), n=4, k=4)
    assert [pair.answer for pair in asked] == ['1']
    assert verdicts(result) == ['1001']
    assert result.as_json()['details']['answers'] == [['1', '1, 2', '1 or 2', '1']]
    assert (result.health.hedged, result.health.judged_by['hedged'], result.health.unjudged) == (2, 2, 0)
    said = '2 of 4 responses state more answers than are asked for and count as incorrect'
    assert said in result.health.remarks()


def test_a_judge_gets_the_language_of_the_question_and_the_end_where_there_is_no_answer():
    """Where a final answer is found, no end; the language as the row says, else as its text is written."""
    asked = []
    score(responses(['\\boxed{1}', 'no idea ' * 1000]), noting(asked), n=2, k=2)
    assert [len(pair.tail) for pair in asked] == [0, 2000]
    told = make_samples([['1']] * 3, language=['cn', None, None], question=['1?', '一是几？', 'one?'])
    score(told, noting(asked), k=1)
    assert [pair.language for pair in asked[2:]] == ['cn', 'cn', 'en']


def test_unjudged_is_bounded_and_above_1_percent_there_is_no_result():
    """Counted as wrong, the bounds say what it may be worth; else how many, why, and of which questions."""
    judge = FunctionJudge(lambda pair: None if pair.answer == '?' else pair.answer == '1', name='outage')
    result = score(make_samples([['1', '1']] * 99 + [['1', '?']]), judge, n=2, k=2)
    assert (result.health.unjudged, result.counts.unjudged[-1], verdicts(result)[-1]) == (1, 1, '1?')
    assert result.scores()['G-Pass@2_1.0'] == 99.0
    assert result.bounds['G-Pass@2_1.0'] == [99.0, 100.0]
    answers = make_samples([['1'] * 10] * 9 + [['1'] * 8 + ['?'] * 2])
    said = r"2 of 100 samples \(2.0%\) stayed unjudged \{'outage': 2\}.*'q9' \(2; reference '1'\).*no result"
    with pytest.raises(IncompleteError, match=said):
        score(answers, judge, n=10, k=2)
    assert score(answers, judge, n=10, k=2, unjudged_tolerance=0.02).health.unjudged == 2


class GivesUp(FunctionJudge):
    """Says yes to 1, gives up on x."""

    def judge(self, pairs):
        said = {'x': Judgement(Verdict.INCORRECT, 'math-verify', 'timeout')}
        return [said.get(pair.answer, Judgement(Verdict.CORRECT, 'string')) for pair in pairs]


def test_what_the_judge_gave_up_on_is_incorrect_and_bounded():
    """Wrong in the score and the lower bound, right in the upper one; it is said when it is scored."""
    said = []
    sink = logger.add(said.append, level='WARNING', format='{message}')
    result = score(make_samples([['1', '1']] * 23 + [['1', 'x']]), GivesUp(None), n=2, k=2)
    logger.remove(sink)
    gave_up = '1 of 48 samples count as incorrect because the judge gave up on them (timeout: 1)'
    assert gave_up in ''.join(said)
    assert result.bounds['G-Pass@2_1.0'] == pytest.approx([100 * 23 / 24, 100.0])
    assert result.counts.undecided == [0] * 23 + [1]
    assert (result.health.undecided, result.health.undecided_reasons) == (1, {'timeout': 1})
    assert (result.health.unjudged, result.health.judged_by) == (0, {'string': 47, 'math-verify': 1})
    assert verdicts(result)[-1] == '10'
    second = CascadeJudge(GivesUp(None), FunctionJudge(lambda pair: pair.answer == 'x', name='second'))
    decided = score(make_samples([['1', '1']] * 23 + [['1', 'x']]), second, n=2, k=2)
    assert (decided.scores()['accuracy'], decided.health.undecided) == (100.0, 0)


# References


@pytest.mark.parametrize(
    ('shipped', 'read'),
    [
        ('Half of 16 is 8.\n#### 8', '8'), ('#### 1,000', '1,000'), ('a #### b\nc', 'a #### b\nc'),
        ("['7']", '7'), ('["x, y"]', 'x, y'), ("['7', '8']", "['7', '8']"), ('[7]', '[7]'),
        ('So <answer>7</answer>', '7'), ('7 <|im_end|>', '7'), ('7<|eot_id|></s>\n', '7'), (' 7 ', '7'),
        ('x#### 8', 'x#### 8'), ('NaN', ''), ('None', ''), ('null', ''), ('N/A', ''), ('<NA>', ''), ('', ''),
        ('#### nan', ''), (None, ''), ('none of them', 'none of them'), (r'\boxed{7}', r'\boxed{7}'),
    ],
)  # fmt: skip
def test_references_are_read_as_data_sets_ship_them(shipped, read):
    """GSM8K's solutions, lists of one text, tags, end tokens, all spellings of nothing."""
    assert reference_of(shipped) == read
    if read and read != shipped:
        asked = []
        result = score(responses([r'\boxed{1}'], str(shipped)), noting(asked), k=1)
        assert [pair.reference for pair in asked] == [read]
        assert result.as_json()['details']['reference'] == [shipped]


UNREADABLE = '+'.join(['x'] * 1500)
"""A reference that the rule judge cannot compare with anything."""


@pytest.mark.parametrize(
    ('reference', 'reason'), [(None, 'no reference'), (UNREADABLE, 'reference too long or too deep')]
)
def test_a_question_whose_reference_nobody_can_read_is_not_counted(reference, reason):
    """Named, outside the denominator, also where some of its samples have no answer, hedge, or are alike."""
    answers = [['1', '0'] for _ in range(9)] + [['3', '']]
    samples = make_samples(answers)
    shipped = [reference if uid == 'q9' else '1' for uid in samples['uid']]
    with RuleJudge() as judge:
        result = score(samples.replace(reference=shipped), judge, n=2, k=2)
    assert result.left_out == {reason: ['q9']}
    assert (result.data.questions, result.health.samples, result.health.unjudged) == (9, 18, 0)
    assert result.scores()['accuracy'] == 50.0
    assert result.remarks == [f"1 of 10 questions are not counted ({reason}): 'q9'"]
    kept = result.samples()
    assert (len(kept), kept['uid'][-2:]) == (20, ['q9', 'q9'])
    assert len(verdicts(result)) == 9


def test_above_10_percent_of_such_questions_give_no_result():
    samples = make_samples([['1', '0']] * 10)
    shipped = ['n/a' if uid in ('q3', 'q7') else '1' for uid in samples['uid']]
    said = (
        r"2 of 10 questions have no reference .*no reference\), more than 10%: 'q3' \('n/a'\), 'q7'.*--field"
    )
    with pytest.raises(IncompleteError, match=said):
        score(samples.replace(reference=shipped), equal_judge(), n=2, k=2)


# Answers


@pytest.mark.parametrize(
    ('rule', 'answers'),
    [
        (r'ANSWER: (\S+)', ['1', '2', '', '']),
        (r'\d+$', ['1', '2', '', '7']),
        (r'ANSWER:( none)?', ['', '', '', '']),
        (r'(?s).+', ['ANSWER: 1', 'ANSWER: 1\nANSWER: 2', '', '7']),
    ],
)
def test_answers_may_stand_elsewhere(rule, answers):
    """At the last match of a pattern, or of its group; or the response is the answer. Never in a thought."""
    texts = ['ANSWER: 1', 'ANSWER: 1\nANSWER: 2', '<think>ANSWER: 3', '7']
    samples = score(responses(texts), equal_judge(), k=1, answers=rule).samples()
    assert samples['answer'] == answers


@pytest.mark.parametrize('rule', ['(', '(a)(b)'])
def test_what_is_no_rule_is_refused(rule):
    with pytest.raises(InputError, match='--answer-pattern'):
        answer_pattern(rule)


# Completed samples


@pytest.mark.parametrize('told', [True, False])
def test_the_scores_of_completed_samples_stand_apart(told):
    """By the engine's word or else by the text; against all draws of k from the samples that are left."""
    answers = [['1', '1', '1', '0'], ['1', '0', '0', '0'], ['1', '1', '0', '0'], ['1', '1', '1', '1']]
    cut = [(0, 3), (1, 0), (2, 2), (2, 3), (3, 0), (3, 1), (3, 2)]
    samples = make_samples(answers)
    places = [
        (int(uid[1:]), replica) for uid, replica in zip(samples['uid'], samples['replica'], strict=True)
    ]
    if told:
        ended = [Generation('length' if place in cut else 'stop') for place in places]
        samples = samples.replace(**generation_columns(ended))
    else:
        texts = zip(places, samples['response'], strict=True)
        samples = samples.replace(response=['hence \\boxed{0' if at in cut else text for at, text in texts])
    result = score(samples, equal_judge(), n=4, k=[2, 3], thresholds=[0.5, 1.0])
    left = [[a == '1' for r, a in enumerate(one) if (q, r) not in cut] for q, one in enumerate(answers)]
    completed = result.completed
    assert completed.samples == 9
    assert completed.scores['accuracy'] == pytest.approx(100 * np.mean([np.mean(one) for one in left]))
    for k, threshold in product((2, 3), (0.5, 1.0)):
        draws = [[sum(d) >= k * threshold for d in combinations(one, k)] for one in left if len(one) >= k]
        key = f'G-Pass@{k}_{threshold}'
        assert completed.questions[key] == len(draws)
        assert completed.scores[key] == pytest.approx(100 * np.mean([np.mean(one) for one in draws]))
    assert score(make_samples(answers), equal_judge(), n=4, k=2).completed is None


def test_the_signature_tells_runs_apart():
    """Another judge, another question, another reference or n changes it; the same run again does not."""
    samples = make_samples([['1', '0']])
    same = [score(samples, equal_judge(), n=2, k=2).signature for _ in range(2)]
    others = [
        score(samples, FunctionJudge(lambda pair: True, 'yes'), n=2, k=2),
        score(samples.replace(question=['another'] * 2), equal_judge(), n=2, k=2),
        score(samples.replace(reference=['2'] * 2), equal_judge(), n=2, k=2),
        score(samples.select([0]), equal_judge(), n=1, k=1),
    ]
    assert len({*same, *(other.signature for other in others)}) == 5
