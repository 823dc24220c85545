"""Which results files and folders have: of records, of work directories, of logs, and of all together."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from damaged_records import good_record
from fake_opencompass import config_text, write
from result_files import ABBR, HALVES, THIRDS, block, entry_of, write_result

from gpassk_opencompass import InputError
from gpassk_opencompass import record as records
from gpassk_opencompass.cli import main
from gpassk_opencompass.collect import collect, collect_one
from gpassk_opencompass.report.frame import boards
from gpassk_opencompass.sweep.folder import manifest_text

MODEL = ABBR.format(1)
RECORDED = Path(__file__).parents[1] / 'recorded'


def paths_of(*given):
    return [result.path for result in collect(given).results]


# Records and work directories


@pytest.mark.parametrize(
    ('first', 'second', 'count'),
    [
        ({}, {}, ['rule']),  # in one work directory
        ({'judge': 'rule'}, {'judge': 'llm'}, ['llm']),  # evaluated again: its owner means the later one
        ({'work': 'a', 'judge': 'rule'}, {'work': 'b', 'judge': 'llm'}, ['llm', 'rule']),  # another run
        ({'work': 'a'}, {'work': 'b'}, ['rule']),  # the same run in two work directories
    ],
)
def test_the_newest_result_of_a_run_counts(first, second, count, tmp_path):
    """By the time that names its folder, the older one is named with the newer one."""
    new = write_result(tmp_path, MODEL, THIRDS, time='20260102_000000', **second)
    old = write_result(tmp_path, MODEL, THIRDS, time='20260101_000000', **first)
    found = collect([tmp_path])
    assert sorted(result.judge['name'] for result in found.results) == count
    assert (new.resolve() in [result.path for result in found.results], found.passed_over) == (True, [])
    assert found.older == (
        [f'{old.resolve()}: there is a newer result of this run, {new.resolve()}'] * (2 - len(count))
    )


@pytest.mark.parametrize(('seed', 'k'), [(42, [4]), (43, [4]), (42, [2])])
def test_a_result_of_an_earlier_config_is_left_out_and_named(tmp_path, seed, k):
    """OpenCompass keeps it when a changed config is started there again: its copies of the configs tell."""
    path = write_result(tmp_path, MODEL, THIRDS, time='20260101_000000')
    told = json.loads(path.read_text())
    n, ks = told['gpassk']['n'], told['gpassk']['k']
    model = {'type': 'M', 'abbr': MODEL, 'random_seed': 42}
    told['gpassk']['provenance'] = {'model': {**model, 'abbr': None}, 'inference': {}}
    told['gpassk']['provenance']['model'].pop('abbr')
    path.write_text(json.dumps(told))
    dataset = {'abbr': path.stem, 'n': n, 'k': ks}
    now = {**model, 'random_seed': seed}, {**dataset, 'k': ks if k == [4] else [max(ks) - 1]}
    for name, entries in (('1', (model, dataset)), ('2', now)):
        write(
            path.parents[2] / 'configs' / f'{name}.py',
            f'models = [{entries[0]}]\ndatasets = [{entries[1]}]\n',
        )
    found = collect([tmp_path])
    assert len(found.results) == (now == (model, dataset))
    assert bool(found.passed_over) == (now != (model, dataset))
    for line in found.passed_over:
        assert re.search(r'random_seed = 42, and now has 43|judged with k = ', line)


def test_a_damaged_newer_result_does_not_hide_a_complete_one(tmp_path):
    old = write_result(tmp_path, MODEL, THIRDS, time='20260101_000000')
    new = write_result(tmp_path, MODEL, THIRDS, time='20260102_000000')
    new.write_text(new.read_text()[:100])
    found = collect([tmp_path])
    assert [result.path for result in found.results] == [old.resolve()]
    assert 'cannot be read' in found.passed_over[0]


def scored(path, c, time, **run):
    """A `*.gpassk.json` of one and the same run, as `gpassk score -o` names it."""
    names = {'model': 'm', 'dataset': 'MATH500-L5', 'host': 'file', **run}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({'gpassk': block(c, 4, run=names)}))
    os.utime(path, (time, time))
    return path


def test_of_scored_files_the_one_made_last_counts(tmp_path):
    """By `created` of the record, whatever its name and time; where none tells it, by the file's time."""
    scored(tmp_path / 'one' / 'z.gpassk.json', HALVES, 9e8, created='2026-01-01T10:00:00+00:00')
    new = scored(tmp_path / 'one' / 'a.gpassk.json', THIRDS, 1e8, created='2026-01-01T12:30:00+02:00')
    assert paths_of(tmp_path / 'one') == [new.resolve()]
    scored(tmp_path / 'two' / 'z' / 'x' / 'y' / 'z.gpassk.json', HALVES, 1e8)
    other = scored(tmp_path / 'two' / 'b.gpassk.json', HALVES, 2e8, created='yesterday')  # which is no time
    new = scored(tmp_path / 'two' / 'a.gpassk.json', THIRDS, 3e8)
    assert paths_of(tmp_path / 'two') == paths_of(new, other) == [new.resolve()]


