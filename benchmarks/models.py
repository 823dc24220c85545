"""How many samples a second does a model behind a server give, against OpenCompass's own client of it?

    python -m benchmarks.models

The inference task of one config, in a process that has imported OpenCompass, on a server that replies after
50 ms, with 64 requests in flight: our model class, OpenCompass's `OpenAISDK`, and the same in its
`OpenICLInferConcurrentTask`, which asks with `ParallelGenInferencer`. The samples are counted in the
prediction file that each wrote. OpenCompass's tokens are counted at blanks, since the real tokenizer would
have to be downloaded.
"""

from __future__ import annotations

import json
import os
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .llm_judge import count_at_blanks
from .made import QUESTIONS, dataset_arguments, write_questions
from .measuring import cost, progress, unwarned
from .stub_server import MODEL, stub_server
from .tables import Row, Section, Size, duration, main, megabytes, overview, times

LATENCY, IN_FLIGHT = 0.05, 64
CONCURRENT = 'OpenAISDK, concurrent task'
CASES = {'tiny': (4, 2), 'quick': (QUESTIONS, 8), 'full': (QUESTIONS, 48)}
"""Questions and samples of each."""

OPENCOMPASS = (
    'opencompass.datasets.LiveMathBenchDataset',
    'opencompass.models.OpenAISDK',
    'opencompass.openicl.icl_inferencer.GenInferencer',
)
SIDES = {
    'ours': (
        'gpassk_opencompass.LiveMathBenchDataset',
        'gpassk_opencompass.SeededOpenAISDK',
        'gpassk_opencompass.SeededGenInferencer',
    ),
    'OpenAISDK': OPENCOMPASS,
    CONCURRENT: OPENCOMPASS,
}


def measure(size: Size) -> Section:
    """Every client."""
    with unwarned():
        import_module('opencompass.tasks')  # before the clock runs
        import_module('gpassk_opencompass.plugin.server_models')
        from opencompass.models import OpenAISDK
    OpenAISDK._init_tokenizer = count_at_blanks
    questions, n = CASES[size]
    with TemporaryDirectory() as name, stub_server(LATENCY, 1) as urls:
        root = Path(name)
        count = write_questions(root / 'data', questions / QUESTIONS)
        costs = {}
        for number, side in enumerate(SIDES):
            progress(f'models: {side}, {count} × {n}')
            costs[side] = cost(partial(_infer, root / str(number), root / 'data', side, n, urls[0]))
    ours, theirs, parallel = costs.values()
    rows: list[Row] = []
    for side, one in costs.items():
        row = {'client': side, 'samples': f'{one.value:,}', 'time': duration(one.seconds)}
        row |= {
            'samples/s': f'{one.value / one.seconds:,.0f}',
            'this / ours': times(one.seconds / ours.seconds),
        }
        row |= {'processor, a sample': duration(one.cpu / one.value), 'memory': megabytes(one)}
        rows.append(row)
    task = f'{count} × {n} samples of a server'
    return Section(
        'Models behind a server',
        f'The inference task on a server that replies after {LATENCY * 1e3:.0f} ms, with {IN_FLIGHT} '
        'requests in flight '
        f'(no client surpasses {IN_FLIGHT / LATENCY:,.0f} a second), by the clock.',
        rows,
        '',
        [
            overview(task, 'OpenAISDK', ours, theirs, by_clock=True),
            overview(task, CONCURRENT, ours, parallel, by_clock=True),
        ],
    )


def _infer(folder: Path, data: Path, side: str, n: int, url: str) -> int:
    """Run the inference task of OpenCompass; the rows of its prediction file."""
    from mmengine.config import Config
    from opencompass.tasks import OpenICLInferTask
    from opencompass.tasks.openicl_infer_concurrent import OpenICLInferConcurrentTask

    os.environ['OPENAI_API_KEY'] = 'EMPTY'
    dataset, model, inferencer = SIDES[side]
    own: dict[str, Any] = {} if side == 'ours' else {'query_per_second': 10_000}
    infer = {
        'prompt_template': {
            'type': 'opencompass.openicl.icl_prompt_template.PromptTemplate',
            'template': {'round': [{'role': 'HUMAN', 'prompt': '{prompt}'}]},
        },
        'retriever': {'type': 'opencompass.openicl.icl_retriever.ZeroRetriever'},
        'inferencer': {'type': inferencer, 'max_out_len': 100},
    }
    rounds = [{'role': 'HUMAN', 'api_role': 'HUMAN'}, {'role': 'BOT', 'api_role': 'BOT', 'generate': True}]
    config = {
        'models': [
            {
                **own,
                'type': model,
                'abbr': 'made',
                'path': MODEL,
                'openai_api_base': f'{url}/v1',
                'key': 'EMPTY',
                'temperature': 1.0,
                'max_out_len': 100,
                'max_seq_len': 8192,
                'batch_size': IN_FLIGHT,
                'max_workers': IN_FLIGHT,
                'meta_template': {'round': rounds},
                'run_cfg': {'num_gpus': 0},
            }
        ],
        'datasets': [[{**dataset_arguments(data, n), 'type': dataset, 'infer_cfg': infer}]],
        'work_dir': str(folder),
    }
    task: Any = OpenICLInferConcurrentTask if side == CONCURRENT else OpenICLInferTask
    task(Config(config)).run()
    [file] = folder.glob('predictions/*/*.json')
    return len(json.loads(file.read_text(encoding='utf-8')))


if __name__ == '__main__':
    main(measure, __doc__)
