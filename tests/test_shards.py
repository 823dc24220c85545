"""The responses beside the page of a report: all of them, to the letter, and whole whatever happens."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from exported_runs import TRUTH, response, scored_responses
from judge_server import JudgeServer
from shard_files import read_shards
from stored_results import with_columns
from stored_run import Run, write_run

from gpassk_opencompass.cli import main
from gpassk_opencompass.record import read, write
from gpassk_opencompass.report.page import shards as shards_module
from gpassk_opencompass.text import whole_characters

pytest.importorskip('jinja2', reason='the extra "report" is not installed')

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


def report(folder: Path, *given: object, output: str = 'report', options: tuple[object, ...] = ()) -> int:
    arguments = [*(given or [folder / 'outputs']), '-o', folder / output, '--only', 'page', *options]
    return main(['report', *map(str, arguments)])


def with_responses(folder: Path, *given: object) -> int:
    return report(folder, *given, options=('--responses',))


def shards_of(folder: Path) -> list[dict[str, Any]]:
    """Those of the one entry of a report, in the order of the questions."""
    found = read_shards(folder / 'report' / 'responses')
    [name] = {one.partition('/')[0] for one in found}
    return [found[f'{name}/{number}'] for number in range(len(found))]


def files_in(folder: Path) -> dict[str, bytes]:
    """Path → content of all files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob('*') if path.is_file()}


def rows_of(run: Run) -> Mapping[str, Any]:
    rows: Mapping[str, Any] = json.loads(run.predictions.read_text(encoding='utf-8'))
    return rows


def texts(shard: Mapping[str, Any]) -> list[str | None]:
    return [sample['response'] for sample in shard['samples']]


def test_each_response_is_in_the_shard_of_its_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the verdict, and what is known of each sample."""
    run = write_run(tmp_path / 'outputs', seed=7, output_tokens=12, seconds=0.5, finish_reason='stop')
    assert with_responses(tmp_path) == 0
    rows = rows_of(run)
    shards = shards_of(tmp_path)
    assert [shard['uid'] for shard in shards] == [f'q{number}' for number in range(12)]
    for number, shard in enumerate(shards):
        entries = [rows[str(replica * 12 + number)] for replica in range(2)]
        assert texts(shard) == [entry['prediction'] for entry in entries]
        assert [sample['verdict'] for sample in shard['samples']] == list(
            ('11', '10', '01', '00')[number % 4]
        )
        assert shard['greedy'] is None
    assert shards[0]['samples'][1] == {
        'replica': 1,
        'seed': 7,
        'verdict': '1',
        'answer': '',
        'decidedBy': '',
        'reason': '',
        'finish': 'stop',
        'state': None,
        'outputTokens': 12,
        'reasoningTokens': None,
        'seconds': 0.5,
        'response': rows['12']['prediction'],
        'lost': None,
        'thought': None,
        'thoughtText': None,
        'separateThought': None,
        'judge': None,
    }
    assert 'responses' not in capsys.readouterr().err


def test_hostile_text_comes_back_to_the_letter(tmp_path: Path) -> None:
    """Through Parquet, compression, base 64, a script and a browser's JSON; no file holds more than ASCII."""
    path = write_run(tmp_path / 'outputs', questions=len(HOSTILE)).result
    said = [one for text in HOSTILE for one in (text, f'<think>\U0001d465{text}</think>{text}')]
    result = read(path)
    samples = result.samples()
    assert samples is not None
    write(path, result.with_samples(samples.replace(response=said, thought=said)))
    assert with_responses(tmp_path) == 0
    for text, shard in zip(HOSTILE, shards_of(tmp_path), strict=True):
        plain, thinking = shard['samples']
        shown = whole_characters(text)
        assert plain['response'] == plain['separateThought'] == shown
        assert thinking['response'] == f'<think>\U0001d465{shown}</think>{shown}'
        assert thinking['thoughtText'] == f'<think>\U0001d465{shown}</think>'
    for file in (tmp_path / 'report' / 'responses').rglob('*.js'):
        assert re.fullmatch(rb'gpasskShard\("[0-9a-f]{12}/\d+","[A-Za-z0-9+/]*=*"\)\n', file.read_bytes())


def test_responses_of_scored_files_are_found(tmp_path: Path) -> None:
    """In the file of samples beside the result."""
    result = scored_responses(tmp_path)
    assert with_responses(tmp_path, result) == 0
    shards = shards_of(tmp_path)
    for number, (verdicts, shard) in enumerate(zip(TRUTH, shards, strict=True)):
        expected = [response(number, symbol == '1', replica) for replica, symbol in enumerate(verdicts)]
        assert texts(shard) == expected
        assert [sample['thoughtText'] for sample in shard['samples']] == [
            f'<think>{"so " * (replica + 1)}</think>' for replica in range(4)
        ]
        assert ''.join(sample['verdict'] for sample in shard['samples']) == verdicts


