"""A run whose responses were cut off is not mistaken for one that cannot do the task."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from result_files import ABBR, THIRDS, write_result

from gpassk_opencompass import FunctionJudge, Samples, score
from gpassk_opencompass.cli import main
from gpassk_opencompass.health import Health
from gpassk_opencompass.record import read
from gpassk_opencompass.report.frame import boards
from gpassk_opencompass.report.tables import summary_table

ILL, WELL = ABBR.format(1), ABBR.format(2)
MARK = '88.3 % cut off, 97.9 % without an answer'
ENDED = {'hedged': 0, 'output_tokens': 24_000}
COPIES = {'distinct': 9.5, 'copies': 24}


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """Two runs of 24 questions with 10 samples: one was cut off, the other one is sound."""
    for model, c, truncated, unanswered in ((ILL, [0] * 23 + [5], 212, 235), (WELL, THIRDS, 12, 2)):
        path = write_result(tmp_path / 'outputs', model, c, n=10)
        known(path, **ENDED, truncated=truncated, unanswered=unanswered, **COPIES)
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
    """Beside its score, with a word that is at no other one."""
    report = tmp_path / 'report'
    assert main(['report', str(outputs), '-o', str(report), '--only', 'tables']) == 0
    printed = capsys.readouterr().out
    for text in (printed, (report / 'leaderboard.md').read_text()):
        rows = {
            line.split('|')[1].strip(): line for line in text.splitlines()[::-1] if line.startswith('| m')
        }
        assert rows['m1'].rstrip(' |').endswith(f'| check: {MARK}')
        assert rows['m2'].rstrip(' |').endswith('| 5.0 % cut off, 0.8 % without an answer')
    scores = list(csv.DictReader((report / 'scores.csv').read_text().splitlines()))
    own = {
        tuple(one[name] for name in ('health', 'truncated', 'unanswered', 'copies'))
        for one in scores
        if one['run'] == 'm1'
    }
    assert own == {(f'check: {MARK}', '212', '235', '24')}
    [latex] = (report / 'tables').glob('MATH500-L5.tex')
    assert r'88.3 \% cut off' in latex.read_text()


def test_a_greedy_run_that_was_cut_off_has_a_note(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At its accuracy."""
    path = write_result(outputs, 'm2_t0_l100', [1] * 12 + [0] * 12, n=1)
    known(path, truncated=6, unanswered=0)
    assert main(['report', str(outputs), '-o', str(outputs / 'r'), '--only', 'tables']) == 0
    assert 'greedy run: 25.0 % cut off' in capsys.readouterr().out


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
    """Beside the score, and in a sentence below it; so has its engine a name."""
    path = result_of(outputs, WELL)
    copies = 'all n = 10 responses are one text for 23 of 24 questions: the samples are copies'
    known(path, warnings=[copies])
    record = json.loads(path.read_text())
    record['gpassk']['provenance'] = {'versions': {'vllm': '0.32.0', 'torch': '2.13.0'}, 'warnings': []}
    path.write_text(json.dumps(record))
    report = tmp_path / 'report'
    assert main(['report', str(outputs), '-o', str(report), '--only', 'tables']) == 0
    printed, written = capsys.readouterr().out, (report / 'leaderboard.md').read_text()
    [latex] = (report / 'tables').glob('MATH500-L5.tex')
    for text in (printed, written, summary_table([read(path)])):
        assert copies in text
    assert 'the samples are copies' in latex.read_text()
    scores = list(csv.DictReader((report / 'scores.csv').read_text().splitlines()))
    assert {one['run']: one['engine'] for one in scores} == {'m2': 'torch 2.13.0, vllm 0.32.0', 'm1': ''}
    assert {one['run']: 'copies' in one['health'] for one in scores} == {'m2': True, 'm1': False}
    result = read(path)
    servers = [{'engine': 'vllm', 'version': '0.32.0'}, {'model': 'm'}, {'version': '7'}, 'damaged']
    result.provenance = {'versions': {}, 'servers': [*servers, servers[0]]}
    assert result.engine == 'vllm 0.32.0, 7'
    assert main(['compare', str(path), str(result_of(outputs, ILL))]) == 0
    assert f'MATH500-L5: new: {copies}' in capsys.readouterr().out
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
    return score(Samples(columns), FunctionJudge(lambda pair: False), k=1).health.remarks('copies')


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
    """Below the table with the name of the run, on the page, and by `gpassk score`, which keeps it."""
    path = write_result(tmp_path / 'in', WELL, THIRDS)
    known(path, undecided=1, undecided_reasons={'timeout': 1})
    record = json.loads(path.read_text())
    record['gpassk']['counts']['undecided'] = [0] * 23 + [1]
    path.write_text(json.dumps(record))
    [board], _ = boards([read(path)])
    assert board.entries[0].remarks == [SENTENCE]
    assert main(['report', str(tmp_path / 'in'), '-o', str(tmp_path / 'out'), '--only', 'tables']) == 0
    assert SENTENCE in (tmp_path / 'out' / 'leaderboard.md').read_text().replace('\\', '')
    capsys.readouterr()
    assert main(['score', str(path), '-o', str(tmp_path / 'again.gpassk.json')]) == 0
    assert SENTENCE in capsys.readouterr().out
    again = read(tmp_path / 'again.gpassk.json')
    assert again.counts.undecided == [0] * 23 + [1]
    assert again.bounds['accuracy'] == pytest.approx([50.0, 100 * 49 / 96])
