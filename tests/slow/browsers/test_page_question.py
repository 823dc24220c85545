"""A question on the page, in a real browser from disk: samples, answers, and responses side by side."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
from browser import static_host
from firefox import firefox
from made_pages import content_of, made_results, rewritten, write_made_page

from gpassk_opencompass.report.frame import Board

pytestmark = pytest.mark.e2e

N = 16
TEXTS = [
    f'<think>\nLet me try {i}.\n</think>\nWe take $x_{{{i}}} = {i}$.\n\n\\[\n'
    f'\\frac{{x^2}}{{{i + 1}}}\n\\]\n\nSo it is $\\boxed{{42}}$.'
    for i in range(11)
]


class Made(NamedTuple):
    """A page of one benchmark with responses beside it."""

    board: Board
    path: Path

    def address(self, run, position, *samples, **more):
        """Of a question of a run, by its place in the table."""
        uid = self.board.entries[0].result.counts.uid[position]
        return {'run': self.board.entries[run].name, 'question': uid, 'sample': samples, **more}

    def show(self, page, run, position, *samples, **more):
        page.show(self.path, **self.address(run, position, *samples, **more))
        page.wait_for('.question h2')


@pytest.fixture(scope='module')
def written(tmp_path_factory):
    results = made_results(6, {'AIME2024': (6, N)}, TEXTS)
    [board], path = write_made_page(tmp_path_factory.mktemp('page'), results, responses=True)
    return Made(board, path)


@pytest.fixture
def made(written, tmp_path):
    shutil.copytree(written.path.parent, tmp_path / 'page')
    return written._replace(path=tmp_path / 'page' / 'index.html')


def text(page, selector):
    """What the first element says, once it is there."""
    return str(page.wait_for(selector).text)


def drawn(page):
    """The letters of the marks, and the lines of the answers without their samples."""
    page.wait_for('.run > .strip')
    letters = [mark.text for mark in page.all('.run > .strip [role=option]')]
    return letters, [' '.join(one.text.split()) for one in page.all('.cluster')]


def test_marks_answers_and_counts_are_those_of_the_result(page, written, tmp_path):
    """Each sample once, each answer as often as it was given; cut off is not wrong; the same in one file."""
    alone = written._replace(path=write_made_page(tmp_path, made_results(6, {'AIME2024': (6, N)}, TEXTS))[1])
    for run, position in ((0, 0), (4, 3)):
        result = written.board.entries[run].result
        samples = result.samples(rows=(position * N, position * N + N))
        written.show(page, run, position)
        told = zip(samples['verdict'], samples['finish_reason'], strict=True)
        letters, clusters = drawn(page)
        assert letters == [
            'R' if verdict == 'correct' else 'C' if end == 'length' else 'W' for verdict, end in told
        ]
        counts = sorted(
            Counter(zip(samples['answer'], samples['verdict'], strict=True)).values(), reverse=True
        )
        assert [int(line.split(f' of {N}')[0].split(', ')[-1]) for line in clusters] == counts
        assert text(page, '.run h3') == f'{result.counts.c[position]} of {N} right'
        alone.show(page, run, position)
        assert drawn(page) == (letters, clusters)
        assert 'the report was made without them' in text(page, '.run .note')
    assert page.complaints() == []


def test_a_sample_opens_with_formulas_thought_answer_and_judge(page, made):
    """The thought is folded away, the final answer marked, and what the judge said is there."""
    rewritten(made.path, 0, 0, judge=['made-judge', 'Is 42 equal to 42?', 'Yes \\boxed{A}'])
    made.show(page, 0, 0)
    page.wait_for('.members button').click()
    response = page.wait_for('.side .response')
    page.wait_for('.response .longtext math mfrac')
    marked = page.wait_for('.response mark.answer math')
    assert page.script('return arguments[0].textContent', marked) == '42'
    for told in (
        '800 tokens',
        '3.5 s',
        'ended: stop',
        'seed 1000',
        'So it is',
        'Final answer, marked above: 42',
    ):
        assert told in response.text
    assert 'Let me try' not in response.text
    for summary in page.all('.response summary'):
        summary.click()
    assert 'Let me try' in response.text
    assert 'equal to 42?' in response.text
    assert page.complaints() == []


def test_two_responses_part_at_the_same_place(page, made):
    """The first word that differs is marked in both, also where it is far down, and is in sight."""
    same = 'All of this is the same. ' * 3000
    said = [f'{same}Then {word} follows.' for word in ('seven', 'eight')]
    rewritten(made.path, 0, 1, response=[*said, *['x'] * (N - 2)], within=[0] * N)
    made.show(page, 0, 1, '0', '1')
    page.wait_for('.side:nth-child(2) mark.apart')
    assert [mark.text for mark in page.all('mark.apart')] == ['seven', 'eight']
    assert text(page, '.parting') == f'The responses part after {len(same) + 5:,} characters.'
    page.until("""return [...document.querySelectorAll('mark.apart')].every((mark) => {
        const [a, b] = [mark, mark.closest('.text')].map((e) => e.getBoundingClientRect());
        return a.top >= b.top && a.bottom <= b.bottom })""")
    # On a phone one is below the other.
    tops = 'return [...document.querySelectorAll(".side")].map((e) => e.getBoundingClientRect().top)'
    assert len(set(page.script(tops))) == 1
    page.emulate(390)
    assert len(set(page.script(tops))) == 2
    assert page.script('return document.documentElement.scrollWidth') <= 390
    page.emulate()
    page.button('Show more of the 72,005 characters before').click()
    assert page.find('.side .longtext button').text == 'Show more of the 42,005 characters before'


def test_thoughts_are_compared_apart_from_what_follows(page, made):
    said = ['try 7</think>It is 42.', 'It is 43.', *['x'] * (N - 2)]
    thought = [None, 'try 8', *[None] * (N - 2)]
    rewritten(made.path, 0, 0, response=said, within=[13, *[0] * (N - 1)], thought=thought)
    made.show(page, 0, 0, '0', '1')
    page.wait_for('.side:nth-child(2) details[open] mark.apart')
    assert (
        text(page, '.parting')
        == 'The thoughts part after 4 characters. The responses part after 6 characters.'
    )
    assert [mark.text for mark in page.all('mark.apart')] == ['7</think>', '42.', '8', '43.']


def test_the_strip_is_one_tab_stop_with_arrows(page, written):
    """Enter opens a sample and closes it; the address says which are open, and Back takes it back."""
    from selenium.webdriver.common.keys import Keys

    def ends(*samples):
        return bool(
            page.driver.current_url.endswith('#' + urlencode(written.address(0, 2, *samples), doseq=True))
        )

    written.show(page, 0, 2)
    page.wait_for('.strip')
    assert len(page.all('.run > .strip [tabindex="0"]')) == 1
    page.script('document.querySelector(".strip [tabindex=\\"0\\"]").focus()')
    page.press(Keys.ARROW_RIGHT)
    page.press(Keys.ARROW_RIGHT)
    page.press(Keys.ENTER)
    assert ends('2')
    page.press(Keys.END)
    page.press(Keys.SPACE)
    assert ends('2', str(N - 1))
    assert len(page.all('.side')) == 2
    page.driver.back()
    page.driver.back()
    assert ends()
    assert not page.all('.side')
    # Arrows within the strip do not leave the question.
    assert text(page, '.question h2').endswith(written.board.entries[0].result.counts.uid[2])


def test_previous_and_next_by_link_and_key(page, written):
    """In the order of the questions, with the place among them; the heading has the focus."""
    from selenium.webdriver.common.keys import Keys

    uids = written.board.entries[0].result.counts.uid
    written.show(page, 0, 0)
    assert '1 of 6' in text(page, '.steps')
    for keys, position in (('j', 1), (Keys.ARROW_RIGHT, 2), ('k', 1), (Keys.ARROW_LEFT, 0), ('k', 0)):
        page.find('body').send_keys(keys)
        assert text(page, '.question h2') == f'Question {uids[position]}'
    page.driver.find_element('link text', 'Next →').click()
    assert text(page, '.question h2') == f'Question {uids[1]}'
    assert page.script('return document.activeElement.id') == 'question-title'
    page.driver.back()
    assert text(page, '.question h2') == f'Question {uids[0]}'


def test_two_runs_stand_beside_each_other(page, written):
    names = [written.board.entries[run].name for run in (0, 4)]
    written.show(page, 0, 3, '1', 'with.2', **{'with': names[1]})
    page.wait_for('.side:nth-child(2) .response')
    heads = [section.text for section in page.all('.run h3')]
    counts = [written.board.entries[run].result.counts.c[3] for run in (0, 4)]
    assert heads == [f'{name}: {count} of {N} right' for name, count in zip(names, counts, strict=True)]
    for side, name, seed in zip(page.all('.side'), names, (1001, 1002), strict=True):
        assert name in side.find_element('css selector', 'h4').text
        assert f'seed {seed}' in side.text


@pytest.mark.parametrize(
    ('damage', 'said'),
    [
        (None, 'is not beside this page: copy the folder responses along with the page'),
        ('gpasskShard("x', 'is damaged (it does not hold what its name says)'),
        ('gpasskShard({name}, "eJwDAAA")', 'is damaged (it cannot be unpacked)'),
        ('another question', 'is damaged (it is of another question or report)'),
    ],
)
def test_a_missing_or_damaged_file_is_told_in_its_place(page, made, damage, said):
    """The question, its counts and all other questions are there; once the file is mended it is read."""
    folder = made.path.parent / 'responses' / content_of(made.path)['boards'][0]['entries'][0]['shards']
    file, other = folder / '1.js', folder / '2.js'
    whole = file.read_text()
    if damage is None:
        file.unlink()
    elif damage == 'another question':
        file.write_text(other.read_text().replace('/2"', '/1"'))
    else:
        file.write_text(damage.replace('{name}', f'"{folder.name}/1"'))
    made.show(page, 0, 1)
    warning = text(page, '.run .warning')
    assert f'responses/{folder.name}/1.js' in warning
    assert said in warning
    assert 'gpassk report --responses' in warning
    assert text(page, '.asking .longtext').startswith('Find the value of')
    assert f'of {N} right' in text(page, '.run h3')
    page.find('body').send_keys('j')
    assert len(drawn(page)[0]) == N
    file.write_text(whole)
    page.find('body').send_keys('k')
    assert len(drawn(page)[0]) == N
    page.complaints()


def test_it_works_in_firefox(written, tmp_path):
    """From disk and from a static host: responses are loaded, formulas drawn, and a missing file is told."""
    where = '#' + urlencode(written.address(0, 0, '0', '1'), doseq=True)
    with firefox(tmp_path) as other, static_host(written.path.parent) as host:
        for start in (written.path.resolve().as_uri(), f'{host}/index.html'):
            other.open(start + where)
            other.wait_for('document.querySelectorAll(".side mark.apart").length >= 2')
            other.wait_for('document.querySelectorAll(".side math mfrac").length === 2')
            count = f'document.querySelectorAll(".run > .strip [role=option]").length === {N}'
            assert other.script(count)
        assert other.complaints == []
        shutil.copy(written.path, tmp_path / 'alone.html')
        other.open((tmp_path / 'alone.html').resolve().as_uri() + where)
        code = f'document.querySelector({json.dumps(".run .warning")})?.textContent'
        assert 'is not beside this page' in other.wait_for(code)