def test_what_is_missing_is_refused(tmp_path):
    """A folder or a file that is not there; where one result is wanted, none and several."""
    for name in ('gone', 'gone.json'):
        with pytest.raises(InputError, match=f'{name} is neither a file nor a folder'):
            collect([tmp_path / name])
    (tmp_path / 'empty').mkdir()
    with pytest.raises(InputError, match='empty holds no file'):
        collect_one(tmp_path / 'empty')
    [one, other] = [write_result(tmp_path / 'out', ABBR.format(number), THIRDS) for number in (1, 2)]
    with pytest.raises(InputError, match=f'holds 2 results; give one of the files: {one}, {other}'):
        collect_one(tmp_path / 'out')
    assert collect_one(one.parent).path == one.resolve()


# Manifests of sweeps


def saved(folder, *entries):
    folder.mkdir(parents=True)
    (folder / 'manifest.jsonl').write_text(manifest_text(entries))
    return folder


def test_a_manifest_tells_what_a_name_does_not(tmp_path):
    """The model's whole name, its path and settings, from a manifest anywhere below, or that is named."""
    outputs = tmp_path / 'outputs'
    write_result(outputs, 'short~12345678_l100', THIRDS)
    told = {'model': 'the-long-name', 'settings': {'temperature': 0.7, 'max_out_len': 100}}
    elsewhere = saved(tmp_path / 'configs', entry_of('short~12345678_l100', path='org/name', **told))
    [result] = collect([outputs], configs=[elsewhere]).results
    shutil.copytree(elsewhere, outputs / 'w' / 'configs')
    for one in (result, *collect([outputs]).results):
        assert (one.model, one.model_path) == ('the-long-name', 'org/name')
        assert one.sampling == {'temperature': 0.7, 'max_out_len': 100}


# Logs of other programs

ROWS = [
    {'uid': f'u{number}', 'question': '1 + 1?', 'answer': '2', 'responses': [r'\boxed{2}', r'\boxed{3}']}
    for number in range(24)
]
"""Nobody judged them."""


def logged(path, rows=ROWS, **more):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(''.join(json.dumps({**row, **more}) + '\n' for row in rows))
    return path


def test_all_kinds_of_files_stand_beside_each_other(tmp_path):
    """A work directory, a record that is given, logs judged by the rule, counts, and Lighteval's output."""
    work = write_result(tmp_path / 'outputs', MODEL, THIRDS)
    record = scored(tmp_path / 'mine.gpassk.json', HALVES, 1e8)
    responses = logged(tmp_path / 'logs' / 'theirs.jsonl')
    counts = logged(
        tmp_path / 'counts.jsonl', [{'uid': f'u{i}', 'n': 4, 'c': c} for i, c in enumerate(THIRDS)]
    )
    lighteval = RECORDED / 'lighteval'
    found = collect([tmp_path / 'outputs', record, tmp_path / 'logs', counts, lighteval])
    assert found.passed_over == []
    told = {result.run.model: result for result in found.results}
    assert {name: result.run.host for name, result in told.items()} == {
        MODEL: 'opencompass', 'm': 'file', 'theirs': 'file', 'counts': 'file',
        'demo_t1.0_p0.9_l40': 'lighteval',
    }  # fmt: skip
    assert [told[name].path for name in (MODEL, 'm', 'theirs', 'counts')] == [
        work.resolve(), record.resolve(), responses, counts,
    ]  # fmt: skip
    assert told['theirs'].judge['name'] == 'rule'
    assert told['theirs'].counts.c == [1] * 24
    assert told['counts'].counts.c == THIRDS


