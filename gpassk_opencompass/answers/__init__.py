"""Answers: the final one of a response, its normal form, its typed value, and when two are equal."""

from __future__ import annotations

from .compare import Answered, compare_answers, is_read, letters_of, options_of
from .equal import RULES
from .extract import FinalAnswer, answer_of, final_answer, hedges
from .normal import ascii_latex, join_thousands, normal_form
from .thoughts import Parted, part

__all__ = [
    'RULES',
    'Answered',
    'FinalAnswer',
    'Parted',
    'answer_of',
    'ascii_latex',
    'compare_answers',
    'final_answer',
    'hedges',
    'is_read',
    'join_thousands',
    'letters_of',
    'normal_form',
    'options_of',
    'part',
]
