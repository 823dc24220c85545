"""G-Pass@k inside Lighteval: its numbers beside those of `score`, its tasks, and what it refuses."""

from __future__ import annotations

import hashlib
import json
import random
import warnings
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

import pytest
from installed import install, install_theirs, python
from made import judged, metric_of, table_of

from gpassk_opencompass import IncompleteError, InputError, RuleJudge, score
from gpassk_opencompass.question_sets import BENCHMARKS

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    from lighteval.metrics.metrics_sample import GPassAtK
    from lighteval.metrics.utils.metric_utils import Metric
    from lighteval.models.abstract_model import ModelConfig
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.lighteval_task import LightevalTask
    from lighteval.tasks.registry import Registry
    from lighteval.tasks.requests import Doc, SamplingMethod
    from lighteval.utils.cache_management import SampleCache

    from gpassk_opencompass import lighteval_tasks
    from gpassk_opencompass.lighteval_metric import samples_of

TASKS = {config.name: config for config in lighteval_tasks.TASKS_TABLE}
N = 16


def demo_docs() -> list[Doc]:
    docs: list[Doc] = LightevalTask(TASKS['gpassk_demo']).eval_docs()
    return docs


def responses_to(docs: list[Doc], n: int = N) -> list[ModelResponse]:
    """Right with a probability that differs from question to question, from a fixed seed."""
    draw = random.Random(7)
    replies = []
    for doc in docs:
        chance, right = draw.random(), doc.choices[0].strip('$')
        said = [right if draw.random() < chance else f'{right}1' for _ in range(n)]
        replies.append(ModelResponse(text=[rf'So the answer is \boxed{{{text}}}.' for text in said]))
    return replies


def corpus(metric: Metric, docs: list[Doc], responses: list[ModelResponse]) -> dict[str, float]:
    return table_of(metric, judged(metric, docs, responses))


def test_the_table_is_that_of_score_to_the_last_digit() -> None:
    """The same responses through `score`, as every other host gives them."""
    docs = demo_docs()
    responses = responses_to(docs)
    table = corpus(metric_of(n=N, k=[4, 8, 16]), docs, responses)
    with RuleJudge() as judge:
        samples = samples_of(docs, [response.text for response in responses], N)
        record = score(samples, judge, n=N, k=[4, 8, 16])
    values = {name: value for name, value in table.items() if not name.endswith(('_stderr', '_share'))}
    assert len(values) == 1 + 3 * 7
    assert {name: 100.0 * value for name, value in values.items()} == {name: record[name] for name in values}


def test_translations_of_one_problem_are_one_observation() -> None:
    """The standard error is that of the means of the problems, each asked in two languages."""
    docs, metric = demo_docs(), metric_of(n=N, k=4)
    entries = judged(metric, docs, responses_to(docs))
    shares = defaultdict(list)
    for entry in entries:
        shares[entry['problem']].append(entry['c'] / N)
    means = [mean(values) for values in shares.values()]
    assert {len(values) for values in shares.values()} == {2}
    expected = stdev(means) / len(means) ** 0.5
    assert table_of(metric, entries)['accuracy_stderr'] == pytest.approx(expected, rel=1e-12)


def labelled(correct: int, n: int) -> tuple[Doc, ModelResponse]:
    """One question whose responses are the gold itself, as Lighteval's exact match wants them, or wrong."""
    specific = dict(uid='q', problem='q', question='?', reference='7', split='S', language='en')
    gold, wrong = r'\boxed{7}', r'\boxed{8}'
    doc = Doc(query='?', choices=[gold], gold_index=0, specific=specific, task_name='t')
    return doc, ModelResponse(text=[gold] * correct + [wrong] * (n - correct))


def both(correct: int, n: int, k: int, thresholds: list[float]) -> tuple[list[float], list[float]]:
    """Lighteval's own values and ours."""
    doc, response = labelled(correct, n)
    theirs = GPassAtK(k=k, n=n, thresholds=thresholds).compute(doc, response)
    [value] = judged(metric_of(n=n, k=k, thresholds=thresholds), [doc], [response])
    names = [f'G-Pass@{k}_{threshold}' for threshold in thresholds] + [f'mG-Pass@{k}']
    return list(theirs.values()), [value['metrics'][name] for name in names]


@pytest.mark.parametrize('k', [2, 4, 5, 8])
@pytest.mark.parametrize('correct', [0, 1, 5, 8])
def test_lighteval_own_metric_agrees_where_it_is_right(correct: int, k: int) -> None:
    """On the same labels, with all samples there and thresholds that are exact in binary."""
    theirs, ours = both(correct, 8, k, [0.0, 0.25, 0.5, 0.75, 1.0])
    assert theirs == pytest.approx(ours, abs=1e-12)


def test_lighteval_own_metric_asks_for_one_more_by_binary_rounding() -> None:
    """25 · 0.28 is 7, in binary 7.000000000000001: it asks for 8 of 25."""
    theirs, ours = both(7, 25, 25, [0.28])
    assert (theirs[0], ours[0]) == (0.0, 1.0)


def test_lighteval_own_metric_halves_a_score_of_half_the_samples() -> None:
    """Eight right answers of eight that came count as 8 of 16 there; here they are an error."""
    doc, response = labelled(8, 8)
    assert GPassAtK(k=1, n=16, thresholds=[1.0]).compute(doc, response)['g-pass@1_1.0'] == pytest.approx(0.5)
    with pytest.raises(IncompleteError, match='8 responses to q of t, n = 16'):
        judged(metric_of(n=16, k=1), [doc], [response])


