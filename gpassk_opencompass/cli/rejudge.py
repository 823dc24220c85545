"""`gpassk rejudge`: predictions of an old LiveMathBench run of OpenCompass, judged anew."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import as_threshold, as_whole
from ..errors import GPassKError, IncompleteError, InputError
from ..files import put_aside
from ..metrics import DEFAULT_THRESHOLDS
from ..results.read import read as read_result
from ..sources.rejudged_tables import Outcome, comparison, described, findings_of, outcome
from ..times import utc_folder
from ..unseen import printable
from .files import opened
from .judge_options import add_judge_options, chosen_judge
from .options import add_several, listed, path, requested
from .shown import add_table_options, show

if TYPE_CHECKING:
    from ..sources.opencompass import Found, OldRun
    from ..sources.rejudged import Read

_EPILOG = """\
examples:
  gpassk rejudge outputs/old --check                  what is there, and is anything wrong with it?
  gpassk rejudge outputs/old                          judged by the rule, into old.rejudged
  gpassk rejudge outputs/old -o new --judge llm --model Qwen2.5-72B-Instruct --url http://node1:23333
  gpassk report new -o report

The old work directory is only read. docs/differences.md says what was wrong with old results.
"""

_NOT_BEGUN = 'not begun, as the judge failed in the run before it; type the same command again'


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        'work_dir',
        type=path,
        metavar='OLD_WORK_DIR',
        help='of OpenCompass: what was given to it with -w, or a part',
    )
    add = parser.add_argument
    add(
        '-o',
        '--output',
        type=path,
        metavar='FOLDER',
        help='for new results (default: <OLD_WORK_DIR>.rejudged, here)',
    )
    add('--check', action='store_true', help='only say what is there and what is wrong with it')
    add_judge_options(
        parser, 'as for gpassk judge-agreement (default: rule)', 'the verdicts (default: <-o>/verdicts)'
    )
    add('--questions', metavar='DATA', help='folder or hub name of LiveMathBench (default: from the prompts)')
    add_several(parser, '--k', 'answers drawn (default: as the config has)', type=listed(int), metavar='K')
    taus = 'τ (default: 0 0.25 0.5 0.75 1)'
    add_several(parser, '--threshold', taus, DEFAULT_THRESHOLDS, type=listed(float), metavar='TAU')
    share = 'of samples that may stay unjudged (default: %(default)s)'
    add('--unjudged-tolerance', type=float, default=0.01, metavar='SHARE', help=share)
    add_table_options(parser)
    add_several(parser, '--only', 'runs with one of these in <model>/<data set>', metavar='TEXT')


@dataclass(frozen=True)
class RejudgeRequest:
    """What `gpassk rejudge` is asked to do."""

    work_dir: Path
    output: Path
    check: bool
    judge: Mapping[str, Any]
    questions: str | None
    k: Sequence[int]
    threshold: Sequence[float]
    unjudged_tolerance: float
    only: Sequence[str]

    def target(self, run: OldRun) -> Path:
        """Return where the new result of a run goes."""
        return self.output / run.folder / f'{run.dataset}.json'


def run(arguments: Namespace) -> int:
    """Find, read, judge, write and compare.

    Returns:
        The exit code: 0, or 1 where a run could not be rejudged.
    """
    from ..sources.opencompass import find_runs

    request = _request(arguments)
    found = find_runs(request.work_dir)
    runs = _chosen(found, request)
    if not request.check:
        _check_places(request, runs)
        _check_targets(request, runs)
    print(described(request.work_dir, found, runs))
    failures: dict[str, GPassKError] = {}
    outcomes = list(_each(request, runs, failures))
    if done := [one for one in outcomes if one is not None]:
        _finish(request.output, done)
    return _told(failures, bool(outcomes))


def _request(arguments: Namespace) -> RejudgeRequest:
    from ..judges.build import check_judge

    k = [as_whole('k', k, 1, 100_000) for k in arguments.k]
    threshold = [as_threshold(threshold) for threshold in arguments.threshold]
    if not 0 <= arguments.unjudged_tolerance <= 1:
        raise InputError(f'--unjudged-tolerance {arguments.unjudged_tolerance}: expected a share from 0 to 1')
    output = arguments.output or Path(f'{arguments.work_dir.resolve().name}.rejudged')
    judge = chosen_judge(arguments, str(output / 'verdicts'))
    check_judge(judge)
    return requested(RejudgeRequest, arguments, k=k, threshold=threshold, output=output, judge=judge)


def _each(
    request: RejudgeRequest, runs: Sequence[OldRun], failures: dict[str, GPassKError]
) -> Iterator[Outcome | None]:
    """Yield the outcome of each run that can be read and judged, None with --check; fill `failures`."""
    from ..sources.rejudged import read_run

    for place, run in enumerate(runs):
        judging = False
        try:
            read = read_run(run, request.questions)
            print(findings_of(read), flush=True)
            judging = not request.check
            record = _judged(request, read) if judging else None
        except (InputError, IncompleteError) as error:
            failures[f'{run.place / run.name}'] = error
            if judging and isinstance(error, IncompleteError) and request.judge['type'] != 'rule':
                # The servers of the judge would be waited for at each run again.
                failures |= {
                    f'{left.place / left.name}': IncompleteError(_NOT_BEGUN) for left in runs[place + 1 :]
                }
                return
        else:
            yield outcome(read, record) if record else None


def _judged(request: RejudgeRequest, read: Read) -> dict[str, Any]:
    """Judge a run and write its record."""
    from ..judges.build import build_judge
    from ..results.samples import sample_file_beside
    from ..sources.rejudged import rejudged

    without = sum(not row.question for row in read.questions.rows)
    if without and request.judge['type'] != 'rule':
        raise InputError(
            f'{without} questions are not in the prediction files, and the judge reads them; give them with '
            '--questions FOLDER (<version>/<SPLIT>_<language>.jsonl) or a hub name, or judge by the rule'
        )
    target = request.target(read.run)
    _put_aside_if_damaged(target)
    with closing(build_judge(dict(request.judge))) as judge:
        _check_same_judge(target, judge.identity(), asked=False)
        record, samples = rejudged(
            read, judge, target.parent, request.k, request.threshold, request.unjudged_tolerance
        )
        _check_same_judge(target, judge.identity(), asked=True)
    with sample_file_beside(target, record, samples), opened(target, make_folder=True) as file:
        file.write(json.dumps(record, ensure_ascii=False, indent=1) + '\n')
    return record


def _check_places(request: RejudgeRequest, runs: Sequence[OldRun]) -> None:
    """Raise InputError if anything would be written into the old work directory."""
    places = [request.output, *map(request.target, runs), *_stores(request.judge)]
    inside = [place for place in places if place.resolve().is_relative_to(request.work_dir.resolve())]
    if inside:
        raise InputError(
            f'{inside[0]} is in the old work directory, which is only read; give another -o (or --store)'
        )


def _stores(config: Mapping[str, Any]) -> Iterator[Path]:
    """Yield where verdicts go: the judge's stores, and the one that goes before them."""
    from ..judges.store import STORE_VARIABLE
    from ..line_files import store_folder

    if os.environ.get(STORE_VARIABLE):
        yield store_folder(os.environ[STORE_VARIABLE])
    if config.get('store'):
        yield store_folder(config['store'])
    for part in config.values():
        if isinstance(part, Mapping):
            yield from _stores(part)


