"""Runs made smaller with --limit and --samples: which questions, under which names, where they are shown."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import called, run, write_configs
from hypothesis import given
from hypothesis import strategies as st
from result_files import ABBR, HALVES, THIRDS, write_result, write_three
from sweeping import BASE, NAME, dump, load

from gpassk_opencompass.adapter import limits_line
from gpassk_opencompass.cli import main
from gpassk_opencompass.collect import collect
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.naming.limits import limited_abbr
from gpassk_opencompass.naming.manifest import read_manifest
from gpassk_opencompass.naming.names import DatasetName, LiveMathBenchName
from gpassk_opencompass.question_sets import QuestionSet
from gpassk_opencompass.questions.limits import limited
from gpassk_opencompass.record import read
from gpassk_opencompass.report.leaderboard import boards
from gpassk_opencompass.runs.command import read_options
from gpassk_opencompass.sweep.limits import Limits, limited_data

HEAD = BASE.replace('greedy = False', 'greedy = True')


def names(folder: Path) -> list[str]:
    """Of the configs in a folder, without the model."""
    return sorted(path.stem.partition('@')[2] for path in folder.glob('*.py'))


def dataset(path: Path) -> dict[str, Any]:
    (found,) = load(path)['datasets']
    return dict(found)


@given(st.lists(st.sampled_from('abcd'), max_size=40), st.integers(1, 45))
def test_a_limit_takes_of_each_group_in_turn(groups: list[str], limit: int) -> None:
    """As a pile of cards a group, dealt one after another, until there are enough."""
    piles = {name: [place for place, other in enumerate(groups) if other == name] for name in groups}
    dealt: list[int] = []
    while len(dealt) < min(limit, len(groups)):
        for name in dict.fromkeys(groups):
            if piles[name] and len(dealt) < limit:
                dealt.append(piles[name].pop(0))
    assert limited(groups, limit) == sorted(dealt)


def test_ten_of_live_math_bench_are_of_all_contests_and_languages() -> None:
    """And a problem comes in both languages, as its files are parallel."""
    sizes = {'CNMO': 18, 'CCEE': 44, 'AMC': 46, 'WLPMC': 11}
    rows = [
        (split, language, number)
        for split, size in sizes.items()
        for language in ('cn', 'en')
        for number in range(size)
    ]
    taken = [rows[place] for place in limited([row[:2] for row in rows], 10)]
    assert Counter(split for split, _, _ in taken) == {'CNMO': 4, 'CCEE': 2, 'AMC': 2, 'WLPMC': 2}
    assert set(Counter((split, number) for split, _, number in taken).values()) == {2}


@pytest.mark.parametrize('limit', [0, -1, True, 1.5, '3', None])
def test_what_is_no_limit_is_refused(limit: Any) -> None:
    """A config may have been written by hand."""
    with pytest.raises(InputError, match='1 or more'):
        limited(['a'], limit)


@given(
    st.sampled_from(['AIME2024', 'MATH500-L5', 'LiveMathBench-v202412', 'LiveMathBench-v202505-all-en']),
    st.lists(st.integers(1, 64), min_size=1, max_size=3, unique=True).map(sorted),
    st.integers(0, 40),
    st.booleans(),
    st.none() | st.integers(1, 10**6),
    st.booleans(),
)
def test_names_with_marks_are_read_as_they_are_written(
    label: str, ks: list[int], more: int, cot: bool, limit: int | None, samples: bool
) -> None:
    """And a mark is put onto a name as if it had been written with it."""
    n = max(ks) + more
    name = DatasetName(label, tuple(ks), n, cot, limit, samples)
    assert DatasetName.parse(str(name)) == name
    bare = str(DatasetName(label, tuple(ks), n, cot))
    marked = limited_abbr(bare, limit, n if samples else None, ks, n)
    assert marked == str(name)
    assert limited_abbr(marked, None, None, ks, n) == bare


def test_the_name_that_the_documentation_shows() -> None:
    """`…@LiveMathBench-v202412-limit10-k4-r1`."""
    assert (
        str(DatasetName('LiveMathBench-v202412', (4,), 4, limit=10)) == 'LiveMathBench-v202412-limit10-k4-r1'
    )


@pytest.mark.parametrize(
    'text',
    ['AIME2024-limit0-k4-r1', 'AIME2024-limit010-k4-r1', 'AIME2024-samples3-k4-r1', 'AIME2024-limit-k4-r1'],
)
def test_a_name_that_nobody_writes_is_not_read(text: str) -> None:
    """No limit, one with a zero before it, and an n that is not n."""
    with pytest.raises(InputError):
        DatasetName.parse(text)


def test_no_benchmark_is_called_as_a_mark() -> None:
    """A label or a split that ends like a mark would be read as one."""
    with pytest.raises(InputError):
        QuestionSet('Mine-limit5', 'Mine', 'org/mine', (), 1)
    with pytest.raises(InputError):
        LiveMathBenchName('1', ('limit5',), ('samples4',))
    with pytest.raises(InputError):
        LiveMathBenchName('1', ('nocot',), ('limit5',))


def test_an_expansion_with_a_limit_says_so_everywhere(tmp_path: Path) -> None:
    """In file names, abbreviations, data sets and the manifest, which has as many questions."""
    assert dump(tmp_path, HEAD, '--limit', '10', '--samples', '4') == 0
    folder = tmp_path / 'configs'
    assert names(folder) == [
        'LiveMathBench-v202412-limit10-k1-r1',
        'LiveMathBench-v202412-limit10-samples4-k4-r1',
    ]
    (path,) = folder.glob('*samples4*')
    found = dataset(path)
    assert (found['abbr'], found['limit'], found['samples']) == (path.stem.partition('@')[2], 10, 4)
    assert (found['n'], found['k'], 'test_range' in found['reader_cfg']) == (4, [4], False)
    greedy, sampled = read_manifest(folder)
    assert (greedy.questions, greedy.limit, greedy.samples, greedy.n) == (10, 10, None, 1)
    assert (sampled.questions, sampled.limit, sampled.samples, sampled.n) == (10, 10, 4, 4)
    assert sampled.dataset_abbr == found['abbr']


def test_whole_runs_stay_as_they_were(tmp_path: Path) -> None:
    """Neither their configs nor their line of the manifest tells of limits, so earlier versions read them."""
    assert dump(tmp_path, BASE) == 0
    (line,) = (tmp_path / 'configs' / 'manifest.jsonl').read_text().splitlines()
    assert {'limit', 'samples'}.isdisjoint(json.loads(line))
    assert {'limit', 'samples'}.isdisjoint(dataset(tmp_path / 'configs' / NAME))


def test_the_estimate_is_of_the_limited_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """10 questions, 4 samples and one greedy, 100 tokens each."""
    assert dump(tmp_path, HEAD, '--limit', '10', '--samples', '4', '--dry_run') == 0
    total = capsys.readouterr().out.splitlines()[3]
    assert [cell.strip() for cell in total.split('|')][5:8] == ['50', '50', '5,000']


def test_a_limit_bounds_the_estimate_of_a_benchmark_of_unknown_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There are at most so many; the manifest does not claim that there are."""
    text = BASE + "version = '1'\ndataset_splits = 'mine'\ndataset_languages = 'en'\n"
    assert dump(tmp_path, text, '--limit', '7', '--dry_run') == 0
    assert ' 7 |' in capsys.readouterr().out.splitlines()[2]
    assert dump(tmp_path, text, '--limit', '7') == 0
    (entry,) = read_manifest(tmp_path / 'configs')
    assert (entry.questions, entry.limit) == (None, 7)


