"""Pages with responses beside them, opened at a question, from disk or from a static host."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from browser import Page
from made_pages import made_results, made_shard, shard, write_made_page

from gpassk_opencompass.report.frame import Board


class Made(NamedTuple):
    """A page of one benchmark, and the files beside it."""

    board: Board
    path: Path
    texts: Sequence[str]
    """The responses, which are dealt out to the samples."""

    @property
    def content(self) -> Any:
        """What Python gave the page."""
        text = self.path.read_text()
        start = text.index('>', text.index('id="content"')) + 1
        return json.loads(text[start : text.index('</script>', start)])

    def shards(self, run: int) -> Path:
        """The folder with the responses of a run, by its place in the table."""
        return self.path.parent / 'responses' / self.content['boards'][0]['entries'][run]['shards']

    def samples(self, run: int, position: int) -> Any:
        """What the file of a question holds."""
        entry = self.board.entries[run]
        return made_shard(entry, self.board.entries[0].result.counts.uid[position], self.texts)

    def rewrite(self, run: int, position: int, **changes: Any) -> None:
        """Put other responses of a question beside the page; `first` is what becomes of its first sample."""
        content = {**self.samples(run, position)}
        content['samples'][0].update(changes.pop('first', {}))
        name = f'{self.shards(run).name}/{position}'
        (self.shards(run) / f'{position}.js').write_text(shard(name, {**content, **changes}))

    def address(self, run: int, position: int, *samples: str, **more: str) -> str:
        """Of a question of a run."""
        uid = self.board.entries[0].result.counts.uid[position]
        fields = [('run', self.board.entries[run].name), ('question', uid), *more.items()]
        return '#' + urlencode([*fields, *(('sample', sample) for sample in samples)])

    def show(self, page: Page, run: int, position: int, *samples: str, **more: str) -> None:
        """Open a question as if the page had never been open."""
        page.open(Path('/dev/null'))
        page.driver.get(self.path.resolve().as_uri() + self.address(run, position, *samples, **more))
        page.wait_for('.question h2')


def made_page(folder: Path, texts: Sequence[str], runs: int = 6, questions: int = 6, n: int = 16) -> Made:
    """Write a page of runs on one benchmark, with responses beside it."""
    [board], path = write_made_page(folder, made_results(runs, {'AIME2024': (questions, n)}), texts)
    return Made(board, path, texts)


@contextmanager
def static_host(folder: Path) -> Iterator[str]:
    """Serve the files of a folder as any static host does."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(('127.0.0.1', 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f'http://localhost:{server.server_port}'
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
