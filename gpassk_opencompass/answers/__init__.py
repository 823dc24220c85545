"""Answers: the final one of a response, its normal form, its typed value, and when two are equal."""

from __future__ import annotations

from .choices import letters_of
from .equal import RULES, Answered, compare_answers, is_read
from .extract import FinalAnswer, answer_of, final_answer, hedges
from .normal import normal_form
from .thoughts import Parted, part

__all__ = [
    'RULES',
    'Answered',
    'FinalAnswer',
    'Parted',
    'answer_of',
    'compare_answers',
    'final_answer',
    'hedges',
    'is_read',
    'letters_of',
    'normal_form',
    'part',
]
