"""The tables of a report, against tables made by hand.

The intervals were computed apart: Wilson's equation solved with Student's t and the effective number of
questions, by `numpy.roots`.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import board_of, made_result
from result_files import ABBR, HALVES, THIRDS, block, entry_of, write_result, write_three
from scipy import stats

from gpassk_opencompass import InputError
from gpassk_opencompass.cli import main
from gpassk_opencompass.collect import collect
from gpassk_opencompass.report.leaderboard import boards
from gpassk_opencompass.report.scores import ALL, Score, read_scores, scores_csv, scores_of
from gpassk_opencompass.report.tables import mean_score, overview_table, write_scored
from gpassk_opencompass.sweep.folder import manifest_text
from gpassk_opencompass.tables import Table, csv_cell, read_csv_cell

LEADERBOARD = [
    ['model', 'Greedy', 'G-Pass@2_0.5', 'G-Pass@2_0.75', 'G-Pass@2_1.0', 'mG-Pass@2'],
    ['m2_t1.0_l100', '41.67 [23.4, 62.5]', '77.78 [59.7, 89.2]', *['55.56 [36.8, 72.8]'] * 3],
    ['m1_t1.0_l100', '–', '61.11 [42.0, 77.3]', *['38.89 [22.7, 58.0]'] * 3],
]


def written(outputs: Path, folder: Path, **options: Any) -> Path:
    found, _ = boards(collect([outputs]).results)
    write_scored([(board, scores_of(board)) for board in found], folder, **options)
    return folder


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip('|').split('|')]


@pytest.fixture(name='report')
def fixture_report(tmp_path: Path) -> Path:
    write_three(tmp_path / 'outputs')
    return written(tmp_path / 'outputs', tmp_path / 'report')


def test_the_leaderboard_is_the_one_made_by_hand(report: Path) -> None:
    """Scores with two decimals, intervals with one, best first."""
    lines = (report / 'leaderboard.md').read_text().splitlines()
    found = [cells(line) for line in lines if line.startswith(('| model', '| m1', '| m2'))][:3]
    assert [row[:6] for row in found] == LEADERBOARD
    assert found[0][6:] == ['rank', 'n', 'unjudged']
    assert [row[6:] for row in found[1:]] == [['1–2', '4', '0']] * 2
    assert '24 questions, judge: rule.' in lines


def test_contests_and_languages_have_a_table_a_metric(report: Path) -> None:
    """12 problems a group are too few for an interval, and the note says so."""
    text = (report / 'leaderboard.md').read_text()
    part = text.partition('### MATH500-L5: mG-Pass@2 by contest and language')[2]
    found = [cells(line) for line in part.splitlines() if line.startswith('|')][:4]
    assert found[0] == ['model', 'A_cn', 'A_en']
    assert found[2] == ['m2_t1.0_l100', '55.56 [a]', '55.56 [a]']
    assert '[a] no interval: 12 problems, fewer than 20' in part


def test_the_csv_has_all_digits_and_reads_back(report: Path) -> None:
    """Every number of every run, group and metric; NaN nowhere."""
    scores = read_scores(report / 'scores.csv')
    [one] = [s for s in scores if (s.run, s.group, str(s.metric)) == (ABBR.format(1), ALL, 'G-Pass@2_1.0')]
    assert one.value == pytest.approx(100 * (8 + 8 / 6) / 24, abs=1e-12)
    assert (one.low, one.high) == pytest.approx((22.680316390760783, 57.99287437850189), abs=1e-9)
    assert (one.temperature, one.max_out_len, one.top_p, one.refused) == (1.0, 100.0, None, '')
    # 24 questions: the rerun error of a third of them, half of the time right, is smaller than for new ones.
    assert one.error is not None
    assert one.rerun_error is not None
    assert 0 < one.rerun_error < one.error
    cells = {cell for row in csv.reader((report / 'scores.csv').read_text().splitlines()) for cell in row}
    assert 'nan' not in {cell.lower() for cell in cells}
    assert {score.group for score in scores} == {'', 'A_cn', 'A_en'}


def test_the_json_has_the_published_layout(report: Path) -> None:
    """A model by its name, metrics with a hyphen, null where a score is missing."""
    content = json.loads((report / 'results.json').read_text())
    assert list(content) == ['m2', 'm1']
    assert content['m1']['Greedy'] == {'MATH500-L5': None}
    assert content['m2']['Greedy'] == {'MATH500-L5': 41.67}
    assert content['m1']['G-Pass@2-0.5'] == {'MATH500-L5': 61.11}
    assert set(content['m1']) >= {'link', 'opensourced', 'mathLM', 'o1-like', 'mG-Pass@2'}


def test_a_model_with_two_settings_is_two_models_of_the_json(tmp_path: Path) -> None:
    """By their abbreviations; the link is that of the manifest's path on the hub."""
    write_result(tmp_path / 'outputs', 'm_t0.3_l100', THIRDS)
    write_result(tmp_path / 'outputs', 'm_t1.0_l100', HALVES)
    entry = entry_of('m_t1.0_l100', settings={'max_out_len': 100})
    (tmp_path / 'outputs' / 'manifest.jsonl').write_text(manifest_text([entry]))
    content = json.loads((written(tmp_path / 'outputs', tmp_path / 'r') / 'results.json').read_text())
    links = {model: facts['link'] for model, facts in content.items()}
    assert links == {'m_t1.0_l100': 'https://huggingface.co/org/m', 'm_t0.3_l100': ''}


