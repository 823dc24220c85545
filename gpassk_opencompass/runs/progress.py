"""How far a run is, from its files alone: so it can be told from any machine that sees them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import PROVENANCE, mapping, read_json
from ..results.health import health_of
from ..results.read import result_of
from ..times import seconds_of_folder
from .answers_so_far import Opinion, QuickJudge, judged_by_rule
from .config_file import dicts_of
from .drawn import CHUNK, Growing, Shard, Tally
from .plan import Planned
from .work_dir import Start, Starts, TimeDir, Wanted, changed_at, rows_of, times_in, wanted_by

WINDOW = 60.0
"""Seconds over which rates are taken; more where samples arrive in larger batches."""

STARTING, SAMPLING, JUDGING = 'starting', 'sampling', 'judging'
"""What a run that is at work does; other runs are in one of the states of `runs.state`."""

AT_WORK = frozenset({STARTING, SAMPLING, JUDGING})


@dataclass(frozen=True)
class Progress:
    """How far a run is; None is what is not known.

    name: of the run.
    state: what it does, of `AT_WORK`, else one of the states of `gpassk check`.
    samples, total: drawn so far, and how many there should be.
    tokens: that the engine generated for those of which it tells.
    tokens_per_second, samples_per_second: over the last minute, of what was drawn since one looks.
    cut_off, ended_known: samples that were cut off, and those of which it is known how they ended.
    unusual: samples that are no usual response.
    taken: samples that an earlier run has drawn, and that were kept.
    judged: samples that have a verdict; of an LLM judge, the verdicts that it has kept for this run.
    left_out: samples that the rule judge says nothing of yet, or cannot judge without a proof.
    accuracy: in percent, of what is judged.
    accuracy_by: 'rule' for what the rule judge says so far, 'result' for that of the result file.
    since: when it was begun, or gone on with, in seconds since 1970.
    seconds_left: until all samples are drawn, as things go.
    """

    name: str
    state: str
    samples: int = 0
    total: int | None = None
    tokens: int | None = None
    tokens_per_second: float | None = None
    samples_per_second: float | None = None
    cut_off: int | None = None
    ended_known: int = 0
    unusual: int = 0
    taken: int = 0
    judged: int | None = None
    left_out: int = 0
    accuracy: float | None = None
    accuracy_by: str | None = None
    since: float | None = None
    seconds_left: float | None = None

    @property
    def at_work(self) -> bool:
        """Whether somebody works on it."""
        return self.state in AT_WORK

    @property
    def cut_off_share(self) -> float | None:
        """Return the share of samples that were cut off, of those of which that is known."""
        return None if not self.ended_known or self.cut_off is None else self.cut_off / self.ended_known

    def as_json(self) -> dict[str, Any]:
        """Return all fields."""
        rounded = {
            'tokens_per_second': 1,
            'samples_per_second': 3,
            'accuracy': 2,
            'since': 0,
            'seconds_left': 0,
        }
        return {
            name: round(value, rounded[name]) if name in rounded and value is not None else value
            for name, value in asdict(self).items()
        }


class _Point(NamedTuple):
    at: float
    samples: int
    tokens: int


class Rate:
    """Samples and tokens a second, from how many there were at which moment."""

    def __init__(self) -> None:
        self._points: deque[_Point] = deque()

    def begin(self, at: float, samples: int, tokens: int) -> None:
        """Count from here on: what was there before was not drawn under one's eyes."""
        self._points = deque([_Point(at, samples, tokens)])

    def note(self, at: float, samples: int, tokens: int) -> None:
        """Note the counts of a moment, in seconds of any clock."""
        if not self._points or samples < self._points[-1].samples:
            self.begin(at, samples, tokens)
        elif samples > self._points[-1].samples:
            self._points.append(_Point(at, samples, tokens))
        while len(self._points) > 2 and self._points[1].at <= at - WINDOW:
            self._points.popleft()

    @property
    def moves(self) -> bool:
        """Whether anything arrived since its beginning."""
        return len(self._points) > 1

    def per_second(self, now: float) -> tuple[float, float] | None:
        """Return samples and tokens a second; None as long as none has arrived.

        >>> rate = Rate()
        >>> for at, samples in enumerate([100, 102, 104]):
        ...     rate.note(at, samples, 1000 * samples)
        >>> rate.per_second(2.0)
        (2.0, 2000.0)
        """
        if not self.moves or now <= self._points[0].at:
            return None
        first, last = self._points[0], self._points[-1]
        seconds = now - first.at
        return (last.samples - first.samples) / seconds, (last.tokens - first.tokens) / seconds