def test_responses_of_lighteval_are_in_its_details(tmp_path: Path) -> None:
    """They are in the record that the report writes."""
    from pyarrow import parquet  # type: ignore[import-untyped]

    recorded = Path(__file__).parent / 'recorded' / 'lighteval'
    assert with_responses(tmp_path, recorded) == 0
    [details] = recorded.rglob('details_*.parquet')
    rows = {
        row['doc']['specific']['uid']: row['model_response']
        for row in parquet.read_table(details).to_pylist()
    }
    shards = shards_of(tmp_path)
    assert {shard['uid'] for shard in shards} == set(rows)
    assert all(texts(shard) == rows[shard['uid']]['text'] for shard in shards)


def test_what_a_judge_was_asked_and_replied_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the store of the run; keys in the environment stand in no shard, even if a server quotes one."""
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
    assert with_responses(tmp_path, tmp_path / 'r.gpassk.json') == 0
    judged = [
        sample['judge'] for shard in shards_of(tmp_path) for sample in shard['samples'] if sample['judge']
    ]
    assert judged
    assert {one['name'] for one in judged} == {'judge'}
    assert {one['prompt'] for one in judged} <= {asked.prompt for asked in server.asked}
    assert all(one['reply'].startswith('I was given ***. \\boxed{') for one in judged)
    assert [texts(shard)[1] for shard in shards_of(tmp_path)] == ['\\boxed{one} ***'] * 24


def test_another_report_replaces_what_has_changed(tmp_path: Path) -> None:
    """The shards of a run that has not are the same; those of one that has are replaced."""
    for name in ('one', 'two'):
        run = write_run(tmp_path / name / 'w')
        renamed(run, name)
    given = tmp_path / 'one', tmp_path / 'two'
    place = tmp_path / 'report' / 'responses'
    assert with_responses(tmp_path, *given) == 0
    before = files_in(place)
    assert len(before) == 2 * 12
    assert with_responses(tmp_path, *given) == 0
    assert files_in(place) == before
    [result] = (tmp_path / 'two').rglob('results/*/*.json')
    with_columns(result, response='another')
    assert with_responses(tmp_path, *given) == 0
    after = files_in(place)
    assert len(after) == 2 * 12
    kept = {name for name in after if before.get(name) == after[name]}
    assert len(kept) == 12
    assert len({name.partition('/')[0] for name in kept}) == 1


def renamed(run: Run, name: str) -> None:
    """Give the model of a run another name."""
    result = read(run.result)
    result.run.model = f'{name}_t1.0_l40'
    write(run.result, result.with_samples(result.samples()))


def test_shards_of_an_earlier_report_are_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of another name stay, and no link is followed."""
    write_run(tmp_path / 'outputs')
    assert with_responses(tmp_path) == 0
    place = tmp_path / 'report' / 'responses'
    [folder] = place.iterdir()
    (folder / 'mine.txt').write_text('mine', encoding='utf-8')
    elsewhere = tmp_path / 'elsewhere'
    shutil.copytree(folder, elsewhere)
    (place / '0123456789ab').symlink_to(elsewhere)
    capsys.readouterr()
    assert report(tmp_path) == 0
    assert 'removed 12 files with responses of an earlier report' in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == ['mine.txt']
    assert len(list(elsewhere.iterdir())) == 13
    (folder / 'mine.txt').unlink()
    folder.rmdir()
    (place / '0123456789ab').unlink()
    assert with_responses(tmp_path) == 0
    assert report(tmp_path) == 0
    assert not place.exists()


