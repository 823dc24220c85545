"""How far a run is, read from its files while they grow, against a count of everything by `json.loads`."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import QUESTIONS, config_text, drawn, record, write

from gpassk_opencompass.results.health import Generation
from gpassk_opencompass.runs.answers_so_far import QuickJudge, judged_by_rule
from gpassk_opencompass.runs.drawn import Growing, Row, Shard
from gpassk_opencompass.runs.plan import Planned, planned_runs
from gpassk_opencompass.runs.progress import Progress, Rate, RunReader, progress_of_result
from gpassk_opencompass.runs.work_dir import Start, Starts, Wanted

TOTAL = 4 * QUESTIONS
TIME = '20260101_000000'


class Rows:
    """What a shard hands on."""

    def __init__(self) -> None:
        self.seen: list[Row] = []

    def row(self, row: Row) -> None:
        self.seen.append(row)

    def begin(self) -> None:
        self.seen.clear()


def lines(rows: range) -> str:
    return ''.join(f'{json.dumps(drawn(row))}\n' for row in rows)


def random_row(number: int, chance: random.Random) -> dict[str, Any]:
    """Any engine's: with and without what it may tell."""
    told: dict[str, Any] = {}
    if chance.random() < 0.8:
        told['output_tokens'] = chance.randrange(5000)
    if chance.random() < 0.7:
        told['finish_reason'] = chance.choice(['stop', 'length', 'eos'])
    if chance.random() < 0.2:
        told['state'] = chance.choice(['empty', 'failed', 'refusal', 'aborted'])
    origin = {'origin': {'run': 'x'}} if chance.random() < 0.3 else {}
    row = {
        **origin,
        'idx': number,
        'prediction': '二 \\boxed{7}' + chance.randrange(40) * 'x\\n',
        'gold': '7',
    }
    return {**row, 'generation': told} if told else row


def counted(text: str) -> dict[str, int]:
    """The same counts the plain way: everything is read again."""
    told = [json.loads(line).get('generation', {}) for line in text.splitlines()]
    not_drawn = {'failed', 'aborted'}
    known = [one for one in told if 'finish_reason' in one or one.get('state') in not_drawn]
    return {
        'samples': len(told),
        'told': sum('output_tokens' in one for one in told),
        'tokens': sum(one.get('output_tokens', 0) for one in told),
        'known': len(known),
        'cut_off': sum(
            one.get('finish_reason') == 'length' and one.get('state') not in not_drawn for one in known
        ),
        'unusual': sum('state' in one for one in told),
        'taken': text.count('"origin":'),
        'tokens_taken': sum(
            row.get('generation', {}).get('output_tokens', 0)
            for row in map(json.loads, text.splitlines())
            if 'origin' in row
        ),
        'damaged': 0,
    }


@pytest.mark.parametrize('seed', range(8))
def test_counts_of_a_growing_file_are_those_of_reading_it_whole(tmp_path: Path, seed: int) -> None:
    """Whatever the pieces in which its bytes arrive, and however little is read at a time."""
    chance = random.Random(seed)
    text = ''.join(f'{json.dumps(random_row(one, chance), ensure_ascii=False)}\n' for one in range(60))
    data, path, rows = text.encode(), tmp_path / 'tmp_d.jsonl', Rows()
    shard, written = Shard(rows), 0
    while written < len(data):
        piece = data[written : written + chance.randrange(1, 900)]
        with path.open('ab') as file:
            file.write(piece)
        written += len(piece)
        while shard.look(None, path, limit=chance.randrange(1, 500)):
            pass
        whole = data[: data.rfind(b'\n', 0, written) + 1].decode()
        assert vars(shard.tally) == counted(whole)
    assert [row.prediction for row in rows.seen] == [
        json.loads(line)['prediction'] for line in text.splitlines()
    ]


