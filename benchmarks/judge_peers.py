"""How fast and how right are the LLM judges of others at their best settings, beside ours?

    python -m benchmarks.judge_peers            # 238 × 8 answers, 128 requests in flight
    python -m benchmarks.judge_peers --quick    # 32 × 8

All judge the same answers, a third of which is wrong, and ask the same server: it counts requests, replies
after 200 ms, and says no of an answer with a certain word. OpenCompass's `GenericLLMEvaluator` gets as many
threads as requests may be in flight, all answers in one batch, and a rate that limits nothing;
`CascadeEvaluator` has it judge what a rule does not accept. The rule is OpenCompass's own, and, as the
fastest that the evaluator takes, math-verify as a function. The judge of LiveMathBench takes no settings: it
asks twice a second and URL, and its replicas are judged one after the other, as OpenCompass does for n > 1.
It and the cascade with OpenCompass's rule, which starts a process for each answer, get a part of the answers,
and their times are scaled up. inspect_ai and Lighteval run in their own environments, where these are there.
"""

from __future__ import annotations

import json
import tempfile
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from datasets import Dataset

from gpassk_opencompass import Pair, Verdict
from gpassk_opencompass.judges.cascade import CascadeJudge
from gpassk_opencompass.judges.rule import RuleJudge

from .harness_judges import LONGEST_REPLY, MISSING, harness_judge, is_here
from .judge_throughput import IN_FLIGHT, PORTS, our_judge
from .made import QUESTIONS, answer_of
from .measuring import Cost, cost, progress, unwarned
from .sections import Section, Size, duration, headline, main, times
from .stub_judge import MODEL, WRONG, stub_judge

LATENCY = 0.2
REPLICAS = 8
CASES: Mapping[Size, int] = {'tiny': 2, 'quick': 32, 'full': QUESTIONS}
"""Questions, with 8 answers each."""
SLOW_CASES: Mapping[Size, int] = {'tiny': 1, 'quick': 8, 'full': 24}
"""Questions of the judges that take seconds or half a second for each answer."""
TEMPLATE = (
    'Do the two agree?\nQuestion: {question}\nReference: {reference}\nAnswer: {prediction}\n'
    r'End with \boxed{{yes}} or \boxed{{no}}.'
)


HARNESSES = {'inspect': 'inspect_ai: model_graded_qa', 'lighteval': 'Lighteval: JudgeLM'}
"""Harness → the name of its judge."""


class Row(NamedTuple):
    """One way to judge; `value` of the cost is what it said of each answer."""

    name: str
    asked: int
    """Requests that the server counted."""
    right: float
    """Share of its verdicts."""
    scale: float
    """How often its answers would have to be judged for as many as the others."""
    cost: Cost


def measure(size: Size) -> Section:
    """Every judge."""
    with unwarned():
        import opencompass.evaluator
        import opencompass.models  # noqa: F401 (loaded before the clock runs)
        from opencompass.datasets.livemathbench.livemathbench import LiveMathBenchEvaluator
    import math_verify  # noqa: F401  (the same)

    pairs, few = made_answers(CASES[size]), made_answers(SLOW_CASES[size])
    with stub_judge(LATENCY, PORTS) as urls:
        rows = [
            _row('ours', _ours, urls, pairs),
            _row('ours, an equal answer is not asked', partial(_ours, accept_equal=True), urls, pairs),
            _row('ours, by rule first', _our_cascade, urls, pairs),
            _row('OpenCompass: GenericLLMEvaluator', _generic, urls, pairs),
            _row('OpenCompass: CascadeEvaluator, math-verify', partial(_cascade, _verified), urls, pairs),
            _row('OpenCompass: CascadeEvaluator, its rule', partial(_cascade, None), urls, few, of=pairs),
            _row('OpenCompass: LiveMathBench', partial(_live, LiveMathBenchEvaluator), urls, few, of=pairs),
            *_harness_rows(urls, pairs),
        ]
    return _section(rows, len(pairs))


def made_answers(questions: int) -> list[Pair]:
    """The pairs of all replicas of a question, one after the other; every third is wrong."""
    return [
        Pair(
            f'({replica}) Question {question}: what is $x$?',
            answer_of(question).reference,
            f'{answer_of(question).respelled} {WRONG} {replica}' if _is_wrong(question, replica)
            else answer_of(question).respelled,
        )
        for question in range(questions)
        for replica in range(REPLICAS)
    ]  # fmt: skip


def _is_wrong(question: int, replica: int) -> bool:
    return (question + replica) % 3 == 0


