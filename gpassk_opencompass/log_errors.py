"""The line of a log that says what went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

_TAIL = 1 << 16  # bytes
_TRACEBACK = 'Traceback (most recent call last):'

_COLOUR = re.compile(r'\x1b\[[0-9;]*m')
_BAR = re.compile(
    r'^.*?[0-9]+%\|[^|]*\|\s*[0-9.kMG]+/[0-9.kMG?]+ \[[^]]*\]'  # ` 44%|██▍  | 4/9 [00:22<00:28,  5.61s/it]`
    r'|^[^|]*?[0-9]+it \[[0-9:]+, [^]]*\]'  # `12it [00:03,  3.92it/s]`
    r'|^\s*[0-9]+%\|\S*$'
)
_WHO = re.compile(
    r'^(?:\[rank[0-9]+\]:(?=\s|$)|\([A-Za-z_0-9]+ (?:[A-Z]+[0-9]+ )?pid=[0-9]+\)|[0-9]+:(?=\s)) ?'
)  # of torch, of the processes of vLLM and Ray, of `srun --label`
_LEVEL = r'(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL)'
_ERRORS = ('ERROR', 'CRITICAL', 'FATAL')
_HEADS = [
    re.compile(head)
    for head in (
        rf'^[0-9/]{{5}} [0-9:]{{8}} - \w+ - {_LEVEL} - (?:/.*?\.py - \S+ - [0-9]+ - ?)?',  # OpenCompass
        rf'^\[[0-9 :,-]+\] \[[\w.]+\] \[{_LEVEL}\] ',  # its inferencers
        rf'^[0-9-]+ [0-9:.]+ \| {_LEVEL} +\| \S+:\S+:[0-9]+ - ',  # loguru
        rf'^{_LEVEL} [0-9-]+ [0-9:.]+ \[\S+:[0-9]+\] ?',  # vLLM
        rf'^[0-9-]+ [0-9:,.]+ - \S+ - {_LEVEL} - ',  # logging, as most set it up
    )
]
_ELSEWHERE = re.compile(
    r'(?i)see root cause above|see stack trace|check the logs for details|failed core proc'
)  # in an error that says where to look for the real one
_DEATH = re.compile(
    r'^(?:Fatal Python error|terminate called|CUDA error|(?:srun|slurmstepd): error)'
    r'|\b(?:Killed|Segmentation fault|Bus error|Aborted|out of memory|oom-kill)\b'
)
_PLACE = re.compile(r'^error occurs at |^task .* fail, see$|failed with code')
_AFTERMATH = re.compile(
    r'^Extension modules: |^Thread 0x|^Current thread |^File "|^During handling of |^The above '
)


def last_lines(log: Path) -> list[str]:
    """Return the last lines of a log, a progress bar as it last was; none if it cannot be read."""
    try:
        with log.open('rb') as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            text = file.read().decode(errors='replace')
    except OSError:
        return []
    lines = (line.rstrip('\r').rpartition('\r')[2].rstrip('\0 \t') for line in text.split('\n'))
    return [line for line in lines if line]


def error_in(lines: Iterable[str]) -> str:
    """Return the exception of the last traceback with its message; '' without one, and for a Ctrl-C.

    Of an exception without a message it is the line that raised it; of one that only says where to look, what
    was said before stands behind it.
    """
    cleaned = _cleaned(lines)
    heads = [place for place, (text, _) in enumerate(cleaned) if text.endswith(_TRACEBACK)]
    error = _raised_behind(cleaned, heads[-1]) if heads else ''
    if error.startswith('KeyboardInterrupt'):
        return ''
    if not _ELSEWHERE.search(error):
        return error
    # The cause is an earlier exception, else the last error that was logged.
    logged = (text.strip() for text, level in cleaned[: heads[-1]] if level in _ERRORS)
    causes = [text for text in logged if not _PLACE.search(text)]
    earlier = (_raised_behind(cleaned, head) for head in heads[:-1])
    causes += [one for one in earlier if one and not _ELSEWHERE.search(one)]
    return f'{error} (before it: {causes[-1]})' if causes else error


def last_said(lines: Iterable[str]) -> str:
    """Return the last line of a log without a traceback that tells anything; '' if none does.

    How a process died goes before an error that was logged, and that before any other line.
    """
    cleaned = [(text, level) for text, level in _cleaned(lines) if text and not _AFTERMATH.search(text)]
    deaths = [text for text, level in cleaned if level in ('', *_ERRORS) and _DEATH.search(text)]
    errors = [text for text, level in cleaned if level in _ERRORS and not _PLACE.search(text)]
    texts = deaths or errors or [text for text, _ in cleaned]
    return texts[-1].strip() if texts else ''


def _raised_behind(lines: Sequence[tuple[str, str]], head: int) -> str:
    """Return the exception of the traceback that begins in a line, with the first line of its message."""
    behind = [text for text, _ in lines[head + 1 :]]
    frames = list(takewhile(lambda text: text[:1] in ('', ' ', '\t'), behind))
    error, *more = [text.strip() for text in behind[len(frames) :][:2]] or ['']
    if more and re.fullmatch(r'[\w.]+:', error):  # a message that begins with a line break
        return f'{error} {more[0]}'
    code = [one.strip() for one in frames if not re.match(r'\s*(?:[~^ ]*$|File ")', one)]
    return f'{error} at: {code[-1]}' if re.fullmatch(r'[\w.]+', error) and code else error


def _cleaned(lines: Iterable[str]) -> list[tuple[str, str]]:
    """Return text and level of lines, without progress bars and what loggers and launchers put before it."""
    cleaned = []
    for line in lines:
        text, level = _WHO.sub('', _BAR.sub('', _COLOUR.sub('', line)), count=1), ''
        if found := next(filter(None, (head.match(text) for head in _HEADS)), None):
            text, level = text[found.end() :], found['level']
        cleaned.append((text, level))
    return cleaned
