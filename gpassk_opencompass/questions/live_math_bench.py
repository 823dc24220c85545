"""LiveMathBench's questions from the hub or a folder, whoever asks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..question_sets import live_math_bench_names
from .files import HUB_NAME, Listing, check_revision, is_hub_copy, read_hub, read_lines, text_of


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
    _check_names(splits, languages)
    files = {
        (split, language): _listing(path, version, split, language, revision)
        for split, language in product(splits, languages)
    }
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


def _listing(path: str, version: str, split: str, language: str, revision: str | None) -> Listing:
    root = Path(path).expanduser()
    file = root / version / f'{split}_{language}.jsonl'
    check_revision(path, revision)
    if path and (root / version).is_dir():
        return read_lines(file)
    if not path or (not root.is_dir() and not HUB_NAME.fullmatch(path)):
        raise InputError(
            f'no data at path={path!r}: expected a folder that holds {version}/{split}_{language}.jsonl, '
            'or a hub name such as opencompass/LiveMathBench'
        )
    if root.is_dir() and not is_hub_copy(root):
        raise InputError(f'{file} does not exist: expected one question a line, as JSON')
    return read_hub(
        str(root) if root.is_dir() else path,
        f'v{version}_{split}_{language}',
        'give path= a folder that holds <version>/<SPLIT>_<lang>.jsonl.',
        revision,
    )


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


def _check_names(splits: Sequence[str], languages: Sequence[str]) -> None:
    for name, values in (('dataset_splits', splits), ('dataset_languages', languages)):
        if isinstance(values, str) or not values or len(set(values)) != len(values):
            raise InputError(f'{name} = {values!r}: expected a list of different names')
