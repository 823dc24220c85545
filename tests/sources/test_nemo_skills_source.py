"""Outputs of NeMo-Skills, as its own generation, evaluation and judge wrote them."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from exact import EXACT, g_pass
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpassk_opencompass import InputError
from gpassk_opencompass.cli import main
from gpassk_opencompass.results.read import read
from gpassk_opencompass.sources.finding import find_runs
from gpassk_opencompass.sources.nemo_skills import NemoSkills
from gpassk_opencompass.sources.source import Place, Reading, Responded, Run, Sampled

RECORDED = Path(__file__).parents[1] / 'recorded' / 'nemo_skills'
TRUTH: dict[str, dict[str, str]] = json.loads((RECORDED / 'truth.json').read_text())
RESULTS = RECORDED / 'scripted-7b' / 'eval-results'
WAITING = RECORDED / 'scripted-7b' / 'tmp-eval-results'
JUDGED = ['sums', 'sums-judged', 'sums-thinking', 'sums-chunked', 'sums-unfinished', 'sums-refused']


def runs_of(*paths: Path, **reading: Any) -> dict[str, Run]:
    return {one.run.name: one.run for one in find_runs(paths, Reading(**reading)).runs}


def verdicts_of(run: Run) -> dict[str, str]:
    found = {}
    for question in run.questions:
        assert isinstance(question, (Responded, Sampled))
        found[question.about.uid] = question.verdicts
    return found


def responded(run: Run) -> dict[str, Responded]:
    found = {}
    for question in run.questions:
        assert isinstance(question, Responded)
        found[question.about.uid] = question
    return found


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A copy of the recorded outputs, to be damaged."""
    return shutil.copytree(RECORDED, tmp_path / 'recorded') / 'scripted-7b' / 'eval-results'


@pytest.mark.parametrize('benchmark', JUDGED)
def test_recorded_outputs_have_the_scores_of_their_script(benchmark: str, tmp_path: Path) -> None:
    """Verdict by verdict, and G-Pass@k as an exact computation has it."""
    files = sorted((RESULTS / benchmark).glob('output-rs*'))
    given_paths = [str(RESULTS / benchmark)] if benchmark != 'sums' else list(map(str, files))
    out = tmp_path / 'out.json'
    assert main(['score', *given_paths, '--k', '2', '3', '-o', str(out)]) == 0
    result, known = read(out), TRUTH[benchmark]
    assert result.samples is not None
    assert dict(zip(result.uids, result.samples.verdicts(), strict=True)) == known
    assert (result.model_abbr, result.dataset_abbr) == ('scripted-7b', benchmark)
    [n] = {len(row) for row in known.values()}
    for k in (2, 3):
        for threshold in (0.5, 0.75, 1.0):
            expected = g_pass([row.count('1') for row in known.values()], n, k, threshold)
            assert result.record[f'G-Pass@{k}_{threshold}'] == pytest.approx(expected, abs=1e-9)
    field = 'judgement' if benchmark == 'sums-judged' else 'symbolic_correct'
    assert result.judge == {'name': f'NeMo-Skills {field}'}


@pytest.mark.parametrize('texts', [True, False])
def test_every_folder_is_a_run(texts: bool) -> None:
    """Also `output.jsonl`, which is another run; what waits for the judge is not counted beside it."""
    runs = runs_of(RECORDED, texts=texts)
    names = {name.removeprefix('scripted-7b/') for name in runs}
    assert names == set(TRUTH)
    for name, run in runs.items():
        benchmark = name.removeprefix('scripted-7b/')
        if benchmark == 'sums-unjudged':
            assert run.kinds == ('responses',)
        else:
            assert run.kinds == ('labels', 'responses')
            assert verdicts_of(run) == TRUTH[benchmark]
        told = any('before they were judged, in tmp-eval-results' in line for line in run.remarks)
        assert told == (benchmark == 'sums-judged')
    alone = runs_of(WAITING)
    assert list(alone) == ['scripted-7b/sums-judged']
    assert alone['scripted-7b/sums-judged'].kinds == ('responses',)


