"""Make the pictures of docs/figures.md again: python docs/images/figures/make.py"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from gpassk_opencompass.report.figures.curves import sensitivity, thresholds
from gpassk_opencompass.report.figures.drawing import Drawing
from gpassk_opencompass.report.figures.questions import questions
from gpassk_opencompass.report.figures.samples import samples
from gpassk_opencompass.report.figures.style import house_style, save

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / 'tests'))

from made_results import board_of, made_sweep  # noqa: E402

DPI = 90
COLOURS = 64


def main() -> None:
    """Draw two made-up boards: one of few runs, and one of thirty models."""
    few = board_of(made_sweep(['model-A', 'model-B'], (0.3, 0.7, 1.0), (0.8,), seed=5))
    many = board_of(made_sweep([f'model-{number}' for number in range(30)], (0.7,), (0.8,), seed=3))
    with TemporaryDirectory() as folder, house_style():
        drawn = [one for family in (thresholds, samples, sensitivity) for one in family(few)]
        for one in [*drawn, *questions(many)]:
            if isinstance(one, Drawing):
                large, _ = save(one, Path(folder) / one.name, DPI)
                shrink(large, HERE / f'{one.name}.png')


def shrink(path: Path, target: Path) -> None:
    """The same picture with a palette."""
    with Image.open(path) as picture:
        picture.convert('RGB').quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)


if __name__ == '__main__':
    main()
