"""The questions of the benchmarks from the hub or a folder, as rows, whoever asks them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..question_sets import BENCHMARKS, QuestionFile, QuestionSet, content_uids, live_math_bench_names
from .files import Lines, Listing, read_hub, read_lines, text_of
from .places import Place, benchmark_places, live_math_bench_places

QUESTION_FIELDS = ('question', 'problem', 'prompt', 'origin_prompt')
ANSWER_FIELDS = ('answer', 'gold_answer')

INSTRUCTION = re.compile(r'\n[^\n]*\\boxed\s*\{\s*\}[^\n]*\Z')
"""A last line that says how to answer (it has an empty box); the protocol's prompt says it already."""

TRANSLATION = re.compile(r'-(?:EN|ZH)\Z')

Loader = Callable[[str, str | None, str], Listing]
"""(path, subset, what to do without a network): the rows."""


def benchmark_rows(
    benchmark: str,
    path: str = '',
    known: Mapping[str, Loader] | None = None,
    revision: str | None = None,
) -> list[dict[str, Any]]:
    """Read the questions of a benchmark other than LiveMathBench as rows.

    A row has question, answer, `uid`, `problem`, split, language, source and, where the benchmark is asked
    in words of its own, prompt.

    Args:
        benchmark: a name of `question_sets.BENCHMARKS`, in lower case.
        path: a folder with the benchmark's files, such a file, a copy of a hub data set, or a hub name;
            default: where the benchmark comes from.
        known: hub names that the host loads in its own way.
        revision: a commit, branch or tag of the hub data set.

    Raises:
        InputError: naming the file and line, and what was expected; also if questions are missing, too
            many or there twice, for then the numbers would not be those of the benchmark.
    """
    if benchmark not in BENCHMARKS:
        raise InputError(f'benchmark = {benchmark!r}: expected one of {", ".join(BENCHMARKS)}')
    questions = BENCHMARKS[benchmark]
    if not isinstance(questions, QuestionSet):
        raise InputError(f'benchmark = {benchmark!r}: part of LiveMathBench, which has a class of its own')
    places = zip(questions.files, benchmark_places(questions, path, revision), strict=True)
    rows = [row for file, place in places for row in _rows(questions, file, _listing(place, known or {}))]
    _check_distinct(rows)
    if len(rows) != questions.questions:
        raise InputError(
            f'{path or questions.source}: {len(rows)} questions are of {questions.label}, expected '
            f'{questions.questions}: the data are of another benchmark, or not complete'
        )
    return [{name: row[name] for name in row if name not in ('where', 'own')} for row in rows]


