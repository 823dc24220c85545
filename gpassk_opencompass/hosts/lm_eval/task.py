"""The class of our tasks in lm-evaluation-harness: n responses a question, all of them judged, and G-Pass@k.

The file of a task names it: `class: !function gpassk_opencompass.hosts.lm_eval.task.GPassK`. Any task that
generates text may have it. n, k and the judge stand in the task's `metadata`, to which `--metadata` adds, or
in the environment: see `lighteval_settings.VARIABLES`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from datasets import Dataset
from lm_eval.api.task import ConfigurableTask

from ...errors import InputError
from ...judges.build import build_judge
from ...lighteval_settings import VARIABLES, Settings, read_settings
from ...questions.benchmarks import QUESTION_FIELDS
from ...questions.wording import language_of
from ...version import __version__
from .rows import task_rows
from .verdicts import AGGREGATIONS, Answers, Asked, judge_all, values_of

FILTER = 'gpassk'
"""What the harness calls the filter that leaves final answers."""

_LOWER_IS_BETTER = 'unjudged'


class GPassK(ConfigurableTask):  # type: ignore[misc]
    """A task whose n responses a question are all judged.

    Args:
        config: as the task's file has it. A task without a data set of its own gets its questions from its
            metadata, see `task_rows`; one with a data set is asked and answered as its file says.

    Raises:
        InputError: the settings cannot be met, or the judge cannot be built.
    """

    def __init__(
        self,
        data_dir: str | None = None,
        cache_dir: str | None = None,
        download_mode: Any = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        given = dict(config or {})
        given.pop('class', None)
        metadata = dict(given.get('metadata') or {})
        self.settings = _settings(metadata, given.get('repeats'))
        build_judge(dict(self.settings.judge)).close()  # what it lacks is found before anything is generated
        given |= {
            'repeats': self.settings.n,
            'metadata': metadata,
            'metric_list': self._metric_list(),
            'process_results': FILTER,
            'filter_list': None,
        }
        super().__init__(data_dir, cache_dir, download_mode, given)

    def _metric_list(self) -> list[dict[str, Any]]:
        n = self.settings.n
        names = values_of(Answers([''] * n, '0' * n, n, True), self.settings.measures)
        return [
            {
                'metric': name,
                'aggregation': AGGREGATIONS.get(name, 'mean'),
                'higher_is_better': name != _LOWER_IS_BETTER,
            }
            for name in names
        ]

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Read the questions; called by the harness."""
        if self.config.dataset_path is not None or self.config.custom_dataset is not None:
            super().download(dataset_kwargs, **kwargs)
            return
        rows = task_rows(self.config.metadata)
        self.dataset = {self.config.test_split: Dataset.from_list(rows)}

    def build_all_requests(self, **options: Any) -> None:
        """Make the requests; called by the harness.

        Raises:
            InputError: the n responses would be one text, or the harness kept requests for another n.
        """
        n, told = self.settings.n, self.config.generation_kwargs or {}
        if n > 1 and (told.get('do_sample') is False or told.get('temperature') == 0):
            raise InputError(
                f'{self.task_name}: n = {n} responses without sampling are one text; give --gen_kwargs '
                'do_sample=true,temperature=0.8 (or n = 1)'
            )
        super().build_all_requests(**options)
        if any(instance.repeats != n for instance in self.instances):
            raise InputError(
                f'{self.task_name}: the harness kept requests for another n than {n}; run it once with '
                '--cache_requests refresh'
            )

    def apply_filters(self) -> None:
        """Judge all responses, and leave their final answers; called by the harness once they are there."""
        if 'bypass' in self._metric_fn_list:  # of --predict_only
            super().apply_filters()
            return
        judged = judge_all([self._asked(instance) for instance in self.instances], self.settings)
        for instance, answers in zip(self.instances, judged.answers, strict=True):
            instance.filtered_resps = {FILTER: answers}
        self.config.metadata['gpassk'] = {'version': __version__, 'judge': judged.judge}

    def process_results(self, doc: Mapping[str, Any], results: Any) -> dict[str, Any]:
        """Return the metrics of a question; called by the harness."""
        [answers] = results
        if isinstance(answers, Answers):
            return values_of(answers, self.settings.measures)
        return super().process_results(doc, results)  # type: ignore[no-any-return]

    def _asked(self, instance: Any) -> Asked:
        doc = instance.doc
        question = next((doc[name] for name in QUESTION_FIELDS if isinstance(doc.get(name), str)), None)
        question = str(instance.args[0]) if question is None else question
        return Asked(
            str(doc.get('uid') or f'{self.task_name}/{instance.doc_id}'),
            question,
            self._reference(doc, instance.doc_id),
            str(doc.get('language') or language_of(question)),
            [text or '' for text in instance.resps[: self.settings.n]],  # more are padding of other processes
        )

    def _reference(self, doc: Mapping[str, Any], number: int) -> str:
        target = self.doc_to_target(doc)
        if isinstance(target, list) and len(target) == 1:
            target = target[0]
        if isinstance(target, (list, dict)) or not str(target).strip():
            raise InputError(
                f'{self.task_name}: doc_to_target of question {number} is {target!r:.60}; expected one answer'
            )
        return str(target)


def _settings(metadata: Mapping[str, Any], repeats: int | None) -> Settings:
    """Return n, k, the judge and the rest; `repeats` of a task stand for an n that its metadata lack."""
    given = {name: metadata.get(name) for name in VARIABLES}
    if given['n'] is None and repeats is not None:
        given['n'] = repeats
    return read_settings(given, os.environ)
