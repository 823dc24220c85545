"""Runs that an earlier version began: it wrote `-` for each `.` of a model's abbreviation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import calls, config_text, predictions, record, run, traceback_of, write
from result_files import HALVES, THIRDS, block, write_result

from gpassk_opencompass.cli import main
from gpassk_opencompass.naming.manifest import Entry, ModelFacts, manifest_text
from gpassk_opencompass.results.read import collect
from gpassk_opencompass.runs.examine import examine
from gpassk_opencompass.runs.plan import planned_runs
from gpassk_opencompass.runs.state import Finding, State

NOW, EARLIER = 'Qwen2.5-7B_t0.3_l100', 'Qwen2-5-7B_t0-3_l100'
TIME = '20260101_000000'


def begun(folder: Path, abbr: str = EARLIER, **files: Any) -> Path:
    """A time directory of out/run with the config as `abbr` has it, and files by their kind."""
    place = folder / 'out' / 'run' / TIME
    write(place / 'configs' / f'{TIME}_1.py', config_text(abbr=abbr))
    for kind, content in files.items():
        suffix = '.out' if kind.startswith('logs') else '.json'
        write(place / kind.replace('_', '/') / abbr / f'd-run{suffix}', content)
    return place


def found(folder: Path, **model: Any) -> Finding:
    """The state of out/run for the config that this version writes."""
    path = write(folder / 'configs' / 'run.py', config_text(abbr=NOW, **model))
    return examine(planned_runs([path]).runs[0], folder / 'out' / 'run')


def test_a_complete_run_is_complete(tmp_path: Path) -> None:
    """Its result is that of the config: a name is no part of a signature."""
    place = begun(tmp_path, results=record())
    finding = found(tmp_path)
    assert finding.state is State.COMPLETE
    assert finding.results == (place / 'results' / EARLIER / 'd-run.json',)


def test_samples_are_counted_and_a_failure_is_shown(tmp_path: Path) -> None:
    """Under the name that they have."""
    begun(tmp_path, predictions=predictions(16))
    finding = found(tmp_path)
    assert (finding.state, finding.predictions, finding.resumable) == (State.PARTIAL, 16, True)
    begun(tmp_path / 'other', logs_infer=traceback_of('RuntimeError: full'))
    assert 'RuntimeError: full' in found(tmp_path / 'other').detail


def test_what_lies_under_the_name_of_today_counts_before_it(tmp_path: Path) -> None:
    """Somebody has begun anew there; an empty folder is no beginning."""
    begun(tmp_path, predictions=predictions(16))
    (tmp_path / 'out' / 'run' / TIME / 'predictions' / NOW).mkdir()
    assert found(tmp_path).predictions == 16
    begun(tmp_path, NOW, predictions=predictions(32))
    assert found(tmp_path).predictions == 32


def test_a_model_whose_name_has_no_point_is_looked_for_nowhere_else(tmp_path: Path) -> None:
    """Both versions call it alike."""
    begun(tmp_path, 'm_l100', predictions=predictions(16))
    path = write(tmp_path / 'configs' / 'run.py', config_text(abbr='m_l100'))
    finding = examine(planned_runs([path]).runs[0], tmp_path / 'out' / 'run')
    assert (finding.predictions, finding.earlier_names) == (16, frozenset())


@pytest.mark.slow
def test_gpassk_run_goes_on_under_the_name_that_the_samples_have(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No sample is drawn anew, nothing is moved, and it is said; then the run is complete."""
    place = begun(sweep, predictions=predictions(16))
    assert found(sweep).state is State.PARTIAL
    assert run() == 0
    [call] = calls(sweep)
    assert call['arguments'][call['arguments'].index('-r') + 1] == TIME
    assert [path.name for path in (place / 'predictions').iterdir()] == [EARLIER]
    assert [path.parent.name for path in place.glob('results/*/*.json')] == [EARLIER]
    assert f'goes on in {TIME}, under the name that an earlier version gave' in capsys.readouterr().out
    assert run() == 0
    assert len(calls(sweep)) == 1


@pytest.mark.slow
def test_a_run_that_starts_anew_has_the_name_of_today(sweep: Path) -> None:
    """Another setting: the earlier samples are of no use, and stay where they are."""
    begun(sweep, predictions=predictions(16))
    assert found(sweep, top_p=0.5).state is State.STALE
    assert run() == 0
    [result] = sweep.glob('out/run/*/results/*/*.json')
    assert result.parent.name == NOW
    assert '-r' not in calls(sweep)[0]['arguments']


@pytest.mark.slow
def test_every_other_setting_of_the_config_reaches_opencompass(sweep: Path) -> None:
    """What it is given differs from the config in the abbreviation alone."""
    begun(sweep, predictions=predictions(16))
    found(sweep)
    assert run() == 0
    given = Path(calls(sweep)[0]['arguments'][0])
    assert given.name == 'run.py'
    values: dict[str, Any] = {}
    exec(given.read_text(), values)
    asked: dict[str, Any] = {}
    exec((sweep / 'configs' / 'run.py').read_text(), asked)
    assert values['models'] == [{**asked['models'][0], 'abbr': EARLIER}]
    assert values['datasets'] == asked['datasets']


def entry(
    abbr: str, model: str, path: str = 'Qwen/Qwen2.5-7B', temperature: float = 0.3, **more: Any
) -> Entry:
    """A line of a manifest."""
    settings = {'temperature': temperature, 'max_out_len': 100}
    return Entry(f'{abbr}.py', 't.py', model, path, abbr, 'd', settings, 'b', (2,), 4, 24, 's', 'h', **more)


def saved(folder: Path, *entries: Entry) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'manifest.jsonl').write_text(manifest_text(entries))


