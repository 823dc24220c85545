"""What an audit finds in published tables, and that it finds nothing in tables of real counts."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpassk_opencompass import InputError
from gpassk_opencompass.cli import main
from gpassk_opencompass.metrics import Metric, metric_means, metric_table
from gpassk_opencompass.report.published import BENCHMARKS, SHIPPED, Published, read_published
from gpassk_opencompass.report.published_audit import Finding, audit, differences
from gpassk_opencompass.report.scores import measure_of

COLUMNS = ('Greedy', 'G-Pass@16_0.5', 'G-Pass@16_0.75', 'G-Pass@16_1.0', 'mG-Pass@16')

HARD = 'LiveMathBench-Hard-2412'


def table(rows: Mapping[str, Sequence[float | None]], benchmark: str = HARD, digits: int = 1) -> Published:
    """A table of one benchmark, printed with so many digits."""
    values = {
        (model, benchmark, measure_of(column)): value
        for model, row in rows.items()
        for column, value in zip(COLUMNS, row, strict=True)
        if value is not None
    }
    metrics = tuple(measure_of(column) for column in COLUMNS)
    return Published(tuple(rows), (benchmark,), metrics, values, dict.fromkeys(values, digits))


def found(rows: Mapping[str, Sequence[float | None]], n: int = 48, **more: Any) -> list[tuple[str, str, str]]:
    return [(one.model, one.kind, one.text) for one in audit(table(rows, **more), n)]


def printed(counts: Sequence[int], n: int, greedy: int, digits: int) -> list[float]:
    """The row of a model: rounded percentages, and how many greedy answers were right."""
    means = metric_means(metric_table(n, [16], [0.5, 0.75, 1.0]), list(counts))
    return [
        round(100 * greedy / len(counts), digits),
        *(round(100 * means[column], digits) for column in COLUMNS[1:]),
    ]


@pytest.mark.parametrize('benchmark', [HARD, 'AIME2025', 'MATH500-L5'])
@pytest.mark.parametrize(('n', 'digits'), [(16, 1), (48, 1), (48, 2), (100, 1)])
def test_tables_of_counts_have_no_findings(benchmark: str, n: int, digits: int) -> None:
    """Whatever a model answers, its rounded row is possible."""
    generator = np.random.default_rng(n + digits)
    questions = BENCHMARKS[benchmark].questions
    rows = {}
    for number, (a, b) in enumerate([(0.3, 0.3), (0.1, 2.0), (3.0, 0.2), (1.0, 1.0)]):
        counts = generator.binomial(n, generator.beta(a, b, questions))
        greedy = int(generator.integers(0, questions + 1))
        rows[f'm{number}'] = printed(counts, n, greedy, digits)
    assert [one for one in audit(table(rows, benchmark, digits), n) if one.kind != 'repeated'] == []


def test_more_at_a_higher_threshold_is_impossible() -> None:
    """For every n."""
    assert found({'m': [20.0, 10.0, 11.0, 5.0, 8.0]}) == [
        (
            'm',
            'impossible',
            'G-Pass@16_0.75 11.0: at most 10.05 beside G-Pass@16_0.5 10.0, whatever the number of samples',
        )
    ]


def test_a_mean_outside_of_its_thresholds_is_impossible() -> None:
    """(3·4.65 + 4·2.65 + 2.25)/8 = 3.35 is the most; without mG-Pass@16 the row is fine."""
    row: list[float | None] = [11.1, 4.6, 2.6, 2.2, 3.7]
    for benchmark in ('AIME2024-45', 'of unknown size'):
        [(_, kind, text)] = found({'m': row}, benchmark=benchmark)
        assert kind == 'impossible'
        assert text.startswith('mG-Pass@16 3.7: at most 3.35 beside ')
        assert text.endswith('whatever the number of samples')
        assert found({'m': [*row[:4], None]}, benchmark=benchmark) == []


def test_what_no_count_of_48_samples_gives_fewer_samples_may() -> None:
    """82.9 beside 91.5, 87.7 and 76.1: (87.65 + 76.05)/2 = 81.85 is the least for n = 16."""
    rows = {'m': [90.3, 91.5, 87.7, 76.1, 82.9]}
    [(_, kind, text)] = found(rows, benchmark='of unknown size')
    assert (kind, text.rpartition(', ')[2]) == ('impossible', 'with 48 samples a question')
    assert 'mG-Pass@16 82.9: at least 84.35' in text
    assert found(rows, n=16, benchmark='of unknown size') == []


def test_an_accuracy_is_a_number_of_questions() -> None:
    """Of 45: 8 are 17.8, 9 are 20.0; 17.7 is cut off, 18.4 a mean of several answers, or a slip."""
    rest = [0.0, 0.0, 0.0, 0.0]
    assert found({'m': [17.8, *rest], 'o': [20.0, *rest], 'none': [0.0, *rest]}) == []
    text = 'the nearest are 7/45 = 15.56 and 8/45 = 17.78'
    assert found({'m': [17.7, *rest]}) == [('m', 'rounding', f'Greedy 17.7: {text}')]
    text = 'the nearest are 8/45 = 17.78 and 9/45 = 20.00'
    assert found({'m': [18.4, *rest]}) == [('m', 'no count', f'Greedy 18.4: {text}')]
    assert found({'m': [18.4, *rest]}, benchmark='of unknown size') == []


def test_what_a_few_questions_cannot_give_is_found() -> None:
    """15 questions, 48 samples: half of one question at G-Pass@16_1.0 and nothing else is no row of theirs.

    One question with c of 48 gives 6.67·C(c, 16)/C(48, 16) there: 4.44 for 47, 2.94 for 46; 3.7 takes two.
    """
    row = [6.7, 6.7, 6.7, 3.7, 6.0]
    [(_, kind, text)] = found({'m': row}, benchmark='AIME2025')
    assert (kind, text) == ('impossible', 'no 15 questions with 48 samples each give all of these values')
    assert found({'m': row}, benchmark='of unknown size') == []


def test_values_of_another_model_are_found() -> None:
    """All of them, or three; what is 0 or 100 is nobody's."""
    one = printed([48] * 20 + [24] * 10 + [0] * 15, 48, 25, 1)
    other = printed([48] * 10 + [20] * 20 + [0] * 15, 48, 5, 1)
    partly = [other[0], *one[1:]]
    nothing = [0.0] * 5
    assert found({'a': one, 'b': other, 'c': one, 'd': nothing, 'e': nothing}) == [
        ('c', 'repeated', 'all values as a')
    ]
    names = 'G-Pass@16_0.5, G-Pass@16_0.75, G-Pass@16_1.0, mG-Pass@16'
    assert found({'a': one, 'c': partly}) == [('c', 'repeated', f'{names} as a')]