def test_a_large_file_is_read_once(tmp_path: Path) -> None:
    """By the bytes that are read: 100 MB, then a row more, then nothing more."""
    path = tmp_path / 'tmp_d.jsonl'
    line = json.dumps({**drawn(1), 'prediction': 'x' * 100_000}) + '\n'
    with path.open('w') as file:
        file.writelines(line for _ in range(1000))
    shard = Shard(Rows())
    while shard.look(None, path):
        pass
    assert shard.tally.samples == 1000
    assert path.stat().st_size <= shard.bytes_read < 1.5 * path.stat().st_size
    before = shard.bytes_read
    with path.open('a') as file:
        file.write(line)
    for _ in range(100):
        shard.look(None, path)
    assert (shard.tally.samples, shard.bytes_read - before) == (1001, len(line))


def test_half_a_line_is_read_again_only_when_it_has_grown(tmp_path: Path) -> None:
    """A row that is being written counts when it is whole."""
    path = write(tmp_path / 'tmp_d.jsonl', lines(range(2)) + '{"idx": 2, ')
    growing = Growing(path)
    assert len(growing.read().lines) == 2
    before = growing.bytes_read
    assert [growing.read().lines for _ in range(5)] == 5 * [[]]
    assert growing.bytes_read == before


@pytest.mark.parametrize('kept', [0, 1, 5])
def test_a_file_that_was_cut_is_begun_again(tmp_path: Path, kept: int) -> None:
    """As a resume cuts what is damaged; also where it has grown beyond its size since."""
    path, rows = write(tmp_path / 'tmp_d.jsonl', lines(range(8)) + 'damaged\n'), Rows()
    shard = Shard(rows)
    shard.look(None, path)
    assert (shard.tally.samples, shard.tally.damaged) == (8, 1)
    path.write_text(lines(range(kept)))
    with path.open('a') as file:
        file.write(lines(range(20, 32)))
    shard.look(None, path)
    assert vars(shard.tally) == counted(path.read_text())
    assert len(rows.seen) == kept + 12


def test_a_replaced_file_is_begun_again(tmp_path: Path) -> None:
    """Of the same size, under the same name."""
    path = write(tmp_path / 'tmp_d.jsonl', lines(range(4)))
    shard = Shard(Rows())
    shard.look(None, path)
    other = write(tmp_path / 'other', lines(range(4)).replace('"stop"', '"eos!"'))
    other.replace(path)
    shard.look(None, path)
    assert vars(shard.tally) == counted(path.read_text())


def test_predictions_take_the_place_of_their_resume_file(tmp_path: Path) -> None:
    """Between the two there is no file for a moment; no row is handed on twice."""
    begun, whole, rows = write(tmp_path / 'tmp_d.jsonl', lines(range(5))), tmp_path / 'd.json', Rows()
    shard = Shard(rows)
    shard.look(None, begun)
    begun.unlink()
    shard.look(None, None)
    assert shard.tally.samples == 5
    write(whole, {str(row): drawn(row) for row in range(8)})
    while shard.look(whole, None, limit=1):
        assert shard.tally.samples == 5
    assert vars(shard.tally) == counted(lines(range(8)))
    assert len(rows.seen) == 8


def test_a_file_that_is_gone_counts_no_longer(tmp_path: Path) -> None:
    """Twice without any file: somebody has moved the samples away."""
    path, rows = write(tmp_path / 'tmp_d.jsonl', lines(range(5))), Rows()
    shard = Shard(rows)
    shard.look(None, path)
    path.unlink()
    shard.look(None, None)
    shard.look(None, None)
    assert (shard.tally.samples, rows.seen) == (0, [])


def test_damaged_predictions_do_not_hide_what_was_counted(tmp_path: Path) -> None:
    """Cut by a full disk, say; `gpassk check` tells of it when the run ends."""
    begun = write(tmp_path / 'tmp_d.jsonl', lines(range(5)))
    shard = Shard(Rows())
    shard.look(None, begun)
    whole = write(tmp_path / 'd.json', '{"0": {"prediction"')
    assert not shard.look(whole, None)
    assert shard.tally.samples == 5


