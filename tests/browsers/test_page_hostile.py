"""Texts of models that nobody would write: the page shows them as text, in their place, and stays quick."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browser import BROKEN, HOSTILE, QUESTIONS, Page, made_up_result, nasty_board, one_board
from question_pages import Made, made_page

from gpassk_opencompass.report.page import write_page

pytestmark = pytest.mark.e2e

BIDI = 'a\u202e\u2066b\u2069 \u0000\u0007\u001b[31m c\u200b\ufeff\ud800'
BIDI_SHOWN = 'a⟨U+202E⟩⟨U+2066⟩b⟨U+2069⟩ ⟨U+0000⟩⟨U+0007⟩⟨U+001B⟩[31m c⟨U+200B⟩⟨U+FEFF⟩⟨U+D800⟩'
MEGABYTE = 1_000_000
DEEP = {
    'braces': '$' + '{' * 900 + 'x' + '}' * 900 + '$',
    'fractions': '$' + r'\frac{1}{1+' * 50 + 'x' + '}' * 50 + '$',
    'roots without braces': '$' + r'\sqrt' * 380 + 'x$',
    'left and right': '$' + r'\left(' * 180 + 'x' + r'\right)' * 180 + '$',
    'powers': '$' + 'x^{' * 59 + 'y' + '}' * 59 + '$',
    'expansions': r'$\def\a{\b\b}\def\b{\c\c}\def\c{\d\d}\def\d{\e\e}\def\e{xxxx}' + r'\a' * 200 + '$',
    'endless': r'$\def\a{\a\a}\a$',
    'arrays': '$' + r'\begin{matrix}' * 40 + 'x' + r'\end{matrix}' * 40 + '$',
}
ELSEWHERE = {
    'rule': r'$\rule{900em}{900em}$',
    'raised': r'$\raisebox{-90em}{gone}$ $\raisebox{90em}{gone}$',
    'moved': r'$\hspace{-900em}gone$ $\kern-900em gone$ $\llap{' + 'w' * 500 + '}$',
    'colour box': r'$\colorbox{red}{\rule{90em}{90em}}$',
    'stacked': 'z' + '\u0301' * 5000,
    'names': r'$\begin{align}x\label{main}\end{align}$ $\begin{equation}y\label{app}\end{equation}$',
    'links': r'$\href{javascript:window.harmed=3}{x}$ $\url{https://example.org}$ $\ref{main}$',
    'attributes': r'$\id{main}{x}$ $\class{live}{x}$ $\style{position:fixed;inset:0}{x}$ $\data{a=b}{x}$',
    'image': r'$\includegraphics{https://example.org/x.png}$',
    'side': r'$\sideset{_1^2}{_3^4}\sum$ $\prescript{14}{2}{C}$ $\pmb{x}$',
}


@pytest.fixture(scope='module')
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A page with two runs."""
    return made_page(tmp_path_factory.mktemp('page'), ['42'], runs=2, questions=2)


def put(made: Made, page: Page, response: str, **changes: Any) -> Any:
    """Open a response, and return its side."""
    made.rewrite(0, 0, first={'response': response, **changes})
    made.show(page, 0, 0, '0')
    return page.wait_for('.side .response')


def shown(page: Page) -> str:
    """The text of the response as it stands in the document."""
    code = """return [...document.querySelectorAll('.side .slice')].map((e) => e.textContent).join('')"""
    return str(page.script(code))


@pytest.fixture(autouse=True)
def _unharmed(page: Page) -> Iterator[None]:
    """No script of a text ran, nothing but its own files was asked for, and the browser refused nothing."""
    yield
    assert page.script('return window.harmed') is None
    assert not [url for url in page.requests() if '/responses/' not in url]
    assert page.complaints() == []


