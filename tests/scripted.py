"""Models whose answers a test decides, for runs of the real `opencompass` command."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencompass.models.base import BaseModel, LMTemplateParser

from gpassk_opencompass.plugin.handover import Sample


class Announcements:
    """Stands where a seeded model keeps its seeds, and remembers which samples come next."""

    def __init__(self) -> None:
        self.samples: Sequence[Sample] = ()

    def announce(self, samples: Sequence[Sample]) -> None:
        self.samples = samples


class ScriptedModel(BaseModel):  # type: ignore[misc]
    """Answers '7' in the replicas of `right`, else '8', each batch after `delay` seconds.

    Args:
        right: replicas that answer right; None answers by the parity of the sample's number.
        numbered: answer 'number <row> of all' instead, a different one for every sample.
        texts: answer these instead, one after the other and again from the first.
        trace: a file that gets a line for each sample asked.
    """

    is_api = False

    def __init__(
        self,
        path: str = '',
        right: list[int] | None = None,
        numbered: bool = False,
        texts: list[str] | None = None,
        delay: float = 0.0,
        trace: str = '',
        **_: Any,
    ) -> None:
        super().__init__(path=path, tokenizer_only=True)
        self.template_parser = LMTemplateParser()
        self.seeds = Announcements()
        self._right, self._numbered, self._texts = right, numbered, texts
        self._delay, self._trace = delay, trace
        self._asked = 0

    def generate(self, inputs: list[str], max_out_len: int, **_: Any) -> list[str]:
        time.sleep(self._delay)
        if self._trace:
            with Path(self._trace).open('a') as lines:
                lines.writelines(f'{os.getpid()} {uid} {replica}\n' for uid, replica in self.seeds.samples)
        first, self._asked = self._asked, self._asked + len(inputs)
        if self._texts:
            return [self._texts[(first + i) % len(self._texts)] for i in range(len(inputs))]
        if self._numbered:
            return [f'So it is \\boxed{{number {first + i} of all}}.' for i in range(len(inputs))]
        asked = zip(inputs, self.seeds.samples, strict=True)
        return [
            f'So it is \\boxed{{{7 if self._is_right(prompt, sample) else 8}}}.' for prompt, sample in asked
        ]

    def get_token_len(self, prompt: str) -> int:
        return len(prompt)

    def _is_right(self, prompt: str, sample: Sample) -> bool:
        if self._right is not None:
            return sample.replica in self._right
        return (question_number(prompt) + sample.replica) % 2 == 0


def question_number(prompt: str) -> int:
    """The number in 'Question 3?' or 'What is 3 + 4?'."""
    return int(re.findall(r'(?:Question|What is) (\d+)', prompt)[-1])
