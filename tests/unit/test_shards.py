"""The responses beside the page of a report: all of them, to the letter, and whole whatever happens."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from judge_server import JudgeServer
from made_pages import content_of
from stored_run import write_run

from gpassk_opencompass.cli import main
from gpassk_opencompass.record import read, write
from gpassk_opencompass.report import page
from gpassk_opencompass.report.frame import boards, frame
from gpassk_opencompass.text import whole_characters

_READ = r"""
const fs = require('fs'), zlib = require('zlib');
const found = {};
globalThis.gpasskShard = (name, packed) => {
  const utf8 = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true});
  const shard = JSON.parse(utf8.decode(zlib.inflateSync(Buffer.from(packed, 'base64'))));
  for (const told of [shard.samples, ...(shard.greedy ? [shard.greedy] : [])]) {
    // What a script sees as thought: JavaScript counts UTF-16 code units.
    told.thoughts = told.response.map((text, i) => (text ?? '').slice(0, told.within[i]));
  }
  if (name in found) throw Error(`${name} twice`);
  found[name] = shard;
};
for (const file of JSON.parse(fs.readFileSync(0, 'utf8'))) (0, eval)(fs.readFileSync(file, 'utf8'));
process.stdout.write(JSON.stringify(found));
"""


def read_shards(folder: Path) -> dict[str, Any]:
    """The shards below a folder by their names, `<folder>/<number>`, each file run as a script."""
    node = shutil.which('node')
    if node is None:
        pytest.skip('needs node')
    files = sorted(map(str, folder.rglob('*.js')))
    done = subprocess.run(
        [node, '-e', _READ], input=json.dumps(files), capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert set(found) == {f'{Path(file).parent.name}/{Path(file).stem}' for file in files}
    return found


HOSTILE = [
    '</script><script>alert(1)</script>',
    '<!-- <script> ]]> "`${7}\\',
    'lines\u2028and\u2029paragraphs\r\n\ttabs',
    'NUL \x00 and \x1b[2J and \x7f and \ufeff',
    'halves \ud800 and \udfff, \udc00\ud800 the wrong way round',
    '\U0001d465 = \U0001f600 二 é e\u0301 \u202e',
    'a' * 1_000_000,
    '",""); gpasskShard("0/0","',
    '',
]


def write_report(folder: Path, *results: Path, responses: bool = True) -> list[str]:
    """What the report of these results, or of all below outputs, says."""
    found = results or sorted((folder / 'outputs').rglob('results/*/*.json'))
    tables, _ = boards([read(path) for path in found])
    return page.write_page(tables, frame(tables), folder / 'report', responses=responses)


def shards_of(folder: Path) -> list[dict[str, Any]]:
    """Those of the one entry of a report, in the order of the questions."""
    found = read_shards(folder / 'report' / 'responses')
    [name] = {one.partition('/')[0] for one in found}
    return [found[f'{name}/{number}'] for number in range(len(found))]


def test_each_response_is_in_the_file_of_its_question(tmp_path):
    run = write_run(tmp_path / 'outputs', seed=7, output_tokens=12, seconds=0.5, finish_reason='stop')
    [line] = write_report(tmp_path)
    assert line == f'responses of 1 of 1 runs are in {tmp_path / "report" / "responses"}'
    rows = json.loads(run.predictions.read_text(encoding='utf-8'))
    shards = shards_of(tmp_path)
    assert [shard['uid'] for shard in shards] == [f'q{number}' for number in range(12)]
    for number, shard in enumerate(shards):
        said = [rows[str(replica * 12 + number)]['prediction'] for replica in range(2)]
        known = {'seed': 7, 'output_tokens': 12, 'seconds': 0.5, 'finish_reason': 'stop', 'judge': None}
        assert shard['greedy'] is None
        assert shard['samples'] == {
            'verdict': ('11', '10', '01', '00')[number % 4],
            'who': ['', ''],
            'answer': ['', ''],
            'replica': [0, 1],
            'response': said,
            'within': [0, 0],
            'thoughts': ['', ''],
            **{name: [value] * 2 for name, value in known.items()},
        }


def test_hostile_text_comes_back_to_the_letter(tmp_path):
    """Through Parquet, compression, base 64, a script and a browser's JSON; no file holds more than ASCII."""
    path = write_run(tmp_path / 'outputs', questions=len(HOSTILE)).result
    said = [one for text in HOSTILE for one in (text, f'<think>\U0001d465{text}</think>{text}')]
    result = read(path)
    samples = result.samples()
    write(path, result.with_samples(samples.replace(response=said, thought=said)))
    write_report(tmp_path)
    for text, shard in zip(HOSTILE, shards_of(tmp_path), strict=True):
        shown = whole_characters(text)
        thought = f'<think>\U0001d465{shown}</think>'
        assert shard['samples']['response'] == shard['samples']['thought'] == [shown, thought + shown]
        assert shard['samples']['thoughts'] == ['', thought]
    for file in (tmp_path / 'report' / 'responses').rglob('*.js'):
        assert re.fullmatch(rb'gpasskShard\("[0-9a-f]{12}/\d+","[A-Za-z0-9+/]*=*"\)\n', file.read_bytes())


