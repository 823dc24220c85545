"""What the fields of a row are called, and which kind of row it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import InputError

FIELDS = {
    'uid': ('uid', 'id', 'idx', 'question_id', 'task_id'),
    'problem': ('problem', 'problem_id', 'cluster'),
    'split': ('split', 'subset', 'category'),
    'language': ('language', 'lang'),
    'question': ('question', 'prompt', 'query'),
    'reference': ('answer', 'reference', 'gold', 'ground_truth', 'gt', 'target'),
    'responses': ('responses', 'response', 'samples', 'generations', 'outputs', 'completions'),
    'answers': ('answers', 'preds', 'pred'),
    'correct': ('correct', 'labels', 'verdicts', 'scores', 'score', 'is_correct'),
    'n': ('n', 'num_samples'),
    'c': ('c', 'num_correct', 'n_correct'),
    'unjudged': ('unjudged',),
}
"""What a row says → the names that it may have; `answers` are final answers, one a sample, beside labels."""

KINDS = {
    'responses': ('question', 'reference', 'responses'),
    'labels': ('correct',),
    'counts': ('n', 'c'),
}
"""Kind of a row → the fields that it needs."""

MARKS = {'responses': 'responses', 'labels': 'correct', 'counts': 'c'}
"""Kind → the field by which it is known."""

RESULT = 'result'
"""The kind of a file with one object, which an evaluation wrote; known by its `gpassk`."""


class Names(NamedTuple):
    """Which field of a row holds what."""

    found: Mapping[str, str]
    """`FIELDS` key → name in the row."""
    twins: tuple[tuple[str, str, str], ...]
    """(key, name, other name) where a row has two names of one thing; allowed while both hold the same."""


class Naming:
    """Finds the fields of rows; rows with the same names are looked at once.

    Args:
        given: `FIELDS` key → name in this file, for names that are not in the table, or to choose one.
        kind: one of `KINDS`, or None: that of the first row.

    Raises:
        InputError: `given` holds no key of the table.
    """

    def __init__(self, given: Mapping[str, str] | None = None, kind: str | None = None) -> None:
        self.given = dict(given or {})
        self.kind = kind
        self._why = 'the rows before it hold' if kind is None else 'it was to hold'
        self._shapes: dict[tuple[str, ...], Names] = {}
        if unknown := sorted(set(self.given) - set(FIELDS)):
            raise InputError(f'{unknown[0]!r} is no field; expected one of {", ".join(FIELDS)}')

    def of(self, row: Mapping[str, Any]) -> Mapping[str, str]:
        """`FIELDS` key → name in this row.

        Raises:
            InputError: the row is of another kind, lacks what its kind needs, or says one thing twice.
        """
        shape = tuple(row)
        names = self._shapes.get(shape)
        if names is None:
            names = self._shapes[shape] = self._look(row)
        for key, name, other in names.twins:
            if row[name] != row[other]:
                raise InputError(
                    f'it has {name} and {other}, both names of the {key}, and they differ; '
                    f'say which one counts: --field {key}={name}'
                )
        return names.found

    def _look(self, row: Mapping[str, Any]) -> Names:
        found, twins = {}, []
        for key, spellings in FIELDS.items():
            wanted = (self.given[key],) if key in self.given else spellings
            taken = {name for other, name in self.given.items() if other != key}
            names = [name for name in wanted if name in row and name not in taken]
            if names:
                found[key] = names[0]
                twins += [(key, names[0], other) for other in names[1:]]
        self.kind = self.kind or kind_of(found, row)
        self._check(found, row)
        used = (*KINDS[self.kind], 'uid', 'problem', 'split', 'language', 'answers', 'unjudged')
        return Names(found, tuple(twin for twin in twins if twin[0] in used))

    def _check(self, found: Mapping[str, str], row: Mapping[str, Any]) -> None:
        wanted = str(self.kind)
        missing = [key for key in KINDS[wanted] if key not in found]
        if not missing:
            return
        others = [kind for kind, mark in MARKS.items() if mark in found and kind != wanted]
        if MARKS[wanted] in missing and others:
            raise InputError(
                f'it holds {others[0]}, where {self._why} {wanted}; a file holds one kind of row'
            )
        expected = [self.given.get(missing[0]), *FIELDS[missing[0]]]
        raise InputError(
            f'there is no {missing[0]}: expected one of {", ".join(filter(None, expected))} '
            f'(or give its name: --field {missing[0]}=…); there is {shown_names(row)}'
        )


def kind_of(found: Mapping[str, str], row: Mapping[str, Any]) -> str:
    """Responses, labels or counts, by what a row holds.

    Raises:
        InputError: none of them, or several.
    """
    kinds = [kind for kind, mark in MARKS.items() if mark in found]
    if not kinds:
        expected = ', or '.join(f'{kind} ({", ".join(needed)})' for kind, needed in KINDS.items())
        raise InputError(f'it is of no known kind: expected {expected}; there is {shown_names(row)}')
    if len(kinds) > 1:
        held = ' and '.join(f'{kind} ({found[MARKS[kind]]})' for kind in kinds)
        raise InputError(f'it holds {held}; say which to score: --as {" or --as ".join(kinds)}')
    return kinds[0]


def shown_names(row: Mapping[str, Any]) -> str:
    """The names of a row, not too many."""
    names = [str(name)[:40] for name in list(row)[:20]]
    return ', '.join(names) + (', …' if len(row) > len(names) else '') if names else 'no field at all'
