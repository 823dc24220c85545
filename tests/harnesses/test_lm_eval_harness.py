"""The real lm-evaluation-harness: its fresh logs, our tasks in it, and our export in its hands.

It runs in the harness's environment: `docs/sources.md` says how that is made.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, comb, isnan
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('lm_eval', reason='lm-evaluation-harness is not installed in this environment')

import make_lm_eval_logs as made

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import IncompleteError, InputError
from gpassk_opencompass.exports.lm_eval import write_lm_eval
from gpassk_opencompass.hosts.lm_eval import TASKS
from gpassk_opencompass.judges.protocol import FunctionJudge, Judgement, Pair
from gpassk_opencompass.question_sets import BENCHMARKS
from gpassk_opencompass.results.read import read
from gpassk_opencompass.sources.finding import find_runs
from gpassk_opencompass.sources.source import Reading, Run

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings('default')]

REPOSITORY = Path(__file__).resolve().parents[2]


class Exact(FunctionJudge):
    """Says correct where the answer is the reference, letter by letter."""

    def __init__(self) -> None:
        super().__init__(lambda pair: pair.answer == pair.reference)


class Failing(FunctionJudge):
    """Is there when it is tried out, and gone when it is needed."""

    def __init__(self) -> None:
        super().__init__(lambda pair: None)

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        raise IncompleteError('the server of the judge is gone')


def exact(name: str) -> float:
    """A metric of the scripted model over all questions, by its definition in whole numbers."""
    if name.startswith('mG-Pass@'):
        k = int(name.removeprefix('mG-Pass@'))
        steps = [Fraction(step, k) for step in range(ceil(Fraction(k, 2)) + 1, k + 1)]
        return float(Fraction(2, k) * sum((_g_pass(k, tau) for tau in steps), Fraction(0)))
    k, _, tau = name.removeprefix('G-Pass@').partition('_')
    return float(_g_pass(int(k), Fraction(tau)))


def _g_pass(k: int, tau: Fraction) -> Fraction:
    total = Fraction(0)
    for row in made.RIGHT:
        n, c = len(row), row.count('1')
        least = max(1, ceil(k * tau))
        total += Fraction(sum(comb(c, j) * comb(n - c, k - j) for j in range(least, k + 1)), comb(n, k))
    return total / len(made.RIGHT)


@pytest.fixture(scope='module')
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a fresh run of all tasks, through the harness's own command line."""
    folder = tmp_path_factory.mktemp('lm-eval')
    environment = {**os.environ, 'PYTHONPATH': str(REPOSITORY)}
    script = Path(made.__file__)
    done = subprocess.run(
        [sys.executable, str(script), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / 'shown.txt').write_text(done.stdout)
    return folder


def read_log(logs: Path, task: str) -> Run:
    """The one run of a task."""
    [path] = (logs / 'logs').rglob(f'samples_{task}_*.jsonl')
    [(run, name, _)] = find_runs([path], Reading()).runs
    assert name == 'lm-eval'
    return run


@pytest.mark.parametrize('task', ['sums_all', 'sums_class', 'gpassk_questions'])
def test_verdicts_of_all_responses_are_read_from_fresh_logs(logs: Path, task: str) -> None:
    run = read_log(logs, task)
    assert [question.verdicts for question in run.questions] == list(made.RIGHT)  # type: ignore[union-attr]
    assert run.model == 'org/scripted-7b'
    assert run.written_by.startswith('lm-eval 0.4.')


@pytest.mark.parametrize('task', ['sums_choices', 'sums_filters'])
def test_verdicts_on_one_response_are_read_from_fresh_logs(logs: Path, task: str) -> None:
    questions = read_log(logs, task).questions
    assert [question.verdicts for question in questions] == [row[0] for row in made.RIGHT]  # type: ignore[union-attr]


@pytest.mark.parametrize('task', ['sums_class', 'gpassk_questions'])
def test_the_harness_shows_exact_scores_and_its_log_gives_the_same(
    logs: Path, task: str, tmp_path: Path
) -> None:
    """In its summary, in its table, and scored by us from the file that it logged."""
    [file] = (logs / 'logs').rglob('results_*.json')
    scores = json.loads(file.read_text())['results'][task]
    [samples] = (logs / 'logs').rglob(f'samples_{task}_*.jsonl')
    out = tmp_path / 'scored.json'
    taus = ['0', '0.25', '0.5', '0.75', '1']
    assert main(['score', str(samples), '--k', '2', '4', '--threshold', *taus, '-o', str(out)]) == 0
    scored = json.loads(out.read_text())
    names = [name.split(',')[0] for name in scores if name.endswith(',gpassk') and '_stderr' not in name]
    compared = [name for name in names if name.lstrip('m').startswith('G-Pass@')]
    assert len(compared) >= 6
    for name in compared:
        assert scores[f'{name},gpassk'] == pytest.approx(exact(name), abs=1e-12), name
        assert scored[name] == pytest.approx(100 * exact(name), abs=1e-10), name
    assert scores['correct,gpassk'] == sum(row.count('1') for row in made.RIGHT)
    assert scores['accuracy,gpassk'] == pytest.approx(14 / 24, abs=1e-12)
    shown = (logs / 'shown.txt').read_text()
    assert 'G-Pass@4_0.5' in shown
    assert 'mG-Pass@4' in shown


def test_the_folder_of_the_tasks_is_printed() -> None:
    """For --include_path."""
    environment = {**os.environ, 'PYTHONPATH': str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, '-m', 'gpassk_opencompass.hosts.lm_eval'],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()) == TASKS
    assert (TASKS / 'gpassk_questions.yaml').is_file()


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """The questions of the scripted model, as a file of somebody's own."""
    path = tmp_path / 'mine.jsonl'
    path.write_text(''.join(json.dumps(row) + '\n' for row in made.questions()), encoding='utf-8')
    return path


