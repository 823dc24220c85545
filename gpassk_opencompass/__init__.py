"""G-Pass@k: how stably does a language model reason? (arXiv 2412.13147)

Names are loaded when first used, so that importing this package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = '1.0.0'

_HOMES = {
    'BenchmarkDataset': 'plugin.dataset',
    'CascadeJudge': 'judges',
    'FinalAnswer': 'answers',
    'GPassAtK': 'metrics',
    'GPassKError': 'errors',
    'GPassKEvalTask': 'plugin.eval_task',
    'GPassKEvaluator': 'plugin.evaluator',
    'GPassKSummarizer': 'plugin.summarizer',
    'IncompleteError': 'errors',
    'InputError': 'errors',
    'Judge': 'judges',
    'Judgement': 'judges',
    'LLMJudge': 'judges.llm',
    'LiveMathBenchDataset': 'plugin.dataset',
    'Metric': 'metrics',
    'MissingExtraError': 'errors',
    'Pair': 'judges',
    'RuleJudge': 'judges.rule',
    'Samples': 'samples',
    'SeededGenInferencer': 'plugin.sampling',
    'SeededHuggingFace': 'plugin.engines',
    'SeededOpenAISDK': 'plugin.server_models',
    'SeededServed': 'plugin.server_models',
    'SeededTurboMind': 'plugin.engines',
    'SeededTurboMindAPI': 'plugin.server_models',
    'SeededVLLM': 'plugin.engines',
    'TemplateError': 'errors',
    'Verdict': 'judges',
    'VerdictStore': 'judges.verdicts',
    'difference': 'statistics',
    'final_answer': 'answers',
    'g_pass_at_k': 'metrics',
    'majority': 'metrics',
    'mean_interval': 'statistics',
    'mg_pass_at_k': 'metrics',
    'normal_form': 'answers',
    'pass_at_k': 'metrics',
    'read_samples': 'formats',
    'score': 'scoring',
}

__all__ = [*_HOMES, '__version__']

_PLUGIN_PACKAGES = {'opencompass', 'mmengine', 'torch', 'datasets'}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    try:
        return getattr(import_module(f'.{_HOMES[name]}', __name__), name)
    except ModuleNotFoundError as error:
        missing = str(error.name).partition('.')[0]
        if missing not in _PLUGIN_PACKAGES:
            raise
        from .errors import MissingExtraError

        raise MissingExtraError(missing, 'opencompass') from error


def __dir__() -> list[str]:
    return sorted(__all__)
