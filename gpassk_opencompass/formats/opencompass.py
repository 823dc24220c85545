"""Runs of OpenCompass: its predictions, and what its evaluators say of each sample.

    <work_dir>/<time>/configs/*.py
    <work_dir>/<time>/predictions/<model>/<data set>.json    or its parts, <data set>_0.json, _1.json, …
    <work_dir>/<time>/results/<model>/<data set>.json

OpenCompass asks all questions, then all of them again: row = replica × Q + question. That prompts and
references repeat in this way is checked, so that no verdict is given to another sample than its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, groupby, product
from pathlib import Path
from typing import Any, NamedTuple

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
from .format import Format, at, begins_with, named

_TIME = re.compile(r'(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)')
_BEGIN = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"0"\s*:\s*\{\s*"(origin_prompt|prediction|gold)"\s*:')
"""How a file of predictions begins."""

_VERDICTS = ('correct', 'is_correct', 'cascade_correct')
"""Where evaluators put a verdict, in the order in which OpenCompass itself looks for it."""

_SAID = {
    'no letter': '{count} replies of the LLM judge are more than its letter, which OpenCompass takes '
    'anywhere: unjudged',
    'misaligned': '{count} questions have fewer verdicts than their samples, which are unjudged: nothing '
    'tells of which',
    'unflagged': '{count} questions have a round that no LLM judged, as the rule found all of it right: '
    "OpenCompass's own G-Pass@k counts its samples as wrong, here they are correct",
    'several': '{count} rows have several references, of which the first one is kept',
    'lists': '{count} rows hold several responses each and one verdict, which is of none of them: they are '
    'unjudged',
    'whole': 'the question cannot be cut out of {count} prompts: who reads questions is shown the whole '
    'prompt',
    'first alone': "OpenCompass's LiveMathBench evaluator gives the verdict of the first sample to all n: it "
    'is not taken',
    'numbered': 'contest and place of the questions are not known: numbered as they are, they pair with no '
    'other run',
}


class _Run(NamedTuple):
    """One model on one data set, as a config and files tell it; {} where no config does."""

    time: Path
    model: str
    dataset: str
    config: Mapping[str, Any]
    model_config: Mapping[str, Any]
    parts: tuple[Path, ...]
    result: Path | None

    @property
    def files(self) -> list[Path]:
        return [*self.parts, *([self.result] if self.result else [])]

    @property
    def is_read(self) -> bool:
        """Whether it is read here: a result of this package is a record."""
        try:
            told = (first_object(self.result) if self.result else None) or {}
        except InputError:
            told = {}
        if 'gpassk' in told or isinstance(at(told, 'details.question'), list):
            return False
        if not self.parts:
            return _is_of_samples(told)
        ours = str(self.config.get('type', '')).startswith('gpassk_opencompass')
        ours = ours or any((part.parent / PROVENANCE).is_file() for part in self.parts)
        return begins_with(self.parts[0], _BEGIN) and not (ours and self.result)

    def whole(self, name: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f'{self.time}: {name} = {value!r} in the config; expected whole numbers from 1')
        return value


def _class_of(config: object) -> str:
    return str(mapping(config).get('type', '')).rpartition('.')[2]


def _runs_in(time: Path) -> list[_Run]:
    """Return a run a model and data set that has a file in the folders of a time directory."""
    from ..runs.plan import dicts_of, read_config

    datasets: dict[str, Mapping[str, Any]] = {}
    models: dict[str, Mapping[str, Any]] = {}
    for path in sorted(time.glob('configs/*.py')):  # of several starts the last one counts
        try:
            config = read_config(path) or {}
        except InputError:  # cut off by a kill
            continue
        datasets |= {str(one.get('abbr')): one for one in dicts_of(config, 'datasets')}
        models |= {str(one.get('abbr')): one for one in dicts_of(config, 'models')}
    results: dict[tuple[str, str], Path] = {}
    found: dict[tuple[str, str], dict[int, Path]] = {}
    for path in sorted((time / 'results').rglob('*.json')):
        names = path.parent.relative_to(time / 'results').as_posix(), path.stem
        results[names], _ = path, found.setdefault(names, {})
    for path in sorted((time / 'predictions').rglob('*.json')):
        head, _, tail = path.stem.rpartition('_')
        whole = head in datasets if datasets else path.with_name(f'{head}_0.json').is_file()
        part = tail.isdecimal() and path.stem not in datasets and whole
        names = path.parent.relative_to(time / 'predictions').as_posix(), head if part else path.stem
        found.setdefault(names, {})[int(tail) if part else -1] = path
    runs = []
    for (model, dataset), parts in found.items():
        # As OpenCompass does: where there is a whole file, it counts, and parts are not looked at.
        paths = tuple(parts[number] for number in ([-1] if -1 in parts else sorted(parts)))
        told = datasets.get(dataset, {}), models.get(model, {})
        runs.append(_Run(time, model, dataset, *told, paths, results.get((model, dataset))))
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
    return 'gpassk' not in (first or {}) and _is_of_samples(first or {})


def _is_of_samples(told: Row) -> bool:
    """Whether the details of a result look as if they were of OpenCompass."""
    entries = [one for name, one in mapping(told.get('details')).items() if name != 'type']
    keys = mapping(at(entries or listed(told.get('details')), '0')).keys()
    judged = 'pred' in keys and not keys.isdisjoint(_VERDICTS)
    return 'example_abbr' in keys or judged or {'predictions', 'references'} <= keys


def _predictions(run: _Run) -> Iterator[Row]:
    """Yield the rows of all parts, each with prompt, reference, responses and what the engine told."""
    for path in run.parts:
        keys = []
        for (key,), value in json_entries(path):
            keys.append(int(key) if key.isdecimal() else -1)
            if keys[-1] < 0 or not isinstance(value, dict) or 'prediction' not in value:
                raise InputError(
                    f'{path}, row {key!r:.40}: expected rows "0", "1", … with origin_prompt, prediction, gold'
                )
            yield {'_file': path, '_row': keys[-1] + 1, **_prediction(value)}
        if sorted(keys) != list(range(len(keys))):
            raise InputError(
                f'{path}: rows are missing, it has {len(keys)} and the last one is number {max(keys)}; '
                'finish the run with opencompass -r'
            )


def _prediction(value: Row) -> Row:
    """Return what a row says; what the engine told may stand beside the prediction, or around it."""
    told, said = dict(mapping(value.get('generation'))), value['prediction']
    if isinstance(said, dict):
        told |= {**mapping(said.get('rollout')), 'output_tokens': at(said, 'rollout.num_tokens')}
        said = said.get('prediction')
    if isinstance(value.get('res_length'), int):
        told['output_tokens'] = value['res_length']
    prompt, gold = value.get('origin_prompt'), value.get('gold')
    asked = [
        one if isinstance(one, str) else one.get('prompt', one.get('content'))
        for one in listed(prompt)
        if isinstance(one, str) or mapping(one).get('role') in ('HUMAN', 'user')
    ]
    responses = said if isinstance(said, list) else [said]
    bad = not responses or not all(one is None or isinstance(one, str) for one in responses)
    return {
        'prompt': prompt if isinstance(prompt, str) else '\n'.join(filter(None, map(_text, asked))),
        'reference': _text(gold),
        'responses': responses or [None],
        'told': told if len(responses) == 1 else {},
        'state': told.get('state') if len(responses) == 1 else None,
        '_said': [_SAID['several']] if len(listed(gold)) > 1 else [],
        **({'_bad': f'prediction is {said!r:.60}; expected a text, or a list of texts'} if bad else {}),
    }


def _text(value: object) -> str | None:
    """Return a reference or an answer as a text; of a list of several the first one."""
    if isinstance(value, list):
        return _text(value[0]) if value else None
    return value if value is None or isinstance(value, str) else str(value)


def _details(run: _Run) -> tuple[list[str], list[list[Row]]]:
    """Return the names of the questions, and what an evaluation says of each sample of each of them.

    In another form, details have an entry a row of the predictions and no names: [], and one sample of each.
    """
    uids: list[str] = []
    entries: list[list[Row]] = []
    judged = False
    made = mapping(at(run.config, 'eval_cfg.evaluator.dict_postprocessor'))
    letters = {str(made.get('true_tag', 'A')): True, str(made.get('false_tag', 'B')): False}
    for keys, detail in json_entries(run.result, 'details') if run.result else ():
        if keys[0] != 'details' or len(keys) < 2 or keys[1] == 'type':
            continue
        where = f'{run.result}, details {keys[1]}'
        samples = _samples_in(detail) if isinstance(detail, dict) else []
        if not samples:
            raise InputError(f'{where}: it is {detail!r:.60}; expected an object of what is said of samples')
        if entries and (('example_abbr' in detail) != bool(uids) or len(samples) != len(entries[0])):
            raise InputError(
                f'{where}: it tells of {len(samples)} samples, those before it of {len(entries[0])}: the '
                'file is damaged'
            )
        if 'example_abbr' in detail:
            uids.append(str(detail['example_abbr']))
            if uids[-1].rpartition('_')[2] != str(len(uids) - 1):
                raise InputError(f'{where}: it is of {uids[-1]!r:.60}; expected question {len(uids) - 1}')
        entries.append([_said(sample, letters) for sample in samples])
        known = any(name in detail for name in _VERDICTS)
        if known and not any(name in sample for sample in samples for name in _VERDICTS):
            why = 'unflagged' if 'rule_evaluation' in detail else 'misaligned'
            entries[-1][0]['_said'].append(_SAID[why])
        judged |= known or any(one['judged'] for one in entries[-1])
    return (uids, entries) if judged else ([], [])


def _samples_in(detail: Row) -> list[Row]:
    """Return what an entry says of each of its samples.

    OpenCompass makes a list of what is said of n samples under one name, and leaves out those of which
    nothing is: a list that is shorter than others does not tell of which samples it is.
    """
    if 'example_abbr' not in detail:
        return [detail]
    lists = {name: value for name, value in detail.items() if isinstance(value, list)}
    size = max(map(len, lists.values()), default=0)
    samples = [{name: one[row] for name, one in lists.items() if len(one) == size} for row in range(size)]
    for told in lists.get('llm_evaluation', ()):
        place = mapping(told).get('dataset_replica_idx')
        if isinstance(place, int) and 0 <= place < size:
            samples[place]['llm_evaluation'] = told
    return samples


def _said(sample: Row, letters: Mapping[str, bool]) -> Row:
    """Return verdict, answer and reference; `judged` says whether there is anything like a verdict."""
    reply = sample.get('prediction') if 'origin_prompt' in sample else None  # of an LLM judge
    verdict = next((sample[name] for name in _VERDICTS if sample.get(name) is not None), None)
    unclear = False
    if verdict is None and 'rule_evaluation' in sample:
        verdict = bool(at(sample, 'rule_evaluation.correct') or at(sample, 'llm_evaluation.llm_correct'))
    elif verdict is None and isinstance(reply, str):
        verdict = letters.get(reply.strip(' \n\t.*"\'()'))
        unclear = verdict is None
    told = {**mapping(sample.get('rule_evaluation')), **sample}
    answers = (told.get(name) for name in ('pred', 'parsed', 'prediction', 'predictions'))
    references = map(told.get, ('answer', 'ref', 'gold', 'reference', 'references', 'refr', 'answers'))
    return {
        'correct': 'unjudged' if verdict is None else verdict,
        'why': 'no letter' if unclear else None,
        'answer': None
        if isinstance(reply, str)
        else _text(next((one for one in answers if one is not None), None)),
        'reference': _text(next((one for one in references if one is not None), None)),
        'judged': verdict is not None or unclear,
        '_said': [_SAID['no letter']] if unclear else [],
    }


def _read(files: Sequence[Path]) -> Iterator[Row]:
    """Yield the samples of a run of which these are some files."""
    run = _run_of(files[0])
    rows = list(_predictions(run))
    taken = _class_of(at(run.config, 'eval_cfg.evaluator')) != 'LiveMathBenchEvaluator'
    uids, details = _details(run) if taken else ([], [])
    if not rows and not details:
        raise InputError(
            f'{files[0]} tells of no sample whether it is correct, and there are no predictions to judge in '
            f'{run.time / "predictions"}'
        )
    n = len(details[0]) if uids else run.whole('n', run.config.get('n', 1))
    if not uids and not run.config:  # as often as the rows repeat the same prompts in the same order
        known = bool(rows) and all(row['prompt'] for row in rows)
        sizes = (one for one in range(1, len(rows) // 2 + 1) if known and len(rows) % one == 0)
        n = next((len(rows) // one for one in sizes if _misplaced(rows, one) is None), 1)
    size = _size(run, rows, n, uids, details)
    names, read_prompt = _names(run, rows[:size]), _prompt_reader(run.config)
    notes, seen = [_SAID['first alone']] if run.result and not taken else [], Counter[int]()
    for number in range(size * n):
        replica, place = divmod(number, size)
        said = details[place][replica] if uids else details[number][0] if details else {}
        row: Row = rows[number] if rows else {'_file': run.result, '_row': place + 1, 'responses': [None]}
        question = read_prompt(row['prompt']) if row.get('prompt') else _Prompt('', None, True)
        several = bool(details) and len(row['responses']) > 1
        common = {
            **row,
            **({} if several else {name: said.get(name) for name in ('correct', 'why', 'answer')}),
            **{'uid': uids[place] if uids else f'{run.dataset}_{place}', 'language': question.language},
            **(names[place] if names else {}),
            'question': question.text,
            'reference': row.get('reference') or (details[place][0] if uids else said).get('reference'),
            '_judged': bool(details),
        }
        notes += [*row.get('_said', ()), *said.get('_said', ()), *([_SAID['lists']] if several else [])]
        notes += [_SAID['whole']] if replica == 0 and not question.exact else []
        for response in row['responses']:
            lost: Row = {'state': 'failed', 'correct': None, 'answer': None, 'told': {}}
            own = lost if rows and response is None else {}
            yield {**common, 'response': response, 'replica': seen[place], **own, '_said': notes}
            seen[place] += 1
            notes = []


def _misplaced(rows: Sequence[Row], size: int) -> int | None:
    """Return the first row that does not repeat the one `size` rows before it; None if all do."""
    asked = [(row['prompt'], row['reference']) for row in rows]
    return next((row for row in range(size, len(rows)) if asked[row] != asked[row - size]), None)


def _size(run: _Run, rows: Sequence[Row], n: int, uids: Sequence[str], details: Sequence[Any]) -> int:
    """Return how many questions there are; refuse rows that are not n times the same ones."""
    told = len(details) * (n if uids else 1)
    total = len(rows) or told
    size, left = divmod(total, n)
    wrong = None if left or not rows else _misplaced(rows, size)
    if run.parts and (n == 1 or left or wrong is not None):  # else the rows tell that they are all there
        _check_finished(run)
    if not size or left or wrong is not None or (details and told != total):
        times = Counter(Counter((row['prompt'], row['reference']) for row in rows).values())
        shown = ', '.join(f'{questions} with {samples}' for samples, questions in sorted(times.items()))
        where = '' if wrong is None else f'; row {wrong} repeats another question than it should'
        where += f'; {told} were evaluated' if details and told != total else ''
        raise InputError(
            f'{run.files[0]}: {total} rows are not n = {n} times the same questions{where}. Questions with '
            f'so many responses: {shown or "unknown"}. A part was lost, n was changed under the same abbr '
            'while .cache/dataset_size.json knew the old size, or it was evaluated before it was sampled '
            'again. Finish the run with opencompass -r, or sample again'
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


class _Prompt(NamedTuple):
    """One question, as a prompt shows it; `exact`: all around it is known, else it is the whole prompt."""

    text: str
    language: str | None
    exact: bool


def _prompt_reader(config: Mapping[str, Any]) -> Callable[[str], _Prompt]:
    """Return what cuts the question out of a prompt, by the template in the config.

    The language is that of the protocol's prompt around it, where that is the one; else that of the text.
    """
    template = at(config, 'infer_cfg.prompt_template.template')
    if not isinstance(template, str):
        said = [one for one in listed(at(template, 'round')) if mapping(one).get('role') == 'HUMAN']
        template = str(said[0].get('prompt', '')) if len(said) == 1 else ''
    frames, cot = list(_frames(template)), bool(config.get('cot', True))

    @lru_cache(100_000)
    def read_prompt(prompt: str) -> _Prompt:
        for before, after, language in frames:
            start = len(before) if prompt.startswith(before) else 0
            if not start and before and not cot and language:
                # Without chain of thought OpenCompass cuts a piece out of the protocol's line.
                start = prompt.find('\n') + 1
                cut, line = len(before) - start, prompt[:start]
                whole = 0 < cut < start
                start *= whole and any(line == before[:i] + before[i + cut :] for i in range(start + 1))
            if prompt.endswith(after) and (start or not before):
                text = prompt[start : len(prompt) - len(after)]
                return _Prompt(text, language or language_of(text), True)
        return _Prompt(prompt, language_of(prompt), not config)

    return read_prompt


def _frames(template: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield what stands before and after a question, and its language where that is the protocol's."""
    for slot in ('{question}', '{problem}'):
        before, _, after = template.partition(slot)
        if template.count(slot) == 1:
            yield before, after, None
    if template.count('{prompt}') != 1:
        return
    from ..judges.prompts import protocol_constants  # with all rules of answers: few files need them

    before, _, after = template.partition('{prompt}')
    try:
        texts = protocol_constants()
    except MissingExtraError:
        return
    for language, name in (('en', 'PROMPT_EN'), ('cn', 'PROMPT_CN')):
        begin, slot, end = str(texts.get(name, '')).partition('{question}')
        if slot:
            yield before + begin.format(), end.format() + after, language


