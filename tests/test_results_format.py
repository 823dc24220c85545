"""What the package writes for others fits its schemas and its page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from exact import EXACT
from formats import PAGE, SCHEMAS, Json, complaints, on_disk, valid_values
from hosts import import_plugin
from judge_server import PROMPTS, Fail, JudgeServer
from sweeping import BASE, dump

from gpassk_opencompass import RuleJudge, Samples, score
from gpassk_opencompass.cli import main
from gpassk_opencompass.judges import Judgement, Pair, Verdict
from gpassk_opencompass.judges.cascade import CascadeJudge
from gpassk_opencompass.judges.llm import LLMJudge
from gpassk_opencompass.judges.protocol import FunctionJudge
from gpassk_opencompass.results.lighteval import read_details
from gpassk_opencompass.results.read import read
from gpassk_opencompass.results.samples import write_samples
from gpassk_opencompass.results.schema import json_schema
from gpassk_opencompass.scoring import score_judged, score_samples
from gpassk_opencompass.sweep import Entry

EXAMPLE = Samples(
    uid=['demo/ADD_en/0'] * 2 + ['demo/ADD_cn/0'] * 2,
    replica=[0, 1, 0, 1],
    question=['Compute $1+1$.'] * 2 + ['计算 $1+1$。'] * 2,
    reference=['2'] * 4,
    response=[r'It is \boxed{2}.', r'\boxed{3}', r'\boxed{2}', r'\boxed{2.0}'],
    split=['ADD'] * 4,
    language=['en', 'en', 'cn', 'cn'],
    problem=['demo/ADD/0'] * 4,
)
"""The record on the page."""


def example() -> Json:
    """Judged by rule."""
    with RuleJudge(workers=1) as judge:
        return on_disk(score(EXAMPLE, judge, n=2, k=2, thresholds=[0.5, 1.0]))


def undecided(pair: Pair) -> Verdict:
    return Verdict.UNJUDGED if pair.answer == '3' else Verdict.CORRECT


def llm_record(folder: Path, *, cascade: bool = False) -> Json:
    """Of a judge on a socket that fails for one of the answers."""

    def behave(asked: Any) -> Any:
        return Fail(400) if 'answer=3' in asked.prompt else r'So \boxed{yes}'

    with JudgeServer(behave) as server:
        settings: Json = {'prompts': PROMPTS, 'store': folder, 'progress': False, 'accept_equal': False}
        llm = LLMJudge('judge', server.url, **settings)
        judge = CascadeJudge(FunctionJudge(lambda pair: False), llm) if cascade else llm
        record = score(EXAMPLE, judge, n=2, k=[1, 2], unjudged_tolerance=1.0)
        judge.close()
    return on_disk(record)


def scored(tmp_path: Path, rows: list[Json], *options: str) -> Json:
    """What `gpassk score -o` writes."""
    source, out = tmp_path / 'rows.jsonl', tmp_path / 'x.gpassk.json'
    source.write_text('\n'.join(map(json.dumps, rows)), encoding='utf-8')
    assert main(['score', str(source), '-o', str(out), *options]) == 0
    record: Json = json.loads(out.read_text(encoding='utf-8'))
    return record


def made_records(tmp_path: Path) -> Iterator[tuple[str, Json]]:
    yield (
        'greedy',
        on_disk(score(one_each(EXAMPLE), FunctionJudge(undecided), n=1, k=1, unjudged_tolerance=1.0)),
    )
    yield 'unjudged', on_disk(score(EXAMPLE, FunctionJudge(undecided), n=2, k=[1, 2], unjudged_tolerance=1.0))
    verdicts = [Judgement(Verdict.CORRECT, 'somebody')] * 4
    given = score_judged(EXAMPLE, verdicts, ['2'] * 4, FunctionJudge(undecided), n=2, k=2, thresholds=[])
    yield 'judged elsewhere', on_disk(given.record)
    labels: Json = {'uid': 'a', 'correct': [True, None, False], 'split': 'a/b', 'language': 'en'}
    yield 'labels', scored(tmp_path, [labels, {'correct': '110'}], '--k', '2', '--unjudged', 'wrong')
    yield (
        'answers',
        scored(tmp_path, [{**labels, 'answers': ['1', '2', '3']}], '--name', 'm', '--dataset', 'd'),
    )
    yield 'counts', scored(tmp_path, [{'uid': 'a', 'n': 4, 'c': 3}, {'uid': 'b', 'n': 4, 'c': 0}])
    responses = {'question': '1+1?', 'answer': '2', 'responses': [r'\boxed{2}', 'So it is']}
    yield 'responses', scored(tmp_path, [responses], *EXACT)


def one_each(samples: Samples) -> Samples:
    columns = {field.name: getattr(samples, field.name)[::2] for field in fields(samples)}
    return Samples(**{**columns, 'replica': [0, 0]})


def test_records_fit(tmp_path: Path) -> None:
    """Whoever judged and whatever was known; none has a field that the schema does not describe."""
    for kind, record in made_records(tmp_path):
        assert complaints('result', record) == [], kind


@pytest.mark.parametrize('cascade', [False, True])
def test_a_record_and_the_verdicts_of_an_llm_fit(tmp_path: Path, cascade: bool) -> None:
    """With a sample that stayed unjudged, and each line of the store."""
    record = llm_record(tmp_path, cascade=cascade)
    assert record['gpassk']['unjudged'] == 1
    assert complaints('result', record) == []
    texts = [file.read_text(encoding='utf-8') for file in tmp_path.glob('*.jsonl')]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    assert len(lines) >= 2
    assert [complaints('verdict', line) for line in lines] == [[]] * len(lines)


@pytest.mark.filterwarnings('ignore')
def test_the_record_of_the_plugin_fits(tmp_path: Path) -> None:
    """As OpenCompass's evaluation writes it, by a rule and by another evaluator of OpenCompass."""
    plugin = import_plugin()
    from datasets import Dataset

    rows = Dataset.from_list(
        [
            {
                'uid': f'u{q}',
                'replica': r,
                'question': '1+1?',
                'answer': '2',
                'prompt': '',
                'split': 'A',
                'language': 'en',
                'problem': f'p{q}',
            }
            for r in range(2)
            for q in range(2)
        ]
    )
    scored = {'predictions': [r'\boxed{2}', r'\boxed{3}'] * 2, 'references': ['2'] * 4}
    judged = plugin.GPassKEvaluator().evaluate(2, 2, rows, **scored, test_set=rows)
    exact = {'type': 'opencompass.openicl.icl_evaluator.AccwithDetailsEvaluator'}
    wrapped = plugin.GPassKEvaluator(evaluator=exact).evaluate(2, 2, rows, **scored, origin_prompt=[''] * 4)
    for record in (judged, wrapped):
        assert complaints('result', on_disk(record)) == []
        assert record['gpassk']['versions']['opencompass']


