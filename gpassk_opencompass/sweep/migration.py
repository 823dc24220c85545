"""A template of the older style, written as a template of today."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any

from ..errors import InputError, TemplateError
from ..unseen import printable
from .axes import MODEL_LINES
from .computed import is_computed, read_parts
from .configs import part_sources, plain
from .expansion import expand_template
from .grid import PARTS
from .template import read_template
from .translation import Pair, lines_of, notes_of, translated_pairs

WIDTH = 100

_COMMENTS = {
    'engine': 'Who runs the models; docs/engines.md has the others.',
    'llm_infos': (
        'path: what the engine loads. tp: GPUs a model. batch_size: requests at a time. A sampling line may\n'
        '# stand in an entry, for that model alone.'
    ),
    'temperatures': 'Sampling. A list is an axis: a config for each combination. 0.0 is the greedy run.',
    'greedy': 'No greedy run is added; remove the line to get one a model.',
    'max_out_lens': 'Tokens that a response may have.',
    'random_seeds': 'Each of the n samples of a question gets a seed of its own, derived from this one.',
    'k_lists': 'G-Pass@k for these k, from n samples a question.',
    'benchmarks': 'Which questions; docs/data.md has other benchmarks.',
    'eval_urls': 'An LLM judge behind OpenAI-compatible URLs; with none, answers are judged by rule.',
}
"""What stands above a line; a blank line goes before each."""

_ORDER = (
    'engine',
    'llm_infos',
    'temperatures',
    'top_ps',
    'top_ks',
    'repetition_penalties',
    'max_out_lens',
    'random_seeds',
    'greedy',
    'k_lists',
    'n',
    'benchmarks',
    'dataset_path',
    'version',
    'dataset_splits',
    'dataset_languages',
    'cot',
    'eval_urls',
    'eval_model_name',
)
"""The lines of a template; those that are not named here, options of the engine, stand behind the models."""

_DATASET_AXES = ('k_lists', 'n', 'version')

_SPLIT = 'split the older template, and migrate the parts'


def migrated(template: Path) -> str:
    """Return the text of a template of today whose configs are those of a template of the older style.

    Its expansion is compared with the translation of the old one, config by config, before it is returned.

    Raises:
        InputError: the template is no older one, cannot be translated as a whole, or needs more than one
            template of today.
        MissingExtraError: the template needs an optional package.
    """
    variables = read_template(template)
    if not is_computed(variables):
        raise TemplateError('the template has no models or datasets: it is one of today already')
    pairs = translated_pairs(variables)
    for pair in pairs:
        if pair.reason:
            raise TemplateError(f'{pair.was} has no form in a template of today: {pair.reason}')
    lines = {**_lines(pairs), **read_parts(variables)}
    text = _text(lines, template.name, notes_of(pairs, 'summarizer' in variables))
    _check(text, pairs)
    return text


def _check(text: str, pairs: Sequence[Pair]) -> None:
    """Raise TemplateError if a new template does not give the configs that it should."""
    with TemporaryDirectory() as folder:
        file = Path(folder, 'template.py')
        file.write_text(text, encoding='utf-8')
        try:
            given = [_canonical(run.config) for run in expand_template(file).runs]
        except InputError as error:  # such as a k list that goes with another n
            raise TemplateError(f'one template of today does not say all of it: {error}; {_SPLIT}') from error
    if sorted(given) != sorted(_canonical(pair.run.config) for pair in pairs):
        raise TemplateError(
            'the settings of the models, or the data sets, are no grid: not every model has every '
            f'combination, which one template of today does not say; {_SPLIT}'
        )


def _canonical(config: Mapping[str, Any]) -> str:
    return json.dumps(plain(dict(config), 'config'), sort_keys=True)


def _lines(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the lines of one template for all pairs, as if their settings were a grid."""
    models = [
        (pair.model, lines_of(pair.model, pair.dataset)) for pair in pairs if pair.model and pair.dataset
    ]
    engines = list(dict.fromkeys(model.engine for model, _ in models))
    if len(engines) > 1:
        raise TemplateError(
            f'the models need the engines {" and ".join(map(repr, engines))}, a template has one; {_SPLIT}'
        )
    groups: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for model, lines in models:
        groups.setdefault(repr(sorted(model.info.items())), (dict(model.info), []))[1].append(lines)
    infos = [{**info, **_axes(lines)} for info, lines in groups.values()]
    shared = _shared(infos)
    datasets = [pair.dataset.lines for pair in pairs if pair.dataset]
    return {
        'engine': engines[0],
        'llm_infos': [
            {name: value for name, value in info.items() if name not in shared or shared[name] != value}
            for info in infos
        ],
        **shared,
        **_of_datasets(datasets),
    }


