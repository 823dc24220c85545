"""Pages of runs on three benchmarks, and what stands in their tables, for tests in a browser."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from browser import Page
from made_pages import made_results, write_made_page

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.report.frame import Board, Entry

STANDARD = 'LiveMathBench-v202412'
TITLES = (STANDARD, 'MATH500-L5', 'AIME2024')


def made_boards(folder: Path, runs: int, shared_problems: bool = False) -> tuple[list[Board], Path]:
    """A page of runs on three benchmarks with all that can be marked, and where it lies."""
    results = made_results(runs, samples=False)
    for number, result in enumerate(results):
        counts, health = result.counts, result.health
        if not shared_problems:
            counts.problem = [f'{result.benchmark} {name}' for name in counts.problem]
        health.output_tokens = None if number % 13 == 0 else health.samples * (700 + number)
        health.truncated = int(0.43 * health.samples) if number % 6 == 4 else 0
        health.unanswered = health.truncated // 2
        if number % 17 == 3:
            counts.unjudged = [int(i % 9 == 0 and c < result.n) for i, c in enumerate(counts.c)]
            health.unjudged = sum(counts.unjudged)
    return write_made_page(folder, results)


class View:
    """The page at an address, and what stands in its tables."""

    def __init__(self, page: Page, path: Path, boards: list[Board]) -> None:
        self.page, self.path, self.boards = page, path, boards

    def at(self, **address: Any) -> View:
        """The page, opened anew where the address says."""
        self.page.open(self.path)
        self.page.script('location.hash = arguments[0]', urlencode(address, doseq=True))
        time.sleep(0.2)
        return self

    def board(self, title: str = STANDARD) -> Board:
        """The table of that benchmark, as Python made it."""
        return next(board for board in self.boards if board.title == title)

    def heads(self, table: str) -> list[str]:
        """Names of the columns."""
        return [str(head.get_attribute('data-column')) for head in self.page.all(f'#{table} thead th')]

    def rows(self, table: str) -> list[dict[str, list[str]]]:
        """Lines of each cell of all rows that are drawn, by column; the run is the title of its link."""
        found = self.page.script(
            """return [...document.querySelectorAll(`#${arguments[0]} tbody tr:not(.gap)`)].map((row) =>
            [row.querySelector('th a').title, ...[...row.children].map((cell) => cell.innerText)])""",
            table,
        )
        columns = ['run', *self.heads(table)]
        return [dict(zip(columns, (cell.split('\n') for cell in row), strict=True)) for row in found]

    def sort(self, table: str, column: str) -> None:
        """Press the head of a column."""
        self.page.script('document.querySelector(".tall").scrollLeft = 0')
        self.page.find(f'#{table} th[data-column="{column}"] button').click()
        time.sleep(0.1)

    def address(self) -> str:
        """The part behind #, as the browser has it."""
        return str(self.page.script('return decodeURIComponent(location.hash.replace(/\\+/g, " "))'))


@contextmanager
def viewing(page: Page, folder: Path) -> Iterator[View]:
    """Thirty runs on three benchmarks; nothing may complain while they are looked at."""
    boards, path = made_boards(folder, 30)
    yield View(page, path, boards)
    assert page.complaints() == []


def entries_by_run(board: Board) -> dict[str, Entry]:
    return {entry.name: entry for entry in board.entries}


def mean_metric(board: Board) -> Metric:
    return Metric.mg_pass_at(board.k)


def rank_text(board: Board, entry: Entry) -> str:
    best, worst = board.ranks[board.entries.index(entry)]
    return str(best) if best == worst else f'{best}–{worst}'


def percent(value: float) -> str:
    return f'{100 * value:.2f}'


def downloaded(page: Page, folder: Path, button: str, within: str) -> str:
    """What the browser saved when this button was pressed."""
    page.driver.execute_cdp_cmd(
        'Browser.setDownloadBehavior', {'behavior': 'allow', 'downloadPath': str(folder)}
    )
    menu = page.find(within)
    if not menu.get_attribute('open'):
        menu.find_element('css selector', 'summary').click()
    menu.find_element('xpath', f'.//button[text()="{button}"]').click()
    for _ in range(100):
        found = [
            path for path in folder.glob('*') if not path.name.endswith('.crdownload') and path.stat().st_size
        ]
        if found:
            [path] = found
            text = path.read_text(encoding='utf-8')
            path.unlink()
            return text
        time.sleep(0.05)
    raise AssertionError(f'{button} saved nothing')
