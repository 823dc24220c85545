"""Trials: which questions, under which names, where they are shown."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from result_files import ABBR, THIRDS, write_result, write_three
from sweeping import BASE, dump, load

from gpassk_opencompass.benchmarks import limited
from gpassk_opencompass.collect import collect
from gpassk_opencompass.report.frame import boards, full_runs
from gpassk_opencompass.sweep.folder import read_manifest

HEAD = BASE.replace('greedy = False', 'greedy = True')


def names(folder: Path) -> list[str]:
    """Of the configs in a folder, without the model."""
    return sorted(path.stem.partition('@')[2] for path in folder.glob('*.py'))


@given(st.lists(st.sampled_from('abcd'), max_size=40), st.integers(1, 45))
def test_a_limit_takes_of_each_group_in_turn(groups, limit):
    piles = {name: [place for place, other in enumerate(groups) if other == name] for name in groups}
    dealt: list[int] = []
    while len(dealt) < min(limit, len(groups)):
        for name in dict.fromkeys(groups):
            if piles[name] and len(dealt) < limit:
                dealt.append(piles[name].pop(0))
    assert limited(groups, limit) == sorted(dealt)


def test_a_trial_says_so_everywhere(tmp_path):
    """In file names, abbreviations, data sets and the manifest, which has as many questions."""
    assert dump(tmp_path, HEAD, '--limit', '10', '--n', '4') == 0
    folder = tmp_path / 'configs'
    assert names(folder) == ['LiveMathBench-v202412-limit10-k1-r1', 'LiveMathBench-v202412-limit10-k4-r1']
    (path,) = folder.glob('*k4-r1*')
    (found,) = load(path)['datasets']
    assert (found['abbr'], found['limit']) == (path.stem.partition('@')[2], 10)
    assert (found['n'], found['k'], 'test_range' in found['reader_cfg']) == (4, [4], False)
    greedy, sampled = read_manifest(folder)
    assert (greedy.questions, greedy.limit, greedy.n) == (10, 10, 1)
    assert (sampled.questions, sampled.limit, sampled.n, sampled.dataset_abbr) == (10, 10, 4, found['abbr'])


def test_a_look_leaves_the_whole_sweep_what_it_is(tmp_path):
    """In one folder: a trial makes no whole run stale, a whole sweep makes trials stale."""
    entries = tmp_path / 'configs'
    for options in ([], ['--limit', '5'], ['--limit', '6', '--prune']):
        assert dump(tmp_path, BASE, *options) == 0
    assert [(entry.limit, entry.stale) for entry in read_manifest(entries)] == [(6, False), (None, False)]
    assert dump(tmp_path, BASE) == 0
    assert [(entry.limit, entry.stale) for entry in read_manifest(entries)] == [(None, False), (6, True)]


# Leaderboards


def test_trials_stand_in_no_leaderboard_beside_whole_runs(tmp_path):
    write_three(tmp_path)
    write_result(tmp_path, ABBR.format(3), THIRDS, dataset='MATH500-L5-limit24', data='e')
    results = collect([tmp_path]).results
    full, [line] = full_runs(results)
    assert [entry.name for board in boards(full)[0] for entry in board.entries] == ['m2', 'm1']
    assert line == '1 trial on some of the questions (--limit) beside runs on all of them'
    trial = [one for one in results if one.limits]
    assert full_runs(trial) == (trial, [])
    [board] = boards(trial)[0]
    assert (board.title, board.notes) == ('MATH500-L5-limit24', ['A trial on 24 questions.'])
