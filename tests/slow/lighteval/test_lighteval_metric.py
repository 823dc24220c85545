"""G-Pass@k inside Lighteval: its numbers, its judges, what is kept of a question, and what is refused."""

from __future__ import annotations

import json
import random
import warnings
from statistics import mean, stdev
from typing import Any

import numpy as np
import pytest
import torch
from judge_server import PROMPTS, Act, Asked, JudgeServer
from made import Metric, ModelResponse, doc_of, judged, metric_of, said, table_of, task_of

from gpassk_opencompass import (
    IncompleteError,
    InputError,
    LLMJudge,
    MissingExtraError,
    Pair,
    RuleJudge,
    score,
)
from gpassk_opencompass.judges.verdicts import VerdictStore

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    from lighteval.metrics.metrics_sample import GPassAtK
    from lighteval.tasks.requests import Doc

    from gpassk_opencompass.lighteval import samples_of

DOCS = [doc_of(number, str(number)) for number in range(1, 25)]
"""The right answer to question 7 is 7."""
ANSWERS = [[str(number), f'0{number}', f'{number}1', f'{number}1'] for number in range(1, 25)]
"""Of four samples one is the reference itself, one equal to it, two are wrong in the same way."""
RESPONSES = [said(*answers) for answers in ANSWERS]
PADDED = [5, 9, 9], [5, 6, 9], [5, 6, 7]
VERDICTS = ['correct', 'correct', 'incorrect', 'incorrect']


def equal(asked: Asked) -> Act:
    told = [asked.prompt.rpartition(f'{name}=')[2].split()[0] for name in ('reference', 'answer')]
    return r'\boxed{yes}' if float(told[0]) == float(told[1]) else r'\boxed{no}'


@pytest.fixture
def server():
    with JudgeServer(equal) as judge:
        yield judge


def llm(server: JudgeServer, **options: Any) -> dict[str, Any]:
    options = {'prompts': PROMPTS, 'progress': False, **options}
    return {'type': 'llm', 'model': 'judge', 'urls': [server.url], **options}


def judging(judge: Any, **more: Any) -> Metric:
    return metric_of(n=4, k=4, judge=judge, **more)


