"""OlymMATH zh-hard: 100 problems in Chinese."""

_ours = __import__('gpassk_opencompass.sweep.expansion', fromlist=['dataset'])  # an import is lazy here
olymmath_zh_hard_datasets = [_ours.dataset('olymmath-zh-hard')]