def evaluated(task: str, metadata: dict[str, Any], **options: Any) -> tuple[dict[str, Any], list[Any]]:
    """The scores of a task of ours and its logged samples, through the harness's Python interface."""
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager

    manager = TaskManager(include_path=TASKS, include_defaults=False, metadata=metadata)
    model = made.register()()
    results = simple_evaluate(model, tasks=[task], task_manager=manager, bootstrap_iters=0, **options)
    assert results is not None
    return results['results'][task], results['samples'][task]


def test_a_judge_that_fails_loses_no_responses(questions: Path) -> None:
    """There are no scores, and the log has all that was generated."""
    metadata = {'questions': str(questions), 'n': 4, 'k': 4, 'judge': f'{__name__}.Failing'}
    scores, samples = evaluated('gpassk_questions', metadata)
    assert isnan(scores['G-Pass@4_0.5,gpassk'])
    assert isnan(scores['accuracy,gpassk'])
    assert scores['unjudged,gpassk'] == 24
    assert [len(sample['resps'][0]) for sample in samples] == [4] * 6
    assert samples[0]['correct'] == [None] * 4


def test_another_judge_may_be_named_and_is_told_in_the_log(questions: Path) -> None:
    metadata = {'questions': str(questions), 'n': 4, 'k': 4, 'judge': f'{__name__}.Exact'}
    scores, samples = evaluated('gpassk_questions', metadata)
    assert scores['G-Pass@4_0.5,gpassk'] == pytest.approx(exact('G-Pass@4_0.5'), abs=1e-12)
    assert samples[0]['filtered_resps'] == [['17'] * 4]


def test_one_response_a_question_has_an_accuracy(questions: Path) -> None:
    """And greedy decoding is allowed then."""
    metadata = {'questions': str(questions), 'n': 1, 'k': 1}
    scores, _ = evaluated('gpassk_questions', metadata, gen_kwargs='do_sample=false,temperature=0')
    assert scores['accuracy,gpassk'] == pytest.approx(3 / 6)


@pytest.mark.parametrize('gen_kwargs', ['do_sample=false', 'temperature=0'])
def test_n_responses_without_sampling_are_refused_before_they_are_generated(
    questions: Path, gen_kwargs: str
) -> None:
    metadata = {'questions': str(questions), 'n': 4, 'k': 4}
    with pytest.raises(InputError, match='n = 4 responses without sampling are one text'):
        evaluated('gpassk_questions', metadata, gen_kwargs=gen_kwargs)


