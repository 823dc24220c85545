"""Logs of inspect_ai, `.eval` (a zip file with a member a sample) and `.json`; epochs are the samples."""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import listed, mapping
from ..json_rows import json_entries
from .format import Format, Row, at

_BEGIN = re.compile(
    rb'PK\x03\x04.{26}(header\.json|_journal/|samples/|summaries\.json|reductions\.json)'
    rb'|\s*\{\s*"version":\s*\d+,\s*"status":\s*"\w+",\s*"eval":\s*\{',
    re.DOTALL,
)
_SAMPLE = re.compile(r'samples/(.+)_epoch_(\d+)(?:\.json|/sample\.json)', re.DOTALL)
_ZSTANDARD = 93
_DAMAGES = (
    *(zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ValueError, OverflowError),
    *(RuntimeError, NotImplementedError, MemoryError, RecursionError),
)
"""What Python raises of a zip file that is damaged, encrypted or packed in a way it does not know."""

_ENDINGS = {'max_tokens': 'length', 'model_length': 'length', 'unknown': None}
_LIMITS = {'token': 'length', 'context': 'length'}
"""Stop reasons and limits that have another name here."""

_SAID = {
    'invalidation': '{count} samples were declared invalid in the log: they are unjudged',
    'error': '{count} samples ended in an error and count as they were scored all the same',
    'limit': '{count} samples were ended by a limit of inspect_ai and count as it has scored them',
}
_TARGETS = '{count} samples have several targets: the first is the reference, for who judges anew'


def _is_log(path: Path, row: Row | None) -> bool:
    if path.is_dir():
        return False
    with path.open('rb') as file:
        return bool(_BEGIN.match(file.read(4096)))


def _log(path: Path) -> Iterator[Row]:
    """Yield what a log tells beside its samples, then its samples.

    Raises:
        InputError: it is damaged, cut off, or another file.
    """
    if zipfile.is_zipfile(path) or path.suffix == '.eval':
        try:
            with zipfile.ZipFile(path) as log:
                yield from _members(log, path)
        except _DAMAGES as error:
            raise InputError(f'{path} is damaged, cut off or still being copied: {error}') from error
        return
    header: Row | None = {}
    for keys, value in json_entries(path, 'samples'):
        if keys[0] != 'samples' and header is not None:
            header[keys[0]] = value
        elif len(keys) > 1:
            if header is not None:  # what is told of the whole comes before the samples
                yield header
                header = None
            yield {**value, '_row': int(keys[1]) + 1}


def _members(log: zipfile.ZipFile, path: Path) -> Iterator[Row]:
    """Yield the header of a `.eval`, and its samples: of two of one name the later, which was drawn again."""
    names = log.NameToInfo  # the later member of a name
    # While it is written, a log has no header, but how it began.
    begun = next((name for name in ('header.json', '_journal/start.json') if name in names), None)
    if begun is None:
        raise InputError(
            f'{path} has neither header.json nor _journal/start.json: expected a log of inspect_ai'
        )
    yield json.loads(_unpacked(log, names[begun], path))
    for number, found in enumerate(filter(None, map(_SAMPLE.fullmatch, names)), 1):
        row = json.loads(_unpacked(log, names[found[0]], path))
        if (str(row.get('id')), str(row.get('epoch'))) != found.groups():
            row = {'_bad': f'{found[0]} holds epoch {row.get("epoch")!r:.20} of {row.get("id")!r:.60}'}
        yield {**row, '_row': number}


