"""A model that draws each sample from a seed of its own, and what becomes of its responses."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from types import FrameType
from typing import Any

from ..answers.thoughts import opening_of, part, without_ends
from ..completion import ENDS, Reply
from ..errors import InputError
from ..health import CUT_OFF, NOT_DRAWN, Generation, state_of

SEED_BITS = 53
"""Seeds stay below 2^53: exact in JSON numbers and in every engine's 64-bit integer."""

SERVER_BITS = 31
"""Seeds sent to a server stay below 2^31: some keep them in a signed 32-bit integer."""

Done = Callable[[int, str, Generation, str], None]
"""Takes the response to a prompt: its number, the text, what the engine told, and what it said in words."""


def sample_seed(random_seed: int, uid: str, replica: int, bits: int = SEED_BITS) -> int:
    """Return the seed of a sample, uniform in [0, 2^bits); fewer bits are the upper ones."""
    name = f'{random_seed}\0{uid}\0{replica}'.encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), 'big') >> (64 - bits)


def current_task() -> Any:
    """Return the task of OpenCompass that is at work in this process; None if none is.

    It hands neither its inferencer nor its evaluator the entries of model and data set, `model_cfg` and
    `dataset_cfg`: they are taken from the callers of this function, or, in a thread, of the main one's.
    """
    for newest in (sys._getframe(), *sys._current_frames().values()):
        frame: FrameType | None = newest
        while frame is not None:
            task = frame.f_locals.get('self')
            if {'model_cfg', 'dataset_cfg'} <= getattr(task, '__dict__', {}).keys():
                return task
            frame = frame.f_back
    return None


class Seeded:
    """A model of which each sample has a seed of its own; comes before a model class of OpenCompass.

    `SeededGenInferencer` calls `sample` with prompts and seeds, and writes each response as it is told.
    OpenCompass's own inferencers call `generate`: their prompts get seeds by their content and by how often
    they came, so that a config may hold other data sets of OpenCompass beside those of this package.
    """

    random_seed: int | None = None  # None: samples have no seeds
    bits = SEED_BITS
    one_by_one = False  # whether responses come one by one: `sample` gets all prompts at once, else a batch

    def seed_of(self, uid: str, replica: int) -> int | None:
        """Return the seed of a sample."""
        return None if self.random_seed is None else sample_seed(self.random_seed, uid, replica, self.bits)

    def sample(
        self, prompts: Sequence[Any], seeds: Sequence[Any], max_out_len: int, done: Done, **options: Any
    ) -> None:
        """Draw a response to each prompt; `options` are `stopping_criteria` and `min_out_len`."""
        raise NotImplementedError

    def generate(
        self,
        inputs: list[Any],
        max_out_len: int = 512,
        min_out_len: int | None = None,
        stopping_criteria: Sequence[str] = (),
        **_: Any,
    ) -> list[str]:
        """Return a text a prompt, as OpenCompass's own inferencers ask for; of each question one sample."""
        task = current_task()
        if task is not None and (n := task.dataset_cfg.get('n', 1)) != 1:
            raise InputError(
                f'{task.dataset_cfg.get("abbr")}: n = {n} with an inferencer of OpenCompass, which cannot '
                'tell the samples of a question apart: in shards they would be copies. Write '
                "inferencer=dict(type='gpassk_opencompass.SeededGenInferencer') into its infer_cfg"
            )
        texts, seeds = [''] * len(inputs), []
        calls = self.__dict__.setdefault('_calls', defaultdict(count))
        for prompt in inputs:
            mark = hashlib.sha256(json.dumps(prompt, default=str).encode()).hexdigest()
            seeds.append(self.seed_of(mark, next(calls[mark])))  # OpenCompass may call from several threads

        def done(number: int, text: str, *_: Any) -> None:
            texts[number] = text

        options = {'stopping_criteria': list(stopping_criteria), 'min_out_len': min_out_len}
        self.sample(inputs, seeds, max_out_len, done, **options)
        return texts


# Responses


def response_of(
    reply: Reply, seconds: float | None = None, think_tag: str = '</think>', prompt: str = ''
) -> tuple[str, Generation]:
    """Return the text of a reply as it is kept, and what its engine tells of it.

    Whatever is no usual response has a state of `health.STATES`; of those in `NOT_DRAWN` the text is ''.
    Reasoning that a server sends apart comes before the content, closed by `think_tag`. Where there is no
    content it stays open (`<think>…`), so that nobody takes what stands in it for the answer; so does a
    thought that `prompt` (with its chat template) began and the limit cut. One that ended by itself is left:
    some templates end with `<think>` and their model may have had no thought.
    """
    finish, state = reply.finish.casefold(), None
    end = ENDS.get(finish, finish)
    if reply.refusal or finish == 'refusal':
        state = 'refusal'
    elif end in NOT_DRAWN:
        state = end
    elif reply.calls_tool and not reply.text.strip() and end != 'cut':
        state = 'tool call'
    counts = {name: getattr(reply, name) for name in ('prompt_tokens', 'output_tokens', 'reasoning_tokens')}
    reason = CUT_OFF if end == 'cut' else reply.finish
    told = Generation.from_json({'finish_reason': reason, 'seconds': seconds, 'state': state, **counts})
    if state in NOT_DRAWN:
        return '', told
    text = reply.text if reply.text.strip() else reply.refusal or reply.text
    if reply.thought and text.strip():
        text = f'{reply.thought}{think_tag}{text}'
    elif reply.thought:  # an end within it would make an answer of what follows
        text = f'<think>{without_ends(reply.thought)}'
    elif prompt and end == 'cut' and not part(text).thought:
        text = opening_of(prompt) + text
    # What was sent apart is no part of the text that tells, whatever `think_tag` is.
    telling = reply.text if reply.text.strip() else text
    return text, told._replace(state=state or state_of(telling, part(telling).said, None, told.finish_reason))


# What a model class of OpenCompass would drop or overrule without a word, refused before it loads

LENGTH = "the inferencer's max_out_len decides; remove it"
COUNT = 'a sample is one request; let the data set draw n of them'
SEED = (
    'one fixed value would give all samples of a question the same random numbers; write random_seed=… '
    'beside path, each sample then gets its own'
)
OF_SAMPLE = {'seed': SEED, 'random_seed': SEED, 'n': COUNT}
"""What no engine may be given, and why."""


def refuse(where: str, given: Mapping[str, Any], reasons: Mapping[str, str]) -> None:
    """Raise InputError for the first key that has a reason."""
    for key, reason in reasons.items():
        if key in given:
            raise InputError(f'{where} has {key} = {given[key]!r}: {reason}')
