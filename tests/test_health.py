"""A run whose responses were cut off is not mistaken for one that cannot do the task."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from result_files import ABBR, THIRDS, write_result

from gpassk_opencompass import FunctionJudge, InputError, Samples, score
from gpassk_opencompass.cli import main
from gpassk_opencompass.health import Health
from gpassk_opencompass.record import read
from gpassk_opencompass.report.gates import Gate
from gpassk_opencompass.report.leaderboard import boards
from gpassk_opencompass.report.summary import summary_table

ILL, WELL = ABBR.format(1), ABBR.format(2)
MARK = '88.3 % cut off, 97.9 % without an answer'
ENDED = {'unboxed': 0, 'hedged': 0, 'output_tokens': 24_000}
COPIES = {'distinct': 9.5, 'identical_questions': 0, 'long_repeats': 24, 'warnings': []}


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """Two runs of 24 questions with 10 samples: one was cut off, the other one is sound."""
    for model, c, truncated, unanswered in ((ILL, [0] * 23 + [5], 212, 235), (WELL, THIRDS, 12, 2)):
        path = write_result(tmp_path / 'outputs', model, c, n=10)
        known(path, **ENDED, truncated=truncated, unanswered=unanswered, copies_of=COPIES)
    return tmp_path / 'outputs'


def known(path: Path, **health: Any) -> None:
    """Say more of how the samples of a result ended."""
    record = json.loads(path.read_text())
    record['gpassk']['health'] |= health
    path.write_text(json.dumps(record))


def result_of(outputs: Path, model: str) -> Path:
    [path] = outputs.rglob(f'{model}/*.json')
    return path


def test_the_words_stand_in_every_output_of_a_report(
    outputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the score of that run, and of no other one."""
    report = tmp_path / 'report'
    assert main(['report', str(outputs), '-o', str(report), '--only', 'tables']) == 0
    lines = capsys.readouterr().out.splitlines()
    [row] = [line for line in lines if line.startswith(f'| {ILL} ') and 'cut off' in line]
    assert row.rstrip(' |').endswith(MARK)
    [other] = [line for line in lines if line.startswith(f'| {WELL} ') and line.rstrip(' |').endswith('ok')]
    assert other
    assert row in (report / 'leaderboard.md').read_text().splitlines()
    scores = list(csv.DictReader((report / 'scores.csv').read_text().splitlines()))
    assert {one['health'] for one in scores if one['run'] == ILL} == {MARK}
    assert {one['health'] for one in scores if one['run'] == WELL} == {''}
    assert {(one['truncated'], one['unanswered'], one['copies']) for one in scores if one['run'] == ILL} == {
        ('212', '235', '24')
    }
    published = json.loads((report / 'results.json').read_text())
    assert {name: list(facts.get('health', {}).values()) for name, facts in published.items()} == {
        'm1': [MARK],
        'm2': [],
    }
    [latex] = (report / 'tables').glob('MATH500-L5.tex')
    assert r'88.3 \% cut off' in latex.read_text()


