"""Make outputs of NeMo-Skills 0.7.0: generation, math evaluation, judge, asked of a scripted server.

    PYTHONPATH=<a checkout of NVIDIA-NeMo/Skills> python make_nemo_skills_logs.py FOLDER

Made beside openai 3.54 and math-verify 0.9.
Which sample is right is laid down in `SCRIPT`, and written to `truth.json`: question → a symbol a seed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from harness_script import Reply, completion, served, write_rows

# It starts jobs on clusters and is imported by everything else; nothing here starts a job.
sys.modules['nemo_skills.pipeline.utils'] = MagicMock()

from litellm import InternalServerError
from nemo_skills.inference.generate import GenerateSolutionsConfig, GenerationTask
from nemo_skills.inference.llm_math_judge import LlmMathJudgeConfig, LLMMathJudgeTask
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

QUESTIONS = {
    'sums-0': ('What is 17 + 25?', '42'),
    'sums-1': ('What is 3 + 4?', '7'),
    'sums-2': ('What is 9 + 9?', '18'),
    'sums-3': ('What is one half plus one quarter?', '3/4'),
    'sums-4': ('What is 100 + 1?', '101'),
}

SEEDS = 4

SCRIPT = {
    'sums-0': ('right', 'right', 'wrong', 'right'),
    'sums-1': ('thought', 'right', 'thought', 'right'),
    'sums-2': ('wrong', 'cut', 'cut in thought', 'wrong'),
    'sums-3': ('words', 'right', 'words', 'wrong'),
    'sums-4': ('copy', 'copy', 'copy', 'too long'),
}
"""What is answered to each question, a seed each."""

RIGHT = {'right', 'thought', 'words', 'copy'}
"""The answers that are right. 'words' is right in a form that a rule does not see and the judge does."""

UNDECIDED = ('sums-2', 3)
"""The sample of which the judge says neither yes nor no."""


def reply(uid: str, seed: int) -> tuple[str, str | None, str]:
    """Return text, thought and finish reason of a scripted response."""
    kind, answer = SCRIPT[uid][seed], QUESTIONS[uid][1]
    if kind == 'words':
        return 'It is \\boxed{\\text{three quarters}}', None, 'stop'
    if kind == 'thought':
        return f'So \\boxed{{{answer}}}', f'Let me add, attempt {seed}.', 'stop'
    if kind == 'cut':
        return f'Adding digit by digit, attempt {seed}, we get', None, 'length'
    if kind == 'cut in thought':
        return '', f'Hmm, attempt {seed}', 'length'
    if kind == 'copy':
        return f'It is \\boxed{{{answer}}}', None, 'stop'
    said = answer if kind == 'right' else f'{uid[-1]}00{seed}'
    return f'Attempt {seed}: \\boxed{{{said}}}', None, 'stop'


def judged(prompt: str) -> str:
    if 'three quarters' in prompt:
        return 'Reasoning: the same value.\nJudgement: Yes'
    wrong = reply(*UNDECIDED)[0].partition('{')[2].strip('}')
    return 'I cannot say.' if wrong in prompt else 'Reasoning: they differ.\nJudgement: No'


def scripted(
    joined: bool = False, broken: str = '', refused: str = ''
) -> Callable[[str, dict[str, Any]], Reply]:
    """Answer as laid down; the judge is the model named `judge`.

    Args:
        joined: thoughts come inside of the text.
        broken: a question at which the server fails.
        refused: a question that the server refuses.
    """

    def answered(path: str, asked: dict[str, Any]) -> Reply:
        if path.endswith('/tokenize'):
            return 200, {'tokens': list(range(len(asked.get('prompt', ''))))}
        prompt, seed = asked['messages'][-1]['content'], asked.get('seed') or 0
        if asked['model'] == 'judge':
            return said(judged(prompt), 'The judge thinks.', 'stop', 'judge')
        uid = next(uid for uid, (problem, _) in QUESTIONS.items() if problem in prompt)
        if uid == broken:
            return 500, {'error': {'message': 'the scripted server fails'}}
        if uid == refused:
            return 400, {'error': {'message': 'the scripted server refuses this request'}}
        if SCRIPT[uid][seed] == 'too long':
            most = "This model's maximum context length is 64 tokens"
            return 400, {'error': {'message': f'{most}. However, your request has 90 input tokens.'}}
        text, thought, reason = reply(uid, seed)
        if joined:
            before = thought or 'Easy.'
            text, thought = f'{before}</think>{text}' if reason == 'stop' else f'{before} {text}', None
        return said(text, thought, reason, asked['model'])

    def said(text: str, thought: str | None, reason: str, model: str) -> Reply:
        apart = {'reasoning_content': thought} if thought else {}
        used = len(f'{thought or ""} {text}'.split())
        return completion(model, {'content': text, **apart}, reason, used=used)

    return answered


def tokenizer(folder: Path) -> str:
    """Make a tokenizer that knows no word: NeMo-Skills wants one to tell when a prompt is too long."""
    words = Tokenizer(models.WordLevel({'?': 0}, unk_token='?'))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token='?').save_pretrained(folder)
    return str(folder)


def generate(
    questions: Path, output: Path, port: int, seed: int | None, soft: bool = True, **options: object
) -> None:
    """Have NeMo-Skills answer the questions with a seed, and evaluate the answers.

    Args:
        soft: go on where a request fails.
    """
    inference = {'temperature': 0.0 if seed is None else 0.7, 'random_seed': seed or 0}
    config = GenerateSolutionsConfig(
        _init_nested=True,
        input_file=str(questions),
        output_file=str(output),
        prompt_config='generic/math',
        tokenizer=tokenizer(questions.parent / 'tokenizer'),
        inference={**inference, 'tokens_to_generate': 64},
        server={
            'server_type': 'vllm', 'model': 'scripted', 'host': '127.0.0.1', 'port': str(port),
            'enable_soft_fail': soft, 'max_retries': 0,
        },
        **options,
    )  # fmt: skip
    GenerationTask(config).generate()


def judge(source: Path, output: Path, port: int) -> None:
    server = {'server_type': 'vllm', 'model': 'judge', 'host': '127.0.0.1', 'port': str(port)}
    config = LlmMathJudgeConfig(
        _init_nested=True, input_file=str(source), output_file=str(output), server=server
    )
    LLMMathJudgeTask(config).generate()


def name(seed: int | None) -> str:
    return 'output.jsonl' if seed is None else f'output-rs{seed}.jsonl'


def truth() -> dict[str, dict[str, str]]:
    symbols = {
        uid: ''.join('?' if kind == 'too long' else '01'[kind in RIGHT] for kind in kinds)
        for uid, kinds in SCRIPT.items()
    }
    ruled = {
        uid: ''.join(
            '0' if kind == 'words' else symbol for kind, symbol in zip(SCRIPT[uid], row, strict=True)
        )
        for uid, row in symbols.items()
    }
    uid, seed = UNDECIDED
    undecided = symbols[uid][:seed] + '?' + symbols[uid][seed + 1 :]
    unfinished = {uid: row[:3] for uid, row in ruled.items()}
    return {
        'sums': ruled, 'sums-greedy': {uid: row[0] for uid, row in ruled.items()},
        'sums-judged': {**symbols, uid: undecided}, 'sums-thinking': ruled, 'sums-chunked': ruled,
        'sums-unfinished': unfinished,
        'sums-unjudged': {str(line): row for line, row in enumerate(symbols.values(), 1)},
        'sums-refused': {**ruled, 'sums-2': '?' * SEEDS},
    }  # fmt: skip


def scrub(folder: Path) -> None:
    """Take times out of the outputs, and what tells of this machine."""
    for path in folder.rglob('*.jsonl*'):
        text = path.read_text(encoding='utf-8')
        text = re.sub(r'("generation_(start|end)_time": )[0-9.e+]+', r'\g<1>1750000000.0', text)
        path.write_text(
            re.sub(r'("(generation|interleaved_eval_single)_time(_s)?": )[0-9.e-]+', r'\g<1>0.5', text)
        )


def make(folder: Path) -> None:
    """Make a folder like `<output_dir>/eval-results/<benchmark>` for each case."""
    names, rows = ('problem', 'expected_answer', 'subset_for_metrics'), list[dict[str, Any]]()
    for uid, told in QUESTIONS.items():
        rows.append({'id': uid, **dict(zip(names, (*told, uid.partition('-')[0]), strict=True))})
    questions = write_rows(folder / 'questions.jsonl', rows)
    bare = [{name: row[name] for name in names} for row in rows]
    without_ids = write_rows(folder / 'without-ids.jsonl', bare)
    results = folder / 'scripted-7b' / 'eval-results'
    waiting = folder / 'scripted-7b' / 'tmp-eval-results' / 'sums-judged'
    math = {'eval_type': 'math'}
    with served(scripted()) as port:
        for seed in (None, *range(SEEDS)):
            generate(questions, results / 'sums' / name(seed), port, seed, **math)
        for seed in range(SEEDS):
            generate(without_ids, results / 'sums-unjudged' / name(seed), port, seed)
            generate(questions, waiting / name(seed), port, seed)
            judge(waiting / name(seed), results / 'sums-judged' / name(seed), port)
            for chunk in (0, 1):
                output = results / 'sums-chunked' / name(seed)
                generate(questions, output, port, seed, num_chunks=2, chunk_id=chunk, **math)
        for seed in range(SEEDS - 1):
            generate(questions, results / 'sums-unfinished' / name(seed), port, seed, **math)
    with served(scripted(joined=True)) as port:
        for seed in range(SEEDS):
            output = results / 'sums-thinking' / name(seed)
            generate(questions, output, port, seed, parse_reasoning=True, **math)
    with served(scripted(refused='sums-2')) as port:
        for seed in range(SEEDS):
            generate(questions, results / 'sums-refused' / name(seed), port, seed, **math)
    with served(scripted(broken='sums-3')) as port, suppress(InternalServerError):
        output = results / 'sums-unfinished' / name(SEEDS - 1)
        generate(questions, output, port, SEEDS - 1, soft=False, max_concurrent_requests=1, **math)
    scrub(folder)
    (folder / 'truth.json').write_text(json.dumps(truth(), indent=1) + '\n')


if __name__ == '__main__':
    make(Path(sys.argv[1]))