def test_responses_without_verdicts_are_judged(tmp_path: Path) -> None:
    """Their questions have no id and are called by their lines; the split is that of the file."""
    out = tmp_path / 'out.json'
    options = [*EXACT, '--k', '2', '-o', str(out)]
    assert main(['score', str(RESULTS / 'sums-unjudged'), *options]) == 0
    result = read(out)
    assert result.samples is not None
    ruled = {f'sums-unjudged/{line}': row for line, row in enumerate(TRUTH['sums'].values(), 1)}
    assert dict(zip(result.uids, result.samples.verdicts(), strict=True)) == ruled
    assert set(result.groups) == {'sums'}


def test_thoughts_ends_and_tokens_are_those_of_the_model() -> None:
    """Whether a thought stands in a field of its own or in the text."""
    apart = responded(runs_of(*(RESULTS / 'sums').glob('output-rs*'))['scripted-7b/sums'])
    joined = responded(runs_of(RESULTS / 'sums-thinking')['scripted-7b/sums-thinking'])
    assert apart['sums-1'].responses[0] == 'Let me add, attempt 0.\n</think>\n\nSo \\boxed{7}'
    assert joined['sums-1'].responses[0] == 'Let me add, attempt 0.</think>So \\boxed{7}'
    assert apart['sums-2'].responses[2] == '<think>Hmm, attempt 2'
    assert joined['sums-2'].responses[2].rstrip() == '<think>Hmm, attempt 2'
    assert [told.finish_reason for told in apart['sums-2'].generations] == [
        'stop',
        'length',
        'length',
        'stop',
    ]
    assert [told.output_tokens for told in apart['sums-1'].generations] == [7, 3, 7, 3]
    assert apart['sums-1'].generations[0].seconds == 0.5
    assert apart['sums-4'].generations[3].state == 'too long'
    assert apart['sums-4'].responses[3] == ''
    assert apart['sums-0'].answers == ('42', '42', '0002', '42')
    assert apart['sums-0'].places[2][0].name == 'output-rs2.jsonl'
    assert [apart[uid].reference for uid in apart] == ['42', '7', '18', '3/4', '101']


def test_what_a_judge_left_in_a_row_is_not_taken_for_the_models() -> None:
    """Where it was asked, its finish reason and its thought stand in place of the model's."""
    judged = responded(runs_of(RESULTS / 'sums-judged')['scripted-7b/sums-judged'])
    row = json.loads((RESULTS / 'sums-judged' / 'output-rs0.jsonl').read_text().splitlines()[2])
    assert (row['reasoning_content'], row['finish_reason']) == ('The judge thinks.', 'stop')
    assert judged['sums-2'].generations[0].finish_reason is None
    assert 'judge' not in ''.join(text for one in judged.values() for text in one.responses)
    assert judged['sums-2'].generations[1].finish_reason == 'length'


def test_a_judgement_of_neither_kind_is_unjudged_and_told_of() -> None:
    """NeMo-Skills counts it as incorrect."""
    run = runs_of(RESULTS / 'sums-judged')['scripted-7b/sums-judged']
    assert verdicts_of(run)['sums-2'][3] == '?'
    assert '1 judgements say neither "Judgement: Yes" nor' in run.remarks[0]


@pytest.mark.parametrize(
    ('judgement', 'verdict'),
    [
        ('Judgement: Yes', '1'), ('Judgement: No, first. Judgement: yes.', '1'), ('judgement: Yes', '?'),
        ('Judgement: **Yes**', '?'), ('', '?'), (True, '1'), (None, ''),
    ],
)  # fmt: skip
def test_judgements_are_read_as_nemo_skills_reads_them(
    judgement: object, verdict: str, tmp_path: Path
) -> None:
    """By what follows the last "Judgement:"; a row without one has no verdict."""
    asked = {'generation': '4', 'expected_answer': '4'}
    rows = [{**asked, 'judgement': 'Judgement: No'}, {**asked, 'judgement': judgement}]
    if judgement is None:
        del rows[1]['judgement']
    for seed, row in enumerate(rows):
        (tmp_path / f'output-rs{seed}.jsonl').write_text(json.dumps(row) + '\n')
    [run] = runs_of(tmp_path).values()
    assert verdicts_of(run) == {'1': f'0{verdict or "?"}'}


