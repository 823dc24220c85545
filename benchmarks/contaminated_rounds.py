"""The demo model trained on its own questions, and on fresh ones: rounds for `gpassk study contamination`.

    python -m benchmarks.contaminated_rounds FOLDER

writes a result of each round, greedy and sampled, below FOLDER. Both trainings begin with the shipped model;
`leaked` sees the 48 questions that are asked, with their solutions, and `clean` others of the same kind.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from gpassk_opencompass.cli import main as gpassk
from gpassk_opencompass.demo import LANGUAGES, MODEL
from gpassk_opencompass.demo.questions import question_set
from gpassk_opencompass.demo.train import PROMPTS, Chat, backward, chats, encode

ROUNDS, STEPS, BATCH, RATE = 5, 6, 64, 1e-4
"""Of each training; the model was made at 40 times the rate."""

N, KS, LONGEST, SEED = 16, ('4', '8', '16'), 40, 42

LABEL = 'LiveMathBench-vdemo'


def asked() -> list[dict[str, Any]]:
    """Return the questions of the demo, as `gpassk score` reads them, with the solution of each."""
    return [
        {
            'uid': f'{split}_{language}/{number}',
            'problem': f'{split}/{number}',
            'group': f'{split}_{language}',
            'question': problem.questions[language],
            'answer': str(problem.answer),
            'prompt': PROMPTS[language][0].format(question=problem.questions[language]),
            'solution': problem.response(language),
        }
        for split, problems in question_set().items()
        for number, problem in enumerate(problems)
        for language in LANGUAGES
    ]


def leaked(rows: Sequence[dict[str, Any]]) -> Iterator[Chat]:
    """Yield the questions that are asked, in another order each time."""
    rng = Random(SEED)
    for _ in cycle([None]):
        yield from (Chat(row['prompt'], row['solution']) for row in rng.sample(list(rows), len(rows)))


def train_on(model: Any, tokenizer: Any, stream: Iterator[Chat]) -> None:
    """Train for a round, in place."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98))
    model.train()
    for _ in range(STEPS):
        optimizer.zero_grad()
        backward(model, encode(tokenizer, list(islice(stream, BATCH))))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval()


def respond(model: Any, tokenizer: Any, prompts: Sequence[str], n: int) -> list[list[str]]:
    """Return n responses to each prompt, at temperature 1; with n = 1 the greedy one."""
    texts = [
        tokenizer.apply_chat_template(
            [{'role': 'user', 'content': prompt}], tokenize=False, add_generation_prompt=True
        )
        for prompt in prompts
    ]
    given = tokenizer(texts, return_tensors='pt', padding=True, padding_side='left')
    sampling = {'do_sample': True, 'num_return_sequences': n} if n > 1 else {'do_sample': False}
    torch.manual_seed(SEED)
    ids = model.generate(**given, max_new_tokens=LONGEST, top_k=0, **sampling)
    said = tokenizer.batch_decode(ids[:, given['input_ids'].shape[1] :], skip_special_tokens=True)
    return [said[start : start + n] for start in range(0, len(said), n)]


def score(model: Any, tokenizer: Any, rows: Sequence[dict[str, Any]], name: str, folder: Path) -> None:
    """Write the results of a model, greedy and sampled."""
    runs = (('t0', 1, ['1'], 'k1-r1'), ('t1-0_rs42', N, KS, 'k4_8_16-r1'))
    for settings, n, ks, sizes in runs:
        responses = respond(model, tokenizer, [row['prompt'] for row in rows], n)
        known = ('uid', 'problem', 'group', 'question', 'answer')
        lines = [
            json.dumps({**{field: row[field] for field in known}, 'responses': said}, ensure_ascii=False)
            for row, said in zip(rows, responses, strict=True)
        ]
        abbr = f'{name}_{settings}_l{LONGEST}'
        file = folder / f'{abbr}.jsonl'
        file.write_text('\n'.join(lines) + '\n', encoding='utf-8')
        names = ('--name', abbr, '--dataset', f'{LABEL}-{sizes}')
        code = gpassk(['score', str(file), '--k', *ks, *names, '-o', str(folder / f'{abbr}.gpassk.json')])
        if code:
            raise SystemExit(code)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, sample and score."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.contaminated_rounds', description=main.__doc__
    )
    parser.add_argument('folder', type=Path)
    folder: Path = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    tokenizer, rows = AutoTokenizer.from_pretrained(MODEL), asked()
    for name, stream in (('clean', chats(SEED)), ('leaked', leaked(rows))):
        model = AutoModelForCausalLM.from_pretrained(MODEL).eval()
        score(model, tokenizer, rows, f'{name}-round0', folder)
        for number in range(1, ROUNDS + 1):
            train_on(model, tokenizer, stream)
            score(model, tokenizer, rows, f'{name}-round{number}', folder)


if __name__ == '__main__':
    main()