def test_a_limit_above_the_benchmark_is_no_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All questions are asked, which is said, and the run has the name of a whole one."""
    assert dump(tmp_path, BASE, '--limit', '238') == 0
    assert 'the limit is not below its 238 questions: all of them are asked' in capsys.readouterr().out
    assert [path.name for path in (tmp_path / 'configs').glob('*.py')] == [NAME]


def test_k_above_n_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And said; with none left n is k."""
    assert dump(tmp_path, BASE, '--samples', '8') == 0
    assert 'k = 16 left out, above n = 8' in capsys.readouterr().out
    assert names(tmp_path / 'configs') == ['LiveMathBench-v202412-samples8-k4_8-r1']
    other = tmp_path / 'other'
    other.mkdir()
    assert dump(other, BASE, '--samples', '3') == 0
    assert 'k = 4, 8, 16 left out, above n = 3, k = 3 in its place' in capsys.readouterr().out
    assert names(other / 'configs') == ['LiveMathBench-v202412-samples3-k3-r1']


def test_runs_that_become_the_same_are_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three replications of one k list have one n now."""
    text = BASE.replace('replications = 3', 'replications = [1, 2, 3]')
    assert dump(tmp_path, text, '--samples', '16') == 0
    assert '1 config left out' in (said := capsys.readouterr().out)  # that with n = 16 was so before
    assert names(tmp_path / 'configs') == [
        'LiveMathBench-v202412-k4_8_16-r1',
        'LiveMathBench-v202412-samples16-k4_8_16-r1',
    ], said


def test_every_benchmark_can_be_limited(tmp_path: Path) -> None:
    """Those of question files take the same argument."""
    assert (
        dump(tmp_path, BASE + "benchmarks = ['aime2024', 'olymmath-easy', 'math500-l5']\n", '--limit', '6')
        == 0
    )
    folder = tmp_path / 'configs'
    assert names(folder) == [
        'AIME2024-limit6-k4_8_16-r3',
        'MATH500-L5-limit6-k4_8_16-r3',
        'OlymMATH-easy-limit6-k4_8_16-r3',
    ]
    assert {dataset(path)['limit'] for path in folder.glob('*.py')} == {6}


def test_a_data_set_of_opencompass_is_wrapped() -> None:
    """What loads it goes inside, what is done with its rows stays outside; test_range is not touched."""
    given = {
        'type': 'opencompass.datasets.GSM8KDataset', 'abbr': 'gsm8k', 'path': 'opencompass/gsm8k',
        'k': [2, 4], 'n': 8, 'reader_cfg': {'input_columns': ['question'], 'output_column': 'answer'},
        'infer_cfg': {'x': 1}, 'eval_cfg': {'y': 2},
    }  # fmt: skip
    made = limited_data(given, Limits(5, 4), None)
    assert made.config == {
        'type': 'gpassk_opencompass.LimitedDataset', 'abbr': 'gsm8k-limit5-samples4',
        'of': {'type': 'opencompass.datasets.GSM8KDataset', 'path': 'opencompass/gsm8k'}, 'limit': 5,
        'samples': 4, 'k': [2, 4], 'n': 4, 'reader_cfg': given['reader_cfg'], 'infer_cfg': {'x': 1},
        'eval_cfg': {'y': 2},
    }  # fmt: skip
    again = limited_data(made.config, Limits(3), None)
    assert again.config == {**made.config, 'limit': 3, 'abbr': 'gsm8k-limit3-samples4'}
    assert limited_data(made.config, Limits(6), None).config is made.config


def test_a_look_leaves_the_whole_sweep_what_it_is(tmp_path: Path) -> None:
    """In one folder: a limited expansion makes no whole run stale, a whole one makes limited ones stale."""
    entries = tmp_path / 'configs'
    for options in ([], ['--limit', '5'], ['--limit', '6', '--prune']):
        assert dump(tmp_path, BASE, *options) == 0
    assert [(entry.limit, entry.stale) for entry in read_manifest(entries)] == [(6, False), (None, False)]
    assert dump(tmp_path, BASE) == 0
    assert [(entry.limit, entry.stale) for entry in read_manifest(entries)] == [(None, False), (6, True)]


# gpassk run


def limited_names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / 'out' / '.gpassk' / 'limited').glob('*.py'))


def test_run_writes_configs_of_its_own(sweep: Path) -> None:
    """Under their own names, into their own work directories; those given stay as they are."""
    template = BASE.replace('engine', '# a sweep\nengine') + "benchmarks = ['aime2024']\n"
    assert dump(sweep, template) == 0
    (whole,) = (sweep / 'configs').glob('*.py')
    before = whole.read_bytes()
    assert run('--limit', '8', '--samples', '4') == 0
    assert whole.read_bytes() == before
    (file,) = limited_names(sweep)
    assert file == whole.name.replace('AIME2024-k4_8_16-r3', 'AIME2024-limit8-samples4-k4-r1')
    assert called(sweep) == [file.removesuffix('.py')]
    assert dataset(sweep / 'out' / '.gpassk' / 'limited' / file)['limit'] == 8
    (entry,) = read_manifest(sweep / 'out' / '.gpassk' / 'limited')
    assert (entry.questions, entry.n, entry.k, entry.limit, entry.samples) == (8, 4, (4,), 8, 4)
    assert main(['check', 'out']) == 0
    assert run('--limit', '8', '--samples', '4') == 0
    assert called(sweep) == [file.removesuffix('.py')]


def test_runs_that_the_options_do_not_change_are_the_whole_ones(sweep: Path) -> None:
    """A greedy run has one sample a question whatever --samples says."""
    text = HEAD.replace('k_lists = [[4, 8, 16]]', 'k_lists = [4]') + "benchmarks = ['aime2024']\n"
    assert dump(sweep, text) == 0
    main(['run', 'configs', '-w', 'out', '--samples', '4'])
    assert sorted(called(sweep)) == [
        'model-7b_t0-3_rs42_l100@AIME2024-samples4-k4-r1',
        'model-7b_t0_l100@AIME2024-k1-r1',
    ]


def test_a_config_of_any_name_gets_the_marks_at_its_end(sweep: Path) -> None:
    """What is called as nothing that this package writes."""
    write_configs(sweep, 'mine')
    run('--limit', '3')
    assert limited_names(sweep) == ['mine-limit3.py']


def test_a_config_that_computes_its_values_is_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is started; without the options it runs as ever."""
    write_configs(sweep, 'good')
    computed = (sweep / 'configs' / 'good.py').read_text() + 'x = [n for n in range(3)]\n'
    (sweep / 'configs' / 'bad.py').write_text(computed)
    assert run('--limit', '3') == 2
    assert 'computes or imports its values, so --limit 3 cannot be written' in capsys.readouterr().err
    assert called(sweep) == []


