"""NeMo-Skills: the outputs of `ns eval` and `ns generate`, a file a seed, `output-rs<seed>.jsonl`.

The seeds of a folder are one run, and `output.jsonl` is another. Chunks of a seed may be not merged yet.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..json_rows import Row
from .format import Format, named, rows_of

_NAME = re.compile(r'(?P<stem>.+?)(?:-rs(?P<seed>\d+))?(?:_chunk_(?P<chunk>\d+))?\.jsonl(?:-async)?')
_JUDGED, _WAITING = 'eval-results', 'tmp-eval-results'
"""Folders of what is finished, and of responses that an LLM judge still has to see."""

_VERDICTS = ('judgement', 'symbolic_correct', 'is_correct')
"""Fields with a verdict, the one that counts first; the last is of versions before 0.7."""

_DIFFERENT = '{count} judgements differ from symbolic_correct, which does not count here'
_NEITHER = (
    '{count} judgements say neither "Judgement: Yes" nor "Judgement: No" and are unjudged; NeMo-Skills '
    'counts them as incorrect'
)


def _named(path: Path) -> tuple[str, str | None, str | None]:
    """Return what the name of a file tells: what it begins with, the seed, the chunk."""
    found = _NAME.fullmatch(path.name)
    return found.group('stem', 'seed', 'chunk') if found else (path.stem, None, None)  # type: ignore[return-value]


def _run_of(path: Path) -> tuple[Path, str, bool]:
    """Return the folder in which a run is judged to its end, and which of the runs there it is."""
    folder, (stem, seed, _) = path.absolute().parent, _named(path)
    return Path(*(_JUDGED if part == _WAITING else part for part in folder.parts)), stem, seed is not None


def _chosen(paths: Sequence[Path]) -> list[Path]:
    """Return the files of the finished seeds: not what waits for its judge beside what it has judged."""
    folder = _run_of(paths[0])[0]
    seeds: dict[str | None, list[Path]] = defaultdict(list)
    unfinished: dict[str | None, Path] = {}
    for path in [path for path in paths if path.absolute().parent == folder] or paths:
        seed, started = _named(path)[1], path.with_name(f'{path.name.removesuffix("-async")}-async')
        seeds[seed].append(path)
        if started.exists():
            unfinished[seed] = started
    if unfinished.keys() == seeds.keys():
        raise InputError(
            f'{unfinished.popitem()[1]} is unfinished, as is every seed beside it: NeMo-Skills writes the '
            'answers to the name without -async when all are there, and goes on with ++skip_filled=True'
        )
    return [path for seed, files in sorted(seeds.items()) if seed not in unfinished for path in _whole(files)]


def _whole(files: Sequence[Path]) -> list[Path]:
    """Return the file of a seed, or its chunks where they are not merged, or not to their end."""
    chunks = {int(chunk): path for path in files if (chunk := _named(path)[2]) is not None}
    merged = [path for path in files if path not in chunks.values()]
    if merged and (0 not in chunks or merged[0].with_name(f'{merged[0].name}.done').exists()):
        return merged
    if missing := set(range(max(chunks) + 1)) - chunks.keys():
        raise InputError(
            f'{files[0]}: its seed has no chunk {min(missing)}, without which nobody knows which question a '
            'line of the others is'
        )
    return [chunks[number] for number in sorted(chunks)]


def _rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a file with their seed, their line in its chunks, and the field of its verdicts."""
    (_, seed, chunk), before, verdict = _named(path), 0, ''
    for number in range(int(chunk or 0)):
        before += sum(1 for _ in rows_of(path.with_name(path.name.replace(f'_{chunk}.', f'_{number}.'))))
    # Of the model in whose place a judge that was asked leaves its own.
    replaced = named('finish_reason reasoning_content num_reasoning_tokens num_answer_tokens')
    for line, row in enumerate(rows_of(path), before + 1):
        verdict = verdict or next((name for name in _VERDICTS if name in row), 'none')
        # A judgement that was given without asking comes first in its row, and then nothing was replaced.
        asked = 'judgement' in row and next(iter(row)) != 'judgement'
        kept = {name: one for name, one in row.items() if not asked or name not in replaced}
        yield {**kept, '_line': line, '_verdict': verdict, '_seed': int(seed or 0)}


