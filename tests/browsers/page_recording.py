"""The pictures of the page in README and docs.

    PYTHONPATH=tests python tests/browsers/page_recording.py docs/images

It takes Chromium and Pillow. Runs and responses are made up.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

from browser import Page, browser
from made_pages import made_results, write_made_page
from PIL import Image

SIZE = (1200, 800)
SECONDS = 2.6
"""Of each view."""

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


def views(title: str, runs: list[str], uid: str) -> Iterator[dict[str, object]]:
    """Yield what a reader would open, one after the other."""
    yield {}
    yield {'board': title}
    yield {'board': title, 'run': runs[0]}
    yield {'board': title, 'run': runs[0], 'brush': 'unstable'}
    yield {'board': title, 'run': runs[8], 'question': uid}
    yield {'board': title, 'run': runs[8], 'question': uid, 'sample': ['0', '47']}
    yield {'board': title, 'run': runs[0], 'with': runs[8]}


def picture(page: Page) -> Image.Image:
    """Return what is seen."""
    told = page.driver.execute_cdp_cmd('Page.captureScreenshot', {})
    return Image.open(io.BytesIO(base64.b64decode(told['data']))).convert('RGB')


def record(folder: Path) -> None:
    """Write `page.png`, the first view, and `page.gif`, all of them, into a folder."""
    with tempfile.TemporaryDirectory() as place, browser() as page:
        tables, path = write_made_page(Path(place), made_results(30), TEXTS)
        board = tables[0]
        size = {'width': SIZE[0], 'height': SIZE[1], 'deviceScaleFactor': 1, 'mobile': False}
        page.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', size)
        frames = []
        runs = [entry.name for entry in board.entries]
        result = board.entries[8].result
        # Sample 0 has the first text in every second question.
        even = zip(result.counts.uid[::2], result.counts.c[::2], strict=True)
        unsure = next(uid for uid, c in even if 20 < c < 30)
        for address in views(board.title, runs, unsure):
            page.driver.get('about:blank')
            page.driver.get(f'{path.as_uri()}#{urlencode(address, doseq=True)}')
            time.sleep(1)
            for within in ('brush', 'with', 'sample'):
                if within in address:
                    middle = "[...document.querySelectorAll('main svg, .response')].at(-1)"
                    page.script(f'{middle}.scrollIntoView({{block: "center"}})')
                    time.sleep(0.3)
            frames.append(picture(page))
    frames[0].quantize(256).save(folder / 'page.png', optimize=True)
    small = [
        frame.resize((900, 600), Image.Resampling.LANCZOS).quantize(128, dither=Image.Dither.NONE)
        for frame in frames
    ]
    small[0].save(
        folder / 'page.gif',
        save_all=True,
        append_images=small[1:],
        duration=int(1000 * SECONDS),
        loop=0,
        optimize=True,
    )


if __name__ == '__main__':
    record(Path(sys.argv[1]))
