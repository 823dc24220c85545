"""The sample file: one row a sample, beside each result that this package writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from judge_server import PROMPTS, JudgeServer
from loguru import logger
from pyarrow import parquet

from gpassk_opencompass import InputError, LLMJudge, Samples, Verdict, VerdictStore
from gpassk_opencompass.files import put_aside
from gpassk_opencompass.judges.cascade import CascadeJudge
from gpassk_opencompass.judges.protocol import FunctionJudge
from gpassk_opencompass.results import samples as sample_files
from gpassk_opencompass.results.health import Generation
from gpassk_opencompass.results.named import is_named_as_result
from gpassk_opencompass.results.read import collect, read
from gpassk_opencompass.results.samples import COLUMNS, sample_file_of, write_samples
from gpassk_opencompass.scoring import Scored, score_samples

SAMPLES = Samples(
    uid=['b', 'a', 'a', 'b'],
    replica=[1, 0, 1, 0],
    question=['qb', 'qa', 'qa', 'qb'],
    reference=['2', '1', '1', '2'],
    response=[r'It is \boxed{2}', r'\boxed{3}', 'No idea.', r'\boxed{open}'],
    split=['S'] * 4,
    language=['en'] * 4,
    problem=['b', 'a', 'a', 'b'],
    generation=[
        Generation('stop', 9, 20, 1.5),
        Generation('length', 8, 50, None, 40),
        Generation(),
        Generation('stop', state='refusal'),
    ],
    seed=[11, 12, 13, 2**53 - 1],
    file=['../p_0.json', '../p_0.json', '../p_1.json', '../p_1.json'],
    row=[0, 1, 0, 1],
)
"""Two questions, their rows in any order."""

# fmt: off
ROWS = [
    ('b', 0, 2**53 - 1, 'open', 'unjudged', 'function', 'function', None, None, None, 'stop', None, None,
     'refusal', 12, None, '../p_1.json', 1),
    ('b', 1, 11, '2', 'correct', 'function', None, None, 20, 9, 'stop', 1.5, None, None, 15, None,
     '../p_0.json', 0),
    ('a', 0, 12, '3', 'incorrect', 'function', None, None, 50, 8, 'length', None, 40, None, 9, None,
     '../p_0.json', 1),
    ('a', 1, 13, '', 'incorrect', 'function', None, None, None, None, None, None, None, None, 8, None,
     '../p_1.json', 0),
]
# fmt: on
"""Its sample file by hand: questions as they first appear, each with its replicas in turn."""


def verdict(pair: Any) -> Verdict:
    if pair.answer == 'open':
        return Verdict.UNJUDGED
    return Verdict.CORRECT if pair.answer == pair.reference else Verdict.INCORRECT


def scored(samples: Samples = SAMPLES) -> Scored:
    return score_samples(samples, FunctionJudge(verdict), n=2, k=[1, 2], unjudged_tolerance=1.0)


def written(path: Path, made: Scored | None = None) -> Path:
    """A result with its sample file, as any host leaves them."""
    record, columns = made or scored()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_samples(path, record, columns)
    path.write_text(json.dumps(record), encoding='utf-8')
    return path


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    lines: list[str] = []
    number = logger.add(lambda line: lines.append(line.record['message']), level='WARNING')
    sample_files.warn_once.cache_clear()
    yield lines
    logger.remove(number)


def test_each_sample_has_a_row_in_its_place(tmp_path: Path) -> None:
    """Question by question, replica by replica, whatever the order of the rows; as pyarrow reads it."""
    path = written(tmp_path / 'x.gpassk.json')
    table = parquet.read_table(tmp_path / 'x.gpassk.samples.parquet')
    assert table.column_names == [column.name for column in COLUMNS]
    assert [tuple(row.values()) for row in table.to_pylist()] == ROWS
    told = json.loads(path.read_text())['gpassk']['sample_file']
    content = (tmp_path / told['name']).read_bytes()
    assert told == {'name': 'x.gpassk.samples.parquet', 'sha256': sha256(content).hexdigest(), 'rows': 4}


def test_a_result_gives_its_samples(tmp_path: Path) -> None:
    """By column, and by question; a column of which nothing is known is None."""
    result = read(written(tmp_path / 'x.json'))
    samples = result.samples
    assert samples is not None
    for at, column in enumerate(COLUMNS):
        expected = [row[at] for row in ROWS]
        assert samples.column(column.name) == (expected if any(one is not None for one in expected) else None)
    assert samples.by_question('output_tokens') == [[None, 20], [50, None]]
    assert samples.verdicts() == list(result.verdicts) == ['?1', '00']


def test_without_details_the_answers_come_from_the_samples(tmp_path: Path) -> None:
    """OpenCompass drops `details` where it is told to."""
    made = scored()
    path = written(tmp_path / 'x.json', made)
    path.write_text(json.dumps({name: part for name, part in made.record.items() if name != 'details'}))
    result = read(path)
    assert list(result.verdicts) == ['?1', '00']
    assert list(result.answers) == [['open', '2'], ['3', '']]


def test_halves_of_characters_are_escaped(tmp_path: Path) -> None:
    """No UTF-8 can hold one."""
    made = scored(replace(SAMPLES, response=['\\boxed{\ud800}'] * 4))
    table = parquet.read_table(sample_file_of(written(tmp_path / 'x.json', made)))
    assert table.column('answer').to_pylist() == [r'\ud800'] * 4


def test_scores_outlive_a_file_that_cannot_be_written(tmp_path: Path, warnings: list[str]) -> None:
    """A folder is in the way: one line says so, and the record names no file."""
    (tmp_path / 'x.samples.parquet').mkdir()
    result = read(written(tmp_path / 'x.json'))
    assert 'sample_file' not in result.block
    [line] = warnings
    assert line.startswith(f'{tmp_path / "x.samples.parquet"} was not written (')
    assert result.samples is not None
    assert result.samples.column('answer') == [row[3] for row in ROWS]
    assert result.samples.column('seed') is None
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith('.')] == []


def test_the_key_of_a_reply_leads_to_its_verdict(tmp_path: Path) -> None:
    """In the verdict store; a rule has none, and neither has what stayed unjudged."""
    with JudgeServer(lambda asked: 'hm' if 'open' in asked.prompt else r'\boxed{no}') as server:
        llm = LLMJudge('judge', server.url, prompts=PROMPTS, store=tmp_path / 'store', progress=False)
        judge = CascadeJudge(FunctionJudge(lambda pair: pair.answer == pair.reference), llm)
        made = score_samples(SAMPLES, judge, n=2, k=2, unjudged_tolerance=1.0)
        judge.close()
    store = VerdictStore(tmp_path / 'store')
    keys = dict(zip(made.samples['answer'], made.samples['reply_key'], strict=True))
    assert [store.get(keys.pop(answer)) for answer in ('3', '')] == [Verdict.INCORRECT] * 2
    assert keys == {'open': None, '2': None}


def test_a_sample_file_is_no_result(tmp_path: Path) -> None:
    """Not of Lighteval either, whose details are Parquet, too; `gpassk report` passes it over."""
    path = written(tmp_path / 'w' / 'details_x.gpassk.json')
    samples = sample_file_of(path)
    assert [result.path for result in collect([tmp_path]).results] == [path]
    assert collect([tmp_path]).passed_over == []
    assert is_named_as_result(samples)
    with pytest.raises(InputError, match=r'has the samples of a result; give the \.json beside it'):
        read(samples)


def test_a_sample_file_of_another_layout_is_passed_over(tmp_path: Path, warnings: list[str]) -> None:
    """Of a later release, say: what the JSON tells is shown."""
    path = written(tmp_path / 'x.json')
    table = parquet.read_table(sample_file_of(path)).replace_schema_metadata({'gpassk.samples': '2'})
    parquet.write_table(table, sample_file_of(path))
    record = json.loads(path.read_text())
    record['gpassk']['sample_file']['sha256'] = sha256(sample_file_of(path).read_bytes()).hexdigest()
    path.write_text(json.dumps(record))
    samples = read(path).samples
    assert samples is not None
    assert samples.column('answer') == [row[3] for row in ROWS]
    [line] = warnings
    assert "has layout '2'; this version reads 1" in line


def test_a_result_is_put_aside_with_its_samples(tmp_path: Path) -> None:
    """Under names that nothing reads; what was there is not lost when the new ones are written."""
    path = written(tmp_path / 'x.json')
    contents = [path.read_bytes(), sample_file_of(path).read_bytes()]
    put_aside(path, 'now')
    names = ['x.json.now.aside', 'x.samples.parquet.now.aside']
    assert sorted(file.name for file in tmp_path.iterdir()) == names
    assert [(tmp_path / name).read_bytes() for name in names] == contents
