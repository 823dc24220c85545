"""The expander: the manifest of a folder, signatures, and configs of an earlier expansion."""

from __future__ import annotations

import hashlib
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from sweeping import BASE, NAME, dump, load

from gpassk_opencompass.cli.expand import dump_configs as main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.sweep.folder import Entry, ModelFacts, read_manifest, signature

TWO = BASE.replace('[0.3]', '[0.3, 0.7]')
OTHER = NAME.replace('t0-3', 't0-7')


def names(folder: Path) -> set[str]:
    """The configs of a folder."""
    return {path.name for path in folder.glob('*.py')}


def test_a_line_says_what_a_config_is(tmp_path: Path) -> None:
    """Every field, each checked against the config or the file itself."""
    assert dump(tmp_path, BASE + 'top_ps = 0.8\ntop_ks = 50\n') == 0
    (entry,) = read_manifest(tmp_path / 'configs')
    file = tmp_path / 'configs' / entry.file
    config = load(file)
    assert entry == Entry(
        file='model-7b_t0-3_p0-8_k50_rs42_l100@LiveMathBench-v202412-k4_8_16-r3.py',
        template='../template.py',
        template_sha256=hashlib.sha256((tmp_path / 'template.py').read_bytes()).hexdigest(),
        model='model-7b',
        path='org/model-7b',
        model_abbr=config['models'][0]['abbr'],
        dataset_abbr=config['datasets'][0]['abbr'],
        settings={'temperature': 0.3, 'top_p': 0.8, 'top_k': 50, 'random_seed': 42, 'max_out_len': 100},
        benchmark='LiveMathBench-v202412',
        k=(4, 8, 16),
        n=48,
        questions=238,
        signature=signature(config),
        sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
    )


def test_a_line_says_what_the_template_says_of_the_model(tmp_path: Path) -> None:
    """A model's own facts stand above those for all; what nobody says is not known, nor is None."""
    text = """
        o1_like = False
        open_source = True
        llm_infos = [
            dict(path='org/a', o1_like=True, parameters='1.5B', link='https://example.org/a'),
            dict(path='org/b', open_source=None),
        ]
    """
    lines = '\n'.join(line.strip() for line in text.splitlines())
    assert dump(tmp_path, BASE + lines) == 0
    first, second = read_manifest(tmp_path / 'configs')
    assert first.facts == ModelFacts(True, None, True, '1.5B', 'https://example.org/a')
    assert second.facts == ModelFacts(o1_like=False)
    [written, _] = map(json.loads, (tmp_path / 'configs' / 'manifest.jsonl').read_text().splitlines())
    assert 'mathematical' not in written['facts']


@pytest.mark.parametrize(
    'line',
    [
        'no JSON',
        '[]',
        '{"file": "a.py"}',
        *('{"x": 1, "k": [1]}', '{"k": 3}'),
    ],
)
def test_a_line_that_is_no_entry_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    """The reader says file and line; the expander writes nothing beside a manifest that it cannot read."""
    dump(tmp_path, BASE)
    manifest = tmp_path / 'configs' / 'manifest.jsonl'
    manifest.write_text(manifest.read_text() + line + '\n')
    with pytest.raises(InputError, match=r'manifest\.jsonl:2'):
        read_manifest(tmp_path / 'configs')
    capsys.readouterr()
    assert dump(tmp_path, TWO) == 2
    assert 'manifest.jsonl:2' in capsys.readouterr().err
    assert names(tmp_path / 'configs') == {NAME}


@pytest.mark.parametrize('name', ['../x.py', '/etc/x.py', '', 'notes.txt', None])
def test_a_manifest_cannot_point_outside_its_folder(tmp_path: Path, name: str | None) -> None:
    """What --prune may remove is a config beside it."""
    dump(tmp_path, BASE)
    manifest = tmp_path / 'configs' / 'manifest.jsonl'
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), 'file': name}) + '\n')
    with pytest.raises(InputError, match=r'not an entry of a manifest .*file'):
        read_manifest(tmp_path / 'configs')


def test_stale_configs_are_named_and_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Until --prune; the manifest marks them, run after run."""
    dump(tmp_path, TWO)
    for _ in range(2):
        capsys.readouterr()
        assert dump(tmp_path, BASE) == 0
        out = capsys.readouterr().out
        assert (
            f'1 config of an earlier expansion of template.py, still there, --prune removes them:\n  {OTHER}'
            in out
        )
        assert names(tmp_path / 'configs') == {NAME, OTHER}
        marked = {entry.file: entry.stale for entry in read_manifest(tmp_path / 'configs')}
        assert marked == {NAME: False, OTHER: True}
    assert dump(tmp_path, TWO) == 0
    assert not any(entry.stale for entry in read_manifest(tmp_path / 'configs'))


def test_prune_removes_what_is_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From the folder and the manifest, and says so; a dry run only says so."""
    dump(tmp_path, TWO)
    capsys.readouterr()
    assert dump(tmp_path, BASE, '--prune', '--dry-run') == 0
    assert f'would be removed:\n  {OTHER}' in capsys.readouterr().out
    assert names(tmp_path / 'configs') == {NAME, OTHER}
    assert dump(tmp_path, BASE, '--prune') == 0
    assert f', removed:\n  {OTHER}' in capsys.readouterr().out
    assert names(tmp_path / 'configs') == {NAME}
    assert [entry.file for entry in read_manifest(tmp_path / 'configs')] == [NAME]