def _rows(questions: QuestionSet, file: QuestionFile, listing: Listing) -> list[dict[str, Any]]:
    lines, source = listing
    _check_length(questions, file, lines)
    rows = []
    for index, (where, row) in enumerate(lines[: questions.first]):
        if questions.level is not None and _level(row, where) != questions.level:
            continue
        split = file.splits[index * len(file.splits) // file.questions] if file.splits else _subject(row)
        question = INSTRUCTION.sub('', text_of(row, QUESTION_FIELDS, where).rstrip())
        own = questions.prompts.get(file.language)
        rows.append(
            {
                'question': question,
                'answer': _answer(row, questions.whole_numbers, where),
                **_names(questions.series, split, file.language, index, row),
                'split': split,
                'language': file.language,
                'source': source,
                'where': where,
                'own': row.get('unique_id') or where,
                **({} if own is None else {'prompt': own.replace('{question}', question)}),
            }
        )
    uids: dict[str, Iterator[str]] = {}
    for group in dict.fromkeys(row['uid'] for row in rows):
        uids[group] = iter(content_uids(group, [row['question'] for row in rows if row['uid'] == group]))
    return [{**row, 'uid': next(uids[row['uid']])} for row in rows]


def _listing(place: Place, known: Mapping[str, Loader]) -> Listing:
    if isinstance(place, Path):
        return read_lines(place)
    if place.path in known and place.revision is None:
        return known[place.path](place.path, place.subset, place.alternative)
    return read_hub(place.path, place.subset, place.alternative, place.revision)


def _check_length(questions: QuestionSet, file: QuestionFile, lines: Lines) -> None:
    """Refuse a file that is neither the whole one nor holds only what the benchmark takes of it."""
    allowed = sorted({file.questions, questions.questions // len(questions.files)})
    if len(lines) not in allowed:
        last = lines[-1][0]
        raise InputError(
            f'{last} is the last of {len(lines)} questions; {questions.label} expects '
            f'{" or ".join(map(str, allowed))} there: the file is another one, or not complete'
        )


def _level(row: Mapping[str, Any], where: str) -> int:
    match = re.fullmatch(r'(?:Level )?([1-5])', str(row.get('level')))
    if match is None:
        raise InputError(
            f"{where}: 'level' is {row.get('level')!r}; expected 1 … 5 or 'Level 1' … 'Level 5', for it says "
            'which questions belong to the benchmark'
        )
    return int(match[1])


def _subject(row: Mapping[str, Any]) -> str:
    """Return the subject of a question as it goes into names of metrics: `Counting-Probability`."""
    return '-'.join(re.findall(r'\w+', str(row.get('subject') or 'all')))


def _answer(row: Mapping[str, Any], whole: bool, where: str) -> str:
    if not whole:
        return text_of(row, ANSWER_FIELDS, where)
    value = next((row[name] for name in ANSWER_FIELDS if name in row), None)
    text = str(value).strip()
    if isinstance(value, (bool, float)) or not re.fullmatch('[0-9]{1,3}', text):
        raise InputError(f"{where}: 'answer' is {value!r:.80}; expected a whole number from 0 to 999")
    return str(int(text))


def _names(series: str, split: str, language: str, index: int, row: Mapping[str, Any]) -> dict[str, str]:
    """Name the group of a question, which its uid begins with, and its problem.

    By the question's own id where it has one; else the problem by its place in the file, which is the same in
    both languages.
    """
    own = row.get('unique_id')
    if own is None:
        group, problem = f'{split}_{language}', f'{split}/{index}'
    else:
        group, problem = str(own), TRANSLATION.sub('', str(own))
    return {'uid': f'{series}/{group}', 'problem': f'{series}/{problem}'}


def _check_distinct(rows: list[dict[str, Any]]) -> None:
    for name in ('own', 'question'):
        seen: dict[str, str] = {}
        for row in rows:
            other = seen.setdefault(row[name], row['where'])
            if other != row['where']:
                called = 'unique_id' if name == 'own' else name
                raise InputError(f'{row["where"]}: the same {called} as in {other}: {row[name]!r:.80}')


def live_math_bench_rows(
    path: str, version: str, splits: Sequence[str], languages: Sequence[str], revision: str | None = None
) -> list[dict[str, Any]]:
    """Read the questions of every split × language, in this order, as rows.

    A row has question, answer, question_type, options, `uid` (version, split, language and a hash of the
    question), `problem` (one for both languages where the files are parallel), split, language and `source`
    (see `files.Listing`).

    Args:
        path: a folder with `<version>/<SPLIT>_<lang>.jsonl`, a copy of the hub data set, or a hub name.
        revision: a commit, branch or tag of the hub data set.

    Raises:
        InputError: naming the file, line or field, and what was expected.
    """
    _check_lists(splits, languages)
    places = live_math_bench_places(path, version, splits, languages, revision)
    files = {which: _listing(place, {}) for which, place in places.items()}
    rows = []
    for (split, language), (lines, source) in files.items():
        examples = [_example(row, where) for where, row in lines]
        sizes = {len(files[split, other].lines) for other in languages}
        questions = [example['question'] for example in examples]
        names = live_math_bench_names(version, split, language, questions, sizes)
        of_file = {'split': split, 'language': language, 'source': source}
        rows += [
            {**example, 'uid': uid, 'problem': problem, **of_file}
            for example, (uid, problem) in zip(examples, names, strict=True)
        ]
    return rows


def _example(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    question, answer = (text_of(row, [field], where) for field in ('question', 'answer'))
    options = row.get('options') or []
    if not isinstance(options, list):
        raise InputError(f"{where}: 'options' must be a list, got {options!r:.80}")
    return {
        'question': question,
        'answer': answer,
        'question_type': str(row.get('question_type') or 'problem-solving'),
        'options': [str(option) for option in options],
    }


def _check_lists(splits: Sequence[str], languages: Sequence[str]) -> None:
    for name, values in (('dataset_splits', splits), ('dataset_languages', languages)):
        if isinstance(values, str) or not values or len(set(values)) != len(values):
            raise InputError(f'{name} = {values!r}: expected a list of different names')