def planned(tmp_path: Path, **settings: Any) -> Planned:
    path = write(tmp_path / 'run.py', config_text(**settings))
    return planned_runs([path]).runs[0]


def begun(tmp_path: Path, rows: range, name: str = 'tmp_d-run.jsonl') -> Path:
    return write(tmp_path / 'out' / TIME / 'predictions' / 'm-run' / name, lines(rows))


def looked(reader: RunReader, quick: QuickJudge | None = None, now: float = 0.0) -> Progress:
    while reader.look(now):
        pass
    if quick is not None:
        quick.work(float('inf'))
    return reader.progress(now)


def test_a_run_is_told_shard_by_shard(tmp_path: Path) -> None:
    """One is whole, one is drawn, a third is of another data set with a longer name."""
    write(tmp_path / 'out/.gpassk/cwd/.cache/dataset_size.json', {'d-run': TOTAL})
    write(
        tmp_path / 'out' / TIME / 'predictions/m-run/d-run_0.json',
        {str(row): drawn(row) for row in range(16)},
    )
    begun(tmp_path, range(16, 21), 'tmp_d-run_1.jsonl')
    begun(tmp_path, range(9), 'tmp_d-run-more_0.jsonl')
    quick = QuickJudge()
    told = looked(RunReader(planned(tmp_path), tmp_path / 'out', quick), quick)
    rows = [drawn(row) for row in range(21)]
    assert (told.samples, told.total, told.tokens) == (21, TOTAL, 2100)
    assert (told.cut_off, told.ended_known) == (sum(row['idx'] % 4 == 0 for row in rows), 21)
    right = sum('{7}' in row['prediction'] for row in rows)
    assert (told.judged, told.left_out, told.accuracy_by) == (21, 0, 'rule')
    assert told.accuracy == pytest.approx(100 * right / 21)


def test_rows_that_need_a_proof_or_have_no_reference_are_left_out(tmp_path: Path) -> None:
    """No accuracy is better than a wrong one; samples that were not drawn have none either."""
    hard = [
        {**drawn(1), 'gold': 'x^{2} + 2 x + 1', 'prediction': '\\boxed{(x + 1)^{2}}'},
        {**drawn(1), 'gold': ''},
        {**drawn(1), 'gold': ['7']},
        {**drawn(1), 'prediction': None},
        {**drawn(1), 'generation': {'state': 'failed'}},
        {**drawn(1), 'gold': '7', 'prediction': '\\boxed{B}', 'origin_prompt': 'Choose. A. 6 B. 7 Think.'},
    ]
    text = ''.join(f'{json.dumps(row)}\n' for row in [*hard[1:], drawn(1), drawn(3)])
    write(tmp_path / 'out' / TIME / 'predictions' / 'm-run' / 'tmp_d-run.jsonl', text)
    quick = QuickJudge()
    told = looked(RunReader(planned(tmp_path), tmp_path / 'out', quick), quick)
    assert (told.judged, told.left_out, told.accuracy) == (2, 5, 50.0)


def test_what_the_quick_verdicts_say_the_rule_judge_says_too() -> None:
    """Of 200 references and answers of any kind, those that are not left out."""
    from gpassk_opencompass.judges.protocol import Pair
    from gpassk_opencompass.judges.rule import RuleJudge

    chance = random.Random(3)
    texts = [
        '7',
        '7.0',
        '14/2',
        '\\frac{7}{2}',
        'x+1',
        '1+x',
        '(1, 2)',
        '\\{1, 2\\}',
        '3.5',
        '50\\%',
        '',
        '-7',
    ]
    pairs = [(chance.choice(texts[:10]), chance.choice(texts)) for _ in range(200)]
    with RuleJudge(workers=1) as judge:
        said = judge.judge([Pair('', gold, answer) for gold, answer in pairs])
        quick = [judge.at_once(Pair('', gold, answer)) for gold, answer in pairs]
    decided = [(one, two) for one, two in zip(said, quick, strict=True) if two is not None]
    assert len(decided) > 100
    assert all(one == two for one, two in decided)


