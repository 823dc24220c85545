"""Templates of the older style: left as they are under the old names, or translated into configs of today."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from older_templates import (
    ERAS,
    GENERAL,
    Era,
    Part,
    api_model,
    livemathbench,
    template_of,
    turbomind_model,
)
from sweeping import Configs, dump, expanded, load

from gpassk_opencompass.sweep import read_manifest

each_era = pytest.mark.parametrize('era', ERAS.values(), ids=list(ERAS))

MODEL = turbomind_model(*GENERAL[0], length=8192)
DATASET = livemathbench('bench', length=8192)
VLLM = {
    'type': 'opencompass.models.VLLMwithChatTemplate',
    'abbr': 'm',
    'path': 'org/m',
    'model_kwargs': {'tensor_parallel_size': 2, 'gpu_memory_utilization': 0.8},
    'generation_kwargs': {'temperature': 0.6, 'top_p': 0.95, 'seed': 7},
    'max_seq_len': 40960,
    'max_out_len': 1024,
    'batch_size': 32,
    'run_cfg': {'num_gpus': 2},
}
HUGGINGFACE = {
    'type': 'opencompass.models.HuggingFacewithChatTemplate',
    'abbr': 'm',
    'path': 'org/m',
    'generation_kwargs': {'do_sample': True, 'temperature': 0.6, 'top_k': 20},
    'max_out_len': 1024,
    'batch_size': 8,
    'run_cfg': {'num_gpus': 1},
}
SERVED = {
    'type': 'opencompass.models.TurboMindAPIModel',
    'abbr': 'm',
    'api_addr': 'http://node1:23333',
    'model_name': 'served',
    'gen_config': {'random_seed': 7, 'min_p': 0.1},
    'meta_template': {},
    'max_out_len': 1024,
    'batch_size': 8,
}


@contextmanager
def warnings_of() -> Iterator[list[str]]:
    """What is logged in the block."""
    messages: list[str] = []
    sink = logger.add(messages.append, format='{message}', level='WARNING')
    try:
        yield messages
    finally:
        logger.remove(sink)


def translated(folder: Path, model: Part, dataset: Part = DATASET, more: str = '') -> tuple[Part, Part]:
    """Model and data set of the only config that comes out."""
    (config,) = expanded(folder, template_of([model], [dataset], more)).values()
    return config['models'][0], config['datasets'][0]


def untouched(folder: Path, model: Part, dataset: Part, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of a config that stays as the template computed it."""
    assert translated(folder, model, dataset) == (model, dataset)
    return capsys.readouterr().out


def assert_left_for(reason: str, said: str) -> None:
    assert '1 config left as the template computed them: ' in said
    assert reason in said


def with_field(part: Part, place: str, value: Any) -> Part:
    """A copy of a model or data set with another value at `a.b.c`."""
    changed = copy.deepcopy(part)
    *folders, name = place.split('.')
    inner = changed
    for folder in folders:
        inner = inner.setdefault(folder, {})
    inner[name] = value
    return changed


@each_era
@pytest.mark.parametrize('options', [(), ('--keep-built-in',)], ids=['translated', 'untouched'])
def test_files_are_named_as_the_expander_of_their_time_named_them(
    tmp_path: Path, era: Era, options: tuple[str, ...]
) -> None:
    """The model's label with `-` for each dot, an @, and the data set's label as it is."""
    assert dump(tmp_path, era.text, *options) == 0
    names = {path.name for path in (tmp_path / 'configs').glob('*.py')}
    assert len(names) == len(era.models)
    assert names >= set(era.files)


@each_era
def test_untouched_configs_are_what_the_template_computed(tmp_path: Path, era: Era) -> None:
    """Value for value, labels with their dots, and nothing beside models and data sets."""
    assert dump(tmp_path, era.text, '--keep-built-in') == 0
    for model in era.models:
        file = f'{model["abbr"].replace(".", "-")}@{era.dataset["abbr"]}.py'
        assert load(tmp_path / 'configs' / file) == {'models': [model], 'datasets': [era.dataset]}