class RunReader:
    """Reads, look by look, how far a run is that is at work.

    Args:
        run: what there should be.
        work_dir: `-w` of its commands.
        quick: judges what is drawn; None: nobody does.
    """

    def __init__(self, run: Planned, work_dir: Path, quick: QuickJudge | None = None) -> None:
        self.run, self._work_dir, self._quick = run, work_dir, quick
        self._time_dir: TimeDir | None = None
        self._began: float | None = None
        self._rate = Rate()
        self._caught_up = False
        self._forget(None)

    def _forget(self, time_dir: TimeDir | None) -> None:
        self._time_dir = time_dir
        self._shards: dict[tuple[Wanted, str], tuple[Shard, Opinion]] = {}
        self._verdicts: dict[Path, tuple[Growing, int]] = {}
        self._wanted: tuple[Wanted, ...] = ()
        self._by_rule: dict[str, bool] | None = None
        self._begun: list[Path] = []
        self._rate, self._caught_up = Rate(), False

    @property
    def bytes_read(self) -> int:
        """Return the bytes read of resume files."""
        return sum(shard.bytes_read for shard, _ in self._shards.values())

    def look(self, now: float | None = None, limit: int = CHUNK) -> bool:
        """Count what is new; return whether there is more to read at once.

        Args:
            now: seconds of a clock that only goes forward.
            limit: bytes to read of each file, about.
        """
        now = time.monotonic() if now is None else now
        starts = Starts(self._work_dir)
        if starts.last is not None:
            self._began = _moment(starts.last)
        place = _current(self._work_dir, starts)
        if place is None or self._time_dir is None or place != self._time_dir.path:
            utc = starts.last is not None and starts.last.utc
            self._forget(None if place is None else TimeDir(place, utc))
        more = False
        self._begun = []
        for wanted in self._each_wanted():
            more |= self._look_at(wanted, limit)
        self._count_verdicts()
        self._note_rate(now, more)
        return more

    def _each_wanted(self) -> Iterator[Wanted]:
        """Yield each result that there should be, under the name that the time directory has."""
        if self._time_dir is None:
            return
        if not self._wanted:
            configs = () if self.run.wanted else self._time_dir.configs
            self._time_dir.__dict__.pop('configs', None)  # the command may still be writing them
            self._wanted = self.run.wanted or (wanted_by(configs[-1]) if configs else ())
        for wanted in self._wanted:
            yield self._time_dir.called(wanted)

    def _look_at(self, wanted: Wanted, limit: int) -> bool:
        if self._time_dir is None:
            return False
        found = self._time_dir.shards(wanted)
        names = [name for one, name in self._shards if one == wanted]
        more = False
        for name in dict.fromkeys([*names, *found.whole, *found.begun]):
            if (wanted, name) not in self._shards:
                opinion = Opinion(self._quick if self._is_by_rule(wanted) else None)
                self._shards[wanted, name] = Shard(opinion), opinion
            shard = self._shards[wanted, name][0]
            more |= shard.look(found.whole.get(name), found.begun.get(name), limit)
        self._begun += found.begun.values()
        return more

    def _is_by_rule(self, wanted: Wanted) -> bool:
        if self._by_rule is None:
            config = self.run.values() or next(iter(self._configs()[-1:]), {})
            entries = dicts_of(config, 'datasets')
            self._by_rule = {
                str(one.get('abbr')): judged_by_rule(mapping(one.get('eval_cfg'))) for one in entries
            }
        return self._by_rule.get(wanted.dataset, True)

    def _configs(self) -> tuple[Mapping[str, Any], ...]:
        return () if self._time_dir is None else self._time_dir.configs

    def _count_verdicts(self) -> None:
        """Count what LLM judges have said for this run; of a store elsewhere nothing is known."""
        if self._time_dir is None:
            return
        with suppress(OSError):
            for path in (self._time_dir.path / 'verdicts').glob('*.jsonl'):
                growing, count = self._verdicts.get(path, (Growing(path), 0))
                added = growing.read()
                self._verdicts[path] = growing, len(added.lines) + (0 if added.anew else count)

    def _note_rate(self, now: float, more: bool) -> None:
        tally = self.tally
        drawn = tally.samples - tally.taken, tally.tokens - tally.tokens_taken
        if not self._caught_up:  # of what was there before nobody knows when it came
            self._caught_up = not more
            self._rate.begin(now, *drawn)
        elif not tally.samples and not self._has_begun():  # the model is still being loaded
            self._rate.begin(now, 0, 0)
        elif not more:
            self._rate.note(now, *drawn)

    def _has_begun(self) -> bool:
        return self._time_dir is not None and any(
            (self._time_dir.path / 'predictions' / one.model / PROVENANCE).exists() for one in self._wanted
        )

    @property
    def tally(self) -> Tally:
        """Return the counts of all shards."""
        whole = Tally()
        for shard, _ in self._shards.values():
            whole += shard.tally
        return whole

    def progress(self, now: float | None = None) -> Progress:
        """Return how far it is, as of the last look."""
        now = time.monotonic() if now is None else now
        tally, total = self.tally, self._total()
        state = self._state(tally.samples, total)
        rate = self._rate.per_second(now) if state == SAMPLING else None
        samples_a_second, tokens_a_second = rate or (None, None)
        left = None
        if total is not None and samples_a_second:
            left = max(0, total - tally.samples) / samples_a_second
        return Progress(
            name=self.run.name,
            state=state,
            samples=tally.samples,
            total=total,
            tokens=tally.tokens if tally.told else None,
            tokens_per_second=tokens_a_second if tally.told else None,
            samples_per_second=samples_a_second,
            cut_off=tally.cut_off if tally.known else None,
            ended_known=tally.known,
            unusual=tally.unusual,
            taken=tally.taken,
            since=self._began,
            seconds_left=left,
            **self._judged(),
        )

    def _judged(self) -> dict[str, Any]:
        counts = [opinion.counts for _, opinion in self._shards.values()]
        correct, incorrect = sum(one.correct for one in counts), sum(one.incorrect for one in counts)
        if self._quick is None or not self._by_rule or all(self._by_rule.values()):
            told = (
                {}
                if not correct + incorrect
                else {
                    'judged': correct + incorrect,
                    'accuracy': 100 * correct / (correct + incorrect),
                    'accuracy_by': 'rule',
                }
            )
            return {**told, 'left_out': sum(one.left_out for one in counts)}
        said = sum(count for _, count in self._verdicts.values())
        return {'judged': said or None}

    def _total(self) -> int | None:
        if not self._wanted and not self.run.wanted:
            return None
        parts = [_expected(self._work_dir, one) for one in self._wanted or self.run.wanted]
        return None if None in parts else sum(part or 0 for part in parts)

    def _state(self, samples: int, total: int | None) -> str:
        if self._time_dir is None:
            return STARTING
        began = self._began or 0.0
        logs = [log for one in self._wanted for log in self._time_dir.logs('eval', one)]
        if any(changed_at(log) >= began for log in logs):
            return JUDGING
        if samples and not self._begun and samples == (total or samples):
            return JUDGING
        moved = self._rate.moves or any(changed_at(file) >= began for file in self._begun)
        return SAMPLING if moved else STARTING


