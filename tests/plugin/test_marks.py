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

weights = marks
asked = import_plugin('.rows')

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
IDENTITY = {'files': {'path': {'config.json': 'a'}}, 'versions': {'torch': '2.13.0'}}


def samples_of(settings: Any, n: int = 4, **changes: Any) -> list[Sample]:
    """Two questions, replica by replica."""
    mark = digest_of(settings)[:16]
    plain = [
        Sample(f'q{row % 2}', row // 2, row % 2, f'{row % 2}', '7', mark, 'What?', row)
        for row in range(2 * n)
    ]
    return [replace(one, **changes) for one in plain]


def draw(
    folder: Path,
    model: Any = ENTRY,
    identity: Any = IDENTITY,
    name: str = 'bench',
    samples: Sequence[Sample] | None = None,
    most: int = 99,
    elsewhere: Sequence[Path] = (),
    **more: Any,
) -> int:
    """Draw what is missing, as a task of a model does, at most so many; how many were drawn."""
    settings = marks.settings_of(model, {})
    samples = samples_of(settings) if samples is None else samples
    top_up = more.pop('top_up', False)
    with (
        predictions.locked(folder / f'{name}.json'),
        closing(
            Rows(
                folder / f'{name}.json',
                name.partition('_')[0],
                samples,
                settings,
                identity=identity,
                **more,
            )
        ) as rows,
    ):
        marks.note(folder, settings=settings)
        marks.note(folder, source=identity)
        missing = rows.find(elsewhere, top_up)
        for sample in missing[:most]:
            rows.add(
                rows.row(sample, digest_of(identity)[:16], f'{folder.name} {sample.task}', Generation('stop'))
            )
        if len(missing) <= most:
            rows.publish()
        return min(most, len(missing))


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
    """What differs is named, with what it was and is; and can be accepted by name."""
    assert draw(tmp_path, most=3) == 3
    with pytest.raises(IncompleteError, match=f'was drawn with .*{named}'):
        draw(tmp_path, {**ENTRY, **changes})
    assert draw(tmp_path, {**ENTRY, **changes}, keep=['settings']) == 5


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
    draw(tmp_path, most=3)
    assert draw(tmp_path, {**ENTRY, **changes}) == 5
    assert 'secret' not in (tmp_path / 'run.provenance').read_text()


def test_another_engine_or_other_weights_are_refused(tmp_path: Path) -> None:
    """By package and by file; weights that the first task has brought here are no others."""
    draw(tmp_path, most=3)
    for changed, named in (
        ({'versions': {'torch': '2.14.0'}}, r"versions\.torch = '2\.13\.0', and now has '2\.14\.0'"),
        ({'files': {'path': {'config.json': 'b'}}}, r"files\.path\.config\.json = 'a', and now has 'b'"),
    ):
        with pytest.raises(IncompleteError, match=named):
            draw(tmp_path, identity={**IDENTITY, **changed})
    later = {**IDENTITY, 'files': {**IDENTITY['files'], 'lora_path': {'commit': 'abc'}}}
    assert draw(tmp_path, identity=later) == 5


def test_another_question_or_reference_is_refused_by_name(tmp_path: Path) -> None:
    """A row that is wanted at another place is not; nor one of more samples than are asked for now."""
    settings = marks.settings_of(ENTRY, {})
    first = samples_of(settings)
    draw(tmp_path, samples=first, most=3)
    for change, named in (
        ({'reference': '8'}, "the reference '7', and has '8' now"),
        ({'uid': 'r'}, 'another prompt'),
    ):
        with pytest.raises(IncompleteError, match=named):
            draw(tmp_path, samples=samples_of(settings, **change))
    swapped = [replace(one, number=1 - one.number) for one in first]
    assert draw(tmp_path, samples=swapped) == 5
    assert draw(tmp_path, samples=samples_of(settings, n=1)) == 0


def test_a_torn_line_and_an_edited_one_are_drawn_again(tmp_path: Path) -> None:
    """The others are not, whatever stands between them."""
    draw(tmp_path, most=6)
    file = tmp_path / 'bench.rows.jsonl'
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(
        b''.join(
            [
                lines[0],
                b'nonsense\n',
                *lines[1:4],
                lines[4].replace(b'"prediction": "', b'"prediction": "x'),
                lines[5][:40],
            ]
        )
    )
    assert draw(tmp_path) == 4
    found = json.loads((tmp_path / 'bench.json').read_text())
    assert [row['sample']['replica'] for row in found.values()] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_shards_of_any_number_of_workers_share_their_rows(tmp_path: Path) -> None:
    """From three to one, and from one that is done to two."""
    samples = samples_of(marks.settings_of(ENTRY, {}))
    for shard, part in enumerate((samples[:3], samples[3:6], samples[6:])):
        draw(tmp_path, name=f'bench_{shard}', samples=part, most=2 if shard == 1 else 9)
    assert draw(tmp_path, samples=samples) == 1
    for path in tmp_path.glob('bench_*'):
        path.unlink()
    predictions.reopen(tmp_path / 'bench.json')
    assert not list(tmp_path.glob('*.json'))
    assert draw(tmp_path, name='bench_0', samples=samples[:4]) == 0
    assert draw(tmp_path, name='bench_1', samples=samples[4:]) == 0


def test_more_samples_take_those_of_another_run_where_the_model_is_known(
    tmp_path: Path,
) -> None:
    """By its content, or the user says so, or one gpassk run draws both; it is said how many are whose."""
    settings = marks.settings_of(ENTRY, {})
    more = samples_of(settings, n=8)
    for identity, command, top_up, drawn in (
        (IDENTITY, None, False, 8),
        ({}, None, False, 16),
        ({}, None, True, 8),
        ({}, 'one', False, 8),
        ({'files': {'path': {'config.json': 'b'}}}, None, True, 16),
    ):
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        few, many = (root / time / 'predictions' / 'm' for time in ('1', '2'))
        before = IDENTITY if identity == {'files': {'path': {'config.json': 'b'}}} else identity
        draw(few, identity=before, command=command)
        assert predictions.other_runs(many) == [few]
        assert (
            draw(many, identity=identity, samples=more, elsewhere=[few], command=command, top_up=top_up)
            == drawn
        )
        found = load_predictions(many / 'bench.json', more, settings)
        assert sum(bool(one.taken_from) for one in found.responses) == 16 - drawn


def test_a_second_task_is_kept_out_and_told_who_is_at_work(tmp_path: Path) -> None:
    """On which machine, and since when; afterwards the file is free."""
    path = tmp_path / 'bench.json'
    with (
        predictions.locked(path),
        pytest.raises(IncompleteError, match=rf'another task is at work on it \(process {os.getpid()} on '),
        predictions.locked(path),
    ):
        pass
    with predictions.locked(path):
        pass


def test_a_row_that_was_changed_is_not_judged(tmp_path: Path) -> None:
    """Nor is one of two models, or of other settings; which can be accepted."""
    settings = marks.settings_of(ENTRY, {})
    samples, path = samples_of(settings), tmp_path / 'bench.json'
    draw(tmp_path)
    assert len(load_predictions(path, samples, settings).responses) == 8
    for what, named in (
        ('"prediction": "', 'row 0 is not as it was written'),
        ('"seed": ', 'not as it was written'),
    ):
        whole = path.read_text()
        path.write_text(whole.replace(what, f'{what}1', 1))
        with pytest.raises(IncompleteError, match=named):
            load_predictions(path, samples, settings)
        path.write_text(whole)
    other = marks.settings_of({**ENTRY, 'random_seed': 43}, {})
    with pytest.raises(IncompleteError, match='random_seed = 42, and now has 43'):
        load_predictions(path, samples_of(other), other)
    found = load_predictions(path, samples_of(other), other, ['settings'])
    assert 'settings changed since sampling, as keep says' in found.warnings[0]
    with pytest.raises(IncompleteError, match='question 0, replica 4 has no row'):
        load_predictions(path, samples_of(settings, n=5), settings)
    assert not path.exists()  # so that OpenCompass draws the rest
    assert draw(tmp_path, samples=samples_of(settings, n=5)) == 2


@pytest.mark.parametrize('content', ['[]', '{"0": {}', ''])
def test_predictions_that_cannot_be_read_say_what_to_do(tmp_path: Path, content: str) -> None:
    """A list, a cut file, an empty file."""
    path = tmp_path / 'made.json'
    path.write_text(content)
    with pytest.raises(IncompleteError, match='put it back from a copy'):
        load_predictions(path, [], {})


@pytest.mark.parametrize('keep', ['questions', ['all'], [1]])
def test_what_can_be_kept_has_names(keep: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the argument and of the environment together."""
    with pytest.raises(InputError, match='expected a list of questions, references, settings'):
        marks.read_keep(keep)
    monkeypatch.setenv('GPASSK_KEEP', 'references, settings')
    assert marks.read_keep(['questions']) == set(marks.KEEP)


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


def in_cache(root: Path, repository: str, commits: dict[str, str], file: str = 'config.json') -> None:
    """A repository of the hub with a file, as its cache has it: revision → commit."""
    folder = root / f'models--{repository.replace("/", "--")}'
    for revision, commit in commits.items():
        (folder / 'snapshots' / commit).mkdir(parents=True)
        (folder / 'snapshots' / commit / file).write_text('{}')
        (folder / 'refs').mkdir(exist_ok=True)
        (folder / 'refs' / revision).write_text(commit)


def test_a_model_of_the_hub_is_known_by_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of lmdeploy's revision, not of main; adapters and tokenizers have no config.json, or are files."""
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE', str(tmp_path / 'hub'))
    commits = {'main': 'a' * 40, 'v2': 'b' * 40}
    in_cache(tmp_path / 'hub', 'org/m', commits)
    in_cache(tmp_path / 'hub', 'org/part', {'main': 'c' * 40}, 'adapter_config.json')
    in_cache(tmp_path / 'hub', 'org/words', {'main': 'd' * 40}, 'tokenizer_config.json')

    def files(**engine_config: Any) -> Any:
        return weights.files_of({'path': 'org/m', 'engine_config': engine_config})

    assert files() == {'path': {'commit': commits['main']}}
    assert files(revision='v2') == {'path': {'commit': commits['v2']}}
    for field in ('peft_path', 'lora_path'):
        assert weights.files_of({field: 'org/part'}) == {field: {'commit': 'c' * 40}}
    assert weights.files_of({'tokenizer_path': 'org/words'}) == {'tokenizer_path': {'commit': 'd' * 40}}
    assert weights.files_of({'path': 'org/nowhere'}) == {}
    adapter = tmp_path / 'adapter'
    adapter.mkdir()
    (adapter / 'adapter_config.json').write_text('{"r": 8}')
    first = files(adapters={'math': str(adapter)})
    assert set(first) == {'path', 'engine_config.adapters.math'}
    (adapter / 'adapter_config.json').write_text('{"r": 16}')
    assert files(adapters={'math': str(adapter)}) != first
    assert 'engine_config.adapters.math' not in files(adapters={'math': 'org/nowhere'})


def test_hardware_is_the_gpus_of_the_task_by_number_and_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As nvidia-smi names them; without any it is the processor. It is in no mark."""
    tool = tmp_path / 'nvidia-smi'
    tool.write_text(
        '#!/bin/sh\ncase "$*" in *"-i 0,1"*) echo H100; echo H100;; *) echo H100; echo A100;; esac\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)
    assert (marks.hardware('0,1'), marks.hardware()) == ('2 x H100', '1 x H100, 1 x A100')
    assert 'H100' not in marks.hardware('')
    for name in ('2 x H100', '1 x A100', '2 x H100'):
        marks.note(tmp_path, hardware=name)
    assert marks.read_notes(tmp_path).hardware == ['2 x H100', '1 x A100']


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
    data = Dataset.from_dict({'question': QUESTIONS}) if data is None else data
    told = enumerate(zip(prompts, golds, strict=True), 1)
    responses = [
        predictions.Response('', Generation(), None, None, Path('made.json'), row, prompt, gold)
        for row, (prompt, gold) in told
    ]
    found = predictions.Predictions(responses)
    asked.check_by_place(found, data, references, template, keep)
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
def test_a_prompt_that_holds_its_question_is_right_in_any_layout(write: Any) -> None:
    """As text, as messages, with more around it; blanks do not count."""
    assert check([write(question) for question in QUESTIONS]) == []
    with pytest.raises(IncompleteError, match="row 0: its prompt does not hold 'What is 1"):
        check([write(question) for question in QUESTIONS[::-1]], REFERENCES)


def test_a_reference_that_is_another_one_is_named() -> None:
    """With what it was; OpenCompass leaves out those that are empty or 0."""
    with pytest.raises(IncompleteError, match="row 1: the reference was '5', and is '4'"):
        check(QUESTIONS, ['2', '5', '6'])
    assert check(QUESTIONS, [None] * 3) == []  # the run had no references
    with pytest.raises(IncompleteError, match="row 1: the reference was empty or 0, and is '4'"):
        check(QUESTIONS, ['2', None, '6'])
    assert check(QUESTIONS, [math.nan, None, None], references=[math.nan, 0, '']) == []
    [warning] = check(QUESTIONS, ['2', '5', '6'], keep=['references'])
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
        return check(prompts, data=data, template={'prompt_template': {'template': '{prompt} {problem}'}})

    assert compare(sent) == []
    for others in (sent[1:] + sent[:1], sent[::-1]):
        with pytest.raises(IncompleteError, match="row 0: its prompt does not hold 'What is 1"):
            compare(others)
