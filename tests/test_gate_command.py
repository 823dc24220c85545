"""`gpassk gate`: exit codes, outputs for people, programs and CI, and what it refuses."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.dom import minidom

import numpy as np
import pytest
from result_files import write_result

from gpassk_opencompass.cli import main
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.record import read
from gpassk_opencompass.report import gate_runs
from gpassk_opencompass.uncertainty import compare, rerun_interval

METRIC = Metric.parse('mG-Pass@16')

QUESTIONS = {'LiveMathBench': 240, 'MATH500-L5': 120}

SHIFTS = {'old': 0.0, 'better': 1.5, 'worse': -1.5, 'rerun': 0.0}

NAME = '{}_t1.0_l100'


def write_run(
    folder: Path, name: str, shift: float, seed: int, n: int = 32, only: Sequence[str] = (), **more: Any
) -> list[Path]:
    """A run on two benchmarks, better by so much on the log-odds scale; two questions share a problem."""
    hardness = np.random.default_rng(1)
    paths = []
    for dataset, count in QUESTIONS.items():
        odds = np.exp(shift + np.repeat(hardness.normal(0, 2.5, count // 2), 2))
        if only and dataset not in only:
            continue
        c = np.random.default_rng(seed).binomial(n, odds / (1 + odds))
        problems = [f'p{number // 2}' for number in range(count)]
        settings = {'dataset': dataset, 'k': (4, 16), 'problems': problems} | more
        paths.append(
            write_result(folder, name if '_' in name else NAME.format(name), c.tolist(), n, **settings)
        )
    return paths


@pytest.fixture(scope='module')
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of each of the runs."""
    folder = tmp_path_factory.mktemp('runs')
    for seed, (name, shift) in enumerate(SHIFTS.items()):
        write_run(folder / name, name, shift, seed)
    return folder


