"""Runs of OpenCompass, `<work_dir>/<time>`: its predictions, and what its evaluators say of each sample.

A model and a data set have predictions/<model>/<data set>.json, or its parts …_0.json, …_1.json, and results.
OpenCompass asks all questions, then all of them again, row = replica × Q + question, which is checked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, groupby, islice, product
from pathlib import Path
from typing import Any

from ..benchmarks import (
    STANDARD_LANGUAGES,
    STANDARD_SPLITS,
    language_of,
    live_math_bench_names,
    live_math_bench_questions,
)
from ..errors import InputError, MissingExtraError
from ..files import PROVENANCE, listed, mapping
from ..json_rows import Row, first_object, json_entries
from .format import Format, at, begins_with, has, sampling

_TIME = re.compile(r'(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)')
_BEGIN = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"0"\s*:\s*\{\s*"(origin_prompt|prediction|gold)"\s*:')
"""How a file of predictions begins."""
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*[\[{]')
"""How those of other inferencers do, which are not read; what begins otherwise is damaged."""

_VERDICTS = ('correct', 'is_correct', 'cascade_correct')
"""Where evaluators put a verdict, in the order in which OpenCompass itself looks for it."""

_ANSWERS = ('pred', 'parsed', 'prediction', 'predictions')
_REFERENCES = ('answer', 'ref', 'gold', 'reference', 'references', 'refr', 'answers')
_STEPS = '，请逐步推理', ', please reasoning step by step'
"""What OpenCompass takes out of the protocol's prompts where a config has cot = False."""

_OF_ENGINE = ('finish_reason', 'prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds')

_UNFLAGGED = (
    '{count} questions have a round that no LLM judged, as the rule found all of it right: '
    "OpenCompass's own G-Pass@k counts its samples as wrong, here they are correct"
)
_FIRST = (
    "OpenCompass's LiveMathBench evaluator gives the verdict of the first sample to all n: it is not taken"
)
_WHOLE = 'the question cannot be cut out of {count} prompts: who reads questions is shown the whole prompt'
_NUMBERED = (
    'contest and place of the questions are not known: numbered as they are, they pair with no other run'
)
_MISALIGNED = (
    '{count} questions have fewer verdicts than their samples, which are unjudged: nothing tells of which'
)


# ---- runs ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
    """One model on one data set, as a config and files tell it."""

    time: Path
    model: str
    dataset: str
    config: Mapping[str, Any]  # of the data set; {} where there is none
    model_config: Mapping[str, Any]
    parts: tuple[Path, ...]
    result: Path | None

    @property
    def files(self) -> list[Path]:
        return [*self.parts, *([self.result] if self.result else [])]

    @property
    def evaluator(self) -> str:
        return _class_of(at(self.config, 'eval_cfg.evaluator'))

    @property
    def is_read(self) -> bool:
        """Whether it is read here: a result of this package is a record."""
        told: Row | None = None
        with suppress(InputError):
            told = first_object(self.result) if self.result else None
        if has(told, 'gpassk') or isinstance(at(told, 'details.question'), list):
            return False
        if not self.parts:
            return _is_of_samples(told)
        ours = str(self.config.get('type', '')).startswith('gpassk_opencompass')
        ours = ours or any((part.parent / PROVENANCE).is_file() for part in self.parts)
        other = begins_with(self.parts[0], _JSON) and not begins_with(self.parts[0], _BEGIN)
        return not other and not (ours and self.result)


def _class_of(config: object) -> str:
    return str(mapping(config).get('type', '')).rpartition('.')[2]


def _runs_in(time: Path) -> list[_Run]:
    """Return a run a model and data set that has a file in the folders of a time directory."""
    from ..runs.plan import entries_in

    models, datasets = entries_in(time)
    results, predictions = time / 'results', time / 'predictions'
    found: dict[tuple[str, str], dict[int, Path]] = {}
    for path in sorted(predictions.rglob('*.json')):
        head, _, tail = path.stem.rpartition('_')
        whole = head in datasets if datasets else path.with_name(f'{head}_0.json').is_file()
        part = tail.isdecimal() and path.stem not in datasets and whole
        names = path.parent.relative_to(predictions).as_posix(), head if part else path.stem
        found.setdefault(names, {})[int(tail) if part else -1] = path
    for path in sorted(results.rglob('*.json')):
        found.setdefault((path.parent.relative_to(results).as_posix(), path.stem), {})
    runs = []
    for (model, dataset), parts in found.items():
        # As OpenCompass does: where there is a whole file, it counts, and parts are not looked at.
        paths = tuple(parts[number] for number in ([-1] if -1 in parts else sorted(parts)))
        told, result = (datasets.get(dataset, {}), models.get(model, {})), results / model / f'{dataset}.json'
        runs.append(_Run(time, model, dataset, *told, paths, result if result.is_file() else None))
    return runs


