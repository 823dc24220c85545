"""The questions of MATH500-L5, AIME and OlymMATH from the hub or a folder, whoever asks them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..question_sets import QUESTION_SETS, QuestionFile, QuestionSet
from .files import HUB_NAME, Lines, is_hub_copy, read_hub, read_lines, text_of

QUESTION_FIELDS = ('question', 'problem', 'prompt', 'origin_prompt')
ANSWER_FIELDS = ('answer', 'gold_answer')

INSTRUCTION = re.compile(r'\n[^\n]*\\boxed\s*\{\s*\}[^\n]*\Z')
"""A last line that says how to answer (it has an empty box); the protocol's prompt says it already."""

TRANSLATION = re.compile(r'-(?:EN|ZH)\Z')

Loader = Callable[[str, str | None, str], Lines]
"""(path, subset, what to do without a network): the rows."""


def benchmark_rows(
    benchmark: str, path: str = '', known: Mapping[str, Loader] | None = None
) -> list[dict[str, Any]]:
    """The questions of a benchmark as rows: question, answer, `uid`, `problem`, split and language.

    Args:
        benchmark: a name of `question_sets.QUESTION_SETS`.
        path: a folder with the benchmark's files, such a file, a copy of a hub data set, or a hub name;
            default: where the benchmark comes from.
        known: hub names that the host loads in its own way.

    Raises:
        InputError: naming the file and line, and what was expected; also if questions are missing, too
            many or there twice, for then the numbers would not be those of the benchmark.
    """
    if benchmark not in QUESTION_SETS:
        raise InputError(f'benchmark = {benchmark!r}: expected one of {", ".join(QUESTION_SETS)}')
    questions = QUESTION_SETS[benchmark]
    rows = [row for file in questions.files for row in _rows(questions, file, path, known or {})]
    _check_distinct(rows)
    if len(rows) != questions.questions:
        raise InputError(
            f'{path or questions.source}: {len(rows)} questions are of {questions.label}, expected '
            f'{questions.questions}: the data are of another benchmark, or not complete'
        )
    return [{name: row[name] for name in row if name != 'where'} for row in rows]


def _rows(
    questions: QuestionSet, file: QuestionFile, path: str, known: Mapping[str, Loader]
) -> Iterator[dict[str, Any]]:
    lines = _lines(questions, file, path or questions.source, known)
    _check_length(questions, file, lines)
    for index, (where, row) in enumerate(lines[: questions.first]):
        if questions.level is not None and _level(row, where) != questions.level:
            continue
        question = INSTRUCTION.sub('', text_of(row, QUESTION_FIELDS, where).rstrip())
        split = file.splits[index * len(file.splits) // file.questions] if file.splits else _subject(row)
        yield {
            'question': question,
            'answer': _answer(row, questions.whole_numbers, where),
            **_names(questions.series, f'{split}_{file.language}', index, row),
            'split': split,
            'language': file.language,
            'where': where,
        }


def _lines(questions: QuestionSet, file: QuestionFile, path: str, known: Mapping[str, Loader]) -> Lines:
    local = Path(path).expanduser()
    alternative = f'give path= a folder that holds {file.names[0]}.'
    if local.is_dir():
        there = [local / name for name in file.names if (local / name).is_file()]
        if not there and is_hub_copy(local):
            return read_hub(str(local), file.subset, alternative)
        return read_lines(there[0] if there else local / file.names[0])
    if local.suffix == '.jsonl':
        if len(questions.files) > 1:
            names = ', '.join(part.names[0] for part in questions.files)
            raise InputError(f'{path}: {questions.label} has several files; give path= a folder with {names}')
        return read_lines(local)
    if path in known:
        return known[path](path, file.subset, alternative)
    if not HUB_NAME.fullmatch(path):
        raise InputError(
            f'no data at path={path!r}: expected a folder that holds {file.names[0]}, such a file, or a hub '
            f'name such as {questions.source}'
        )
    return read_hub(path, file.subset, alternative)


def _check_length(questions: QuestionSet, file: QuestionFile, lines: Lines) -> None:
    """The whole file, or one that holds only what the benchmark takes of it."""
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
    """As it goes into the names of metrics: `Counting-Probability`."""
    return '-'.join(re.findall(r'\w+', str(row.get('subject') or 'all')))


def _answer(row: Mapping[str, Any], whole: bool, where: str) -> str:
    if not whole:
        return text_of(row, ANSWER_FIELDS, where)
    value = next((row[name] for name in ANSWER_FIELDS if name in row), None)
    text = str(value).strip()
    if isinstance(value, (bool, float)) or not re.fullmatch('[0-9]{1,3}', text):
        raise InputError(f"{where}: 'answer' is {value!r:.80}; expected a whole number from 0 to 999")
    return str(int(text))


def _names(series: str, group: str, index: int, row: Mapping[str, Any]) -> dict[str, str]:
    """uid and problem: by the question's own id where it has one, else by its place in the file."""
    own = row.get('unique_id')
    if own is None:
        uid, problem = f'{group}/{index}', f'{group.rpartition("_")[0]}/{index}'
    else:
        uid, problem = str(own), TRANSLATION.sub('', str(own))
    return {'uid': f'{series}/{uid}', 'problem': f'{series}/{problem}'}


def _check_distinct(rows: list[dict[str, Any]]) -> None:
    for name in ('uid', 'question'):
        seen: dict[str, str] = {}
        for row in rows:
            other = seen.setdefault(row[name], row['where'])
            if other != row['where']:
                raise InputError(f'{row["where"]}: the same {name} as in {other}: {row[name]!r:.80}')
