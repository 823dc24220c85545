"""Make the pictures of docs/report.md again: python docs/images/figures/make.py"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from gpassk_opencompass.report.figures import write_figures
from gpassk_opencompass.report.frame import frame

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / 'tests'))

from made_results import board_of, made_sweep  # noqa: E402

SHOWN = ('thresholds', 'samples', 'sensitivity-temperature', 'questions')


def main() -> None:
    """Draw a made-up board of two models at three temperatures, with a palette of 64 colours."""
    board = board_of(made_sweep(['model-A', 'model-B'], (0.3, 0.7, 1.0), (0.8,), seed=5))
    with TemporaryDirectory() as folder:
        write_figures([board], frame([board]), Path(folder), dpi=90)
        for name in SHOWN:
            with Image.open(Path(folder, 'figures', f'{board.title}-{name}.png')) as picture:
                small = picture.convert('RGB').quantize(64, dither=Image.Dither.NONE)
                small.save(HERE / f'{name}.png', optimize=True)


if __name__ == '__main__':
    main()