@pytest.mark.parametrize('damage', ['no column', 'a file that is gone', 'a file that was cut'])
def test_a_run_without_responses_is_told_and_the_report_goes_on(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once; the page is there, and an earlier page's responses are not."""
    run = write_run(tmp_path / 'outputs')
    assert with_responses(tmp_path) == 0
    [samples] = run.result.parent.glob('*.parquet')
    if damage == 'no column':
        with_columns(run.result, response=None)
    elif damage == 'a file that is gone':
        samples.unlink()
    else:
        samples.write_bytes(samples.read_bytes()[:-20])
    capsys.readouterr()
    assert with_responses(tmp_path) == 0
    [line] = [line for line in capsys.readouterr().err.splitlines() if line.startswith('responses: ')]
    assert line.startswith(f'responses: demo on LiveMathBench-vdemo: no responses: {run.result} has no')
    assert not (tmp_path / 'report' / 'responses').exists()
    assert (tmp_path / 'report' / 'index.html').is_file()


def test_a_sample_that_was_not_drawn_has_no_response(tmp_path: Path) -> None:
    """And says what became of it."""
    path = write_run(tmp_path / 'outputs').result
    result = read(path)
    samples = result.samples()
    assert samples is not None
    said, states = [None, *samples['response'][1:]], ['failed', *[None] * (len(samples) - 1)]
    write(path, result.with_samples(samples.replace(response=said, state=states)))
    assert with_responses(tmp_path) == 0
    first, second = shards_of(tmp_path)[0]['samples']
    assert (first['response'], first['state'], first['lost']) == (None, 'failed', None)
    assert second['response']


def test_responses_need_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Said before anything is read."""
    write_run(tmp_path / 'outputs')
    arguments = ['report', str(tmp_path / 'outputs'), '-o', str(tmp_path / 'r'), '--responses', '--only']
    assert main([*arguments, 'tables']) == 2
    assert '--responses writes them for the page, and --only tables writes none' in capsys.readouterr().err


KILLED = """
import sys
from dying import Fault, arm
from gpassk_opencompass.cli import main
counter = arm(Fault('report', sys.argv[1], int(sys.argv[2])))
main(['report', sys.argv[3], '-o', sys.argv[1], '--only', 'page', '--responses'])
print('changes', counter.seen)
"""


def killed_at(change: int, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, '-c', KILLED, str(folder / 'report'), str(change), str(folder / 'outputs')]
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get('PYTHONPATH', '')])
    environment = {**os.environ, 'PYTHONPATH': path}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.slow
def test_a_report_that_is_killed_leaves_no_half_shard(tmp_path: Path) -> None:
    """At any change of a file: what has its name is whole, and the next report is as if nothing had been."""
    for name in ('one', 'two'):
        renamed(write_run(tmp_path / 'outputs' / name), name)
    assert with_responses(tmp_path) == 0
    whole = files_in(tmp_path / 'report')
    shutil.rmtree(tmp_path / 'report')
    done = killed_at(10**9, tmp_path)
    changes = int(done.stdout.rpartition('changes ')[2])
    assert changes > 2 * 12
    for change in [2, *random.Random(7).sample(range(3, changes), 6), changes]:
        shutil.rmtree(tmp_path / 'report', ignore_errors=True)
        assert killed_at(change, tmp_path).returncode == -signal.SIGKILL
        left = files_in(tmp_path / 'report')
        named = {name: content for name, content in left.items() if '/.' not in f'/{name}'}
        assert named.items() <= whole.items()
        assert with_responses(tmp_path) == 0
        now = files_in(tmp_path / 'report')
        drafts = {name for name in now if re.search(r'(^|/)\.writing-\d+$', name)}
        assert {name: content for name, content in now.items() if name not in drafts} == whole


def test_a_full_disk_leaves_the_earlier_page_and_its_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the folder, and no draft takes room."""
    run = write_run(tmp_path / 'outputs')
    assert with_responses(tmp_path) == 0
    before = files_in(tmp_path / 'report')
    with_columns(run.result, response='another')
    write_whole = shards_module.write_file

    def full(path: Path, content: bytes) -> None:
        if path.name == '7.js':
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_whole(path, content)

    monkeypatch.setattr(shards_module, 'write_file', full)
    assert with_responses(tmp_path) == 2
    assert f'cannot write to {tmp_path / "report"}: No space left on device' in capsys.readouterr().err
    assert before.items() <= files_in(tmp_path / 'report').items()
    assert not list((tmp_path / 'report').rglob('.writing*'))


def test_a_shard_that_is_gone_or_cut_is_written_again(tmp_path: Path) -> None:
    """As a copy to another disk may leave them."""
    write_run(tmp_path / 'outputs')
    assert with_responses(tmp_path) == 0
    expected = shards_of(tmp_path)
    [folder] = (tmp_path / 'report' / 'responses').iterdir()
    (folder / '3.js').unlink()
    assert with_responses(tmp_path) == 0
    assert shards_of(tmp_path) == expected
    (folder / '4.js').write_bytes((folder / '4.js').read_bytes()[:-20])
    assert with_responses(tmp_path) == 0
    assert shards_of(tmp_path) == expected


def test_two_reports_at_once_make_one_folder(tmp_path: Path) -> None:
    """Each writes whole files."""
    for name in ('one', 'two', 'three'):
        renamed(write_run(tmp_path / 'outputs' / name), name)
    command = [sys.executable, '-m', 'gpassk_opencompass.cli', 'report', str(tmp_path / 'outputs')]
    command += ['-o', str(tmp_path / 'report'), '--only', 'page', '--responses']
    started = [subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) for _ in range(3)]
    said = [one.communicate(timeout=120)[1] for one in started]
    assert [one.returncode for one in started] == [0, 0, 0], said
    assert len(read_shards(tmp_path / 'report' / 'responses')) == 3 * 12
    assert not list((tmp_path / 'report').rglob('.writing*'))
