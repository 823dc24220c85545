"""Open general and mathematical models that answer without long reasoning, on LiveMathBench.

    gpassk expand nono1.py --dry-run   # what would it cost?
    gpassk expand nono1.py             # in a clone also: python dump_configs.py, for all templates

Every line is one setting. A list is an axis of the sweep: one config is written for each model and each
combination of the axes. A sampling setting whose line is removed is not passed, and not in the file name.
docs/sweeps.md tells the rest.
"""

# Who runs the models: 'turbomind' or 'pytorch' (lmdeploy), 'vllm', 'huggingface' (transformers), 'serve' (a
# server that is started for each model), 'openai' (an API), 'lmdeploy_server'.
engine = 'turbomind'

# path: a hub name or a folder. tp: GPUs a model (default: 1). batch_size: requests at a time (default: 64).
# Optional: name (what it is called), max_seq_len (context), engine_config (lmdeploy), and any axis below for
# this model alone: dict(path='Qwen/QwQ-32B', tp=8, max_out_lens=[32768]).
llm_infos = [
    # general
    dict(path='meta-llama/Llama-3.1-8B-Instruct'),
    dict(path='meta-llama/Llama-3.1-70B-Instruct', tp=8),
    dict(path='meta-llama/Llama-3.3-70B-Instruct', tp=8),
    dict(path='Qwen/Qwen2.5-7B-Instruct'),
    dict(path='Qwen/Qwen2.5-32B-Instruct', tp=4),
    dict(path='Qwen/Qwen2.5-72B-Instruct', tp=8),
    dict(path='internlm/internlm3-8b-instruct'),
    dict(path='google/gemma-2-27b-it', tp=4),
    dict(path='01-ai/Yi-1.5-34B-Chat', tp=4),
    dict(path='mistralai/Mistral-Large-Instruct-2411', tp=8),
    dict(path='deepseek-ai/DeepSeek-V2.5-1210', tp=8, batch_size=16),
    # mathematical
    dict(path='deepseek-ai/deepseek-math-7b-rl'),
    dict(path='internlm/internlm2-math-plus-20b', tp=2),
    dict(path='Qwen/Qwen2.5-Math-7B-Instruct'),
    dict(path='Qwen/Qwen2.5-Math-72B-Instruct', tp=8),
    dict(path='AI-MO/NuminaMath-72B-CoT', tp=8),
]

# Temperature 0.0 is the greedy run: one answer a question, once a model; it is added where the list has none,
# unless greedy = False. The paper's tables are for temperature 1.0 with the values below it.
temperatures = [0.0, 0.3, 1.0]
top_ps = [0.8]
top_ks = [50]
repetition_penalties = [1.0]
max_out_lens = [8192]

# Each of the n samples of a question gets a seed of its own, derived from this one.
random_seeds = [42]

# G-Pass@k for these k, from n = replications * max(k) samples a question (or write n = 48 instead).
# Several lists are an axis: k_lists = [[4, 8, 16], [32]].
k_lists = [[4, 8, 16]]
replications = [3]

# Combinations to leave out, e.g. [dict(model='*-70B*', temperature=0.3), dict(benchmark='aime*', k=[32])].
exclude = []

# Which questions: 'livemathbench' (as the lines below say), 'livemathbench-v202412-hard', 'math500-l5',
# 'aime2024', 'aime2025', 'olymmath-en-hard', …: docs/data.md.
benchmarks = ['livemathbench']

# LiveMathBench's data: a hub name (ask for access on its page, then export HF_TOKEN) or a folder with
# <version>/<SPLIT>_<language>.jsonl; for several benchmarks a dict of such: {'math500-l5': '/data/math500'}.
# The splits of 202412 are CNMO, CCEE, AMC, WLPMC and hard.
dataset_path = 'opencompass/LiveMathBench'
version = '202412'
dataset_splits = ['CNMO', 'CCEE', 'AMC', 'WLPMC']
dataset_languages = ['cn', 'en']

# An LLM judge behind OpenAI-compatible URLs; with none, answers are judged by rule.
eval_urls = []
eval_model_name = ''
