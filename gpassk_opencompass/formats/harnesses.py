"""Rows of lm-evaluation-harness, NeMo-Skills, MathArena, Every Eval Ever, and replies of a batch."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..completion import ENDS, Trouble, reply_of
from ..errors import ForeignFileError, InputError
from ..files import listed, mapping
from ..health import CUT_OFF, NOT_DRAWN
from ..json_rows import Row
from .format import Format, Options, at, first_row, has, number_in, object_beside, paths, rows_of, sampling

# ---- lm-evaluation-harness 0.4: `samples_<task>_<date>.jsonl` of --log_samples, a row a question and filter
#
# The harness scores the filtered response, which with `repeats` above 1 is one of n; only a task that scores
# each leaves a verdict of all n. Model and sampling stand in `results_<date>.json` beside the samples.

_LM_EVAL_NAME = re.compile(r'samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl(?:\.gz)?')
_SUMMARY = 'results', 'configs', 'versions'
_QUESTION = 'question', 'problem', 'Question', 'Problem', 'query', 'input'
_OF_OURS = 'uid', 'problem', 'split', 'language'
"""What the data of our own tasks say of a question."""


def _responses(row: Row) -> list[str | None] | None:
    """Return the responses to a question; None where choices were weighed."""
    [first, *more] = row['resps']
    if all(isinstance(one, (list, tuple)) for one in first):
        if isinstance(at(row, 'arguments.gen_args_0.arg_1'), str):
            return None
        raise ValueError('its responses are likelihoods of texts, of a perplexity task; expected texts')
    if more:
        raise ValueError(f'it has {len(more) + 1} prompts; expected one, with all responses in resps[0]')
    return list(first)


def _scored(row: Row) -> tuple[str, list[Any]]:
    """Return the metric with a verdict of each response, '' where none is of all n, and what the filter left.

    As a list may be of instructions, it counts where its name tells, or the filter left all n responses.
    """
    n, told = len(_responses(row) or [None]), {name: row[name] for name in row['metrics'] if name in row}
    left = row['filtered_resps']
    left = left[0] if len(left) == 1 and isinstance(left[0], list) else left
    lists = [name for name, one in told.items() if isinstance(one, list) and len(one) == n]
    lists = [name for name in lists if {*map(type, told[name])} <= {bool, int, float, type(None)}]
    if 'correct' in lists:
        return 'correct', left
    numbers = [name for name, one in told.items() if isinstance(one, (bool, int, float))] if n == 1 else []
    return next(iter([*numbers, *(lists if n == 1 or len(left) == n else [])]), ''), left


def _of_filter(first: Row, options: Options) -> Format:
    """Return the format of the rows of one filter; its first row tells which metric is of each response."""
    name, metric = options.fields.get('filter', first['filter']), None

    def samples(row: Row) -> Iterator[Row]:
        nonlocal metric
        if row['filter'] != name:
            other = f'{{count}} rows are of another filter than {name!r} and were passed over'
            yield {'_skipped': f'{other}: --field filter=… chooses another'}
            return
        own, left = _scored(row)
        metric = own if metric is None else metric
        texts, doc, target, told = _responses(row), row['doc'], row['target'], row.get(metric)
        n = len(texts or [None])
        verdicts = told if isinstance(told, list) else [told] * n
        alike = len(left) == n or metric == 'correct' or n == 1
        if metric and (metric not in row or len(verdicts) != n or not alike):
            raise ValueError(
                f'{metric} is {told!r:.60}, and filtered_resps {row["filtered_resps"]!r:.60}, for {n} '
                'responses; expected a verdict of each, as in the first row'
            )
        question = next((doc[one] for one in _QUESTION if isinstance(doc.get(one), str)), None)
        unscored = not metric and n > 1 and row['metrics'] and 'correct' not in options.fields
        said = {
            'the data of {count} questions has no field known to hold it: the whole prompt stands for it': (
                question is None and 'question' not in options.fields
            ),
            f'of {{count}} questions the harness scored only what its filter {name!r} left of {n} responses '
            f'({", ".join(map(str, row["metrics"]))}): these verdicts are not taken': unscored,
        }
        none = '{count} responses are "None", written where a server sent no text: they count as empty'
        ours = all(isinstance(doc.get(one), str) for one in _OF_OURS)
        for place, text in enumerate(texts or [None]):
            empty = texts is not None and text in (None, 'None')
            yield {
                'uid': doc['uid'] if ours else row['doc_id'],
                'problem': doc['problem'] if ours else None,
                'question': at(row, 'arguments.gen_args_0.arg_0') if question is None else question,
                'reference': json.dumps(target) if isinstance(target, (list, dict)) else target,
                'replica': place,
                'response': '' if empty else text,
                'answer': left[place] if metric and len(left) == n and left != texts else None,
                'correct': verdicts[place],
                'state': 'empty' if empty else None,
                '_said': [one for one in said if said[one] and place == 0] + [none] * empty,
            }

    def about(row: Row) -> Row:
        """Tell what the summary of the run does, which was written beside it at the same moment."""
        path, metric = row['_file'], _scored(row)[0]
        named = _LM_EVAL_NAME.fullmatch(path.name)
        task, date = named.groups() if named else ('', '')
        beside = map(object_beside, sorted(path.parent.glob(f'*_{date}.json')) if date else ())
        summary = next((one for one in beside if has(one, *_SUMMARY)), {})
        args = at(summary, 'config.model_args')
        args = mapping(args) or dict(pair.split('=', 1) for pair in str(args).split(',') if '=' in pair)
        names = [summary.get('model_name'), args.get('pretrained'), args.get('model')]
        judge = {'name': f'{metric} of lm-eval', 'task': task, 'filter': name}
        judge['version'] = at(summary, f'versions.{task}')
        own = at(summary, f'configs.{task}.metadata.gpassk.judge')
        engine, version = at(summary, 'config.model'), summary.get('lm_eval_version')
        settings = sampling(at(row, 'arguments.gen_args_0.arg_1'))
        return {
            'model': next((one for one in names if isinstance(one, str) and one), ''),
            'dataset': task,
            'written_by': f'lm-eval {version}' if isinstance(version, str) else 'lm-eval',
            'judge': (own or {key: one for key, one in judge.items() if one}) if metric else {},
            'settings': settings | ({'engine': engine} if isinstance(engine, str) else {}),
        }

    return Format(LM_EVAL.recognises, paths('split=doc.split language=doc.language'), samples, about)


def _lm_eval_rows(files: Sequence[Path]) -> Iterator[Row]:
    if has(first_row(files[0]), *_SUMMARY):
        mend = 'give the samples_*.jsonl beside it, which lm_eval writes with --log_samples'
        raise ForeignFileError(f"{files[0]} is lm-eval's summary, without samples; {mend}")
    return rows_of(*files)


_LM_EVAL = 'doc_id', 'doc', 'target', 'arguments', 'resps', 'filtered_resps', 'filter', 'metrics'
LM_EVAL = Format(
    lambda path, row: has(row, *_LM_EVAL) or has(row, *_SUMMARY),
    rows=_lm_eval_rows,
    specialise=_of_filter,
    options=frozenset({'filter'}),
)


# ---- NeMo-Skills: `output-rs<seed>.jsonl` of `ns eval` and `ns generate`, a file a seed
#
# The seeds of a folder are one run, and `output.jsonl` is another. Chunks of a seed may be not merged yet.

_OUTPUT = re.compile(r'(.+?)(?:-rs(\d+))?(?:_chunk_(\d+))?(?:\.jsonl(?:-async)?)?')
"""What the name of a file begins with, the seed, the chunk."""

_JUDGED, _WAITING = 'eval-results', 'tmp-eval-results'
"""Folders of what is finished, and of responses that an LLM judge still has to see."""

_VERDICTS = 'judgement', 'symbolic_correct', 'is_correct'
"""Fields with a verdict, the one that counts first; the last is of versions before 0.7."""

_OF_MODEL = 'finish_reason', 'reasoning_content', 'num_reasoning_tokens', 'num_answer_tokens'
"""In whose place a judge that was asked leaves its own."""


def _output(path: Path) -> tuple[str, str, str]:
    stem, seed, chunk = _OUTPUT.fullmatch(path.name).groups('')  # type: ignore[union-attr]
    return stem, seed, chunk


def _seeds_of(path: Path) -> tuple[Path, str, bool]:
    """Return the folder in which a run is judged to its end, and which of the runs there it is."""
    folder, (stem, seed, _) = path.absolute().parent, _output(path)
    return Path(*(_JUDGED if part == _WAITING else part for part in folder.parts)), stem, bool(seed)


def _outputs(paths: Sequence[Path]) -> Iterator[Row]:
    """Yield the rows of each finished seed, with their line, and the field of its verdicts."""
    folder = _seeds_of(paths[0])[0]
    seeds: dict[str, dict[int, Path]] = defaultdict(dict)
    for path in [path for path in paths if path.absolute().parent == folder] or paths:
        _, seed, chunk = _output(path)
        seeds[seed][int(chunk or -1)] = path
    started = [path.with_name(f'{path.name.removesuffix("-async")}-async') for path in paths]
    unfinished = {_output(path)[1] for path in started if path.exists()}
    if unfinished >= seeds.keys():
        mend = 'NeMo-Skills goes on with ++skip_filled=True, and renames it when all answers are there'
        raise InputError(f'{started[-1]} is unfinished, as is every seed beside it: {mend}')
    for seed in sorted(seeds.keys() - unfinished):
        files, verdict = seeds[seed], ''
        missing = {*range(max(files))} - files.keys()
        if missing and -1 not in files:
            which = 'without it nobody knows which question a line of the others is'
            raise InputError(f'{min(files.values())}: its seed has no chunk {min(missing)}; {which}')
        chunks = [files[chunk] for chunk in sorted(files) if chunk >= 0] if 0 in files else [files[-1]]
        for line, row in enumerate(rows_of(*chunks), 1):
            verdict = verdict or next((name for name in _VERDICTS if name in row), 'none')
            # A judgement that was given without asking comes first in its row, and then nothing was replaced.
            if 'judgement' in row and next(iter(row)) != 'judgement':
                row = {name: one for name, one in row.items() if name not in _OF_MODEL}  # noqa: PLW2901
            yield {**row, '_line': line, '_verdict': verdict, '_seed': int(seed or 0)}


def _of_nemo_skills(row: Row) -> Iterator[Row]:
    response, whole, thought = row['generation'], row.get('_full_generation'), row.get('reasoning_content')
    if isinstance(whole, str) and whole.strip() != response.strip():
        thought = whole[: whole.rfind(response)] if response in whole and response else whole
        thought = thought.strip().removeprefix('<think>').removesuffix('</think>')
    state, said, verdict = None, [], row.get(row['_verdict'])
    if response == '' and row.get('num_generated_tokens') == 0 and not row.get('finish_reason'):
        # What NeMo-Skills writes where it goes on after a request that the server did not answer.
        error = row.get('error')
        state = 'too long' if error == 'context_window_exceeded' else 'refused' if error else 'failed'
    elif row['_verdict'] == 'judgement' and isinstance(verdict, str):
        _, mark, told = verdict.rpartition('Judgement:')  # the last one counts, as NeMo-Skills reads it
        told = told.strip().lower()
        verdict = told.startswith('yes') if mark and told.startswith(('yes', 'no')) else None
        if verdict is None:
            neither = '{count} judgements say neither "Judgement: Yes" nor "Judgement: No" and are unjudged'
            said.append(f'{neither}; NeMo-Skills counts them as incorrect')
    yield {
        'uid': row['id'] if type(row.get('id')) in (str, int) else row['_line'],
        'question': row.get('problem', row.get('question')),
        **{'thought': thought, 'correct': None if state else verdict, 'state': state, '_said': said},
    }


def _about_nemo_skills(row: Row) -> Row:
    """Return model and benchmark by `<model>/eval-results/<benchmark>`; else the folder is the benchmark."""
    folder, (stem, seed, _) = row['_file'].absolute().parent, _output(row['_file'])
    model, dataset = '', folder.name
    if above := next((one for one in folder.parents if one.name in (_JUDGED, _WAITING)), None):
        model, dataset = above.parent.name, folder.relative_to(above).as_posix()
    greedy = not seed and any(folder.glob(f'{stem}-rs*.jsonl'))
    unfinished = sorted(folder.glob(f'{stem}-rs*.jsonl-async')) if seed else ()
    return {
        'model': model,
        'dataset': (dataset if stem == 'output' else stem) + ('-greedy' if greedy else ''),
        'written_by': 'NeMo-Skills',
        'judge': {'name': f'NeMo-Skills {row["_verdict"]}'} if row['_verdict'] in _VERDICTS else {},
        'remarks': [f'{one.name} is unfinished: the samples of this seed are left out' for one in unfinished],
    }


NEMO_SKILLS = Format(
    lambda path, row: isinstance(at(row, 'generation'), str) and has(row, 'expected_answer'),
    paths(
        'replica=_seed seed=_seed reference=expected_answer response=generation answer=predicted_answer '
        'split=subset_for_metrics finish_reason prompt_tokens=num_input_tokens '
        'output_tokens=num_generated_tokens reasoning_tokens=num_reasoning_tokens seconds=generation_time'
    ),
    _of_nemo_skills,
    _about_nemo_skills,
    run_of=_seeds_of,
    rows=_outputs,
)


# ---- MathArena: the tables as it uploads them, a row a sample, in Parquet or JSON lines; a run a model


def _of_matharena(row: Row) -> Iterator[Row]:
    ungraded = str(row['correct']).startswith('TODO')
    yield {
        'model': row.get('model_config', row.get('model_name')),
        'answer': '' if row.get('parsed_answer') in (None, 'None') else row['parsed_answer'],
        'correct': None if ungraded else row['correct'],
        'state': 'failed' if row['answer'] is None else None if str(row['answer']).strip() else 'empty',
        '_said': ['{count} samples are not yet graded: they are unjudged'] if ungraded else [],
    }


MATHARENA = Format(
    lambda path, row: (
        has(row, 'problem_idx', 'idx_answer', 'answer', 'correct')
        and (has(row, 'model_config') or has(row, 'model_name'))
    ),
    paths(
        'uid=problem_idx replica=idx_answer question=problem reference=gold_answer response=answer '
        'prompt_tokens=input_tokens output_tokens seconds=time'
    ),
    _of_matharena,
    lambda row: {'written_by': 'MathArena', 'judge': {'name': 'MathArena'}},
)


# ---- Every Eval Ever: `<uuid>_samples.jsonl` beside `<uuid>.json`, a row a response under one evaluation
#
# A row that holds several responses has one score for all of them. inspect_ai's converter writes the mean, or
# another sum, of all epochs of a sample into the row of each. Neither is the verdict of a single response.

_SUFFIX = '_samples.jsonl'


def _responses_of_all(files: Sequence[Path]) -> Iterator[Row]:
    if not (own := [path for path in files if path.suffix != '.json']):
        raise InputError(f'{files[0]} has the means of an evaluation; give the {_SUFFIX} beside it too')
    for path in own:
        scores: defaultdict[Any, set[Any]] = defaultdict(set)
        epochs: set[Any] = set()
        for row in rows_of(path):
            epochs.add(at(row, 'metadata.epoch'))
            if (score := number_in(at(row, 'evaluation.score'))) is not None:
                scores[row.get('evaluation_name'), row.get('sample_id')].add(score)
        shared = len(epochs) > 1 and None not in epochs and all(len(one) == 1 for one in scores.values())
        yield from ({**row, '_shared': shared} for row in rows_of(path))


def _of_every_eval_ever(row: Row) -> Iterator[Row]:
    """Yield a row a response, with the verdict of the row where it is its own."""
    references, epoch = listed(at(row, 'input.reference')), at(row, 'metadata.epoch')
    last = [one for one in listed(row.get('messages')) if at(one, 'role') == 'assistant'][-1:]
    texts = listed(at(row, 'output.raw')) or [at(one, 'content') for one in last] or [None]
    thoughts = listed(at(row, 'output.reasoning_trace')) or [at(one, 'reasoning_trace') for one in last]
    score, right = at(row, 'evaluation.score'), at(row, 'evaluation.is_correct')
    if right is None or (isinstance(score, (int, float)) and 0 < score < 1):
        right = score  # partial credit, which converters call correct
    alone, name, result = len(texts) == 1, row['evaluation_name'], row.get('evaluation_result_id')
    told = {
        '{count} rows hold several responses and one score for all of them: they are unjudged': not alone,
        '{count} rows have one score for all epochs of a sample, as converters write it: they are unjudged, '
        'unless --field correct=evaluation.score takes it': row['_shared'],
        '{count} rows have several references, of which the first one is kept': len(references) > 1,
    }
    for number, text in enumerate(texts):
        yield {
            'dataset': name if result in (None, name) else f'{name} {result}',
            'replica': int(epoch) - 1 if alone and str(epoch).isdecimal() else None,
            'reference': references[0] if references else None,
            'response': text,
            'thought': thoughts[number] if number < len(thoughts) else None,
            'answer': at(row, 'answer_attribution.-1.extracted_value') if alone else None,
            'correct': right if alone and not row['_shared'] else 'unjudged',
            'state': 'failed' if row.get('error') and not text else None,
            **{
                f'{one}_tokens': alone and at(row, f'token_usage.{one}_tokens')
                for one in ('output', 'reasoning')
            },
            '_said': [sentence for sentence, holds in told.items() if holds and not number],
        }


def _about_every_eval_ever(row: Row) -> Row:
    told = object_beside(row['_file'].with_name(row['_file'].name.replace(_SUFFIX, '.json')))
    time = str(told.get('evaluation_timestamp') or '')
    if time.replace('.', '', 1).isdecimal():
        time = datetime.fromtimestamp(float(time), timezone.utc).isoformat()
    name = str(at(told, 'eval_library.name') or 'Every Eval Ever')
    version = str(at(told, 'eval_library.version') or '').rpartition(':')[2]
    return {
        'written_by': f'{name} {version}'.strip(),
        'judge': {'name': name},
        'settings': sampling(at(told, 'evaluation_results.0.generation_config.generation_args')),
        'created': time,
    }


EVERY_EVAL_EVER = Format(
    lambda path, row: (
        has(row, 'evaluation_id', 'model_id', 'evaluation_name', 'sample_id', 'evaluation')
        or has(row, 'schema_version', 'eval_library', 'evaluation_results')
    ),
    paths('model=model_id uid=sample_id question=input.raw prompt_tokens=token_usage.input_tokens'),
    _of_every_eval_ever,
    _about_every_eval_ever,
    run_of=lambda path: path.with_name(f'{path.stem}{_SUFFIX}') if path.suffix == '.json' else path,
    rows=_responses_of_all,
)


# ---- replies of a provider's batch, joined with the table of samples that `gpassk expand --requests` wrote
#
# `custom_id` of a reply is the fingerprint of a sample. The form is OpenAI's, which many servers share:
# {custom_id, response: {status_code, body}, error}.

_LOST = '{count} samples have no response in the batch and are unjudged: '


def _is_reply(row: Row | None) -> bool:
    return has(row, 'custom_id') and (has(row, 'response') or has(row, 'error'))


def _joined(files: Sequence[Path]) -> Iterator[Row]:
    """Yield the samples in the order of the table, each with its reply."""
    replies = [path for path in files if _is_reply(first_row(path))]
    tables = [path for path in files if path not in replies]
    if not tables or not replies:
        kinds = ('replies of a batch', 'the table of samples that was written beside the requests')
        raise InputError(f'{files[0]} has {kinds[not replies]}; give {kinds[bool(replies)]} too')
    asked: dict[str, Row] = {}
    for row in rows_of(*tables):
        key = str(row['fingerprint'])
        if key in asked:
            row['_bad'], key = f'fingerprint {key[:40]!r} is there a second time', f'{key} again'
        asked[key] = row
    told: dict[str, Row] = {}
    for row in rows_of(*replies):
        key, place = str(row.get('custom_id')), {name: row[name] for name in ('_file', '_row')}
        before = told.get(key, {'state': 'failed'})['state']
        if '_bad' in row or key not in asked:
            yield {'_bad': f'custom_id {key[:40]!r} is no fingerprint in {tables[0]}', **row}
        elif before in NOT_DRAWN:  # of an attempt that failed, the next one counts
            told[key] = {**_reply(row), **place}
        elif _reply(row)['state'] not in NOT_DRAWN:
            yield {**place, '_bad': f'custom_id {key[:40]!r} has a second reply'}
    model = next((one['_model'] for one in told.values() if one.get('_model')), '')
    lost = {'state': 'failed', '_said': [f'{_LOST}no reply']}
    yield from ({**row, '_model': model, **told.get(key, lost)} for key, row in asked.items())


def _reply(row: Row) -> Row:
    """Return text, thought, state and tokens of a reply."""
    body, status = mapping(at(row, 'response.body')), at(row, 'response.status_code')
    if not body or row.get('error') or status not in (None, 200):
        error = mapping(row.get('error') or body.get('error'))
        why = error.get('code') or error.get('type') or status or 'no reply'
        return {'state': 'failed', '_said': [f'{_LOST}{str(why)[:60]}']}
    try:
        reply = reply_of(body)
    except Trouble as trouble:
        state = 'no choice' if trouble.reason == 'no choice' else 'failed'
        return {'state': state, '_said': [f'{_LOST}{trouble.reason}']}
    end = ENDS.get(reply.finish.casefold())
    refused = reply.refusal or reply.finish == 'refusal'
    kind = 'refusal' if refused else end if end in NOT_DRAWN else None
    if reply.calls_tool and not reply.text.strip() and end != 'cut':
        kind = kind or 'tool call'
    return {
        'response': reply.text or reply.refusal,
        'thought': reply.thought or None,
        'state': kind,
        'finish_reason': CUT_OFF if end == 'cut' else reply.finish or None,
        **{name: getattr(reply, name) for name in ('prompt_tokens', 'output_tokens', 'reasoning_tokens')},
        '_model': reply.model,
    }


BATCH = Format(
    # Replies, or the table of the samples that were asked for.
    lambda path, row: (
        _is_reply(row)
        or (has(row, 'uid', 'replica', 'fingerprint') and not (has(row, 'response') or has(row, 'verdict')))
    ),
    expand=lambda row: (row,),
    about=lambda row: {'model': str(row.get('_model') or '')},
    run_of=lambda path: None,
    rows=_joined,
)
