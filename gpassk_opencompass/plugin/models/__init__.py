"""OpenCompass's model classes, drawing each sample from its own seed: one module an engine."""

from .huggingface import SeededHuggingFace
from .lmdeploy_server import SeededTurboMindAPI
from .openai_api import SeededOpenAISDK
from .served_model import SeededServed
from .turbomind import SeededTurboMind
from .vllm import SeededVLLM

__all__ = [
    'SeededHuggingFace',
    'SeededOpenAISDK',
    'SeededServed',
    'SeededServedCompletions',
    'SeededTurboMind',
    'SeededTurboMindAPI',
    'SeededVLLM',
]
