"""`gpassk export --to csv` and `--to parquet`: a row a sample, of which every score can be had again."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from exported_runs import (
    COUNTS,
    TRUTH,
    N,
    exact,
    export,
    response,
    scored_labels,
)
from pyarrow import parquet  # type: ignore[import-untyped]
from stored_results import with_columns

from gpassk_opencompass import __version__
from gpassk_opencompass.cli import main
from gpassk_opencompass.exports.samples import columns_of
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.results.read import read
from gpassk_opencompass.tables import read_csv_cell

Rows = list[dict[str, Any]]
LIGHTEVAL = Path(__file__).parents[1] / 'recorded' / 'lighteval'


def read_table(path: Path) -> Rows:
    """The rows of a table as texts and numbers, None where a cell is empty."""
    if path.suffix == '.parquet':
        rows: Rows = parquet.read_table(path).to_pylist()
        return rows
    numbers = {
        one.name: float if one.kind == 'double' else int
        for one in columns_of(True)
        if one.kind in ('int32', 'int64', 'double')
    }
    required = {one.name for one in columns_of(True) if one.required}
    with path.open(encoding='utf-8', newline='') as file:
        return [
            {
                name: numbers.get(name, read_csv_cell)(text) if text or name in required else None
                for name, text in row.items()
            }
            for row in csv.DictReader(file)
        ]


def counts_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row['uid']] += row['verdict'] == 'correct'
    return dict(counts)


@pytest.fixture(params=['csv', 'parquet'])
def form(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_a_table_gives_counts_and_scores_again(tmp_path: Path, form: str, theirs: Path) -> None:
    """Those of the known truth, by whole numbers."""
    assert export(theirs, '--to', form, '-o', tmp_path / f'out.{form}') == 0
    rows = read_table(tmp_path / f'out.{form}')
    assert counts_of(rows) == {f'q{number}': c for number, c in enumerate(COUNTS)}
    assert [(row['uid'], row['replica']) for row in rows] == [
        (f'q{number}', replica) for number in range(len(TRUTH)) for replica in range(N)
    ]
    for metric in ('accuracy', 'pass@2', 'G-Pass@2_1.0', 'G-Pass@3_0.5', 'mG-Pass@3'):
        told = read(theirs).interval(Metric.parse(metric)).estimate
        assert told == pytest.approx(exact(metric, N, list(counts_of(rows).values())), abs=1e-12)


def test_a_table_says_all_that_is_known_of_a_sample(tmp_path: Path, form: str, theirs: Path) -> None:
    """Of run, question and sample; what is not known is empty."""
    assert export(theirs, '--to', form, '-o', tmp_path / f'out.{form}', '--responses') == 0
    rows = read_table(tmp_path / f'out.{form}')
    assert list(rows[0]) == [one.name for one in columns_of(responses=True)]
    shown = rows[N * 14 + 1]
    text = response(14, False, 1)
    text = text.replace('\u2028', '\\u2028') if form == 'csv' else text
    assert {name: value for name, value in shown.items() if value is not None} == {
        'model': 'theirs',
        'dataset': 'samples',
        'host': 'file',
        'judge': 'rule',
        'signature': read(theirs).signature,
        'uid': 'q14',
        'problem': 'p7',
        'split': '求和',
        'language': 'cn',
        'question': 'What is $14+14$?',
        'reference': '28',
        'replica': 1,
        'answer': '29',
        'verdict': 'incorrect',
        'decided_by': 'integer',
        'response_characters': len(response(14, False, 1)),
        'reasoning_characters': len('so so '),
        'file': 'theirs.jsonl',
        'row': 15,
        'response': text,
    }


def test_csv_and_parquet_say_the_same(tmp_path: Path, theirs: Path) -> None:
    """Cell for cell, of several runs, one of them with samples that nobody judged."""
    verdicts = [symbols.replace('0', '?', 1) for symbols in TRUTH]
    results = [theirs, scored_labels(tmp_path, 'labelled', verdicts)]
    for form in ('csv', 'parquet'):
        assert export(*results, '--to', form, '-o', tmp_path / f'out.{form}') == 0
    rows = read_table(tmp_path / 'out.csv')
    assert rows == read_table(tmp_path / 'out.parquet')
    of_run: defaultdict[str, Rows] = defaultdict(list)
    for row in rows:
        of_run[row['model']].append(row)
    assert {model: len(part) for model, part in of_run.items()} == {'labelled': 96, 'theirs': 96}
    assert counts_of(of_run['labelled']) == counts_of(of_run['theirs'])
    assert {row['answer'] for row in of_run['labelled']} == {None}  # nobody told them
    unjudged = sum(symbols.count('?') for symbols in verdicts)
    assert Counter(row['verdict'] for row in of_run['labelled'])['unjudged'] == unjudged > 0


def test_the_same_results_give_the_same_bytes(tmp_path: Path, form: str, theirs: Path) -> None:
    """In whatever order they are given."""
    results = [theirs, scored_labels(tmp_path, 'a')]
    for name, given in (('one', results), ('two', results[::-1])):
        assert export(*given, '--to', form, '-o', tmp_path / f'{name}.{form}') == 0
    assert (tmp_path / f'one.{form}').read_bytes() == (tmp_path / f'two.{form}').read_bytes()


def test_no_cell_of_csv_is_a_formula(tmp_path: Path) -> None:
    """What a model answered, and what its run is called, is shown and not computed."""
    answers = [['=HYPERLINK("x")', '-1', '\t@', "'=1"]] + [['7\n8', '1,5 "m"', '\x1b[2J', '\ud800']] * 23
    result = scored_labels(tmp_path, 'plain', TRUTH, answers, '--dataset', '+cmd')
    assert export(result, '--to', 'csv', '-o', tmp_path / 'out.csv') == 0
    with (tmp_path / 'out.csv').open(encoding='utf-8', newline='') as file:
        rows = list(csv.DictReader(file))
    assert [row['answer'] for row in rows[:8]] == [
        *('\'=HYPERLINK("x")', "'-1", "'\t@", "''=1", '7\n8', '1,5 "m"', '\\x1b[2J', '\\ud800')
    ]
    assert {row['dataset'] for row in rows} == {"'+cmd"}
    assert [read_csv_cell(row['answer']) for row in rows[:4]] == answers[0]


def test_parquet_tells_its_version_and_whole_judges(tmp_path: Path, theirs: Path) -> None:
    """In the metadata of the file; and what a column is, in that of the column."""
    assert export(theirs, '--to', 'parquet', '-o', tmp_path / 'out.parquet') == 0
    schema = parquet.read_schema(tmp_path / 'out.parquet')
    told = {name.decode(): value.decode() for name, value in schema.metadata.items()}
    assert (told['gpassk.export'], told['gpassk_opencompass']) == ('1', __version__)
    [run] = json.loads(told['gpassk.runs'])
    assert (run['n'], run['k'], run['questions']) == (N, [1, 2, 3], 24)
    assert run['judge'] == dict(read(theirs).judge)
    assert all(field.metadata[b'about'] for field in schema)


def test_the_details_of_lighteval_are_rows_too(tmp_path: Path, form: str) -> None:
    """With the model's settings and the responses, which lie in the same file."""
    assert export(LIGHTEVAL, '--to', form, '-o', tmp_path / f'out.{form}', '--responses') == 0
    rows = read_table(tmp_path / f'out.{form}')
    [details] = LIGHTEVAL.rglob('details_*.parquet')
    theirs = parquet.read_table(details).to_pylist()
    assert Counter(counts_of(rows)) == Counter(
        {one['doc']['specific']['uid']: one['metric']['G-Pass@k']['c'] for one in theirs}
    )
    texts = {one['doc']['specific']['uid']: one['model_response']['text'] for one in theirs}
    of_question: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        of_question[row['uid']].append(row['response'])
    assert dict(of_question) == texts
    assert {(row['host'], row['temperature']) for row in rows} == {('lighteval', read(details).temperature)}


