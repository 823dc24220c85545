"""Samples that the judge gave up on count as incorrect, and whoever shows the score says so beside it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from test_scoring import make_samples

from gpassk_opencompass import IncompleteError, Verdict, score
from gpassk_opencompass.cli import main
from gpassk_opencompass.judges import Judgement, Pair
from gpassk_opencompass.judges.cascade import CascadeJudge
from gpassk_opencompass.judges.protocol import FunctionJudge
from gpassk_opencompass.judges.rule import RuleJudge
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.report.leaderboard import boards
from gpassk_opencompass.results.read import read

SENTENCE = '1 of 48 samples count as incorrect because the judge gave up on them (timeout: 1)'


class GivesUp:
    """Says yes to 1, gives up on x, says no to all else."""

    def identity(self) -> dict[str, object]:
        return {'name': 'rule'}

    def judge(self, pairs: list[Pair]) -> list[Judgement]:
        gave_up = Judgement(Verdict.INCORRECT, 'math-verify', 'timeout')
        said = {True: Judgement(Verdict.CORRECT, 'string'), False: Judgement(Verdict.INCORRECT, 'integer')}
        return [gave_up if pair.answer == 'x' else said[pair.answer == '1'] for pair in pairs]

    def statistics(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        pass


def record_of_24(judge: Any = None) -> dict[str, Any]:
    """24 questions, two samples each: all are right but one, on which the judge gives up."""
    return score(make_samples([['1', '1']] * 23 + [['1', 'x']]), judge or GivesUp(), n=2, k=2)


def test_the_record_counts_them_and_bounds_the_scores() -> None:
    """Wrong in the score and the lower bound, right in the upper one; who decided says why."""
    record = record_of_24()
    block, details = record['gpassk'], record['details']
    assert record['G-Pass@2_1.0'] == pytest.approx(100 * 23 / 24)
    assert block['bounds']['G-Pass@2_1.0'] == pytest.approx([100 * 23 / 24, 100.0])
    assert (block['undecided'], block['undecided_reasons']) == (1, {'timeout': 1})
    assert block['counts']['undecided'] == [0] * 23 + [1]
    assert (block['unjudged'], block['counts']['unjudged']) == (0, [0] * 24)
    assert block['origins'] == {'string': 47, 'math-verify': 1}
    assert details['verdicts'][-1] == '10'
    assert details['judges'][details['judged_by'][-1][1]] == 'timeout'


def test_a_run_says_it_when_it_is_scored() -> None:
    """A warning, in words."""
    said: list[str] = []
    sink = logger.add(said.append, level='WARNING', format='{message}')
    record_of_24()
    logger.remove(sink)
    assert SENTENCE in ''.join(said)


def test_a_report_says_it_below_the_table_and_on_the_page(tmp_path: Path) -> None:
    """With the name of the run, and the limits of its score in the table of all scores."""
    path = tmp_path / 'in' / 'w' / '20260101_000000' / 'results' / 'm_t1.0_l100' / 'MATH500-L5-k2-r1.json'
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record_of_24()))
    result = read(path)
    assert result.bounds(Metric.parse('accuracy')) == pytest.approx((47 / 48, 1.0))
    [board], _ = boards([result])
    assert board.notes == [f'm_t1.0_l100: {SENTENCE}.']
    for part in ('tables', 'page'):
        assert main(['report', str(tmp_path / 'in'), '-o', str(tmp_path / 'out'), '--only', part]) == 0
    assert SENTENCE in (tmp_path / 'out' / 'leaderboard.md').read_text().replace('\\', '')


def test_the_page_has_it_among_the_warnings_of_a_run(tmp_path: Path) -> None:
    """And counts the sample where it shows what all in doubt would be worth."""
    from gpassk_opencompass.report.page import page_content

    path = tmp_path / 'm_t1.0_l100.gpassk.json'
    path.write_text(json.dumps(record_of_24()))
    [board] = page_content(boards([read(path)])[0])['boards']
    [entry] = board['entries']
    assert entry['warnings'][-1] == f'{SENTENCE}.'
    assert (entry['unjudged'], entry['inDoubt']) == ([], [0] * 23 + [1])


def test_gpassk_score_says_it_of_a_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Below the table; and the record that it writes has the same bounds."""
    path = tmp_path / 'r.gpassk.json'
    path.write_text(json.dumps(record_of_24()))
    assert main(['score', str(path), '-o', str(tmp_path / 'again.gpassk.json')]) == 0
    assert SENTENCE in capsys.readouterr().out
    block = json.loads((tmp_path / 'again.gpassk.json').read_text())['gpassk']
    assert block['counts']['undecided'] == [0] * 23 + [1]
    assert block['bounds']['accuracy'] == pytest.approx([100 * 47 / 48, 100.0])