def _axes(settings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the axes of a model: each value that a line has, in order."""
    axes: dict[str, Any] = {}
    for lines in settings:
        for name, value in lines.items():
            if name == 'greedy':
                axes[name] = value
            else:
                axes[name] = list(dict.fromkeys([*axes.get(name, []), *value]))
    if 0 in axes.get('temperatures', ()):
        axes.pop('greedy', None)
    return axes


def _shared(infos: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the lines for the whole template: those that every model has, with the value of most."""
    own = ('path', 'name', 'tp', 'batch_size')
    names = [name for name in infos[0] if name not in own and all(name in info for info in infos)]
    shared = {}
    for name in names:
        values = [info[name] for info in infos]
        most = max(values, key=values.count)
        if name in MODEL_LINES or not isinstance(most, dict) or values.count(most) == len(values):
            shared[name] = most
    return shared


def _of_datasets(datasets: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    lines = dict(datasets[0])
    for name, value in lines.items():
        if name not in _DATASET_AXES and any(dataset[name] != value for dataset in datasets):
            raise TemplateError(f'the data sets have different {name}, a template has one; {_SPLIT}')
    for name in _DATASET_AXES:
        found: list[Any] = []
        for dataset in datasets:
            values = dataset[name] if name == 'k_lists' else [dataset[name]]
            found += [value for value in values if value not in found]
        lines[name] = found if name == 'k_lists' or len(found) > 1 else found[0]
    return lines


def _text(lines: Mapping[str, Any], name: str, notes: Sequence[str]) -> str:
    options = [line for line in lines if line not in {*_ORDER, *PARTS}]
    order = [*_ORDER[:2], *options, *_ORDER[2:], *PARTS]
    parts = [_head(name, notes)]
    sources = part_sources()
    for line in order:
        if line in lines:
            comment = f'\n# {_COMMENTS[line]}\n' if line in _COMMENTS else '\n' if line in PARTS else ''
            written = _models(lines[line]) if line == 'llm_infos' else sources(line, lines[line])
            parts.append(f'{comment}{written}')
    return ''.join(parts)


def _head(name: str, notes: Sequence[str]) -> str:
    listed = ''.join(
        fill(
            printable(note.strip()),
            WIDTH,
            initial_indent='- ',
            subsequent_indent='  ',
            break_long_words=False,
        )
        + '\n'
        for note in notes[1:]
    )
    text = (
        f'{printable(name)}, in the form of today, written by `gpassk migrate`.\n\n'
        f'One setting a line. What is another than it was there:\n\n{listed}\n'
        'A sampling setting whose line is removed is not passed to the model; docs/sweeps.md has the rest.\n'
    )
    quotes = '"""'
    return f'{quotes}{text.replace(chr(92), chr(92) * 2).replace(quotes, chr(39) * 3)}{quotes}\n'


def _models(infos: Sequence[Mapping[str, Any]]) -> str:
    return f'llm_infos = [\n{"".join(map(_model, infos))}]\n'


def _model(info: Mapping[str, Any]) -> str:
    fields = [f'{name}={plain(value, name)!r}' for name, value in info.items()]
    line = f'    dict({", ".join(fields)}),\n'
    if len(line) <= WIDTH:
        return line
    return '    dict(\n' + ''.join(f'        {field},\n' for field in fields) + '    ),\n'
