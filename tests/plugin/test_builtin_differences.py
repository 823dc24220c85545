"""What docs/differences.md says of OpenCompass 0.5.4's own LiveMathBench: each defect, shown by its own code.

The tests hold for the version that `constraints/` pins. Where one fails with another version, the built-in
implementation has changed, and the page has to say so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import old_work_dir as old
import pytest
from hosts import import_plugin, write_bench
from judge_server import read_verdict

from gpassk_opencompass.cli import main
from gpassk_opencompass.judges import Verdict
from gpassk_opencompass.metrics import g_pass_at_k, pass_at_k

import_plugin()
bench: Any = import_module('opencompass.datasets.livemathbench.livemathbench')
pytestmark = pytest.mark.filterwarnings('ignore')

YES, NO = '\\boxed{yes}', '\\boxed{no}'
NAME = old.NAME


@pytest.fixture(autouse=True)
def _forgetful():
    """Takes away what evaluators of other tests left in the class."""
    bench.LiveMathBenchOutputHandler.output_dict.clear()
    yield
    bench.LiveMathBenchOutputHandler.output_dict.clear()


class FakeJudge:
    """Stands for the client of a judge server; says what a function makes of the prompt."""

    def __init__(self, say: Callable[[str], str]) -> None:
        self.say = say
        self.asked: list[str] = []

    def generate(self, prompts: Sequence[str], *_: Any) -> list[str]:
        self.asked += prompts
        return [self.say(prompt) for prompt in prompts]


def fair(prompt: str) -> str:
    """Right unless the answer is 0; both prompts end with the answer."""
    return NO if prompt.rstrip().splitlines()[-3].endswith((': 0', '：0')) else YES


def data_set(tmp_path: Path, abbr: str = NAME, n: int = 4, asks: Sequence[old.Ask] = old.ASKS) -> Any:
    """The built-in data set of these questions."""
    splits, languages = (list(dict.fromkeys(column)) for column in list(zip(*asks, strict=True))[:2])
    return bench.LiveMathBenchDataset(
        path=str(write_bench(tmp_path / 'data', old.files(asks))),
        abbr=abbr,
        k=[2, n],
        n=n,
        dataset_splits=splits,
        dataset_languages=languages,
        reader_cfg={'input_columns': ['prompt'], 'output_column': 'answer'},
    ).test


def evaluate(rows: Any, out: Path, judge: FakeJudge | None = None, questions: int = 8) -> dict[str, Any]:
    """What the built-in evaluator makes of four texts to each question."""
    evaluator = bench.LiveMathBenchEvaluator(model_name='', url=[])
    evaluator.judge_models = [judge] if judge else []
    evaluator._out_dir = str(out)
    given = old.responses()[:questions]
    texts = [texts[replica] for replica in range(4) for texts in given]
    scored = {'predictions': texts, 'references': rows['answer'], 'test_set': rows}
    found: dict[str, Any] = evaluator.evaluate([2, 4], 4, rows, **scored)
    return found


def test_defect_1_the_verdict_on_the_first_sample_counts_for_all_and_score_mends_it(tmp_path):
    """8 questions × 4 samples: 8 requests, and every question has c = 0 or c = 4."""
    root = old.write(tmp_path / 'old', old.rows())
    results, judge = root / old.TIME / 'results' / 'm', FakeJudge(fair)
    found = evaluate(data_set(tmp_path), results / NAME, judge)
    first = [int('\\boxed{0}' not in texts[0]) for texts in old.responses()]
    assert len(judge.asked) == 8
    assert [detail['correct'] for detail in found['details']] == [[label] * 4 for label in first]
    assert found['mG-Pass@4'] == 100 * sum(first) / 8
    (results / f'{NAME}.json').write_text(json.dumps(found))
    assert main(['score', str(root), '--judge', 'rule', '-o', str(tmp_path / 'new')]) == 0
    assert old.record_in(tmp_path / 'new')['gpassk']['counts']['c'] == old.COUNTS


def test_defect_3_another_judge_is_not_asked(tmp_path):
    """The replies of the first one, on disk, count for whatever judge comes next."""
    kind, strict = FakeJudge(lambda prompt: YES), FakeJudge(lambda prompt: NO)
    scores = []
    for judge in (kind, strict):
        bench.LiveMathBenchOutputHandler.output_dict.clear()  # as in a new process
        scores.append(evaluate(data_set(tmp_path), tmp_path / 'out', judge)['mG-Pass@4'])
    assert (len(kind.asked), len(strict.asked)) == (8, 0)
    assert scores == [100, 100]


def test_defect_4_verdicts_leak_into_the_next_data_set(tmp_path):
    """One process, two evaluators: the file of the smaller data set holds verdicts of the larger one."""
    evaluate(data_set(tmp_path / 'a', 'LiveMathBench_a'), tmp_path / 'larger', FakeJudge(fair))
    smaller = data_set(tmp_path / 'b', 'LiveMathBench_b', asks=old.ASKS[:2])
    evaluate(smaller, tmp_path / 'smaller', FakeJudge(fair), questions=2)
    assert len(json.loads((tmp_path / 'smaller' / 'tmp_judge.json').read_text())) == 8


@pytest.mark.parametrize('abbr', ['LiveMathBench-v202412', 'LiveMathBench-v202505-Hard'])
def test_defect_5_the_shipped_abbreviations_cannot_be_evaluated(tmp_path, abbr):
    """The language is looked for behind an underscore of the abbreviation; also without an LLM judge."""
    with pytest.raises(IndexError):
        evaluate(data_set(tmp_path, abbr), tmp_path / 'out')


@pytest.mark.parametrize(
    ('abbr', 'chinese'), [('LiveMathBench-v202412_k4-8-16_n48', 8), ('LiveMathBench_en', 0)]
)
def test_defect_5_english_questions_are_put_in_chinese(tmp_path, abbr, chinese):
    """All of them, unless the abbreviation says 'en' in its second part; then all are put in English."""
    head = import_module('opencompass.datasets.livemathbench.prompts').JUDGE_PROMPT_CN[:20]
    judge = FakeJudge(fair)
    evaluate(data_set(tmp_path, abbr), tmp_path / 'out', judge)
    assert sum(prompt.startswith(head) for prompt in judge.asked) == chinese


@pytest.mark.parametrize(
    ('reply', 'verdict'),
    [
        *dict.fromkeys(['\\boxed{Yes}', '\\boxed{\\text{yes}}', '\\boxed{ yes }'], Verdict.CORRECT).items(),
        *dict.fromkeys(['', 'Both say the same.', '\\boxed{7}'], None).items(),
    ],
)
def test_defect_6_a_yes_in_other_letters_and_no_verdict_count_as_no(reply, verdict):
    """The built-in reader wants `\\boxed{yes}` to the letter; here no verdict leaves the sample unjudged."""
    assert bench.extract_judge_label(reply) != 'yes'
    assert read_verdict(reply) is verdict


def test_defects_8_and_14_the_judge_client_is_fixed_in_the_code(monkeypatch):
    """Two requests a second, one key, and a tokenizer that is looked up by the judge's name."""
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(bench.MODELS, 'build', asked.append)
    bench.LiveMathBenchEvaluator(model_name='judge', url=['http://a', 'http://b'])
    assert [(one['query_per_second'], one['key'], one['retry']) for one in asked] == [(2, 'EMPTY', 5)] * 2
    assert 'tokenizer_path' not in asked[0]


