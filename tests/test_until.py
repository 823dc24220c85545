"""`gpassk run --until`: rounds of samples, a look after each, and what stops them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_opencompass import behave, called, config_text, count, record, run, write
from formats import complaints
from scipy import stats
from scripted_gpus import install
from test_turns import ONE, task

from gpassk_opencompass.cli import main
from gpassk_opencompass.cli.run import RunRequest
from gpassk_opencompass.cli.run_until import UntilRequest
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import ACCURACY, Metric
from gpassk_opencompass.naming.names import DatasetName
from gpassk_opencompass.report.leaderboard import boards
from gpassk_opencompass.report.page.content import page_content
from gpassk_opencompass.results.read import collect, result_of
from gpassk_opencompass.results.result import Result
from gpassk_opencompass.runs.reach import interval_of, out_of_reach
from gpassk_opencompass.runs.rounds import rounds_of
from gpassk_opencompass.runs.seen import Seen, seen_of
from gpassk_opencompass.runs.turns import Turns
from gpassk_opencompass.sample_store.choice import MIX, NONE, SAME, TAKEN_AS, Held, choose
from gpassk_opencompass.sample_store.identity import Origin
from gpassk_opencompass.uncertainty import (
    adjusted_level,
    compare,
    mean_interval,
    parse_goal,
    value_table,
)

METRIC = Metric.parse('mG-Pass@4')
ROUNDS = (4, 8, 12)
QUESTIONS = 60


def drawn(seed: int, easier: float = 0.0) -> dict[int, list[int]]:
    """n → correct answers of each question; those of a round are among those of the next."""
    generator = np.random.default_rng(seed)
    chances = np.clip(np.random.default_rng(1).beta(0.4, 0.4, QUESTIONS) + easier, 0.0, 1.0)
    right = generator.random((QUESTIONS, ROUNDS[-1])) < chances[:, None]
    return {n: right[:, :n].sum(1).tolist() for n in range(1, ROUNDS[-1] + 1)}


def values(counts: dict[int, list[int]], n: int) -> np.ndarray[Any, Any]:
    return np.asarray(value_table(METRIC, n)[counts[n]])


def half(counts: dict[int, list[int]], looks: int, goal: float | None = None) -> float:
    """Half-width of a look, in points: ordinary, or at the level at which all looks hold."""
    seen = np.stack([values(counts, n) for n in ROUNDS[:looks]])
    level = 0.95 if goal is None else adjusted_level(seen, looks=len(ROUNDS), half_width=goal / 100)
    interval = mean_interval(seen[-1], level=level)
    return 50 * (interval.high - interval.low)


def between(counts: dict[int, list[int]]) -> float:
    """A half-width that the second look reaches, and the first one does not."""
    goal = round(half(counts, 2) + 0.35, 4)
    assert half(counts, 1) > goal >= half(counts, 2, goal)
    return goal


def add(folder: Path, name: str, counts: dict[int, list[int]] | None = None, **settings: Any) -> Path:
    """A config of n = 12 and k = 2, 4, and what its answers are worth."""
    settings = {'n': ROUNDS[-1], **settings}
    config = write(folder / 'configs' / f'{name}.py', config_text(name, **settings))
    for called_so in (name, f'{name}-until'):
        behave(folder, called_so, 'ok')
        if counts:
            count(folder, called_so, counts)
    return config


def notes(folder: Path, name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / 'out' / f'{name}-until/.gpassk/until.json').read_text())
    return told


def states(folder: Path, name: str) -> list[tuple[int, str]]:
    return [(look['n'], look['state']) for look in notes(folder, name)['looks']]


@pytest.mark.parametrize(
    ('cap', 'least', 'asked', 'expected'),
    [
        (48, 16, (), (16, 32, 48)),
        (50, 16, (), (16, 32, 48, 50)),
        (16, 16, (), (16,)),
        (160, 16, (), (32, 64, 96, 128, 160)),
        (7, 1, (), (1, 2, 3, 4, 5, 6, 7)),
        (48, 16, (20, 48), (20, 48)),
        (48, 16, (16,), (16, 48)),
    ],
)
def test_rounds_rise_to_the_cap(
    cap: int, least: int, asked: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """At most eight where nothing is said."""
    assert rounds_of(cap, least, asked) == expected


@pytest.mark.parametrize(
    ('cap', 'asked', 'message'),
    [
        (8, (), 'n = 8 is below the first round: the largest k is 16'),
        (48, (16, 16), 'that rise'),
        (48, (8, 16), 'at least 16 samples'),
        (48, (16, 64), '64 is above the cap, n = 48'),
    ],
)
def test_rounds_that_cannot_be_are_refused(cap: int, asked: tuple[int, ...], message: str) -> None:
    """With what is allowed."""
    with pytest.raises(InputError, match=message):
        rounds_of(cap, 16, asked)


@pytest.mark.slow
def test_sampling_stops_at_the_look_that_reaches_the_goal(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the interval at the adjusted level; what is saved is said, and nothing is run a second time."""
    counts = drawn(2)
    add(sweep, 'run', counts)
    width = between(counts)
    goal, reached = f'half-width<={width}', half(counts, 2, width)
    assert run('--until', goal) == 0
    assert called(sweep) == ['run-until', 'run-until']
    assert states(sweep, 'run') == [(4, 'goes on'), (8, 'reached')]
    said = capsys.readouterr().out
    assert '[1/1] run-until: look 1 of 3, n = 4 of 12: mG-Pass@4 ' in said
    assert (
        f'| run-until |   8 |   12 |    2/3 |       480 |     240 | {100 * values(counts, 8).mean():.1f} ['
        in said
    )
    assert f'reached: ±{reached:.2f}' in said
    assert 'hold at 95 % for all looks of a run at once' in said
    look = notes(sweep, 'run')['looks'][1]
    assert look['high'] - look['low'] == pytest.approx(2 * reached)
    assert run('--until', goal) == 0
    assert called(sweep) == ['run-until', 'run-until']
    assert 'look 2 of 3' in capsys.readouterr().out