def _check_targets(request: RejudgeRequest, runs: Sequence[OldRun]) -> None:
    """Raise InputError unless each result gets a file of its own."""
    if request.output.exists() and not request.output.is_dir():
        raise InputError(f'-o {request.output} is no folder; expected one for the new results')
    taken: dict[Path, OldRun] = {}
    for run in runs:
        other = taken.setdefault(request.target(run), run)
        if other is not run:
            raise InputError(
                f'{other.place / other.name} and {run.place / run.name} would both be written to '
                f'{request.target(run)}; choose one with --only, and give the other another -o'
            )


def _put_aside_if_damaged(target: Path) -> None:
    """Make room for a new result where one is that nobody can read; it is kept under another name."""
    try:
        if target.exists():
            read_result(target)
    except InputError as error:
        aside = put_aside(target, utc_folder())
        print(printable(f'gpassk rejudge: {error}; put aside as {aside.name}'), file=sys.stderr)


def _check_same_judge(target: Path, identity: Mapping[str, object], asked: bool) -> None:
    """Raise InputError if the result of another judge would be lost.

    Args:
        asked: whether the judge was asked; before, what is served under its name is not known.
    """
    if not target.exists():
        return
    had = read_result(target).judge
    told, now = (had, identity) if asked else (_without_served(had), _without_served(identity))
    if json.dumps(told, sort_keys=True) != json.dumps(now, sort_keys=True, default=str):
        raise InputError(f'{target} is the result of another judge ({had.get("name")}); give another -o')


def _without_served(identity: Any) -> Any:
    if not isinstance(identity, Mapping):
        return identity
    return {name: _without_served(value) for name, value in identity.items() if name != 'served'}


def _chosen(found: Found, request: RejudgeRequest) -> list[OldRun]:
    runs = [run for run in found.runs if not request.only or any(text in run.name for text in request.only)]
    if runs:
        return runs
    if found.runs:
        names = ', '.join(run.name for run in found.runs[:10])
        raise InputError(f'no run has one of --only {list(request.only)} in its name; there are {names}')
    others = '\n'.join(f'  {name}: {why}' for name, why in found.left_alone.items())
    raise InputError(f'{request.work_dir} holds no LiveMathBench run of OpenCompass:\n{others}')


def _finish(out: Path, outcomes: Sequence[Outcome]) -> None:
    table, notes, csv = comparison(outcomes)
    print()
    show(table)
    print('', *notes, '', sep='\n')
    text = '\n'.join([table.to_markdown(), '', *notes])
    for name, content in (('comparison.md', f'{text}\n'), ('comparison.csv', csv)):
        with opened(out / name) as file:
            file.write(content)
    print(f'wrote {len(outcomes)} results and comparison.md, comparison.csv to {out}')


def _told(failures: Mapping[str, GPassKError], some: bool) -> int:
    """Say what failed and return the exit code; raise the first failure where nothing else was done."""
    for name, error in failures.items():
        if not some:
            raise type(error)(f'{name}: {error}')
        told = printable(f'{name}: {error}', keep='\n')
        print(f'gpassk rejudge: {told}', file=sys.stderr)
    return 1 if failures else 0
