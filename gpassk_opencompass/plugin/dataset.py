"""LiveMathBench as OpenCompass data set: questions from the hub or a folder, n replicas a question."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from datasets import Dataset, concatenate_datasets, load_dataset
from datasets.exceptions import DatasetNotFoundError
from opencompass.datasets.base import BaseDataset
from opencompass.datasets.livemathbench import LiveMathBenchDataset as ProtocolDataset
from opencompass.registry import LOAD_DATASET

from ..errors import InputError

HUB_NAME = re.compile(r'[\w.-]+/[\w.-]+')


# OpenCompass has a class of this name, which must stay what it is for those who use it.
@LOAD_DATASET.register_module(name='GPassKLiveMathBenchDataset')
class LiveMathBenchDataset(BaseDataset):  # type: ignore[misc]
    """LiveMathBench, n rows a question, each row knowing which sample it is.

    Takes the config fields of OpenCompass's own class. Rows lie replica by replica (row = replica × Q +
    question) and have the columns question, answer, question_type, options, prompt, `uid` (version,
    split, language and index), `problem` (one for both languages where the files are parallel), split,
    language, `replica`, and OpenCompass's subdivision and idx.

    Args:
        path: a folder with `<version>/<SPLIT>_<lang>.jsonl`, a folder with a copy of the hub data set, or
            a hub name such as `opencompass/LiveMathBench` (gated: ask for access on its page, then
            `hf auth login` or `export HF_TOKEN=…`).
        version: '202412' (splits CNMO, CCEE, AMC, WLPMC, hard; languages cn, en) or '202505' (all_en,
            hard_en); others pass through.
        dataset_splits, dataset_languages: every split × language is loaded, in this order.
        cot: ask for step-by-step reasoning, as the protocol does.
        k, n: of G-Pass@k; n samples are drawn a question, every k at most n.
        abbr, reader_cfg: see OpenCompass.

    Raises:
        InputError: naming the file, line or field, and what was expected.
    """

    def __init__(
        self,
        reader_cfg: Mapping[str, Any] | None = None,
        k: int | Sequence[int] = 1,
        n: int = 1,
        abbr: str = 'LiveMathBench',
        **kwargs: Any,
    ) -> None:
        _check_k_and_n(k, n)
        rows = self.load(**kwargs)
        rows = rows.add_column('subdivision', [abbr] * len(rows))
        rows = rows.add_column('idx', list(range(len(rows))))
        self.dataset = concatenate_datasets(
            [rows.add_column('replica', [replica] * len(rows)) for replica in range(n)]
        )
        self._init_reader(**(reader_cfg or {}))

    @staticmethod
    def load(
        path: str,
        version: str = '202412',
        dataset_splits: Sequence[str] = ('CNMO', 'CCEE', 'AMC', 'WLPMC'),
        dataset_languages: Sequence[str] = ('cn', 'en'),
        cot: bool = True,
    ) -> Dataset:
        """The questions, one row each."""
        _check_names(dataset_splits, dataset_languages)
        files = {
            (split, language): _read(path, version, split, language)
            for split, language in product(dataset_splits, dataset_languages)
        }
        prompts = {language: protocol_prompt(language, cot) for language in dataset_languages}
        rows = []
        for (split, language), examples in files.items():
            parallel = _is_parallel(split, {len(files[split, other]) for other in dataset_languages})
            for index, example in enumerate(examples):
                uid = f'{version}/{split}_{language}/{index}'
                rows.append(
                    {
                        **example,
                        'prompt': prompts[language].replace('{question}', example['question']),
                        'uid': uid,
                        'problem': f'{version}/{split}/{index}' if parallel else uid,
                        'split': split,
                        'language': language,
                    }
                )
        return Dataset.from_list(rows)


def protocol_prompt(language: str, cot: bool) -> str:
    """The question prompt of the published protocol, `{question}` standing for the question.

    Asked of the installed OpenCompass: its own data set class makes the prompt of a question that is
    nothing but the placeholder.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, 'probe', f'probe_{language}.jsonl')
        file.parent.mkdir()
        file.write_text(json.dumps({'question': '{question}'}) + '\n', encoding='utf-8')
        probe = ProtocolDataset.load(
            path=folder, version='probe', dataset_splits=['probe'], dataset_languages=[language], cot=cot
        )
    prompt: str = probe[0]['prompt']
    return prompt


