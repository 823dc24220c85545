"""What can change under a run between two of its stages, and what a refusal has to say of it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from known_model import number_in
from provenance_run import BENCHMARK, LIVE, SHARDS, THEIRS, Question, Run, Said, draw

SAMPLED, KILLED, SHARD, JUDGED = 'infer, eval', 'killed, -r', 'a shard complete, -r', 'eval, eval'
STAGES = (SAMPLED, KILLED, SHARD, JUDGED)
"""When something changes: all is sampled; killed in the middle; killed when a shard is complete; judged."""

ROWS = r'\b(?:rows?|lines?|questions?|references?|gold|prompts?|samples)\b'
"""What differs, where data or predictions changed."""

CONFIG = 'the config was changed'
"""What `gpassk run` says of any setting: it keeps both configs."""


@dataclass(frozen=True)
class Change:
    """One change.

    Args:
        words: what a refusal must name, a regular expression.
        edit: makes what config and data say now of what they said.
        damage: changes files of the work directory.
        harmless: there must be a result, and a right one.
        altering: the true numbers are others now.
        shards: how many finished ones it needs.
        fits: whether it can be made to this kind of data set, with this partitioner.
    """

    name: str
    words: str
    edit: Callable[[Said, random.Random], Said] | None = None
    damage: Callable[[Run, random.Random], None] | None = None
    harmless: bool = False
    altering: bool = False
    shards: int = 0
    fits: Callable[[str, str], bool] = lambda kind, partition: True

    def can_be_made(self, stage: str, kind: str, partition: str) -> bool:
        """At this stage, to this kind of data set, with this partitioner."""
        number = len(SHARDS[partition])
        finished = {KILLED: 0, SHARD: number - 1}.get(stage, number)
        return finished >= max(self.shards, stage == SHARD) and self.fits(kind, partition)


def _questions(
    edit: Callable[[list[Question], random.Random], None],
) -> Callable[[Said, random.Random], Said]:
    def edited(said: Said, chance: random.Random) -> Said:
        questions = list(said.questions)
        edit(questions, chance)
        return replace(said, questions=tuple(questions))

    return edited


def _setting(**settings: Any) -> Callable[[Said, random.Random], Said]:
    return lambda said, chance: replace(said, **settings)


def _swap(questions: list[Question], chance: random.Random) -> None:
    one, two = chance.sample(range(len(questions)), 2)
    questions[one], questions[two] = questions[two], questions[one]


def _reword(questions: list[Question], chance: random.Random) -> None:
    place = chance.randrange(len(questions))
    questions[place] = questions[place]._replace(more=', exactly')


def _refer(questions: list[Question], chance: random.Random) -> None:
    place = chance.randrange(len(questions))
    questions[place] = questions[place]._replace(reference=questions[place].reference + 1)


def _add(questions: list[Question], chance: random.Random) -> None:
    questions.insert(chance.randrange(len(questions) + 1), Question(450, 501, 951))


def _remove(questions: list[Question], chance: random.Random) -> None:
    del questions[chance.randrange(len(questions))]


def _elsewhere(said: Said, chance: random.Random) -> Said:
    return replace(said, data='elsewhere', questions=draw(said.kind, chance).questions)


def _files(**contents: str) -> Callable[[Said, random.Random], Said]:
    def edited(said: Said, chance: random.Random) -> Said:
        return replace(
            said, files=tuple((name, contents.get(name.partition('.')[0], text)) for name, text in said.files)
        )

    return edited


def _exchange(run: Run, chance: random.Random, suffixes: tuple[str, ...] = ('.json',)) -> None:
    """The files of two finished shards."""
    one, two = chance.sample(run.predictions(), 2)
    for suffix in suffixes:
        first, second = one.with_suffix(suffix), two.with_suffix(suffix)
        if first.exists() and second.exists():
            texts = first.read_text(), second.read_text()
            second.write_text(texts[0])
            first.write_text(texts[1])


def _edit_row(name: str) -> Callable[[Run, random.Random], None]:
    """Another number in this field of a row, of a finished shard or of a resume file."""

    def damage(run: Run, chance: random.Random) -> None:
        path = chance.choice([*run.predictions(), *run.unfinished()])
        whole = path.suffix == '.json'
        text = path.read_text()
        rows = json.loads(text) if whole else list(map(json.loads, text.splitlines()))
        row = rows[chance.choice(list(rows)) if whole else chance.randrange(len(rows))]
        row[name] = _other_response(row) if name == 'prediction' else _other_number(row[name])
        path.write_text(
            json.dumps(rows, indent=4) if whole else ''.join(json.dumps(row) + '\n' for row in rows)
        )

    return damage


def _provenance_of_another_seed(run: Run, chance: random.Random) -> None:
    for path in run.work_dir.glob('*/predictions/*/run.provenance'):
        told = json.loads(path.read_text())
        told['model']['random_seed'] += 1
        path.write_text(json.dumps(told))


def _repartition(run: Run, chance: random.Random) -> None:
    others = [name for name in SHARDS if name[:7] == 'workers' and name != run.partition]
    run.partition = chance.choice(others)


def _travel(run: Run, chance: random.Random) -> None:
    """From Greenwich to Los Angeles: the first command seems to be of the future."""
    run.variables['TZ'] = 'PST8'


def _other_response(row: dict[str, str]) -> str:
    """Right where it was wrong, wrong where it was right."""
    right = number_in(row['prediction']) == number_in(row['gold'])
    return _other_number(row['prediction']) if right else row['gold']


def _other_number(text: str) -> str:
    return re.sub(r'\d+', lambda number: str(int(number[0]) + 1), text, count=1)


def _is_seeded(kind: str, partition: str) -> bool:
    """Whether anything of this package is at work while the responses are drawn."""
    return kind != THEIRS


def _has_cot(kind: str, partition: str) -> bool:
    return kind in (LIVE, BENCHMARK)


def _has_workers(kind: str, partition: str) -> bool:
    return partition.startswith('workers')


CHANGES = (
    Change('nothing', '', _setting(), harmless=True),
    Change('lines reversed', ROWS, _questions(lambda questions, chance: questions.reverse())),
    Change('two lines swapped', ROWS, _questions(_swap)),
    Change('a question edited', ROWS, _questions(_reword), altering=True),
    Change('a reference edited', ROWS, _questions(_refer), altering=True),
    Change('a line added', ROWS, _questions(_add), altering=True),
    Change('a line removed', ROWS, _questions(_remove), altering=True),
    Change('data written otherwise', '', _setting(layout='spaced'), harmless=True),
    Change('another data folder', rf'{ROWS}|\bpath\b|{CONFIG}', _elsewhere, altering=True),
    Change('path', rf'\bpath\b|{CONFIG}', _setting(model='models/b'), altering=True),
    Change(
        'random_seed',
        f'random_seed|{CONFIG}',
        lambda said, chance: replace(said, random_seed=said.random_seed + 1),
        altering=True,
    ),
    Change('temperature', f'temperature|{CONFIG}', _setting(temperature=1.3), altering=True),
    Change('max_out_len', f'max_out_len|{CONFIG}', _setting(max_out_len=32), altering=True),
    Change('max_out_len of the inferencer', f'max_out_len|{CONFIG}', _setting(own_len=32), altering=True),
    Change('cot', rf'\bcot\b|{ROWS}|{CONFIG}', _setting(cot=False), altering=True, fits=_has_cot),
    Change('prompt template', rf'template|{ROWS}|{CONFIG}', _setting(prefix='Exercise: '), altering=True),
    Change(
        'config.json of the model',
        'config.json|models/a',
        _files(config='{"layers": 3}'),
        altering=True,
        fits=_is_seeded,
    ),
    Change(
        'weights of the model', 'safetensors|models/a', _files(model='0124'), altering=True, fits=_is_seeded
    ),
    Change('k', '', _setting(k=(3,)), harmless=True),
    Change('judge', '', _setting(odd=True), harmless=True, altering=True),
    Change('batch_size', 'batch_size', _setting(batch_size=7)),
    Change(
        'retries, GPUs, server',
        'retry',
        _setting(operational=(('retry', 5), ('tp', 2), ('openai_api_base', 'http://other/v1'))),
    ),
    Change('time zone', '', damage=_travel, harmless=True),
    Change('number of workers', 'max-num-workers|' + ROWS, damage=_repartition, fits=_has_workers),
    Change('shards exchanged', 'sums_', damage=_exchange, shards=2),
    Change(
        'shards exchanged with seals',
        'sums_',
        damage=lambda run, chance: _exchange(run, chance, ('.json', '.seal')),
        shards=2,
    ),
    Change('a response edited', 'sums', damage=_edit_row('prediction'), fits=_is_seeded),
    Change('an origin_prompt edited', 'sums', damage=_edit_row('origin_prompt')),
    Change('a gold edited', 'sums', damage=_edit_row('gold')),
    Change(
        'random_seed, and run.provenance as if it had always been so',
        f'other settings than|to other samples|{CONFIG}',
        edit=lambda said, chance: replace(said, random_seed=said.random_seed + 1),
        damage=_provenance_of_another_seed,
        altering=True,
        fits=_is_seeded,
    ),
)
