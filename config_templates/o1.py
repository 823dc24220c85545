"""Open models that reason at length before they answer, on LiveMathBench: 32,768 tokens a response.

    gpassk expand o1.py

nono1.py explains each line.
"""

engine = 'turbomind'

llm_infos = [
    dict(path='Qwen/QwQ-32B-Preview', tp=8),
    dict(path='Skywork/Skywork-o1-Open-Llama-3.1-8B', tp=2),
    dict(path='deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B', tp=1),
    dict(path='deepseek-ai/DeepSeek-R1-Distill-Qwen-7B', tp=2),
    dict(path='deepseek-ai/DeepSeek-R1-Distill-Qwen-14B', tp=4),
    dict(path='deepseek-ai/DeepSeek-R1-Distill-Qwen-32B', tp=8),
    dict(path='deepseek-ai/DeepSeek-R1-Distill-Llama-8B', tp=2),
    dict(path='deepseek-ai/DeepSeek-R1-Distill-Llama-70B', tp=8),
]

# DeepSeek advises 0.5 to 0.7 for its distilled models, and warns of endless repetition when greedy: to go
# without greedy runs remove the 0.0 and write greedy = False.
temperatures = [0.0, 0.6, 1.0]
top_ps = [0.8]
top_ks = [50]
repetition_penalties = [1.0]
max_out_lens = [32768]
random_seeds = [42]

k_lists = [[4, 8, 16]]
replications = [3]
