"""Logs of inspect_ai, `.eval` (a zip file with a member a sample) and `.json`; epochs are the samples."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import listed, mapping, parse_json
from ..json_rows import Row, json_entries
from .format import Format, asked_in, at, begins_with, parts_of, sampling, tokens_of

_BEGIN = re.compile(
    rb'PK\x03\x04.{26}(header\.json|_journal/|samples/|summaries\.json|reductions\.json)'
    rb'|\s*\{\s*"version":\s*\d+,\s*"status":\s*"\w+",\s*"eval":\s*\{',
    re.DOTALL,
)
_SAMPLE = re.compile(r'samples/(.+)_epoch_(\d+)(?:\.json|/sample\.json)', re.DOTALL)
_DAMAGES = (
    *(zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError),
    *(ValueError, ArithmeticError, RuntimeError, MemoryError),
)
"""What Python raises of a zip file that is damaged, encrypted or packed in a way it does not know."""
_ENDINGS: dict[Any, str | None] = {
    **dict.fromkeys(('max_tokens', 'model_length', 'token limit', 'context limit'), 'length'),
    'unknown': None,
}
"""Stop reasons and limits that have another name here."""

_SAID = {
    'invalidation': '{count} samples were declared invalid in the log: they are unjudged',
    'error': '{count} samples ended in an error and count as they were scored all the same',
    'limit': '{count} samples were ended by a limit of inspect_ai and count as it has scored them',
}


def _log(path: Path) -> Iterator[Row]:
    """Yield what a log tells beside its samples, then its samples; of two of one name the later alone."""
    if not (zipfile.is_zipfile(path) or path.suffix == '.eval'):
        header = Row()  # what is told of the whole comes before the samples
        for keys, value in json_entries(path, 'samples'):
            if len(keys) == 1:
                header[keys[0]] = value
                continue
            if keys[1] == '0':
                yield header
            yield {**value, '_row': int(keys[1]) + 1}
        return
    try:
        with zipfile.ZipFile(path) as log:
            names = log.NameToInfo  # the later member of a name, which was drawn again
            # While it is written, a log has no header, but how it began.
            begun = next((name for name in ('header.json', '_journal/start.json') if name in names), None)
            if begun is None:
                raise ValueError(
                    'it has neither header.json nor _journal/start.json, which inspect_ai writes'
                )
            yield parse_json(_unpacked(log, names[begun], path))
            for number, member in enumerate(filter(None, map(_SAMPLE.fullmatch, names)), 1):
                row = parse_json(_unpacked(log, names[member[0]], path))
                uid, epoch = row.get('id'), row.get('epoch')
                if (str(uid), str(epoch)) != member.groups():
                    row = {'_bad': f'{member[0]} holds epoch {epoch!r:.20} of {uid!r:.60}'}
                yield {**row, '_row': number}
    except _DAMAGES as error:
        raise InputError(f'{path} is damaged, cut off or still being copied: {error}') from error


def _unpacked(log: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> bytes:
    """Return what a member holds, also in Zstandard, for which `zipfile` needs Python 3.14."""
    if member.compress_type != 93:  # Zstandard
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


def _rows(files: Sequence[Path]) -> Iterator[Row]:
    """Yield the samples of a log, each with its scores under their names: `credit`, `parts.number`."""
    for path in files:
        log = _log(path)
        header, count, shared = next(log, {}), 0, Row()
        for row in log:
            count += 1
            try:
                if '_bad' not in row:
                    alone = {'score': row['score']} if row.get('score') else {}  # of older versions
                    scores = mapping(row.get('scores')) or alone
                    shared = shared or dict(zip(('_names', '_chosen'), _chosen(header, scores), strict=True))
                    row.update(_sample(row, scores, shared['_chosen'], at(header, 'eval.model')))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                row['_bad'] = str(error)
            # Several times as long as what is read of them.
            for name in ('events', 'messages', 'attachments', 'store', 'input', 'output'):
                row.pop(name, None)
            yield {**row, **shared, '_header': header, '_file': path}
        keys, epochs = at(header, 'eval.dataset.sample_ids'), at(header, 'eval.config.epochs') or 1
        missing = len(keys) * epochs - count if isinstance(keys, list) and isinstance(epochs, int) else 0
        if missing > 0:
            told = f'{missing} of the {missing + count} samples'
            yield {'_skipped': f'{told} that the log was to have are not in it'}


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


def _sample(row: Row, scores: Mapping[str, Any], chosen: str, model: Any) -> Row:
    """Return the scores of a row, and as '_sample' what was asked and said, how it ended, which counts."""
    values = {name: None if row.get('invalidation') else at(one, 'value') for name, one in scores.items()}
    for name, value in values.items():  # P is partial credit
        parts = {key: 0.5 if one == 'P' else one for key, one in mapping(value).items()}
        values[name] = parts or (0.5 if value == 'P' else value)
    correct, score = at(values, chosen), scores.get(chosen.partition('.')[0]) or {}
    if isinstance(correct, dict):
        if len(correct) != 1:
            raise ValueError(
                f'score {chosen} is {correct!r:.60}; say which value: --field correct={chosen}.KEY'
            )
        [correct] = correct.values()
    if kept := row.get('attachments'):  # texts that come several times are kept elsewhere
        row.update({name: _resolved(row.get(name), kept) for name in ('input', 'output')})
    choice, limit = at(row, 'output.choices.0') or {}, at(row, 'limit.type')
    thought, response = parts_of(choice.get('message') or {}) if choice else ('', '' if limit else None)
    if response is None and correct is not None and correct == correct:  # noqa: PLR0124 (NaN)
        response = ''  # as of an agent whose work is scored, not its words
    reason, state = choice.get('stop_reason'), 'failed' if response is None else None
    if reason == 'content_filter' and not response:
        state = 'filtered'
    usage, seconds = at(row, 'output.usage'), at(row, 'output.time')
    if not usage or row.get('turn_count') not in (None, 1):  # of all requests, where a sample took several
        usage, seconds = mapping(row.get('model_usage')).get(model), row.get('working_time')
    prompt = [at(usage, f'input_tokens{more}') or 0 for more in ('', '_cache_read', '_cache_write')]
    reason = f'{limit} limit' if limit and not choice else reason
    choices = [f'{chr(ord("A") + place)}) {one}' for place, one in enumerate(row.get('choices') or ())]
    sample = {
        'uid': row['id'],
        'replica': row['epoch'],
        'question': '\n'.join([asked_in(row.get('input')), *choices]),
        'reference': row.get('target'),
        'response': response,
        'thought': thought,
        'answer': score.get('answer') if score else '',
        'correct': correct,
        'finish_reason': _ENDINGS.get(reason, reason),
        'state': state,
        **tokens_of(usage),
        'prompt_tokens': sum(prompt) if usage else None,
        'seconds': seconds if usage else None,
        '_said': [told for key, told in _SAID.items() if row.get(key) and 'value' in score and not state],
    }
    return {**values, '_sample': sample}


def _resolved(value: Any, kept: Mapping[str, Any]) -> Any:
    """Return messages with the texts that stand in the attachments of their log."""
    if isinstance(value, dict):
        return {name: _resolved(one, kept) for name, one in value.items()}
    if isinstance(value, list):
        return [_resolved(one, kept) for one in value]
    return kept.get(value.removeprefix('attachment://'), value) if isinstance(value, str) else value


def _about(row: Row) -> Mapping[str, Any]:
    header, chosen, names, remarks = row['_header'], row['_chosen'], ', '.join(row['_names']), []
    if (status := header.get('status') or 'started') != 'success':
        broken = 'it was read as far as it goes, which is where its run stands, or was broken off'
        remarks.append(f'the log says {status!r}: {broken}')
    if len(row['_names']) > 1:
        scores = f'of the scores {names} the verdicts are those of {chosen}'
        remarks.append(f'{scores}; --field correct=NAME takes another')
    return {
        'model': at(header, 'eval.model') or '',
        'dataset': at(header, 'eval.task') or '',
        'written_by': f'inspect_ai {at(header, "eval.packages.inspect_ai") or ""}'.strip(),
        'judge': {'name': f'{chosen} of inspect_ai'} if chosen else {},
        'settings': sampling(at(header, 'eval.model_generate_config'), at(header, 'plan.config')),
        'created': at(header, 'eval.created') or '',
        'remarks': remarks,
    }


FORMAT = Format(
    lambda path, row: begins_with(path, _BEGIN),
    expand=lambda row: (row['_sample'],),
    about=_about,
    rows=_rows,
)
