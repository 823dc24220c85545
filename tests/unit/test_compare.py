"""`gpassk compare`: the answer with its exit code, what it rests on, and what it refuses."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
import yaml
from result_files import THIRDS, write_result
from scipy import stats

from gpassk_opencompass.cli import main
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.record import read
from gpassk_opencompass.report.compare import PUBLISHED
from gpassk_opencompass.statistics import difference

METRIC = Metric.parse('mG-Pass@16')
QUESTIONS = {'LiveMathBench': 240, 'MATH500-L5': 120}
NAME = '{}_t1.0_l100'
ENGINE = {'versions': {'vllm': '0.11.2'}, 'hardware': 'NVIDIA H100'}
LEADERBOARD = (
    Path(__file__).resolve().parents[3] / 'shared' / 'data' / 'leaderboard' / 'published_results.json'
)


def write_run(folder, name, shift, seed, n=32, only=(), **more):
    """A run on two benchmarks, better by so much on the log-odds scale; two questions share a problem."""
    hardness = np.random.default_rng(1)
    paths = []
    for dataset, count in QUESTIONS.items():
        odds = np.exp(shift + np.repeat(hardness.normal(0, 2.5, count // 2), 2))
        if only and dataset not in only:
            continue
        c = np.random.default_rng(seed).binomial(n, odds / (1 + odds))
        problems = [f'{dataset}{number // 2}' for number in range(count)]
        told = {'dataset': dataset, 'k': (4, 16), 'problems': problems} | more
        paths.append(write_result(folder, name if '_' in name else NAME.format(name), c.tolist(), n, **told))
    return paths


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    """A folder of each of the runs; of reruns one."""
    folder = tmp_path_factory.mktemp('runs')
    for seed, (name, shift) in enumerate({'old': 0.0, 'better': 1.5, 'worse': -1.5, 'rerun': 0.0}.items()):
        write_run(folder / name, name, shift, seed)
    for model, shift in (('new', -0.4), ('base', 0.0)):
        for seed in (1, 2, 3):
            write_run(
                folder / f'{model}-reruns', f'{model}_t1.0_rs{seed}_l100', shift, 10 * seed + len(model)
            )
    return folder


@pytest.fixture
def here(runs, tmp_path, monkeypatch):
    """The folder above copies of the runs."""
    shutil.copytree(runs, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(folder, change):
    """Change the records below a folder."""
    for path in Path(folder).rglob('*.json'):
        told = json.loads(path.read_text())
        change(told['gpassk'])
        path.write_text(json.dumps(told))


def rows(capsys, code, *line):
    capsys.readouterr()
    assert main(['compare', *map(str, line), '--json']) == code
    [table] = json.loads(capsys.readouterr().out)['tables']
    return table['rows'], table['notes']


def refused(capsys, *line):
    """What is said of a gate without an answer: 3, never 1 or 2, which are answers."""
    try:
        code = main(['compare', '--margin', '2', *map(str, line)])
    except SystemExit as end:  # of the parser
        code = int(end.code or 0)
    assert code == 3
    return capsys.readouterr().err


# Answers


ANSWERS = [
    ('better', 2, 0, 'better'), ('rerun', 12, 0, 'equivalent'), ('worse', 2, 1, 'worse'),
    ('rerun', 0.2, 2, 'not decided'),
]  # fmt: skip


@pytest.mark.parametrize(('new', 'margin', 'code', 'outcome'), ANSWERS)
def test_the_first_line_is_the_answer_and_the_exit_code_too(here, new, margin, code, outcome, capsys):
    """For new questions; then the difference, problems won and lost, and what it rests on."""
    line = ['compare', new, 'old', '--benchmark', 'live', '--questions', 'new', '--margin', str(margin)]
    assert main(line) == code
    printed = capsys.readouterr().out
    assert printed.startswith(f'{outcome}: {new} against old, mG-Pass@16 on LiveMathBench: ')
    assert f'Margin: {margin:g} points, chosen beforehand.' in printed
    assert '240 questions of 120 problems, 32 samples each, judge rule; 1 run against 1' in printed
    assert ('two equal runs pass for no margin below 2.30 points' in printed) == (margin < 2.3)


def test_numbers_are_those_of_the_paired_comparison(here, capsys):
    """Question by question whatever their order, clustered by problem; won and lost are source problems."""

    def backwards(block):
        block['counts'] = {name: column[::-1] for name, column in block['counts'].items()}

    edit('old', backwards)
    found, _ = rows(capsys, 0, 'worse', 'old')
    assert [row['benchmark'] for row in found] == list(QUESTIONS)
    for row in found:
        new, old = (read(next(Path(one).rglob(f'{row["benchmark"]}*.json'))) for one in ('worse', 'old'))
        ours, theirs = new.values(METRIC), old.values(METRIC)[::-1]
        expected = difference(ours, theirs, new.counts.problem)
        ends = [100 * float(end) for end in (expected.estimate, *expected.at())]
        assert [row['difference'], row['low'], row['high']] == pytest.approx(ends)
        gains = (ours - theirs).reshape(-1, 2).sum(1)
        assert (row['won'], row['lost']) == ((gains > 1e-9).sum(), (gains < -1e-9).sum())
        assert row['outcome'] == 'worse'


def test_reruns_are_found_by_config_and_seed_and_the_run_is_the_unit(here, capsys):
    """Of the same questions: Student's t over the means of runs; in folders or one by one, in any order."""
    line = ('new-reruns', 'base-reruns', '--margin', 2, '--benchmark', 'live')
    [row], notes = rows(capsys, 1, *line)
    assert (row['runs new'], row['runs old'], row['questions'], row['outcome']) == (3, 3, 'same', 'worse')
    files = {
        model: sorted(Path(f'{model}-reruns').rglob('LiveMath*.json'), key=lambda path: path.parent.name)
        for model in ('new', 'base')
    }
    means = [[100 * read(path).values(METRIC).mean() for path in files[model]] for model in files]
    pooled = np.mean([np.var(one, ddof=1) for one in means])
    half = stats.t.ppf(0.975, 4) * np.sqrt(pooled * 2 / 3)
    assert row['difference'] == pytest.approx(np.mean(means[0]) - np.mean(means[1]))
    assert row['high'] - row['difference'] >= half - 1e-9  # or wider, where sampling alone moves it more
    assert any('3 runs against 3' in note and '(4 degrees of freedom)' in note for note in notes)
    each = [path for pair in zip(files['new'], files['base'], strict=True) for path in pair]
    assert rows(capsys, 1, *each, '--margin', 2)[0] == [row]
    third = next(Path('worse').rglob('LiveMath*.json'))
    assert 'a rerun of neither' in refused(capsys, *each, third)