def _read(path: str, version: str, split: str, language: str) -> list[dict[str, Any]]:
    root = Path(path).expanduser()
    subset = f'v{version}_{split}_{language}'
    file = root / version / f'{split}_{language}.jsonl'
    if path and (root / version).is_dir():
        return _read_file(file)
    if not path or (not root.is_dir() and not HUB_NAME.fullmatch(path)):
        raise InputError(
            f'no data at path={path!r}: expected a folder that holds {version}/{split}_{language}.jsonl, '
            'or a hub name such as opencompass/LiveMathBench'
        )
    if root.is_dir() and not (root / 'README.md').is_file():
        raise InputError(f'{file} does not exist: expected one question a line, as JSON')
    return _read_hub(str(root) if root.is_dir() else path, subset)


def _read_file(file: Path) -> list[dict[str, Any]]:
    if not file.is_file():
        there = ', '.join(sorted(other.name for other in file.parent.glob('*.jsonl'))) or 'no .jsonl file'
        raise InputError(f'{file} does not exist; its folder holds {there}')
    examples = []
    with file.open('rb') as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode('utf-8-sig'))
            except ValueError as error:
                raise InputError(f'{file}, line {number}: no JSON ({error}); expected an object') from None
            examples.append(_example(row, f'{file}, line {number}'))
    if not examples:
        raise InputError(f'{file} is empty: expected one question a line, as JSON')
    return examples


def _read_hub(path: str, subset: str) -> list[dict[str, Any]]:
    try:
        rows = load_dataset(path, subset, split='test')
    except (DatasetNotFoundError, ValueError, OSError) as error:
        raise InputError(
            f'cannot load subset {subset!r}, split test, of {path!r}: {error}\n'
            'What is no folder here is taken for a hub name. If the data set is gated, ask for access on its '
            'hub page, then run `hf auth login` or set HF_TOKEN. Without a network, give path= a folder that '
            'holds <version>/<SPLIT>_<lang>.jsonl.'
        ) from error
    if not len(rows):
        raise InputError(f'subset {subset!r} of {path!r} is empty')
    return [_example(row, f'{path}, {subset}, row {number}') for number, row in enumerate(rows)]


def _example(row: Any, where: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise InputError(f'{where}: expected an object with question and answer, got {type(row).__name__}')
    for field in ('question', 'answer'):
        value = row.get(field)
        if not isinstance(value, str) or not value.strip():
            raise InputError(f'{where}: {field!r} must be a text that is not empty, got {value!r:.80}')
    options = row.get('options') or []
    if not isinstance(options, list):
        raise InputError(f"{where}: 'options' must be a list, got {options!r:.80}")
    return {
        'question': row['question'],
        'answer': row['answer'],
        'question_type': str(row.get('question_type') or 'problem-solving'),
        'options': [str(option) for option in options],
    }


def _check_k_and_n(k: int | Sequence[int], n: int) -> None:
    ks = [k] if isinstance(k, int) else list(k)
    if not isinstance(n, int) or n < 1:
        raise InputError(f'n = {n!r}: expected a number of samples a question, 1 or more')
    if not ks or any(not isinstance(value, int) or not 1 <= value <= n for value in ks):
        raise InputError(f'k = {k!r} with n = {n}: every k must be a whole number from 1 to n')


def _check_names(splits: Sequence[str], languages: Sequence[str]) -> None:
    for name, values in (('dataset_splits', splits), ('dataset_languages', languages)):
        if isinstance(values, str) or not values or len(set(values)) != len(values):
            raise InputError(f'{name} = {values!r}: expected a list of different names')


def _is_parallel(split: str, sizes: set[int]) -> bool:
    """Whether line i is the same problem in every language; not so in the hard splits (21 en, 24 cn)."""
    return 'hard' not in split and len(sizes) == 1
