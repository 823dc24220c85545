"""Train the demo model: in `tests`,
`python -m tools.demo_train [--output DIR] [--steps N] [--seed S]`.

A Llama of about 0.2 M parameters learns to answer the problems of `demo_questions`, asked the way OpenCompass
asks them and the way the Lighteval tasks do. It stays too small for the hard ones, which is the point:
success probabilities spread from 0 to 1. Equal arguments give equal weights on the same build of torch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import torch
from opencompass.datasets.livemathbench.prompts import PROMPT_CN, PROMPT_EN
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from gpassk_opencompass.benchmarks import CHINESE, ENGLISH
from gpassk_opencompass.demo import LANGUAGES, MODEL, SPLITS

from .demo_questions import LADDERS, draw
from .demo_tokenizer import END, train_tokenizer

PROMPTS = {'en': (PROMPT_EN, ENGLISH), 'cn': (PROMPT_CN, CHINESE)}
"""Each host's, in each language."""

LONGEST = 8192
"""Positions of the model: real questions of other benchmarks must fit, though it cannot answer them."""

THREADS = 1
"""Threads of torch: sums depend on how they are split, and matrices this small gain little from more."""

_PART = 32
"""Examples in one forward pass; part of the recipe, as sums depend on it."""

_TOKENIZER_EXAMPLES = 2000


class Recipe(NamedTuple):
    """How the shipped model was trained."""

    steps: int = 1000
    batch: int = 64
    seed: int = 0
    rate: float = 4e-3
    warmup: float = 0.05


class Chat(NamedTuple):
    """One training example."""

    prompt: str
    response: str


class Example(NamedTuple):
    """One training example as tokens; the response begins at `start`."""

    tokens: list[int]
    start: int


def chats(seed: int) -> Iterator[Chat]:
    """Yield examples without end: each rung of each ladder, language and prompt equally often."""
    rng = Random(seed)
    rungs = [(split, digits) for split in SPLITS for digits in LADDERS[split]]
    while True:
        problem = draw(rng, *rng.choice(rungs))
        language = rng.choice(LANGUAGES)
        prompt = rng.choice(PROMPTS[language]).format(question=problem.questions[language])
        yield Chat(prompt, problem.response(language))


def new_tokenizer(seed: int) -> PreTrainedTokenizerFast:
    """Train the tokenizer on a sample of the examples."""
    stream = chats(seed)
    return train_tokenizer((text for _ in range(_TOKENIZER_EXAMPLES) for text in next(stream)), LONGEST)


def new_model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Build an untrained model; its weights come from torch's global generator."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=80,
        intermediate_size=160,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        rope_theta=500.0,
        max_position_embeddings=LONGEST,
        tie_word_embeddings=True,
        initializer_range=0.05,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config)


def encode(tokenizer: PreTrainedTokenizerFast, batch: Sequence[Chat]) -> list[Example]:
    """Return the examples as tokens."""
    asked = [
        tokenizer.apply_chat_template(
            [{'role': 'user', 'content': chat.prompt}], tokenize=False, add_generation_prompt=True
        )
        for chat in batch
    ]
    starts = tokenizer(asked).input_ids
    ends = tokenizer([chat.response + END for chat in batch]).input_ids
    return [Example(start + end, len(start)) for start, end in zip(starts, ends, strict=True)]


def summed_loss(model: LlamaForCausalLM, examples: Sequence[Example]) -> torch.Tensor:
    """Return the cross-entropy, summed over the tokens of the responses and their ends, not of prompts."""
    width = max(len(example.tokens) for example in examples)
    ids = torch.tensor([example.tokens + [0] * (width - len(example.tokens)) for example in examples])
    wanted = torch.zeros_like(ids, dtype=torch.bool)
    for row, example in enumerate(examples):
        wanted[row, example.start : len(example.tokens)] = True
    # Padding is on the right here, where causal attention never looks at it.
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
    logits = model.lm_head(hidden[:, :-1][wanted[:, 1:]])
    return torch.nn.functional.cross_entropy(logits, ids[wanted], reduction='sum')


def backward(model: LlamaForCausalLM, examples: Sequence[Example]) -> float:
    """Add the gradient of the mean loss of one batch; return that loss.

    The batch is taken in parts of similar length, since little padding means little work.
    """
    ordered = sorted(examples, key=lambda example: len(example.tokens))
    tokens = sum(len(example.tokens) - example.start for example in examples)
    total = 0.0
    for first in range(0, len(ordered), _PART):
        loss = summed_loss(model, ordered[first : first + _PART]) / tokens
        torch.autograd.backward(loss)
        total += loss.item()
    return total


def fit(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, recipe: Recipe) -> float:
    """Train in place with AdamW and a rate that rises and falls linearly; return the final loss."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / (recipe.warmup * recipe.steps + 1), 1 - step / recipe.steps),
    )
    stream = chats(recipe.seed + 1)
    started = time.monotonic()
    smooth = 0.0
    for step in range(1, recipe.steps + 1):
        optimizer.zero_grad()
        loss = backward(model, encode(tokenizer, [next(stream) for _ in range(recipe.batch)]))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        smooth = loss if step == 1 else 0.95 * smooth + 0.05 * loss
        if step % 50 == 0 or step == recipe.steps:
            print(
                f'step {step}/{recipe.steps}  loss {smooth:.4f}  {time.monotonic() - started:.0f} s',
                flush=True,
            )
    return smooth


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write what `from_pretrained` reads: float32 weights, the configs and the tokenizer."""
    # Lighteval draws samples only from a model whose own settings say so.
    model.generation_config = GenerationConfig(
        do_sample=True, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder, save_jinja_files=False)


def train(folder: Path, recipe: Recipe) -> float:
    """Train tokenizer and model from nothing, write them to `folder`, return the final loss."""
    torch.set_num_threads(THREADS)
    torch.manual_seed(recipe.seed)
    tokenizer = new_tokenizer(recipe.seed)
    model = new_model(tokenizer)
    print(f'{model.num_parameters():,} parameters, {len(tokenizer)} tokens', flush=True)
    loss = fit(model, tokenizer, recipe)
    save(model, tokenizer, folder)
    return loss


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f'{text} is not a positive number')
    return number


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the demo model."""
    parser = argparse.ArgumentParser(prog='python -m tools.demo_train', description=main.__doc__)
    parser.add_argument('--output', type=Path, default=Path(MODEL), help='folder (default: %(default)s)')
    parser.add_argument('--steps', type=_positive, default=Recipe().steps, help='default: %(default)s')
    parser.add_argument('--seed', type=int, default=Recipe().seed, help='default: %(default)s')
    options = parser.parse_args(arguments)
    loss = train(options.output, Recipe(steps=options.steps, seed=options.seed))
    print(f'final loss {loss:.4f}, written to {options.output}')


if __name__ == '__main__':
    main()