@each_era
def test_untouched_configs_are_warned_of_with_their_defects(
    tmp_path: Path, era: Era, capsys: pytest.CaptureFixture[str]
) -> None:
    """The evaluator, what ends the run, and the seed where there is one."""
    with warnings_of() as messages:
        assert dump(tmp_path, era.text, '--keep-built-in') == 0
    (of_evaluator,) = [text for text in messages if 'LiveMathBenchEvaluator' in text]
    count = len(era.models)
    assert f'{count} of {count} configs keep' in of_evaluator
    assert 'all n get that verdict' in of_evaluator
    assert 'count as wrong answers' in of_evaluator
    assert "path='' has no data" in of_evaluator
    assert ('replication is no argument' in of_evaluator) == ('replication' in era.dataset)
    assert ('max_completion_tokens' in of_evaluator) == ('key' in era.models[0])
    of_seeds = [text for text in messages if 'fixed seed' in text]
    assert len(of_seeds) == ('gen_config' in era.models[0])
    assert capsys.readouterr().out.splitlines()[1:] == []


@each_era
def test_a_translated_config_has_the_settings_of_the_old_one(tmp_path: Path, era: Era) -> None:
    """Path, GPUs, batch size, sampling and length; in place of one seed for all a seed for each sample."""
    configs = expanded(tmp_path, era.text)
    for old in era.models:
        config = configs[f'{old["abbr"].replace(".", "-")}@{era.dataset["abbr"]}.py']
        (new,) = config['models']
        assert {name: new[name] for name in ('path', 'batch_size', 'run_cfg')} == {
            name: old[name] for name in ('path', 'batch_size', 'run_cfg')
        }
        length = era.dataset['infer_cfg']['inferencer']['max_out_len']
        assert new['max_out_len'] == length
        if 'gen_config' in old:
            assert new['type'] == 'gpassk_opencompass.SeededTurboMind'
            assert new['random_seed'] == 42
            assert {**new['gen_config'], 'random_seed': 42} == old['gen_config']
            assert new['engine_config']['tp'] == old['engine_config']['tp']
        else:
            assert new['type'] == 'gpassk_opencompass.SeededOpenAISDK'
            kept = ('meta_template', 'query_per_second', 'max_seq_len', 'retry')
            assert {name: new[name] for name in kept} == {name: old[name] for name in kept}
            assert new.get('temperature') == old.get('temperature')
            assert new.get('openai_api_base') == old.get('openai_api_base')
            assert 'max_completion_tokens' not in new
            assert 'YOU_API_KEY' not in repr(new)


@each_era
def test_a_translated_data_set_has_the_questions_of_the_old_one(tmp_path: Path, era: Era) -> None:
    """From the hub, where the path was empty; n × replication samples; our evaluator, inferencer, summary."""
    (file, *_) = era.files
    config = expanded(tmp_path, era.text)[file]
    (new,) = config['datasets']
    assert new['type'] == 'gpassk_opencompass.LiveMathBenchDataset'
    assert new['path'] == 'opencompass/LiveMathBench'
    same = ('k', 'n', 'version', 'dataset_splits', 'dataset_languages', 'cot', 'reader_cfg')
    assert {name: new[name] for name in same} == {name: era.dataset[name] for name in same}
    assert new['infer_cfg']['inferencer'] == {
        'type': 'gpassk_opencompass.SeededGenInferencer',
        'max_out_len': era.dataset['infer_cfg']['inferencer']['max_out_len'],
    }
    assert new['eval_cfg']['evaluator'] == {
        'type': 'gpassk_opencompass.GPassKEvaluator',
        'model_name': '',
        'url': [],
    }
    assert config['summarizer'] == {'type': 'gpassk_opencompass.GPassKSummarizer'}


