"""Logs of the real lm-evaluation-harness and a scripted model: `make_lm_eval_logs.py OUT`.

It runs in the harness's environment, without a network, through the harness's own command line. Of each
question it is known which of its n responses are right (`RIGHT`), so what is read from the logs can be
counted.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

RIGHT = ('1111', '1011', '0110', '0001', '0000', '1111')
"""A question a row, a response a symbol: '1' is right."""

COPIES = 5
"""The number of the question whose four responses are one text."""

CUT_OFF = (4, 2)
"""Question and response that breaks off before there is an answer."""

_YAML = {
    'sums_filters': """
        generation_kwargs: {until: [], do_sample: false}
        metric_list:
          - metric: exact_match
            aggregation: mean
            higher_is_better: true
            regexes_to_ignore: [',']
        filter_list:
          - name: strict-match
            filter:
              - {function: regex, regex_pattern: 'boxed\\{(\\d+)\\}'}
              - {function: take_first}
          - name: flexible-extract
            filter:
              - {function: regex, regex_pattern: '(\\d+)', group_select: 0}
              - {function: take_first}
    """,
    'sums_all': """
        generation_kwargs: {until: [], do_sample: true, temperature: 0.8, max_gen_toks: 64}
        repeats: 4
        process_results: !function sums_scorer.each
        metric_list:
          - {metric: correct, aggregation: !function sums_scorer.total, higher_is_better: true}
        filter_list:
          - name: all
            filter:
              - {function: take_first_k, k: 4}
    """,
    'sums_choices': """
        output_type: multiple_choice
        doc_to_text: '{{question}}'
        doc_to_choice: '{{choices}}'
        doc_to_target: '{{label}}'
        metric_list:
          - {metric: acc, aggregation: mean, higher_is_better: true}
          - {metric: acc_norm, aggregation: mean, higher_is_better: true}
    """,
}
"""Name of a task → what its file says beside what all say."""

_COMMON = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: questions.jsonl}}}}
test_split: test
"""

_GENERATES = """\
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
"""

_SCORER = """\
def each(doc, results):
    return {'correct': [int('{%s}' % doc['answer'] in text) for text in results[0]]}


def total(items):
    return sum(map(sum, items))
"""


def questions() -> list[dict[str, Any]]:
    rows = []
    for number in range(len(RIGHT)):
        answer = 17 + 3 * number
        rows.append(
            {
                'question': f'What is {number} + {answer - number}?',
                'answer': str(answer),
                'choices': [str(answer + 1), str(answer), str(answer + 2)],
                'label': 1,
            }
        )
    return rows


def response(number: int, replica: int) -> str:
    """Return what the scripted model says to a question, the `replica`-th time that it is asked."""
    if (number, replica) == CUT_OFF:
        return 'Let me add these two numbers. First I write them down, one below the other, and th'
    answer = 17 + 3 * number + (RIGHT[number][replica] == '0') * (1 + replica)
    tries = '' if number == COPIES else f' (try {replica + 1})'
    return f'I add the two numbers{tries}. The answer is \\boxed{{{answer}}}.'


@lru_cache(maxsize=1)
def register() -> Any:
    """Make the model `scripted` known to the harness, and return its class."""
    from lm_eval.api.model import LM
    from lm_eval.api.registry import register_model

    @register_model('scripted')
    class Scripted(LM):
        """Answers `What is A + B?` from the script above."""

        def __init__(self, **_: Any) -> None:
            super().__init__()

        @classmethod
        def create_from_arg_string(cls, arg_string: Any, additional_config: Any = None) -> Scripted:
            return cls()

        @classmethod
        def create_from_arg_obj(cls, arg_dict: Any, additional_config: Any = None) -> Scripted:
            return cls()

        def generate_until(self, requests: Sequence[Any], **_: Any) -> list[str]:
            asked: Counter[int] = Counter()
            texts = []
            for request in requests:
                number = _number(request.args[0])
                texts.append(response(number, asked[id(request)]))
                asked[id(request)] += 1  # a repeated request is one object, several times
            return texts

        def loglikelihood(self, requests: Sequence[Any], **_: Any) -> list[tuple[float, bool]]:
            return [(self._likelihood(*request.args), False) for request in requests]

        def _likelihood(self, context: str, continuation: str) -> float:
            """Prefer the right choice where the first response of that question is right."""
            number = _number(context)
            first = 17 + 3 * number + (RIGHT[number][0] == '0')
            return -1.5 if continuation.strip() == str(first) else -7.25

        def loglikelihood_rolling(self, requests: Sequence[Any], **_: Any) -> list[float]:
            raise NotImplementedError

    return Scripted


def _number(prompt: str) -> int:
    found = re.findall(r'What is (\d+) \+ \d+\?', prompt)
    return int(found[-1])


def write_tasks(folder: Path) -> None:
    """Write the tasks, their questions and their scorer into a folder for `--include_path`."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row) for row in questions()]
    Path('questions.jsonl').write_text('\n'.join(lines) + '\n', encoding='utf-8')
    (folder / 'sums_scorer.py').write_text(_SCORER, encoding='utf-8')
    for name, own in _YAML.items():
        generates = '' if 'multiple_choice' in own else _GENERATES
        version = '' if 'metadata' in own else 'metadata: {version: 1.0}\n'
        text = (
            _COMMON.format(name=name) + generates + version + '\n'.join(line[8:] for line in own.splitlines())
        )
        (folder / f'{name}.yaml').write_text(text, encoding='utf-8')


def run(tasks: Sequence[str], out: Path) -> None:
    """Run the harness's own command, in this process, so that it knows the model."""
    from lm_eval.__main__ import cli_evaluate

    register()
    named = [f'tasks/{name}.yaml' for name in tasks]
    sys.argv = [
        *('lm_eval', '--model', 'scripted', '--model_args', 'pretrained=org/scripted-7b'),
        *('--tasks', ','.join(named), '--output_path', str(out), '--log_samples'),
    ]
    cli_evaluate()


if __name__ == '__main__':
    out = Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    os.chdir(out)
    os.environ |= {'HF_HUB_OFFLINE': '1', 'HF_DATASETS_OFFLINE': '1', 'HF_HOME': str(out / 'hf')}
    write_tasks(Path('tasks'))
    run(list(_YAML), Path('logs'))
