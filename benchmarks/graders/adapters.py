"""Other programs' graders, each called the way its own harness calls it, with what that would give it.

    PYTHON benchmarks/graders/adapters.py lm-eval-minerva < pairs.jsonl

PYTHON is that of the environment that has the grader, so this file needs nothing else. A line of the input
holds `reference` and `answer`. The first line of the output is {"version": …}, or {"missing": …} where the
grader cannot be imported; then comes a line a pair, {"equal": …}, or {"failed": …} with the exception raised.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

Accepts = Callable[[str, str], Any]
"""(reference, answer) → whether the grader takes the answer for right."""


def math_verify() -> Accepts:
    r"""Reference and answer in $…$, as its README has them."""
    from math_verify import parse, verify

    return lambda reference, answer: verify(parse(f'${reference}$'), parse(f'${answer}$'))


def opencompass() -> Accepts:
    r"""LiveMathBench without an LLM: what it extracts from \boxed{answer}, and the bare reference."""
    from opencompass.datasets.math import MATHAgentEvaluator, math_postprocess_v2

    grader = MATHAgentEvaluator(version='v2')
    return lambda reference, answer: grader.is_equiv(math_postprocess_v2(_boxed(answer)), reference)


def lm_eval_hendrycks() -> Accepts:
    r"""Its `hendrycks_math`: an answer in $…$, a solution that ends in \boxed{reference}."""
    task = _lm_eval_task('hendrycks_math')
    return lambda reference, answer: task.process_results(
        {'solution': f'${_boxed(reference)}$'}, [f'${answer}$']
    )['exact_match']


def lm_eval_minerva() -> Accepts:
    r"""`exact_match` of its `minerva_math`: "The final answer is $answer$", and \boxed{reference}."""
    task = _lm_eval_task('minerva_math')

    def accepts(reference: str, answer: str) -> bool:
        reply = f'Final Answer: The final answer is ${answer}$. I hope it is correct.'
        found = task.normalize_final_answer(task.get_unnormalized_answer(reply))
        boxed = task.remove_boxed(task.last_boxed_only_string(_boxed(reference)))
        return bool(task.is_equiv(found, task.normalize_final_answer(boxed)))

    return accepts


def lighteval() -> Accepts:
    r"""The metric of its `math_500`: "ANSWER: $\boxed{…}$" on both sides."""
    from lighteval.metrics.metrics import Metrics
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc

    metric = Metrics.pass_at_k_math(sample_params={'k': 1, 'n': 1}).sample_level_fn

    def accepts(reference: str, answer: str) -> bool:
        gold, reply = (f'ANSWER: ${_boxed(text)}$' for text in (reference, answer))
        doc = Doc(query='', choices=[gold], gold_index=0)
        return bool(metric.compute(doc=doc, model_response=ModelResponse(text=[reply])) == 1)

    return accepts


def evalscope() -> Accepts:
    r"""Its `math_500`: what it extracts from \boxed{answer}, and the bare reference."""
    _without_init('evalscope')
    grader = importlib.import_module('evalscope.metrics.math.parser')
    return lambda reference, answer: (
        grader.compare_answers(grader.extract_answer(_boxed(answer)), reference).matched
    )


def nemo_skills() -> Accepts:
    r"""Its math evaluator and settings: what it extracts from \boxed{answer}, and the bare reference."""
    from nemo_skills.evaluation.math_grader import extract_answer, math_equal

    return lambda reference, answer: math_equal(
        reference, extract_answer(_boxed(answer)), numeric_precision=15, timeout_seconds=10
    )


def verl_prime() -> Accepts:
    r"""`prime_math`, its grader for competition data sets: \boxed{answer} and the bare reference."""
    _verl_without_torch()
    grader = importlib.import_module('verl.utils.reward_score.prime_math')
    return lambda reference, answer: grader.compute_score(_boxed(answer), reference)[0]


def verl_dapo() -> Accepts:
    r"""`math_dapo`, its grader for AIME: "Answer: answer", as its prompt asks for, and the bare reference."""
    _verl_without_torch()
    grader = importlib.import_module('verl.utils.reward_score.math_dapo')
    return lambda reference, answer: grader.compute_score(f'Answer: {answer}', reference)['acc']


def qwen_math() -> Accepts:
    r"""As for AIME24: what it extracts from \boxed{answer}, and the reference, both in its normal form."""
    sys.path[:0] = [str(_CHECKOUT), str(_CHECKOUT / 'latex2sympy')]
    importlib.import_module('gen.PSParser')  # of latex2sympy, before another `gen` is found
    grader, parser = importlib.import_module('grader'), importlib.import_module('parser')

    def accepts(reference: str, answer: str) -> bool:
        _, gold = parser.parse_ground_truth({'answer': reference}, 'aime24')
        return bool(
            grader.math_equal(parser.strip_string(parser.extract_answer(_boxed(answer), 'aime24')), gold)
        )

    return accepts


_CHECKOUT = Path(sys.prefix) / 'Qwen2.5-Math' / 'evaluation'


class Grader(NamedTuple):
    """A grader of somebody else: its package, the environment that has it, how it is made ready."""

    package: str
    environment: str
    load: Callable[[], Accepts]


GRADERS = {
    'math-verify': Grader('math-verify', '.venv', math_verify),
    'opencompass': Grader('opencompass', '.venv', opencompass),
    'lm-eval-hendrycks': Grader('lm_eval', '.venv-graders/lm-eval', lm_eval_hendrycks),
    'lm-eval-minerva': Grader('lm_eval', '.venv-graders/lm-eval', lm_eval_minerva),
    'lighteval': Grader('lighteval', '.venv-lighteval', lighteval),
    'evalscope': Grader('evalscope', '.venv-graders/evalscope', evalscope),
    'nemo-skills': Grader('nemo_skills', '.venv-graders/nemo-skills', nemo_skills),
    'verl-prime': Grader('verl', '.venv-graders/verl', verl_prime),
    'verl-dapo': Grader('verl', '.venv-graders/verl', verl_dapo),
    'qwen2.5-math': Grader('', '.venv-graders/qwen2.5-math', qwen_math),
}


def _boxed(text: str) -> str:
    return f'\\boxed{{{text}}}'


def _lm_eval_task(name: str) -> ModuleType:
    """The functions of a task, loaded from their file as lm-eval does."""
    found = PathFinder.find_spec('lm_eval')
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'lm_eval'")
    file = Path(found.submodule_search_locations[0]) / 'tasks' / name / 'utils.py'
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _without_init(package: str) -> None:
    """Make the modules of a package importable without its `__init__`, which loads what grades nothing."""
    found = PathFinder.find_spec(package.rpartition('.')[2], _search_path(package))
    if found is None or found.submodule_search_locations is None:
        raise ModuleNotFoundError(f'No module named {package!r}')
    module = ModuleType(package)
    module.__path__ = list(found.submodule_search_locations)
    sys.modules[package] = module


def _search_path(package: str) -> list[str] | None:
    parent = package.rpartition('.')[0]
    return list(sys.modules[parent].__path__) if parent else None


def _verl_without_torch() -> None:
    """Its graders are beside a time limit, beside metrics of training: only those need torch."""
    _without_init('verl')
    _without_init('verl.utils')
    metric = ModuleType('verl.utils.metric')
    metric.__dict__['Metric'] = object
    sys.modules['verl.utils.metric'] = metric


def _version(package: str) -> str:
    return version(package) if package else ''


def main() -> None:
    """Answer each line of the input as it comes; what a grader prints goes to the error output."""
    replies = os.fdopen(os.dup(1), 'w', encoding='utf-8')
    os.dup2(2, 1)

    def reply(**said: Any) -> None:
        print(json.dumps(said), file=replies, flush=True)

    grader = GRADERS[sys.argv[1]]
    try:
        accepts, found = grader.load(), _version(grader.package)
    except Exception as error:
        return reply(missing=f'{type(error).__name__}: {error}'.splitlines()[0][:200])
    reply(version=found)
    for line in sys.stdin:
        pair = json.loads(line)
        try:
            reply(equal=bool(accepts(pair['reference'], pair['answer'])))
        except Exception as error:
            reply(failed=type(error).__name__)
    return None


if __name__ == '__main__':
    main()
