"""LiveMathBench v202412: 119 problems of four contests, in Chinese and English."""

from mmengine.config import read_base

with read_base():
    from .gpassk_protocol import eval_cfg, infer_cfg, reader_cfg

livemathbench_v202412_datasets = [
    dict(
        type='gpassk_opencompass.LiveMathBenchDataset',
        abbr='LiveMathBench-v202412-k4_8_16-r3',
        path='opencompass/LiveMathBench',
        version='202412',
        dataset_splits=['CNMO', 'CCEE', 'AMC', 'WLPMC'],
        dataset_languages=['cn', 'en'],
        cot=True,
        k=[4, 8, 16],
        n=48,
        reader_cfg=reader_cfg,
        infer_cfg=infer_cfg,
        eval_cfg=eval_cfg,
    )
]
