"""How long does the evaluation of a run take, from predictions to result file, against OpenCompass's own?

    python -m benchmarks.eval_stage            # 238 × 4, 16, 48, and `opencompass -m eval`
    python -m benchmarks.eval_stage --quick    # fewer of them, with shorter responses

Both evaluate the same predictions of a made LiveMathBench run, ours with the rule judge, OpenCompass's with
its LiveMathBenchEvaluator without a model, which compares normalised texts. The stage is the evaluation task
in a process that has OpenCompass imported already: ours is the one of `gpassk run`, and once more our
evaluator in OpenCompass's task, as `opencompass` has it. The command is the whole of `opencompass -m eval`,
which imports it twice. What OpenCompass's evaluator with math-verify would take is scaled up from a few
samples: it starts a process for each. The floor of the stage is reading the predictions and writing the
result; "loading" is what OpenCompass's task takes to read them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from .made import QUESTIONS, answer_of, dataset_arguments, made_responses, write_questions
from .measuring import Cost, command_cost, cost, progress, unwarned
from .sections import Section, Size, added, duration, headline, main, megabytes, times


class Case(NamedTuple):
    """A run to evaluate."""

    questions: int
    """About so many."""
    n: int
    length: int
    """Characters of a response."""
    repeats: int = 1
    """Measurements of each side, by turns; the median counts."""


CASES: Mapping[Size, tuple[Case, ...]] = {
    'tiny': (Case(12, 2, 100),),
    'quick': tuple(Case(QUESTIONS, n, 1_000, 3) for n in (4, 16, 48)),
    'full': (
        Case(QUESTIONS, 48, 20_000, 3),
        *(Case(QUESTIONS, n, 4_000, 5) for n in (4, 16, 48)),
    ),
}
"""The last one is also evaluated with the command."""

SAMPLE: Mapping[Size, int] = {'tiny': 2, 'quick': 20, 'full': 60}
"""Samples that OpenCompass's evaluator with math-verify judges."""

TIME = '20260101_000000'
MODEL = {'type': 'opencompass.models.HuggingFacewithChatTemplate', 'abbr': 'made', 'path': 'made'}
OURS = ('gpassk_opencompass.LiveMathBenchDataset', 'gpassk_opencompass.GPassKEvaluator')
THEIRS = (
    'opencompass.datasets.LiveMathBenchDataset',
    'opencompass.datasets.livemathbench.LiveMathBenchEvaluator',
)
SIDES = {'ours': OURS, 'OpenCompass': THEIRS}
GUEST = 'ours, in its task'
"""Our evaluator in OpenCompass's task."""


class Row(NamedTuple):
    """One case; `value` of the first three is the result."""

    questions: int
    case: Case
    ours: Cost
    guest: Cost
    """Ours in OpenCompass's task."""
    theirs: Cost
    loading: Cost
    """Of OpenCompass's task."""
    verified: Cost
    """OpenCompass's with math-verify, of all samples, scaled up."""
    floor: Cost
    truth: float
    """The accuracy, in percent."""


def measure(size: Size) -> Section:
    """Every case of this size, and, unless it is tiny, the command for the last of them."""
    with TemporaryDirectory() as folder:
        with unwarned():
            import_module('opencompass.tasks')  # before the clock runs
        progress("evaluation stage: OpenCompass's math-verify")
        length = CASES[size][-1].length
        sample, _ = made_responses(SAMPLE[size], 1, length)
        verified = cost(partial(_verify, sample)).scaled(1 / SAMPLE[size])
        rows = [_row(Path(folder, str(number)), case, verified) for number, case in enumerate(CASES[size])]
        last = Path(folder, str(len(rows) - 1))
        commands = {} if size == 'tiny' else {side: command(last, side) for side in SIDES}
        return _section(rows, commands)


