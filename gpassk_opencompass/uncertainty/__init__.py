"""How far a G-Pass@k can be trusted: intervals, comparisons, ranks, and how much to sample."""

from .comparison import Comparison, compare, rank_intervals
from .intervals import Interval, bootstrap_means, mean_interval
from .planning import Population, fit_population, plan
from .rerun import rerun_interval, value_table

__all__ = [
    'Comparison',
    'Interval',
    'Population',
    'bootstrap_means',
    'compare',
    'fit_population',
    'mean_interval',
    'plan',
    'rank_intervals',
    'rerun_interval',
    'value_table',
]
