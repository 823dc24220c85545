"""The expander: what a template becomes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from loguru import logger
from sweeping import BASE, NAME, dataset_of, dump, expanded, model_of

from gpassk_opencompass.sweep import DatasetName, LiveMathBenchName, RunName
from gpassk_opencompass.sweep.configs import signature


def test_a_huggingface_config_in_full(tmp_path: Path) -> None:
    """Every field of a config, for the engine that the demo uses."""
    extra = "top_ps = 0.8\ntop_ks = 50\nmodel_kwargs = dict(device_map='cpu')\nmax_seq_len = 4096\n"
    assert expanded(tmp_path, BASE + extra) == {
        'model-7b_t0-3_p0-8_k50_rs42_l100@LiveMathBench-v202412-k4_8_16-r3.py': {
            'models': [
                {
                    'type': 'gpassk_opencompass.SeededHuggingFace',
                    'abbr': 'model-7b_t0.3_p0.8_k50_rs42_l100',
                    'path': 'org/model-7b',
                    'model_kwargs': {'device_map': 'cpu'},
                    'generation_kwargs': {'do_sample': True, 'temperature': 0.3, 'top_p': 0.8, 'top_k': 50},
                    'max_seq_len': 4096,
                    'random_seed': 42,
                    'max_out_len': 100,
                    'batch_size': 8,
                    'run_cfg': {'num_gpus': 2},
                }
            ],
            'datasets': [
                {
                    'type': 'gpassk_opencompass.LiveMathBenchDataset',
                    'abbr': 'LiveMathBench-v202412-k4_8_16-r3',
                    'path': 'opencompass/LiveMathBench',
                    'version': '202412',
                    'dataset_splits': ['CNMO', 'CCEE', 'AMC', 'WLPMC'],
                    'dataset_languages': ['cn', 'en'],
                    'cot': True,
                    'k': [4, 8, 16],
                    'n': 48,
                    'reader_cfg': {'input_columns': ['prompt'], 'output_column': 'answer'},
                    'infer_cfg': {
                        'prompt_template': {
                            'type': 'opencompass.openicl.icl_prompt_template.PromptTemplate',
                            'template': {'round': [{'role': 'HUMAN', 'prompt': '{prompt}'}]},
                        },
                        'retriever': {'type': 'opencompass.openicl.icl_retriever.ZeroRetriever'},
                        'inferencer': {'type': 'gpassk_opencompass.SeededGenInferencer', 'max_out_len': 100},
                    },
                    'eval_cfg': {
                        'evaluator': {
                            'type': 'gpassk_opencompass.GPassKEvaluator',
                            'model_name': '',
                            'url': [],
                        }
                    },
                }
            ],
            'summarizer': {'type': 'gpassk_opencompass.GPassKSummarizer'},
        }
    }


def test_a_turbomind_model(tmp_path: Path) -> None:
    """Sampling settings go into gen_config, the seed of the run does not: each sample gets its own."""
    model = model_of(
        expanded(
            tmp_path,
            BASE.replace("'huggingface'", "'turbomind'") + 'repetition_penalties = 1\nmax_seq_len = 4096\n'
            'engine_config = dict(cache_max_entry_count=0.5)\n',
        )
    )
    assert model == {
        'type': 'gpassk_opencompass.SeededTurboMind',
        'abbr': 'model-7b_t0.3_rp1.0_rs42_l100',
        'path': 'org/model-7b',
        'engine_config': {
            'tp': 2,
            'max_batch_size': 8,
            'session_len': 4096,
            'cache_max_entry_count': 0.5,
        },
        'gen_config': {'do_sample': True, 'temperature': 0.3, 'repetition_penalty': 1.0},
        'max_seq_len': 4096,
        'random_seed': 42,
        'max_out_len': 100,
        'batch_size': 8,
        'run_cfg': {'num_gpus': 2},
    }


def test_an_api_model_is_told_only_what_its_name_says(tmp_path: Path) -> None:
    """No seed, no GPU, the key from the environment, and what OpenAI does not know in the body."""
    model = model_of(
        expanded(
            tmp_path,
            "engine = 'openai'\nllm_infos = [dict(path='gpt-4o', batch_size=8, retry=9)]\nretry = 3\n"
            'greedy = False\n'
            'temperatures = [1]\ntop_ps = [0.8]\ntop_ks = [50]\nmax_out_lens = [100]\n'
            'extra_body = dict(x=1)\n',
        )
    )
    assert model['abbr'] == 'gpt-4o_t1.0_p0.8_k50_l100'
    assert (model['type'], model['key'], model['temperature']) == (
        'gpassk_opencompass.SeededOpenAISDK',
        'ENV',
        1.0,
    )
    assert model['openai_extra_kwargs'] == {'top_p': 0.8}
    assert model['extra_body'] == {'x': 1, 'top_k': 50}
    assert (model['retry'], model['run_cfg']) == (9, {'num_gpus': 0})
    assert 'seed' not in json.dumps(model)


def test_a_reasoning_api_model_without_temperature(tmp_path: Path) -> None:
    """A model that OpenCompass sends no temperature has none in its name either."""
    configs = expanded(tmp_path, "engine = 'openai'\nllm_infos = 'o3-mini'\nmax_out_lens = [100]\n")
    assert list(configs) == ['o3-mini_l100@LiveMathBench-v202412-k4_8_16-r3.py']
    assert 'temperature' not in model_of(configs)


@pytest.mark.slow
def test_axes_are_crossed(tmp_path: Path) -> None:
    """One config for each combination, and its name says which."""
    configs = expanded(
        tmp_path,
        """
