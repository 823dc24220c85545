"""What Lighteval saves is what the report reads: its own classes write, `gpassk report` reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from saved import K, N, save_run

from gpassk_opencompass import RuleJudge, demo
from gpassk_opencompass.cli import main
from gpassk_opencompass.questions.benchmarks import live_math_bench_rows
from gpassk_opencompass.results.health import Generation
from gpassk_opencompass.results.read import collect
from gpassk_opencompass.results.samples import TOLD
from gpassk_opencompass.scoring import Samples, score_samples


def test_a_saved_run_is_the_record_of_the_same_responses(tmp_path: Path) -> None:
    """As any host scores them: the same counts, the same questions in the same order, one signature."""
    responses = save_run(tmp_path, temperature=1.0)
    rows = live_math_bench_rows(demo.QUESTIONS, demo.VERSION, demo.SPLITS, demo.LANGUAGES)
    columns = {name: [row[name] for row in rows for _ in range(N)] for name in ('uid', 'question', 'problem')}
    samples = Samples(
        **columns,
        replica=list(range(N)) * len(rows),
        reference=[row['answer'] for row in rows for _ in range(N)],
        response=[text for response in responses for text in response.text],
        split=[row['split'] for row in rows for _ in range(N)],
        language=[row['language'] for row in rows for _ in range(N)],
        generation=[
            Generation(prompt_tokens=len(response.input_tokens), output_tokens=len(tokens))
            for response in responses
            for tokens in response.output_tokens
        ],
    )
    with RuleJudge() as judge:
        record, known = score_samples(samples, judge, n=N, k=K)
    [result] = collect([tmp_path]).results
    assert result.signature == record['gpassk']['signature']
    assert dict(result.block['counts']) == record['gpassk']['counts']
    own = [name for name in result.record['details'] if name not in TOLD]
    assert {name: result.record['details'][name] for name in own} == record['details']
    assert result.samples is not None
    assert result.samples.by_question('output_tokens') == [
        [len(tokens) for tokens in response.output_tokens] for response in responses
    ]
    for name in ('answer', 'verdict', 'decided_by', *TOLD):
        assert result.samples.column(name) == known.get(name)
    assert result.health.output_tokens == record['gpassk']['output_tokens']


def test_a_run_without_details_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the option that keeps them."""
    save_run(tmp_path, 1.0, save_details=False)
    assert main(['report', str(tmp_path), '-o', str(tmp_path / 'r')]) == 2
    assert 'run lighteval with --save-details' in capsys.readouterr().err
