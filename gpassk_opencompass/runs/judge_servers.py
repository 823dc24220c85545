"""The servers of judges that runs start by themselves (`judge_serve`): what is missing here, and their GPUs.

A judge with GPUs of its own has them for the whole `gpassk run`: no model is loaded there. One without is
given some when all samples of its runs are drawn and no model is loaded any more.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import InputError
from ..files import mapping
from ..serving import JUDGE_GPUS, JudgeServer, read_judge_server
from .command import ELSEWHERE, Options
from .config_file import Config, dicts_of, is_local, runner_of
from .gpus import ORDER, VISIBLE, Gpu, also_named, why_never
from .plan import Planned


@dataclass(frozen=True)
class JudgePlaces:
    """Where the judges of runs are to be."""

    refused: Mapping[str, str] = field(default_factory=dict)
    """Run → why its judge cannot be started here."""
    own: tuple[str, ...] = ()
    """The ids of usable GPUs that judges have for their own."""
    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Run → the GPUs that its judge is given when all samples are drawn."""

    def variables(self, run: str, environment: Mapping[str, str]) -> dict[str, str]:
        """Return what a command that judges is told, beside its environment."""
        if run not in self.given:
            return {}
        order = {} if VISIBLE in environment else {ORDER: environment.get(ORDER, 'PCI_BUS_ID')}
        return {JUDGE_GPUS: ','.join(self.given[run]), **order}


def judge_places(runs: Iterable[Planned], gpus: Sequence[Gpu], options: Options) -> JudgePlaces:
    """Say where the judges of runs will be, before anything is sampled for them.

    Args:
        runs: that are to be judged.
        gpus: that may be used; none: they are not counted.
        options: of the commands; where nothing is judged on this machine, nothing is looked at.
    """
    if options.mode == 'infer' or {*ELSEWHERE} & {*options.passed}:
        return JudgePlaces()
    refused: dict[str, str] = {}
    servers: dict[str, list[JudgeServer]] = {}
    for run in runs:
        try:
            servers[run.name] = _judged_here(run.values() or {})
        except InputError as error:
            refused[run.name] = str(error)
    own, wrong = _looked_at([server for found in servers.values() for server in found], gpus)
    refused |= {
        name: wrong[_key(server)]
        for name, found in servers.items()
        for server in found
        if _key(server) in wrong
    }
    left = [gpu for gpu in gpus if gpu.id not in own]
    given = _Given(left, tuple(gpu.id for gpu in gpus if gpu.id in own))
    for name in [name for name in servers if name not in refused and gpus]:
        try:
            given.place(name, servers[name])
        except InputError as error:
            refused[name] = str(error)
    return JudgePlaces(refused, given.own, given.of_run)


def judge_servers_in(config: Config) -> list[JudgeServer]:
    """Return the servers of the judges that a config names, each once.

    Raises:
        InputError: see `read_judge_server`.
    """
    found = {}
    for dataset in dicts_of(config, 'datasets'):
        told = mapping(mapping(dataset.get('eval_cfg')).get('evaluator')).get('judge_serve')
        if told is not None:
            server = read_judge_server(told)
            found[_key(server)] = server
    return list(found.values())


def missing_judges(configs: Iterable[Config]) -> list[str]:
    """Return why judges of configs cannot be started on this machine, a line each.

    Raises:
        InputError: see `read_judge_server`.
    """
    servers = (server for config in configs for server in _judged_here(config))
    return list(_looked_at(servers, ())[1].values())


def _judged_here(config: Config) -> list[JudgeServer]:
    """Return the servers that evaluations on this machine start."""
    return judge_servers_in(config) if is_local(runner_of(config, 'eval')) else []


def _looked_at(
    servers: Iterable[JudgeServer], gpus: Sequence[Gpu]
) -> tuple[frozenset[str], Mapping[str, str]]:
    """Return which usable GPUs servers have for their own, and why some cannot be started, by `_key`."""
    own: set[str] = set()
    wrong: dict[str, str] = {}
    for key, server in {_key(server): server for server in servers}.items():
        try:
            _check_path(server)
            server.check_here()
            if server.gpus and server.count and gpus:
                own |= {*also_named(server.gpus, gpus)}
        except InputError as error:
            wrong[key] = str(error)
    return frozenset(own), wrong


def _check_path(server: JudgeServer) -> None:
    program = shlex.split(server.serve.command)[0]
    if os.path.dirname(program) and not program.startswith(('/', '$', '~')):
        raise InputError(
            f'judge_serve.serve.command begins with {program!r}, a relative path: write an absolute one; '
            'runs are judged in directories of their own'
        )


class _Given:
    """GPUs for judges without any of their own: each judge has others than the next.

    Their servers stay until the end of `gpassk run`, so two cannot have the same ones in turn.
    """

    def __init__(self, gpus: Sequence[Gpu], own: tuple[str, ...]) -> None:
        self._gpus, self.own = gpus, own
        self._of_judge: dict[str, tuple[str, ...]] = {}
        self.of_run: dict[str, tuple[str, ...]] = {}

    def place(self, run: str, servers: Sequence[JudgeServer]) -> None:
        """Find GPUs for the judges of a run.

        Raises:
            InputError: there are too few of them.
        """
        wanting = [server for server in servers if server.gpus is None and server.count]
        if len(wanting) > 1:
            raise InputError(
                'judge_serve: its data sets have several judges without GPUs of their own; give each of them '
                "gpus = '…'"
            )
        for server in wanting:
            self.of_run[run] = self._gpus_of(server)

    def _gpus_of(self, server: JudgeServer) -> tuple[str, ...]:
        key = _key(server)
        if key not in self._of_judge:
            if why := why_never(server.count, self._gpus):
                theirs = f' (judges have {", ".join(self.own)})' if self.own else ''
                raise InputError(f'judge_serve {why}{theirs}')
            used = {gpu for gpus in self._of_judge.values() for gpu in gpus}
            able = [
                gpu.id for gpu in self._gpus if gpu.id not in used and not (gpu.is_part and server.count > 1)
            ]
            if len(able) < server.count:
                raise InputError(
                    f'judge_serve needs {server.count} GPUs, and judges of other runs have {len(used)} of '
                    f'{len(self._gpus)}: run the configs of this judge by themselves, or give it gpus'
                )
            self._of_judge[key] = tuple(able[: server.count])
        return self._of_judge[key]


def _key(server: JudgeServer) -> str:
    """Return what tells servers apart, on one machine."""
    return json.dumps(server.config(), sort_keys=True)
