"""`gpassk export --to eee`: what Every Eval Ever's schemas take, with our scores and intervals in it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from exported_runs import (
    COUNTS,
    TRUTH,
    N,
    exact,
    export,
    response,
    scored_counts,
    scored_labels,
)
from jsonschema import Draft7Validator  # type: ignore[import-untyped]
from stored_results import with_columns

from gpassk_opencompass.judges.prompts import find_prompts
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.results.read import read

Json = dict[str, Any]
RECORDED = Path(__file__).parents[1] / 'recorded'
SCORES, SAMPLES = (
    Draft7Validator(json.loads((RECORDED / 'eee' / f'{name}.schema.json').read_text(encoding='utf-8')))
    for name in ('eval', 'instance_level_eval')
)


def exported(result: Path, folder: Path, *options: object) -> tuple[Json, list[Json]]:
    """The scores and the samples of the one run that was exported, which fit the schemas and each other."""
    assert export(result, '--to', 'eee', '-o', folder, *options) == 0
    [file] = folder.rglob('*.json')
    return checked(folder, file)


def checked(folder: Path, file: Path) -> tuple[Json, list[Json]]:
    scores: Json = json.loads(file.read_text(encoding='utf-8'))
    assert [error.message for error in SCORES.iter_errors(scores)] == []
    assert file.relative_to(folder).parts[0] == 'data'
    assert len(file.relative_to(folder).parts) == 5
    ids = [one['evaluation_result_id'] for one in scores['evaluation_results']]
    assert len(set(ids)) == len(ids)
    if 'detailed_evaluation_results' not in scores:
        assert not file.with_name(f'{file.stem}_samples.jsonl').exists()
        return scores, []
    told = scores['detailed_evaluation_results']
    content = (folder / told['file_path']).read_bytes()
    assert (folder / told['file_path']).name == f'{file.stem}_samples.jsonl'
    assert (told['hash_algorithm'], told['checksum']) == ('sha256', hashlib.sha256(content).hexdigest())
    lines = [json.loads(line) for line in content.decode('utf-8').splitlines()]  # also at U+2028
    assert told['total_rows'] == len(lines)
    for line in lines:
        assert [error.message for error in SAMPLES.iter_errors(line)] == []
        assert line['evaluation_id'] == scores['evaluation_id']
        assert line['model_id'] == scores['model_info']['id']
        assert line['evaluation_result_id'] in ids
    return scores, lines


def score_of(scores: Json, metric: str, name: str = 'samples') -> Json:
    [one] = [
        one
        for one in scores['evaluation_results']
        if (one['evaluation_name'], one['metric_config']['metric_name']) == (name, metric)
    ]
    found: Json = one
    return found


def edited(result: Path, **changes: Any) -> Path:
    """A result with other entries of `gpassk`."""
    record = json.loads(result.read_text(encoding='utf-8'))
    record['gpassk'] |= changes
    result.write_text(json.dumps(record), encoding='utf-8')
    return result


def test_scores_are_those_of_the_truth(tmp_path: Path, theirs: Path) -> None:
    """Each metric of the record, of all questions and of each group, as exact fractions give it."""
    scores, _ = exported(theirs, tmp_path / 'out')
    groups = {'samples': COUNTS}
    for name, group in (('sums_cn', range(0, 12, 2)), ('sums_en', range(1, 12, 2))):
        groups[f'samples.{name}'] = [COUNTS[number] for number in group]
    for name, counts in groups.items():
        metrics = [
            one['metric_config']['metric_name']
            for one in scores['evaluation_results']
            if one['evaluation_name'] == name
        ]
        assert metrics == [
            *('accuracy', 'pass@1', 'G-Pass@1_0.5', 'G-Pass@1_0.75', 'G-Pass@1_1.0'),
            *('pass@2', 'G-Pass@2_0.5', 'G-Pass@2_0.75', 'G-Pass@2_1.0', 'mG-Pass@2'),
            *('pass@3', 'G-Pass@3_0.5', 'G-Pass@3_0.75', 'G-Pass@3_1.0', 'mG-Pass@3'),
        ]
        for metric in metrics:
            told = score_of(scores, metric, name)['score_details']['score']
            assert told == pytest.approx(float(exact(metric, N, counts)), abs=1e-12)


def test_a_metric_says_what_it_is(tmp_path: Path, theirs: Path) -> None:
    """Its family and parameters, that more is better, and between which bounds."""
    scores, _ = exported(theirs, tmp_path / 'out')
    shown = {
        metric: {
            name: value
            for name, value in score_of(scores, metric)['metric_config'].items()
            if name not in ('evaluation_description', 'additional_details')
        }
        for metric in ('accuracy', 'pass@2', 'G-Pass@3_0.75', 'mG-Pass@3')
    }
    same = {
        'metric_unit': 'proportion',
        'lower_is_better': False,
        'score_type': 'continuous',
        'min_score': 0.0,
        'max_score': 1.0,
    }
    assert shown == {
        'accuracy': {
            'metric_id': 'accuracy',
            'metric_name': 'accuracy',
            'metric_kind': 'accuracy',
            **same,
        },
        'pass@2': {
            'metric_id': 'pass_at_k',
            'metric_name': 'pass@2',
            'metric_kind': 'pass_rate',
            'metric_parameters': {'k': 2},
            **same,
        },
        'G-Pass@3_0.75': {
            'metric_id': 'g_pass_at_k',
            'metric_name': 'G-Pass@3_0.75',
            'metric_kind': 'pass_rate',
            'metric_parameters': {'k': 3, 'threshold': 0.75},
            **same,
        },
        'mG-Pass@3': {
            'metric_id': 'mg_pass_at_k',
            'metric_name': 'mG-Pass@3',
            'metric_kind': 'pass_rate',
            'metric_parameters': {'k': 3},
            **same,
        },
    }


def test_intervals_are_those_of_a_report(tmp_path: Path) -> None:
    """Of another level, too; where none holds there is none, and the reason stands there."""
    result = scored_labels(tmp_path, 'labelled', TRUTH * 2, None, '--k', 2, 4)
    for level in (0.95, 0.8):
        scores, _ = exported(result, tmp_path / f'{level}', '--level', level)
        ours = read(result).interval(Metric.parse('G-Pass@2_1.0'), level)
        told = score_of(scores, 'G-Pass@2_1.0')['score_details']['uncertainty']
        assert told['standard_error']['value'] == ours.error > 0
        interval = told['confidence_interval']
        assert (interval['lower'], interval['upper'], interval['confidence_level']) == (
            *(ours.low, ours.high),
            level,
        )
        assert told['num_samples'] == 48
    few = scored_labels(tmp_path, 'few', TRUTH[:6], None, '--k', 2)
    scores, _ = exported(few, tmp_path / 'few')
    details = score_of(scores, 'G-Pass@2_1.0')['score_details']
    assert 'uncertainty' not in details
    assert details['details']['no_interval'] == '6 problems, fewer than 20'


def test_translations_of_one_problem_widen_the_interval(tmp_path: Path, theirs: Path) -> None:
    """24 questions of 12 problems are 12, too few for an interval; the standard error is between them."""
    scores, _ = exported(theirs, tmp_path / 'out')
    details = score_of(scores, 'accuracy')['score_details']
    assert (details['details']['questions'], details['details']['problems']) == ('24', '12')
    assert details['details']['no_interval'] == '12 problems, fewer than 20'


def test_a_line_says_all_that_is_known_of_a_sample(tmp_path: Path, theirs: Path) -> None:
    """Question, response, answer and verdict, by the names of the format."""
    _, lines = exported(theirs, tmp_path / 'out', '--responses')
    assert len(lines) == N * len(TRUTH)
    shown = lines[N * 14 + 1]
    asked = {'raw': 'What is $14+14$?', 'reference': ['28']}
    canonical = json.dumps(asked, sort_keys=True, separators=(',', ':'))
    assert {name: shown[name] for name in shown if not name.startswith('evaluation_')} == {
        'schema_version': '0.3.0',
        'model_id': 'unknown/theirs',
        'sample_id': 'q14',
        'sample_hash': hashlib.sha256(canonical.encode()).hexdigest(),
        'interaction_type': 'single_turn',
        'input': asked,
        'output': {'raw': [response(14, False, 1)]},
        'answer_attribution': [
            {
                'turn_idx': 0,
                'source': 'output.raw',
                'extracted_value': '29',
                'extraction_method': 'final answer',
                'is_terminal': True,
            }
        ],
        'evaluation': {'score': 0.0, 'is_correct': False, 'num_turns': 1},
        'metadata': {
            'problem': 'p7',
            'group': '求和_cn',
            'replica': '1',
            'verdict': 'incorrect',
            'decided_by': 'integer',
            'response_characters': str(len(response(14, False, 1))),
            'reasoning_characters': '6',
        },
    }
    counts: Counter[str] = Counter()
    for line in lines:
        counts[line['sample_id']] += line['evaluation']['is_correct']
    assert [counts[f'q{number}'] for number in range(len(TRUTH))] == COUNTS


def test_samples_count_in_the_accuracy_of_all(tmp_path: Path, theirs: Path) -> None:
    """The other scores are of questions, so a line is linked to the one score that is a mean of lines."""
    scores, lines = exported(theirs, tmp_path / 'out')
    accuracy = score_of(scores, 'accuracy')
    assert {line['evaluation_result_id'] for line in lines} == {accuracy['evaluation_result_id']}
    assert {line['evaluation_name'] for line in lines} == {accuracy['evaluation_name']}
    mean = sum(line['evaluation']['score'] for line in lines) / len(lines)
    assert accuracy['score_details']['score'] == pytest.approx(mean, abs=1e-12)


def test_a_sample_that_nobody_judged_says_so(tmp_path: Path) -> None:
    """It counts as incorrect, the bounds say what it might make, and its line names the error."""
    verdicts = [symbols.replace('0', '?', 1) for symbols in TRUTH]
    scores, lines = exported(scored_labels(tmp_path, 'labelled', verdicts), tmp_path / 'out')
    unjudged = [line for line in lines if line['metadata']['verdict'] == 'unjudged']
    count = sum(symbols.count('?') for symbols in verdicts)
    assert len(unjudged) == count > 0
    assert {line['error'] for line in unjudged} == {'unjudged: no reason is known'}
    assert not any(line['evaluation']['is_correct'] for line in unjudged)
    assert not any('error' in line for line in lines if line not in unjudged)
    details = score_of(scores, 'accuracy')['score_details']
    assert details['score'] == pytest.approx(float(exact('accuracy', N, COUNTS)), abs=1e-12)
    assert details['details']['unjudged_samples'] == str(count)
    highest = (sum(COUNTS) + count) / (N * len(TRUTH))
    assert details['details']['bounds'].endswith(f'{highest!r} with all correct')


def test_counts_alone_have_scores_and_no_lines(tmp_path: Path) -> None:
    """Nothing is made up of samples that nobody told."""
    scores, lines = exported(scored_counts(tmp_path), tmp_path / 'out')
    assert lines == []
    told = score_of(scores, 'G-Pass@2_1.0')['score_details']['score']
    assert told == pytest.approx(float(exact('G-Pass@2_1.0', N, COUNTS)), abs=1e-12)


def test_one_sample_a_question_has_an_accuracy_alone(tmp_path: Path) -> None:
    """As its record has."""
    result = scored_labels(tmp_path, 'greedy', [symbols[0] for symbols in TRUTH])
    scores, lines = exported(result, tmp_path / 'out')
    assert [one['metric_config']['metric_name'] for one in scores['evaluation_results']] == ['accuracy']
    assert len(lines) == len(TRUTH)


def test_a_run_that_is_exported_again_replaces_its_own_files(tmp_path: Path, theirs: Path) -> None:
    """And another run of the same model lies beside it."""
    folder = tmp_path / 'out'
    first, _ = exported(theirs, folder)
    again, _ = exported(theirs, folder, '--organization', 'Lab', '--relationship', 'third_party')
    assert again['evaluation_id'] == first['evaluation_id']
    assert again['source_metadata']['source_organization_name'] == 'Lab'
    assert again['source_metadata']['evaluator_relationship'] == 'third_party'
    settings = {'model': 'theirs_t0.3_l64', 'dataset': 'samples', 'host': 'file'}
    export(edited(theirs, run=settings), '--to', 'eee', '-o', folder)
    files = sorted(folder.rglob('*.json'))
    assert len(files) == 2
    assert len({checked(folder, file)[0]['evaluation_id'] for file in files}) == 2


def test_what_the_record_tells_of_the_sampling_is_told(tmp_path: Path, theirs: Path) -> None:
    """From the name of a run of a sweep, and from what another harness wrote."""
    edited(theirs, run={'model': 'm_t0.3_p0.8_k50_rp1.1_rs42_l8192', 'dataset': 'samples', 'host': 'file'})
    config = score_of(exported(theirs, tmp_path / 'a')[0], 'accuracy')['generation_config']
    assert config['generation_args'] == {'temperature': 0.3, 'top_p': 0.8, 'top_k': 50, 'max_tokens': 8192}
    assert config['additional_details'] == {
        'samples_per_question': '4',
        'repetition_penalty': '1.1',
        'random_seed': '42',
    }
    told = {'temperature': 0, 'max_tokens': 512, 'top_p': 'high', 'top_k': 2.5, 'seed': 7, 'stop': ['x']}
    edited(theirs, run={'model': 'm', 'dataset': 'samples', 'host': 'file', 'settings': told})
    config = score_of(exported(theirs, tmp_path / 'b')[0], 'accuracy')['generation_config']
    assert config['generation_args'] == {'temperature': 0.0, 'max_tokens': 512}
    assert config['additional_details'] == {'samples_per_question': '4', 'random_seed': '7'}


def test_model_and_engine_are_told_as_far_as_they_are_known(tmp_path: Path, theirs: Path) -> None:
    """By the record of what it was sampled with, and by who exports."""
    scores, _ = exported(theirs, tmp_path / 'a', '--model-id', 'theirs=Maker/Theirs-7B')
    assert (scores['model_info']['id'], scores['model_info']['developer']) == ('Maker/Theirs-7B', 'Maker')
    provenance = {
        'model': {'path': 'Qwen/Qwen2.5-7B', 'type': 'x'},
        'files': {'path': {'commit': 40 * 'a'}},
        'versions': {'torch': '2.8', 'vllm': '0.13.0'},
        'created': '2026-01-02T03:04:05Z',
    }
    scores, _ = exported(edited(theirs, provenance=provenance), tmp_path / 'b')
    assert scores['model_info'] == {
        'name': 'theirs',
        'id': 'Qwen/Qwen2.5-7B',
        'developer': 'Qwen',
        'inference_engine': {'name': 'vLLM', 'version': '0.13.0'},
        'additional_details': {
            'deployment_type': 'self_deployed',
            'model_availability': 'unknown',
            'run': 'theirs',
        },
    }
    assert scores['evaluation_timestamp'] == '1767323045'
    local = {**provenance, 'model': {'path': '/home/me/models/q'}, 'files': {'path': {'config.json': 'ab'}}}
    scores, _ = exported(edited(theirs, provenance=local), tmp_path / 'c')
    assert scores['model_info']['id'] == 'unknown/theirs'
    assert '/home/me' not in json.dumps(scores)


def test_a_data_set_of_the_hub_is_named(tmp_path: Path, theirs: Path) -> None:
    """Where all questions come from one; else the hashes of what they came from."""
    data = json.loads(theirs.read_text(encoding='utf-8'))['gpassk']['data']
    hub = [f'opencompass/LiveMathBench@{40 * "a"}:v202412_AMC_{language}' for language in ('cn', 'en')]
    scores, _ = exported(edited(theirs, data={**data, 'sources': hub}), tmp_path / 'a')
    told = score_of(scores, 'accuracy')['source_data']
    assert (told['source_type'], told['hf_repo']) == ('hf_dataset', 'opencompass/LiveMathBench')
    assert told['samples_number'] == len(told['sample_ids']) == len(TRUTH)
    mixed = [hub[0], f'mine.jsonl@sha256:{64 * "0"}']
    scores, _ = exported(edited(theirs, data={**data, 'sources': mixed}), tmp_path / 'b')
    told = score_of(scores, 'accuracy')['source_data']
    assert told['source_type'] == 'other'
    assert json.loads(told['additional_details']['sources']) == mixed


@pytest.mark.parametrize('nested', [False, True], ids=['llm', 'cascade'])
def test_a_judge_that_is_a_model_is_told_with_its_prompts(tmp_path: Path, nested: bool, theirs: Path) -> None:
    """The very prompts, in the languages of the questions, where they are known by their digest."""
    prompts = find_prompts('own')
    judge: Json = {
        'name': 'llm',
        'model': 'Qwen2.5-72B-Instruct',
        'prompts': f'{prompts.name}:{prompts.digest}',
        'sampling': {'temperature': 0.0},
    }
    if nested:
        judge = {'name': 'cascade', 'first': {'name': 'rule'}, 'second': judge}
    scores, _ = exported(edited(theirs, judge=judge), tmp_path / 'a')
    told = score_of(scores, 'accuracy')['metric_config']
    assert told['llm_scoring']['input_prompt'] == f'{prompts.english}\n\n{prompts.chinese}'
    [who] = told['llm_scoring']['judges']
    assert (who['model_info']['name'], who['temperature']) == ('Qwen2.5-72B-Instruct', 0.0)
    assert json.loads(told['additional_details']['judge_identity']) == judge


def test_prompts_that_are_not_at_hand_are_not_made_up(tmp_path: Path, theirs: Path) -> None:
    """Then the judge stands in the details alone: the format asks for the prompts themselves."""
    judge = {'name': 'llm', 'model': 'm', 'prompts': f'mine:{16 * "0"}', 'sampling': {}}
    scores, _ = exported(edited(theirs, judge=judge), tmp_path / 'a')
    told = score_of(scores, 'accuracy')['metric_config']
    assert 'llm_scoring' not in told
    assert told['additional_details']['judge_prompts'] == f'mine:{16 * "0"}'
    assert told['additional_details']['judge'] == 'llm-m'


def test_names_that_no_folder_may_have_are_changed_in_paths_alone(tmp_path: Path) -> None:
    """Slashes, colons and names that the datastore keeps for itself."""
    result = scored_labels(tmp_path, 'a', TRUTH, None, '--dataset', 'data')
    edited(result, run={'model': 'llama3:8b', 'dataset': 'data', 'host': 'file'})
    options = ('--model-id', 'llama3:8b=CON/a/b:c')
    scores, lines = exported(result, tmp_path / 'out', *options)
    assert scores['model_info']['id'] == lines[0]['model_id'] == 'CON/a/b:c'
    assert scores['detailed_evaluation_results']['file_path'].startswith('data/_data/_CON/a_b_c/')


def test_halves_of_characters_and_odd_line_ends_keep_lines_whole(tmp_path: Path) -> None:
    """A sample is one line for every reader, and each line is UTF-8."""
    answers = [['\ud800', 'a\u2028b', 'c\x85d', 'e\x1cf']] * len(TRUTH)
    _, lines = exported(scored_labels(tmp_path, 'odd', TRUTH, answers), tmp_path / 'out')
    values = [line['answer_attribution'][0]['extracted_value'] for line in lines[:N]]
    assert values == ['\\ud800', 'a\u2028b', 'c\x85d', 'e\x1cf']


def test_tokens_and_times_are_told_where_all_are_known(tmp_path: Path, theirs: Path) -> None:
    """Lighteval's details of an older version have none of them; a sample file has."""
    with_columns(theirs, prompt_tokens=9, output_tokens=20, reasoning_tokens=5, seconds=0.25)
    _, lines = exported(theirs, tmp_path / 'out')
    assert lines[0]['token_usage'] == {
        'input_tokens': 9,
        'output_tokens': 20,
        'total_tokens': 29,
        'reasoning_tokens': 5,
    }
    assert lines[0]['performance'] == {'latency_ms': 250.0}
    with_columns(theirs, prompt_tokens=None)
    _, lines = exported(theirs, tmp_path / 'other')
    assert 'token_usage' not in lines[0]


def test_results_of_lighteval_and_of_an_older_schema_fit_too(tmp_path: Path) -> None:
    """All of theirs at once, in one folder."""
    given = [RECORDED / 'lighteval', RECORDED / 'results' / 'schema-1-whole.json']
    assert export(*given, '--to', 'eee', '-o', tmp_path) == 0
    files = sorted(tmp_path.rglob('*.json'))
    assert len(files) == 2
    libraries = [checked(tmp_path, file)[0]['eval_library'] for file in files]
    # Lighteval's details are of 0.1.0, the other record is of the last release with its schema.
    assert {one['version'] for one in libraries} == {'0.1.0', '0.2.0'}