def _row(folder: Path, case: Case, verified: Cost) -> Row:
    progress(f'evaluation stage: {case.questions:,} × {case.n}, {case.length:,} characters: made')
    run = prepared(folder, case.questions, case.n, case.length)
    progress(f'evaluation stage: {run.questions:,} × {case.n}, {case.length:,} characters')
    sides = [
        (run.cost('ours'), run.cost(GUEST), run.cost('OpenCompass'), run.loading(), run.floor())
        for _ in range(case.repeats)
    ]
    ours, guest, theirs, loading, floor = map(_median, zip(*sides, strict=True))
    return Row(
        run.questions,
        case,
        ours,
        guest,
        theirs,
        loading,
        verified.scaled(run.questions * case.n),
        floor,
        100 * run.truth,
    )


def _median(costs: Sequence[Cost]) -> Cost:
    return sorted(costs, key=lambda one: one.cpu)[len(costs) // 2]


class MadeRun(NamedTuple):
    """A run whose inference is done, as either side would have left it."""

    root: Path
    questions: int
    truth: float
    """The share of responses that are right."""

    def cost(self, side: str) -> Cost:
        """Evaluate it anew."""
        result_of(self.root, side).unlink(missing_ok=True)
        return cost(partial(_stage, self.root, side))

    def loading(self) -> Cost:
        """Read the predictions as OpenCompass's task does."""
        return cost(partial(_load, self.root))

    def floor(self) -> Cost:
        """Read the predictions and write the result."""
        return cost(partial(_copy, self.root), warm=1)


def prepared(root: Path, questions: int, n: int, length: int) -> MadeRun:
    """Make a run, and evaluate it once.

    Args:
        root: of its own, and new.
        questions: about so many.
        length: characters of a response.
    """
    with unwarned():
        import_module('opencompass.tasks')  # before the clock runs
        import_module('gpassk_opencompass.plugin')
    # In a process of its own: what it leaves in memory would count as that of the stages.
    count, truth = cost(partial(_make, root, questions, n, length)).value
    run = MadeRun(root, count, truth)
    run.cost('ours')
    return run


def _make(root: Path, questions: int, n: int, length: int) -> tuple[int, float]:
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
    predictions = predictions_of(root, side)
    predictions.parent.mkdir(parents=True)
    rows = {str(row): {'origin_prompt': '', 'prediction': text} for row, text in enumerate(responses)}
    predictions.write_text(json.dumps(rows), encoding='utf-8')


def predictions_of(root: Path, side: str) -> Path:
    """Where OpenCompass has them."""
    return _folder(root, side) / 'predictions' / MODEL['abbr'] / 'made_en.json'


def result_of(root: Path, side: str) -> Path:
    """Where OpenCompass writes it."""
    return _folder(root, side) / 'results' / MODEL['abbr'] / 'made_en.json'


def _folder(root: Path, side: str) -> Path:
    return root / _files_of(side) / TIME


def _files_of(side: str) -> str:
    return 'ours' if side == GUEST else side


def _stage(root: Path, side: str) -> dict[str, float]:
    """The task as its process runs it; the numbers of the result."""
    _task(root, side).run()
    return _numbers(root, side)


def _load(root: Path) -> None:
    task = _task(root, GUEST)
    task.model_cfg, task.dataset_cfg = task.model_cfgs[0], task.dataset_cfgs[0][0]
    task._load_predictions()


def _task(root: Path, side: str) -> Any:
    from mmengine.config import Config
    from opencompass.tasks import OpenICLEvalTask

    from gpassk_opencompass import GPassKEvalTask

    config = Config.fromfile(root / f'{_files_of(side)}.py')
    config['datasets'] = [config['datasets']]
    config['work_dir'] = str(_folder(root, side))
    config['eval'] = {'runner': {'task': {'dump_details': True}}}
    return (GPassKEvalTask if side == 'ours' else OpenICLEvalTask)(config)


def _verify(responses: Sequence[str]) -> None:
    from opencompass.evaluator import MATHVerifyEvaluator

    references = [answer_of(question).reference for question in range(len(responses))]
    MATHVerifyEvaluator().score(responses, references)


def _numbers(root: Path, side: str) -> dict[str, float]:
    result = json.loads(result_of(root, side).read_text(encoding='utf-8'))
    return {key: value for key, value in result.items() if isinstance(value, float)}


def _copy(root: Path) -> None:
    json.loads(predictions_of(root, 'ours').read_text(encoding='utf-8'))
    result = json.loads(result_of(root, 'ours').read_text(encoding='utf-8'))
    (root / 'copy.json').write_text(json.dumps(result), encoding='utf-8')


def command(root: Path, side: str) -> Cost:
    """Of the whole `opencompass -m eval`, which must write the result anew."""
    progress(f'evaluation stage: opencompass -m eval, {side}')
    result_of(root, side).unlink()
    found = command_cost(
        [
            Path(sys.executable).with_name('opencompass'),
            root / f'{side}.py',
            *('-w', root / side, '-m', 'eval', '-r', TIME),
        ],
        folder=root,
        environment={'HF_HUB_OFFLINE': '1', 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))},
    )
    if not result_of(root, side).is_file():
        raise RuntimeError(f'opencompass -m eval wrote no result:\n{found.value[-2000:]}')
    return found._replace(value=_numbers(root, side))


