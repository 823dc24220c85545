"""A judge against labels and against another judge: counts, rates, intervals, files."""

from __future__ import annotations

import csv
import json
from argparse import Namespace
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judge_server import PROMPTS, JudgeServer
from scipy.stats import binomtest

from gpassk_opencompass.agreement.comparisons import (
    LabelledPair,
    between_stores,
    read_labelled,
)
from gpassk_opencompass.agreement.rates import Agreement, Estimate, measure
from gpassk_opencompass.cli import main
from gpassk_opencompass.cli.judge_options import chosen_judge
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.judges import Pair, Verdict
from gpassk_opencompass.judges.verdicts import VerdictStore, verdict_key

SHARED = Path(__file__).resolve().parents[2] / 'shared'


def table(both: int, false_positives: int, false_negatives: int, neither: int) -> Agreement:
    """What is measured on independent pairs with these counts."""
    cells = [
        (True, True, both),
        (True, False, false_positives),
        (False, True, false_negatives),
        (False, False, neither),
    ]
    rows = [(verdict, label) for verdict, label, count in cells for _ in range(count)]
    return measure([verdict for verdict, _ in rows], [label for _, label in rows])


@pytest.mark.parametrize('cells', [(30, 4, 7, 59), (1, 2, 3, 4), (50, 0, 1, 1), (0, 5, 5, 10)])
def test_rates_are_those_of_scikit_learn(cells: tuple[int, int, int, int]) -> None:
    """Agreement, precision, recall and Cohen's κ; the rate of false positives by hand."""
    metrics = pytest.importorskip('sklearn.metrics')
    both, false_positives, false_negatives, neither = cells
    verdicts = [1] * both + [1] * false_positives + [0] * false_negatives + [0] * neither
    labels = [1] * both + [0] * false_positives + [1] * false_negatives + [0] * neither
    found = table(*cells)
    assert found.agreement.value == pytest.approx(metrics.accuracy_score(labels, verdicts))
    assert found.precision.value == pytest.approx(metrics.precision_score(labels, verdicts))
    assert found.recall.value == pytest.approx(metrics.recall_score(labels, verdicts))
    assert found.kappa.value == pytest.approx(metrics.cohen_kappa_score(labels, verdicts))
    assert found.false_positive_rate.value == pytest.approx(false_positives / (false_positives + neither))
    assert found[3:7] == cells


@pytest.mark.parametrize('cells', [(30, 4, 7, 59), (40, 0, 0, 60), (12, 20, 11, 15)])
def test_intervals_of_independent_pairs_are_wilsons(cells: tuple[int, int, int, int]) -> None:
    """Those of scipy, of the pairs that each rate is a share of."""
    both, false_positives, false_negatives, neither = cells
    found = table(*cells)
    for estimate, hits, trials in (
        (found.agreement, both + neither, sum(cells)),
        (found.precision, both, both + false_positives),
        (found.recall, both, both + false_negatives),
        (found.false_positive_rate, false_positives, false_positives + neither),
    ):
        expected = binomtest(hits, trials).proportion_ci(method='wilson')
        assert estimate[1:] == pytest.approx((expected.low, expected.high))
    assert found.effective == pytest.approx(sum(cells))


def test_the_interval_of_kappa_is_near_a_published_one() -> None:
    """31, 4, 12, 58: κ 0.676 with large-sample 95 % limits 0.532 and 0.820 (statpsych, `ci.kappa`)."""
    assert table(58, 4, 12, 31).kappa == pytest.approx((0.6756757, 0.532, 0.820), abs=0.03)


def test_kappa_at_one_has_a_lower_limit_like_that_of_the_agreement() -> None:
    """The large-sample standard error would be 0 there."""
    kappa, agreement = table(50, 0, 0, 50).kappa, table(50, 0, 0, 50).agreement
    assert kappa.value == kappa.high == 1.0
    assert kappa.low == pytest.approx(2 * agreement.low - 1, abs=0.03)  # chance agrees on one half


