"""`gpassk run --until … --uncertain-first`: what is looked at, what is refused, and what readers are told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_opencompass import called, calls, count, record, run, write
from formats import complaints
from test_until import ROUNDS, add, drawn, notes, states

from gpassk_opencompass.cli.run import RunRequest
from gpassk_opencompass.cli.run_until import UntilRequest
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.questions.limits import places_of
from gpassk_opencompass.report.leaderboard import boards
from gpassk_opencompass.report.page.content import page_content
from gpassk_opencompass.report.tables import remarks
from gpassk_opencompass.results.read import collect, read_round
from gpassk_opencompass.results.result import Result
from gpassk_opencompass.runs.examine import examine
from gpassk_opencompass.runs.plan import Planned
from gpassk_opencompass.runs.seen import seen_of
from gpassk_opencompass.runs.state import Finding, State
from gpassk_opencompass.uncertainty import (
    Allocation,
    adjusted_level,
    compare,
    mean_interval,
    rerun_level_of_errors,
    uncertain_first,
    value_table,
)

METRIC = Metric.parse('mG-Pass@4')
PLAN = uncertain_first(METRIC, ROUNDS)
TYPE = 'gpassk_opencompass.LiveMathBenchDataset'


def begin(folder: Path, name: str, counts: dict[int, list[int]] | None = None, **settings: Any) -> Path:
    """A config with a data set of this package."""
    path = add(folder, name, counts, **settings)
    text = path.read_text().replace("'abbr': 'd-", f"'type': {TYPE!r}, 'abbr': 'd-")
    path.write_text(text)
    return path


def taken(counts: dict[int, list[int]], look: int) -> tuple[list[int], list[int]]:
    """n and c of each question after look number `look`, from 0: each stops by its own counts."""
    ns, cs = [], []
    for question in range(len(counts[ROUNDS[0]])):
        at = 0
        while at < look and PLAN.go_on[at][counts[ROUNDS[at]][question]]:
            at += 1
        ns.append(ROUNDS[at])
        cs.append(counts[ROUNDS[at]][question])
    return ns, cs


def values(counts: dict[int, list[int]], look: int) -> np.ndarray[Any, Any]:
    return PLAN.value(*taken(counts, look))


def inner(folder: Path, name: str) -> Path:
    return folder / 'out' / f'{name}-until/.gpassk/uncertain'


@pytest.mark.slow
def test_a_run_is_decided_with_unbiased_values(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The levels are of the values at all looks; only questions that go on are asked, in a folder within."""
    old, new = drawn(3), drawn(6, easier=0.11)
    begin(sweep, 'old', old)
    begin(sweep, 'new', new)
    assert run('--until', 'decided against old', '--uncertain-first') == 0
    theirs = value_table(METRIC, ROUNDS[-1])[old[ROUNDS[-1]]]
    looks = notes(sweep, 'new')['looks']
    assert len(looks) > 1
    differences = [values(new, look) - theirs for look in range(len(looks))]
    for look, told in enumerate(looks):
        level = adjusted_level(np.array(differences[: look + 1]), looks=len(ROUNDS))
        interval = compare(values(new, look), theirs, level=level)
        ends = (told['estimate'], told['low'], told['high'])
        assert ends == pytest.approx((100 * interval.difference, 100 * interval.low, 100 * interval.high))
        assert told['samples'] == sum(taken(new, look)[0])
    going = [uid for uid, n in zip(range(60), taken(new, 1)[0], strict=True) if n > ROUNDS[0]]
    [config] = (sweep / 'out/.gpassk/rounds/uncertain-n8').glob('*.py')
    told = {}
    exec(config.read_text(), told)
    assert told['datasets'][0]['chosen'] == [f'q{number}' for number in going]
    assert calls(sweep)[2]['cwd'] == str(inner(sweep, 'new') / '.gpassk/cwd')
    saved = 60 * ROUNDS[-1] - looks[-1]['samples']
    assert f'|     {saved} |' in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize('goal', ['half-width<=0.4', 'rerun-half-width<=0.01'])
def test_half_widths_are_of_unbiased_values(sweep: Path, goal: str) -> None:
    """Of new questions, and of the same questions again."""
    counts = drawn(2)
    begin(sweep, 'run', counts)
    assert run('--until', goal, '--uncertain-first') == 0
    looks = notes(sweep, 'run')['looks']
    if goal.startswith('half'):
        level = adjusted_level([values(counts, 0)], looks=3, half_width=1.0)
        expected = mean_interval(values(counts, 0), level=level)
        assert [look['state'] for look in looks] == ['out of reach']
    else:
        errors = [PLAN.rerun_interval(*taken(counts, look)).error for look in range(3)]
        level = rerun_level_of_errors(errors, looks=3, half_width=0.0001)
        expected = PLAN.rerun_interval(*taken(counts, 2), level)
        assert [look['state'] for look in looks] == ['goes on', 'goes on', 'at the cap']
    last = looks[-1]
    ends = (last['estimate'], last['low'], last['high'])
    assert ends == pytest.approx((100 * expected.estimate, 100 * expected.low, 100 * expected.high))


