"""What do `opencompass` commands cost as copies of one process that has it imported, and as they are?

    python -m benchmarks.warm_commands            # 3 runs of one model; 200 judged again, 5 of them plainly
    python -m benchmarks.warm_commands --quick    # 20 judged again, 2 of them plainly

The runs are those of the demo, one after the other; a command of each is what `gpassk run` starts. What
imports OpenCompass, and what loads the model, notes itself in a file. Samples must be the same to the byte.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from gpassk_opencompass.prefork import Pool
from gpassk_opencompass.runs.command import Options, command, environment, prepare_directory
from gpassk_opencompass.runs.work_dir import times_in
from gpassk_opencompass.sweep.expansion import expand_template

from .measuring import Cost, progress
from .sections import Headline, Section, Size, duration, main, times

TEMPLATE = """
from gpassk_opencompass.demo import LANGUAGES, MODEL, QUESTIONS, SPLITS, VERSION
engine = 'huggingface'
llm_infos = [dict(path=MODEL, name='demo', tp=0, batch_size=256)]
model_kwargs = dict(torch_dtype='torch.float32', device_map='cpu')
max_seq_len = 4096
temperatures = {temperatures}
max_out_lens = [40]
random_seeds = [42]
k_lists = [[{n}]]
n = {n}
dataset_path = QUESTIONS
version = VERSION
dataset_splits = SPLITS[:1]
dataset_languages = LANGUAGES[:1]
"""
COUNTING = {
    'sitecustomize.py': """
import os, sys
class Counter:
    def find_spec(name, path=None, target=None):
        if name == 'opencompass':
            with open(os.environ['COUNTED'], 'a') as file: file.write('import\\n')
sys.meta_path.insert(0, Counter)
""",
    'counted.py': """
import os
from opencompass.models import HuggingFacewithChatTemplate
from gpassk_opencompass.plugin import SeededHuggingFace
load = HuggingFacewithChatTemplate._load_model
def noted(self, *arguments, **more):
    with open(os.environ['COUNTED'], 'a') as file: file.write('load\\n')
    return load(self, *arguments, **more)
