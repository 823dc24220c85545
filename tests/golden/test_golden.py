"""What commit d649c40 gave is given today: configs, names, verdicts, counts."""

from __future__ import annotations

import importlib.util
from typing import Any

import make
import pytest
from older_templates import ERAS, VERSIONS

NEEDS = {'pairs': make.PAIRS, 'samples': make.SAMPLES}


def differences(old: Any, new: Any, place: str = '') -> list[str]:
    """Where two values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = [*old, *(name for name in new if name not in old)]
        parts = [(f'{place} › {name}', old.get(name, '—'), new.get(name, '—')) for name in names]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        parts = [(f'{place}[{i}]', *both) for i, both in enumerate(zip(old, new, strict=True))]
    else:
        return [] if old == new else [f'{place}: was {old!r}, is {new!r}']
    return [line for name, before, after in parts for line in differences(before, after, name)]


@pytest.mark.slow
@pytest.mark.parametrize('name', [name for name in make.GOLDEN if name != 'work_dir'])
def test_nothing_has_changed(name, tmp_path, monkeypatch):
    """To the last digit; `make.py` says what each file holds."""
    if name in NEEDS and not NEEDS[name].exists():
        pytest.skip(f'needs {NEEDS[name]}, which is not part of the project')
    monkeypatch.chdir(tmp_path)
    found = differences(make.stored(name), make.GOLDEN[name]())
    assert not found, f'{len(found)} differences:\n' + '\n'.join(found[:30])


@pytest.mark.e2e
def test_predictions_of_d649c40_are_scored(tmp_path):
    """By the real `opencompass -m eval -r`, on a copy of the work directory."""
    if importlib.util.find_spec('opencompass') is None:
        pytest.skip('OpenCompass is not installed in this environment')
    assert differences(make.stored('work_dir'), make.work_dir()) == []


@pytest.mark.parametrize('version', VERSIONS)
def test_published_templates_give_the_published_names(tmp_path, version):
    file = tmp_path / 'template.py'
    file.write_text(ERAS[VERSIONS[version]].text, encoding='utf-8')
    found = make.expanded(file)
    told = make.stored('published')[version]
    assert sorted(found) == sorted(told['names'])
    for config in found.values():
        (dataset,) = config['datasets']
        assert {'k': dataset['k'], 'n': dataset['n']} == told['sizes']
