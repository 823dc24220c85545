"""A question on the page, in a real browser from disk: samples, answers, responses, and a reader's labels."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Page
from firefox import firefox
from question_pages import Made, made_page, static_host

from gpassk_opencompass.cli import main
from gpassk_opencompass.report.page import write_page

pytestmark = pytest.mark.e2e

QUESTIONS, N = 6, 16
TEXTS = [
    f'<think>\nLet me try {i}.\n</think>\nWe take $x_{{{i}}} = {i}$.\n\n\\[\n'
    f'\\frac{{x^2}}{{{i + 1}}}\n\\]\n\nSo it is $\\boxed{{42}}$.'
    for i in range(11)
]


@pytest.fixture(scope='module')
def written(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A page of six runs on one benchmark, with responses beside it."""
    return made_page(tmp_path_factory.mktemp('page'), TEXTS, questions=QUESTIONS, n=N)


@pytest.fixture
def made(written: Made, tmp_path: Path) -> Made:
    """A copy that may be damaged."""
    folder = tmp_path / 'page'
    shutil.copytree(written.path.parent, folder)
    return written._replace(path=folder / 'index.html')


@pytest.fixture(autouse=True)
def _forgets(request: pytest.FixtureRequest) -> Iterator[None]:
    """No label of one test is there in another."""
    yield
    if 'page' in request.fixturenames:
        request.getfixturevalue('page').script('try { localStorage.clear() } catch {}')


def text(page: Page, selector: str) -> str:
    """What the first element says."""
    return str(page.find(selector).text)


def press(page: Page, *keys: str) -> None:
    """On what has the focus."""
    page.driver.switch_to.active_element.send_keys(*keys)


def test_strip_answers_and_counts_are_those_of_the_result(page: Page, written: Made) -> None:
    """Each sample once, each answer as often as it was given; cut off ones apart from wrong ones."""
    for run, position in ((0, 0), (4, 3)):
        written.show(page, run, position)
        page.wait_for('.strip')
        given = written.samples(run, position)['samples']
        letters = [mark.text for mark in page.all('.run > .strip [role=option]')]
        expected = [
            'R' if one['verdict'] == '1' else 'C' if one['finish'] == 'length' else 'W' for one in given
        ]
        assert letters == expected
        answers = Counter(one['answer'] for one in given)
        heads = [one.text for one in page.all('.cluster .answer-head .note')]
        assert [int(head.split(', ')[1].split(' of ')[0]) for head in heads] == sorted(
            answers.values(), reverse=True
        )
        counts = written.board.entries[run].result.counts.c[position]
        assert text(page, '.run h3') == f'{counts} of {N} right'
        assert page.complaints() == []


def test_an_answer_opens_to_its_responses_with_drawn_formulas(page: Page, written: Made) -> None:
    """The thought is folded away, the final answer marked, and what the judge said is there."""
    written.show(page, 0, 0)
    page.wait_for('.cluster summary .sample.right')
    page.find('.cluster summary:has(.sample.right)').click()
    response = page.wait_for('.cluster .member[class] .response')
    assert 'So it is' in response.text
    assert page.wait_for('.cluster .response .longtext math mfrac')
    marked = page.wait_for('.cluster .response mark.answer math')
    assert page.script('return arguments[0].textContent', marked) == '42'
    for told in ('tokens', 'ended: ', 'seed '):
        assert told in response.text
    judged = response.find_element('xpath', './/summary[contains(., "made-judge")]')
    assert 'equal to 42?' not in response.text
    judged.click()
    page.wait_for('.cluster .response details[open] > :not(summary)')
    assert 'equal to 42?' in response.text
    assert page.complaints() == []


