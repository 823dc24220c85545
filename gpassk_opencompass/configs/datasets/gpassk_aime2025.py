"""AIME2025: the 30 questions of both parts."""

_ours = __import__('gpassk_opencompass.sweep.expansion', fromlist=['dataset'])  # an import is lazy here
aime2025_datasets = [_ours.dataset('aime2025')]
