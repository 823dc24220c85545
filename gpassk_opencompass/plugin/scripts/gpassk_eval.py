"""The process of an evaluation task: `python gpassk_eval.py CONFIG`, as OpenCompass calls its own script."""

from __future__ import annotations

import time

from mmengine.config import Config
from opencompass.tasks.openicl_eval import parse_args
from opencompass.utils import get_logger

from gpassk_opencompass.plugin.eval_task import GPassKEvalTask


def main() -> None:
    """Evaluate what the config names."""
    config = Config.fromfile(parse_args().config)
    start = time.time()
    GPassKEvalTask(config).run()
    get_logger().info(f'time elapsed: {time.time() - start: .2f}s')


if __name__ == '__main__':
    main()