@pytest.mark.slow
def test_tables_have_the_first_look_alone_and_say_so(sweep: Path) -> None:
    """One result, with ordinary intervals; what the other samples add is told beside it."""
    counts = drawn(2)
    begin(sweep, 'run', counts)
    assert run('--until', 'rerun-half-width<=0.01', '--uncertain-first') == 0
    found = collect([sweep / 'out'])
    [result] = found.results
    assert (found.passed_over, found.older, result.n) == ([], [], ROUNDS[0])
    first = value_table(METRIC, ROUNDS[0])[counts[ROUNDS[0]]]
    assert result.interval(METRIC) == mean_interval(first)
    [board], _ = boards([result])
    assert board.entries[0].name == (
        'm-run (rerun-half-width<=0.01 not reached, look 3 of 3, uncertain questions first; '
        'scores: first look)'
    )
    last = notes(sweep, 'run')['looks'][-1]
    [line] = remarks(board)
    assert line.endswith(
        f'mG-Pass@4 is {100 * values(counts, 2).mean():.1f} [{last["low"]:.1f}, {last["high"]:.1f}] with '
        f'{sum(taken(counts, 2)[0]):,} samples, the uncertain questions first; the interval is for the same '
        'questions again and holds at 95 % for all looks at once. Tables, ranks, comparisons and exports '
        'have none of it: they are of the first look, n = 4 of all questions'
    )
    entry = page_content([board])['boards'][0]['entries'][0]
    assert entry['held'] is None
    assert any('none of it: they are of the first look' in note for note in json.dumps(entry).split('"'))


@pytest.mark.slow
def test_a_width_that_the_first_look_reached_changes_no_ordinary_interval(sweep: Path) -> None:
    """The result is the first look whatever is seen, so its interval needs no other level."""
    counts = drawn(2)
    begin(sweep, 'run', counts)
    assert run('--until', 'half-width<=30', '--uncertain-first') == 0
    [result] = collect([sweep / 'out']).results
    first = value_table(METRIC, ROUNDS[0])[counts[ROUNDS[0]]]
    assert result.interval(METRIC) == mean_interval(first)
    assert result.stopped_line.startswith('stopped by half-width<=30 at look 1 of 3, uncertain')
    told = notes(sweep, 'run')['looks'][0]
    ordinary = mean_interval(first)
    assert told['high'] - told['low'] > 100 * (ordinary.high - ordinary.low)
    assert result.stopped is not None
    assert result.stopped.note == (
        f'mG-Pass@4 is {100 * first.mean():.1f} [{told["low"]:.1f}, {told["high"]:.1f}] with 240 samples; '
        'the interval is for new questions and holds at 95 % for all looks at once. Those of tables are '
        'ordinary'
    )
    assert not inner(sweep, 'run').exists()


@pytest.mark.slow
def test_a_round_of_some_questions_that_fails_goes_on_where_it_was(sweep: Path) -> None:
    """The first look is read again, and nothing else is run anew."""
    counts = drawn(2)
    begin(sweep, 'run', counts)
    goal = ('--until', 'rerun-half-width<=0.01', '--uncertain-first')
    count(sweep, 'run-until', {n: row for n, row in counts.items() if n < 8})
    assert run(*goal) == 1
    assert states(sweep, 'run')[-1][1] in ('unfit', 'goes on')
    count(sweep, 'run-until', counts)
    before = called(sweep)
    for result in inner(sweep, 'run').glob('*/results/*/*.json'):
        result.unlink()
    assert run(*goal) == 0
    assert called(sweep) == [*before, 'run-until', 'run-until']
    assert states(sweep, 'run') == [(4, 'goes on'), (8, 'goes on'), (12, 'at the cap')]
    assert run(*goal) == 0
    assert called(sweep) == [*before, 'run-until', 'run-until']


@pytest.mark.slow
@pytest.mark.parametrize('option', [[], ['--uncertain-first']])
def test_what_an_earlier_start_completes_meanwhile_is_gone_on_from(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, option: list[str]
) -> None:
    """It was killed, and its command came to its end: that is seen when the work directory is free."""
    begin(sweep, 'run', drawn(2))
    goal = ('--until', 'rerun-half-width<=0.01', *option)
    assert run(*goal) == 0
    told = notes(sweep, 'run')
    (sweep / 'out/run-until/.gpassk/until.json').unlink()

    def too_early(one: Planned, work_dir: Path, *, holding: bool = False) -> Finding:
        found = examine(one, work_dir, holding=holding)
        return found if holding else replace(found, state=State.PARTIAL)

    monkeypatch.setattr('gpassk_opencompass.runs.driver.examine', too_early)
    assert run(*goal) == 0
    assert called(sweep) == 3 * ['run-until']
    assert notes(sweep, 'run') == told


