"""`gpassk run` on a cluster: `--slurm`, `--ray`, `--emit kubernetes`."""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..runs.clusters import Cluster, ClusterDriver
from ..runs.clusters.driver import works_of
from ..runs.clusters.kubernetes import Volume, manifest
from ..runs.clusters.ray import Ray
from ..runs.clusters.slurm import Slurm
from ..runs.command import whole_options
from ..runs.driver import Watcher
from ..runs.examine import examine
from ..runs.gpus import ELSEWHERE
from ..runs.plan import Planned
from ..runs.processes import Stop
from ..runs.sessions import Session
from ..runs.state import Finding
from ..runs.work_dir import NOTES

if TYPE_CHECKING:
    from .run import RunRequest

OURS = ('-a', '--array', '-o', '--output', '-J', '--job-name', '--parsable', '-W', '--wait')
"""Options of sbatch that cannot be given."""


def add_cluster_arguments(parser: ArgumentParser) -> None:
    """Add where else than on this machine sessions run."""
    group = parser.add_argument_group('on a cluster, a job for all configs that share a loaded model')
    where = group.add_mutually_exclusive_group()
    where.add_argument('--slurm', metavar='PARTITION', help='as arrays of Slurm jobs')
    where.add_argument('--ray', metavar='ADDRESS', help="as tasks of a Ray cluster: 'auto', or HOST:PORT")
    where.add_argument(
        '--emit',
        choices=['kubernetes'],
        help='print jobs for Kubernetes; run nothing (with --image, --claim)',
    )
    group.add_argument(
        '--sbatch',
        action='append',
        default=[],
        metavar='OPTIONS',
        help="for sbatch, with or without their '--': --sbatch 'time=04:00:00 account=team'",
    )
    group.add_argument(
        '--detach',
        action='store_true',
        help='with --slurm: submit, and return; the same line without it waits',
    )
    group.add_argument('--image', help='with --emit: the container image, with this package in it')
    group.add_argument('--claim', help='with --emit: the claim of the volume that all jobs share')
    group.add_argument(
        '--mount', metavar='PATH', help='with --emit: where it is mounted (default: the current directory)'
    )


def cluster_words(arguments: Namespace) -> list[str]:
    """Return the options of a cluster again, for the line to type to go on."""
    words = [*_pair('--slurm', arguments.slurm), *_pair('--ray', arguments.ray)]
    return words + [word for given in arguments.sbatch for word in ('--sbatch', given)]


def check_cluster_arguments(arguments: Namespace) -> None:
    """Refuse options that do not fit together.

    Raises:
        InputError: which ones.
    """
    if arguments.gpus is not None and (arguments.slurm or arguments.ray or arguments.emit):
        raise InputError(
            f'--gpus {arguments.gpus!r}: it names GPUs of this machine; a job on a cluster gets as many as '
            'its model needs'
        )
    empty = [name for name in ('slurm', 'ray', 'image', 'claim', 'mount') if getattr(arguments, name) == '']
    if empty:
        raise InputError(f"--{empty[0]} '': expected a name; is a variable empty?")
    if arguments.sbatch and not arguments.slurm:
        raise InputError('--sbatch is for --slurm PARTITION')
    if arguments.detach and not arguments.slurm:
        raise InputError('--detach is for --slurm PARTITION: other jobs end with this command')
    given = [name for name in ('image', 'claim', 'mount') if getattr(arguments, name)]
    if given and not arguments.emit:
        raise InputError(f'--{given[0]} is for --emit kubernetes')
    if arguments.emit and not (arguments.image and arguments.claim):
        raise InputError(
            '--emit kubernetes needs --image IMAGE and --claim NAME (of a PersistentVolumeClaim)'
        )
    within = [word for word in whole_options(arguments.rest) if word in ELSEWHERE]
    if within and (arguments.slurm or arguments.ray or arguments.emit):
        raise InputError(
            f'{within[0]} behind -- would have each job submit jobs itself: leave one of the two out'
        )


def cluster_driver(
    arguments: Namespace,
    request: RunRequest,
    watcher: Watcher,
    stop: Stop,
    is_done: Callable[[Finding], bool],
    say: Callable[[str], None],
) -> ClusterDriver | None:
    """Return what drives the runs on the cluster that was asked for; None if they are for this machine.

    Args:
        arguments: of the command line.
        request: what they ask for.
        watcher: is told of every step.
        stop: becomes true when the user wants to stop.
        is_done: whether nothing is left to do for a run in this state.
        say: is told what concerns no single run.

    Raises:
        InputError: the cluster cannot be reached, or an option for it is wrong.
        MissingExtraError: Ray is not installed.
    """
    cluster = _cluster(arguments, request, say)
    if cluster is None:
        return None
    return ClusterDriver(
        cluster,
        request.outputs,
        lambda session: session_words(request, session),
        is_done,
        watcher,
        stop,
        say,
    )


def _cluster(arguments: Namespace, request: RunRequest, say: Callable[[str], None]) -> Cluster | None:
    notes = request.outputs.resolve() / NOTES
    if arguments.slurm:
        return Slurm(notes / 'slurm', _sbatch_options(arguments), arguments.jobs, say)
    if arguments.ray:
        return Ray(arguments.ray, notes / 'ray', arguments.jobs, say)
    return None


def _sbatch_options(arguments: Namespace) -> list[str]:
    try:
        given = [word for text in arguments.sbatch for word in shlex.split(text)]
    except ValueError as error:
        raise InputError(f'--sbatch: {error}') from error
    extra = [word if word.startswith('-') else f'--{word}' for word in given]
    own = [word for word in extra if word.partition('=')[0] in OURS]
    if own:
        raise InputError(f'--sbatch {own[0]}: array, name and output of the jobs are those of gpassk run')
    return [f'--partition={arguments.slurm}', *extra]


def session_words(request: RunRequest, session: Session) -> list[str]:
    """Return what follows `gpassk` for a session, on its node."""
    configs = [run.config for run in session.runs if run.config is not None]
    return request.here(configs).words()


def emit(
    arguments: Namespace, request: RunRequest, runs: Sequence[Planned], is_done: Callable[[Finding], bool]
) -> int:
    """Print the manifest of what is not complete; return the exit code.

    Raises:
        InputError: a path that the pods would not see, or a wrong name.
    """
    outputs = request.outputs.resolve()
    left = [run for run in runs if not is_done(examine(run, outputs / run.name))]
    if not left:
        say('all is complete')
        return 0
    works = works_of(left, outputs, lambda session: session_words(request, session), say)
    mount = Path(arguments.mount or '.').resolve()
    print(manifest(works, outputs, Volume(arguments.image, arguments.claim, mount), arguments.jobs), end='')
    say(f'{len(left)} runs in {len(works)} sessions; apply with: kubectl apply -f FILE')
    return 0


def detached(driver: ClusterDriver, runs: Sequence[Planned]) -> int:
    """Submit, and say how to follow; return the exit code."""
    if driver.place(runs):
        say('the jobs go on by themselves; the same line without --detach waits for them, gpassk check tells')
    else:
        say('all is complete')
    return 0


def say(text: str) -> None:
    """Say what concerns no single run."""
    print(text, file=sys.stderr, flush=True)


def _pair(option: str, value: str | Path | None) -> list[str]:
    return [option, str(value)] if value else []
