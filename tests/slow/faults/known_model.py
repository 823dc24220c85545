"""A model whose every response is known beforehand, and a judge and an evaluator beside it.

Whether a response is right depends on all that reaches a real model: who it is, its settings, the text of the
question, the wording around it, and which of the n samples it is.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencompass.models.base import BaseModel, LMTemplateParser
from opencompass.openicl.icl_evaluator import BaseEvaluator

from gpassk_opencompass.health import Generation
from gpassk_opencompass.judges import Judgement, Pair, Verdict
from gpassk_opencompass.plugin.seeds import sample_seed

DIES = 'KNOWN_MODEL_DIES'
"""Environment variable: kill -9 of the process when so many rows are answered."""

QUESTION = re.compile(r'What is (\d+)\+(\d+)[^?]*\?')
WORDINGS = ('reasoning step by step', 'Exercise:')
"""What a prompt may say beside its question."""


def is_right(identity: tuple[Any, ...], question: str, wordings: Sequence[str], replica: int | None) -> bool:
    """Whether a model answers right; without seeds (replica None) each time the same.

    It depends on path, files with their contents, seed, temperature and max_out_len: `identity`.
    """
    told = repr((identity, question, [text in wordings for text in WORDINGS], replica))
    return hashlib.sha256(told.encode()).digest()[0] < 128


class KnownModel(BaseModel):
    """Answers a sum as `\\boxed{…}`: right, or one too many, see `is_right`."""

    is_api = False

    def __init__(self, path: str, random_seed: int, generation_kwargs: dict[str, Any], **_: Any) -> None:
        super().__init__(path=path, tokenizer_only=True)
        self.template_parser = LMTemplateParser()
        self._random_seed = random_seed
        self._replicas: dict[int, int] = {}
        files = sorted((file.name, file.read_text()) for file in Path(path).iterdir())
        self._settings = (path, files, random_seed, generation_kwargs['temperature'])
        self._answered = 0

    def seed_of(self, uid: str, replica: int) -> int:
        seed = sample_seed(self._random_seed, uid, replica)
        self._replicas[seed] = replica
        return seed

    def sample(self, prompts: list[str], seeds: list[int], max_out_len: int, done: Any, **_: Any) -> None:
        replicas = [self._replicas[seed] for seed in seeds]
        for number, text in enumerate(self._answers(prompts, max_out_len, replicas)):
            done(number, text, Generation(), '')

    def generate(self, inputs: list[str], max_out_len: int, **_: Any) -> list[str]:
        return self._answers(inputs, max_out_len, [None] * len(inputs))

    def _answers(self, prompts: list[str], max_out_len: int, replicas: Sequence[int | None]) -> list[str]:
        if self._answered >= int(os.environ.get(DIES, '1000000000')):
            os.kill(os.getpid(), signal.SIGKILL)
        self._answered += len(prompts)
        identity, answers = (*self._settings, max_out_len), []
        for prompt, replica in zip(prompts, replicas, strict=True):
            question = QUESTION.search(prompt)
            assert question is not None, prompt
            wordings = [text for text in WORDINGS if text in prompt]
            wrong = not is_right(identity, question[0], wordings, replica)
            answers.append(rf'\boxed{{{int(question[1]) + int(question[2]) + wrong}}}')
        return answers

    def get_token_len(self, prompt: str) -> int:
        return len(prompt)


def number_in(answer: str) -> int:
    return int(re.sub(r'\D', '', answer))


class OddJudge:
    """Says that odd answers are right, whatever the reference."""

    def identity(self) -> dict[str, Any]:
        return {'name': 'odd'}

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        verdicts = (Verdict.INCORRECT, Verdict.CORRECT)
        return [Judgement(verdicts[number_in(pair.answer) % 2], 'odd') for pair in pairs]

    def statistics(self) -> dict[str, float]:
        return {}

    def close(self) -> None:
        """Nothing to release."""


class OddEvaluator(BaseEvaluator):
    """The same as an evaluator of OpenCompass."""

    def score(self, predictions: list[str], references: list[str]) -> dict[str, Any]:
        return {'details': [{'correct': number_in(text) % 2 == 1} for text in predictions]}


class Holds(BaseEvaluator):
    """An evaluator of somebody else, with a score alone: whether a prediction holds its reference."""

    def score(self, predictions: list[str], references: list[str]) -> dict[str, Any]:
        right = [number_in(text) == int(one) for text, one in zip(predictions, references, strict=True)]
        return {'score': 100 * sum(right) / len(right)}
