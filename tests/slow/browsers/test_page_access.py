"""Every view of the page for people with a keyboard, a screen reader, a phone, a dark room, or a printer."""

import base64
from itertools import cycle
from pathlib import Path

import pytest
from made_pages import made_results, write_made_page

import gpassk_opencompass.report.page

pytestmark = pytest.mark.e2e

AXE = Path(gpassk_opencompass.report.page.__file__).parent / 'source/node_modules/axe-core/axe.min.js'
TEXTS = ['So $x = 42$, and\n\\[\\frac{1}{2}\\]\n\\boxed{42}', '想一想 $y^2$。\\boxed{43}', 'no']
BENCHMARKS = {'LiveMathBench-v202412': (40, 16), 'AIME2024': (24, 16)}
VIEWS = ('overview', 'benchmark', 'run', 'beside', 'question', 'responses')


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    """Runs on two benchmarks with greedy runs, cut-off samples, long and Chinese names, and responses."""
    results = made_results(9, BENCHMARKS, TEXTS)
    return write_made_page(tmp_path_factory.mktemp('page'), results, responses=True)


@pytest.fixture(scope='module')
def views(made):
    [board, *_], _ = made
    first, second = board.entries[0].name, board.entries[4].name
    uid = board.entries[0].result.counts.uid[5]
    at = {
        'benchmark': {},
        'run': {'run': first},
        'beside': {'run': first, 'with': second},
        'question': {'run': second, 'question': uid},
        'responses': {'run': second, 'question': uid, 'sample': ['0', '15']},
    }
    return {'overview': {}, **{name: {'board': board.title, **more} for name, more in at.items()}}


SHOWS = {
    'overview': '#overview tbody th a',
    'benchmark': '#board tbody th a',
    'run': '.map .mark',
    'beside': 'th[data-column=difference]',
    'question': '.strip [role=option]',
    'responses': '.side:nth-child(2) .formula math',
}
"""What stands in a view last."""


@pytest.fixture
def go(page, made, views):
    """Open a view anew, and wait until its parts are there."""

    def open_view(name):
        page.show(made[1], **views[name])
        page.wait_for(SHOWS[name])

    return open_view


@pytest.mark.parametrize('scheme', ['light', 'dark'])
@pytest.mark.parametrize('name', VIEWS)
def test_axe_finds_nothing(page, go, name, scheme):
    """Landmarks, names, roles, heads, contrast: all rules that axe has, in both schemes."""
    if not AXE.is_file():
        pytest.skip('no axe-core here: make page')
    page.emulate(scheme=scheme)
    try:
        go(name)
        page.script(AXE.read_text(encoding='utf-8'))
        told = page.driver.execute_async_script(
            'axe.run(document, {resultTypes: ["violations"]}).then(arguments[arguments.length - 1])'
        )
    finally:
        page.emulate()
    assert told['testEngine']['name'] == 'axe-core'
    broken = [
        (one['id'], node['html'], node['failureSummary'])
        for one in told['violations']
        for node in one['nodes']
    ]
    assert broken == []


MOST_STOPS = 60
"""Tab stops of a view."""


def test_the_way_from_the_first_view_to_a_response_is_keys_alone(page, go):
    """Skip, a run, its map, a question, a sample, and back with the browser's own Back."""
    from selenium.webdriver.common.keys import Keys

    def tab_to(matches):
        for _ in range(MOST_STOPS):
            if page.script('return document.activeElement.matches(arguments[0])', matches):
                return page.driver.switch_to.active_element
            page.press(Keys.TAB)
        raise AssertionError(f'{matches} cannot be reached')

    go('overview')
    page.find('body').send_keys(Keys.TAB)
    assert page.driver.switch_to.active_element.text == 'Skip to the content'
    page.press(Keys.ENTER)
    assert page.script('return document.activeElement.id') == 'main'
    tab_to('#overview tbody th a')
    page.press(Keys.ENTER)
    page.wait_for('#run-title')
    tab_to('.map [role=option]')
    page.press(Keys.ARROW_RIGHT)
    page.press(Keys.ENTER)
    page.wait_for('.strip [role=option]')
    tab_to('.strip [role=option]')
    page.press(Keys.ENTER)
    page.wait_for('.formula, .response')
    page.driver.back()
    page.driver.back()
    page.wait_for('#run-title')
    page.driver.back()
    page.wait_for('#overview')


@pytest.mark.parametrize(
    ('name', 'width', 'zoom'),
    [
        (name, width, zoom)
        for name, (width, zoom) in zip(
            VIEWS, cycle([(320, 1), (390, 1), (768, 1), (1280, 1), (1440, 1), (1280, 2)])
        )
    ],
)
def test_nothing_sticks_out_at_any_width(page, go, name, width, zoom):
    """Wide tables scroll within themselves, the page does not scroll sideways; also at 200 %."""
    page.emulate(width // zoom, scale=zoom)
    try:
        go(name)
        code = 'return document.documentElement.scrollWidth - document.documentElement.clientWidth'
        assert page.script(code) <= 0
    finally:
        page.emulate()


def test_a_print_has_every_row_and_thought(page, made, go):
    for name, rows in (('benchmark', len(made[0][0].entries)), ('responses', None)):
        go(name)
        pdf = page.driver.execute_cdp_cmd('Page.printToPDF', {})
        assert base64.b64decode(pdf['data']).startswith(b'%PDF')
        page.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'media': 'print'})
        code = """const all = (selector) => [...document.querySelectorAll(selector)];
            const scrolled = (e) => getComputedStyle(e).overflowY !== 'visible';
            return [all('#board tbody tr').length, all('.scroll, .text').filter(scrolled).length,
              all('.response details:not([open])').length,
              all('main button').filter((e) => !e.closest('thead') && e.offsetHeight).length]"""
        assert page.script(code) == [rows or 0, 0, 0, 0]
        page.emulate()


def test_the_policy_stops_what_the_page_would_not_do(page, go):
    go('responses')
    page.complaints()
    refused = page.script("""try { document.body.innerHTML = '<img src=x onerror="window.harmed = 3">'; }
        catch (error) { return error.name; }""")
    assert refused == 'TypeError'
    assert 'TrustedHTML' in ' '.join(page.complaints())
    page.script(
        "const s = document.createElement('img'); s.src = 'https://localhost/x'; document.body.append(s);"
    )
    assert 'Content Security Policy' in ' '.join(page.complaints())
    page.script("""const s = document.createElement('script');
        try { s.src = "other.js"; document.body.append(s); } catch (e) { window.refused = e.name; }""")
    assert page.script('return window.refused') == 'TypeError'
    page.complaints()
