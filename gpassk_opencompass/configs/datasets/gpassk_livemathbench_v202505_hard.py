"""The hard split of LiveMathBench v202505, in English."""

from mmengine.config import read_base

with read_base():
    from .gpassk_protocol import eval_cfg, infer_cfg, reader_cfg

livemathbench_v202505_hard_datasets = [
    dict(
        type='gpassk_opencompass.LiveMathBenchDataset',
        abbr='LiveMathBench-v202505-hard-en-k4_8_16-r3',
        path='opencompass/LiveMathBench',
        version='202505',
        dataset_splits=['hard'],
        dataset_languages=['en'],
        cot=True,
        k=[4, 8, 16],
        n=48,
        reader_cfg=reader_cfg,
        infer_cfg=infer_cfg,
        eval_cfg=eval_cfg,
    )
]
