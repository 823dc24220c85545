"""`gpassk init` and `gpassk expand`: from nothing to configs, without a clone."""

from __future__ import annotations

import pytest
from sweeping import BASE, NAME, load

from gpassk_opencompass.cli import main
from gpassk_opencompass.cli.expand import dump_configs
from gpassk_opencompass.sweep.engines import ENGINES, shipped_templates


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize('engine', ENGINES)
def test_the_first_template_of_every_engine_expands(empty, engine, capsys):
    """As it was written: a greedy run and a sampled one of each model, named letter by letter."""
    models = ["org/it's", r'C:\new\m', '模型/千问', 'a""" + b']
    assert main(['init', '--engine', engine, '--model', *models]) == 0
    assert main(['expand', 'template.py', '--dry-run']) == 0
    assert not (empty / 'opencompass_configs').exists()
    assert main(['expand', 'template.py']) == 0
    assert '8 configs in opencompass_configs: 8 written' in capsys.readouterr().out
    found = [load(path) for path in (empty / 'opencompass_configs').glob('*.py')]
    drawn = [config['models'][0] for config in found]
    assert {model['path'] for model in drawn} == set(models)
    assert {model['type'] for model in drawn} == {ENGINES[engine].type}
    assert {model.get('backend') for model in drawn} == {'pytorch' if engine == 'pytorch' else None}
    assert sorted(config['datasets'][0]['n'] for config in found) == [1] * 4 + [48] * 4


@pytest.mark.parametrize(
    ('line', 'said'),
    [
        ('init --model ./', "llm_infos[0].path is './': expected text"),
        ('init --model a/m b/m', "are both called 'm' in file names"),
        ('init --template o1 --engine vllm', '--template o1 has its own engine and models'),
        ('expand a.py', 'a.py: cannot read the template: No such file or directory'),
        ('expand bad.py', 'bad.py: llm_infos is missing'),
    ],
)
def test_what_cannot_be_expanded_is_one_line_and_writes_nothing(empty, capsys, line, said):
    (empty / 'bad.py').write_text('temperatures = max_out_lens = 1')
    assert main(line.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith(f'gpassk {line.split()[0]}: ')
    assert said in error
    assert [path.name for path in empty.iterdir()] == ['bad.py']


@pytest.mark.parametrize('arguments', [[], ['--template', 'nono1', '-o', 'template.py']], ids=' '.join)
def test_a_file_that_is_there_stays(empty, capsys, arguments):
    (empty / 'template.py').write_text('mine')
    assert main(['init', *arguments]) == 2
    assert 'template.py is there already: name another file with -o' in capsys.readouterr().err
    assert (empty / 'template.py').read_text() == 'mine'
    assert main(['init', *arguments, '--force']) == 0
    assert 'llm_infos' in (empty / 'template.py').read_text()


def test_expand_does_what_dump_configs_does(empty, capsys):
    """The same files, the same words, whichever spelling; and each finds the other's configs unchanged."""
    (empty / 'my.py').write_text(BASE)
    override = ['--override', 'temperatures=[0.3,0.7]']
    assert main(['expand', 'my.py', '-o', 'out', *override]) == 0
    written = {path.name: path.read_bytes() for path in (empty / 'out').iterdir()}
    said = capsys.readouterr().out
    assert dump_configs(['--config_template_file', 'my.py', '--output_dir', 'out', *override]) == 0
    assert capsys.readouterr().out == said.replace('2 written, 0', '0 written, 2')
    assert {path.name: path.read_bytes() for path in (empty / 'out').iterdir()} == written
    assert set(written) == {NAME, NAME.replace('t0-3', 't0-7'), 'manifest.jsonl'}
    assert main(['expand', 'my.py', '-o', 'out', '--prune']) == 0
    assert [path.name for path in (empty / 'out').glob('*.py')] == [NAME]


def test_a_bare_dump_configs_expands_the_shipped_templates(empty, capsys):
    """All but the demo, into opencompass_configs."""
    assert dump_configs(['--no-data-check']) == 0
    lines = capsys.readouterr().out.splitlines()
    configs = {path.name for path in (empty / 'opencompass_configs').glob('*.py')}
    assert [line.partition(' ')[2] for line in lines] == [
        f'configs in opencompass_configs: {line.split()[0]} written, 0 unchanged' for line in lines
    ]
    assert len(lines) == len(shipped_templates()) - 1
    assert len(configs) == sum(int(line.split()[0]) for line in lines) > 80
    assert not [name for name in configs if name.startswith('demo')]
