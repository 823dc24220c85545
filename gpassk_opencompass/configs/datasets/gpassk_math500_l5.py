"""MATH500-L5: the 134 questions of MATH500 of level 5."""

_ours = __import__('gpassk_opencompass.sweep.expansion', fromlist=['dataset'])  # an import is lazy here
math500_l5_datasets = [_ours.dataset('math500-l5')]
