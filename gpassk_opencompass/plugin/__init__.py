"""Everything that touches OpenCompass; importing it registers the classes with OpenCompass's registries."""

from .dataset import BenchmarkDataset, LiveMathBenchDataset
from .evaluator import GPassKEvaluator
from .inferencer import SeededGenInferencer
from .limits import LimitedDataset
from .models import (
    AnthropicBatchModel,
    OpenAIBatchModel,
    SeededCompletions,
    SeededHuggingFace,
    SeededOpenAISDK,
    SeededServed,
    SeededServedCompletions,
    SeededTurboMind,
    SeededTurboMindAPI,
    SeededVLLM,
)
from .summarizer import GPassKSummarizer

__all__ = [
    'AnthropicBatchModel',
    'BenchmarkDataset',
    'GPassKEvaluator',
    'GPassKSummarizer',
    'LimitedDataset',
    'LiveMathBenchDataset',
    'OpenAIBatchModel',
    'SeededCompletions',
    'SeededGenInferencer',
    'SeededHuggingFace',
    'SeededOpenAISDK',
    'SeededServed',
    'SeededServedCompletions',
    'SeededTurboMind',
    'SeededTurboMindAPI',
    'SeededVLLM',
]