def test_a_folder_with_results_of_ours_gives_those_and_the_details_of_lighteval(tmp_path):
    """Results of any name, as `gpassk score -o` was told; what lies beside one is passed over, and said."""
    given, record = scored(tmp_path / 'x.gpassk.json', HALVES, 1e8), tmp_path / 'run' / 'mine.json'
    records.write(record, records.read(given))
    given.unlink()
    rows = logged(tmp_path / 'run' / 'rows.jsonl')
    shutil.copytree(RECORDED / 'lighteval', tmp_path / 'lighteval')
    found = collect([tmp_path])
    assert {one.run.model: one.path == record for one in found.results} == {
        'm': True,
        'demo_t1.0_p0.9_l40': False,
    }
    assert found.passed_over == [f'{rows} is passed over']


def test_what_cannot_be_read_or_scored_is_left_out_with_its_reason(tmp_path):
    good = logged(tmp_path / 'good.jsonl')
    torn = tmp_path / 'torn.jsonl'
    torn.write_text('{"uid": ')
    few = logged(tmp_path / 'few.jsonl', ROWS, responses=[r'\boxed{2}'])
    found = collect([good, torn, few], k=2)
    assert [result.path for result in found.results] == [good]
    assert len(found.passed_over) == 2
    assert any(str(torn) in line for line in found.passed_over)
    assert any(str(few) in line and 'k = 2' in line for line in found.passed_over)
    assert all(one.foreign for one in found.left_out)


def test_questions_with_different_numbers_of_samples_stand_beside_no_other_run(tmp_path):
    rows = [{**row, 'correct': [True] * (2 + number % 2)} for number, row in enumerate(ROWS)]
    path = logged(tmp_path / 'x.jsonl', [{**row, 'responses': None} for row in rows])
    tables, [line] = boards(collect([path]).results)
    assert tables == []
    assert line.startswith(f'{path}: its questions have from 2 to 3 samples')


# One reader for all commands


def check(path):
    configs = path.parents[5] / 'configs' / 'run.py'
    write(configs, config_text())
    return ['check', str(path.parents[4]), '--configs', str(configs)]


COMMANDS = {
    'report': lambda path: ['report', str(path), '-o', str(path.parents[5] / 'report'), '--only', 'tables'],
    'plan': lambda path: ['plan', str(path), '--half-width', '5'],
    'score': lambda path: ['score', str(path)],
    'compare': lambda path: ['compare', str(path), str(path.parents[4] / 'other')],
    'check': check,
    'judge audit': lambda path: ['judge', 'audit', str(path), '--labels', str(path.with_name('l'))],
}
DAMAGES = {
    'cut by a kill': lambda record: json.dumps(record)[:100],
    'of a later version': lambda record: json.dumps({**record, 'gpassk': {**record['gpassk'], 'schema': 99}}),
    'another score': lambda record: json.dumps({**record, 'accuracy': 99.0}),
}


def result_file(folder, text):
    """`out/run/<time>/results/<model>/<data set>.json`, as OpenCompass leaves it."""
    path = folder / 'out' / 'run' / '20260102_000000' / 'results' / 'm-run' / 'd-run.json'
    write(path, text)
    return path


@pytest.mark.parametrize('command', COMMANDS)
@pytest.mark.parametrize('damage', DAMAGES)
def test_every_command_refuses_a_damage_with_the_same_line(tmp_path, damage, command, capsys):
    """The line of `read`, which names the file, the part, what it is and what is allowed."""
    path = result_file(tmp_path, DAMAGES[damage](good_record()))
    before = path.read_bytes()
    with pytest.raises(InputError) as caught:
        records.read(path.resolve())
    assert main(COMMANDS[command](path)) in (1, 2, 3)
    said = capsys.readouterr()
    assert str(caught.value) in said.out + said.err
    assert path.read_bytes() == before
