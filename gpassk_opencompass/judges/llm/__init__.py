"""An LLM as a judge: `LLMJudge`, which is imported when it is asked for, as it brings an HTTP client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .judge import LLMJudge

__all__ = ['LLMJudge']


def __getattr__(name: str) -> Any:
    if name == 'LLMJudge':
        from .judge import LLMJudge

        return LLMJudge
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