@pytest.mark.slow
def test_gpassk_score_says_it_of_responses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And its record has them."""
    path, out = tmp_path / 'responses.jsonl', tmp_path / 'r.gpassk.json'
    row = {'question': '?', 'answer': '5', 'responses': [r'\boxed{5}', r'\boxed{2^{2^{2024}}}']}
    path.write_text(json.dumps(row) + '\n')
    assert main(['score', str(path), '-o', str(out)]) == 0
    sentence = '1 of 2 samples count as incorrect because the judge gave up on them (too large: 1)'
    assert sentence in capsys.readouterr().out
    assert json.loads(out.read_text())['gpassk']['undecided_reasons'] == {'too large': 1}


@pytest.mark.parametrize('damage', [[0] * 23 + [2], [1] + [0] * 23, [0] * 24, 'x'])
def test_a_damaged_column_is_refused(tmp_path: Path, damage: object) -> None:
    """More than are not correct, in another question, with another sum, or none."""
    from gpassk_opencompass import InputError

    record = record_of_24()
    record['gpassk']['counts']['undecided'] = damage
    (tmp_path / 'r.gpassk.json').write_text(json.dumps(record))
    with pytest.raises(InputError, match='undecided'):
        read(tmp_path / 'r.gpassk.json')


def test_the_second_of_a_cascade_decides_what_the_first_gave_up_on() -> None:
    """Then nothing is undecided, and nothing is in doubt."""
    second = FunctionJudge(lambda pair: pair.answer == 'x', name='second')
    record = record_of_24(CascadeJudge(GivesUp(), second))
    assert (record['accuracy'], record['gpassk']['undecided']) == (100.0, 0)
    assert record['gpassk']['origins'] == {'string': 47, 'second': 1}


@pytest.mark.slow
def test_a_model_whose_answers_nobody_can_prove_gets_its_result_in_time() -> None:
    """5 % of its samples, each another one: the result is there, and all that it can be worth."""
    endless = (rf'5(\sin^2 x+\cos^2 x)^{{{2024 + number}}}' for number in range(16))
    answers = [['5'] * 4 + [one if number % 4 == 1 else '5'] for number, one in enumerate(endless)]
    with RuleJudge(workers=2, timeout=0.25) as judge:
        started = time.monotonic()
        record = score(make_samples(answers, reference='5'), judge, n=5, k=5)
        assert time.monotonic() - started < 120
    block = record['gpassk']
    assert (block['undecided'], block['unjudged'], record['accuracy']) == (4, 0, 95.0)
    assert block['bounds']['accuracy'] == [95.0, 100.0]
    assert block['undecided_reasons'] == {'timeout': 4}


def test_a_reference_that_nobody_can_use_is_named() -> None:
    """With its question, and how many samples stayed unjudged by it."""
    samples = make_samples([['1', '2'], ['3', '4']], reference='2^{2^{2024}}')
    with (
        RuleJudge() as judge,
        pytest.raises(IncompleteError, match=r"'q0' \(2; reference '2\^\{2\^\{2024\}\}'\), 'q1' \(2;"),
    ):
        score(samples, judge, n=2, k=2)