def kappa_coverage(true: float, pairs: int, runs: int) -> float:
    """How often κ's interval holds the κ that the tables were drawn from."""
    off = (1 - true) / 4  # of pairs half are correct, for label and verdict alike
    drawn = np.random.default_rng(3).multinomial(pairs, [0.5 - off, off, off, 0.5 - off], size=runs)
    covered = 0
    for cells, times in Counter(map(tuple, drawn.tolist())).items():
        kappa = table(*cells).kappa
        covered += times * (
            kappa.low is not None and kappa.high is not None and kappa.low <= true <= kappa.high
        )
    return covered / runs


@pytest.mark.slow
@pytest.mark.parametrize(('true', 'pairs'), [(0.97, 100), (0.95, 60)])
def test_the_interval_of_kappa_covers_near_one(true: float, pairs: int) -> None:
    """300 seeded tables: the standard large-sample interval covers 70 to 77 % of them."""
    assert 0.92 <= kappa_coverage(true, pairs, runs=300) <= 0.99


@pytest.mark.slow
def test_intervals_cover_where_answers_to_a_question_are_alike() -> None:
    """300 seeded sets of 40 questions with 8 pairs each that err together; plain Wilson fails."""
    generator = np.random.default_rng(5)
    covered = plain = 0
    for _ in range(300):
        chances = generator.beta(0.9 * 1.5, 0.1 * 1.5, size=40)
        agree = (generator.random((40, 8)) < chances[:, None]).ravel()
        questions = np.repeat(np.arange(40), 8).tolist()
        found = measure(agree.tolist(), [True] * 320, questions).agreement
        naive = binomtest(int(agree.sum()), 320).proportion_ci(method='wilson')
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.9 <= found.high
        plain += naive.low <= 0.9 <= naive.high
    assert plain / 300 < 0.8
    assert 0.91 <= covered / 300 <= 0.99


def test_copies_of_a_pair_count_as_one() -> None:
    """Ten questions, each answered ten times alike, are ten pairs and not a hundred."""
    questions = [place // 10 for place in range(100)]
    verdicts = [question != 3 for question in questions]
    found = measure(verdicts, [True] * 100, questions, ['same'] * 100)
    # 100 trials over their design effect (10 times 10/9 · 99/100), and t with 99 and 9 degrees of freedom
    assert found.effective == pytest.approx(100 / 11 * (1.984217 / 2.262157) ** 2, rel=1e-4)
    assert found.agreement == Estimate(0.9)


def test_rates_without_pairs_are_undefined_and_few_pairs_have_no_interval() -> None:
    """Neither is 0."""
    found = table(9, 0, 0, 0)
    assert found.agreement == Estimate(1.0)
    assert found.false_positive_rate == Estimate(None)
    assert found.kappa == Estimate(None)  # one kind only
    assert table(0, 0, 0, 0).agreement == Estimate(None)
    assert table(15, 0, 5, 0).kappa == Estimate(0.0)  # one label only: κ is 0 whatever the judge does
    assert table(15, 0, 5, 0).recall.low is not None


def write_lines(file: Path, rows: list[dict[str, Any]]) -> Path:
    file.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return file


def test_fields_may_have_the_usual_names(tmp_path: Path) -> None:
    """Ours, those of exported verdicts, and those of labelled sets in the field."""
    rows: list[dict[str, Any]] = [
        {
            'question': '?', 'reference': '1', 'answer': '2', 'label': 'incorrect', 'language': 'cn',
            'key': 'x',
        },
        {'id': 'p-7', 'gold': 1, 'pred': 1.5, 'correct': True, 'lang': 'fr', 'source': 's', 'question': None},
        {'problem': '?', 'ground_truth': '1', 'prediction': None, 'is_correct': 0},
    ]  # fmt: skip
    assert read_labelled(write_lines(tmp_path / 'pairs.jsonl', rows)) == [
        LabelledPair(Pair('?', '1', '2', 'cn'), False, '', 1, ''),
        LabelledPair(Pair('', '1', '1.5', 'fr'), True, 's', 2, 'p-7'),
        LabelledPair(Pair('?', '1', '', 'en'), False, '', 3, ''),
    ]


def test_whole_responses_count_by_their_final_answer(tmp_path: Path) -> None:
    """As in a run: the boxed answer, or the end of a response without one."""
    rows = [
        {'reference': '4', 'answer': r'2 + 2 is \boxed{4}.', 'label': True},
        {'reference': '4', 'answer': 'I do not know', 'label': False},
    ]
    first, second = read_labelled(write_lines(tmp_path / 'pairs.jsonl', rows), responses=True)
    assert (first.pair.answer, first.pair.tail) == ('4', '')
    assert (second.pair.answer, second.pair.tail) == ('', 'I do not know')


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('{"reference": "1", "answer": "1"}', 'has no label: expected one of label, correct, is_correct'),
        ('{"reference": "1", "label": true}', 'has no answer'),
        ('{"answer": "1", "label": true}', 'has no reference'),
        ('{"gold": "1", "reference": "1", "answer": "1", "label": true}', 'both names of the reference'),
        ('{"reference": "1", "answer": "1", "label": "maybe"}', "the label is 'maybe'"),
        ('{"reference": "1", "answer": "1", "label": 2}', 'the label is 2'),
        ('{"reference": ["1"], "answer": "1", "label": true}', r"the reference is \['1'\]"),
        ('["1"]', 'holds a list'),
        ('{"reference"', 'is no JSON'),
    ],
)
def test_a_line_that_is_no_labelled_pair_is_named(line: str, message: str, tmp_path: Path) -> None:
    """File and line, what was found, what is expected."""
    file = tmp_path / 'pairs.jsonl'
    file.write_text(f'{{"reference": "1", "answer": "1", "label": true}}\n\n{line}\n', encoding='utf-8')
    with pytest.raises(InputError, match=rf'pairs\.jsonl:3:? .*{message}'):
        read_labelled(file)


