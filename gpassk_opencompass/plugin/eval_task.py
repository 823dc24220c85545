"""The evaluation task of OpenCompass, with each response once in memory; as a script, its process."""

from __future__ import annotations

import sys
from typing import Any

from mmengine.config import Config
from opencompass.registry import ICL_EVALUATORS, TASKS
from opencompass.tasks import OpenICLEvalTask, openicl_eval

from gpassk_opencompass.plugin.evaluator import GPassKEvaluator


@TASKS.register_module()
class GPassKEvalTask(OpenICLEvalTask):  # type: ignore[misc]
    """Evaluates as OpenCompass's task does, and reads no predictions for `GPassKEvaluator`, which does.

    OpenCompass's task reads all predictions of a data set before it evaluates them, which takes several times
    the memory of their file; responses of 30,000 tokens make files of gigabytes. The result is the same to
    the byte. `gpassk run` adds it to its copy of a config; elsewhere a config names it as the `type` of
    `eval.runner.task`.
    """

    def get_command(self, cfg_path: str, template: str) -> str:
        """Return the command line of a process for this task, in the template of its runner."""
        command: str = super().get_command(cfg_path, template)
        return command.replace(openicl_eval.__file__, __file__)

    def _load_predictions(self) -> tuple[Any, Any]:
        evaluator = self.eval_cfg.get('evaluator', {})
        kind: Any = evaluator.get('type')
        kind = ICL_EVALUATORS.get(kind) if isinstance(kind, str) else kind
        if kind is GPassKEvaluator and evaluator.get('evaluator') is None:
            return [{}], None
        found: tuple[Any, Any] = super()._load_predictions()
        return found


if __name__ == '__main__':
    del sys.path[0]  # Python looks beside a script for the modules that anything imports
    GPassKEvalTask(Config.fromfile(openicl_eval.parse_args().config)).run()
