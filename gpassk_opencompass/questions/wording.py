"""The language of a question, and how it is asked in that by a host that has no prompt of its own."""

from __future__ import annotations

import re

from ..judges.prompts import is_chinese

ENGLISH = '{question}\n\nWork this out step by step, and end with your final answer inside \\boxed{{}}.'
CHINESE = '{question}\n\n请一步一步地推导，并在最后把最终答案写在 \\boxed{{}} 里。'

_CHINESE = re.compile('[\u4e00-\u9fff]')


def language_of(text: str) -> str:
    """Return 'cn' for a text with Chinese characters, 'en' for any other.

    >>> language_of('求 $3+4$。')
    'cn'
    """
    return 'cn' if _CHINESE.search(text) else 'en'


def asked(question: str, language: str) -> str:
    r"""Return the whole prompt.

    >>> asked('What is $3+4$?', 'en').splitlines()[-1]
    'Work this out step by step, and end with your final answer inside \\boxed{}.'
    """
    return (CHINESE if is_chinese(language) else ENGLISH).format(question=question)
