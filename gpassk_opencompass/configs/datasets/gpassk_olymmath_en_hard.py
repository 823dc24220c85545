"""OlymMATH en-hard: 100 problems in English."""

_ours = __import__('gpassk_opencompass.sweep.expansion', fromlist=['dataset'])  # an import is lazy here
olymmath_en_hard_datasets = [_ours.dataset('olymmath-en-hard')]