def told(folder: Path) -> list[tuple[str, str]]:
    return [(result.model, result.model_abbr) for result in collect([folder]).results]


@pytest.mark.parametrize(
    'line',
    [entry(EARLIER, 'Qwen2-5-7B'), entry(NOW, 'Qwen2.5-7B', path='/models/x')],
    ids=['of the earlier version', 'of this version'],
)
def test_a_manifest_tells_what_the_model_is_called(tmp_path: Path, line: Entry) -> None:
    """That of the earlier version by the path, that of this one by the name."""
    write_result(tmp_path, EARLIER, THIRDS)
    assert told(tmp_path) == [('Qwen2-5-7B', 'Qwen2-5-7B_t0.3_l100')]
    saved(tmp_path / 'configs', line)
    assert told(tmp_path) == [('Qwen2.5-7B', NOW)]


def test_a_record_tells_what_the_model_is_called(tmp_path: Path) -> None:
    """By the path that its samples were drawn from; without any manifest."""
    path = write_result(tmp_path, EARLIER, THIRDS)
    written = json.loads(path.read_text())
    written['gpassk']['provenance'] = {'model': {'path': '/models/Qwen2.5-7B/'}}
    path.write_text(json.dumps(written))
    assert told(tmp_path) == [('Qwen2.5-7B', NOW)]


def test_a_manifest_of_two_models_of_one_file_name_tells_nothing(tmp_path: Path) -> None:
    """It might be either."""
    write_result(tmp_path, EARLIER, THIRDS)
    other = NOW.replace('Qwen2.5', 'Qwen2-5')
    saved(tmp_path / 'configs', entry(NOW, 'Qwen2.5-7B', 'a/x'), entry(other, 'Qwen2-5-7B', 'b/y'))
    [result] = collect([tmp_path]).results
    assert result.model_abbr == 'Qwen2-5-7B_t0.3_l100'
    assert result.manifest is not None
    assert result.manifest.path == 'b/y'


def test_a_manifest_of_another_model_does_not_rename_one(tmp_path: Path) -> None:
    """A name with a point is the model's own."""
    write_result(tmp_path, NOW, THIRDS)
    saved(tmp_path / 'configs', entry(NOW.replace('2.5', '2-5'), 'Qwen2-5-7B', 'b/y'))
    assert told(tmp_path) == [('Qwen2.5-7B', NOW)]


def test_a_record_of_another_model_is_not_renamed(tmp_path: Path) -> None:
    """Two models that differ in a point alone: each keeps its result, whichever manifest is there."""
    for model, counts, work in (('m.1', THIRDS, 'a'), ('m-1', HALVES, 'b')):
        path = write_result(tmp_path, f'{model}_t0.3_l100', counts, work=work)
        written = json.loads(path.read_text())
        written['gpassk']['provenance'] = {'model': {'path': f'org-{work}/{model}'}}
        path.write_text(json.dumps(written))
    saved(tmp_path / 'configs', entry('m.1_t0.3_l100', 'm.1', 'org-a/m.1'))
    found = {result.model: result.record['gpassk']['counts']['c'] for result in collect([tmp_path]).results}
    assert found == {'m.1': list(THIRDS), 'm-1': list(HALVES)}


def test_runs_of_both_versions_stand_under_one_name(tmp_path: Path) -> None:
    """Side by side in the table; the greedy run of the one beside the samples of the other."""
    write_result(tmp_path, EARLIER, THIRDS, work='a')
    write_result(tmp_path, NOW.replace('0.3', '1.0'), HALVES, work='b')
    write_result(tmp_path, 'Qwen2-5-7B_t0_l100', [c // 4 for c in THIRDS], n=1, work='c')
    greedy = entry('Qwen2.5-7B_t0_l100', 'Qwen2.5-7B', temperature=0.0)
    saved(tmp_path / 'configs', entry(NOW, 'Qwen2.5-7B'), greedy)
    assert main(['report', str(tmp_path), '-o', str(tmp_path / 'r'), '--only', 'tables']) == 0
    content: Mapping[str, Any] = json.loads((tmp_path / 'r' / 'results.json').read_text())
    assert set(content) == {NOW, NOW.replace('0.3', '1.0')}
    assert {facts['Greedy']['MATH500-L5'] is None for facts in content.values()} == {False}


def test_one_run_in_two_work_directories_counts_once(tmp_path: Path) -> None:
    """Begun anew with this version, the newer result counts."""
    write_result(tmp_path, EARLIER, THIRDS, work='a', time='20260101_000000')
    write_result(tmp_path, NOW, THIRDS, work='b', time='20260102_000000')
    saved(tmp_path / 'configs', entry(NOW, 'Qwen2.5-7B'))
    collected = collect([tmp_path])
    assert [result.path.parents[3].name for result in collected.results] == ['b']
    assert len(collected.older) == 1


def test_what_the_template_says_now_counts_before_what_is_stale(tmp_path: Path) -> None:
    """A config that it no longer gives keeps the facts of its time."""
    write_result(tmp_path, NOW, THIRDS)
    new = entry(NOW, 'Qwen2.5-7B', facts=ModelFacts(open_source=True))
    saved(tmp_path / 'configs', new, entry(NOW, 'Qwen2.5-7B', stale=True))
    [result] = collect([tmp_path]).results
    assert result.facts == ModelFacts(open_source=True)


def test_a_record_of_another_program_keeps_its_name(tmp_path: Path) -> None:
    """What is no name of a run is nobody's to change."""
    names = {'run': {'model': 'my-2-5 model', 'dataset': 'MATH500-L5', 'host': 'file'}}
    (tmp_path / 'a.gpassk.json').write_text(json.dumps({'gpassk': {**block(THIRDS, 4), **names}}))
    assert told(tmp_path) == [('my-2-5 model', 'my-2-5 model')]
