"""The page as a whole: its numbers beside those of the tables and files, and how large and how fast it is."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from browser import Page
from gpassk_opencompass.report.scores import scores_csv, scores_of
from made_pages import made_results, shard, write_made_page

from gpassk_opencompass.report.frame import Board, boards
from gpassk_opencompass.report.page import write_page
from gpassk_opencompass.report.page.content import Responses

pytestmark = pytest.mark.e2e

DOWNLOADED = """
const saved = {};
const usual = URL.createObjectURL;
URL.createObjectURL = (blob) => { window.lastBlob = blob; return usual.call(URL, blob); };
HTMLAnchorElement.prototype.click = () => {};
[...document.querySelectorAll('details.menu button')]
    .find((button) => button.textContent === arguments[0]).click();
window.lastBlob.text().then(arguments[arguments.length - 1]);
"""
"""What a button of the view would save, without saving it."""


def go(page: Page, path: Path, **address: Any) -> None:
    """Open a view anew."""
    page.driver.get('about:blank')
    page.driver.get(f'{path.as_uri()}#{urlencode(address, doseq=True)}')
    page.wait_for('main *')


def test_a_thousand_cells_of_page_csv_and_json_are_those_of_python(page: Page, tmp_path: Path) -> None:
    """What the browser computes from counts, to the last digits, against scores.csv of the same boards."""
    tables, path = write_made_page(tmp_path, made_results(60, samples=False))
    compared = 0
    for board in tables:
        (tmp_path / 'scores.csv').write_text(
            scores_csv(score for rows in scores_of(board) for score in rows.values())
        )
        with (tmp_path / 'scores.csv').open(newline='') as file:
            known = {(row['run'], row['metric']): row for row in csv.DictReader(file) if row['group'] == ''}
        go(page, path, board=board.title)
        page.wait_for('#board')
        page.driver.set_script_timeout(20)
        text = page.driver.execute_async_script(DOWNLOADED, 'CSV')
        sheet = json.loads(page.driver.execute_async_script(DOWNLOADED, 'JSON'))
        assert [[cell or None for cell in row] for row in csv.reader(text.splitlines())][1:] == [
            [None if cell is None else str(cell) or None for cell in row] for row in sheet['rows']
        ]
        names = sheet['columns']
        by_run = {
            dict(zip(names, row, strict=True))['run']: dict(zip(names, row, strict=True))
            for row in sheet['rows']
        }
        assert len(by_run) == len(board.entries)
        for (run, metric), row in known.items():
            name = 'Greedy' if metric == 'Greedy' else metric
            if name not in by_run[run]:
                continue
            for ours, theirs in ((name, 'value'), (f'{name} low', 'low'), (f'{name} high', 'high')):
                cell = by_run[run][ours]
                if row[theirs] == '':
                    assert cell is None
                else:
                    assert float(cell) == pytest.approx(float(row[theirs]), abs=1e-9)
                compared += 1
    assert compared >= 1000


LETTERS = np.array(list('abcdefghij klmnopqrstuvwxyz $x^2$ \n'))


def written_responses(board: Board, folder: Path, characters: int) -> dict[Path, Responses]:
    """Responses of two runs on three questions each; the others of the page would be the same."""
    draws = np.random.default_rng(1)
    found = {entry.result.path: Responses(f'{number:012x}') for number, entry in enumerate(board.entries)}
    for entry in board.entries[:2]:
        name = found[entry.result.path].folder
        (folder / 'responses' / str(name)).mkdir(parents=True)
        for position in range(3):
            uid = board.entries[0].result.counts.uid[position]
            texts = [''.join(draws.choice(LETTERS, characters)) for _ in range(entry.result.n)]
            samples = [
                {
                    'replica': i, 'seed': i, 'verdict': '01'[i < int(entry.result.counts.c[position])],
                    'answer': '42', 'decidedBy': 'rule', 'reason': '', 'finish': 'stop', 'state': None,
                    'outputTokens': 9, 'reasoningTokens': None, 'seconds': None, 'response': text,
                    'lost': None, 'thought': None, 'separateThought': None, 'judge': None,
                }
                for i, text in enumerate(texts)
            ]  # fmt: skip
            content = {'uid': uid, 'prompt': None, 'samples': samples, 'greedy': None}
            (folder / 'responses' / str(name) / f'{position}.js').write_text(
                shard(f'{name}/{position}', content)
            )
    return found


def test_two_hundred_runs_with_responses_open_at_once(page: Page, tmp_path: Path) -> None:
    """238 questions × 48 samples of 20,000 characters a run: a small page, and what is asked for loads."""
    [board], _ = boards(made_results(200, {'LiveMathBench-v202412': (238, 48)}))
    assert len(board.entries) == 200
    responses = written_responses(board, tmp_path, 20_000)
    [path] = write_page([board], tmp_path, responses=responses)
    assert path.stat().st_size < 2 * 2**20
    began = time.monotonic()
    go(page, path)
    page.wait_for('#board tbody th a')
    first = time.monotonic() - began
    run, uid = board.entries[0].name, board.entries[0].result.counts.uid
    page.script(
        'location.hash = arguments[0]', urlencode({'board': board.title, 'run': run, 'question': uid[0]})
    )
    page.wait_for('.strip [role=option]')
    page.script(
        'location.hash = arguments[0]',
        urlencode({'board': board.title, 'run': run, 'question': uid[1], 'sample': '0'}),
    )
    page.driver.set_script_timeout(20)
    opened = page.driver.execute_async_script(
        """const done = arguments[arguments.length - 1]; const began = performance.now();
        const look = () => (document.querySelector('.response')?.textContent.length > 5000
            ? done(performance.now() - began) : setTimeout(look, 5)); look();"""
    )
    page.driver.execute_cdp_cmd('HeapProfiler.collectGarbage', {})
    heap = page.driver.execute_cdp_cmd('Runtime.getHeapUsage', {})['usedSize'] / 2**20
    rows = page.script('return document.querySelectorAll("tr").length')
    sizes = f'heap {heap:.0f} MiB, page {path.stat().st_size:,} bytes'
    print(f'first view {first:.2f} s, question {opened:.0f} ms, {sizes}')
    # Not how fast: a machine may be busy. That nothing grows with what is not looked at.
    assert heap < 150
    assert rows < 120
