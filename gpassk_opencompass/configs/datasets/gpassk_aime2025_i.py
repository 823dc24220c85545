"""AIME2025-I: the 15 questions of the first part, which the paper calls AIME2025."""

_ours = __import__('gpassk_opencompass.sweep.expansion', fromlist=['dataset'])  # an import is lazy here
aime2025_i_datasets = [_ours.dataset('aime2025-i')]
