"""OlymMATH hard: 100 problems, each in English and Chinese."""

_ours = __import__('gpassk_opencompass.sweep.expansion', fromlist=['dataset'])  # an import is lazy here
olymmath_hard_datasets = [_ours.dataset('olymmath-hard')]