def test_the_latex_is_escaped(report: Path) -> None:
    """booktabs, and no bare underscore."""
    text = (report / 'tables' / 'MATH500-L5.tex').read_text()
    assert r'\toprule' in text
    assert r'm2\_t1.0\_l100 & 41.67 [23.4, 62.5] & 77.78 [59.7, 89.2]' in text
    assert (report / 'tables' / 'MATH500-L5.groups.tex').is_file()


def test_names_that_would_break_a_table_do_not() -> None:
    """Bars, line breaks, and what TeX reads as a command."""
    table = Table('t', ['model', 'x'], [['[a|b]\n_&%$#{}~^\\', '1']], ['50 % & more'])
    [row] = [line for line in table.to_markdown().splitlines() if r'a\|b' in line]
    assert row.count(' | ') == 1
    latex = table.to_latex()
    assert r'{}[a\textbar{}b] \_\&\%\$\#\{\}' in latex
    assert r'50 \% \& more' in latex


FORMULAS = ['=HYPERLINK(1)', '+1', '-1', '@x', "'=1", "''-1", "'m", 'm', '\tx']


def test_hedged_responses_stand_below_the_table(tmp_path: Path) -> None:
    """In words, by the name of the run; a run without a count of them has no line."""
    told, silent = (made_result(f'{name}_t1.0_l50', [1, 2, 3], 4, (2, 4)) for name in ('told', 'silent'))
    told.health = told.health.model_copy(update={'hedged': 6, 'truncated': 0})
    board = board_of([told, silent])
    write_scored([(board, scores_of(board))], tmp_path)
    lines = (tmp_path / 'leaderboard.md').read_text().splitlines()
    assert [line for line in lines if line.startswith('- ') and 'asked for' in line] == [
        '- told_t1.0_l50: 6 of 12 responses state more answers than are asked for and count as incorrect'
    ]


def test_no_cell_of_a_csv_is_a_formula(report: Path, score: Score) -> None:
    """A spreadsheet sees an apostrophe; reading undoes it, and numbers stay numbers."""
    path = report / 'scores.csv'
    path.write_text(scores_csv(score._replace(model=name, error=-1.0) for name in FORMULAS))
    with path.open(newline='') as file:
        cells_read = [row['model'] for row in csv.DictReader(file)]
    assert [cell for cell in cells_read if cell[0] in '=+-@\t\r'] == []
    assert [one.model for one in read_scores(path)] == FORMULAS
    assert {one.error for one in read_scores(path)} == {-1.0}
    assert Table('t', ['a'], [['=1']]).to_csv() == "a\n'=1\n"


@given(st.text(alphabet="'=+-@\t\rx"))
def test_every_text_comes_back_from_a_csv_cell(text: str) -> None:
    """Whatever apostrophes it begins with; a carriage return is an escape by then."""
    assert read_csv_cell(csv_cell(text)) == text.replace('\r', r'\r')
    assert csv_cell(text)[:1] not in tuple('=+-@\t\r')


def test_markup_in_a_name_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    """In cells, headers, titles, signatures and what was left out."""
    hostile = '<script>|'
    names = {'run': {'model': hostile, 'dataset': hostile}, 'signature': hostile}
    file = tmp_path / 'o' / 'x.gpassk.json'
    file.parent.mkdir()
    told = block(THIRDS, 4, judge=hostile, groups=(hostile, 'b'), problems=['<i>'] * 24)
    file.write_text(json.dumps({'gpassk': {**told, **names}}))
    text = (written(tmp_path / 'o', tmp_path / 'r', notes=[hostile]) / 'leaderboard.md').read_text()
    assert '&lt;script>' in text
    assert '<' not in text
    assert '<' not in Table('t', [hostile], [[hostile]]).to_markdown()
    [row] = [line for line in text.splitlines() if line.startswith('| &lt;script>') and line.endswith(' 0 |')]
    assert len(re.findall(r'(?<!\\)\|', row)) == 10


