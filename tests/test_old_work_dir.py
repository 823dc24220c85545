"""`gpassk score OLD_WORK_DIR --judge …`: OpenCompass's own LiveMathBench runs, read and judged anew."""

from __future__ import annotations

import json
from math import comb
from pathlib import Path
from typing import Any

import old_work_dir as old
import pytest
from hosts import SHARED, write_bench
from judge_server import PROMPTS, JudgeServer

from gpassk_opencompass.cli import main
from gpassk_opencompass.questions.benchmarks import live_math_bench_rows
from gpassk_opencompass.questions.limits import limited
from gpassk_opencompass.results.read import collect


@pytest.fixture
def work_dir(tmp_path: Path) -> Path:
    """An old run that was judged."""
    return old.judged_run(tmp_path)


def g_pass(counts: list[int], n: int, k: int, least: int) -> float:
    """G-Pass@k in percent by counting subsets."""
    ways = [sum(comb(c, j) * comb(n - c, k - j) for j in range(least, k + 1)) for c in counts]
    return 100 * sum(ways) / comb(n, k) / len(counts)


def test_every_sample_is_judged_for_itself(work_dir: Path) -> None:
    """The counts that the responses were made with, and the metrics of these counts."""
    code, out = old.score(work_dir)
    record = old.record_in(out)
    assert code == 0
    assert record['gpassk']['counts']['c'] == old.COUNTS
    assert record['accuracy'] == 100 * sum(old.COUNTS) / 32
    assert record['G-Pass@4_1.0'] == pytest.approx(g_pass(old.COUNTS, 4, 4, 4))
    assert record['G-Pass@2_0.5'] == pytest.approx(g_pass(old.COUNTS, 4, 2, 1))
    assert (record['gpassk']['n'], record['gpassk']['k']) == (4, [2, 4])


def test_what_the_engine_told_comes_along(work_dir: Path) -> None:
    """Of predictions of this package, whose rows have it; replica r of question q is row 8 r + q."""
    [path] = work_dir.rglob(f'predictions/*/{old.NAME}.json')
    content = json.loads(path.read_text(encoding='utf-8'))
    for number, row in content.items():
        row['generation'] = {'finish_reason': 'stop', 'output_tokens': int(number)}
    path.write_text(json.dumps(content), encoding='utf-8')
    out = old.score(work_dir)[1]
    record = old.record_in(out)
    [result] = collect([out]).results
    assert result.samples is not None
    expected = [8 * replica + question for question in range(8) for replica in range(4)]
    assert result.samples.column('output_tokens') == expected
    assert result.samples.column('row') == expected
    assert {(result.path.parent / file).resolve() for file in result.samples.column('file') or ()} == {path}
    assert record['gpassk']['output_tokens'] == sum(range(32))
    assert (record['gpassk']['truncated'], record['gpassk']['truncated_by']) == (0, 'engine')


def test_the_old_work_directory_is_only_read(work_dir: Path) -> None:
    """Byte by byte, and no file more."""
    before = old.contents(work_dir)
    old.score(work_dir)
    assert old.contents(work_dir) == before


def test_questions_are_those_of_a_new_run(work_dir: Path, tmp_path: Path) -> None:
    """Name by name as this package's data set has them, so that old and new runs can be paired."""
    old.score(work_dir)
    files = old.files()
    path = str(write_bench(tmp_path / 'data', files))
    rows = live_math_bench_rows(path, '202412', ['AMC', 'CNMO'], ['cn', 'en'])
    record = old.record_in(work_dir.parent / 'new')
    counts, details = record['gpassk']['counts'], record['details']
    for found, name in (
        (counts['uid'], 'uid'),
        (counts['problem'], 'problem'),
        (details['question'], 'question'),
        (details['reference'], 'answer'),
    ):
        assert found == [row[name] for row in rows]
    assert counts['group'] == [f'{row["split"]}_{row["language"]}' for row in rows]