llm_infos = [('org/a', 1, 8), dict(path='org/b', name='b 2.5')]
temperatures = [0.3, 0.7]
greedy = False
top_ps = [0.8, 1]
top_ks = [0, 50]
repetition_penalties = [1.0, 1.1]
random_seeds = [1, 2]
max_out_lens = [10, 20]
k_lists = [[4], [2, 1]]
replications = [1, 3]
version = ['202412', '202505']
dataset_splits = 'hard'
dataset_languages = ['en']
""",
    )
    assert len(configs) == 2**10
    for name, config in configs.items():
        run = RunName.parse(name)
        (model,), (dataset,) = config['models'], config['datasets']
        assert name == f'{model["abbr"].replace(".", "-")}@{dataset["abbr"]}.py'
        assert model['gen_config'] == {
            'do_sample': True,
            'temperature': run.model.settings.temperature,
            'top_p': run.model.settings.top_p,
            'top_k': run.model.settings.top_k,
            'repetition_penalty': run.model.settings.repetition_penalty,
        }
        assert model['random_seed'] == run.model.settings.random_seed
        assert model['max_out_len'] == run.model.settings.max_out_len
        label = str(LiveMathBenchName(dataset['version'], ('hard',), ('en',)))
        assert run.dataset == DatasetName(label, tuple(dataset['k']), dataset['n'])
        assert dataset['dataset_splits'] == ['hard']
    assert {RunName.parse(name).model.model for name in configs} == {'a', 'b-2-5'}


def test_greedy_is_once_a_model_whatever_the_other_axes_say(tmp_path: Path) -> None:
    """Temperature 0: n = 1, k = [1], the largest max_out_len, and no sampling settings."""
    configs = expanded(
        tmp_path,
        BASE.replace('[0.3]', '[0.3, 0]').replace('[100]', '[50, 100]') + 'greedy = True\n'
        'top_ps = [0.8, 0.9]\nrandom_seeds = [1, 2]\n',
    )
    greedy = [name for name in configs if RunName.parse(name).model.settings.greedy]
    assert greedy == ['model-7b_t0_l100@LiveMathBench-v202412-k1-r1.py']
    assert len(configs) == 1 + 2 * 2 * 2
    (model,), (dataset,) = configs[greedy[0]]['models'], configs[greedy[0]]['datasets']
    assert model['generation_kwargs'] == {'do_sample': False, 'repetition_penalty': 1.0}
    assert 'random_seed' not in model
    assert (dataset['k'], dataset['n']) == ([1], 1)


@pytest.mark.parametrize(
    ('lines', 'name'),
    [
        ('temperatures = 0.3', NAME),
        ('k_lists = [4, 8, 16]', NAME),
        ('k_lists = [[16, 4, 8]]', NAME),
        ('k_lists = 16', NAME.replace('k4_8_16', 'k16')),
        ('temperatures = 1', NAME.replace('t0-3', 't1-0')),
        ('temperatures = [1e-05]', NAME.replace('t0-3', 't0-00001')),
        ('del replications; n = 48', NAME),
        ('del replications; n = 50', NAME.replace('r3', 'n50')),
        ('cot = False', NAME.replace('-k4', '-nocot-k4')),
        (
            "dataset_splits = ['AMC', 'CCEE']; dataset_languages = 'en'",
            NAME.replace('-k4', '-AMC_CCEE-en-k4'),
        ),
        ("version = '202505'", NAME.replace('202412', '202505-all-en')),
        ('random_seeds = range(7, 8)', NAME.replace('rs42', 'rs7')),
        ("llm_infos = '/models/Qwen2.5-7B/'", NAME.replace('model-7b', 'Qwen2-5-7B')),
        ("llm_infos = [dict(path='x/y', name='模型 1')]", NAME.replace('model-7b', '模型-1')),
        ('import os; from itertools import product; _private = UPPER = object()', NAME),
    ],
)
def test_names(tmp_path: Path, lines: str, name: str) -> None:
    """A scalar is an axis of one, a flat k list one list; what differs from the standard shows."""
    assert list(expanded(tmp_path, f'{BASE}\n{lines}\n')) == [name]


def test_the_evaluator_gets_what_the_template_says(tmp_path: Path) -> None:
    """Judge settings and thresholds are arguments of the evaluator; they are in no name."""
    configs = expanded(
        tmp_path,
        BASE + "eval_urls = 'http://localhost:23333/v1'\neval_model_name = 'judge'\nthresholds = [0, 1.0]\n"
        'unjudged_tolerance = 0.05\n',
    )
    assert list(configs) == [NAME]
    assert dataset_of(configs)['eval_cfg']['evaluator'] == {
        'type': 'gpassk_opencompass.GPassKEvaluator',
        'model_name': 'judge',
        'url': ['http://localhost:23333/v1'],
        'thresholds': [0.0, 1.0],
        'unjudged_tolerance': 0.05,
    }


def test_the_inferencer_gets_the_share_that_may_fail(tmp_path: Path) -> None:
    """With another one the samples are the same, and so is the signature by which a run is found again."""
    (tmp_path / 'b').mkdir()
    plain, other = expanded(tmp_path, BASE), expanded(tmp_path / 'b', BASE + 'most_failed = 0.5\n')
    assert 'most_failed' not in dataset_of(plain)['infer_cfg']['inferencer']
    assert dataset_of(other)['infer_cfg']['inferencer'] == {
        **dataset_of(plain)['infer_cfg']['inferencer'],
        'most_failed': 0.5,
    }
    assert signature(plain[NAME]) == signature(other[NAME])
    assert dump(tmp_path, BASE + 'most_failed = 10\n') == 2


def test_the_evaluator_gets_the_judge_of_the_template(tmp_path: Path) -> None:
    """As it stands there, arguments and all."""
    configs = expanded(tmp_path, BASE + "judge = dict(type='rule', timeout=2.5)\n")
    assert dataset_of(configs)['eval_cfg']['evaluator']['judge'] == {'type': 'rule', 'timeout': 2.5}


def test_parts_of_opencompass_pass_through(tmp_path: Path) -> None:
    """infer, eval and summarizer of a template are those of its configs."""
    configs = expanded(
        tmp_path,
        BASE + "infer = dict(partitioner=dict(type='P', num_worker=8))\neval = dict(a=(1, 2))\n"
        "summarizer = dict(type='S')\n",
    )
    (config,) = configs.values()
    assert config['infer'] == {'partitioner': {'type': 'P', 'num_worker': 8}}
    assert (config['eval'], config['summarizer']) == ({'a': [1, 2]}, {'type': 'S'})


OLDER = """
from collections import OrderedDict
from itertools import product

