"""Runs of OpenCompass with n samples a question: its predictions, and what its evaluators say of each sample.

    <work_dir>/<time>/configs/*.py
    <work_dir>/<time>/predictions/<model>/<data set>.json    or its parts, <data set>_0.json, _1.json, …
    <work_dir>/<time>/results/<model>/<data set>.json

OpenCompass asks all questions, then all of them again: row = replica × Q + question. That prompts and references
repeat in this way is checked, so that no verdict is given to another sample than its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, groupby, product
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError, MissingExtraError
from ..files import PROVENANCE, listed, mapping
from ..json_rows import first_object, json_entries
from ..judges.prompts import protocol_constants
from ..question_sets import (
    STANDARD_LANGUAGES,
    STANDARD_SPLITS,
    live_math_bench_names,
    live_math_bench_questions,
)
from ..questions.wording import language_of
from ..runs.config_file import dicts_of, read_config
from .format import Format, Row

_PREDICTIONS, _RESULTS = 'predictions', 'results'
_TIME = re.compile(r'(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)')
_BEGIN = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"0"\s*:\s*\{\s*"(origin_prompt|prediction|gold)"\s*:')
"""How a file of predictions begins."""

_VERDICTS = ('correct', 'is_correct', 'cascade_correct')
"""Where evaluators put a verdict, in the order in which OpenCompass itself looks for it."""

_ANSWERS = ('pred', 'parsed', 'prediction', 'predictions')
_REFERENCES = ('answer', 'ref', 'gold', 'reference', 'references', 'refr', 'answers')

_SETTINGS = ('temperature', 'top_p', 'top_k', 'min_p', 'repetition_penalty', 'seed', 'random_seed')
_HOLDERS = ('generation_kwargs', 'gen_config', 'openai_extra_kwargs', 'extra_body')

_NO_LETTER = (
    '{count} replies of the LLM judge are more than its letter, and their samples unjudged; OpenCompass '
    'takes the first such letter anywhere in a reply, also that of "Answer" or "Because"'
)
_MISALIGNED = (
    'the verdicts of {count} questions are fewer than their samples, so that nothing says of which they are: '
    'these samples are unjudged'
)
_UNFLAGGED = (
    "{count} questions have a round that no LLM judged, as the rule found all of it right: OpenCompass's own "
    'G-Pass@k counts its samples as wrong, here they are correct'
)
_SEVERAL = '{count} rows have several references, of which the first one is kept'
_LISTS = (
    '{count} rows hold several responses each (num_return_sequences), and what the evaluation says of a row '
    'is of none of them alone: their samples are unjudged'
)
_WHOLE = (
    'the question cannot be cut out of {count} prompts: a judge that reads questions is shown the whole prompt'
)
_FIRST_ALONE = (
    "the verdicts of OpenCompass's own LiveMathBench evaluator are not taken: it gives that of the first "
    'sample to all n'
)
_NUMBERED = (
    'contest, language and place of the questions are not known, so they are numbered: this result cannot be '
    'paired with those of new runs'
)


# ---- files of a run ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
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
    def counts(self) -> bool:
        """Whether it is read here: not where this package wrote its result, which is a record."""
        if self.result and _is_record(self.result):
            return False
        if self.parts:
            ours = str(self.config.get('type', '')).startswith('gpassk_opencompass')
            ours |= (self.parts[0].parent / PROVENANCE).is_file()
            return _begins_as_predictions(self.parts[0]) and not (ours and self.result)
        return self.result is not None and _is_of_samples(_first_detail(self.result))

    @property
    def of_live_math_bench(self) -> bool:
        return _class_of(self.config) == 'LiveMathBenchDataset'

    @property
    def evaluator(self) -> Mapping[str, Any]:
        return mapping(mapping(self.config.get('eval_cfg')).get('evaluator'))

    @property
    def limited(self) -> bool:
        """Whether only some rows of the data set were asked."""
        return self.config.get('limit') is not None or bool(
            mapping(self.config.get('reader_cfg')).get('test_range')
        )

    def whole(self, name: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(
                f'{self.time}: {name} = {value!r} in the config; expected whole numbers of at least 1'
            )
        return value

    def texts(self, name: str, usual: Sequence[str]) -> list[str]:
        value = self.config.get(name, usual)
        if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
            raise InputError(
                f'{self.time}: {name} = {value!r:.80} in the config: expected a list of texts'
            )
        return list(value)


def _class_of(config: Mapping[str, Any]) -> str:
    return str(config.get('type', '')).rpartition('.')[2]


def _runs_in(time: Path) -> list[_Run]:
    """Return a run a model and data set that has a file in the folders of a time directory."""
    datasets: dict[str, Mapping[str, Any]] = {}
    models: dict[str, Mapping[str, Any]] = {}
    for path in sorted(time.glob('configs/*.py')):  # of several starts the last one counts
        try:
            config = read_config(path) or {}
        except InputError:  # cut off by a kill
            continue
        for kind, entries in (('datasets', datasets), ('models', models)):
            entries |= {one['abbr']: one for one in dicts_of(config, kind) if isinstance(one.get('abbr'), str)}
    found: dict[tuple[str, str], dict[str, dict[int, Path]]] = {}
    for kind in (_PREDICTIONS, _RESULTS):
        for path in sorted((time / kind).rglob('*.json')):
            head, _, tail = path.stem.rpartition('_')
            known = head in datasets if datasets else path.with_name(f'{head}_0.json').is_file()
            is_part = kind == _PREDICTIONS and tail.isdecimal() and path.stem not in datasets and known
            names = path.parent.relative_to(time / kind).as_posix(), head if is_part else path.stem
            of_run = found.setdefault(names, {_PREDICTIONS: {}, _RESULTS: {}})
            of_run[kind][int(tail) if is_part else -1] = path
    runs = []
    for (model, dataset), files in found.items():
        # As OpenCompass does: where there is a whole file, it counts, and parts are not looked at.
        numbers = [-1] if -1 in files[_PREDICTIONS] else sorted(files[_PREDICTIONS])
        parts = tuple(files[_PREDICTIONS][number] for number in numbers)
        told = datasets.get(dataset, {}), models.get(model, {})
        runs.append(_Run(time, model, dataset, *told, parts, files[_RESULTS].get(-1)))
    return runs


def _run_of(path: Path) -> _Run:
    """Return the run of a file, with all that is beside it where it lies as OpenCompass puts it."""
    for above in path.resolve().parents:
        if above.name in (_PREDICTIONS, _RESULTS):
            for run in _runs_in(above.parent):
                if path.resolve() in [one.resolve() for one in run.files]:
                    return run
    alone = _begins_as_predictions(path)
    return _Run(path.parent, '', path.stem, {}, {}, (path,) if alone else (), None if alone else path)


def _times_in(folder: Path) -> list[Path]:
    """Return the time directories of a work directory, oldest first; the folder itself if it is one."""
    if not folder.is_dir():
        return []
    held = [folder] if _holds_runs(folder) else sorted(folder.iterdir())
    return [one for one in held if _holds_runs(one) and (one == folder or _TIME.fullmatch(one.name))]


def _holds_runs(folder: Path) -> bool:
    return (folder / _PREDICTIONS).is_dir() or (folder / _RESULTS).is_dir()


def _files(folder: Path) -> list[list[Path]]:
    """Return the files of each run in a work directory or time directory; of several times the newest counts."""
    newest = {(run.model, run.dataset): run for time in _times_in(folder) for run in _runs_in(time)}
    return [run.files for run in newest.values() if run.counts]


def _recognises(path: Path, first: Row | None) -> bool:
    if path.is_dir():
        return any(run.counts for time in _times_in(path) for run in _runs_in(time))
    if _begins_as_predictions(path):  # replies of an LLM judge, which lie among the results, begin so too
        above = (one.name for one in path.absolute().parents if one.name in (_PREDICTIONS, _RESULTS))
        return next(above, _PREDICTIONS) == _PREDICTIONS and _run_of(path).counts
    return bool(first) and 'details' in (first or {}) and _is_of_samples(_first_detail(path))


def _begins_as_predictions(path: Path) -> bool:
    try:
        with path.open('rb') as file:
            return _BEGIN.match(file.read(256)) is not None
    except OSError:
        return False


def _is_record(path: Path) -> bool:
    """Whether a result is one of this package, whose details are columns."""
    try:
        told = first_object(path) or {}
    except InputError:
        return False
    return 'gpassk' in told or isinstance(mapping(told.get('details')).get('question'), list)


def _first_detail(path: Path) -> Any:
    try:
        told = (first_object(path) or {}).get('details')
    except InputError:
        return None
    rows = [one for name, one in told.items() if name != 'type'] if isinstance(told, dict) else listed(told)
    return rows[0] if rows else None


def _is_of_samples(detail: Any) -> bool:
    """Whether an entry of details looks as if it were of OpenCompass."""
    told = mapping(detail)
    judged = 'pred' in told and any(name in told for name in _VERDICTS)
    return 'example_abbr' in told or judged or {'predictions', 'references'} <= set(told)


# ---- predictions ---------------------------------------------------------------------------------------------


def _predictions(run: _Run) -> Iterator[Row]:
    """Yield the rows of all parts, each with prompt, reference, responses and what the engine told."""
    for path in run.parts:
        keys = []
        for (key,), value in json_entries(path):
            keys.append(int(key) if key.isdecimal() else -1)
            row: Row = {'_file': path, '_row': keys[-1] + 1, '_said': []}
            if keys[-1] < 0 or not isinstance(value, dict) or 'prediction' not in value:
                raise InputError(
                    f'{path}, row {key!r:.40}: expected rows "0", "1", … with origin_prompt, prediction and gold'
                )
            yield {**row, **_prediction(value)}
        if sorted(keys) != list(range(len(keys))):
            raise InputError(
                f'{path}: rows are missing, it has {len(keys)} and the last one is number {max(keys)}; finish the '
                'run with opencompass -r'
            )


def _prediction(value: Row) -> Row:
    """Return what a row says; OpenCompass can put what the engine told beside the prediction, or around it."""
    told, said = dict(mapping(value.get('generation'))), value['prediction']
    if isinstance(said, dict):
        rollout = mapping(said.get('rollout'))
        told |= {**rollout, 'output_tokens': rollout.get('num_tokens')}
        said = said.get('prediction')
    if isinstance(value.get('res_length'), int):
        told['output_tokens'] = value['res_length']
    responses = said if isinstance(said, list) else [said]
    row = {'prompt': _prompt_text(value.get('origin_prompt')), 'reference': _text(value.get('gold'))}
    if not responses or not all(one is None or isinstance(one, str) for one in responses):
        return {**row, '_bad': f'prediction is {said!r:.60}; expected a text, or a list of texts', 'responses': []}
    notes = [_SEVERAL] if len(listed(value.get('gold'))) > 1 else []
    return {**row, 'responses': responses, 'told': told if len(responses) == 1 else {}, '_said': notes}


def _prompt_text(prompt: object) -> str:
    """Return what a model was asked, of a prompt as OpenCompass keeps it: a text, or messages."""
    if not isinstance(prompt, list):
        return prompt if isinstance(prompt, str) else ''
    texts = [
        one if isinstance(one, str) else one.get('prompt', one.get('content'))
        for one in prompt
        if isinstance(one, str) or mapping(one).get('role') in ('HUMAN', 'user')
    ]
    return '\n'.join(text for text in texts if text and isinstance(text, str))


def _text(value: object) -> str | None:
    """Return a reference or an answer as a text; of a list of several the first one."""
    if isinstance(value, list):
        return _text(value[0]) if value else None
    return value if value is None or isinstance(value, str) else str(value)


# ---- details -------------------------------------------------------------------------------------------------


def _details(run: _Run) -> tuple[list[str], list[list[Row]]]:
    """Return the names of the questions, and what an evaluation says of each sample of each of them.

    In another form, details have an entry a row of the predictions and no names: [], and one sample of each.
    """
    uids: list[str] = []
    entries: list[list[Row]] = []
    judged = False
    made = mapping(run.evaluator.get('dict_postprocessor'))
    letters = {str(made.get('true_tag', 'A')): True, str(made.get('false_tag', 'B')): False}
    for keys, detail in json_entries(run.result, 'details') if run.result else ():
        if keys[0] != 'details' or len(keys) < 2 or keys[1] == 'type':
            continue
        where = f'{run.result}, details {keys[1]}'
        if not isinstance(detail, dict):
            raise InputError(f'{where}: it is {detail!r:.60}; expected an object')
        samples = _samples_in(where, detail)
        named = 'example_abbr' in detail
        if entries and (named != bool(uids) or len(samples) != len(entries[0])):
            raise InputError(
                f'{where}: it tells of {len(samples)} samples, those before it of {len(entries[0])}: the file '
                'is damaged'
            )
        if named:
            uids.append(str(detail['example_abbr']))
            if uids[-1].rpartition('_')[2] != str(len(uids) - 1):
                raise InputError(f'{where}: it is of {uids[-1]!r:.60}; expected question {len(uids) - 1}')
        entries.append([_said(sample, letters) for sample in samples])
        partial = not any(name in sample for sample in samples for name in _VERDICTS)
        if partial and any(name in detail for name in _VERDICTS):
            entries[-1][0]['_said'].append(_UNFLAGGED if 'rule_evaluation' in detail else _MISALIGNED)
        judged |= any(name in detail for name in _VERDICTS) or any(one['judged'] for one in entries[-1])
    return (uids, entries) if judged else ([], [])


def _samples_in(where: str, detail: Row) -> list[Row]:
    """Return what an entry says of each of its samples.

    OpenCompass makes a list of what is said of n samples under one name, and leaves out those of which
    nothing is: a list that is shorter than others does not tell of which samples it is.
    """
    if 'example_abbr' not in detail:
        return [detail]
    lists = {name: value for name, value in detail.items() if isinstance(value, list)}
    size = max(map(len, lists.values()), default=0)
    if not size:
        raise InputError(f'{where}: it has no list of what is said of samples')
    samples = [{name: one[at] for name, one in lists.items() if len(one) == size} for at in range(size)]
    for told in lists.get('llm_evaluation', ()):
        place = mapping(told).get('dataset_replica_idx')
        if isinstance(place, int) and 0 <= place < size:
            samples[place]['llm_evaluation'] = told
    return samples


def _said(sample: Row, letters: Mapping[str, bool]) -> Row:
    """Return verdict, answer and reference of a sample; `judged`: whether there is anything like a verdict."""
    reply = sample.get('prediction') if 'origin_prompt' in sample else None  # of an LLM judge
    by_rule, notes = mapping(sample.get('rule_evaluation')), []
    verdict = next((sample[name] for name in _VERDICTS if sample.get(name) is not None), None)
    if verdict is None and 'rule_evaluation' in sample:
        verdict = bool(by_rule.get('correct') or mapping(sample.get('llm_evaluation')).get('llm_correct'))
    elif verdict is None and isinstance(reply, str):
        verdict = letters.get(reply.strip(' \n\t.*"\'()'))
        notes = [_NO_LETTER] if verdict is None else []
    places = [(one, name) for names in (_ANSWERS, _REFERENCES) for one in (sample, by_rule) for name in names]
    values = {name: one[name] for one, name in reversed(places) if one.get(name) is not None}
    answer = next((values[name] for name in _ANSWERS if name in values), None)
    reference = next((values[name] for name in _REFERENCES if name in values), None)
    return {
        'correct': verdict,
        'why': 'no letter' if notes else None,
        'answer': None if isinstance(reply, str) else _text(answer),
        'reference': _text(reference),
        'judged': verdict is not None or isinstance(reply, str),
        '_said': notes,
    }


# ---- samples of a run ----------------------------------------------------------------------------------------


def _read(files: Sequence[Path]) -> Iterator[Row]:
    """Yield the samples of a run of which these are some files."""
    run = _run_of(files[0])
    rows = list(_predictions(run))
    taken = not (run.of_live_math_bench and rows)  # one verdict of n is never taken for all n
    uids, details = _details(run) if taken else ([], [])
    if not rows and not details:
        raise InputError(
            f'{files[0]} tells of no sample whether it is correct, and there are no predictions to judge in '
            f'{run.time / _PREDICTIONS}'
        )
    n = len(details[0]) if uids else run.whole('n', run.config.get('n', 1)) if run.config else _repeats(rows)
    size = _questions(run, rows, n, uids, details)
    names = _names(run, rows[:size])
    asked, notes = _asker(run.config), [] if taken else [_FIRST_ALONE]
    seen: Counter[int] = Counter()
    for number in range(size * n):
        replica, place = divmod(number, size)
        said = details[place][replica] if uids else details[number][0] if details else {}
        row = rows[number] if rows else {'_file': run.result, '_row': place + 1, 'responses': [None]}
        question = asked(row['prompt']) if row.get('prompt') else _Asked('', None, True)
        uid = uids[place] if uids else f'{run.dataset}_{place}'
        several = bool(details) and len(row['responses']) > 1
        common = {
            **row,
            **{name: said.get(name) for name in ('correct', 'why', 'answer') if details and not several},
            **(names[place] if names else {'uid': uid, 'language': question.language}),
            'question': question.text,
            'reference': row.get('reference') or (details[place][0] if uids else said).get('reference'),
            '_judged': bool(details),
        }
        notes += [*row.get('_said', ()), *said.get('_said', ()), *([_LISTS] if several else [])]
        notes += [_WHOLE] if not question.exact and replica == 0 else []
        for response in row['responses'] or [None]:
            failed = {'state': 'failed', 'correct': None, 'answer': None, 'told': {}}
            lost = failed if rows and response is None else {}
            yield {**common, 'response': response, 'replica': seen[place], **lost, '_said': notes}
            seen[place] += 1
            notes = []


def _repeats(rows: Sequence[Row]) -> int:
    """Return how often the rows repeat the same questions in the same order; 1 where there are none."""
    for size in range(1, len(rows) // 2 + 1):
        if len(rows) % size == 0 and _misplaced(rows, size) is None:
            return len(rows) // size
    return 1


def _misplaced(rows: Sequence[Row], size: int) -> int | None:
    """Return the first row that does not repeat the one `size` rows before it; None if all do."""
    wrong = (
        at
        for at in range(size, len(rows))
        if any(rows[at].get(name) != rows[at % size].get(name) for name in ('prompt', 'reference'))
    )
    return next(wrong, None)


def _questions(
    run: _Run, rows: Sequence[Row], n: int, uids: Sequence[str], details: Sequence[Sequence[Row]]
) -> int:
    """Return how many questions there are; refuse rows that are not n times the same ones."""
    total = len(rows) or (n * len(uids) if uids else len(details))
    size, left = divmod(total, n)
    wrong = None if left or not rows else _misplaced(rows, size)
    if run.parts and (n == 1 or left or wrong is not None):  # else the rows tell that they are all there
        _check_finished(run)
    told = len(details) * (n if uids else 1)
    if not size or left or wrong is not None or (details and told != total):
        times = Counter(Counter((row['prompt'], row['reference']) for row in rows).values())
        shown = ', '.join(f'{questions} with {count}' for count, questions in sorted(times.items()))
        where = '' if wrong is None else f'; row {wrong} repeats another question than it should'
        raise InputError(
            f'{run.files[0]}: {total} rows are not n = {n} times the same questions'
            + (f', {told} were evaluated' if told != total and details else '')
            + f'{where}. Questions with so many responses: {shown or "unknown"}. Rows are missing or are of other '
            'data: n was changed under the same abbr while .cache/dataset_size.json knew the old size, a part '
            'was lost, or it was evaluated before it was sampled again. Finish the run with opencompass -r, or '
            'sample again'
        )
    return size


def _check_finished(run: _Run) -> None:
    """Refuse predictions of which names of parts and logs tell that one is missing."""
    have = {path.stem for path in run.parts}
    if run.dataset in have:
        return
    own = re.compile(rf'(?:tmp_)?({re.escape(run.dataset)}(?:_\d+)?)\.(?:out|jsonl)')
    begun = [*(run.time / _PREDICTIONS / run.model).glob('tmp_*'), *(run.time / 'logs/infer' / run.model).glob('*')]
    last = max(int(stem.rpartition('_')[2]) for stem in have)
    gaps = [name for number in range(min(last, 1000)) if (name := f'{run.dataset}_{number}') not in have]
    names = {found[1] for path in begun if (found := own.fullmatch(path.name))} - have
    if missing := list(dict.fromkeys([*gaps, *sorted(names)])):
        raise InputError(
            f'{run.parts[0].parent}: predictions are missing or unfinished: {", ".join(missing[:20])}; finish the '
            'run with opencompass -r and the --max-num-workers of its start'
        )


# ---- questions -----------------------------------------------------------------------------------------------


class _Asked(NamedTuple):
    """One question, as a prompt shows it; `exact`: all around it is known, else it is the whole prompt."""

    text: str
    language: str | None
    exact: bool


def _asker(config: Mapping[str, Any]) -> Callable[[str], _Asked]:
    """Return what cuts the question out of a prompt, by the template in the config.

    The language is that of the protocol's prompt around it, where that is the one; else that of the text.
    """
    frames, cot = list(_frames(_template(config))), bool(config.get('cot', True))

    @lru_cache(100_000)
    def asked(prompt: str) -> _Asked:
        for before, after, language in frames:
            if not prompt.endswith(after):
                continue
            start = len(before)
            if not prompt.startswith(before):
                # Without chain of thought OpenCompass cuts a piece out of the protocol's line.
                start = prompt.find('\n') + 1
                line, cut = prompt[:start], len(before) - start
                shortened = (line == before[:at] + before[at + cut :] for at in range(start + 1))
                if cot or language is None or not 0 < cut < start or not any(shortened):
                    continue
            text = prompt[start : len(prompt) - len(after)]
            return _Asked(text, language or language_of(text), True)
        return _Asked(prompt, language_of(prompt), not config)

    return asked


def _frames(template: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield what stands before and after a question, and its language where that is the protocol's."""
    protocol: list[tuple[str, str, str | None]] = []
    if template.count('{prompt}') == 1:
        try:
            texts = protocol_constants()
        except MissingExtraError:
            texts = {}
        for language, name in (('en', 'PROMPT_EN'), ('cn', 'PROMPT_CN')):
            before, slot, after = str(texts.get(name, '')).partition('{question}')
            protocol += [(before.format(), after.format(), language)] if slot else []
    for slot, inner in (('{question}', [('', '', None)]), ('{problem}', [('', '', None)]), ('{prompt}', protocol)):
        if template.count(slot) == 1:
            before, _, after = template.partition(slot)
            yield from ((before + one[0], one[1] + after, one[2]) for one in inner)


