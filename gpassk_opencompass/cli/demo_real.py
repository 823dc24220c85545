"""`gpassk demo --real`: a model that people know, sampled, judged by rule, and judged by itself."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from ..demo import LANGUAGES, QUESTIONS, WORD_SPLITS, WORDS, weights
from ..demo.serving import addresses, served
from ..sweep.expansion import expand_template
from .demo import refuse_others, result_files, sampled, step, write_report, write_table
from .files import write_file

if TYPE_CHECKING:
    from ..agreement.comparisons import LabelledPair

TEMPLATE, MODELS, LOG, JUDGED = 'template.py', 'model', 'server.log', 'judge'
"""What stands in the folder besides what the small demo has."""

TEMPERATURES = (0.0, 0.2, 1.0)
N, KS = 16, (4, 8, 16)
LONGEST = 64
"""Tokens of a response."""

JOBS = 2
"""Runs at a time: while one starts or ends, the server is busy with the other."""

PAIRS = 40
"""Answers that the rule accepted, and as many that it did not, that the model is asked to judge."""

HELD = {
    'canaries': False,
    'extra_body': {'structured_outputs': {'choice': ['\\boxed{yes}', '\\boxed{no}']}},
}
"""What makes a judge of a model that cannot: nobody tries it first, and it can say nothing but a verdict."""

_TEMPLATE = '''\
"""{name}, sampled through the servers of the demo; `gpassk demo --real` writes this file."""

engine = 'openai'
llm_infos = [dict(path={name!r}, batch_size=480)]
openai_api_base, key = {urls}, 'EMPTY'
tokenizer_path = {model!r}
max_workers, retry, timeout = 80, 2, 3600

# The greedy run and two temperatures.
temperatures = {temperatures}
max_out_lens = [{longest}]
random_seeds = [42]

k_lists = [{ks}]
n = {n}

dataset_path, version = {questions!r}, {version!r}
dataset_splits, dataset_languages = {splits}, {languages}
cot = False  # asked to reason step by step, the model reaches the limit more often
'''


class Request(NamedTuple):
    """What is asked for."""

    folder: Path
    port: int
    """Of the first server, on this machine."""


class Clock:
    """Says how long each step took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Time a step."""
        started = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - started

    def __str__(self) -> str:
        parts = ', '.join(f'{name} {seconds:.0f} s' for name, seconds in self.seconds.items())
        return f'{parts}; together {sum(self.seconds.values()):.0f} s'


def run_real(request: Request) -> int:
    """Convert the model, serve it, sample, judge by rule and by itself, report.

    Returns:
        The exit code of the first step that fails, else 0.

    Raises:
        InputError: the weights are not installed, the folder has files of others, or the port is taken.
    """
    folder = request.folder
    model = (folder / MODELS / weights.NAME).absolute()
    text = template_text(model, addresses(request.port))
    refuse_others(folder, _configs(text), (TEMPLATE, MODELS, LOG, JUDGED))
    clock = Clock()
    with clock.timed('weights'):
        if not model.is_dir():
            print(f'writing the model to {model} …', flush=True)
            weights.write_model(weights.find_weights(), model)
    template = folder / TEMPLATE
    write_file(template, text)
    # The tokenizer comes from a folder, the model from this machine: nobody is to look on the hub.
    os.environ.setdefault('HF_HUB_OFFLINE', '1')
    os.environ['NO_PROXY'] = ','.join(filter(None, [os.environ.get('NO_PROXY'), '127.0.0.1']))
    with ExitStack() as running:
        with clock.timed('server'):
            urls = running.enter_context(served(model, request.port, folder / LOG))
        with clock.timed('sampling and judging by rule'):
            code = sampled(folder, template, '--jobs', str(JOBS))
        if code == 0:
            write_table(folder, clock.seconds['sampling and judging by rule'])
            with clock.timed('judging by itself'):
                judge_by_itself(folder, model.name, urls)
    if code == 0:
        with clock.timed('report'):
            code = write_report(folder)
        print(f'\n{clock}')
    return code


def template_text(model: Path, urls: Sequence[str]) -> str:
    """Return the template of the demo for a model and its servers."""
    return _TEMPLATE.format(
        name=model.name,
        model=str(model),
        urls=[f'{url}/v1' for url in urls],
        temperatures=list(TEMPERATURES),
        longest=LONGEST,
        ks=list(KS),
        n=N,
        questions=QUESTIONS,
        version=WORDS,
        splits=list(WORD_SPLITS),
        languages=list(LANGUAGES),
    )


def _configs(template: str) -> list[str]:
    with TemporaryDirectory() as folder:
        file = Path(folder, TEMPLATE)
        file.write_text(template, encoding='utf-8')
        return list(expand_template(file).texts)


def judge_by_itself(folder: Path, name: str, urls: Sequence[str]) -> None:
    """Ask the model whether answers of its hottest run are right, and show what that is worth.

    First as a run would ask it: then a judge that gets easy pairs wrong is refused. Then without that guard,
    and held to a verdict.
    """
    result = list(result_files(folder))[-1]
    judged = folder / JUDGED
    judged.mkdir(exist_ok=True)
    pairs, table = judged / 'pairs.jsonl', judged / 'agreement.json'
    write_file(pairs, ''.join(json.dumps(row, ensure_ascii=False) + '\n' for row in sample_of(result, PAIRS)))
    judge = {
        'type': 'llm',
        'model': name,
        'urls': [*urls],
        'max_tokens': 128,
        'accept_equal': False,
        'store': str(judged / 'verdicts'),
    }
    print(
        f'\n{name} as the judge of {pairs}: answers of {result.parent.name}, with the verdicts of the rule.'
    )
    sys.stdout.flush()
    ask = ('judge-agreement', str(pairs), '--judge')
    if step(*ask, json.dumps(judge)) == 0:
        print(
            '\nIt passed the canaries: pairs with known verdicts that each judge is asked first.', flush=True
        )
    else:
        print(
            '\nRefused, as it should be. What would come out, held to a yes or no and believed:', flush=True
        )
    wanted = ('-o', str(table), '--disagreements', str(judged / 'disagreements.jsonl'))
    if step(*ask, json.dumps(judge | HELD), *wanted):
        print(f'no verdict of {name} could be compared with the rule', flush=True)
        return
    step('verdicts', 'list', str(judged / 'verdicts'), '--limit', '6')


def sample_of(result: Path, most: int) -> list[dict[str, Any]]:
    """Return different answers of a run with the verdicts of its judge, in the layout of judge-agreement.

    Args:
        result: its result file.
        most: of those judged correct, and of those judged incorrect; which, only their content decides.
    """
    from ..agreement.comparisons import read_labelled

    different: dict[tuple[str, str], LabelledPair] = {}
    for one in read_labelled(result):
        if one.pair.answer:
            different.setdefault((one.pair.question, one.pair.answer), one)
    return [
        {
            'question': one.pair.question,
            'reference': one.pair.reference,
            'answer': one.pair.answer,
            'label': one.label,
            'language': one.pair.language,
            'source': WORDS,
        }
        for label in (True, False)
        for one in _some([one for one in different.values() if one.label is label], most)
    ]


def _some(pairs: Sequence[LabelledPair], most: int) -> list[LabelledPair]:
    def drawn(one: LabelledPair) -> str:
        return hashlib.sha256(f'{one.pair.question}\n{one.pair.answer}'.encode()).hexdigest()

    return sorted(pairs, key=drawn)[:most]