def test_a_greedy_run_that_was_cut_off_has_a_note(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At its accuracy."""
    path = write_result(outputs, 'm2_t0_l100', [1] * 12 + [0] * 12, n=1)
    known(path, truncated=6, unanswered=0)
    assert main(['report', str(outputs), '-o', str(outputs / 'r'), '--only', 'tables']) == 0
    assert 'greedy run: 25.0 % cut off' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('gates', 'code', 'named'),
    [
        (['truncated>5%'], 3, [ILL]),
        (['truncated > 4.9 %'], 3, [ILL, WELL]),
        (['unanswered>97.95%', 'truncated>90%'], 0, []),
        (['copies>9.99%'], 3, [ILL, WELL]),
        (['unjudged>0%'], 0, []),
    ],
)
def test_a_report_can_be_made_to_fail(
    outputs: Path, gates: list[str], code: int, named: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """With 3, the runs by name, and all that it wrote."""
    options = [text for gate in gates for text in ('--fail-on', gate)]
    assert main(['report', str(outputs), '-o', str(outputs / 'r'), '--only', 'tables', *options]) == code
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith('--fail-on: ')]
    assert {model for model in (ILL, WELL) if any(model in line for line in said)} == set(named)
    assert (outputs / 'r' / 'leaderboard.md').exists()


def test_what_is_not_known_does_not_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A gate that nobody can look through is shut: files of labels tell of no response."""
    write_result(tmp_path, WELL, THIRDS)
    line = ['report', str(tmp_path), '-o', str(tmp_path / 'r'), '--only', 'tables', '--fail-on']
    assert main([*line, 'truncated>5%']) == 3
    assert 'how many samples are cut off is not known' in capsys.readouterr().err
    assert main([*line, 'unjudged>5%']) == 0


@pytest.mark.parametrize('text', ['truncated', 'cut>5%', 'truncated>5', 'truncated>500%', 'truncated<5%', ''])
def test_what_is_no_gate_is_refused(text: str) -> None:
    """With the names that there are."""
    with pytest.raises(InputError, match='truncated, unanswered, unjudged, unusual, copies'):
        Gate.parse(text)


def test_limits_are_shares_that_must_be_exceeded() -> None:
    """5 % cut off and 1 % without an answer are still no mark; what is not known is none."""
    assert Health(samples=1000, truncated=50, unanswered=10).mark == ''
    assert Health(samples=1000, truncated=51, unanswered=10).mark == '5.1 % cut off'
    assert Health(samples=1000, truncated=50, unanswered=11).mark == '1.1 % without an answer'
    assert Health(samples=1000).mark == ''
    assert Health(samples=1000).line == 'unjudged 0.0 %'


def test_copies_are_marked_in_every_table(
    outputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run has a letter in each table, and the note stands below it; so has its engine a name."""
    path = result_of(outputs, WELL)
    copies = 'all n = 10 responses are one text for 23 of 24 questions: the samples are copies'
    known(path, copies_of={**COPIES, 'warnings': [copies]})
    record = json.loads(path.read_text())
    record['gpassk']['provenance'] = {'versions': {'vllm': '0.32.0', 'torch': '2.13.0'}, 'warnings': []}
    path.write_text(json.dumps(record))
    report = tmp_path / 'report'
    assert main(['report', str(outputs), '-o', str(report), '--only', 'tables']) == 0
    printed, written = capsys.readouterr().out, (report / 'leaderboard.md').read_text()
    for text in (printed, written, summary_table([read(path)])):
        [note] = {line.strip() for line in text.splitlines() if line.startswith('[') and copies in line}
        mark = note.partition(' ')[0]
        rows = [line for line in text.splitlines() if line.startswith(f'| {WELL.partition("_")[0]}')]
        assert rows
        assert not [line for line in rows if WELL in line and mark not in line]
        assert not [line for line in rows if ILL in line and mark in line.split('|')[1]]
        assert any(mark in line for line in rows)
    scores = list(csv.DictReader((report / 'scores.csv').read_text().splitlines()))
    assert {one['engine'] for one in scores if one['run'] == WELL} == {'torch 2.13.0, vllm 0.32.0'}
    assert {one['engine'] for one in scores if one['run'] == ILL} == {''}
    result = read(path)
    servers = [{'engine': 'vllm', 'version': '0.32.0'}, {'model': 'm'}, {'version': '7'}, 'damaged']
    result.provenance = {'versions': {}, 'servers': [*servers, servers[0]]}
    assert result.engine == 'vllm 0.32.0, 7'
    [latex] = (report / 'tables').glob('MATH500-L5.tex')
    assert 'the samples are copies' in latex.read_text()
    assert main(['compare', str(outputs)]) == 0
    assert f'{WELL} (copies)' in capsys.readouterr().out
    assert main(['score', str(path)]) == 0
    assert copies in capsys.readouterr().out


def warnings_of(responses: list[list[str]]) -> list[str]:
    """What speaks against these responses, a list a question, being independent."""
    n = len(responses[0])
    columns = {
        'uid': [f'q{q}' for q in range(len(responses)) for _ in range(n)],
        'replica': [*range(n)] * len(responses),
        'reference': ['1'] * n * len(responses),
        'response': [text for each in responses for text in each],
    }
    return score(Samples(columns), FunctionJudge(lambda pair: False), k=1).health.copies_warnings()


def test_copies_are_seen_in_the_responses() -> None:
    """n times one text for nearly every question, or long ones that repeat another; nothing else is one."""
    one, four = ['\\boxed{1}'] * 4, [f'\\boxed{{{r}}}' for r in range(4)]
    [said] = warnings_of([one] * 19 + [four])
    assert said.startswith('all n = 4 responses are one text for 19 of 20 questions')
    text = 'a long chain of thought, ' * 20
    [said] = warnings_of([[f'{text}{q}'] * 3 + [f'{text}{q}.'] for q in range(2)])
    assert said.startswith('4 of 8 long responses repeat another replica of the same question word for word')
    assert warnings_of([one, four]) == []
    assert warnings_of([[text, text, *four[:2]], [f'{text}{r}' for r in range(4)]]) == []
    assert warnings_of([one[:1]] * 20) == []


SENTENCE = '1 of 96 samples count as incorrect because the judge gave up on them (timeout: 1)'


def test_what_the_judge_gave_up_on_is_said_wherever_the_score_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below the table with the name of the run, and by `gpassk score`, which keeps it."""
    path = write_result(tmp_path / 'in', WELL, THIRDS)
    known(path, undecided=1, undecided_reasons={'timeout': 1})
    record = json.loads(path.read_text())
    record['gpassk']['counts']['undecided'] = [0] * 23 + [1]
    path.write_text(json.dumps(record))
    [board], _ = boards([read(path)])
    assert board.notes == [f'{WELL}: {SENTENCE}.']
    assert main(['report', str(tmp_path / 'in'), '-o', str(tmp_path / 'out'), '--only', 'tables']) == 0
    assert SENTENCE in (tmp_path / 'out' / 'leaderboard.md').read_text().replace('\\', '')
    capsys.readouterr()
    assert main(['score', str(path), '-o', str(tmp_path / 'again.gpassk.json')]) == 0
    assert SENTENCE in capsys.readouterr().out
    again = read(tmp_path / 'again.gpassk.json')
    assert again.counts.undecided == [0] * 23 + [1]
    assert again.bounds['accuracy'] == pytest.approx([50.0, 100 * 49 / 96])
