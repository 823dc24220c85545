"""Something changes between two stages of a run: the numbers are true, or none are there and it is said why.

What is true is counted by the test, of what config and data say after the change.
"""

from __future__ import annotations

import csv
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from forks import Forks
from hosts import dataset_config
from known_model import DIES, WORDINGS, is_right, number_in

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('faults')]

MODEL, DATASET = 'known', 'sums'
QUESTIONS, N = 9, 5
SHARDS = {'1': [45], '3': [16, 16, 13]}
"""How OpenCompass cuts these rows for so many workers."""

ROWS = r'\b(?:rows?|lines?|questions?|references?|gold|prompts?|samples)\b'
"""What differs, where data or predictions changed."""
CONFIG = 'the config was changed'
"""What `gpassk run` says of any setting: it keeps both configs."""


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

    questions: tuple[Question, ...]
    foreign: bool = False  # whether data set, inferencer and evaluator are OpenCompass's own
    separators: tuple[str, str] = (', ', ': ')
    model: str = 'models/a'
    weights: str = '0123'
    random_seed: int = 42
    temperature: float = 0.7
    own_len: int = 64  # `max_out_len` of the inferencer, which goes before that of the model
    cot: bool = True
    prefix: str = ''
    k: tuple[int, ...] = (2, 3)
    odd: bool = False  # whether a judge of another kind judges

    @property
    def files(self) -> dict[str, str]:
        return {'config.json': '{}', 'model.safetensors': self.weights}

    def counts(self, root: Path) -> dict[str, int]:
        """Right responses to each question, by its text."""
        files = sorted(self.files.items())
        told = (str(root / self.model), files, self.random_seed, self.temperature, self.own_len)
        there = (self.cot and not self.foreign, self.prefix)
        wordings = [text for text, is_there in zip(WORDINGS, there, strict=True) if is_there]

        def counts(question, replica):
            replica = None if self.foreign else replica
            right = is_right(told, question.text, wordings, replica)
            answer = question.first + question.second + (not right)
            return answer % 2 == 1 if self.odd else answer == question.reference

        return {one.text: sum(counts(one, replica) for replica in range(N)) for one in self.questions}


def draw(foreign: bool, chance: random.Random) -> Said:
    """A run with other questions each time."""
    sums = chance.sample(range(200, 900, 3), QUESTIONS)  # no wrong answer is right elsewhere
    questions = [Question(first := chance.randrange(1, 100), total - first, total) for total in sums]
    return Said(tuple(questions), foreign, random_seed=chance.randrange(1000))


