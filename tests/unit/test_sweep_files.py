"""The expander: the files that it writes or leaves alone, what they say, and the manifest beside them."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from sweeping import BASE, NAME, dump, load

from gpassk_opencompass.cli.expand import dump_configs as main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.sweep.folder import read_manifest

TWO = BASE.replace('[0.3]', '[0.3, 0.7]')
OTHER = NAME.replace('t0-3', 't0-7')


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob('*.py')}


def said(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, *options: str) -> str:
    capsys.readouterr()
    assert dump(tmp_path, text, *options) == 0
    return capsys.readouterr().out


def test_an_output_folder_that_is_a_file(tmp_path, capsys):
    (tmp_path / 'configs').write_text('mine')
    assert dump(tmp_path, BASE) == 2
    assert '--output-dir' in capsys.readouterr().err
    assert (tmp_path / 'configs').read_text() == 'mine'


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """When each file was written, and which file it is."""
    return {path.name: (path.stat().st_mtime_ns, path.stat().st_ino) for path in folder.iterdir()}


def test_only_what_differs_is_written(tmp_path, capsys):
    """A second run keeps time stamps and inodes; a broken file is replaced, files of others stay."""
    folder = tmp_path / 'configs'
    dump(tmp_path, TWO)
    for path in folder.iterdir():
        os.utime(path, ns=(10**9, 10**9))
    before = stamps(folder)
    assert said(capsys, tmp_path, TWO) == f'2 configs in {folder}: 0 written, 2 unchanged\n'
    assert stamps(folder) == before
    (folder / OTHER).write_text('broken')
    (folder / 'other.py').write_text('mine')
    before = stamps(folder)
    dump(tmp_path, TWO)
    assert load(folder / OTHER)['models']
    assert {name for name, stamp in stamps(folder).items() if stamp != before[name]} == {OTHER}


def test_a_dry_run_says_what_a_sweep_costs_and_writes_nothing(tmp_path, capsys):
    """A row a model and benchmark: n × 238 samples a config, and no response longer than max_out_len."""
    text = BASE.replace('greedy = False', '').replace('[100]', '[100, 1000]') + "llm_infos = ['x/a', 'x/b']\n"
    lines = said(capsys, tmp_path, text, '--dry-run').splitlines()
    samples, tokens = 238 * (48 + 48 + 1), 238 * (48 * 100 + 48 * 1000 + 1000)
    counts = [f'{samples:,}', f'{samples:,}', f'{tokens:,}']
    assert [[cell.strip() for cell in line.split('|')[1:-1]] for line in lines[2:5]] == [
        ['a', 'LiveMathBench-v202412', '3', '238', *counts],
        ['b', 'LiveMathBench-v202412', '3', '238', *counts],
        ['total', '', '6', '', f'{2 * samples:,}', f'{2 * samples:,}', f'{2 * tokens:,}'],
    ]
    assert lines[-1].startswith(f'6 configs for {tmp_path / "configs"}: 6 to write, 0 unchanged')
    assert not (tmp_path / 'configs').exists()


# What is written


# The manifest


def test_a_line_says_what_a_config_is(tmp_path):
    assert dump(tmp_path, BASE + 'top_ps = 0.8\ntop_ks = 50\n') == 0
    (entry,) = read_manifest(tmp_path / 'configs')
    file, template = tmp_path / 'configs' / entry.file, tmp_path / 'template.py'
    abbrs = [load(file)[part][0]['abbr'] for part in ('models', 'datasets')]
    settings = {'temperature': 0.3, 'top_p': 0.8, 'top_k': 50, 'random_seed': 42, 'max_out_len': 100}
    assert vars(entry) == {
        'file': 'model-7b_t0-3_p0-8_k50_rs42_l100@LiveMathBench-v202412-k4_8_16-r3.py',
        'template': '../template.py', 'template_sha256': hashlib.sha256(template.read_bytes()).hexdigest(),
        'model': 'model-7b', 'path': 'org/model-7b', 'model_abbr': abbrs[0], 'dataset_abbr': abbrs[1],
        'settings': settings, 'benchmark': 'LiveMathBench-v202412', 'k': (4, 8, 16), 'n': 48,
        'questions': 238, 'limit': None, 'stale': False,
        'sha256': hashlib.sha256(file.read_bytes()).hexdigest(),
    }  # fmt: skip


@pytest.mark.parametrize(
    'change',
    ['no JSON', [], {}, *({'file': name} for name in ('../x.py', '/etc/x.py', '', 'notes.txt', None))],
)
def test_a_line_that_is_no_entry_is_named(tmp_path, capsys, change):
    """None points out of the folder; the expander writes nothing beside a manifest that it cannot read."""
    dump(tmp_path, BASE)
    manifest = tmp_path / 'configs' / 'manifest.jsonl'
    known = manifest.read_text()
    line = {**json.loads(known), **change} if isinstance(change, dict) and change else change
    manifest.write_text(f'{known}{line if isinstance(line, str) else json.dumps(line)}\n')
    with pytest.raises(InputError, match=r'manifest\.jsonl:2 is not an entry of a manifest'):
        read_manifest(tmp_path / 'configs')
    capsys.readouterr()
    assert dump(tmp_path, TWO) == 2
    assert 'manifest.jsonl:2' in capsys.readouterr().err
    assert names(tmp_path / 'configs') == {NAME}


def test_stale_configs_are_named_and_stay(tmp_path, capsys):
    folder, line = tmp_path / 'configs', '1 config of an earlier expansion of template.py'
    dump(tmp_path, TWO)
    for _ in range(2):
        told = said(capsys, tmp_path, BASE)
        assert f'{line}, still there, --prune removes them:\n  {OTHER}' in told
        assert names(folder) == {NAME, OTHER}
        assert {entry.file: entry.stale for entry in read_manifest(folder)} == {NAME: False, OTHER: True}
    assert f'{line}, would be removed:\n  {OTHER}' in said(capsys, tmp_path, BASE, '--prune', '--dry-run')
    assert names(folder) == {NAME, OTHER}
    assert f'{line}, removed:\n  {OTHER}' in said(capsys, tmp_path, BASE, '--prune')
    assert names(folder) == {entry.file for entry in read_manifest(folder)} == {NAME}
    assert dump(tmp_path, TWO) == 0
    assert not any(entry.stale for entry in read_manifest(folder))


def test_what_somebody_edited_is_spared_by_prune_and_not_written_over_without_a_word(tmp_path, capsys):
    dump(tmp_path, TWO)
    folder = tmp_path / 'configs'
    with (folder / OTHER).open('a') as file:
        file.write('# mine\n')
    (folder / 'own@thing.py').write_text('models = []\n')
    told = said(capsys, tmp_path, BASE, '--prune')
    assert f'but edited since, so --prune leaves them:\n  {OTHER}' in told
    assert names(folder) == {NAME, OTHER, 'own@thing.py'}
    assert (folder / OTHER).read_text().endswith('# mine\n')
    note = f'1 config overwriting a file that was not as an expansion had left it:\n  {OTHER}\n'
    assert note in said(capsys, tmp_path, TWO, '--dry-run')
    assert note in said(capsys, tmp_path, TWO)


def test_templates_of_one_name_are_told_apart(tmp_path, capsys):
    """The second one's expansion makes no config of the first one stale; one that is moved stays the same."""
    folder = tmp_path / 'configs'
    where = ['--output-dir', str(folder), '--no-data-check']
    for place, text in (('one', TWO), ('two', BASE.replace('[0.3]', '[1.0]'))):
        (tmp_path / place).mkdir()
        (tmp_path / place / 'sweep.py').write_text(text)
        assert main(['-tc', str(tmp_path / place / 'sweep.py'), *where]) == 0
    assert [entry.stale for entry in read_manifest(folder)] == [False] * 3
    (tmp_path / 'one' / 'sweep.py').rename(tmp_path / 'moved.py')
    assert main(['-tc', str(tmp_path / 'moved.py'), *where]) == 0
    assert 'of an earlier expansion' not in capsys.readouterr().out
    assert {entry.template for entry in read_manifest(folder)} == {'../moved.py', '../two/sweep.py'}
