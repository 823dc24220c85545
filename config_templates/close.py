"""Models behind an API that speaks OpenAI's protocol, on LiveMathBench.

    gpassk expand close.py
    export OPENAI_API_KEY=... ANTHROPIC_API_KEY=... GEMINI_API_KEY=...
    export DASHSCOPE_API_KEY=... DEEPSEEK_API_KEY=...
    opencompass opencompass_configs/gpt-4o-2024-11-20_t1-0_l4096@LiveMathBench-v202412-k4_8_16-r3.py

No key belongs in this file: key_env names the environment variable (default: OPENAI_API_KEY). nono1.py
explains the other lines, docs/engines.md the engines.
"""

engine = 'openai'

# openai_api_base: where the API is (default: OpenAI, or $OPENAI_BASE_URL).
GOOGLE = dict(
    batch_size=32,  # questions handed over at a time
    openai_api_base='https://generativelanguage.googleapis.com/v1beta/openai/',
    key_env='GEMINI_API_KEY',
)

# Those of the paper; a provider may have retired one, and then says so at the first request.
llm_infos = [
    dict(path='gpt-4o-2024-11-20', batch_size=32),
    dict(
        path='claude-3-5-sonnet-20241022',
        batch_size=32,
        openai_api_base='https://api.anthropic.com/v1/',
        key_env='ANTHROPIC_API_KEY',
    ),
    dict(path='gemini-2.0-flash', **GOOGLE),
    dict(path='gemini-1.5-pro', **GOOGLE),
    dict(
        path='qwen-max-2025-01-25',
        name='Qwen2.5-Max',
        batch_size=32,
        openai_api_base='https://dashscope.aliyuncs.com/compatible-mode/v1',
        key_env='DASHSCOPE_API_KEY',
    ),
    dict(
        path='deepseek-chat',
        batch_size=32,
        openai_api_base='https://api.deepseek.com/v1',
        key_env='DEEPSEEK_API_KEY',
    ),
]

query_per_second = 8  # no more requests than this
retry = 20

# Only these reach the model, so only these are in the names. OpenCompass sends no temperature at all to a
# model with o1, o3, o4 or gpt-5 in its path: such models are in close_o1.py, which has no such line.
temperatures = [0.0, 1.0]
max_out_lens = [4096]

# No seeds: not every provider takes the field. With [42] each sample is sent a seed of its own, by which
# vLLM and lmdeploy draw; OpenAI calls it best effort.
random_seeds = None

k_lists = [[4, 8, 16]]
replications = [3]
