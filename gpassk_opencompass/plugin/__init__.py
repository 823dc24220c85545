"""Everything that touches OpenCompass; importing it registers the classes with OpenCompass's registries.

The summarizer, which no registry holds, is loaded when it is asked for: a task of OpenCompass never does.
"""

from typing import TYPE_CHECKING, Any

from .dataset import BenchmarkDataset, LiveMathBenchDataset
from .eval_task import GPassKEvalTask
from .evaluator import GPassKEvaluator
from .inferencer import SeededGenInferencer
from .models import (
    SeededHuggingFace,
    SeededOpenAISDK,
    SeededServed,
    SeededTurboMind,
    SeededTurboMindAPI,
    SeededVLLM,
)

if TYPE_CHECKING:
    from .summarizer import GPassKSummarizer

__all__ = [
    'BenchmarkDataset',
    'GPassKEvalTask',
    'GPassKEvaluator',
    'GPassKSummarizer',
    'LiveMathBenchDataset',
    'SeededGenInferencer',
    'SeededHuggingFace',
    'SeededOpenAISDK',
    'SeededServed',
    'SeededTurboMind',
    'SeededTurboMindAPI',
    'SeededVLLM',
]


def __getattr__(name: str) -> Any:
    if name != 'GPassKSummarizer':
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    from .summarizer import GPassKSummarizer

    return GPassKSummarizer