def labelled(answer: str, label: bool, source: str, language: str = 'en') -> LabelledPair:
    return LabelledPair(Pair(f'is {answer} even?', 'yes', answer, language), label, source, 1, '')


PAIRS: list[dict[str, Any]] = [
    {'question': f'is {number} even?', 'reference': 'yes', 'answer': str(number), 'label': number % 2 == 0}
    for number in range(12)
]


@pytest.mark.slow
def test_the_command_compares_the_rule_judge_with_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Table, CSV and the file of disagreements."""
    rows = [
        {'gold': r'\frac12', 'pred': '0.5', 'correct': True, 'source': 'own'},
        {'gold': '2', 'pred': '3', 'correct': True, 'source': 'own'},
        {'gold': '2', 'pred': '2', 'correct': True, 'source': 'other'},
    ]
    pairs = write_lines(tmp_path / 'pairs.jsonl', rows)
    out, wrong = tmp_path / 'table.csv', tmp_path / 'wrong.jsonl'
    assert main(['judge-agreement', str(pairs), '-o', str(out), '--disagreements', str(wrong)]) == 0
    printed = capsys.readouterr().out
    assert '50.0 [a]' in printed
    assert '[a] no interval: fewer than 10 pairs' in printed
    lines = list(csv.DictReader(out.read_text(encoding='utf-8').splitlines()))
    assert [(line['source'], line['pairs'], line['agreement'][:4]) for line in lines] == [
        ('own', '2', '50.0'),
        ('other', '1', '100.'),
        ('all', '3', '66.6'),
    ]
    [one] = [json.loads(line) for line in wrong.read_text(encoding='utf-8').splitlines()]
    assert (one['line'], one['reference'], one['answer'], one['verdict']) == (2, '2', '3', 'incorrect')


def test_the_command_asks_an_llm_judge_and_counts_unjudged_pairs_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge of a config given as JSON; one reply holds no verdict. The others are kept for a rerun."""
    monkeypatch.chdir(tmp_path)

    def say(prompt: str) -> str:
        number = int(prompt.rpartition('answer=')[2].split()[0])
        return 'who knows' if number == 7 else rf'\boxed{{{"yes" if number % 2 == 0 else "no"}}}'

    pairs, out = write_lines(tmp_path / 'pairs.jsonl', PAIRS), tmp_path / 'out.json'
    with JudgeServer(lambda asked: say(asked.prompt)) as server:
        config = {'type': 'llm', 'model': 'm', 'urls': [server.url], 'prompts': PROMPTS, 'progress': False}
        command = ['judge-agreement', str(pairs), '--judge', json.dumps(config), '-o', str(out)]
        assert main(command) == 0
        first = len(server.asked)
        assert main(command) == 0
        again = {asked.prompt for asked in server.asked[first:]}
    assert len(again) == 1 < first
    assert Path('pairs.verdicts').is_dir()
    shown = capsys.readouterr().out
    assert "unjudged, by reason: {'unparsable': 1}" in shown
    found = json.loads(out.read_text(encoding='utf-8'))
    assert found['judge']['model'] == 'm'
    [row] = found['rows']
    assert (row['pairs'], row['unjudged'], row['agreement'], row['kappa']) == (12, 1, 100.0, 1.0)


