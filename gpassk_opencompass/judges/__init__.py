"""Judges: a verdict for (question, reference answer, candidate answer)."""

from .protocol import Judge, Judgement, Pair, Verdict

__all__ = ['Judge', 'Judgement', 'Pair', 'Verdict']