def test_defect_9_the_extraction_model_cannot_run(tmp_path, monkeypatch):
    """It unpacks a pair into four names."""
    evaluator = bench.LiveMathBenchEvaluator('', [], True, ['http://a'], 'model')
    evaluator._out_dir = str(tmp_path)
    monkeypatch.setattr(bench, 'MODELS', SimpleNamespace(build=lambda config: None))
    with pytest.raises(ValueError, match='not enough values to unpack'):
        evaluator.extract(['q'], ['p'], ['t'], ['en'])


def test_defect_9_the_shipped_path_finds_no_data():
    """path='' is looked for in a cache folder, if there is one, then in a table of downloads."""
    with pytest.raises((FileNotFoundError, AssertionError), match=r'does not exist|No valid url'):
        bench.LiveMathBenchDataset.load(path='')


def test_defect_10_the_breakdown_repeats_the_total(tmp_path):
    """Two contests in two languages: one part, named by what stands before the underscore."""
    found = evaluate(data_set(tmp_path), tmp_path / 'out')
    assert {name.partition('/')[0] for name in found if '/' in name} == {'LiveMathBench'}
    assert found['LiveMathBench/mG-Pass@4'] == found['mG-Pass@4']


def test_defect_11_arguments_that_mean_nothing_give_numbers(tmp_path):
    """k > n is 0 or 1, mG-Pass@1 is 0, ⌈25·0.28⌉ is 8; k > n in a config is an assertion."""
    own = import_module('opencompass.openicl.icl_evaluator.icl_base_evaluator')
    assert own.compute_pass_at_k(3, 0, 5) == 1.0
    assert own.compute_g_pass_at_k(3, 3, 5, 1.0) == 0.0
    assert own.compute_mg_pass_at_k(4, 4, 1) == 0.0
    assert own.compute_g_pass_at_k(50, 25, 25, 0.28) < g_pass_at_k(50, 25, 25, 0.28)
    with pytest.raises(ValueError, match='k must be a whole number from 1 to n = 3'):
        pass_at_k(3, 0, 5)
    with pytest.raises(AssertionError, match='less than or equal to `n`'):
        data_set(tmp_path, 'x', n=1)