def test_markup_stays_text_in_every_place(made: Made, page: Page) -> None:
    """In answer, response, thought, prompt, reply, reason and whatever else is told of a sample."""
    told = {
        'answer': HOSTILE, 'reason': HOSTILE, 'finish': HOSTILE, 'state': HOSTILE,
        'separateThought': HOSTILE, 'judge': {'name': HOSTILE, 'prompt': HOSTILE, 'reply': HOSTILE},
    }  # fmt: skip
    put(made, page, f'{HOSTILE}\n${HOSTILE}$\n\\boxed{{{HOSTILE}}}', **told)
    for summary in page.all('.side summary, .cluster summary'):
        summary.click()
    assert (
        page.script('return document.querySelectorAll("main img, main script, main [onerror]").length') == 0
    )
    assert shown(page).count(HOSTILE) >= 5
    assert HOSTILE in [answer.text for answer in page.all('.cluster .answer-text')]


def test_controls_and_directions_are_made_visible(made: Made, page: Page) -> None:
    """In a response, in an answer, and in what is said of it; none of them steers other text."""
    side = put(made, page, BIDI, answer=BIDI, reason=BIDI)
    assert shown(page) == BIDI_SHOWN
    assert BIDI_SHOWN in side.text
    assert BIDI_SHOWN in [answer.text for answer in page.all('.cluster .answer-text')]
    label = page.find('.strip [role=option]').get_attribute('aria-label')
    assert '\u202e' not in label
    assert '\u202e' not in page.script('return document.body.innerText')


def test_right_to_left_text_keeps_to_its_own_place(made: Made, page: Page) -> None:
    """The tokens before and the answer behind stay left of it, in their order."""
    put(made, page, 'שלום 12 + 3', answer='שלום')
    code = """return getComputedStyle(document.querySelector('.side .slice')).unicodeBidi + ' '
            + getComputedStyle(document.querySelector('.side .slice')).direction"""
    assert page.script(code) == 'isolate rtl'
    assert page.script('return getComputedStyle(document.querySelector(".final")).direction') == 'ltr'
    assert (
        page.script('return getComputedStyle(document.querySelector(".final .rich")).unicodeBidi') != 'normal'
    )


@contextmanager
def watched(page: Page) -> Iterator[Any]:
    """A function that tells for how many milliseconds at most the page has answered nobody."""
    code = """window.blocked = [];
        new PerformanceObserver((list) => list.getEntries().map((one) => window.blocked.push(one.duration)))
            .observe({type: 'longtask', buffered: true});"""
    added = page.driver.execute_cdp_cmd('Page.addScriptToEvaluateOnNewDocument', {'source': code})
    try:
        yield lambda: page.script('return Math.max(0, ...window.blocked)')
    finally:
        page.driver.execute_cdp_cmd('Page.removeScriptToEvaluateOnNewDocument', added)


def wait_until(page: Page, code: str, seconds: float = 60) -> None:
    """A script is true at last."""
    end = time.monotonic() + seconds
    while not page.script(code):
        assert time.monotonic() < end, f'{code} did not become true'
        time.sleep(0.05)


