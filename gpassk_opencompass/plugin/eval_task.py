"""The evaluation task of OpenCompass, with each response once in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opencompass.registry import ICL_EVALUATORS, MODELS, TASKS
from opencompass.tasks import OpenICLEvalTask, openicl_eval
from opencompass.utils import get_infer_output_path

from .evaluator import GPassKEvaluator
from .predictions import UNREAD, holds_texts, predictions_for

_SCRIPT = Path(__file__).with_name('scripts') / 'gpassk_eval.py'


@TASKS.register_module()
class GPassKEvalTask(OpenICLEvalTask):  # type: ignore[misc]
    """Evaluates as OpenCompass's task does, and has `GPassKEvaluator` read the responses.

    OpenCompass's task reads all predictions of a data set before it evaluates them, which takes several times
    the memory of their file; responses of 30,000 tokens make files of gigabytes. Here the evaluator, which
    reads the files anyhow, takes the responses from them, row by row. The result is the same to the byte.

    Where anything else wants the texts (another evaluator, a postprocessor, `pred_role`), or the predictions
    are no texts, it does what OpenCompass's task does. `gpassk run` adds it to its copy of a config;
    elsewhere a config names it as the `type` of `eval.runner.task`.
    """

    def get_command(self, cfg_path: str, template: str) -> str:
        """Return the command line of a process for this task, in the template of its runner."""
        command: str = super().get_command(cfg_path, template)
        return command.replace(openicl_eval.__file__, str(_SCRIPT))

    def _score(self) -> None:
        if not self._evaluator_reads():
            super()._score()
            return
        rows = self._load_and_preprocess_test_data()
        self._save_results(self._evaluate_predictions(UNREAD, rows, [{}]))

    def _evaluator_reads(self) -> bool:
        """Whether nobody but the evaluator of this package wants the responses, and they are texts."""
        evaluator = self.eval_cfg.get('evaluator', {})
        kind: Any = evaluator.get('type')
        kind = ICL_EVALUATORS.get(kind) if isinstance(kind, str) else kind
        wanted = (
            'pred_postprocessor' in self.model_cfg,
            'pred_postprocessor' in self.eval_cfg,
            evaluator.get('pred_postprocessor') is not None,
            evaluator.get('evaluator') is not None,
            'pred_role' in self.eval_cfg
            and 'meta_template' in self.model_cfg
            and not MODELS.get(self.model_cfg['type']).is_api,
        )
        return kind is GPassKEvaluator and not any(wanted) and holds_texts(predictions_for(self._out()))

    def _out(self) -> Path:
        """Return where the result goes, without its suffix, as the evaluator is told."""
        folder = Path(self.work_dir, 'results')
        return Path(get_infer_output_path(self.model_cfg, self.dataset_cfg, str(folder))).with_suffix('')
