"""The errors of this package, split by what the reader can do next.

    GPassKError
    ├── InputError (ValueError)          a file, row, argument or setting is wrong: mend it
    │   ├── TemplateError                … in a template of a sweep: nothing was written
    │   └── ForeignFileError             … it holds something else than a result of G-Pass@k
    ├── IncompleteError (RuntimeError)   work is missing: run the same command again
    └── MissingExtraError (ImportError)  an optional package is missing: install the extra

Every message says what was received, what is allowed and what to do.
"""


class GPassKError(Exception):
    """Base class of every error that this package raises on purpose."""


class InputError(GPassKError, ValueError):
    """A file, row, argument or setting is wrong; the message names it."""


class TemplateError(InputError):
    """A template cannot be expanded; no file was written."""


class ForeignFileError(InputError):
    """A file holds something else than a result of G-Pass@k: it is somebody else's, and not damaged."""


class IncompleteError(GPassKError, RuntimeError):
    """Predictions or verdicts are missing; running the same command again completes them."""


class MissingExtraError(GPassKError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f'{package} is not installed; run: pip install "gpassk_opencompass[{extra}]"')
