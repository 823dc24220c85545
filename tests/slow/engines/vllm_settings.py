"""How a vLLM starts on the CPU of a test machine."""

VLLM_ON_CPU = {
    'VLLM_CPU_KVCACHE_SPACE': '1',
    'VLLM_CPU_OMP_THREADS_BIND': 'nobind',
    'VLLM_ENABLE_V1_MULTIPROCESSING': '0',
    'OMP_NUM_THREADS': '1',
    'HF_HUB_OFFLINE': '1',
    'VLLM_NO_USAGE_STATS': '1',
    'VLLM_LOGGING_LEVEL': 'ERROR',
    'DO_NOT_TRACK': '1',
}
"""One GiB for keys and values, one thread, one process, nothing from the network."""
