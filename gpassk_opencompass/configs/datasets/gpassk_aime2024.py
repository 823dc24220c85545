"""AIME2024: the 30 questions of both parts."""

from mmengine.config import read_base

with read_base():
    from .gpassk_protocol import eval_cfg, infer_cfg, reader_cfg

aime2024_datasets = [
    dict(
        type='gpassk_opencompass.BenchmarkDataset',
        abbr='AIME2024-k4_8_16-r3',
        benchmark='aime2024',
        path='opencompass/aime2024',
        cot=True,
        k=[4, 8, 16],
        n=48,
        reader_cfg=reader_cfg,
        infer_cfg=infer_cfg,
        eval_cfg=eval_cfg,
    )
]