def test_one_run_a_side_decides_only_where_nothing_but_the_model_differs(here, capsys):
    """Engine, versions, hardware, settings told by both and equal; else reruns, --run-sd, new questions."""
    line = ('worse', 'old', '--margin', 2)
    found, notes = rows(capsys, 2, *line)
    assert {row['outcome'] for row in found} == {'undecided'}
    why = 'one run a side, and more than the model may differ (engine and versions: not told'
    assert any(why in one for one in notes)
    assert rows(capsys, 1, *line, '--run-sd', 1)[0][0]['outcome'] == 'worse'
    assert rows(capsys, 1, *line, '--questions', 'new')[0][0]['outcome'] == 'worse'
    for folder in ('worse', 'old'):
        edit(folder, lambda block: block.update(provenance=ENGINE))
    found, notes = rows(capsys, 1, *line)
    assert {row['outcome'] for row in found} == {'worse'}
    assert any('so only the model differs' in one for one in notes)
    edit('old', lambda block: block.update(provenance={**ENGINE, 'hardware': 'NVIDIA A100'}))
    assert any('hardware: NVIDIA H100 and NVIDIA A100' in one for one in rows(capsys, 2, *line)[1])
    for folder in ('worse', 'old'):
        edit(folder, lambda block: block.update(provenance={**ENGINE, 'files': {'path': {'commit': 'c'}}}))
    assert any('so only the samples differ' in one for one in rows(capsys, 1, *line)[1])


