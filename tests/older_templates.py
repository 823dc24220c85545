"""Templates that compute their models and data sets, with the fields and values of the published ones."""

from __future__ import annotations

from dataclasses import dataclass
from pprint import pformat
from typing import Any

Part = dict[str, Any]

GENERAL = (
    ('Qwen/Qwen2.5-7B-Instruct', 4, 64), ('Qwen/Qwen2.5-Math-7B-Instruct', 4, 64),
    ('meta-llama/Llama-3.1-8B-Instruct', 8, 64), ('meta-llama/Llama-3.1-70B-Instruct', 8, 64),
    ('meta-llama/Llama-3.3-70B-Instruct', 8, 64), ('mistralai/Mistral-Large-Instruct-2411', 8, 64),
    ('Qwen/Qwen2.5-32B-Instruct', 8, 64), ('Qwen/Qwen2.5-72B-Instruct', 8, 64),
    ('01-ai/Yi-1.5-34B-Chat', 8, 64), ('deepseek-ai/DeepSeek-V2.5-1210', 8, 16),
    ('google/gemma-2-27b-it', 8, 64), ('deepseek-ai/deepseek-math-7b-rl', 8, 64),
    ('internlm/internlm2-math-plus-20b', 8, 64), ('Qwen/Qwen2.5-Math-72B-Instruct', 8, 64),
)  # fmt: skip
"""path, GPUs, batch size of the models of nono1.py, in every version of it."""

REASONING = (('Qwen/QwQ-32B-Preview', 8, 64), ('Skywork/Skywork-o1-Open-Llama-3.1-8B', 8, 64))
"""Those of o1.py."""

API_ROLES = {
    'round': [
        {'role': 'HUMAN', 'api_role': 'HUMAN'},
        {'role': 'BOT', 'api_role': 'BOT', 'generate': True},
    ]
}


def turbomind_model(
    path: str, tp: int, batch_size: int, *, length: int, top_p: float = 0.8, top_k: int = 50, **gen: Any
) -> Part:
    sampling = {'temperature': 1.0, 'top_p': top_p, 'top_k': top_k, 'repetition_penalty': 1.0} | gen
    temperature = sampling['temperature']
    label = f'_t{temperature}_p{top_p}_k{top_k}_rp{sampling["repetition_penalty"]}_rs42_l{length}'
    return {
        'type': 'opencompass.models.TurboMindModelwithChatTemplate',
        'abbr': path.rpartition('/')[2] + label, 'path': path, 'engine_config': {'tp': tp},
        'gen_config': {'do_sample': temperature >= 0.01, **sampling, 'random_seed': 42},
        'backend': 'turbomind', 'max_out_len': length, 'batch_size': batch_size,
        'run_cfg': {'num_gpus': tp},
    }  # fmt: skip


def api_model(label: str, path: str, *, query_per_second: int = 8, **more: Any) -> Part:
    return {
        'abbr': f'{label}_t1.0_l8192', 'type': 'opencompass.models.OpenAISDK', 'path': path,
        'key': 'YOU_API_KEY', 'meta_template': API_ROLES, 'query_per_second': query_per_second,
        'max_seq_len': 32768, 'batch_size': 8, 'max_completion_tokens': 8192, 'retry': 20,
        'run_cfg': {'num_gpus': 0}, **more,
    }  # fmt: skip


def livemathbench(abbr: str, *, length: int | None, evaluator: Part | None = None, **fields: Any) -> Part:
    """OpenCompass's own LiveMathBench with its own evaluator, as these templates have it."""
    judge = {'model_name': 'Qwen/Qwen2.5-72B-Instruct', 'url': [], **(evaluator or {})}
    inferencer = {'type': 'opencompass.openicl.icl_inferencer.GenInferencer'}
    prompt = {'round': [{'role': 'HUMAN', 'prompt': '{prompt}'}]}
    template = 'opencompass.openicl.icl_prompt_template.PromptTemplate'
    return {
        'type': 'opencompass.datasets.livemathbench.LiveMathBenchDataset',
        'abbr': abbr, 'path': '', 'k': [4, 8, 16], 'n': 48, 'cot': True, 'version': '202412',
        'dataset_splits': ['CNMO', 'CCEE', 'AMC', 'WLPMC'], 'dataset_languages': ['cn', 'en'],
        'reader_cfg': {'input_columns': ['prompt'], 'output_column': 'answer'},
        'infer_cfg': {
            'prompt_template': {'type': template, 'template': prompt},
            'retriever': {'type': 'opencompass.openicl.icl_retriever.ZeroRetriever'},
            'inferencer': inferencer | ({} if length is None else {'max_out_len': length}),
        },
        'eval_cfg': {
            'evaluator': {'type': 'opencompass.datasets.livemathbench.LiveMathBenchEvaluator', **judge}
        },
        **fields,
    }  # fmt: skip


