"""Configs that are sampled in rounds: n in steps, up to that of the config, under a name that says so."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import UNCERTAIN, digest, mapping, replace_file
from ..naming.file_names import check_file_name
from ..naming.limits import until_abbr
from ..sweep.configs import config_source, signature
from ..sweep.limits import takes_chosen
from ..sweep.older_datasets import ks_of, samples_of
from .config_file import Config, dicts_of
from .plan import Planned
from .work_dir import Wanted

FOLDER = Path('.gpassk', 'rounds')
"""Where the configs of rounds are written, in the folder of the work directories, a folder for each n."""

MOST_ROUNDS = 8
"""Unless --rounds says which: each costs a start of the tasks and a judging of all samples."""


@dataclass(frozen=True)
class Stepwise:
    """A config whose samples are drawn in rounds.

    Args:
        whole: as it was given, with n the most there may be.
        config: its values.
        ks: its k list.
        ns: samples a question after each round, rising; the last one is that of the config.
        outputs: the folder of the work directories.
    """

    whole: Planned
    config: Config
    ks: tuple[int, ...]
    ns: tuple[int, ...]
    outputs: Path

    @property
    def name(self) -> str:
        """Return the name of the run in all its rounds, and of its work directory."""
        return until_abbr(self.whole.name)

    @property
    def cap(self) -> int:
        """Return the most samples a question there may be."""
        return self.ns[-1]

    @property
    def work_dir(self) -> Path:
        """Return where all rounds are."""
        return self.outputs / self.name

    @property
    def dataset(self) -> Mapping[str, Any]:
        """Return the data set of the config as it was given."""
        return dicts_of(self.config, 'datasets')[0]

    @property
    def questions(self) -> int | None:
        """Return how many there are; None where that is not known before they are loaded."""
        return self.whole.wanted[0].questions if self.whole.wanted else None

    def following(self, n: int) -> int | None:
        """Return n of the round after that with n samples; None after the last one."""
        return next((later for later in self.ns if later > n), None)

    def planned(self, n: int) -> Planned:
        """Return the run of one round; nothing is written."""
        return self._planned(n)[0]

    def check_chosen(self) -> None:
        """Refuse a config of which a round cannot ask some of the questions.

        Raises:
            InputError: its data set is none of this package.
        """
        if not takes_chosen(self.dataset):
            raise InputError(
                f'--uncertain-first: {self.whole.config} has the data set {self.dataset.get("type")!r}, '
                'whose questions have no names by which some of them can be asked; use a data set of '
                'gpassk_opencompass, or leave the option out'
            )

    def at(self, n: int, chosen: Sequence[str] = ()) -> Planned:
        """Write the config of one round, unless it is there as it is, and return its run.

        Args:
            n: samples a question.
            chosen: uids of the questions that are asked, in a work directory within the other; none: all.

        Raises:
            InputError: it cannot be written.
        """
        run, content = self._planned(n, chosen)
        assert run.config is not None
        folder = run.config.parent
        try:
            if not run.config.is_file() or run.config.read_bytes() != content:
                folder.mkdir(parents=True, exist_ok=True)
                replace_file(run.config, content, folder / f'.writing-{os.getpid()}')
        except OSError as error:
            raise InputError(
                f'cannot write to {folder}: {error.strerror}; mend that, and the same line goes on from here'
            ) from error
        return run

    def _planned(self, n: int, chosen: Sequence[str] = ()) -> tuple[Planned, bytes]:
        left = {name: value for name, value in self.dataset.items() if name not in ('replication', 'samples')}
        dataset = {**left, 'abbr': until_abbr(str(self.dataset['abbr'])), 'n': n, 'k': list(self.ks)}
        questions = self.questions
        if chosen:
            dataset['chosen'], questions = list(chosen), len(chosen)
        config = {**self.config, 'datasets': [dataset]}
        assert self.whole.config is not None
        content = config_source(config, self.whole.config.name).encode()
        folder = f'uncertain-n{n}' if chosen else f'n{n}'
        path = (self.outputs / FOLDER / folder / f'{self.name}.py').absolute()
        entry = None if chosen else self.whole.entry
        if entry is not None:
            entry = replace(
                entry,
                file=path.name,
                dataset_abbr=dataset['abbr'],
                n=n,
                samples=None,
                signature=signature(config),
                sha256=digest(content),
            )
        wanted = Wanted(dicts_of(config, 'models')[0]['abbr'], dataset['abbr'], n, self.ks, questions)
        below = UNCERTAIN if chosen else Path()
        run = Planned(self.name, (wanted,), signature(config), path, digest(content), entry, below)
        return run, content


class RoundsPlan(NamedTuple):
    """Configs in rounds, and those that have one sample a question, which are run as they are."""

    stepwise: tuple[Stepwise, ...]
    greedy: tuple[Planned, ...]


def rounds_plan(runs: Sequence[Planned], asked: Sequence[int], least: int, outputs: Path) -> RoundsPlan:
    """Plan the rounds of configs, before anything is sampled.

    Args:
        runs: of the configs as they were given, n of each is the most there may be.
        asked: n of the rounds, see `rounds_of`; none: as many as `MOST_ROUNDS`.
        least: samples that the metric takes, its k.
        outputs: the folder of the work directories.

    Raises:
        InputError: a config that cannot have rounds, or none with several samples a question.
    """
    stepwise, greedy = [], []
    for run in runs:
        config = _checked(run)
        dataset = dicts_of(config, 'datasets')[0]
        n, ks = samples_of(dataset), ks_of(dataset)
        if n in (None, 1):
            greedy.append(run)
            continue
        if not isinstance(n, int) or not ks or not all(isinstance(k, int) for k in ks):
            raise InputError(f'{run.config}: n = {n!r}, k = {list(ks)}: expected whole numbers')
        try:
            ns = rounds_of(n, max(*ks, least), asked)
        except InputError as error:
            raise InputError(f'{run.config}: {error}') from error
        check_file_name(f'{until_abbr(run.name)}.py')
        stepwise.append(Stepwise(run, config, ks, ns, outputs))
    if not stepwise and not runs:
        raise InputError(
            '--until: there is no config to sample in rounds beside the run that it is to be decided '
            'against: give that of another run, too'
        )
    if not stepwise:
        names = ', '.join(run.name for run in runs[:3])
        raise InputError(
            f'--until: no config draws several samples a question ({names}): a greedy run has one, and '
            'nothing to stop'
        )
    return RoundsPlan(tuple(stepwise), tuple(greedy))


def rounds_of(cap: int, least: int, asked: Sequence[int] = ()) -> tuple[int, ...]:
    """Return n of each round, rising, the last one the cap.

    Args:
        cap: n of the config.
        least: samples below which there is nothing to look at: the largest k.
        asked: n of the rounds; the cap is the last one in any case. None: multiples of `least`.

    Raises:
        InputError: rounds that do not rise, or do not lie between `least` and the cap.

    >>> rounds_of(48, 16), rounds_of(64, 1), rounds_of(48, 16, (16, 32))
    ((16, 32, 48), (8, 16, 24, 32, 40, 48, 56, 64), (16, 32, 48))
    """
    if cap < least:
        raise InputError(f'n = {cap} is below the first round: the largest k is {least}')
    if not asked:
        step = least * -(-cap // (least * MOST_ROUNDS))
        return (*range(step, cap, step), cap)
    shown = ','.join(map(str, asked))
    if any(later <= earlier for earlier, later in pairwise(asked)):
        raise InputError(f'--rounds {shown}: expected numbers of samples that rise')
    if asked[0] < least:
        raise InputError(f'--rounds {shown}: the first round needs at least {least} samples, the largest k')
    if asked[-1] > cap:
        raise InputError(
            f'--rounds {shown}: {asked[-1]} is above the cap, n = {cap}: raise n in the template, or leave '
            'it out'
        )
    return tuple(dict.fromkeys((*asked, cap)))


def _checked(run: Planned) -> Config:
    """Return the values of a config, which can have rounds if it has several samples a question."""
    config = run.values()
    if config is None:
        raise InputError(
            f'{run.config} computes or imports its values, so the n of a round cannot be written into it: '
            'run it without --until, or expand a template'
        )
    models, datasets = dicts_of(config, 'models'), dicts_of(config, 'datasets')
    if len(models) != 1 or len(datasets) != 1:
        raise InputError(
            f'{run.config} has {len(models)} models and {len(datasets)} data sets: --until stops a model on '
            'a data set, so give each pair a config of its own'
        )
    for what, entry in (('model', models[0]), ('data set', datasets[0])):
        if not isinstance(entry.get('abbr'), str):
            raise InputError(f"{run.config}: its {what} has no abbr='…', under which its result is found")
    evaluator = mapping(mapping(datasets[0].get('eval_cfg')).get('evaluator'))
    if not str(evaluator.get('type')).endswith('GPassKEvaluator'):
        raise InputError(
            f'{run.config} is judged by {evaluator.get("type")}: --until needs the counts that '
            'GPassKEvaluator writes'
        )
    return config
