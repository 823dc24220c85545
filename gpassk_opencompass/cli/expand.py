"""`gpassk expand` and `python dump_configs.py`: templates in, one OpenCompass config a run out."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import GPassKError, InputError
from ..files import digest, save
from ..text import Table, say, show, warn
from . import REFUSED, Parser, one_line_errors
from .options import examples, path, positive

if TYPE_CHECKING:
    from ..sweep.expansion import Expansion
    from ..sweep.folder import Changes, SweepRun

NAMED = 20
"""Files that a message names before it only counts them."""


def add_arguments(parser: ArgumentParser, *, published: bool = False) -> None:
    """Add the options; `published`: the spellings of dump_configs.py too."""
    add = parser.add_argument
    nargs = '*' if published else '+'
    add('templates', nargs=nargs, type=path, metavar='TEMPLATE', help='a Python file with the settings')
    if published:
        every = 'the same; default: all of config_templates/ but the demo'
        names = ('-tc', '--config_template_file')
        add(*names, dest='more', nargs='+', type=path, default=[], metavar='TEMPLATE', help=every)
    spelled = ['--output_dir'] if published else []
    folder, where = Path('opencompass_configs'), 'for the configs (default: %(default)s)'
    add('-o', '--output-dir', *spelled, type=path, default=folder, metavar='FOLDER', help=where)
    line = 'a line in place of that of the template, e.g. temperatures=[0.3,0.7]'
    add('--override', action='append', default=[], metavar='NAME=VALUE', help=line)
    add('--limit', type=_bounded, metavar='N', help='a trial: N questions of each benchmark')
    add('--n', type=_bounded, metavar='N', help='a trial: N samples a question; k above N are left out')
    spelled = ['--dry_run'] if published else []
    add('--dry-run', *spelled, action='store_true', help='say what it costs and write nothing')
    add('--prune', action='store_true', help='remove configs that the template no longer gives')
    requests = 'write the requests of API models for a batch of their provider'
    add('--requests', type=path, metavar='FILE', help=requests)
    elsewhere = 'the questions lie on another machine: do not look for them'
    add('--no-data-check', action='store_true', help=elsewhere)
    parser.epilog = examples(
        f'{parser.prog} template.py',
        f'{parser.prog} template.py --limit 10 --n 4 -o trial',
        f"{parser.prog} template.py --override 'temperatures=[0.6]' --dry-run",
    )


def _bounded(text: str) -> int:
    """Read a number that a record may hold: above it a run would sample, and its result be refused."""
    from ..metrics import LARGEST_N  # imports numpy

    if len(text) > len(str(LARGEST_N)) or positive(text) > LARGEST_N:
        raise ArgumentTypeError(f'{text[:40]!r}: expected an integer from 1 to {LARGEST_N:,}')
    return positive(text)


def dump_configs(argv: Sequence[str] | None = None) -> int:
    """Do what `python dump_configs.py` is asked for: without a template, expand all but the demo."""
    options = vars(dump_configs_parser().parse_args(argv))
    options['templates'] = [*options['templates'], *options.pop('more')]
    if not options['templates']:
        from ..sweep.engines import shipped_templates

        options['templates'] = [file for name, file in shipped_templates().items() if name != 'demo']
    return abs(one_line_errors('dump_configs.py', lambda: run(**options)))


def dump_configs_parser() -> ArgumentParser:
    """Return the parser of dump_configs.py."""
    description = 'Write one OpenCompass config for each combination of a template.'
    parser = Parser(prog='dump_configs.py', description=description)
    add_arguments(parser, published=True)
    parser.usage = 'dump_configs.py [TEMPLATE …] [options]'
    return parser


def run(
    *,
    templates: Sequence[Path],
    output_dir: Path,
    override: Sequence[str],
    limit: int | None,
    n: int | None,
    dry_run: bool,
    prune: bool,
    requests: Path | None,
    no_data_check: bool,
) -> int:
    """Expand templates and say how many configs there are; a dry run returns the exit code of the real call.

    What is another than one might think is said on standard error. InputError if one cannot be expanded, or
    the folder not be written to; then no file was written.
    """
    from ..sweep.expansion import expand
    from ..sweep.folder import changes

    expansions: dict[Path, Expansion] = {}
    for template in templates:
        try:
            one = expand(template, override, limit=limit, n=n)
            found = changes(output_dir, one.runs, template, one.trial)  # which refuses all that it could
        except GPassKError as error:
            raise InputError(f'{template}: {error}') from error
        expansions[template] = one
    runs = [run for one in expansions.values() for run in one.runs]
    notes = [note for one in expansions.values() for note in one.notes]
    refusal = '' if no_data_check else _missing(expansions, notes)
    if refusal and not dry_run:
        raise InputError(refusal)
    for note in dict.fromkeys(notes):
        warn(note)
    if dry_run:
        show(estimate(runs))
        say('')
    for template, one in expansions.items():
        if len(expansions) > 1:  # they change the folder for each other
            found = changes(output_dir, one.runs, template, one.trial)
        say(*_apply(found, template.name, dry_run, prune))
    if requests and not dry_run:
        write_requests(requests, runs)
    if refusal:
        say(f'would be refused: {refusal}')
        return REFUSED
    return 0


def _missing(expansions: Mapping[Path, Expansion], notes: list[str]) -> str:
    """Return why questions cannot be read here; what cannot be looked at or is not here is noted."""
    from ..sweep.checks import check

    refusals = []
    for template, one in expansions.items():
        problems, more = check(one.runs)
        notes += more
        head = f'{template}: questions cannot be read here, so no config is written; --no-data-check writes '
        refusals += ['\n  '.join([f'{head}those for another machine:', *problems])] if problems else []
    return '\n'.join(refusals)


def _apply(found: Changes, template: str, dry_run: bool, prune: bool) -> list[str]:
    """Write what differs, but in a dry run, and return what to say of it."""
    if not dry_run:
        found.apply(prune)

    def configs(count: int) -> str:
        return f'{count} config{"" if count == 1 else "s"}'

    count, new = len(found.texts), len(found.written)
    done = f'in {found.folder}: {new} written, {count - new} unchanged'
    if dry_run:
        done = f'for {found.folder}: {new} to write, {count - new} unchanged (dry run: nothing written)'
    removed = 'would be removed' if dry_run else 'removed'
    earlier = f'of an earlier expansion of {template}, '
    lines = [f'{configs(count)} {done}']
    for names, note in (
        (found.replaced, 'overwriting a file that was not as an expansion had left it'),
        (found.stale, earlier + (removed if prune else 'still there, --prune removes them')),
        (found.edited, f'{earlier}but edited since, so --prune leaves them'),
    ):
        if names:
            lines += [f'{configs(len(names))} {note}:', *(f'  {name}' for name in names[:NAMED])]
        if len(names) > NAMED:
            lines.append(f'  … and {len(names) - NAMED} more')
    return lines


def estimate(runs: Sequence[SweepRun]) -> Table:
    """Return a row a model and benchmark, and one with the totals; `?` where a size is not known.

    samples: n × questions. verdicts: a judge is asked once for each different answer to a question, so at
    most once a sample. tokens: sampled ones, if every response were as long as `max_out_len` allows.
    """

    def total(*factors: Sequence[int | float | None]) -> str:
        known = [prod(one) for one in zip(*factors, strict=True) if None not in one]
        return f'{int(sum(known)):,}{" + ?" if len(known) < len(factors[0]) else ""}' if known else '?'

    groups: dict[tuple[str, str], Any] = {}
    for one, _ in runs:
        mark = '' if one.limit is None else f', {one.limit} questions'
        groups.setdefault((one.model, f'{one.benchmark}{mark}'), []).append(one)
    heads = ('model', 'benchmark', 'configs', 'questions', 'samples', 'verdicts, at most', 'tokens, at most')
    table = Table('estimate', heads)
    for (model, benchmark), of in [*groups.items(), (('total', ''), [one for one, _ in runs])]:
        questions = [one.limit if one.questions is None else one.questions for one in of]
        draws, lengths = [one.n for one in of], [one.settings.get('max_out_len') for one in of]
        samples, tokens = total(questions, draws), total(questions, draws, lengths)
        shown = total(questions[:1]) if benchmark else ''
        table.rows.append([model, benchmark, f'{len(of):,}', shown, samples, samples, tokens])
    return table


# A batch file for the provider of API models, instead of a run that waits


def write_requests(file: Path, runs: Sequence[SweepRun]) -> None:
    """Write a request a sample in OpenAI's form, and beside it the table of the samples.

    The custom_id of a request is the fingerprint of its sample, see `formats.harnesses.BATCH`. InputError for
    a run of another engine than `openai`, prompts that ask for no reasoning, and questions that are missing.
    """
    requests, samples = [], []
    for run in runs:
        for request, sample in _requests_of(run):
            requests.append(json.dumps(request, ensure_ascii=False))
            samples.append(json.dumps(sample, ensure_ascii=False))
    table = file.with_name(f'{file.name.removesuffix(".jsonl")}.samples.jsonl')
    save(file, ''.join(f'{line}\n' for line in requests))
    save(table, ''.join(f'{line}\n' for line in samples))
    say(f'{len(requests)} requests in {file}; with the replies of the provider:')
    say(f'  gpassk score REPLIES.jsonl {table}')


def _requests_of(run: SweepRun) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield a request and what is known of its sample, replica by replica, as a run draws them."""
    from ..benchmarks import dataset_rows, limited, whole_prompt
    from ..plugin.seeds import SERVER_BITS, sample_seed
    from ..sweep.engines import no_temperature

    (model,), (dataset,) = run.config['models'], run.config['datasets']
    file, path = run.entry.file, run.entry.path
    if not str(model.get('type')).endswith('.SeededOpenAISDK'):
        raise InputError(f"--requests: {file} is not of engine 'openai', whose providers take batches")
    if not dataset.get('cot'):
        raise InputError(f'--requests: {file}: cot = False is for runs alone; remove it')
    seed = model.get('random_seed')
    length = 'max_completion_tokens' if no_temperature(path) else 'max_tokens'
    heat = {} if (value := model.get('temperature')) is None else {'temperature': value}
    more = {**model.get('openai_extra_kwargs', {}), **model.get('extra_body', {})}
    body = {'model': path, **heat, length: model['max_out_len'], **more}
    rows = dataset_rows(dataset)
    if (limit := dataset.get('limit')) is not None:
        rows = [rows[place] for place in limited([(row['split'], row['language']) for row in rows], limit)]
    for replica, row in product(range(dataset['n']), rows):
        prompt = whole_prompt(row['question'], row['language'])
        own = {} if seed is None else {'seed': sample_seed(seed, row['uid'], replica, SERVER_BITS)}
        message = {**body, **own, 'messages': [{'role': 'user', 'content': prompt}]}
        mark = digest(json.dumps([file, row['uid'], replica, message]).encode())[:32]
        yield (
            {'custom_id': mark, 'method': 'POST', 'url': '/v1/chat/completions', 'body': message},
            {
                'run': file.removesuffix('.py'),
                **{name: row[name] for name in ('uid', 'problem', 'language', 'question')},
                'group': f'{row["split"]}_{row["language"]}',
                'reference': row['answer'],
                'replica': replica,
                **own,
                'fingerprint': mark,
            },
        )