def test_few_shot_examples_are_refused() -> None:
    """They were questions of the list itself with their answers, the same one in the other language too."""
    [task] = Registry('gpassk_demo|3', custom_tasks=lighteval_tasks).load_tasks().values()
    with pytest.raises(InputError, match=r'gpassk_demo: there are no few-shot examples'):
        task.get_docs()


def test_there_is_a_task_for_every_list_and_every_version() -> None:
    """One a version, split and language, one for all of a version, one a benchmark."""
    of_versions = {name for name in BENCHMARKS if name.startswith('livemathbench')}
    assert set(BENCHMARKS) - of_versions < set(TASKS)
    assert {name.replace('-', '_') for name in of_versions} < set(TASKS)
    parts = [name for name in TASKS if name.startswith('livemathbench:v202412_')]
    assert len(parts) == 10
    assert 'livemathbench:v202412_CNMO_en' in parts


def test_questions_come_from_a_local_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`$GPASSK_QUESTIONS` goes before the hub."""
    file = tmp_path / '202412' / 'CNMO_en.jsonl'
    file.parent.mkdir()
    file.write_text(json.dumps({'question': 'What is 3 + 4?', 'answer': '7'}), encoding='utf-8')
    monkeypatch.setenv('GPASSK_QUESTIONS', str(tmp_path))
    [doc] = LightevalTask(TASKS['livemathbench:v202412_CNMO_en']).eval_docs()
    assert doc.query.startswith('What is 3 + 4?')
    digest = hashlib.sha256(b'What is 3 + 4?').hexdigest()
    assert doc.specific['uid'] == f'202412/CNMO_en/{digest[:12]}'
    assert doc.choices == ['7']


def test_a_folder_that_does_not_hold_the_questions_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the name of the variable that says which."""
    monkeypatch.setenv('GPASSK_QUESTIONS', str(tmp_path))
    with pytest.raises(InputError, match=r'aime2024: .*aime2024\.jsonl.*\(path is \$GPASSK_QUESTIONS\)'):
        LightevalTask(TASKS['aime2024']).eval_docs()


def kept_under(folder: Path, question: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name under which Lighteval keeps responses to a task that asks this question."""
    file = folder / '202412' / 'CNMO_en.jsonl'
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({'question': question, 'answer': '7'}), encoding='utf-8')
    monkeypatch.setenv('GPASSK_QUESTIONS', str(folder))
    registry = Registry('livemathbench:v202412_CNMO_en', custom_tasks=lighteval_tasks)
    [task] = registry.load_tasks().values()
    assert [doc.specific['question'] for doc in task.eval_docs()] == [question]
    cache = SampleCache(ModelConfig(model_name='m', cache_dir=str(folder / 'cache')))
    cache._init_registry(registry)
    return str(cache.get_task_id(task.full_name, SamplingMethod.GENERATIVE))


def test_responses_to_other_questions_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lighteval knows a question by its row alone; the task's name for its cache has what is asked."""
    [first, again, other] = [
        kept_under(tmp_path, question, monkeypatch) for question in ('3 + 4?', '3 + 4?', '4 + 3?')
    ]
    assert first == again != other


def test_questions_beyond_the_last_row_number_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lighteval would leave them out without a word."""
    file = tmp_path / '202505' / 'all_en.jsonl'
    file.parent.mkdir()
    row = json.dumps({'question': '?', 'answer': '7'}) + '\n'
    file.write_text(row * (lighteval_tasks.MOST_QUESTIONS + 1), encoding='utf-8')
    monkeypatch.setenv('GPASSK_QUESTIONS', str(tmp_path))
    with pytest.raises(InputError, match='1001 questions; a task has at most 1000'):
        LightevalTask(TASKS['livemathbench:v202505_all_en']).eval_docs()


THEIRS = """
import json
from lighteval.tasks.lighteval_task import LightevalTask
from gpassk_opencompass.lighteval_tasks import TASKS_TABLE

tasks = {config.name: config for config in TASKS_TABLE}
docs = LightevalTask(tasks['contest2026']).eval_docs()
asked = [[doc.query, doc.choices, doc.specific['split'], doc.specific['benchmark']] for doc in docs]
print(json.dumps([sorted(tasks), asked]))
"""


def test_a_benchmark_of_another_package_is_a_task(tmp_path: Path) -> None:
    """Asked in its own words; one that cannot be imported is left out with a warning, and the others stay."""
    folder = install_theirs(tmp_path / 'site')
    install(folder, 'bad', '[gpassk_opencompass.benchmarks]\nbad = bad.sets:X')
    done = python(tmp_path, folder, '-c', THEIRS)
    assert done.returncode == 0, done.stderr
    names, asked = json.loads(done.stdout.splitlines()[-1])
    assert set(names) == {*TASKS, 'contest2026'}
    assert "benchmark 'bad' (bad.sets:X) cannot be imported" in done.stderr
    words = 'Solve the problem of a contest and put the result into \\boxed{}.\n\nWhat is 0 + 1?'
    assert asked[0] == [words, ['1'], 'algebra', 'Contest2026']
    assert len(asked) == 4
