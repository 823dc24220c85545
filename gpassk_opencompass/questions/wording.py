"""The language of a question, and how it is asked in that by a host that has no prompt of its own."""

from __future__ import annotations

import re
from functools import cache

from ..errors import MissingExtraError
from ..judges.prompts import is_chinese, protocol_constants

ENGLISH = '{question}\n\nWork this out step by step, and end with your final answer inside \\boxed{{}}.'
CHINESE = '{question}\n\n请一步一步地推导，并在最后把最终答案写在 \\boxed{{}} 里。'

_CHINESE = re.compile('[\u4e00-\u9fff]')


def language_of(text: str) -> str:
    """Return 'cn' for a text with Chinese characters, 'en' for any other.

    >>> language_of('求 $3+4$。')
    'cn'
    """
    return 'cn' if _CHINESE.search(text) else 'en'


@cache
def _prompts() -> tuple[str, str]:
    """Return the prompts of the protocol where OpenCompass is installed, else this package's."""
    try:
        texts = protocol_constants()
    except MissingExtraError:
        return ENGLISH, CHINESE
    return texts['PROMPT_EN'], texts['PROMPT_CN']


def asked(question: str, language: str) -> str:
    r"""Return the whole prompt: the protocol's as the installed OpenCompass has it, else this package's.

    >>> 'What is $3+4$?' in asked('What is $3+4$?', 'en'), '\\boxed{}' in asked('$3+4$', 'cn')
    (True, True)
    """
    return _prompts()[is_chinese(language)].format(question=question)
