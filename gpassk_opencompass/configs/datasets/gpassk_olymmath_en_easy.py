"""OlymMATH en-easy: 100 problems in English."""

from mmengine.config import read_base

with read_base():
    from .gpassk_protocol import eval_cfg, infer_cfg, reader_cfg

olymmath_en_easy_datasets = [
    dict(
        type='gpassk_opencompass.BenchmarkDataset',
        abbr='OlymMATH-en-easy-k4_8_16-r3',
        benchmark='olymmath-en-easy',
        path='RUC-AIBOX/OlymMATH',
        cot=True,
        k=[4, 8, 16],
        n=48,
        reader_cfg=reader_cfg,
        infer_cfg=infer_cfg,
        eval_cfg=eval_cfg,
    )
]
