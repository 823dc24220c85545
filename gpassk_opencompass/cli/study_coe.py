"""`gpassk study coe`: Chain-of-Embedding of the stored responses of finished runs."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..unseen import printable
from .files import write_file
from .options import path, positive, requested
from .shown import add_table_options, show
from .study_options import results_of

if TYPE_CHECKING:
    from ..results.result import Result
    from ..studies.coe import Contrast, Value
    from ..studies.layer_means import Loaded

_EPILOG = """\
examples:
  gpassk study coe outputs/my-run                        with the model that the record names
  gpassk study coe outputs/my-run --model weights/Qwen2.5-7B-Instruct --device cuda --batch-size 8
  gpassk study coe RESULT.json --replicas 8              the first 8 samples of each question

Each stored response goes through the model once, behind the prompt that was asked; nothing is sampled. What
is computed is kept batch by batch: the same command goes on after a kill. docs/studies.md says what the
numbers are.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the study."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    add('runs', nargs='+', type=path, metavar='RUN', help='result files, or work directories of OpenCompass')
    add('-o', '--output', type=path, default=Path('coe'), metavar='FOLDER', help='default: coe')
    model = 'folder of the model, or its name on the hub (default: what the record says)'
    add('--model', metavar='PATH', help=model)
    add('--tokenizer', metavar='PATH', help='default: that of the model')
    add('--device', default='auto', help='auto (a GPU if there is one), cpu, cuda or cuda:<number>')
    add(
        '--dtype',
        default='auto',
        choices=('auto', 'float32', 'bfloat16', 'float16'),
        help='of the weights (default: auto, as they are stored; float32 on a CPU)',
    )
    add('--batch-size', type=positive, default=4, metavar='N', help='responses at a time (default: 4)')
    chunk = 'tokens of each response that go through at a time (default: 1024)'
    add('--chunk', type=positive, default=1024, metavar='N', help=chunk)
    add('--replicas', type=positive, metavar='N', help='only the first N samples of each question')
    group = 'only questions of these groups, such as *_en'
    add('--group', default='*', metavar='PATTERN', help=group)
    stable = 'a question is stable if at least this share of its n samples is correct (default: 1.0)'
    add('--stable', type=float, default=1.0, metavar='SHARE', help=stable)
    add('--level', type=float, default=0.95, help='of confidence (default: 0.95)')
    other = 'go on with other weights than those on record, or prompts of other lengths'
    add('--accept-other', action='store_true', help=other)
    add_table_options(parser)


@dataclass(frozen=True)
class CoERequest:
    """What `gpassk study coe` is asked to do; see `add_arguments`."""

    runs: Sequence[Path]
    output: Path
    model: str | None
    tokenizer: str | None
    device: str
    dtype: str
    batch_size: int
    chunk: int
    replicas: int | None
    group: str
    stable: float
    level: float
    accept_other: bool


def run(arguments: Namespace) -> int:
    """Compute, print and write the study of each run.

    Returns:
        The exit code: 0, or 1 where a run has no contrast.

    Raises:
        InputError: there is no result, or its responses, prompts or model are not there.
    """
    from ..arguments import as_threshold
    from ..report.tables import free_name
    from ..uncertainty.intervals import check_level

    request = requested(CoERequest, arguments)
    check_level(request.level)
    try:
        as_threshold(request.stable)
    except (TypeError, ValueError) as error:
        raise InputError(f'--stable: {error}') from error
    study = _Study(request)
    names: list[str] = []
    for result in results_of(request.runs):
        name = free_name(f'{result.model_abbr}@{result.dataset_abbr}'.replace('/', '_'), names)
        names.append(name)
        study.of(result, name)
    return int(study.without > 0)


class _Study:
    """The runs one after the other; a model is loaded once where they share it."""

    def __init__(self, request: CoERequest) -> None:
        self._request = request
        self._loaded: dict[tuple[str, str], Loaded] = {}
        self.without = 0
        """How many contrasts there are not."""

    def of(self, result: Result, name: str) -> None:
        """Compute the chains of a run; print and write them."""
        from ..studies.coe import contrasts, values_csv
        from ..studies.coe_figure import write_figure
        from ..studies.coe_tables import contrasts_json

        request, stem = self._request, self._request.output / name
        print(f'{printable(result.model_abbr)} on {printable(result.dataset_abbr)}', flush=True)
        values = self._values(result, stem)
        found = contrasts(result, values, request.stable, request.level)
        self._show(result, found, values)
        write_file(Path(f'{stem}.csv'), values_csv(values))
        text = json.dumps({'result': str(result.path), 'contrasts': contrasts_json(found)}, indent=1)
        write_file(Path(f'{stem}.json'), f'{text}\n')
        for file in write_figure(stem, result, values, found):
            print(f'wrote {file}')

    def _values(self, result: Result, stem: Path) -> list[Value]:
        from tqdm import tqdm

        from ..studies.coe import chains_of
        from ..studies.journal import Journal
        from ..studies.sampled_with import sampled_with
        from ..studies.stored import length_notes, responses_of, tokens_of

        request = self._request
        responses = responses_of(result, request.replicas, request.group)
        source = sampled_with(result, request.model, request.tokenizer)
        files = source.check(request.accept_other)
        loaded = self._load(source.path, source.tokenizer)
        asked = tokens_of(responses, loaded.tokenizer, source.template, request.accept_other)
        fitting = [one for one in asked if loaded.context is None or len(one.tokens.all) <= loaded.context]
        request.output.mkdir(parents=True, exist_ok=True)
        computed_with = {'model': files or source.path, 'dtype': loaded.dtype}
        journal = Journal(Path(f'{stem}.values.jsonl'), computed_with)
        with closing(tqdm(total=len(fitting), unit=' responses', disable=None)) as bar:
            values = chains_of(fitting, loaded.means, journal, request.batch_size, bar.update)
        for note in length_notes(fitting):
            print(f'note: {note}', file=sys.stderr)
        if too_long := len(asked) - len(fitting):
            print(f'left out: {too_long} responses are longer than the context of the model', file=sys.stderr)
        return values

    def _load(self, model: str, tokenizer: str) -> Loaded:
        from ..studies.layer_means import load

        if (model, tokenizer) not in self._loaded:
            self._loaded.clear()  # of two models only one fits into memory
            request = self._request
            found = load(model, tokenizer, request.device, request.dtype, request.chunk)
            self._loaded[model, tokenizer] = found
        return self._loaded[model, tokenizer]

    def _show(self, result: Result, found: Sequence[Contrast], values: Sequence[Value]) -> None:
        from ..studies.coe_tables import contrast_table, how_to_read

        tokens = sum(len(one.asked.tokens.response) for one in values)
        print(f'{len(values)} responses, {tokens} output tokens')
        for contrast in found:
            if contrast.why_not:
                self.without += 1
                print(f'{contrast.title}: no contrast, {contrast.why_not}', file=sys.stderr)
            else:
                print(f'\n{contrast.title}\n')
                show(contrast_table(contrast), of=f'{result.model_abbr} on {result.dataset_abbr}')
        if any(contrast.found for contrast in found):
            print(f'\n{how_to_read(self._request.level)}\n')
