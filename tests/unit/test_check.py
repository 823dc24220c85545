"""`gpassk check`: the state of each run, from directories made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import config_text, predictions, record, traceback_of, write
from result_files import entry_of

from gpassk_opencompass.cli import main
from gpassk_opencompass.files import digest
from gpassk_opencompass.marks import evaluation_settings, settings_of
from gpassk_opencompass.runs.plan import planned_runs, read_config
from gpassk_opencompass.runs.state import Finding, State, examine
from gpassk_opencompass.sweep.folder import manifest_text

OLD, NEW = '20260101_000000', '20260102_000000'
PART = 'm-run/d-run'


def made(folder: Path, time: str = NEW, config: str | None = None, **files: Any) -> Path:
    """A work directory out/run with one time directory; files by their place in it, '__' for '/'."""
    place = folder / 'out' / 'run' / time
    write(place / 'configs' / f'{time}_1.py', config_text() if config is None else config)
    for name, content in files.items():
        stage, _, suffix = name.partition('__')
        write(place / stage.replace('_', '/') / f'{PART}{suffix.replace("__", ".")}', content)
    return place


def found(folder: Path, config: str | None = None) -> Finding:
    """The state of out/run, for the config as it is now."""
    path = write(folder / 'configs' / 'run.py', config_text() if config is None else config)
    [run] = planned_runs([path])
    return examine(run, folder / 'out' / 'run')


def check(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    code = main(['check', str(folder / 'out'), *options])
    said = capsys.readouterr()
    return code, said.out + said.err


ALL = {'predictions____json': predictions(32)}
FIRST = {'predictions___0__json': predictions(16)}
SECOND = {'predictions___1__json': predictions(16)}
JUDGED = {'results____json': record()}
CHANGED = 'the config was changed since: it had model.temperature = nothing, and now '
HOLD = 'k or the judge was changed since, the samples hold'


@pytest.mark.parametrize(
    ('now', 'files', 'state', 'detail', 'holds'),
    [
        ({'batch_size': 64}, JUDGED, 'complete', '', 'all'),
        ({}, {}, 'partial', '0 of ? predictions', 'some'),
        # A kill leaves no word in the logs; the log of a finished shard does not count.
        ({}, {'logs_infer___0__out': traceback_of('KeyboardInterrupt')}, 'partial', '0 of', 'some'),
        ({}, FIRST | {'logs_infer___0__out': traceback_of('ValueError: x')}, 'partial', '', 'all'),
        ({}, FIRST | SECOND, 'partial', 'not evaluated, 32 of ? predictions', 'all'),
        ({}, FIRST | {'predictions___1__rows__jsonl': '{}\n{}\n{"i'}, 'partial', '18 of', 'some'),
        ({}, {'logs_infer____out': traceback_of('ValueError: bad')}, 'failed', 'ValueError: bad; ', 'some'),
        (
            {},
            ALL | {'logs_eval____out': traceback_of('ValueError: bad')},
            'failed',
            'ValueError: bad; ',
            'all',
        ),
        ({}, {'predictions___0__json': '{"0": {"pred'}, 'failed', 'd-run_0.json cannot be read', 'some'),
        ({'k': [4]}, JUDGED, 'stale', HOLD, 'all'),
        ({'judge': 'other'}, JUDGED, 'stale', HOLD, 'all'),
        ({'temperature': 0.5}, JUDGED, 'stale', CHANGED, 'nothing'),
    ],
)
def test_the_state_of_a_run_in_one_time_directory(tmp_path, now, files, state, detail, holds):
    """From its config as it was kept, and results, predictions, journals and logs; what of it still holds."""
    place = made(tmp_path, **files)
    finding = found(tmp_path, config_text(**now))
    assert (finding.state, finding.time, finding.detail[: len(detail)]) == (state, NEW, detail)
    assert (finding.resumable, finding.sampled) == (holds != 'nothing', holds == 'all')
    assert finding.results == ((place / 'results' / f'{PART}.json',) if files is JUDGED else ())
    damaged = (place / 'predictions' / f'{PART}_0.json',) if 'cannot be read' in detail else ()
    assert finding.in_the_way == (damaged or finding.results * (state == 'stale'))
    if 'ValueError: bad' in detail:
        assert finding.logs[0].lines[0] == ' 50%|##'


@pytest.mark.parametrize('damage', ['[' * 100_000, '[1e999, "here", "now"]', '7'])
@pytest.mark.parametrize('note', ['holder.json', 'starts.jsonl', 'cwd/.cache/dataset_size.json'])
def test_a_damaged_note_is_as_good_as_none(tmp_path, note, damage):
    """Whoever holds the lock, what was started, how many rows there are: then nobody knows."""
    made(tmp_path, **ALL)
    without = found(tmp_path)
    write(tmp_path / 'out' / 'run' / '.gpassk' / note, damage)
    assert found(tmp_path) == without


@pytest.mark.parametrize(('kind', 'same'), [('mine.Judge', False), ('llm', True)])
def test_what_a_users_own_judge_takes_may_choose_something(tmp_path, kind, same):
    kept, now = (
        config_text().replace("'model_name': ''", f"'judge': {{'type': {kind!r}, 'rate': {rate}}}")
        for rate in (1, 2)
    )
    made(tmp_path, config=kept, **JUDGED)
    assert (found(tmp_path, now).state is State.COMPLETE) is same


def told(**provenance: Any) -> dict[str, Any]:
    """A result that says how it came about."""
    result = record()
    result['gpassk']['provenance'] = provenance
    return result


def judged(**settings: Any) -> dict[str, Any]:
    """A result of an evaluation with such a config."""
    return told(evaluation=evaluation_settings(parts_of(**settings)[1]))


def parts_of(**settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Model and data set of a config."""
    variables: dict[str, Any] = {}
    exec(config_text(**settings), variables)
    return variables['models'][0], variables['datasets'][0]