def test_prune_spares_what_was_edited_and_what_is_not_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Someone's work is not a leftover of the expander."""
    dump(tmp_path, TWO)
    folder = tmp_path / 'configs'
    with (folder / OTHER).open('a') as file:
        file.write('# mine\n')
    (folder / 'own@thing.py').write_text('models = []\n')
    capsys.readouterr()
    assert dump(tmp_path, BASE, '--prune') == 0
    out = capsys.readouterr().out
    assert f'but edited since, so --prune leaves them:\n  {OTHER}' in out
    assert names(folder) == {NAME, OTHER, 'own@thing.py'}
    assert (folder / OTHER).read_text().endswith('# mine\n')


def test_templates_of_one_name_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second one's expansion makes no config of the first one stale; one that is moved stays the same."""
    folder = tmp_path / 'configs'
    for place, text in (('one', TWO), ('two', BASE.replace('[0.3]', '[1.0]'))):
        (tmp_path / place).mkdir()
        (tmp_path / place / 'sweep.py').write_text(text)
        assert (
            main(['-tc', str(tmp_path / place / 'sweep.py'), '--output-dir', str(folder), '--no-data-check'])
            == 0
        )
    assert [entry.stale for entry in read_manifest(folder)] == [False] * 3
    (tmp_path / 'one' / 'sweep.py').rename(tmp_path / 'moved.py')
    assert main(['-tc', str(tmp_path / 'moved.py'), '--output-dir', str(folder), '--no-data-check']) == 0
    assert 'of an earlier expansion' not in capsys.readouterr().out
    assert {entry.template for entry in read_manifest(folder)} == {'../moved.py', '../two/sweep.py'}


def test_an_edited_config_is_not_overwritten_without_saying(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A config is the template's; who edited one learns that the edit is gone."""
    dump(tmp_path, TWO)
    with (tmp_path / 'configs' / NAME).open('a') as file:
        file.write('# mine\n')
    capsys.readouterr()
    dump(tmp_path, TWO, '--dry-run')
    dump(tmp_path, TWO)
    note = f'1 config overwriting a file that was not as an expansion had left it:\n  {NAME}\n'
    assert capsys.readouterr().out.count(note) == 2


CONFIG: dict[str, Any] = {
    'models': [
        {
            'type': 'T',
            'abbr': 'a',
            'path': 'org/m',
            'gen_config': {'temperature': 0.3, 'do_sample': True},
            'engine_config': {'tp': 1, 'max_batch_size': 8, 'quant_policy': 0},
            'batch_size': 8,
            'run_cfg': {'num_gpus': 1},
        }
    ],
    'datasets': [
        {
            'abbr': 'd',
            'path': 'x',
            'k': [4],
            'n': 8,
            'eval_cfg': {'evaluator': {'model_name': 'judge', 'url': ['http://a']}},
        }
    ],
    'infer': {'runner': 1},
}


@pytest.mark.parametrize(
    ('place', 'value', 'same'),
    [
        ('models.0.path', 'org/other', False),
        ('models.0.type', 'U', False),
        ('models.0.gen_config.temperature', 0.7, False),
        ('models.0.engine_config.quant_policy', 8, False),
        ('datasets.0.path', 'y', False),
        ('datasets.0.n', 16, False),
        ('datasets.0.k', [4, 8], False),
        ('datasets.0.eval_cfg.evaluator.model_name', 'other', False),
        ('datasets.0.k', (4,), True),
        ('models.0.abbr', 'b', True),
        ('models.0.batch_size', 64, True),
        ('models.0.engine_config.tp', 8, True),
        ('models.0.run_cfg', {'num_gpus': 8}, True),
        ('datasets.0.eval_cfg.evaluator.url', ['http://b'], True),
        ('infer', {'runner': 2}, True),
        ('work_dir', 'outputs', True),
    ],
)
def test_a_signature_changes_with_what_determines_the_numbers(place: str, value: Any, same: bool) -> None:
    """Model, settings, data, k, n and judge; not where, how fast or under which name."""
    config = deepcopy(CONFIG)
    *path, last = [int(part) if part.isdigit() else part for part in place.split('.')]
    at: Any = config
    for part in path:
        at = at[part]
    at[last] = value
    assert (signature(config) == signature(CONFIG)) is same


@pytest.mark.parametrize(
    ('kind', 'same'),
    [('mine.Judge', False), ('theirs', False), ('llm', True), ('gpassk_opencompass.LLMJudge', True)],
)
def test_what_a_users_own_class_takes_may_choose_something(kind: str, same: bool) -> None:
    """Whatever it is called; of ours it is known."""
    judges = [{'type': kind, 'workers': count, 'part': {'type': 'llm', 'rate': count}} for count in (1, 2)]
    one, two = ({'datasets': [{'eval_cfg': {'evaluator': {'judge': judge}}}]} for judge in judges)
    assert (signature(one) == signature(two)) is same


def test_a_signature_is_the_same_in_any_order_and_forever() -> None:
    """It is compared with what earlier versions wrote, so how it is made may not change."""
    turned = {
        name: [dict(reversed(part.items())) for part in CONFIG[name]] for name in ('datasets', 'models')
    }
    texts = (
        '[{"engine_config": {"quant_policy": 0}, "gen_config": {"do_sample": true, "temperature": 0.3}, '
        '"path": "org/m", "type": "T"}]',
        '[{"eval_cfg": {"evaluator": {"model_name": "judge"}}, "k": [4], "n": 8, "path": "x"}]',
    )
    assert signature(turned) == signature(CONFIG) == hashlib.sha256(''.join(texts).encode()).hexdigest()[:16]