@pytest.mark.parametrize(
    ('evaluation', 'by_rule'),
    [
        ({'evaluator': {'type': 'gpassk_opencompass.GPassKEvaluator'}}, True),
        ({'evaluator': {'type': 'gpassk_opencompass.GPassKEvaluator', 'judge': {'type': 'rule'}}}, True),
        ({'evaluator': {'type': 'GPassKEvaluator', 'judge': {'type': 'rule', 'without': ['unit']}}}, False),
        ({'evaluator': {'type': 'GPassKEvaluator', 'judge': {'type': 'llm', 'model': 'm'}}}, False),
        ({'evaluator': {'type': 'GPassKEvaluator', 'model_name': 'm'}}, False),
        ({'evaluator': {'type': 'GPassKEvaluator', 'judge_serve': {'path': 'm'}}}, False),
        ({'evaluator': {'type': 'GPassKEvaluator', 'evaluator': {'type': 'X'}}}, False),
        ({'evaluator': {'type': 'GPassKEvaluator'}, 'pred_postprocessor': {'type': 'f'}}, False),
    ],
)
def test_only_where_the_rule_judge_decides_alone_it_is_asked(evaluation: Any, by_rule: bool) -> None:
    """Elsewhere an accuracy would not be that of the run."""
    assert judged_by_rule(evaluation) is by_rule


def test_of_an_llm_judge_the_kept_verdicts_are_counted(tmp_path: Path) -> None:
    """No accuracy is told before the result is there."""
    begun(tmp_path, range(TOTAL))
    store = tmp_path / 'out' / TIME / 'verdicts'
    write(store / 'a.jsonl', '{"key": 1}\n{"key": 2}\n{"ke')
    write(store / 'b.jsonl', '{"key": 3}\n')
    write(tmp_path / 'out' / TIME / 'logs/eval/m-run/d-run.out', 'judging')
    reader = RunReader(planned(tmp_path, judge='Qwen'), tmp_path / 'out', QuickJudge())
    told = looked(reader)
    assert (told.state, told.judged, told.accuracy) == ('judging', 3, None)


def test_the_state_follows_the_files(tmp_path: Path) -> None:
    """Nothing yet, samples, all samples, a log of the evaluation."""
    reader = RunReader(
        Planned('run', (Wanted('m-run', 'd-run', 4, (2, 4), QUESTIONS),)), tmp_path / 'out', QuickJudge()
    )
    assert looked(reader).state == 'starting'
    (tmp_path / 'out' / TIME / 'predictions').mkdir(parents=True)
    assert looked(reader).state == 'starting'
    path = begun(tmp_path, range(8))
    assert looked(reader).state == 'sampling'
    path.unlink()
    write(path.with_name('d-run.json'), {str(row): drawn(row) for row in range(TOTAL)})
    assert looked(reader).state == 'judging'


def test_a_resumed_run_is_starting_until_it_draws_and_its_rate_is_its_own(tmp_path: Path) -> None:
    """What was drawn before its start has no part in tokens a second, nor in the time left."""
    run = Planned('run', (Wanted('m-run', 'd-run', 4, (2, 4), QUESTIONS),))
    path = begun(tmp_path, range(16))
    os.utime(path, (1, 1))
    Starts(tmp_path / 'out').begin(Start('20260102_000000', TIME, None, 'c', 'x', utc=True))
    reader = RunReader(run, tmp_path / 'out')
    told = looked(reader, now=0.0)
    assert (told.state, told.samples, told.tokens_per_second) == ('starting', 16, None)
    with path.open('a') as file:
        file.write(lines(range(16, 20)))
    told = looked(reader, now=10.0)
    assert (told.state, told.samples, told.samples_per_second) == ('sampling', 20, 0.4)
    assert (told.tokens_per_second, told.seconds_left) == (40.0, 30.0)


