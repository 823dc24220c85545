"""`gpassk run`: which commands it starts, and what it makes of their end."""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import (
    behave,
    called,
    calls,
    config_text,
    record,
    run,
    write,
    write_configs,
)

from gpassk_opencompass import cli
from gpassk_opencompass.cli import main
from gpassk_opencompass.collect import collect
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.files import digest
from gpassk_opencompass.runs.command import read_options
from gpassk_opencompass.runs.plan import planned_runs
from gpassk_opencompass.sweep.folder import Entry, ModelFacts, manifest_text

pytestmark = pytest.mark.slow


def results(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in folder.glob(f'out/{name}/*/results/*/*.json')]


def test_every_config_gets_a_work_directory_of_its_name(sweep: Path) -> None:
    """And a result in it; a second command finds nothing to do."""
    write_configs(sweep, 'one', 'two')
    assert run() == 0
    assert called(sweep) == ['one', 'two']
    for name in ('one', 'two'):
        assert results(sweep, name) == [record(model=f'm-{name}', dataset=f'd-{name}')]
    assert run() == 0
    assert called(sweep) == ['one', 'two']


def test_only_what_failed_is_run_again(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A failed task is an exit code of 1 and the end of its log, though OpenCompass exits with 0."""
    write_configs(sweep, 'good', 'broken')
    assert run() == 1
    said = capsys.readouterr()
    assert 'broken: failed' in said.out
    assert 'RuntimeError: broken' in said.err
    assert 'failed with code 1' in said.err
    behave(sweep, 'broken', 'ok')
    assert run() == 0
    assert called(sweep) == ['broken', 'good', 'broken']


def test_a_command_that_fails_before_anything_is_a_failure(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no time directory then; the next command starts a new one."""
    write_configs(sweep, 'crash')
    assert run() == 1
    assert 'KeyError: crash' in capsys.readouterr().err
    assert main(['check', 'out']) == 1
    assert 'failed' in capsys.readouterr().out
    behave(sweep, 'crash', 'ok')
    assert run() == 0
    assert '-r' not in calls(sweep)[1]['arguments']


def test_a_run_goes_on_in_its_time_directory_with_the_workers_of_its_start(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number of workers decides which samples a shard has."""
    write_configs(sweep, 'broken')
    assert run('--', '--max-num-workers', '3', '--retry', '0') == 1
    behave(sweep, 'broken', 'ok')
    assert run('--', '--max-num-workers=5') == 0
    first, second = (call['arguments'] for call in calls(sweep))
    assert first[-4:] == ['--retry', '0', '--max-num-workers', '3']
    [time_dir] = sweep.glob('out/broken/2*')
    assert second[-4:] == ['--max-num-workers', '3', '-r', time_dir.name]
    assert f'goes on in {time_dir.name}, with --max-num-workers 3 as it was begun' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['-w', 'x'], 'give -w before the --'),
        (['-r'], 'what there is to resume is found for each run'),
        (['--reuse', 'latest'], 'what there is to resume is found for each run'),
        (['-a', 'vllm'], 'engine = … in the template'),
        (['--dry-run'], 'gpassk check says what is missing'),
        (['-m', 'viz'], 'allowed are all, infer, eval'),
        (['-m', 'nothing'], 'invalid choice'),
        (['--max-num-workers', '0'], 'at least 1'),
    ],
)
def test_options_that_would_mislead_are_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    """With the reason, before anything is started."""
    write_configs(sweep, 'ok')
    assert run('--', *options) == 2
    assert message in capsys.readouterr().err
    assert calls(sweep) == []


def test_a_changed_config_is_started_anew(sweep: Path) -> None:
    """Samples of other settings are never mixed with those of these; the old ones stay."""
    configs = write_configs(sweep, 'run')
    behave(sweep, 'run', 'ok')
    assert run() == 0
    (configs / 'run.py').write_text(config_text(temperature=0.5))
    assert run() == 0
    assert '-r' not in calls(sweep)[1]['arguments']
    assert len(results(sweep, 'run')) == 2


def test_a_changed_judge_takes_the_samples_as_they_are(sweep: Path) -> None:
    """The result of the other judge is put aside, not lost."""
    configs = write_configs(sweep, 'run')
    behave(sweep, 'run', 'ok')
    assert run() == 0
    (configs / 'run.py').write_text(config_text(judge='Qwen'))
    assert run() == 0
    assert '-r' in calls(sweep)[1]['arguments']
    assert results(sweep, 'run') == [record(judge='Qwen')]
    [aside] = sweep.glob('out/run/*/results/*/*.aside')
    assert json.loads(aside.read_text()) == record()


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (
            'import os\nllm_infos = [dict(path=os.sep)]\n',
            'is a template; expand it first with gpassk expand',
        ),
        ("llm_infos = [{'path': 'm'}]\nmodels = [1]\ndatasets = [1]\n", 'is a template; expand it first'),
        ("models = [{'abbr': 'm'}]\n", 'has no datasets, so it is no config of OpenCompass'),
        ('datasets = models = 1\nx = 1', None),
        ('x = 1\n', 'has no models and no datasets'),
    ],
)
def test_a_template_is_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str], text: str, message: str | None
) -> None:
    """It has to be expanded first; what cannot be read as data is left to OpenCompass."""
    write(sweep / 'configs' / 'crash.py', text)
    assert run() == (1 if message is None else 2)
    said = capsys.readouterr()
    assert (message or 'KeyError: crash') in said.err


@pytest.mark.parametrize(
    ('config', 'where'),
    [
        ("models = [{'type': 'SeededVLLM'}]\ndatasets = [{'type': 'd'}]\n", 'SeededVLLM'),
        (
            "models = [{'type': 'm'}]\n"
            "datasets = [{'type': 'd', 'eval_cfg': {'evaluator': {'type': 'GPassKEvaluator'}}}]\n",
            'GPassKEvaluator',
        ),
        (
            "models = [{'type': 'm'}]\n"
            "datasets = [{'type': 'd', 'infer_cfg': {'inferencer': {'type': 'SeededGenInferencer'}}}]\n",
            'SeededGenInferencer',
        ),
    ],
    ids=['model', 'evaluator', 'inferencer'],
)
def test_a_name_that_opencompass_would_not_find_is_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str], config: str, where: str
) -> None:
    """Before hours of generation end in a KeyError; the message has the name to write."""
    write(sweep / 'configs' / 'crash.py', config)
    assert run() == 2
    assert f"write type='gpassk_opencompass.{where}'" in capsys.readouterr().err


def test_a_name_beside_our_data_set_is_left_to_opencompass(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It imports the data set, and with it the evaluator, before it looks the name up."""
    evaluator = "'eval_cfg': {'evaluator': {'type': 'GPassKEvaluator'}}"
    text = f"datasets = [{{'type': 'gpassk_opencompass.LiveMathBenchDataset', {evaluator}}}]\n"
    write(sweep / 'configs' / 'crash.py', f"models = [{{'type': 'm'}}]\n{text}")
    run()
    assert 'does not find' not in capsys.readouterr().err


@pytest.mark.parametrize('behaviour', ['killed', 'killed-late'])
def test_a_task_that_dies_without_a_traceback_shows_its_own_log(
    sweep: Path, capsys: pytest.CaptureFixture[str], behaviour: str
) -> None:
    """Killed for memory, aborted by CUDA, refused by srun; what opencompass says of it comes after."""
    write_configs(sweep, behaviour)
    assert run() == 1
    said = capsys.readouterr()
    assert f'{behaviour}: failed' in said.out
    assert f'srun: error: node7: Killed (end of d-{behaviour}_1.out, which has no traceback)' in said.out
    assert f'd-{behaviour}_1.out\nloading\nsrun: error: node7: Killed' in said.err
    assert 'failed with code 137' in said.err


def test_samples_first_and_verdicts_later(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-m infer is done with all samples drawn; -m eval starts nothing without them."""
    write_configs(sweep, 'ok')
    assert run('--', '-m', 'eval') == 1
    assert calls(sweep) == []
    assert run('--', '-m', 'infer') == 0
    assert 'ok: partial' in capsys.readouterr().out
    assert run('--', '-m', 'infer') == 0
    assert run('--', '-m', 'eval') == 0
    assert [call['arguments'][3:5] for call in calls(sweep)] == [['-m', 'infer'], ['-m', 'eval']]
    assert main(['check', 'out']) == 0


def test_configs_that_the_template_no_longer_gives_are_left_out(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless they are named."""
    configs = write_configs(sweep, 'ok', 'old')
    behave(sweep, 'old', 'ok')
    entry = Entry('old.py', 't.py', 'm', 'm', 'm', 'd', {}, 'd', (2,), 4, None, 's', 'x', stale=True)
    write(configs / 'manifest.jsonl', manifest_text([entry]))
    assert run() == 0
    assert 'such as old.py' in capsys.readouterr().err
    assert called(sweep) == ['ok']
    assert main(['run', 'configs/old.py', '-w', 'out']) == 0
    assert called(sweep) == ['ok', 'old']


def test_a_work_directory_keeps_what_the_manifest_says(sweep: Path) -> None:
    """A report knows the model without --configs; what the template says later reaches complete runs, too."""

    def facts() -> ModelFacts:
        [result] = collect([sweep / 'out']).results
        assert result.manifest
        return result.manifest.facts

    configs = write_configs(sweep, 'ok')
    config = configs / 'ok.py'
    told = ('m', 'org/m', 'm-ok', 'd-ok', {'max_out_len': 9}, 'd', (2, 4), 4, None)
    sums = (planned_runs([config]).runs[0].signature or '', digest(config.read_bytes()))
    for known in (ModelFacts(o1_like=True), ModelFacts(o1_like=True, parameters='7B')):
        entry = Entry('ok.py', 't.py', *told, *sums, facts=known)
        (configs / 'manifest.jsonl').write_text(manifest_text([entry]))
        assert run() == 0
        assert facts() == known
    assert called(sweep) == ['ok']
    config.write_text(config.read_text() + '# edited\n')
    (configs / 'manifest.jsonl').write_text(manifest_text([replace(entry, facts=ModelFacts())]))
    assert run() == 0
    assert facts() == known, 'the line is not of the config as it is'


def test_two_configs_of_one_name_are_refused(tmp_path: Path) -> None:
    """They would share a work directory."""
    first, second = (write(tmp_path / folder / 'run.py', config_text()) for folder in 'ab')
    with pytest.raises(InputError, match='have one name'):
        planned_runs([first, second])
    assert len(planned_runs([first, tmp_path / 'a']).runs) == 1


@pytest.mark.parametrize('text', [None, 'models = ['])
def test_a_config_that_cannot_be_read_is_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str], text: str | None
) -> None:
    """Before anything is started."""
    write_configs(sweep, 'ok')
    if text is not None:
        write(sweep / 'configs' / 'wrong.py', text)
    assert main(['run', 'configs/ok.py', 'configs/wrong.py']) == 2
    assert 'wrong.py' in capsys.readouterr().err
    assert calls(sweep) == []


def test_without_opencompass_the_pip_line_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is an extra."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'executable', str(tmp_path / 'python'))
    monkeypatch.setenv('PATH', str(tmp_path))
    write_configs(tmp_path, 'ok')
    assert run() == 2
    assert 'pip install "gpassk_opencompass[opencompass]"' in capsys.readouterr().err


def test_a_shortened_option_that_is_not_passed_on_is_refused() -> None:
    """By its whole name."""
    with pytest.raises(InputError, match='-w / --work-dir is not passed on'):
        read_options(['--work', 'elsewhere'])
    assert read_options(['--max-num=3']).workers == 3


def test_a_manifest_is_no_config(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is read with the folder that it lies in."""
    configs = write_configs(sweep, 'ok')
    write(configs / 'manifest.jsonl', '')
    assert main(['run', 'configs/manifest.jsonl', '-w', 'out']) == 2
    said = capsys.readouterr().err
    assert 'configs/manifest.jsonl is no config' in said
    assert 'did you mean gpassk run configs?' in said
    assert called(sweep) == []


def test_of_runs_that_fail_alike_each_has_a_line(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The log of the first is shown; of the others where it lies, and the reason once more at the end."""
    names = ('a', 'b', 'c')
    write_configs(sweep, *names)
    for name in names:
        behave(sweep, name, 'broken')
    write_configs(sweep, 'crash')
    assert run() == 1
    said = capsys.readouterr()
    assert said.err.count('Traceback') == 1
    for name in (*names, 'crash'):
        [line] = [line for line in said.out.splitlines() if f'] {name}: failed' in line]
        assert ('for the same reason as a' in line) == (name in 'bc')
        assert [line for line in said.err.splitlines() if line.startswith('--- ') and f'/{name}/' in line]
    assert len(said.err.splitlines()) < 15
    assert (
        'a failed: RuntimeError: broken; 0 of 32 predictions\n… and 2 more for the same reason\n' in said.out
    )


PAGE = (Path(__file__).resolve().parents[1] / 'docs' / 'running.md').read_text(encoding='utf-8')
COMMANDS = re.findall(r'^gpassk (.*)$', PAGE, re.MULTILINE)


@pytest.mark.parametrize('line', COMMANDS)
def test_the_page_on_running_shows_what_is_understood(line: str) -> None:
    """Each command line is parsed, and what it passes on is accepted."""
    own, _, rest = line.partition(' | ')[0].partition(' -- ')
    name, *arguments = shlex.split(own, comments=True)
    cli.read_options(name, arguments)
    if name == 'run':
        read_options(shlex.split(rest, comments=True))