def _run_of(path: Path) -> _Run:
    """Return the run of a file, with all that is beside it where it lies as OpenCompass puts it."""
    for above in path.resolve().parents:
        for run in _runs_in(above.parent) if above.name in ('predictions', 'results') else ():
            if path.resolve() in [one.resolve() for one in run.files]:
                return run
    alone = begins_with(path, _BEGIN)
    return _Run(path.parent, '', path.stem, {}, {}, (path,) if alone else (), None if alone else path)


def _runs_of(folder: Path) -> list[_Run]:
    """Return the runs in a work directory or time directory that are read here; the newest of each counts."""
    times = [folder, *sorted(one for one in folder.iterdir() if _TIME.fullmatch(one.name))]
    newest = {(run.model, run.dataset): run for time in times for run in _runs_in(time)}
    return [run for run in newest.values() if run.is_read]


def _recognises(path: Path, first: Row | None) -> bool:
    if path.is_dir():
        return bool(_runs_of(path))
    if begins_with(path, _BEGIN):  # as replies of an LLM judge do, which lie among the results
        above = (one.name for one in path.absolute().parents if one.name in ('predictions', 'results'))
        return next(above, '') != 'results' and _run_of(path).is_read
    return not has(first, 'gpassk') and _is_of_samples(first)


def _is_of_samples(told: Row | None) -> bool:
    """Whether the details of a result look as if they were of OpenCompass."""
    details = at(told, 'details')
    entries = [one for name, one in mapping(details).items() if name != 'type']
    keys = mapping(at(entries or details, '0')).keys()
    judged = 'pred' in keys and not keys.isdisjoint(_VERDICTS)
    return 'example_abbr' in keys or judged or {'predictions', 'references'} <= keys


# ---- predictions -----------------------------------------------------------------------------------------


def _predictions(run: _Run) -> Iterator[Row]:
    """Yield the rows of all parts; what the engine told may stand beside the prediction, or around it."""
    for path in run.parts:
        keys = set()
        for (key,), value in json_entries(path):
            if not key.isdecimal() or not isinstance(value, dict) or 'prediction' not in value:
                expected = 'expected rows "0", "1", … with origin_prompt, prediction, gold'
                raise InputError(f'{path}, row {key!r:.40}: {expected}')
            keys.add(int(key))
            told, said = dict(mapping(value.get('generation'))), value['prediction']
            if isinstance(said, dict):
                told |= {**mapping(said.get('rollout')), 'output_tokens': at(said, 'rollout.num_tokens')}
                said = said.get('prediction')
            if isinstance(value.get('res_length'), int):
                told['output_tokens'] = value['res_length']
            prompt = value.get('origin_prompt')
            asked = (
                one if isinstance(one, str) else one.get('prompt', one.get('content'))
                for one in listed(prompt)
                if isinstance(one, str) or mapping(one).get('role') in ('HUMAN', 'user')
            )
            alone = not isinstance(said, list) or len(said) == 1
            yield {
                **{'_file': path, '_row': int(key) + 1},
                'prompt': prompt if isinstance(prompt, str) else '\n'.join(str(one) for one in asked if one),
                'reference': _reference(value.get('gold')),
                'responses': listed(said) or [None if said == [] else said],
                **{name: told.get(name) if alone else None for name in ('state', *_OF_ENGINE)},
            }
        if keys != set(range(len(keys))):
            there = f'it has {len(keys)} and the last one is number {max(keys)}'
            raise InputError(f'{path}: rows are missing, {there}; finish the run with opencompass -r')


def _misplaced(rows: Sequence[Row], size: int) -> int | None:
    """Return the first row that does not repeat the one `size` rows before it; None if all do."""
    asked = [(row['prompt'], row['reference']) for row in rows]
    return next((row for row in range(size, len(rows)) if asked[row] != asked[row - size]), None)