@pytest.mark.parametrize(
    ('metadata', 'message'),
    [
        ({'n': 4, 'k': 8}, 'k'),
        ({'n': 4, 'k': 4, 'judge': 'nobody'}, 'judge'),
        ({'n': 4, 'k': 4, 'questions': 'nowhere.jsonl'}, 'does not exist'),
        ({'n': 4, 'k': 4, 'questions': ''}, 'no questions: give a JSON Lines file'),
    ],
    ids=str,
)
def test_settings_that_cannot_be_met_are_refused_when_the_task_is_made(
    questions: Path, metadata: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        evaluated('gpassk_questions', {'questions': str(questions), **metadata})


def test_answers_may_be_left_to_somebody_else(questions: Path) -> None:
    """--predict_only judges nothing."""
    metadata = {'questions': str(questions), 'n': 4, 'k': 4}
    _, samples = evaluated('gpassk_questions', metadata, predict_only=True)
    assert [len(sample['resps'][0]) for sample in samples] == [4] * 6
    assert 'correct' not in samples[0]


def test_part_of_the_questions_may_be_asked(questions: Path) -> None:
    metadata = {'questions': str(questions), 'n': 4, 'k': [2, 4]}
    scores, samples = evaluated('gpassk_questions', metadata, limit=2)
    assert [sample['correct'] for sample in samples] == [[True] * 4, [True, False, True, True]]
    assert scores['accuracy,gpassk'] == pytest.approx(7 / 8)


def test_each_benchmark_is_a_task() -> None:
    """By its name, with underscores."""
    from lm_eval.tasks import TaskManager

    known = TaskManager(include_path=TASKS, include_defaults=False).task_index
    names = {f'gpassk_{name.replace("-", "_")}' for name in [*BENCHMARKS, 'demo', 'questions']}
    assert set(known) == {*names, 'gpassk'}  # their tag
    for name in (*BENCHMARKS, 'demo'):
        assert known[f'gpassk_{name.replace("-", "_")}'].cfg['metadata']['benchmark'] == name


def test_a_benchmark_is_read_from_a_folder_and_asked_in_its_own_words(tmp_path: Path) -> None:
    from lm_eval.tasks import TaskManager

    rows = [{'problem': f'What is {number} + 1?', 'answer': number + 1} for number in range(30)]
    (tmp_path / 'aime2025.jsonl').write_text('\n'.join(map(json.dumps, rows)))
    metadata = {'questions': str(tmp_path), 'n': 16, 'k': 16}
    manager = TaskManager(include_path=TASKS, include_defaults=False, metadata=metadata)
    [task] = manager.load(['gpassk_aime2025'])['tasks'].values()
    docs = list(task.eval_docs)
    assert len(docs) == 30
    assert task.doc_to_text(docs[0]).startswith('What is 0 + 1?')
    assert 'boxed' in task.doc_to_text(docs[0])
    assert task.doc_to_target(docs[0]) == '1'
    assert task.config.repeats == 16
    [task] = manager.load(['gpassk_demo'])['tasks'].values()
    assert {doc['language'] for doc in task.eval_docs} == {'cn', 'en'}


def test_the_harness_takes_what_is_exported(logs: Path, tmp_path: Path) -> None:
    """Its table is made of the summary, and its names and its data library read the samples."""
    from datasets import load_dataset
    from lm_eval.utils import get_file_datetime, get_file_task_name, get_sample_results_filenames, make_table

    [samples] = (logs / 'logs').rglob('samples_gpassk_questions_*.jsonl')
    out = tmp_path / 'scored.json'
    assert main(['score', str(samples), '--k', '4', '-o', str(out)]) == 0
    written, summary = write_lm_eval(read(out), tmp_path / 'out')
    assert get_sample_results_filenames([str(written)]) == [str(written)]
    assert get_file_task_name(written.name) == 'gpassk_questions'
    assert get_file_datetime(written.name) == get_file_datetime(summary.name).removesuffix('.json')
    table = make_table(json.loads(summary.read_text()))
    assert f'{exact("G-Pass@4_0.5"):.4f}' in table
    rows = load_dataset('json', data_files=str(written), split='train', cache_dir=str(tmp_path / 'cache'))
    told = [json.loads(line) for line in samples.read_text().splitlines()]
    assert [row['resps'] for row in rows] == [row['resps'] for row in told]
    assert [row['correct'] for row in rows] == [row['correct'] for row in told]
    assert [row['filtered_resps'] for row in rows] == [row['filtered_resps'] for row in told]


def test_a_server_gets_one_seed_for_all_responses_unless_it_is_taken_away() -> None:
    """As the page on sources says: with the harness's own seed a server draws one text n times."""
    pytest.importorskip('tenacity', reason="the harness's API models need lm_eval[api]")
    from lm_eval.models.openai_completions import LocalChatCompletion

    model = LocalChatCompletion(base_url='http://127.0.0.1:9/v1', pretrained='m', tokenizer_backend=None)
    asked = [{'role': 'user', 'content': '1 + 1?'}]

    def payload(**more: Any) -> dict[str, Any]:
        told = {'until': [], 'do_sample': True, 'temperature': 1.0, **more}
        return dict(model._create_payload(asked, generate=True, gen_kwargs=told, seed=model._seed, eos=None))

    assert payload()['seed'] == payload()['seed'] == 1234
    assert payload(seed=None)['seed'] is None
