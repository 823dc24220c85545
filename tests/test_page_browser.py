"""The page in a real browser, from disk and without a network."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from browser import (
    BROKEN,
    HOSTILE,
    Page,
    made_up_result,
    many_results,
    one_board,
    showing,
)

from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.report.leaderboard import Board
from gpassk_opencompass.report.page import write_page
from gpassk_opencompass.report.published import Published
from gpassk_opencompass.uncertainty import compare

pytestmark = pytest.mark.e2e


def first_lines(values: list[float]) -> list[str]:
    return [f'{100 * value:.2f}' for value in values]


def test_the_first_view_shows_scores_and_intervals_of_the_library(shown: Page, board: Board) -> None:
    """Best first, with what Python computes to the digit."""
    assert shown.column(2) == [entry.name for entry in board.entries]
    for column, metric in zip((4, 5, 6, 7), board.metrics, strict=True):
        for cell, entry in zip(shown.all(f'#rows td:nth-child({column + 1})'), board.entries, strict=True):
            interval = entry.interval(metric)
            score, below = cell.text.split('\n', 1)
            assert score == f'{100 * interval.estimate:.2f}'
            if interval.refused:
                assert below.startswith('no interval')
                assert cell.find_element('css selector', '.range').get_attribute('title') == interval.refused
            else:
                assert below == f'{100 * interval.low:.1f} – {100 * interval.high:.1f}'


def test_a_note_on_the_greedy_run_is_read_beside_it(page: Page, tmp_path: Path) -> None:
    """In the table and with the facts of its model."""
    questions = [(f'Question {number}', '42') for number in range(24)]
    sampled = made_up_result('m_t1.0_l50', 0.5, questions)
    made = made_up_result('m_t0_l99', 0.5, questions, n=1)
    greedy = replace(made, record={'gpassk': {**made.block, 'unjudged': 2}})
    note = 'greedy run with max_out_len 99; greedy run with 2 of 24 samples unjudged'
    with showing(page, one_board([sampled, greedy]), tmp_path) as shown:
        [cell] = shown.all('#rows td:nth-child(4)')
        assert cell.find_element('css selector', '.remark').text == note
        shown.button('m_t1.0_l50').click()
        assert note in shown.find('#model dl').text


def test_the_greedy_run_stands_beside_its_model_and_missing_ones_sort_last(shown: Page, board: Board) -> None:
    """Whichever way the column is sorted."""
    greedy = board.entries[-1].greedy_accuracy()
    assert greedy
    for _ in range(2):
        shown.button('Greedy').click()
        assert shown.column(3) == [f'{100 * greedy.estimate:.2f}', '–', '–']


def test_a_column_sorts_both_ways_and_says_so(shown: Page, board: Board) -> None:
    """Numbers in names count as numbers: 1B, 2B, 10B would be apart as text."""
    shown.button('Model').click()
    names = sorted(entry.name for entry in board.entries)
    assert shown.column(2) == names
    head = shown.find('[data-column=name]')
    assert head.get_attribute('aria-sort') == 'ascending'
    shown.button('Model').click()
    assert shown.column(2) == names[::-1]
    assert head.get_attribute('aria-sort') == 'descending'
    assert (
        shown.script('return document.getElementById("status").textContent') == 'Sorted by Model, descending'
    )
    assert len(shown.all('[aria-sort]')) == 1


def test_the_filter_keeps_models_with_all_words(shown: Page) -> None:
    """In any order and case, and it says how many are left."""
    shown.set('#filter', '1b WEAK')
    assert shown.column(2) == ['weak-1B_t0.7_l99']
    assert shown.find('#shown').text == '1 of 3 models'
    shown.set('#filter', 'nobody')
    assert shown.find('#empty').is_displayed()


@pytest.mark.parametrize('k', [1, 3, 8])
def test_another_k_shows_its_own_scores(shown: Page, board: Board, k: int) -> None:
    """Also one that the results were not made for; mG-Pass@1 does not exist."""
    shown.set('#k', str(k))
    mean = [Metric.mg_pass_at(k)] if k > 1 else []
    columns = [*(Metric.g_pass_at(k, tau) for tau in (0.5, 0.75, 1.0)), *mean]
    heads = [head.text.split(' ')[0].split('\n')[0] for head in shown.all('#heads th')]
    assert heads[4 : 4 + len(columns)] == list(map(str, columns))
    by_name = {entry.name: entry for entry in board.entries}
    for place, metric in enumerate(columns, 4):
        expected = [float(by_name[name].result.values(metric).mean()) for name in shown.column(2)]
        assert shown.column(place) == first_lines(expected)


def test_other_thresholds_show_their_own_scores(shown: Page, board: Board) -> None:
    """Any of them, and also 0: at least one."""
    shown.set('#taus', '0 0.3, 0.9')
    for place, tau in enumerate((0, 0.3, 0.9), 4):
        values = [entry.result.values(Metric.g_pass_at(4, tau)).mean() for entry in board.entries]
        assert sorted(shown.column(place)) == sorted(first_lines(values))


@pytest.mark.parametrize(
    ('field', 'value'), [('#k', '9'), ('#k', '0'), ('#taus', '1.5'), ('#taus', 'x'), ('#taus', '')]
)
def test_a_choice_that_cannot_be_is_refused_with_what_can(shown: Page, field: str, value: str) -> None:
    """The table stays as it was, and a screen reader hears why."""
    before = shown.column(4)
    if value:
        shown.set(field, value)
    else:
        shown.set(field, ' ')
    assert shown.find(field).get_attribute('aria-invalid') == 'true'
    assert ' to ' in shown.find('#problem').text
    assert shown.column(4) == before


def test_a_group_of_questions_is_scored_by_itself(shown: Page, board: Board) -> None:
    """With intervals of its own."""
    shown.choose('#group', 'AMC_cn')
    for row, entry in enumerate(board.entries, 1):
        interval = entry.group_interval('AMC_cn', Metric.mg_pass_at(4))
        assert interval
        assert not interval.refused
        cell = shown.find(f'#rows tr:nth-child({row}) td:nth-child(8)').text
        assert cell == f'{100 * interval.estimate:.2f}\n{100 * interval.low:.1f} – {100 * interval.high:.1f}'


def test_two_models_are_compared_as_the_library_does(shown: Page, board: Board) -> None:
    """Difference, interval, p-value, and what pairing brings."""
    shown.choose('#first', 'weak-1B_t0.7_l99')
    shown.choose('#second', 'steady-10B_t0.7_l99')
    shown.choose('#metric', 'G-Pass@4_0.5')
    by_name = {entry.name: entry.result.values(Metric.parse('G-Pass@4_0.5')) for entry in board.entries}
    expected = compare(
        by_name['weak-1B_t0.7_l99'], by_name['steady-10B_t0.7_l99'], board.entries[0].result.problems
    )
    facts = [fact.text for fact in shown.all('#comparison dd')]
    assert facts[0] == f'{100 * expected.difference:+.2f} points'.replace('-', '−')
    assert facts[1] == f'{100 * expected.low:+.2f} to {100 * expected.high:+.2f}'.replace('-', '−')
    assert facts[2] == (f'{expected.p_value:.4f}' if expected.p_value >= 1e-4 else '< 0.0001')
    assert facts[3] == f'{100 * expected.error:.2f}; without pairing {100 * expected.unpaired_error:.2f}'
    assert shown.find('.verdict').text == 'The second is better on questions of this kind, at 95 %.'


def test_a_model_compared_with_itself_gives_no_interval(shown: Page) -> None:
    """It says why."""
    shown.choose('#first', 'weak-1B_t0.7_l99')
    shown.choose('#second', 'weak-1B_t0.7_l99')
    assert 'No interval: too few problems differ: 0.0 in effect' in shown.find('#comparison').text


def test_a_model_opens_to_its_questions_and_a_question_to_its_answers(shown: Page, board: Board) -> None:
    """Each different answer, its verdict, who judged, how often; in all n of them."""
    entry = board.entries[1]
    text = shown.open_question(entry.name, 'q5').text
    assert 'Question 5' in text
    assert 'Reference answer: 42' in text
    rows = [row.text for row in shown.all('#question table:first-of-type tbody tr')]
    lines = [row.rsplit(' ', 1) for row in rows if 'correct' in row]
    assert sum(int(times) for _, times in lines) == entry.result.n
    right = [int(times) for line, times in lines if '✓ correct equal' in line]
    assert sum(right) == entry.result.counts[5]
    assert entry.result.signature in shown.find('#model dl').text


def test_questions_can_be_ordered_by_how_unsteady_they_are(shown: Page, board: Board) -> None:
    """Those answered now right, now wrong come first."""
    entry = board.entries[0]
    shown.button(entry.name).click()
    shown.choose('#question-order', 'least stable first')
    shares = [int(cell.text) for cell in shown.all('#model .tall:last-of-type tbody td:nth-child(3)')]
    unsteady = [c * (8 - c) for c in shares]
    assert len(shares) == 60
    assert unsteady == sorted(unsteady, reverse=True)


def test_chinese_and_latex_are_shown_as_text_and_formulas(shown: Page) -> None:
    """MathML of the browser, without fonts or scripts from elsewhere."""
    question = shown.open_question('strong', 'q0')
    assert '已知函数' in question.text
    assert len(shown.all('#question p:first-of-type math')) == 2
    fraction = shown.find('#question mfrac')
    assert fraction.rect['height'] > 1.5 * shown.find('#question mfrac mn').rect['height']
    assert shown.find('#question .rich').get_attribute('lang') == 'zh'


def test_a_response_with_markup_is_shown_and_does_nothing(shown: Page) -> None:
    """No element comes of it."""
    question = shown.open_question('strong', 'q1')
    assert question.text.count(HOSTILE) >= 2
    assert shown.script('return [window.harmed ?? null, document.images.length]') == [None, 0]
    assert len(shown.all('script')) == 2


def test_the_policy_stops_what_the_page_would_not_do(page: Page, board: Board, tmp_path: Path) -> None:
    """The second line of defence: markup that got in would neither parse nor run."""
    page.open(write_page([board], tmp_path)[0])
    refused = page.script("""try { document.body.innerHTML = '<img src=x onerror="window.harmed = 3">'; }
        catch (error) { return error.name; }""")
    assert refused == 'TypeError'
    assert 'TrustedHTML' in ' '.join(page.complaints())
    page.script(
        "const s = document.createElement('img'); s.src = 'https://localhost/x'; document.body.append(s);"
    )
    assert 'Content Security Policy' in ' '.join(page.complaints())


def test_a_request_would_be_seen(page: Page, tmp_path: Path) -> None:
    """That the other tests see none means something."""
    leaky = tmp_path / 'leaky.html'
    leaky.write_text('<!doctype html><img src="http://localhost:9/leak.png">', encoding='utf-8')
    page.open(leaky)
    assert 'http://localhost:9/leak.png' in page.requests()
    assert page.complaints() != []


def test_broken_latex_is_shown_as_it_was_written(shown: Page) -> None:
    """The rest of the text stays whole."""
    text = shown.open_question('strong', 'q2').text
    assert f'Broken: ${BROKEN}$ end' in text
    assert f'Reference answer: {BROKEN}' in text


def test_curves_follow_the_ticks_and_have_their_numbers_in_a_table(shown: Page, board: Board) -> None:
    """A picture alone would be closed to some readers."""
    assert len(shown.all('#chart .line')) == 3
    shown.find('#rows tr:first-child input').click()
    assert [item.text for item in shown.all('#legend li')] == [entry.name for entry in board.entries[1:]]
    shown.find('#curve-values').find_element('xpath', '../summary').click()
    heads = [head.text for head in shown.all('#curve-values thead th')]
    scores = [cell.text.split('\n')[0] for cell in shown.all('#curve-values tbody tr:nth-child(3) td')]
    assert heads == ['τ', *(entry.name for entry in board.entries[1:])]
    expected = [entry.result.values(Metric.parse('G-Pass@4_0.75')).mean() for entry in board.entries[1:]]
    assert scores == first_lines(expected)


def test_published_tables_have_values_and_nothing_that_needs_counts(
    page: Page, board: Board, tmp_path: Path
) -> None:
    """No curves, no comparison; back at our own table they are there again."""
    values = {('a', 'B', 'mG-Pass@16'): 10.5, ('b', 'B', 'mG-Pass@16'): 20.0, ('b', 'B', 'Greedy'): 30.0}
    published = Published(('a', 'b'), ('B',), ('Greedy', 'mG-Pass@16'), values)
    page.open(write_page([board], tmp_path, published=published)[0])
    page.choose('#board-choice', 'Published: B')
    assert page.column(0) == ['b', 'a']
    assert page.column(1) == ['30.00', '–']
    assert [part.is_displayed() for part in page.all('[data-counts]')] == [False] * 6
    page.choose('#board-choice', board.title)
    assert len(page.column(0)) == 3
    assert page.complaints() == []


def test_three_hundred_models_load_sort_and_filter_without_freezing(page: Page, tmp_path: Path) -> None:
    """300 models, 238 questions, n = 48: bounds that only a freeze exceeds."""
    [path] = write_page([one_board(many_results(300, 238, 48))], tmp_path)
    start = time.monotonic()
    page.open(path)
    assert len(page.column(2)) == 300
    assert time.monotonic() - start < 20
    for action in (
        "document.querySelector('[data-column=name] button').click()",
        "find('k').value = 8; find('k').dispatchEvent(new Event('change'))",
        "find('filter').value = '29'; find('filter').dispatchEvent(new Event('input'))",
    ):
        took = page.script(f"""const find = (id) => document.getElementById(id), start = performance.now();
            {action}; document.body.offsetHeight; return performance.now() - start""")
        assert took < 5_000, action
    assert len(page.column(2)) == 13
    assert page.complaints() == []
