"""What can happen to the bytes of a file."""

from __future__ import annotations

import random
from collections.abc import Callable


def _cut(data: bytes, other: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _hole(data: bytes, other: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start + chance.randrange(600) :]


def _zeros(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """As a file system leaves them behind after a crash."""
    start, length = chance.randrange(len(data) + 1), chance.randrange(600)
    return data[:start] + bytes(min(length, len(data) - start)) + data[start + length :]


def _flip(data: bytes, other: bytes, chance: random.Random) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _double(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """A part of it once more, at lines or anywhere."""
    if chance.random() < 0.5:
        lines = data.splitlines(keepends=True)
        start = chance.randrange(len(lines) + 1)
        return b''.join([*lines[:start], *lines[max(0, start - chance.randrange(9)) :]])
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[max(0, start - chance.randrange(600)) :]


def _shuffle(data: bytes, other: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    start = chance.randrange(len(lines) + 1)
    part = lines[start : start + 9]
    chance.shuffle(part)
    return b''.join([*lines[:start], *part, *lines[start + 9 :]])


def _mix(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """The bytes of two writers in turn."""
    pieces = []
    while data or other:
        length = chance.randrange(1, 700)
        pieces.append(data[:length])
        data, other = other, data[length:]
    return b''.join(pieces)


DAMAGES: dict[str, Callable[[bytes, bytes, random.Random], bytes]] = {
    'cut': _cut, 'hole': _hole, 'zeros': _zeros, 'bit flipped': _flip, 'part doubled': _double,
    'lines exchanged': _shuffle, 'two files mixed': _mix,
}  # fmt: skip


def damaged(kind: str, data: bytes, other: bytes, chance: random.Random) -> bytes:
    """The data after one damage."""
    return DAMAGES[kind](data, other, chance)