def test_two_responses_part_at_the_same_place(page: Page, written: Made, made: Made) -> None:
    """The first word that differs is marked in both, also where it is far down, and is in sight."""
    same = 'All of this is the same. ' * 3000
    samples = made.samples(0, 1)['samples']
    samples[2]['response'], samples[5]['response'] = (
        f'{same}Then seven follows.',
        f'{same}Then eight follows.',
    )
    made.rewrite(0, 1, samples=samples)
    made.show(page, 0, 1, '2', '5')
    page.wait_for('.side:nth-child(2) mark.apart')
    assert [mark.text for mark in page.all('mark.apart')] == ['seven', 'eight']
    assert text(page, '.parting') == f'The responses part after {len(same) + 5:,} characters.'
    time.sleep(0.3)
    for mark in page.all('mark.apart'):
        inside = """const box = (e) => e.getBoundingClientRect();
            const [a, b] = [box(arguments[0]), box(arguments[0].closest('.text'))];
            return a.top >= b.top && a.bottom <= b.bottom"""
        assert page.script(inside, mark)
    # On a phone one is below the other.
    tops = 'return [...document.querySelectorAll(".side")].map((e) => e.getBoundingClientRect().top)'
    assert len(set(page.script(tops))) == 1
    size = {'width': 390, 'height': 844, 'deviceScaleFactor': 1, 'mobile': True}
    page.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', size)
    try:
        assert len(set(page.script(tops))) == 2
        assert page.script('return document.documentElement.scrollWidth') <= 390
    finally:
        page.driver.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})


@pytest.mark.parametrize(
    ('first', 'second', 'said'),
    [
        ('same', 'same', 'The responses are identical.'),
        ('so it', 'so it is', 'Of the responses, the first is the beginning of the second'),
        ('so', '', 'Of the responses, the second is the beginning of the first'),
        ('one', 'two', 'The responses differ from the first word.'),
    ],
)
def test_how_two_responses_compare_is_said(
    page: Page, made: Made, first: str, second: str, said: str
) -> None:
    """Identical, one the beginning of the other, or different at once."""
    samples = made.samples(0, 0)['samples']
    samples[0]['response'], samples[1]['response'] = first, second
    made.rewrite(0, 0, samples=samples)
    made.show(page, 0, 0, '0', '1')
    page.wait_for('.parting')
    assert text(page, '.parting').startswith(said)


def test_thoughts_are_compared_apart_from_what_follows(page: Page, made: Made) -> None:
    """Whether they stand within the response or the engine gave them apart."""
    samples = made.samples(0, 0)['samples']
    samples[0].update(response='try 7</think>It is 42.', thought=13)
    samples[1].update(response='It is 43.', separateThought='try 8')
    made.rewrite(0, 0, samples=samples)
    made.show(page, 0, 0, '0', '1')
    page.wait_for('.side:nth-child(2) details[open] mark.apart')
    assert text(page, '.parting') == (
        'The thoughts part after 4 characters. The responses part after 6 characters.'
    )
    assert [mark.text for mark in page.all('mark.apart')] == ['7</think>', '42.', '8', '43.']


def test_the_strip_is_one_tab_stop_with_arrows(page: Page, written: Made) -> None:
    """Enter opens a sample and closes it; the address says which are open, and Back takes it back."""
    from selenium.webdriver.common.keys import Keys

    written.show(page, 0, 2)
    page.wait_for('.strip')
    assert len(page.all('.run > .strip [tabindex="0"]')) == 1
    page.script('document.querySelector(".strip [tabindex=\\"0\\"]").focus()')
    press(page, Keys.ARROW_RIGHT)
    press(page, Keys.ARROW_RIGHT)
    press(page, Keys.ENTER)
    assert page.driver.current_url.endswith(written.address(0, 2, '2'))
    press(page, Keys.END)
    press(page, Keys.SPACE)
    assert page.driver.current_url.endswith(written.address(0, 2, '2', str(N - 1)))
    assert len(page.all('.side')) == 2
    page.driver.back()
    page.driver.back()
    assert page.driver.current_url.endswith(written.address(0, 2))
    assert not page.all('.side')
    # Arrows within the strip do not leave the question.
    assert text(page, '.question h2').endswith(written.board.entries[0].result.counts.uid[2])


