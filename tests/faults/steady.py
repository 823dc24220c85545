"""A model whose answer to a sample is the same in every process, and different for every sample."""

from __future__ import annotations

from typing import Any

from scripted import ScriptedModel, question_number
from sweep_run import answer


class SteadyModel(ScriptedModel):
    """Answers as `sweep_run.answer` says."""

    def generate(self, inputs: list[str], max_out_len: int, **settings: Any) -> list[str]:
        super().generate(inputs, max_out_len, **settings)
        asked = zip(inputs, self.seeds.samples, strict=True)
        return [answer(question_number(prompt), sample.replica) for prompt, sample in asked]