@pytest.mark.slow
def test_another_goal_goes_on_from_the_looks_that_there_are(sweep: Path) -> None:
    """About something else; another width of the same metric was not planned before the first look."""
    counts = drawn(2)
    add(sweep, 'run', counts)
    assert run('--until', 'half-width<=30') == 0
    assert states(sweep, 'run') == [(4, 'reached')]
    assert run('--until', 'rerun-half-width<=0.01') == 0
    assert states(sweep, 'run') == [(4, 'goes on'), (8, 'goes on'), (12, 'at the cap')]
    assert called(sweep) == 3 * ['run-until']
    assert run('--until', 'rerun-half-width<=0.02') == 2
    assert run('--until', 'rerun-half-width<=0.01', '--level', '0.9') == 2
    assert run('--until', 'rerun-half-width<=0.02', '--metric', 'accuracy') == 0


@pytest.mark.slow
def test_no_goal_in_between_makes_looks_unseen(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another width stays refused, and what chose the n of the newest result, and what was drawn, is told."""
    add(sweep, 'run', drawn(2))
    assert run('--until', 'rerun-half-width<=0.01') == 0
    capsys.readouterr()
    assert run('--until', 'half-width<=30') == 0
    assert states(sweep, 'run') == [(4, 'reached')]
    assert re.search(rf'\| +1/3 \| +{QUESTIONS * 12} \| +0 \|', capsys.readouterr().out)
    [result] = collect([sweep / 'out']).results
    assert (result.n, result.stopped_line) == (12, 'rerun-half-width<=0.01 not reached, look 3 of 3')
    for options in (['rerun-half-width<=0.02'], ['half-width<=20'], ['half-width<=30', '--level', '0.5']):
        assert run('--until', *options) == 2
        assert 'run-until was begun with' in capsys.readouterr().err
    assert run('--until', 'rerun-half-width<=0.01') == 0
    assert called(sweep) == 3 * ['run-until']


@pytest.mark.slow
def test_the_level_of_a_decision_is_planned_too(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As that of a width is."""
    add(sweep, 'old', drawn(2))
    add(sweep, 'run', drawn(3, easier=0.2))
    assert run('--until', 'decided against old') == 0
    assert run('--until', 'decided against old', '--level', '0.5') == 2
    assert 'was begun with --level 0.95, and now it is 0.5' in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ('where', 'failed'), [('.gpassk/rounds/n8', ['a', 'b']), ('a-until/.gpassk/until.json/no', ['a'])]
)
def test_a_run_whose_next_round_cannot_be_written_ends_alone(
    sweep: Path, capsys: pytest.CaptureFixture[str], where: str, failed: list[str]
) -> None:
    """With a row that says why; the others go on, and after it is mended the same line does."""
    for name in ('a', 'b'):
        add(sweep, name, drawn(2))
    in_the_way = sweep / 'out' / where
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text('')
    assert run('--until', 'rerun-half-width<=0.01', '--json') == 1
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    last = {one['run']: (one['state'], one['detail']) for one in told if one['event'] == 'ended'}
    for name in ('a', 'b'):
        state, detail = last[f'{name}-until']
        assert (state == 'failed') == (name in failed) == ('the same line goes on from here' in detail)
    shutil.rmtree(in_the_way.parent) if in_the_way.parent.name == 'until.json' else in_the_way.unlink()
    assert run('--until', 'rerun-half-width<=0.01') == 0
    assert sorted(called(sweep)) == 3 * ['a-until'] + 3 * ['b-until']