@pytest.mark.parametrize(
    ('result', 'state', 'detail'),
    [
        (judged(), State.COMPLETE, ''),
        (judged(n=3), State.STALE, 'it was judged with n = 3, and now has 4'),
        (judged(k=[2]), State.STALE, 'it was judged with k = [2], and now has [2, 4]'),
        (judged(judge='old'), State.STALE, "it was judged with evaluator.model_name = 'old', and now has ''"),
        (
            told(**settings_of(*parts_of(temperature=0.5))),
            State.STALE,
            'its samples were drawn with model.temperature = 0.5, and now has nothing',
        ),
        ({'error': 'lengths differ'}, State.FAILED, 'the evaluation returned an error: lengths differ'),
        ('{"accuracy": 5', State.DAMAGED, '{path} cannot be read: '),
        (None, State.DAMAGED, '{path} is a folder'),
        ([1], State.DAMAGED, '{path} is no result of G-Pass@k'),
        ({'score': 1.0}, State.COMPLETE, ''),
    ],
)
def test_what_a_result_says_of_itself_counts(tmp_path, result, state, detail):
    place = made(tmp_path, **({} if result is None else {'results____json': result}))
    if result is None:
        (place / 'results' / f'{PART}.json').mkdir(parents=True)
    finding = found(tmp_path)
    assert finding.state is state
    assert finding.detail.startswith(detail.format(path=place / 'results' / f'{PART}.json'))
    assert bool(finding.detail) == (state is not State.COMPLETE)


@pytest.mark.parametrize('kept', ['models = [', 'import os', '\0', config_text(temperature=0.5)])
def test_of_a_directory_with_other_configs_no_result_counts(tmp_path, kept):
    place = made(tmp_path, config=kept, **JUDGED)
    if 'temperature' in kept:
        write(place / 'configs' / f'{NEW}_2.py', config_text())
    assert (found(tmp_path).state, found(tmp_path).resumable) == (State.STALE, False)


def test_the_newest_complete_result_wins(tmp_path):
    """Whatever was begun after it; if nothing is complete, what can go on is before what cannot."""
    result = made(tmp_path, OLD, **JUDGED) / 'results' / f'{PART}.json'
    made(tmp_path, NEW)
    assert (found(tmp_path).state, found(tmp_path).time, found(tmp_path).detail) == (State.COMPLETE, OLD, '')
    result.unlink()
    made(tmp_path, NEW, config=config_text(temperature=0.5), **JUDGED)
    assert (found(tmp_path).state, found(tmp_path).time) == (State.PARTIAL, OLD)


