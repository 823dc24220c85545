"""Inputs that once went wrong, found by the other tests of this folder."""

from __future__ import annotations

import json

import old_work_dir as old
import pytest
from fuzzing import within
from result_files import ABBR, THIRDS, entry_of, write_result

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.sweep.folder import manifest_text, read_manifest

ENTRY = json.loads(manifest_text([entry_of(ABBR.format(1))]))


@pytest.mark.parametrize(
    'wrong',
    [
        {'model_abbr': ['m']}, {'settings': {'temperature': '1'}}, {'settings': {'top_k': 10**400}},
    ],
)  # fmt: skip
def test_a_manifest_with_values_of_other_kinds_is_refused(tmp_path, wrong):
    write_result(tmp_path, ABBR.format(1), THIRDS)
    (tmp_path / 'manifest.jsonl').write_text(json.dumps({**ENTRY, **wrong}) + '\n')
    with pytest.raises(InputError, match='is not an entry of a manifest'):
        read_manifest(tmp_path)
    assert main(['report', str(tmp_path), '-o', str(tmp_path / 'r'), '--only', 'tables']) == 2


@pytest.mark.parametrize('field', ['n', 'k', 'version', 'type'])
def test_a_config_with_a_number_of_thousands_of_digits_is_not_read(tmp_path, field, capsys):
    """Python reads hexadecimal ones of any length and can put none of them into a message."""
    root = old.write(tmp_path / 'old', old.rows())
    [config] = root.glob('*/configs/*.py')
    data = old.dataset()
    text = config.read_text(encoding='utf-8')
    config.write_text(text.replace(f'{field!r}: {data[field]!r}', f'{field!r}: 0x{5000 * "f"}', 1))
    assert config.read_text(encoding='utf-8') != text
    assert old.score(root)[0] in (0, 2)
    assert 'Traceback' not in capsys.readouterr().err


def test_a_part_that_is_numbered_like_a_date_is_one_part(tmp_path, capsys):
    root = old.write(tmp_path / 'old', old.rows()[:28], parts=[16, 12])
    [part] = root.glob('*/predictions/m/*_1.json')
    part.rename(part.with_name(f'{old.NAME}_20250105120000.json'))
    with within(2):
        assert old.score(root)[0] == 2
    said = capsys.readouterr().err
    assert f'missing or unfinished: {old.NAME}_1, ' in said
    assert len(said) < 2000
