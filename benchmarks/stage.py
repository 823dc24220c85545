"""How long does the evaluation of a run take, from predictions to result file, against OpenCompass's own?

    python -m benchmarks.stage

Both evaluate the same predictions of a made LiveMathBench run, ours with the rule judge, OpenCompass's with
its LiveMathBenchEvaluator without a model, which compares normalised texts. The stage is the evaluation
task in a process that has OpenCompass imported already: ours is the one of `gpassk run`, and once more our
evaluator in OpenCompass's task, as `opencompass` has it. The command is the whole of `opencompass -m eval`,
which imports it twice. The floor is reading the predictions and writing the result.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from .made import QUESTIONS, dataset_arguments, made_responses, write_questions
from .measuring import Cost, command_cost, cost, median, progress, unwarned
from .tables import Row, Section, Size, duration, main, megabytes, overview, times

CASES = {
    'tiny': ((12, 2, 100),),
    'quick': ((QUESTIONS, 48, 1_000),),
    'full': ((QUESTIONS, 16, 4_000), (QUESTIONS, 48, 20_000), (QUESTIONS, 48, 4_000)),
}
"""Questions, n, characters of a response. The last one is also evaluated with the command."""

REPEATS = 3
"""Measurements of each side, by turns; the median counts."""

TIME = '20260101_000000'
MODEL = {'type': 'opencompass.models.HuggingFacewithChatTemplate', 'abbr': 'made', 'path': 'made'}
SIDES = {
    'ours': ('gpassk_opencompass.LiveMathBenchDataset', 'gpassk_opencompass.GPassKEvaluator'),
    'OpenCompass': (
        'opencompass.datasets.LiveMathBenchDataset',
        'opencompass.datasets.livemathbench.LiveMathBenchEvaluator',
    ),
}
GUEST = 'ours, in its task'
"""Our evaluator in OpenCompass's task."""


class MadeRun(NamedTuple):
    """A run whose inference is done, as either side would have left it."""

    root: Path
    questions: int
    truth: float
    """The share of responses that are right."""

    def evaluate(self, side: str) -> Cost:
        """Evaluate it anew; `value` has the numbers of the result."""
        file_of(self.root, side, 'results').unlink(missing_ok=True)
        return cost(partial(_run_task, self.root, side))

    def floor(self) -> Cost:
        """Read the predictions and write the result."""
        return cost(partial(_copy, self.root), warm=1)


def measure(size: Size) -> Section:
    """Every case of this size, and, unless it is tiny, the command for the last of them."""
    rows: list[Row] = []
    with TemporaryDirectory() as folder:
        for number, (wanted, n, length) in enumerate(CASES[size]):
            progress(f'evaluation stage: {wanted} × {n}, {length:,} characters')
            run = made_run(Path(folder, str(number)), wanted, n, length)
            sides = [
                (*map(run.evaluate, ('ours', GUEST, 'OpenCompass')), run.floor()) for _ in range(REPEATS)
            ]
            ours, guest, theirs, floor = map(median, zip(*sides, strict=True))
            row = {'questions × n': f'{run.questions} × {n}', 'characters': f'{length:,}'}
            row |= {'ours': duration(ours.cpu), 'a sample': duration(ours.cpu / run.questions / n)}
            row |= {GUEST: duration(guest.cpu), 'OpenCompass': duration(theirs.cpu)}
            row |= {
                'OpenCompass / ours': times(theirs.cpu / ours.cpu),
                'ours / floor': times(ours.cpu / floor.cpu),
            }
            row |= {'memory, ours': megabytes(ours), 'OpenCompass, memory': megabytes(theirs)}
            key = next(key for key in theirs.value if key.startswith('accuracy'))
            accuracies = (ours.value['accuracy'], theirs.value[key], 100 * run.truth)
            rows.append(
                row | {'accuracy: ours, OpenCompass, true': ', '.join(f'{one:.2f}' for one in accuracies)}
            )
        task = f'{run.questions} × {n} predictions → result'
        lines = [overview(task, 'OpenCompass, equal texts', ours, theirs)]
        if size != 'tiny':
            commands = [run_opencompass(run.root, side) for side in SIDES]
            lines.append(overview(f'{task}, `opencompass -m eval`', 'OpenCompass, equal texts', *commands))
    return Section(
        'Evaluation stage',
        'From n × Q predictions to the result file: data set, predictions, final answers, verdicts by '
        'rule, metrics, '
        "details; beside OpenCompass's own data set and evaluator, which compares normalised texts. "
        'Floor: reading '
        'the predictions, writing the result.',
        rows,
        f'"{GUEST}": our evaluator in the task of `opencompass`, which loads all predictions before. '
        '"Accuracy": as '
        'each judges it, and what it is: the made responses give the right answer in another spelling '
        'now and then.',
        lines,
    )


