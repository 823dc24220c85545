"""The runs of a sweep: in what state each one is, and `opencompass` for those that are not complete."""

from .examine import examine
from .plan import Planned, planned_runs
from .state import Finding, State
from .work_dir import Wanted

__all__ = ['Finding', 'Planned', 'State', 'Wanted', 'examine', 'planned_runs']
