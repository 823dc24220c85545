"""The pictures of the page in README and docs.

    PYTHONPATH=tests python tests/slow/browsers/page_recording.py docs/images

It takes Chromium and Pillow. Runs and responses are made up.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
import time
from pathlib import Path

from browser import browser
from made_pages import made_results, write_made_page
from PIL import Image

SIZE = (1200, 800)

RIGHT = r"""We need $x$ with $\frac{x^2}{6} = 42$.

Multiply both sides by 6:
\[
x^2 = 252
\]
so $x = \sqrt{252} = 6\sqrt{7}$. The question asks for the value of the fraction, which is
\[
\boxed{42}
\]"""

WRONG = r"""We need $x$ with $\frac{x^2}{6} = 42$.

Multiply both sides by $6 = 2 \cdot 3$:
\[
x^2 = 2 \cdot 3 \cdot 42 = 258
\]
Divided by 6 again this is
\[
\boxed{43}
\]"""

TEXTS = [RIGHT, WRONG]


def picture(page):
    """Return what is seen."""
    told = page.driver.execute_cdp_cmd('Page.captureScreenshot', {})
    return Image.open(io.BytesIO(base64.b64decode(told['data']))).convert('RGB')


def record(folder):
    """Write `page.png`, the first view, `page-question.png` and `page.gif`, all of them, into a folder."""
    with tempfile.TemporaryDirectory() as place, browser() as page:
        [board, *_], path = write_made_page(Path(place), made_results(30, texts=TEXTS), responses=True)
        runs = [entry.name for entry in board.entries]
        at = {'board': board.title, 'run': runs[8]}
        result = board.entries[8].result
        # Sample 0 has the first text in every second question.
        even = zip(result.counts.uid[::2], result.counts.c[::2], strict=True)
        at['question'] = next(uid for uid, c in even if 20 < c < 30)
        views = [
            {},
            {'board': board.title},
            {'board': board.title, 'run': runs[0]},
            {'board': board.title, 'run': runs[0], 'marks': 'unstable'},
            at,
            {**at, 'sample': ['0', '47']},
            {**at, 'with': runs[0], 'sample': ['0', 'with.47']},
        ]
        page.emulate(*SIZE)
        frames = []
        for address in views:
            page.show(path, **address)
            time.sleep(1)
            if {'marks', 'sample'} & address.keys():
                page.script("document.querySelector('.map, .chosen').scrollIntoView({block: 'center'})")
                time.sleep(0.3)
            frames.append(picture(page))
    frames[0].quantize(256).save(folder / 'page.png', optimize=True)
    frames[5].quantize(256).save(folder / 'page-question.png', optimize=True)
    small = [
        frame.resize((900, 600), Image.Resampling.LANCZOS).quantize(128, dither=Image.Dither.NONE)
        for frame in frames
    ]
    small[0].save(
        folder / 'page.gif', save_all=True, append_images=small[1:], optimize=True, duration=2600, loop=0
    )


if __name__ == '__main__':
    record(Path(sys.argv[1]))
