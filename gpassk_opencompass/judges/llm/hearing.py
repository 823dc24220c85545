"""What becomes of the replies of one run of an LLM judge."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from loguru import logger
from tqdm import tqdm

from ...chat.completion import Reply
from ...chat.jobs import Job
from ..protocol import Verdict
from .asking import Heard, explained
from .canaries import Canary, Examination

_SHOWN_END = 200

Bar = Any
"""A tqdm bar, which has no types."""


class Hearing:
    """Takes the replies of one run.

    Args:
        hear: called with key and reply; what the reply says.
        keep: called with key, verdict and reply for each verdict.
        examination: hears what is said of canaries.
        counts: `repeated` and `unjudged` are added to it.
        bar: moved on with each pair that is done.
    """

    def __init__(
        self,
        hear: Callable[[str, Reply], Heard],
        keep: Callable[[str, Verdict, Reply], None],
        examination: Examination,
        counts: Counter[str],
        bar: Bar,
    ) -> None:
        self._hear, self._keep, self._examination = hear, keep, examination
        self._counts, self._bar = counts, bar
        self._correct = 0
        self._shown: set[str] = set()
        self.reasons: dict[str, str] = {}
        """Why a key has no verdict."""

    def received(self, job: Job, reply: Reply) -> bool:
        """Whether that settles it; False asks once more."""
        if isinstance(job.item, Canary):
            return self._examination.received(job, reply)
        heard = self._hear(job.item, reply)
        if heard.verdict is not None:
            self._keep(job.item, heard.verdict, reply)
            self._correct += heard.verdict is Verdict.CORRECT
            self._move()
        elif job.asked == 0:
            self._counts['repeated'] += 1
            return False
        else:
            self._without_verdict(job, reply, heard.reason)
        return True

    def abandoned(self, job: Job, reason: str) -> None:
        """Leave the pair unjudged."""
        if isinstance(job.item, Canary):
            return self._examination.abandoned(job, reason)
        self.reasons[job.item] = reason
        self._counts['unjudged'] += 1
        self._move()

    def _without_verdict(self, job: Job, reply: Reply, reason: str) -> None:
        if reason not in self._shown:
            self._shown.add(reason)
            why = explained(reason)
            logger.warning(
                f'a reply {why}, twice, so its answer stays unjudged; it ends {reply.text[-_SHOWN_END:]!r}'
            )
        self.abandoned(job, reason)

    def _move(self) -> None:
        self._bar.set_postfix_str(f'correct {self._correct}, unjudged {len(self.reasons)}', refresh=False)
        self._bar.update()


def progress_bar(total: int, hits: int, hidden: bool) -> Bar:
    """Return a bar on stderr with rate and time left; in a log file it writes a line every half minute.

    Args:
        total: answers to ask for.
        hits: answers whose verdicts were stored.
        hidden: show nothing.
    """
    interval = 0.2 if sys.stderr.isatty() else 30.0
    name = f'judging ({hits} hits)'
    return tqdm(
        total=total, desc=name, unit='answer', disable=hidden, mininterval=interval, dynamic_ncols=True
    )
