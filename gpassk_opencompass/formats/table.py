"""Tables that people make themselves."""

from ..errors import InputError
from ..json_rows import Row
from .format import Format


def _specialise(first: Row, options: object) -> Format:
    raise InputError('tables are not read yet')


TABLE = Format(recognises=lambda path, first: False, specialise=_specialise)
