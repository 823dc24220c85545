"""OpenCompass configs with models and datasets of their own: a config a pair, with our classes or as it is.

`tests/golden` holds the names that all published templates give.
"""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from older_templates import ERAS, GENERAL, Part, api_model, livemathbench, template_of, turbomind_model
from sweeping import dump, expanded

MODEL = turbomind_model(*GENERAL[0], length=8192)
DATASET = livemathbench('bench', length=8192)
EXTRACTED = {
    **DATASET,
    'eval_cfg': {'evaluator': {**DATASET['eval_cfg']['evaluator'], 'use_extract_model': True}},
}
GSM8K = {**DATASET, 'type': 'opencompass.datasets.GSM8KDataset', 'abbr': 'gsm8k'}


def pair(folder: Path, model: Part, dataset: Part = DATASET, more: str = '') -> tuple[Part, Part]:
    """Model and data set of the only config that comes out."""
    (config,) = expanded(folder, template_of([model], [dataset], more)).values()
    return config['models'][0], config['datasets'][0]


@pytest.mark.parametrize('era', ERAS.values(), ids=list(ERAS))
def test_replaced_parts_have_the_settings_and_questions_of_the_old_ones(tmp_path, era):
    configs = expanded(tmp_path, era.text)
    for old in era.models:
        config = configs[f'{old["abbr"].replace(".", "-")}@{era.dataset["abbr"]}.py']
        (new,) = config['models']
        if 'gen_config' in old:
            assert new.pop('random_seed') == 42
            new['gen_config']['random_seed'] = 42
            assert new == {**old, 'type': 'gpassk_opencompass.SeededTurboMind'}
        else:
            changed = ('type', 'key', 'max_completion_tokens')
            kept = {name: value for name, value in old.items() if name not in changed}
            key = 'DEEPSEEK_API_KEY' if 'openai_api_base' in old else 'OPENAI_API_KEY'
            added = {'type': 'gpassk_opencompass.SeededOpenAISDK', 'key_env': key}
            assert new == {'tokenizer_path': 'gpt-4o', **kept, **added}
        assert config['summarizer'] == {'type': 'gpassk_opencompass.GPassKSummarizer'}
    ((new,), inference) = config['datasets'], copy.deepcopy(era.dataset['infer_cfg'])
    length = {'max_out_len': inference['inferencer']['max_out_len']}
    inference['inferencer'] = {'type': 'gpassk_opencompass.SeededGenInferencer', **length}
    assert new == {
        **{name: value for name, value in era.dataset.items() if name != 'replication'},
        'type': 'gpassk_opencompass.LiveMathBenchDataset',
        'path': 'opencompass/LiveMathBench',
        'k': new['k'],
        'n': new['n'],
        'infer_cfg': inference,
        'eval_cfg': {'evaluator': {'type': 'gpassk_opencompass.GPassKEvaluator'}},
    }


def test_a_greedy_model_is_asked_once(tmp_path):
    """n greedy answers are one answer n times; settings that reach no greedy run are left out."""
    model, dataset = pair(tmp_path, turbomind_model(*GENERAL[0], length=8192, temperature=0.0))
    assert model['gen_config'] == {'do_sample': False, 'repetition_penalty': 1.0}
    assert (dataset['k'], dataset['n']) == ([1], 1)


@pytest.mark.parametrize('key', ['MY_API_KEY', 'ENV'])
def test_a_key_comes_from_the_environment(tmp_path, key):
    """OpenAISDK would send the name of the variable."""
    model, _ = pair(tmp_path, api_model('m', 'm', key=key))
    assert [model.get('key'), model.get('key_env')] == (['ENV', None] if key == 'ENV' else [None, key])


def test_other_data_sets_and_their_models_stay_as_they_are(tmp_path, capsys):
    """A seeded model needs questions that know which sample a row is; a fixed seed is warned of."""
    configs = expanded(tmp_path, template_of([MODEL], [GSM8K, DATASET]))
    kept = configs[f'{MODEL["abbr"].replace(".", "-")}@gsm8k.py']
    assert kept == {'models': [MODEL], 'datasets': [GSM8K]}
    assert 'one fixed seed' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('models', 'datasets', 'said'),
    [
        ([], [DATASET], 'models is []; expected a list of dicts'),
        (
            [MODEL],
            [{**DATASET, 'k': 64}],
            'bench: k = 64, n = 48; expected whole numbers above 0, each k at most n',
        ),
        ([MODEL, MODEL], [DATASET], 'two combinations would both be written to'),
        ([MODEL], [EXTRACTED], 'no model extracts'),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, models, datasets, said, capsys):
    assert dump(tmp_path, template_of(models, datasets)) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / 'configs').exists()