def _sample(row: Row) -> Iterator[Row]:
    """Yield the row with its thought, state and verdict."""
    response, whole, thought = row['generation'], row.get('_full_generation'), row.get('reasoning_content')
    if not isinstance(response, str):
        raise ValueError(f'generation is {response!r:.60}; expected a text')
    if isinstance(whole, str) and whole.strip() != response.strip():
        thought = whole[: whole.rfind(response)] if response in whole and response else whole
        thought = thought.strip().removeprefix('<think>').removesuffix('</think>')
    state, said, verdict = None, [], row.get(row['_verdict'])
    if response == '' and row.get('num_generated_tokens') == 0 and not row.get('finish_reason'):
        # What NeMo-Skills writes where it goes on after a request that the server did not answer.
        error = row.get('error')
        state = 'too long' if error == 'context_window_exceeded' else 'refused' if error else 'failed'
    elif row['_verdict'] == 'judgement' and isinstance(verdict, str):
        _, mark, told = verdict.rpartition('Judgement:')  # the last one counts, as NeMo-Skills reads it
        told = told.strip().lower()
        verdict = told.startswith('yes') if mark and told.startswith(('yes', 'no')) else None
        if verdict is None:
            said = [_NEITHER]
        elif isinstance(row.get('symbolic_correct'), bool) and row['symbolic_correct'] != verdict:
            said = [_DIFFERENT]
    yield {**row, '_thought': thought, '_state': state, '_correct': None if state else verdict, '_said': said}


def _about(paths: Sequence[Path], row: Row) -> Mapping[str, Any]:
    """Return model and benchmark by `<model>/eval-results/<benchmark>`; else the folder is the benchmark."""
    folder, (stem, seed, _) = paths[0].absolute().parent, _named(paths[0])
    parts = folder.parts
    places = [place for place, part in enumerate(parts[:-1]) if part in (_JUDGED, _WAITING)]
    dataset = '/'.join(parts[places[-1] + 1 :]) if places else folder.name
    greedy = seed is None and any(folder.glob(f'{stem}-rs*.jsonl'))
    unfinished = sorted(folder.glob(f'{stem}-rs*.jsonl-async')) if seed else ()
    remarks = [f'{path.name} is unfinished: the samples of this seed are left out' for path in unfinished]
    waiting = Path(*(_WAITING if part == _JUDGED else part for part in parts))
    if waiting != folder and waiting.is_dir():
        remarks.append(f'the same responses before they were judged, in {_WAITING}, are not counted')
    return {
        'model': parts[places[-1] - 1] if places else '',
        'dataset': (dataset if stem == 'output' else stem) + ('-greedy' if greedy else ''),
        'written_by': 'NeMo-Skills',
        'judge': {'name': f'NeMo-Skills {row["_verdict"]}'} if row['_verdict'] in _VERDICTS else {},
        'remarks': remarks,
    }


FORMAT = Format(
    fields={
        'uid': lambda row: row['id'] if type(row.get('id')) in (str, int) else row['_line'],
        **named('seed thought correct state', '_'),
        'replica': '_seed',
        'question': lambda row: row.get('problem', row.get('question')),
        **{'reference': 'expected_answer', 'response': 'generation', 'answer': 'predicted_answer'},
        **{'split': 'subset_for_metrics', 'finish_reason': 'finish_reason', 'seconds': 'generation_time'},
        **{'prompt_tokens': 'num_input_tokens', 'output_tokens': 'num_generated_tokens'},
        'reasoning_tokens': 'num_reasoning_tokens',
    },
    needs=frozenset({'generation', 'expected_answer'}),
    recognises=lambda path, row: row is not None and isinstance(row['generation'], str),
    run_of=_run_of,
    chosen=_chosen,
    rows=_rows,
    expand=_sample,
    about=_about,
)