@pytest.mark.parametrize('judged', ['labels', 'responses'])
def test_a_table_can_be_scored_again(tmp_path: Path, theirs: Path, form: str, judged: str) -> None:
    """By its verdicts, and by a judge of its responses: the same record comes back."""
    with_columns(theirs, output_tokens=20, prompt_tokens=9, finish_reason='stop', seconds=0.5)
    table, back = tmp_path / f'out.{form}', tmp_path / 'back.gpassk.json'
    assert export(theirs, '--to', form, '-o', table, '--responses') == 0
    options = ['--from', 'table', '-o', str(back), '--k', '1', '2', '3']
    judge = ['--judge', 'rule'] if judged == 'responses' else []
    assert main(['score', str(table), *options, *judge]) == 0
    first, again = read(theirs), read(back)
    for name in ('uids', 'problems', 'groups', 'verdicts', 'answers', 'model_abbr', 'dataset_abbr'):
        assert getattr(again, name) == getattr(first, name), name
    for name in ('output_tokens', 'prompt_tokens', 'finish_reason', 'seconds'):
        assert first.samples is not None
        assert again.samples is not None
        assert again.samples.column(name) == first.samples.column(name), name
    if judged == 'responses':
        assert (again.questions, again.references) == (first.questions, first.references)
    for metric in ('accuracy', 'G-Pass@2_1.0', 'mG-Pass@3'):
        assert again.record[metric] == pytest.approx(100 * exact(metric, N, COUNTS), abs=1e-9)


def test_negative_references_come_back_from_csv(tmp_path: Path) -> None:
    """They begin as formulas do; a judge must not see the apostrophe before them."""
    rows = [
        {
            'uid': str(number),
            'question': '-x?',
            'answer': f'-{number}',
            'responses': [f'$\\boxed{{-{number}}}$'],
        }
        for number in range(3)
    ]
    given, result = tmp_path / 'rows.jsonl', tmp_path / 'rows.gpassk.json'
    given.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    assert main(['score', str(given), '-o', str(result)]) == 0
    assert export(result, '--to', 'csv', '-o', tmp_path / 'out.csv', '--responses') == 0
    assert "'-2" in (tmp_path / 'out.csv').read_text(encoding='utf-8')
    back = tmp_path / 'back.gpassk.json'
    assert main(['score', str(tmp_path / 'out.csv'), '--judge', 'rule', '-o', str(back)]) == 0
    assert read(back).references == ['-0', '-1', '-2']
    assert read(back).questions == ['-x?'] * 3
    assert read(back).verdicts == ['1'] * 3
