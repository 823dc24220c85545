"""An LLM judges inside Lighteval: its verdicts, its store, its settings, and what happens when it fails."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from judge_server import PROMPTS, Act, Asked, JudgeServer
from loguru import logger
from made import doc_of, judged, metric_of, said, table_of

from gpassk_opencompass import IncompleteError, InputError, LLMJudge, MissingExtraError, Pair
from gpassk_opencompass.judges.store import VerdictStore
from gpassk_opencompass.lighteval_settings import VARIABLES, read_settings

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    from lighteval.logging.info_loggers import MetricsLogger
    from lighteval.utils.utils import make_results_table

    from gpassk_opencompass.lighteval_metric import NAME

DOCS = [doc_of(number, str(number)) for number in range(1, 25)]
"""The right answer to question 7 is 7."""
ANSWERS = [[str(number), f'0{number}', f'{number}1', f'{number}1'] for number in range(1, 25)]
"""Of four samples one is the reference itself, one equal to it, two are wrong in the same way."""
RESPONSES = [said(*answers) for answers in ANSWERS]
VERDICTS = ['1', '1', '0', '0']


def equal(asked: Asked) -> Act:
    """Says yes where reference and answer are one number."""
    reference, answer = (
        asked.prompt.rpartition(f'{name}=')[2].split()[0] for name in ('reference', 'answer')
    )
    return r'\boxed{yes}' if float(reference) == float(answer) else r'\boxed{no}'


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the variables nor the verdicts of whoever runs the tests."""
    for variable in [*VARIABLES.values(), 'GPASSK_VERDICTS']:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    """A judge that knows numbers."""
    with JudgeServer(equal) as judge:
        yield judge


@pytest.fixture
def warnings_logged() -> Iterator[list[str]]:
    """What this package's log warned of."""
    lines: list[str] = []
    sink = logger.add(lines.append, level='WARNING', format='{message}')
    yield lines
    logger.remove(sink)


def llm(server: JudgeServer, **options: Any) -> dict[str, Any]:
    """Parameters of a task that has the server judge, as `task@judge_model=…` gives them."""
    options = {'prompts': PROMPTS, 'progress': False, **options}
    return {'n': 4, 'k': 4, 'judge_model': 'judge', 'judge_urls': server.url, 'judge_options': options}


def block_of(entry: dict[str, Any]) -> dict[str, Any]:
    """What the details say of the whole run."""
    block: dict[str, Any] = json.loads(entry['gpassk'])
    return block


@pytest.mark.parametrize(('kind', 'calls'), [('llm', 2), ('cascade', 1)])
def test_an_llm_judges_and_a_warm_store_asks_nobody(server: JudgeServer, kind: str, calls: int) -> None:
    """Each different answer that is not the reference itself is asked for once; a second time none is."""
    first, second = (judged(metric_of(**llm(server), judge=kind), DOCS, RESPONSES) for _ in range(2))
    assert len(server.asked) == 24 * calls
    assert [entry['verdicts'] for entry in first] == [VERDICTS] * 24
    assert [entry['c'] for entry in first] == [2] * 24
    for was, now in zip(first, second, strict=True):
        assert {**was, 'gpassk': ''} == {**now, 'gpassk': ''}
    assert block_of(first[0])['signature'] == block_of(second[0])['signature']
    statistics = block_of(second[0])['judge']['statistics']
    assert statistics['stored' if kind == 'llm' else 'second_stored'] == 24 * calls


def test_a_judge_of_ones_own_is_named_by_its_path() -> None:
    """With its arguments as judge_options."""
    path, options = 'gpassk_opencompass.judges.rule.RuleJudge', {'timeout': 7}
    [entry] = judged(metric_of(n=2, k=2, judge=path, judge_options=options), DOCS[:1], [said('1', '2')])
    assert (entry['verdicts'], block_of(entry)['judge']['timeout']) == (['1', '0'], 7)