def test_previous_and_next_by_link_and_key(page: Page, written: Made) -> None:
    """In the order of the questions that are chosen, with the place among them; not while somebody types."""
    from selenium.webdriver.common.keys import Keys

    uids, groups = written.board.entries[0].result.counts.uid, written.board.entries[0].result.counts.group
    written.show(page, 0, 0)
    heading = lambda: text(page, '.question h2').removeprefix('Question ')  # noqa: E731
    assert '1 of 6' in text(page, '.steps')
    assert 'Keys: ← → or k j' in text(page, '.steps')  # what cannot be seen has no text
    for keys, position in (('j', 1), (Keys.ARROW_RIGHT, 2), ('k', 1), (Keys.ARROW_LEFT, 0), ('k', 0)):
        page.find('body').send_keys(keys)
        assert heading() == uids[position]
    page.find('#taus').send_keys('j')
    assert heading() == uids[0]
    page.driver.find_element('link text', 'Next →').click()
    assert heading() == uids[1]
    assert page.script('return document.activeElement.id') == 'question-title'
    page.driver.back()
    assert heading() == uids[0]
    chosen = [uid for uid, group in zip(uids, groups, strict=True) if group == groups[1]]
    written.show(page, 0, 1, group=groups[1])
    assert f'1 of {len(chosen)}' in text(page, '.steps')
    page.find('body').send_keys('j')
    assert heading() == chosen[1]


def test_two_runs_stand_beside_each_other(page: Page, written: Made) -> None:
    """Samples of either can be compared with those of the other."""
    names = [written.board.entries[run].name for run in (0, 4)]
    written.show(page, 0, 3, '1', 'with.2', **{'with': names[1]})
    page.wait_for('.side:nth-child(2) .response')
    strips = page.all('.run > .strip')
    assert [len(strip.find_elements('css selector', '[role=option]')) for strip in strips] == [N, N]
    for section, run in zip(page.all('.run h3'), (0, 4), strict=True):
        counts = written.board.entries[run].result.counts.c[3]
        assert section.text == f'{written.board.entries[run].name}: {counts} of {N} right'
    heads = [one.text for one in page.all('.side h4')]
    assert [name in head for name, head in zip(names, heads, strict=True)] == [True, True]
    expected = [written.samples(0, 3)['samples'][1], written.samples(4, 3)['samples'][2]]
    for side, sample in zip(page.all('.side'), expected, strict=True):
        assert f'seed {sample["seed"]}' in side.text


@pytest.mark.parametrize(
    ('damage', 'said'),
    [
        (None, 'is not beside this page: copy the folder responses along with the page'),
        ('gpasskShard("x', 'is damaged (it does not hold what its name says)'),
        ('', 'is damaged (it does not hold what its name says)'),
        ('gpasskShard({name}, "eJwDAAA")', 'is damaged (it cannot be unpacked)'),
        ('gpasskShard({name}, "&&&")', 'is damaged (it cannot be unpacked)'),
        ('gpasskShard({name}, 7)', 'is damaged (it cannot be unpacked)'),
        ('gpasskShard("abcdefabcdef/1", "eJwDAAAAAAE=")', 'is damaged (it does not hold what its name says)'),
        ({'uid': 'another'}, 'is damaged (it holds the question another, not '),
        ({'samples': 7}, 'is damaged (it holds something else than samples)'),
        ({'samples': []}, 'is damaged (it holds 0 samples, not 16)'),
        ({'samples': [{'replica': 0}]}, 'is damaged (it holds something else than samples)'),
        ({'first': {'verdict': 'x'}}, 'is damaged (it holds something else than samples)'),
        ({'first': {'response': ['a']}}, 'is damaged (it holds something else than samples)'),
    ],
)
def test_a_missing_or_damaged_file_is_told_in_its_place(
    page: Page, made: Made, damage: Any, said: str
) -> None:
    """The question, its counts and all other questions are there; once the file is mended it is read."""
    file = made.shards(0) / '1.js'
    whole = file.read_text()
    if damage is None:
        file.unlink()
    elif isinstance(damage, str):
        file.write_text(damage.replace('{name}', f'"{file.parent.name}/1"'))
    else:
        made.rewrite(0, 1, **damage)
    made.show(page, 0, 1)
    warning = page.wait_for('.run .warning')
    assert f'responses/{file.parent.name}/1.js' in warning.text
    assert said in warning.text
    assert 'gpassk report --responses' in warning.text
    assert text(page, '.asking .longtext').startswith('Find the value of')
    assert 'of 16 right' in text(page, '.run h3')
    page.find('body').send_keys('j')
    assert len(page.wait_for('.run .strip').find_elements('css selector', '[role=option]')) == N
    file.write_text(whole)
    page.find('body').send_keys('k')
    assert len(page.wait_for('.run .strip').find_elements('css selector', '[role=option]')) == N