def _template(config: Mapping[str, Any]) -> str:
    """Return what the model is asked, of a template of one message; '' for any other."""
    prompt = mapping(mapping(config.get('infer_cfg')).get('prompt_template')).get('template')
    if isinstance(prompt, str):
        return prompt
    messages = map(mapping, listed(mapping(prompt).get('round')))
    asked = [one['prompt'] for one in messages if one.get('role') == 'HUMAN' and 'prompt' in one]
    return str(asked[0]) if len(asked) == 1 else ''


def _names(run: _Run, rows: Sequence[Row]) -> list[Row]:
    """Return the names of the questions of a LiveMathBench as this package's data set has them, by their places.

    [] for other data sets. Where the places do not tell, the names are numbers, which is said.
    """
    if not run.of_live_math_bench or not rows:
        return []
    version, ask = str(run.config.get('version', '202412')), _asker(run.config)
    splits = run.texts('dataset_splits', STANDARD_SPLITS)
    languages = run.texts('dataset_languages', STANDARD_LANGUAGES)
    asked = [ask(row['prompt']) for row in rows]
    expected = live_math_bench_questions(version, splits, languages)
    one_by_one = run.config.get('n', 1) == 1 and run.dataset not in [path.stem for path in run.parts]
    if one_by_one and not run.limited and expected and expected != len(rows):  # no row is repeated, to tell
        raise InputError(
            f'{len(run.parts)} parts of {run.dataset} hold {len(rows)} questions, and its data {expected}: finish '
            'the run with opencompass -r and the --max-num-workers of its start'
        )
    sizes = {} if run.limited else _group_sizes(version, splits, languages, [one.language for one in asked])
    names, at = [], count()
    for (split, language), size in sizes.items():
        texts = [asked[next(at)].text for _ in range(size)]
        others = {sizes[split, other] for other in languages}
        for uid, problem in live_math_bench_names(version, split, language, texts, others):
            group = f'{split}_{language}'
            names.append({'uid': uid, 'problem': problem, 'group': group, 'language': language})
    if not names:
        names = [
            {'uid': f'{run.dataset}/{number}', 'language': one.language} for number, one in enumerate(asked)
        ]
        rows[0].setdefault('_said', []).append(_NUMBERED)
    return names


