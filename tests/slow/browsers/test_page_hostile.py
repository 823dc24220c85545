"""Texts of models that nobody would write: the page shows them as text, in their place, and stays quick."""

import pytest
from made_pages import counted, made_results, rewritten, write_made_page

from gpassk_opencompass.record import Names

pytestmark = pytest.mark.e2e

HOSTILE = '</script><script>window.harmed = 1</script><img src="x" onerror="window.harmed = 2">'
BIDI = 'a\u202e\u2066b\u2069 \u0000\u0007\u001b[31m c\u200b\ufeff\ud800'
BIDI_SHOWN = 'a⟨U+202E⟩⟨U+2066⟩b⟨U+2069⟩ ⟨U+0000⟩⟨U+0007⟩⟨U+001B⟩[31m c⟨U+200B⟩⟨U+FEFF⟩⟨U+D800⟩'
MEGABYTE = 1_000_000
DEEP = {
    'braces': '$' + '{' * 900 + 'x' + '}' * 900 + '$',
    'roots without braces': '$' + r'\sqrt' * 380 + 'x$',
    'expansions': r'$\def\a{\b\b}\def\b{\c\c}\def\c{\d\d}\def\d{\e\e}\def\e{xxxx}' + r'\a' * 200 + '$',
    'endless': r'$\def\a{\a\a}\a$',
}
ELSEWHERE = {
    'rule': r'$\rule{900em}{900em}$',
    'moved': r'$\hspace{-900em}gone$ $\kern-900em gone$ $\llap{' + 'w' * 500 + '}$',
    'stacked': 'z' + '\u0301' * 5000,
    'names': r'$\begin{align}x\label{main}\end{align}$ $\begin{equation}y\label{app}\end{equation}$',
    'links': r'$\href{javascript:window.harmed=3}{x}$ $\url{https://example.org}$ $\ref{main}$',
    'attributes': r'$\id{main}{x}$ $\class{live}{x}$ $\style{position:fixed;inset:0}{x}$ $\data{a=b}{x}$',
}


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    """A page with responses of two runs, and where a question of the first is."""
    results = made_results(2, {'AIME2024': (2, 16)}, ['42'])
    [board], path = write_made_page(tmp_path_factory.mktemp('page'), results, responses=True)
    return path, {'run': board.entries[0].name, 'question': board.entries[0].result.counts.uid[0]}


def put(made, page, response, **changes):
    """Open a response, and return its side."""
    path, where = made
    rewritten(path, 0, 0, response=response, **{'answer': '42', 'judge': None, 'thought': None, **changes})
    page.show(path, **where, sample='0')
    return page.wait_for('.side .response')


def shown(page):
    """The text of the response as it stands in the document."""
    return str(
        page.script(
            "return [...document.querySelectorAll('.side .slice')].map((e) => e.textContent).join('')"
        )
    )


@pytest.fixture(autouse=True)
def _unharmed(page):
    """No script of a text ran, nothing but its own files was asked for, and the browser refused nothing."""
    yield
    assert page.script('return window.harmed') is None
    assert not [url for url in page.requests() if '/responses/' not in url]
    assert page.complaints() == []


def test_markup_stays_text_in_every_place(made, page):
    """In answer, response, thought, prompt, reply, reason and whatever else is told of a sample."""
    told = {name: HOSTILE for name in ('answer', 'who', 'finish_reason', 'state', 'thought')}
    put(made, page, f'{HOSTILE}\n${HOSTILE}$\n\\boxed{{{HOSTILE}}}', **told, judge=[HOSTILE] * 3)
    for summary in page.all('.side summary'):
        summary.click()
    assert (
        page.script('return document.querySelectorAll("main img, main script, main [onerror]").length') == 0
    )
    assert shown(page).count(HOSTILE) >= 5
    assert HOSTILE in [answer.text for answer in page.all('.cluster .answer-text')]


def test_controls_and_directions_are_made_visible(made, page):
    """In a response, in an answer, and in what is said of it; none of them steers other text."""
    side = put(made, page, BIDI, answer=BIDI, who=BIDI)
    assert shown(page) == BIDI_SHOWN
    assert BIDI_SHOWN in side.text
    assert BIDI_SHOWN in [answer.text for answer in page.all('.cluster .answer-text')]
    assert '\u202e' not in page.find('.strip [role=option]').get_attribute('aria-label')
    assert '\u202e' not in page.script('return document.body.innerText')


@pytest.mark.parametrize(
    ('text', 'formulas'),
    [
        pytest.param('w' * MEGABYTE, 0, id='one word'),
        pytest.param('so we see that it is so\n' * (MEGABYTE // 24), 0, id='lines'),
        pytest.param(r'Then $x_{1} = \frac{1}{2}$. ' * 40_000, 1_070, id='formulas'),
    ],
)
def test_of_a_long_response_the_beginning_is_shown_and_more_on_a_click(made, page, text, formulas):
    """To the letter, with all its formulas; the page answers while they are drawn."""
    put(made, page, text)
    more = page.wait_for('.side .longtext button')
    if not formulas:
        assert shown(page) == text[: len(shown(page))]
        assert 29_990 < len(shown(page).encode('utf-16-le')) // 2 <= 30_000
        more.click()
        assert shown(page) == text[: len(shown(page))]
        assert 89_990 < len(shown(page).encode('utf-16-le')) // 2 <= 90_000
    else:
        page.until(f'return document.querySelectorAll(".side math").length >= {formulas}')
    assert page.find('.side .longtext button').text.startswith('Show more of the other ')


@pytest.mark.parametrize('text', DEEP.values(), ids=DEEP)
def test_deep_mathematics_is_drawn_or_shown_as_it_was_written(made, page, text):
    put(made, page, f'Before {text} after.')
    assert page.find('.side .slice').text.startswith('Before')
    assert page.find('.side .slice').text.endswith('after.')
    assert page.all('.side math') or text in shown(page)


@pytest.mark.parametrize('text', ELSEWHERE.values(), ids=ELSEWHERE)
def test_no_formula_reaches_beyond_its_text(made, page, text):
    """What is drawn does not cover what stands beside it, has no name and no link, and scrolls nothing."""
    put(made, page, f'{text}\nafter', answer=text)
    inside = """const {contain} = getComputedStyle(document.querySelector('.side .slice'));
        const beside = ['.question h2', '.strip', '#runs', '.side h4 button'];
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


def test_names_that_are_hostile_or_endless_are_text_and_break(page, tmp_path):
    """Of runs, hosts, judges, questions and groups, and whatever an address asks for; nothing sticks out."""
    for name, seen in (
        (HOSTILE, HOSTILE),
        (BIDI[:-1], BIDI_SHOWN.removesuffix('⟨U+D800⟩')),
        ('W' * 400, 'W' * 400),
        ('constructor', 'constructor'),
    ):
        made = counted('m', [3, 5] * 10, judge=name, uids=[f'{name}/{i}' for i in range(20)])
        made.run = Names(model=name, dataset='d', host=name)
        _, path = write_made_page(tmp_path, [made])
        page.emulate(320)
        for address in (
            {},
            {'run': seen},
            {'run': seen, 'question': f'{seen}/1'},
            {'run': seen, 'question': seen},
        ):
            page.show(path, **address)
            page.wait_for('footer')
            assert seen in page.find('main').text
            assert page.script('return document.documentElement.scrollWidth - innerWidth') <= 0, (
                name,
                address,
            )
        page.emulate()