def test_judges_are_named_in_short_or_as_in_a_config(tmp_path: Path) -> None:
    """rule, llm, cascade, a class, a file, JSON."""
    file = tmp_path / 'judge.json'
    file.write_text('{"type": "rule", "timeout": 9}', encoding='utf-8')

    unset = {'model': None, 'url': None, 'verdicts': None}

    def config(judge: str | None, **given: Any) -> dict[str, Any]:
        return chosen_judge(Namespace(judge=judge, **{**unset, **given}), 'p.verdicts')

    llm = {'type': 'llm', 'model': 'm', 'urls': ['http://a'], 'verdicts': 'p.verdicts'}
    assert config(None) == config('rule') == {'type': 'rule'}
    assert config('llm', model='m', url=['http://a']) == llm
    assert config('cascade', model='m', url=['http://a'], verdicts='s') == {
        'type': 'cascade',
        'first': {'type': 'rule'},
        'second': {**llm, 'verdicts': 's'},
    }
    assert config(json.dumps({**llm, 'verdicts': 's'})) == {**llm, 'verdicts': 's'}
    del llm['verdicts']
    assert config(json.dumps(llm)) == config('llm', model='m', url=['http://a'])
    assert config('my.Judge') == {'type': 'my.Judge'}
    assert config(str(file)) == config('{"type": "rule", "timeout": 9}') == {'type': 'rule', 'timeout': 9}


