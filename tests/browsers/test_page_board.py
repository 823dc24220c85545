"""The table of a benchmark and its curves, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_tables import (
    STANDARD,
    TITLES,
    View,
    downloaded,
    entries_by_run,
    mean_metric,
    percent,
    rank_text,
)

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.report.frame import Board, Entry

pytestmark = pytest.mark.e2e


def cells_of(board: Board, entry: Entry, metrics: dict[str, Metric]) -> dict[str, tuple[str, str | None]]:
    """Of each column of scores: the score, and its interval or None where it is refused."""
    intervals = {name: entry.interval(metric) for name, metric in metrics.items()}
    greedy = entry.greedy_accuracy()
    if greedy:
        intervals['Greedy'] = greedy
    return {
        name: (
            percent(one.estimate),
            None if one.refused else f'{100 * one.low:.1f} – {100 * one.high:.1f}',
        )
        for name, one in intervals.items()
    }


@pytest.mark.parametrize('title', TITLES)
def test_the_table_of_a_benchmark_has_every_score_of_the_library(view: View, title: str) -> None:
    """With its interval, or a letter that a footnote explains."""
    view.at(board=title)
    board = view.board(title)
    metrics = {str(metric): metric for metric in board.metrics}
    assert [name for name in view.heads('board') if name in metrics] == list(metrics)
    rows = view.rows('board')
    assert [row['run'][0] for row in rows] == [entry.name for entry in board.entries]
    for row, entry in zip(rows, board.entries, strict=True):
        assert row['rank'] == [rank_text(board, entry)]
        assert row['n'] == [str(entry.result.n)]
        for name, (score, interval) in cells_of(board, entry, metrics).items():
            lines = [line for line in row[name] if line and (name != 'Greedy' or not line.startswith('['))]
            assert lines[0].split('[')[0] == score
            assert interval in lines or (interval is None and re.search(r'\[.\]', ' '.join(row[name])))
    notes = [note.text for note in view.page.all('.footnote')]
    assert len(notes) == len(set(notes))


def test_another_k_changes_numbers_and_closes_nothing(view: View) -> None:
    """What is open stays open, what is ticked stays ticked, and ranks remain those of the table."""
    view.at(board=STANDARD)
    page, board = view.page, view.board()
    page.find('#curve-values summary').click()
    page.find('#board tbody tr:not(.gap):nth-of-type(5) input').click()
    page.set('#k', '8')
    rows = view.rows('board')
    entries = entries_by_run(board)
    for row in rows:
        expected = entries[row['run'][0]].result.values(Metric.mg_pass_at(8)).mean()
        assert row['mG-Pass@8'][0] == percent(float(expected))
        assert row['rank'] == [rank_text(board, entries[row['run'][0]])]
    assert 'Ranks are those by mG-Pass@16 on all questions.' in page.find('#about').text
    assert page.find('#curve-values table').is_displayed()
    assert len(page.all('#curve-values tbody tr')) == 8
    assert len(page.all('#board input:checked')) == 4
    page.set('#k', '9')
    assert 'For odd k the published mG-Pass@9 cannot reach 100.' in page.find('#about').text


def test_a_group_of_questions_is_scored_by_itself(view: View) -> None:
    """With intervals of its own."""
    board = view.board()
    view.at(board=STANDARD, group='AMC_cn')
    metric = mean_metric(board)
    for row in view.rows('board'):
        interval = entries_by_run(board)[row['run'][0]].intervals_by_group([metric])['AMC_cn'][0]
        assert row[str(metric)][0] == percent(interval.estimate)
        if not interval.refused:
            assert f'{100 * interval.low:.1f} – {100 * interval.high:.1f}' in row[str(metric)]


def test_the_table_of_a_benchmark_is_filtered_and_sorted(view: View) -> None:
    """By words and settings; each column by its own head, and ranks begin with the best."""
    view.at(board=STANDARD, words='qwen', **{'only.temperature': '0.4'})
    assert [row['model'][0] for row in view.rows('board')] == [
        'Qwen2.5-Math-72B-Instruct',
        'DeepSeek-R1-Distill-Qwen-32B',
    ]
    view.at(board=STANDARD)
    for column in ('Greedy', 'G-Pass@16_1.0', 'tokens', 'unjudged', 'n', 'model'):
        view.sort('board', column)
        assert view.page.find('#board [aria-sort]').get_attribute('data-column') == column
    view.sort('board', 'rank')
    best = [int(row['rank'][0].split('–')[0]) for row in view.rows('board')]
    assert best == sorted(best)


def test_any_number_of_curves_six_of_them_in_colour(view: View, tmp_path: Path) -> None:
    """The others are grey with their names at the ends, and a sentence says so."""
    board = view.board()
    names = [entry.name for entry in board.entries]
    view.at(board=STANDARD, curve=names[:9])
    page = view.page
    assert len(page.all('#curves .line')) == 9
    assert len(page.all('#curves .line.grey')) == 3
    assert len(page.all('#curves .band')) == 6
    assert page.find('#in-grey').text.startswith('9 curves: the first 6')
    labels = page.script(
        "return [...document.querySelectorAll('#curves .line text')].map((t) => t.getBoundingClientRect().y)"
    )
    assert min(b - a for a, b in zip(sorted(labels), sorted(labels)[1:], strict=False)) >= 12
    heights = page.script("""const svg = document.querySelector('#curves svg');
        return [...svg.querySelectorAll('.line')].map((line) => [line.querySelector('title').textContent,
          [...line.querySelector('polyline').points].map((p) => p.y)])""")
    axis = page.script(
        "return [...document.querySelectorAll('#curves .axes .grid')].map((l) => l.y1.baseVal.value)"
    )
    zero, full = axis[0], axis[-1]
    by_label = {
        f'{e.result.model} (temperature {e.result.sampling["temperature"]})': e for e in board.entries
    }
    for label, places in heights:
        values = [(y - zero) / (full - zero) for y in places]
        expected = [
            by_label[label].result.values(Metric.g_pass_at(16, (j + 1) / 16)).mean() for j in range(16)
        ]
        assert values == pytest.approx(expected, abs=0.001)
    page.find('#board tbody tr:not(.gap) input').click()
    assert len(page.all('#curves .line')) == 8
    svg = downloaded(page, tmp_path, 'SVG', '#curves > details.menu')
    assert svg.startswith('<svg')
    assert 'G-Pass@16_τ in percent' in svg
    assert 'class=' not in svg
    view.at(board=STANDARD, curve='')
    assert 'Tick runs in the table' in page.find('#curves').text


def test_two_ticked_runs_are_compared_by_a_link(view: View) -> None:
    """Any two of them; with fewer it says what to do."""
    names = [entry.name for entry in view.board().entries]
    assert names[7] == 'DeepSeek-R1-Distill-Qwen-32B_t0.3_p0.95_rs42_l8192'
    view.at(board=STANDARD, curve=[names[1], names[4], names[7]])
    page = view.page
    page.choose('#second', 'DeepSeek-R1-Distill-Qwen-32B (temperature 0.3)')
    link = page.find('#compare a')
    assert link.text == 'Compare them question by question'
    link.click()
    assert f'run={names[1]}&with={names[7]}' in view.address()
    view.at(board=STANDARD, curve=names[1])
    assert 'Tick two runs' in page.find('#compare').text
