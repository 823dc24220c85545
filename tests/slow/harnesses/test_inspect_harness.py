"""inspect_ai itself: logs that it writes now are read, and G-Pass@k stands in its results.

Runs where inspect_ai is installed, see constraints/harnesses.txt.
"""

from __future__ import annotations

import math
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('inspect_ai', reason='inspect_ai is not installed: constraints/harnesses.txt')

from exact import g_pass
from harness_logs import run_of, verdicts
from inspect_ai import Epochs, Task
from inspect_ai import eval as run_inspect
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.scorer import Score, accuracy, mean, scorer, stderr
from inspect_ai.solver import solver

from gpassk_opencompass import InputError
from gpassk_opencompass.inspect_ai import g_pass_at_k

pytestmark = pytest.mark.filterwarnings('ignore')  # inspect_ai leaves streams open

ROOT = Path(__file__).resolve().parents[3]
MADE = runpy.run_path(str(ROOT / 'tests' / 'slow' / 'harnesses' / 'make_inspect_logs.py'))
EXAMPLE = ROOT / 'examples' / 'inspect_ai' / 'sums.py'

PROVIDER = '''
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelAPI, ModelOutput, ModelUsage
from inspect_ai.model import modelapi

ASKED = {}


@modelapi(name='scripted')
class Scripted(ModelAPI):
    """Adds rightly as often as the larger of the two numbers modulo 9 says, of 8 times."""

    async def generate(self, input, tools, tool_choice, config):
        numbers = [int(word) for word in input[-1].text.replace('?', ' ').split() if word.isdecimal()]
        ASKED[input[-1].text] = ASKED.get(input[-1].text, 0) + 1
        right = ASKED[input[-1].text] <= max(numbers) % 9
        message = ChatMessageAssistant(content=f'It is {sum(numbers) + (not right)}')
        usage = ModelUsage(input_tokens=9, output_tokens=4, total_tokens=13)
        return ModelOutput(model='scripted', choices=[ChatCompletionChoice(message=message)], usage=usage)
'''


def mean_of(counts: Sequence[tuple[int, int]], k: int, needed: int) -> float:
    return sum(g_pass([c], n, k, Fraction(needed, k)) for n, c in counts) / 100 / len(counts)


