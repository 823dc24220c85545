"""The forms in which leaderboards are published, read alike; and those that come with this package."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpassk_opencompass import InputError
from gpassk_opencompass.cli import main
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.report.published import BENCHMARKS, SHIPPED, read_published

LEADERBOARD = (
    Path(__file__).resolve().parents[2] / 'shared' / 'data' / 'leaderboard' / 'published_results.json'
)

BENCHES = ('LiveMathBench-2412', 'AIME2025')

PAGE = {
    'M-7B': {
        'link': 'https://m.example',
        'opensourced': 'TRUE',
        'mathLM': 'TRUE',
        'o1-like': 'FALSE',
        'Greedy': {'LiveMathBench-2412': 24.0, 'AIME2025': 6.7},
        'G-Pass@16-0.5': {'LiveMathBench-2412': 18.25, 'AIME2025': 0.1},
        'mG-Pass@16': {'LiveMathBench-2412': 10, 'AIME2025': None},
    },
    'o M': {
        'opensourced': 'FALSE',
        'mathLM': 'FALSE',
        'o1-like': 'TRUE',
        'Greedy': {'LiveMathBench-2412': 70.0, 'AIME2025': None},
        'G-Pass@16-0.5': {'LiveMathBench-2412': None, 'AIME2025': None},
        'mG-Pass@16': {'LiveMathBench-2412': 60.5, 'AIME2025': None},
    },
}

README = """\
# A title | with a bar

* 🏐: mathematical

| k | n |
|---|---|
| 16 | 48 |

### *LiveMathBench-202412*

|LLMs|Greedy|G-Pass@16_0.5|mG-Pass@16|
|--|--|--|--|
|M-7B 🏐|24.0|18.25|10|
|o M 🏀|70.0||60.5|

```sh
run {a.py|b.py}
```
### AIME2025

LLMs | Greedy | G-Pass@16_0.5 | mG-Pass@16
:-- | --: | --: | --:
M-7B 🏐 | 6.7 | 0.1 | –
"""

FORMULAS = """\
### *LiveMathBench-202412*