def test_verdicts_of_older_versions_are_taken(results: Path) -> None:
    """They called the field is_correct."""
    for path in (results / 'sums-refused').iterdir():
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            row['is_correct'] = row.pop('symbolic_correct')
        path.write_text(''.join(json.dumps(row) + '\n' for row in rows))
    [run] = runs_of(results / 'sums-refused').values()
    assert verdicts_of(run) == TRUTH['sums-refused']
    assert run.judge == {'name': 'NeMo-Skills is_correct'}


def test_an_unfinished_seed_is_left_out_and_told_of(results: Path) -> None:
    """Also where it is being written to its end; a folder with no finished one is refused."""
    folder = results / 'sums-unfinished'
    (folder / 'output-rs3.jsonl').write_text('{"generation": "4", "expec')
    [run] = runs_of(folder).values()
    assert verdicts_of(run) == TRUTH['sums-unfinished']
    assert run.remarks[0] == 'output-rs3.jsonl-async is unfinished: the samples of this seed are left out'
    for seed in range(3):
        (folder / f'output-rs{seed}.jsonl').unlink()
    with pytest.raises(InputError, match=r'output-rs3\.jsonl-async is unfinished, as is every seed'):
        runs_of(folder)
    with pytest.raises(InputError, match=r'output-rs3\.jsonl-async is unfinished'):
        runs_of(folder / 'output-rs3.jsonl-async')