def test_a_lost_response_says_why(page: Page, made: Made) -> None:
    """The others are there."""
    made.rewrite(0, 0, first={'response': None, 'lost': 'the prediction file has no sample 0'})
    made.show(page, 0, 0, '0')
    assert 'the prediction file has no sample 0' in page.wait_for('.side .warning').text


def test_one_file_shows_answers_and_how_to_get_responses(page: Page, written: Made, tmp_path: Path) -> None:
    """Without shards: the same strip and the same answers."""
    [path] = write_page([written.board], tmp_path)
    alone = written._replace(path=path)
    found = []
    for one in (written, alone):
        one.show(page, 4, 3)
        page.wait_for('.strip')
        letters = [mark.text for mark in page.all('.run .strip [role=option]')]
        heads = [' '.join(head.text.split()) for head in page.all('.cluster .answer-head')]
        found.append((letters, heads))
    assert found[0] == found[1]
    assert 'the report was made without --responses' in text(page, '.run .note')
    assert page.requests() == []
    assert page.complaints() == []


def test_labels_survive_a_reload_and_judge_agreement_reads_the_file(
    page: Page, written: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong, right and unsure ones of two runs; the file that Chromium saves is what the command reads."""
    page.driver.execute_cdp_cmd(
        'Browser.setDownloadBehavior', {'behavior': 'allow', 'downloadPath': str(tmp_path)}
    )
    expected = []
    for run in (0, 4):
        written.show(page, run, 3)
        page.wait_for('.cluster')
        for cluster, choice in zip(page.all('.cluster'), ('wrong', 'right', 'Unsure'), strict=False):
            head = cluster.find_element('css selector', '.answer-head')
            right = ' right, ' in head.text
            button = cluster.find_elements('css selector', '.labelling button')
            if not button:
                continue
            next(one for one in button if one.text.endswith(choice)).click()
            if choice != 'Unsure':
                expected.append(right == (choice == 'right'))
    pressed = len(page.all('.labelling [aria-pressed=true]'))
    page.driver.refresh()
    page.wait_for('.cluster')
    assert len(page.all('.labelling [aria-pressed=true]')) == pressed > 0
    page.button('Export as JSON lines').click()
    end = time.monotonic() + 20
    while not (saved := list(tmp_path.glob('*.jsonl'))) and time.monotonic() < end:
        time.sleep(0.05)
    rows = [json.loads(line) for line in saved[0].read_text().splitlines()]
    assert [row['label'] for row in rows] == expected
    assert {row['id'] for row in rows} == {written.board.entries[0].result.counts.uid[3]}
    assert main(['judge', 'agreement', str(saved[0]), '--disagreements', str(tmp_path / 'differ.jsonl')]) == 0
    assert f'{len(rows)}' in capsys.readouterr().out
    assert all(row['reference'] == '42' and row['question'].startswith('Find') for row in rows)


def test_it_works_in_firefox(written: Made, tmp_path: Path) -> None:
    """From disk and from a static host: responses are loaded, formulas drawn, and a missing file is told."""
    with firefox(tmp_path) as other, static_host(written.path.parent) as host:
        for start in (written.path.resolve().as_uri(), f'{host}/index.html'):
            other.open(start + written.address(0, 0, '0', '1'))
            other.wait_for('document.querySelectorAll(".side mark.apart").length === 2')
            other.wait_for('document.querySelectorAll(".side math mfrac").length === 2')
            assert other.script(f'document.querySelectorAll(".run > .strip [role=option]").length === {N}')
        assert other.complaints == []
        shutil.copy(written.path, tmp_path / 'alone.html')
        other.open((tmp_path / 'alone.html').resolve().as_uri() + written.address(0, 0))
        assert 'is not beside this page' in other.wait_for(
            'document.querySelector(".run .warning")?.textContent'
        )
