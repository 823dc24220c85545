"""API keys: read from the environment, and kept out of all that is written or shown.

Servers quote keys in their errors, as they stand or as JSON, a URL or HTML write them, and logs, records and
verdict stores keep what servers say.
"""

from __future__ import annotations

import os
import re
from functools import cache
from html import unescape

from .errors import InputError

MASK = '***'  # stands where a key stood
_PLACEHOLDERS = frozenset({'', 'env', 'empty', 'none', 'null', 'dummy', 'no-key', 'sk-no-key-required'})
_SHORTEST = 4  # of a key that is one; *** for each 'a' would hide the message instead
_LONG = 16  # characters of a key that no model writes by chance; short ones are words

_ESCAPE = re.compile(
    r'\\+(?:u(?P<u>[0-9a-fA-F]{4})|x(?P<x>[0-9a-fA-F]{2})|(?P<octal>[0-7]{3}))|\\(?P<sign>[^a-zA-Z0-9\s])'
    r'|%(?P<url>[0-9a-fA-F]{2})|(?P<html>&#?[0-9a-zA-Z]{2,8};)'
)


def read_key(variable: str, setting: str = '') -> str:
    """Return the key in an environment variable without the blanks around it; '' if there is none.

    Raises:
        InputError: it holds what no HTTP header can, such as a line break (the message does not show it), or
            nothing, and a setting of this name asks for it.
    """
    key = os.environ.get(variable, '').strip()
    if variable and setting and not key:
        raise InputError(
            f'{setting} = {variable!r}: this environment variable is not set; export {variable}=…'
        )
    if not all('!' <= character <= '~' for character in key):
        raise InputError(
            f'the key in the environment variable {variable} has a blank, a control character or one beyond '
            f"ASCII within it (it is not shown); export the bare key, without 'Bearer': export {variable}=…"
        )
    return key


def hidden(text: str, *keys: str) -> str:
    r"""Return the text with *** for each word in which a key stands, or a part of one, however it is written.

    Found are eight characters of a key in a row, in upper or lower case and escaped as JSON, Python, URLs or
    HTML do it, also several times over. What stands there for servers without keys (EMPTY, none) is left
    alone.

    >>> hidden(r'Incorrect API key: sk-ab\\/cd\\u0065fgh', 'sk-ab/cdefgh')
    'Incorrect API key: ***'
    """
    parts = frozenset[str]().union(*map(_parts, _keys_in(keys)))
    if not parts or not _holds(text, parts):
        return text
    shown = re.sub(r'[^\s<>]+', lambda word: MASK if _holds(word[0], parts) else word[0], text)
    return MASK if _holds(shown, parts) else shown


@cache
def _parts(key: str) -> frozenset[str]:
    size = min(8, len(key))
    return frozenset(key[at : at + size].lower() for at in range(len(key) - size + 1))


def _holds(text: str, parts: frozenset[str]) -> bool:
    """Return whether one of the parts stands in the text, or in it with its escapes read once, twice, …"""
    for _ in range(5):  # JSON within JSON within a URL …
        alike = text.lower()
        if any(part in alike for part in parts):
            return True
        before, text = text, _ESCAPE.sub(_character, text)
        if text == before:
            break
    return False


def _character(found: re.Match[str]) -> str:
    if digits := found['u'] or found['x'] or found['url']:
        return chr(int(digits, 16))
    return chr(int(found['octal'], 8)) if found['octal'] else found['sign'] or unescape(found[0])


def _keys_in(keys: tuple[str, ...]) -> set[str]:
    parts = {part for key in keys for part in (key.strip(), *key.split())}
    return {part for part in parts if len(part) >= _SHORTEST and part.lower() not in _PLACEHOLDERS}


def without_long(text: str, *keys: str) -> str:
    """Return the text with *** for each key of 16 characters or more, only where it stands to the letter.

    >>> without_long('The test of sk-0123456789abcdef', 'sk-0123456789abcdef', 'test')
    'The test of ***'
    """
    for key in sorted(_keys_in(keys), key=len, reverse=True):
        text = text.replace(key, MASK) if len(key) >= _LONG else text
    return text