def test_a_pull_request_gets_a_comment(here, capsys):
    name = '<b>&"\']]>|\x1b[2J`x`'
    edit('worse', lambda block: block['run'].update(model=name))
    assert main(['compare', 'worse', 'old', '--margin', '2', '--questions', 'new', '--markdown', 'c.md']) == 1
    printed, text = capsys.readouterr().out, Path('c.md').read_text('utf-8')
    assert text.startswith('### ❌ worse: ')
    assert text.count('\n| ') == 1 + len(QUESTIONS)
    assert '<b>' not in text
    assert '\x1b' not in printed + text


def test_what_else_may_make_the_difference_is_said(here, capsys):
    """Cut responses, unjudged samples, another temperature, another n, and counts that are all alike."""
    live = ['LiveMathBench']
    write_run(here / 'other', 'other_t0.3_l100', 0.0, 9, n=16, only=live, unjudged=[1] + 239 * [0])
    for folder, cut in (('other', 600), ('old', 0)):
        edit(folder, lambda block, cut=cut: block['health'].update(truncated=cut, truncated_by='engine'))
    told = '\n'.join(rows(capsys, 0, 'other', 'old', '--benchmark', 'live')[1])
    for remark in (
        'samples a question 16 in the new run, 32 in the old',
        'temperature 0.3 in the new run, 1.0 in the old',
        '15.6 % of the responses cut off in the new run, 0.0 % in the old',
        'new: 600 of 3840 responses were cut off',
        'new: 1 samples (0.026 %) are unjudged',
    ):
        assert remark in told
    shutil.copytree('old', 'copy')
    edit('copy', lambda block: block['run'].update(model=NAME.format('copy')))
    assert 'every question has the same count in both' in '\n'.join(rows(capsys, 0, 'copy', 'old')[1])


# Refusals


def test_what_cannot_be_compared_is_no_answer(here, capsys):
    """Another judge, a file with itself, a benchmark that is missing, n too small, hashes that differ."""
    for folder, more in {
        'judge': {'judge': 'llm'}, 'small': {'n': 8, 'k': (4,)}, 'part': {}, 'data': {'data': 'other'}
    }.items():  # fmt: skip
        write_run(here / folder, 'a', 0.0, 5, only=['LiveMathBench'], **more)
    [old] = Path('old').rglob('LiveMath*.json')
    judges = 'another judge, or one with other settings (llm and rule); --judge rule judges both anew'
    for line, message in {
        ('judge', old): judges,
        ('small', old, '--metric', 'G-Pass@16_1.0'): 'takes 16 samples a question; a_t1.0_l100 has 8',
        ('old', old): 'is the new and the old run: a run is not compared with itself',
        ('part', 'old'): 'a has no complete result on MATH500-L5; it has LiveMathBench',
        ('data', old): 'data.sha256 differs, and without both sample files nobody can say where',
        ('.', 'old'): '. holds 8 runs, ',
    }.items():
        assert message in refused(capsys, *line), line
    line = ['compare', 'part', 'old', '--benchmark', 'LiveMathBench', '--margin', '40', '--questions', 'new']
    assert main(line) == 0
    [folder] = {path.parent for path in Path('worse').rglob('*.json')}  # the folder of one is a path, too
    assert rows(capsys, 0, folder, 'old')[0] == rows(capsys, 0, 'worse', 'old')[0]


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        (['nowhere', 'old'], 'nowhere is neither a file nor a folder'),
        (['empty', 'old'], 'empty has no sampled result: 0 found'),
        (['old'], 'give the old run as the second path'),
        (['worse', 'old', '--metric', 'mG-Pass@1'], 'is 0 for every model'),
        (['worse', 'old', '--benchmark', 'AIME'], "'AIME' is no benchmark here"),
        (['worse', 'old', '--unknown'], 'unrecognized arguments'),
        (['worse', 'published'], 'published scores have no counts'),
        (['worse', 'old', '--run-sd', 'nan'], '--run-sd'),
        *((['worse', 'old', '--margin', one], '--margin') for one in ('0', 'nan', 'two')),
    ],
)
def test_wrong_use_has_a_code_of_its_own(here, line, message, capsys):
    (here / 'empty').mkdir()
    assert message in refused(capsys, *line)


