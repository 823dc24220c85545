"""Each damage of a result file is refused with a line, and each command that reads one says it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from damaged_records import good_record
from fake_opencompass import config_text, write
from loguru import logger
from result_files import ABBR, THIRDS, write_result

from gpassk_opencompass import InputError
from gpassk_opencompass.cli import main
from gpassk_opencompass.results.read import read
from gpassk_opencompass.results.samples import sample_file_of, to_parquet, warn_once, write_samples

Json = dict[str, Any]
Damage = Callable[[Json], object]


def counts(**columns: Any) -> Damage:
    return lambda record: record['gpassk']['counts'].update(columns)


def block(**fields: Any) -> Damage:
    return lambda record: record['gpassk'].update(fields)


def first(column: str, entry: Any) -> Damage:
    """Replace what `details` has of the first question, all four of whose samples are correct."""

    def change(record: Json) -> None:
        record['details'][column][0] = entry

    return change


RECORDS: dict[str, tuple[Damage, str]] = {
    'a later layout': (block(schema=3), 'has schema 3; this version reads 2'),
    'verdicts against counts': (
        first('verdicts', '1110'),
        "details.verdicts of 'u0' are '1110', but gpassk.counts.c is 4; evaluate again",
    ),
    'a question twice': (counts(uid=['u0'] * 24), "gpassk.counts.uid names a question twice: 'u0'"),
    'k above n': (block(k=[8]), 'gpassk.k = 8; expected whole numbers from 1 to n = 4'),
    'c above n': (
        counts(c=[5] * 24),
        "gpassk.counts.c of 'u0' is 5; c, unjudged and undecided are at most n = 4 together",
    ),
    'c below 0': (counts(c=[-1] * 24), 'gpassk.counts.c[0] = -1; expected at least 0'),
    'a text for a count': (counts(c=['4'] * 24), "gpassk.counts.c[0] = '4'; expected a whole number"),
    'a column too short': (
        counts(group=['g']),
        'gpassk.counts.group has 1 entries; expected 24, the number of questions',
    ),
    'half a character': (
        counts(problem=['\ud800'] * 24),
        r"gpassk.counts.problem has '\ud800'; expected whole characters",
    ),
    'another sum': (block(unjudged=3), 'gpassk.unjudged is 3; expected 1, the sum of its column'),
    'n missing': (lambda record: record['gpassk'].pop('n'), 'gpassk.n is missing'),
    'n = 0': (block(n=0), 'gpassk.n = 0; expected at least 1'),
    'τ above 1': (block(thresholds=[1.5]), 'gpassk.thresholds[0] = 1.5; expected at most 1.0'),
    'answers missing': (first('answers', ['1']), "details.answers of 'u0' has 1 samples; expected n = 4"),
    'a letter unexplained': (
        first('judged_by', 'zzzz'),
        "details.judged_by has 'z', which details.judges does not explain",
    ),
    'another score': (
        lambda record: record.update(accuracy=99.0),
        'accuracy = 99.0, but its counts give 50.000000',
    ),
    'nested too deeply': (block(more=json.loads(70 * '[' + 70 * ']')), 'nested more than 60 levels'),
}
TEXTS: dict[str, tuple[str, str]] = {
    'cut by a kill': (json.dumps(good_record())[:100], 'cannot be read: '),
    'empty': ('', 'cannot be read: '),
    'a list': ('[1]', 'is no result of G-Pass@k: it has no "gpassk"'),
    'no block': ('{"gpassk": 5}', 'is no result of G-Pass@k: it has no "gpassk"'),
}
DAMAGES = {**RECORDS, **TEXTS}


def damaged(name: str) -> str:
    """The text of a file with one damage; '' is none."""
    damage = DAMAGES[name][0]
    if isinstance(damage, str):
        return damage
    record = good_record()
    damage(record)
    return json.dumps(record)


def report(path: Path) -> list[str]:
    return ['report', '--file', str(path), '-o', str(path.parents[5] / 'report'), '--only', 'tables']


def plan(path: Path) -> list[str]:
    return ['plan', '--half-width', '5', '--k', '2', '--pilot', str(path)]


def score(path: Path) -> list[str]:
    return ['score', str(path)]


def compare(path: Path) -> list[str]:
    return ['compare', str(path.parents[4])]


def judge_agreement(path: Path) -> list[str]:
    return ['judge-agreement', str(path), '--judge', 'rule']


def check(path: Path) -> list[str]:
    configs = path.parents[5] / 'configs' / 'run.py'
    write(configs, config_text())
    return ['check', str(path.parents[4]), '--configs', str(configs)]


def audit(path: Path) -> list[str]:
    return ['audit', str(path)]


COMMANDS = (report, plan, score, compare, judge_agreement, check, audit)


def result_file(folder: Path, text: str) -> Path:
    """`out/run/<time>/results/<model>/<data set>.json`, as OpenCompass leaves it."""
    path = folder / 'out' / 'run' / '20260102_000000' / 'results' / 'm-run' / 'd-run.json'
    write(path, text)
    return path


@pytest.mark.parametrize(
    ('name', 'command'),
    [*((name, score) for name in DAMAGES), *(('cut by a kill', command) for command in COMMANDS)],
)
def test_every_command_refuses_a_damage_with_the_same_line(
    tmp_path: Path, name: str, command: Callable[[Path], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """The line of `read`, which names the file, the part, what it is and what is allowed."""
    path = result_file(tmp_path, damaged(name))
    with pytest.raises(InputError) as caught:
        read(path)
    line = str(caught.value)
    assert line.startswith(str(path))
    assert DAMAGES[name][1] in line
    assert '\n' not in line
    assert main(command(path)) in (1, 2)
    said = capsys.readouterr()
    assert line.encode('unicode_escape').decode() in (said.out + said.err).encode('unicode_escape').decode()
    assert path.read_text() == damaged(name)


@pytest.mark.parametrize('command', COMMANDS, ids=lambda command: command.__name__)
def test_no_command_refuses_a_sound_result(
    tmp_path: Path, command: Callable[[Path], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """So that the table above tells damages."""
    path = result_file(tmp_path, json.dumps(good_record()))
    write_result(tmp_path / 'out', ABBR.format(2), THIRDS)  # beside it, so that there is something to compare
    main(command(path))
    said = capsys.readouterr()
    assert f'{path} ' not in said.out + said.err


def with_samples(path: Path, damage: str = '') -> str:
    """Give a result a sample file with a damage; return the line that tells of it, '' for a sound one."""
    record = json.loads(path.read_text())
    counts, details = record['gpassk']['counts'], record['details']
    columns = {
        'uid': [uid for uid in counts['uid'] for _ in range(4)],
        'replica': list(range(4)) * 24,
        'answer': [answer for answers in details['answers'] for answer in answers],
        'verdict': [WORDS[symbol] for symbol in ''.join(details['verdicts'])],
        'output_tokens': list(range(96)),
    }
    write_samples(path, record, columns)
    path.write_text(json.dumps(record))
    samples = sample_file_of(path)
    whole = samples.read_bytes()
    if damage == 'missing':
        samples.unlink()
        return f'{samples} is missing: {NOT_SHOWN}'
    if damage == 'truncated':
        samples.write_bytes(whole[:-40])
    elif damage == 'other rows':
        samples.write_bytes(to_parquet({name: column[:-4] for name, column in columns.items()}))
    elif damage == 'of another result':
        samples.write_bytes(to_parquet({**columns, 'uid': [f'other {uid}' for uid in columns['uid']]}))
    return f'{samples} is damaged, or of another result: {NOT_SHOWN}' if damage else ''


WORDS = {'1': 'correct', '0': 'incorrect', '?': 'unjudged'}
NOT_SHOWN = (
    'tokens, finish reasons, seeds and times of single samples cannot be shown; the scores are in the JSON'
)
SAMPLE_DAMAGES = ('missing', 'truncated', 'other rows', 'of another result')


@pytest.fixture
def logged() -> Iterator[list[str]]:
    lines: list[str] = []
    number = logger.add(lambda line: lines.append(line.record['message']), level='WARNING')
    warn_once.cache_clear()
    yield lines
    logger.remove(number)


@pytest.mark.parametrize(
    ('damage', 'command'),
    [*((damage, score) for damage in SAMPLE_DAMAGES), *(('missing', command) for command in COMMANDS)],
)
def test_every_command_goes_on_without_the_sample_file(
    tmp_path: Path,
    damage: str,
    command: Callable[[Path], list[str]],
    logged: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It says in one line what cannot be shown, and prints and returns what it does with the file."""
    ends = []
    for place, broken in (('sound', ''), ('other', damage)):
        path = result_file(tmp_path / place, json.dumps(good_record()))
        write_result(tmp_path / place / 'out', ABBR.format(2), THIRDS)
        line = with_samples(path, broken)
        code = main(command(path))
        said = capsys.readouterr()
        out = re.sub(r' in [0-9.]+ s\b', '', said.out)  # how long it took
        ends.append((code, out.replace(place, ''), said.err.replace(place, '')))
        assert [text for text in logged if 'samples.parquet' in text] == (
            [f'{line} beside it'] if line else []
        )
    assert ends[0] == ends[1]
