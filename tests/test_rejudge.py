"""`gpassk rejudge`: old work directories read, judged and compared."""

from __future__ import annotations

import csv
import json
from math import comb
from pathlib import Path

import old_work_dir as old
import pytest
from hosts import SHARED, write_bench
from judge_server import PROMPTS, JudgeServer
from result_files import block

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
    code, out = old.rejudge(work_dir)
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
    out = old.rejudge(work_dir)[1]
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
    old.rejudge(work_dir)
    old.rejudge(work_dir, '--check')
    assert old.contents(work_dir) == before


def test_old_and_new_stand_side_by_side(work_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Under the same metric names, with the samples whose verdict changed; '' where there was none."""
    _, out = old.rejudge(work_dir)
    printed = capsys.readouterr().out
    assert 'of 32 samples 3 were wrong and are right, 7 were right and are wrong' in printed
    with (out / 'comparison.csv').open(encoding='utf-8') as lines:
        table = {row['metric']: row for row in csv.DictReader(lines)}
    assert (table['accuracy']['old'], table['accuracy']['new']) == ('62.5', '50.0')
    assert table['mG-Pass@4']['old'] == ''
    assert '| accuracy ' in (out / 'comparison.md').read_text(encoding='utf-8')


def test_check_says_what_is_wrong_and_writes_nothing(
    work_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verdict on the first sample for all; English questions in Chinese; a breakdown that is none."""
    code, out = old.rejudge(work_dir, '--check')
    printed = capsys.readouterr().out
    assert code == 0
    assert not out.exists()
    assert 'WRONG SCORES: the old judge was asked 8 times for 32 samples' in printed
    assert '4 of 4 English questions were put to the old judge in Chinese' in printed
    assert "one part, 'LiveMathBench', which repeats the total" in printed


def test_uniform_verdicts_tell_it_without_the_replies(
    work_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where tmp_judge.json was deleted, the details of the result do."""
    (work_dir / old.TIME / 'results' / 'm' / old.NAME / 'tmp_judge.json').unlink()
    old.rejudge(work_dir, '--check')
    assert (
        'all n = 4 samples of a question have one old verdict, in all 8 questions, 6 of which have different'
        in capsys.readouterr().out
    )


def test_misread_replies_are_counted(work_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Yes in other words, and no verdict at all."""
    old.put_replies(work_dir, ['\\boxed{Yes}', '\\boxed{\\text{yes}}', '', 'it is equal', '\\boxed{no}'])
    old.rejudge(work_dir, '--check')
    printed = capsys.readouterr().out
    assert '2 replies of the old judge say yes, but not as \\boxed{yes}, and counted as no' in printed
    assert '2 replies of the old judge hold no verdict and counted as no' in printed


def test_questions_are_those_of_a_new_run(work_dir: Path, tmp_path: Path) -> None:
    """Name by name as this package's data set has them, so that old and new runs can be paired."""
    old.rejudge(work_dir)
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


def test_questions_from_the_data_are_the_same(work_dir: Path, tmp_path: Path) -> None:
    """--questions names a folder; the record is equal but for where the questions come from."""
    _, out = old.rejudge(work_dir)
    first = old.record_in(out)
    files = old.files()
    data = write_bench(tmp_path / 'data', files)
    assert old.rejudge(work_dir, '--questions', str(data))[0] == 0
    second = old.record_in(out)
    assert second['gpassk']['rejudged'].pop('questions') == str(data)
    assert first['gpassk']['rejudged'].pop('questions') == 'prompts'
    for record in (first, second):
        del record['gpassk']['rejudged']['created']
    assert first == second


def test_a_report_reads_the_new_results(work_dir: Path) -> None:
    """As the result of that model on that data set."""
    _, out = old.rejudge(work_dir)
    [result] = collect([out]).results
    assert (result.model, result.dataset_abbr, result.n) == ('m', old.NAME, 4)
    assert result.counts.tolist() == old.COUNTS


def test_parts_are_one_data_set(tmp_path: Path) -> None:
    """As the partitioner splits 32 rows: parts of 16."""
    root = old.write(tmp_path / 'old', old.rows(), parts=[16, 16])
    _, out = old.rejudge(root)
    assert old.record_in(out)['gpassk']['counts']['c'] == old.COUNTS


def test_messages_of_a_chat_model_hold_the_question(tmp_path: Path) -> None:
    """Prompts as lists of messages, with a system message before."""
    rows = old.rows()
    for row in rows:
        row['origin_prompt'] = [
            {'role': 'SYSTEM', 'prompt': 'Be brief.'},
            {'role': 'HUMAN', 'prompt': row['origin_prompt']},
        ]
    _, out = old.rejudge(old.write(tmp_path / 'old', rows))
    assert old.record_in(out)['details']['question'] == [ask.question for ask in old.ASKS]


def test_a_run_without_chain_of_thought_is_read(tmp_path: Path) -> None:
    """cot=False: the built-in class takes a piece out of the prompt's line."""
    rows = old.rows()
    for row in rows:
        row['origin_prompt'] = row['origin_prompt'].replace(', please reasoning step by step', '')
        row['origin_prompt'] = row['origin_prompt'].replace('，请逐步推理', '')
    _, out = old.rejudge(old.write(tmp_path / 'old', rows, old.dataset(cot=False)))
    assert old.record_in(out)['details']['question'] == [ask.question for ask in old.ASKS]


def test_foreign_prompts_are_shown_whole_and_the_user_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A meta template around the prompt: the judge sees all of it, until --questions gives the question."""
    rows = old.rows()
    for row in rows:
        row['origin_prompt'] = f'<user>{row["origin_prompt"]}</user>'
    root = old.write(tmp_path / 'old', rows)
    _, out = old.rejudge(root)
    printed = capsys.readouterr().out
    assert 'the question cannot be cut out of 8 prompts' in printed
    assert old.record_in(out)['details']['question'][0] == rows[0]['origin_prompt']
    files = old.files()
    old.rejudge(root, '--questions', str(write_bench(tmp_path / 'data', files)))
    assert old.record_in(out)['details']['question'] == [ask.question for ask in old.ASKS]
    assert 'cannot be cut' not in capsys.readouterr().out


def test_unknown_groups_are_numbered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two contests in one language, of unpublished sizes: nothing says where the second begins."""
    asks = [ask for ask in old.ASKS if ask.language == 'en']
    data = old.dataset(dataset_languages=['en'])
    root = old.write(tmp_path / 'old', old.rows(asks, old.responses(asks, [1, 2, 3, 4])), data)
    _, out = old.rejudge(root)
    assert old.record_in(out)['gpassk']['counts']['uid'] == [f'{old.NAME}/{number}' for number in range(4)]
    assert 'so they are numbered' in capsys.readouterr().out


def test_a_contest_that_was_asked_twice_is_numbered(tmp_path: Path) -> None:
    """One name each, where the old config names a split twice."""
    data = old.dataset(dataset_splits=['AMC', 'AMC'])
    _, out = old.rejudge(old.write(tmp_path / 'old', old.rows(), data))
    assert old.record_in(out)['gpassk']['counts']['uid'][7] == f'{old.NAME}/7'


def test_published_sizes_tell_the_groups(tmp_path: Path) -> None:
    """The English half of LiveMathBench: 18, 44, 46 and 11 questions."""
    asks = [old.Ask('', 'en', f'Question {number}?', '1') for number in range(119)]
    splits = ['CNMO', 'CCEE', 'AMC', 'WLPMC']
    data = old.dataset(dataset_languages=['en'], dataset_splits=splits, n=1, k=1)
    texts = [['\\boxed{1}']] * 119
    _, out = old.rejudge(old.write(tmp_path / 'old', old.rows(asks, texts), data))
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
    _, out = old.rejudge(old.write(tmp_path / 'old', old.rows(asks, [['x']] * 119), data))
    record = old.record_in(out)
    assert record['details']['question'] == [row['question'] for row in rows]
    assert record['gpassk']['counts']['uid'] == [row['uid'] for row in rows]


def test_one_fixed_seed_is_said_loudly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From the config, and from the copies that it led to; also in the record that a report reads."""
    same = [[texts[0]] * 4 for texts in old.responses()]
    model = {'gen_config': {'do_sample': True, 'random_seed': 42}}
    _, out = old.rejudge(old.write(tmp_path / 'old', old.rows(given=same), model=model))
    printed = capsys.readouterr().out
    assert 'NOT INDEPENDENT: the config gives all n = 4 samples of a question one fixed seed' in printed
    assert '(gen_config.random_seed = 42)' in printed
    assert 'NOT INDEPENDENT: all n = 4 responses are one text for 8 of 8 questions' in printed
    warnings = old.record_in(out)['gpassk']['replicas']['warnings']
    assert ['the config gives all' in text for text in warnings] == [True, False]


def test_a_list_of_responses_a_row_is_as_many_samples(tmp_path: Path) -> None:
    """num_return_sequences = 2 with n = 2: four samples, in the order of the rows."""
    rows = old.rows(given=[[texts[:2], texts[2:]] for texts in old.responses()])
    root = old.write(tmp_path / 'old', rows, old.dataset(n=2, k=2))
    code, out = old.rejudge(root, '--k', '4')
    assert code == 0
    assert old.record_in(out)['gpassk']['counts']['c'] == old.COUNTS
    assert old.record_in(out)['gpassk']['k'] == [4]


def test_old_verdicts_on_whole_lists_are_not_taken_for_those_of_samples(tmp_path: Path) -> None:
    """An old result with a verdict a row, where a row is two samples: nothing to count flips of."""
    rows = old.rows(given=[[texts[:2], texts[2:]] for texts in old.responses()])
    root = old.write(tmp_path / 'old', rows, old.dataset(n=2, k=2))
    old.put_result(root, [[1, 0]] * 8)
    code, out = old.rejudge(root)
    assert code == 0
    assert 'were wrong and are right' not in (out / 'comparison.md').read_text(encoding='utf-8')


def test_logs_of_a_start_with_more_parts_are_no_hindrance(tmp_path: Path) -> None:
    """It was killed, and the run was finished in two parts: all rows are there."""
    root = old.write(tmp_path / 'old', old.rows(), parts=[16, 16])
    old.put(root / old.TIME / 'logs' / 'infer' / 'm' / f'{old.NAME}_3.out', 'killed')
    code, out = old.rejudge(root)
    assert code == 0
    assert old.record_in(out)['gpassk']['counts']['c'] == old.COUNTS


def test_files_without_prompts_take_their_questions_from_the_data(tmp_path: Path) -> None:
    """By their place, checked by the reference answers."""
    root = old.write(tmp_path / 'old', [{**row, 'origin_prompt': None} for row in old.rows()])
    data = write_bench(tmp_path / 'data', old.files())
    code, out = old.rejudge(root, '--questions', str(data))
    assert code == 0
    assert old.record_in(out)['details']['question'] == [ask.question for ask in old.ASKS]
    assert old.record_in(out)['gpassk']['counts']['c'] == old.COUNTS


def test_other_evaluators_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As who judged; and what they made of a response first."""
    config = {
        'evaluator': {'type': 'opencompass.evaluator.GenericLLMEvaluator', 'model_name': 'x', 'url': 'y'}
    }
    model = {'pred_postprocessor': {'type': 'opencompass.utils.text_postprocessors.first_option_postprocess'}}
    root = old.write(tmp_path / 'old', old.rows(), old.dataset(eval_cfg=config, abbr='plain'), model)
    old.rejudge(root, '--check')
    printed = capsys.readouterr().out
    assert 'judged by GenericLLMEvaluator;' in printed
    assert 'the old evaluation applied first_option_postprocess to each response' in printed
    assert 'IndexError' not in printed


def test_what_a_file_says_does_not_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Class names of configs, and the error of a run among others."""
    evaluator = {'evaluator': {'type': 'x.\x1b[2J'}}
    root = old.write(tmp_path / 'old', old.rows(), old.dataset(eval_cfg=evaluator))
    old.write(root, old.rows(), {'abbr': 'other', 'type': 'x.\x1b[2J'})
    old.write(root, old.rows()[:31], old.dataset(abbr='a_\x1b'))
    assert old.rejudge(root)[0] == 1
    printed = capsys.readouterr()
    assert '\x1b' not in printed.out + printed.err
    assert printed.out.count('\\x1b[2J') == 2


def test_a_result_of_this_package_is_compared_and_not_called_wrong(
    work_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was judged again in place; the replies of before still lie there."""
    result = work_dir / old.TIME / 'results' / 'm' / f'{old.NAME}.json'
    result.write_text(json.dumps({'accuracy': 50.0, 'gpassk': block([1, 1], 2)}))
    old.rejudge(work_dir)
    printed = capsys.readouterr().out
    assert 'the old result is of this package already' in printed
    assert 'WRONG SCORES' not in printed
    assert '50.00 | 50.00' in ' '.join(printed.split())


def test_others_are_named_and_left_alone(work_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another data set, one that no config names, and one of this package."""
    theirs = {'abbr': 'gsm8k', 'type': 'opencompass.datasets.GSM8KDataset'}
    ours = {'abbr': 'ours', 'type': 'gpassk_opencompass.LiveMathBenchDataset'}
    for data in (theirs, ours):
        old.write(work_dir, old.rows(), data)
    old.put(work_dir / old.TIME / 'predictions' / 'm' / 'unknown.json', '{}')
    code, out = old.rejudge(work_dir)
    printed = capsys.readouterr().out
    assert code == 0
    assert 'm/gsm8k: it is of GSM8KDataset, not of LiveMathBench' in printed
    assert 'm/ours: it is of this package' in printed
    assert 'm/unknown: no config in configs/ names it' in printed
    written = sorted(path.name for path in out.rglob('results/*/*'))
    assert written == [f'{old.NAME}.json', f'{old.NAME}.samples.parquet']


def test_the_llm_judge_is_asked_each_different_answer_once(tmp_path: Path) -> None:
    """In the language of the question; a second time nobody is asked, for the verdicts are kept."""
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
        command = ['rejudge', str(root), '-o', str(out), '--judge', json.dumps(config)]
        assert main(command) == main(command) == 0
        prompts = [asked.prompt for asked in server.asked]
    # An answer that is the reference needs no call; '0' is the one other answer to seven questions.
    assert len(prompts) == 7
    assert {prompt.split('=')[0] for prompt in prompts} == {'question', '问题'}
    assert old.record_in(out)['gpassk']['counts']['c'] == old.COUNTS
    assert list((out / 'verdicts').glob('*.jsonl'))


def test_runs_that_are_not_begun_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A judge that fails is not tried on the runs behind; the one before it is written."""
    root = tmp_path / 'old'
    hard = [ask._replace(question=f'Hard: {ask.question}') for ask in old.ASKS]
    for name, asks in (('a_1', old.ASKS), ('b_1', hard), ('c_1', old.ASKS)):
        old.write(root, old.rows(asks), old.dataset(abbr=name))
    with JudgeServer(lambda asked: 'Well.' if 'Hard' in asked.prompt else '\\boxed{no}') as server:
        config = {'type': 'llm', 'model': 'j', 'urls': [server.url], 'prompts': PROMPTS, 'progress': False}
        command = ['rejudge', str(root), '-o', str(tmp_path / 'new'), '--judge', json.dumps(config)]
        assert main(command) == 1
    printed = capsys.readouterr().err
    assert 'm/b_1: 16 of 32 samples (50.0%) stayed unjudged' in printed
    assert 'm/c_1: not begun' in printed
    assert [path.stem for path in tmp_path.rglob('new/*/results/*/*.json')] == ['a_1']


def test_too_many_unjudged_samples_give_no_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A judge that says neither yes nor no, until the tolerance allows it."""
    root = old.write(tmp_path / 'old', old.rows())
    with JudgeServer(lambda asked: 'I cannot tell.') as server:
        config = {'type': 'llm', 'model': 'j', 'urls': [server.url], 'prompts': PROMPTS, 'progress': False}
        command = ['rejudge', str(root), '-o', str(tmp_path / 'new'), '--judge', json.dumps(config)]
        assert main(command) == 1
        assert 'stayed unjudged' in capsys.readouterr().err
        assert not list(tmp_path.rglob('new/*/results/*/*.json'))
        assert main([*command, '--unjudged-tolerance', '1']) == 0
    assert old.record_in(tmp_path / 'new')['gpassk']['unjudged'] == 16


def test_a_run_of_some_questions_is_judged_as_that(tmp_path: Path) -> None:
    """Their places say nothing of their problems, the data does; and the new result is marked."""
    places = limited([(ask.split, ask.language) for ask in old.ASKS], 5)
    asks = [old.ASKS[place] for place in places]
    name = 'LiveMathBench-v202412-AMC_CNMO-cn_en-limit5-k2_4-r1'
    rows = old.rows(asks, old.responses(asks, [2] * 5))
    work_dir = old.write(tmp_path / 'old', rows, old.dataset(abbr=name, limit=5))
    assert old.rejudge(work_dir)[0] == 0
    counts = old.record_in(tmp_path / 'new', name)['gpassk']['counts']
    assert len(set(counts['problem'])) == 5
    data = write_bench(tmp_path / 'data', old.files())
    assert old.rejudge(work_dir, '--questions', str(data))[0] == 0
    record = old.record_in(tmp_path / 'new', name)
    whole = live_math_bench_rows(str(data), '202412', ['AMC', 'CNMO'], ['cn', 'en'])
    assert record['gpassk']['counts']['problem'] == [whole[place]['problem'] for place in places]
    (result,) = collect([tmp_path / 'new']).results
    assert result.limits == {'limit': 5}
