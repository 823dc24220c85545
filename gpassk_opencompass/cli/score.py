"""`gpassk score`: G-Pass@k of samples of any program, or of a result once more."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..files import save
from ..text import csv_text, say, show, utc_now, warn
from .options import add_json, add_judge_options, add_several, chosen_judge, examples, listed, path

if TYPE_CHECKING:
    from ..record import Names, Result
    from ..samples import Run

_ROWS = r"""

A row of a file of your own is a question, a JSON object a line:
  {"question": "1 + 1?", "answer": "2", "responses": ["It is \\boxed{2}.", …]}
  {"correct": [true, false, null, …]}   or   {"n": 16, "c": 11}
"""

SAMPLES_TABLE, LM_EVAL = '.samples.csv', '.lm-eval'
"""What the name of OUT ends in for a row a sample, and for a folder as lm-eval writes it."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    add = parser.add_argument
    add('paths', nargs='+', type=path, metavar='PATH', help='files and folders of any program, or results')
    drawn = 'answers drawn (default: 4 8 16, or as in a result)'
    add_several(parser, '--k', drawn, type=listed(int), metavar='K')
    taus: Any = {'type': listed(float), 'metavar': 'TAU'}
    add_several(parser, '--threshold', 'τ (default: 0.5 0.75 1)', **taus)
    judges = 'rule, llm, cascade, dotted path, JSON; none: verdicts that are there'
    add_judge_options(parser, judges, verdicts=False)
    wrote = 'what wrote them (default: as the files themselves tell)'
    add('--from', dest='source', metavar='FORMAT', help=wrote)
    field = 'YOURS is what gpassk calls NAME: response=output, uid=problem, model=checkpoint'
    add_several(parser, '--field', field, type=_pair, metavar='NAME=YOURS')
    least = 'the least number that is a correct verdict'
    add('--correct-from', type=float, metavar='VALUE', help=least)
    last = 'the answer is its last match in a response, or the group in it'
    add('--answer-pattern', default='', metavar='REGEX', help=last)
    add('--drop-bad', action='store_true', help='leave out rows that cannot be read')
    out = (
        'record: OUT.json (MODEL@DATASET.json names it) or a folder; table: OUT.csv; samples: '
        f'OUT{SAMPLES_TABLE}; as lm-eval writes: OUT{LM_EVAL}'
    )
    add('-o', '--output', type=path, metavar='OUT', help=out)
    add_json(parser)
    parser.epilog = (
        examples(
            'gpassk score samples.jsonl -o new.json',
            'gpassk score logs/*.eval outputs/old --judge rule --k 4 8',
            'gpassk score table.csv --field uid=problem correct=score --correct-from 0.5',
        )
        + _ROWS.rstrip()
    )


def _pair(text: str) -> tuple[str, str]:
    name, equals, yours = text.partition('=')
    if not (name and equals and yours):
        raise ArgumentTypeError(f'expected NAME=YOURS, e.g. response=output, got {text!r}')
    return name, yours


def run(
    *,
    paths: Sequence[Path],
    k: Sequence[int],
    threshold: Sequence[float],
    judge: str | None,
    model: str | None,
    url: Sequence[str],
    source: str | None,
    field: Sequence[tuple[str, str]],
    correct_from: float | None,
    answer_pattern: str,
    drop_bad: bool,
    output: Path | None,
) -> int:
    """Score, print the tables, write what was asked for; a run that cannot be scored does not stop others."""
    from ..collect import find_runs
    from ..formats import Options
    from ..metrics import SHOWN_THRESHOLDS, metrics_of
    from ..scoring import answer_pattern as check_pattern
    from ..scoring import score_run

    # What can be refused before a file is opened.
    ks, thresholds = sorted(set(k)), list(dict.fromkeys(threshold or SHOWN_THRESHOLDS))
    metrics_of(ks or 1, thresholds)
    _check(output, field, correct_from)
    check_pattern(answer_pattern)
    anew = judge != 'none' and bool(judge or model or url)
    kind = 'labels' if judge == 'none' else 'responses' if anew else None
    config = chosen_judge(None if judge == 'none' else judge, model, url, None, f'{paths[0].stem}.verdicts')
    options = Options(dict(field), correct_from, drop_bad=drop_bad, kind=kind)
    said: list[str] = []
    runs = _with_targets(find_runs(paths, source, options, said.append), paths, output)
    failed = [line for line in said if line.startswith('left out: ')]
    if passed := [line.removeprefix('passed over: ') for line in said if line not in failed]:
        warn(f'passed over {len(passed)} files: {", ".join(passed[:5])}{", …" if len(passed) > 5 else ""}')
    if failed:
        warn(*failed)
    every = len(runs) + len(failed)
    for number, (one, names, target) in enumerate(runs):
        say(end='\n' if number else '')
        judged = anew or (one.samples is not None and 'verdict' not in one.samples)
        answers = answer_pattern if judged or target or answer_pattern else None
        asked: dict[str, Any] = {'k': ks, 'thresholds': thresholds, 'answers': answers}
        try:
            result = score_run(one, config if judged else None, names, **asked)
            _show(one, result, judged)
            if target:
                _write(one, result, target)
        except InputError as error:
            if every == 1:
                raise
            failed.append(f'not scored: {names.model}/{names.dataset}: {error}')
            warn(failed[-1])
    if failed:
        raise InputError(f'{len(failed)} of {every} runs were not scored, see above')
    return 0


