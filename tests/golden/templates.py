"""Small templates, which together use each line that a template may have, each benchmark and each engine."""

EVERY_BENCHMARK = (
    'livemathbench', 'livemathbench-v202412', 'livemathbench-v202412-hard', 'livemathbench-v202505',
    'livemathbench-v202505-hard', 'math500-l5', 'aime2024', 'aime2025', 'aime2025-i', 'olymmath-en-easy',
    'olymmath-en-hard', 'olymmath-zh-easy', 'olymmath-zh-hard', 'olymmath-easy', 'olymmath-hard',
)  # fmt: skip

_PLAIN = """
llm_infos = ['org/model']
temperatures = [1.0]
max_out_lens = [8192]
"""

TEMPLATES = {
    'axes': """
llm_infos = [dict(path='org/Model-1.5b', tp=2, batch_size=8)]
temperatures = [0.0, 0.25, 1.0]
top_ps = [0.8, 1.0]
top_ks = [0, 50]
repetition_penalties = [1.0, 1.05]
random_seeds = [0, 42]
max_out_lens = [1024, 2048]
k_lists = [[4, 8, 16], 5]
replications = [1, 3]
exclude = [
    dict(top_p=1.0, top_k=50),
    dict(repetition_penalty=1.05, max_out_len=[1024, 2048], k=[5]),
    dict(n=48),
]
""",
    'few lines': """
llm_infos = 'org/model'
temperatures = 0.7
max_out_lens = 100
""",
    'sizes': """
llm_infos = ['org/model']
temperatures = [0.7]
greedy = False
max_out_lens = [100]
k_lists = [[2, 3], [16, 4]]
n = [16, 50]
""",
    'own lines of a model': """
llm_infos = [
    ('org/first', 1, 8),
    dict(path='/models/a.b/Second', name='2nd model', tp=4, temperatures=[0.6], max_out_lens=[32768]),
    dict(path='org/third', top_ks=[20], replications=1, k_lists=[[8]], benchmarks='aime2025', greedy=False),
    dict(path='org/fourth', random_seeds=[1, 2], n=20, version='202505'),
]
temperatures = [0.3, 1.0]
max_out_lens = [8192]
exclude = [dict(model='*first', temperature=0.3, n=48), dict(model='ORG/FOURTH', random_seed=2)]
""",
    'benchmarks': f"""{_PLAIN}benchmarks = {[*EVERY_BENCHMARK[1:]]}
dataset_path = {{'math500-l5': '/data/math500', 'aime2024': '/data/aime'}}
exclude = [dict(benchmark='olymmath*easy', temperature=0.0)]
""",
    'livemathbench': f"""{_PLAIN}dataset_path = '/data/LiveMathBench'
version = ['202412', '202505']
dataset_splits = ['CNMO', 'AMC']
dataset_languages = ['en']
cot = False
""",
    'revision': f"""{_PLAIN}dataset_revision = 'v1.0'
thresholds = [0.5, 1.0]
unjudged_tolerance = 0.05
most_failed = 0.1
""",
    'judged by an LLM': f"""{_PLAIN}eval_urls = ['http://node1:8000/v1', 'http://node2:8000/v1']
eval_model_name = 'Qwen/Qwen2.5-72B-Instruct'
""",
    'judged by both': f"""{_PLAIN}judge = dict(
    type='cascade',
    first=dict(type='rule', without=['unit-missing']),
    second=dict(type='llm', model='judge', urls=['http://node1:8000/v1'], api_key_env='JUDGE_KEY'),
)
""",
    'parts': f"""{_PLAIN}summarizer = dict(type='gpassk_opencompass.GPassKSummarizer')
infer = dict(runner=dict(type='opencompass.runners.LocalRunner', max_num_workers=8))
eval = dict(runner=dict(type='opencompass.runners.LocalRunner', max_num_workers=4))
""",
    'turbomind': """
engine = 'turbomind'
llm_infos = [dict(path='org/model', tp=2), dict(path='org/small')]
engine_config = dict(cache_max_entry_count=0.7)
max_seq_len = 16384
temperatures = [0.0, 1.0]
top_ps = [0.8]
top_ks = [50]
repetition_penalties = [1.1]
max_out_lens = [8192]
""",
    'pytorch': """
engine = 'pytorch'
llm_infos = [dict(path='org/model', tp=2, engine_config=dict(dtype='bfloat16'))]
temperatures = [0.0, 1.0]
max_out_lens = [8192]
""",
    'vllm': """
engine = 'vllm'
llm_infos = [dict(path='org/model', tp=2, model_kwargs=dict(gpu_memory_utilization=0.8)), 'org/other']
model_kwargs = dict(dtype='bfloat16')
chat_template_kwargs = dict(enable_thinking=False)
max_seq_len = 16384
temperatures = [0.0, 0.6]
top_ps = [0.95]
top_ks = [20]
repetition_penalties = [1.0]
max_out_lens = [8192]
""",
    'huggingface': """
engine = 'huggingface'
llm_infos = [dict(path='org/model', tp=0, batch_size=16)]
model_kwargs = dict(torch_dtype='torch.float32', device_map='cpu')
tokenizer_kwargs = dict(padding_side='left')
max_seq_len = 4096
temperatures = [0.0, 1.0]
top_ps = [0.8]
max_out_lens = [100]
""",
    'openai': """
engine = 'openai'
llm_infos = [
    dict(path='gpt-4o-2024-11-20'),
    dict(path='model', openai_api_base='http://node1:8000/v1', key='EMPTY', tokenizer_path='org/model'),
    dict(path='two', openai_api_base=['http://n1:1/v1', 'http://n2:1/v1'], key_env='MY_KEY', max_seq_len=900),
    dict(path='o1-of-mine', openai_api_base='http://node1:8000/v1', extra_body=dict(reasoning_effort='low')),
]
query_per_second = 8
retry = 20
timeout = 600
patience = 60
max_workers = 16
temperatures = [0.0, 1.0]
top_ps = [0.9]
top_ks = [20]
repetition_penalties = [1.05]
random_seeds = [7]
max_out_lens = [512]
""",
    'openai without settings': """
engine = 'openai'
llm_infos = ['o3-mini-2025-01-31']
max_out_lens = [512]
""",
    'lmdeploy_server': """
engine = 'lmdeploy_server'
llm_infos = [dict(path='served', api_addr=['http://node1:23333', 'http://node2:23333'], key_env='MY_KEY')]
extra_body = dict(min_p=0.05)
temperatures = [0.0, 1.0]
top_ps = [0.8]
top_ks = [50]
repetition_penalties = [1.1]
max_out_lens = [512]
random_seeds = None
""",
    'serve': """
engine = 'serve'
llm_infos = [
    dict(path='org/model', tp=2, server='vllm', tokenizer_path='org/model', max_seq_len=9000),
    dict(path='org/other', tp=2, pp=2, server='sglang', served_name='other'),
    dict(path='org/third', server='lmdeploy', extra_body=dict(min_p=0.05)),
    dict(path='/models/fourth.gguf', tp=0, server='llama.cpp'),
    dict(path='org/fifth', serve=dict(command='mine {model} --port {port}')),
]
temperatures = [0.0, 1.0]
top_ps = [0.8]
top_ks = [50]
repetition_penalties = [1.1]
max_out_lens = [512]
""",
}
