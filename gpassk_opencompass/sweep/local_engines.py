"""Engines that load the model here: lmdeploy's two, vLLM and transformers."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..errors import TemplateError
from ..naming.names import Settings
from .axes import POSITIVE, words
from .engines import (
    Engine,
    Starter,
    check_temperature,
    chosen,
    passed,
    refuse_keys,
    refuse_unknown_keys,
)
from .models import Llm

LMDEPLOY = '0.18.0'
"""The version whose fields are recorded here: lmdeploy need not be there where configs are written."""

TURBOMIND_FIELDS = words("""
    async_ attn_cp_size attn_dp_size attn_tp_size cache_block_seq_len cache_checkpoint_interval
    cache_chunk_size cache_generation cache_max_entry_count cache_prompt cache_prompt_boundary_skip
    communicator cp device_num devices dist_init_addr download_dir dp dtype empty_init enable_metrics
    enable_prefix_caching ep gemm_input_dtype hf_overrides language_model_only max_batch_size
    max_prefill_iters max_prefill_token_num mlp_dp_size mlp_tp_size model_format moe_a2a_backend nnodes
    node_rank num_tokens_per_iter outer_dp_size quant_policy revision rope_scaling_factor session_len tp
    use_logn_attn
""")
"""The fields of `TurbomindEngineConfig`."""

PYTORCH_FIELDS = words("""
    adapters attn_tp_size block_size cache_max_entry_count cudagraph_capture_batch_sizes
    custom_module_map device_type distributed_executor_backend dllm_block_length
    dllm_confidence_threshold dllm_denoising_steps dllm_unmasking_strategy download_dir dp dp_rank dtype
    eager_mode empty_init enable_eplb enable_metrics enable_microbatch enable_mp_engine
    enable_prefix_caching enable_return_routed_experts enable_transfer_obj_ref ep hf_overrides
    kernel_block_size kv_transfer_config language_model_only logprobs_mode max_batch_size
    max_prefill_token_num migration_backend mlp_tp_size model_format moe_tp_size mp_engine_backend
    num_cpu_blocks num_gpu_blocks piecewise_cudagraph_max_tokens prefill_interval
    prefix_cache_decode_state_interval prefix_cache_state_budget quant_policy revision role session_len
    thread_safe tp
""")
"""The fields of `PytorchEngineConfig`."""

VLLM_LEAST_TEMPERATURE = 0.01
"""vLLM raises a temperature between 0 and this one to it."""


def _turbomind(llm: Llm, settings: Settings) -> dict[str, Any]:
    context = chosen(llm, 'max_seq_len')
    session = {'session_len': context['max_seq_len']} if context else {}
    batch = {'tp': llm.tp, 'max_batch_size': llm.batch_size}
    return {
        'engine_config': {**batch, **session, **llm.options.get('engine_config', {})},
        'gen_config': _sampling(settings),
        **context,
        **passed(settings, 'random_seed'),
    }


def _huggingface(llm: Llm, settings: Settings) -> dict[str, Any]:
    return {
        **chosen(llm, 'model_kwargs', 'tokenizer_kwargs'),
        'generation_kwargs': _sampling(settings),
        **chosen(llm, 'max_seq_len'),
        **passed(settings, 'random_seed'),
    }


def _vllm(llm: Llm, settings: Settings) -> dict[str, Any]:
    context = chosen(llm, 'max_seq_len')
    length = {'max_model_len': context['max_seq_len']} if context else {}
    sampling = {key: value for key, value in _sampling(settings).items() if key != 'do_sample'}
    return {
        'model_kwargs': {'tensor_parallel_size': llm.tp, **length, **llm.options.get('model_kwargs', {})},
        'generation_kwargs': {'temperature': settings.temperature, **sampling},
        **context,
        **chosen(llm, 'chat_template_kwargs'),
        **passed(settings, 'random_seed'),
    }


def _sampling(settings: Settings) -> dict[str, Any]:
    if settings.greedy:
        # Neutral: transformers would take the penalty of the model's generation_config.json instead.
        return {'do_sample': False, 'repetition_penalty': 1.0}
    return {'do_sample': True, **passed(settings, 'temperature', 'top_p', 'top_k', 'repetition_penalty')}


def _check_lmdeploy(llm: Llm, settings: Settings, engine: str, fields: frozenset[str]) -> None:
    check_temperature(llm, settings)
    _check_gpus(llm, engine)
    refuse_keys(llm, 'engine_config', ['tp'], 'write tp in llm_infos, it counts the GPUs too')
    reason = f'which lmdeploy {LMDEPLOY} does not know for engine {engine!r} and OpenCompass would drop'
    refuse_unknown_keys(llm, 'engine_config', fields, reason)


def _check_vllm(llm: Llm, settings: Settings) -> None:
    check_temperature(llm, settings)
    _check_gpus(llm, 'vllm')
    refuse_keys(
        llm, 'model_kwargs', ['tensor_parallel_size'], 'write tp in llm_infos, it counts the GPUs too'
    )
    if 'max_seq_len' in llm.options:
        refuse_keys(llm, 'model_kwargs', ['max_model_len'], 'max_seq_len says the same; give one of them')
    if settings.temperature and settings.temperature < VLLM_LEAST_TEMPERATURE:
        raise TemplateError(
            f'{llm.path}: temperature {settings.temperature}; vLLM would make it {VLLM_LEAST_TEMPERATURE}, '
            'so write that, or 0 for the greedy run'
        )


def _check_gpus(llm: Llm, engine: str) -> None:
    if llm.tp < 1:
        raise TemplateError(f'{llm.path}: tp is {llm.tp}; engine {engine!r} needs at least one GPU')


def _starter(about: str, extra: str, more: str = '', batch_size: int = 64) -> Starter:
    return Starter(
        about=f'{about}: pip install "gpassk_opencompass[{extra}]"',
        entries=f'path: a hub name or a folder. tp: GPUs a model. batch_size: requests at a time.{more}',
        model='Qwen/Qwen2.5-7B-Instruct',
        fields=f'tp=1, batch_size={batch_size}',
    )


def _lmdeploy(engine: str, called: str, fields: frozenset[str], backend: dict[str, Any]) -> Engine:
    return Engine(
        type='gpassk_opencompass.SeededTurboMind',
        loads=True,
        options={'engine_config': dict, 'max_seq_len': POSITIVE},
        arguments=lambda llm, settings: {**backend, **_turbomind(llm, settings)},
        check=partial(_check_lmdeploy, engine=engine, fields=fields),
        starter=_starter(f"lmdeploy's {called}, on GPUs of this machine", 'lmdeploy'),
    )


TURBOMIND = _lmdeploy('turbomind', 'TurboMind', TURBOMIND_FIELDS, {})
PYTORCH = _lmdeploy('pytorch', 'PyTorch engine', PYTORCH_FIELDS, {'backend': 'pytorch'})
VLLM = Engine(
    type='gpassk_opencompass.SeededVLLM',
    loads=True,
    options={'model_kwargs': dict, 'max_seq_len': POSITIVE, 'chat_template_kwargs': dict},
    arguments=_vllm,
    check=_check_vllm,
    starter=_starter('vLLM, on GPUs of this machine', 'vllm'),
)
HUGGINGFACE = Engine(
    type='gpassk_opencompass.SeededHuggingFace',
    loads=True,
    options={'model_kwargs': dict, 'tokenizer_kwargs': dict, 'max_seq_len': POSITIVE},
    arguments=_huggingface,
    starter=_starter('transformers, on any machine', 'opencompass', more=' tp=0: no GPU.', batch_size=16),
)