def test_what_was_changed_is_said_a_line_each_kind_with_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the three API models two have a label that tells what they are not told."""
    assert dump(tmp_path, ERAS['close of March 2025'].text) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        f'3 configs in {tmp_path / "configs"}: 3 written, 0 unchanged\n3 configs translated'
    )
    for line in (
        '  3 models: SeededOpenAISDK in place of OpenAISDK\n',
        '  2 models: max_completion_tokens, which OpenAISDK does not take any more, is max_out_lens\n',
        '  1 model: max_completion_tokens, which OpenAISDK does not take any more, is dropped: it was never',
        "  2 models: key='YOU_API_KEY' was sent as it stands; the key comes from $OPENAI_API_KEY\n",
        "  1 model: key='YOU_API_KEY' was sent as it stands; the key comes from $DEEPSEEK_API_KEY\n",
        '  2 models: the label told a temperature that is not passed',
        '  1 data set: GPassKEvaluator in place of LiveMathBenchEvaluator; answers are judged by rule',
        '  3 configs: GPassKSummarizer\n',
    ):
        assert line in said
    assert dump(tmp_path, ERAS['close of March 2025'].text, '--list') == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_the_manifest_says_what_a_translated_config_passes(tmp_path: Path) -> None:
    """So that `gpassk check` and `gpassk run` find its results."""
    configs = expanded(tmp_path, template_of([MODEL], [DATASET]))
    (entry,) = read_manifest(tmp_path / 'configs')
    (config,) = configs.values()
    assert (entry.k, entry.n, entry.questions) == ((4, 8, 16), 48, 238)
    assert entry.settings['temperature'] == 1.0
    assert entry.model_abbr == config['models'][0]['abbr']
    assert entry.dataset_abbr == config['datasets'][0]['abbr']


@pytest.mark.parametrize('url', [['http://j1/v1', 'http://j2/v1'], 'http://j1/v1'], ids=['list', 'text'])
def test_the_judge_that_the_template_names_judges(tmp_path: Path, url: Any) -> None:
    """Name and addresses go to our evaluator."""
    judged = livemathbench('bench', length=8192, evaluator={'url': url})
    _, dataset = translated(tmp_path, MODEL, judged)
    evaluator = dataset['eval_cfg']['evaluator']
    assert evaluator['model_name'] == 'Qwen/Qwen2.5-72B-Instruct'
    assert evaluator['url'] == ([url] if isinstance(url, str) else url)


@pytest.mark.parametrize(
    ('path', 'expected'),
    [('opencompass/LiveMathBench202412', 'opencompass/LiveMathBench'), ('/data/bench', '/data/bench')],
    ids=['its name at OpenCompass', 'folder'],
)
def test_a_path_to_data_is_kept(tmp_path: Path, path: str, expected: str) -> None:
    """OpenCompass's other name for the hub's data is the hub's."""
    _, dataset = translated(tmp_path, MODEL, with_field(DATASET, 'path', path))
    assert dataset['path'] == expected


def test_replication_says_n_even_where_the_base_config_has_one(tmp_path: Path) -> None:
    """Templates of 2024 were written for data sets with replication: 5 × 4 samples, not 48."""
    _, dataset = translated(tmp_path, MODEL, {**DATASET, 'k': 4, 'replication': 5})
    assert (dataset['k'], dataset['n']) == ([4], 20)


def test_the_length_of_the_data_set_stands_above_that_of_the_model(tmp_path: Path) -> None:
    """As in OpenCompass; a model that says its own max_completion_tokens by protocol keeps that."""
    for number, (model, length, expected) in enumerate(
        (
            (MODEL, 1000, 1000),
            (MODEL, None, 8192),
            (api_model('o1-mini', 'o1-mini', max_completion_tokens=500), 1000, 500),
            (api_model('gpt-4o', 'gpt-4o', max_completion_tokens=500), 1000, 1000),
        )
    ):
        (tmp_path / str(number)).mkdir()
        found, _ = translated(tmp_path / str(number), model, livemathbench('bench', length=length))
        assert found['max_out_len'] == expected


