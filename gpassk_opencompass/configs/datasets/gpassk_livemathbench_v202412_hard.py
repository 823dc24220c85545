"""The hard split of LiveMathBench v202412: 24 questions in Chinese and 21 in English."""

_ours = __import__('gpassk_opencompass.sweep.expansion', fromlist=['dataset'])  # an import is lazy here
livemathbench_v202412_hard_datasets = [_ours.dataset('livemathbench-v202412-hard')]
