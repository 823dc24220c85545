"""`gpassk expand --requests`: a batch file for the provider of API models, instead of a run that waits.

A provider's batch costs about half and takes hours. `gpassk score REPLIES SAMPLES` reads what comes back, see
`formats.harnesses.BATCH`: the custom_id of a request is the fingerprint of its sample.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..benchmarks import dataset_rows, limited, whole_prompt
from ..errors import InputError
from ..files import digest, save
from ..sweep.engines import NO_TEMPERATURE
from ..sweep.folder import Run

SAMPLES = '.samples.jsonl'
"""What the name of the table of samples ends in, in the place of `.jsonl` of the requests."""


def write_requests(file: Path, runs: Sequence[Run]) -> list[str]:
    """Write a request a sample in OpenAI's form, and beside it the table of the samples; return what to say.

    Raises:
        InputError: a run is of another engine than `openai`, its prompts ask for no reasoning, or its
            questions cannot be read.
    """
    requests, samples = [], []
    for run in runs:
        for request, sample in _requests_of(run):
            requests.append(json.dumps(request, ensure_ascii=False))
            samples.append(json.dumps(sample, ensure_ascii=False))
    table = file.with_name(f'{file.name.removesuffix(".jsonl")}{SAMPLES}')
    save(file, ''.join(f'{line}\n' for line in requests))
    save(table, ''.join(f'{line}\n' for line in samples))
    return [
        f'{len(requests)} requests in {file}; with the replies of the provider:',
        f'  gpassk score REPLIES.jsonl {table}',
    ]


def _requests_of(run: Run) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield a request and what is known of its sample, replica by replica, as a run draws them."""
    (model,), (dataset,) = run.config['models'], run.config['datasets']
    if not str(model.get('type')).endswith('.SeededOpenAISDK'):
        raise InputError(f"--requests: {run.file} is not of engine 'openai', whose providers take batches")
    if not dataset.get('cot'):
        raise InputError(f'--requests: {run.file}: cot = False is for runs alone; remove it')
    seed = model.get('random_seed')
    length = 'max_completion_tokens' if any(part in run.path for part in NO_TEMPERATURE) else 'max_tokens'
    given = {'temperature': model.get('temperature'), length: model['max_out_len']}
    body = {
        'model': run.path,
        **{name: value for name, value in given.items() if value is not None},
        **model.get('openai_extra_kwargs', {}),
        **model.get('extra_body', {}),
    }
    from ..plugin.seeds import SERVER_BITS, sample_seed

    rows = dataset_rows(dataset)
    if (limit := dataset.get('limit')) is not None:
        rows = [rows[place] for place in limited([(row['split'], row['language']) for row in rows], limit)]
    for replica in range(dataset['n']):
        for row in rows:
            prompt = whole_prompt(row['question'], row['language'])
            own = {} if seed is None else {'seed': sample_seed(seed, row['uid'], replica, SERVER_BITS)}
            message = {**body, **own, 'messages': [{'role': 'user', 'content': prompt}]}
            mark = digest(json.dumps([run.file, row['uid'], replica, message]).encode())[:32]
            sample = {name: row[name] for name in ('uid', 'problem', 'language', 'question')}
            yield (
                {'custom_id': mark, 'method': 'POST', 'url': '/v1/chat/completions', 'body': message},
                {
                    'run': run.file.removesuffix('.py'),
                    **sample,
                    'group': f'{row["split"]}_{row["language"]}',
                    'reference': row['answer'],
                    'replica': replica,
                    **own,
                    'fingerprint': mark,
                },
            )