def test_a_greedy_model_is_asked_once_a_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """n greedy answers are one answer n times; the config has n = 1 under the name that the file had."""
    model, dataset = translated(tmp_path, turbomind_model(*GENERAL[0], length=8192, temperature=0.0))
    assert model['gen_config'] == {'do_sample': False, 'repetition_penalty': 1.0}
    assert (dataset['k'], dataset['n']) == ([1], 1)
    assert '  1 model: greedy, so one answer a question' in capsys.readouterr().out


def test_two_models_that_would_be_one_run_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Temperatures of 0.001 and 0.002 were both made greedy: their results would be one file."""
    cold = [turbomind_model(*GENERAL[0], length=8192, temperature=value) for value in (0.001, 0.002)]
    assert dump(tmp_path, template_of(cold, [DATASET])) == 2
    assert 'would be translated to one run' in capsys.readouterr().err
    assert dump(tmp_path, template_of(cold, [DATASET]), '--keep-built-in') == 0


def flan(path: str, abbr: str, **gen: Any) -> Part:
    """A model whose name may end as a label's settings do."""
    return {**turbomind_model(path, 1, 8, length=8192, **gen), 'abbr': abbr}


@pytest.mark.parametrize(
    ('path', 'abbr', 'name'),
    [
        ('x/flan_t5', 'flan_t5_t1.0_l100', 'flan_t5'),
        ('x/flan_t5', 'flan_t5', 'flan_t5'),
        ('x/flan_t5', 'mine_t1.0_p0.8_l100', 'mine'),
        ('x/phi_k2_l3', 'phi_k2_l3_t1-0_l100', 'phi_k2_l3'),
        ('x/flan', 'flan_t5_t1.0_l100', 'flan_t5'),
        ('x/flan', 'flan-tuned_t1.0', 'flan-tuned'),
    ],
)
def test_the_name_of_a_model_is_its_label_without_settings(
    tmp_path: Path, path: str, abbr: str, name: str
) -> None:
    """What belongs to the name, as the end of the path or as a letter that comes twice, stays."""
    model, _ = translated(tmp_path, flan(path, abbr))
    assert model['abbr'] == f'{name}_t1.0_p0.8_k50_rp1.0_rs42_l8192'


def test_two_paths_with_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not as if they were one model twice."""
    assert dump(tmp_path, template_of([flan('x/a', 'mine_t1.0'), flan('x/b', 'mine_p0.8')], [DATASET])) == 2
    said = capsys.readouterr().err
    assert 'their models, x/a and x/b, would have one name; give one another abbr' in said
    assert 'the same' not in said


def test_a_length_that_gives_way_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The label of the old config told the other one."""
    translated(tmp_path, MODEL, livemathbench('bench', length=1000))
    assert '  1 model: max_out_len is 1000, of the data set' in capsys.readouterr().out