def without_user(text: str) -> str:
    """Return the text with *** for what stands before an @ in its URLs: a name and often a password.

    >>> without_user('http://me:pa/ss@host:80/v1 refuses')
    'http://***@host:80/v1 refuses'
    """

    def masked(found: re.Match[str]) -> str:
        # One pattern with :// and @ would take time quadratic in a text of many ://.
        start, end = found[0].find('://') + 3, found[0].rfind('@')
        return f'{found[0][:start]}{MASK}{found[0][end:]}' if 3 <= start <= end else found[0]

    return re.sub(r'[^\s"\'<>]+', masked, text)


# What looks like a key


KEY_FIELDS = frozenset(
    'key api_key openai_api_key x_api_key access_key secret_key secret password token hf_token api_token '
    'access_token auth_token authorization'.split()
)
"""Names of fields that hold keys; headers have `-` for `_`. Not every token: pad_token='<pad>' is none."""

_ENVIRONMENT = re.compile(r'ENV|EMPTY|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})')
_SHAPE = re.compile(
    r'(?<![A-Za-z0-9])(?:'
    r'(?:sk|gsk|xai)-[\w-]{8,}|csk-[A-Za-z0-9]{20,}'
    r'|(?:gsk|ghp|gho|ghu|ghs|ghr|r8|fw|xai|npm|tgp_v1)_[A-Za-z0-9]{16,}'
    r'|github_pat_\w{16,}|glpat-[\w-]{16,}|nvapi-[\w-]{16,}|pplx-[A-Za-z0-9]{16,}|xox[abeoprs]-[\w-]{10,}'
    r'|hf_[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}|AIza[\w-]{16,}|ya29\.[\w-]{16,}'
    r'|(?:AKIA|ASIA)[A-Z0-9]{16}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?'
    r')'
    r'|(?i:\b(?:bearer|basic))\s+(?=\S*[0-9]|\S{24})[\w.~+/=-]{8,}'
    # The user and password of a URL (a port is no password), and a key in its query.
    r'|://(?:[^\s/?#@:]*:(?![0-9]{1,5}(?:[/?#]|$))[^\s@]*|[^\s/?#@:]{8,})@'
    r'|[?&](?i:[\w-]*(?:key|token|secret))=[^&\s]{8,}'
)
_NOT_SECRET = re.compile(  # hashes, commits and UUIDs are written in hexadecimal digits, images in base64
    r'[A-Za-z0-9+/]{1000,}'
    r'|(?<![A-Za-z0-9])(?:[0-9a-f]{7,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![A-Za-z0-9])'
)


def looks_like_key(text: str) -> bool:
    """Return whether a part of the text has the shape of a key, or is long and random.

    Hexadecimal digits, as hashes, commits and some keys have them, are taken for no key.

    >>> looks_like_key('gsk_aB3dE5gH7jK9mN1pQ3sT5'), looks_like_key('Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4')
    (True, False)
    """
    tokens = re.findall(r'[A-Za-z0-9_+=-]{24,}', _NOT_SECRET.sub(' ', text))
    return bool(_SHAPE.search(text)) or (not text.startswith('data:') and any(map(_is_random, tokens)))


def _is_random(token: str) -> bool:
    """Return whether a token has hardly any words: a name has some, and more separators than a key."""
    content = re.sub('[^A-Za-z0-9]', '', token)
    if len(content) < 24 or len(token) - len(content) > len(token) // 10:
        return False
    digits, *letters = (any(map(kind, content)) for kind in (str.isdigit, str.islower, str.isupper))
    letters_a_word = len(content) / len(re.findall('[A-Z]?[a-z]+|[A-Z]+|[0-9]+', content))
    if digits and all(letters):
        return letters_a_word < 2.5
    return digits and any(letters) and len(content) >= 32 and letters_a_word < 3.0


def is_literal_key(field: str, text: str) -> bool:
    """Return whether a value is a key itself: by the name of its field, or by its look."""
    named = field.lower().replace('-', '_') in KEY_FIELDS and text != ''
    return (named and not _ENVIRONMENT.fullmatch(text)) or looks_like_key(text)
