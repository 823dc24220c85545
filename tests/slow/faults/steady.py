"""A model whose answer to a sample is the same in every process, and different for every sample."""

from __future__ import annotations

from scripted import ScriptedModel, question_number
from sweep_run import answer


class SteadyModel(ScriptedModel):
    """Answers as `sweep_run.answer` says."""

    def _answer(self, prompt: str, replica: int) -> str:
        return answer(question_number(prompt), replica)
