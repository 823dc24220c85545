"""Everything that touches OpenCompass; importing it registers the classes with OpenCompass's registries."""

from .dataset import LiveMathBenchDataset
from .evaluator import GPassKEvaluator
from .inferencer import SeededGenInferencer
from .models import SeededHuggingFace, SeededTurboMind
from .summarizer import GPassKSummarizer

__all__ = [
    'GPassKEvaluator',
    'GPassKSummarizer',
    'LiveMathBenchDataset',
    'SeededGenInferencer',
    'SeededHuggingFace',
    'SeededTurboMind',
]