class Run:
    """One work directory, and the command that works there: 'opencompass' or 'gpassk'."""

    def __init__(self, forks: Forks, root: Path, said: Said, command: str, workers: str = '1') -> None:
        self.forks, self.root, self.command, self.workers = forks, root, command, workers
        self.work_dir, self.zone = root / 'out' / 'c', 'UTC'
        self.logs = ''  # what was said since it was last emptied
        self.write(said)

    def write(self, said: Said) -> None:
        """Let config, data and model say this; what says it already is not touched."""
        self.now = said
        text = r'\boxed{%d}' if said.foreign else '%d'
        rows = [{'question': one.text, 'answer': text % one.reference} for one in said.questions]
        lines = ''.join(f'{json.dumps(row, separators=said.separators)}\n' for row in rows)
        files = {self.root / said.model / name: content for name, content in said.files.items()}
        files[self.root / 'data' / ('quiz.jsonl' if said.foreign else '202412/AMC_en.jsonl')] = lines
        model = {
            'type': 'known_model.KnownModel', 'abbr': MODEL, 'path': str(self.root / said.model),
            'random_seed': said.random_seed, 'generation_kwargs': {'temperature': said.temperature},
            'batch_size': 4, 'max_out_len': 99, 'run_cfg': {'num_gpus': 0},
        }  # fmt: skip
        summarizer = {'type': 'gpassk_opencompass.GPassKSummarizer'}
        parts = {'models': [model], 'datasets': [self._dataset()], 'summarizer': summarizer}
        files[self.root / 'c.py'] = ''.join(f'{name} = {value!r}\n' for name, value in parts.items())
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_text() != content:
                path.write_text(content)

    def _dataset(self) -> dict[str, Any]:
        said = self.now
        column, own = ('question', 'opencompass.openicl') if said.foreign else ('prompt', '')
        reader = {'input_columns': [column], 'output_column': 'answer'}
        config = dataset_config(self.root / 'data', abbr=DATASET, k=list(said.k), n=N, reader_cfg=reader)
        evaluator, infer = config['eval_cfg']['evaluator'], config['infer_cfg']
        infer['prompt_template']['template']['round'][0]['prompt'] = f'{said.prefix}{{{column}}}'
        infer['inferencer']['max_out_len'] = said.own_len
        if not said.foreign:
            evaluator |= {'judge': {'type': 'known_model.OddJudge'}} if said.odd else {}
            return {**config, 'cot': said.cot}
        exact = f'{own}.icl_evaluator.AccwithDetailsEvaluator'
        evaluator['evaluator'] = {'type': 'known_model.OddEvaluator' if said.odd else exact}
        infer['inferencer']['type'] = f'{own}.icl_inferencer.GenInferencer'
        config |= {'type': 'opencompass.datasets.CustomDataset', 'path': str(self.root / 'data/quiz.jsonl')}
        return {name: part for name, part in config.items() if not name.startswith('dataset_')}

    def go(self, mode: str = '', resume: bool = False, dies: int | None = None) -> int:
        """Type the command; a process dies when its model has answered so many rows. Its exit code."""
        options = ['--max-num-workers', self.workers, *(['-m', mode] if mode else [])]
        line = ['opencompass', 'c.py', '-w', str(self.work_dir), *options, *(['-r'] if resume else [])]
        if self.command == 'gpassk':
            line = ['gpassk', 'run', 'c.py', '-w', 'out', '--', *options]
        began = time.time()
        self.logs += self.type(*line, dies=dies)
        of_tasks = [one for one in self.work_dir.glob('*/logs/*/*/*.out') if one.stat().st_mtime >= began]
        logs = [*self.work_dir.glob('.gpassk/opencompass.log'), *of_tasks]
        self.logs += ''.join(log.read_text(errors='replace') for log in logs)
        return self.code

    def type(self, *line: str, dies: int | None = None) -> str:
        variables = {'TZ': self.zone} | ({} if dies is None else {DIES: str(dies)})
        said = self.root / 'said'
        before = len(said.read_text(errors='replace')) if said.exists() else 0
        self.code = self.forks.start(*line, folder=self.root, variables=variables).wait()
        return said.read_text(errors='replace')[before:]

    def result(self) -> dict[str, Any] | None:
        found = sorted(self.work_dir.glob('*/results/*/*.json'), key=lambda path: path.stat().st_mtime)
        return json.loads(found[-1].read_text()) if found else None

    def predictions(self) -> list[Path]:
        """Of finished shards, in their order."""
        return sorted(self.work_dir.glob(f'*/predictions/{MODEL}/{DATASET}*.json'))

    def is_true(self, result: dict[str, Any]) -> bool:
        """Whether the counts are those of what config and data say now."""
        counts = zip(result['details']['question'], result['gpassk']['counts']['c'], strict=True)
        return dict(counts) == self.now.counts(self.root) and result['gpassk']['k'] == [*self.now.k]

    def errors(self) -> list[str]:
        """Lines that say why there is no result: errors of this package, and states of `gpassk run`."""
        found = re.findall(r'^.*(?:InputError|IncompleteError|RuntimeError): .*$', self.logs, re.MULTILINE)
        states = re.findall(r'^\[1/1\] c: (?!already complete|started|goes on).*$', self.logs, re.MULTILINE)
        return list(Counter(found + states))


def nothing(run: Run) -> None:
    """Leave all files as they are."""


class Case(NamedTuple):
    """What changes when, and what a refusal must name, a regular expression (empty: it must be scored)."""

    words: str
    stage: str
    """'sampled', 'killed' in the middle, 'shard' (killed when one is complete), or 'judged'."""
    command: str
    edit: Callable[[Said], Said] = lambda said: said
    damage: Callable[[Run], None] = nothing
    foreign: bool = False
    workers: str = '1'


def setting(**settings: Any) -> Callable[[Said], Said]:
    return lambda said: replace(said, **settings)


def questions(change: Callable[[tuple[Question, ...]], tuple[Question, ...]]) -> Callable[[Said], Said]:
    return lambda said: replace(said, questions=change(said.questions))


def another_seed(said: Said) -> Said:
    return replace(said, random_seed=said.random_seed + 1)


def exchange(run: Run) -> None:
    """The files of two finished shards: each row says which sample it is."""
    first, second = run.predictions()[:2]
    texts = first.read_text(), second.read_text()
    second.write_text(texts[0])
    first.write_text(texts[1])


