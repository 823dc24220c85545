"""Names of this package and of others, found without importing what they stand for."""

from __future__ import annotations

import sys
from importlib.metadata import PathDistribution
from pathlib import Path
from zipfile import ZipFile

import pytest

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.registry import Registry

OWN = {'root': 'math:sqrt', 'lost': 'math:no_such_function', 'nowhere': 'no_such_module:name'}


def install(folder: Path, package: str, *lines: str) -> None:
    """Put the metadata of an installed package into a folder of the path."""
    info = folder / f'{package}-1.0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text('\n'.join(['[test.functions]', *lines]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def functions() -> Registry[object]:
    return Registry('test.functions', 'function', OWN)


def test_a_name_gives_the_object_of_its_place() -> None:
    assert functions()['root'](9.0) == 3  # type: ignore[operator]
    assert list(functions()) == list(OWN)
    assert functions().place('root') == 'math:sqrt'
    assert functions().place('cube') == ''


def test_another_package_adds_a_name_without_being_imported(folder: Path) -> None:
    install(folder, 'cubes', 'cube = cubes:cube')
    (folder / 'cubes.py').write_text('def cube(x): return x ** 3\n')
    assert list(functions()) == [*OWN, 'cube']
    assert 'cubes' not in sys.modules
    assert functions()['cube'](3) == 27  # type: ignore[operator]


def test_a_package_in_an_archive_adds_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose files are not looked into."""
    install(tmp_path, 'cubes', 'cube = cubes:cube')
    archive = tmp_path / 'cubes.zip'
    with ZipFile(archive, 'w') as file:
        for part in (tmp_path / 'cubes-1.0.dist-info').iterdir():
            file.write(part, f'cubes-1.0.dist-info/{part.name}')
    monkeypatch.syspath_prepend(archive)
    assert list(functions()) == [*OWN, 'cube']


def test_a_finder_of_another_kind_adds_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As some tools have that keep packages elsewhere than on the path."""
    install(tmp_path, 'cubes', 'cube = cubes:cube')

    class Elsewhere:
        find_spec = staticmethod(lambda *_: None)
        find_distributions = staticmethod(lambda *_: [PathDistribution(tmp_path / 'cubes-1.0.dist-info')])

    monkeypatch.setattr(sys, 'meta_path', [*sys.meta_path, Elsewhere])
    assert list(functions()) == [*OWN, 'cube']


@pytest.mark.parametrize(
    ('name', 'words'),
    [
        ('cube', 'expected one of root, lost, nowhere'),
        ('lost', 'cannot be imported'),
        ('nowhere', 'no_such_module'),
    ],
)
def test_what_is_not_there_is_refused_by_name(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        functions()[name]


def test_a_name_that_two_bring_is_refused_and_the_others_stay(folder: Path) -> None:
    install(folder, 'roots', 'root = cmath:sqrt', 'cosine = math:cos')
    with pytest.raises(InputError, match='math:sqrt and by cmath:sqrt: uninstall'):
        functions()['root']
    assert functions()['cosine'](0) == 1  # type: ignore[operator]


def test_a_module_that_fails_is_refused_by_name_whatever_it_raises(folder: Path) -> None:
    install(folder, 'bad', 'bad = raising:x')
    (folder / 'raising.py').write_text('1 / 0')
    with pytest.raises(
        InputError, match=r"function 'bad' \(raising:x\) cannot be imported: ZeroDivisionError"
    ):
        functions()['bad']


def test_a_package_that_is_found_twice_brings_its_names_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = folder / 'again'
    again.mkdir()
    monkeypatch.syspath_prepend(again)
    for place in (folder, again):
        install(place, 'cosines', 'cosine = math:cos')
    assert functions()['cosine'](0) == 1  # type: ignore[operator]


def test_each_has_the_object_or_why_it_cannot_be_had(folder: Path) -> None:
    """None of them keeps the others from being found."""
    install(folder, 'numbers', 'number = math:pi', 'root = cmath:sqrt')
    registry: Registry[object] = Registry(
        'test.functions', 'function', OWN, lambda _, found: callable(found), 'a function'
    )
    found = dict(registry.each())
    errors = {name: str(one) for name, one in found.items() if isinstance(one, InputError)}
    assert list(found) == [*OWN, 'number'] == list(errors)
    assert errors['number'] == "function 'number' (math:pi) is 3.141592653589793; expected a function"
    assert [name for name, one in functions().each() if not isinstance(one, InputError)] == ['number']