@pytest.mark.parametrize(
    'options',
    [
        [], ['PAIRS', '--stores', 'a'], ['PAIRS', '--judge', 'llm'], ['PAIRS', '--judge', 'nobody'],
        ['PAIRS', '--judge', '{"type": "rule"'], ['PAIRS', '--judge', 'no/such.json'],
        ['PAIRS', '--judge', '../judge.txt'], ['PAIRS', '--judge', '{"type":' * 9999],
        ['PAIRS', '--judge', '{"type": "nobody.Here"}'], ['PAIRS', '--model', 'm'],
        ['PAIRS', '--only', 'm'], ['PAIRS', '-o', 'table.txt'],
        ['PAIRS', '-o', 'no/such/folder/table.csv'], ['--stores', 'no/such/store'],
        ['--stores', 'a', '--judge', 'rule'], ['nowhere.jsonl'],
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_used_are_refused(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, one message, no table, nobody asked."""
    pairs = str(write_lines(tmp_path / 'pairs.jsonl', PAIRS))
    assert main(['judge-agreement', *(pairs if option == 'PAIRS' else option for option in options)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith('gpassk judge-agreement: ')
    assert captured.out == ''


def fill(folder: Path, model: str, verdicts: dict[str, bool], language: str = 'en', **judge: Any) -> Path:
    """A store with one judge's verdicts on some answers."""
    store, about = VerdictStore(folder), {'model': model, **judge}
    for answer, right in verdicts.items():
        texts = {'question': '?', 'reference': 'x', 'answer': answer, 'language': language}
        verdict = Verdict.CORRECT if right else Verdict.INCORRECT
        store.put(verdict_key(about, *texts.values()), verdict, {**texts, 'reply': 'so', 'judge': about})
    store.close()
    return folder


def test_two_stores_are_compared_by_content(tmp_path: Path) -> None:
    """Spelling of the answer does not count, the language does; the first store stands for the truth."""
    first = fill(tmp_path / 'a', 'big', {'1': True, '2': True, '3': False, '9': True})
    second = fill(tmp_path / 'b', 'small', {' 1': True, '2': False, '3': False, '8': True})
    fill(second, 'small', {'9': True}, language='cn')
    [duel] = between_stores([first, second])
    assert (duel.first, duel.second, duel.only_first, duel.only_second) == ('big', 'small', 1, 2)
    [row] = duel.rows
    assert (row.group, row.found.pairs, row.found.recall.value, row.found.precision.value) == (
        ('en',),
        3,
        0.5,
        1.0,
    )
    [one] = duel.disagreements
    assert one['answer'] == '2'
    assert one['first'] == {'judge': 'big', 'verdict': 'correct', 'reply': 'so'}
    assert one['second'] == {'judge': 'small', 'verdict': 'incorrect', 'reply': 'so'}


def test_the_judges_of_one_store_are_compared_with_each_other(tmp_path: Path) -> None:
    """Every two of them, or those chosen; names tell apart what differs in settings only."""
    store = tmp_path / 'verdicts'
    for model in ('a', 'b', 'c'):
        fill(store, model, {'1': True, '2': model == 'a'})
    assert [(duel.first, duel.second) for duel in between_stores([store])] == [
        ('a', 'b'),
        ('a', 'c'),
        ('b', 'c'),
    ]
    assert [(duel.first, duel.second) for duel in between_stores([store], ['c', 'a'])] == [('a', 'c')]
    fill(store, 'a', {'1': False}, prompts='others')
    names = {duel.first for duel in between_stores([store], ['a'])}
    assert len(names) == 1
    assert names.pop().startswith('a#')


def test_stores_without_two_judges_are_refused(tmp_path: Path) -> None:
    """And a judge that is not there."""
    store = fill(tmp_path / 'one', 'm', {'1': True})
    with pytest.raises(InputError, match='no two judges to compare, only m'):
        between_stores([store])
    with pytest.raises(InputError, match="no judge 'big' in these stores; they hold m"):
        between_stores([store], ['big'])


def test_the_command_compares_stores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 where the judges share no answer."""
    first = fill(tmp_path / 'a', 'big', {'1': True, '2': True})
    second = fill(tmp_path / 'b', 'small', {'1': True, '2': False})
    out, wrong = tmp_path / 'table.json', tmp_path / 'wrong.jsonl'
    line = ['judge-agreement', '--stores', str(first), str(second), '-o', str(out)]
    assert main([*line, '--disagreements', str(wrong)]) == 0
    assert '2 answers judged by both, 0 only by the first' in capsys.readouterr().out
    [row] = json.loads(out.read_text(encoding='utf-8'))['rows']
    assert (row['first'], row['second'], row['agreement'], row['recall']) == ('big', 'small', 50.0, 50.0)
    assert len(wrong.read_text(encoding='utf-8').splitlines()) == 1
    third = fill(tmp_path / 'c', 'other', {'3': True})
    assert main(['judge-agreement', '--stores', str(first), str(third)]) == 1
    assert 'no pairs in common' in capsys.readouterr().out


@pytest.mark.skipif(not (SHARED / 'data').is_dir(), reason='needs the labelled pairs beside the checkout')
def test_the_labelled_pairs_beside_the_checkout_can_be_read() -> None:
    """All of them, with their sources and languages."""
    pairs = read_labelled(SHARED / 'data/answer_pairs/pairs.jsonl')
    assert len(pairs) == 3656
    assert sum(one.label for one in pairs) == 1674
    assert Counter(one.pair.language for one in pairs)['zh'] == 22