def _check(output: Path | None, field: Sequence[tuple[str, str]], correct_from: float | None) -> None:
    if correct_from is not None and not 0 < correct_from < inf:
        raise InputError(f'--correct-from {correct_from}: expected a number above 0')
    if len(dict(field)) < len(field):
        given = ' '.join(f'{name}={yours}' for name, yours in field)
        raise InputError(f'--field {given}: a name is there twice; give each once')
    if output is None:
        return
    there = ' is a folder' if output.is_dir() else ' is a file' if output.exists() else ''
    wanted = {'.json': ' is a file', '.csv': ' is a file', LM_EVAL: ' is a folder', '': ' is a folder'}
    if output.suffix not in wanted or there not in ('', wanted[output.suffix]):
        ends = f'a file that ends in .json, .csv or {SAMPLES_TABLE}'
        raise InputError(f'-o {output}{there}: expected {ends}, or a folder: {LM_EVAL}, or no ending')


def _with_targets(
    runs: Sequence[Run], paths: Sequence[Path], output: Path | None
) -> list[tuple[Run, Names, Path | None]]:
    """Return each run with its names and where it is written to; a folder has a record a run."""
    from ..collect import names_of

    exports = output is not None and output.name.endswith((SAMPLES_TABLE, LM_EVAL))
    found = []
    for one in runs:
        names, target = names_of(one), output
        created = one.created if exports or not one.record else ''
        names = names.model_copy(update={'created': created or utc_now()})
        if output and not output.suffix:
            name = f'{names.model}@{names.dataset}'
            name = ''.join('_' if letter in '/\\' or not letter.isprintable() else letter for letter in name)
            target = output / f'{name}.gpassk.json'
        elif output and '@' in output.name:
            model, _, dataset = output.name.removesuffix('.json').removesuffix('.gpassk').partition('@')
            names = names.model_copy(update={'model': model, 'dataset': dataset})
        if target and target.resolve() in {file.resolve() for file in (*paths, *one.files)}:
            raise InputError(f'-o {output} would overwrite {target}, which is read; give another name')
        found.append((one, names, target))
    if output and len({target for *_, target in found}) < len(found) and output.suffix != LM_EVAL:
        raise InputError(f'-o {output}: several runs would be written to one file; give a folder: no ending')
    return found


def _show(run: Run, result: Result, anew: bool) -> None:
    """Print where a run is, what wrote it and its name; its tables; what to know before quoting a score."""
    from ..summary import headline, remarks, summarise, tables

    above = os.path.relpath(os.path.commonpath([path.absolute() for path in run.files]))
    place = ''.join(f'{part}: ' for part in (above, run.written_by, run.name) if part)
    say(f'{place}{headline(run, result, anew)}\n')
    for table in tables(summarise(result)):
        show(table, f'{result.run.model}/{result.run.dataset}: {table.title}')
        say('')
    say(*remarks(result, anew=anew))


def _write(run: Run, result: Result, target: Path) -> None:
    from ..record import write
    from ..summary import samples_csv, summarise, write_lm_eval

    if target.suffix == LM_EVAL:
        say(*(f'wrote {file}' for file in write_lm_eval(result, target)))
        return
    if target.name.endswith(SAMPLES_TABLE):
        save(target, samples_csv(result))
    elif target.suffix == '.csv':
        rows = summarise(result)
        save(target, csv_text([list(rows[0]), *(row.values() for row in rows)]))
    else:
        if (samples := result.samples()) is not None and 'file' in samples:
            files, above = samples['file'], run.record.path.parent if run.record else Path()
            seen = {one: one and os.path.relpath(above / one, target.parent) for one in set(files)}
            result.with_samples(samples.replace(file=[seen[one] for one in files]))
        try:
            write(target, result)
        except OSError as error:
            raise InputError(f'cannot write {target}: {error.strerror}') from error
    say(f'wrote {target}')
