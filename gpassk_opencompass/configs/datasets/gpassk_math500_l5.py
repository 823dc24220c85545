"""MATH500-L5: the 134 questions of MATH500 of level 5."""

from mmengine.config import read_base

with read_base():
    from .gpassk_protocol import eval_cfg, infer_cfg, reader_cfg

math500_l5_datasets = [
    dict(
        type='gpassk_opencompass.BenchmarkDataset',
        abbr='MATH500-L5-k4_8_16-r3',
        benchmark='math500-l5',
        path='HuggingFaceH4/MATH-500',
        cot=True,
        k=[4, 8, 16],
        n=48,
        reader_cfg=reader_cfg,
        infer_cfg=infer_cfg,
        eval_cfg=eval_cfg,
    )
]