def test_a_config_is_data(tmp_path):
    """OpenCompass keeps `dict(…)`, keys that are no names, and strings in pieces; nothing is executed."""
    kept = "models = [dict(abbr='a' 'b', n=-1, x=dict({'no name': (1, 2.5)}), **{})]"
    assert read_config(write(tmp_path / 'kept.py', kept)) is None
    config = read_config(write(tmp_path / 'kept.py', kept.replace(', **{}', '')))
    assert config == {'models': [{'abbr': 'ab', 'n': -1, 'x': {'no name': [1, 2.5]}}]}
    text = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    assert read_config(write(tmp_path / 'config.py', text)) is None
    assert not (tmp_path / 'ran').exists()


def test_the_manifest_tells_questions(tmp_path):
    """So that the total is known before anything is run, and other data is seen."""
    made(tmp_path)
    text = config_text()
    write(tmp_path / 'configs' / 'run.py', text)
    known = {'dataset_abbr': 'd-run', 'benchmark': 'd', 'k': (2, 4), 'questions': 10, 'settings': {}}
    entry = entry_of('m-run', file='run.py', **known, sha256=digest(text.encode()))
    write(tmp_path / 'configs' / 'manifest.jsonl', manifest_text([entry]))
    assert found(tmp_path).expected == 40
    made(tmp_path, results____json=record(questions=8))
    assert found(tmp_path).detail == 'questions = 8 in the result, 10 in the config'


def test_the_exit_code_is_0_only_if_all_are_complete(tmp_path, capsys):
    """With --configs, configs that were never started count too; what is no work directory does not."""
    made(tmp_path, **JUDGED)
    (tmp_path / 'out' / 'run' / 'latest').symlink_to(NEW)
    write(tmp_path / 'out' / 'figures' / 'a.txt', '')
    write(tmp_path / 'configs' / 'run.py', config_text())
    configs = ('--configs', str(tmp_path / 'configs'))
    for options in ((), configs):
        code, said = check(tmp_path, capsys, *options)
        assert (code, said.splitlines()[-1]) == (0, '1 run: 1 complete')
    write(tmp_path / 'configs' / 'other.py', config_text('other'))
    code, said = check(tmp_path, capsys, *configs)
    assert (code, said.splitlines()[-1]) == (1, '2 runs: 1 complete, 1 missing')


def test_a_log_reaches_programs_and_steers_no_terminal(tmp_path, capsys):
    """As JSON it is as it was; what a model wrote into it is shown with its control characters escaped."""
    made(tmp_path, logs_infer____out=traceback_of('ValueError: \x1b[2J'))
    _, said = check(tmp_path, capsys)
    assert r'ValueError: \x1b[2J' in said
    assert '\x1b' not in said
    code = main(['check', str(tmp_path / 'out'), '--json'])
    [entry] = json.loads(capsys.readouterr().out)['tables'][0]['rows']
    assert (code, entry['run'], entry['state'], entry['time']) == (1, 'run', 'failed', NEW)
    assert entry['logs'][0]['lines'][-1] == 'ValueError: \x1b[2J'


@pytest.mark.parametrize('folder', ['nothing', 'empty'])
def test_a_folder_without_runs_is_refused(tmp_path, folder, capsys):
    (tmp_path / 'empty').mkdir()
    assert main(['check', str(tmp_path / folder)]) == 2
    assert 'work director' in capsys.readouterr().err


COPIES = 'all n = 4 responses are one text for 8 of 8 questions: the samples are copies'
DIFFERENT = {'distinct': 4.0, 'copies': 0}


@pytest.mark.parametrize(
    ('health', 'detail'),
    [
        ({**DIFFERENT, 'warnings': [COPIES]}, COPIES),
        ({'truncated': 32}, '100.0 % cut off'),
        ({**DIFFERENT, 'states': {}}, ''),
    ],
    ids=['copies', 'cut off', 'nothing'],
)
def test_a_complete_run_may_have_a_remark(health, detail, tmp_path, capsys):
    """It is complete all the same, and the exit code is 0; table and summary say that there is more."""
    result = record()
    result['gpassk']['health'] |= health
    made(tmp_path, results____json=result)
    assert (found(tmp_path).state, found(tmp_path).detail) == (State.COMPLETE, detail)
    code, said = check(tmp_path, capsys)
    assert code == 0
    assert detail in said
    assert said.rstrip().endswith('1 complete (1 of them with a remark)' if detail else '1 run: 1 complete')
