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
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from forks import Forks
from known_model import DELAY, number_in
from provenance_run import BENCHMARK, DATASET, LIVE, OURS, SHARDS, THEIRS, Question, Run, Said, draw

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('faults')]

ROWS = r'\b(?:rows?|lines?|questions?|references?|gold|prompts?|samples)\b'
"""What differs, where data or predictions changed."""
CONFIG = 'the config was changed'
"""What `gpassk run` says of any setting: it keeps both configs."""


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
    kind: str = LIVE
    partition: str = 'workers 1'


def setting(**settings: Any) -> Callable[[Said], Said]:
    return lambda said: replace(said, **settings)


def question(change: Callable[[Question], Question]) -> Callable[[Said], Said]:
    """The third question is another one."""
    return lambda said: replace(
        said, questions=(*said.questions[:2], change(said.questions[2]), *said.questions[3:])
    )


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

    def damage(run: Run) -> None:
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
    run.partition = 'workers 1'


CASES = {
    'data written otherwise': Case('', 'killed', 'opencompass', setting(layout='spaced')),
    'k': Case('', 'judged', 'gpassk', setting(k=(3,)), kind=BENCHMARK),
    'judge': Case('', 'sampled', 'opencompass', setting(odd=True), kind=THEIRS),
    'lines reversed': Case(
        '', 'killed', 'opencompass', lambda said: replace(said, questions=said.questions[::-1])
    ),
    'a question edited': Case(
        ROWS, 'sampled', 'gpassk', question(lambda one: one._replace(more=', exactly')), kind=OURS
    ),
    'a reference edited': Case(
        ROWS, 'judged', 'opencompass', question(lambda one: one._replace(reference=one.reference + 1))
    ),
    'a line added': Case(
        ROWS,
        'killed',
        'gpassk',
        lambda said: replace(said, questions=(*said.questions, Question(450, 501, 951))),
        kind=THEIRS,
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
    'weights of the model': Case(
        'safetensors|models/a',
        'killed',
        'opencompass',
        setting(files=(('config.json', '{"layers": 2}'), ('model.safetensors', '0124'))),
    ),
    'number of workers': Case('', 'shard', 'opencompass', damage=repartition, partition='workers 3'),
    'shards exchanged': Case('', 'sampled', 'opencompass', damage=exchange, partition='workers 3'),
    'a response edited': Case('sums', 'sampled', 'opencompass', damage=edit_row('prediction')),
    'a gold edited': Case('sums', 'sampled', 'gpassk', damage=edit_row('gold')),
}


@pytest.mark.parametrize('name', CASES)
def test_what_changes_between_two_stages_is_never_scored_without_a_word(
    forks: Forks, tmp_path: Path, name: str
) -> None:
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
    run.partition = case.partition
    run.write(then)
    go_on(run, False)
    result = run.result()
    named = re.compile(rf'\b{DATASET}(_\d+)?\.json')
    assert run.is_true(result) if result else any(map(named.search, run.errors())), run.logs[-1500:]


def test_drawn_changes_are_true_or_told_and_what_is_valid_completes(
    forks: Forks, tmp_path: Path, times: int, chance: random.Random, tried: Counter[str]
) -> None:
    """Any of them in any stage, by either command, in one shard or three; GPASSK_FAULTS says how many."""
    valid, left = 0, []
    for number in range(times):
        name = chance.choice(list(CASES))
        case = CASES[name]._replace(command=chance.choice(['opencompass', 'gpassk']))
        if case.damage is nothing:
            stage, partition = chance.choice(['sampled', 'killed', 'judged']), chance.choice(list(SHARDS))
            case = case._replace(stage=stage, partition=partition)
        words = f'{number}: {name}, {case.stage}, {case.command}, {case.partition}'
        run, _, _ = changed(forks, tmp_path / str(number), case, chance)
        result = run.result()
        assert result is None or run.is_true(result), words
        assert result or run.errors(), f'{words}: {run.logs[-1500:]}'
        tried['complete' if result else 'refused'] += 1
        valid += not case.words
        left += [f'{words}: {run.errors()}'] if result is None and not case.words else []
    assert len(left) <= 0.05 * valid, left


def changed(
    forks: Forks, root: Path, case: Case, chance: random.Random
) -> tuple[Run, Said, dict[Path, bytes]]:
    """Begin a run, change something, go on; the run, what it said before, and files that were damaged."""
    then, now = then_and_now(case, root, chance)
    run = Run(forks, root, then, case.command, case.partition)
    begin(run, case.stage, chance)
    before = {path: path.read_bytes() for path in run.work_dir.glob('*/predictions/*/*')}
    case.damage(run)
    run.write(now)
    damaged = {path: content for path, content in before.items() if path.read_bytes() != content}
    go_on(run, case.stage == 'sampled')
    return run, then, damaged


def then_and_now(case: Case, root: Path, chance: random.Random) -> tuple[Said, Said]:
    """What config and data say before and after, so that it makes a difference if it is meant to."""
    while True:
        then = draw(case.kind, chance)
        now = case.edit(then)
        before, after = (list(said.counts(root).values()) for said in (then, now))
        differs = before != after or then == now or not case.words
        if differs and sum(map(bool, before)) > len(before) / 2:
            return then, now


def begin(run: Run, stage: str, chance: random.Random) -> None:
    """As far as the stage says; where it is killed, each question has been asked."""
    if stage == 'sampled':
        assert run.go('infer') == 0, run.logs
    elif stage == 'judged':
        assert run.go() == 0, run.logs
        run.put_result_aside()
    elif stage == 'killed':
        run.go(dies=chance.randrange(len(run.now.questions), 41))
        assert run.unfinished() or run.predictions(), run.logs
    else:
        run.go(dies=sum(SHARDS[run.partition][:1]))
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


@pytest.mark.parametrize(('partition', 'apart'), [('workers 1', 0.3), ('workers 3', 0.0), ('workers 3', 0.3)])
def test_two_configs_started_in_one_second_do_not_mix(
    forks: Forks, tmp_path: Path, partition: str, apart: float
) -> None:
    """They differ in the seed and have one work directory: at most one is judged, the other one is told."""
    for attempt in range(8):
        first, second = two_configs(forks, tmp_path / str(attempt), partition)
        time.sleep(1 - time.time() % 1)
        copies = [first.start()]
        time.sleep(apart)
        copies.append(second.start())
        codes = [copy.wait() for copy in copies]
        if len(list(first.work_dir.glob('2*'))) == 1:
            break
    else:
        raise AssertionError('never in one second')
    result = first.result()
    true = [result is not None and run.is_true(result) for run in (first, second)]
    assert result is None or any(true), result['gpassk']['counts']['c']
    for code, copy, is_its_own in zip(codes, copies, true, strict=True):
        assert (code == 0) == is_its_own
        assert code == 0 or re.search('Error: .*(random_seed|another task)', copy.said)


def two_configs(forks: Forks, root: Path, partition: str) -> tuple[Run, Run]:
    """Of the same model and data, each with a place of its own to be typed in."""
    said = draw(LIVE, random.Random(0))
    first = Run(forks, root / 'first', said, 'opencompass', partition)
    second = Run(
        forks, root / 'second', replace(said, random_seed=said.random_seed + 1), 'opencompass', partition
    )
    for run in (first, second):
        run.work_dir, run.home = root / 'out', first.root
        run.variables[DELAY] = '0.05'
        run.write(run.now)
    return first, second


@pytest.mark.parametrize('elsewhere', [False, True], ids=['one work directory', 'two'])
def test_the_later_run_is_the_newest_whatever_the_clock_on_the_wall_said(
    forks: Forks, tmp_path: Path, elsewhere: bool
) -> None:
    """One in Tokyo, then one in Greenwich, whose folder has the name of an earlier hour."""
    run = Run(forks, tmp_path, draw(LIVE, random.Random(0)), 'opencompass', 'workers 1')
    run.variables['TZ'] = 'JST-9'
    assert run.go() == 0, run.logs
    before, then = {path.name for path in run.work_dir.iterdir()}, run.now
    run.variables['TZ'] = 'UTC'
    if elsewhere:
        run.work_dir = tmp_path / 'out' / 'd'

    def accuracy(said: Said) -> float:
        return said.metrics(tmp_path)['accuracy']

    others = (replace(then, random_seed=then.random_seed + more) for more in count(1))
    run.write(next(one for one in others if accuracy(one) != accuracy(then)))
    assert run.go() == 0, run.logs
    [later] = {path.name for path in run.work_dir.iterdir()} - before
    assert later < min(before)
    reported = gpassk(run, 'report', 'out', '-o', 'report', '--only', 'tables')
    [line] = [
        line
        for line in csv.DictReader((tmp_path / 'report' / 'scores.csv').read_text().splitlines())
        if (line['metric'], line['group']) == ('accuracy', '')
    ]
    assert float(line['value']) == pytest.approx(accuracy(run.now)), reported
    if not elsewhere:
        [found] = checked(run)
        assert (found['state'], found['time']) == ('complete', later)


def test_of_two_equal_runs_the_later_one_is_checked(forks: Forks, tmp_path: Path) -> None:
    """Both are complete; again from Tokyo to Greenwich."""
    run = Run(forks, tmp_path, draw(LIVE, random.Random(0)), 'opencompass', 'workers 1')
    names = []
    for zone in ('JST-9', 'UTC'):
        run.variables['TZ'] = zone
        assert run.go() == 0, run.logs
        names += [path.name for path in run.work_dir.glob('2*') if path.name not in names]
    [found] = checked(run)
    assert (found['state'], found['time']) == ('complete', names[1])


def checked(run: Run) -> list[dict[str, Any]]:
    """The rows of `gpassk check --json`; before them stands what went to the standard error."""
    printed = gpassk(run, 'check', 'out', '--configs', 'c.py', '--json')
    rows: list[dict[str, Any]] = json.loads(printed[printed.index('{') :])['tables'][0]['rows']
    return rows


def gpassk(run: Run, *line: str) -> str:
    """What a command prints."""
    before = len(run.printed())
    run.forks.start('gpassk', *line, folder=run.root, variables=run.variables).wait()
    return run.printed()[before:]
