"""Which of the samples that are kept a run may take, and what is said of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ..errors import IncompleteError, InputError
from ..naming.limits import limits_in
from .identity import Origin

REUSE_VARIABLE = 'GPASSK_REUSE'
"""Environment variable that says which samples of other runs are taken, one of `REUSE`."""

SAME, MIX, NONE = 'same', 'mix', 'none'
REUSE = (SAME, MIX, NONE)
"""Take samples of other runs if they are those that would be drawn now; take all; draw all anew."""

OTHER_VERSION = 'they were drawn with another version of the engine'

SEEDED, WHOLE, MIXED, ROUND = 'seeded', 'whole', 'mixed', 'round'

TAKEN_AS = {
    SEEDED: 'same engine, a seed each: they are those that would have been drawn',
    WHOLE: 'all of one run, as it drew them',
    ROUND: 'an earlier round of this run, as --until has them: it draws each sample once',
    MIXED: 'mixed, as --reuse mix says: nothing promises that they are those that would have been drawn',
}
"""How a sample was taken, as its row says → what the record says."""


class Held(NamedTuple):
    """What a store has of the samples that a run looks at."""

    samples: Sequence[Collection[str]]
    """Of each of them the ids of the origins that have it; the n replicas of all its questions."""
    own: str
    """The id of the run itself: what it has drawn already."""
    alike: Collection[str]
    """Ids of the origins that drew with the same version of the engine."""
    promised: str
    """'' if the engine draws the same sample again, with the same version; else why not."""
    origins: Mapping[str, Origin]
    rounds: Collection[str] = ()
    """Ids of the earlier rounds of the run, whose samples are its own."""


class Choice(NamedTuple):
    """Whose samples are taken: those of the first origin that has one."""

    origins: Sequence[str]
    """Ids, the most wanted first."""
    taken_as: Mapping[str, str]
    """Of each of them a key of `TAKEN_AS`; '' for the run itself."""


def check_reuse(value: str | None) -> str:
    """Return which samples are taken, 'same' where nothing is said.

    Raises:
        InputError: it is none of `REUSE`.
    """
    if value and value not in REUSE:
        raise InputError(f'{REUSE_VARIABLE} = {value!r}: expected one of {", ".join(REUSE)}')
    return value or SAME


def choose(held: Held, reuse: str, what: str) -> Choice:
    """Say whose samples a run takes.

    What the run has drawn itself it always takes, and what its earlier rounds have: a task that was killed
    draws nothing twice, nor does a rule that looks at the samples before it asks for more. With 'same' it
    takes what the engine would draw again; where the engine cannot promise that, all or nothing of one run,
    and of one that was made smaller with --limit or --samples silently nothing.

    Args:
        reuse: one of `REUSE`.
        what: the samples are of, for the message.

    Raises:
        IncompleteError: there are samples that could be taken, and might be other ones than would be drawn
            now: the user shall say.
    """
    counts = Counter(origin for sample in held.samples for origin in sample)
    # Of several whole runs the one that began first, in each shard of a run: another may be added meanwhile.
    rounds = sorted(one for one in counts if one in held.rounds and one != held.own)
    others = [one for one in counts if one != held.own and one not in rounds]
    others.sort(key=lambda one: (-counts[one], held.origins[one].since, one))
    alike = [one for one in others if one in held.alike and not held.promised]
    chosen = [held.own, *rounds]
    if reuse == MIX:
        chosen += [*alike, *(one for one in others if one not in alike)]
    elif reuse == SAME:
        chosen += alike
        others = [one for one in others if counts[one] == len(held.samples) or not _is_trial(held, one)]
        if others and not any(counts[one] for one in chosen):
            chosen += [_whole(held, counts, others, what)]
    how = MIXED if reuse == MIX else WHOLE
    again = SEEDED if not held.promised else ROUND
    taken_as = {one: SEEDED if one in alike else how for one in chosen}
    taken_as |= {one: again if one in held.alike else ROUND for one in rounds}
    return Choice(chosen, {**taken_as, held.own: ''})


def _is_trial(held: Held, origin: str) -> bool:
    """Whether a run was made smaller for a look, by its name: it need not stop the whole one that follows."""
    return bool(limits_in(held.origins[origin].run))


def _whole(held: Held, counts: Mapping[str, int], others: Sequence[str], what: str) -> str:
    """Return the origin that has all; see `choose`."""
    if counts[others[0]] == len(held.samples):
        return others[0]
    shown = [f'{counts[one]} of {held.origins[one].run} ({held.origins[one].since})' for one in others[:3]]
    more = f', and of {len(others) - 3} more' if len(others) > 3 else ''
    some = sum(map(bool, held.samples))
    why = held.promised or OTHER_VERSION
    raise IncompleteError(
        f'{what}: other runs have drawn {some} of its {len(held.samples)} samples: {"; ".join(shown)}{more}. '
        f'They are kept, and may not be those that would be drawn now: {why}. Say what shall be: take them '
        f'and draw the rest, which the result will say (gpassk run … --reuse mix, or {REUSE_VARIABLE}=mix), '
        f'or draw all anew (--reuse none, or {REUSE_VARIABLE}=none). A run that broke off goes on with -r'
    )