@pytest.mark.slow
def test_check_takes_rounds_for_the_run_of_their_config(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As long as there is no whole one."""
    add(sweep, 'run', drawn(2))
    line = ['check', 'out', '--configs', 'configs']
    assert run('--until', 'half-width<=30') == 0
    capsys.readouterr()
    assert main(line) == 0
    assert '1 run: 1 complete' in capsys.readouterr().out
    (sweep / 'out' / 'run').mkdir()
    assert main(line) == 1


@pytest.mark.slow
def test_another_cap_is_another_plan(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says which one was planned, and where it stands."""
    config = add(sweep, 'run', drawn(2))
    assert run('--until', 'half-width<=30') == 0
    for n in (16, 8):
        config.write_text(config_text('run', n=n))
        assert run('--until', 'half-width<=30') == 2
        said = capsys.readouterr().err
        assert f'was begun with n in its config, the cap, 12, and now it is {n}' in said
        assert 'Set n = 12, or another -w' in said


@pytest.mark.slow
def test_other_rounds_than_were_planned_are_refused(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is sampled; with another model the notes are of somebody else."""
    config = add(sweep, 'run', drawn(2))
    assert run('--until', 'half-width<=30') == 0
    assert run('--until', 'half-width<=30', '--rounds', '6') == 2
    assert (
        'run-until was begun with --rounds 4,8,12, and now it is 6,12: intervals hold for what was planned'
        in capsys.readouterr().err
    )
    config.write_text(config_text(n=12, path='org/other'))
    assert run('--until', 'half-width<=30', '--rounds', '6') == 0


@pytest.mark.slow
def test_a_goal_that_no_number_of_samples_reaches_is_given_up(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the first look, with what is possible; and where no interval can be given at all."""
    add(sweep, 'run', drawn(2))
    add(sweep, 'few', {n: [n // 2] * 10 for n in ROUNDS})
    assert run('--until', 'half-width<=0.5') == 0
    assert states(sweep, 'run') == states(sweep, 'few') == [(4, 'out of reach')]
    said = capsys.readouterr().out
    assert ' at best with these questions' in said
    assert 'no interval with these questions: 10 problems, fewer than 20' in said


@pytest.mark.slow
def test_a_run_is_decided_against_another_of_the_command(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other one is drawn whole first; the intervals are those of the paired differences."""
    old, new = drawn(3), drawn(4, easier=0.3)
    add(sweep, 'old', old)
    add(sweep, 'new', new)
    assert run('--until', 'decided against old') == 0
    assert called(sweep)[:2] == ['old', 'new-until']
    differences = (values(new, 4) - values(old, 12))[None]
    level = adjusted_level(differences, looks=3)
    expected = compare(values(new, 4), values(old, 12), level=level)
    assert expected.low > 0
    [look] = notes(sweep, 'new')['looks']
    assert (look['low'], look['high']) == pytest.approx((100 * expected.low, 100 * expected.high))
    said = capsys.readouterr().out
    assert 'mG-Pass@4, difference' in said
    assert 'reached: better' in said
    newest = next(one for one in collect([sweep / 'out']).results if one.n == 4)
    assert newest.stopped_line == 'stopped by decided against old at look 1 of 3'
    assert not (sweep / 'out/old-until').exists()


@pytest.mark.slow
@pytest.mark.parametrize('named', ['old', 'out/old', 'results'])
def test_a_run_is_decided_against_results_that_are_there(sweep: Path, named: str) -> None:
    """A name in the folder of the work directories, a work directory, and a result file."""
    config = add(sweep, 'old', drawn(3))
    assert run() == 0
    config.unlink()
    add(sweep, 'new', drawn(4, easier=0.3))
    [result] = (sweep / 'out/old').glob('*/results/*/*.json')
    assert run('--until', f'decided against {result if named == "results" else named}') == 0
    assert called(sweep) == ['old', 'new-until']
    assert states(sweep, 'new') == [(4, 'reached')]


@pytest.mark.slow
def test_a_run_that_does_not_fit_is_refused_before_anything_is_sampled(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another judge, too few samples, none at all, and the run itself."""
    add(sweep, 'new', drawn(4))
    for name, told in {
        'judged': record(12, [2, 4], 'Qwen', counts=drawn(3)[12]),
        'short': record(2, [2], counts=[1] * QUESTIONS),
    }.items():
        write(sweep / f'{name}.gpassk.json', told)
    write(sweep / 'elsewhere/old.py', config_text(n=12))
    for name, why in {
        'elsewhere/old.py': 'that is a config, and none of this command',
        '/dev/null': '/dev/null is neither a file nor a folder',
        'judged.gpassk.json': 'was judged by Qwen, and the config says rule',
        'short.gpassk.json': 'has n = 2, too few for mG-Pass@4',
        'nobody': 'no config of this command is called so',
        'new-until': 'it is sampled in rounds by this very command',
    }.items():
        assert run('--until', f'decided against {name}') == 2
        assert why in capsys.readouterr().err
    assert called(sweep) == []


@pytest.mark.slow
def test_a_run_is_not_decided_against_a_round_of_its_own(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named as a file, or under another name: the same samples would be held against themselves."""
    add(sweep, 'new', drawn(4))
    assert run('--until', 'half-width<=30') == 0
    [result] = (sweep / 'out/new-until').glob('*/results/*/*.json')
    (sweep / 'baseline').symlink_to(sweep / 'out/new-until')
    before = called(sweep)
    for name in (str(result), str(sweep / 'baseline')):
        assert run('--until', f'decided against {name}') == 2
        assert 'is a round of new-until itself, which has its samples' in capsys.readouterr().err
    assert called(sweep) == before


@pytest.mark.slow
def test_a_run_with_other_questions_is_found_out_at_the_first_look(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nothing told it before; no more samples are drawn for it, and the exit code says so."""
    add(sweep, 'new', drawn(4))
    other = record(12, [2, 4], counts=drawn(3)[12])
    other['gpassk']['counts']['uid'] = [f'other{number}' for number in range(QUESTIONS)]
    path = write(sweep / 'other.gpassk.json', other)
    assert run('--until', f'decided against {path}') == 1
    assert called(sweep) == ['new-until']
    assert 'answers other questions' in capsys.readouterr().out


@pytest.mark.slow
def test_greedy_runs_are_run_as_they_are(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside others; alone they are an error, since there is nothing to stop."""
    add(sweep, 'greedy', n=1, k=[1])
    assert run('--until', 'half-width<=2') == 2
    assert 'no config draws several samples a question' in capsys.readouterr().err
    add(sweep, 'run', drawn(2))
    assert run('--until', 'half-width<=30') == 0
    assert sorted(called(sweep)) == ['greedy', 'run-until']


@pytest.mark.slow
@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['--until', 'soon'], 'is no goal'),
        (['--until', 'half-width<=2', '--metric', 'foo'], 'is no metric'),
        (['--until', 'half-width<=2', '--metric', 'mG-Pass@16'], 'n = 12 is below the first round'),
        (['--until', 'half-width<=2', '--rounds', '2'], 'at least 4 samples'),
        (['--until', 'half-width<=2', '--samples', '8'], '--samples 8 sets n, which --until chooses'),
        (['--until', 'half-width<=2', '--level', '95'], 'expected a confidence between 0 and 1'),
        (['--until', 'half-width<=2', '--', '-m', 'infer'], '--until looks at results'),
        (['--rounds', '4'], '--rounds goes with --until'),
        (['--metric', 'accuracy'], '--metric goes with --until'),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sampled(
    sweep: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    """In a sentence."""
    add(sweep, 'run', drawn(2))
    assert run(*options) == 2
    assert message in capsys.readouterr().err
    assert not (sweep / 'out').exists()
    assert called(sweep) == []


@pytest.mark.slow
def test_configs_that_cannot_have_rounds_are_refused(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Several data sets, computed values, and somebody else's evaluator."""
    for text, message in {
        config_text(n=12).replace('datasets = [', 'datasets = [{"abbr": "x"}, '): '1 models and 2 data sets',
        f'import os\n{config_text(n=12)}': 'computes or imports its values',
        config_text(n=12).replace('GPassKEvaluator', 'Mine'): 'is judged by gpassk_opencompass.Mine',
    }.items():
        write(sweep / 'configs/run.py', text)
        assert run('--until', 'half-width<=2') == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_dry_run_says_the_rounds_and_writes_nothing(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also without --until."""
    add(sweep, 'run', drawn(2))
    assert run('--until', 'half-width<=2', '--dry-run') == 0
    assert '| run-until | 4, 8, 12 |' in capsys.readouterr().out
    assert run('--dry-run') == 0
    assert 'never started' in capsys.readouterr().out
    assert not (sweep / 'out').exists()


@pytest.mark.slow
def test_a_dry_run_tells_programs_the_same(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As events by the schema, and nothing else is on standard output."""
    add(sweep, 'run', drawn(2))
    for options, rounds in ((['--until', 'half-width<=2'], list(ROUNDS)), ([], None)):
        assert run(*options, '--dry-run', '--json') == 0
        told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [complaints('event', event) for event in told if complaints('event', event)] == []
        assert [event['event'] for event in told] == ['planned', 'summary']
        assert (told[0]['rounds'], told[0]['state'], told[1]['complete']) == (rounds, 'missing', False)
    assert not (sweep / 'out').exists()


@pytest.mark.slow
def test_events_tell_each_look(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the schema; and nothing else is on standard output."""
    add(sweep, 'run', drawn(2))
    assert run('--until', 'rerun-half-width<=0.01', '--json') == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [complaints('event', event) for event in events if complaints('event', event)] == []
    looks = [event for event in events if event['event'] == 'look']
    assert [(look['n'], look['state']) for look in looks] == [
        (4, 'goes on'),
        (8, 'goes on'),
        (12, 'at the cap'),
    ]
    assert events[-1]['event'] == 'summary'


@pytest.mark.slow
def test_a_run_that_fails_goes_on_where_it_was(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 1, and the line to type is the whole one."""
    counts = drawn(2)
    add(sweep, 'run', counts)
    behave(sweep, 'run-until', 'broken')
    assert run('--until', 'rerun-half-width<=0.01') == 1
    assert 'nothing was seen' in capsys.readouterr().out
    behave(sweep, 'run-until', 'ok')
    assert run('--until', 'rerun-half-width<=0.01') == 0
    assert states(sweep, 'run')[-1] == (12, 'at the cap')


@pytest.mark.slow
def test_runs_in_rounds_stand_in_leaderboards_with_what_stopped_them(sweep: Path) -> None:
    """A whole run with the n of its last look, not a trial; earlier looks are none of their own."""
    counts = drawn(2)
    add(sweep, 'run', counts)
    width = between(counts)
    assert run('--until', f'half-width<={width}') == 0
    [result] = collect([sweep / 'out']).results
    assert (result.n, dict(result.limits), result.stopped_line.split(' at ')[1]) == (8, {}, 'look 2 of 3')
    [board], left_out = boards([result])
    [entry] = board.entries
    assert left_out == []
    assert entry.name == f'm-run ({result.stopped_line})'
    assert result.stopped is not None
    held = result.stopped.level_for('mG-Pass@4', 0.95)
    interval = mean_interval(values(counts, 8), level=held)
    assert 50 * (interval.high - interval.low) == pytest.approx(half(counts, 2, width))
    shown = result.interval(Metric.parse('mG-Pass@4'))
    assert (shown.low, shown.high, shown.level) == (interval.low, interval.high, 0.95)
    assert result.interval(ACCURACY) == mean_interval(result.counts / 8)
    told = page_content([board])['boards'][0]['entries'][0]['held']
    assert told['metric'] == 'mG-Pass@4'
    assert told['quantiles'][QUESTIONS] == pytest.approx(stats.t.ppf((1 + held) / 2, QUESTIONS - 1))
    (sweep / 'out/run-until/.gpassk/until.json').write_text('{"looks": [{"n": 8, "st')
    [damaged] = collect([sweep / 'out']).results
    assert damaged.stopped_line == ''


def test_the_mark_is_no_part_of_the_benchmark() -> None:
    """So that runs with and without a rule stand in one table."""
    name = DatasetName.parse('AIME2024-limit10-until-k4_16-r3')
    assert (name.label, name.limit, name.until, name.n) == ('AIME2024', 10, True, 48)
    with pytest.raises(InputError):
        DatasetName.parse('AIME2024-until-limit10-k4_16-r3')


def test_a_model_stays_loaded_for_the_next_round(tmp_path: Path) -> None:
    """Nothing is released between the end of a round and the start of the next."""
    turns = Turns([task(tmp_path, 'a'), task(tmp_path, 'b', 'org/b')], ONE, None)
    [first] = turns.next()
    assert not turns.waits_for(first)
    turns.follow(first, task(tmp_path, 'a'))
    turns.ended(first)
    [second] = turns.next()
    assert (second.run.name, second.slots, turns.done_with()) == ('a', first.slots, [])
    turns.ended(second)
    [other] = turns.next()
    assert (other.run.name, turns.done_with()) == ('b', [('a', ())])


@pytest.mark.slow
def test_on_a_gpu_a_model_is_unloaded_after_its_last_round(
    sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One GPU, two models: all rounds of the first one, then those of the other."""
    released: list[tuple[str, int]] = []

    def release(_: Any, session: str, gpus: Any = ()) -> None:
        released.append((session, len(called(sweep))))

    install(sweep, monkeypatch, 1)
    monkeypatch.setattr('gpassk_opencompass.prefork.Pool.release', release)
    for name in ('a', 'b'):
        add(sweep, name, drawn(2), path=f'org/{name}', run_cfg={'num_gpus': 1})
    assert run('--until', 'rerun-half-width<=0.01', '--rounds', '4') == 0
    first, second = called(sweep)[0], called(sweep)[-1]
    assert called(sweep) == [first, first, second, second]
    assert released == [(first, 2), (second, 4)]


@pytest.mark.parametrize('reuse', [SAME, MIX, NONE])
def test_earlier_rounds_are_the_runs_own_where_nothing_is_promised(reuse: str) -> None:
    """A server's samples of an earlier round are taken, and nobody is asked; those of others are as ever."""
    origins = {name: Origin(name, '2026') for name in ('own', 'round', 'other')}
    samples = [{'round'}, {'round', 'other'}, set()]
    choice = choose(Held(samples, 'own', ['round', 'other'], 'a server', origins, ['round']), reuse, 'it')
    assert choice.origins[:2] == ['own', 'round']
    assert TAKEN_AS[choice.taken_as['round']].startswith('an earlier round of this run')
    assert ('other' in choice.origins) is (reuse == MIX)


def test_a_difference_is_given_up_only_where_no_samples_could_decide_it() -> None:
    """By simulation of what more samples make of it: the same two runs with 25 times as many."""
    goal, metric = parse_goal('decided against old'), Metric.parse('accuracy')
    generator = np.random.default_rng(7)

    def result(n: int, chances: np.ndarray[Any, Any]) -> Result:
        counts = generator.binomial(n, np.clip(chances, 0, 1)).tolist()
        return result_of(Path('one.gpassk.json'), record(n, [2, 4], counts=counts))

    def seen(one: Result) -> Seen:
        [found] = seen_of([one], metric, None)
        return found

    given_up, decided = [], []
    for shift in np.repeat([0.0, 0.02, 0.2], 8):
        chances = generator.beta(0.4, 0.4, QUESTIONS)
        exchanged = generator.permutation(QUESTIONS) < QUESTIONS / 3
        others = np.where(exchanged, generator.permutation(chances), chances) + shift
        old = result(12, chances)
        new, more = seen(result(12, others)), seen(result(300, others))
        given_up.append(bool(out_of_reach(goal, interval_of(goal, new, metric, 0.95, old), new)))
        decided.append(goal.reached(interval_of(goal, more, metric, 0.95, old)))
    assert sum(given_up) >= 4
    assert sum(decided) >= 6
    assert not any(up and later for up, later in zip(given_up, decided, strict=True))


def test_the_line_to_type_to_go_on_has_the_rule() -> None:
    """As it was given."""
    until = UntilRequest('decided against old', 'accuracy', (4, 8), 0.9)
    request = RunRequest([Path('configs')], Path('out'), None, None, (), (), until=until)
    assert request.command() == (
        "gpassk run configs -w out --until 'decided against old' --metric accuracy --rounds 4,8 --level 0.9"
    )


@pytest.mark.slow
def test_the_last_round_counts_where_an_earlier_one_was_lost(sweep: Path) -> None:
    """That one is evaluated again, in a newer folder."""
    add(sweep, 'run', drawn(2))
    goal = ('--until', 'rerun-half-width<=0.01')
    assert run(*goal) == 0
    first = min((sweep / 'out/run-until').glob('*/results/*/*.json'))
    shutil.rmtree(first.parents[2])
    assert run(*goal) == 0
    assert called(sweep) == 4 * ['run-until']
    found = collect([sweep / 'out'])
    assert [one.n for one in found.results] == [ROUNDS[-1]]
    assert found.older == ['2 earlier rounds of 1 run of gpassk run --until']


def test_a_run_alone_is_not_decided_against_itself(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to sample in rounds."""
    add(sweep, 'run', drawn(2))
    assert run('--until', 'decided against run') == 2
    assert 'no config to sample in rounds beside the run' in capsys.readouterr().err