def test_what_breaks_is_no_answer(here, monkeypatch, capsys):

    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr('gpassk_opencompass.report.compare.compare', broken)
    assert 'ZeroDivisionError' in refused(capsys, 'worse', 'old')


def test_a_damaged_file_of_a_run_is_no_answer(here, capsys):
    """A benchmark must not go unseen, nor may an older result stand for a newer one that failed."""
    [path] = (here / 'old').rglob('MATH500-L5*.json')
    path.write_text(path.read_text()[:300])
    said = refused(capsys, 'better', 'old')
    assert f'{path} cannot be read' in said
    assert 'may be a result of one of the runs' in said
    live = ['better', 'old', '--benchmark', 'live']
    assert main(['compare', *live, '--margin', '2', '--questions', 'new']) == 0
    [good] = (here / 'better').rglob('LiveMathBench*.json')
    newer = here / 'better/w/20260301_000000/results' / good.parent.name / good.name
    newer.parent.mkdir(parents=True)
    newer.write_text('{"error": "no predictions"}')
    assert f'{newer} says that its evaluation failed: no predictions' in refused(capsys, *live)


# Logs of other programs


def log(path, rows_of, right, n=8, verdicts=False):
    """A table of responses, `right` of n of each question (uid, question, reference) correct."""
    lines = [
        {
            'uid': uid, 'question': question, 'reference': reference, 'replica': replica,
            'response': f'\\boxed{{{reference if replica < count else "x"}}}',
            **({'verdict': 'correct' if replica < count else 'incorrect'} if verdicts else {}),
        }
        for (uid, question, reference), count in zip(rows_of, right, strict=True)
        for replica in range(n)
    ]  # fmt: skip
    path.write_text('\n'.join(map(json.dumps, lines)))
    return path


ASKED = [(f'q{number}', f'What is {number} + {number}?', str(2 * number)) for number in range(40)]


def test_raw_logs_of_two_programs_are_a_gate_in_one_command(tmp_path, capsys):
    """Which name their questions differently, write references differently and judged for themselves."""
    theirs = [
        (f'task/{number}', f'What is  {number} + {number}?\n', f'{2 * number}.0') for number in range(40)
    ]
    new = log(tmp_path / 'new.jsonl', ASKED, [2] * 20 + [8] * 20, verdicts=True)
    old = log(tmp_path / 'old.jsonl', theirs[::-1], [8] * 40)
    assert 'another judge' in refused(capsys, new, old)
    line = (new, old, '--judge', 'rule', '--questions', 'new', '--margin', 2, '--metric', 'accuracy')
    [row], _ = rows(capsys, 1, *line)
    assert (row['difference'], row['won'], row['lost']) == (pytest.approx(-37.5), 0, 20)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (('q5', 'What is 5 + 5?', '11'), "question 'q5' has the reference '10' in one and '11' in the other"),
        (('q5', 'What is 5 + 6?', '10'), "question 'q5' asks 'What is 5 + 5?' in one and 'What is 5 + 6?'"),
        (('q99', 'What is new?', '1'), "of 40 and 40 questions 1 are in new alone, first 'q5' ('What"),
    ],
)
def test_the_first_question_that_differs_is_named(tmp_path, change, message, capsys):
    other = [*ASKED[:5], change, *ASKED[6:]]
    new, old = log(tmp_path / 'new.jsonl', ASKED, [4] * 40), log(tmp_path / 'old.jsonl', other, [4] * 40)
    assert message in refused(capsys, new, old)


# Published scores


def test_the_published_scores_tell_their_source_and_are_the_published_ones():
    scores = pandas.read_csv(PUBLISHED, comment='#')
    assert (scores.model.nunique(), scores.benchmark.nunique(), len(scores)) == (29, 5, 680)
    if LEADERBOARD.is_file():
        theirs = json.loads(LEADERBOARD.read_text())
        ours = {(row.model, row.benchmark, row.metric): row.value for row in scores.itertuples()}
        assert ours == {
            (model, benchmark, metric.replace('@16-', '@16_')): value
            for model, facts in theirs.items()
            for metric, values in facts.items()
            if isinstance(values, dict)
            for benchmark, value in values.items()
            if value is not None
        }