@dataclass(frozen=True)
class Era:
    """One version of a template: its models and its data set."""

    models: list[Part]
    dataset: Part

    @property
    def text(self) -> str:
        return template_of(self.models, [self.dataset])


def template_of(models: list[Part], datasets: list[Part], more: str = '') -> str:
    written = (f'{name} = {pformat(parts)}\n' for name, parts in (('models', models), ('datasets', datasets)))
    return ''.join(written) + more


def _by_replication(abbr: str, length: int) -> Part:
    counts = {'k': [4, 8, 16], 'replication': 3}
    return livemathbench(abbr, length=length, evaluator=counts, replication=3)


def _open(models: Any, length: int, dataset: Part, **sampling: Any) -> Era:
    return Era([turbomind_model(*one, length=length, **sampling) for one in models], dataset)


_API = [
    api_model('o3-mini-2025-01-31', 'o3-mini-2025-01-31'),
    api_model('o1-mini-2024-09-12', 'o1-mini-2024-09-12'),
    api_model(
        'Deepseek-R1',
        'deepseek-reasoner',
        query_per_second=2,
        openai_api_base='https://api.deepseek.com',
        tokenizer_path='gpt-4o-2024-05-13',
        temperature=1.0,
    ),
]
_OLD, _NEW = 'LiveMathBench-v202412_k4-8-16', 'LiveMathBench-v202412-k4_8_16'

ERAS = {
    'nono1 of December 2024': _open(GENERAL, 8192, _by_replication(f'{_OLD}_r3', 8192)),
    'nono1 of 20 December 2024': _open(
        GENERAL, 8192, _by_replication(f'{_OLD}_r3', 8192), top_p=1.0, top_k=40
    ),
    'nono1 of March 2025': _open(GENERAL, 8192, livemathbench(f'{_OLD}_n48', length=8192)),
    'o1 of December 2024': _open(REASONING, 32768, _by_replication(f'{_NEW}-r3', 32768)),
    'o1 of 20 December 2024': _open(
        REASONING, 32768, _by_replication(f'{_NEW}-r3', 32768), top_p=1.0, top_k=40
    ),
    'o1 of March 2025': _open(REASONING, 32768, livemathbench(f'{_NEW}-n48', length=32768)),
    'close of February 2025': Era(_API, _by_replication(f'{_NEW}-r3', 8192)),
    'close of March 2025': Era(_API, livemathbench(f'{_NEW}-n48', length=8192)),
}
"""The published templates, a version each in which they differ."""

VERSIONS = {
    'nono1 6a4745f': 'nono1 of December 2024', 'nono1 4131085': 'nono1 of 20 December 2024',
    'nono1 40983fc': 'nono1 of 20 December 2024', 'nono1 2314d71': 'nono1 of December 2024',
    'nono1 dc63d5c': 'nono1 of December 2024', 'nono1 9da4689': 'nono1 of December 2024',
    'nono1 3826d78': 'nono1 of December 2024', 'nono1 233a735': 'nono1 of March 2025',
    'o1 6a4745f': 'o1 of December 2024', 'o1 4131085': 'o1 of 20 December 2024',
    'o1 2314d71': 'o1 of December 2024', 'o1 dc63d5c': 'o1 of December 2024',
    'o1 48ecc23': 'o1 of December 2024', 'o1 3826d78': 'o1 of December 2024',
    'o1 233a735': 'o1 of March 2025', 'close 3826d78': 'close of February 2025',
    'close 233a735': 'close of March 2025',
}  # fmt: skip
"""Template and commit of github.com/open-compass/GPassK → the fields and values that it computes."""
