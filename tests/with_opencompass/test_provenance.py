"""What samples are drawn with is on record, and a resume or an evaluation with anything else is refused."""

from __future__ import annotations

import json
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from hosts import import_plugin

from gpassk_opencompass import IncompleteError, InputError
from gpassk_opencompass.files import PROVENANCE

provenance = import_plugin('.provenance')
weights = import_plugin('.weights')
asked = import_plugin('.rows')
Sample = import_plugin('.handover').Sample

ENTRY = {
    'type': 'gpassk_opencompass.SeededVLLM',
    'abbr': 'm',
    'path': 'org/m',
    'random_seed': 42,
    'generation_kwargs': {'temperature': 1.0, 'max_tokens': 8},
    'key': 'sk-secret',
    'batch_size': 8,
    'model_kwargs': {'tensor_parallel_size': 2, 'dtype': 'bfloat16'},
}
BEGUN = provenance.Provenance(provenance.Task(ENTRY, {}).model_settings, {}, {'torch': '2.13.0'}, 'then')


def begin(folder: Path, **changes: Any) -> Any:
    """Claim a folder of predictions for the model with other settings."""
    model = provenance.Task({**ENTRY, **changes}, {}).model_settings
    return provenance.claim(folder, replace(BEGUN, model=model, created='now'))


