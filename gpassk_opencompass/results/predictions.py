"""The responses in the predictions of OpenCompass that a result names: those that were judged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError


def prediction_texts(path: Path, row: int, entry: Mapping[str, Any]) -> list[str | None]:
    """Return the responses in an entry of a file of predictions; None in the place of one that failed.

    An entry holds several where the model was asked for them at once (`num_return_sequences`).

    Raises:
        InputError: it holds none.
    """
    held = _held(entry)
    texts = held if isinstance(held, list) else [held]
    known = 'prediction' in entry and bool(texts)
    if not known or not all(text is None or isinstance(text, str) for text in texts):
        raise InputError(
            f'{path}, row {row}: prediction is {held!r:.60}; expected a text, or a list of texts'
        )
    return texts


def _held(entry: Mapping[str, Any]) -> Any:
    """Return what is predicted, which may lie beside what the engine said of it."""
    held = entry.get('prediction')
    return held.get('prediction') if isinstance(held, dict) else held


def check_length(where: str, text: str, length: int | None) -> None:
    """Refuse a response that has another length than the one that was judged.

    Args:
        where: it stands, for the message.
        length: characters of the one that was judged; None: not known.

    Raises:
        InputError: the length is another one.
    """
    if length is not None and len(text) != length:
        raise InputError(
            f'{where}: the response has {len(text)} characters, the one that was judged {length}; '
            'the file was changed since: evaluate it again'
        )