def edit_row(name: str) -> Callable[[Run], None]:
    """Another number in this field of a row of a finished shard."""

    def damage(run):
        rows = json.loads(run.predictions()[0].read_text())
        row = rows['3']
        right = name == 'prediction' and number_in(row[name]) != number_in(row['gold'])
        more = re.sub(r'\d+', lambda number: str(int(number[0]) + 1), row[name], count=1)
        row[name] = row['gold'] if right else more
        run.predictions()[0].write_text(json.dumps(rows, indent=4))

    return damage


def provenance_of_another_seed(run: Run) -> None:
    for path in run.work_dir.glob('*/predictions/*/run.provenance'):
        seed = run.now.random_seed
        path.write_text(path.read_text().replace(f'"random_seed": {seed}', f'"random_seed": {seed + 1}'))


def repartition(run: Run) -> None:
    run.workers = '1'


CASES = {
    'data written otherwise': Case('', 'killed', 'opencompass', setting(separators=(' ,  ', ':  '))),
    'k': Case('', 'judged', 'gpassk', setting(k=(3,))),
    'judge': Case('', 'sampled', 'opencompass', setting(odd=True), foreign=True),
    'lines reversed': Case('', 'killed', 'opencompass', questions(lambda all: all[::-1])),
    'a question edited': Case(
        ROWS,
        'sampled',
        'gpassk',
        questions(lambda all: (all[0]._replace(more=', too'), *all[1:])),
        foreign=True,
    ),
    'a reference edited': Case(
        ROWS, 'judged', 'opencompass', questions(lambda all: (all[0]._replace(reference=5), *all[1:]))
    ),
    'a line added': Case(
        ROWS, 'killed', 'gpassk', questions(lambda all: (*all, Question(450, 501, 951))), foreign=True
    ),
    'path': Case(rf'\bpath\b|{CONFIG}', 'killed', 'opencompass', setting(model='models/b')),
    'random_seed': Case('random_seed', 'killed', 'opencompass', another_seed),
    'random_seed, and run.provenance as if it had always been so': Case(
        'settings that run.provenance does not tell',
        'sampled',
        'opencompass',
        another_seed,
        provenance_of_another_seed,
    ),
    'temperature': Case(f'temperature|{CONFIG}', 'sampled', 'gpassk', setting(temperature=1.3)),
    'max_out_len of the inferencer': Case('max_out_len', 'killed', 'opencompass', setting(own_len=32)),
    'cot': Case(rf'\bcot\b|{ROWS}', 'killed', 'opencompass', setting(cot=False)),
    'prompt template': Case(f'template|{ROWS}', 'killed', 'opencompass', setting(prefix='Exercise: ')),
    'weights of the model': Case('safetensors', 'killed', 'opencompass', setting(weights='0124')),
    'number of workers': Case('', 'shard', 'opencompass', damage=repartition, workers='3'),
    'shards exchanged': Case('', 'sampled', 'opencompass', damage=exchange, workers='3'),
    'a response edited': Case('sums', 'sampled', 'opencompass', damage=edit_row('prediction')),
    'a gold edited': Case('sums', 'sampled', 'gpassk', damage=edit_row('gold')),
}


@pytest.mark.parametrize('name', CASES)
def test_what_changes_between_two_stages_is_never_scored_without_a_word(forks, tmp_path, name):
    """There is the true result, or an error that names the change; put back, the run goes on."""
    case = CASES[name]
    run, then, damaged = changed(forks, tmp_path, case, random.Random(name))
    if not case.words or run.result():
        result = run.result()
        assert result, run.logs[-1500:]
        assert run.is_true(result), result['gpassk']['counts']['c']
        return
    assert [line for line in run.errors() if re.search(case.words, line)], run.logs[-1500:]
    for path, content in damaged.items():
        path.write_bytes(content)
    run.workers = case.workers
    run.write(then)
    go_on(run, False)
    result = run.result()
    named = re.compile(rf'\b{DATASET}(_\d+)?\.json')
    assert run.is_true(result) if result else any(map(named.search, run.errors())), run.logs[-1500:]


