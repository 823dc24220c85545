"""What docs/differences.md says of OpenCompass 0.5.4's own LiveMathBench: each defect, shown by its own code.

The tests hold for the version that `constraints/` pins. Where one fails with another version, the built-in
implementation has changed, and the page has to say so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import old_work_dir as old
import pytest
from hosts import import_plugin, write_bench
from judge_server import read_verdict

from gpassk_opencompass.cli import main
from gpassk_opencompass.judges import Verdict
from gpassk_opencompass.metrics import g_pass_at_k, pass_at_k

pytestmark = pytest.mark.filterwarnings('ignore')

YES, NO = '\\boxed{yes}', '\\boxed{no}'


@pytest.fixture(scope='module')
def bench() -> Any:
    """The module with the built-in data set and evaluator."""
    import_plugin()
    return import_module('opencompass.datasets.livemathbench.livemathbench')


@pytest.fixture
def forgetful(bench: Any) -> Iterator[None]:
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


def data_set(bench: Any, tmp_path: Path, abbr: str, n: int = 4, asks: Sequence[old.Ask] = old.ASKS) -> Any:
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


def evaluate(
    bench: Any,
    rows: Any,
    out: Path,
    judge: FakeJudge | None,
    given: Sequence[Sequence[str]],
) -> dict[str, Any]:
    """What the built-in evaluator makes of n texts to each question."""
    evaluator = bench.LiveMathBenchEvaluator(model_name='', url=[])
    evaluator.judge_models = [judge] if judge else []
    evaluator._out_dir = str(out)
    n = len(given[0])
    texts = [texts[replica] for replica in range(n) for texts in given]
    found: dict[str, Any] = evaluator.evaluate(
        [2, n], n, rows, predictions=texts, references=rows['answer'], test_set=rows
    )
    return found


@pytest.mark.usefixtures('forgetful')
def test_defect_1_the_verdict_on_the_first_sample_counts_for_all(bench: Any, tmp_path: Path) -> None:
    """8 questions × 4 samples: 8 requests, and every question has c = 0 or c = 4."""
    judge = FakeJudge(fair)
    rows = data_set(bench, tmp_path, 'LiveMathBench_v202412')
    found = evaluate(bench, rows, tmp_path / 'out', judge, old.responses())
    first = [int('\\boxed{0}' not in texts[0]) for texts in old.responses()]
    assert len(judge.asked) == 8
    assert [detail['correct'] for detail in found['details']] == [[label] * 4 for label in first]
    assert found['mG-Pass@4'] == 100 * sum(first) / 8


@pytest.mark.usefixtures('forgetful')
def test_defect_1_is_mended_by_score(bench: Any, tmp_path: Path) -> None:
    """The built-in evaluator's own files, judged anew: the true counts."""
    root = old.write(tmp_path / 'old', old.rows())
    results = root / old.TIME / 'results' / 'm'
    rows = data_set(bench, tmp_path, 'LiveMathBench_v202412')
    folder = results / 'LiveMathBench_v202412'
    found = evaluate(bench, rows, folder, FakeJudge(fair), old.responses())
    (results / 'LiveMathBench_v202412.json').write_text(json.dumps(found))
    assert main(['score', str(root), '--judge', 'rule', '-o', str(tmp_path / 'new')]) == 0
    [file] = (tmp_path / 'new').glob('*.json')
    assert json.loads(file.read_text())['gpassk']['counts']['c'] == old.COUNTS


@pytest.mark.usefixtures('forgetful')
def test_defect_3_another_judge_is_not_asked(bench: Any, tmp_path: Path) -> None:
    """The replies of the first one, on disk, count for whatever judge comes next."""
    rows = data_set(bench, tmp_path, 'LiveMathBench_v202412')
    kind, strict = FakeJudge(lambda prompt: YES), FakeJudge(lambda prompt: NO)
    scores = []
    for judge in (kind, strict):
        bench.LiveMathBenchOutputHandler.output_dict.clear()  # as in a new process
        scores.append(evaluate(bench, rows, tmp_path / 'out', judge, old.responses())['mG-Pass@4'])
    assert (len(kind.asked), len(strict.asked)) == (8, 0)
    assert scores == [100, 100]


