"""How a question is asked by a host that has no prompt of its own: in the question's language, for a box."""

from __future__ import annotations

from ..judges.prompts import is_chinese

ENGLISH = '{question}\n\nWork this out step by step, and end with your final answer inside \\boxed{{}}.'
CHINESE = '{question}\n\n请一步一步地推导，并在最后把最终答案写在 \\boxed{{}} 里。'


def asked(question: str, language: str) -> str:
    r"""The whole prompt.

    >>> asked('What is $3+4$?', 'en').splitlines()[-1]
    'Work this out step by step, and end with your final answer inside \\boxed{}.'
    """
    return (CHINESE if is_chinese(language) else ENGLISH).format(question=question)