temperatures = [0.0, 1.0]
max_out_len = 100

models = [
    dict(type=OrderedDict, abbr=f'{path}_t{t}', path=path, gen_config=dict(temperature=t))
    for path, t in product(['Qwen2.5', 'b'], temperatures)
]
datasets = [dict(abbr='d1', k=4, n=4, path=''), dict(abbr='d2', k=(4, 8), n=16)]
eval = dict(runner=dict(type='R'))
"""


def test_a_template_with_models_and_datasets_of_its_own(tmp_path: Path) -> None:
    """models × datasets as computed, named by their abbreviations; classes become dotted names."""
    configs = expanded(tmp_path, OLDER)
    assert set(configs) == {
        f'{model}_t{t}@{dataset}.py'
        for model in ('Qwen2-5', 'b')
        for t in ('0-0', '1-0')
        for dataset in ('d1', 'd2')
    }
    assert configs['Qwen2-5_t1-0@d2.py'] == {
        'models': [
            {
                'type': 'collections.OrderedDict',
                'abbr': 'Qwen2.5_t1.0',
                'path': 'Qwen2.5',
                'gen_config': {'temperature': 1.0},
            }
        ],
        'datasets': [{'abbr': 'd2', 'k': [4, 8], 'n': 16}],
        'eval': {'runner': {'type': 'R'}},
    }


def test_fixed_seeds_are_warned_of(tmp_path: Path) -> None:
    """One seed for n samples makes copies; the template still expands, with one warning."""
    messages: list[str] = []
    sink = logger.add(messages.append, format='{message}')
    try:
        assert dump(tmp_path, OLDER.replace('temperature=t', 'temperature=t, random_seed=42')) == 0
    finally:
        logger.remove(sink)
    assert len(messages) == 1
    assert '4 models (Qwen2.5_t0.0, …)' in messages[0]
