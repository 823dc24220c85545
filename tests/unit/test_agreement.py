"""Is a judge right? Its verdicts beside labels, audits of a run, corrected scores, what its errors do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judge_server import PROMPTS, JudgeServer
from scipy.stats import binomtest

from gpassk_opencompass.agreement import Agreement, Audit, measure, read_labelled, reported
from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.judges import Pair
from gpassk_opencompass.metrics import ACCURACY, Kind, Metric
from gpassk_opencompass.record import Result
from gpassk_opencompass.samples import Samples
from gpassk_opencompass.scoring import score


def table(both: int, false_positives: int, false_negatives: int, neither: int, **how: Any) -> Agreement:
    """What is measured on independent pairs with these counts."""
    cells = [(True, True), (True, False), (False, True), (False, False)]
    counts = both, false_positives, false_negatives, neither
    rows = [cell for cell, count in zip(cells, counts, strict=True) for _ in range(count)]
    return measure([verdict for verdict, _ in rows], [label for _, label in rows], **how)


@pytest.mark.parametrize('exact', [False, True])
@pytest.mark.parametrize('cells', [(30, 4, 7, 59), (40, 0, 0, 60), (12, 20, 11, 15), (0, 15, 15, 10)])
def test_shares_and_intervals_are_those_of_scikit_learn_and_scipy(cells, exact):
    """Of independent pairs: agreement, both rates of errors and κ, with Wilson's or Clopper's intervals."""
    metrics = pytest.importorskip('sklearn.metrics')
    both, false_positives, false_negatives, neither = cells
    found = table(*cells, exact=exact)
    for estimate, hits, trials in (
        (found.agreement, both + neither, sum(cells)),
        (found.false_positive_rate, false_positives, false_positives + neither),
        (found.false_negative_rate, false_negatives, false_negatives + both),
    ):
        expected = binomtest(hits, trials).proportion_ci(method='exact' if exact else 'wilson')
        assert estimate == pytest.approx((hits / trials, expected.low, expected.high))
    verdicts = [1] * (both + false_positives) + [0] * (false_negatives + neither)
    labels = [1] * both + [0] * false_positives + [1] * false_negatives + [0] * neither
    assert found.kappa == pytest.approx(metrics.cohen_kappa_score(labels, verdicts))
    assert found.effective == pytest.approx(sum(cells))
    assert found[3:7] == cells


def test_intervals_of_few_pairs_and_of_one_label_are_refused():
    """Below ten pairs in effect, unless they are exact; κ where all labels are the same is undefined."""
    few = table(3, 1, 1, 3)
    assert few.agreement == few.agreement._replace(low=None, high=None)
    assert table(3, 1, 1, 3, exact=True).agreement.low is not None
    assert table(9, 0, 0, 0).kappa is None
    assert measure([None, None], [True, False]).agreement.value is None


@pytest.mark.slow
def test_intervals_cover_where_answers_to_a_question_are_alike():
    """300 seeded sets of 40 questions with 8 pairs each that err together; plain Wilson fails."""
    generator = np.random.default_rng(5)
    covered = plain = 0
    for _ in range(300):
        chances = generator.beta(0.9 * 1.5, 0.1 * 1.5, size=40)
        agree = (generator.random((40, 8)) < chances[:, None]).ravel()
        found = measure(agree.tolist(), [True] * 320, np.repeat(np.arange(40), 8).tolist()).agreement
        naive = binomtest(int(agree.sum()), 320).proportion_ci(method='wilson')
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.9 <= found.high
        plain += naive.low <= 0.9 <= naive.high
    assert covered > 264
    assert plain < 225


# Labelled pairs


def write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return path


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text('utf-8').splitlines()]


def test_fields_may_have_the_usual_names(tmp_path):
    """Ours, those of exported verdicts, and those of labelled sets in the field."""
    rows: list[dict[str, Any]] = [
        {'question': '1 + 1?', 'reference': '2', 'answer': '2', 'label': True, 'source': 's', 'id': 7},
        {'problem': '?', 'gold': 2, 'pred': 0.5, 'correct': 'Incorrect', 'lang': 'zh'},
        {'ground_truth': 'x', 'model_answer': None, 'is_correct': 0, 'note': 'ignored'},
    ]
    found = read_labelled(write_lines(tmp_path / 'pairs.jsonl', rows))
    assert [(one.pair, one.label) for one in found.values()] == [
        (Pair('1 + 1?', '2', '2'), True),
        (Pair('?', '2', '0.5', 'zh'), False),
        (Pair('', 'x', ''), False),
    ]
    named = [(line, one.source, one.id) for line, one in found.items()]
    assert named == [(1, 's', '7'), (2, '', ''), (3, '', '')]


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('{"reference": "2", "label": true}', 'answer'),
        ('{"reference": "2", "answer": "2", "label": "maybe"}', 'label'),
        ('{"reference": ["2"], "answer": "2", "label": true}', 'reference'),
        ('["2"]', 'expected an object'),
    ],
)
def test_a_line_that_is_no_labelled_pair_is_named(line, message, tmp_path):
    file = tmp_path / 'pairs.jsonl'
    file.write_text(f'{json.dumps({"reference": "1", "answer": "1", "label": 1})}\n{line}\n')
    with pytest.raises(InputError) as caught:
        read_labelled(file)
    assert all(part in str(caught.value) for part in (f'{file}:2', message))


PAIRS: list[dict[str, Any]] = [
    {'question': f'is {number} even?', 'reference': 'yes', 'answer': str(number), 'label': number % 2 == 0}
    for number in range(12)
]


def rows_of(capsys: pytest.CaptureFixture[str]) -> list[list[dict[str, Any]]]:
    return [one['rows'] for one in json.loads(capsys.readouterr().out)['tables']]


def test_the_command_asks_an_llm_and_counts_unjudged_pairs_apart(tmp_path, capsys, monkeypatch):
    """A judge of a config given as JSON; one reply holds no verdict. The others are kept for a rerun."""
    monkeypatch.chdir(tmp_path)

    def say(prompt: str) -> str:
        number = int(prompt.rpartition('answer=')[2].split()[0])
        return 'who knows' if number == 7 else rf'\boxed{{{"yes" if number % 2 == 0 else "no"}}}'

    pairs = write_lines(tmp_path / 'pairs.jsonl', PAIRS)
    with JudgeServer(lambda asked: say(asked.prompt)) as server:
        config = {'type': 'llm', 'model': 'm', 'urls': [server.url], 'prompts': PROMPTS, 'progress': False}
        command = ['judge', 'agreement', str(pairs), '--judge', json.dumps(config)]
        assert main([*command, '--disagreements', 'differ.jsonl']) == 0
        assert "unjudged, by reason: {'unparsable': 1}" in capsys.readouterr().out
        first = len(server.asked)
        assert main([*command, '--json']) == 0
        again = {asked.prompt for asked in server.asked[first:]}
    assert len(again) == 1 < first
    assert Path('pairs.verdicts').is_dir()
    [[row]] = rows_of(capsys)
    assert (row['pairs'], row['unjudged'], row['agreement'], row['kappa']) == (12, 1, 1.0, 1.0)
    [one] = lines_of(Path('differ.jsonl'))
    assert (one['line'], one['verdict'], one['reason']) == (8, 'unjudged', 'unparsable')


@pytest.mark.parametrize(
    'options',
    [
        ['PAIRS', '--judge', 'nobody'], ['PAIRS', '--judge', 'no/such.json'], ['PAIRS', '--model', 'm'],
        ['PAIRS', '--judge', 'llm', '--url', 'http://me:secret@h'], ['nowhere.jsonl'],
        ['PAIRS', '--judge', '{"urls": "http://me:secret@h"'],
        ['PAIRS', '--judge', '{"type": "llm", "model": "m", "urls": ["http://me:secret@h"]}'],
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_used_are_refused(options, tmp_path, capsys):
    """Exit code 2, one message without a password, no table, nobody asked."""
    pairs = str(write_lines(tmp_path / 'pairs.jsonl', PAIRS))
    words = ['judge', 'agreement', *(pairs if option == 'PAIRS' else option for option in options)]
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith('gpassk judge: ')
    assert 'secret' not in captured.err
    assert captured.out == ''


# Audits

ANSWERS = ['2', '2.0', '3', '4', '']
"""Of each response in turn; two of five are right."""


@pytest.fixture
def result(tmp_path):
    """A result of 12 questions with 5 samples each, which `gpassk score` wrote."""
    return scored(tmp_path, ANSWERS)


def scored(folder: Path, answers: Sequence[str], name: str = 'run') -> Path:
    rows = [
        {
            'uid': f'q{number}',
            'question': f'question={number} + 1',
            'answer': '2',
            'responses': [f'\\boxed{{{answer}}}' for answer in answers],
        }
        for number in range(12)
    ]
    out = folder / f'{name}.gpassk.json'
    responses = write_lines(folder / f'{name}.jsonl', rows)
    assert main(['score', str(responses), '--k', '2', '4', '-o', str(out)]) == 0
    return out


def audited(result: Path, *options: object) -> int:
    return main(['judge', 'audit', str(result), *map(str, options)])


def made(answers: list[str], verdicts: list[str], judged_by: Sequence[str] | None = None) -> Result:
    """A result of questions with an answer and a verdict a letter; ? is unjudged."""
    words = {'1': 'correct', '0': 'incorrect', '?': 'unjudged'}
    rows = [
        (f'u{number}', replica, f'u{number}?', '2', answer, words[verdict])
        for number, (of, told) in enumerate(zip(answers, verdicts, strict=True))
        for replica, (answer, verdict) in enumerate(zip(of.split(','), told, strict=True))
    ]
    names = 'uid', 'replica', 'question', 'reference', 'answer', 'verdict'
    samples = Samples(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    samples = samples.replace(
        judged_by=judged_by, why=['' if one != 'unjudged' else 'down' for one in samples['verdict']]
    )
    return score(samples, {'name': 'made'}, k=2, unjudged_tolerance=1, answers=None)


def test_answers_of_one_normal_form_are_one():
    """The shortest spelling stands for them; nobody is asked of blanks and of several answers at once."""
    judged_by = ['rule', 'rule', 'rule', 'rule', 'empty', 'hedged']
    audit = Audit(made(['2,$2$,3,7,,9'], ['1100?0'], judged_by))
    [answers] = audit.answers
    assert [(one.pair.answer, one.accepted, one.rejected) for one in answers] == [
        ('2', 2, 0), ('3', 0, 1), ('7', 0, 1)
    ]  # fmt: skip
    assert answers[0].pair == Pair('u0?', '2', '2', 'en')
    assert audit.settled.tolist() == [0]
    result = made(['2,2'], ['11'])
    samples = result.samples()
    assert samples is not None
    result.with_samples(samples.replace(answer=None))
    with pytest.raises(InputError, match='does not say what was answered'):
        Audit(result)


def test_labels_of_all_questions_correct_a_score_exactly():
    """Accuracy and G-Pass@2 of the labels, with no width; of none but the verdicts nothing moves."""
    audit = Audit(made(['2,4,3', '2,2,5', '2,3,4'], ['110', '110', '100']))
    labels = {one.name: one.pair.answer in '24' for answers in audit.answers for one in answers}
    drawn = audit.draw(99)
    assert sorted(drawn) == [0, 1, 2]
    found = audit.corrected(drawn, labels, ACCURACY)
    assert found[1:] == pytest.approx((100 * 5 / 9, 100 * 6 / 9, 100 * 6 / 9, 100 * 6 / 9))
    both = audit.corrected(drawn, labels, Metric.parse('G-Pass@2_1.0'))
    assert both[1:] == pytest.approx((100 * 2 / 9, 100 / 3, 100 / 3, 100 / 3))
    agreement = audit.agreement(drawn, labels)
    assert (agreement.false_positives, agreement.false_negatives) == (0, 1)


def test_every_question_is_as_likely_to_be_drawn_and_a_larger_draw_holds_the_smaller():
    """All, some and no samples correct are drawn in proportion; labels are never lost to a larger plan."""
    audit = Audit(made(['2,3'] * 20, ['11'] * 10 + ['10'] * 6 + ['00'] * 4))
    times = Counter(row for seed in range(400) for row in audit.draw(5, seed))
    assert sum(times.values()) == 2000
    assert all(abs(times[row] - 100) < 45 for row in range(20))  # five standard deviations
    kinds = [Counter((row >= 10) + (row >= 16) for row in audit.draw(10, seed)) for seed in range(50)]
    assert all(one[0] == 5 and one[1] == 3 and one[2] == 2 for one in kinds)
    assert audit.draw(12, 3)[:5] == audit.draw(5, 3)
    assert audit.draw(5, 3) != audit.draw(5, 4)


def test_a_person_fills_in_a_file_and_gives_it_back(result, tmp_path, capsys):
    """Labels in words, numbers and truth values; a question with an answer that has none does not count."""
    file = tmp_path / 'labels.jsonl'
    capsys.readouterr()
    assert audited(result, '--questions', 4, '--seed', 4, '--labels', file) == 0
    out = capsys.readouterr().out
    assert '12 questions, n = 5, judged by rule' in out
    assert '4 questions are drawn, with 16 different answers; 0 labels' in out
    assert 'no question is labelled' in out
    rows = lines_of(file)
    assert len(rows) == 16
    assert {row['label'] for row in rows} == {None}
    assert not any('correct' in json.dumps(row) for row in rows)  # who knows the verdict agrees too often
    words: dict[str, list[Any]] = {'2': ['Correct', True] * 2, '2.0': ['yes', 1] * 2}
    words |= {'3': [False, 0, 'no', None], '4': ['incorrect'] * 4}
    for row in rows:
        row['label'] = words[row['answer']].pop(0)
    capsys.readouterr()
    assert audited(result, '--labels', write_lines(file, rows[::-1])) == 0
    assert '1 drawn questions are left out' in capsys.readouterr().out
    assert audited(result, '--labels', file, '--json') == 0
    [[verdicts], scores] = rows_of(capsys)
    assert (verdicts['both_correct'], verdicts['both_incorrect']) == (6, 6)
    accuracy = next(row for row in scores if row['metric'] == 'accuracy')
    assert accuracy['reported'] == accuracy['corrected'] == pytest.approx(40.0)
    assert accuracy['low'] < 40 < accuracy['high']
    assert len(read_labelled(write_lines(file, [row for row in rows if row['label'] is not None]))) == 15


def test_an_llm_is_asked_in_a_persons_place(result, tmp_path, capsys):
    """It takes 4 for right, 2.0 for wrong, and says nothing of 3; equal spellings are asked about, too."""

    def say(prompt: str) -> str:
        answer = prompt.rpartition('answer=')[2].split()[0]
        return {'3': 'Hm.', '2.0': r'\boxed{no}'}.get(answer, r'\boxed{yes}')

    file = tmp_path / 'labels.jsonl'
    with JudgeServer(lambda asked: say(asked.prompt)) as server:
        config = {'type': 'llm', 'model': 'm', 'urls': [server.url], 'prompts': PROMPTS, 'progress': False}
        config['verdicts'] = str(tmp_path / 'verdicts')
        assert audited(result, '--questions', 12, '--judge', json.dumps(config), '--labels', file) == 0
        answers = {asked.prompt.rpartition('answer=')[2].split()[0] for asked in server.asked}
    assert '2' in answers
    told = {row['answer']: row['label'] for row in lines_of(file)}
    assert told == {'2': True, '2.0': False, '4': True, '3': None}
    rows = [{**row, 'label': bool(row['label'])} for row in lines_of(file)]
    capsys.readouterr()
    assert audited(result, '--labels', write_lines(file, rows), '--json') == 0
    [[verdicts], scores] = rows_of(capsys)
    assert (verdicts['false_negatives'], verdicts['false_positives']) == (12, 12)
    assert next(row for row in scores if row['metric'] == 'accuracy')['corrected'] == pytest.approx(40.0)


@pytest.mark.parametrize(
    ('change', 'message'),
    [({'run': 'x'}, 'is no answer of'), ({'id': 'x'}, 'is no answer of'), ({'label': 'maybe'}, 'label')],
    ids=['run', 'id', 'label'],
)
def test_labels_that_are_not_of_this_run_are_refused(change, message, result, tmp_path, capsys):
    """In one line, with the place; and an answer with both labels."""
    file = tmp_path / 'labels.jsonl'
    assert audited(result, '--questions', 3, '--labels', file) == 0
    rows = lines_of(file)
    rows[4] |= change
    capsys.readouterr()
    assert audited(result, '--labels', write_lines(file, rows)) == 2
    error = capsys.readouterr().err
    assert error.count('\n') == 1
    assert f'{file}:5' in error
    assert message in error
    both = [{**lines_of(file)[0], 'label': label} for label in (True, False)]
    assert audited(result, '--labels', write_lines(file, both)) == 2
    assert 'both labels' in capsys.readouterr().err


# What errors of a judge do

MISSED, ACCEPTED = Fraction(1, 8), Fraction(3, 16)


def enumerated(n: int, c: int, k: int, least: int) -> Fraction:
    """P[at least `least` of k drawn answers are judged correct], verdict by verdict and draw by draw."""
    total = Fraction(0)
    for judged in product([True, False], repeat=n):
        chance = Fraction(1)
        for place, accept in enumerate(judged):
            share = 1 - MISSED if place < c else ACCEPTED
            chance *= share if accept else 1 - share
        draws = list(combinations(judged, k))
        total += chance * Fraction(sum(sum(draw) >= least for draw in draws), len(draws))
    return total


@pytest.mark.parametrize(('n', 'k'), [(3, 1), (4, 2), (5, 3), (5, 5)])
def test_what_errors_do_is_that_of_an_enumeration(n, k):
    """Every verdict flipped or not, every draw of k, in rationals."""
    rates = {'false_negative': float(MISSED), 'false_positive': float(ACCEPTED)}
    for c in range(n + 1):
        at_least = [enumerated(n, c, k, least) for least in range(k + 1)]
        for least in range(1, k + 1):
            found = reported(Metric(Kind.G_PASS, k, least / k), n, c, **rates)
            assert found == pytest.approx(float(at_least[least]), abs=1e-14)
        mean = Fraction(2, k) * sum(at_least[(k + 1) // 2 + 1 :], Fraction(0))
        assert reported(Metric(Kind.MG_PASS, k), n, c, **rates) == pytest.approx(float(mean), abs=1e-14)