@pytest.mark.parametrize(
    ('last', 'error'), [([], ValueError), ([None], AttributeError), ([['a']], AttributeError)]
)
def test_defect_12_one_bad_prediction_ends_the_evaluation(tmp_path, last, error):
    """A missing row, a row without text, a row with a list."""
    rows = data_set(tmp_path, n=2).select(range(8))
    evaluator = bench.LiveMathBenchEvaluator('', [])
    evaluator._out_dir = str(tmp_path / 'out')
    texts = [texts[0] for texts in old.responses()][:-1] + last
    with pytest.raises(error):
        evaluator.evaluate(1, 1, rows, predictions=texts, references=rows['answer'], test_set=rows)


def test_defect_13_the_sdk_has_no_such_argument():
    """Templates that pass `max_completion_tokens` cannot be loaded."""
    known = signature(import_module('opencompass.models').OpenAISDK).parameters
    assert 'temperature' in known
    assert 'max_completion_tokens' not in known


def test_defect_15_the_generic_judge_takes_the_first_letter():
    """Of any word, and what it returns as details has no `correct`, so that no G-Pass@k is made of it."""
    generic = import_module('opencompass.datasets.generic')
    assert generic._generic_llmjudge_postprocess('After comparing the two: B') == 'A'
    found = generic.generic_llmjudge_postprocess({'0': {'prediction': 'A', 'gold': '1'}}, '')
    assert 'correct' not in found['details']['0']


def test_defect_15_math_verify_skips_rows(monkeypatch):
    """A reference that it cannot parse leaves no entry: every later verdict moves up by one."""
    module = import_module('opencompass.evaluator.math_evaluator')
    outcomes = iter([{'skipped': True}, {'answer_correct': 1.0, 'answer_parsed': '1', 'gold_parsed': '1'}])
    monkeypatch.setattr(module, '_verify_with_timeout', lambda *_, **__: next(outcomes))
    assert len(module.MATHVerifyEvaluator().score(['a', 'b'], ['?', '1'])['details']) == 1
