"""How many of the samples drawn so far are correct, by what of the rule judge needs no proof.

It is a look at a run that is at work, not its score: what cannot be told at once is left out, and counted.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..files import mapping
from ..judges.build import own_name
from ..judges.protocol import Judgement, Pair, Verdict
from .drawn import Row

if TYPE_CHECKING:
    from ..judges.rule import RuleJudge

MOST_WAITING = 64 << 20
"""Characters of responses that may wait to be judged; what is drawn beyond them is left out."""

_LONGEST = 1 << 20
_NO_RULES = {'type', 'workers', 'timeout', 'memory_mb'}
"""Settings of a rule judge that change nothing for what needs no proof."""


class Opinion:
    """What is known of the samples of one shard; takes them in, see `drawn.Seen`."""

    def __init__(self, quick: QuickJudge | None) -> None:
        self._quick = quick
        self.counts = Counts()

    def row(self, row: Row) -> None:
        """Have a sample judged, some time."""
        if self._quick is not None:
            self._quick.put(row, self.counts)

    def begin(self) -> None:
        """Forget all samples, those too that wait to be judged."""
        self.counts = Counts()


class Counts:
    """Verdicts on samples."""

    def __init__(self) -> None:
        self.correct, self.incorrect, self.left_out = 0, 0, 0

    def add(self, correct: bool | None) -> None:
        """Count one; None is left out."""
        self.correct += correct is True
        self.incorrect += correct is False
        self.left_out += correct is None


class _Waiting(NamedTuple):
    row: Row
    counts: Counts
    size: int


class QuickJudge:
    """Judges samples as they come in, for as long as it is told to."""

    def __init__(self) -> None:
        self._waiting: deque[_Waiting] = deque()
        self._size = 0
        self._judge: RuleJudge | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, row: Row, counts: Counts) -> None:
        """Take a sample, or leave it out where nothing can be said of it, or too many wait."""
        size = len(row.prediction) if isinstance(row.prediction, str) else _LONGEST
        told = isinstance(row.gold, str) and row.gold.strip() and size < _LONGEST
        if not told or self._size + size > MOST_WAITING:
            counts.add(None)
            return
        self._size += size
        self._waiting.append(_Waiting(row, counts, size))

    def work(self, seconds: float) -> None:
        """Judge what waits, for about so long of this thread's processor time."""
        end = time.thread_time() + seconds
        while self._waiting and time.thread_time() < end:
            row, counts, size = self._waiting.popleft()
            self._size -= size
            try:
                counts.add(self._verdict(row))
            except Exception:  # a response that no rule foresaw must not end a look; it is counted
                counts.add(None)

    def _verdict(self, row: Row) -> bool | None:
        from ..answers import letters_of, options_of  # the rules, where there is something to judge
        from ..responses import read_response

        response = read_response(row.prediction, row.generation)
        if not response.drawn:
            return None
        if not response.answer.text:
            return False
        question = _text_of(row.prompt)
        # The prompt stands for the question, whose options it may end with words of its own.
        chosen = [letters_of(text) is not None for text in (row.gold, response.answer.text)]
        if any(chosen) and not all(chosen) and options_of(question):
            return None
        if self._judge is None:
            from ..judges.rule import RuleJudge

            self._judge = RuleJudge(workers=1)
        said = self._judge.at_once(Pair(question, row.gold, response.answer.text))
        return _correct(said)


def _correct(said: Judgement | None) -> bool | None:
    if said is None or said.verdict is Verdict.UNJUDGED:
        return None
    return said.verdict is Verdict.CORRECT


def _text_of(prompt: Any) -> str:
    """Return a prompt as OpenCompass keeps it: a text, or a list of messages."""
    if isinstance(prompt, list):
        return '\n'.join(str(mapping(part).get('prompt') or '') for part in prompt)
    return prompt if isinstance(prompt, str) else ''


def judged_by_rule(evaluation: Mapping[str, Any]) -> bool:
    """Whether the responses of a data set are judged, as they are, by the rule judge alone.

    Args:
        evaluation: `eval_cfg` of its entry in a config; {} is not known, and counts as rule.

    >>> judged_by_rule({}), judged_by_rule({'evaluator': {'type': 'opencompass.datasets.MATHEvaluator'}})
    (True, False)
    """
    evaluator = mapping(evaluation.get('evaluator'))
    if not evaluation:
        return True
    changes = [name for name in evaluation if name.endswith('postprocessor') and evaluation[name]]
    foreign = not str(evaluator.get('type')).endswith('GPassKEvaluator') or evaluator.get('evaluator')
    asked = [name for name in ('pred_postprocessor', 'model_name', 'judge_serve') if evaluator.get(name)]
    if changes or foreign or asked:
        return False
    judge = evaluator.get('judge')
    return judge is None or (
        isinstance(judge, Mapping) and own_name(judge.get('type')) == 'rule' and set(judge) <= _NO_RULES
    )
