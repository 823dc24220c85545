"""What `gpassk score` tells of a result, against enumeration, and writes for others, which is read back."""

import csv
import json
import math
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from exact import EXACT
from hypothesis import given, settings
from hypothesis import strategies as st

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.formats import read_samples
from gpassk_opencompass.metrics import Metric, value_table
from gpassk_opencompass.record import read
from gpassk_opencompass.samples import Counts
from gpassk_opencompass.scoring import score_counts
from gpassk_opencompass.statistics import REACH, mean_interval, rerun_error
from gpassk_opencompass.summary import TOTAL, remarks, summarise, write_lm_eval
from gpassk_opencompass.text import read_csv_cell


def result(n, c, k, taus=(0.5, 1.0), **columns):
    uids = [f'q{place}' for place in range(len(n))]
    told = {'problem': uids, 'group': ['all'] * len(n), 'unjudged': np.zeros(len(n), int), **columns}
    counts = Counts(uid=uids, n=np.array(n), c=np.array(c), **told)
    return score_counts(counts, {'name': 'labels'}, k=k, thresholds=taus)


def rows_of(scored):
    return {(row['group'], row['metric']): row for row in summarise(scored)}


def g_pass(verdicts, k, threshold):
    draws = list(combinations(verdicts, k))
    needed = max(1, math.ceil(k * threshold))
    return Fraction(sum(sum(draw) >= needed for draw in draws), len(draws))


@settings(max_examples=40)
@given(st.lists(st.text('01', min_size=1, max_size=6), min_size=1, max_size=5), st.integers(1, 4), st.data())
def test_a_question_counts_up_to_its_own_number_of_samples(verdicts, k, data):
    """Questions with different numbers of samples, against the draws of k of each that has as many."""
    threshold = data.draw(st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1)]))
    enough = [[mark == '1' for mark in text] for text in verdicts if len(text) >= k]
    given = [len(text) for text in verdicts], [text.count('1') for text in verdicts], [k], [float(threshold)]
    if not enough:
        with pytest.raises(InputError, match=f'k = {k}: expected'):
            result(*given)
        return
    rows = rows_of(scored := result(*given))
    shares = [Fraction(text.count('1'), len(text)) for text in verdicts]
    assert rows[TOTAL, 'accuracy']['score'] == pytest.approx(100 * float(sum(shares) / len(shares)), abs=1e-9)
    for row in (row for (_, name), row in rows.items() if name.startswith('G-Pass')):
        each = [g_pass(question, k, threshold) for question in enough]
        assert row['score'] == pytest.approx(100 * float(sum(each) / len(each)), abs=1e-9)
        assert row['questions'] == len(enough)
    scores = scored.scores()
    assert {name: row['score'] for (group, name), row in rows.items() if group == TOTAL} == pytest.approx(
        {name: value for name, value in scores.items() if '/' not in name}, abs=1e-9
    )


def test_intervals_are_clustered_by_problem_and_reruns_by_n_in_every_group():
    c = np.random.default_rng(2).integers(0, 9, size=120)
    problems = [f'p{place // 2}' for place in range(120)]
    groups = ['S_en' if place % 2 else 'S_cn' for place in range(120)]
    rows = rows_of(result([8] * 120, c.tolist(), [4], problem=problems, group=groups))
    values = value_table(Metric.parse('G-Pass@4_0.5'), 8)[c]
    for group, part in ((TOTAL, slice(None)), ('S_en', slice(1, None, 2))):
        row, expected = rows[group, 'G-Pass@4_0.5'], mean_interval(values[part], problems[part])
        assert (row['low'], row['high']) == pytest.approx([100 * float(end) for end in expected.at()])
        assert expected.problems == 60
    assert rows['S_en', 'G-Pass@4_0.5']['questions'] == 60
    both = rows_of(result([8] * 120 + [16] * 120, [*c.tolist(), *(2 * c).tolist()], [4]))[
        TOTAL, 'G-Pass@4_0.5'
    ]
    metric = partial(value_table, Metric.parse('G-Pass@4_0.5'))
    parts = 120 * rerun_error(c, 8, metric), 120 * rerun_error(2 * c, 16, metric)
    assert both['rerun'] == pytest.approx(100 * REACH * math.hypot(*parts) / 240)


def test_unjudged_samples_are_wrong_with_bounds():
    """Of four samples two are correct and one is open; of another question all are."""
    row = rows_of(result([4, 4], [2, 0], [2], unjudged=np.array([1, 4])))[TOTAL, 'accuracy']
    assert (row['score'], row['wrong']) == (25.0, 25.0)
    assert row['right'] == pytest.approx(100 * (3 / 4 + 1) / 2)


def test_the_interval_of_a_score_reaches_as_far_as_its_metric():
    """Always right is 80 % of mG-Pass@5, and no interval says more; few problems are said to be few."""
    scored = result([8] * 6, [8] * 6, [5], [1.0])
    row = rows_of(scored)[TOTAL, 'mG-Pass@5']
    assert row['score'] == pytest.approx(80)
    assert row['low'] < row['high'] == pytest.approx(80)
    assert '(6 problems: so few say little of others of their kind)' in next(remarks(scored, anew=False))


# For other programs

TRUTH = ['1111', '1100', '0000', '0111'] * 3
"""Which samples of 12 questions are correct."""

