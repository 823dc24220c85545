"""`gpassk expand --requests`: the requests of a sweep for a provider's batch, and back to samples."""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path

from hosts import import_plugin, write_bench
from judge_server import completion

from gpassk_opencompass.cli import main
from gpassk_opencompass.formats import read_samples

TEMPLATE = """
engine = 'openai'
llm_infos = ['gpt-4o']
temperatures = [0.5]
random_seeds = [42]
max_out_lens = [100]
k_lists = [[2]]
n = 2
dataset_path = 'data'
dataset_splits = 'AMC'
"""
BENCH = {'AMC_en': [('What is 1 + 1?', '2')], 'AMC_cn': [('1 + 1 是多少？', '2')]}


def test_a_sample_is_a_request_whose_reply_finds_it(tmp_path, monkeypatch, capsys):
    """n × questions and the greedy run's; settings, prompt and a seed of its own."""
    import_plugin()
    monkeypatch.chdir(tmp_path)
    write_bench(Path('data'), BENCH)
    Path('template.py').write_text(TEMPLATE)
    assert main(['expand', 'template.py', '--requests', 'batch.jsonl']) == 0
    assert '6 requests in batch.jsonl' in capsys.readouterr().out
    requests = [json.loads(line) for line in Path('batch.jsonl').read_text('utf-8').splitlines()]
    samples = [json.loads(line) for line in Path('batch.samples.jsonl').read_text('utf-8').splitlines()]
    assert [one['custom_id'] for one in requests] == [one['fingerprint'] for one in samples]
    assert len({one['custom_id'] for one in requests}) == 6
    bodies = [one['body'] for one in requests]
    assert {body['temperature'] for body in bodies} == {0.0, 0.5}
    assert all((body['model'], body['max_tokens']) == ('gpt-4o', 100) for body in bodies)
    sampled = [(body, one) for body, one in zip(bodies, samples, strict=True) if body['temperature']]
    for body, sample in sampled:
        name = f'42\0{sample["uid"]}\0{sample["replica"]}'.encode()
        seed = int.from_bytes(blake2b(name, digest_size=8).digest(), 'big') >> 33
        assert body['seed'] == sample['seed'] == seed
        assert sample['question'] in body['messages'][0]['content']
    assert len({body['seed'] for body, _ in sampled}) == 4
    response = {'status_code': 200, 'body': completion(r'It is \boxed{2}.')}
    replies = [{'custom_id': one['custom_id'], 'response': response} for one in requests]
    Path('replies.jsonl').write_text('\n'.join(map(json.dumps, replies)))
    runs = read_samples([Path('replies.jsonl'), Path('batch.samples.jsonl')])
    assert sorted(len(run.samples or ()) for run in runs) == [2, 4]
