"""Results for others: a CSV with a row a sample, and the files of lm-evaluation-harness 0.4.13.

    <folder>/<model>/samples_<task>_<date>.jsonl    a line a question
    <folder>/<model>/results_<date>.json            the scores

The latter are named and laid out as `lm_eval --log_samples --output_path <folder>` does. Their date is that
of the run, so a run that is exported once more replaces its own files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

from .errors import InputError
from .files import digest, write_file
from .record import Result, means
from .samples import COLUMNS, Samples, parted_group
from .text import csv_text, json_text, seconds_of, whole_characters
from .version import __version__

FILTER = 'gpassk'
"""What took the final answers out of the responses, in the place of a filter of the harness."""


Json = dict[str, Any]


def write_csv(result: Result, file: TextIO) -> int:
    """Write a row a sample, with the columns of which something is known; return how many rows.

    What a spreadsheet would take for a formula gets an apostrophe, what cannot be seen is escaped;
    `tables.read_csv_cell` gives the texts back.

    Raises:
        InputError: the result holds counts alone.
    """
    samples = _samples(result)
    names = [column.name for column in COLUMNS if column.name in samples and column.name != 'run']
    file.write(csv_text([['model', 'dataset', *names]]))
    columns = [samples[name] for name in names]
    for start in range(0, len(samples), 20_000):  # rows that are in memory as text at a time
        rows = zip(*(column[start : start + 20_000] for column in columns), strict=True)
        file.write(csv_text([result.run.model, result.run.dataset, *row] for row in rows))
    return len(samples)


def write_lm_eval(result: Result, folder: Path) -> list[Path]:
    """Write the files of a run, and return them: the samples, then the summary.

    A line has the verdicts on the n responses as `correct` (true, false, null: unjudged), the final answers
    as filtered responses, and the metrics of its question.

    Args:
        folder: in which the model's folder is; made where it is not there.

    Raises:
        InputError: the result holds no responses, or a file cannot be written.
    """
    samples = _samples(result)
    if 'response' not in samples:
        raise InputError(f'{result.run.model} on {result.run.dataset} has no responses; lm-eval logs them')
    task = re.sub(r'\W', '_', result.benchmark) or 'task'
    moment = seconds_of(result.run.created) or 0.0
    date = datetime.fromtimestamp(moment, timezone.utc).strftime('%Y-%m-%dT%H-%M-%S.%f')
    target = folder / (_sanitized(result.run.model) or 'model')
    lines = list(_lines(result, samples))
    files = {
        target / f'samples_{task}_{date}.jsonl': ''.join(json_text(line) + '\n' for line in lines),
        target / f'results_{date}.json': json_text(_summary(result, task, lines), indent=2) + '\n',
    }
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            write_file(path, text.encode())
    except OSError as error:
        raise InputError(f'cannot write {target}: {error.strerror or error}') from error
    return list(files)


def _samples(result: Result) -> Samples:
    if (samples := result.samples()) is None:
        raise InputError(
            f'{result.run.model} on {result.run.dataset} holds counts alone, so there is no row a sample to '
            'write; `gpassk score` of verdicts or responses has samples'
        )
    return samples


def _sanitized(name: str) -> str:
    return re.sub(r'["<>:/|\\?*\[\]]+', '__', name)


def _settings(result: Result) -> Json:
    names = {'max_out_len': 'max_gen_toks', 'random_seed': 'seed'}
    known = {names.get(name, name): value for name, value in result.sampling.items()}
    drawn = {'do_sample': known['temperature'] > 0} if 'temperature' in known else {}
    return {'until': [], **drawn, **known}


def _lines(result: Result, samples: Samples) -> Iterator[Json]:
    settings, table = _settings(result), result.table
    names = ('question', 'reference', 'response', 'answer', 'verdict')
    question, reference, response, answer, verdict = map(samples.each, names)
    questions = samples.by_question()
    for place, uid in enumerate(table.uid):
        rows, counts = questions[uid], table.select([place])
        split, language = parted_group(table.group[place])
        asked = {'question': question[rows[0]] or '', 'answer': reference[rows[0]] or ''}
        doc = {'uid': uid, 'problem': table.problem[place], **asked, 'split': split, 'language': language}
        metrics = {
            **means(counts, [k for k in result.ks if k <= len(rows)] or [1], result.thresholds),
            'correct': [{'correct': True, 'incorrect': False}.get(verdict[row]) for row in rows],
            'unjudged': int(counts.unjudged[0]),
        }
        yield whole_characters(
            {
                'doc_id': place,
                'doc': doc,
                'target': doc['answer'],
                'arguments': {'gen_args_0': {'arg_0': doc['question'], 'arg_1': settings}},
                'resps': [[response[row] or '' for row in rows]],
                'filtered_resps': [[answer[row] or '' for row in rows]],
                'filter': FILTER,
                'metrics': list(metrics),
                'doc_hash': _hash(json.dumps(doc, indent=2, ensure_ascii=False)),
                'prompt_hash': _hash(doc['question']),
                'target_hash': _hash(doc['answer']),
                **metrics,
            }
        )


def _summary(result: Result, task: str, lines: Sequence[Json]) -> Json:
    scores = {name: value / 100 for name, value in result.scores().items() if '/' not in name}
    scores |= {'correct': int(result.table.c.sum()), 'unjudged': int(result.table.unjudged.sum())}
    hashes = ''.join(line[name] for line in lines for name in ('doc_hash', 'prompt_hash', 'target_hash'))
    size, model = len(lines), result.run.model
    config: Mapping[str, Any] = {
        'task': task,
        'output_type': 'generate_until',
        'doc_to_text': 'question',
        'doc_to_target': 'answer',
        'generation_kwargs': _settings(result),
        'repeats': result.n,
        'num_fewshot': 0,
        'metadata': {'gpassk': {'version': __version__, 'judge': result.judge}},
    }
    told = {f'{name},{FILTER}': value for name, value in scores.items()}
    errors = {f'{name}_stderr,{FILTER}': 'N/A' for name in scores}
    return {
        'results': {task: {'name': task, 'alias': result.benchmark, 'sample_len': size, **told, **errors}},
        'group_subtasks': {},
        'configs': {task: config},
        'versions': {task: 'N/A'},
        'n-shot': {task: 0},
        'higher_is_better': {task: {name: name != 'unjudged' for name in scores}},
        'n-samples': {task: {'original': size, 'effective': size}},
        'config': {'model': result.engine or result.run.host, 'model_args': {'pretrained': model}},
        'model_source': result.run.host,
        'model_name': model,
        'model_name_sanitized': _sanitized(model),
        'task_hashes': {task: _hash(hashes)},
        'written_by': f'gpassk_opencompass {__version__}',
    }


def _hash(text: str) -> str:
    return digest(text.encode('utf-8', 'backslashreplace'))
