"""Make dumps of verl 0.9.1: its trainer's own validation and rollout logging, with scripted responses.

    python make_verl_logs.py FOLDER

Made beside transformers 5.23 and torch 2.13.
The rewards are those of verl's own reward functions. Which sample is right is laid down in `SCRIPT`, and
written to `truth.json`: file → ground truth → a symbol a sample, in the order of the file.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from omegaconf import OmegaConf
from verl import DataProto
from verl.trainer.ppo.ray_trainer import RayPPOTrainer
from verl.utils.reward_score import gsm8k, math_dapo

SAMPLES = 4

SCRIPT = {'42': 'right', '7': 'mixed', '18': 'wrong', '2': 'no answer', '5': 'mixed'}
"""What is answered to the question with this answer."""

SYMBOLS = {'right': '1111', 'mixed': '1010', 'wrong': '0000', 'no answer': '0100'}


def question(answer: str) -> str:
    return f'user\nWhich number is one more than {int(answer) - 1}?\nassistant\n'


def response(answer: str, sample: int) -> str:
    """Return a scripted response, with the answer as each of the reward functions looks for it."""
    kind = SCRIPT[answer]
    if kind == 'no answer' and sample != 1:
        return f'I try for the time {sample}, but cannot say.'
    said = answer if SYMBOLS[kind][sample] == '1' else f'9{answer}'
    return f'Attempt {sample}.\n#### {said}\nAnswer: {said}'


class Tokenizer:
    """A token a character; 0 is padding."""

    pad_token_id = eos_token_id = 0

    def decode(self, ids: torch.Tensor, skip_special_tokens: bool) -> str:
        return ''.join(chr(one) for one in ids.tolist() if one)

    def batch_decode(self, rows: torch.Tensor, skip_special_tokens: bool) -> list[str]:
        return [self.decode(ids, skip_special_tokens) for ids in rows]

    @staticmethod
    def encode(texts: list[str], left: bool) -> torch.Tensor:
        longest = max(map(len, texts))
        rows = [text.rjust(longest, '\0') if left else text.ljust(longest, '\0') for text in texts]
        return torch.tensor([[ord(letter) for letter in row] for row in rows])


def rewarded(answers: list[str], texts: list[str], way: str) -> tuple[torch.Tensor, dict[str, np.ndarray]]:
    """Return a score a token, all on the last one, and what else the reward function tells."""
    told: dict[str, list[Any]] = {}
    scores = []
    for answer, text in zip(answers, texts, strict=True):
        if way == 'dapo':
            found = math_dapo.compute_score(text, answer)
            scores.append(found['score'])
            for name, value in found.items():
                told.setdefault(name, []).append(value)
        else:
            scores.append(gsm8k.compute_score(text, answer, format_score=0.1 if way == 'format' else 0.0))
    tokens = torch.zeros(len(texts), max(map(len, texts)))
    tokens[:, -1] = torch.tensor(scores)
    return tokens, {name: np.array(values, dtype=object) for name, values in told.items()}


class Rollouts:
    """Stands for the engines, which answer a batch as laid down."""

    def generate_sequences(self, batch: DataProto) -> DataProto:
        asked = [one['ground_truth'] for one in batch.non_tensor_batch['reward_model']]
        seen: dict[str, int] = {}
        texts = []
        for answer in asked:
            texts.append(response(answer, seen.get(answer, 0) % SAMPLES))
            seen[answer] = seen.get(answer, 0) + 1
        scores, extra = rewarded(asked, texts, 'dapo')
        tensors = {
            'prompts': Tokenizer.encode([question(answer) for answer in asked], left=True),
            'responses': Tokenizer.encode(texts, left=False),
            'rm_scores': scores,
        }
        return DataProto.from_dict(tensors, extra, {'reward_extra_keys': list(extra)})


class Trainer(RayPPOTrainer):
    """verl's trainer with what validation and logging need, and no workers."""

    def __init__(self, folder: Path, step: int) -> None:
        self.global_steps = step
        self.tokenizer = Tokenizer()
        self.use_rm = False
        self.async_rollout_manager = Rollouts()
        rollout = {'val_kwargs': {'n': SAMPLES, 'do_sample': True}, 'agent': {'num_workers': 1}}
        self.config = OmegaConf.create(
            {
                'trainer': {'validation_data_dir': str(folder), 'log_val_generations': 0},
                'actor_rollout_ref': {'rollout': rollout},
            }
        )
        self.val_dataloader = [
            {
                'dummy': torch.zeros(len(SCRIPT), 1),
                'reward_model': np.array([{'ground_truth': answer} for answer in SCRIPT], dtype=object),
                'data_source': np.array(['math_dapo'] * len(SCRIPT), dtype=object),
            }
        ]

    def validate(self) -> None:
        self._init_dump_executor()
        self._validate()
        self._shutdown_dump_executor()

    def log_rollouts(self, folder: Path, way: str) -> list[str]:
        """Have a batch logged whose rows are shuffled, as by balancing; return answer and symbol of each."""
        rows = [(answer, sample) for answer in SCRIPT for sample in range(SAMPLES)]
        random.Random(self.global_steps).shuffle(rows)
        answers = [answer for answer, _ in rows]
        texts = [response(*row) for row in rows]
        scores, extra = rewarded(answers, texts, way)
        tensors = {
            'prompts': Tokenizer.encode([question(answer) for answer in answers], left=True),
            'responses': Tokenizer.encode(texts, left=False),
            'token_level_scores': scores,
        }
        told = np.array([{'ground_truth': answer} for answer in answers], dtype=object)
        ids = np.array([f'request-{place}' for place in range(len(rows))], dtype=object)
        batch = DataProto.from_dict(tensors, {'reward_model': told, 'request_id': ids})
        self._init_dump_executor()
        self._log_rollout_data(batch, extra, {}, str(folder))
        self._shutdown_dump_executor()
        return [f'{answer} {SYMBOLS[SCRIPT[answer]][sample]}' for answer, sample in rows]