def test_the_lines_of_a_manifest_fit(tmp_path: Path) -> None:
    """Of configs that are there, and of one that the template no longer gives."""
    assert dump(tmp_path, BASE + "benchmarks = ['aime2024', 'livemathbench']") == 0
    assert dump(tmp_path, BASE + "benchmarks = ['aime2024']") == 0
    lines = (tmp_path / 'configs' / 'manifest.jsonl').read_text(encoding='utf-8').splitlines()
    entries = [json.loads(line) for line in lines]
    assert [entry['stale'] for entry in entries] == [False, True]
    assert [complaints('manifest', entry) for entry in entries] == [[], []]
    assert list(SCHEMAS['manifest']['properties']) == [field.name for field in fields(Entry)]


# The page


def test_the_record_of_the_page_is_what_the_package_writes() -> None:
    """All of it but versions, and what hangs on them."""
    shown, written = valid_values()['result'], example()
    assert complaints('result', written) == []
    del shown['gpassk']['sample_file']
    judges = shown['gpassk']['judge'], written['gpassk']['judge']
    assert judges[0].keys() == judges[1].keys()
    assert judges[0]['rules'] == judges[1]['rules']
    for record in (shown, written):
        for name in ('versions', 'judge', 'signature'):
            del record['gpassk'][name]
    assert shown == written


def test_the_program_of_the_page_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a reader would run it; and `gpassk report` reads it too."""
    record = valid_values()['result']
    (tmp_path / 'result.json').write_text(json.dumps(record), encoding='utf-8')
    monkeypatch.chdir(tmp_path)
    [_, reader, _] = PAGE.blocks('python')
    exec(reader.text, {})
    assert 'demo/ADD_en/0 1 3 incorrect integer' in capsys.readouterr().out.splitlines()
    assert read(tmp_path / 'result.json').counts.tolist() == [1, 2]


def test_the_program_of_the_page_reads_a_sample_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one of the record on the page, whose entry names it."""
    with RuleJudge(workers=1) as judge:
        record, samples = score_samples(EXAMPLE, judge, n=2, k=2, thresholds=[0.5, 1.0])
    write_samples(tmp_path / 'result.json', record, samples)
    shown = valid_values()['result']['gpassk']['sample_file']
    written = record['gpassk']['sample_file']
    assert complaints('result', on_disk(record)) == []
    assert {**shown, 'sha256': ''} == {**written, 'sha256': ''}
    monkeypatch.chdir(tmp_path)
    exec(PAGE.blocks('python')[2].text, {})
    assert capsys.readouterr().out == '4 samples, 0 cut off; 12.0 characters\n'


def test_the_schema_in_the_package_is_made_from_the_classes() -> None:
    """`python -m gpassk_opencompass.results.schema` prints it."""
    assert json_schema() == SCHEMAS['result']


def test_what_lighteval_kept_of_a_record_fits() -> None:
    """The block `gpassk` of a recorded run, with the counts that its rows give."""
    [details] = (Path(__file__).parent / 'recorded' / 'lighteval').rglob('*.parquet')
    block = read_details(details)['gpassk']
    del block['run']  # from the names of the files
    block['schema'] = 2  # it was recorded with schema 1, of which the block was the same
    whole = {**valid_values()['result'], 'gpassk': block}
    assert complaints('result', whole, strict=False) == []
    assert block['versions']['lighteval']