def test_a_length_that_counts_is_not_told_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The max_completion_tokens of a reasoning model stand above that of the data set."""
    own = api_model('o1', 'o1', max_completion_tokens=5000, max_out_len=300)
    model, _ = translated(tmp_path, own, livemathbench('bench', length=100))
    assert model['max_out_len'] == 5000
    assert 'of the data set' not in capsys.readouterr().out


@pytest.mark.parametrize(
    ('model', 'expected'),
    [
        pytest.param(
            VLLM,
            {
                'type': 'gpassk_opencompass.SeededVLLM',
                'model_kwargs': {
                    'tensor_parallel_size': 2,
                    'max_model_len': 40960,
                    'gpu_memory_utilization': 0.8,
                },
                'generation_kwargs': {'temperature': 0.6, 'top_p': 0.95},
                'max_seq_len': 40960,
                'random_seed': 7,
            },
            id='vllm',
        ),
        pytest.param(
            HUGGINGFACE,
            {
                'type': 'gpassk_opencompass.SeededHuggingFace',
                'generation_kwargs': {'do_sample': True, 'temperature': 0.6, 'top_k': 20},
                'random_seed': 42,
                'run_cfg': {'num_gpus': 1},
            },
            id='huggingface',
        ),
        pytest.param(
            SERVED,
            {
                'type': 'gpassk_opencompass.SeededTurboMindAPI',
                'path': 'served',
                'api_addr': 'http://node1:23333',
                'temperature': 1.0,
                'top_p': 0.8,
                'top_k': 50,
                'gen_config': {'min_p': 0.1},
                'random_seed': 7,
            },
            id='lmdeploy server',
        ),
        pytest.param(
            {**MODEL, 'backend': 'pytorch', 'engine_config': {'tp': 2, 'block_size': 32}},
            {
                'type': 'gpassk_opencompass.SeededTurboMind',
                'backend': 'pytorch',
                'engine_config': {'tp': 2, 'max_batch_size': 64, 'block_size': 32},
                'run_cfg': {'num_gpus': 2},
            },
            id='pytorch',
        ),
        pytest.param(
            api_model(
                'm',
                'served',
                temperature=0.6,
                openai_api_base='http://node1:8000/v1',
                key='EMPTY',
                openai_extra_kwargs={'top_p': 0.9, 'seed': 7, 'presence_penalty': 0.5},
                extra_body={'top_k': 20, 'chat_template_kwargs': {'enable_thinking': False}},
            ),
            {
                'type': 'gpassk_opencompass.SeededOpenAISDK',
                'key': 'EMPTY',
                'temperature': 0.6,
                'openai_extra_kwargs': {'top_p': 0.9},
                'extra_body': {
                    'chat_template_kwargs': {'enable_thinking': False},
                    'presence_penalty': 0.5,
                    'top_k': 20,
                },
                'random_seed': 7,
            },
            id='openai',
        ),
    ],
)
def test_each_class_that_has_a_seeded_one_is_translated(tmp_path: Path, model: Part, expected: Part) -> None:
    """With the settings where our class takes them, and the run's seed beside them."""
    found, _ = translated(tmp_path, model)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ('key', 'base', 'expected'),
    [
        ('YOUR_API_KEY', 'https://api.anthropic.com/v1/', {'key_env': 'ANTHROPIC_API_KEY'}),
        ('YOU_API_KEY', 'http://node1:8000/v1', {'key': 'ENV'}),
        ('MY_PROVIDER_KEY', 'http://node1:8000/v1', {'key_env': 'MY_PROVIDER_KEY'}),
        ('ENV', 'https://api.deepseek.com', {'key': 'ENV'}),
        ('EMPTY', 'http://node1:8000/v1', {'key': 'EMPTY'}),
    ],
)
def test_a_placeholder_for_a_key_becomes_the_variable_that_holds_one(
    tmp_path: Path, key: str, base: str, expected: Part
) -> None:
    """By the host where it is known which, else $OPENAI_API_KEY; a variable that is named is that one."""
    found, _ = translated(tmp_path, api_model('m', 'gpt-4o', key=key, openai_api_base=base))
    assert {name: found[name] for name in ('key', 'key_env') if name in found} == expected


