"""How far a G-Pass@k can be trusted: intervals, comparisons, ranks, decisions, and how much to sample."""

from ..metrics import value_table
from .comparison import Comparison, compare
from .decisions import Decision, Decisions, Outcome, PairedRuns, decide, decide_all
from .intervals import Interval, mean_interval
from .planning import Population, fit_population, plan
from .rerun import rerun_interval
from .simultaneous import AllPairs, all_pairs

__all__ = [
    'AllPairs',
    'Comparison',
    'Decision',
    'Decisions',
    'Interval',
    'Outcome',
    'PairedRuns',
    'Population',
    'all_pairs',
    'compare',
    'decide',
    'decide_all',
    'fit_population',
    'mean_interval',
    'plan',
    'rerun_interval',
    'value_table',
]