@pytest.fixture
def here(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder above copies of the runs."""
    shutil.copytree(runs, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tables(capsys: pytest.CaptureFixture[str], code: int, *line: object) -> list[dict[str, Any]]:
    assert main(['gate', *map(str, line), '--json']) == code
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)['tables']
    return found


def refused(capsys: pytest.CaptureFixture[str], *line: object) -> str:
    """What is said of a command without an answer."""
    try:
        code = main(['gate', *map(str, line)])
    except SystemExit as end:  # of the parser
        code = int(end.code or 0)
    assert code == 3
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ('new', 'margin', 'code', 'outcome'),
    [
        ('better', 2, 0, 'passes'),
        ('rerun', 12, 0, 'passes'),
        ('worse', 2, 1, 'worse'),
        ('rerun', 0.2, 2, 'not decided'),
    ],
)
def test_the_exit_code_is_the_outcome(
    here: Path, new: str, margin: float, code: int, outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And stands first in what is printed, with what it is of."""
    assert main(['gate', new, '--against', 'old', '--margin', str(margin)]) == code
    printed = capsys.readouterr().out
    assert printed.startswith(f'{outcome}\n')
    assert 'of these two, chosen beforehand, at 95 %, all 2 statements together, for new questions' in printed
    assert f'margin {margin:g} points' in printed


def test_numbers_are_those_of_the_comparison(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Paired by question, clustered by problem, at 97.5 % each for two benchmarks, beside the rerun error."""
    rows, [whole] = (table['rows'] for table in tables(capsys, 1, 'worse', '--against', 'old'))
    assert [row['benchmark'] for row in rows] == list(QUESTIONS)
    for row in rows:
        new, old = (read(next(Path(one).rglob(f'{row["benchmark"]}*.json'))) for one in ('worse', 'old'))
        found = compare(new.values(METRIC), old.values(METRIC), new.counts.problem, 0.975)
        error = math.hypot(*(rerun_interval(one.table.c, one.n, METRIC).error for one in (new, old)))
        assert row['new − old'] == pytest.approx(100 * found.difference)
        assert (row['interval low'], row['interval high']) == pytest.approx(
            (100 * found.low, 100 * found.high)
        )
        assert row['rerun error'] == pytest.approx(100 * error)
        assert row['outcome'] == 'worse'
        assert (row['questions'], row['problems']) == (
            QUESTIONS[row['benchmark']],
            QUESTIONS[row['benchmark']] / 2,
        )
    assert (whole['outcome'], whole['exit code'], whole['margin'], whole['statements']) == (
        'worse',
        1,
        2.0,
        2,
    )


def test_questions_in_another_order_are_the_same_questions(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Matched by uid."""
    before = tables(capsys, 1, 'worse', '--against', 'old')
    for path in Path('old').rglob('*.json'):
        record = json.loads(path.read_text())
        counts = record['gpassk']['counts']
        record['gpassk']['counts'] = {name: column[::-1] for name, column in counts.items()}
        path.write_text(json.dumps(record))
    after = tables(capsys, 1, 'worse', '--against', 'old')
    for one, other in zip(before[0]['rows'], after[0]['rows'], strict=True):
        assert one == pytest.approx(other)


def test_these_very_questions_are_decided_with_less(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the rerun error alone, which is said."""
    new = tables(capsys, 2, 'rerun', '--against', 'old', '--margin', 0.2)
    same = tables(capsys, 2, 'rerun', '--against', 'old', '--margin', 0.2, '--questions', 'same')
    assert main(['gate', 'rerun', '--against', 'old', '--margin', '0.2']) == 2
    assert 'of equal runs these data could decide no margin below' in capsys.readouterr().out
    for one, other in zip(new[0]['rows'], same[0]['rows'], strict=True):
        assert other['error'] == other['rerun error'] <= one['error']
        assert other['least margin'] <= one['least margin'] * 1.001
    assert same[1]['rows'][0]['questions'] == 'same'
    assert 'for these very questions alone' in same[1]['rows'][0]['basis']
    assert main(['gate', 'rerun', '--against', 'old', '--questions', 'same', '--markdown', '-']) in (0, 2)
    assert 'for these very questions alone' in capsys.readouterr().out


def test_a_run_is_chosen_by_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a folder has several: both are among the new ones, or each in its own; parts of names do."""
    expected = tables(capsys, 1, 'worse', '--against', 'old')
    for line in (
        ('.', '--run', 'worse', '--against', NAME.format('old')),
        ('.', '--run', 'wor', '--against', '.', '--against-run', 'old'),
        ('worse', '--against', *sorted(Path('old').rglob('*.json'))),
    ):
        assert tables(capsys, 1, *line) == expected
    message = refused(capsys, '.', '--against', 'old')
    assert 'the new run is one of 4' in message
    assert 'choose it beforehand with --run NAME' in message
    assert 'the old run is one of 4' in refused(capsys, 'worse', '--against', '.')
    assert 'leave --against-run out' in refused(
        capsys, '.', '--run', 'worse', '--against', 'o', '--against-run', 'o'
    )


def test_several_metrics_are_several_statements(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At 1 − α/B each; what is left out is said."""
    line = ('worse', '--against', 'old', '--benchmark', 'live', '--metric', 'accuracy', 'mG-Pass@8')
    rows, [whole] = (table['rows'] for table in tables(capsys, 1, *line))
    assert [(row['metric'], row['level']) for row in rows] == [('accuracy', 0.975), ('mG-Pass@8', 0.975)]
    assert whole['remarks'] == ['left out of the new run: MATH500-L5']


def test_one_statement_on_all_is_named(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where each passes at 95 % and not at 97.5 %, with a margin in between."""
    rows = tables(capsys, 2, 'rerun', '--against', 'old', '--margin', 0.2)[0]['rows']
    plain = [
        tables(capsys, 2, 'rerun', '--against', 'old', '--margin', 0.2, '--benchmark', name)[0]['rows'][0]
        for name in QUESTIONS
    ]
    needed = max(-row['inner interval low'] for row in plain)
    alone = max(-row['inner interval low'] for row in rows)
    margin = (needed + alone) / 2
    found, [whole] = (
        one['rows'] for one in tables(capsys, 0, 'rerun', '--against', 'old', '--margin', margin)
    )
    assert whole['outcome'] == 'passes'
    assert 'yes' in {row['together'] for row in found}
    assert {row['outcome'] for row in found if row['together'] == 'yes'} == {'not worse'}
    assert main(['gate', 'rerun', '--against', 'old', '--margin', str(margin)]) == 0
    assert 'as part of the statement that no row is' in capsys.readouterr().out


def test_a_pull_request_gets_a_comment(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a file beside the table, or on standard output alone."""
    assert main(['gate', 'worse', '--against', 'old', '--markdown', 'comment.md']) == 1
    assert 'wrote comment.md' in capsys.readouterr().out
    text = Path('comment.md').read_text('utf-8')
    assert main(['gate', 'worse', '--against', 'old', '--markdown', '-']) == 1
    assert capsys.readouterr().out == text
    assert text.startswith('### gpassk gate: worse\n\n')
    assert '- LiveMathBench, mG-Pass@16: the new run is worse: the 97.5 % interval of new − old is [' in text
    assert 'LiveMathBench: 240 questions, 32 (new) and 32 (old) samples of each' in text
    assert text.count('\n| ') == 1 + len(QUESTIONS)


def test_junit_has_a_case_a_row(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """worse is a failure, not decided is skipped; the counts say so."""
    expected = {'worse': (2, 1, 'failure'), 'rerun': (2, 2, 'skipped'), 'better': (0, 0, '')}
    for new, (count, code, kind) in expected.items():
        line = ['gate', new, '--against', 'old', '--margin', '0.2', '--junit', 'gate.xml']
        assert main(line) == code
        document = minidom.parse('gate.xml')
        [suite] = document.getElementsByTagName('testsuite')
        cases = suite.getElementsByTagName('testcase')
        assert [(case.getAttribute('classname'), case.getAttribute('name')) for case in cases] == [
            (f'gpassk.gate.{name}', 'mG-Pass@16') for name in QUESTIONS
        ]
        found = {name: len(suite.getElementsByTagName(name)) for name in ('failure', 'skipped', 'error')}
        assert found == {'failure': 0, 'skipped': 0, 'error': 0} | ({kind: count} if kind else {})
        for element in (document.documentElement, suite):
            assert element.getAttribute('failures') == str(found['failure'])
            assert element.getAttribute('tests') == '2'
        assert suite.getAttribute('skipped') == str(found['skipped'])
    assert 'wrote gate.xml' in capsys.readouterr().out


def test_what_else_may_make_the_difference_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cut responses, unjudged samples, another temperature, another n, and counts that are all alike."""
    cold, doubt = 'other_t0.3_l100', [1] + 239 * [0]
    write_run(here / 'other', cold, 0.0, 9, n=16, only=['LiveMathBench'], unjudged=doubt)
    for path in Path('other').rglob('*.json'):
        record = json.loads(path.read_text())
        record['gpassk']['health'] |= {'truncated': 600, 'truncated_by': 'engine'}
        path.write_text(json.dumps(record))
    for path in Path('old').rglob('*.json'):
        record = json.loads(path.read_text())
        record['gpassk']['health'] |= {'truncated': 0, 'truncated_by': 'engine'}
        path.write_text(json.dumps(record))
    line = ('other', '--against', 'old', '--benchmark', 'live', '--margin', 30)
    remarks = '\n'.join(tables(capsys, 0, *line)[1]['rows'][0]['remarks'])
    assert '16 samples a question in the new run, 32 in the old' in remarks
    assert 'temperature 0.3 in the new run, 1 in the old' in remarks
    assert '15.6 % of the responses cut off in the new run, 0.0 % in the old' in remarks
    assert 'new: 600 of 3840 responses were cut off' in remarks
    assert 'new: 1 samples (0.026 %) are unjudged' in remarks
    shutil.copytree('old', 'copy')
    copied = tables(capsys, 2, 'copy', '--against', 'old', '--margin', 0.2)
    assert 'every question has the same count in both' in '\n'.join(copied[1]['rows'][0]['remarks'])


def test_what_cannot_be_compared_is_no_answer(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other questions, another judge, a file with itself, a benchmark that is missing, n too small."""
    only = ['LiveMathBench']
    write_run(here / 'data', 'a', 0.0, 5, only=only, data='other')
    write_run(here / 'judge', 'a', 0.0, 5, only=only, judge='llm')
    write_run(here / 'small', 'a', 0.0, 5, only=only, n=8, k=(4,))
    write_run(here / 'part', 'a', 0.0, 5, only=only)
    [old] = Path('old').rglob('LiveMath*.json')
    expected = {
        ('data',): 'other questions or references (240 and 240 questions, 240 of the same name)',
        ('judge',): 'another judge, or one with other settings or packages (llm and rule)',
        ('small', '--metric', 'G-Pass@16_1.0'): 'takes 16 samples a question; the new run has 8',
        ('old',): 'is the new and the old run: a run is not compared with itself',
    }
    for line, message in expected.items():
        assert message in refused(capsys, *line, '--against', old), line
    message = refused(capsys, 'part', '--against', 'old')
    assert 'the new run has no complete result on MATH500-L5; it has LiveMathBench' in message
    assert main(['gate', 'part', '--against', 'old', '--benchmark', 'LiveMathBench', '--margin', '40']) == 0


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        (['nowhere', '--against', 'old'], 'nowhere is neither a file nor a folder'),
        (['worse', '--against', 'no/where'], 'no/where is neither a file nor a folder'),
        (['worse', '--against', 'nobody'], "'nobody' is no run here"),
        (['empty', '--against', 'old'], 'the new run has no sampled result: 0 results found'),
        (['worse'], '--against'),
        (['worse', '--against', 'old', '--margin', '0'], '--margin 0: expected points above 0'),
        (['worse', '--against', 'old', '--margin', '-2'], '--margin -2'),
        (['worse', '--against', 'old', '--margin', 'nan'], '--margin nan'),
        (['worse', '--against', 'old', '--margin', '200'], '--margin 200'),
        (['worse', '--against', 'old', '--margin', 'two'], "'two': expected points"),
        (['worse', '--against', 'old', '--level', '95'], 'level = 95.0: expected a confidence above 0.5'),
        (['worse', '--against', 'old', '--metric', 'Greedy'], "'Greedy' is no metric"),
        (['worse', '--against', 'old', '--metric', 'mG-Pass@64'], 'mG-Pass@64 takes 64 samples'),
        (['worse', '--against', 'old', '--metric', 'mG-Pass@1'], 'is 0 for every model'),
        (['worse', '--against', 'old', '--benchmark', 'AIME'], "'AIME' is no benchmark here"),
        (['worse', '--against', 'old', '--junit', 'no/folder/gate.xml'], 'cannot write no/folder/gate.xml'),
        (['worse', '--against', 'old', '--markdown', '-', '--json'], 'both go to standard output'),
        (['worse', '--against', 'old', '--margin', '2p'], "'2p': expected points, such as 2"),
        (['worse', '--against', 'old', '--junit', '-'], '--junit - is no file'),
        (['worse', '--against', 'old', '--junit', 'gate', '--markdown', './gate'], 'both go to gate'),
        (['worse', '--against', 'old', '--unknown'], 'unrecognized arguments'),
    ],
)
def test_wrong_use_has_a_code_of_its_own(
    here: Path, line: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """3, never 1 or 2, which are answers."""
    (here / 'empty').mkdir()
    assert message in refused(capsys, *line)


def test_what_breaks_is_no_answer(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error of the program would end with 1, which is *worse*."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(gate_runs, 'gate', broken)
    assert 'ZeroDivisionError' in refused(capsys, 'worse', '--against', 'old')


def damage(folder: Path, dataset: str) -> Path:
    """Cut a result file of a run short, as a full disk does."""
    [path] = folder.rglob(f'{dataset}*.json')
    path.write_text(path.read_text()[:300])
    return path


def test_a_damaged_file_of_a_run_is_no_answer(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A benchmark of the old run must not go unseen; by name, the others can be decided on."""
    path = damage(here / 'old', 'MATH500-L5')
    said = refused(capsys, 'better', '--against', 'old')
    assert f'{path} cannot be read' in said
    assert 'may be a result of one of the two runs' in said
    _, whole = tables(capsys, 0, 'better', '--against', 'old', '--benchmark', 'LiveMathBench')
    assert any(remark.startswith(f'left out: {path} cannot') for remark in whole['rows'][0]['remarks'])


def test_a_failed_evaluation_is_no_answer(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The older result of the same data set must not stand for it."""
    [path] = (here / 'better').rglob('LiveMathBench*.json')
    newer = here / 'better/w/20260301_000000/results' / path.parent.name / path.name
    newer.parent.mkdir(parents=True)
    newer.write_text('{"error": "no predictions"}')
    said = refused(capsys, 'better', '--against', 'old')
    assert f'{newer} says that its evaluation failed: no predictions' in said


def test_runs_of_one_model_with_two_n_are_two(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is chosen by the name that tables show, or a part of it."""
    write_run(here / 'again', 'better', 1.5, 33, n=48)
    line = ('better', 'again', '--against', 'old')
    said = refused(capsys, *line)
    names = [f'{NAME.format("better")} ({sizes})' for sizes in ('k2-r16', 'k2-r24')]
    assert 'the new run is one of 2' in said
    assert all(name in said for name in names)
    for part, name in zip(('r16', 'r24'), names, strict=True):
        _, whole = tables(capsys, 0, *line, '--run', part)
        assert whole['rows'][0]['new'] == name


def test_hostile_names_stay_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In XML, in Markdown and on the terminal."""
    name = '<b>&"\']]>|\x1b[2J\uffff`x`'
    for path in Path('worse').rglob('LiveMath*.json'):
        record = json.loads(path.read_text())
        record['gpassk']['run'] = {'model': name, 'dataset': name, 'host': 'file'}
        (here / 'new.gpassk.json').write_text(json.dumps(record))
    for path in Path('old').rglob('LiveMath*.json'):
        record = json.loads(path.read_text())
        record['gpassk']['run'] = {'model': 'old', 'dataset': name, 'host': 'file'}
        (here / 'old.gpassk.json').write_text(json.dumps(record))
    line = [
        'gate',
        'new.gpassk.json',
        '--against',
        'old.gpassk.json',
        '--junit',
        'g.xml',
        '--markdown',
        'c.md',
    ]
    assert main(line) == 1
    printed, text = capsys.readouterr().out, Path('c.md').read_text('utf-8')
    [case] = minidom.parse('g.xml').getElementsByTagName('testcase')
    assert '<b>&"\']]>|' in case.getAttribute('classname')
    assert '\x1b' not in printed + text
    assert '<b>' not in text
