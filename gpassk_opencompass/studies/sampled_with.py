"""Which model the responses of a run were sampled with, as its record tells."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import mapping, model_files
from ..results.result import Result, model_settings

WEIGHTS = ('.safetensors', '.bin', '.pt', '.pth')
"""Ends of the names of files with weights that transformers reads."""


class Sampled(NamedTuple):
    """What a run was sampled with."""

    path: str
    tokenizer: str
    template: Mapping[str, Any]
    """Further arguments of the chat template."""
    files: Mapping[str, Any]
    """Name → digest of the model's local files as they were then; {} where that is not on record."""

    def check(self, accept_other: bool = False) -> dict[str, str]:
        """Return the digests of the model's files; {} for one of the hub.

        Args:
            accept_other: the weights may be others than those on record.

        Raises:
            InputError: they are, and may not.
        """
        folder = Path(self.path).expanduser()
        if not folder.is_dir():
            return {}
        found = model_files(folder)
        other = [
            name
            for name, digest in sorted(found.items())
            if name.endswith(WEIGHTS) and self.files.get(name, digest) != digest
        ]
        if other and not accept_other:
            raise InputError(
                f'{folder / other[0]} is not the file that the responses were sampled with: give the folder '
                'of that model with --model, or --accept-other to go on all the same'
            )
        return found


def sampled_with(result: Result, model: str | None, tokenizer: str | None) -> Sampled:
    """Return what a run was sampled with.

    Args:
        model, tokenizer: where they are now; None: where the record says.

    Raises:
        InputError: the record does not say where the model is, as for one behind a server, or its prompts
            were formatted by another program than the tokenizer.
    """
    told = model_settings(result.block)
    files = mapping(mapping(result.block.get('provenance')).get('files'))
    if told.get('fastchat_template'):
        raise InputError(f'{result.path}: its prompts have a template of fastchat, which is not supported')
    path = told.get('path') or (result.manifest.path if result.manifest else '')
    if model is None and (not path or (told and 'path' not in files)):
        where = f'{path} behind a server' if path else 'not on record'
        raise InputError(
            f'{result.path}: its model is {where}; give the folder of the same weights: --model PATH'
        )
    return Sampled(
        model or path,
        tokenizer or model or told.get('tokenizer_path') or path,
        mapping(told.get('chat_template_kwargs')),
        mapping(files.get('path')),
    )