def block_of(entry: dict[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = json.loads(entry['gpassk'])
    return block


# Numbers


def drawn(docs: list[Doc], n: int) -> list[ModelResponse]:
    """Right with a probability that differs from question to question, from a fixed seed."""
    draw = random.Random(7)
    replies = []
    for doc in docs:
        chance, right = draw.random(), doc.choices[0].strip('$')
        replies.append(said(*(right if draw.random() < chance else f'{right}1' for _ in range(n))))
    return replies


def test_the_table_is_that_of_score_to_the_last_digit():
    """The same responses through `score`, as every other host gives them; translations are one problem."""
    metric, docs = metric_of(n=16), task_of('gpassk_demo').eval_docs()
    responses = drawn(docs, 16)
    entries = judged(metric, docs, responses)
    table = table_of(metric, entries)
    with RuleJudge() as judge:
        scores = score(samples_of(docs, responses, 16), judge, n=16, k=[4, 8, 16]).scores()
    own = {name: value for name, value in table.items() if not name.endswith(('_stderr', '_share'))}
    assert len(own) == 1 + 3 * 7
    assert {name: 100.0 * value for name, value in own.items()} == {name: scores[name] for name in own}
    problems = {entry['problem']: [] for entry in entries}
    for entry in entries:
        problems[entry['problem']].append(entry['c'] / 16)
    assert {len(values) for values in problems.values()} == {2}
    error = stdev(map(mean, problems.values())) / len(problems) ** 0.5
    assert table['accuracy_stderr'] == pytest.approx(error, rel=1e-12)


def both(correct: int, n: int, k: int, thresholds: list[float]) -> tuple[list[float], list[float]]:
    """Lighteval's own values and ours for responses that are the gold itself, as it wants them, or wrong."""
    doc = doc_of(1, r'\boxed{7}')
    response = ModelResponse(text=[r'\boxed{7}'] * correct + ['8'] * (n - correct))
    theirs = GPassAtK(k=k, n=n, thresholds=thresholds).compute(doc, response)
    [entry] = judged(metric_of(n=n, k=k, thresholds=thresholds), [doc], [response])
    names = [f'G-Pass@{k}_{threshold}' for threshold in thresholds] + [f'mG-Pass@{k}']
    return list(theirs.values()), [entry['metrics'][name] for name in names]


@pytest.mark.parametrize('k', [2, 4, 5, 8])
@pytest.mark.parametrize('correct', [0, 1, 5, 8])
def test_lighteval_own_metric_agrees_where_it_is_right(correct, k):
    """On the same labels, with all samples there and thresholds that are exact in binary."""
    theirs, ours = both(correct, 8, k, [0.0, 0.25, 0.5, 0.75, 1.0])
    assert theirs == pytest.approx(ours, abs=1e-12)


def test_where_lighteval_own_metric_differs():
    """25 · 0.28 is 7, in binary 7.000000000000001: it asks for 8. Of half the samples it halves the score."""
    theirs, ours = both(7, 25, 25, [0.28])
    assert (theirs[0], ours[0]) == (0.0, 1.0)
    doc, eight = doc_of(1, '7'), ModelResponse(text=['7'] * 8)
    assert GPassAtK(k=1, n=16, thresholds=[1.0]).compute(doc, eight)['g-pass@1_1.0'] == pytest.approx(0.5)
    with pytest.raises(IncompleteError, match='8 responses to bench/S_en/1 of t, n = 16'):
        judged(metric_of(n=16, k=1), [doc], [eight])


def test_a_question_whose_reference_nobody_can_read_is_not_counted():
    metric, docs = metric_of(n=2, k=2), [*DOCS[:11], doc_of(99, 'nan')]
    entries = judged(metric, docs, [said(doc.choices[0], doc.choices[0]) for doc in docs])
    assert [bool(entry['left_out']) for entry in entries] == [False] * 11 + [True]
    assert table_of(metric, entries)['accuracy'] == 1.0


# Judges


@pytest.mark.parametrize(('cascade', 'calls'), [(False, 2), (True, 1)])
def test_an_llm_judges_and_a_warm_store_asks_nobody(server, cascade, calls):
    """Each different answer that is not the reference itself is asked for once; a second time none is."""
    judge = llm(server)
    if cascade:
        judge = {'type': 'cascade', 'first': {'type': 'rule'}, 'second': judge}
    first, second = (judged(judging(judge), DOCS, RESPONSES) for _ in range(2))
    assert len(server.asked) == 24 * calls
    assert [(entry['verdicts'], entry['c']) for entry in first] == [(VERDICTS, 2)] * 24
    assert [{**entry, 'gpassk': ''} for entry in first] == [{**entry, 'gpassk': ''} for entry in second]
    one, other = block_of(first[0]), block_of(second[0])
    assert one['signature'] == other['signature']
    assert other['judge']['statistics']['second_stored' if cascade else 'stored'] == 24 * calls


@pytest.mark.parametrize('place', ['cache', 'variable', 'option'])
def test_verdicts_are_kept_where_one_says(place, server, tmp_path, monkeypatch):
    """Or in the user's cache; a judge of another host with the same settings finds them."""
    folder = tmp_path / ('cache/gpassk_opencompass/verdicts' if place == 'cache' else 'team')
    if place == 'variable':
        monkeypatch.setenv('GPASSK_VERDICTS', str(folder))
    options = {'verdicts': str(folder)} if place == 'option' else {}
    judged(judging(llm(server, **options)), DOCS, RESPONSES)
    assert len(VerdictStore(folder)) == 48
    judge = LLMJudge('judge', server.url, prompts=PROMPTS, verdicts=folder)
    [judgement] = judge.judge([Pair('What is 5?', '5', '05')])
    judge.close()
    assert (judgement.verdict.value, len(server.asked)) == ('correct', 48)


def test_unjudged_answers_and_copies_are_told(warnings_logged):
    """In the table, in the details, and with what they could make of the scores; 1 / n where all are one."""
    with JudgeServer(lambda asked: 'hm' if 'answer=05 ' in asked.prompt else equal(asked)) as server:
        metric = judging(llm(server), unjudged_tolerance=0.02)
        entries = judged(metric, DOCS, RESPONSES)
    assert entries[4]['verdicts'] == ['correct', 'unjudged', 'incorrect', 'incorrect']
    assert (entries[4]['c'], entries[4]['unjudged'], bool(entries[4]['why'][1])) == (1, 1, True)
    assert table_of(metric, entries)['unjudged_share'] == 1 / 96
    assert block_of(entries[0])['bounds']['accuracy'] == pytest.approx((100 * 47 / 96, 50))
    metric = metric_of(n=4, k=4)
    assert table_of(metric, judged(metric, DOCS, [said('7', '7', '7', '7')] * 24))['distinct_share'] == 0.25
    told = ''.join(warnings_logged)
    assert '1 of 96 samples stayed unjudged' in told
    assert 'all n = 4 responses are one text for 24 of 24 questions' in told


# Before anything is generated


def test_what_is_missing_is_found_before_anything_is_generated(tmp_path):
    """The key, OpenCompass's prompts, a folder: Lighteval asks for n when it loads a task."""
    (tmp_path / 'file').touch()
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({'api_key_env': 'NO_SUCH_KEY'}, InputError, 'NO_SUCH_KEY'),
        ({'verdicts': str(tmp_path / 'file')}, InputError, 'is a file'),
        ({'prompts': 'protocol'}, MissingExtraError, 'opencompass'),
    ]
    for options, error, message in cases:
        judge = {'type': 'llm', 'model': 'm', 'urls': ['http://localhost:1'], **options}
        with pytest.raises(error, match=message):
            judging(judge).sample_level_fn.num_samples()


# Responses


@pytest.mark.parametrize(
    ('prompt', 'taken'),
    [
        ('<s>[INST] What is 3? Box it. [/INST]', True),
        ([{'role': 'user', 'content': 'What  is 3?\nBox it.'}], True),
        (None, True),
        ('What is 4? Box it.', False),
        ([{'role': 'user', 'content': 'What is 4?'}], False),
    ],
)
def test_responses_to_another_question_are_refused(prompt, taken):
    """Lighteval's cache knows a question by its row number: with other data, those of the old data.

    Taken are those to the question, whatever a chat template put around it, or where nobody says.
    """
    response = said('3', '4')
    response.input = prompt
    if taken:
        assert judged(metric_of(n=2, k=2), [DOCS[2]], [response])[0]['c'] == 1
        return
    with pytest.raises(InputError, match=r'generated for another question.*Delete the task in the cache'):
        judged(metric_of(n=2, k=2), [DOCS[2]], [response])


@pytest.mark.parametrize(
    ('tokens', 'told'),
    [
        ([[5, 6], [5, 5, 5], (7,)], [2, 3, 1]),  # as vLLM gives them: as long as they are
        *(([kind(one) for one in PADDED], None) for kind in (list, np.array, torch.tensor)),
        ([], None), (None, None), ([1, 2, 3], None), (np.array([1, 2, 3]), None), ([[1, 2], [3]], None),
    ],
)  # fmt: skip
def test_tokens_are_counted_sample_by_sample_unless_they_may_be_padding(tokens, told):
    """transformers fills a batch up to the longest, and nothing says with what; prompts are padded too."""
    given = ModelResponse(text=[r'\boxed{1}.'] * 3, input_tokens=[0] * 20, padded_tokens_count=8)
    given.output_tokens = tokens
    samples = samples_of(DOCS[:2], [given, given], 3)
    assert samples['prompt_tokens'] == [12] * 6
    assert samples.each('output_tokens') == (told or [None] * 3) * 2


def test_an_endpoint_that_only_thought_said_nothing():
    silent = ModelResponse(text=['7', None], reasonings=['3 + 4', 'Let me'])
    samples = samples_of(DOCS[:1], [silent], 2)
    assert (list(samples['response']), list(samples['thought'])) == (['7', ''], ['3 + 4', 'Let me'])
