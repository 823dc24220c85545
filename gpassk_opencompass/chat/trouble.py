"""The errors that end a run of requests, and what they advise."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from yarl import URL

from ..completion import Trouble
from ..errors import IncompleteError, InputError

KEPT = 'The verdicts so far'
"""What a run without servers has of earlier replies, in the words of its error."""

Advice = Callable[[Trouble], str]
"""Says what to do where a server takes no request at all."""


def check_settings(trouble: Trouble) -> str:
    """Advise whoever has set a judge."""
    return 'Check the model name, the address, the key (api_key_env), max_tokens and extra_body'


def refusal(url: URL, trouble: Trouble, advice: Advice = check_settings) -> InputError:
    """Return the error that says: this server would take no request like these."""
    return InputError(f'{url} refuses: {trouble}. {advice(trouble)}')


def hopeless(urls: Sequence[URL], what: str, patience: float, kept: str = KEPT) -> IncompleteError:
    """Return the error that says: none of these servers answers, and `what` happened last."""
    return IncompleteError(
        f'no server answers ({", ".join(map(str, urls))}): {what}; patience is {patience:g} s. {kept} '
        'are kept: start the servers and run the same command again to ask for the rest.'
    )
