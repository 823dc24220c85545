"""What tells that a stage has become slower: exponents of growth, and the guard of ratios."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import guard
from benchmarks.growth import exponent
from gpassk_opencompass.answers.boxes import last_boxes
from gpassk_opencompass.answers.thoughts import part


def guarded(ratio: float, allowed: float) -> guard.Guarded:
    return guard.Guarded('a stage', 'its floor', lambda folder: ratio, allowed)


def test_the_exponent_is_that_of_a_power() -> None:
    """3 x^1.7 has the slope 1.7, whatever its factor."""
    sizes = [1, 10, 100]
    assert exponent(sizes, [3 * size**1.7 for size in sizes]) == pytest.approx(1.7)


def test_the_guard_names_the_stage_what_was_measured_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One stage above its limit fails the whole, and the line says all that is needed."""
    monkeypatch.setattr(guard, 'GUARDED', (guarded(1.5, 2.0), guarded(2.5, 2.0)))
    assert guard.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        'ok: a stage: 1.5× of its floor, allowed 2.0×',
        'too slow: a stage: 2.5× of its floor, allowed 2.0×',
    ]


def test_the_guard_is_content_with_stages_below_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing above, nothing failed."""
    monkeypatch.setattr(guard, 'GUARDED', (guarded(1.5, 2.0),))
    assert guard.main() == 0


@pytest.mark.parametrize('slashes', [0, 1, 2, 4, 9, 40])
@pytest.mark.parametrize('name', ['boxed', 'fbox', 'framebox', 'box', 'boxedx'])
@pytest.mark.parametrize('before', ['', 'a box of ', 'box', 'frame', '{\\alpha', 'x' * 300 + ' '])
def test_a_box_is_found_wherever_it_stands(slashes: int, name: str, before: str) -> None:
    """The quick look for a first box skips none that the pattern alone finds."""
    text = f'{before}{chr(92) * slashes}{name}{{5}}.'
    pattern = r'(?<!\\)\\+(?:boxed|fbox|framebox)(?![a-zA-Z])'
    assert last_boxes(text).answers == (['5'] if re.search(pattern, text) else [])


@pytest.mark.parametrize('mark', ['<think>', '<THINK>', '[THINK]', '◁think▷', '<|begin_of_thought|>'])
def test_a_thought_is_seen_whatever_its_mark(mark: str) -> None:
    """The quick look for a mark passes over none."""
    assert part(f'{mark}2 + 2').thought == '2 + 2'
    assert part('x < 5 and [think] is no mark').thought == ''


def test_nothing_is_written_where_the_guard_runs(tmp_path: Path) -> None:
    """A stage gets a folder that is there, and empty."""
    seen: list[list[Path]] = []

    def look(folder: Path) -> float:
        seen.append(list(folder.iterdir()))
        return 1.0

    stages = (guard.Guarded('a stage', 'its floor', look, 2.0),)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(guard, 'GUARDED', stages)
        assert guard.main() == 0
    assert seen == [[]]
