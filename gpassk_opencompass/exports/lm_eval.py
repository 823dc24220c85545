"""Results in the files of lm-evaluation-harness 0.4.13: a line a question, and a summary beside them.

    <folder>/<model>/samples_<task>_<date>.jsonl
    <folder>/<model>/results_<date>.json

They are named and laid out as `lm_eval --log_samples --output_path <folder>` does. The date is that of the
run, so a run that is exported once more replaces its own files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from loguru import logger

from ..errors import InputError
from ..files import digest, mapping, write_file
from ..samples import parted_group
from ..results.record import Measures
from ..results.result import Result
from ..times import seconds_of
from ..unseen import json_text, with_whole_characters
from ..version import __version__
from .responses import responses_of

FILTER = 'gpassk'
"""What took the final answers out of the responses, in the place of a filter of the harness."""

_TO_UNDERSCORES = re.compile(r'["<>:/|\\?*\[\]]+')
_SAID = {'1': True, '0': False, '?': None}

_GIVEN = {'max_out_len': 'max_gen_toks', 'random_seed': 'seed'}
"""Name of a setting here → there, where it is another."""

Json = dict[str, Any]


def write_lm_eval(result: Result, folder: Path) -> list[Path]:
    """Write the files of a run, and return them: first the samples, then the summary.

    Each line has the verdicts on its n responses as `correct` (true, false, null: unjudged), the final
    answers as filtered responses, and the metrics of its question. Where the responses are no longer there,
    they are empty and the line says so: `responses_kept` is false.

    Args:
        folder: in which the model's folder is; made where it is not there.

    Raises:
        InputError: the result holds counts alone, or a file cannot be written.
    """
    if not result.verdicts:
        raise InputError(
            f'{result.path} holds no verdicts of single samples; the files of lm-eval have a line a question '
            'with all of its responses'
        )
    texts = _responses(result)
    task = re.sub(r'\W', '_', result.benchmark) or 'task'
    date = _date(result)
    target = folder / (_TO_UNDERSCORES.sub('__', result.model_abbr) or 'model')
    lines = list(_lines(result, texts))
    summary = _summary(result, task, lines)
    files = {
        target / f'samples_{task}_{date}.jsonl': ''.join(json_text(line) + '\n' for line in lines),
        target / f'results_{date}.json': json_text(summary, indent=2) + '\n',
    }
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            write_file(path, text.encode())
    except OSError as error:
        raise InputError(f'cannot write {target}: {error.strerror or error}') from error
    return list(files)


def _responses(result: Result) -> Sequence[str | None] | None:
    """Return the response of each sample; None where they cannot be found."""
    try:
        return responses_of(result)
    except InputError as error:
        logger.warning(f'{result.path}: the responses are left empty: {error}')
        return None


def _date(result: Result) -> str:
    """Return the moment of the run as names of files have it, or that of its file."""
    seconds = _begun(result)
    seconds = result.path.stat().st_mtime if seconds is None else seconds
    moment = datetime.fromtimestamp(seconds, timezone.utc).replace(tzinfo=None)
    return moment.isoformat(timespec='microseconds').replace(':', '-')


def _begun(result: Result) -> float | None:
    """Return when the run began or its record was made, in seconds since 1970; None where it is not told."""
    for part in ('provenance', 'run'):
        seconds = seconds_of(mapping(result.block.get(part)).get('created'))
        if seconds is not None:
            return seconds
    return None


def _measures(result: Result) -> Measures:
    block = result.block
    return Measures(result.n, tuple(block['k']), tuple(block['thresholds']))


def _lines(result: Result, texts: Sequence[str | None] | None) -> Iterator[Json]:
    measures, n = _measures(result), result.n
    settings = _settings(result)
    for place, verdicts in enumerate(result.verdicts):
        doc = _doc(result, place)
        own = [''] * n if texts is None else [text or '' for text in texts[place * n : place * n + n]]
        metrics = {
            **measures.means(np.array([verdicts.count('1')])),
            'correct': [_SAID[symbol] for symbol in verdicts],
            'unjudged': verdicts.count('?'),
        }
        yield with_whole_characters(
            {
                'doc_id': place,
                'doc': doc,
                'target': doc['answer'],
                'arguments': {'gen_args_0': {'arg_0': doc['question'], 'arg_1': settings}},
                'resps': [own],
                'filtered_resps': [list(result.answers[place]) if result.answers else [''] * n],
                'filter': FILTER,
                'metrics': list(metrics),
                'doc_hash': _hash(json.dumps(doc, indent=2, ensure_ascii=False)),
                'prompt_hash': _hash(doc['question']),
                'target_hash': _hash(doc['answer']),
                **({'responses_kept': False} if texts is None else {}),
                **metrics,
            }
        )


def _doc(result: Result, place: int) -> Json:
    split, language = parted_group(result.groups[place])
    return {
        'uid': result.uids[place],
        'problem': result.problems[place],
        'question': result.questions[place] if result.questions else '',
        'answer': result.references[place] if result.references else '',
        'split': split,
        'language': language,
    }


def _settings(result: Result) -> Json:
    known = result.sampling
    return {
        'until': [],
        **({'do_sample': known['temperature'] > 0} if 'temperature' in known else {}),
        **{_GIVEN.get(name, name): value for name, value in known.items()},
    }


def _summary(result: Result, task: str, lines: Sequence[Json]) -> Json:
    means = _measures(result)(result.counts)
    scores = {name: value / 100 for name, value in means.items()}
    scores['correct'], scores['unjudged'] = int(result.counts.sum()), result.unjudged
    hashes = ''.join(line[name] for line in lines for name in ('doc_hash', 'prompt_hash', 'target_hash'))
    size = len(lines)
    return {
        'results': {
            task: {
                'name': task,
                'alias': result.benchmark,
                'sample_len': size,
                **{f'{name},{FILTER}': value for name, value in scores.items()},
                **{f'{name}_stderr,{FILTER}': 'N/A' for name in scores},
            }
        },
        'group_subtasks': {},
        'configs': {task: _config(result, task)},
        'versions': {task: 'N/A'},
        'n-shot': {task: 0},
        'higher_is_better': {task: {name: name != 'unjudged' for name in scores}},
        'n-samples': {task: {'original': size, 'effective': size}},
        'config': {'model': result.engine or result.host, 'model_args': {'pretrained': result.model_abbr}},
        'model_source': result.host,
        'model_name': result.model_abbr,
        'model_name_sanitized': _TO_UNDERSCORES.sub('__', result.model_abbr),
        'task_hashes': {task: _hash(hashes)},
        'written_by': f'gpassk_opencompass {__version__}',
    }


def _config(result: Result, task: str) -> Mapping[str, Any]:
    return {
        'task': task,
        'output_type': 'generate_until',
        'doc_to_text': 'question',
        'doc_to_target': 'answer',
        'generation_kwargs': _settings(result),
        'repeats': result.n,
        'num_fewshot': 0,
        'metadata': {'gpassk': {'version': __version__, 'judge': dict(result.judge)}},
    }


def _hash(text: str) -> str:
    return digest(text.encode('utf-8', 'backslashreplace'))