def _unpacked(log: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> bytes:
    """Return what a member holds, also in Zstandard, for which `zipfile` needs Python 3.14."""
    if member.compress_type != _ZSTANDARD:
        return log.read(member)
    import pyarrow  # type: ignore[import-untyped]

    with path.open('rb') as file:
        file.seek(member.header_offset)
        mark, *_, name, extra = struct.unpack('<4s5H3L2H', file.read(30))
        file.seek(name + extra, 1)
        packed = file.read(member.compress_size)
    try:
        held = pyarrow.decompress(packed, member.file_size, codec='zstd', asbytes=True) if packed else b''
    except pyarrow.ArrowException as error:
        raise ValueError(error) from error
    if mark != b'PK\x03\x04' or zlib.crc32(held) != member.CRC:
        raise ValueError(f'{member.filename} is not what its checksum says')
    return bytes(held)


def _rows(path: Path) -> Iterator[Row]:
    """Yield the samples, each also with its scores under their names: `credit`, `parts.number`."""
    log = _log(path)
    header, count, shared = next(log, {}), 0, {}
    for row in log:
        count += 1
        scores = mapping(row.get('scores')) or ({'score': row['score']} if row.get('score') else {})
        valid = not row.get('invalidation')
        values = {name: _value(at(score, 'value')) if valid else None for name, score in scores.items()}
        if not shared and '_bad' not in row:
            names, chosen = _chosen(header, scores)
            shared = {'_header': header, '_names': names, '_chosen': chosen}
        yield {**values, **row, **shared, '_scores': scores, '_values': values}
    keys, epochs = at(header, 'eval.dataset.sample_ids'), at(header, 'eval.config.epochs') or 1
    missing = len(keys) * epochs - count if isinstance(keys, list) and isinstance(epochs, int) else 0
    if missing > 0:
        said = f'{missing} of the {missing + count} samples that the log was to have are not in it'
        yield {'_skipped': said}


def _value(value: Any) -> Any:
    """Return a verdict with partial credit as a number."""
    if isinstance(value, dict):
        return {name: _value(one) for name, one in value.items()}
    return 0.5 if value == 'P' else value


def _chosen(header: Row, scores: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return the names of all scores, and the path of the one shown first; '' where there is none."""
    told = [at(one, 'scorer') for one in listed(at(header, 'results.scores'))]
    told += [at(one, 'name') for one in listed(at(header, 'eval.scorers'))]
    names = list(dict.fromkeys(one for one in [*told, *scores] if one and isinstance(one, str)))
    shown = {**mapping(at(header, 'results.scores.0')), **mapping(at(header, 'results.headline'))}
    name, key = shown.get('scorer'), shown.get('score') or shown.get('name')
    if name not in names:
        return names, names[0] if names else ''
    return names, f'{name}.{key}' if key and key != name else str(name)


def _sample(row: Row) -> Iterator[Row]:
    """Yield a row with what was asked and said, how it ended, and its verdict."""
    if type(row.get('id')) not in (str, int) or type(row.get('epoch')) is not int:
        told = f'{row.get("id")!r:.40}, {row.get("epoch")!r:.40}'
        raise ValueError(f'id and epoch are {told}; expected the key and the number of a sample')
    chosen, score = row['_chosen'], row['_scores'].get(row['_chosen'].partition('.')[0]) or {}
    correct = at(row['_values'], chosen)
    if isinstance(correct, dict) and len(correct) == 1:
        [correct] = correct.values()
    if isinstance(correct, dict):
        raise ValueError(
            f'the score {chosen} is {correct!r:.60}; say which value: --field correct={chosen}.KEY'
        )
    target = row.get('target') if isinstance(row.get('target'), list) else [row.get('target')]
    choice, limit = at(row, 'output.choices.0') or {}, at(row, 'limit.type')
    thought, response = _parts(choice.get('message') or {}, row) if choice else ('', '' if limit else None)
    if response is None and correct is not None and correct == correct:  # noqa: PLR0124 (NaN)
        response = ''  # as of an agent whose work is scored, not its words
    reason = choice.get('stop_reason')
    ending = _LIMITS.get(limit, f'{limit} limit') if limit and not choice else _ENDINGS.get(reason, reason)
    state = 'failed' if response is None else None
    if reason == 'content_filter' and not response:
        state = 'filtered'
    said = [told for key, told in _SAID.items() if row.get(key)] if 'value' in score and not state else []
    usage, seconds = at(row, 'output.usage'), at(row, 'output.time')
    if not usage or row.get('turn_count') not in (None, 1):  # of all requests, where a sample took several
        model = at(row, '_header.eval.model')
        usage, seconds = mapping(row.get('model_usage')).get(model), row.get('working_time')
    prompt = [at(usage, f'input_tokens{more}') or 0 for more in ('', '_cache_read', '_cache_write')]
    yield {
        **row,
        '_question': _question(row),
        '_reference': target[0] if target else None,
        '_response': response,
        '_thought': thought,
        '_answer': score.get('answer') if score else '',
        '_correct': correct,
        '_finish_reason': ending,
        '_state': state,
        '_prompt_tokens': sum(prompt) if usage else None,
        '_output_tokens': at(usage, 'output_tokens'),
        '_reasoning_tokens': at(usage, 'reasoning_tokens'),
        '_seconds': seconds if usage else None,
        '_said': said + ([_TARGETS] if len(target) > 1 else []),
    }


def _question(row: Row) -> str:
    """Return what the user asked, with the choices that he gave."""
    asked = row.get('input')
    if isinstance(asked, list):
        users = [message for message in asked if message.get('role') == 'user'] or asked
        asked = '\n\n'.join(_parts(message, row)[1] for message in users)
    choices = [f'{chr(ord("A") + place)}) {one}' for place, one in enumerate(row.get('choices') or ())]
    return '\n'.join([_resolved(asked, row), *choices])


def _parts(message: Row, row: Row) -> tuple[str, str]:
    """Return the thought and the text of a message, whose content is a text or a list of parts."""
    content = message.get('content')
    if not isinstance(content, list):
        return _resolved(message.get('reasoning'), row), _resolved(content, row)
    thoughts = [
        _resolved(part.get('summary' if part.get('redacted') else 'reasoning'), row)
        for part in content
        if part.get('type') == 'reasoning'
    ]
    texts = [_resolved(part.get('text'), row) for part in content if part.get('type') == 'text']
    return '\n'.join(filter(None, thoughts)), '\n'.join(texts)


def _resolved(text: Any, row: Row) -> str:
    """Return a text, also one that the log keeps elsewhere because it comes several times."""
    kept = text if isinstance(text, str) else ''
    if kept.startswith('attachment://'):
        return str(mapping(row.get('attachments')).get(kept.removeprefix('attachment://'), kept))
    return kept


def _about(paths: Sequence[Path], row: Row) -> Mapping[str, Any]:
    header, chosen, remarks = row['_header'], row['_chosen'], []
    status = header.get('status') or 'started'
    if status != 'success':
        remarks.append(
            f'the log says {status!r}: it was read as far as it goes, which is where its run stands, or was '
            'broken off'
        )
    if len(row['_names']) > 1:
        names = ', '.join(row['_names'])
        remarks.append(
            f'of the scores {names} the verdicts are those of {chosen}; --field correct=NAME takes another'
        )
    told = {**mapping(at(header, 'eval.model_generate_config')), **mapping(at(header, 'plan.config'))}
    known = {name: one for name, one in told.items() if isinstance(one, (int, float)) and isfinite(one)}
    effort = {name: one for name, one in told.items() if name == 'reasoning_effort' and one}
    return {
        'model': at(header, 'eval.model') or '',
        'dataset': at(header, 'eval.task') or '',
        'written_by': f'inspect_ai {at(header, "eval.packages.inspect_ai") or ""}'.strip(),
        'judge': {'name': f'{chosen} of inspect_ai'} if chosen else {},
        'settings': known | effort,
        'created': at(header, 'eval.created') or '',
        'remarks': remarks,
    }


_OWN = (
    *('question', 'reference', 'response', 'thought', 'answer', 'correct', 'finish_reason', 'state'),
    *('prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds'),
)
FORMAT = Format(
    fields={'uid': 'id', 'replica': 'epoch', **{name: f'_{name}' for name in _OWN}},
    recognises=_is_log,
    rows=_rows,
    expand=_sample,
    about=_about,
)