def test_ours_stand_beside_theirs_in_one_table(tmp_path, capsys):
    """By the model's letters and digits, or by the name that is given; a model that is not there is told."""
    problems, dataset = [f'p{number // 2}' for number in range(238)], 'LiveMathBench-v202412'
    more = {'n': 48, 'k': [16], 'dataset': dataset, 'problems': problems}
    for model in ('deepseek_math-7b-rl', 'mine'):
        write_result(tmp_path / model, f'{model}_t1.0_l8192', [48] * 48 + [0] * 190, **more)
    write_result(tmp_path / 'few', 'deepseek_math-7b-rl_t1.0_l1', THIRDS, n=4, dataset=dataset)
    assert main(['compare', str(tmp_path / 'deepseek_math-7b-rl'), 'published']) == 0
    printed = capsys.readouterr().out
    assert printed.startswith('4 published scores: ')
    scores = pandas.read_csv(PUBLISHED, comment='#').query(
        'model == "DeepSeek-Math-7B-RL" and metric == "mG-Pass@16"'
    )
    row = next(line for line in printed.splitlines() if '| mG-Pass@16' in line)
    assert f'{scores[scores.here == dataset].value.item():.2f}' in row
    assert f'| {100 * 48 / 238:.2f} |' in row
    for line, code, message in (
        (['mine'], 2, "nothing is published of 'mine' on these 238 questions"),
        (['mine', '--against', 'DeepSeek-Math-7B-RL'], 0, ''),
        (['mine', '--against', 'nobody'], 2, "'nobody' is not published"),
        (['few'], 2, 'on these 24 questions'),
    ):
        assert main(['compare', str(tmp_path / line[0]), 'published', *line[1:]]) == code
        assert message in capsys.readouterr().err


# In CI

CI = Path(__file__).resolve().parents[2] / 'examples' / 'ci'
EXITS = [('better', 0), ('worse', 1), ('nowhere', 3)]


@pytest.mark.parametrize(('new', 'code'), EXITS)
def test_the_action_fails_where_the_new_run_is_worse(here, new, code):
    """Its own step with its own defaults, as a runner does it; the comment is in the summary of the job."""
    action = yaml.safe_load((CI / 'action.yml').read_text('utf-8'))
    [step] = action['runs']['steps']
    given = {name: told.get('default', '') for name, told in action['inputs'].items()}
    given |= {'new': new, 'old': 'old', 'questions': 'new'}
    variables = {
        name: re.sub(r'\$\{\{ inputs\.(\w+) \}\}', lambda found: given[found[1]], value)
        for name, value in step['env'].items()
    }
    folder = str(Path(sys.executable).parent)
    environment = {**os.environ, **variables, 'GITHUB_STEP_SUMMARY': 'summary.md'}
    environment['PATH'] = f'{folder}{os.pathsep}{environment["PATH"]}'
    line = ['bash', '-e', '-c', step['run']]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    heading = {0: '### ✅ better', 1: '### ❌ worse'}.get(code, '')
    assert not heading or Path('summary.md').read_text('utf-8').startswith(heading)


def test_the_fixture_is_one_of_pytest(here):
    shutil.copy(CI / 'conftest.py', 'conftest.py')
    names = ('better', 'worse', 'rerun')
    Path('test_it.py').write_text(
        ''.join(
            f'def test_{name}(assert_not_worse):\n'
            f"    assert_not_worse('{name}', 'old', margin=0.2, questions='new')\n\n"
            for name in names
        )
    )
    alone = ['-q', '-p', 'no:cacheprovider', '-c', '/dev/null', '--rootdir', '.']
    line = [sys.executable, '-m', 'pytest', *alone, 'test_it.py']
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert '1 failed, 1 passed, 1 skipped' in done.stdout
