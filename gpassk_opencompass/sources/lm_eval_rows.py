"""What a row of lm-evaluation-harness holds: its responses, and which of its metrics are verdicts of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..json_lines import Row
from .lm_eval_summary import request_of
from .source import Reading

ALWAYS = frozenset({'doc_id', 'doc', 'target', 'arguments', 'resps', 'filtered_resps', 'filter', 'metrics'})
"""What every row has."""

_PASS_AT_1 = 'pass@1'
"""The mean of all n verdicts, under the name that tasks of code have for it."""

_CORRECT = 'correct'
"""The metric of tasks that have a verdict of each response."""

NOTHING = 'None'
"""The response that 0.4.9 and others before it write where a server sent null for a text."""


@dataclass(frozen=True)
class Plan:
    """What is taken of each row, as the first one shows it.

    Args:
        metric: the one with the verdicts; '' where there is none for all n.
        mean: it is the mean of all n verdicts, so that the count of the correct ones is known.
        by_filter: it is of all n as far as the filter left them all, which each row has to show.
        passed_over: the metrics of only one of n responses.
        filter: of the rows that count.
        texts: whether rows have responses; else likelihoods of choices, or verdicts alone.
    """

    n: int
    metric: str
    mean: bool
    by_filter: bool
    passed_over: tuple[str, ...]
    filter: str
    texts: bool
    question: str | None
    kind: str | None
    """See `Reading`."""

    @classmethod
    def of(cls, row: Row, reading: Reading) -> Plan:
        responses = responses_of(row)
        if responses is not None and not isinstance(request_of(row)[1], dict):
            raise InputError('its responses are likelihoods of whole texts (of a perplexity task)')
        n, names = max(len(responses or ()), 1), _metrics(row)
        wanted = reading.fields.get('correct')
        if wanted is not None and wanted not in row:
            raise InputError(f'there is no metric {wanted!r}; there is {", ".join(names) or "none"}')
        names = [wanted] if wanted else names
        metric, mean, by_filter = _verdicts_among(names, row, n, wanted)
        return cls(
            n,
            metric,
            mean,
            by_filter,
            () if metric else tuple(names),
            reading.fields.get('filter') or str(row['filter']),
            responses is not None and row.get('responses_kept') is not False,
            reading.fields.get('question'),
            reading.kind,
        )

    @property
    def counts_alone(self) -> bool:
        """Whether only the counts are read: they have no responses, which somebody has to ask for."""
        return self.mean and self.kind != 'responses'

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return as what the questions can be scored, see `Run.kinds`."""
        own = ('counts',) if self.mean else ('labels',) if self.metric else ()
        kinds = own + (('responses',) if self.texts and not self.counts_alone else ())
        if not kinds:
            raise InputError(
                'it has neither responses nor a metric of each question; there is nothing to score'
            )
        return kinds


def _verdicts_among(names: list[str], row: Row, n: int, wanted: str | None) -> tuple[str, bool, bool]:
    """Return the metric with the verdicts of all n, whether it is their mean, whether by what is left.

    A list may hold a verdict of each instruction in place of each response: without a name that tells, it is
    taken where all n responses are left, and of one response only if there is no number.
    """
    whole, left = left_of(row, n), [name for name in names if _is_list_of_verdicts(row.get(name), n)]
    for name in left:
        if name in {wanted, _CORRECT}:
            return name, False, False
    if n == 1:
        numbers = [name for name in names if _is_verdict(row.get(name))]
        return [*numbers, *left, ''][0], False, False
    if whole and left:
        return left[0], False, True
    return (_PASS_AT_1, True, True) if whole and _PASS_AT_1 in names else ('', False, False)


def kept_of(row: Row) -> list[Any]:
    """Return what the filter left of the responses, also where it stands in a list within the list."""
    kept = row.get('filtered_resps')
    if not isinstance(kept, list):
        return []
    return kept[0] if len(kept) == 1 and isinstance(kept[0], list) else kept


def left_of(row: Row, n: int) -> bool:
    """Whether the filter left all n responses, so that the harness may have scored each."""
    return len(kept_of(row)) == n


def _is_list_of_verdicts(value: Any, n: int) -> bool:
    whole = isinstance(value, list) and len(value) == n
    return whole and all(one is None or _is_verdict(one) for one in value)


def _is_verdict(value: Any) -> bool:
    return isinstance(value, (bool, int, float))


def _metrics(row: Row) -> list[str]:
    named = row['metrics']
    if not isinstance(named, list):
        raise InputError(f'metrics is {named!r:.60}; expected the list of their names')
    return [name for name in named if isinstance(name, str) and name in row]


def responses_of(row: Row) -> list[str] | None:
    """Return the responses to a question; None where choices were weighed."""
    requests = row.get('resps')
    if not isinstance(requests, list) or not requests:
        raise InputError(f'resps is {requests!r:.60}; expected a list with the responses of each request')
    first = requests[0]
    if not isinstance(first, list) or not first:
        raise InputError(f'resps[0] is {first!r:.60}; expected the list of all responses to the question')
    if all(isinstance(one, (list, tuple)) for one in first):
        return None
    if len(requests) > 1:
        raise InputError(
            f'a row has {len(requests)} prompts; expected one, with all responses to it in resps[0]'
        )
    if bad := [one for one in first if one is not None and not isinstance(one, str)]:
        raise InputError(f'resps[0] holds a {type(bad[0]).__name__}; expected texts')
    return [NOTHING if one is None else one for one in first]
