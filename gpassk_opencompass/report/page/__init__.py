"""The page of a report: `index.html`, which opens from disk, and `responses/<run>/<question>.js` beside it.

Responses lie in scripts, for a page from disk may load nothing else; the folder of a run is named after all
that they are made of. The page is written last: it never lacks what it loads.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from pandas import DataFrame

from ... import __version__
from ...answers.thoughts import thought_in
from ...errors import InputError
from ...files import write_file
from ...health import CUT_OFF
from ...judges.verdicts import VerdictStore, stores_near
from ...keys import without_long
from ...record import Result, digest_of
from ...samples import Samples
from ...text import progress
from .. import frame
from ..figures import Figures

RESPONSES = 'responses'  # the folder beside the page
BUDGET = 24 * 2**20  # characters that answers may take on the page; beyond it there are verdicts alone
LAYOUT = 3  # of the files of responses: raised where a page could not read those of before
LONGEST = 400  # characters of an answer on the page
AT_ONCE = 8  # questions whose samples are read together: they lie in one part of their file
JUDGED = ('verdict', 'judged_by', 'why')
BRIEF = ('finish_reason', 'state')
WHOLE = ('answer', *BRIEF, 'seed', 'output_tokens', 'reasoning_tokens', 'seconds', 'response', 'thought')

Stores = Callable[[Path], VerdictStore]


def write_page(
    boards: Sequence[frame.Board],
    data: DataFrame,
    folder: Path,
    responses: bool = False,
    figures: Figures | None = None,
) -> list[str]:
    """Write `index.html`, and the responses beside it where they are asked for; return what to tell of them.

    Its security policy allows its own script and style, by their hashes, and with responses the scripts
    beside it that the script names (Trusted Types): no text of a model can load or run anything. Responses
    that no page there loads any more are removed.

    Raises InputError where there is nothing to show, OSError where the folder cannot be written.
    """
    if not boards:
        raise InputError('there is nothing to show: 0 tables; give at least one complete result')
    folder.mkdir(parents=True, exist_ok=True)
    places, lost = dict[int, str](), dict[int, str]()
    stores, entries = cache(VerdictStore), [(board, entry) for board in boards for entry in board.entries]
    for board, entry in progress('writing responses', entries if responses else []):
        try:
            places[id(entry)] = _write_responses(board, entry, stores, folder / RESPONSES)
        except InputError as error:
            lost[id(entry)] = str(error)
    content = _content(boards, frame.scores_of(data), places, lost, figures or {})
    names = 'page.js', 'page.css', 'page.html'
    script, style, outline = (
        (files(__name__) / 'files' / name).read_text(encoding='utf-8') for name in names
    )
    # A page on disk has no origin that 'self' would be: it is file: there, which reaches the disk alone.
    beside, rules = (" 'self' file:", 'gpassk-responses') if places else ('', "'none'")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'{beside}; style-src '{_hash(style)}'; img-src data:"
        f"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types {rules}"
    )
    # JSON stays data inside a <script> element: without <, >, & and beyond ASCII.
    text = json.dumps(content, allow_nan=False, separators=(',', ':'))
    text = re.sub('[<>&]', lambda found: f'\\u{ord(found[0]):04x}', text)
    inside = {'content': text, 'script': script, 'style': style, 'policy': policy}
    page = Template(outline).substitute(inside, version=__version__)
    write_file(folder / 'index.html', page.encode())
    total = f'responses of {len(places)} of {len(entries)} runs are in {folder / RESPONSES}'
    lines = [total] if places else []
    for board, entry in entries:
        if why := lost.get(id(entry)):
            lines.append(f'{entry.name} on {board.title}: no responses: {why}')
    if removed := _remove_stale(folder / RESPONSES, set(places.values())):
        lines.append(f'removed {removed:,} files with responses of an earlier report from {folder}')
    return lines


def _hash(text: str) -> str:
    """Return what a Content-Security-Policy calls an inline script or style."""
    return 'sha256-' + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _pack(content: Any) -> str:
    """Return deflated JSON in base 64, which the browser inflates; halves of characters stand as escapes."""
    try:
        text = json.dumps(content, ensure_ascii=False, separators=(',', ':')).encode()
    except UnicodeEncodeError:
        text = json.dumps(content, separators=(',', ':')).encode()
    return base64.b64encode(zlib.compress(text, 3)).decode('ascii')


def _content(
    boards: Sequence[frame.Board],
    scores: frame.Scores,
    places: Mapping[int, str],
    lost: Mapping[int, str],
    figures: Mapping[str, Sequence[tuple[str, str]]],
) -> dict[str, Any]:
    """Return `Content` of source/content.ts."""
    runs: dict[tuple[str, str], dict[str, Any]] = {}
    shown: list[dict[str, Any]] = []
    for board in boards:
        first, ranked_by = board.entries[0].result, str(board.ranked_by)
        own = [(group, metric) for title, _, group, metric in scores if title == board.title]
        parts, metrics = (list(dict.fromkeys(column)) for column in zip(*own, strict=True))
        entries: list[dict[str, Any]] = []
        for entry, ranks in zip(board.entries, board.pairs.ranks.tolist(), strict=True):
            result, name = entry.result, entry.name
            key = result.run.host, name
            mean = _score(scores.get((frame.AVERAGE, name, '', ranked_by)))
            about = {'name': name, 'model': result.model, 'host': result.run.host, 'average': mean}
            runs.setdefault(key, {**about, 'settings': dict(result.sampling)})
            told = _entry(entry, board.uids, id(entry) in places)
            told['scores'] = [
                [_score(scores.get((board.title, name, part, one))) for one in metrics] for part in parts
            ]
            told |= {'run': list(runs).index(key), 'ranks': ranks, 'shards': places.get(id(entry))}
            told['lost'] = lost.get(id(entry), 'the report was made without them')
            entries.append(told)
        names = 'question', 'reference'
        samples = first.samples(names, (0, int(first.table.n.sum())))
        texts = {name: samples.each(name)[:: first.n] for name in names if samples and name in samples}
        groups, problems = list(dict.fromkeys(first.counts.group)), list(dict.fromkeys(board.problem))
        columns = [metrics.index(one) for one in (frame.GREEDY, *map(str, board.metrics)) if one in metrics]
        told = {'title': board.title, 'judge': frame.judge_line(first), 'k': board.k}
        told |= {'data': first.data.sha256, 'level': f'{100 * board.level:g}\xa0%'}
        told |= {'notes': [*([f'{board.reason}.'] if board.reason else []), *board.notes]}
        told |= {'metrics': metrics, 'columns': columns, 'parts': parts, 'uids': board.uids, 'groups': groups}
        told['group'] = [groups.index(one) for one in first.counts.group]
        told |= {'problem': [problems.index(one) for one in board.problem], 'entries': entries}
        told['texts'] = _pack(texts)
        told['figures'] = [[caption, _pack(svg)] for caption, svg in figures.get(board.title, ())]
        shown.append(told)
    each = [one for board in shown for one in board['entries']]
    if sum(len(one['answers'] or '') for one in each) > BUDGET:
        for one in each:
            one['answers'] = None
    why = frame.why_no_average(boards) if len(boards) > 1 else ''
    return {'noAverage': why, 'runs': list(runs.values()), 'boards': shown}


def _score(score: frame.Score | None) -> list[float | None] | None:
    """Return value, low, high, rerun error and upper bound, as they are shown; None: no such score."""
    digits = zip(score or (), (2, 1, 1, 2, 2), strict=True)
    return [None if math.isnan(one) else round(one, many) for one, many in digits] if score else None


def _entry(entry: frame.Entry, uids: Sequence[str], beside: bool) -> dict[str, Any]:
    """Return what is known of a run but its scores; its samples, where they do not lie beside the page."""
    result, health = entry.result, entry.result.health
    order, n = frame.rows_of(result, uids), result.n
    reasons = ', '.join(f'{reason}: {count}' for reason, count in health.unjudged_reasons.items())
    facts = {
        'Settings': ', '.join(f'{name} {value}' for name, value in result.sampling.items()),
        'Samples a question': str(n),
        'Health': health.line,
        'Unjudged samples': f'{health.unjudged} ({reasons})' if reasons else '',
        'Greedy': entry.greedy_note,
        'Engine': result.engine,
        'Signature': result.signature,
    }
    told: dict[str, Any] = {'name': entry.name, 'n': n, 'remarks': entry.remarks}
    told |= {'tokens': health.output_tokens}
    told['badges'] = [*filter(None, [*frame.health_line(result).split(', '), frame.limits_line(result)])]
    told |= {'facts': [[name, text] for name, text in facts.items() if text], 'greedyNote': entry.greedy_note}
    told['greedy'] = entry.greedy and entry.greedy.table.c[frame.rows_of(entry.greedy, uids)].tolist()
    told |= {'c': result.table.c[order].tolist(), 'cut': [], 'samples': None, 'answers': None}
    told['unjudged'] = result.table.unjudged[order].tolist() if health.unjudged else []
    wanted = [*BRIEF, *(() if beside else (*JUDGED, 'answer'))]
    if samples := result.samples(wanted, (0, int(result.table.n.sum()))):
        if order != list(range(len(uids))):
            samples = samples.select([row * n + replica for row in order for replica in range(n)])
        ends = samples.each('finish_reason')
        cut = [list(ends[row : row + n]).count(CUT_OFF) for row in range(0, n * len(uids), n)]
        told['cut'] = cut if any(cut) else []
        if not beside:
            told['samples'] = _pack(_columns(samples, BRIEF))
        if not beside and 'answer' in samples:
            long = '… ({} characters)'.format
            texts = (text or '' for text in samples['answer'])
            told['answers'] = _pack([t if len(t) <= LONGEST else t[:LONGEST] + long(len(t)) for t in texts])
    return told


def _columns(samples: Samples, names: Sequence[str]) -> dict[str, Any]:
    """Return samples as `Columns` of source/content.ts; `who` is the reason where nobody judged."""
    symbols = {'correct': '1', 'incorrect': '0'}
    verdict = ''.join(symbols.get(one, '?') for one in samples.each('verdict'))
    who = [why or one or '' for why, one in zip(samples.each('why'), samples.each('judged_by'), strict=True)]
    return {'verdict': verdict, 'who': who, **{name: samples[name] for name in names if name in samples}}


def _write_responses(board: frame.Board, entry: frame.Entry, stores_of: Stores, folder: Path) -> str:
    """Write a file a question with the samples of a run and of its greedy run; return their folder's name.

    Raises InputError where the responses of the sampled run are not known.
    """
    known: list[Result] = []
    for result in filter(None, (entry.result, entry.greedy)):
        starts = range(0, len(result.counts.uid) * result.n, result.n)
        if any('response' in (result.samples(['response'], (at, at + result.n)) or ()) for at in starts):
            known.append(result)
        elif result is entry.result:
            raise InputError(f'{result.path} has no responses: no file of its samples beside it has them')
    place = digest_of([LAYOUT, board.uids, *(one.model_dump() for one in known)])[:12]
    (folder / place).mkdir(parents=True, exist_ok=True)
    greedy = {uid: told for one in known[1:] for uid, told in _questions(one, stores_of)}
    for uid, told in _questions(known[0], stores_of):
        packed = _pack({'uid': uid, 'samples': told, 'greedy': greedy.get(uid)})
        name = f'{place}/{board.uids.index(uid)}'
        write_file(folder / f'{name}.js', f'gpasskShard("{name}","{packed}")\n'.encode())
    return place


def _questions(result: Result, stores_of: Stores) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield uid and samples of each question; keys that stand in the environment are left out of texts."""
    keys = [key for name, key in os.environ.items() if name.endswith(('_API_KEY', '_TOKEN'))]
    stores = [*map(stores_of, stores_near(result.path, common=result.run.host == 'lighteval'))]
    n, size = result.n, len(result.counts.uid)

    def shown(text: str | None) -> str | None:
        return without_long(text, *keys) if text and keys else text

    for start in range(0, size, AT_ONCE):
        rows = (start * n, min(start + AT_ONCE, size) * n)
        block = result.samples([*WHOLE, *JUDGED, 'reply_key'], rows)
        assert block is not None
        for uid, of_question in block.by_question().items():
            samples = block.select(of_question)
            told = _columns(samples, WHOLE) | {'replica': samples['replica']}
            told |= {name: [*map(shown, told[name])] for name in ('response', 'thought') if name in told}
            seconds = samples.each('seconds')
            told['seconds'] = [one if one is not None and math.isfinite(one) else None for one in seconds]
            # As JavaScript counts, in UTF-16: so much of the beginning of a response is thought.
            texts = [text or '' for text in told.get('response', [])]
            thoughts = [text[: thought_in(text) or 0].encode('utf-16-le', 'surrogatepass') for text in texts]
            told['within'] = [len(thought) // 2 for thought in thoughts]
            exchanges = (
                next(filter(None, (store.exchange(key) for store in stores)), None) if key else None
                for key in samples.each('reply_key')
            )
            told['judge'] = [one and [one.name, shown(one.prompt), shown(one.reply)] for one in exchanges]
            yield uid, told


def _remove_stale(folder: Path, written: set[str]) -> int:
    """Remove responses that no page loads any more; files of another name stay, and no link is followed."""
    removed = 0
    for place in folder.glob('*'):
        if re.fullmatch('[0-9a-f]{12}', place.name) and place.name not in written and not place.is_symlink():
            for path in [*place.glob('[0-9]*.js'), *place.glob('.writing-*')]:
                path.unlink()
                removed += 1
            with suppress(OSError):  # there is something else in it
                place.rmdir()
    with suppress(OSError):
        folder.rmdir()
    return removed