def _section(rows: list[Row], commands: Mapping[str, Cost]) -> Section:
    last = rows[-1]
    task = f'{last.questions} × {last.case.n} predictions → result'
    lines = [
        headline(f'{task}, stage', 'OpenCompass, equal texts', last.ours, last.theirs),
        headline(f'{task}, stage', 'OpenCompass, math-verify', last.ours, last.verified),
        headline(f'{task}, stage', 'its floor', last.ours, last.floor),
    ]
    notes = [
        f'"{GUEST}": our evaluator in the task of `opencompass`, which loads all predictions before; what '
        'that takes alone is "loading".',
        '"Accuracy": as each judges it, and what it is: the made responses give the right answer in another '
        'spelling now and then, which needs mathematics to see.',
    ]
    if commands:
        ours, theirs = commands['ours'], commands['OpenCompass']
        lines.append(headline(f'{task}, `opencompass -m eval`', 'OpenCompass, equal texts', ours, theirs))
        notes.append(
            f'The whole command `opencompass -m eval` for {last.questions} × {last.case.n}, which imports '
            f'OpenCompass twice: ours {duration(ours.cpu)} of processor time ({duration(ours.seconds)} by '
            'the clock), '
            f"OpenCompass's {duration(theirs.cpu)} ({duration(theirs.seconds)})."
        )
    return Section(
        'Evaluation stage',
        'From n × Q predictions to the result file: data set, predictions, final answers, verdicts by rule, '
        "metrics, with all details; beside OpenCompass's own data set and evaluator, which compares "
        'normalised texts. Floor: reading the predictions, writing the result.',
        [
            'questions × n',
            'characters',
            'ours',
            'a sample',
            GUEST,
            'loading',
            'OpenCompass',
            'OpenCompass / ours',
            'with its math-verify',
            'that / ours',
            'ours / floor',
            'memory, ours',
            GUEST,
            'OpenCompass',
            'floor',
            'accuracy: ours, OpenCompass, true',
        ],
        [_cells(row) for row in rows],
        notes,
        lines,
    )


def _cells(row: Row) -> list[str]:
    n = row.case.n
    key = 'accuracy' if 'accuracy' in row.theirs.value else f'accuracy ({n} runs average)'
    return [
        f'{row.questions:,} × {n}',
        f'{row.case.length:,}',
        duration(row.ours.cpu),
        duration(row.ours.cpu / row.questions / n),
        duration(row.guest.cpu),
        duration(row.loading.cpu),
        duration(row.theirs.cpu),
        times(row.theirs.cpu / row.ours.cpu),
        duration(row.verified.cpu),
        times(row.verified.cpu / row.ours.cpu),
        times(row.ours.cpu / row.floor.cpu),
        added(row.ours),
        megabytes(row.guest),
        megabytes(row.theirs),
        megabytes(row.floor),
        f'{row.ours.value["accuracy"]:.2f}, {row.theirs.value[key]:.2f}, {row.truth:.2f}',
    ]


if __name__ == '__main__':
    main(measure, __doc__)