def scripted_task(values: Sequence[Sequence[Any]], metrics: Any, reducers: Any = None) -> Task:
    """A task whose score of question q in epoch e is `values[q][e - 1]`; two questions are one problem."""

    @scorer(metrics=metrics, name='known')
    def known() -> Any:
        async def score(state: Any, target: Any) -> Any:
            return Score(value=values[state.sample_id - 1][state.epoch - 1], answer=target.text)

        return score

    @solver
    def silent() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            return state

        return solve

    samples = [
        Sample(id=place + 1, input=f'{place}', target='1', metadata={'problem': place // 2})
        for place in range(len(values))
    ]
    dataset = MemoryDataset(samples)
    return Task(dataset=dataset, solver=silent(), scorer=known(), epochs=Epochs(len(values[0]), reducers))


def evaluated(folder: Path, task: Task) -> EvalLog:
    [log] = run_inspect(task, model='mockllm/model', log_dir=str(folder), display='none')
    return log


def results(log: EvalLog, reducer: str | None = None) -> dict[str, float]:
    assert log.status == 'success', log.error
    assert log.results is not None
    [found] = [one for one in log.results.scores if one.reducer == reducer]
    return {name: metric.value for name, metric in found.metrics.items()}


def command(folder: Path, *arguments: str) -> str:
    inspect = Path(sys.executable).with_name('inspect')
    environment = {**os.environ, 'INSPECT_DISPLAY': 'plain', 'PYTHONPATH': str(folder)}
    done = subprocess.run(
        [inspect, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=1200,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp('logs')
    MADE['make'](folder)
    return folder


@pytest.mark.parametrize(
    ('name', 'epochs'), [('whole.eval', 6), ('whole.json', 6), ('running.eval', 1), ('stopped.eval', 2)]
)
def test_a_fresh_log_is_read(name, epochs, made):
    """Of a run that ended, of one that is being written, of one that failed."""
    lost = {'5': '0?'} if name == 'stopped.eval' else {}
    assert verdicts(run_of(made / name)) == MADE['truth'](epochs) | lost
    if name == 'whole.eval':  # also with its samples in chunks
        command(made, 'log', 'convert-chunked', name, '--output-dir', 'chunked')
        assert verdicts(run_of(made / 'chunked' / name)) == MADE['truth'](epochs)


VALUES = (
    ['C', 'C', 'I', 'C', 'I', 'C'], ['I', 'P', 'N', 'I', 'I', 'C'], ['C'] * 6, ['I'] * 6,
    ['C', float('nan'), 'I', 'C', 'C', 'I'], ['I', 'I', 'C', 'C', 'C', 'I'],
)  # fmt: skip
COUNTS = ((6, 4), (6, 1), (6, 6), (6, 0), (5, 3), (6, 3))
"""Scored epochs and correct ones of each question."""


def test_the_metric_sees_all_epochs_whatever_the_reducers(tmp_path):
    """G-Pass@k in the results of the log is the exact one; an unscored epoch does not count."""
    task = scripted_task(VALUES, [accuracy(), g_pass_at_k(k=[2, 4], thresholds=[0.5, 1.0])], ['mean', 'mode'])
    found = results(evaluated(tmp_path, task))
    assert found['G-Pass@4_0.5'] == pytest.approx(mean_of(COUNTS, 4, 2), rel=1e-12)
    assert found['G-Pass@4_1.0'] == pytest.approx(mean_of(COUNTS, 4, 4), rel=1e-12)
    assert found['pass@4'] == pytest.approx(mean_of(COUNTS, 4, 1), rel=1e-12)
    mean_g = (mean_of(COUNTS, 4, 3) + mean_of(COUNTS, 4, 4)) / 2
    assert found['mG-Pass@4'] == pytest.approx(mean_g, rel=1e-12)
    assert found['G-Pass@2_1.0'] == pytest.approx(mean_of(COUNTS, 2, 2), rel=1e-12)
    assert not [name for name in found if 'left_out' in name or 'lower' in name]


def test_the_metric_agrees_with_what_inspect_has_of_its_own(tmp_path):
    """pass@k is its `pass_at`, G-Pass@k_1.0 its `pass_k`, the clustered standard error its `stderr`."""
    metrics = [mean(), stderr(cluster='problem'), g_pass_at_k(k=4, cluster='problem')]
    log = evaluated(tmp_path, scripted_task(VALUES, metrics, ['pass_at_4', 'pass_k_4']))
    ours = results(log)
    for reducer, name in (('pass_at_4', 'pass@4'), ('pass_k_4', 'G-Pass@4_1.0')):
        theirs = results(log, reducer)
        assert ours[name] == pytest.approx(theirs['mean'], rel=1e-12)
        assert ours[f'{name}_stderr'] == pytest.approx(theirs['stderr'], rel=1e-9)


def test_questions_with_too_few_epochs_are_left_out_and_counted(tmp_path):
    """Never a silent 0: with too few everywhere there is no value. What cannot be meant is refused."""
    for wrong in ({'k': 0}, {'thresholds': 1.5}, {'level': 95}):
        with pytest.raises(InputError):
            g_pass_at_k(**{'k': 4, **wrong})
    log = evaluated(tmp_path, scripted_task(VALUES, [mean(), g_pass_at_k(k=[6, 8])], ['mean']))
    found = results(log)
    assert found['left_out@6'] == 1.0
    assert found['left_out@8'] == 6.0
    assert found['G-Pass@6_0.5'] == pytest.approx(mean_of([one for one in COUNTS if one[0] == 6], 6, 3))
    assert math.isnan(found['G-Pass@8_0.5'])


@pytest.fixture(scope='module')
def example(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp('example')
    shutil.copy(EXAMPLE, folder)
    (folder / 'scripted.py').write_text(PROVIDER, encoding='utf-8')
    package = folder / 'scripted-1.dist-info'  # inspect_ai loads a model's provider before the task
    package.mkdir()
    (package / 'METADATA').write_text('Metadata-Version: 2.1\nName: scripted\nVersion: 1\n')
    (package / 'entry_points.txt').write_text('[inspect_ai]\nscripted = scripted\n')
    options = ('--model', 'scripted/adder', '--max-samples', '1', '--log-dir', 'logs')
    command(folder, 'eval', EXAMPLE.name, *options, '--epochs', '8')
    [log] = (folder / 'logs').glob('*.eval')
    return log


EXAMPLE_COUNTS = [(8, max(pair) % 9) for pair in runpy.run_path(str(EXAMPLE))['SUMS'] for _ in range(2)]


def test_the_example_shows_g_pass_at_k(example):
    """Through the `inspect` command; the log is read to the same value, and scored again by name."""
    ours = results(read_eval_log(str(example)))
    assert ours['G-Pass@4_0.75'] == pytest.approx(mean_of(EXAMPLE_COUNTS, 4, 3), rel=1e-12)
    counts = [(len(one), one.count('1')) for one in verdicts(run_of(example)).values()]
    assert counts == EXAMPLE_COUNTS
    folder, name = example.parents[1], 'gpassk_opencompass/g_pass_at_k'
    options = ('--metric', name, '--action', 'overwrite', '--output-file', 'scored.eval')
    command(folder, 'score', f'logs/{example.name}', *options)
    again = results(read_eval_log(str(folder / 'scored.eval')))
    assert again['G-Pass@8_0.5'] == pytest.approx(mean_of(EXAMPLE_COUNTS, 8, 4), rel=1e-12)
