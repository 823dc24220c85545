"""What samples are drawn from is on record, and rows of anything else are neither gone on with nor scored."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from hosts import import_plugin

from gpassk_opencompass import IncompleteError, InputError, marks, predictions
from gpassk_opencompass.health import Generation
from gpassk_opencompass.predictions import Rows, Sample, load_predictions
from gpassk_opencompass.record import digest_of

rows_of = import_plugin('.rows')

ENTRY = {
    'type': 'gpassk_opencompass.SeededVLLM', 'abbr': 'm', 'path': 'org/m', 'random_seed': 42,
    'generation_kwargs': {'temperature': 1.0, 'max_tokens': 8}, 'key': 'sk-secret', 'batch_size': 8,
    'model_kwargs': {'tensor_parallel_size': 2, 'dtype': 'bfloat16'},
}  # fmt: skip
SETTINGS = marks.settings_of(ENTRY, {})
IDENTITY = {'files': {'path': {'config.json': 'a'}}, 'versions': {'torch': '2.13.0'}}
OTHER = {'files': {'path': {'config.json': 'b'}}}


def samples_of(settings: Any = SETTINGS, n: int = 4, **changes: Any) -> list[Sample]:
    mark = digest_of(settings)[:16]
    plain = (
        Sample(f'q{at % 2}', at // 2, at % 2, f'{at % 2}', '7', mark, 'What?', at) for at in range(2 * n)
    )
    return [replace(one, **changes) for one in plain]


def draw(
    folder: Path,
    model: Any = ENTRY,
    identity: Any = IDENTITY,
    name: str = 'bench',
    samples: Sequence[Sample] | None = None,
    most: int = 99,
    elsewhere: Sequence[Path] = (),
    top_up: bool = False,
    **more: Any,
) -> int:
    """Draw what is missing, as a task of a model does, at most so many; how many were drawn."""
    settings, file = marks.settings_of(model, {}), folder / f'{name}.json'
    samples = samples_of(settings) if samples is None else samples
    dataset, source = name.partition('_')[0], digest_of(identity)[:16]
    rows = Rows(file, dataset, samples, settings, identity=identity, **more)
    with predictions.locked(file), closing(rows):
        marks.note(folder, settings=settings, source=identity)
        missing = rows.find(elsewhere, top_up)
        for sample in missing[:most]:
            rows.add(rows.row(sample, source, f'{folder.name} {sample.task}', Generation('stop')))
        if len(missing) <= most:
            rows.publish()
        return min(most, len(missing))


@pytest.mark.parametrize(
    ('changes', 'more', 'named'),
    [
        ({'path': 'org/other'}, {}, r"model\.path = 'org/m', and now has 'org/other'"),
        ({'random_seed': 43}, {}, r'model\.random_seed = 42, and now has 43'),
        (
            {'generation_kwargs': {'temperature': 0.5, 'max_tokens': 8}},
            {},
            r'generation_kwargs\.temperature = 1',
        ),
        ({'generation_kwargs': {'temperature': 1.0}}, {}, r'max_tokens = 8, and now has nothing'),
        ({'model_kwargs': {'tensor_parallel_size': 2, 'dtype': 'float16'}}, {}, r'model_kwargs\.dtype'),
        ({'meta_template': {'round': []}}, {}, r'meta_template = nothing'),
        (
            {},
            {'identity': {**IDENTITY, 'versions': {'torch': '2.14.0'}}},
            r"versions\.torch = '2\.13\.0', and now",
        ),
        ({}, {'identity': {**IDENTITY, **OTHER}}, r"files\.path\.config\.json = 'a', and now has 'b'"),
        ({}, {'samples': samples_of(reference='8')}, "the reference '7', and has '8' now"),
        ({}, {'samples': samples_of(uid='r')}, 'another prompt'),
    ],
)
def test_a_run_goes_on_only_with_what_it_began_with(tmp_path, changes, more, named):
    """What differs is named, with what it was and is; and can be accepted by name, but for another model."""
    assert draw(tmp_path, most=3) == 3
    with pytest.raises(IncompleteError, match=f'was drawn with .*{named}'):
        draw(tmp_path, {**ENTRY, **changes}, **more)
    if 'identity' not in more:
        assert draw(tmp_path, {**ENTRY, **changes}, **more, keep=marks.KEEP) == 5


@pytest.mark.parametrize(
    'changes',
    [
        {'batch_size': 1},
        {'run_cfg': {'num_gpus': 8}},
        {'model_kwargs': {'tensor_parallel_size': 8, 'dtype': 'bfloat16'}},
        {'key': 'sk-another', 'openai_api_base': 'http://elsewhere', 'retry': 9},
    ],
)
def test_what_chooses_no_sample_may_change(tmp_path, changes):
    """Where and how fast a model runs; and no key is written down."""
    draw(tmp_path, most=3)
    assert draw(tmp_path, {**ENTRY, **changes}) == 5
    assert 'secret' not in (tmp_path / 'run.provenance').read_text()


def test_rows_that_are_wanted_elsewhere_or_by_a_larger_run_are_no_others(tmp_path):
    """At another place, or of more samples than are asked for now; nor weights that a task has brought."""
    draw(tmp_path, most=3)
    swapped = [replace(one, number=1 - one.number) for one in samples_of()]
    later = {**IDENTITY, 'files': {**IDENTITY['files'], 'lora_path': {'commit': 'abc'}}}
    assert draw(tmp_path, samples=swapped, identity=later) == 5
    assert draw(tmp_path, samples=samples_of(n=1)) == 0


def test_a_torn_line_and_an_edited_one_are_drawn_again(tmp_path):
    """The others are not, whatever stands between them."""
    draw(tmp_path, most=6)
    with (tmp_path / 'run.provenance').open('a') as notes:
        notes.write(f'{"[" * 99_999}\n')
    file = tmp_path / 'bench.rows.jsonl'
    lines = file.read_bytes().splitlines(keepends=True)
    edited = lines[4].replace(b'"prediction": "', b'"prediction": "x')
    file.write_bytes(b''.join([lines[0], b'nonsense\n', *lines[1:4], edited, lines[5][:40]]))
    assert draw(tmp_path) == 4
    found = json.loads((tmp_path / 'bench.json').read_text())
    assert [row['sample']['replica'] for row in found.values()] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_shards_of_any_number_of_workers_share_their_rows(tmp_path):
    """From three to one, and from one that is done to two."""
    samples = samples_of()
    for shard, part in enumerate((samples[:3], samples[3:6], samples[6:])):
        draw(tmp_path, name=f'bench_{shard}', samples=part, most=2 if shard == 1 else 9)
    assert draw(tmp_path, samples=samples) == 1
    for path in tmp_path.glob('bench_*'):
        path.unlink()
    predictions.reopen(tmp_path / 'bench.json')
    assert not list(tmp_path.glob('*.json'))
    assert draw(tmp_path, name='bench_0', samples=samples[:4]) == 0
    assert draw(tmp_path, name='bench_1', samples=samples[4:]) == 0


@pytest.mark.parametrize(
    ('before', 'identity', 'command', 'top_up', 'new'),
    [
        (IDENTITY, IDENTITY, None, False, 8),
        ({}, {}, None, False, 16),
        ({}, {}, None, True, 8),
        ({}, {}, 'one', False, 8),
        (IDENTITY, OTHER, None, True, 16),
    ],
)
def test_more_samples_take_those_of_another_run_where_the_model_is_known(
    tmp_path, before, identity, command, top_up, new
):
    """By its content, or the user says so, or one gpassk run draws both; it is said how many are whose."""
    few, many = (tmp_path / time / 'predictions' / 'm' for time in ('1', '2'))
    more = samples_of(n=8)
    draw(few, identity=before, command=command)
    assert predictions.other_runs(many) == [few]
    given = {'samples': more, 'elsewhere': [few], 'command': command, 'top_up': top_up}
    assert draw(many, identity=identity, **given) == new
    found = load_predictions(many / 'bench.json', more, SETTINGS)
    assert sum('taken_from' in one.marks for one in found.rows) == 16 - new


def test_a_second_task_is_kept_out_and_told_who_is_at_work(tmp_path):
    """On which machine, and since when; afterwards the file is free."""
    path = tmp_path / 'bench.json'
    who = rf'another task is at work on it \(process {os.getpid()} on '
    for _ in range(2):
        with predictions.locked(path), pytest.raises(IncompleteError, match=who), predictions.locked(path):
            pass


def test_a_row_that_was_changed_is_not_judged(tmp_path):
    """Nor is one of two models, or of other settings; which can be accepted."""
    samples, path = samples_of(), tmp_path / 'bench.json'
    draw(tmp_path)
    assert len(load_predictions(path, samples, SETTINGS).rows) == 8
    whole = path.read_text()
    for what in ('"prediction": "', '"seed": '):
        path.write_text(whole.replace(what, f'{what}1', 1))
        with pytest.raises(IncompleteError, match='row 0 is not as it was written'):
            load_predictions(path, samples, SETTINGS)
    path.write_text(whole)
    other = marks.settings_of({**ENTRY, 'random_seed': 43}, {})
    with pytest.raises(IncompleteError, match='random_seed = 42, and now has 43'):
        load_predictions(path, samples_of(other), other)
    found = load_predictions(path, samples_of(other), other, ['settings'])
    assert 'settings changed since sampling, as keep says' in found.warnings[0]
    with pytest.raises(IncompleteError, match='question 0, replica 4 has no row'):
        load_predictions(path, samples_of(n=5), SETTINGS)
    assert not path.exists()  # so that OpenCompass draws the rest
    assert draw(tmp_path, samples=samples_of(n=5)) == 2


@pytest.mark.parametrize('content', ['[]', '{"0": {}', ''])
def test_predictions_that_cannot_be_read_say_what_to_do(tmp_path, content):
    """A list, a cut file, an empty file."""
    path = tmp_path / 'made.json'
    path.write_text(content)
    with pytest.raises(IncompleteError, match='put it back from a copy'):
        load_predictions(path, [], {})


@pytest.mark.parametrize('keep', ['questions', ['all'], [1]])
def test_what_can_be_kept_has_names(keep, monkeypatch):
    """Those of the argument and of the environment together."""
    with pytest.raises(InputError, match='expected a list of questions, references, settings'):
        marks.read_keep(keep)
    monkeypatch.setenv('GPASSK_KEEP', 'references, settings')
    assert marks.read_keep(['questions']) == set(marks.KEEP)


def test_local_files_are_known_by_their_content(tmp_path):
    """Weights above 1 MiB by size, beginning, middle and end; a README is none of the model."""
    weights, config = tmp_path / 'model.safetensors', tmp_path / 'config.json'
    weights.write_bytes(bytes(3 << 20))
    config.write_text('{}')

    def files():
        return marks.files_of({'path': str(tmp_path), 'tokenizer_path': 'not/there'})

    first = files()
    assert {name: set(one) for name, one in first.items()} == {'path': {weights.name, config.name}}
    (tmp_path / 'README.md').write_text('news')
    os.utime(config, (1, 1))
    assert files() == first
    for place in (0, 3 << 19, (3 << 20) - 1):
        content = bytearray(3 << 20)
        content[place] = 1
        weights.write_bytes(content)
        assert files()['path'][weights.name] != first['path'][weights.name]
    config.write_text('{"rope_theta": 1}')
    assert files()['path'][config.name] != first['path'][config.name]


def test_a_model_of_the_hub_is_known_by_its_commit(tmp_path, monkeypatch):
    """Of lmdeploy's revision, not of main; adapters and tokenizers have no config.json, or are files."""
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE', str(tmp_path / 'hub'))
    commits = {}
    files = {('org/m', 'main'): 'config.json', ('org/m', 'v2'): 'config.json'}
    files |= {('org/part', 'main'): 'adapter_config.json', ('org/words', 'main'): 'tokenizer_config.json'}
    for (repository, revision), file in files.items():
        commits[repository, revision] = commit = f'{len(commits)}' * 40
        folder = tmp_path / 'hub' / f'models--{repository.replace("/", "--")}'
        for path, text in ((f'snapshots/{commit}/{file}', '{}'), (f'refs/{revision}', commit)):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)

    def found(**engine_config):
        return marks.files_of({'path': 'org/m', 'engine_config': engine_config})

    assert found() == {'path': {'commit': commits['org/m', 'main']}}
    assert found(revision='v2') == {'path': {'commit': commits['org/m', 'v2']}}
    parts = {'peft_path': 'org/part', 'lora_path': 'org/part', 'tokenizer_path': 'org/words'}
    for field, repository in parts.items():
        assert marks.files_of({field: repository}) == {field: {'commit': commits[repository, 'main']}}
    assert marks.files_of({'path': 'org/nowhere'}) == {}
    adapter = tmp_path / 'adapter_config.json'
    adapter.write_text('{"r": 8}')
    first = found(adapters={'math': str(tmp_path)})
    assert set(first) == {'path', 'engine_config.adapters.math'}
    adapter.write_text('{"r": 16}')
    assert found(adapters={'math': str(tmp_path)}) != first
    assert 'engine_config.adapters.math' not in found(adapters={'math': 'org/nowhere'})


