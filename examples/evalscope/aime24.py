"""How stably does a model solve AIME 2024? Sixteen samples a question, with G-Pass@k in EvalScope's report.

python examples/evalscope/aime24.py MODEL http://localhost:8000/v1 [FOLDER]

FOLDER holds the questions as test.jsonl (problem, answer) where the hub cannot be reached. The key of the
server is taken from $EVALSCOPE_API_KEY.
"""

import os
import sys

from evalscope import TaskConfig, run_task

from gpassk_opencompass.hosts.evalscope import g_pass_at_k

model, url, *folder = sys.argv[1:]
local = {'local_path': folder[0], 'eval_split': 'test'} if folder else {}
run_task(
    TaskConfig(
        model=model,
        api_url=url,
        api_key=os.environ.get('EVALSCOPE_API_KEY', 'EMPTY'),
        eval_type='openai_api',
        datasets=['aime24'],
        dataset_args={'aime24': {**local, **g_pass_at_k(k=[4, 8, 16])}},
        repeats=16,
        ignore_errors=True,
        generation_config={'temperature': 1.0, 'top_p': 0.95, 'max_tokens': 32768},
    )
)
