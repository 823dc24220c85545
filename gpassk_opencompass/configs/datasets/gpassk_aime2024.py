"""AIME2024: the 30 questions of both parts."""

_ours = __import__('gpassk_opencompass.sweep.expansion', fromlist=['dataset'])  # an import is lazy here
aime2024_datasets = [_ours.dataset('aime2024')]