def test_messages_of_a_chat_model_hold_the_question(tmp_path: Path) -> None:
    """Prompts as lists of messages, with a system message before."""
    rows = old.rows()
    for row in rows:
        row['origin_prompt'] = [
            {'role': 'SYSTEM', 'prompt': 'Be brief.'},
            {'role': 'HUMAN', 'prompt': row['origin_prompt']},
        ]
    _, out = old.score(old.write(tmp_path / 'old', rows))
    assert old.record_in(out)['details']['question'] == [ask.question for ask in old.ASKS]


def test_a_run_without_chain_of_thought_is_read(tmp_path: Path) -> None:
    """cot=False: the built-in class takes a piece out of the prompt's line."""
    rows = old.rows()
    for row in rows:
        row['origin_prompt'] = row['origin_prompt'].replace(', please reasoning step by step', '')
        row['origin_prompt'] = row['origin_prompt'].replace('，请逐步推理', '')
    _, out = old.score(old.write(tmp_path / 'old', rows, old.dataset(cot=False)))
    assert old.record_in(out)['details']['question'] == [ask.question for ask in old.ASKS]


def test_foreign_prompts_are_shown_whole_and_the_user_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A meta template around the prompt: the judge sees all of it."""
    rows = old.rows()
    for row in rows:
        row['origin_prompt'] = f'<user>{row["origin_prompt"]}</user>'
    root = old.write(tmp_path / 'old', rows)
    _, out = old.score(root)
    printed = capsys.readouterr().out
    assert 'the question cannot be cut out of 8 prompts' in printed
    assert old.record_in(out)['details']['question'][0] == rows[0]['origin_prompt']


def test_unknown_groups_are_numbered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two contests in one language, of unpublished sizes: nothing says where the second begins."""
    asks = [ask for ask in old.ASKS if ask.language == 'en']
    data = old.dataset(dataset_languages=['en'])
    root = old.write(tmp_path / 'old', old.rows(asks, old.responses(asks, [1, 2, 3, 4])), data)
    _, out = old.score(root)
    assert old.record_in(out)['gpassk']['counts']['uid'] == [f'{old.NAME}/{number}' for number in range(4)]
    assert 'so they are numbered' in capsys.readouterr().out


def test_published_sizes_tell_the_groups(tmp_path: Path) -> None:
    """The English half of LiveMathBench: 18, 44, 46 and 11 questions."""
    asks = [old.Ask('', 'en', f'Question {number}?', '1') for number in range(119)]
    splits = ['CNMO', 'CCEE', 'AMC', 'WLPMC']
    data = old.dataset(dataset_languages=['en'], dataset_splits=splits, n=1, k=1)
    texts = [['\\boxed{1}']] * 119
    _, out = old.score(old.write(tmp_path / 'old', old.rows(asks, texts), data))
    groups = old.record_in(out)['gpassk']['counts']['group']
    assert [groups.count(f'{split}_en') for split in splits] == [18, 44, 46, 11]
    assert old.record_in(out)['accuracy'] == 100


@pytest.mark.skipif(not (SHARED / 'data' / 'LiveMathBench').is_dir(), reason='the questions are not here')
def test_the_real_questions_come_out_of_their_prompts_word_for_word(tmp_path: Path) -> None:
    """All 119 English ones, with the names that a new run gives them."""
    splits = ['CNMO', 'CCEE', 'AMC', 'WLPMC']
    rows = live_math_bench_rows(str(SHARED / 'data' / 'LiveMathBench'), '202412', splits, ['en'])
    asks = [old.Ask(row['split'], 'en', row['question'], row['answer']) for row in rows]
    data = old.dataset(dataset_languages=['en'], dataset_splits=splits, n=1, k=1)
    _, out = old.score(old.write(tmp_path / 'old', old.rows(asks, [['x']] * 119), data))
    record = old.record_in(out)
    assert record['details']['question'] == [row['question'] for row in rows]
    assert record['gpassk']['counts']['uid'] == [row['uid'] for row in rows]