@pytest.mark.parametrize(
    ('changes', 'named'),
    [
        ({'path': 'org/other'}, r"model\.path = 'org/m', and now has 'org/other'"),
        ({'random_seed': 43}, r'model\.random_seed = 42, and now has 43'),
        (
            {'generation_kwargs': {'temperature': 0.5, 'max_tokens': 8}},
            r'generation_kwargs\.temperature = 1\.0',
        ),
        ({'generation_kwargs': {'temperature': 1.0}}, r'max_tokens = 8, and now has nothing'),
        ({'model_kwargs': {'tensor_parallel_size': 2, 'dtype': 'float16'}}, r'model_kwargs\.dtype'),
        ({'meta_template': {'round': []}}, r'meta_template = nothing'),
    ],
)
def test_a_run_goes_on_only_with_what_it_began_with(
    tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    """What differs is named, with what it was and is; the file stays as it was."""
    begin(tmp_path)
    before = (tmp_path / PROVENANCE).read_bytes()
    assert begin(tmp_path).created == 'now'
    with pytest.raises(IncompleteError, match=f'this run began with .*{named}'):
        begin(tmp_path, **changes)
    assert (tmp_path / PROVENANCE).read_bytes() == before


@pytest.mark.parametrize(
    'changes',
    [
        {'batch_size': 1},
        {'run_cfg': {'num_gpus': 8}},
        {'model_kwargs': {'tensor_parallel_size': 8, 'dtype': 'bfloat16'}},
        {'key': 'sk-another', 'openai_api_base': 'http://elsewhere', 'retry': 9},
    ],
)
def test_what_chooses_no_sample_may_change(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Where and how fast a model runs; and no key is written down."""
    begin(tmp_path)
    begin(tmp_path, **changes)
    assert 'secret' not in (tmp_path / PROVENANCE).read_text()


def test_another_engine_or_other_weights_are_refused(tmp_path: Path) -> None:
    """By package and by file."""
    provenance.claim(tmp_path, replace(BEGUN, files={'path': {'config.json': 'a'}}))
    for changed, named in (
        ({'versions': {'torch': '2.14.0'}}, r"versions\.torch = '2\.13\.0', and now has '2\.14\.0'"),
        ({'files': {'path': {'config.json': 'b'}}}, r"files\.path\.config\.json = 'a', and now has 'b'"),
    ):
        with pytest.raises(IncompleteError, match=named):
            provenance.claim(tmp_path, replace(BEGUN, **{'files': {'path': {'config.json': 'a'}}, **changed}))


def test_a_run_goes_on_only_with_the_values_that_its_server_was_started_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that its command line takes from the environment, but for keys; no value is written down."""
    command = 'vllm serve $CHECKPOINT --port {port} --api-key $MY_KEY'
    entry = {'type': 'gpassk_opencompass.SeededServed', 'path': 'm', 'serve': {'command': command}}
    task = provenance.Task(entry, {})

    def begun() -> Any:
        return provenance.claim(tmp_path, provenance.provenance_of(task, object()))

    monkeypatch.setenv('CHECKPOINT', '/checkpoints/step-1')
    first = begun()
    monkeypatch.setenv('MY_KEY', 'another')
    assert begun() == first
    monkeypatch.setenv('CHECKPOINT', '/checkpoints/step-2')
    with pytest.raises(IncompleteError, match=r'this run began with files\.serve\.\$CHECKPOINT'):
        begun()
    assert 'step' not in (tmp_path / PROVENANCE).read_text()


def test_weights_that_a_run_downloads_itself_do_not_refuse_its_next_task(tmp_path: Path) -> None:
    """A server, or a model that is loaded late, brings them after the first task has begun."""
    begun = provenance.claim(tmp_path, replace(BEGUN, created='first'))
    later = replace(BEGUN, files={'path': {'commit': 'abc'}}, created='second')
    assert provenance.claim(tmp_path, later) == begun


def test_of_runs_that_begin_at_once_one_writes_and_the_others_compare(tmp_path: Path) -> None:
    """Twenty tasks of two seeds in one folder: those of one seed go on, the others are refused."""

    def attempt(number: int) -> int | None:
        try:
            return int(begin(tmp_path, random_seed=number % 2).model['random_seed'])
        except IncompleteError:
            return None

    with ThreadPoolExecutor(20) as pool:
        outcomes = list(pool.map(attempt, range(20)))
    winner = json.loads((tmp_path / PROVENANCE).read_text())['model']['random_seed']
    assert outcomes == [winner if number % 2 == winner else None for number in range(20)]
    assert [path.name for path in tmp_path.iterdir()] == [PROVENANCE]


def test_a_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is made only where there is none."""

    def no_links(source: Path, target: Path) -> None:
        raise PermissionError(1, 'Operation not permitted')

    monkeypatch.setattr(os, 'link', no_links)
    begin(tmp_path)
    begin(tmp_path)
    with pytest.raises(IncompleteError, match='random_seed'):
        begin(tmp_path, random_seed=1)


@pytest.mark.parametrize('damage', ['', '{"model": {}}', '[' * 100_000, '[]'])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    """Nobody knows then what the predictions were drawn with."""
    (tmp_path / PROVENANCE).write_text(damage)
    with pytest.raises(IncompleteError, match=r'run\.provenance cannot be read'):
        begin(tmp_path)


def test_predictions_whose_settings_nothing_tells_are_not_gone_on_with(tmp_path: Path) -> None:
    """They lie beside a seal or a resume mark."""
    for name in ('bench_0.seal', 'tmp_bench.samples'):
        (tmp_path / name).mkdir(parents=True)
        with pytest.raises(IncompleteError, match=r'run\.provenance of this run.* was removed'):
            begin(tmp_path)
        (tmp_path / name).rmdir()
    begin(tmp_path)


def test_local_files_are_known_by_their_content(tmp_path: Path) -> None:
    """Weights above 1 MiB by size, beginning, middle and end; a README is none of the model."""
    (tmp_path / 'model.safetensors').write_bytes(bytes(3 << 20))
    (tmp_path / 'config.json').write_text('{}')

    def files() -> Any:
        return weights.files_of({'path': str(tmp_path), 'tokenizer_path': 'not/there'})

    first = files()
    assert set(first) == {'path'}
    assert set(first['path']) == {'model.safetensors', 'config.json'}
    (tmp_path / 'README.md').write_text('news')
    os.utime(tmp_path / 'config.json', (1, 1))
    assert files() == first
    for place in (0, 3 << 19, (3 << 20) - 1):
        content = bytearray(3 << 20)
        content[place] = 1
        (tmp_path / 'model.safetensors').write_bytes(content)
        assert files()['path']['model.safetensors'] != first['path']['model.safetensors']
    (tmp_path / 'config.json').write_text('{"rope_theta": 1}')
    assert files()['path']['config.json'] != first['path']['config.json']


def test_a_model_of_the_hub_is_known_by_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that this machine's cache has for the revision."""
    commit = '0123456789abcdef0123456789abcdef01234567'
    repo = tmp_path / 'models--org--m'
    (repo / 'snapshots' / commit).mkdir(parents=True)
    (repo / 'snapshots' / commit / 'config.json').write_text('{}')
    (repo / 'refs').mkdir()
    (repo / 'refs' / 'v2').write_text(commit)
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE', str(tmp_path))
    settings = {'path': 'org/m', 'model_kwargs': {'revision': 'v2'}}
    assert weights.files_of(settings) == {'path': {'commit': commit}}
    assert weights.files_of({'path': 'gpt 4o: mini'}) == {}


def test_lmdeploy_has_its_revision_and_adapters_in_its_engine_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit is that of the revision, not of main; an adapter is known by its files, or not at all."""
    commits = {'main': 'a' * 40, 'v2': 'b' * 40}
    for revision, commit in commits.items():
        snapshot = tmp_path / 'hub' / 'models--org--m' / 'snapshots' / commit
        snapshot.mkdir(parents=True)
        (snapshot / 'config.json').write_text('{}')
        reference = tmp_path / 'hub' / 'models--org--m' / 'refs' / revision
        reference.parent.mkdir(exist_ok=True)
        reference.write_text(commit)
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE', str(tmp_path / 'hub'))
    adapter = tmp_path / 'adapter'
    adapter.mkdir()
    (adapter / 'adapter_config.json').write_text('{"r": 8}')

    def files(**engine_config: Any) -> Any:
        return weights.files_of({'path': 'org/m', 'engine_config': engine_config})

    assert files() == {'path': {'commit': commits['main']}}
    assert files(revision='v2') == {'path': {'commit': commits['v2']}}
    first = files(adapters={'math': str(adapter)})
    assert set(first) == {'path', 'engine_config.adapters.math'}
    (adapter / 'adapter_config.json').write_text('{"r": 16}')
    assert files(adapters={'math': str(adapter)}) != first
    lost = {'path': 'org/m', 'engine_config': {'adapters': {'math': 'org/nowhere'}}}
    assert 'engine_config.adapters.math' not in weights.files_of(lost)


def test_the_version_of_peft_counts_where_it_applies_an_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it was imported yet or not: it is with the weights, or by another model of the process."""
    monkeypatch.setattr(provenance, '_engine_versions', lambda: {'torch': '2.13.0'})
    monkeypatch.setattr(provenance, 'version', {'peft': '0.19.0'}.__getitem__)
    plain = {'type': 'opencompass.models.HuggingFace', 'path': 'org/m'}
    provenance._version_of.cache_clear()
    try:
        for settings, versions in (
            (plain, {'torch': '2.13.0'}),
            ({**plain, 'peft_path': 'org/adapter'}, {'torch': '2.13.0', 'peft': '0.19.0'}),
        ):
            assert provenance.provenance_of(provenance.Task(settings, {}), object()).versions == versions
    finally:
        provenance._version_of.cache_clear()


@pytest.mark.parametrize('field', ['tokenizer_path', 'peft_path', 'lora_path'])
def test_an_adapter_of_the_hub_is_known_by_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    """It has no config.json; a folder is known by its files, and what is nowhere is not identified."""
    commit = '0123456789abcdef0123456789abcdef01234567'
    snapshot = tmp_path / 'models--org--part' / 'snapshots' / commit
    snapshot.mkdir(parents=True)
    (snapshot / ('adapter_config.json' if 'token' not in field else 'tokenizer_config.json')).write_text('{}')
    (tmp_path / 'models--org--part' / 'refs').mkdir()
    (tmp_path / 'models--org--part' / 'refs' / 'main').write_text(commit)
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE', str(tmp_path))
    assert weights.files_of({field: 'org/part'}) == {field: {'commit': commit}}
    assert set(weights.files_of({field: str(snapshot)})[field])
    settings = {'path': str(snapshot), field: 'org/other'}
    assert set(weights.files_of(settings)) == {'path'}


def test_a_task_finds_its_entries_in_the_config_that_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the abbreviations; a shard has the number of its part behind that of the data set."""
    config = tmp_path / 'tmp' / '7_params.py'
    config.parent.mkdir()
    dataset = {
        'abbr': 'bench',
        'type': 'D',
        'infer_cfg': {'inferencer': {'type': 'I', 'max_out_len': 9}, 'prompt_template': {'template': 'x'}},
    }
    config.write_text(f'models = [{ENTRY!r}]\ndatasets = [[{dataset!r}]]\n')
    monkeypatch.setattr(sys, 'argv', ['openicl_infer.py', str(config)])
    for shard in ('bench', 'bench_3'):
        found = provenance.current_task(tmp_path / 'time' / 'predictions' / 'm' / shard, 'predictions')
        assert found.model_settings == BEGUN.model
        assert found.inference_settings == {'max_out_len': 9, 'prompt_template': {'template': 'x'}}
    assert provenance.current_task(tmp_path / 'elsewhere', 'predictions') is None
    config.write_text(f'models = [{ENTRY!r}, { ({**ENTRY, "path": "b"})!r}]\ndatasets = [[{dataset!r}]]\n')
    with pytest.raises(
        InputError, match=r"two models of the config are called m, and differ in path = 'org/m'"
    ):
        provenance.current_task(tmp_path / 'time' / 'predictions' / 'm' / 'bench', 'predictions')


@pytest.mark.parametrize(
    ('model', 'dataset'),
    [('m', 'a/bench'), ('org/m', 'bench'), ('org/m', 'a/b/bench_0'), ('predictions', 'bench')],
)
def test_names_with_slashes_are_found_in_the_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, dataset: str
) -> None:
    """Of the model and of the data set; a model may be called as OpenCompass calls its folders."""
    config = tmp_path / '7_params.py'
    entries = [
        {'abbr': name, 'type': 'D', 'infer_cfg': {'inferencer': {'own': name}}} for name in ('x', dataset)
    ]
    config.write_text(f'models = [{ENTRY!r}, { ({**ENTRY, "abbr": model})!r}]\ndatasets = {entries!r}\n')
    monkeypatch.setattr(sys, 'argv', ['openicl_infer.py', str(config)])
    for shard in (dataset, f'{dataset}_3'):
        below = tmp_path / 'predictions' / 'time' / 'predictions' / model / shard
        found = provenance.current_task(below, 'predictions')
        assert found.model['abbr'] == model
        assert found.inference_settings == {'own': dataset}


def test_names_that_give_two_data_sets_or_models_one_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their samples would mix where they differ in lengths or prompts, too."""
    config = tmp_path / '7_params.py'
    monkeypatch.setattr(sys, 'argv', ['openicl_infer.py', str(config)])
    bench, below = {'abbr': 'bench', 'type': 'D'}, tmp_path / 'predictions' / 'm' / 'bench_1'

    def find(models: list[Any], datasets: list[Any]) -> Any:
        config.write_text(f'models = {models!r}\ndatasets = {datasets!r}\n')
        return provenance.current_task(below, 'predictions')

    assert find([ENTRY, {**ENTRY, 'batch_size': 1}], [bench, {**bench, 'n': 3}]).dataset['abbr'] == 'bench'
    with pytest.raises(
        InputError, match=r'two models of the config are called m, and differ in max_out_len = 9'
    ):
        find([{**ENTRY, 'max_out_len': 9}, {**ENTRY, 'max_out_len': 8}], [bench])
    with pytest.raises(
        InputError,
        match=r'two data sets of the config are called bench, and differ in own = 9, and now has 8',
    ):
        find([ENTRY], [{**bench, 'infer_cfg': {'inferencer': {'own': own}}} for own in (9, 8)])


def test_in_one_process_the_newest_config_with_its_number_counts(tmp_path: Path) -> None:
    """`opencompass --debug` runs tasks itself; in a container it may have one number each time."""
    for age, length in ((9, 1), (5, 2), (7, 3)):
        path = tmp_path / 'configs' / f'2026010{age}_000000_{os.getpid()}.py'
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'models = [{ {**ENTRY, "random_seed": length}!r}]\ndatasets = []\n')
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    found = provenance.current_task(tmp_path / 'predictions' / 'm' / 'bench', 'predictions')
    assert found.model['random_seed'] == 2


QUESTIONS = ['What is 1 + 1?', 'What is 2 + 2?', 'What is 3 + 3?']
REFERENCES = ['2', '4', '6']


def rows(prompts: list[Any], golds: list[Any]) -> list[dict[str, Any]]:
    return [{'origin_prompt': p, 'gold': g, 'prediction': ''} for p, g in zip(prompts, golds, strict=True)]


def check(prompts: list[Any], golds: list[Any] = REFERENCES, **more: Any) -> list[str]:
    compared = asked.Asked([QUESTIONS], REFERENCES, None)
    return list(asked.check_rows(rows(prompts, golds), compared, lambda number: f'row {number}', **more))


@pytest.mark.parametrize(
    'write',
    [
        lambda text: text,
        lambda text: f'<s>{text}  Think.</s>',
        lambda text: [{'role': 'SYSTEM', 'prompt': 'Be brief.'}, {'role': 'HUMAN', 'prompt': text}],
        lambda text: [{'role': 'user', 'content': [{'type': 'text', 'prompt': text.replace(' ', '\n')}]}],
    ],
)
def test_a_prompt_that_holds_its_question_is_right_in_any_layout(write: Any) -> None:
    """As text, as messages, with more around it; blanks do not count."""
    assert check([write(question) for question in QUESTIONS]) == []
    with pytest.raises(IncompleteError, match="row 0: its prompt does not hold 'What is 1"):
        check([write(question) for question in QUESTIONS[::-1]], REFERENCES)


def test_a_reference_that_is_another_one_is_named(tmp_path: Path) -> None:
    """With what it was; OpenCompass leaves out those that are empty or 0."""
    with pytest.raises(IncompleteError, match="row 1: the reference was '5', and is '4'"):
        check(QUESTIONS, ['2', '5', '6'])
    assert check(QUESTIONS, [None] * 3) == []  # the run had no references
    with pytest.raises(IncompleteError, match="row 1: the reference was empty or 0, and is '4'"):
        check(QUESTIONS, ['2', None, '6'])
    left_out = asked.Asked([QUESTIONS], [math.nan, 0, ''], None)
    assert asked.check_rows(rows(QUESTIONS, [math.nan, None, None]), left_out, str) == []
    [warning] = check(QUESTIONS, ['2', '5', '6'], accepted=['references'])
    assert 'row 1' in warning


def test_a_template_that_rewrites_every_question_is_told_and_no_reason_to_stop() -> None:
    """Unless a prompt holds the question of another row."""
    assert check(['one', 'two', 'three']) == [
        'no prompt holds its question as the data set spells it: they were not compared'
    ]
    with pytest.raises(IncompleteError, match='row 0'):
        check([QUESTIONS[1], QUESTIONS[2], QUESTIONS[0]])


def test_the_template_tells_which_columns_a_prompt_must_hold() -> None:
    """All that it names, and no other: one the same in all rows proves nothing, a number is in many texts."""
    columns = {'prompt': ['Think.'] * 3, 'question': ['1', '2', '7'], 'problem': QUESTIONS}
    data = Dataset.from_dict(columns)
    sent = [f'Think. {question}' for question in QUESTIONS]

    def compare(prompts: list[str]) -> list[str]:
        compared = asked.asked_of(data, None, {'prompt_template': {'template': '{prompt} {problem}'}})
        return list(asked.check_rows(rows(prompts, REFERENCES), compared, lambda number: f'row {number}'))

    assert compare(sent) == []
    for others in (sent[1:] + sent[:1], sent[::-1]):
        with pytest.raises(IncompleteError, match="row 0: its prompt does not hold 'What is 1"):
            compare(others)


def test_a_fingerprint_changes_with_all_that_it_stands_for() -> None:
    """Question, reference, prompt, settings, uid, replica and seed."""
    whole = ('q', '7', [{'prompt': 'q'}], 'settings', Sample('u', 1), 5)
    marks = {asked.fingerprint(*whole)}
    for place, other in enumerate(('r', '8', [{'prompt': 'r'}], 'others', Sample('u', 2), 6)):
        marks.add(asked.fingerprint(*whole[:place], other, *whole[place + 1 :]))
    marks.add(asked.fingerprint(*whole[:4], Sample('v', 1), 5))
    assert len(marks) == 8
