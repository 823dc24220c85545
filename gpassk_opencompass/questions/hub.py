"""Whether data sets of the hub can be had: by what is in the cache, else by asking the hub, in two requests.

Variables are those of `huggingface_hub` and `datasets`: HF_HOME, HF_DATASETS_CACHE, HF_ENDPOINT, HF_TOKEN,
HF_TOKEN_PATH, HF_HUB_OFFLINE, HF_DATASETS_OFFLINE. Neither package is imported, which takes seconds.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..files import mapping

SECONDS = 4.0
"""How long the hub is waited for."""

_TRUE = frozenset({'1', 'ON', 'YES', 'TRUE'})
_LONGEST_ANSWER = 1 << 24
_BAD_TOKEN = 'BadToken'
_ON_THE_HUB = 'https://huggingface.co/datasets/{name}'


class Answer(NamedTuple):
    """What is known of a data set; both are '' where it can be had."""

    problem: str = ''
    unknown: str = ''
    """Why it is not known."""


class Hub:
    """The hub as an environment tells it; once it cannot be reached, it is not asked again."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        home = variables.get('HF_HOME') or os.path.join(
            variables.get('XDG_CACHE_HOME') or '~/.cache', 'huggingface'
        )
        self._home = Path(os.path.expandvars(home)).expanduser()
        self._endpoint = (variables.get('HF_ENDPOINT') or 'https://huggingface.co').rstrip('/')
        self._silent = next(
            (
                f'{name} is set'
                for name in ('HF_HUB_OFFLINE', 'HF_DATASETS_OFFLINE')
                if variables.get(name, '').upper() in _TRUE
            ),
            '',
        )

    def ask(self, name: str, subsets: Sequence[str | None], revision: str | None) -> Answer:
        """Say whether a data set can be had, with these subsets; None is the only one."""
        if all(self._is_cached(name, subset, revision) for subset in subsets):
            return Answer()
        if self._silent:
            return Answer(unknown=self._silent)
        answer = self._access(name)
        return answer if any(answer) else self._subsets(name, subsets, revision)

    def _access(self, name: str) -> Answer:
        code, error, _ = self._get(f'{_quoted(name)}/auth-check')
        page = _ON_THE_HUB.format(name=name)
        if error == 'GatedRepo' and not self._token():
            return Answer(
                f'{name} is gated, and there is no token here: ask for access at {page}, then run '
                '`hf auth login` or export HF_TOKEN=…'
            )
        if error == 'GatedRepo':
            return Answer(f'{name} is gated, and your token has no access: ask for it at {page}')
        if error == 'RepoNotFound':
            private = '' if self._token() else ', or it is private and there is no token here (HF_TOKEN)'
            return Answer(f'the hub has no data set {name}{private}')
        if error == _BAD_TOKEN:
            return Answer(f'the hub does not take the token for {name}: mend HF_TOKEN, or `hf auth login`')
        return Answer(unknown=self._silent or ('' if code == http.client.OK else f'the hub answers {code}'))

    def _subsets(self, name: str, subsets: Sequence[str | None], revision: str | None) -> Answer:
        at = '' if revision is None else f'/revision/{urllib.parse.quote(revision, safe="")}'
        code, error, told = self._get(f'{_quoted(name)}{at}')
        if error == 'RevisionNotFound' and revision is not None:
            return Answer(f'{name} has no revision {revision!r} on the hub')
        if code != http.client.OK:
            return Answer(unknown=self._silent or f'the hub answers {code}')
        configs = mapping(mapping(told).get('cardData')).get('configs')
        known = [mapping(config).get('config_name') for config in configs or () if isinstance(configs, list)]
        return Answer(missing_subsets(name, subsets, [text for text in known if isinstance(text, str)]))

    def _get(self, path: str) -> tuple[int, str, Any]:
        """Return the status, the hub's word for an error, and the JSON; 0 where it cannot be reached."""
        try:
            request = urllib.request.Request(f'{self._endpoint}/api/datasets/{path}')
            if token := self._token():
                # Not sent on to where a reply may point.
                request.add_unredirected_header('Authorization', f'Bearer {token}')
            with urllib.request.urlopen(request, timeout=SECONDS) as reply:
                content = reply.read(_LONGEST_ANSWER)
                told = None
                with suppress(ValueError, RecursionError):
                    told = json.loads(content)
                return reply.status, '', told
        except urllib.error.HTTPError as error:
            return error.code, _word_for(error), None
        except ValueError:  # whose text may have the token in it
            self._silent = 'HF_ENDPOINT is no address, or the token has characters that no token has'
        except (OSError, http.client.HTTPException) as error:
            self._silent = f'{self._endpoint} cannot be reached ({getattr(error, "reason", error)})'
        return 0, '', None

    def _token(self) -> str:
        """Return the token that `huggingface_hub` would send; '' for none."""
        given = self._variables.get('HF_TOKEN') or self._variables.get('HUGGING_FACE_HUB_TOKEN')
        if given:
            return given.strip()
        place = self._variables.get('HF_TOKEN_PATH')
        file = Path(place).expanduser() if place else self._home / 'token'
        try:
            return file.read_text('utf-8').strip()
        except (OSError, ValueError):
            return ''

    def _is_cached(self, name: str, subset: str | None, revision: str | None) -> bool:
        """Whether `datasets` has prepared it; of a revision it is not told which that was."""
        if revision is not None:
            return False
        place = self._variables.get('HF_DATASETS_CACHE')
        cache = Path(place).expanduser() if place else self._home / 'datasets'
        owner, _, own = name.rpartition('/')
        folder = cache / f'{owner}___{_snake_case(own)}' / (subset or 'default')
        try:
            return any(folder.glob('*/*/dataset_info.json'))
        except OSError:
            return False


