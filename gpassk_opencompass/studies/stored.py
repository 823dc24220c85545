"""The stored responses of a finished run, with what the model was asked: nothing is sampled anew."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from ..answers.thoughts import opening_of
from ..errors import InputError
from ..files import mapping
from ..results.health import NOT_DRAWN
from ..results.predictions import prediction_text, read_predictions
from ..results.result import Result
from .layer_means import Tokens

Messages = list[dict[str, str]]

_ROLES = {'HUMAN': 'user', 'BOT': 'assistant', 'SYSTEM': 'system'}
"""Of OpenCompass's prompts → of chat templates."""

MOST_OTHER = 0.01
"""Share of prompts whose number of tokens may differ from the recorded one."""


class Stored(NamedTuple):
    """One response of a run."""

    uid: str
    replica: int
    problem: str
    group: str
    verdict: str
    """'correct', 'incorrect' or 'unjudged'."""
    messages: Messages
    text: str
    prompt_tokens: int | None
    output_tokens: int | None
    """As the engine counted them; None where it did not say."""


class Asked(NamedTuple):
    """A response as tokens, and what the engine counted."""

    stored: Stored
    tokens: Tokens


def responses_of(result: Result, replicas: int | None = None, groups: str = '*') -> list[Stored]:
    """Return the responses of a run of OpenCompass with their prompts, from its predictions.

    Samples that were never drawn, and empty ones, are left out.

    Args:
        replicas: only the first so many of each question; None: all.
        groups: only questions of groups of this pattern, such as `*_en`.

    Raises:
        InputError: the record does not say where they are, or a file of predictions is missing, damaged or
            another one than was judged; or no group is of the pattern.
    """
    columns = _columns(result, 'uid', 'replica', 'verdict', 'file', 'row')
    told = {name: _column(result, name) for name in ('prompt_tokens', 'output_tokens', 'state')}
    lengths = _column(result, 'response_characters')
    chosen = {
        uid: (problem, group)
        for uid, problem, group in zip(result.uids, result.problems, result.groups, strict=True)
        if fnmatchcase(group, groups)
    }
    if not chosen:
        known = ', '.join(dict.fromkeys(result.groups))
        raise InputError(f'{result.path}: no group is called {groups!r}; there are {known}')
    files: dict[str, Mapping[str, Any]] = {}
    found = []
    for place, (uid, replica, verdict, file, row) in enumerate(zip(*columns, strict=True)):
        if uid not in chosen or told['state'][place] in NOT_DRAWN:
            continue
        if replicas is not None and replica >= replicas:
            continue
        path = result.path.parent / file
        if file not in files:
            files[file] = read_predictions(path)
        entry = mapping(files[file].get(str(row)))
        text = prediction_text(path, row, entry, lengths[place])
        messages = _messages(path, row, entry)
        if text:
            counts = told['prompt_tokens'][place], told['output_tokens'][place]
            found.append(Stored(uid, replica, *chosen[uid], verdict, messages, text, *counts))
    if not found:
        raise InputError(f'{result.path}: all of its responses are empty')
    return found


def _columns(result: Result, *names: str) -> list[Sequence[Any]]:
    columns = [None if result.samples is None else result.samples.column(name) for name in names]
    if any(column is None or None in column for column in columns):
        raise InputError(
            f'{result.path} does not say where its responses are: expected a result of an OpenCompass run '
            f'with the sample file ({result.path.stem}.samples.parquet) and the predictions beside it'
        )
    return [column for column in columns if column is not None]


def _column(result: Result, name: str) -> Sequence[Any]:
    column = result.samples.column(name) if result.samples else None
    return [None] * (len(result.uids) * result.n) if column is None else column


