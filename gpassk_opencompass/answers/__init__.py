"""Answers as text: the final answer of a response, and the form in which two answers are compared."""

from __future__ import annotations

from .final import FinalAnswer, final_answer, hedges
from .normal import ascii_latex, join_thousands, normal_form

__all__ = ['FinalAnswer', 'ascii_latex', 'final_answer', 'hedges', 'join_thousands', 'normal_form']