def _names(run: _Run, rows: Sequence[Row]) -> list[Row]:
    """Return the names of LiveMathBench's questions as this package's data set has them, by their places.

    [] for other data sets. Where the places do not tell, the names are numbers, which is said.
    """
    if _class_of(run.config) != 'LiveMathBenchDataset' or not rows:
        return []
    version, ask = str(run.config.get('version', '202412')), _prompt_reader(run.config)
    splits = listed(run.config.get('dataset_splits', [*STANDARD_SPLITS]))
    languages = listed(run.config.get('dataset_languages', [*STANDARD_LANGUAGES]))
    limited = run.config.get('limit') is not None or bool(at(run.config, 'reader_cfg.test_range'))
    asked = [ask(row['prompt']) for row in rows]
    expected = live_math_bench_questions(version, splits, languages)
    in_parts = run.dataset not in [path.stem for path in run.parts]
    if run.config.get('n', 1) == 1 and in_parts and not limited and expected not in (None, 0, len(rows)):
        raise InputError(
            f'{len(run.parts)} parts of {run.dataset} hold {len(rows)} questions, and its data {expected}: '
            'finish the run with opencompass -r and the --max-num-workers of its start'
        )
    names, at_row = [], count()
    sizes = {} if limited else _group_sizes(version, splits, languages, [one.language for one in asked])
    for (split, language), size in sizes.items():
        texts = [asked[next(at_row)].text for _ in range(size)]
        others = {sizes[split, other] for other in languages}
        for uid, problem in live_math_bench_names(version, split, language, texts, others):
            group = f'{split}_{language}'
            names.append({'uid': uid, 'problem': problem, 'group': group, 'language': language})
    if not names:
        rows[0]['_said'].append(_SAID['numbered'])
    return names or [{'uid': f'{run.dataset}/{number}'} for number in range(len(rows))]