@pytest.mark.slow
def test_questions_that_all_stop_end_the_run(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to sample, whatever the cap is."""
    begin(sweep, 'run', {n: [0] * 60 for n in range(1, 13)})
    assert run('--until', 'rerun-half-width<=0.01', '--uncertain-first', '--json') == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [complaints('event', event) for event in events if complaints('event', event)] == []
    assert states(sweep, 'run') == [(4, 'at the cap')]
    assert called(sweep) == ['run-until']


@pytest.mark.slow
@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['--uncertain-first'], '--uncertain-first goes with --until'),
        (
            ['--until', 'half-width<=2', '--uncertain-first', '--metric', 'accuracy'],
            'give all questions as many samples',
        ),
    ],
)
def test_what_saves_nothing_is_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    """Before anything is sampled."""
    begin(sweep, 'run', drawn(2))
    assert run(*options) == 2
    assert message in capsys.readouterr().err
    assert called(sweep) == []


@pytest.mark.slow
def test_data_sets_without_names_of_questions_are_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some of their questions cannot be asked for."""
    add(sweep, 'run', drawn(2))
    assert run('--until', 'half-width<=2', '--uncertain-first') == 2
    assert 'whose questions have no names by which some of them can be asked' in capsys.readouterr().err
    assert called(sweep) == []


@pytest.mark.slow
def test_the_plan_is_fixed_before_the_first_look(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With and without the option, and by a version that had another plan; another metric has its own."""
    begin(sweep, 'run', drawn(2))
    goal = ('--until', 'rerun-half-width<=0.01')
    assert run(*goal) == 0
    assert run(*goal, '--uncertain-first') == 2
    assert 'begun with uncertain questions first: no, and now it is yes' in capsys.readouterr().err
    begin(sweep, 'two', drawn(2))
    (sweep / 'configs/run.py').unlink()
    assert run(*goal, '--uncertain-first') == 0
    assert run(*goal) == 2
    assert 'begun with uncertain questions first: yes, and now it is no' in capsys.readouterr().err
    path = sweep / 'out/two-until/.gpassk/until.json'
    told = notes(sweep, 'two')
    assert told['uncertain_first'] == [''.join('01'[on] for on in row) for row in PLAN.go_on]
    write(path, {**told, 'uncertain_first': ['11111', '111111111']})
    assert run(*goal, '--uncertain-first') == 2
    assert (
        'begun with another plan of which questions go on: 11111,111111111, and now it is'
        in capsys.readouterr().err
    )
    assert run(*goal, '--uncertain-first', '--metric', 'G-Pass@4_1.0') == 0


def part(n: int, verdicts: dict[str, str], of: int | None = None) -> Result:
    """A round, of some questions where `of` says how many the others are."""
    told = record(n, [2, 4], counts=[row.count('1') for row in verdicts.values()])
    told['gpassk']['counts'] |= {'uid': list(verdicts), 'problem': list(verdicts)}
    told['gpassk']['data'] = {'questions': len(verdicts), 'sha256': 64 * '0'}
    told['details'] = {'verdicts': list(verdicts.values())}
    if of:
        told['gpassk']['limited'] = {'chosen': len(verdicts)}
    return read_round(Path(f'{n}.gpassk.json'), told)


SMALL = Allocation(METRIC, (4, 6), ((False, True, True, True, False),))
FIRST = part(4, {'a': '1100', 'b': '0000', 'c': '0010'})


def test_samples_that_decided_count_as_they_did() -> None:
    """A later evaluation may think otherwise of them; by these verdicts a question went on."""
    later = part(6, {'c': '111101', 'a': '000011'}, of=3)
    seen = seen_of([FIRST, later], METRIC, SMALL)[-1]
    assert (seen.n.tolist(), seen.c.tolist()) == ([6, 4, 6], [4, 0, 2])
    assert seen.values == pytest.approx(SMALL.value([6, 4, 6], [4, 0, 2]))


@pytest.mark.parametrize(
    ('later', 'message'),
    [
        (part(6, {'a': '110011'}, of=3), 'has 1 questions, and by the looks before it 2 go on'),
        (
            part(6, {'a': '110011', 'b': '000000'}, of=3),
            'has 2 questions, and by the looks before it 2 go on',
        ),
    ],
)
def test_a_round_of_other_questions_is_none(later: Result, message: str) -> None:
    """Nothing is looked at."""
    with pytest.raises(InputError, match=message):
        seen_of([FIRST, later], METRIC, SMALL)


def test_a_round_that_tells_counts_alone_is_none() -> None:
    """New samples cannot be told from those before."""
    later = part(6, {'a': '110011', 'c': '001011'}, of=3)
    bare = Result(later.model_abbr, later.dataset_abbr, {'gpassk': later.block}, later.path)
    with pytest.raises(InputError, match='does not tell the verdict of each sample'):
        seen_of([FIRST, bare], METRIC, SMALL)


@pytest.mark.parametrize('chosen', [[], ['a', 'a'], ['d']])
def test_questions_that_are_not_there_are_refused(chosen: list[str]) -> None:
    """Or none, or one twice."""
    with pytest.raises(InputError, match='chosen'):
        places_of(chosen, ['a', 'b', 'c'])


def test_the_line_to_type_to_go_on_has_the_option() -> None:
    """As it was given."""
    until = UntilRequest('half-width<=2', uncertain_first=True)
    request = RunRequest([Path('configs')], Path('out'), None, None, (), (), until=until)
    assert request.command() == "gpassk run configs -w out --until 'half-width<=2' --uncertain-first"
