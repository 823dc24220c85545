"""The names that a formula may hold, and the short words of English that are no product of symbols."""

from __future__ import annotations

from .tokens import words

FUNCTIONS = words(
    'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log lg exp gcd lcm max min abs'
)
OF_SEVERAL = frozenset({'gcd', 'lcm', 'max', 'min'})
SPELLED = {
    'asin': 'arcsin',
    'acos': 'arccos',
    'atan': 'arctan',
    'tg': 'tan',
    'ctg': 'cot',
    'arctg': 'arctan',
}
GREEK = words(
    'alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi rho sigma tau phi chi psi omega '
    'Gamma Delta Theta Lambda Sigma Phi Psi Omega ell'
)
SPELLED_SYMBOLS = {
    **{name: name for name in (*GREEK, 'pi', 'dx', 'dy', 'dz', 'dt')},
    **dict.fromkeys(('infinity', 'inf', 'oo'), 'oo'),
}
ACCENTS = words(r'\vec \overline \bar \hat \tilde \widehat \overset \underline')
FIGURES = words(r'\angle \triangle \odot')
NAMED_FUNCTIONS = frozenset('fgh')
ENGLISH = words(
    'no not it is of the and are for per bus car cat one two ten six all any can let but out men man '
    'day box cup egg '
    'pen dog yes if or to in on has was his her new old red top you she who how'
)