def _size(run: _Run, rows: Sequence[Row], n: int, told: int) -> int:
    """Return how many questions there are, with `told` samples evaluated; refuse rows that do not repeat."""
    size, left = divmod(len(rows) or told, n)
    wrong = None if left or not rows else _misplaced(rows, size)
    if run.parts and (n == 1 or left or wrong is not None):  # else the rows tell that they are all there
        _check_finished(run)
    other = bool(rows) and told not in (0, len(rows))
    if not size or left or wrong is not None or other:
        where = '' if wrong is None else f'; row {wrong} repeats another question than it should'
        where += f'; {told} were evaluated' if other else ''
        raise InputError(
            f'{run.files[0]}: {len(rows) or told} rows are not n = {n} times the same questions{where}. A '
            'part was lost, n was changed under one abbr, or rows were judged too early: finish it with '
            'opencompass -r, or sample again'
        )
    return size


def _check_finished(run: _Run) -> None:
    """Refuse predictions of which names of parts and logs tell that one is missing."""
    have = {path.stem for path in run.parts}
    if run.dataset in have:
        return
    own = re.compile(rf'(?:tmp_)?({re.escape(run.dataset)}(?:_\d+)?)\.(?:out|jsonl|rows\.jsonl)')
    folders = run.time / 'predictions' / run.model, run.time / 'logs/infer' / run.model
    begun = {found[1] for one in folders for path in one.glob('*') if (found := own.fullmatch(path.name))}
    last = max(int(stem.rpartition('_')[2]) for stem in have)
    begun |= {f'{run.dataset}_{number}' for number in range(min(last, 1000))}
    if missing := sorted(begun - have):
        raise InputError(
            f'{folders[0]}: predictions are missing or unfinished: {", ".join(missing[:20])}; finish the run '
            'with opencompass -r and the --max-num-workers of its start'
        )


# ---- details ---------------------------------------------------------------------------------------------


def _details(run: _Run) -> tuple[list[str], list[list[Row]]]:
    """Return the names of the questions, and what an evaluation says of each sample of each of them.

    Details with an entry a row of the predictions have no names: [], and one sample of each. A list that is
    shorter than others does not tell of which of the n samples it is.
    """
    uids, entries = list[str](), list[list[Row]]()
    made = mapping(at(run.config, 'eval_cfg.evaluator.dict_postprocessor'))
    letters = {str(made.get('true_tag', 'A')): True, str(made.get('false_tag', 'B')): False}
    for keys, detail in json_entries(run.result, 'details') if run.result else ():
        if keys[0] != 'details' or len(keys) < 2 or keys[1] == 'type':
            continue
        samples: list[Row] = [{**mapping(detail)}]
        if 'example_abbr' in samples[0]:
            uids.append(str(detail['example_abbr']))
            lists = {name: one for name, one in detail.items() if isinstance(one, list)}
            size = max(map(len, lists.values()), default=0)
            samples = [{name: one[n] for name, one in lists.items() if len(one) == size} for n in range(size)]
            for told in lists.get('llm_evaluation', ()):
                place = mapping(told).get('dataset_replica_idx')
                if isinstance(place, int) and 0 <= place < size:
                    samples[place]['llm_evaluation'] = told
        entries.append([_told(sample, letters) for sample in samples])
        told, there = ({*_VERDICTS} & {*one} for one in (mapping(detail), {*chain.from_iterable(samples)}))
        if told and not there:
            rule = 'rule_evaluation' in detail
            entries[-1][0]['_said'].append(_UNFLAGGED if rule else _MISALIGNED)
    sizes, places = set(map(len, entries)), [uid.rpartition('_')[2] for uid in uids]
    if 0 in sizes or len(sizes) > 1 or places not in ([], list(map(str, range(len(entries))))):
        raise InputError(f'{run.result} is damaged: its details are not of the same samples of each question')
    judged = any(one['judged'] or one['_said'] for samples in entries for one in samples)
    return (uids, entries) if judged else ([], [])


def _told(sample: Mapping[str, Any], letters: Mapping[str, bool]) -> Row:
    """Return verdict, answer and reference; `judged` says whether there is a verdict."""
    reply = sample.get('prediction') if 'origin_prompt' in sample else None  # of an LLM judge
    verdict, unclear = _first(sample, _VERDICTS), False
    if verdict is None and 'rule_evaluation' in sample:
        verdict = bool(at(sample, 'rule_evaluation.correct') or at(sample, 'llm_evaluation.llm_correct'))
    elif verdict is None and isinstance(reply, str):
        verdict = letters.get(reply.strip(' \n\t.*"\'()'))
        unclear = verdict is None
    told = {**mapping(sample.get('rule_evaluation')), **sample}
    more = '{count} replies of the LLM judge are more than its letter, which OpenCompass takes anywhere'
    return {
        'correct': 'unjudged' if verdict is None else verdict,
        'why': 'no letter' if unclear else None,
        'answer': None if isinstance(reply, str) else _text(_first(told, _ANSWERS)),
        'reference': _reference(_first(told, _REFERENCES)),
        'judged': verdict is not None,
        '_said': [f'{more}: unjudged'] if unclear else [],
    }