@pytest.mark.usefixtures('forgetful')
def test_defect_4_verdicts_leak_into_the_next_data_set(bench: Any, tmp_path: Path) -> None:
    """One process, two evaluators: the file of the smaller data set holds verdicts of the larger one."""
    larger = data_set(bench, tmp_path / 'a', 'LiveMathBench_a')
    evaluate(bench, larger, tmp_path / 'larger', FakeJudge(fair), old.responses())
    smaller = data_set(bench, tmp_path / 'b', 'LiveMathBench_b', asks=old.ASKS[:2])
    evaluate(bench, smaller, tmp_path / 'smaller', FakeJudge(fair), old.responses()[:2])
    assert len(json.loads((tmp_path / 'smaller' / 'tmp_judge.json').read_text())) == 8


@pytest.mark.usefixtures('forgetful')
@pytest.mark.parametrize('abbr', ['LiveMathBench-v202412', 'LiveMathBench-v202505-Hard'])
def test_defect_5_the_shipped_abbreviations_cannot_be_evaluated(
    bench: Any, tmp_path: Path, abbr: str
) -> None:
    """The language is looked for behind an underscore of the abbreviation; also without an LLM judge."""
    rows = data_set(bench, tmp_path, abbr)
    with pytest.raises(IndexError):
        evaluate(bench, rows, tmp_path / 'out', None, old.responses())


@pytest.mark.usefixtures('forgetful')
def test_defect_5_english_questions_are_put_in_chinese(bench: Any, tmp_path: Path) -> None:
    """All of them, unless the abbreviation says 'en' in its second part; then all are put in English."""
    prompts = import_module('opencompass.datasets.livemathbench.prompts')
    head = prompts.JUDGE_PROMPT_CN[:20]
    for abbr, chinese in (('LiveMathBench-v202412_k4-8-16_n48', 8), ('LiveMathBench_en', 0)):
        judge = FakeJudge(fair)
        rows = data_set(bench, tmp_path, abbr)
        evaluate(bench, rows, tmp_path / abbr, judge, old.responses())
        assert sum(prompt.startswith(head) for prompt in judge.asked) == chinese


@pytest.mark.parametrize('reply', ['\\boxed{Yes}', '\\boxed{\\text{yes}}', '\\boxed{ yes }'])
def test_defect_6_a_yes_in_other_letters_counts_as_no(bench: Any, reply: str) -> None:
    """The built-in reader wants `\\boxed{yes}` to the letter."""
    assert bench.extract_judge_label(reply) != 'yes'
    assert read_verdict(reply) is Verdict.CORRECT


@pytest.mark.parametrize('reply', ['', 'Both say the same.', '\\boxed{7}'])
def test_defect_6_no_verdict_counts_as_no(bench: Any, reply: str) -> None:
    """Here it is no verdict: the sample is unjudged."""
    assert bench.extract_judge_label(reply) != 'yes'
    assert read_verdict(reply) is None


