"""What lmdeploy takes, recorded from its own classes: it need not be there where configs are written."""

from __future__ import annotations

VERSION = '0.18.0'


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TURBOMIND_ENGINE = _words("""
    async_ attn_cp_size attn_dp_size attn_tp_size cache_block_seq_len cache_checkpoint_interval
    cache_chunk_size cache_generation cache_max_entry_count cache_prompt cache_prompt_boundary_skip
    communicator cp device_num devices dist_init_addr download_dir dp dtype empty_init enable_metrics
    enable_prefix_caching ep gemm_input_dtype hf_overrides language_model_only max_batch_size
    max_prefill_iters max_prefill_token_num mlp_dp_size mlp_tp_size model_format moe_a2a_backend nnodes
    node_rank num_tokens_per_iter outer_dp_size quant_policy revision rope_scaling_factor session_len tp
    use_logn_attn
""")
"""Fields of `TurbomindEngineConfig`."""

PYTORCH_ENGINE = _words("""
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
"""Fields of `PytorchEngineConfig`."""

CHAT_REQUEST = _words("""
    chat_template_kwargs enable_thinking frequency_penalty ignore_eos image_data
    include_stop_str_in_output input_ids logit_bias logprobs max_completion_tokens max_tokens
    media_io_kwargs messages min_new_tokens min_p mm_processor_kwargs model n parallel_tool_calls
    presence_penalty reasoning_effort repetition_ngram_size repetition_ngram_threshold
    repetition_penalty response_format return_logprob return_routed_experts return_token_ids seed
    session_id skip_special_tokens spaces_between_special_tokens stop stream stream_options temperature
    tool_choice tools top_k top_logprobs top_p user
""")
"""Fields of a request to `/v1/chat/completions`; others are ignored there."""
