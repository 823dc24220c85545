"""The samples of a shard that are kept from earlier, and those that are drawn beside them.

OpenCompass asks its model for batches of rows. What stands in the place of the model here answers the rows
that a store has, asks the model for the others alone, and puts those into the store.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mmengine.dist import get_world_size
from opencompass.utils import get_logger, model_abbr_from_cfg

from ..errors import IncompleteError, InputError
from ..files import FROM_ENVIRONMENT
from ..line_files import store_folder
from ..results.health import NOT_DRAWN, Generation
from ..sample_store.choice import (
    OTHER_VERSION,
    REUSE_VARIABLE,
    SAME,
    WHOLE,
    Choice,
    Held,
    check_reuse,
    choose,
)
from ..sample_store.identity import Identity, Origin, sample_key
from ..sample_store.store import BESIDE, STORE_VARIABLE, WHAT, Kept, SampleStore
from ..serving import taken_from_environment
from ..times import utc_now
from .handover import GenerationsOfBatch, Sample
from .provenance import Provenance
from .task import Task
from .weights import files_of, unidentified
from .whole_run import WholeRun

MOST_TAKEN = 1000
"""Rows of a batch that are taken from the store: a batch is held in memory, and written at its end."""


class Row(NamedTuple):
    """A row of a shard."""

    sample: Sample
    prompt: Any
    """As it is sent."""
    question: Any
    reference: Any


class KeptSamples:
    """What a store has of a shard, and gets from it.

    Args:
        store: of the identity that the shard draws with.
        origin: of the run.
        seed_of: the seed of a sample; None: the model takes none.
        promised: '' if the engine draws the same sample again; else why not.
        reuse: which samples of other runs are taken, see `sample_store.choice`.
        named: whether somebody named the store: then one that cannot be written is an error.
        name: of the shard, for messages.
        rounds: ids of the origins that are earlier rounds of the same run.
    """

    def __init__(
        self,
        store: SampleStore,
        origin: Origin,
        seed_of: Callable[[Sample], int] | None,
        promised: str,
        reuse: str,
        named: bool,
        name: str,
        rounds: Collection[str] = (),
    ) -> None:
        self._store, self._origin, self._seed_of = store, origin, seed_of
        self._promised, self._reuse, self._named, self._name = promised, reuse, named, name
        self._rounds = rounds
        self._rows: Sequence[Row] = ()
        self._keys: list[str] = []
        self._choice = Choice((), {})
        self._told: dict[str, dict[str, Any]] = {}
        self._first = 0
        self._batch: dict[int, Kept | None] = {}
        self._failed: IncompleteError | None = None
        self._writes = True

    def look(self, rows: Sequence[Row], first: int, n: int, run: Callable[[], WholeRun | None]) -> None:
        """Find what there is of the rows that are left to do.

        Args:
            first: the number of the first of them.
            n: replicas of each question, in all shards.
            run: gives the samples of all shards, of which the rows are some; None if there are no others.
                It is asked only where they count: where all may be taken of one run, or none.

        Raises:
            IncompleteError: see `sample_store.choice.choose`.
        """
        self._rows, self._first = rows, first
        self._keys = [self._key(row.sample, row.prompt) for row in rows]
        store, own = self._store, self._origin.id
        alike = [one for one in store.origins if store.folder_of(one) == store.folder]
        sure = {own, *self._rounds, *([] if self._promised else alike)}
        whole = run() if self._reuse == SAME and set(store.origins) - sure else None
        keys = self._viewed(n) if whole is None else list(map(self._key, whole.samples, whole.prompts))
        places = list(map(store.places, keys))
        held = Held(places, own, alike, self._promised, store.origins, self._rounds)
        self._choice = choose(held, self._reuse, self._name if whole is None else whole.name)
        self._told = {one: self._origin_told(one, how) for one, how in self._choice.taken_as.items() if how}
        store.touch()
        self._tell()

    def batches(self, items: Sequence[Any], size: int) -> list[Sequence[Any]]:
        """Cut rows into batches with at most `size` rows to draw, and what is kept between them."""
        cut, missing, start = [], 0, 0
        for place, key in enumerate(self._keys):
            lacks = self._place_of(key) is None
            if missing + lacks > size or place - start >= MOST_TAKEN + size:
                cut.append(items[start:place])
                missing, start = 0, place
            missing += lacks
        return [*cut, *([items[start:]] if start < len(items) else [])]

    def begin(self, first: int, count: int) -> list[Sample]:
        """Read what is kept of the next batch of rows; return the samples that are to be drawn.

        Raises:
            InputError: there are some, and the store that somebody named cannot be written.
            IncompleteError: what was drawn before could not be kept, for want of room.
        """
        if self._failed is not None:
            raise self._failed
        self._batch = {row: self._kept(row - self._first) for row in range(first, first + count)}
        missing = [self._rows[row - self._first].sample for row, kept in self._batch.items() if kept is None]
        if missing and self._writes:
            self._open()
        return missing

    def origin_of(self, row: int) -> dict[str, Any] | None:
        """Return what a row of the batch says of the run that drew it; None for this run."""
        kept = self._batch.get(row)
        return None if kept is None else self._told.get(kept.origin)

    def answer(
        self,
        templates: Sequence[Any],
        draw: Callable[[Sequence[Any]], tuple[Sequence[Any], Sequence[Generation]]],
    ) -> tuple[list[Any], list[Generation]]:
        """Return the responses of the batch, and what is known of each.

        Args:
            templates: one a row.
            draw: has the model answer some of them.
        """
        rows = dict(zip(self._batch, templates, strict=True))
        missing = [row for row, kept in self._batch.items() if kept is None]
        texts, told = draw([rows[row] for row in missing]) if missing else ((), ())
        drawn = dict(zip(missing, zip(texts, told, strict=True), strict=True))
        answers = [drawn[row] if kept is None else _answer(kept) for row, kept in self._batch.items()]
        return [text for text, _ in answers], [one for _, one in answers]

    def keep(self, texts: Sequence[Any], told: Sequence[Generation]) -> None:
        """Put those samples of the batch into the store that were drawn for it."""
        for (row, kept), text, one in zip(self._batch.items(), texts, told, strict=True):
            if kept is None and self._writes and self._failed is None and _is_sample(text, one):
                self._put(row - self._first, text, one)

    def close(self) -> None:
        """Let go of the store; nothing of the run is lost if it could not take all."""
        try:
            self._store.close()
        except IncompleteError as error:
            self._failed = error
        if self._failed is not None:
            get_logger().warning(f'{self._name}: {self._failed}')

    def _origin_told(self, origin: str, taken_as: str) -> dict[str, Any]:
        told = {**self._store.origins[origin]._asdict(), 'taken_as': taken_as}
        if self._store.folder_of(origin) != self._store.folder:
            told['versions'] = dict(self._store.versions_of(origin))
        return told

    def _kept(self, number: int) -> Kept | None:
        place = self._place_of(key := self._keys[number])
        kept = None if place is None else self._store.read(place)
        return kept if kept is not None and kept.key == key else None

    def _place_of(self, key: str) -> Any:
        places = self._store.places(key)
        return next((places[one] for one in self._choice.origins if one in places), None)

    def _open(self) -> None:
        try:
            self._store.open()
        except InputError as error:
            if self._named:
                raise
            self._writes = False
            get_logger().warning(f'{self._name}: {error}, in ${STORE_VARIABLE}. Samples are not kept now')

    def _put(self, number: int, text: str, told: Generation) -> None:
        row = self._rows[number]
        about = {
            **row.sample._asdict(),
            'seed': None if self._seed_of is None else self._seed_of(row.sample),
            'question': row.question,
            'reference': row.reference,
            'prompt': row.prompt,
            'generation': told.as_json(),
            'response': text,
            'time': utc_now(),
        }
        try:
            self._store.put(self._keys[number], self._origin, about)
        except IncompleteError as error:  # raised before the next batch: this one is not lost
            self._failed = error

    def _key(self, sample: Sample, prompt: Any) -> str:
        seed = None if self._seed_of is None else self._seed_of(sample)
        return sample_key(self._store.identity, sample.uid, sample.replica, seed, prompt)

    def _viewed(self, n: int) -> list[str]:
        """Return the keys of all n replicas of the questions of these rows."""
        keys = {row.sample: key for row, key in zip(self._rows, self._keys, strict=True)}
        for uid, prompt in {row.sample.uid: row.prompt for row in self._rows}.items():
            for sample in (Sample(uid, replica) for replica in range(n)):
                if sample not in keys:
                    keys[sample] = self._key(sample, prompt)
        return list(keys.values())

    def _tell(self) -> None:
        kept = sum(self._place_of(key) is not None for key in self._keys)
        if self._store.damaged:
            get_logger().warning(f'{self._store.root}: {self._store.damaged} damaged lines were skipped')
        if kept:
            get_logger().info(
                f'{self._name}: {kept} of {len(self._keys)} samples are taken from {self._store.root}, '
                f'{len(self._keys) - kept} are to be drawn'
            )
        for one in (one for one, how in self._choice.taken_as.items() if how == WHOLE and kept):
            origin, why = self._store.origins[one], self._promised or OTHER_VERSION
            get_logger().warning(
                f'{self._name}: they are all of {origin.run} ({origin.since}), and may not be those that '
                f'would be drawn now: {why}. If another checkpoint has this name now, draw anew with --reuse '
                f'none, or {REUSE_VARIABLE}=none, or give it another abbr'
            )


class Stocked:
    """Stands where an inferencer has its model, and asks it for what is not kept.

    Args:
        model: answers the rest; everything else is its own.
        kept: what there is.
        seen: see `handover.Answered`.
    """

    def __init__(
        self, model: Any, kept: KeptSamples, seen: Callable[[Sequence[Generation], str], object]
    ) -> None:
        self._model, self._kept, self._seen = model, kept, seen
        self.generations = GenerationsOfBatch()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def generate_from_template(self, templates: Sequence[Any], *given: Any, **options: Any) -> list[Any]:
        """Return the responses of a batch; see the base class of the models of OpenCompass."""
        own = getattr(self._model, 'generations', None)
        noted = own if isinstance(own, GenerationsOfBatch) else GenerationsOfBatch()
        noted.take(0), noted.take_said()  # of a batch that failed

        def draw(missing: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Generation]]:
            texts = self._model.generate_from_template(missing, *given, **options)
            if len(texts) != len(missing):
                raise RuntimeError(f'the model was asked {len(missing)} prompts and answered {len(texts)}')
            return texts, noted.take(len(texts)) or [Generation()] * len(texts)

        texts, told = self._kept.answer(templates, draw)
        self._seen(told, noted.take_said())
        self._kept.keep(texts, told)
        self.generations.note(told)
        return texts


def kept_samples(
    inferencer: Any, task: Task | None, known: Provenance, predictions: Path
) -> KeptSamples | None:
    """Return what is kept of a shard; None where nothing can be: it is not known what determines a sample.

    Args:
        inferencer: with its model.
        task: what the config says of it.
        known: what the run draws its samples with.
        predictions: of the shard.

    Raises:
        InputError: `$GPASSK_REUSE` is none of its values, or `$GPASSK_SAMPLES` cannot be read.
    """
    reuse = check_reuse(os.environ.get(REUSE_VARIABLE))
    root = next((above for above in predictions.parents if above.name == 'predictions'), None)
    if task is None or root is None or not _takes_one_by_one(inferencer):
        return None
    work_dir = root.parent.parent.absolute()
    named = os.environ.get(STORE_VARIABLE)
    place = store_folder(named) if named else work_dir.parent.joinpath(*BESIDE)
    files = _without_variables(known)
    identity = Identity(_told_of_model(task, known), files, known.versions, task.inference_settings)
    try:
        store = SampleStore(place, identity)
    except InputError as error:
        if named:
            raise
        get_logger().warning(f'{error}: {WHAT} are neither taken from there nor kept; see ${STORE_VARIABLE}')
        return None
    model = inferencer.model
    seed_of = getattr(getattr(model, 'seeds', None), 'seed_of', None)
    return KeptSamples(
        store,
        Origin(work_dir.name, known.created),
        seed_of if callable(seed_of) else None,
        _unpromised(model, known),
        reuse,
        bool(named),
        predictions.stem,
    )


def _told_of_model(task: Task, known: Provenance) -> dict[str, Any]:
    """Return what chooses a run's samples of what is said of its model.

    That is also the name under which a server knows it, which may be that of an adapter, and what its command
    line takes from the environment. Where nothing identifies the weights, the model's own name counts: one
    server may have had several checkpoints, all as 'default'.
    """
    told = dict(known.model)
    if served := task.model.get('served_name'):
        told['served_name'] = str(served)
    tokenizer = known.model.get('tokenizer_path')
    if tokenizer and not _without_variables(
        known
    ):  # its chat template may be applied here, whoever has the weights
        told['tokenizer_files'] = files_of({'tokenizer_path': tokenizer})
    if isinstance(serve := task.model.get('serve'), Mapping):
        told['serve_variables'] = taken_from_environment(serve)
    if unidentified(known.model, known.files):
        told['abbr'] = model_abbr_from_cfg(task.model)
    return told


def _without_variables(known: Provenance) -> dict[str, Any]:
    """Return the files of the model alone; what its server takes from the environment is told elsewhere."""
    return {name: told for name, told in known.files.items() if not name.startswith(FROM_ENVIRONMENT)}


def _unpromised(model: Any, known: Provenance) -> str:
    """Return why a model may not draw a sample as it was drawn before; '' if it does."""
    if getattr(model, 'is_api', False):
        return 'the model is behind a server, which promises no sample a second time'
    if not callable(getattr(getattr(model, 'seeds', None), 'seed_of', None)):
        return 'the model takes no seed for a sample'
    if missing := unidentified(known.model, known.files):
        where = 'is neither here nor in the cache of the hub'
        return f'nothing tells which weights it has: its {missing[0]} {where}'
    return ''


def _takes_one_by_one(inferencer: Any) -> bool:
    """Whether each call of the model has a text for each row, in one process."""
    several = (getattr(inferencer.model, 'generation_kwargs', None) or {}).get('num_return_sequences', 1) != 1
    return not (several or inferencer.multiround or inferencer.dump_only_message_path or get_world_size() > 1)


def _answer(kept: Kept) -> tuple[str, Generation]:
    return kept.response, Generation.from_json(kept.about.get('generation'))


def _is_sample(text: Any, told: Generation) -> bool:
    """Whether a response is one of the model; an empty one of which nothing is known may be a failure."""
    return isinstance(text, str) and told.state not in NOT_DRAWN and bool(text or told.as_json())
