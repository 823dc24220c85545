"""LiveMathBench v202412: 119 problems of four contests, in Chinese and English."""

_ours = __import__('gpassk_opencompass.sweep.expansion', fromlist=['dataset'])  # an import is lazy here
livemathbench_v202412_datasets = [_ours.dataset('livemathbench-v202412')]
