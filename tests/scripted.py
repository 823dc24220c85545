"""Models whose answers and pace a test decides, for runs of the real `opencompass` command."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencompass.models.base import BaseModel, LMTemplateParser

from gpassk_opencompass.health import Generation
from gpassk_opencompass.plugin.seeds import sample_seed


class ScriptedModel(BaseModel):
    """Answers '7' in the replicas of `right`, else '8', each batch after `delay` seconds.

    Args:
        right: replicas that answer right; None answers by the parity of the sample's number.
        numbered: answer 'number <row> of all' instead, a different one for every sample.
        gate: a file; behind the first batch it waits as long as that exists.
        trace: a file that gets a line for each sample asked.
    """

    is_api = False

    def __init__(
        self,
        path: str = '',
        right: list[int] | None = None,
        numbered: bool = False,
        delay: float = 0.0,
        gate: str = '',
        trace: str = '',
        **_: Any,
    ) -> None:
        super().__init__(path=path, tokenizer_only=True)
        self.template_parser = LMTemplateParser()
        self._samples: dict[int, tuple[str, int]] = {}
        self._right, self._numbered = right, numbered
        self._delay, self._gate, self._trace = delay, gate, trace
        self._asked = 0

    def seed_of(self, uid: str, replica: int) -> int:
        seed = sample_seed(0, uid, replica)
        self._samples[seed] = uid, replica
        return seed

    def sample(
        self, prompts: Sequence[str], seeds: Sequence[int], max_out_len: int, done: Any, **_: Any
    ) -> None:
        time.sleep(self._delay)
        while self._gate and self._asked and Path(self._gate).exists():
            time.sleep(0.05)
        samples = [self._samples[seed] for seed in seeds]
        if self._trace:
            with Path(self._trace).open('a') as lines:
                lines.writelines(f'{os.getpid()} {uid} {replica}\n' for uid, replica in samples)
        for number, (prompt, (_, replica)) in enumerate(zip(prompts, samples, strict=True)):
            done(number, self._answer(prompt, replica), Generation(), '')
            self._asked += 1

    def _answer(self, prompt: str, replica: int) -> str:
        if self._numbered:
            return f'So it is \\boxed{{number {self._asked} of all}}.'
        right = (
            (question_number(prompt) + replica) % 2 == 0 if self._right is None else replica in self._right
        )
        return f'So it is \\boxed{{{7 if right else 8}}}.'

    def get_token_len(self, prompt: str) -> int:
        return len(prompt)


def question_number(prompt: str) -> int:
    """The number in 'Question 3?' or 'What is 3 + 4?'."""
    return int(re.findall(r'(?:Question|What is) (\d+)', prompt)[-1])
