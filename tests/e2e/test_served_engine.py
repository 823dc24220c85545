"""`engine = 'serve'` and `judge_serve` in OpenCompass's runs: deaths, kills, one server for several runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hosts import import_plugin, results_of
from started_servers import Script, until
from sweeping import dump

from gpassk_opencompass.demo import QUESTIONS, VERSION

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('started')]

N, BATCH = 4, 8
SAMPLES = 8 * N


def template(script: Script, *lines: str, **serve: Any) -> str:
    """The demo's sums in English, asked of a server that is started."""
    return '\n'.join(
        [
            "engine = 'serve'",
            f'serve = {script.serve(**serve)!r}',
            f"llm_infos = [dict(path='org/m', name='m', tp=0, batch_size={BATCH})]",
            'temperatures, max_out_lens, greedy = [1.0], [40], False',
            f'k_lists, n = [[2, 4]], {N}',
            f'dataset_path, version = {QUESTIONS!r}, {VERSION!r}',
            "dataset_splits, dataset_languages = ['ADD'], ['en']",
            *lines,
        ]
    )


def configs_of(folder: Path, text: str) -> list[Path]:
    folder.mkdir()
    assert dump(folder, text) == 0
    return sorted((folder / 'configs').glob('*.py'))


def predictions(work_dir: Path) -> dict[int, str]:
    """Seed → response of the finished samples."""
    rows: dict[int, str] = {}
    for file in work_dir.glob('*/predictions/*/*.json'):
        for row in json.loads(file.read_text()).values():
            assert row['sample']['seed'] not in rows
            rows[row['sample']['seed']] = row['prediction']
    return rows


@pytest.fixture
def script(tmp_path):
    """A scripted server, of which nothing may be left."""
    found = Script(tmp_path / 'script')
    yield found
    until(lambda: not found.processes)


@pytest.fixture(scope='module')
def undisturbed(forks, tmp_path_factory):
    """What a run gives whose server lives."""
    folder = tmp_path_factory.mktemp('undisturbed')
    script = Script(folder / 'script')
    [config] = configs_of(folder / 'template', template(script))
    forks.opencompass(config, folder / 'out')
    rows = predictions(folder / 'out')
    assert len(rows) == len(script.replied) == SAMPLES
    assert {row['seed'] for row in script.replied} == set(rows)
    [log] = folder.glob('out/*/logs/server/*.log')
    assert 'arguments: ' in log.read_text()
    [result] = results_of(folder / 'out')
    assert result['gpassk']['provenance']['servers'][0]['model'] == 'm'
    until(lambda: not script.processes)
    return rows


def test_a_death_ends_the_run_with_the_end_of_the_log(forks, script, undisturbed, tmp_path):
    """It goes on from there with more requests at a time, not with another type of the weights."""
    script.set('lives', '[13]')

    def run(arguments: str, *options: str) -> tuple[int, str]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        [config] = configs_of(folder, template(script, arguments=arguments))
        copy = forks.start('opencompass', config, '-w', tmp_path / 'out', *options, folder=folder)
        return copy.wait(), copy.said

    code, said = run('--max-num-seqs 8')
    assert code != 0
    assert "the server of 'm' was killed by signal 9 (SIGKILL)" in said
    until(lambda: not script.processes)
    before = len(script.replied)
    assert 'was drawn with model.serve.command' in run('--dtype half', '-r')[1]
    assert len(script.replied) == before
    assert run('--max-num-seqs 9', '-r')[0] == 0
    assert predictions(tmp_path / 'out') == undisturbed
    assert len(script.replied) - before <= SAMPLES - BATCH


def test_a_sweep_has_one_server_for_its_model_and_one_for_its_judge(forks, script, tmp_path):
    judge = Script(tmp_path / 'judge')
    judge.set('reply', r'\boxed{yes}')
    more = [
        f'judge_serve = { {"path": "judges/j", "serve": judge.serve()}!r}',
        "judge = dict(type='llm', canaries=False, prompts='own', accept_equal=False)",
        'max_out_lens = [40, 41, 42]',
    ]
    configs = configs_of(tmp_path / 'template', template(script, *more))
    assert len(configs) == 3
    run = forks.start('gpassk', 'run', *configs, '-w', tmp_path / 'out', folder=tmp_path / 'template')
    assert run.wait() == 0, run.said
    for name in configs:
        [result] = results_of(tmp_path / 'out' / name.stem)
        assert result['accuracy'] == 100
    assert (len(script.starts), len(judge.starts)) == (1, 1)
    assert len(script.replied) == 3 * SAMPLES
    until(lambda: not judge.processes)
