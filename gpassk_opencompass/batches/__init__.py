"""Requests sent as batches, which a provider answers within a day: submitted, collected, noted."""

from .collector import Collector, Patience
from .protocol import Answer, BatchApi, Progress, Request

__all__ = ['Answer', 'BatchApi', 'Collector', 'Patience', 'Progress', 'Request']