def _messages(path: Path, row: int, entry: Mapping[str, Any]) -> Messages:
    """Return a prompt of OpenCompass as messages, as its models make them; neighbours of one role are one."""
    prompt = entry.get('origin_prompt')
    told: Any = [{'role': 'HUMAN', 'prompt': prompt}] if isinstance(prompt, str) else prompt
    try:
        said = [(_ROLES.get(one['role'], one['role']), one.get('prompt', one.get('content'))) for one in told]
    except (TypeError, KeyError, AttributeError):
        said = []
    messages: Messages = []
    for role, text in said:
        if text and messages and messages[-1]['role'] == role:
            messages[-1]['content'] += f'\n{text}'
        elif text:
            messages.append({'role': role, 'content': text})
    if not messages:
        raise InputError(f'{path}, row {row}: origin_prompt is {prompt!r:.60}; expected a text or messages')
    return messages


def tokens_of(
    responses: Sequence[Stored],
    tokenizer: Any,
    template: Mapping[str, Any] | None = None,
    accept_other: bool = False,
) -> list[Asked]:
    """Return the tokens of prompts and responses, as the engine `huggingface` makes them.

    The prompt with its chat template is what the model read; the response is tokenized behind it, without the
    token that ended it. Tokens themselves are not stored, so a sampled token that its text does not give back
    becomes others.

    Args:
        tokenizer: of transformers.
        template: further arguments of the chat template, such as `enable_thinking`.
        accept_other: prompts may have another number of tokens than the engine counted.

    Raises:
        InputError: the tokenizer has no chat template, or more than `MOST_OTHER` of the prompts do not have
            the number of tokens that the engine counted.
    """
    if not getattr(tokenizer, 'chat_template', None):
        raise InputError(
            'the tokenizer has no chat template, so what the model was asked is not known; give the one of '
            'the run: --tokenizer PATH'
        )
    asked = list(_tokenized(responses, tokenizer, template or {}))
    counted = [one for one in asked if one.stored.prompt_tokens is not None]
    others = [one for one in counted if len(one.tokens.prompt) != one.stored.prompt_tokens]
    if len(others) > MOST_OTHER * len(counted) and not accept_other:
        first = others[0]
        raise InputError(
            f'{len(others)} of {len(counted)} prompts have another number of tokens than the engine counted: '
            f'that of {first.stored.uid} has {len(first.tokens.prompt)}, recorded are '
            f'{first.stored.prompt_tokens}. The tokenizer or its chat template is another one than that of '
            'the run: give --model or --tokenizer, or --accept-other to go on all the same'
        )
    return [one for one in asked if one.tokens.response]


def _tokenized(responses: Sequence[Stored], tokenizer: Any, template: Mapping[str, Any]) -> Iterator[Asked]:
    prompts: dict[str, tuple[str, array[int]]] = {}

    def tokens(text: str) -> array[int]:
        """Return tokens at 4 bytes each: a list of those of a long run takes gigabytes."""
        return array('i', tokenizer(text, add_special_tokens=False)['input_ids'])

    for one in responses:
        name = repr(one.messages)
        if name not in prompts:
            text = tokenizer.apply_chat_template(
                one.messages, add_generation_prompt=True, tokenize=False, **template
            )
            prompts[name] = text, tokens(text)
        prompt, ids = prompts[name]
        # A thought that the prompt began and the limit cut is kept with that mark in front.
        said = one.text.removeprefix(opening_of(prompt))
        yield Asked(one, Tokens(ids, tokens(said)))


def length_notes(asked: Sequence[Asked]) -> list[str]:
    """Return a sentence where the responses have clearly other numbers of tokens than the engine counted."""
    counted = [one for one in asked if one.stored.output_tokens is not None]
    here = sum(len(one.tokens.response) + 1 for one in counted)  # and the one that ended it
    recorded = sum(one.stored.output_tokens or 0 for one in counted)
    if not recorded or abs(here - recorded) <= 0.05 * recorded:
        return []
    return [
        f'the responses have {here} tokens here and {recorded} by the record: text is missing (a server that '
        'keeps thoughts to itself), or the tokenizer is another one'
    ]