|LLMs|Greedy|G-Pass@$16_{0.5}$|mG-Pass@$16$|
|--|--|--|--|
|[M-7B](https://m.example) 🏐|**24.0**|18.25%|10|
|o M † 🏀|70.0 ‡|-|60.5|

### **AIME2025**

|LLMs|Greedy|G-Pass@$16\\_{0.5}$|mG-Pass@$16$|
|--|--|--|--|
|M-7B 🏐|6.7|0.1|–|
"""


def saved(path: Path, text: str) -> Path:
    path.write_text(text, 'utf-8')
    return path


@pytest.mark.parametrize(
    ('name', 'text'),
    [('page.json', json.dumps(PAGE)), ('README.md', README), ('FORMULAS.md', FORMULAS)],
    ids=['page', 'readme', 'formulas'],
)
def test_the_three_forms_are_read_alike(tmp_path: Path, name: str, text: str) -> None:
    """JSON of the page, Markdown with plain and with TeX heads."""
    published = read_published(saved(tmp_path / name, text))
    half, mean = Metric.g_pass_at(16, 0.5), Metric.mg_pass_at(16)
    first, second = BENCHES
    assert published.values == {
        ('M-7B', first, 'Greedy'): 24.0,
        ('M-7B', second, 'Greedy'): 6.7,
        ('M-7B', first, half): 18.25,
        ('M-7B', second, half): 0.1,
        ('M-7B', first, mean): 10.0,
        ('o M', first, 'Greedy'): 70.0,
        ('o M', first, mean): 60.5,
    }
    assert set(published.benchmarks) <= set(BENCHMARKS)
    assert (published.models, published.leading) == (('M-7B', 'o M'), mean)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('|LLMs|Greedy|\n|--|--|\n|a|1|\n', 'line 3: a table of scores without a heading'),
        ('# B\n|LLMs|Greedy|\n|--|--|\n|a|1|2|\n', 'line 4: 3 cells, and the head of the table has 2'),
        ('# B\n|LLMs|Greedy|\n|--|--|\n|a|1|\n|a|2|\n', 'line 5: a has two rows on B'),
        ('# B\n|LLMs|Greedy|\n|--|--|\n|a|one|\n', "line 4: a, Greedy: 'one'; expected a percentage"),
        ('# B\n|LLMs|Greedy|\n|--|--|\n|a|101|\n', 'a, B: 101; expected a percentage'),
        ('# B\n|LLMs|G-Pass@16_2|\n|--|--|\n|a|1|\n', 'G-Pass@16_2'),
        ('# B\n|LLMs|score|\n|--|--|\n|a|1|\n', 'has no score'),
        ('', 'has no score'),
        ('{"a": {"Greedy": {"b": NaN}}}', 'a, b: nan; expected a percentage'),
        ('{', 'no JSON'),
    ],
    ids=['heading', 'cells', 'twice', 'text', 'percent', 'metric', 'none', 'empty', 'nan', 'json'],
)
def test_what_is_no_table_of_scores_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """With the file and the line."""
    path = saved(tmp_path / 'table.md', text)
    with pytest.raises(InputError) as refused:
        read_published(path)
    assert str(refused.value).startswith(str(path))
    assert message in str(refused.value)


def markdown(benchmark: str, column: str, number: float) -> str:
    return f'## {benchmark}\n|LLMs|{column}|\n|--|--|\n|a|{number}|\n\n'


@pytest.mark.parametrize(
    ('text', 'score'),
    [
        (markdown('X', 'mG-Pass@16', 20.0) + markdown('X', 'mG-Pass@16', 33.0), 'a, X, mG-Pass@16'),
        ('## X\n|LLMs|Greedy|Greedy|\n|--|--|--|\n|a|20.0|33.0|\n', 'a, X, Greedy'),
        (
            '## X\n|LLMs|G-Pass@16_1|G-Pass@16_1.0|\n|--|--|--|\n|a|20.0|33.0|\n',
            'a, X, G-Pass@16_1.0',
        ),
        (
            markdown('LiveMathBench-202412', 'Greedy', 20.0) + markdown('LiveMathBench-2412', 'Greedy', 33.0),
            'a, LiveMathBench-2412, Greedy',
        ),
        ('{"a": {"G-Pass@16-0.5": {"X": 20.0}, "G-Pass@16_0.5": {"X": 33.0}}}', 'a, X, G-Pass@16_0.5'),
        ('{"a": {"Greedy": {"X": 20.0}}, "a": {"Greedy": {"X": 33.0}}}', 'a, X, Greedy'),
        ('{"a": {"Greedy": {"X": 20.0}, "Greedy": {"X": 33.0}}}', 'a, X, Greedy'),
        ('{"a": {"Greedy": {"X": 20.0, "X": 33.0}}}', 'a, X, Greedy'),
    ],
    ids=[
        'heading',
        'column',
        'threshold',
        'benchmark',
        'json-metric',
        'json-model',
        'json-key',
        'json-benchmark',
    ],
)
def test_a_score_with_two_values_is_refused(tmp_path: Path, text: str, score: str) -> None:
    """With both values, under whatever names they stand there; none of them is taken in silence."""
    path = saved(tmp_path / 'table.md', text)
    with pytest.raises(InputError) as refused:
        read_published(path)
    assert str(refused.value).startswith(f'{path}: {score}: two values, 20.0 and 33.0 (under ')


def test_the_scores_of_a_model_may_stand_in_two_places(tmp_path: Path) -> None:
    """Other columns under the same heading, or another object of the same model, add to the first."""
    text = markdown('X', 'Greedy', 20.0) + markdown('X', 'mG-Pass@16', 10.0)
    in_json = '{"a": {"Greedy": {"X": 20.0}}, "a": {"mG-Pass@16": {"X": 10.0}}}'
    for published in (
        read_published(saved(tmp_path / 'table.md', text)),
        read_published(saved(tmp_path / 'table.json', in_json)),
    ):
        assert published.values == {('a', 'X', 'Greedy'): 20.0, ('a', 'X', Metric.mg_pass_at(16)): 10.0}
        assert published.models == ('a',)


def test_the_shipped_leaderboards_tell_their_source_and_licence() -> None:
    """Five benchmarks of known size each, five columns."""
    sizes = {'published': (29, 680), 'published-readme': (21, 425)}
    assert set(sizes) == set(SHIPPED)
    for name, path in SHIPPED.items():
        published = read_published(path)
        assert (len(published.models), len(published.values)) == sizes[name]
        assert set(published.benchmarks) == set(BENCHMARKS)
        assert [str(metric) for metric in published.metrics] == [
            'Greedy',
            'G-Pass@16_0.5',
            'G-Pass@16_0.75',
            'G-Pass@16_1.0',
            'mG-Pass@16',
        ]
        text = path.read_text('utf-8')
        assert re.search('^- Source: .*github.com/open-compass/GPassK, revision', text, re.MULTILINE)
        assert '2412.13147' in text.partition('Licence:')[2]


@pytest.mark.skipif(not LEADERBOARD.is_file(), reason='the published leaderboard is not here')
def test_the_shipped_leaderboard_is_the_published_one() -> None:
    """Number for number."""
    ours, theirs = read_published(SHIPPED['published']), read_published(LEADERBOARD)
    assert dict(ours.values) == dict(theirs.values)


def test_a_misspelt_leaderboard_is_told_the_names_of_the_shipped_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no file of that name either."""
    monkeypatch.chdir(tmp_path)
    assert main(['compare', '.', 'publishd']) == 2
    message = 'publishd: no such file; leaderboards that come along: published, published-readme'
    assert message in capsys.readouterr().err


def test_a_hostile_text_takes_no_time(tmp_path: Path) -> None:
    """Half a megabyte of what could begin a link, a heading or a cell, each on one line."""
    for piece in ('[', '[a](', '# ', '* ', r'\|', '|'):
        text = f'# B\n|LLMs|Greedy|\n|--|--|\n|a|1|\n\n# {piece * 100_000}\n{piece * 100_000}\n'
        published = read_published(saved(tmp_path / 'table.md', text))
        assert published.values == {('a', 'B', 'Greedy'): 1.0}