def in_order(rows: list[str]) -> dict[str, str]:
    """Return ground truth → symbols, of rows `<ground truth> <symbol>` in their order."""
    found: dict[str, str] = {}
    for row in rows:
        answer, symbol = row.split()
        found[answer] = found.get(answer, '') + symbol
    return found


def turns(folder: Path) -> dict[str, str]:
    """Dump rollouts of an agent, each of two outputs, as the trainer of 0.9 does that has keys of them."""
    from verl.trainer.ppo.v1.trainer_base import PPOTrainer

    keys, rows = [], []
    for answer in SCRIPT:
        for sample in range(SAMPLES):
            last = response(answer, sample)
            rows.append((question(answer), f'Let me look that up, attempt {sample}.', answer, last))
            rows.append((f'{question(answer)}Let me look that up.\nuser\nFound.\n', last, answer, last))
            keys += [f'key-{answer}_{sample}_{output}' for output in range(2)]
    answers = [row[2] for row in rows]
    tokens, extra = rewarded(answers, [row[3] for row in rows], 'dapo')
    told = {name: values.tolist() for name, values in extra.items()}
    columns = [row[0] for row in rows], [row[1] for row in rows], answers, tokens.sum(-1).tolist()
    PPOTrainer._write_generations(*columns, {**told, 'uid': keys}, str(folder), 3)
    return {answer: SYMBOLS[kind] for answer, kind in SCRIPT.items()}


def make(folder: Path) -> None:
    truth: dict[str, dict[str, str]] = {}
    usual = {answer: SYMBOLS[kind] for answer, kind in SCRIPT.items()}
    for step in (0, 5, 10):
        Trainer(folder / 'validation', step).validate()
        truth[f'validation/{step}.jsonl'] = usual
    for step, way in ((1, 'dapo'), (2, 'plain'), (3, 'format')):
        rows = Trainer(folder, step).log_rollouts(folder / way, way)
        truth[f'{way}/{step}.jsonl'] = in_order(rows)
    truth['agent/3.jsonl'] = turns(folder / 'agent')
    (folder / 'truth.json').write_text(json.dumps(truth, indent=1) + '\n')


if __name__ == '__main__':
    make(Path(sys.argv[1]))