def progress_of_result(name: str, state: str, results: tuple[Path, ...]) -> Progress:
    """Return what the results of a run that has ended say; of damaged ones nothing."""
    healths, correct = [], 0
    for path in results:
        with suppress(OSError, ValueError, InputError, KeyError, TypeError):
            block = result_of(path, read_json(path)).block
            healths.append(health_of(block))
            correct += sum(block['counts']['c'])
    if not healths:
        return Progress(name, state)
    samples = sum(one.samples for one in healths)
    known = [one for one in healths if one.truncated is not None]
    tokens = [one.output_tokens for one in healths]
    return Progress(
        name,
        state,
        samples=samples,
        total=samples,
        tokens=None if None in tokens else sum(one or 0 for one in tokens),
        cut_off=sum(one.truncated or 0 for one in known) if known else None,
        ended_known=sum(one.samples for one in known),
        unusual=sum(one.unusual or 0 for one in healths),
        judged=samples - sum(one.unjudged for one in healths),
        accuracy=100 * correct / samples,
        accuracy_by='result',
    )


def _expected(work_dir: Path, wanted: Wanted) -> int | None:
    if wanted.n is not None and wanted.questions is not None:
        return wanted.n * wanted.questions
    return rows_of(work_dir, wanted.dataset)


def _moment(start: Start) -> float | None:
    return seconds_of_folder(start.started, start.utc)


def _current(work_dir: Path, starts: Starts) -> Path | None:
    """Return the time directory in which the last command works; None while it has made none."""
    last, names = starts.last, sorted(times_in(work_dir))
    if last is not None and last.resumes is not None:
        names = [name for name in names if name == last.resumes]
    elif last is not None:
        names = [name for name in names if name >= last.started][:1]
    return work_dir / names[-1] if names else None
