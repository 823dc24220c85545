"""Two runs beside each other on the page: two models, or two judges of one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from browser import Page
from made_counts import N, counted, uid_of

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.record import Result
from gpassk_opencompass.report.frame import Board, boards
from gpassk_opencompass.report.page import write_page
from gpassk_opencompass.uncertainty import compare

pytestmark = pytest.mark.e2e

QUESTIONS = 80


def drawn(seed: int, shift: float = 0.0) -> list[int]:
    """Counts on the questions of one benchmark; a larger shift is a better model."""
    ease = np.random.default_rng(1).normal(size=QUESTIONS)
    chance = 1 / (1 + np.exp(-(ease + shift)))
    return [int(c) for c in np.random.default_rng(seed).binomial(N, chance)]


A, NEAR, FAR = drawn(11, 0.3), drawn(12, 0.0), drawn(13, -2.5)
OTHERS = [drawn(20 + i, -0.2 * i) for i in range(9)]


def results() -> list[Result]:
    runs = {'able_t0.7_l99': A, 'near_t0.7_l99': NEAR, 'far_t0.7_l99': FAR}
    runs |= {f'other-{i}_t0.7_l99': c for i, c in enumerate(OTHERS)}
    return [counted(name, c) for name, c in runs.items()]


def show(
    page: Page,
    made: Sequence[Result],
    folder: Path,
    run: str,
    beside: str,
    board: int = 0,
    other: int | None = None,
    more: str = '',
) -> list[Board]:
    tables, _ = boards(made)
    [path] = write_page(tables, folder)
    page.open(path)
    title = quote(tables[board].title)
    theirs = f'&withBoard={quote(tables[other].title)}' if other is not None else ''
    page.script(
        'location.hash = arguments[0]', f'board={title}&run={quote(run)}&with={quote(beside)}{theirs}{more}'
    )
    page.wait_for('#pair-title')
    return tables


def facts(page: Page) -> dict[str, str]:
    names, values = page.all('section dt'), page.all('section dd')
    return {name.text: value.text for name, value in zip(names, values, strict=True)}


def signed(value: float) -> str:
    return f'{100 * value:+.2f}'.replace('-', '−')


@pytest.mark.parametrize('metric', ['mG-Pass@8', 'G-Pass@8_0.5', 'accuracy'])
def test_two_models_are_compared_as_the_library_does(page: Page, tmp_path: Path, metric: str) -> None:
    """Difference, interval, p-value, and what pairing brings; of these two alone."""
    tables = show(page, results(), tmp_path, 'near_t0.7_l99', 'able_t0.7_l99')
    name = 'Accuracy' if metric == 'accuracy' else metric
    page.choose('#metric', name)
    by_name = {entry.name: entry.result for entry in tables[0].entries}
    first, second = (by_name[one].values(Metric.parse(metric)) for one in ('near_t0.7_l99', 'able_t0.7_l99'))
    expected = compare(first, second, by_name['near_t0.7_l99'].counts.problem)
    told = facts(page)
    assert told[f'Difference of {name}, first − second'] == f'{signed(expected.difference)} points'
    assert told['95 % interval'] == f'{signed(expected.low)} to {signed(expected.high)}'
    assert told['p-value'] == (f'{expected.p_value:.4f}' if expected.p_value >= 1e-4 else '< 0.0001')
    assert told['Standard error'].startswith(f'{100 * expected.error:.2f} ')
    assert f' {100 * expected.unpaired_error:.2f} ' in told['Standard error']
    assert 'Of these two, chosen beforehand' in page.find('section').text
    assert page.complaints() == []


def test_the_table_speaks_first_and_tells_the_better_one(page: Page, tmp_path: Path) -> None:
    """Whichever of the two is named first."""
    for first, second in (('able_t0.7_l99', 'far_t0.7_l99'), ('far_t0.7_l99', 'able_t0.7_l99')):
        [table] = show(page, results(), tmp_path, first, second)
        assert page.find('#told').text == (
            'Told apart in the table of all 12 runs (mG-Pass@8, all pairs at once, 95 %): '
            'able_t0.7_l99 is better than far_t0.7_l99.'
        )
        assert page.all('#both') == []
    names = [entry.name for entry in table.entries]
    assert table.better[names.index('able_t0.7_l99'), names.index('far_t0.7_l99')]


def rough() -> list[Result]:
    """Twelve runs that solve each question always or never, whatever others do: they differ much."""
    generator = np.random.default_rng(5)
    chances = np.linspace(0.35, 0.6, 12)
    return [
        counted(f'rough-{i}_t0.7_l99', (N * (generator.random(QUESTIONS) < chance)).tolist())
        for i, chance in enumerate(chances)
    ]


def between_table_and_pair() -> tuple[str, str]:
    """Two that the table does not tell apart, though the comparison of the two alone does."""
    [table] = boards(rough())[0]
    metric = Metric.mg_pass_at(8)
    for i, one in enumerate(table.entries):
        for j, two in enumerate(table.entries):
            values = (one.result.values(metric), two.result.values(metric))
            alone = compare(*values, one.result.counts.problem)
            if not table.better[i, j] and not alone.refused and alone.low > 0:
                return one.name, two.name
    raise AssertionError('the made-up runs hold no such pair')


def test_where_table_and_pair_disagree_it_says_why_both_can_be_true(page: Page, tmp_path: Path) -> None:
    """And nowhere that one is better."""
    first, second = between_table_and_pair()
    show(page, rough(), tmp_path, first, second)
    assert page.find('#told').text.startswith('Not told apart in the table of all 12 runs')
    told = facts(page)
    low = told['95 % interval'].split(' to ')[0]
    assert low.startswith('+')
    assert page.find('#both').text.startswith('Both can be true: the table speaks of 66 pairs at once')
    assert ' better' not in page.find('section').text


def two_judges(change: Sequence[int]) -> list[Result]:
    """One run under two judges; the second has its questions backwards and gives `change` more."""
    lenient = [min(N, c + more) if more > 0 else max(0, c + more) for c, more in zip(A, change, strict=True)]
    return [
        counted('able_t0.7_l99', A),
        counted('able_t0.7_l99', lenient, judge='other', backwards=True),
        counted('near_t0.7_l99', NEAR),
    ]


def test_two_judges_agree_or_not_and_neither_is_better(page: Page, tmp_path: Path) -> None:
    """Matched by the names of questions, whatever their order."""
    change = [2 if i % 5 == 0 else -1 if i % 7 == 0 else 0 for i in range(QUESTIONS)]
    made = two_judges(change)
    tables, _ = boards(made)
    rule = next(i for i, table in enumerate(tables) if table.judge == 'rule')
    show(page, made, tmp_path, 'able_t0.7_l99', 'able_t0.7_l99', board=rule, other=1 - rule)
    second = dict(zip(made[1].counts.uid, made[1].counts.c, strict=True))
    differences = [c - second[uid_of(i)] for i, c in enumerate(A)]
    told = facts(page)
    assert told['As often right by both'].startswith(f'{differences.count(0)} of {QUESTIONS} ')
    assert told['More often right by the first'].startswith(f'{sum(d > 0 for d in differences)} of ')
    assert told['More often right by the second'].startswith(f'{sum(d < 0 for d in differences)} of ')
    assert told['Mean distance of c/n'] == f'{100 * np.mean(np.abs(differences)) / N:.2f} points'
    assert differences.count(0) < QUESTIONS - 10
    assert page.find('#pair-title').text == 'able_t0.7_l99: two judges'
    assert ' better' not in page.find('section').text
    assert page.all('#metric') == []


def test_other_questions_are_refused_with_a_sentence(page: Page, tmp_path: Path) -> None:
    """Only an address that was typed leads there: the choice offers none of them."""
    made = [*results(), counted('able_t0.7_l99', A[:40], data='another', judge='other')]
    tables, _ = boards(made)
    titles = [len(table.entries[0].result.counts.uid) for table in tables]
    show(
        page, made, tmp_path, 'able_t0.7_l99', 'able_t0.7_l99', board=titles.index(80), other=titles.index(40)
    )
    assert 'do not have the same questions' in page.find('[role=alert]:not(#problem)').text
    options = [option.text for option in page.all('#beside option')]
    assert len(options) == 12
    assert page.all('svg') == []


def test_equal_counts_are_one_dot_whose_area_is_their_number(page: Page, tmp_path: Path) -> None:
    """At its place, and with its numbers in words."""
    show(page, results(), tmp_path, 'able_t0.7_l99', 'near_t0.7_l99')
    expected = Counter(zip(A, NEAR, strict=True))
    code = """return [...document.querySelectorAll('circle.dot')].map((dot) =>
        [dot.id, dot.cx.baseVal.value, dot.cy.baseVal.value, dot.r.baseVal.value, dot.ariaLabel])"""
    dots = page.script(code)
    found = {tuple(map(int, name.split('-')[1:])): (x, y, r, words) for name, x, y, r, words in dots}
    assert found.keys() == expected.keys()
    most = max(expected.values())
    largest = max(r for *_, r, _ in found.values())
    for (first, second), (_, _, r, words) in found.items():
        many = expected[first, second]
        assert r == pytest.approx(max(2.5, largest * (many / most) ** 0.5))
        assert words.startswith('1 question:' if many == 1 else f'{many} questions:')
        assert f'first {first} of {N} right, second {second} of {N}' in words
    spots = [(x, y) for x, y, *_ in found.values()]
    line = page.script("""const { x1, y1, x2, y2 } = document.querySelector('.diagonal');
        return [x1, y1, x2, y2].map((one) => one.baseVal.value)""")
    for (first, second), (x, y) in zip(found, spots, strict=True):
        assert x == pytest.approx(line[0] + (line[2] - line[0]) * first / N)
        assert y == pytest.approx(line[1] + (line[3] - line[1]) * second / N)


def test_a_dot_lists_its_questions_which_open_for_both(page: Page, tmp_path: Path) -> None:
    """By mouse and by keys; the drawing is one stop for Tab."""
    from selenium.webdriver.common.keys import Keys

    show(page, results(), tmp_path, 'able_t0.7_l99', 'near_t0.7_l99')
    pairs = list(zip(A, NEAR, strict=True))
    (first, second), _ = Counter(pairs).most_common(1)[0]
    held = {uid_of(i) for i, pair in enumerate(pairs) if pair == (first, second)}
    dot = page.find(f'#dot-{first}-{second}')
    page.script('arguments[0].scrollIntoView({block: "center"})', dot)
    page.script('arguments[0].dispatchEvent(new MouseEvent("click", { bubbles: true }))', dot)
    assert {cell.text for cell in page.all('#twins tbody th')} == held
    assert dot.get_attribute('aria-selected') == 'true'
    page.button('Show all questions').click()
    box = page.find('[role=listbox]')
    assert page.all('[role=listbox] [tabindex]') == []
    box.send_keys(Keys.HOME, Keys.ENTER)
    lowest = min(pairs)
    assert {cell.text for cell in page.all('#twins tbody th')} == {
        uid_of(i) for i, pair in enumerate(pairs) if pair == lowest
    }
    page.find('#twins tbody th a').click()
    address = str(page.script('return location.hash'))
    assert 'question=AMC_' in address
    assert 'with=near_t0.7_l99' in address
    assert page.complaints() == []


def test_both_runs_can_be_chosen_and_swapped(page: Page, tmp_path: Path) -> None:
    """Choosing for the first what stands second swaps them; without a second one there is the model."""
    show(page, results(), tmp_path, 'able_t0.7_l99', 'near_t0.7_l99')
    page.choose('#beside', 'far_t0.7_l99')
    assert page.find('#pair-title').text == 'able_t0.7_l99 beside far_t0.7_l99'
    before = facts(page)['95 % interval'].split(' to ')
    page.button('Swap the two').click()
    assert page.find('#pair-title').text == 'far_t0.7_l99 beside able_t0.7_l99'
    after = facts(page)['95 % interval'].split(' to ')
    opposite = {'+': '−', '−': '+'}
    assert after == [opposite[one[0]] + one[1:] for one in before[::-1]]
    page.choose('#first', 'able_t0.7_l99')
    assert page.find('#pair-title').text == 'able_t0.7_l99 beside far_t0.7_l99'
    page.choose('#beside', 'no other run')
    assert page.wait_for('#model-title').text == 'able_t0.7_l99'
    page.choose('#beside', 'near_t0.7_l99')
    assert page.wait_for('#pair-title').text == 'able_t0.7_l99 beside near_t0.7_l99'
    assert page.complaints() == []
