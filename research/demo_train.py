"""Train the demo model: `python -m research.demo_train [--output DIR] [--steps N] [--seed S]`.

A Llama of about 0.2 M parameters learns to answer the problems of `demo_questions`, asked the way OpenCompass
asks them and the way the Lighteval tasks do. It stays too small for the hard ones, which is the point:
success probabilities spread from 0 to 1. Equal arguments give equal weights on the same build of torch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random

import torch
from opencompass.datasets.livemathbench.prompts import PROMPT_CN, PROMPT_EN
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from gpassk_opencompass.benchmarks import CHINESE, ENGLISH
from gpassk_opencompass.demo import LANGUAGES, MODEL, SPLITS

from .demo_questions import LADDERS, draw

PROMPTS = {'en': (PROMPT_EN, ENGLISH), 'cn': (PROMPT_CN, CHINESE)}
"""Each host's, in each language."""
LONGEST = 8192
"""Positions of the model: real questions of other benchmarks must fit, though it cannot answer them."""
BATCH, PART = 64, 32
"""Examples of a step, and of a forward pass; part of the recipe, as sums depend on them."""

PAD, END, USER, ASSISTANT = '<|pad|>', '<|end|>', '<|user|>', '<|assistant|>'
# A digit | one or two words | a LaTeX command and its brace | one to four Chinese characters | signs | space.
PIECES = (
    r'\d| ?[A-Za-z]+(?: [A-Za-z]+)?| ?\\[A-Za-z]+\{?|[\u4e00-\u9fff]{1,4}'
    r'| ?[^\sA-Za-z0-9\\\u4e00-\u9fff]+|\\|\s+'
)
# Trimmed, as OpenCompass ends a prompt with one more line break than the protocol's text has.
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] | trim + '<|end|>' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def chats(seed: int) -> Iterator[tuple[str, str]]:
    """Yield prompts and responses without end, each rung, language and prompt equally often."""
    rng = Random(seed)
    rungs = [(split, digits) for split in SPLITS for digits in LADDERS[split]]
    while True:
        problem = draw(rng, *rng.choice(rungs))
        language = rng.choice(LANGUAGES)
        prompt = rng.choice(PROMPTS[language]).format(question=problem.questions[language])
        yield prompt, problem.response(language)


def new_tokenizer(seed: int) -> PreTrainedTokenizerFast:
    """Train a small byte-level BPE that reads numbers digit by digit; every text comes back unchanged."""
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(PIECES), 'isolated')
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=[PAD, END, USER, ASSISTANT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((text for chat in islice(chats(seed), 2000) for text in chat), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[USER, ASSISTANT],
        chat_template=CHAT_TEMPLATE,
        padding_side='left',
        model_max_length=LONGEST,
        # Otherwise it adds token_type_ids, which Llama's generate refuses.
        model_input_names=['input_ids', 'attention_mask'],
        clean_up_tokenization_spaces=False,
    )


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


def encode(
    tokenizer: PreTrainedTokenizerFast, batch: Sequence[tuple[str, str]]
) -> list[tuple[list[int], int]]:
    """Return the tokens of each example, and where its response begins."""
    asked = [
        tokenizer.apply_chat_template(
            [{'role': 'user', 'content': prompt}], tokenize=False, add_generation_prompt=True
        )
        for prompt, _ in batch
    ]
    starts = tokenizer(asked).input_ids
    ends = tokenizer([response + END for _, response in batch]).input_ids
    return [(start + end, len(start)) for start, end in zip(starts, ends, strict=True)]


def backward(model: LlamaForCausalLM, examples: list[tuple[list[int], int]]) -> float:
    """Add the gradient of the mean cross-entropy of the responses' tokens in a batch; return that loss.

    The batch is taken in parts of similar length, since little padding means little work.
    """
    examples.sort(key=lambda example: len(example[0]))
    count = sum(len(tokens) - start for tokens, start in examples)
    total = 0.0
    for first in range(0, len(examples), PART):
        part = examples[first : first + PART]
        width = max(len(tokens) for tokens, _ in part)
        ids = torch.tensor([tokens + [0] * (width - len(tokens)) for tokens, _ in part])
        wanted = torch.zeros_like(ids, dtype=torch.bool)
        for row, (tokens, start) in enumerate(part):
            wanted[row, start : len(tokens)] = True
        # Padding is on the right here, where causal attention never looks at it.
        hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
        logits = model.lm_head(hidden[:, :-1][wanted[:, 1:]])
        loss = torch.nn.functional.cross_entropy(logits, ids[wanted], reduction='sum') / count
        torch.autograd.backward(loss)
        total += loss.item()
    return total


def train(folder: Path, steps: int, seed: int) -> None:
    """Train tokenizer and model, with AdamW and a rate that rises and falls linearly, and write them."""
    torch.set_num_threads(1)  # sums depend on how they are split
    torch.manual_seed(seed)
    tokenizer = new_tokenizer(seed)
    model = new_model(tokenizer)
    print(f'{model.num_parameters():,} parameters, {len(tokenizer)} tokens', flush=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, betas=(0.9, 0.98), weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (0.05 * steps + 1), 1 - step / steps)
    )
    stream, started, smooth = chats(seed + 1), time.monotonic(), 0.0
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss = backward(model, encode(tokenizer, list(islice(stream, BATCH))))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        smooth = loss if step == 1 else 0.95 * smooth + 0.05 * loss
        if step % 50 == 0 or step == steps:
            took = time.monotonic() - started
            print(f'step {step}/{steps}  loss {smooth:.4f}  {took:.0f} s', flush=True)
    # Lighteval draws samples only from a model whose own settings say so.
    ends = {'eos_token_id': tokenizer.eos_token_id, 'pad_token_id': tokenizer.pad_token_id}
    model.generation_config = GenerationConfig(do_sample=True, **ends)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder, save_jinja_files=False)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the demo model."""
    parser = argparse.ArgumentParser(prog='python -m research.demo_train', description=main.__doc__)
    parser.add_argument('--output', type=Path, default=Path(MODEL), help='folder (default: %(default)s)')
    parser.add_argument('--steps', type=int, default=1000, help='default: %(default)s')
    parser.add_argument('--seed', type=int, default=0, help='default: %(default)s')
    options = parser.parse_args(arguments)
    train(options.output, options.steps, options.seed)


if __name__ == '__main__':
    main()
