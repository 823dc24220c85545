"""Answers: the final one of a response, its normal form, its typed value, and when two are equal."""

from __future__ import annotations

from .equal import compare_answers
from .extract import FinalAnswer, answer_of, final_answer, hedges
from .normal import normal_form
from .thoughts import part

__all__ = ['FinalAnswer', 'answer_of', 'compare_answers', 'final_answer', 'hedges', 'normal_form', 'part']