def made_run(root: Path, questions: int, n: int, length: int) -> MadeRun:
    """Make a run in a new folder, and evaluate it once; `length` is the characters of a response."""
    with unwarned():  # before the clock runs: either side's classes, with what they import when first used
        import_module('opencompass.tasks')
        for name in ('plugin.dataset', 'plugin.eval_task', 'judges.rule'):
            import_module(f'gpassk_opencompass.{name}')
    # In a process of its own: what it leaves in memory would count as that of the stages.
    count, truth = cost(partial(_write_runs, root, questions, n, length)).value
    run = MadeRun(root, count, truth)
    run.evaluate('ours')
    return run


def _write_runs(root: Path, questions: int, n: int, length: int) -> tuple[int, float]:
    """Write data and both runs; the number of questions, and the share of responses that are right."""
    count = write_questions(root / 'data', questions / QUESTIONS)
    responses, right = made_responses(count, n, length)
    for side in SIDES:
        write_run(root, side, n, responses)
    return count, sum(right) / len(right)


def write_run(root: Path, side: str, n: int, responses: Sequence[str]) -> None:
    """The config of a run, and what its inference would have left."""
    dataset, evaluator = SIDES[side]
    config = {
        **dataset_arguments(root / 'data', n),
        'type': dataset,
        'infer_cfg': {
            'prompt_template': {
                'type': 'opencompass.openicl.icl_prompt_template.PromptTemplate',
                'template': {'round': [{'role': 'HUMAN', 'prompt': '{prompt}'}]},
            },
            'retriever': {'type': 'opencompass.openicl.icl_retriever.ZeroRetriever'},
            'inferencer': {'type': 'opencompass.openicl.icl_inferencer.GenInferencer'},
        },
        'eval_cfg': {'evaluator': {'type': evaluator, 'model_name': '', 'url': []}},
    }
    (root / f'{side}.py').write_text(f'models = [{MODEL!r}]\ndatasets = [{config!r}]\n', encoding='utf-8')
    predictions = file_of(root, side, 'predictions')
    predictions.parent.mkdir(parents=True)
    rows = {str(row): {'origin_prompt': '', 'prediction': text} for row, text in enumerate(responses)}
    predictions.write_text(json.dumps(rows), encoding='utf-8')


def file_of(root: Path, side: str, kind: str) -> Path:
    """Where OpenCompass has the predictions or the results."""
    return root / side.partition(',')[0] / TIME / kind / 'made' / 'made_en.json'


def _run_task(root: Path, side: str) -> dict[str, float]:
    """Run the task as its process does; the numbers of the result."""
    from mmengine.config import Config
    from opencompass.tasks import OpenICLEvalTask

    from gpassk_opencompass import GPassKEvalTask

    config = Config.fromfile(root / f'{side.partition(",")[0]}.py')
    config['datasets'] = [config['datasets']]
    config['work_dir'] = str(file_of(root, side, 'results').parents[2])
    config['eval'] = {'runner': {'task': {'dump_details': True}}}
    task: Any = GPassKEvalTask if side == 'ours' else OpenICLEvalTask
    task(config).run()
    result = json.loads(file_of(root, side, 'results').read_text(encoding='utf-8'))
    return {key: value for key, value in result.items() if isinstance(value, float)}


def _copy(root: Path) -> None:
    json.loads(file_of(root, 'ours', 'predictions').read_text(encoding='utf-8'))
    result = json.loads(file_of(root, 'ours', 'results').read_text(encoding='utf-8'))
    (root / 'copy.json').write_text(json.dumps(result), encoding='utf-8')


def run_opencompass(root: Path, side: str) -> Cost:
    """Of the whole `opencompass -m eval`, which must write the result anew."""
    progress(f'evaluation stage: opencompass -m eval, {side}')
    result = file_of(root, side, 'results')
    result.unlink()
    done = command_cost(
        Path(sys.executable).with_name('opencompass'),
        root / f'{side}.py',
        *('-w', root / side, '-m', 'eval', '-r', TIME),
        folder=root,
        environment={'HF_HUB_OFFLINE': '1', 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))},
    )
    if not result.is_file():
        raise RuntimeError(f'opencompass -m eval wrote no result:\n{done.value[-2000:]}')
    return done


if __name__ == '__main__':
    main(measure, __doc__)
