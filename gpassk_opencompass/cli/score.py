"""`gpassk score`: G-Pass@k of samples of any program, or of a result once more."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..metrics import SHOWN_THRESHOLDS, as_threshold, as_whole
from ..times import utc_now
from ..unseen import printable
from .files import opened, record_name, write_file, write_record
from .judge import add_judge_options, chosen_judge
from .options import add_several, listed, path
from .shown import add_table_options, show

if TYPE_CHECKING:
    from ..record import Names, Result
    from ..samples import Run
    from ..summary import Line, Measures
    from ..tables import Table

_EPILOG = """\
examples:
  gpassk score samples.jsonl                                   responses, judged by the rule
  gpassk score samples.jsonl --judge llm --model Qwen2.5-72B-Instruct --url http://node1:23333
  gpassk score labels.jsonl --k 4 8 16 --threshold 0.5 0.75 1  somebody else's verdicts
  gpassk score counts.jsonl.gz                                 c of n, up to millions of questions
  gpassk score outputs/…/results/<model>/<dataset>.json --k 2 --first 24
  gpassk score samples_aime_2026-11-21.jsonl logs/*.eval       files of other harnesses, docs/sources.md
  gpassk score table.csv --group-by problem                    a row a sample
  gpassk score outputs/old --judge rule -o scores              old runs of OpenCompass, judged anew
  gpassk score mine.gpassk.json --to csv -o mine.csv           a row a sample, for a spreadsheet

A row is a question, a JSON object a line:
  responses  {"question": "1 + 1?", "answer": "2", "responses": ["It is \\\\boxed{2}.", …]}
  labels     {"correct": [true, false, null, …]}, perhaps with the final "answers": ["2", "3", "", …]
  counts     {"n": 16, "c": 11}
each perhaps with uid, split, language and problem (what the translations of one problem share).
Scores and intervals are in percent; docs/scoring.md says what they mean.
"""

_ENDINGS = {None: ('.json', '.csv', ''), 'csv': ('.csv', ''), 'lm-eval': ('',)}
"""--to → how the name of OUT ends."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument('paths', nargs='*', metavar='PATH', help='files and folders of any program, results')
    _add_metrics(parser)
    _add_reading(parser)
    add_judge_options(parser, 'judges responses anew: rule, llm, cascade, a dotted path, a config as JSON')
    add = parser.add_argument
    last = 'the final answer is the last match of REGEX in a response, or the group in it'
    add('--answer-pattern', default='', metavar='REGEX', help=last)
    add('--answer-is-response', action='store_true', help='the whole response is the final answer')
    meaning = 'what samples without a verdict count as (default: %(default)s)'
    add('--unjudged', choices=('wrong', 'leave-out', 'refuse'), default='wrong', help=meaning)
    out = 'write a result to OUT.json, the table to OUT.csv, or a result a run into a folder OUT'
    add('-o', '--output', type=path, metavar='OUT', help=out)
    add('--to', choices=('csv', 'lm-eval'), help="of -o: a row a sample, or lm-eval's files, in its place")
    add('--labelled-by', metavar='NAME', help='of -o, for labels and counts: who judged')
    add('--name', default='', metavar='MODEL', help='of -o: what the model is called (default: as PATH)')
    add('--dataset', default='', help='of -o: what the data set is called (default: samples)')
    add_table_options(parser)


def _add_metrics(parser: ArgumentParser) -> None:
    whole: dict[str, Any] = {'type': listed(int)}
    drawn = 'answers drawn (default: 4 8 16, or those of a result)'
    add_several(parser, '--k', drawn, **whole, metavar='K')
    taus: dict[str, Any] = {'type': listed(float), 'metavar': 'TAU'}
    add_several(parser, '--threshold', 'τ (default: %(default)s)', SHOWN_THRESHOLDS, **taus)
    add_several(parser, '--majority', 'maj@m and the stability of it', **whole, metavar='M')
    agreement = 'TARa@N, distinct answers and their entropy'
    parser.add_argument('--agreement', action='store_true', help=agreement)


def _add_reading(parser: ArgumentParser) -> None:
    add = parser.add_argument
    wrote = 'what wrote them, of docs/sources.md; record: a result (default: as the files themselves tell)'
    add('--from', '--source', dest='source', metavar='FORMAT', help=wrote)
    again = 'may be given several times'
    only = f'runs with TEXT in <model>/<data set>; {again}'
    add('--only', action='append', default=[], metavar='TEXT', help=only)
    kinds = ('responses', 'labels', 'counts')
    add('--as', dest='kind', choices=kinds, help='what to score, where there is more than one of these')
    add('--group-by', metavar='NAME', help='the column or field that tells the questions apart')
    add('--model-column', metavar='NAME', help='the one that tells the runs in a file apart')
    least = 'the least number that is a verdict of correct (default: 1: partial credit is incorrect)'
    add('--correct-from', type=float, metavar='VALUE', help=least)
    field = 'the field YOURS of PATH is what gpassk calls NAME, e.g. response=output'
    add_several(parser, '--field', field, type=_pair, metavar='NAME=YOURS')
    add('--drop-bad', action='store_true', help='leave out rows that cannot be read, and say how many')
    add('--first', type=int, metavar='N', help='the first N samples of each question')
    add('--split', action='append', default=[], help=f'only this split; {again}')
    add('--language', action='append', default=[], help=f'only this language; {again}')
    add('--uid', type=path, metavar='FILE', help='only the questions whose uids stand in FILE, one a line')


def _pair(text: str) -> tuple[str, str]:
    name, equals, yours = text.partition('=')
    if not (name and equals and yours):
        raise ArgumentTypeError(f'expected NAME=YOURS, e.g. response=output, got {text!r}')
    return name, yours


def run(arguments: Namespace) -> int:
    """Score, print the tables, write what was asked for; returns the exit code 0.

    Raises:
        InputError: a run cannot be scored; of several the others are, all the same.
    """
    paths = [Path(path) for path in arguments.paths]
    if not paths:
        arguments.refuse('the following arguments are required: PATH')
    scoring = _Scoring(arguments, paths[0].stem)
    failed = []
    runs, told = _runs(arguments, paths, scoring)
    passed = [line.removeprefix('passed over: ') for line in told if line.startswith('passed over: ')]
    if passed:
        shown = ', '.join(passed[:5]) + (', …' if len(passed) > 5 else '')
        print(printable(f'passed over {len(passed)} files: {shown}'), file=sys.stderr)
    for line in (line for line in told if line.startswith('left out: ')):
        print(printable(line, keep='\n'), file=sys.stderr)
        failed.append(line)
    unread = len(failed)
    for number, (one, names, target) in enumerate(runs):
        print(end='\n' if number else '')
        try:
            scoring.score(one, names, target)
        except InputError as error:
            if len(runs) == 1 and not failed:
                raise
            failed.append(f'not scored: {names.model}/{names.dataset}: {error}')
            print(printable(failed[-1], keep='\n'), file=sys.stderr)
    if failed:
        raise InputError(f'{len(failed)} of {len(runs) + unread} runs were not scored, see above')
    return 0


def _runs(
    arguments: Namespace, paths: Sequence[Path], scoring: _Scoring
) -> tuple[list[tuple[Run, Names, Path | None]], list[str]]:
    """Return the runs to score, with their names and where each is written to, and what is passed over."""
    from ..collect import find_runs
    from ..formats import Options

    fields = dict(arguments.field)
    if len(fields) < len(arguments.field):
        given = ' '.join(f'{name}={path}' for name, path in arguments.field)
        raise InputError(f'--field {given}: a name is there twice; give each once')
    options = Options(
        fields, arguments.correct_from, arguments.group_by, arguments.model_column,
        drop_bad=arguments.drop_bad, kind=scoring.kind,
    )  # fmt: skip
    told: list[str] = []
    found = [(one, scoring.names(one)) for one in find_runs(paths, arguments.source, options, told.append)]
    texts = [f'{names.model}/{names.dataset}' for _, names in found]
    for part in arguments.only:
        if not any(part in text for text in texts):
            missing = f'no run has --only {part!r} in its name; there are {", ".join(texts[:10])}'
            raise InputError('\n'.join([*(one for one in told if one.startswith('left out: ')), missing]))
    wanted = [not arguments.only or any(part in text for part in arguments.only) for text in texts]
    output, runs = arguments.output, []
    for (one, names), chosen in zip(found, wanted, strict=True):
        target: Path | None = output
        if output and not output.suffix and arguments.to != 'lm-eval':
            name = record_name(names)
            target = output / (f'{name.removesuffix(".gpassk.json")}.csv' if arguments.to else name)
        if target and target.resolve() in {path.resolve() for path in (*paths, *one.files)}:
            raise InputError(f'-o {output} would overwrite {target}, which is read; give another name')
        runs += [(one, names, target)] if chosen else []
    if output and arguments.to != 'lm-eval' and len({target for *_, target in runs}) < len(runs):
        raise InputError(
            f'-o {output}: several runs would be written to one file; choose one with --only, or give a '
            f'folder, a name without an ending. There are {", ".join(texts[:10])}'
        )
    return runs, told


class _Scoring:
    """What is asked of each run; what can be refused before a file is opened is refused at once."""

    def __init__(self, arguments: Namespace, stem: str) -> None:
        for name, numbers in (('k', arguments.k), ('--majority', arguments.majority)):
            for number in numbers:
                as_whole(name, number, 1, 100_000)
        if arguments.first is not None:
            as_whole('--first', arguments.first, 1, 1_000_000)
        if arguments.correct_from is not None and not 0 < arguments.correct_from < inf:
            raise InputError(f'--correct-from {arguments.correct_from}: expected a number above 0')
        self.arguments = arguments
        self.thresholds = [as_threshold(one) for one in dict.fromkeys(arguments.threshold)]
        self._check_output()
        given = [f'--{name}' for name in ('judge', 'model', 'url', 'verdicts') if getattr(arguments, name)]
        self.kind = 'responses' if given else arguments.kind
        told = arguments.judge, arguments.model, arguments.url, arguments.verdicts
        self.judge = chosen_judge(*told, f'{stem}.verdicts')
        self.uids = _uids(arguments.uid) if arguments.uid else None

    def _check_output(self) -> None:
        output, to = self.arguments.output, self.arguments.to
        if output is None:
            if to:
                raise InputError(f'--to {to} needs -o OUT')
            return
        endings = _ENDINGS[to]
        if output.suffix not in endings:
            what = {'': 'a folder, a name without an ending', '.csv': 'a name that ends in .csv (a table)'}
            expected = ', or '.join(what.get(one, f'a name that ends in {one}') for one in endings)
            raise InputError(f'-o {output}: expected {expected}')
        if output.suffix and output.is_dir():
            raise InputError(f'-o {output} is a folder; give the name of a file')
        if not output.suffix and output.exists() and not output.is_dir():
            raise InputError(f'-o {output} is a file; a name without an ending is that of a folder')
        if output.suffix != '.csv' and self.arguments.unjudged == 'leave-out':
            raise InputError(f'-o {output} with --unjudged leave-out: a result counts them as wrong')

    def names(self, run: Run) -> Names:
        """Return what a run is called in a result: as somebody says, or as its files say."""
        from ..collect import names_of

        names = run.record.run if run.record else names_of(run)
        created = run.created if self.arguments.to else '' if run.record else names.created
        given = {'model': self.arguments.name, 'dataset': self.arguments.dataset}
        told = {name: text for name, text in given.items() if text}
        return names.model_copy(update={**told, 'created': created or utc_now()})

    def score(self, run: Run, names: Names, target: Path | None) -> None:
        """Score a run: print its tables and remarks, and write it."""
        from ..summary import headline, lines_of, remarks, tables

        asked, leave_out = self.arguments, self.arguments.unjudged == 'leave-out'
        if self.kind == 'counts' and run.record:
            run = replace(run, samples=None, counts=run.record.table)
        run = run.select(asked.split, asked.language, self.uids, asked.first)
        known = run.samples.names if run.samples is not None else []
        anew = self.kind == 'responses' or (run.samples is not None and 'verdict' not in known)
        if 'response' not in known and anew:
            raise InputError(
                'there are no responses to judge; leave out --judge, or give a file that has them'
            )
        if asked.labelled_by:
            if anew:
                raise InputError('--labelled-by goes with labels and counts; here responses are judged')
            run = replace(run, judge={'name': asked.labelled_by})
        self._measures(asked.k).check(run.n)  # before a judge is asked
        result = self._result(run, names, anew)
        lines = lines_of(result, self._measures(result.ks), leave_out=leave_out)
        print(f'{_place(run)}{headline(run, result, anew)}\n')
        self._show(tables(lines, self._measures(result.ks)), names)
        self._show(remarks(result, leave_out=leave_out, anew=anew), names)
        if target:
            self._write(run, result, lines, target)

    def _measures(self, ks: Sequence[int]) -> Measures:
        from ..summary import Measures

        majorities = sorted(set(self.arguments.majority))
        return Measures(sorted(set(ks)), self.thresholds, majorities, self.arguments.agreement)

    def _result(self, run: Run, names: Names, anew: bool) -> Result:
        """Return the result of a run, with final answers where somebody looks at them."""
        from ..judges.build import build_judge
        from ..scoring import USUAL, AnswerRule, score_run

        asked = self.arguments
        rule = AnswerRule(asked.answer_pattern, asked.answer_is_response)
        if rule != USUAL:
            if run.samples is None or 'response' not in run.samples:
                raise InputError('--answer-pattern and --answer-is-response need responses; there are none')
            if not any(re.search(rule.pattern, text or '', re.M) for text in run.samples['response']):
                raise InputError(
                    f'--answer-pattern {rule.pattern!r} is found in no response; mend it, or leave it out'
                )
            run = replace(run, samples=run.samples.replace(answer=None))
        kept = asked.output and (asked.to or asked.output.suffix != '.csv')
        looked = anew or asked.agreement or asked.majority or rule != USUAL or kept
        ks, answers = sorted(set(asked.k)), rule if looked else None
        with ExitStack() as stack:
            judge = stack.enter_context(closing(build_judge(dict(self.judge)))) if anew else None
            result = score_run(run, judge, names, k=ks, thresholds=self.thresholds, answers=answers)
        if asked.unjudged == 'refuse' and (unjudged := result.health.unjudged):
            raise InputError(
                f'{unjudged} of {result.health.samples} samples are unjudged, and --unjudged refuse refuses '
                'them: have them judged, or choose wrong or leave-out'
            )
        return result

    def _write(self, run: Run, result: Result, lines: Sequence[Line], target: Path) -> None:
        from ..export import write_csv, write_lm_eval
        from ..summary import scores_table

        if self.arguments.to == 'lm-eval':
            print('\n'.join(f'wrote {file}' for file in write_lm_eval(result, target)))
        elif self.arguments.to:
            with opened(target, make_folder=True) as csv:
                write_csv(result, csv)
            print(f'wrote {target}')
        elif target.suffix == '.csv':
            write_file(target, scores_table(lines).to_csv(), make_folder=True)
        else:
            if (samples := result.samples()) is not None and 'file' in samples:
                files, above = samples['file'], run.record.path.parent if run.record else Path()
                seen = {one: one and os.path.relpath(above / one, target.parent) for one in set(files)}
                result.with_samples(samples.replace(file=[seen[one] for one in files]))
            write_record(target, result)

    def _show(self, told: Iterable[Table | str], names: Names) -> None:
        """Print tables, of which the notes stand among what is said after them, and the rest."""
        for one in told:
            if isinstance(one, str):
                print(printable(one))
            else:
                show(one, of=f'{names.model}/{names.dataset}', notes=False)
                print()


def _uids(file: Path) -> set[str]:
    try:
        lines = file.read_text(encoding='utf-8-sig').splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f'--uid: cannot read {file}: {error}') from error
    uids = {line.strip() for line in lines if line.strip()}
    if not uids:
        raise InputError(f'--uid: {file} is empty; expected a uid a line')
    return uids


def _place(run: Run) -> str:
    """Return where a run is, what wrote it, and its name as its files tell it."""
    above = os.path.commonpath([path.absolute() for path in run.files])
    parts = [os.path.relpath(above), run.written_by, run.name]
    return printable(''.join(f'{part}: ' for part in parts if part))