def test_samples_that_were_kept_have_no_part_in_the_rate(tmp_path: Path) -> None:
    """They are there at once; the time left is that of those still to draw."""
    run = Planned('run', (Wanted('m-run', 'd-run', 4, (2, 4), QUESTIONS),))
    path = begun(tmp_path, range(0))
    reader = RunReader(run, tmp_path / 'out')
    looked(reader, now=0.0)
    kept = [{**drawn(row), 'origin': {'run': 'earlier'}} for row in range(16)]
    path.write_text(''.join(f'{json.dumps(row)}\n' for row in kept) + lines(range(16, 20)))
    told = looked(reader, now=10.0)
    assert (told.samples, told.taken, told.tokens) == (20, 16, 2000)
    assert (told.samples_per_second, told.tokens_per_second, told.seconds_left) == (0.4, 40.0, 30.0)


def test_a_new_start_is_not_the_old_one(tmp_path: Path) -> None:
    """Samples of an earlier time directory are not those of a command that began anew."""
    begun(tmp_path, range(16))
    Starts(tmp_path / 'out').begin(Start('20260102_000000', None, None, 'c', 'x', utc=True))
    reader = RunReader(planned(tmp_path), tmp_path / 'out')
    assert looked(reader).samples == 0
    write(tmp_path / 'out/20260102_000001/predictions/m-run/tmp_d-run.jsonl', lines(range(3)))
    assert looked(reader).samples == 3


def test_a_rate_is_that_of_the_last_minute() -> None:
    """By exact arithmetic: 10 a second for two minutes, then 2 a second."""
    rate = Rate()
    samples = 0
    for second in range(121):
        rate.note(second, samples, 3 * samples)
        samples += 10
    for second in range(121, 300):
        rate.note(second, samples, 3 * samples)
        samples += 2
    per_second = rate.per_second(299)
    assert per_second == (pytest.approx(2.0), pytest.approx(6.0))


def test_batches_that_take_longer_than_the_window_have_a_rate() -> None:
    """64 samples every five minutes; it does not jump while one waits for the next batch."""
    rate = Rate()
    for second in range(0, 1201, 10):
        rate.note(second, 64 * (second // 300), 0)
    assert rate.per_second(1200) == (pytest.approx(64 / 300), 0.0)
    assert rate.per_second(1350) == (pytest.approx(64 / 450), 0.0)


def test_a_finished_run_tells_what_its_result_says(tmp_path: Path) -> None:
    """A damaged one says nothing."""
    good, bad = write(tmp_path / 'a.json', record(n=4)), write(tmp_path / 'b.json', '{"accuracy"')
    told = progress_of_result('run', 'complete', (good, bad))
    assert (told.samples, told.accuracy, told.accuracy_by) == (TOTAL, 50.0, 'result')
    assert progress_of_result('run', 'complete', (bad,)) == Progress('run', 'complete')


def test_samples_that_break_a_rule_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in a verdict ends nothing."""
    from gpassk_opencompass import responses
    from gpassk_opencompass.runs.answers_so_far import Counts

    def fail(*arguments: Any) -> None:
        raise RecursionError

    monkeypatch.setattr(responses, 'read_response', fail)
    quick, counts = QuickJudge(), Counts()
    quick.put(Row('7', '7', '', Generation()), counts)
    quick.work(1.0)
    assert (counts.left_out, len(quick)) == (1, 0)


def test_what_waits_for_a_verdict_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that goes on with 100,000 long responses fills no memory; those beyond are left out."""
    from gpassk_opencompass.runs import answers_so_far
    from gpassk_opencompass.runs.answers_so_far import Counts

    monkeypatch.setattr(answers_so_far, 'MOST_WAITING', 1000)
    quick, counts = QuickJudge(), Counts()
    for _ in range(50):
        quick.put(Row(100 * 'x', '7', '', Generation()), counts)
    assert (len(quick), counts.left_out) == (10, 40)
    quick.work(float('inf'))
    assert (counts.incorrect, counts.left_out) == (10, 40)