def _row(
    name: str,
    judge: Callable[[list[str], Sequence[Pair]], list[bool]],
    urls: list[str],
    pairs: list[Pair],
    of: Sequence[Pair] | None = None,
) -> Row:
    """A judge's row; `of`: all answers, where it gets a part of them."""
    row = _counted(name, lambda: cost(partial(judge, urls, pairs)), urls, pairs)
    return row._replace(scale=len(of or pairs) / len(pairs))


def _harness_rows(urls: list[str], pairs: list[Pair]) -> list[Row]:
    """One a harness that is here."""
    cases = [pair._asdict() for pair in pairs]
    return [
        _counted(name, partial(harness_judge, harness, urls[0], IN_FLIGHT, TEMPLATE, cases), urls, pairs)
        for harness, name in HARNESSES.items()
        if is_here(harness)
    ]


def _counted(name: str, judged: Callable[[], Cost], urls: list[str], pairs: Sequence[Pair]) -> Row:
    """The row of a judge that gets all of the pairs, with what the server and the truth say of it."""
    progress(f'judges: {name}, {len(pairs)} answers')
    before = _requests(urls)
    found = judged()
    known = [not _is_wrong(*divmod(place, REPLICAS)) for place in range(len(pairs))]
    right = sum(said == truth for said, truth in zip(found.value, known, strict=True)) / len(known)
    return Row(name, _requests(urls) - before, right, 1.0, found)


def _requests(urls: list[str]) -> int:
    with urllib.request.urlopen(f'{urls[0]}/requests') as reply:
        return int(json.load(reply))


def _ours(urls: list[str], pairs: Sequence[Pair], accept_equal: bool = False) -> list[bool]:
    with our_judge(urls, accept_equal=accept_equal) as judge:
        said = judge.judge(pairs)
    return [one.verdict is Verdict.CORRECT for one in said]


def _our_cascade(urls: list[str], pairs: Sequence[Pair]) -> list[bool]:
    with our_judge(urls, accept_equal=False) as second, RuleJudge() as first:
        said = CascadeJudge(first, second).judge(pairs)
    return [one.verdict is Verdict.CORRECT for one in said]


def _settings(urls: list[str]) -> dict[str, Any]:
    """What `GenericLLMEvaluator` gets: nothing holds it back but the threads."""
    from opencompass.models import OpenAISDK
    from opencompass.openicl.icl_prompt_template import PromptTemplate

    _count_tokens_at_blanks(OpenAISDK)
    roles = [{'role': 'HUMAN', 'api_role': 'HUMAN'}, {'role': 'BOT', 'api_role': 'BOT', 'generate': True}]
    return {
        'prompt_template': {
            'type': PromptTemplate,
            'template': {
                'round': [{'role': 'HUMAN', 'prompt': TEMPLATE.replace('{{', '{').replace('}}', '}')}]
            },
        },
        'dataset_cfg': {},
        'judge_cfg': {
            'type': OpenAISDK,
            'path': MODEL,
            'key': 'EMPTY',
            'openai_api_base': [f'{url}/v1' for url in urls],
            'meta_template': {'round': roles},
            'query_per_second': 1_000_000,
            'max_workers': IN_FLIGHT,
            'batch_size': 1_000_000,
            'temperature': 0.0,
            'max_out_len': LONGEST_REPLY,
            'pred_postprocessor': {'type': _as_letter},
        },
    }


def _as_letter(reply: str) -> str:
    """A for correct and B for incorrect, the letters of its own prompts."""
    return 'A' if r'\boxed{yes}' in reply else 'B'


def _count_tokens_at_blanks(model: Any) -> None:
    """The tokenizer would have to be downloaded, and tokens are only counted."""
    model._init_tokenizer = lambda one: one.__dict__.update(
        tokenizer=lambda prompt: SimpleNamespace(input_ids=prompt.split()), tokenizer_type='hf'
    )


def _rows(pairs: Sequence[Pair]) -> Dataset:
    return Dataset.from_list(
        [{'question': pair.question, 'question_type': '', 'subdivision': 'all_en'} for pair in pairs]
    )


def _generic(urls: list[str], pairs: Sequence[Pair]) -> list[bool]:
    from opencompass.evaluator import GenericLLMEvaluator

    evaluator = GenericLLMEvaluator(**_settings(urls))
    with tempfile.TemporaryDirectory() as folder:
        evaluator._out_dir, evaluator._dataset_replica_idx = str(Path(folder, 'judged')), 0
        said = evaluator.score([p.answer for p in pairs], [p.reference for p in pairs], _rows(pairs))
    return [said[str(place)]['prediction'] == 'A' for place in range(len(pairs))]


