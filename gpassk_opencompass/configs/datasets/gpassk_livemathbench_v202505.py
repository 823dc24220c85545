"""LiveMathBench v202505, in English."""

_ours = __import__('gpassk_opencompass.sweep.expansion', fromlist=['dataset'])  # an import is lazy here
livemathbench_v202505_datasets = [_ours.dataset('livemathbench-v202505')]