def test_hardware_is_the_gpus_of_the_task_by_number_and_name(tmp_path, monkeypatch):
    """As nvidia-smi names them; without any it is the processor."""
    tool = tmp_path / 'nvidia-smi'
    tool.write_text(
        '#!/bin/sh\ncase "$*" in *"-i 0,1"*) echo H100; echo H100;; *) echo H100; echo A100;; esac\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)
    assert (marks.hardware('0,1'), marks.hardware()) == ('2 x H100', '1 x H100, 1 x A100')
    assert 'H100' not in marks.hardware('')


# rows without marks

QUESTIONS = ['What is 1 + 1?', 'What is 2 + 2?', 'What is 3 + 3?']
REFERENCES = ['2', '4', '6']


def check(
    prompts: list[Any],
    golds: list[Any] = REFERENCES,
    data: Any = None,
    references: Any = REFERENCES,
    keep: Sequence[str] = (),
    template: Any = None,
) -> list[str]:
    """The warnings of a comparison; the error names row and difference."""
    told = enumerate(zip(prompts, golds, strict=True))
    rows = [
        predictions.Row({'origin_prompt': one[0], 'gold': one[1]}, Path('made.json'), at) for at, one in told
    ]
    found, data = predictions.Predictions(rows), data or {'question': QUESTIONS}
    rows_of.check_by_place(found, Dataset.from_dict(data), references, template, keep)
    return found.warnings


@pytest.mark.parametrize(
    'write',
    [
        lambda text: text,
        lambda text: f'<s>{text}  Think.</s>',
        lambda text: [{'role': 'SYSTEM', 'prompt': 'Be brief.'}, {'role': 'HUMAN', 'prompt': text}],
        lambda text: [{'role': 'user', 'content': [{'type': 'text', 'prompt': text.replace(' ', '\n')}]}],
    ],
)
def test_a_prompt_that_holds_its_question_is_right_in_any_layout(write):
    """As text, as messages, with more around it; blanks do not count."""
    assert check([write(question) for question in QUESTIONS]) == []
    with pytest.raises(IncompleteError, match="row 0: its prompt does not hold 'What is 1"):
        check([write(question) for question in QUESTIONS[::-1]])


def test_a_reference_that_is_another_one_is_named():
    """With what it was; OpenCompass leaves out those that are empty or 0."""
    with pytest.raises(IncompleteError, match="row 1: the reference was '5', and is '4'"):
        check(QUESTIONS, ['2', '5', '6'])
    assert check(QUESTIONS, [None] * 3) == []  # the run had no references
    with pytest.raises(IncompleteError, match="row 1: the reference was empty or 0, and is '4'"):
        check(QUESTIONS, ['2', None, '6'])
    assert check(QUESTIONS, [math.nan, None, None], references=[math.nan, 0, '']) == []
    [warning] = check(QUESTIONS, ['2', '5', '6'], keep=['references'])
    assert 'row 1' in warning


def test_a_template_that_rewrites_every_question_is_told_and_no_reason_to_stop():
    """Unless a prompt holds the question of another row."""
    assert check(['one', 'two', 'three']) == [
        'no prompt holds its question as the data set spells it: they were not compared'
    ]
    with pytest.raises(IncompleteError, match='row 0'):
        check([QUESTIONS[1], QUESTIONS[2], QUESTIONS[0]])


def test_the_template_tells_which_columns_a_prompt_must_hold():
    """All that it names, and no other: one the same in all rows proves nothing, a number is in many texts."""
    data = {'prompt': ['Think.'] * 3, 'question': ['1', '2', '7'], 'problem': QUESTIONS}
    template = {'prompt_template': {'template': '{prompt} {problem}'}}
    sent = [f'Think. {question}' for question in QUESTIONS]
    assert check(sent, data=data, template=template) == []
    for others in (sent[1:] + sent[:1], sent[::-1]):
        with pytest.raises(IncompleteError, match="row 0: its prompt does not hold 'What is 1"):
            check(others, data=data, template=template)