def _cascade(rule: Callable[..., bool] | None, urls: list[str], pairs: Sequence[Pair]) -> list[bool]:
    """With a function as the rule, or OpenCompass's own; its answers are boxed, others it does not find."""
    from opencompass.evaluator import CascadeEvaluator, GenericLLMEvaluator, MATHVerifyEvaluator

    evaluator = CascadeEvaluator(
        llm_evaluator={'type': GenericLLMEvaluator, **_settings(urls)},
        rule_evaluator={'type': MATHVerifyEvaluator},  # must be there, also where the function is called
        sample_score_fn=rule,
        parallel=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        evaluator._out_dir, evaluator._dataset_replica_idx = str(Path(folder, 'judged')), 0
        said = evaluator.score(
            [rf'$\boxed{{{pair.answer}}}$' for pair in pairs], [p.reference for p in pairs], _rows(pairs)
        )
    return [bool(one['cascade_correct']) for one in said['details']]


def _verified(answer: str, reference: str, _: object) -> bool:
    from math_verify import parse, verify

    limits = {'parsing_timeout': 0}
    return bool(verify(parse(f'${reference}$', **limits), parse(answer, **limits), timeout_seconds=0))


def _live(evaluator: Callable[..., Any], urls: list[str], pairs: Sequence[Pair]) -> list[bool]:
    from opencompass.models import OpenAISDK

    _count_tokens_at_blanks(OpenAISDK)
    judge = evaluator(MODEL, [f'{url}/v1' for url in urls])
    said: dict[int, bool] = {}
    with tempfile.TemporaryDirectory() as folder:
        judge._out_dir = folder
        for replica in range(REPLICAS):
            part = pairs[replica::REPLICAS]
            labels = judge.judge(
                [f'\\boxed{{{pair.answer}}}' for pair in part], [p.reference for p in part], _rows(part)
            )
            said |= {REPLICAS * row + replica: bool(label) for row, label in enumerate(labels)}
    return [said[place] for place in range(len(pairs))]


def _section(rows: list[Row], answers: int) -> Section:
    of = {row.name: row for row in rows}
    slow, ours = of['OpenCompass: CascadeEvaluator, its rule'], of['ours']
    return Section(
        'LLM judges at their best settings',
        f'{answers:,} different answers, {REPLICAS} a question, a third of them wrong; the server replies '
        f'after {LATENCY * 1e3:.0f} ms; {IN_FLIGHT} requests or threads at once, no limit of the rate.',
        [
            'judge',
            'asked',
            'an answer',
            'verdicts right',
            'time',
            'answers/s',
            'this / ours',
            'processor, an answer',
        ],
        [
            [
                row.name,
                f'{row.asked:,}',
                f'{row.asked * row.scale / answers:.2f}',
                f'{100 * row.right:.1f} %',
                duration(row.cost.seconds * row.scale),
                f'{answers / (row.cost.seconds * row.scale):,.0f}',
                times(row.cost.seconds * row.scale / ours.cost.seconds),
                duration(row.cost.cpu * row.scale / answers),
            ]
            for row in rows
        ],
        [
            'Ours asks a few pairs with known verdicts besides. The judge of LiveMathBench keeps what it '
            'heard in a file of the whole evaluation, by row: all replicas of a question get the verdict '
            'of the first.',
            "CascadeEvaluator calls its rule for one answer after the other; OpenCompass's own rule, "
            '`MATHVerifyEvaluator`, forks a process for each and waits for it, before the first question '
            f'is sent: {duration(slow.cost.seconds * slow.scale / answers)} an answer. A function takes its '
            'place only where a rule evaluator is named besides; without one CascadeEvaluator fails. It and '
            'the judge of LiveMathBench judged a part of the answers, scaled up.',
            'model_graded_qa has its own prompt and writes a log with all samples; JudgeLM sends from 10 '
            'threads, which no setting changes. Both know one address of the server.',
            *(MISSING[harness] for harness, name in HARNESSES.items() if name not in of),
        ],
        [
            headline(f'LLM judge, {answers:,} answers', theirs, of[mine].cost, of[name].cost, by_clock=True)
            for theirs, mine, name in (
                ('GenericLLMEvaluator', 'ours', 'OpenCompass: GenericLLMEvaluator'),
                ('CascadeEvaluator', 'ours, by rule first', 'OpenCompass: CascadeEvaluator, math-verify'),
            )
        ],
    )


if __name__ == '__main__':
    main(measure, __doc__)
