"""`gpassk run --emit kubernetes`: manifests that the schema of Kubernetes allows, with all sessions."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import config_text, install, run, write_configs

from gpassk_opencompass.runs.clusters.kubernetes import LARGEST, Volume, label, manifest
from gpassk_opencompass.runs.clusters.work import Work

yaml = pytest.importorskip('yaml')
EMIT = ('--emit', 'kubernetes', '--image', 'registry/gpassk:1', '--claim', 'shared')
LABEL = re.compile(r'[a-z]([a-z0-9-]{0,61}[a-z0-9])?')
VERSION = '1.33'


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs of one model on the CPU, and one of a model of 8 GPUs."""
    monkeypatch.chdir(tmp_path)
    install(tmp_path, monkeypatch)
    write_configs(tmp_path, 'ok', 'ok-2')
    text = config_text('大模型-2', path='org/大', run_cfg={'num_gpus': 8})
    (tmp_path / 'configs' / '大模型-2.py').write_text(text)
    return tmp_path


def emitted(capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    """The documents that are printed."""
    assert run(*EMIT, *options) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


def test_each_need_is_a_job_with_an_index_a_session(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GPUs, the volume, the limits; and what each index does is in the ConfigMap beside it."""
    told, job, told_8, job_8 = emitted(capsys, '--jobs', '2')
    assert [document['kind'] for document in (told, job, told_8, job_8)] == ['ConfigMap', 'Job'] * 2
    assert job['spec']['completions'] == job_8['spec']['completions'] == 1
    assert job['spec']['completionMode'] == 'Indexed'
    [container], [container_8] = (one['spec']['template']['spec']['containers'] for one in (job, job_8))
    assert 'resources' not in container
    assert container_8['resources'] == {'limits': {'nvidia.com/gpu': 8}}
    assert container['image'] == 'registry/gpassk:1'
    assert {'name': 'shared', 'mountPath': str(sweep)} in container['volumeMounts']
    claims = [volume.get('persistentVolumeClaim') for volume in job['spec']['template']['spec']['volumes']]
    assert {'claimName': 'shared'} in claims
    [work] = json.loads(told['data']['works.json'])
    assert work['runs'] == ['ok-2', 'ok']
    assert work['words'][:3] == ['run', str(sweep / 'configs/ok-2.py'), str(sweep / 'configs/ok.py')]
    [work] = json.loads(told_8['data']['works.json'])
    assert work['runs'] == ['大模型-2']
    names = {document['metadata']['name'] for document in (told, told_8)}
    assert len(names) == 2
    assert all(LABEL.fullmatch(name) for name in names)


def test_the_manifest_is_what_the_api_takes(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the strict JSON schema of Kubernetes, which refuses unknown fields (pip: kubernetes-validate)."""
    validate = pytest.importorskip('kubernetes_validate').validate
    documents = emitted(capsys)
    for document in documents:
        assert validate(document, VERSION, strict=True) == VERSION
    documents[1]['spec']['completionmode'] = 'Indexed'
    with pytest.raises(Exception, match='completionmode'):
        validate(documents[1], VERSION, strict=True)


def test_pods_keep_what_they_draw_where_the_command_says(
    sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home directory is another one in a pod; which samples are taken is told, too."""
    monkeypatch.setenv('HOME', str(sweep / 'home'))
    monkeypatch.setenv('GPASSK_SAMPLES', '~/samples')
    monkeypatch.setenv('GPASSK_VERDICTS', 'verdicts')
    monkeypatch.setenv('GPASSK_REUSE', 'none')
    for job in emitted(capsys)[1::2]:
        [container] = job['spec']['template']['spec']['containers']
        told = {one['name']: one.get('value') for one in container['env']}
        assert told['GPASSK_SAMPLES'] == str(sweep / 'home/samples')
        assert told['GPASSK_VERDICTS'] == str(sweep / 'verdicts')
        assert told['GPASSK_REUSE'] == 'none'


@pytest.mark.parametrize('name', ['GPASSK_SAMPLES', 'GPASSK_VERDICTS'])
def test_a_store_that_would_be_gone_with_its_pod_is_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It has to lie on the volume."""
    monkeypatch.setenv(name, '../elsewhere')
    assert run(*EMIT) == 2
    assert f'${name} is ' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('store', 'why'),
    [
        ('/elsewhere/verdicts', 'is not below {mount}, where the pods see the volume'),
        ('../verdicts', 'is not below {mount}, where the pods see the volume'),
        ('~/verdicts', 'lies in the home directory, which is another one in a pod'),
    ],
)
def test_a_store_of_a_judge_that_would_be_gone_with_its_pod_is_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, store: str, why: str
) -> None:
    """Wherever in a config it stands; one on the volume, or that of the variable, is kept."""
    monkeypatch.setenv('HOME', str(sweep / 'home'))  # of this machine, and below the mount
    llm = {'type': 'llm', 'model': 'j', 'urls': ['http://j']}

    def judged(place: str) -> None:
        judge = {'type': 'cascade', 'first': {'type': 'rule'}, 'second': {**llm, 'store': place}}
        text = config_text('ok').replace("'model_name': ''", f"'judge': {judge!r}")
        (sweep / 'configs' / 'ok.py').write_text(text)

    for place in ('verdicts', str(sweep / 'verdicts')):
        judged(place)
        assert emitted(capsys)
    judged(store)
    assert run(*EMIT) == 2
    said = capsys.readouterr()
    assert f'store = {store!r} of a judge {why.format(mount=sweep)}: its verdicts would be gone' in said.err
    assert said.out == ''
    monkeypatch.setenv('GPASSK_VERDICTS', 'verdicts')
    assert emitted(capsys)


def test_what_is_complete_is_left_out(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is printed, and nothing run, where all is done."""
    assert run() == 0
    capsys.readouterr()
    assert run(*EMIT) == 0
    assert capsys.readouterr().out == ''


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['--emit', 'kubernetes', '--image', 'x'], 'needs --image IMAGE and --claim NAME'),
        ([*EMIT[:-1], 'My_Claim'], 'expected the name of a claim'),
        ([*EMIT[:-3], 'a b', '--claim', 'shared'], 'expected the name of an image'),
        ([*EMIT, '--mount', '/elsewhere'], 'is not below /elsewhere'),
        (['--image', 'x'], '--image is for --emit kubernetes'),
        (['--slurm', 'p', '--claim', 'x'], '--claim is for --emit kubernetes'),
        (['--slurm', ''], 'is a variable empty?'),
        (['--ray', ''], 'is a variable empty?'),
        (['--detach'], '--detach is for --slurm'),
        (['--sbatch', 'time=1'], '--sbatch is for --slurm'),
        (['--slurm', 'p', '--sbatch', 'array=1-2'], 'array, name and output'),
        (['--slurm', 'p', '--sbatch', "'"], 'No closing quotation'),
        (['--slurm', 'p', '--', '--slurm', '-p', 'x'], 'have each job submit jobs itself'),
        (['--slurm', 'p', '--', '--dlc'], 'have each job submit jobs itself'),
    ],
)
def test_options_that_do_not_fit_are_refused(
    sweep: Path, capsys: pytest.CaptureFixture[str], options: Sequence[str], message: str
) -> None:
    """Before anything is submitted or printed."""
    assert run(*options) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.out == ''


@pytest.mark.parametrize('name', ['模型', 'a' * 300, '-', '9.5@x_y', 'İ', 'Ünïcode.Model'])
def test_any_name_becomes_a_label_of_dns(name: str) -> None:
    """Short, ASCII, and another one for other content; pods add '-' and an index to it."""
    first, second = label(name, 'x'), label(name, 'y')
    assert LABEL.fullmatch(first)
    assert len(first) <= 50
    assert first != second


def test_more_sessions_than_a_config_map_holds_are_several_jobs(tmp_path: Path) -> None:
    """Each session once, in ConfigMaps below a MiB, with names of their own."""
    words = ('run', *(f'{tmp_path}/configs/{"x" * 150}{number}.py' for number in range(100)))
    works = [
        Work(f's{number}', ('x',), (f'{tmp_path}/out/x',), words, str(tmp_path)) for number in range(120)
    ]
    text = manifest(works, tmp_path / 'out', Volume('i', 'c', tmp_path), None)
    documents = list(yaml.load_all(text, getattr(yaml, 'CSafeLoader', yaml.SafeLoader)))
    held = [json.loads(one['data']['works.json']) for one in documents if one['kind'] == 'ConfigMap']
    assert sorted(work['session'] for part in held for work in part) == sorted(work.session for work in works)
    assert all(len(one['data']['works.json'].encode()) <= LARGEST for one in documents[::2])
    assert len({one['metadata']['name'] for one in documents}) == len(held) > 1


@pytest.mark.parametrize(
    'text', ['yes', 'null', '1e3', '\x85\u2028\ufeff', '"\\', '😀', 'a: b #', '', '- x', '~']
)
def test_texts_are_read_as_they_were(tmp_path: Path, text: str) -> None:
    """By another program's reader of YAML."""
    works = [Work(text, ('x',), (f'{tmp_path}/x',), ('run', text), str(tmp_path))]
    told, _ = yaml.safe_load_all(manifest(works, tmp_path, Volume('yes', 'c', tmp_path), None))
    assert json.loads(told['data']['works.json'])[0]['words'] == ['run', text]