def test_chunks_are_put_together(results: Path) -> None:
    """Unless they are merged to the end; one that is missing is refused."""
    folder = results / 'sums-chunked'
    chunks = [folder / f'output-rs0_chunk_{number}.jsonl' for number in range(2)]
    merged = folder / 'output-rs0.jsonl'
    text = ''.join(chunk.read_text() for chunk in chunks)
    merged.write_text(text[: len(text) // 2])
    assert verdicts_of(*runs_of(folder).values()) == TRUTH['sums-chunked']
    merged.write_text(text)
    (folder / 'output-rs0.jsonl.done').touch()
    assert verdicts_of(*runs_of(folder).values()) == TRUTH['sums-chunked']
    chunks[0].unlink()
    assert verdicts_of(*runs_of(folder).values()) == TRUTH['sums-chunked']
    merged.unlink()
    with pytest.raises(InputError, match='no chunk 0'):
        runs_of(folder)


def test_a_seed_that_is_shorter_is_told_of(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its questions have a sample less, which is refused until somebody says how many count."""
    path = results / 'sums' / 'output-rs1.jsonl'
    path.write_text(''.join(path.read_text().splitlines(keepends=True)[:3]))
    run = runs_of(results / 'sums')['scripted-7b/sums']
    expected = {
        uid: row if uid in ('sums-0', 'sums-1', 'sums-2') else row[0] + row[2:]
        for uid, row in TRUTH['sums'].items()
    }
    assert verdicts_of(run) == expected
    assert any(line.startswith('output-rs1.jsonl has 3 of 5 rows, is it unfinished?') for line in run.remarks)
    (results / 'sums' / 'output.jsonl').unlink()
    assert main(['score', str(results / 'sums'), '--k', '2']) == 2
    assert 'different numbers of samples, from 3 to 4' in capsys.readouterr().err
    assert main(['score', str(results / 'sums'), '--k', '2', '--n', '3']) == 0


def test_seeds_with_other_questions_are_refused(results: Path) -> None:
    """By their ids, or where they have none, by their texts."""
    for benchmark, message in (('sums', "'sums-1', where .*'sums-0'"), ('sums-unjudged', 'have different')):
        path = results / benchmark / 'output-rs2.jsonl'
        lines = path.read_text().splitlines(keepends=True)
        path.write_text(''.join([lines[1], lines[0], *lines[2:]]))
        with pytest.raises(InputError, match=message):
            list(runs_of(results / benchmark)[f'scripted-7b/{benchmark}'].questions)


def test_an_id_that_is_there_twice_is_two_questions(results: Path) -> None:
    """As after merging the same chunks again."""
    for path in (results / 'sums-refused').iterdir():
        path.write_text(path.read_text() * 2)
    [run] = runs_of(results / 'sums-refused').values()
    known = TRUTH['sums-refused']
    again = {f'{uid}, line {line}': row for line, (uid, row) in enumerate(known.items(), 6)}
    assert verdicts_of(run) == {**known, **again}
    assert any(line.startswith('5 lines repeat the id') for line in run.remarks)


@pytest.mark.parametrize('benchmark', ['sums', 'sums-judged', 'sums-chunked'])
def test_a_file_that_is_cut_anywhere_is_refused_or_told_of(benchmark: str, results: Path) -> None:
    """A cut within a row is an error that names file and line, one between rows is a shorter seed."""
    folder = results / benchmark
    path = sorted(folder.glob('output-rs*'))[-1]
    whole = path.read_bytes()
    chance = random.Random(benchmark)
    for size in [0, *sorted(chance.sample(range(len(whole)), 20))]:
        path.write_bytes(whole[:size])
        told, found = '', {}
        try:
            run = runs_of(folder)[f'scripted-7b/{benchmark}']
            found = verdicts_of(run)
        except InputError as error:
            told = str(error)
        in_row = bool(whole[:size].rpartition(b'\n')[2]) and whole[size - 1 : size + 1] != b'}\n'
        assert (str(path) in told) == in_row
        if not in_row:
            kept = len(whole[:size].splitlines())
            assert sum(map(len, found.values())) == 20 - whole.count(b'\n') + kept
            assert kept == whole.count(b'\n') or any('is it unfinished?' in line for line in run.remarks)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JSON = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=5), SCALARS, max_size=3)
FIELDS = [
    'id', 'problem', 'expected_answer', 'generation', 'predicted_answer', 'symbolic_correct',
    'judgement', 'num_generated_tokens', 'finish_reason', 'generation_time', 'reasoning_content',
    '_full_generation', 'error', 'subset_for_metrics',
]  # fmt: skip


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(row=st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4), seed=st.sampled_from([0, 1]))
def test_fields_of_other_types_are_read_or_refused(row: dict[str, Any], seed: int, tmp_path: Path) -> None:
    """Nothing else than a question or an InputError that names the file comes of them."""
    rows = [
        json.loads((RESULTS / 'sums' / f'output-rs{place}.jsonl').read_text().splitlines()[0])
        for place in range(2)
    ]
    rows[seed] = {**rows[seed], **row}
    for place, one in enumerate(rows):
        (tmp_path / f'output-rs{place}.jsonl').write_text(json.dumps(one) + '\n')
    found, told = [], ''
    try:
        found = list(NemoSkills().read(Place(tmp_path), Reading())[0].questions)
    except InputError as error:
        told = str(error)
    if told:
        assert str(tmp_path) in told
    else:
        [question] = found
        assert isinstance(question, (Responded, Sampled))
        assert len(question.verdicts) in (0, 2)


def test_other_files_are_not_recognised(tmp_path: Path) -> None:
    """Whatever they hold, and whatever their names are."""
    others = [
        path for path in RECORDED.parent.rglob('*') if RECORDED not in path.parents and path != RECORDED
    ]
    assert others
    chance = random.Random(5)
    for number, content in enumerate((b'', b'{', b'[1]', b'{"generation": 4}', chance.randbytes(99))):
        path = tmp_path / str(number) / 'output-rs0.jsonl'
        path.parent.mkdir()
        path.write_bytes(content)
        others += [path, path.parent]
    for path in [*others, tmp_path / 'absent']:
        assert not NemoSkills().recognises(Place(path))
    with pytest.raises(InputError, match='is no output of NeMo-Skills'):
        NemoSkills().read(Place(tmp_path / '0'), Reading())