def test_differences_are_by_row() -> None:
    """With the printed digits; names may be spelled otherwise, and be mapped."""
    first = table({'A 7B': [20.0, 1.0, None, 0.0, 0.5], 'B': [1.0, None, None, None, None], 'C': [2.2] * 5})
    second = table({'a-7b': [20.0, 1.0, 3.0, 0.06, 0.5], 'see': [2.2] * 5}, digits=2)
    beside = differences(first, second, {'C': 'see'})
    assert beside.findings == [Finding(HARD, 'A 7B', 'differs', 'G-Pass@16_1.0 0.0 and 0.06')]
    assert (beside.shared, beside.alone) == (2, [('B', HARD)])


@pytest.mark.parametrize(
    ('one', 'other', 'alike'),
    [
        ('24.0', '24.04', True),
        ('24.0', '24.06', False),
        ('24.04', '24.06', False),
        ('24.0', '24.1', False),
        ('4.5', '4.55', True),
        ('4.6', '4.55', True),
        ('4.5', '4.56', False),
        ('24.10', '24.1', True),
    ],
)
def test_a_rounded_value_does_not_differ(tmp_path: Path, one: str, other: str, alike: bool) -> None:
    """With the fewer of the printed digits, whichever table has them; half-way, up and down are alike."""
    tables = []
    for name, number in (('one.md', one), ('other.md', other)):
        (tmp_path / name).write_text(f'# B\n|LLMs|Greedy|\n|--|--|\n|a|{number}|\n')
        tables.append(read_published(tmp_path / name))
    first, second = tables
    findings = [] if alike else [Finding('B', 'a', 'differs', f'Greedy {one} and {other}')]
    assert differences(first, second).findings == findings
    assert bool(differences(second, first).findings) is not alike