def test_the_copies_of_one_fixed_seed_are_said_loudly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the copies that it led to; also in the record that a report reads."""
    same = [[texts[0]] * 4 for texts in old.responses()]
    model = {'gen_config': {'do_sample': True, 'random_seed': 42}}
    _, out = old.score(old.write(tmp_path / 'old', old.rows(given=same), model=model))
    said = 'all n = 4 responses are one text for 8 of 8 questions'
    assert said in capsys.readouterr().out
    [warning] = old.record_in(out)['gpassk']['replicas']['warnings']
    assert said in warning


def test_a_list_of_responses_a_row_is_as_many_samples(tmp_path: Path) -> None:
    """num_return_sequences = 2 with n = 2: four samples, in the order of the rows."""
    rows = old.rows(given=[[texts[:2], texts[2:]] for texts in old.responses()])
    root = old.write(tmp_path / 'old', rows, old.dataset(n=2, k=2))
    code, out = old.score(root, '--k', '4')
    assert code == 0
    assert old.record_in(out)['gpassk']['counts']['c'] == old.COUNTS
    assert old.record_in(out)['gpassk']['k'] == [4]


def test_the_llm_judge_is_asked_each_different_answer_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the language of the question; a second time nobody is asked, for the verdicts are kept."""
    monkeypatch.chdir(tmp_path)
    root = old.write(tmp_path / 'old', old.rows())
    out = tmp_path / 'new'
    with JudgeServer(lambda asked: '\\boxed{no}') as server:
        config = {
            'type': 'llm',
            'model': 'judge',
            'urls': [server.url],
            'prompts': PROMPTS,
            'progress': False,
        }
        command = ['score', str(root), '-o', str(out), '--judge', json.dumps(config)]
        assert main(command) == main(command) == 0
        prompts = [asked.prompt for asked in server.asked]
    # An answer that is the reference needs no call; '0' is the one other answer to seven questions.
    assert len(prompts) == 7
    assert {prompt.split('=')[0] for prompt in prompts} == {'question', '问题'}
    assert old.record_in(out)['gpassk']['counts']['c'] == old.COUNTS
    assert list(Path('old.verdicts').glob('*.jsonl'))


def test_a_run_of_some_questions_is_judged_as_that(tmp_path: Path) -> None:
    """Their places say nothing of their problems; and the new result is marked."""
    places = limited([(ask.split, ask.language) for ask in old.ASKS], 5)
    asks = [old.ASKS[place] for place in places]
    name = 'LiveMathBench-v202412-AMC_CNMO-cn_en-limit5-k2_4-r1'
    rows = old.rows(asks, old.responses(asks, [2] * 5))
    work_dir = old.write(tmp_path / 'old', rows, old.dataset(abbr=name, limit=5))
    assert old.score(work_dir)[0] == 0
    counts = old.record_in(tmp_path / 'new', name)['gpassk']['counts']
    assert len(set(counts['problem'])) == 5
    (result,) = collect([tmp_path / 'new']).results
    assert result.limits == {'limit': 5}


def refused(capsys: pytest.CaptureFixture[str], work_dir: Path) -> str:
    """What it says of a work directory of which nothing could be made."""
    code, out = old.score(work_dir, '--from', 'opencompass')
    assert code in {1, 2}
    assert not list(out.rglob('*.json'))
    return capsys.readouterr().err