GROUPS = [('', ''), ('Level 1', ''), ('level_5', ''), ('level_5', 'en'), ('', 'cn'), ('sums', 'zh-Hans')] * 2
"""Splits and languages, '' where there is none."""


def response(question, correct, replica):
    """A response by construction right or wrong, which no other one is a copy of."""
    thought = f'<think>{"so " * (replica + 1)}</think>'
    return f'{thought}I add.\u2028The sum is \\boxed{{{2 * question + (0 if correct else 1)}}}.'


RESPONSES = [
    [response(place, symbol == '1', i) for i, symbol in enumerate(row)] for place, row in enumerate(TRUTH)
]


@pytest.fixture(scope='module')
def theirs(tmp_path_factory):
    folder = tmp_path_factory.mktemp('judged')
    rows = [
        {
            'uid': f'q{place}', 'problem': f'p{place // 2}', 'question': f'What is ${place}+{place}$?',
            'answer': str(2 * place), 'responses': texts, 'split': GROUPS[place][0] or None,
            'language': GROUPS[place][1] or None, 'output_tokens': [20] * 4, 'finish_reason': ['stop'] * 4,
        }
        for place, texts in enumerate(RESPONSES)
    ]  # fmt: skip
    file, result = folder / 'theirs.jsonl', folder / 'theirs.gpassk.json'
    file.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    assert main(['score', str(file), '-o', str(result), '--k', '1', '2', '3', *EXACT]) == 0
    return result


def exported(result, form, folder):
    out = folder / f'out.{form}'
    assert main(['score', str(result), '-o', str(out)]) == 0
    return out


@pytest.mark.parametrize('form', ['samples.csv', 'lm-eval'])
@pytest.mark.parametrize('judge', [[], EXACT], ids=['their verdicts', 'judged anew'])
def test_what_was_exported_is_the_same_run(form, judge, theirs, tmp_path):
    """By its verdicts and by the judge it has the same samples, counts and scores; a CSV shows the unseen."""
    out = exported(theirs, form, tmp_path)
    back = tmp_path / 'back.gpassk.json'
    assert main(['score', str(out), '-o', str(back), '--k', '1', '2', '3', *judge]) == 0
    first, again = read(theirs), read(back)
    assert again.run.model == 'theirs'
    assert again.counts == first.counts
    assert again.scores() == first.scores()
    told, samples = first.samples(), again.samples()
    names = ['uid', 'problem', 'group', 'replica', 'question', 'reference', 'response', 'answer', 'verdict']
    for name in [*names, 'output_tokens', 'finish_reason'] if form == 'samples.csv' else names:
        seen = [
            str(text).replace('\u2028', '\\u2028' if form == 'samples.csv' else '\u2028')
            for text in told[name]
        ]
        assert list(map(str, samples[name])) == seen, name
    assert [told['response'][at : at + 4] for at in range(0, 48, 4)] == RESPONSES


def test_no_cell_of_a_csv_is_a_formula(tmp_path):
    """What a model answered, and what its run is called, is shown and not computed; it comes back."""
    answers = ['=HYPERLINK("x")', '-1', '\t@', "'=1", '7\n8', '1,5 "m"', '\x1b[2J', '\ud800']
    given, result = tmp_path / '+cmd.jsonl', tmp_path / 'x.gpassk.json'
    row = {'uid': 'a', 'correct': '10101010', 'answers': answers}
    given.write_text(json.dumps(row) + '\n', encoding='utf-8')
    assert main(['score', str(given), '-o', str(result)]) == 0
    with exported(result, 'samples.csv', tmp_path).open(encoding='utf-8', newline='') as file:
        rows = list(csv.DictReader(file))
    assert [one['answer'] for one in rows] == [
        *('\'=HYPERLINK("x")', "'-1", "'\t@", "''=1", '7\n8', '1,5 "m"', '\\x1b[2J', '\\ud800')
    ]
    assert {one['model'] for one in rows} == {"'+cmd"}
    assert [read_csv_cell(one['answer']) for one in rows[:6]] == answers[:6]


def test_the_summary_of_lm_eval_has_the_scores_as_fractions(theirs, tmp_path):
    """Under the harness's names: metric and filter; its own reader takes who judged, and the settings."""
    result = read(theirs)
    result.run.settings = {'temperature': 0.7, 'max_out_len': 512}
    samples, summary = write_lm_eval(result, tmp_path / 'out')
    assert write_lm_eval(result, tmp_path / 'out') == [samples, summary]  # their date is that of the run
    assert len(list(samples.parent.iterdir())) == 2
    [scores] = json.loads(summary.read_text(encoding='utf-8'))['results'].values()
    assert scores['G-Pass@2_0.5,gpassk'] == pytest.approx(result.scores()['G-Pass@2_0.5'] / 100, rel=1e-12)
    assert scores['correct,gpassk'] == sum(row.count('1') for row in TRUTH)
    assert scores['sample_len'] == len(TRUTH)
    [run] = read_samples([samples])
    assert (run.model, run.judge['name']) == ('theirs', 'function')
    assert run.settings.items() >= {'temperature': 0.7, 'max_out_len': 512}.items()
    line = json.loads(samples.read_text(encoding='utf-8').splitlines()[1])
    assert (line['correct'], line['accuracy']) == ([True, True, False, False], 0.5)
    assert (line['doc']['split'], line['doc']['language']) == ('Level 1', '')
