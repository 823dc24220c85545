"""Any evaluator of OpenCompass as the judge of GPassKEvaluator."""

from __future__ import annotations

import json
from importlib import import_module
from inspect import signature
from math import comb
from typing import Any, ClassVar

import pytest
from hosts import import_plugin

from gpassk_opencompass import IncompleteError, InputError

plugin = import_plugin()
EVALUATORS = import_module('opencompass.openicl.icl_evaluator')
datasets = import_module('datasets')

EXACT = {'type': 'opencompass.openicl.icl_evaluator.AccwithDetailsEvaluator'}


class Labelled(EVALUATORS.BaseEvaluator):
    """Gives the details that `make(predictions)` says, and remembers what it was told."""

    told: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, make: Any) -> None:
        super().__init__()
        self._make = make

    def score(self, predictions: Any, references: Any, test_set: Any) -> dict[str, Any]:
        told = {'predictions': predictions, 'rows': list(test_set['idx'])}
        folder = getattr(self, '_out_dir', None)
        self.told.append({**told, 'replica': self.dataset_replica_idx, 'folder': folder})
        result: dict[str, Any] = self._make(predictions)
        return result


def correct(texts: Any) -> dict[str, Any]:
    return {'details': [{'correct': True}] * len(texts)}


def rows_of(questions: int, n: int) -> Any:
    rows = [{'subdivision': 'quiz', 'idx': i, 'text': f'question {i}'} for i in range(questions)]
    return datasets.Dataset.from_list(rows * n)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Results lie below the current folder."""
    monkeypatch.chdir(tmp_path)


def evaluate(evaluator: Any, rows: Any, predictions: list[str], n: int, k: Any = 2) -> Any:
    arguments = {'predictions': predictions, 'references': ['A'] * len(rows), 'test_set': rows}
    arguments['origin_prompt'] = [''] * len(rows)
    wanted = {name: arguments[name] for name in signature(evaluator.score).parameters}
    return evaluator.evaluate(k, n, rows, **wanted)


def labelled(make: Any, predictions: list[str], n: int = 2, **settings: Any) -> Any:
    Labelled.told.clear()
    evaluator = plugin.GPassKEvaluator(evaluator={'type': Labelled, 'make': make}, **settings)
    evaluator._out_dir = 'results/model/quiz'
    return evaluate(evaluator, rows_of(len(predictions) // n, n), predictions, n)


def test_g_pass_comes_from_the_details_of_another_evaluator():
    """Rows are replica-major; c and G-Pass are those of a count by hand."""
    answers = 'AAB' + 'ABB' + 'ABA' + 'ABB'  # four replicas of three questions
    evaluator = plugin.GPassKEvaluator(evaluator=EXACT)
    result = evaluate(evaluator, rows_of(3, 4), list(answers), n=4, k=[2, 4])
    assert result['gpassk']['counts']['c'] == [4, 1, 1]
    both = (1 + 2 * comb(1, 2) / comb(4, 2)) / 3
    assert result['G-Pass@2_1.0'] == pytest.approx(100 * both)
    assert result['details']['answers'] == [list('AAAA'), list('ABBB'), list('BBAB')]
    assert result['gpassk']['judge']['name'] == 'AccwithDetailsEvaluator'


def test_replicas_are_told_apart():
    """Each is scored by itself: its rows, its number, a folder of its own for what it keeps."""
    labelled(correct, list('abcdef'), n=3)
    assert [told['predictions'] for told in Labelled.told] == [['a', 'b'], ['c', 'd'], ['e', 'f']]
    assert [told['rows'] for told in Labelled.told] == [[0, 1]] * 3
    assert [told['replica'] for told in Labelled.told] == [0, 1, 2]
    folders = [told['folder'].partition('-')[0] for told in Labelled.told]
    assert folders == [f'results/model/quiz/replica_{i}' for i in range(3)]


def test_what_an_evaluator_keeps_never_meets_another_one_or_other_responses():
    """The folder is the same again for the same run, and another for another config or another response."""

    def folders(predictions):
        labelled(correct, list(predictions))
        return {told['folder'] for told in Labelled.told}

    first = folders('abcd')
    assert folders('abcd') == first
    assert len(folders('abcx') & first) == 1
    labelled(lambda texts: {'details': [{'correct': False}] * len(texts)}, list('abcd'))
    assert not {told['folder'] for told in Labelled.told} & first


def test_a_row_without_verdict_is_unjudged():
    """None is not wrong: it counts towards the tolerance, and above it there is no result."""

    def make(texts):
        return {'details': [{'correct': {'A': True, '?': None}.get(text, False)} for text in texts]}

    result = labelled(make, list('A?BA'), unjudged_tolerance=0.25)
    assert result['gpassk']['health']['unjudged_reasons'] == {'no verdict': 1}
    assert result['gpassk']['bounds']['accuracy'] == [50.0, 75.0]
    with pytest.raises(IncompleteError, match='1 of 4 samples'):
        labelled(make, list('A?BA'))


@pytest.mark.parametrize(
    ('result', 'message'),
    [
        ({'accuracy': 50.0}, 'gives no details.*AccwithDetailsEvaluator'),
        (None, 'its score gave None'),
        ({'details': [{'correct': True}]}, 'an entry for each of the 2 rows'),
        ({'details': {'0': {'correct': True}, 'type': 'GEN'}}, 'an entry for each of the 2 rows'),
        ({'details': [{'pred': 'A'}, {'pred': 'B'}]}, 'carry none of .* only .*pred.* dict_postprocessor'),
        ({'details': [{'correct': 37.5}, {'correct': 1}]}, 'says 37.5; .* True or False'),
        ({'error': 'different length'}, 'Labelled: different length'),
    ],
)
def test_details_that_cannot_be_paired_stop(result, message):
    """No verdict is guessed, none shifted to another row."""
    with pytest.raises(InputError, match=message):
        labelled(lambda texts: result, list('ABAB'))


@pytest.mark.parametrize(
    ('settings', 'message'),
    [
        ({'evaluator': EXACT, 'judge': {'type': 'rule'}}, 'both evaluator and a judge'),
        ({'model_name': 'm', 'url': ['http://127.0.0.1:1'], 'judge': {'type': 'rule'}}, 'both'),
        ({'use_extract_model': True}, 'no model extracts answers here.* let an LLM judge'),
        ({'evaluator': {'type': 'NoSuchEvaluator'}}, 'cannot be built'),
        ({'evaluator': 'AccEvaluator'}, r"evaluator = 'AccEvaluator': expected dict\(type='…'"),
        ({'thresholds': 0.5}, 'thresholds = 0.5: expected a list'),
        (
            {'evaluator': {'type': 'opencompass.datasets.LiveMathBenchEvaluator', 'url': []}},
            r"LiveMathBenchEvaluator: it keeps verdicts by row.*judge=dict\(type='llm'",
        ),
    ],
)
def test_an_evaluator_that_cannot_judge_is_refused_at_once(settings, message):
    """Before a model generates anything for it."""
    with pytest.raises(InputError, match=message):
        plugin.GPassKEvaluator(**settings)


def test_no_key_reaches_the_record():
    """The config of an evaluator may hold keys; two configs that differ in nothing else are one judge."""
    wrapped = import_plugin('.evaluator').WrappedEvaluator
    for name in ('key', 'api_key', 'hf_token'):
        configs = [{'type': Labelled, 'make': {name: secret, 'path': 'm'}} for secret in ('sk-1', 'sk-2')]
        first, second = (wrapped(config).identity for config in configs)
        assert first == second
        assert 'sk-' not in json.dumps(first)
    words = [{'type': Labelled, 'make': {'keywords': [word]}} for word in ('yes', 'no')]
    assert wrapped(words[0]).identity != wrapped(words[1]).identity