def _group_sizes(
    version: str, splits: Sequence[str], languages: Sequence[str], asked: Sequence[str | None]
) -> dict[tuple[str, str], int]:
    """Count the questions of each split × language, which lie one after the other in this order.

    Where the language of the prompts changes, the next group begins; or the published sizes say where. {} if
    neither fits.
    """
    groups = list(product(splits, languages))
    if len(set(groups)) < len(groups):  # one asked twice: a question would have two names
        return {}
    spoken = ['en' if language == 'en' else 'cn' for _, language in groups]
    found = [(language, len(list(of_one))) for language, of_one in groupby(asked)]
    if [language for language, _ in found] == spoken:
        return {group: size for group, (_, size) in zip(groups, found, strict=True)}
    known = [live_math_bench_questions(version, [split], [language]) for split, language in groups]
    sizes = [size for size in known if size]
    expected = [language for language, size in zip(spoken, sizes, strict=False) for _ in range(size)]
    whole = len(sizes) == len(groups) and expected == list(asked)
    return dict(zip(groups, sizes, strict=True)) if whole else {}


# ---- the format ----------------------------------------------------------------------------------------------


def _about(files: Sequence[Path], row: Row) -> Row:
    run = _run_of(files[0])
    told = {name: run.model_config[name] for name in (*_SETTINGS, 'max_out_len') if name in run.model_config}
    for holder in _HOLDERS:
        inner = mapping(run.model_config.get(holder))
        told |= {name: inner[name] for name in (*_SETTINGS, 'do_sample') if name in inner}
    ks = run.config.get('k', 1) if run.config else ()
    time = _TIME.fullmatch(run.time.name)
    return {
        'model': run.model,
        'dataset': run.dataset,
        'written_by': 'OpenCompass',
        'judge': {'name': f'OpenCompass {_class_of(run.evaluator)}'.strip()} if row.get('_judged') else {},
        'ks': tuple(run.whole('k', k) for k in (ks if isinstance(ks, (list, tuple)) else [ks])),
        'settings': {name: value for name, value in told.items() if isinstance(value, (int, float))},
        'created': '{}-{}-{}T{}:{}:{}'.format(*time.groups()) if time else '',
    }


FORMAT = Format(
    fields={
        **{name: name for name in ('uid', 'problem', 'group', 'language', 'replica', 'question', 'reference')},
        **{name: name for name in ('response', 'answer', 'why', 'state', 'correct')},
        **{
            name: f'told.{name}'
            for name in ('finish_reason', 'prompt_tokens', 'output_tokens', 'reasoning_tokens', 'seconds')
        },
    },
    recognises=_recognises,
    files=_files,
    run_of=lambda path: (lambda run: (run.time.resolve(), run.model, run.dataset))(_run_of(path)),
    read=_read,
    about=_about,
)
