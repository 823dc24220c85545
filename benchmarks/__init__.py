"""Numbers for the documentation, each a script of its own: `python -m benchmarks.NAME`.

How fast something is: the modules of `__main__.SUITE`, all of them by `python -m benchmarks`. What is true:
`fixed_seed`, `interval_coverage`, `rank_coverage`, `rule_judge_agreement`, `sampled_responses`. The other
modules are what these share.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""Where `python -m benchmarks.…` is started."""
