"""The first view of the page, in a real browser: what may be said, and every run on every benchmark."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from browser import Page
from page_tables import (
    STANDARD,
    TITLES,
    View,
    entries_by_run,
    made_boards,
    mean_metric,
    percent,
    rank_text,
)

from gpassk_opencompass.metrics import Metric

pytestmark = pytest.mark.e2e


def test_each_cell_has_rank_score_and_drawing_of_the_library(view: View) -> None:
    """All runs on all benchmarks; a run that is not there is said to be missing."""
    view.at()
    rows = view.rows('overview')
    names = {name for board in view.boards for name in entries_by_run(board)}
    assert {row['run'][0] for row in rows} == names
    for board in view.boards:
        entries = entries_by_run(board)
        for row in rows:
            cell, entry = row[f'on {board.title}'], entries.get(row['run'][0])
            if entry is None:
                assert cell == ['no run']
                continue
            interval = entry.interval(mean_metric(board))
            rank, score = re.split(r'\s+', ' '.join(cell))[:2]
            assert rank == rank_text(board, entry)
            assert score.split('[')[0] == percent(interval.estimate)
            assert ('[' in ' '.join(cell)) == bool(interval.refused)


def test_bar_and_dumbbell_stand_where_the_numbers_are(view: View) -> None:
    """On one scale from 0 to 100: interval, mG-Pass@k, greedy accuracy and G-Pass@k_1.0."""
    view.at()
    board = view.board()
    places = view.page.script(
        """const middle = (e) => (e.left + e.right) / 2;
        return [...document.querySelectorAll('#overview tbody tr:not(.gap)')].map((row) => {
          const svg = row.children[arguments[0]].querySelector('svg');
          const of = (selector) => svg.querySelector(selector)?.getBoundingClientRect();
          const ticks = [...svg.querySelectorAll('.grid')].map((line) => line.getBoundingClientRect());
          const [zero, , full] = ticks.map(middle);
          const value = (x) => (x - zero) / (full - zero);
          const bar = of('.bar rect');
          return [row.querySelector('th a').title, value(bar.left), value(middle(of('.bar circle'))),
            value(bar.right), value(middle(of('.dumbbell circle'))),
            value(middle(of('.dumbbell path')))]; })""",
        view.heads('overview').index(f'on {STANDARD}'),
    )
    assert len(places) == 30
    for name, *drawn in places:
        entry = entries_by_run(board)[name]
        interval, greedy = entry.interval(mean_metric(board)), entry.greedy_accuracy()
        assert greedy
        stable = entry.interval(Metric.g_pass_at(16, 1.0)).estimate
        expected = [interval.low, interval.estimate, interval.high, greedy.estimate, stable]
        assert drawn == pytest.approx(expected, abs=0.004)


def test_a_sentence_a_benchmark_says_no_more_than_the_ranks(view: View) -> None:
    """Only who is named, or counted behind the first, may have rank 1."""
    view.at()
    for board, item in zip(view.boards, view.page.all('.lead li'), strict=True):
        text, names = (
            item.text,
            [link.get_attribute('href') for link in item.find_elements('css selector', 'a')],
        )
        assert board.title in text
        ranks = board.ranks.tolist()
        first = [entry.name for entry, (best, _) in zip(board.entries, ranks, strict=True) if best == 1]
        if not board.better.any():
            assert text.startswith('No run can be told from the others')
            assert names == []
            continue
        linked = [re.search('run=([^&]+)', str(name)) for name in names]
        told = [match[1] for match in linked if match]
        assert 'leads' in text
        assert told[0] == urlencode({'': board.entries[0].name})[1:]
        tied = ranks[0][1] - 1
        assert len(told) == 1 + tied if tied <= 3 else f'{tied} of ' in text
        assert len(first) <= 1 + tied
    assert 'fewer than 20 problems' in view.page.all('.lead li')[-1].text


def test_badges_and_tokens_stand_beside_the_scores(view: View) -> None:
    """What a reader must not miss; tokens of all benchmarks where all were counted."""
    view.at()
    entries = [entries_by_run(board) for board in view.boards]
    for row in view.rows('overview'):
        of_run = [found[row['run'][0]] for found in entries if row['run'][0] in found]
        tokens = [entry.result.health.output_tokens for entry in of_run]
        text = row['tokens'][0]
        if None in tokens:
            assert text == '–'
        else:
            scale = {'K': 1e3, 'M': 1e6, 'B': 1e9}[text[-1]]
            assert float(text[:-1]) * scale == pytest.approx(sum(filter(None, tokens)), rel=0.006)
        for title, found in zip(TITLES, entries, strict=True):
            entry = found.get(row['run'][0])
            cell = ' '.join(row[f'on {title}'])
            health = entry.result.health if entry else None
            marks = [health.truncated, health.unanswered, health.unjudged] if health else []
            count = sum(map(bool, marks))
            assert ('43 % cut off' in cell) == bool(health and health.truncated)
            assert (f'+{count - 1}' in cell) == (count > 1)
            if health and count == 1:
                assert f'{health.unjudged} unjudged' in cell


def test_the_table_is_sorted_by_any_column_and_the_address_says_so(view: View) -> None:
    """Both ways; what is missing stands last; a reload keeps it, and a link to it would."""
    view.at()
    scores = {
        name: e.interval(Metric.mg_pass_at(16)).estimate for name, e in entries_by_run(view.boards[1]).items()
    }
    for reverse in (True, False):
        view.sort('overview', 'on MATH500-L5')
        names = [row['run'][0] for row in view.rows('overview')]
        known = [scores[name] for name in names if name in scores]
        assert known == sorted(known, reverse=reverse)
        assert names[: len(known)] == [name for name in names if name in scores]
    assert 'sort=on MATH500-L5&down=0' in view.address()
    view.page.driver.refresh()
    assert [row['run'][0] for row in view.rows('overview')] == names
    head = view.page.find('#overview th[data-column="on MATH500-L5"]')
    assert head.get_attribute('aria-sort') == 'ascending'
    view.sort('overview', 'model')
    models = [row['model'][0] for row in view.rows('overview')]
    assert models == sorted(models, key=lambda name: ('数' in name, name.lower()))
    for column in ('temperature', 'tokens', 'average'):
        view.sort('overview', column)
        assert view.page.find('#overview [aria-sort]').get_attribute('data-column') == column


def test_filters_leave_the_runs_that_have_it_all(view: View) -> None:
    """Words, model and settings; Back takes the last of them back, one button all of them."""
    view.at()
    page = view.page
    page.find('#filter').send_keys('INSTRUCT 0.95')
    assert all('Instruct' in row['model'][0] for row in view.rows('overview'))
    page.find('[data-filter=temperature] summary').click()
    for box in page.all('[data-filter=temperature] label'):
        if box.text in ('0.3', '0.5'):
            box.click()
    assert {row['temperature'][0] for row in view.rows('overview')} == {'0.3', '0.5'}
    assert page.find('#shown').text == f'{len(view.rows("overview"))} of 30 runs'
    assert 'only.temperature=0.3&only.temperature=0.5' in view.address()
    page.driver.refresh()
    assert {row['temperature'][0] for row in view.rows('overview')} == {'0.3', '0.5'}
    page.button('Show all runs').click()
    assert page.find('#shown').text == '30 runs'
    page.driver.back()
    assert {row['temperature'][0] for row in view.rows('overview')} == {'0.3', '0.5'}
    view.at(words='nobody')
    assert 'No run is left' in page.find('.tall').text


def test_a_table_is_one_stop_for_tab_and_arrows_go_on(view: View) -> None:
    """From row to row and to the heads, which sort; Tab leaves it."""
    from selenium.webdriver.common.keys import Keys

    view.at()
    page = view.page

    def press(*keys: str) -> Any:
        page.driver.switch_to.active_element.send_keys(*keys)
        return page.driver.switch_to.active_element

    stops = 0
    page.find('#filter').click()
    first, second = (row['run'][0] for row in view.rows('overview')[:2])
    while press(Keys.TAB).get_attribute('title') != first:
        stops += 1
    assert stops <= 3
    assert press(Keys.ARROW_DOWN).get_attribute('title') == second
    assert page.find('.keys').value_of_css_property('visibility') == 'visible'
    assert STANDARD in str(press(Keys.ARROW_RIGHT).get_attribute('aria-label'))
    assert press(Keys.HOME).get_attribute('title') == second
    assert press(Keys.ARROW_UP).get_attribute('title') == first
    assert press(Keys.ARROW_UP).text.startswith('Model')
    press(Keys.ENTER)
    assert page.find('th[data-column=model]').get_attribute('aria-sort') == 'ascending'
    after = press(Keys.TAB)
    assert after.tag_name == 'summary'
    assert after.text == 'Download'


def test_arrows_reach_rows_that_were_not_in_the_document(page: Page, tmp_path: Path) -> None:
    """The table draws them as they come; printing draws all of them."""
    from selenium.webdriver.common.keys import Keys

    boards, path = made_boards(tmp_path, 120)
    view = View(page, path, boards).at()
    page.find('#overview tbody th a').send_keys(Keys.ARROW_UP, Keys.ARROW_DOWN)
    drawn = len(view.rows('overview'))
    assert drawn < 60
    for _ in range(11):
        page.driver.switch_to.active_element.send_keys(Keys.PAGE_DOWN)
        time.sleep(0.1)
    last = view.rows('overview')[-1]
    page.driver.switch_to.active_element.send_keys(Keys.PAGE_DOWN)
    focused = page.driver.switch_to.active_element
    assert focused.get_attribute('title') == last['run'][0]
    page.script('dispatchEvent(new Event("beforeprint"))')
    assert len(view.rows('overview')) == 120
    page.script('dispatchEvent(new Event("afterprint"))')
    time.sleep(0.2)
    assert len(view.rows('overview')) < 60