def test_fewer_samples_than_k_are_refused() -> None:
    """No draw of 16 of them."""
    with pytest.raises(InputError, match='from 16, the largest k'):
        audit(table({'m': [0.0] * 5}), 15)
    with pytest.raises(InputError, match='to 1024'):
        audit(table({'m': [0.0] * 5}), 1025)


def kinds(text: Sequence[Mapping[str, str]], name: str) -> dict[str, set[tuple[str, str]]]:
    told: dict[str, set[tuple[str, str]]] = {}
    for row in text:
        if row['table'] == name:
            told.setdefault(row['kind'], set()).add((row['benchmark'], row['model']))
    return told


@pytest.mark.slow
def test_the_published_tables_have_the_known_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures of docs/report.md: 27 rows differ, one of each table is impossible, two are repeats."""
    file = tmp_path / 'findings.csv'
    assert main(['compare', 'published-readme', 'published', '--audit', '--strict', '-o', str(file)]) == 1
    told = capsys.readouterr().out
    assert '85 rows, 74 in both, 27 of them differ' in told
    assert 'lacks InternLM3-8B-Instruct (5), Mistral-Large-Instruct-2411 (1), Qwen2.5-Max (4)' in told
    with file.open(encoding='utf-8') as lines:
        rows = list(csv.DictReader(lines))
    readme = {kind: len(of) for kind, of in kinds(rows, 'published-readme').items()}
    assert readme == {'rounding': 7, 'no count': 5, 'impossible': 1, 'repeated': 1, 'differs': 27}
    page = kinds(rows, 'published')
    assert {kind: len(of) for kind, of in page.items()} == {
        'rounding': 8,
        'no count': 7,
        'impossible': 1,
        'repeated': 4,
    }
    assert kinds(rows, 'published-readme')['impossible'] == {('AIME2024-45', 'Qwen2.5-Math-7B-Instruct')}
    assert page['impossible'] == {('MATH500-L5', 'DeepSeek R1')}
    assert ('LiveMathBench-2412', 'QwQ-32B') in page['repeated']
    whole = [row['model'] for row in rows if row['text'].startswith('all values')]
    assert whole == ['QwQ-32B', 'Qwen2.5-Math-7B-Instruct']


def test_a_mapped_model_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--map names a model of the first leaderboard as the last one does; an unknown one is refused."""
    paths = []
    for name, model in (('a.json', 'ours'), ('b.json', 'theirs')):
        paths.append(str(tmp_path / name))
        (tmp_path / name).write_text(json.dumps({model: {'Greedy': {'B': 20.0}}}))
    assert main(['compare', *paths, '--audit']) == 0
    told = capsys.readouterr()
    assert '1 rows, 0 in both, 0 of them differ' in told.out
    lines = [f'{path}: checking 1 rows with 48 samples a question' for path in paths]
    assert told.err.splitlines() == lines, 'what takes long is announced, and not among the findings'
    assert main(['compare', *paths, '--audit', '--map', 'ours=theirs', '--strict']) == 0
    assert '1 rows, 1 in both, 0 of them differ' in capsys.readouterr().out
    assert main(['compare', *paths, '--audit', '--map', 'nobody=theirs']) == 2
    assert "'nobody' is no model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['.', '--audit'], 'is a folder; --audit looks at published leaderboards'),
        (['published', '--audit', '--neighbours'], '--neighbours has no meaning with --audit'),
        (['published', '--audit', '--metric', 'mG-Pass@16'], '--metric has no meaning with --audit'),
        (['published', 'published', '--audit'], 'the same leaderboard twice'),
        (
            ['published', '--audit', '--n', '8'],
            'n = 8: expected from 16, the largest k of the table, to 1024',
        ),
    ],
    ids=['folder', 'neighbours', 'metric', 'twice', 'n'],
)
def test_what_an_audit_cannot_take_is_refused(
    arguments: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, and code 2."""
    assert main(['compare', *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_shipped_values_are_exact_fractions_of_what_they_print() -> None:
    """Each is printed with one or two digits, and none is lost in reading."""
    for path in SHIPPED.values():
        published = read_published(path)
        for key, value in published.values.items():
            text = f'{value:.{published.decimals[key]}f}'
            assert abs(Fraction(text) - Fraction(value)) < Fraction(1, 10**12)
            assert published.decimals[key] in (1, 2)
    assert Metric.mg_pass_at(16) in read_published(SHIPPED['published']).metrics
