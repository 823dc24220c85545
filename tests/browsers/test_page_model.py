"""A model on the page: its scores, the map of its questions, and which of them are marked."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from browser import Page, one_board
from made_counts import N, counted, uid_of

from gpassk_opencompass.metrics import ACCURACY, Metric
from gpassk_opencompass.report.frame import Board
from gpassk_opencompass.report.page import write_page

pytestmark = pytest.mark.e2e

QUESTIONS = 60
NAME = 'marked-7B_t0.7_l99'

# Never, always and in between, and languages that are apart, agree, or are just not far enough.
C = [0, 0, 10, 10, 2, 8, 3, 7, 10, 5, 9, 5, *(i % 11 for i in range(48))]
CUT = [4 if c < 5 and i % 3 == 0 else 0 for i, c in enumerate(C)]
UNJUDGED = [1 if c < 9 and i % 7 == 0 else 0 for i, c in enumerate(C)]


@pytest.fixture(scope='module')
def marked() -> Board:
    draws = np.random.default_rng(5)
    others = [counted(f'other-{i}_t0.7_l99', draws.integers(0, N + 1, QUESTIONS).tolist()) for i in range(2)]
    return one_board(
        [counted(NAME, C, CUT, UNJUDGED), counted('marked-7B_t0_l99', [1] * QUESTIONS, n=1), *others]
    )


@pytest.fixture
def model(page: Page, marked: Board, tmp_path: Path) -> Iterator[Page]:
    """The page of the model, which has nothing to complain of in the end."""
    show(page, marked, tmp_path)
    yield page
    assert page.complaints() == []
    assert page.requests() == []


def show(page: Page, board: Board, folder: Path, more: str = '', name: str = NAME) -> None:
    [path] = write_page([board], folder)
    page.open(path)
    page.script('location.hash = arguments[0]', f'board={quote(board.title)}&run={quote(name)}{more}')
    page.wait_for('.cell')


def hash_of(page: Page) -> str:
    return str(page.script('return location.hash'))


def bright(page: Page) -> set[str]:
    """Questions whose cell is not dimmed."""
    return set(
        page.script("""return [...document.querySelectorAll('.cell[id]:not(.dim)')]
        .map((cell) => cell.getAttribute('aria-label').split(',')[0])""")
    )


def those(of: object) -> set[str]:
    assert isinstance(of, list)
    return {uid_of(i) for i, right in enumerate(of) if right}


def listed(page: Page) -> list[str]:
    return list(
        page.script("return [...document.querySelectorAll('#questions tbody th')].map((e) => e.innerText)")
    )


def saved(page: Page, kind: str, place: int = 0) -> str:
    """The text of a file that a view offers."""
    page.script("""window.saved = []; const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { window.saved.push(blob); return make(blob); };
        HTMLAnchorElement.prototype.click = () => {};""")
    page.script(
        """const menu = document.querySelectorAll('.menu')[arguments[1]]; menu.open = true;
        [...menu.querySelectorAll('button')].find((one) => one.textContent === arguments[0]).click();""",
        kind,
        place,
    )
    return str(page.script('return window.saved[0].text()'))


def test_scores_have_both_intervals_of_the_library_and_the_bound(model: Page, marked: Board) -> None:
    """To the digit: for new questions, for the same questions again, and with all in doubt right."""
    [entry] = [one for one in marked.entries if one.name == NAME]
    rows = [row.text for row in model.all('section table:not([id]) tbody tr')]
    metrics = [ACCURACY, Metric.pass_at(8), *marked.metrics]
    assert len(rows) == len(metrics) + 1
    assert rows[0].startswith('Greedy accuracy 100.00')
    for metric, row in zip(metrics, rows[1:], strict=True):
        new, again = entry.interval(metric), entry.rerun(metric)
        most = entry.result.bounds[metric.name][1]
        name = 'Accuracy' if metric == ACCURACY else str(metric)
        expected = [name, f'{100 * new.estimate:.2f}']
        expected += [f'{100 * new.low:.1f} – {100 * new.high:.1f}'] if not new.refused else ['[']
        expected += [f'{100 * again.low:.1f} – {100 * again.high:.1f}', f'{most:.2f}']
        assert re.fullmatch(r'.*?\s'.join(map(re.escape, expected)), row), row


@pytest.mark.parametrize(
    ('button', 'right'),
    [
        ('never right', [c == 0 for c in C]),
        ('always right', [c == N for c in C]),
        ('unstable', [2 <= c <= 8 for c in C]),
        ('with samples cut off', [cut > 0 for cut in CUT]),
        ('with unjudged samples', [one > 0 for one in UNJUDGED]),
        ('whose languages disagree', [abs(c - C[i ^ 1]) >= 5 for i, c in enumerate(C)]),
    ],
)
def test_marking_dims_all_others_and_says_how_many_and_which_share(
    model: Page, button: str, right: list[bool]
) -> None:
    """The list below has the same questions."""
    assert 0 < sum(right) < QUESTIONS
    model.button(button).click()
    assert bright(model) == those(right)
    count = f'{sum(right)} of {QUESTIONS} questions ({100 * sum(right) / QUESTIONS:.1f} %)'
    assert model.find('#brushed').text.startswith(count)
    assert set(listed(model)) <= those(right)
    assert model.find('#questions-caption').text.startswith(f'{sum(right)} questions')
    model.button('mark none').click()
    assert len(bright(model)) == QUESTIONS


def test_a_bar_tells_how_many_and_marks_them(model: Page) -> None:
    """With the mouse and with the keyboard; all bars are one stop."""
    from selenium.webdriver.common.keys import Keys

    counts = [int(bar.text.split()[0]) for bar in model.all('.bar .count')]
    shares = [c / N for c in C]
    assert counts == [
        sum(share == 0 for share in shares),
        sum(0 < share < 0.2 for share in shares),
        sum(0.2 <= share < 0.4 for share in shares),
        sum(0.4 <= share <= 0.6 for share in shares),
        sum(0.6 < share <= 0.8 for share in shares),
        sum(0.8 < share < 1 for share in shares),
        sum(share == 1 for share in shares),
    ]
    bars = model.all('.bar')
    assert [bar.get_attribute('tabindex') for bar in bars].count('0') == 1
    assert bars[0].value_of_css_property('color') == model.find('body').value_of_css_property('color')
    bars[1].click()
    assert bright(model) == those([c == 1 for c in C])
    model.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    model.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert bright(model) == those([2 <= c < 4 for c in C])


def test_the_map_is_one_stop_with_arrow_keys_and_enter_opens(model: Page) -> None:
    """What is active is said in words below it; Back comes back to the map."""
    from selenium.webdriver.common.keys import Keys

    box = model.find('[role=listbox]')
    assert model.all('[role=listbox] [tabindex]') == []
    model.script('arguments[0].focus()', box)
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.END, Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT):
        box.send_keys(key)
    active = model.find(f'#{box.get_attribute("aria-activedescendant")}')
    assert active.get_attribute('aria-label') == f'{uid_of(4)}, {C[4]} of {N}'
    line = model.find('.line')
    assert line.get_attribute('aria-live') == 'polite'
    assert line.text == f'AMC_cn · {uid_of(4)}: 2 of 10 right, far from its other language'
    box.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_DOWN)
    assert re.match(r'AMC_(cn|en) · ', line.text)
    box.send_keys(Keys.HOME, Keys.ENTER)
    assert f'question={quote(uid_of(0), safe="")}' in hash_of(model)
    model.driver.back()
    model.wait_for('.cell')
    assert 'question=' not in hash_of(model)


def test_cells_are_told_apart_by_shapes_and_in_grey(model: Page) -> None:
    """No mark is a colour alone, and each step is lighter or darker than the one before, in both schemes."""
    code = """return [...document.querySelectorAll('.cell[id]')].map((e) => [e.ariaLabel.split(',')[0],
        e.querySelector('.stroke')?.getAttribute('d') ?? '',
        e.querySelector('.corner')?.getAttribute('d') ?? ''])"""
    shapes = {uid: (middle, corner) for uid, middle, corner in model.script(code)}
    never, stable, unstable = (shapes[uid_of(i)][0] for i in (0, 2, 4))
    assert len({never, stable, unstable, ''}) == 4
    for i, c in enumerate(C):
        middle, corner = shapes[uid_of(i)]
        assert middle == (never if c == 0 else stable if c == N else unstable if 2 <= c <= 8 else '')
        marks = (CUT[i] > 0) + (UNJUDGED[i] > 0) + (abs(c - C[i ^ 1]) >= 5)
        assert corner.count('Z') == marks
    for scheme in ('light', 'dark'):
        features = [{'name': 'prefers-color-scheme', 'value': scheme}]
        model.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': features})
        fills = model.script(
            """return [0, 1, 2, 3, 4, 5, 6].map((step) =>
            getComputedStyle(document.querySelector(`.cell.step-${step} .fill`)).fill)"""
        )
        light = [luminance(fill) for fill in fills]
        assert light == sorted(light, reverse=scheme == 'light')
        ratios = [(max(pair) + 0.05) / (min(pair) + 0.05) for pair in pairwise(light)]
        assert min(ratios) > 1.15, (scheme, ratios)


def luminance(colour: str) -> float:
    """WCAG's relative luminance."""
    parts = [int(part) / 255 for part in re.findall(r'\d+', colour)[:3]]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_downloads_hold_what_is_shown(model: Page, marked: Board) -> None:
    """Every metric of every question that is marked; CSV and JSON are equal."""
    model.button('unstable').click()
    [entry] = [one for one in marked.entries if one.name == NAME]
    rows = list(csv.reader(io.StringIO(saved(model, 'CSV', 1))))
    told = json.loads(saved(model, 'JSON', 1))
    assert rows[0] == told['columns'] == [
        'question', 'group', 'correct', 'samples', 'cut off', 'unjudged', 'Accuracy %',
        *(f'{metric} %' for metric in marked.metrics),
    ]  # fmt: skip
    assert rows[1:] == [[str(cell) for cell in row] for row in told['rows']]
    assert {row[0] for row in rows[1:]} == those([2 <= c <= 8 for c in C])
    values = {metric: entry.result.values(metric) for metric in (ACCURACY, *marked.metrics)}
    for row in told['rows']:
        place = entry.result.counts.uid.index(row[0])
        assert row[2:6] == [C[place], N, CUT[place], UNJUDGED[place]]
        assert row[6:] == pytest.approx([100 * float(one[place]) for one in values.values()])
    scores = json.loads(saved(model, 'JSON', 0))
    shown = [ACCURACY, Metric.pass_at(8), *marked.metrics]
    expected = [100 * float(entry.result.values(metric).mean()) for metric in shown]
    assert [row[1] for row in scores['rows'][1:]] == pytest.approx(expected)
    drawing = saved(model, 'SVG', 1)
    assert drawing.count('role="option"') == QUESTIONS
    assert 'class=' not in drawing
