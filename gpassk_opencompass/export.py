"""Results for others: a CSV with a row a sample, and the files of lm-evaluation-harness 0.4.13.

    <folder>/<model>/samples_<task>_<date>.jsonl    a line a question
    <folder>/<model>/results_<date>.json            the scores

The latter are named and laid out as `lm_eval --log_samples --output_path <folder>` does. Their date is that
of the run, so a run that is exported once more replaces its own files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

from .errors import InputError
from .files import write_file
from .record import Result, means
from .samples import COLUMNS, Samples, parted_group
from .text import csv_text, json_text, seconds_of, whole_characters
from .version import __version__

FILTER = 'gpassk'
"""What took the final answers out of the responses, in the place of a filter of the harness."""


def write_csv(result: Result, file: TextIO) -> int:
    """Write a row a sample, with the columns of which something is known; return how many rows.

    What a spreadsheet would take for a formula gets an apostrophe, what cannot be seen is escaped;
    `text.read_csv_cell` gives the texts back. A result of counts alone is an InputError.
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
    as filtered responses, and the metrics of its question. A result without responses is an InputError.
    """
    samples, run = _samples(result), result.run
    if 'response' not in samples:
        raise InputError(f'{run.model} on {run.dataset} has no responses; lm-eval logs them')
    task = re.sub(r'\W', '_', result.benchmark) or 'task'
    moment = datetime.fromtimestamp(seconds_of(run.created) or 0.0, timezone.utc)
    date = moment.strftime('%Y-%m-%dT%H-%M-%S.%f')
    model = re.sub(r'["<>:/|\\?*\[\]]+', '__', run.model)
    names = {'max_out_len': 'max_gen_toks', 'random_seed': 'seed'}
    settings: dict[str, Any] = {
        'until': [],
        **{names.get(name, name): value for name, value in result.sampling.items()},
    }
    if 'temperature' in settings:
        settings['do_sample'] = settings['temperature'] > 0
    lines = ''.join(json_text(line) + '\n' for line in _lines(result, samples, settings))
    summary = {**_summary(result, task, settings), 'model_name_sanitized': model}
    target = folder / (model or 'model')
    files = {
        target / f'samples_{task}_{date}.jsonl': lines,
        target / f'results_{date}.json': json_text(summary, indent=2) + '\n',
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


def _lines(result: Result, samples: Samples, settings: dict[str, Any]) -> Iterator[Any]:
    """Yield what is logged of each question."""
    table, questions = result.table, samples.by_question()
    names = ('question', 'reference', 'response', 'answer', 'verdict')
    question, reference, response, answer, verdict = map(samples.each, names)
    for place, uid in enumerate(table.uid):
        rows, counts = questions[uid], table.select([place])
        split, language = parted_group(table.group[place])
        asked, target = question[rows[0]] or '', reference[rows[0]] or ''
        doc = {'uid': uid, 'problem': table.problem[place], 'question': asked, 'answer': target}
        metrics = {
            **means(counts, [k for k in result.ks if k <= len(rows)] or [1], result.thresholds),
            'correct': [{'correct': True, 'incorrect': False}.get(verdict[row]) for row in rows],
            'unjudged': int(counts.unjudged[0]),
        }
        yield whole_characters(
            {
                'doc_id': place,
                'doc': {**doc, 'split': split, 'language': language},
                'target': target,
                'arguments': {'gen_args_0': {'arg_0': asked, 'arg_1': settings}},
                'resps': [[response[row] or '' for row in rows]],
                'filtered_resps': [[answer[row] or '' for row in rows]],
                'filter': FILTER,
                'metrics': list(metrics),
                **metrics,
            }
        )


def _summary(result: Result, task: str, settings: dict[str, Any]) -> dict[str, Any]:
    scores = {name: value / 100 for name, value in result.scores().items() if '/' not in name}
    scores |= {'correct': int(result.table.c.sum()), 'unjudged': int(result.table.unjudged.sum())}
    told: dict[str, Any] = {f'{name},{FILTER}': value for name, value in scores.items()}
    told |= {f'{name}_stderr,{FILTER}': 'N/A' for name in scores}
    size, model = len(result.table), result.run.model
    config = {
        'task': task,
        'output_type': 'generate_until',
        'generation_kwargs': settings,
        'repeats': result.n,
        'metadata': {'gpassk': {'version': __version__, 'judge': result.judge}},
    }
    return {
        'results': {task: {'name': task, 'alias': result.benchmark, 'sample_len': size, **told}},
        'configs': {task: config},
        'versions': {task: 'N/A'},
        'n-shot': {task: 0},
        'higher_is_better': {task: {name: name != 'unjudged' for name in scores}},
        'n-samples': {task: {'original': size, 'effective': size}},
        'config': {'model': result.engine or result.run.host, 'model_args': {'pretrained': model}},
        'model_name': model,
        'written_by': f'gpassk_opencompass {__version__}',
    }
