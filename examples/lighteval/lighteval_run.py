"""Run LiveMathBench in Lighteval from one file: python lighteval_run.py [eval_cfg.yaml]

vLLM generates where it is installed, elsewhere transformers.
`gpassk report outputs/lighteval` reads the results.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from lighteval.logging.evaluation_tracker import EvaluationTracker
from lighteval.models.model_input import GenerationParameters
from lighteval.models.transformers.transformers_model import TransformersModelConfig
from lighteval.models.vllm.vllm_model import VLLMModelConfig
from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters
from lighteval.utils.imports import is_package_available
from pydantic import BaseModel, ConfigDict, Field, model_validator

from gpassk_opencompass.benchmarks import LiveMathBenchRows
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.lighteval import TaskSettings, checked, live_math_bench, read_settings


class Config(BaseModel):
    """The keys of the file."""

    model_config = ConfigDict(extra='forbid', strict=True, protected_namespaces=())

    model_name_or_path: str
    n: int
    k: list[int]
    thresholds: list[float]
    temperature: float = Field(gt=0)
    top_p: float = Field(gt=0, le=1)
    top_k: int = Field(ge=0)
    max_tokens: int
    version: int | str
    dataset_splits: list[str] = Field(min_length=1)
    dataset_languages: list[str] = Field(min_length=1)
    eval_urls: list[str] = []
    eval_model: str = ''
    questions: str = ''

    @model_validator(mode='after')
    def _check(self) -> Config:
        if bool(self.eval_urls) != bool(self.eval_model):
            raise InputError('an LLM that judges needs eval_urls and eval_model, the rules neither')
        _ = self.rows, self.settings
        return self

    @property
    def rows(self) -> LiveMathBenchRows:
        """Return which questions are asked."""
        return LiveMathBenchRows(str(self.version), tuple(self.dataset_splits), tuple(self.dataset_languages))

    @property
    def settings(self) -> TaskSettings:
        """Return how their responses are judged and counted."""
        llm = {'type': 'llm', 'model': self.eval_model, 'urls': self.eval_urls}
        given = {'n': self.n, 'k': self.k, 'thresholds': self.thresholds, 'questions': self.questions}
        given |= {'max_new_tokens': self.max_tokens, 'judge': llm if self.eval_urls else 'rule'}
        settings: TaskSettings = checked(TaskSettings, given, 'n, k, thresholds, max_tokens or the judge:')
        return settings


def run(config: Config) -> None:
    """Generate, judge, and write results and details below outputs/lighteval."""
    tasks = ModuleType('tasks')
    task = live_math_bench(f'livemathbench_v{config.version}', config.rows, config.settings)
    tasks.TASKS_TABLE = [task]  # type: ignore[attr-defined]
    sampling = {name: getattr(config, name) for name in ('temperature', 'top_p', 'top_k')}
    parameters = GenerationParameters(**sampling, max_new_tokens=config.max_tokens, seed=42)
    model = {'model_name': config.model_name_or_path, 'generation_parameters': parameters}
    vllm = is_package_available('vllm')
    pipeline = Pipeline(
        tasks=task.name,
        pipeline_parameters=PipelineParameters(
            launcher_type=ParallelismManager.VLLM if vllm else ParallelismManager.ACCELERATE,
            custom_tasks_directory=tasks,
            remove_reasoning_tags=False,
        ),
        evaluation_tracker=EvaluationTracker(output_dir='outputs/lighteval', save_details=True),
        model_config=VLLMModelConfig(**model) if vllm else TransformersModelConfig(**model, batch_size=4),
    )
    pipeline.evaluate()
    pipeline.save_and_push_results()
    pipeline.show_results()


if __name__ == '__main__':
    try:
        config = read_settings(
            sys.argv[1] if sys.argv[1:] else Path(__file__).with_name('eval_cfg.yaml'), Config
        )
    except InputError as error:
        sys.exit(str(error))
    run(config)
