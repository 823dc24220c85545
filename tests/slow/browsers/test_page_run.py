"""A run on the page: its scores, the map of its questions, their marks, and another run beside it."""

import re
from itertools import pairwise

import numpy as np
import pytest
from made_pages import counted, rows_of, uid_of, write_made_page

pytestmark = pytest.mark.e2e

N, QUESTIONS = 10, 60
# Never, always and in between, and languages that are apart, agree, or are just not far enough.
C = [0, 0, 10, 10, 2, 8, 3, 7, 10, 5, 9, 5, *(i % 11 for i in range(48))]
CUT = [4 if c < 5 and i % 3 == 0 else 0 for i, c in enumerate(C)]
UNJUDGED = [1 if c < 9 and i % 7 == 0 else 0 for i, c in enumerate(C)]
OTHER = np.random.default_rng(5).integers(0, N + 1, QUESTIONS).tolist()


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    """The rows of the frame, the page, and the names of two of its runs."""
    results = [
        counted('marked-7B', C, cut=CUT, unjudged=UNJUDGED),
        counted('marked-7B', [1] * QUESTIONS, n=1, heat=0.0),
    ]
    boards, path = write_made_page(tmp_path_factory.mktemp('page'), [*results, counted('other-1B', OTHER)])
    first, second = sorted(entry.name for entry in boards[0].entries)
    return rows_of(boards), path, first, second


@pytest.fixture
def run(page, made):
    """The page of the run, which has nothing to complain of in the end."""
    page.complaints()
    page.requests()
    page.show(made[1], run=made[2])
    page.wait_for('.map .mark')
    yield page
    assert page.complaints() == []
    assert page.requests() == []


def bright(page):
    """Questions whose mark is not dimmed."""
    marks = "return [...document.querySelectorAll('.map .mark:not(.dim)')].map((e) => e.ariaLabel)"
    return {label.split(':')[0] for label in page.script(marks)}


def listed(page):
    return list(
        page.script("return [...document.querySelectorAll('#questions tbody th')].map((e) => e.innerText)")
    )


def test_scores_are_those_of_the_frame_also_by_group(run, made):
    """With interval, the error of a rerun, and what it were with all unjudged samples right."""
    code = """return [...document.querySelectorAll('#scores tr')].map((row) =>
        [...row.children].map((cell) => cell.innerText.replace(/\\s+/g, ' ').trim()))"""
    (_, *metrics), *lines = run.script(code)
    shown = {
        (name, metric): cell for name, *cells in lines for metric, cell in zip(metrics, cells, strict=True)
    }
    rows = [row for row in made[0] if row.run == made[2]]
    assert {name for name, _ in shown} >= {'all questions', 'AMC_cn', 'AMC_en'}
    for row in rows:
        expected = f'{row.value:.2f} {row.low:.1f} – {row.high:.1f}'
        assert shown[row.group or 'all questions', row.metric] == expected
        if not row.group:
            assert shown['sampled again: error', row.metric] == f'± {row.rerun:.2f}'
            assert shown['if all unjudged were right', row.metric] == f'{row.bound_high:.2f}'


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
def test_marking_dims_all_others_and_says_how_many(run, button, right):
    expected = {uid_of(i) for i, one in enumerate(right) if one}
    assert 0 < len(expected) < QUESTIONS
    run.button(button).click()
    assert bright(run) == set(listed(run)) == expected
    share = 100 * len(expected) / QUESTIONS
    assert run.find('#marked').text == f'{len(expected)} of {QUESTIONS} questions ({share:.1f} %)'
    run.find('#question-filter').send_keys('en/')
    assert set(listed(run)) == {uid for uid in expected if 'en/' in uid}
    run.find('#question-filter').clear()
    run.button(button).click()


def test_marks_are_told_apart_by_shapes_and_in_grey(run):
    """No mark is a colour alone, and each step is lighter or darker than the one before, in both schemes."""
    code = """return [...document.querySelectorAll('.map .mark')].map((e) => [e.ariaLabel.split(':')[0],
        [e.innerText, ...['cut', 'unjudged'].filter((kind) => e.classList.contains(`has-${kind}`)),
        ...(e.classList.contains('disagrees') ? ['languages'] : [])]])"""
    shapes = dict(run.script(code))
    for i, c in enumerate(C):
        letter = '×' if c == 0 else '✓' if c == N else '~' if 2 <= c <= 8 else ''
        marks = {'cut': CUT[i] > 0, 'unjudged': UNJUDGED[i] > 0, 'languages': abs(c - C[i ^ 1]) >= 5}
        assert shapes[uid_of(i)] == [letter, *(name for name, there in marks.items() if there)]
    for scheme in ('light', 'dark'):
        run.emulate(scheme=scheme)
        fills = run.script("""return [0, 1, 2, 3, 4, 5, 6].map((step) =>
            getComputedStyle(document.querySelector(`.map .step-${step} > span`)).backgroundColor)""")
        light = [luminance(fill) for fill in fills]
        assert light == sorted(light, reverse=scheme == 'light')
        ratios = [(max(pair) + 0.05) / (min(pair) + 0.05) for pair in pairwise(light)]
        assert min(ratios) > 1.15, (scheme, ratios)
    run.emulate()


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r'\d+', colour)[:3]]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_another_run_stands_beside_it_question_by_question(run, made):
    run.choose('#beside', made[3])
    run.find('th[data-column=difference] button').click()
    code = """return [...document.querySelectorAll('#questions tbody tr')].map((row) =>
        [row.children[0].innerText, row.children[4].innerText, row.children[5].innerText])"""
    shown = run.script(code)
    for uid, beside, difference in shown:
        i = next(i for i in range(QUESTIONS) if uid_of(i) == uid)
        assert beside == f'{100 * OTHER[i] / N:.1f}'
        assert float(difference.replace('−', '-')) == pytest.approx(100 * (C[i] - OTHER[i]) / N)
    differences = [float(one.replace('−', '-')) for _, _, one in shown]
    assert differences == sorted(differences, reverse=True)
    run.find('#questions tbody th a').click()
    run.wait_for('.sides.two')
    assert len(run.all('.run .strip')) == 3  # two runs, and the greedy one of the first
