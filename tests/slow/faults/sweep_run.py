"""A run whose every answer and every verdict is known beforehand, to be disturbed and looked at."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dying import Fault
from forks import PATIENCE, Copy, Forks
from hosts import dataset_config, results_of, scripted, write_bench, write_config
from judge_server import PROMPTS, Asked, JudgeServer
from result_files import write_three
from sweeping import BASE

from gpassk_opencompass.judges.verdicts import FOLDER, VerdictStore

QUESTIONS, N, K = 8, 4, [2, 4]
CONCURRENCY, BATCH = 4, 4
SAMPLES = [(question, replica) for replica in range(N) for question in range(QUESTIONS)]


def answer(question: int, replica: int) -> str:
    return f'{"hm, " * 100}so it is \\boxed{{{100 * question + replica}}}.'


def is_right(number: int) -> bool:
    return number % 7 in (0, 2, 3)


COUNTS = [sum(is_right(100 * question + replica) for replica in range(N)) for question in range(QUESTIONS)]


def verdict(asked: Asked) -> str:
    number = int(re.findall(r'answer=(\d+)', asked.prompt)[-1])
    return r'\boxed{yes}' if is_right(number) else r'\boxed{no}'


class SweepRun:
    """One config below `root/configs`, its work directory, and who is asked about its answers."""

    def __init__(self, forks: Forks, root: Path, server: JudgeServer) -> None:
        self.forks, self.root, self.server = forks, root, server

    @property
    def said(self) -> str:
        """What the commands that were started here have printed so far."""
        path = self.root / 'said'
        return path.read_text(errors='replace') if path.exists() else ''

    def start(self, name: str, fault: Fault | None = None, out: str | Path = 'out') -> Copy:
        """`gpassk run` on the config, at work."""
        line = ('run', f'configs/{name}.py', '-w', out)
        return self.forks.start('gpassk', *line, folder=self.root, fault=fault)

    def write(self, name: str, delay: float = 0.0) -> Path:
        """The config of a run, for `check` the only one that asks the judge from here on.

        Its model leaves a line a sample in `<name>.trace`, a batch takes `delay` seconds.
        """
        self.server.asked.clear()
        judge = {
            'type': 'llm', 'model': 'judge', 'urls': [self.server.url], 'prompts': PROMPTS,
            'concurrency': CONCURRENCY, 'progress': False,
        }  # fmt: skip
        evaluator = {'type': 'gpassk_opencompass.GPassKEvaluator', 'judge': judge}
        model = scripted(type='steady.SteadyModel', trace=str(self.root / f'{name}.trace'), delay=delay)
        data = dataset_config(self.root / 'data', k=K, n=N, eval_cfg={'evaluator': evaluator})
        (self.root / 'configs').mkdir(exist_ok=True)
        return write_config(self.root / 'configs' / f'{name}.py', model, data)

    def complete(self, name: str, out: str | Path = 'out') -> Copy:
        """Run it, again while what a killed command left is still at work, until it is complete."""
        deadline = time.monotonic() + PATIENCE
        while True:
            before = len(self.said)
            copy = self.start(name, out=out)
            code = copy.wait()
            if code == 0:
                return copy
            assert 'in use by' in copy.said[before:], copy.said[before:]
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def check(self, name: str, deaths: int, out: str | Path = 'out', workers: int = 1) -> None:
        """Nothing lost, nothing done twice but what was under way at a death, every number right.

        Several workers at once may each do all of it, and still no number changes.
        """
        work_dir = self.root / out / name
        self._check_numbers(work_dir, workers)
        asked = Counter(asked.prompt for asked in self.server.asked)
        drawn = Counter(line.split(' ', 1)[1] for line in self._trace(name))
        for done, under_way in ((asked, CONCURRENCY), (drawn, BATCH)):
            assert len(done) == len(SAMPLES)
            assert done.total() <= workers * len(SAMPLES) + deaths * under_way

    def _check_numbers(self, work_dir: Path, workers: int) -> None:
        [result] = results_of(work_dir)
        assert result['gpassk']['counts']['c'] == COUNTS
        assert result['gpassk']['health']['unjudged'] == 0
        assert _predictions(work_dir) == {str(row): answer(*sample) for row, sample in enumerate(SAMPLES)}
        lines = [line for store in work_dir.rglob(FOLDER) for line in VerdictStore(store).lines()]
        said = {(line.about['answer'], line.verdict.value == 'correct') for line in lines}
        verdicts = dict(said)
        assert verdicts == {number: is_right(int(number)) for number in verdicts}
        assert len(verdicts) == len(said) == len(SAMPLES)
        assert len(lines) <= workers * len(SAMPLES)

    def _trace(self, name: str) -> list[str]:
        return (self.root / f'{name}.trace').read_text().splitlines()


def contents(folder: Path) -> dict[str, bytes]:
    """Name → bytes of all files but the hidden ones of a writer that was killed."""
    files = (path for path in folder.rglob('*') if path.is_file() and not path.name.startswith('.writing'))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _predictions(work_dir: Path) -> dict[str, Any]:
    [path] = work_dir.glob('*/predictions/*/*.json')
    return {row: one['prediction'] for row, one in json.loads(path.read_text()).items()}


@contextmanager
def sweep_run(forks: Forks, root: Path) -> Iterator[SweepRun]:
    """With its data and its judge."""
    write_bench(root / 'data', {'AMC_en': [(f'Question {i}?', '$x$') for i in range(QUESTIONS)]})
    with JudgeServer(verdict) as server:
        yield SweepRun(forks, root, server)


def expansion_and_report(root: Path) -> dict[str, tuple[str | Path, ...]]:
    """`dump_configs` of seven configs, `report` on three results; the folder comes last, and is left out."""
    template = root / 'template.py'
    template.write_text(BASE.replace('temperatures = [0.3]', 'temperatures = [0.1 * i for i in range(1, 8)]'))
    write_three(root / 'outputs')
    return {
        'dump_configs': ('dump_configs', '-tc', template, '--output-dir'),
        'report': ('gpassk', 'report', root / 'outputs', '--only', 'tables', '-o'),
    }