def two_benchmarks(outputs: Path, **second: Any) -> None:
    write_result(outputs, ABBR.format(1), THIRDS, problems=[f'm{i}' for i in range(24)])
    write_result(outputs, ABBR.format(2), HALVES, problems=[f'm{i}' for i in range(24)])
    settings = {'problems': [f'a{i}' for i in range(24)], 'data': 'other', **second}
    write_result(outputs, ABBR.format(1), HALVES, dataset='AIME2024', **settings)


def overview(outputs: Path) -> Table:
    found = boards(collect([outputs]).results)[0]
    table = overview_table([(board, scores_of(board)) for board in found], average=True)
    assert table is not None
    return table


def test_an_average_is_over_all_benchmarks_or_none(tmp_path: Path) -> None:
    """A run that lacks one has no average."""
    two_benchmarks(tmp_path)
    table = overview(tmp_path)
    assert table.headers == ['model', 'AIME2024: mG-Pass@2', 'MATH500-L5: mG-Pass@2', 'average']
    rows = {row[0]: row[1:] for row in table.texts()}
    assert rows[ABBR.format(1)][2].startswith('47.22 [')  # (55.56 + 38.89) / 2
    assert rows[ABBR.format(2)] == ['–', '55.56 [36.8, 72.8]', '– [a]']
    assert table.notes == ['no average: a benchmark is missing']


@pytest.mark.parametrize(
    ('second', 'reason'),
    [
        ({'judge': 'llm'}, 'different judges'),
        ({'problems': [f'm{i}' for i in range(24)]}, 'share 24 problems'),
        ({'n': 8, 'k': [4]}, 'different k'),
    ],
)
def test_what_must_not_be_averaged_is_not(tmp_path: Path, second: dict[str, Any], reason: str) -> None:
    """And the table says why."""
    two_benchmarks(tmp_path, **second)
    table = overview(tmp_path)
    assert 'average' not in table.headers
    assert reason in table.notes[-1]


@pytest.fixture(name='score')
def fixture_score(report: Path) -> Score:
    return next(score for score in read_scores(report / 'scores.csv') if score.low is not None)


def test_the_error_of_an_average_is_that_of_independent_parts(score: Score) -> None:
    """√(3² + 4²)/2 = 2.5, with the degrees of freedom of Welch's test."""
    parts = [score._replace(value=40.0, error=3.0), score._replace(value=60.0, error=4.0, problems=21)]
    mean = mean_score(parts)
    assert mean is not None
    assert (mean.value, mean.error) == (50.0, 2.5)
    freedom = (9 + 16) ** 2 / (9**2 / 23 + 16**2 / 20)
    assert mean.high == pytest.approx(50 + stats.t.ppf(0.975, freedom) * 2.5, abs=1e-9)
    certain = mean_score([part._replace(error=0.0) for part in parts])
    assert certain is not None
    assert (certain.low, certain.high) == (50.0, 50.0)


def test_another_csv_is_refused(tmp_path: Path) -> None:
    """With the file's name."""
    path = tmp_path / 'scores.csv'
    path.write_text('a,b\n1,2\n')
    with pytest.raises(InputError, match=r'scores\.csv is not'):
        read_scores(path)


def test_thresholds_are_columns_of_every_table(tmp_path: Path) -> None:
    """τ → 0 is at least one correct."""
    write_three(tmp_path / 'o')
    arguments = ['report', str(tmp_path / 'o'), '-o', str(tmp_path / 'r'), '--only', 'tables']
    assert main([*arguments, '--threshold', '0', '0.25', '1']) == 0
    row = next(
        line for line in (tmp_path / 'r/leaderboard.md').read_text('utf-8').splitlines() if '| model' in line
    )
    assert [name for name in cells(row) if 'Pass' in name] == [
        'G-Pass@2_0.0',
        'G-Pass@2_0.25',
        'G-Pass@2_1.0',
        'mG-Pass@2',
    ]
    scores = read_scores(tmp_path / 'r' / 'scores.csv')
    [some] = [
        s.value for s in scores if (s.run, s.group, str(s.metric)) == (ABBR.format(1), ALL, 'G-Pass@2_0.0')
    ]
    # of two drawn of four: two of four right are at least one right in 5 of 6 draws
    assert some == pytest.approx(100 * (8 + 8 * 5 / 6) / 24)
    assert main([*arguments, '--threshold', '0.5', '0.5']) == 2
    assert main([*arguments, '--threshold', '2']) == 2