@pytest.mark.parametrize(
    ('text', 'formulas'),
    [
        pytest.param('w' * MEGABYTE, 0, id='one word'),
        pytest.param('so we see that it is so\n' * (MEGABYTE // 24), 0, id='lines'),
        pytest.param('😀' * (MEGABYTE // 2), 0, id='emoji'),
        pytest.param(r'\[' * (MEGABYTE // 2), 0, id='openings'),
        pytest.param('$' * MEGABYTE, 0, id='dollars'),
        pytest.param('$x$' * (MEGABYTE // 3), None, id='letters'),
        pytest.param('{' * MEGABYTE, 0, id='braces'),
        pytest.param('e\u0301' * (MEGABYTE // 2), 0, id='accents'),
        pytest.param(r'Then $x_{1} = \frac{1}{2}$. ' * 5000, 5000, id='5,000 formulas'),
        pytest.param('$$\\sum_{i=1}^{n} i^2 = \\frac{n(n+1)(2n+1)}{6}$$\n' * 5000, 5000, id='5,000 sums'),
    ],
)
def test_a_long_response_is_shown_in_parts_and_the_page_stays_quick(
    made: Made, page: Page, text: str, formulas: int | None
) -> None:
    """The beginning, and on a click all of it, without a stop that a reader would notice."""
    with watched(page) as blocked:
        put(made, page, text)
        page.wait_for('.side .longtext button')
        beginning = len(shown(page).encode('utf-16-le')) // 2
        assert formulas != 0 or 29_000 < beginning < 38_000
        page.find('.side .longtext button').click()
        wait_until(page, 'return !document.querySelector(".side .longtext > p")')
        drawn = 'document.querySelectorAll(".side math").length'
        if formulas is None:
            assert 0 < page.script(f'return {drawn}') < 13_000
        else:
            wait_until(page, f'return {drawn} === {formulas}')
        assert formulas != 0 or shown(page) == text
        longest = blocked()
    print(f'no answer for {longest:.0f} ms at most')
    # Loose: tests run beside others, and a browser that waits for a processor looks as if it were busy.
    assert longest < 1500


@pytest.mark.parametrize('text', DEEP.values(), ids=DEEP)
def test_deep_mathematics_is_drawn_or_shown_as_it_was_written(made: Made, page: Page, text: str) -> None:
    """In a second, and the rest is there."""
    with watched(page) as blocked:
        put(made, page, f'Before {text} after.')
        assert page.find('.side .slice').text.startswith('Before')
        assert page.find('.side .slice').text.endswith('after.')
        drawn = page.all('.side math')
        assert drawn or text in shown(page)
        longest = blocked()
    print(f'{"drawn" if drawn else "source"}, no answer for {longest:.0f} ms at most')
    assert longest < 1500


@pytest.mark.parametrize('text', ELSEWHERE.values(), ids=ELSEWHERE)
def test_no_formula_reaches_beyond_its_text(made: Made, page: Page, text: str) -> None:
    """What is drawn does not cover what stands beside it, has no name and no link, and scrolls nothing."""
    put(made, page, f'{text}\nafter', answer=text)
    inside = """const box = document.querySelector('.side .slice'), its = box.getBoundingClientRect();
        const {contain} = getComputedStyle(box);
        const beside = ['.question h2', '.strip', '#runs-of-question', '.side h4 button'];
        const hit = (selector) => {
            const e = document.querySelector(selector);
            e.scrollIntoView({block: 'center'});
            const b = e.getBoundingClientRect();
            return e.contains(document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2));
        };
        const named = 'math [id], math [href], math a, math img, math [style*="fixed"]';
        return [contain.includes('paint') || contain === 'content', beside.every(hit),
            document.querySelectorAll(named).length,
            document.documentElement.scrollWidth <= document.documentElement.clientWidth]"""
    assert page.script(inside) == [True, True, 0, True]
    identifiers = page.script('return [...document.querySelectorAll("[id]")].map((e) => e.id)')
    assert len(identifiers) == len(set(identifiers))


def test_a_question_that_is_itself_hostile_is_text_too(page: Page, tmp_path: Path) -> None:
    """Question, reference, name of the question and of the runs; without any file beside the page."""
    [path] = write_page([nasty_board()], tmp_path)
    page.open(path)
    page.driver.get(f'{path.resolve().as_uri()}#run=steady-10B_t0.7_l99&question=q1')
    asking = page.wait_for('.asking .longtext')
    assert asking.text == HOSTILE
    assert page.find('.reference .rich').text == HOSTILE
    page.find('body').send_keys('j')
    assert page.find('.asking .longtext').text == f'Broken: ${BROKEN}$ end'


def test_words_without_end_break_on_a_narrow_screen(page: Page, tmp_path: Path) -> None:
    """Names of runs, judges, groups and whatever an address asks for: the page does not scroll sideways."""
    word = 'W' * 400
    made = made_up_result(word, 0.5, QUESTIONS)
    made.counts.group = [(word, 'AMC_en')[i % 2] for i in range(len(QUESTIONS))]
    made.judge = {'name': word}
    [path] = write_page([one_board([made])], tmp_path)
    size = {'width': 320, 'height': 800, 'deviceScaleFactor': 1, 'mobile': False}
    page.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', size)
    try:
        for address in ('', f'run={word}', f'run={word}&question=q1', f'run={word}&question={word}'):
            page.driver.get('about:blank')
            page.driver.get(f'{path.as_uri()}#{address}')
            page.wait_for('main *')
            page.wait_for('footer')
            over = page.script('return document.documentElement.scrollWidth - innerWidth')
            assert over <= 0, (address, over)
    finally:
        page.driver.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
