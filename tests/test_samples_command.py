"""`gpassk samples` on real stores, and what a store beside work directories is not taken for."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from pyarrow import parquet

from gpassk_opencompass.cli import main
from gpassk_opencompass.runs.plan import discovered_runs
from gpassk_opencompass.sample_store.identity import Identity, Origin, sample_key
from gpassk_opencompass.sample_store.store import SampleStore

FIRST, AGAIN = Origin('greedy', '2026-01-01T00:00:00Z'), Origin('again', '2026-02-01T00:00:00Z')
STEERING = '\x1b[2J\u202e\ud800'


def identity(name: str, **settings: float) -> Identity:
    model = {'type': 'gpassk_opencompass.SeededVLLM', 'path': f'org/{name}', 'generation_kwargs': settings}
    return Identity(model, {}, {'vllm': '0.10'}, {'max_out_len': 2048})


def fill(
    root: Path,
    one: Identity,
    questions: int,
    n: int,
    origin: Origin = FIRST,
    right: int = 1,
    prompt: str = '',
) -> SampleStore:
    """n samples of each question, the first `right` of them right; the store, open."""
    store = SampleStore(root, one)
    for number in range(questions):
        for replica in range(n):
            key = sample_key(one, f'q{number}', replica, None, prompt)
            about = {
                'uid': f'q{number}',
                'replica': replica,
                'seed': 7,
                'question': f'Question {number}{STEERING}',
            }
            about |= {'reference': '7', 'response': f'\\boxed{{{7 if replica < right else 8}}}'}
            about |= {'generation': {'finish_reason': 'stop', 'output_tokens': 9}, 'time': origin.since}
            store.put(key, origin, about)
    return store


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work directories with a store of two models beside them."""
    monkeypatch.delenv('GPASSK_SAMPLES', raising=False)
    root = tmp_path / 'outputs/.gpassk/samples'
    fill(root, identity('small', temperature=0.7), 3, 4).close()
    fill(root, identity('large', temperature=0.7), 2, 2).close()
    monkeypatch.chdir(tmp_path)
    return tmp_path / 'outputs'


def listed(capsys: pytest.CaptureFixture[str], *line: str) -> list[dict[str, object]]:
    assert main(['samples', 'list', *line, '--json']) == 0
    [table] = json.loads(capsys.readouterr().out)['tables']
    found: list[dict[str, object]] = table['rows']
    return found