def test_a_lost_part_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the middle by its number, at the end by the rows."""
    root = old.write(tmp_path / 'old', old.rows(), parts=[8, 8, 16])
    last = root / old.TIME / 'predictions' / 'm' / f'{old.NAME}_1.json'
    last.unlink()
    assert f'missing or unfinished: {old.NAME}_1;' in refused(capsys, root)
    root = old.write(tmp_path / 'older', old.rows()[:28], parts=[16, 12])
    assert '28 rows are not n = 4 times the same questions' in refused(capsys, root)
    root = old.write(tmp_path / 'unfinished', old.rows()[:28], parts=[16, 12])
    old.put(root / old.TIME / 'logs' / 'infer' / 'm' / f'{old.NAME}_3.out', 'killed')
    assert f'missing or unfinished: {old.NAME}_3;' in refused(capsys, root)


def test_a_lost_part_of_single_samples_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """n = 1: no row is repeated, so logs or the published number of questions tell."""
    asks = [old.Ask('AMC', 'cn' if number < 46 else 'en', f'{number}?', '1') for number in range(92)]
    data = old.dataset(n=1, k=1, dataset_splits=['AMC'])
    rows = old.rows(asks, [['\\boxed{1}']] * 92)
    root = old.write(tmp_path / 'old', rows[:80], data, parts=[40, 40])
    said = '2 parts of LiveMathBench_v202412 hold 80 questions, and its data 92'
    assert said in refused(capsys, root)
    old.put(root / old.TIME / 'logs' / 'infer' / 'm' / f'{old.NAME}_2.out', 'killed')
    assert f'missing or unfinished: {old.NAME}_2;' in refused(capsys, root)
    twice = old.write(tmp_path / 'twice', [*rows, *rows[46:]], data, parts=[46, 46, 46])
    assert 'hold 138 questions, and its data 92' in refused(capsys, twice)


def test_a_question_with_another_number_of_samples_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Although the number of rows could be right."""
    rows = old.rows()
    rows[31] = rows[30]
    message = refused(capsys, old.write(tmp_path / 'old', rows))
    assert 'row 31 repeats another question' in message
    assert '1 with 3, 6 with 4, 1 with 5' in message


@pytest.mark.parametrize(
    ('entry', 'message'),
    [
        ({'origin_prompt': 'q', 'prediction': None, 'gold': '1'}, 'prediction is None'),
        ({'origin_prompt': 'q', 'gold': '1'}, 'expected an object with origin_prompt, prediction and gold'),
        ({'origin_prompt': 'q', 'prediction': 'a'}, 'has no reference answer'),
        ({'origin_prompt': 'q', 'prediction': 'a', 'gold': 1}, 'gold is a int'),
    ],
)
def test_damaged_rows_are_named(
    entry: Any, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By file and row."""
    said = refused(capsys, old.write(tmp_path / 'old', [entry], old.dataset(n=1, k=1)))
    assert message in said
    assert f'{old.NAME}.json, row 0' in said


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'n': 0}, 'n = 0 in the config'),
        ({'n': '4'}, "n = '4' in the config"),
        ({'k': [2, None]}, 'k = None in the config'),
        ({'dataset_splits': 'AMC'}, "dataset_splits = 'AMC' in the config: expected a list"),
    ],
)
def test_a_config_that_cannot_be_meant_is_an_error(
    change: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the field that is wrong."""
    assert message in refused(capsys, old.write(tmp_path / 'old', old.rows(), old.dataset(**change)))


def test_a_question_that_is_not_there_is_asked_for_where_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rule needs none; another judge is refused."""
    rows = [{**row, 'origin_prompt': None} for row in old.rows()]
    root = old.write(tmp_path / 'old', rows)
    assert '8 questions are not in the prediction files' in refused(capsys, root)
    assert main(['score', str(root), '--judge', 'rule', '-o', str(tmp_path / 'new')]) == 0
    assert old.record_in(tmp_path / 'new')['gpassk']['counts']['c'] == old.COUNTS


def test_one_broken_run_does_not_stop_the_others(work_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named, and the exit code says that something is missing."""
    old.write(work_dir, old.rows()[:31], old.dataset(abbr='LiveMathBench_short'))
    code, out = old.score(work_dir)
    assert code == 2
    said = capsys.readouterr().err
    assert 'not scored: m/LiveMathBench_short: ' in said
    assert '31 rows are not n = 4' in said
    assert old.record_in(out)['gpassk']['counts']['c'] == old.COUNTS