def test_what_a_judge_was_asked_and_replied_is_there(tmp_path, monkeypatch):
    """From the store of the run; keys in the environment stand in no file, even if a server quotes one."""
    key = 'sk-0123456789abcdefghij'
    monkeypatch.setenv('MY_API_KEY', key)
    monkeypatch.delenv('GPASSK_VERDICTS', raising=False)
    monkeypatch.chdir(tmp_path)
    given = tmp_path / 'theirs.jsonl'
    rows = [
        {'uid': f'q{number}', 'question': f'{number} + 1?', 'answer': f'{number + 1}', 'responses': answers}
        for number, answers in enumerate([['\\boxed{1}', f'\\boxed{{one}} {key}']] * 24)
    ]
    given.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    with JudgeServer(lambda _: f'I was given {key}. \\boxed{{no}}') as server:
        arguments = ['--judge', 'llm', '--model', 'judge', '--url', server.url, '--k', '2']
        assert main(['score', str(given), '-o', str(tmp_path / 'r.gpassk.json'), *arguments]) == 0
    write_report(tmp_path, tmp_path / 'r.gpassk.json')
    shards = [shard['samples'] for shard in shards_of(tmp_path)]
    judged = [one for samples in shards for one in samples['judge'] if one]
    assert judged
    assert {name for name, _, _ in judged} == {'judge'}
    assert {prompt for _, prompt, _ in judged} <= {asked.prompt for asked in server.asked}
    assert all(reply.startswith('I was given ***. \\boxed{') for _, _, reply in judged)
    assert [samples['response'][1] for samples in shards] == ['\\boxed{one} ***'] * 24


def rewritten(path: Path, model: str = '', **columns: Any) -> None:
    """Write a result anew with another model or more columns: a value for all samples; None: not known."""
    result = read(path)
    result.run.model = model or result.run.model
    samples = result.samples()
    more = {name: None if value is None else [value] * len(samples) for name, value in columns.items()}
    write(path, result.with_samples(samples.replace(**more)))


def test_responses_of_an_earlier_report_are_removed(tmp_path):
    write_run(tmp_path / 'outputs')
    write_report(tmp_path)
    place = tmp_path / 'report' / 'responses'
    [folder] = place.iterdir()
    (folder / 'mine.txt').write_text('mine', encoding='utf-8')
    elsewhere = tmp_path / 'elsewhere'
    shutil.copytree(folder, elsewhere)
    (place / '0123456789ab').symlink_to(elsewhere)
    [line] = write_report(tmp_path, responses=False)
    assert line.startswith('removed 12 files with responses of an earlier report')
    assert [path.name for path in folder.iterdir()] == ['mine.txt']
    assert len(list(elsewhere.iterdir())) == 13


@pytest.mark.parametrize('damage', ['no column', 'a file that is gone', 'a file that was cut'])
def test_a_run_without_responses_is_told_and_the_report_goes_on(damage, tmp_path):
    run = write_run(tmp_path / 'outputs')
    write_report(tmp_path)
    [samples] = run.result.parent.glob('*.parquet')
    if damage == 'no column':
        rewritten(run.result, response=None)
    elif damage == 'a file that is gone':
        samples.unlink()
    else:
        samples.write_bytes(samples.read_bytes()[:-20])
    line, removed = write_report(tmp_path)
    assert re.match(f'.* on LiveMathBench-vdemo: no responses: {run.result} has no responses', line)
    assert removed.startswith('removed 12 files')
    assert not (tmp_path / 'report' / 'responses').exists()
    [board] = content_of(tmp_path / 'report' / 'index.html')['boards']
    assert 'has no responses' in board['entries'][0]['lost']