@pytest.mark.parametrize('place', ['cache', 'variable', 'option'])
def test_verdicts_are_kept_where_one_says(
    place: str, server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or in the user's cache; a judge of another host with the same settings finds them."""
    folder = tmp_path / ('cache/gpassk_opencompass/verdicts' if place == 'cache' else 'team')
    if place == 'variable':
        monkeypatch.setenv('GPASSK_VERDICTS', str(folder))
    options = {'store': str(folder)} if place == 'option' else {}
    judged(metric_of(**llm(server, **options)), DOCS, RESPONSES)
    assert len(VerdictStore(folder)) == 48
    judge = LLMJudge('judge', server.url, prompts=PROMPTS, store=folder)
    [judgement] = judge.judge([Pair('What is 5?', '5', '05')])
    judge.close()
    assert (judgement.verdict.value, len(server.asked)) == ('correct', 48)


def test_the_record_says_what_the_judge_was_asked() -> None:
    """Which prompts, with their digest; without OpenCompass those of this package."""
    with JudgeServer(lambda asked: r'\boxed{yes}') as server:
        [own] = judged(metric_of(**llm(server, prompts='auto')), DOCS[:1], RESPONSES[:1])
        given = {**PROMPTS, 'name': 'protocol'}
        [other] = judged(metric_of(**llm(server, prompts=given)), DOCS[:1], RESPONSES[:1])
    assert block_of(own)['judge']['prompts'].startswith('own:')
    assert block_of(other)['judge']['prompts'].startswith('protocol:')
    assert block_of(other)['judge']['model'] == 'judge'
    assert block_of(own)['signature'] != block_of(other)['signature']


def test_options_reach_the_request(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the key comes from the environment and goes nowhere else."""
    monkeypatch.setenv('JUDGE_KEY', 'sk-secret')
    options = {'api_key_env': 'JUDGE_KEY', 'max_tokens': 77, 'temperature': None, 'extra_body': {'seed': 1}}
    entries = judged(metric_of(**llm(server, **options)), DOCS, RESPONSES)
    asked = server.asked[0]
    assert (asked.body['max_tokens'], asked.body['seed'], 'temperature' in asked.body) == (77, 1, False)
    assert asked.headers['Authorization'] == 'Bearer sk-secret'
    assert 'sk-secret' not in repr(entries)
    assert block_of(entries[0])['judge']['sampling'] == {'max_tokens': 77, 'seed': 1}


LLM = {'judge_model': 'm', 'judge_urls': 'http://localhost:1'}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({**LLM, 'judge_options': '{"concurrency": 8'}, r'GPASSK_JUDGE_OPTIONS\) = .* is no JSON'),
    ({**LLM, 'judge_options': '[8]'}, r'GPASSK_JUDGE_OPTIONS\) = .*: expected an object, e\.g\. \{'),
    ({**LLM, 'judge_options': '{"concurency": 8}'}, 'concurency.*it takes .*concurrency'),
    ({**LLM, 'judge_options': '{"concurrency": 0}'}, 'concurrency = 0: expected a number above 0'),
    ({**LLM, 'judge_options': '{"model": "x"}'}, 'holds model: say that as judge, judge_model, judge_urls'),
    ({**LLM, 'judge': 'rule'}, 'judge = rule and judge_model'),
    ({'judge': 'cascade', 'judge_model': 'm'}, r'GPASSK_JUDGE_URLS\) = \[\]: judge = cascade needs both'),
    ({'judge': 'gpt'}, 'expected rule, llm, cascade, the dotted path of a class or a JSON config'),
    ({'judge': 'no.such.Judge'}, 'cannot be imported'),
    ({'judge': '{"type": "rule"', 'n': 16}, r'GPASSK_JUDGE\) = .* is no JSON'),
    ({'judge': '{"type": "rule"}', 'judge_model': 'm'}, 'is a whole config: put judge_model'),
    ({'judge': {'type': 'tarot'}}, "judge type 'tarot': expected rule, llm, cascade"),
    ({'judge_options': '{"concurrency": 8}'}, "judge 'rule': .*concurrency.*it takes workers, timeout"),
    ({**LLM, 'judge_urls': 'localhost:1'}, "url 'localhost:1': expected http://host:port"),
    ({'unjudged_tolerance': 2}, 'expected a share from 0 to 1'),
]


@pytest.mark.parametrize(('parameters', 'message'), REFUSED)
def test_settings_that_cannot_be_met_are_refused(parameters: dict[str, Any], message: str) -> None:
    """With what was received and what is allowed, whichever way they were given."""
    with pytest.raises(InputError, match=message):
        read_settings(parameters, {})
    texts = {name: json.dumps(v) if isinstance(v, dict) else str(v) for name, v in parameters.items()}
    with pytest.raises(InputError):
        read_settings({}, {VARIABLES[name]: text for name, text in texts.items()})


def test_what_is_missing_is_found_before_anything_is_generated(tmp_path: Path) -> None:
    """The key, OpenCompass's prompts, a folder: Lighteval asks for n when it loads a task."""
    (tmp_path / 'file').touch()
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({'api_key_env': 'NO_SUCH_KEY'}, InputError, 'NO_SUCH_KEY'),
        ({'store': str(tmp_path / 'file')}, InputError, 'is a file'),
        ({'prompts': 'protocol'}, MissingExtraError, 'opencompass'),
    ]
    for options, error, message in cases:
        metric = metric_of(**LLM, judge_options=options)
        with pytest.raises(error, match=message):
            metric.sample_level_fn.num_samples()


def test_a_variable_that_nothing_reads_is_told_before_anything_is_generated(
    warnings_logged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slip would give hours with the defaults; the variable may also be of somebody's own, so no error."""
    monkeypatch.setenv('GPASSK_K', '4')
    monkeypatch.setenv('GPASSK_THRESHOLD', '1')
    monkeypatch.setenv('GPASSK_TEAM', 'x')
    for _ in range(2):
        assert metric_of(n=4).sample_level_fn.num_samples() == 4
    told = {line.partition('$')[2].strip() for line in warnings_logged if 'nothing reads' in line}
    assert 'GPASSK_THRESHOLD: is $GPASSK_THRESHOLDS meant?' in told
    assert 'GPASSK_TEAM: docs/lighteval.md has the variables' in told
    assert len([line for line in warnings_logged if '$GPASSK_THRESHOLD:' in line]) == 1
    assert not any('$GPASSK_K:' in line for line in warnings_logged)


def test_unjudged_answers_stop_the_run_and_the_next_one_asks_for_them_alone(server: JudgeServer) -> None:
    """Verdicts that came are kept; the responses are in Lighteval's own cache."""
    broken = JudgeServer(lambda asked: 'hard to say' if 'is 5?' in asked.prompt else equal(asked))
    with broken, pytest.raises(IncompleteError, match=r'3 of 96 samples .* stayed unjudged'):
        judged(metric_of(**llm(broken)), DOCS, RESPONSES)
    entries = judged(metric_of(**llm(server)), DOCS, RESPONSES)
    assert [entry['verdicts'] for entry in entries] == [VERDICTS] * 24
    assert len(server.asked) == 2
    assert all('is 5?' in asked.prompt for asked in server.asked)


def test_tolerated_unjudged_answers_count_as_wrong_and_are_told(warnings_logged: list[str]) -> None:
    """In the table, in the details, and with what they could make of the scores."""
    with JudgeServer(lambda asked: 'hm' if 'answer=05 ' in asked.prompt else equal(asked)) as server:
        metric = metric_of(**llm(server), unjudged_tolerance=0.02)
        entries = judged(metric, DOCS, RESPONSES)
    assert (entries[4]['verdicts'], entries[4]['c'], entries[4]['unjudged']) == (['1', '?', '0', '0'], 1, 1)
    assert table_of(metric, entries)['unjudged_share'] == 1 / 96
    low, high = block_of(entries[0])['bounds']['accuracy']
    assert (low, high) == pytest.approx((100 * 47 / 96, 50))
    assert '1 of 96 samples stayed unjudged' in ''.join(warnings_logged)


def test_samples_that_are_copies_are_told(warnings_logged: list[str]) -> None:
    """The table has the share of different texts: 1 / n where all are one."""
    metric = metric_of(n=4, k=4)
    entries = judged(metric, DOCS, [said('7', '7', '7', '7')] * 24)
    assert table_of(metric, entries)['distinct_share'] == 0.25
    assert 'all n = 4 responses are one text for 24 of 24 questions' in ''.join(warnings_logged)
    assert block_of(entries[0])['replicas']['identical_questions'] == 24


def test_the_order_in_which_docs_come_changes_nothing() -> None:
    """Lighteval shuffles them; entries are in the order of the docs, the record in that of the data."""
    shuffled = list(range(24))
    random.Random(1).shuffle(shuffled)
    metric = metric_of(n=2, k=2)
    responses = [said(str(number), str(number + 1)) for number in range(24)]
    straight = judged(metric, DOCS, responses)
    mixed = judged(metric, [DOCS[i] for i in shuffled], [responses[i] for i in shuffled])
    for place, i in enumerate(shuffled):
        assert mixed[place]['answers'] == [str(i), str(i + 1)]
        assert {**mixed[place], 'gpassk': ''} == {**straight[i], 'gpassk': ''}
    assert block_of(mixed[0])['signature'] == block_of(straight[0])['signature']


@pytest.mark.parametrize(
    'prompt',
    ['<s>[INST] What is 3? Box it. [/INST]', [{'role': 'user', 'content': 'What  is 3?\nBox it.'}], None],
)
def test_responses_to_the_question_are_taken(prompt: Any) -> None:
    """Whatever a chat template put around it, and where the backend does not say what it asked."""
    response = said('3', '4')
    response.input = prompt
    assert judged(metric_of(n=2, k=2), [DOCS[2]], [response])[0]['c'] == 1


@pytest.mark.parametrize('prompt', ['What is 4? Box it.', [{'role': 'user', 'content': 'What is 4?'}]])
def test_responses_to_another_question_are_refused(prompt: Any) -> None:
    """Lighteval's cache knows a question by its row number: with other data, those of the old data."""
    response = said('3', '4')
    response.input = prompt
    with pytest.raises(InputError, match=r'generated for another question.*Delete the folder of this task'):
        judged(metric_of(n=2, k=2), [DOCS[2]], [response])


def test_only_n_decides_which_responses_lighteval_takes_from_its_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It keeps them under the text of the task: another judge finds them, another n does not."""
    texts = [str(metric_of(n=8, k=8, **judge).sample_level_fn) for judge in ({}, LLM)]
    monkeypatch.setenv('GPASSK_N', '8')
    assert {*texts, str(metric_of(k=4).sample_level_fn)} == {'GPassKSamples(n=8)'}
    monkeypatch.setenv('GPASSK_N', '16')
    assert str(metric_of().sample_level_fn) == 'GPassKSamples(n=16)'


def test_the_printed_table_has_the_metrics_in_their_order() -> None:
    """As fractions with their standard errors; then the two shares, which have none."""
    metric = metric_of(n=4, k=[2, 4], thresholds=[0.5, 1.0])
    answers = [[*['1'] * right, *['2'] * (4 - right)] for right in [0, 1, 2, 3, 4, 4]]
    docs = [doc_of(number, '1') for number in range(6)]
    table = table_of(metric, judged(metric, docs, [said(*texts) for texts in answers]))
    printed = make_results_table({'results': {'t': table}, 'versions': {'t': 1}})
    rows = [[cell.strip() for cell in line.strip('|').split('|')] for line in printed.splitlines()[2:]]
    metrics = ['pass@{}', 'G-Pass@{}_0.5', 'G-Pass@{}_1.0', 'mG-Pass@{}']
    names = ['accuracy', *(name.format(k) for k in (2, 4) for name in metrics)]
    assert [row[2] for row in rows] == [*names, 'unjudged_share', 'distinct_share']
    shares = [0, 1 / 4, 2 / 4, 3 / 4, 1, 1]
    assert [float(cell) for cell in (rows[0][3], rows[0][5])] == pytest.approx(
        [mean(shares), stdev(shares) / 6**0.5], abs=5e-5
    )
    assert rows[-1][4:] == ['', '']


def test_tasks_of_a_group_are_averaged_where_one_has_a_single_problem() -> None:
    """It has no standard error: NaN is printed, and Lighteval's average of the group comes about."""

    class Task:
        def __init__(self) -> None:
            self.aggregation = metric.get_corpus_aggregations

    metric = metric_of(n=2, k=2)
    log = MetricsLogger()
    for name, docs in {'group:a|0': DOCS[:1], 'group:b|0': DOCS[1:]}.items():
        for entry in judged(metric, docs, [said(doc.choices[0], '999') for doc in docs]):
            log.log(name, {NAME: entry})
    log.aggregate({'group:a|0': Task(), 'group:b|0': Task()})
    assert log.metric_aggregated['group:_average|0']['accuracy'] == 0.5
    printed = make_results_table({'results': log.metric_aggregated, 'versions': {}})
    assert '±  |   NaN|' in printed
