"""Models behind an API that reason at length and take no temperature, on LiveMathBench.

    gpassk expand close_o1.py
    export OPENAI_API_KEY=... DEEPSEEK_API_KEY=...

close.py explains the lines on keys and servers, nono1.py the others. There are no temperatures here, so no
greedy run either: OpenAI refuses the field for its models, DeepSeek ignores it, and a name tells only what is
passed.
"""

engine = 'openai'

# deepseek-reasoner is the name under which DeepSeek's API serves its newest reasoner, DeepSeek-R1 when the
# paper's tables were made; what a server says that it serves is in the record of each run.
llm_infos = [
    dict(path='o1-mini-2024-09-12', batch_size=32),
    dict(path='o3-mini-2025-01-31', batch_size=32),
    dict(
        path='deepseek-reasoner',
        batch_size=32,
        openai_api_base='https://api.deepseek.com/v1',
        key_env='DEEPSEEK_API_KEY',
    ),
]

query_per_second = 8
retry = 20

# Thoughts count.
max_out_lens = [16384]
random_seeds = None

k_lists = [[4, 8, 16]]
replications = [3]
