"""What the package writes fits its schemas and its page; the schemas refuse what a reader could trip over."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import pytest
from doc_pages import page
from exact import FunctionJudge
from formats import SCHEMAS, complaints
from hosts import import_plugin
from jsonschema import Draft202012Validator
from judge_server import PROMPTS, Fail, JudgeServer
from result_files import entry_of
from sweeping import BASE, dump

from gpassk_opencompass import LLMJudge, RuleJudge, Samples, score
from gpassk_opencompass.health import Generation, generation_columns
from gpassk_opencompass.judges import CascadeJudge
from gpassk_opencompass.record import Names, Result, json_schema, read, write
from gpassk_opencompass.scoring import score_counts
from gpassk_opencompass.sweep.folder import Entry, manifest_text

Json = dict[str, Any]
PAGE = page('results-format')
EXAMPLE = Samples(
    {
        'uid': ['demo/ADD_en/0'] * 2 + ['demo/ADD_cn/0'] * 2,
        'replica': [0, 1, 0, 1],
        'problem': ['demo/ADD/0'] * 4,
        'group': ['ADD_en'] * 2 + ['ADD_cn'] * 2,
        'language': ['en', 'en', 'cn', 'cn'],
        'question': ['Compute $1+1$.'] * 2 + ['计算 $1+1$。'] * 2,
        'reference': ['2'] * 4,
        'response': [r'It is \boxed{2}.', r'\boxed{3}', r'\boxed{2}', r'\boxed{2.0}'],
    }
)
"""What the result on the page is of."""


def example() -> Result:
    names = Names(model='demo', dataset='ADD-k2-r1', created='2026-11-26T10:00:00+00:00')
    with RuleJudge() as judge:
        return score(EXAMPLE, judge, n=2, k=2, thresholds=[0.5, 1.0], names=names)


def on_disk(record: Mapping[str, Any]) -> Json:
    read: Json = json.loads(json.dumps(record, ensure_ascii=False))
    return read


# What is written fits


def results() -> Iterator[Result]:
    """Whoever judged, and whatever is known."""
    judge = FunctionJudge(lambda pair: None if pair.answer == '3' else True)
    yield example()
    yield score(EXAMPLE.select([0, 2]), judge, n=1, k=1)  # greedy
    yield score(EXAMPLE, judge, n=2, k=[1, 2], unjudged_tolerance=1.0)
    yield score(EXAMPLE.select([0, 2, 3]), judge, k=[1, 2])  # different n
    told = [Generation('stop', 9, 20, 1.5, 3), Generation('length', 9)]
    told += [Generation(), Generation(state='failed')]
    yield score(EXAMPLE.replace(**generation_columns(told)), judge, k=2, unjudged_tolerance=1.0)
    eleven = {'uid': [f'q{q}' for q in range(11)], 'replica': [0] * 11, 'response': [r'\boxed{2}'] * 11}
    yield score(Samples({**eleven, 'reference': ['2'] * 10 + [None]}), judge)  # one is left out
    yield score(EXAMPLE.replace(verdict=['correct', 'incorrect'] * 2), {'name': 'somebody'})
    yield score_counts(EXAMPLE.counts(), {'name': 'counts'})


def test_results_and_the_verdicts_of_an_llm_fit(tmp_path):
    """None has a field that the schema does not describe; with a sample that stayed unjudged, too."""
    act = lambda asked: Fail(400) if 'answer=3' in asked.prompt else r'So \boxed{yes}'  # noqa: E731
    with JudgeServer(act) as server:
        settings: Json = {'prompts': PROMPTS, 'verdicts': tmp_path, 'progress': False, 'accept_equal': False}
        llm = LLMJudge('judge', server.url, **settings)
        judge = CascadeJudge(FunctionJudge(lambda pair: False), llm)
        result = score(EXAMPLE, judge, n=2, k=[1, 2], unjudged_tolerance=1.0)
        judge.close()
    assert result.health.unjudged == 1
    for one in (result, *results()):
        assert complaints('result', on_disk(one.as_json())) == []
    texts = [file.read_text(encoding='utf-8') for file in tmp_path.glob('*.jsonl')]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    assert len(lines) >= 2
    assert [complaints('verdict', line) for line in lines] == [[]] * len(lines)


@pytest.mark.filterwarnings('ignore')
def test_the_result_of_the_plugin_fits():
    """As OpenCompass's evaluation writes it, by a rule and by another evaluator of OpenCompass."""
    plugin = import_plugin()
    from datasets import Dataset

    asked = {'question': '1+1?', 'answer': '2', 'prompt': '', 'split': 'A', 'language': 'en'}
    rows = Dataset.from_list(
        [{'uid': f'u{q}', 'replica': r, **asked, 'problem': f'p{q}'} for r in range(2) for q in range(2)]
    )
    given = {'predictions': [r'\boxed{2}', r'\boxed{3}'] * 2, 'references': ['2'] * 4}
    judged = plugin.GPassKEvaluator().evaluate(2, 2, rows, **given, test_set=rows)
    exact = {'type': 'opencompass.openicl.icl_evaluator.AccwithDetailsEvaluator'}
    wrapped = plugin.GPassKEvaluator(evaluator=exact).evaluate(2, 2, rows, **given, origin_prompt=[''] * 4)
    for record in (judged, wrapped):
        assert complaints('result', on_disk(record)) == []
        assert record['gpassk']['versions']['opencompass']


