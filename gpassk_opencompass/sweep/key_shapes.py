"""Is this text a key? Told by the shapes of the usual providers' keys, and by how random it looks."""

from __future__ import annotations

import re

_SHAPES = re.compile(
    r'(?<![A-Za-z0-9])(?:'
    r'(?:sk|gsk|xai)-[\w-]{8,}|csk-[A-Za-z0-9]{20,}'
    r'|(?:gsk|ghp|gho|ghu|ghs|ghr|r8|fw|xai|npm|tgp_v1)_[A-Za-z0-9]{16,}'
    r'|github_pat_\w{16,}|glpat-[\w-]{16,}|nvapi-[\w-]{16,}|pplx-[A-Za-z0-9]{16,}|xox[abeoprs]-[\w-]{10,}'
    r'|hf_[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}|AIza[\w-]{16,}|ya29\.[\w-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}'
    r'|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?'
    r')'
    r'|(?i:\b(?:bearer|basic))\s+(?=\S*[0-9]|\S{24})[\w.~+/=-]{8,}'
)
_USER_OF_URL = re.compile(
    r'://(?:[^\s/?#@:]*:(?![0-9]{1,5}(?:[/?#]|$))[^\s@]*|[^\s/?#@:]{8,})@'  # a port is no password
)
_QUERY = re.compile(r'[?&](?i:[\w-]*(?:key|token|secret))=[^&\s]{8,}')

_TOKEN = re.compile(r'[A-Za-z0-9_+=-]{24,}')
_NOT_SECRET = re.compile(  # hashes, commits and UUIDs are written in hexadecimal digits, images in base64
    r'[A-Za-z0-9+/]{1000,}'
    r'|(?<![A-Za-z0-9])(?:[0-9a-f]{7,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![A-Za-z0-9])'
)
_WORD = re.compile('[A-Z]?[a-z]+|[A-Z]+|[0-9]+')
_SEPARATOR = re.compile('[^A-Za-z0-9]')
_LEAST_LETTERS_A_WORD = 2.5
_ENOUGH_WITHOUT_CAPITALS, _LEAST_WITHOUT_CAPITALS = 32, 3.0


def looks_like_key(text: str) -> bool:
    """Return whether a part of the text has the shape of a key, or is long and random.

    Hexadecimal digits, as hashes, commits and some keys have them, are taken for no key.

    >>> looks_like_key('gsk_aB3dE5gH7jK9mN1pQ3sT5'), looks_like_key('Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4')
    (True, False)
    """
    if any(shape.search(text) for shape in (_SHAPES, _USER_OF_URL, _QUERY)):
        return True
    if text.startswith('data:'):
        return False
    return any(_is_random(token) for token in _TOKEN.findall(_NOT_SECRET.sub(' ', text)))


def _is_random(token: str) -> bool:
    """Return whether a token has hardly any words: a name has some, and more separators than a key."""
    content = _SEPARATOR.sub('', token)
    if len(content) < 24 or len(token) - len(content) > len(token) // 10:
        return False
    kinds = [any(map(kind, content)) for kind in (str.isdigit, str.islower, str.isupper)]
    letters_a_word = len(content) / len(_WORD.findall(content))
    if all(kinds):
        return letters_a_word < _LEAST_LETTERS_A_WORD
    enough = kinds[0] and any(kinds[1:]) and len(content) >= _ENOUGH_WITHOUT_CAPITALS
    return enough and letters_a_word < _LEAST_WITHOUT_CAPITALS
