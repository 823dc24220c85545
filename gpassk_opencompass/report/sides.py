"""Which runs are compared, and which of their questions are the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..collect import LeftOut, collect, run_of
from ..errors import InputError
from ..record import Result
from .frame import config_of, full_runs, judge_line, rows_of, run_names

_SHOWN = 8


@dataclass
class Side:
    """A model with its settings, and its results on each benchmark: one, or reruns with other seeds."""

    name: str
    place: int
    """Which of the given paths it came from."""
    results: dict[str, list[Result]] = field(default_factory=dict)

    @property
    def first(self) -> Result:
        """Return one of its results."""
        return next(iter(self.results.values()))[0]


def sides(
    paths: Sequence[Path],
    run: str | None,
    against: Sequence[str],
    with_limited: bool,
    judge: str | None,
    benchmarks: Sequence[str],
) -> tuple[Side, list[Side], list[str]]:
    """Return the new run, the old ones, and lines on what was left out of their folders."""
    found: dict[tuple[int, Any], Side] = {}
    remarks: list[str] = []
    damaged: list[LeftOut] = []
    for place, path in enumerate(paths):
        results, limited, broken = _read(path, with_limited)
        remarks += [f'left out: {one}' for one in limited]
        damaged += broken
        for result in results:
            one = rejudged(result) if judge else result
            config = config_of(one)[0], config_of(one)[1] is None
            twin = [key for key in found if key[1] == config and place > 1 and key[0] < place]
            if len(twin) > 1:
                raise InputError(
                    f'{path} may be a rerun of the new or of the old run; put it beside one of them'
                )
            side = found.setdefault(twin[0] if twin else (place, config), Side('', place))
            side.results.setdefault(one.benchmark, []).append(one)
    named = list(found.values())
    for side, name in zip(named, run_names([side.first for side in named]), strict=True):
        side.name = name
    for side in named:
        if sum(other.name.partition(' (')[0] == side.name.partition(' (')[0] for other in named) > 1:
            plain = re.sub(r' \(\d+\)$', '', side.name)
            side.name = f'{plain} ({paths[side.place].name})' if len(paths) > 1 else side.name
    alone = len(paths) == 1
    new = _chosen(
        [side for side in named if alone or side.place == 0], [run] if run else [], 'new', '--run NAME'
    )
    if len(new) > 1:
        raise InputError(_several('new', new, '--run NAME'))
    rest = [side for side in named if side is not new[0] and (alone or side.place > 0)]
    if not rest:
        raise InputError(
            f'{paths[-1]} holds no other run than {new[0].name}; give the old one as the second path'
        )
    olds = _chosen(rest, against, 'old', '--against NAME')
    if not against and not alone and sum(side.place == 1 for side in olds) > 1:
        raise InputError(_several('old', [side for side in olds if side.place == 1], '--against NAME'))
    _refuse_damaged(damaged, paths, [new[0], *olds], benchmarks)
    return new[0], olds, remarks


def _read(path: Path, with_limited: bool) -> tuple[list[Result], list[str], list[LeftOut]]:
    """Return the sampled results of a path, lines on trials, and what may be a damaged result."""
    collected = collect([path])
    full, limited = full_runs(collected.results, with_limited)
    sampled = [result for result in full if result.n > 1]
    if not sampled:
        reasons = [*collected.passed_over, *limited]
        reasons += ['one answer a question does not tell how far a rerun moves'] if full else []
        count = len(collected.results)
        raise InputError('; '.join([f'{path} has no sampled result: {count} found', *reasons]))
    return sampled, limited, [one for one in collected.left_out if one.newer is None]


def _chosen(sides: Sequence[Side], parts: Sequence[str], what: str, option: str) -> list[Side]:
    """Return the sides whose names have one of these parts; all where none is asked for."""
    chosen = []
    for part in parts:
        exact = [side for side in sides if part in (side.name, side.first.run.model)]
        near = exact or [
            side for side in sides if part.casefold() in f'{side.name} {side.first.run.model}'.casefold()
        ]
        if not near:
            raise InputError(f'{part!r} is no {what} run here; there is {_names(sides)}')
        if len(near) > 1:
            raise InputError(
                f'{part!r} is in the names of {len(near)} {what} runs: {_names(near)}; {option} takes '
                'a whole one'
            )
        chosen += near
    return chosen if parts else list(sides)


def _several(what: str, sides: Sequence[Side], option: str) -> str:
    return f'the {what} run is one of {len(sides)}: {_names(sides)}; choose it beforehand with {option}'


def _names(sides: Sequence[Side]) -> str:
    more = f' and {len(sides) - _SHOWN} more' if len(sides) > _SHOWN else ''
    return ', '.join(side.name for side in sides[:_SHOWN]) + more


def _refuse_damaged(
    left_out: Sequence[LeftOut], paths: Sequence[Path], used: Sequence[Side], benchmarks: Sequence[str]
) -> None:
    """Refuse to decide without a file that may be a result of one of the runs.

    An older result must not stand for a newer one that is damaged, nor may a benchmark go unseen.
    """
    given = {path.resolve() for path in paths}
    files = [
        one.path
        for side in used
        for name, results in side.results.items()
        for one in results
        if not benchmarks or any(part.casefold() in name.casefold() for part in benchmarks)
    ]
    folders, names = {path.parent.name for path in files}, {path.name for path in files}
    for one in left_out:
        beside = one.path.parent.name in folders and (not benchmarks or one.path.name in names)
        if one.path.resolve() in given or (beside and not one.foreign):
            raise InputError(
                f'{one.why}; it may be a result of one of the runs: mend it or take it away, or name the '
                'files that count, or --benchmark'
            )


def rejudged(result: Result) -> Result:
    """Return a result whose answers are judged anew by the rule judge."""
    from ..judges.build import build_judge
    from ..scoring import score_run

    run = run_of(result)
    if run.samples is None or not {'response', 'answer'} & set(run.samples.names):
        raise InputError(f'{result.path} has no responses to judge anew; leave --judge out')
    with closing(build_judge({'type': 'rule'})) as rule:
        anew = score_run(run, rule, result.run, k=[k for k in result.ks if k <= result.n])
    anew._path, anew._manifest = result._path, result._manifest
    return anew


def benchmarks_of(
    new: Side, old: Side, wanted: Sequence[str]
) -> Iterator[tuple[str, list[Result], list[Result]]]:
    """Yield each benchmark with the runs of both; a run that lacks one must not pass without it."""
    ours, theirs = new.results, old.results
    if len(ours) == len(theirs) == 1 and not wanted:  # logs of two programs call one benchmark differently
        ours = {next(iter(theirs)): next(iter(ours.values()))}
    names = list(theirs)
    for part in wanted:
        if not any(part.casefold() in name.casefold() for name in (*ours, *theirs)):
            raise InputError(f'{part!r} is no benchmark here; there is {", ".join({**theirs, **ours})}')
    if wanted:
        both = dict.fromkeys([*theirs, *ours])
        names = [name for name in both if any(part.casefold() in name.casefold() for part in wanted)]
    for side, results in ((new, ours), (old, theirs)):
        if missing := [name for name in names if name not in results]:
            raise InputError(
                f'{side.name} has no complete result on {", ".join(missing)}; it has {", ".join(results)}; '
                '--benchmark NAME decides on some alone'
            )
    for name in names:
        for side, runs in ((new, ours[name]), (old, theirs[name])):
            seeds = [config_of(one)[1] for one in runs]
            if len(runs) > 1 and (None in seeds or len(set(seeds)) < len(seeds)):
                told = ', '.join(
                    f'{one.path.name} (seed {seed})' for one, seed in zip(runs, seeds, strict=True)
                )
                raise InputError(
                    f'{side.name} has {len(runs)} results on {name}: {told}; reruns need different seeds '
                    'that their records tell; give the path of one of them'
                )
        yield name, ours[name], theirs[name]


# The same questions


def matched(first: Result, other: Result) -> list[int]:
    """Return where in `other` the questions of `first` stand.

    Questions are matched by their names, where those differ by their texts. References count as the same
    where the rule judge takes one for the other: 12 and 12.0.

    Raises:
        InputError: the judges differ, or there is a question that only one has, or another one in both.
    """
    if (first.path.resolve(), first.run) == (other.path.resolve(), other.run) and first.path.name:
        raise InputError(f'{first.path} is the new and the old run: a run is not compared with itself')
    whole = f'{first.path} and {other.path} cannot be compared'
    if first.judge_digest != other.judge_digest:
        raise InputError(
            f'{whole}: another judge, or one with other settings ({judge_line(first)} and '
            f'{judge_line(other)}); --judge rule judges both anew, where they have responses'
        )
    uids, others = first.counts.uid, other.counts.uid
    if first.data.sha256 == other.data.sha256 and set(uids) == set(others):
        return rows_of(other, uids)
    ours, theirs = _texts(first), _texts(other)
    partner = {uid: uid for uid in others}
    known = bool(ours and theirs)
    if known and any(_plain(ours[uid][0]) != _plain(theirs.get(uid, ('\0', ''))[0]) for uid in uids):
        by_text = {_plain(question): uid for uid, (question, _) in theirs.items() if question}
        partner |= {uid: by_text[plain] for uid in uids if (plain := _plain(ours[uid][0])) in by_text}
    alone = [_told(uid, ours) for uid in uids if partner.get(uid) not in set(others)]
    extra = [_told(uid, theirs) for uid in others if uid not in set(map(partner.get, uids))]
    for name, missing in ((first.run.model, alone), (other.run.model, extra)):
        if missing:
            sizes = f'of {len(uids)} and {len(others)} questions'
            raise InputError(f'{whole}: {sizes} {len(missing)} are in {name} alone, first {missing[0]}')
    if not known:
        raise InputError(
            f'{whole}: their questions have the same names, but data.sha256 differs, and without both sample '
            'files nobody can say where: keep the .samples.parquet beside the .json'
        )
    if different := _first_difference([(uid, ours[uid], theirs[partner[uid]]) for uid in uids]):
        raise InputError(f'{whole}: {different}')
    return rows_of(other, [partner[uid] for uid in uids])


def _texts(result: Result) -> dict[str, tuple[str, str]]:
    """Return question and reference by the name of the question; {} where they are not known."""
    samples = result.samples(['question', 'reference'])
    if samples is None or 'reference' not in samples:
        return {}
    questions, references = samples.each('question'), samples['reference']
    by_uid = samples.by_question()
    return {
        uid: (questions[by_uid[uid][0]] or '', references[by_uid[uid][0]] or '') for uid in result.counts.uid
    }


def _plain(text: str) -> str:
    return re.sub(r'\s+', ' ', text).strip()


def _told(uid: str, texts: Mapping[str, tuple[str, str]]) -> str:
    question = texts.get(uid, ('', ''))[0]
    return f'{uid!r:.60} ({question!r:.80})' if question else f'{uid!r:.60}'


def _first_difference(pairs: Sequence[tuple[str, tuple[str, str], tuple[str, str]]]) -> str:
    """Say where two questions, or two references of one question, are not the same; '' where all are."""
    from ..judges.build import build_judge
    from ..judges.protocol import Pair, Verdict

    for uid, (question, _), (other, _) in pairs:
        if question and other and _plain(question) != _plain(other):
            return f'question {uid!r:.60} asks {question!r:.80} in one and {other!r:.80} in the other'
    unlike = [(uid, one[0], one[1], other[1]) for uid, one, other in pairs if one[1] != other[1]]
    if not unlike:
        return ''
    with closing(build_judge({'type': 'rule'})) as rule:
        judged = rule.judge([Pair(question=q, reference=a, answer=b) for _, q, a, b in unlike])
    for (uid, _, one, other), judgement in zip(unlike, judged, strict=True):
        if judgement.verdict is not Verdict.CORRECT:
            return f'question {uid!r:.60} has the reference {one!r:.60} in one and {other!r:.60} in the other'
    return ''
