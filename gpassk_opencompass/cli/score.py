"""`gpassk score`: G-Pass@k of samples of any program, or of a result once more."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
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
    anew, kind = bool(judge or model or url), 'responses' if judge or model or url else None
    if judge == 'none':
        anew, kind, judge = False, 'labels', None
    config = chosen_judge(judge, model, url, None, f'{paths[0].stem}.verdicts')

    options = Options(dict(field), correct_from, drop_bad=drop_bad, kind=kind)
    said: list[str] = []
    runs = _with_targets(find_runs(paths, source, options, said.append), paths, output)
    failed = [line for line in said if line.startswith('left out: ')]
    if passed := [line.removeprefix('passed over: ') for line in said if line not in failed]:
        warn(f'passed over {len(passed)} files: {", ".join(passed[:5])}{", …" if len(passed) > 5 else ""}')
    if failed:
        warn(*failed)
    unread = len(failed)
    for number, (one, names, target) in enumerate(runs):
        say(end='\n' if number else '')
        try:
            scored = partial(score_run, names=names, k=ks, thresholds=thresholds)
            result = _result(one, scored, config, anew, answer_pattern, keep=target is not None)
            _show(one, result, anew)
            if target:
                _write(one, result, target)
        except InputError as error:
            if len(runs) == 1 and not failed:
                raise
            failed.append(f'not scored: {names.model}/{names.dataset}: {error}')
            warn(failed[-1])
    if failed:
        raise InputError(f'{len(failed)} of {len(runs) + unread} runs were not scored, see above')
    return 0


def _check(output: Path | None, field: Sequence[tuple[str, str]], correct_from: float | None) -> None:
    if correct_from is not None and not 0 < correct_from < inf:
        raise InputError(f'--correct-from {correct_from}: expected a number above 0')
    if len(dict(field)) < len(field):
        given = ' '.join(f'{name}={yours}' for name, yours in field)
        raise InputError(f'--field {given}: a name is there twice; give each once')
    if output is None or output.suffix == LM_EVAL:
        return
    if output.suffix not in ('.json', '.csv', ''):
        raise InputError(
            f'-o {output}: expected a name that ends in .json, .csv, {SAMPLES_TABLE} or {LM_EVAL}, or a '
            'folder, a name without an ending'
        )
    if output.suffix and output.is_dir():
        raise InputError(f'-o {output} is a folder; give the name of a file')
    if not output.suffix and output.exists() and not output.is_dir():
        raise InputError(f'-o {output} is a file; a name without an ending is that of a folder')


def _with_targets(
    runs: Sequence[Run], paths: Sequence[Path], output: Path | None
) -> list[tuple[Run, Names, Path | None]]:
    """Return each run with its names and where it is written to; a folder has a record a run."""
    from ..collect import names_of

    exports = output is not None and output.name.endswith((SAMPLES_TABLE, LM_EVAL))
    found = []
    for one in runs:
        names = one.record.run if one.record else names_of(one)
        created = one.created if exports else '' if one.record else names.created
        names = names.model_copy(update={'created': created or utc_now()})
        target = output
        if output and not output.suffix:
            name = f'{names.model}@{names.dataset}'
            name = ''.join('_' if letter in '/\\' or not letter.isprintable() else letter for letter in name)
            target = output / f'{name}.gpassk.json'
        model, at, dataset = (target.name if target else '').removesuffix('.json').partition('@')
        if at and output and output.suffix:
            names = names.model_copy(update={'model': model, 'dataset': dataset.removesuffix('.gpassk')})
        if target and target.resolve() in {file.resolve() for file in (*paths, *one.files)}:
            raise InputError(f'-o {output} would overwrite {target}, which is read; give another name')
        found.append((one, names, target))
    if output and len({target for *_, target in found}) < len(found) and output.suffix != LM_EVAL:
        raise InputError(
            f'-o {output}: several runs would be written to one file; give a folder, a name without an ending'
        )
    return found


def _result(
    run: Run, scored: Callable[..., Result], judge: Mapping[str, Any], anew: bool, pattern: str, keep: bool
) -> Result:
    """Return the result of a run, with final answers where somebody looks at them."""
    from ..judges import build_judge

    known = run.samples.names if run.samples is not None else []
    anew = anew or (run.samples is not None and 'verdict' not in known)
    if anew and 'response' not in known:
        raise InputError('there are no responses to judge; leave out --judge, or give a file that has them')
    if pattern:
        if run.samples is None or 'response' not in known:
            raise InputError('--answer-pattern needs responses; there are none')
        if not any(re.search(pattern, text or '', re.M) for text in run.samples['response']):
            raise InputError(
                f'--answer-pattern {pattern!r} is found in no response; mend it, or leave it out'
            )
        run = replace(run, samples=run.samples.replace(answer=None))
    answers = pattern if anew or keep or pattern else None
    with ExitStack() as stack:
        built = stack.enter_context(closing(build_judge(dict(judge)))) if anew else None
        return scored(run, built, answers=answers)


def _show(run: Run, result: Result, anew: bool) -> None:
    """Print where a run is, what wrote it and its name; its tables; what to know before quoting a score."""
    from ..summary import headline, remarks, summarise, tables

    anew = anew or (run.samples is not None and 'verdict' not in run.samples.names)
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
