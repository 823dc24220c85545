"""How far a G-Pass@k can be trusted: intervals, comparisons, ranks, and how much to sample."""

from .compare import Comparison, compare
from .intervals import Interval, mean_interval
from .kernels import Kernel, kernel_of, value_table
from .planning import Population, fit_population, plan
from .ranks import rank_intervals
from .rerun import rerun_interval
from .resampling import bootstrap_means

__all__ = [
    'Comparison',
    'Interval',
    'Kernel',
    'Population',
    'bootstrap_means',
    'compare',
    'fit_population',
    'kernel_of',
    'mean_interval',
    'plan',
    'rank_intervals',
    'rerun_interval',
    'value_table',
]
