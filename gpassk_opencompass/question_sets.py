"""The benchmarks: what each is called, how many questions it has, and where they come from.

`BENCHMARKS` holds them all, also those of other packages; docs/extending.md says how to add one.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .errors import InputError
from .registry import Registry

LIVE_MATH_BENCH = 'LiveMathBench'
LIVE_MATH_BENCH_HUB = 'opencompass/LiveMathBench'

STANDARD_SPLITS = ('CNMO', 'CCEE', 'AMC', 'WLPMC')
STANDARD_LANGUAGES = ('cn', 'en')

_LIVE_MATH_BENCH_SIZES: Mapping[tuple[str, str, str], int] = {
    **{
        ('202412', split, language): size
        for split, size in (('CNMO', 18), ('CCEE', 44), ('AMC', 46), ('WLPMC', 11))
        for language in STANDARD_LANGUAGES
    },
    ('202412', 'hard', 'en'): 21,
    ('202412', 'hard', 'cn'): 24,
}
"""Questions by version, split and language: Table 4 and section F.1.5 of arXiv 2412.13147."""

_LABEL = re.compile(
    r'(?!LiveMathBench)(?!.*-(?:nocot|limit[0-9]+|samples[0-9]+)$)(?!.*-k[0-9_]+-[rn][0-9]+$)[A-Za-z0-9][A-Za-z0-9_+-]{0,63}'
)


class LiveMathBenchRows(NamedTuple):
    """A part of LiveMathBench: all questions of these splits in these languages."""

    version: str
    splits: tuple[str, ...]
    languages: tuple[str, ...]


@dataclass(frozen=True)
class QuestionFile:
    """One list of questions.

    Args:
        names: the file names looked for in a folder; the first that is there is read.
        questions: its length; another length is refused.
        splits: the groups for which scores are broken down, equal runs of lines: ('I', 'II') are the first
            and the second half. With none, the group of a question is its field `subject`.
        language: 'en' or 'cn'.
        subset: the hub's name for it.
    """

    names: tuple[str, ...]
    questions: int
    splits: tuple[str, ...]
    language: str = 'en'
    subset: str | None = None


@dataclass(frozen=True)
class QuestionSet:
    """A benchmark of question files.

    A question is in the field question, problem, prompt or origin_prompt of a row, its answer in answer or
    gold_answer.

    Args:
        label: what it is called in abbreviations and file names: letters, digits, `_`, `+`, `-`. In lower
            case it is the benchmark's name in a template.
        series: begins the uid of its questions, so that a question has one uid (and its samples the same
            seeds) in every benchmark that contains it.
        source: where the questions come from unless a path is given: a hub name, a folder or a file.
        files: read in this order.
        questions: how many it has; another number is refused.
        level: only questions whose field `level` says so.
        first: only the first questions of each file.
        whole_numbers: every answer is a whole number from 0 to 999, as AIME's are.
        prompts: language → how a question is asked, `{question}` standing for it. With none it is asked as
            LiveMathBench's are, with or without the request to reason step by step.

    Raises:
        InputError: a label that cannot stand in a name, or prompts that do not fit the languages.
    """

    label: str
    series: str
    source: str
    files: tuple[QuestionFile, ...]
    questions: int
    level: int | None = None
    first: int | None = None
    whole_numbers: bool = False
    prompts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _LABEL.fullmatch(self.label):
            raise InputError(
                f'label {self.label!r} of a benchmark: expected at most 64 letters, digits, "_", "+" and "-" '
                'that neither begin with LiveMathBench nor end like the rest of a name (-nocot, -k4-r3)'
            )
        for language in {file.language for file in self.files} if self.prompts else ():
            if '{question}' not in self.prompts.get(language, ''):
                raise InputError(
                    f'benchmark {self.label}: prompts[{language!r}] is {self.prompts.get(language)!r}; '
                    'expected a text with {question} for every language of the files'
                )


Benchmark = LiveMathBenchRows | QuestionSet

LIVEMATHBENCH_V202412 = LiveMathBenchRows('202412', STANDARD_SPLITS, STANDARD_LANGUAGES)
LIVEMATHBENCH_V202412_HARD = LiveMathBenchRows('202412', ('hard',), STANDARD_LANGUAGES)
LIVEMATHBENCH_V202505 = LiveMathBenchRows('202505', ('all',), ('en',))
LIVEMATHBENCH_V202505_HARD = LiveMathBenchRows('202505', ('hard',), ('en',))

_MATH500 = QuestionFile(('test.jsonl', 'math500.jsonl', 'test_prm800k_500.jsonl'), 500, ())
_AIME2024 = QuestionFile(('aime2024.jsonl', 'aime.jsonl'), 30, ('AIME2024',))
_AIME2025 = QuestionFile(('aime2025.jsonl',), 30, ('I', 'II'))


def _aime(label: str, file: QuestionFile, first: int | None = None) -> QuestionSet:
    year = label[:8]
    source, questions = f'opencompass/{year.lower()}', first or file.questions
    return QuestionSet(label, year, source, (file,), questions, first=first, whole_numbers=True)


def _olymmath(label: str, *subsets: str) -> QuestionSet:
    files = tuple(
        QuestionFile(
            names=(f'OlymMATH-{subset.upper()}.jsonl',),
            questions=100,
            splits=(subset[3:],),
            language='cn' if subset.startswith('zh') else 'en',
            subset=subset,
        )
        for subset in subsets or (label,)
    )
    return QuestionSet(f'OlymMATH-{label}', 'OlymMATH', 'RUC-AIBOX/OlymMATH', files, 100 * len(files))


MATH500_L5 = QuestionSet('MATH500-L5', 'MATH500', 'HuggingFaceH4/MATH-500', (_MATH500,), 134, level=5)
AIME2024 = _aime('AIME2024', _AIME2024)
AIME2025 = _aime('AIME2025', _AIME2025)
AIME2025_I = _aime('AIME2025-I', _AIME2025, first=15)
OLYMMATH_EN_EASY = _olymmath('en-easy')
OLYMMATH_EN_HARD = _olymmath('en-hard')
OLYMMATH_ZH_EASY = _olymmath('zh-easy')
OLYMMATH_ZH_HARD = _olymmath('zh-hard')
OLYMMATH_EASY = _olymmath('easy', 'en-easy', 'zh-easy')
OLYMMATH_HARD = _olymmath('hard', 'en-hard', 'zh-hard')

_OWN = (
    'livemathbench-v202412',
    'livemathbench-v202412-hard',
    'livemathbench-v202505',
    'livemathbench-v202505-hard',
    'math500-l5',
    'aime2024',
    'aime2025',
    'aime2025-i',
    'olymmath-en-easy',
    'olymmath-en-hard',
    'olymmath-zh-easy',
    'olymmath-zh-hard',
    'olymmath-easy',
    'olymmath-hard',
)


def _is_benchmark(name: str, found: object) -> bool:
    return isinstance(found, LiveMathBenchRows) or (
        isinstance(found, QuestionSet) and found.label.lower() == name
    )


BENCHMARKS: Registry[Benchmark] = Registry(
    'gpassk_opencompass.benchmarks',
    'benchmark',
    {name: f'{__name__}:{name.upper().replace("-", "_")}' for name in _OWN},
    _is_benchmark,
    'a QuestionSet whose label, in lower case, is this name',
)
"""Name in a template: the benchmark, also those of other packages."""


def live_math_bench_questions(version: str, splits: Iterable[str], languages: Iterable[str]) -> int | None:
    """Return the number of questions of LiveMathBench, None where it is not published.

    >>> live_math_bench_questions('202412', STANDARD_SPLITS, STANDARD_LANGUAGES)
    238
    """
    languages = tuple(languages)
    sizes = [
        _LIVE_MATH_BENCH_SIZES.get((version, split, language)) for split in splits for language in languages
    ]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def content_uids(group: str, questions: Sequence[str]) -> list[str]:
    """Return a name for each question that follows its text alone, wherever it stands in its file.

    The first 12 digits of the SHA-256 of the text behind the name of the group. Of questions with one text
    the second is `…-2`, and so on.

    Args:
        group: the list that the questions belong to, e.g. '202412/AMC_en'.
        questions: the texts, in the order of the list.

    >>> content_uids('202412/AMC_en', ['1 + 1?', '2 + 2?', '1 + 1?'])
    ['202412/AMC_en/c97c3a9c9b99', '202412/AMC_en/70b499c547e0', '202412/AMC_en/c97c3a9c9b99-2']
    """
    seen: Counter[str] = Counter()
    uids = []
    for question in questions:
        uid = f'{group}/{hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()[:12]}'
        seen[uid] += 1
        uids.append(uid if seen[uid] == 1 else f'{uid}-{seen[uid]}')
    return uids


def live_math_bench_names(
    version: str, split: str, language: str, questions: Sequence[str], sizes: Collection[int]
) -> list[tuple[str, str]]:
    """Return the uid of each question of a file, and the problem that it shares with its translations.

    Args:
        questions: the texts, in the order of the file.
        sizes: how many questions the split has in each language. Where all have as many, line i is the same
            problem in all of them; not so in the hard splits (21 en, 24 cn).

    >>> live_math_bench_names('202412', 'AMC', 'en', ['1 + 1?', '2 + 2?'], {2})[1]
    ('202412/AMC_en/70b499c547e0', '202412/AMC/1')
    """
    uids = content_uids(f'{version}/{split}_{language}', questions)
    parallel = 'hard' not in split and len(set(sizes)) == 1
    return [(uid, f'{version}/{split}/{index}' if parallel else uid) for index, uid in enumerate(uids)]