def test_a_damaged_identity_is_named_with_what_mends_it(
    outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its folder and none of the others; nothing is said where all is well."""
    assert main(['samples', 'list']) == 0
    assert capsys.readouterr().err == ''
    small = identity('small', temperature=0.7)
    (outputs / '.gpassk/samples' / small.folder / 'identity.json').write_text('{')
    assert main(['samples', 'list']) == 0
    said = capsys.readouterr()
    assert said.err.startswith(f'identity.json is missing or damaged in {small.folder}: its samples')
    assert '16 samples in 2 folders' in said.out


def test_a_store_is_listed(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its own path, by that of the work directories, by the variable, and where one usually is."""
    assert main(['samples', 'list']) == 0
    said = capsys.readouterr().out
    assert '16 samples in 2 folders' in said
    assert 'SeededVLLM, vllm 0.10' in said
    assert 'temperature 0.7, max_out_len 2048' in said
    told = {(one['model'], one['questions'], one['n'], one['samples']) for one in listed(capsys)}
    assert told == {('small', 3, 4, 12), ('large', 2, 2, 4)}
    assert listed(capsys, str(outputs)) == listed(capsys, str(outputs / '.gpassk/samples'))
    [small] = listed(capsys, '--model', 'SMALL')
    assert (small['runs'], small['of runs']) == (1, [{'run': 'greedy', 'samples': 12}])


def test_a_place_without_a_store_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what was expected there."""
    assert main(['samples', 'list', str(tmp_path)]) == 2
    assert f'{tmp_path} holds no samples: expected a sample store' in capsys.readouterr().err


def test_what_would_be_removed_is_shown_first(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing is removed without --yes; then that alone."""
    assert main(['samples', 'prune']) == 2
    assert 'say what may go' in capsys.readouterr().err
    assert main(['samples', 'prune', '--model', 'large']) == 0
    said = capsys.readouterr().out
    assert 'to remove: 4 samples in 1 folders' in said
    assert 'small' not in said
    assert len(listed(capsys)) == 2
    assert main(['samples', 'prune', '--model', 'large', '--yes']) == 0
    capsys.readouterr()
    assert [one['model'] for one in listed(capsys)] == ['small']
    assert main(['samples', 'prune', '--all', '--yes']) == 0
    assert list((outputs / '.gpassk/samples').iterdir()) == []


def test_age_and_last_use_are_told_apart(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Drawn long ago and used today; drawn and used long ago."""
    for folder in (outputs / '.gpassk/samples').iterdir():
        if 'small' in (folder / 'identity.json').read_text():
            for path in folder.iterdir():
                os.utime(path, (time.time() - 40 * 86400,) * 2)
    for line, removed in ((['--unused', '30'], ['small']), (['--older-than', '1'], ['small', 'large'])):
        assert main(['samples', 'prune', *line]) == 0
        said = capsys.readouterr().out
        assert [name for name in ('small', 'large') if f' {name} ' in said] == removed
    assert main(['samples', 'prune', '--older-than', '100000']) == 0
    assert capsys.readouterr().out == 'nothing to remove\n'


def test_what_a_run_adds_to_is_left(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Until it has ended."""
    store = fill(outputs / '.gpassk/samples', identity('large', temperature=0.7), 1, 1, AGAIN)
    assert main(['samples', 'prune', '--all', '--yes']) == 0
    assert f'{store.folder.name} is left: a run adds to it now' in capsys.readouterr().err
    assert [one['model'] for one in listed(capsys)] == ['large']
    store.close()
    assert main(['samples', 'prune', '--all', '--yes']) == 0
    assert not store.folder.exists()


@pytest.mark.parametrize('ending', ['jsonl', 'parquet'])
def test_what_is_exported_can_be_scored(
    outputs: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    """One right sample of four: accuracy 25, and the questions are whole, whatever is in their texts."""
    table = outputs.parent / f'small.{ending}'
    assert main(['samples', 'export', '--model', 'small', '-o', str(table)]) == 0
    assert 'wrote 12 samples' in capsys.readouterr().out
    result = outputs.parent / 'result.json'
    line = ['score', str(table), '--judge', 'rule', '--k', '2', '-o', str(result)]
    assert main(line) == 0
    record = json.loads(result.read_text())
    assert (record['accuracy'], record['pass@2']) == (25.0, 50.0)
    assert record['gpassk']['output_tokens'] == 12 * 9
    assert len(record['gpassk']['counts']['uid']) == 3


def test_an_export_has_each_sample_once(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two runs that drew it the first, or the one that is named; settings are told apart."""
    root = outputs / '.gpassk/samples'
    fill(root, identity('small', temperature=0.7), 3, 5, AGAIN, right=5).close()
    fill(root, identity('small', temperature=1.0), 1, 1).close()
    table = outputs.parent / 'small.parquet'
    assert main(['samples', 'export', '--model', 'small', '-o', str(table)]) == 0
    assert '12 samples were left out, as other runs drew them too' in capsys.readouterr().err
    rows = parquet.read_table(table).to_pylist()
    assert len(rows) == 16
    assert len({row['model'] for row in rows}) == 2
    assert main(['samples', 'export', '--model', 'small', '--run', 'again', '-o', str(table)]) == 0
    assert {row['run'] for row in parquet.read_table(table).to_pylist()} == {'again'}


def test_an_export_goes_nowhere_near_the_store(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor into a file of an unknown kind, nor is an empty one written."""
    inside = outputs / '.gpassk/samples/x.jsonl'
    assert main(['samples', 'export', '-o', str(inside)]) == 2
    assert 'would lie in the store that is read' in capsys.readouterr().err
    assert main(['samples', 'export', '-o', 'x.csv']) == 2
    assert 'expected a name that ends in .jsonl or .parquet' in capsys.readouterr().err
    assert main(['samples', 'export', '--model', 'none', '-o', 'x.jsonl']) == 2
    assert 'no such samples in' in capsys.readouterr().err
    assert not Path('x.jsonl').exists()


def test_a_store_beside_work_directories_is_none(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither is the folder that holds it, nor is it named among the folders of others."""
    (outputs / 'a-run/20260101_000000/configs').mkdir(parents=True)
    (outputs / 'b-run/.gpassk').mkdir(parents=True)
    (outputs / 'b-run/.gpassk/starts.jsonl').write_text('')
    (outputs / 'figures').mkdir()
    found = discovered_runs(outputs)
    assert [(run.name, work_dir) for run, work_dir in found.runs] == [
        (name, outputs / name) for name in ('a-run', 'b-run')
    ]
    assert found.foreign == ('figures',)


def test_questions_that_were_asked_in_two_ways_are_not_mixed(
    outputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with cot and without: one run is to be chosen; and n is that of each."""
    root, direct = outputs / '.gpassk/samples', Origin('direct', '2026-03-01T00:00:00Z')
    fill(root, identity('small', temperature=0.7), 3, 4, direct, prompt='2+2? At once!').close()
    [small] = listed(capsys, '--model', 'small')
    assert (small['questions'], small['n'], small['samples']) == (3, 4, 24)
    command = ['samples', 'export', '--model', 'small', '-o', str(tmp_path / 'all.jsonl')]
    assert main(command) == 2
    assert 'with several prompts, as with and without cot: --run NAME' in capsys.readouterr().err
    assert main([*command, '--run', 'direct']) == 0
    assert 'wrote 12 samples' in capsys.readouterr().out
