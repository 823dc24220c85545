"""How far a G-Pass@k can be trusted: intervals, comparisons, ranks, decisions, and how much to sample."""

from ..metrics import value_table
from .allocation import Allocation, uncertain_first
from .comparison import Comparison, compare
from .decisions import Decision, Decisions, Outcome, PairedRuns, decide, decide_all
from .goals import Goal, GoalKind, floor_half_width, parse_goal
from .intervals import Interval, bootstrap_means, mean_interval
from .planning import Population, fit_population, plan
from .rerun import rerun_interval
from .simultaneous import AllPairs, all_pairs, rank_intervals, told_apart
from .stopping import adjusted_level, rerun_adjusted_level, rerun_level_of_errors

__all__ = [
    'AllPairs',
    'Allocation',
    'Comparison',
    'Decision',
    'Decisions',
    'Goal',
    'GoalKind',
    'Interval',
    'Outcome',
    'PairedRuns',
    'Population',
    'adjusted_level',
    'all_pairs',
    'bootstrap_means',
    'compare',
    'decide',
    'decide_all',
    'fit_population',
    'floor_half_width',
    'mean_interval',
    'parse_goal',
    'plan',
    'rank_intervals',
    'rerun_adjusted_level',
    'rerun_interval',
    'rerun_level_of_errors',
    'told_apart',
    'uncertain_first',
    'value_table',
]
