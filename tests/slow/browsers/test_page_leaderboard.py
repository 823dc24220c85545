"""The leaderboards of the page, in a real browser: what may be said, and the numbers of every run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from browser import Page
from made_pages import made_results, rows_of, write_made_page

from gpassk_opencompass.report.frame import Board

pytestmark = pytest.mark.e2e

STANDARD = 'LiveMathBench-v202412'


class View(NamedTuple):
    """The page of thirty runs on three benchmarks."""

    page: Page
    path: Path
    boards: list[Board]
    numbers: dict[tuple[str, str, str], Any]
    """(benchmark, run, metric) → the row of the frame, of all questions."""

    def rows(self, table):
        """What the cells of all rows say, by column; `run` is the title of the link."""
        found = self.page.script(
            """const table = document.getElementById(arguments[0]);
            const heads = [...table.querySelectorAll('thead th')].map((head) => head.dataset.column);
            const text = (cell) => cell.innerText.replace(/\\s+/g, ' ').trim();
            return [...table.querySelectorAll('tbody tr')].map((row) => Object.fromEntries([
                ['run', row.querySelector('th a').title],
                ...[...row.children].map((cell, i) => [heads[i], text(cell)])]))""",
            table,
        )
        return list(found)

    def sort(self, table, column):
        """Press the head of a column; how it is sorted then."""
        self.page.script('document.querySelector(".scroll").scrollLeft = 0')
        head = self.page.find(f'#{table} th[data-column="{column}"]')
        head.find_element('css selector', 'button').click()
        return str(head.get_attribute('aria-sort'))


@pytest.fixture(scope='module')
def view(page, tmp_path_factory):
    """Nothing may complain while it is looked at."""
    boards, path = write_made_page(tmp_path_factory.mktemp('page'), made_results(30, samples=False))
    numbers = {(row.benchmark, row.run, row.metric): row for row in rows_of(boards) if not row.group}
    yield View(page, path, boards, numbers)
    assert page.complaints() == []


def ranks(row):
    return (
        f'{row.rank_low:.0f}' if row.rank_low == row.rank_high else f'{row.rank_low:.0f}–{row.rank_high:.0f}'
    )


def test_each_cell_has_rank_score_and_drawing_of_the_frame(view):
    """All runs on all benchmarks; a run that is not there is missing; dots stand where numbers are."""
    view.page.show(view.path)
    shown = view.rows('overview')
    assert {row['run'] for row in shown} == {e.name for board in view.boards for e in board.entries}
    drawn = view.page.script(
        """const middle = (e) => (e.left + e.right) / 2;
        const placesIn = (svg) => {
          const of = (selector) => svg.querySelector(selector)?.getBoundingClientRect();
          const ticks = [...svg.querySelectorAll('.grid')].map((line) => line.getBoundingClientRect());
          const [zero, , full] = ticks.map(middle);
          const places = [middle(of('.bar circle')), of('.bar rect')?.left, of('.bar rect')?.right,
            middle(of('.dumbbell circle')), middle(of('.dumbbell path'))];
          return places.map((x) => (x === undefined ? null : 100 * (x - zero) / (full - zero)));
        };
        return [...document.querySelectorAll('#overview tbody tr')]
          .map((row) => [...row.querySelectorAll('svg')].map(placesIn))"""
    )
    for row, dots in zip(shown, drawn, strict=True):
        there = iter(dots)
        for board in view.boards:
            score = view.numbers.get((board.title, row['run'], f'mG-Pass@{board.k}'))
            cell = row[f'on {board.title}']
            if score is None:
                assert cell == 'no run'
                continue
            assert cell.split()[:2] == [ranks(score), f'{score.value:.2f}']
            greedy, stable = (
                view.numbers[board.title, row['run'], name].value
                for name in ('Greedy', f'G-Pass@{board.k}_1.0')
            )
            expected = [score.value, score.low, score.high, greedy, stable]
            for place, value in zip(next(there), expected, strict=True):
                assert place == pytest.approx(value, abs=0.4)


def test_a_sentence_a_benchmark_says_no_more_than_the_ranks(view):
    """Who is named, or counted behind the first, may have rank 1, and nobody else."""
    view.page.show(view.path)
    for board, item in zip(view.boards, view.page.all('.lead li'), strict=True):
        best = [ranks[0] for ranks in board.pairs.ranks.tolist()]
        first = [entry.name for entry, rank in zip(board.entries, best, strict=True) if rank == 1]
        if len(first) == len(board.entries):
            assert item.text == f'No run can be told from the others on {board.title}.'
            continue
        named = [link.text for link in item.find_elements('css selector', 'a')]
        assert item.text.startswith(f'{board.entries[0].name} leads {board.title}')
        if len(first) - 1 > 3:
            assert f'{len(first) - 1} of {len(board.entries) - 1} others may be as good' in item.text
        else:
            assert set(named) == {board.entries[0].name, *first}


def test_the_table_of_a_benchmark_has_every_score_of_the_frame(view):
    board = view.boards[0]
    view.page.show(view.path, board=board.title)
    shown = view.rows('board')
    assert [row['run'] for row in shown] == [entry.name for entry in board.entries]
    for row in shown:
        assert row['rank'] == ranks(view.numbers[board.title, row['run'], f'mG-Pass@{board.k}'])
        for name in ('Greedy', *map(str, board.metrics)):
            score = view.numbers[board.title, row['run'], name]
            assert row[name].rstrip('*') == f'{score.value:.2f} {score.low:.1f} – {score.high:.1f}'


def test_tables_are_sorted_by_any_column_and_the_address_says_so(view):
    """Both ways; what is missing stands last; a reload keeps it, and a link to it would."""
    page = view.page
    page.show(view.path)
    scores = {
        run: row.value
        for (title, run, name), row in view.numbers.items()
        if (title, name) == ('MATH500-L5', 'mG-Pass@16')
    }
    for order in ('descending', 'ascending'):
        assert view.sort('overview', 'on MATH500-L5') == order
        names = [row['run'] for row in view.rows('overview')]
        known = [round(scores[name], 2) for name in names if name in scores]
        assert known == sorted(known, reverse=order == 'descending')
        assert all(name in scores for name in names[: len(known)])
    assert 'sort=on+MATH500-L5' in page.driver.current_url
    page.driver.refresh()
    assert [row['run'] for row in view.rows('overview')] == names
    assert view.sort('overview', 'model') == 'ascending'
    models = [row['model'] for row in view.rows('overview')]
    assert models == sorted(models, key=lambda name: ('数' in name, name.lower()))
    page.show(view.path, board=STANDARD)
    for column in ('temperature', 'Greedy', 'G-Pass@16_1.0', 'tokens', 'n'):
        view.sort('board', column)
        assert page.find('#board [aria-sort]').get_attribute('data-column') == column
    assert view.sort('board', 'rank') == 'ascending'
    best = [int(re.split('–', row['rank'])[0]) for row in view.rows('board')]
    assert best == sorted(best)


def test_filters_leave_the_runs_that_have_it_all(view):
    """Words, model and settings; Back takes the last of them back, one button all of them."""
    page = view.page
    page.show(view.path)
    page.find('#filter').send_keys('INSTRUCT 0.95')
    assert all('Instruct' in row['model'] for row in view.rows('overview'))
    page.find('[data-filter=temperature] summary').click()
    for box in page.all('[data-filter=temperature] label'):
        if box.text in ('0.3', '0.5'):
            box.click()
    chosen = {'0.3', '0.5'}
    assert {row['temperature'] for row in view.rows('overview')} == chosen
    assert page.find('#shown').text == f'{len(view.rows("overview"))} of 30 runs'
    page.driver.refresh()
    assert {row['temperature'] for row in view.rows('overview')} == chosen
    page.button('Show all runs').click()
    assert page.find('#shown').text == '30 runs'
    page.driver.back()
    assert {row['temperature'] for row in view.rows('overview')} == chosen
    page.show(view.path, board=STANDARD, words='nobody')
    assert 'No run is left' in page.find('.scroll').text