def test_a_config_of_two_data_sets_gets_marks_for_both(sweep: Path) -> None:
    """It is one run, in one work directory."""
    sets = [{'abbr': abbr, 'type': 'T', 'path': abbr, 'n': 4, 'k': [2, 4]} for abbr in ('a', 'b-k2_4-r1')]
    text = f"models = [{{'abbr': 'm', 'path': 'org/m'}}]\ndatasets = {sets!r}\n"
    (sweep / 'configs' / 'both.py').write_text(text)
    run('--limit', '3', '--samples', '2')
    assert limited_names(sweep) == ['both-limit3-samples2.py']
    written = load(sweep / 'out' / '.gpassk' / 'limited' / 'both-limit3-samples2.py')['datasets']
    assert [one['abbr'] for one in written] == ['a-limit3-samples2', 'b-limit3-samples2-k2-r1']
    assert [one['of'] for one in written] == [{'type': 'T', 'path': 'a'}, {'type': 'T', 'path': 'b-k2_4-r1'}]


def test_a_data_set_without_a_name_is_refused(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing that could be marked."""
    (sweep / 'configs' / 'x.py').write_text("models = [{'abbr': 'm'}]\ndatasets = [{'n': 4, 'k': 2}]\n")
    assert run('--limit', '3') == 2
    assert '--limit 3: a data set without abbr=' in capsys.readouterr().err


def test_the_command_to_go_on_has_the_options() -> None:
    """As it is printed after Ctrl-C."""
    from gpassk_opencompass.cli.run import RunRequest

    request = RunRequest([Path('c')], Path('o'), None, None, (), limits=Limits(10, 4))
    assert request.command() == 'gpassk run c -w o --limit 10 --samples 4'
    assert read_options([]).passed == ()


@pytest.mark.parametrize('value', ['0', '-3', 'x', '1.5', '1000001', '9' * 5000])
def test_other_numbers_are_refused(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of both options, by both commands, at once: not when all is sampled, as a damaged result."""
    for command in (['expand', 't.py'], ['run', 'configs']):
        for option in ('--limit', '--samples'):
            with pytest.raises(SystemExit):
                main([*command, f'{option}={value}'])
    expected = 'from 1 to 1,000,000' if len(value) > 4 else 'of at least 1'
    assert capsys.readouterr().err.count(f'expected an integer {expected}') == 4


def test_a_million_is_held(tmp_path: Path) -> None:
    assert dump(tmp_path, BASE, '--limit', '1000000', '--dry_run') == 0


# Leaderboards


def write_limited(outputs: Path) -> None:
    """Two whole runs, one of some questions, one of fewer samples."""
    write_three(outputs)
    write_result(outputs, ABBR.format(3), THIRDS, dataset='MATH500-L5-limit24', data='e')
    path = write_result(outputs, ABBR.format(3), HALVES, work='v')
    record = json.loads(path.read_text())
    record['gpassk']['run']['dataset'] = 'MATH500-L5-samples4-k2-r2'
    path.write_text(json.dumps(record))


def test_limited_runs_stand_in_no_leaderboard(tmp_path: Path) -> None:
    """Unless they are asked for; then apart, or with their mark beside the others."""
    write_limited(tmp_path)
    results = collect([tmp_path]).results
    (board,), left_out = boards(results)
    assert [entry.name for entry in board.entries] == [ABBR.format(2), ABBR.format(1)]
    assert left_out == ['2 runs made smaller with --limit or --samples: --with-limited takes them, too']
    shown, _ = boards(results, with_limited=True)
    assert {board.title: [entry.name for entry in board.entries] for board in shown} == {
        'MATH500-L5': [ABBR.format(2), f'{ABBR.format(3)} (n = 4 by --samples)', ABBR.format(1)],
        'MATH500-L5-limit24': [f'{ABBR.format(3)} (24 questions)'],
    }


def test_a_limited_result_that_is_scored_again_stays_marked(tmp_path: Path) -> None:
    """Under a name that says nothing, with another k; and where the name of any data set tells it."""
    path = write_result(tmp_path, ABBR.format(1), THIRDS)
    record = json.loads(path.read_text())
    record['gpassk']['limited'] = {'limit': 24, 'of': 134}
    path.write_text(json.dumps(record))
    for name, options in (('again', []), ('ks', ['--k', '3'])):
        target = tmp_path / 'rescored' / f'{name}.json'
        command = ['score', str(path), '--dataset', 'mine', '-o', str(target), *options]
        assert main(command) == 0
        assert json.loads(target.read_text())['gpassk']['limited'] == {'limit': 24, 'of': 134}
    del record['gpassk']['limited']
    record['gpassk']['run']['dataset'] = 'gsm8k-limit24'
    foreign = path.with_name('gsm8k-limit24.json')
    foreign.write_text(json.dumps(record))
    assert boards([read(foreign)])[0] == []


def test_the_record_tells_it_whatever_the_name_says(tmp_path: Path) -> None:
    """A config by hand may have limit=… under any abbreviation."""
    path = write_result(tmp_path, ABBR.format(1), THIRDS)
    record = json.loads(path.read_text())
    record['gpassk']['limited'] = {'limit': 24, 'of': 134}
    path.write_text(json.dumps(record))
    (result,) = collect([tmp_path]).results
    assert (result.benchmark, limits_line(result)) == ('MATH500-L5-limit24', '24 of 134 questions')
    assert boards([result])[0] == []


def test_a_report_leaves_them_out_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which is no failure of --strict; asked for, they are there."""
    write_limited(tmp_path / 'out')
    command = [
        'report', str(tmp_path / 'out'), '-o', str(tmp_path / 'report'), '--only', 'tables', '--strict',
    ]  # fmt: skip
    assert main(command) == 0
    said = capsys.readouterr()
    assert (
        said.err
        == 'left out: 2 runs made smaller with --limit or --samples: --with-limited takes them, too\n'
    )
    assert 'limit24' not in said.out
    assert main([*command, '--with-limited']) == 0
    assert 'MATH500-L5-limit24' in capsys.readouterr().out


def test_compare_leaves_them_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No rank has them unasked."""
    write_limited(tmp_path / 'out')
    assert main(['compare', str(tmp_path / 'out')]) == 0
    assert 'm3' not in capsys.readouterr().out
    assert main(['compare', str(tmp_path / 'out'), '--with-limited']) == 0
    assert 'm3' in capsys.readouterr().out
