"""How many samples a run that is at work has drawn, counted from its files."""

from __future__ import annotations

from pathlib import Path

from .plan import Planned
from .work_dir import Starts, TimeDir, count_rows, rows_of, times_in, wanted_by


class DrawnSamples:
    """Counts the samples of one run, look by look.

    Args:
        run: what there should be.
        work_dir: `-w` of its command.
    """

    def __init__(self, run: Planned, work_dir: Path) -> None:
        self._run, self._work_dir = run, work_dir
        self._lines: dict[Path, tuple[int, int]] = {}
        """Resume file → bytes read of it, and the lines in them."""
        self._rows: dict[Path, int] = {}
        """Predictions → their samples; a file of them is whole when it is there, and read once."""

    def count(self) -> tuple[int, int | None]:
        """Return how many samples are drawn, and how many there should be; None where that is not known."""
        place = _current(self._work_dir)
        if place is None:
            return 0, self._total()
        time_dir, drawn = TimeDir(place), 0
        for wanted in self._run.wanted or wanted_by(next(iter(time_dir.configs[-1:]), {})):
            shards = time_dir.shards(wanted)
            drawn += sum(map(self._rows_in, shards.whole.values()))
            drawn += sum(map(self._lines_in, shards.begun.values()))
        return drawn, self._total()

    def _total(self) -> int | None:
        parts = [
            one.n * one.questions if one.n and one.questions else rows_of(self._work_dir, one.dataset)
            for one in self._run.wanted
        ]
        return sum(part or 0 for part in parts) if parts and None not in parts else None

    def _rows_in(self, path: Path) -> int:
        if path not in self._rows:
            self._rows[path] = count_rows(path) or 0
        return self._rows[path]

    def _lines_in(self, path: Path) -> int:
        """Count the lines that were added since the last look; a file that became shorter is read anew."""
        read, lines = self._lines.get(path, (0, 0))
        try:
            with path.open('rb') as file:
                if path.stat().st_size < read:
                    read, lines = 0, 0
                file.seek(read)
                while chunk := file.read(1 << 20):
                    read, lines = read + len(chunk), lines + chunk.count(b'\n')
        except OSError:  # gone meanwhile: its predictions are there next time
            return lines
        self._lines[path] = read, lines
        return lines


def _current(work_dir: Path) -> Path | None:
    """Return the time directory in which the last command works; None while it has made none."""
    last, names = Starts(work_dir).last, sorted(times_in(work_dir))
    if last is not None and last.resumes is not None:
        names = [name for name in names if name == last.resumes]
    elif last is not None:
        names = [name for name in names if name >= last.started][:1]
    return work_dir / names[-1] if names else None
