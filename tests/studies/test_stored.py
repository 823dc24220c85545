"""Tokens of stored responses, and what is advised where they are not those of the run."""

from __future__ import annotations

import re
import tracemalloc
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpassk_opencompass.cli.study_coe import add_arguments
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.studies.journal import key_of
from gpassk_opencompass.studies.layer_means import Tokens
from gpassk_opencompass.studies.sampled_with import Sampled
from gpassk_opencompass.studies.stored import Stored, tokens_of


class CodePoints:
    """A tokenizer whose tokens are characters, numbered like those of a large vocabulary."""

    chat_template = 'made'

    def apply_chat_template(self, messages: Any, **_: Any) -> str:
        return ''.join(one['content'] for one in messages)

    def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
        return {'input_ids': [100_000 + ord(letter) for letter in text]}


def stored(text: str, prompt_tokens: int | None = None) -> Stored:
    messages = [{'role': 'user', 'content': 'ask'}]
    return Stored('q', 0, 'p', 'g', 'correct', messages, text, prompt_tokens, None)


def test_a_token_takes_four_bytes() -> None:
    """Of 200 responses of 5,000 tokens; the objects around them are a few bytes a response."""
    responses = [stored('a' * 5000) for _ in range(200)]
    tokens_of(responses[:1], CodePoints())
    tracemalloc.start()
    asked = tokens_of(responses, CodePoints())
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held / sum(len(one.tokens.response) for one in asked) < 4.3


def test_tokens_are_those_of_the_tokenizer() -> None:
    """In their order; and a journal knows them by the same key as plain numbers."""
    [asked] = tokens_of([stored('yes')], CodePoints())
    expected = Tokens([100_097, 100_115, 100_107], [100_121, 100_101, 100_115])
    assert asked.tokens.all == expected.all
    assert key_of(asked.tokens) == key_of(expected)


def other_prompts(_: Path) -> object:
    return tokens_of([stored('yes', prompt_tokens=9)], CodePoints())


def other_weights(folder: Path) -> object:
    (folder / 'model.safetensors').write_bytes(b'weights')
    return Sampled(str(folder), str(folder), {}, {'model.safetensors': 'of others'}).check()


@pytest.mark.parametrize('refused', [other_prompts, other_weights])
def test_the_options_that_are_advised_are_options(refused: Callable[[Path], object], tmp_path: Path) -> None:
    """One that goes on all the same is among them."""
    with pytest.raises(InputError) as told:
        refused(tmp_path)
    parser = ArgumentParser()
    add_arguments(parser)
    advised = set(re.findall(r'--[a-z-]+', str(told.value)))
    assert '--accept-other' in advised
    assert advised <= set(re.findall(r'--[a-z-]+', parser.format_help()))
