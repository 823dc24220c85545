"""AIME2025: the 30 questions of both parts."""

from mmengine.config import read_base

with read_base():
    from .gpassk_protocol import eval_cfg, infer_cfg, reader_cfg

aime2025_datasets = [
    dict(
        type='gpassk_opencompass.BenchmarkDataset',
        abbr='AIME2025-k4_8_16-r3',
        benchmark='aime2025',
        path='opencompass/aime2025',
        cot=True,
        k=[4, 8, 16],
        n=48,
        reader_cfg=reader_cfg,
        infer_cfg=infer_cfg,
        eval_cfg=eval_cfg,
    )
]