def test_a_temperature_that_openaisdk_never_sent_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that the label does not tell it either."""
    model, _ = translated(tmp_path, api_model('o1-mini', 'o1-mini', temperature=0.7))
    assert 'temperature' not in model
    assert '  1 model: no temperature: OpenAISDK sends none' in capsys.readouterr().out


@pytest.mark.parametrize('given', [{'top_p': None}, {'top_p': None, 'top_k': None}], ids=['one', 'both'])
def test_a_setting_that_was_turned_off_stays_off(tmp_path: Path, given: Part) -> None:
    """TurboMindAPIModel has top_p = 0.8 and top_k = 50 of its own, and sends none of them that is None."""
    model, _ = translated(tmp_path, {**SERVED, **given})
    assert {name: model.get(name) for name in ('top_p', 'top_k')} == {'top_p': 0.8, 'top_k': 50, **given}


def test_a_greedy_model_needs_no_sampling_settings(tmp_path: Path) -> None:
    """None for each is how transformers is kept from warning of them."""
    off = {'do_sample': False, 'temperature': None, 'top_p': None, 'top_k': None}
    model, _ = translated(tmp_path, {**HUGGINGFACE, 'generation_kwargs': off})
    assert model['generation_kwargs'] == {'do_sample': False, 'repetition_penalty': 1.0}


def test_no_chain_of_thought_stays_none(tmp_path: Path) -> None:
    """OpenCompass asks for steps where `cot` is true; None is not."""
    assert [
        translated(tmp_path, MODEL, {**DATASET, 'cot': cot})[1]['cot'] for cot in (True, False, None)
    ] == [True, False, False]


@pytest.mark.parametrize(
    ('model', 'dataset', 'reason'),
    [
        (with_field(MODEL, 'gen_config.top_p', None), DATASET, 'top_p is None'),
        (with_field(HUGGINGFACE, 'generation_kwargs.temperature', None), DATASET, 'temperature is None'),
        (with_field(VLLM, 'generation_kwargs.stop', []), DATASET, 'stop, which no line of a template says'),
        (api_model('m', 'm', key=None), DATASET, 'key is None'),
        (api_model('m', 'm', think_tag=''), DATASET, 'another think_tag'),
        (api_model('m', 'm', timeout=None), DATASET, 'timeout is None'),
        (MODEL, {**DATASET, 'dataset_splits': []}, 'dataset_splits is empty'),
        (MODEL, {**DATASET, 'dataset_languages': None}, 'dataset_languages is None'),
        (MODEL, {**DATASET, 'version': None}, 'version is None'),
        (MODEL, {**DATASET, 'k': []}, 'k is empty'),
        (MODEL, {**DATASET, 'reader_cfg': None}, 'another reader_cfg'),
        (MODEL, {**DATASET, 'infer_cfg': None}, 'infer_cfg is None'),
        (MODEL, with_field(DATASET, 'infer_cfg.inferencer.max_out_len', None), 'max_out_len is None'),
    ],
    ids=lambda value: value.replace(' ', '_') if isinstance(value, str) else '',
)
def test_an_empty_value_is_not_a_missing_one(
    tmp_path: Path, model: Part, dataset: Part, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the default of today is another than what the old config says, the config stays as it was."""
    assert_left_for(reason, untouched(tmp_path, model, dataset, capsys))