def test_the_lines_of_a_manifest_fit(tmp_path):
    """Of configs that are there, and of one that the template no longer gives."""
    assert dump(tmp_path, BASE + "benchmarks = ['aime2024', 'livemathbench']") == 0
    assert dump(tmp_path, BASE + "benchmarks = ['aime2024']") == 0
    lines = (tmp_path / 'configs' / 'manifest.jsonl').read_text(encoding='utf-8').splitlines()
    entries = [json.loads(line) for line in lines]
    assert [entry['stale'] for entry in entries] == [False, True]
    assert [complaints('manifest', entry) for entry in entries] == [[], []]
    assert set(SCHEMAS['manifest']['properties']) == {field.name for field in fields(Entry)}


# The schemas


def test_the_schema_in_the_package_is_made_from_the_classes():
    """`python -m gpassk_opencompass.record` prints it."""
    assert json_schema() == SCHEMAS['result']


def valid_values() -> dict[str, Json]:
    """One of each schema: those of the page, and an entry of a manifest."""
    result, verdict, *_, tables = (json.loads(block.text) for block in PAGE.blocks('json'))
    sizes = {'settings': {'max_out_len': 9}, 'benchmark': 'aime2024', 'k': (4,), 'questions': 30}
    entry = entry_of('m_l9', dataset_abbr='AIME2024-k4-r1', **sizes, sha256='ab' * 32)
    manifest = json.loads(manifest_text([entry]))
    return {'result': result, 'verdict': verdict, 'manifest': manifest, 'tables': tables}


@pytest.mark.parametrize('name', SCHEMAS)
def test_no_field_may_be_missing(name):
    valid, schema = valid_values()[name], SCHEMAS[name]
    Draft202012Validator.check_schema(schema)
    assert complaints(name, valid) == []
    for field in schema['required']:
        assert complaints(name, {key: part for key, part in valid.items() if key != field}), field


# The page


def test_the_result_of_the_page_is_what_the_package_writes(tmp_path):
    """All of it but versions, and what hangs on them; its programs read the pair."""
    write(tmp_path / 'result.json', example())
    shown, written = valid_values()['result'], json.loads((tmp_path / 'result.json').read_text('utf-8'))
    judges = shown['gpassk']['judge'], written['gpassk']['judge']
    assert judges[0].keys() == judges[1].keys()
    assert judges[0]['rules'] == judges[1]['rules']
    for record in (shown, written):
        for name in ('versions', 'judge', 'signature'):
            del record['gpassk'][name]
        record['gpassk']['sample_file'] |= {'sha256': '', 'name': record['gpassk']['sample_file']['name'][:7]}
    assert shown == written


def test_the_programs_of_the_page_read_it(tmp_path, monkeypatch, capsys):
    """As a reader would run them; and the package reads the JSON of the page, too."""
    write(tmp_path / 'result.json', example())
    monkeypatch.chdir(tmp_path)
    for program in PAGE.blocks('python'):
        exec(program.text, {})
    lines = capsys.readouterr().out.splitlines()
    assert 'demo/ADD_en/0 1 3 incorrect' in lines
    assert lines[-1] == '4 samples, 0 cut off; 12.0 characters'
    (tmp_path / 'page.json').write_text(json.dumps(valid_values()['result']), encoding='utf-8')
    assert read(tmp_path / 'page.json').counts.c == [1, 2]
