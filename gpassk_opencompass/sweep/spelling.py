"""The error for a name that a template does not have."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from ..errors import TemplateError


def unknown(what: str, name: object, allowed: Collection[str]) -> TemplateError:
    """An error that says what was received, the nearest allowed name and all of them.

    >>> print(unknown('variable', 'temperature', ['temperatures', 'top_ps']))
    unknown variable 'temperature': did you mean 'temperatures'? Allowed: temperatures, top_ps
    """
    near = nearest(str(name), allowed)
    question = f': did you mean {near!r}?' if near else ';'
    return TemplateError(f'unknown {what} {name!r}{question} Allowed: {", ".join(sorted(allowed))}')


def nearest(name: str, allowed: Collection[str]) -> str | None:
    """The allowed name that was most likely meant."""
    longer = sorted((other for other in allowed if other.startswith(name)), key=len)
    return next(iter(longer or get_close_matches(name, sorted(allowed), n=1)), None)