def missing_subsets(name: str, wanted: Sequence[str | None], known: Sequence[str]) -> str:
    """Return what is to be said of subsets that a data set has not; '' where it has all or does not tell.

    >>> missing_subsets('org/bench', ['v1_AMC_en', 'v1_AMX_en'], ['v1_AMC_en', 'v1_AMC_cn'])
    'org/bench has no subset v1_AMX_en, only v1_AMC_en, v1_AMC_cn'
    """
    missing = [subset for subset in wanted if subset is not None and subset not in known]
    if not known or not missing:
        return ''
    return f'{name} has no subset {", ".join(missing)}, only {", ".join(known)}'


def subsets_of_card(text: str) -> list[str]:
    """Return the names of the subsets in the card of a data set, the README of its folder.

    >>> subsets_of_card('---\\nconfigs:\\n- config_name: v1_AMC_en\\n---\\n# Data')
    ['v1_AMC_en']
    """
    head = text[3:].partition('\n---')[0]
    return re.findall(r'^[ \t-]*config_name:[ \t]*["\']?([^"\'\s#]+)', head, re.MULTILINE)


def _word_for(error: urllib.error.HTTPError) -> str:
    """Return the hub's word for an error; without one it denies who may not know that there is a data set."""
    if error.code == http.client.UNAUTHORIZED and not error.headers.get('X-Error-Code'):
        bad = error.headers.get('X-Error-Message') == 'Invalid credentials in Authorization header'
        return _BAD_TOKEN if bad else 'RepoNotFound'
    return str(error.headers.get('X-Error-Code', ''))


def _quoted(name: str) -> str:
    return urllib.parse.quote(name, safe='/')


def _snake_case(name: str) -> str:
    """Return the name as `datasets` calls its folder.

    >>> _snake_case('LiveMathBench'), _snake_case('MATH-500')
    ('live_math_bench', 'math-500')
    """
    name = re.sub(r'([A-Z]+)([A-Z][a-z])', r'\1_\2', name)
    return re.sub(r'([a-z\d])([A-Z])', r'\1_\2', name).lower()
