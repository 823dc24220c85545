"""Asking a person on the terminal, one answer after the other; each reply is kept at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..files import write_file
from ..unseen import printable

if TYPE_CHECKING:
    from ..audit.sample import Answer, Sheet

_KEYS = 'y correct, n incorrect, s skip, b back, q quit'
_LABELS = {'y': True, 'n': False}


def ask(file: Path, sheet: Sheet) -> Sheet:
    """Ask for the labels that are missing, up to `q` or the end of the input.

    Args:
        file: written after each reply.
        sheet: the sample with the labels of before.

    Returns:
        The sample with all labels.

    Raises:
        InputError: the file cannot be written.
    """
    save(file, sheet)
    answers, place = sheet.unlabelled, 0
    print(f'{len(answers)} answers have no label. Do answer and reference say the same? {_KEYS}')
    while place < len(answers):
        reply = _reply(answers[place], place + 1, len(answers))
        if reply == 'q':
            break
        if reply in _LABELS:
            sheet = sheet._replace(labels={**sheet.labels, answers[place].name: _LABELS[reply]})
            save(file, sheet)
        place = max(place - 1, 0) if reply == 'b' else place + 1
    print(f'\n{file} holds {len(sheet.labels)} labels')
    return sheet


def save(file: Path, sheet: Sheet) -> None:
    """Write the sample in one step: what was there stays until all is written.

    Raises:
        InputError: it cannot be written.
    """
    try:
        write_file(file, sheet.text().encode())
    except OSError as error:
        raise InputError(f'cannot write {file}: {error.strerror}') from error


def _reply(answer: Answer, number: int, of: int) -> str:
    """Return a key of `_KEYS`; the end of the input is `q`."""
    pair = answer.pair
    print(f'\n[{number} of {of}]')
    for name, text in (('question', pair.question), ('reference', pair.reference), ('answer', pair.answer)):
        print(f'{name + ":":<11}{printable(text, keep=chr(10))}')
    while True:
        try:
            said = input('y/n/s/b/q? ').strip().lower()
        except EOFError:
            return 'q'
        if said in {'y', 'n', 's', 'b', 'q'}:
            return said
        print(_KEYS)
