"""`gpassk run` and the servers of judges: what is missing is told before sampling, no GPU is shared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import behave, called, calls, config_text, run, write
from scripted_gpus import install, uuid

from gpassk_opencompass.cli import main
from gpassk_opencompass.sweep.checks import Checked

pytestmark = pytest.mark.slow

COMMAND = f'{sys.executable} {{model}} --port {{port}}'


def write_judged(
    folder: Path, name: str, judge: dict[str, Any] | None, *, gpus: int = 1, **more: Any
) -> None:
    """A config of a model on GPUs, with a judge that is started for it."""
    text = config_text(name, path=f'org/{name}', run_cfg={'num_gpus': gpus})
    if judge is not None:
        judge_serve = {'path': 'org/judge', 'serve': {'command': COMMAND}, **judge}
        text = text.replace("'model_name': ''", f"'model_name': '', 'judge_serve': {judge_serve!r}")
    for field, value in more.items():
        text += f'{field} = {value!r}\n'
    write(folder / 'configs' / f'{name}.py', text)
    behave(folder, name, 'ok')


def told(folder: Path) -> list[tuple[str, bool, str, str]]:
    """Of each call in its order: the config, whether it only samples, the model's GPUs, and the judge's."""
    return [
        (
            call['name'],
            'infer' in call['arguments'],
            call['gpus'].get('CUDA_VISIBLE_DEVICES', ''),
            call['gpus'].get('GPASSK_JUDGE_GPUS', ''),
        )
        for call in calls(folder)
    ]


@pytest.fixture
def eight(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to type commands in, on a machine of eight GPUs."""
    install(sweep, monkeypatch, 8)
    return sweep


@pytest.mark.parametrize('named', ['4,5,6,7', ','.join(uuid(number)[:12] for number in (4, 5, 6, 7))])
def test_no_model_is_loaded_where_a_judge_has_gpus_of_its_own(eight: Path, named: str) -> None:
    """Five models on one GPU each: they get 0 to 3, in turn."""
    for name in 'abcde':
        write_judged(eight, name, {'tp': 4, 'gpus': named})
    assert run() == 0
    used = [gpu for _, _, gpus, _ in told(eight) for gpu in gpus.split(',')]
    assert sorted(set(used)) == ['0', '1', '2', '3']
    assert {judge for *_, judge in told(eight)} == {''}
    assert [only_samples for _, only_samples, *_ in told(eight)] == 5 * [False]


def test_a_judge_without_gpus_of_its_own_judges_when_all_is_sampled(eight: Path) -> None:
    """Models have all GPUs before, the judge the first ones after; a run without that judge is as ever."""
    for name, gpus in (('a', 8), ('b', 4), ('c', 4)):
        write_judged(eight, name, {'tp': 4}, gpus=gpus)
    write_judged(eight, 'plain', None)
    assert run() == 0
    found = told(eight)
    sampling, judging = found[:4], found[4:]
    assert sorted((name, only) for name, only, *_ in sampling) == [
        *(('a', True), ('b', True), ('c', True)),
        ('plain', False),
    ]
    assert {name: len(gpus.split(',')) for name, _, gpus, _ in sampling} == {
        'a': 8,
        'b': 4,
        'c': 4,
        'plain': 1,
    }
    assert sorted(judging) == [(name, False, '', '0,1,2,3') for name in 'abc']
    assert run() == 0
    assert len(calls(eight)) == 7


def test_two_judges_in_one_sweep_have_different_gpus(eight: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their servers last until the end; of a third one that does not fit beside them it is said."""
    for name, judge in (('a', 'org/j'), ('b', 'org/k'), ('c', 'org/l')):
        write_judged(eight, name, {'tp': 3, 'path': judge})
    assert run() == 1
    said = capsys.readouterr().out
    assert (
        'c: missing: judge_serve needs 3 GPUs, and judges of other runs have 6 of 8: run the configs' in said
    )
    assert {(name, judge) for name, _, _, judge in told(eight) if judge} == {('a', '0,1,2'), ('b', '3,4,5')}
    assert 'c' not in called(eight)


@pytest.mark.parametrize(
    ('judge', 'reason'),
    [
        (
            {'serve': {'command': 'no-such-judge {model} --port {port}'}, 'tp': 0},
            "judge_serve.serve.command begins with 'no-such-judge', and there is no such program on $PATH",
        ),
        (
            {'serve': {'command': 'bin/judge --port {port}'}},
            "judge_serve.serve.command begins with 'bin/judge', a relative path",
        ),
        ({'serve': {'command': f'{COMMAND} $NO_SUCH_VARIABLE'}}, 'judge_serve: serve has $NO_SUCH_VARIABLE'),
        ({'tp': 16}, 'judge_serve needs 16 GPUs, and 8 may be used'),
        ({'gpus': '9'}, 'judge_serve.gpus: 9 is no GPU of this machine; there are 0 ('),
        ({'tp': 4, 'gpus': '6,7'}, "judge_serve.gpus = '6,7': tp × pp = 4, so it takes 4 GPUs"),
        ({'tpp': 4}, "judge_serve has ['tpp']"),
    ],
)
def test_a_judge_that_cannot_be_started_costs_no_sample(
    eight: Path, capsys: pytest.CaptureFixture[str], judge: dict[str, Any], reason: str
) -> None:
    """The other runs go on; what only samples asks for no judge."""
    write_judged(eight, 'judged', judge)
    write_judged(eight, 'plain', None)
    assert run() == 1
    assert f'judged: missing: {reason}' in capsys.readouterr().out
    assert called(eight) == ['plain']
    assert run('--', '-m', 'infer') == 0
    assert called(eight) == ['plain', 'judged']


@pytest.mark.parametrize('where', ['options', 'config'])
def test_a_judge_on_other_machines_is_not_looked_for_here(eight: Path, where: str) -> None:
    """A cluster has its programs and GPUs."""
    elsewhere = {'runner': {'type': 'opencompass.runners.SlurmSequentialRunner'}}
    judge = {'serve': {'command': 'no-such-judge --port {port}'}}
    write_judged(eight, 'a', judge, **({'eval': elsewhere} if where == 'config' else {}))
    assert run(*(['--', '--slurm'] if where == 'options' else [])) == 0
    assert {judge for *_, judge in told(eight)} == {''}


def test_expansion_says_that_a_judge_is_not_here(
    sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and the configs are written: they may be for another machine, of which --no-data-check tells."""
    lines = [
        "llm_infos = ['org/m']",
        'temperatures = [0.3, 1.0]',
        'max_out_lens = [64]',
        'greedy = False',
        "judge_serve = dict(path='j', serve=dict(command='no-such-judge --port {port}'))",
    ]
    template = write(sweep / 'template.py', '\n'.join(lines))
    monkeypatch.setattr('gpassk_opencompass.sweep.checks.check', lambda runs: Checked([], []))
    assert main(['expand', str(template)]) == 0
    said = capsys.readouterr()
    assert said.err.count("judge_serve.serve.command begins with 'no-such-judge'") == 1
    assert said.out.startswith('2 configs')
    assert main(['expand', str(template), '--no-data-check']) == 0
    assert 'no-such-judge' not in capsys.readouterr().err
