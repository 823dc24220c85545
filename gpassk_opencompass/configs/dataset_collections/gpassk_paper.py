"""The benchmarks of arXiv 2412.13147; AIME2024 has the 30 questions that exist (see docs/data.md)."""

from mmengine.config import read_base

with read_base():
    from ..datasets.gpassk_aime2024 import aime2024_datasets
    from ..datasets.gpassk_aime2025_i import aime2025_i_datasets
    from ..datasets.gpassk_livemathbench_v202412 import livemathbench_v202412_datasets
    from ..datasets.gpassk_livemathbench_v202412_hard import livemathbench_v202412_hard_datasets
    from ..datasets.gpassk_math500_l5 import math500_l5_datasets

datasets = [
    *livemathbench_v202412_datasets,
    *livemathbench_v202412_hard_datasets,
    *math500_l5_datasets,
    *aime2024_datasets,
    *aime2025_i_datasets,
]