@pytest.mark.parametrize(
    ('model', 'dataset', 'reason'),
    [
        ({**MODEL, 'type': 'mine.TurboMindModelwithChatTemplate'}, DATASET, 'mine.TurboMindModelwith'),
        ({**MODEL, 'type': 'opencompass.models.VLLM'}, DATASET, 'VLLM is none of the model classes'),
        (with_field(MODEL, 'gen_config.min_p', 0.1), DATASET, 'min_p, which no line of a template says'),
        ({**MODEL, 'stop_words': ['Q:']}, DATASET, 'stop_words, which no line of a template says'),
        (with_field(MODEL, 'engine_config.nonsense', 1), DATASET, "engine_config has 'nonsense'"),
        ({**MODEL, 'backend': 'other'}, DATASET, "backend is 'other'"),
        ({**VLLM, 'generation_kwargs': {'temperature': 3.0}}, DATASET, 'takes at most 2'),
        ({**HUGGINGFACE, 'tokenizer_path': 'org/other'}, DATASET, 'another tokenizer_path'),
        (
            api_model('m', 'm', openai_extra_kwargs={'seed': 1}, extra_body={'seed': 2}),
            DATASET,
            'a seed stands in openai_extra_kwargs and in extra_body',
        ),
        (api_model('m', 'm', meta_template={'round': []}), DATASET, 'another meta_template'),
        (
            turbomind_model('org/m', 1, 8, length=64, temperature=0.0, repetition_penalty=1.1),
            DATASET,
            'greedy',
        ),
        (
            MODEL,
            {**DATASET, 'type': 'opencompass.datasets.GSM8KDataset'},
            'bench is not LiveMathBenchDataset',
        ),
        (MODEL, with_field(DATASET, 'reader_cfg.test_range', '[0:8]'), 'another reader_cfg'),
        (MODEL, with_field(DATASET, 'infer_cfg.retriever.fix_id_list', [0]), 'fix_id_list'),
        (
            MODEL,
            with_field(
                DATASET, 'infer_cfg.retriever.type', 'opencompass.openicl.icl_retriever.FixKRetriever'
            ),
            'FixKRetriever in place of ZeroRetriever',
        ),
        (MODEL, with_field(DATASET, 'infer_cfg.prompt_template.template', 'Q: {prompt}'), 'another template'),
        (MODEL, with_field(DATASET, 'eval_cfg.pred_postprocessor', {'type': 'x'}), 'pred_postprocessor'),
    ],
    ids=[
        'class of another package',
        'class without chat template',
        'setting',
        'stop words',
        'field of the engine',
        'backend',
        'temperature',
        'tokenizer',
        'two seeds',
        'roles',
        'greedy with penalty',
        'data set',
        'some of the rows',
        'examples',
        'retriever',
        'prompt',
        'postprocessor',
    ],
)
def test_what_no_template_of_today_says_stays_as_it_was(
    tmp_path: Path, model: Part, dataset: Part, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And it is said why; nothing is dropped in silence."""
    assert_left_for(reason, untouched(tmp_path, model, dataset, capsys))


@pytest.mark.parametrize(
    ('model', 'dataset', 'reason'),
    [
        (MODEL, with_field(DATASET, 'eval_cfg.evaluator.url', 5), 'url is 5; expected str or list'),
        (MODEL, with_field(DATASET, 'eval_cfg.evaluator.model_name', ['a']), "model_name is ['a']"),
        (MODEL, {**DATASET, 'dataset_splits': 5}, 'dataset_splits is 5; expected list'),
        (MODEL, {**DATASET, 'dataset_splits': [['AMC']]}, "['AMC']"),
        (MODEL, {**DATASET, 'dataset_languages': True}, 'dataset_languages is True'),
        (MODEL, {**DATASET, 'path': ['a']}, "path is ['a']; expected str"),
        (MODEL, {**DATASET, 'infer_cfg': 'x'}, "infer_cfg is 'x'; expected a dict"),
        ({**MODEL, 'path': 5}, DATASET, 'path is 5; expected str'),
        ({**MODEL, 'path': ['a']}, DATASET, "path is ['a']; expected str"),
        ({**MODEL, 'backend': ['x']}, DATASET, "backend is ['x']"),
        ({**MODEL, 'run_cfg': 'x'}, DATASET, "run_cfg is 'x'; expected a dict"),
        ({**MODEL, 'run_cfg': {'num_gpus': 'x'}}, DATASET, "num_gpus is 'x'; expected int"),
        ({**MODEL, 'max_out_len': '100'}, DATASET, "max_out_len is '100'; expected int"),
        (with_field(MODEL, 'gen_config.temperature', 'hot'), DATASET, "'hot'"),
        (with_field(MODEL, 'gen_config.top_k', [50]), DATASET, '[50]'),
        (with_field(MODEL, 'gen_config', 5), DATASET, 'gen_config is 5; expected a dict'),
        (api_model('m', 5), DATASET, 'path is 5; expected str'),
        (api_model('m', ['a']), DATASET, "path is ['a']; expected str"),
        (api_model('m', 'm', openai_api_base=5), DATASET, 'openai_api_base'),
        (api_model('m', 'm', openai_api_base='http://[::1'), DATASET, 'no address: Invalid IPv6 URL'),
        (api_model('o1', 'o1', openai_api_base='http://[::1', key='ENV'), DATASET, 'expected http://'),
        (api_model('m', 'm', openai_extra_kwargs=[1]), DATASET, 'openai_extra_kwargs is [1]'),
        ({**SERVED, 'api_addr': 5}, DATASET, 'api_addr is 5; expected str'),
    ],
    ids=lambda value: value.replace(' ', '_') if isinstance(value, str) else '',
)
def test_a_value_of_another_kind_is_said(
    tmp_path: Path, model: Part, dataset: Part, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the line that tells why the config stays as it was; nothing ends in a traceback."""
    assert_left_for(reason, untouched(tmp_path, model, dataset, capsys))


def test_what_stays_as_it_was_is_warned_of(tmp_path: Path) -> None:
    """Of two models one is translated; the other keeps a fixed seed and OpenCompass's evaluator."""
    other = {**MODEL, 'abbr': 'other', 'stop_words': ['Q:']}
    with warnings_of() as messages:
        configs = expanded(tmp_path, template_of([MODEL, other], [DATASET]))
    assert {config['models'][0]['type'].partition('.')[0] for config in configs.values()} == {
        'gpassk_opencompass',
        'opencompass',
    }
    assert sorted(text.partition(' give')[0].partition(' keep')[0] for text in messages) == [
        '1 of 1 configs',
        '1 of 1 models (other, …)',
    ]


def test_a_template_that_has_our_classes_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing to translate, nothing to say."""
    ours: Configs = expanded(tmp_path, template_of([MODEL], [DATASET]))
    (config,) = ours.values()
    (tmp_path / 'again').mkdir()
    capsys.readouterr()
    with warnings_of() as messages:
        again = expanded(tmp_path / 'again', template_of(config['models'], config['datasets']))
    (kept,) = again.values()
    assert {name: kept[name] for name in ('models', 'datasets')} == {
        name: config[name] for name in ('models', 'datasets')
    }
    assert messages == []
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_parts_of_opencompass_stay_those_of_the_template(tmp_path: Path) -> None:
    """A summarizer, infer or eval that the template has is kept."""
    more = "summarizer = dict(type='S')\ninfer = dict(runner=dict(type='R'))\n"
    (config,) = expanded(tmp_path, template_of([MODEL], [DATASET], more)).values()
    assert (config['summarizer'], config['infer']) == ({'type': 'S'}, {'runner': {'type': 'R'}})


def test_a_model_that_should_extract_answers_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what to use in its place; untouched it is warned of, and off it is nothing."""
    extracting = {'use_extract_model': True, 'extract_url': ['http://e/v1'], 'extract_model_name': 'e'}
    text = template_of([MODEL], [livemathbench('bench', length=64, evaluator=extracting)])
    assert dump(tmp_path, text) == 2
    said = capsys.readouterr().err
    assert 'use_extract_model = True: no model extracts answers here' in said
    assert 'eval_model_name and eval_urls' in said
    assert len(said.splitlines()) == 1
    with warnings_of() as messages:
        assert dump(tmp_path, text, '--keep-built-in') == 0
    assert any('use_extract_model ends in a ValueError' in text for text in messages)
    assert dump(tmp_path, text.replace("'use_extract_model': True", "'use_extract_model': False")) == 0


def test_an_override_of_an_older_template_points_to_migrate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its lines are computed already when the override comes."""
    assert dump(tmp_path, template_of([MODEL], [DATASET]), '--override', 'temperatures=[0.3]') == 2
    assert 'gpassk migrate' in capsys.readouterr().err


def test_our_classes_may_be_named_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An expansion writes them as OpenCompass finds them, whatever it has imported."""
    dataset = with_field(DATASET, 'type', 'opencompass.datasets.GSM8KDataset')
    named = with_field(dataset, 'eval_cfg.evaluator', {'type': 'GPassKEvaluator'})
    _, found = translated(tmp_path, {**MODEL, 'gen_config': {}}, named)
    assert found == with_field(dataset, 'eval_cfg.evaluator', {'type': 'gpassk_opencompass.GPassKEvaluator'})