def _reference(value: object) -> list[str | None] | str | None:
    """Return a reference, which some data sets keep as an object or in lists of lists, as text or texts."""
    return list(map(_text, value)) if isinstance(value, list) else _text(value)


def _text(value: object) -> str | None:
    """Return an answer as a text; of a list of several the first one."""
    if isinstance(value, list):
        return _text(value[0]) if value else None
    return value if value is None or isinstance(value, str) else str(value)


def _first(told: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((told[name] for name in names if told.get(name) is not None), None)


# ---- samples ---------------------------------------------------------------------------------------------


def _rows(files: Sequence[Path]) -> Iterator[Row]:
    """Yield the samples of a run of which these are some files."""
    run = _run_of(files[0])
    rows, wrong = list(_predictions(run)), run.evaluator == 'LiveMathBenchEvaluator'
    (uids, details), notes = ([], []) if wrong else _details(run), [_FIRST] if wrong and run.result else []
    if not rows and not details:
        nothing = f'and there are no predictions to judge in {run.time / "predictions"}'
        raise InputError(f'{files[0]} tells of no sample whether it is correct, {nothing}')
    n = len(details[0]) if uids else run.config.get('n', 1)
    if type(n) is not int or n < 1:
        raise InputError(f'{run.time}: n = {n!r} in the config; expected a whole number from 1')
    if not uids and not run.config:  # as often as the rows repeat the same prompts in the same order
        known = bool(rows) and all(row['prompt'] for row in rows)
        sizes = (one for one in range(1, len(rows) // 2 + 1) if known and len(rows) % one == 0)
        n = next((len(rows) // one for one in sizes if _misplaced(rows, one) is None), 1)
    size = _size(run, rows, n, len(details) * (n if uids else 1))
    texts, seen = _questions(run.config, (row['prompt'] for row in rows[:size])), Counter[int]()
    names, texts = _names(run, texts), texts or [('', None, True)] * size
    notes += [_NUMBERED] if names and 'group' not in names[0] else []
    for number in range(size * n):
        replica, place = divmod(number, size)
        told = details[place][replica] if uids else details[number][0] if details else {}
        row: Row = rows[number] if rows else {'_file': run.result, '_row': place + 1, 'responses': [None]}
        text, language, exact = texts[place]
        several = bool(details) and len(row['responses']) > 1
        common = {
            'uid': uids[place] if uids else f'{run.dataset}_{place}',
            'language': language,
            **row,
            **{name: None if several else told.get(name) for name in ('correct', 'why', 'answer')},
            **(names[place] if names else {}),
            **{'question': text, '_run': run, '_judged': bool(details)},
            'reference': row.get('reference') or (details[place][0] if uids else told).get('reference'),
        }
        notes += told.get('_said', ())
        notes += ['{count} rows hold several responses and one verdict: they are unjudged'] if several else []
        notes += [_WHOLE] if replica == 0 and not exact else []
        for response in row['responses']:
            sample = {**common, 'response': response, 'replica': seen[place], '_said': notes}
            if rows and response is None:
                sample |= dict.fromkeys(('correct', 'answer', *_OF_ENGINE)) | {'state': 'failed'}
            yield sample
            seen[place] += 1
            notes = []


def _questions(config: Mapping[str, Any], prompts: Iterable[str]) -> list[tuple[str, str | None, bool]]:
    """Return of each prompt its question, by the template in the config, the language, and whether all around
    it is known; else it is the whole prompt.
    """
    template = at(config, 'infer_cfg.prompt_template.template')
    if not isinstance(template, str):
        said = [one for one in listed(at(template, 'round')) if mapping(one).get('role') == 'HUMAN']
        template = str(said[0].get('prompt', '')) if len(said) == 1 else ''
    slots = (slot for slot in ('{question}', '{problem}') if template.count(slot) == 1)
    frames = [(*template.split(slot), '') for slot in slots]
    if template.count('{prompt}') == 1:
        from ..judges.prompts import protocol_constants  # with all rules of answers: few files need them

        before, after = template.split('{prompt}')
        with suppress(MissingExtraError):
            texts = protocol_constants()
            for language, name in (('en', 'PROMPT_EN'), ('cn', 'PROMPT_CN')):
                begin, slot, end = str(texts.get(name, '')).partition('{question}')
                for phrase in _STEPS if config.get('cot', True) is False else ():
                    begin = begin.replace(phrase, '')
                frames += [(before + begin.format(), end.format() + after, language)] if slot else []
    found: list[tuple[str, str | None, bool]] = []
    for prompt in prompts:
        around = (one for one in frames if prompt.startswith(one[0]) and prompt.endswith(one[1]))
        frame = next(around, None)
        before, after, known = frame or ('', '', '')
        text, exact = prompt[len(before) : len(prompt) - len(after)], frame is not None or not config
        found.append((text, known or language_of(text), exact) if prompt else ('', None, True))
    return found


def _names(run: _Run, texts: Sequence[tuple[str, str | None, bool]]) -> list[Row]:
    """Return the names of LiveMathBench's questions as this package's data set has them; [] of other data."""
    config = run.config
    if _class_of(config) != 'LiveMathBenchDataset' or not run.parts:
        return []
    version = str(config.get('version', '202412'))
    splits = listed(config.get('dataset_splits', [*STANDARD_SPLITS]))
    languages = listed(config.get('dataset_languages', [*STANDARD_LANGUAGES]))
    limited = config.get('limit') is not None or bool(at(config, 'reader_cfg.test_range'))
    asked = [language for _, language, _ in texts]
    groups = list(product(splits, languages))
    changes = [len(list(of_one)) for _, of_one in groupby(asked)]
    published = [live_math_bench_questions(version, [split], [language]) or 0 for split, language in groups]
    in_parts = run.dataset not in [path.stem for path in run.parts]
    if config.get('n', 1) == 1 and in_parts and not limited and sum(published) not in (0, len(texts)):
        raise InputError(
            f'{len(run.parts)} parts of {run.dataset} hold {len(texts)} questions, and its data '
            f'{sum(published)}: finish the run with opencompass -r and the --max-num-workers of its start'
        )
    # A group begins where the language of the prompts changes, or where the published sizes say.
    for counts in (changes, published) if not limited and len(set(groups)) == len(groups) else ():
        sizes, names, in_order = dict(zip(groups, counts, strict=False)), list[Row](), iter(texts)
        spoken = (['en' if language == 'en' else 'cn'] * size for (_, language), size in sizes.items())
        if len(counts) != len(groups) or list(chain.from_iterable(spoken)) != asked:
            continue
        for (split, language), size in sizes.items():
            questions = [text for text, _, _ in islice(in_order, size)]
            others = {sizes[split, other] for other in languages}
            shared = {'group': f'{split}_{language}', 'language': language}
            for uid, problem in live_math_bench_names(version, split, language, questions, others):
                names.append({'uid': uid, 'problem': problem, **shared})
        return names
    return [{'uid': f'{run.dataset}/{number}'} for number in range(len(texts))]


def _about(row: Row) -> Row:
    run: _Run = row['_run']
    inner = ('generation_kwargs', 'gen_config', 'openai_extra_kwargs', 'extra_body')
    holders = [run.model_config, *(run.model_config.get(name) for name in inner)]
    ks, time = run.config.get('k', 1 if run.config else ()), _TIME.fullmatch(run.time.name)
    ks = tuple(ks) if isinstance(ks, (list, tuple)) else (ks,)
    if wrong := [k for k in ks if type(k) is not int or k < 1]:
        raise InputError(f'{run.time}: k = {wrong[0]!r} in the config; expected whole numbers from 1')
    return {
        **{'model': run.model, 'dataset': run.dataset, 'written_by': 'OpenCompass'},
        'judge': {'name': f'OpenCompass {run.evaluator}'.strip()} if row['_judged'] else {},
        'ks': ks,
        'settings': sampling(*holders),
        'created': '{}-{}-{}T{}:{}:{}'.format(*time.groups()) if time else '',
    }


FORMAT = Format(
    _recognises,
    expand=lambda row: (row,),
    about=_about,
    run_of=lambda path: (run := _run_of(path)) and (run.time, run.model, run.dataset),
    files=lambda folder: [run.files for run in _runs_of(folder)],
    rows=_rows,
)