def _group_sizes(
    version: str, splits: Sequence[str], languages: Sequence[str], asked: Sequence[str | None]
) -> dict[tuple[str, str], int]:
    """Count the questions of each split × language, which lie one after the other in this order.

    Where the language of the prompts changes, the next group begins; or the published sizes say where. {} if
    neither fits.
    """
    groups = list(product(splits, languages))
    spoken = ['en' if language == 'en' else 'cn' for _, language in groups]
    found = [(language, len(list(of_one))) for language, of_one in groupby(asked)]
    sizes = [size for _, size in found]
    if [language for language, _ in found] != spoken:
        sizes = [live_math_bench_questions(version, [split], [language]) or 0 for split, language in groups]
    expected = [language for language, size in zip(spoken, sizes, strict=True) for _ in range(size)]
    distinct = len(set(groups)) == len(groups)  # one asked twice: a question would have two names
    return dict(zip(groups, sizes, strict=True)) if distinct and expected == list(asked) else {}


def _about(files: Sequence[Path], row: Row) -> Row:
    run = _run_of(files[0])
    inner = ('generation_kwargs', 'gen_config', 'openai_extra_kwargs', 'extra_body')
    holders = [run.model_config, *(mapping(run.model_config.get(name)) for name in inner)]
    names = named('temperature top_p top_k min_p repetition_penalty seed random_seed max_out_len do_sample')
    told = {name: one[name] for one in holders for name in names if name in one}
    ks, time = run.config.get('k', 1 if run.config else ()), _TIME.fullmatch(run.time.name)
    evaluator = _class_of(at(run.config, 'eval_cfg.evaluator'))
    return {
        **{'model': run.model, 'dataset': run.dataset, 'written_by': 'OpenCompass'},
        'judge': {'name': f'OpenCompass {evaluator}'.strip()} if row['_judged'] else {},
        'ks': tuple(run.whole('k', k) for k in (ks if isinstance(ks, (list, tuple)) else [ks])),
        'settings': {name: value for name, value in told.items() if isinstance(value, (int, float))},
        'created': '{}-{}-{}T{}:{}:{}'.format(*time.groups()) if time else '',
    }


FORMAT = Format(
    fields={
        **named('uid problem group language replica question reference response answer why state correct'),
        **named('finish_reason prompt_tokens output_tokens reasoning_tokens seconds', 'told.'),
    },
    recognises=_recognises,
    files=lambda folder: [run.files for run in _runs_of(folder)],
    run_of=lambda path: _run_of(path)[:3],
    read=_read,
    about=_about,
)
