"""LiveMathBench as OpenCompass data set: questions from the hub or a folder, n replicas a question."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from datasets import Dataset, concatenate_datasets
from opencompass.datasets.base import BaseDataset
from opencompass.datasets.livemathbench import LiveMathBenchDataset as ProtocolDataset
from opencompass.registry import LOAD_DATASET

from ..errors import InputError
from ..question_sets import STANDARD_LANGUAGES, STANDARD_SPLITS
from .question_files import HUB_NAME, Lines, is_hub_copy, read_hub, read_lines, text_of


class ReplicatedDataset(BaseDataset):  # type: ignore[misc]
    """A data set with n rows a question, each row knowing which sample it is.

    Rows lie replica by replica (row = replica × Q + question). To the columns of `load` come `replica`, and
    OpenCompass's subdivision and idx.
    """

    def __init__(
        self,
        reader_cfg: Mapping[str, Any] | None = None,
        k: int | Sequence[int] = 1,
        n: int = 1,
        abbr: str = 'dataset',
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


# OpenCompass has a class of this name, which must stay what it is for those who use it.
@LOAD_DATASET.register_module(name='GPassKLiveMathBenchDataset')
class LiveMathBenchDataset(ReplicatedDataset):
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

    @staticmethod
    def load(
        path: str,
        version: str = '202412',
        dataset_splits: Sequence[str] = STANDARD_SPLITS,
        dataset_languages: Sequence[str] = STANDARD_LANGUAGES,
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


@cache
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
    return [_example(row, where) for where, row in _lines(path, version, split, language)]


def _lines(path: str, version: str, split: str, language: str) -> Lines:
    root = Path(path).expanduser()
    file = root / version / f'{split}_{language}.jsonl'
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
