"""OlymMATH en-easy: 100 problems in English."""

_ours = __import__('gpassk_opencompass.sweep.expansion', fromlist=['dataset'])  # an import is lazy here
olymmath_en_easy_datasets = [_ours.dataset('olymmath-en-easy')]