def test_drawn_changes_are_true_or_told(forks, tmp_path, times, chance, tried):
    """Any of them in any stage, by either command, in one shard or three."""
    for number in range(times):
        case = CASES[name := chance.choice([*CASES])]._replace(
            command=chance.choice(['opencompass', 'gpassk'])
        )
        if case.damage is nothing:
            stage, workers = chance.choice(['sampled', 'killed', 'judged']), chance.choice(list(SHARDS))
            case = case._replace(stage=stage, workers=workers)
        run, _, _ = changed(forks, tmp_path / str(number), case, chance)
        result, words = run.result(), f'{number}: {name}, {case}: {run.logs[-1500:]}'
        assert run.is_true(result) if result else run.errors(), words
        tried['complete' if result else 'refused'] += 1


def changed(
    forks: Forks, root: Path, case: Case, chance: random.Random
) -> tuple[Run, Said, dict[Path, bytes]]:
    """Begin a run, change something, go on; the run, what it said before, and files that were damaged."""
    while True:  # so that it makes a difference if it is meant to
        then = draw(case.foreign, chance)
        now = case.edit(then)
        before, after = (list(said.counts(root).values()) for said in (then, now))
        differs = before != after or then == now or not case.words
        if differs and sum(map(bool, before)) > len(before) / 2:
            break
    run = Run(forks, root, then, case.command, case.workers)
    begin(run, case.stage, chance)
    files = {path: path.read_bytes() for path in run.work_dir.glob('*/predictions/*/*')}
    case.damage(run)
    run.write(now)
    damaged = {path: content for path, content in files.items() if path.read_bytes() != content}
    go_on(run, case.stage == 'sampled')
    return run, then, damaged


def begin(run: Run, stage: str, chance: random.Random) -> None:
    """As far as the stage says; where it is killed, each question has been asked."""
    if stage == 'sampled':
        assert run.go('infer') == 0, run.logs
    elif stage == 'judged':
        assert run.go() == 0, run.logs
        for path in run.work_dir.glob('*/results/*/*.json'):
            path.rename(f'{path}.aside')
    elif stage == 'killed':
        run.go(dies=chance.randrange(len(run.now.questions), 41))
        assert run.predictions() or [*run.work_dir.glob('*/predictions/*/*.jsonl')], run.logs
    else:
        run.go(dies=sum(SHARDS[run.workers][:1]))
        assert len(run.predictions()) == 1, run.logs
    assert run.result() is None
    began = time.strftime('%S')
    while time.strftime('%S') == began:  # a second command in one second is a case of its own
        time.sleep(0.01)


def go_on(run: Run, only: bool) -> None:
    """Type the second command, once more if it leaves no result.

    Here a failed task is the end of `opencompass`; in its own processes it would evaluate all the same.
    """
    run.logs = ''
    run.go('eval' if only else '', resume=True)
    if run.result() is None and not only:
        run.go('eval' if run.command == 'opencompass' else '', resume=True)


@pytest.mark.parametrize('elsewhere', [False, True], ids=['one work directory', 'two'])
def test_the_later_run_is_the_newest_whatever_the_clock_on_the_wall_said(forks, tmp_path, elsewhere):
    """One in Tokyo, then one in Greenwich, whose folder has the name of an earlier hour."""
    run = Run(forks, tmp_path, draw(False, random.Random(0)), 'opencompass')
    run.zone = 'JST-9'
    assert run.go() == 0, run.logs
    before, then = {path.name for path in run.work_dir.iterdir()}, run.now
    run.zone = 'UTC'
    if elsewhere:
        run.work_dir = tmp_path / 'out' / 'd'

    def accuracy(said):
        return 100 * sum(said.counts(tmp_path).values()) / (QUESTIONS * N)

    others = (replace(then, random_seed=then.random_seed + more) for more in count(1))
    run.write(next(one for one in others if accuracy(one) != accuracy(then)))
    assert run.go() == 0, run.logs
    [later] = {path.name for path in run.work_dir.iterdir()} - before
    assert later < min(before)
    reported = run.type('gpassk', 'report', 'out', '-o', 'report', '--only', 'tables')
    lines = csv.DictReader((tmp_path / 'report' / 'scores.csv').read_text().splitlines())
    [line] = [one for one in lines if (one['metric'], one['group']) == ('accuracy', '')]
    assert float(line['value']) == pytest.approx(accuracy(run.now)), reported
    if not elsewhere:
        printed = run.type('gpassk', 'check', 'out', '--configs', 'c.py', '--json')
        [found] = json.loads(printed[printed.index('{') :])['tables'][0]['rows']
        assert (found['state'], found['time']) == ('complete', later)
