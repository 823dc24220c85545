"""Everything that touches OpenCompass; importing one of its classes registers it with OpenCompass.

Names are loaded when first used: a task of OpenCompass, and who only reads predictions, imports no more than
it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    'BenchmarkDataset': 'dataset',
    'GPassKEvalTask': 'eval_task',
    'GPassKEvaluator': 'evaluator',
    'GPassKSummarizer': 'summarizer',
    'LiveMathBenchDataset': 'dataset',
    'SeededGenInferencer': 'sampling',
    'SeededHuggingFace': 'engines',
    'SeededOpenAISDK': 'server_models',
    'SeededServed': 'server_models',
    'SeededTurboMind': 'engines',
    'SeededTurboMindAPI': 'server_models',
    'SeededVLLM': 'engines',
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'.{_HOMES[name]}', __name__), name)