def test_defects_8_and_14_the_judge_client_is_fixed_in_the_code(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two requests a second, one key, and a tokenizer that is looked up by the judge's name."""
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(bench.MODELS, 'build', asked.append)
    bench.LiveMathBenchEvaluator(model_name='judge', url=['http://a', 'http://b'])
    assert [(one['query_per_second'], one['key'], one['retry']) for one in asked] == [(2, 'EMPTY', 5)] * 2
    assert 'tokenizer_path' not in asked[0]


def test_defect_9_the_extraction_model_cannot_run(bench: Any, tmp_path: Path) -> None:
    """It unpacks a pair into four names."""
    evaluator = bench.LiveMathBenchEvaluator('', [], True, ['http://a'], 'model')
    evaluator._out_dir = str(tmp_path)
    bench_models, bench.MODELS = (
        bench.MODELS,
        type('Registry', (), {'build': staticmethod(lambda config: None)}),
    )
    try:
        with pytest.raises(ValueError, match='not enough values to unpack'):
            evaluator.extract(['q'], ['p'], ['t'], ['en'])
    finally:
        bench.MODELS = bench_models


def test_defect_9_the_shipped_path_finds_no_data(bench: Any) -> None:
    """path='' is looked for in a cache folder, if there is one, then in a table of downloads."""
    with pytest.raises((FileNotFoundError, AssertionError), match=r'does not exist|No valid url'):
        bench.LiveMathBenchDataset.load(path='')


@pytest.mark.usefixtures('forgetful')
def test_defect_10_the_breakdown_repeats_the_total(bench: Any, tmp_path: Path) -> None:
    """Two contests in two languages: one part, named by what stands before the underscore."""
    rows = data_set(bench, tmp_path, 'LiveMathBench_v202412')
    found = evaluate(bench, rows, tmp_path / 'out', None, old.responses())
    parts = {name.partition('/')[0] for name in found if '/' in name}
    assert parts == {'LiveMathBench'}
    assert found['LiveMathBench/mG-Pass@4'] == found['mG-Pass@4']


def test_defect_11_arguments_that_mean_nothing_give_numbers(bench: Any, tmp_path: Path) -> None:
    """k > n is 0 or 1, mG-Pass@1 is 0, ⌈25·0.28⌉ is 8; k > n in a config is an assertion."""
    own = import_module('opencompass.openicl.icl_evaluator.icl_base_evaluator')
    assert own.compute_pass_at_k(3, 0, 5) == 1.0
    assert own.compute_g_pass_at_k(3, 3, 5, 1.0) == 0.0
    assert own.compute_mg_pass_at_k(4, 4, 1) == 0.0
    assert own.compute_g_pass_at_k(50, 25, 25, 0.28) < g_pass_at_k(50, 25, 25, 0.28)
    with pytest.raises(ValueError, match='k must be from 1 to n = 3'):
        pass_at_k(3, 0, 5)
    with pytest.raises(AssertionError, match='less than or equal to `n`'):
        data_set(bench, tmp_path, 'x', n=1)


@pytest.mark.usefixtures('forgetful')
@pytest.mark.parametrize(
    ('last', 'error'), [([], ValueError), ([None], AttributeError), ([['a']], AttributeError)]
)
def test_defect_12_one_bad_prediction_ends_the_evaluation(
    bench: Any, tmp_path: Path, last: list[Any], error: Any
) -> None:
    """A missing row, a row without text, a row with a list."""
    rows = data_set(bench, tmp_path, 'LiveMathBench_v202412', n=2).select(range(8))
    evaluator = bench.LiveMathBenchEvaluator('', [])
    evaluator._out_dir = str(tmp_path / 'out')
    texts = [texts[0] for texts in old.responses()][:-1] + last
    with pytest.raises(error):
        evaluator.evaluate(1, 1, rows, predictions=texts, references=rows['answer'], test_set=rows)


def test_defect_13_the_sdk_has_no_such_argument() -> None:
    """Templates that pass `max_completion_tokens` cannot be loaded."""
    import_plugin()
    models = import_module('opencompass.models')
    assert 'max_completion_tokens' not in signature(models.OpenAISDK).parameters
    assert 'temperature' in signature(models.OpenAISDK).parameters


def test_defect_15_the_generic_judge_takes_the_first_letter() -> None:
    """Of any word, and what it returns as details has no `correct`, so that no G-Pass@k is made of it."""
    import_plugin()
    generic = import_module('opencompass.datasets.generic')
    assert generic._generic_llmjudge_postprocess('After comparing the two: B') == 'A'
    found = generic.generic_llmjudge_postprocess({'0': {'prediction': 'A', 'gold': '1'}}, '')
    assert 'correct' not in found['details']['0']


def test_defect_15_math_verify_skips_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference that it cannot parse leaves no entry: every later verdict moves up by one."""
    import_plugin()
    module = import_module('opencompass.evaluator.math_evaluator')
    outcomes = iter([{'skipped': True}, {'answer_correct': 1.0, 'answer_parsed': '1', 'gold_parsed': '1'}])
    monkeypatch.setattr(module, '_verify_with_timeout', lambda *_, **__: next(outcomes))
    found = module.MATHVerifyEvaluator().score(['a', 'b'], ['?', '1'])
    assert len(found['details']) == 1
