"""A run of OpenCompass whose true numbers are known whatever its config and its data say at the moment.

It is begun, something is changed, it goes on: `Said` is what config and data say, `Run` does it on disk.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from forks import Copy, Forks
from hosts import dataset_config
from known_model import DIES, WORDINGS, is_right, model_identity

MODEL, DATASET = 'known', 'sums'
LIVE, BENCHMARK, OURS, THEIRS = 'LiveMathBench', 'AIME2025-I', 'quiz, our inferencer', 'quiz, GenInferencer'
SHAPES = {LIVE: (9, 5), BENCHMARK: (15, 3), OURS: (9, 5), THEIRS: (9, 5)}
"""Kind of data set: its number of questions, and n."""

FILES = {LIVE: '202412/AMC_en.jsonl', BENCHMARK: 'aime2025.jsonl', OURS: 'quiz.jsonl', THEIRS: 'quiz.jsonl'}
ROWS = 45
"""Of each of them: enough for three shards."""

SHARDS = {
    'workers 1': [45],
    'workers 3': [16, 16, 13],
}
"""How OpenCompass cuts these rows."""


class Question(NamedTuple):
    """A sum, and what is said to be right."""

    first: int
    second: int
    reference: int
    more: str = ''

    @property
    def text(self) -> str:
        return f'What is {self.first}+{self.second}{self.more}?'


@dataclass(frozen=True)
class Said:
    """All that a config and the files that it names say."""

    kind: str
    questions: tuple[Question, ...]
    data: str = 'data'
    layout: str = 'plain'
    model: str = 'models/a'
    files: tuple[tuple[str, str], ...] = (('config.json', '{"layers": 2}'), ('model.safetensors', '0123'))
    random_seed: int = 42
    temperature: float = 0.7
    max_out_len: int = 64
    own_len: int | None = None
    """`max_out_len` of the inferencer, which goes before that of the model."""
    cot: bool = True
    prefix: str = ''
    k: tuple[int, ...] = (2, 3)
    odd: bool = False
    """Whether a judge of another kind judges."""
    batch_size: int = 4
    operational: tuple[tuple[str, Any], ...] = (('retry', 2), ('tp', 1))

    @property
    def n(self) -> int:
        return SHAPES[self.kind][1]

    def counts(self, root: Path) -> dict[str, int]:
        """Right responses to each question, by its text."""
        length = self.own_len or self.max_out_len
        path = str(root / self.model)
        identity = model_identity(path, dict(self.files), self.random_seed, self.temperature, length)
        cot = self.cot and self.kind in (LIVE, BENCHMARK)
        wordings = [text for text, is_there in zip(WORDINGS, (cot, self.prefix), strict=True) if is_there]
        return {
            question.text: sum(self._counts(question, identity, wordings, one) for one in range(self.n))
            for question in self.questions
        }

    def _counts(self, question: Question, identity: str, wordings: Sequence[str], replica: int) -> bool:
        sample = None if self.kind == THEIRS else replica
        right = is_right(identity, question.text, wordings, sample)
        answer = question.first + question.second + (not right)
        return answer % 2 == 1 if self.odd else answer == question.reference

    def metrics(self, root: Path) -> dict[str, float]:
        """By enumeration of all subsets of k samples."""
        counts = self.counts(root).values()
        found = {'accuracy': sum(counts) / (len(counts) * self.n)}
        for k in self.k:
            for name, least in ((f'pass@{k}', 1), (f'G-Pass@{k}_0.5', ceil(k / 2)), (f'G-Pass@{k}_1.0', k)):
                found[name] = sum(_share(self.n, c, k, least) for c in counts) / len(counts)
        return {name: 100 * value for name, value in found.items()}


def _share(n: int, c: int, k: int, least: int) -> float:
    """Of all choices of k of n samples, of which c are right: those with at least so many right ones."""
    choices = [sum(chosen) for chosen in combinations([1] * c + [0] * (n - c), k)]
    return sum(right >= least for right in choices) / len(choices)


def draw(kind: str, chance: random.Random) -> Said:
    """A run with other questions each time."""
    sums = chance.sample(range(200, 900, 3), SHAPES[kind][0])  # no wrong answer is right elsewhere
    questions = [Question(first := chance.randrange(1, 100), total - first, total) for total in sums]
    return Said(kind, tuple(questions), random_seed=chance.randrange(1000))


class Run:
    """One work directory, and the command that works there.

    Args:
        root: where the config is and the commands are typed.
        command: 'opencompass' or 'gpassk'.
        partition: one of `SHARDS`.
    """

    def __init__(self, forks: Forks, root: Path, said: Said, command: str, partition: str) -> None:
        self.forks, self.root, self.now = forks, root, said
        self.command, self.partition = command, partition
        self.work_dir = root / 'out' / 'c'
        self.home = root
        """Where data and models are."""
        self.variables = {'TZ': 'UTC'}
        """Of the environment of the next commands."""
        self.logs = ''
        """What was said since it was last emptied."""
        root.mkdir(parents=True, exist_ok=True)
        self.write(said)

    def write(self, said: Said) -> None:
        """Let config, data and model say this; what says it already is not touched."""
        self.now = said
        _write(self.home / said.data / FILES[said.kind], _lines(said))
        for name, content in said.files:
            _write(self.home / said.model / name, content)
        parts = {'models': [_model(self.home, said)], 'datasets': [_dataset(self.home, said)]}
        parts['summarizer'] = {'type': 'gpassk_opencompass.GPassKSummarizer'}  # type: ignore[assignment]
        _write(self.root / 'c.py', ''.join(f'{name} = {value!r}\n' for name, value in parts.items()))

    def start(self, mode: str = '', resume: bool = False, dies: int | None = None) -> Copy:
        """Type the command; its process dies when the model has answered so many rows."""
        variables = self.variables | ({} if dies is None else {DIES: str(dies)})
        options = ['--max-num-workers', self.partition[-1], *(['-m', mode] if mode else [])]
        if self.command == 'gpassk':
            line = ['gpassk', 'run', 'c.py', '-w', 'out', '--', *options]
        else:
            line = ['opencompass', 'c.py', '-w', str(self.work_dir), *options, *(['-r'] if resume else [])]
        return self.forks.start(*line, folder=self.root, variables=variables)

    def go(self, mode: str = '', resume: bool = False, dies: int | None = None) -> int:
        """The same to its end; its exit code."""
        before = self.printed()
        code = self.start(mode, resume, dies).wait()
        logs = sorted(self.work_dir.glob('.gpassk/opencompass.log'))
        self.logs += self.printed()[len(before) :] + ''.join(log.read_text() for log in logs)
        return code

    def result(self) -> dict[str, Any] | None:
        """The newest one."""
        found = sorted(self.work_dir.glob('*/results/*/*.json'), key=lambda path: path.stat().st_mtime)
        return json.loads(found[-1].read_text()) if found else None

    def put_result_aside(self) -> None:
        """So that it is judged again."""
        for path in self.work_dir.glob('*/results/*/*.json'):
            path.rename(f'{path}.aside')

    def predictions(self) -> list[Path]:
        """Of finished shards, in their order."""
        return sorted(self.work_dir.glob(f'*/predictions/{MODEL}/{DATASET}*.json'))

    def unfinished(self) -> list[Path]:
        """Resume files with rows."""
        found = self.work_dir.glob(f'*/predictions/{MODEL}/*.jsonl')
        return sorted(path for path in found if path.stat().st_size)

    def is_true(self, result: dict[str, Any]) -> bool:
        """Whether counts and metrics are those of what config and data say now."""
        details, metrics = result['details'], self.now.metrics(self.home)
        counts = dict(zip(details['question'], result['gpassk']['counts']['c'], strict=True))
        same = {name: abs(result.get(name, -1) - value) < 1e-6 for name, value in metrics.items()}
        return counts == self.now.counts(self.home) and all(same.values())

    def errors(self) -> list[str]:
        """Lines that say why there is no result: errors of this package, and states of `gpassk run`."""
        found = re.findall(r'^.*(?:InputError|IncompleteError|RuntimeError): .*$', self.logs, re.MULTILINE)
        states = re.findall(r'^\[1/1\] c: (?!already complete|started|goes on).*$', self.logs, re.MULTILINE)
        return list(Counter(found + states))

    def printed(self) -> str:
        """What the commands here have printed so far."""
        said = self.root / 'said'
        return said.read_text(errors='replace') if said.exists() else ''


def _write(path: Path, text: str) -> None:
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _lines(said: Said) -> str:
    text = r'\boxed{%d}' if said.kind in (OURS, THEIRS) else '%d'
    rows = [{'question': one.text, 'answer': text % one.reference} for one in said.questions]
    if said.layout == 'plain':
        return ''.join(json.dumps(row) + '\n' for row in rows)
    others = [dict(reversed(row.items())) for row in rows]
    return '\n'.join(json.dumps(row, separators=(' ,  ', ':  ')) for row in others)


def _model(root: Path, said: Said) -> dict[str, Any]:
    return {
        'type': 'known_model.KnownModel', 'abbr': MODEL, 'path': str(root / said.model),
        'random_seed': said.random_seed,
        'generation_kwargs': {'temperature': said.temperature, 'do_sample': True},
        'batch_size': said.batch_size, 'max_out_len': said.max_out_len, 'run_cfg': {'num_gpus': 0},
        **dict(said.operational),
    }  # fmt: skip


def _dataset(root: Path, said: Said) -> dict[str, Any]:
    quiz = said.kind in (OURS, THEIRS)
    path = root / said.data / FILES[said.kind] if quiz or said.kind == BENCHMARK else root / said.data
    settings = {
        LIVE: {'cot': said.cot},
        BENCHMARK: {
            'type': 'gpassk_opencompass.BenchmarkDataset',
            'benchmark': 'aime2025-i',
            'cot': said.cot,
        },
        OURS: {'type': 'known_model.Quiz'},
        THEIRS: {'type': 'opencompass.datasets.CustomDataset'},
    }[said.kind]
    column = 'question' if quiz else 'prompt'
    reader = {'input_columns': [column], 'output_column': 'answer'}
    config = dataset_config(path, **settings, abbr=DATASET, k=list(said.k), n=said.n, reader_cfg=reader)
    for name in () if said.kind == LIVE else ('dataset_splits', 'dataset_languages'):
        del config[name]
    config['eval_cfg'] = {'evaluator': {'type': 'gpassk_opencompass.GPassKEvaluator', **_judge(said, quiz)}}
    infer = config['infer_cfg']
    infer['prompt_template']['template']['round'][0]['prompt'] = f'{said.prefix}{{{column}}}'
    infer['inferencer'] = {'type': 'gpassk_opencompass.SeededGenInferencer'}
    if said.kind == THEIRS:
        infer['inferencer']['type'] = 'opencompass.openicl.icl_inferencer.GenInferencer'
    if said.own_len is not None:
        infer['inferencer']['max_out_len'] = said.own_len
    return config


def _judge(said: Said, quiz: bool) -> dict[str, Any]:
    if quiz:
        exact = 'opencompass.openicl.icl_evaluator.AccwithDetailsEvaluator'
        return {'evaluator': {'type': 'known_model.OddEvaluator' if said.odd else exact}}
    return {'judge': {'type': 'known_model.OddJudge'}} if said.odd else {}