HuggingFacewithChatTemplate._load_model = noted
""",
}


class Case(NamedTuple):
    """How much is done."""

    temperatures: Sequence[float]
    n: int
    again: int
    """Runs that are judged again."""
    before: int
    """Of these, as the commands are."""


CASES: Mapping[Size, Case] = {
    'tiny': Case((0.0,), 4, 1, 1),
    'quick': Case((0.0, 0.3, 1.0), 16, 20, 2),
    'full': Case((0.0, 0.3, 1.0), 48, 200, 5),
}

Words = Callable[[Sequence[str]], Sequence[str]]


class Done(NamedTuple):
    """Some commands, one after the other."""

    cost: Cost
    imports: float
    loads: float

    def scaled(self, factor: float) -> Done:
        """What so many times as many take."""
        return Done(self.cost.scaled(factor), self.imports * factor, self.loads * factor)


def measure(size: Size) -> Section:
    """Sampling and judging, then judging alone, before and after."""
    case = CASES[size]
    with TemporaryDirectory(prefix='warm-') as name:
        bench = _Bench(Path(name), case)
        rows = [bench.sampled(), bench.judged()]
    return _section(case, rows)


class _Row(NamedTuple):
    what: str
    before: Done
    after: Done


class _Bench:
    """The runs, and a folder for each way of doing them."""

    def __init__(self, folder: Path, case: Case) -> None:
        self._folder, self._case, self._counted = folder, case, folder / 'counted.txt'
        (folder / 'counting').mkdir()
        for name, text in COUNTING.items():
            (folder / 'counting' / name).write_text(text, encoding='utf-8')
        template = folder / 'template.py'
        template.write_text(TEMPLATE.format(temperatures=list(case.temperatures), n=case.n), encoding='utf-8')
        self._configs = folder / 'configs'
        self._configs.mkdir()
        for file, text in expand_template(template).texts.items():
            counted = text.replace("'gpassk_opencompass.SeededHuggingFace'", "'counted.SeededHuggingFace'")
            (self._configs / file).write_text(counted, encoding='utf-8')
        first = [str(folder / 'counting'), *filter(None, [os.environ.get('PYTHONPATH')])]
        variables = {'PYTHONPATH': os.pathsep.join(first), 'COUNTED': str(self._counted)}
        self._environment = environment(Path.cwd(), {**os.environ, **variables, 'GPASSK_SESSION': 'demo'})

    def sampled(self) -> _Row:
        """All configs, sampled and judged; the same samples either way."""
        configs = sorted(self._configs.glob('*.py'))
        jobs = {side: [(c, self._folder / side / c.stem) for c in configs] for side in ('plain', 'warm')}
        row = self._both(f'{len(configs)} runs of one model', jobs['plain'], jobs['warm'], Options())
        for (_, plain), (_, warm) in zip(*jobs.values(), strict=True):
            if _predictions(plain) != _predictions(warm):
                raise RuntimeError(f'{plain.name} has other samples in a copy')
        return row

    def judged(self) -> _Row:
        """Copies of the last run without its results."""
        config = max(self._configs.glob('*.py'))
        made = self._folder / 'plain' / config.stem
        jobs: dict[str, list[tuple[Path, Path]]] = {}
        for side, count in (('plain', self._case.before), ('warm', self._case.again)):
            jobs[side] = []
            for number in range(count):
                copy = self._folder / f'{side}-again' / f'run{number}'
                shutil.copytree(made, copy)
                shutil.rmtree(next(copy.glob('*/results')))
                jobs[side].append((config, copy))
        options = Options(('-m', 'eval'), mode='eval')
        what = f'{self._case.again} runs judged again by rule'
        row = self._both(what, jobs['plain'], jobs['warm'], options)
        return row._replace(before=row.before.scaled(self._case.again / self._case.before))

    def _both(
        self,
        what: str,
        plain: Sequence[tuple[Path, Path]],
        warm: Sequence[tuple[Path, Path]],
        options: Options,
    ) -> _Row:
        progress(f'warm_commands: {what}, {len(plain)} as they are')
        before = self._counting(lambda: self._do(plain, options, list))
        progress(f'warm_commands: {what}, {len(warm)} as copies')

        def copied() -> None:
            with Pool(self._environment) as pool:
                self._do(warm, options, pool.command)

        return _Row(what, before, self._counting(copied))

    def _counting(self, work: Callable[[], None]) -> Done:
        self._counted.write_text('')
        started, before = time.perf_counter(), _processor_seconds()
        work()
        seconds, spent = time.perf_counter() - started, _processor_seconds() - before
        told = self._counted.read_text().split()
        return Done(Cost(seconds, spent, 0.0), told.count('import'), told.count('load'))

    def _do(self, jobs: Sequence[tuple[Path, Path]], options: Options, words: Words) -> None:
        for config, work_dir in jobs:
            directory = prepare_directory(work_dir, config, Path.cwd())
            resumed = next(iter(times_in(work_dir)), None)
            line = words(command(config, work_dir, options, None, resumed))
            with (work_dir / 'log').open('wb') as log:
                process = subprocess.Popen(
                    line, cwd=directory, env=self._environment, stdout=log, stderr=log, start_new_session=True
                )
                process.wait()
            if not list(work_dir.glob('*/results/*/*.json')):
                raise RuntimeError(f'no results of {config.name}: {(work_dir / "log").read_text()[-2000:]}')


def _processor_seconds() -> float:
    """Of all processes that this one has waited for, and those that they have waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _predictions(work_dir: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in work_dir.glob('*/predictions/*/*.json')}


def _section(case: Case, rows: Sequence[_Row]) -> Section:
    cells = [
        [
            row.what,
            f'{row.before.imports:.0f} → {row.after.imports:.0f}',
            f'{row.before.loads:.0f} → {row.after.loads:.0f}',
            duration(row.before.cost.cpu),
            duration(row.after.cost.cpu),
            times(row.before.cost.cpu / row.after.cost.cpu),
            times(row.before.cost.seconds / row.after.cost.seconds),
        ]
        for row in rows
    ]
    return Section(
        'Commands as copies',
        'The `opencompass` commands of `gpassk run`, one after the other: as they are, and as copies of one '
        'process that has OpenCompass imported, with its start and end. Seconds are of the processor.',
        [
            '',
            'imports of OpenCompass',
            'loads of the model',
            'as they are',
            'as copies',
            'ratio',
            'ratio by the clock',
        ],
        cells,
        [
            f'Of those judged again {case.before} were done as they are, and scaled up. The predictions of '
            'the first row are the same to the byte either way.'
        ],
        [_headline(row) for row in rows],
    )


def _headline(row: _Row) -> Headline:
    before, after = row.before.cost.cpu, row.after.cost.cpu
    return Headline(row.what, 'a process each', duration(after), duration(before), times(before / after), '–')


if __name__ == '__main__':
    main(measure, __doc__)
