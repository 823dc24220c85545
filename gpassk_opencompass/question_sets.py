"""The benchmarks: what each is called, how many questions it has, and where they come from.

Pure data, so that the expander, the OpenCompass data sets and the importable configs agree.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

LIVE_MATH_BENCH = 'LiveMathBench'
LIVE_MATH_BENCH_HUB = 'opencompass/LiveMathBench'

STANDARD_SPLITS = ('CNMO', 'CCEE', 'AMC', 'WLPMC')
STANDARD_LANGUAGES = ('cn', 'en')

LIVE_MATH_BENCH_ROWS: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    'livemathbench-v202412': ('202412', STANDARD_SPLITS, STANDARD_LANGUAGES),
    'livemathbench-v202412-hard': ('202412', ('hard',), STANDARD_LANGUAGES),
    'livemathbench-v202505': ('202505', ('all',), ('en',)),
    'livemathbench-v202505-hard': ('202505', ('hard',), ('en',)),
}
"""Name: version, splits and languages of LiveMathBench."""

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


@dataclass(frozen=True)
class QuestionFile:
    """One list of questions.

    `names` are the file names looked for in a folder, the first that is there is read; `questions` its
    length; `subset` the hub's name for it; `language` 'en' or 'cn'. `splits` name equal runs of lines
    (('I', 'II'): first and second half); with none, a question's split is its subject.
    """

    names: tuple[str, ...]
    questions: int
    splits: tuple[str, ...]
    language: str = 'en'
    subset: str | None = None


@dataclass(frozen=True)
class QuestionSet:
    """One benchmark beside LiveMathBench.

    Args:
        label: in abbreviations and file names; in lower case, the benchmark's name in a template.
        series: begins the uid of its questions, so that a question has one uid (and its samples the same
            seeds) in every benchmark that contains it.
        source: where the questions come from unless a path is given.
        files: read in this order.
        level: only questions of this level.
        first: only the first questions of each file.
        whole_numbers: every answer is a whole number from 0 to 999, as AIME's are.
    """

    label: str
    series: str
    source: str
    files: tuple[QuestionFile, ...]
    questions: int
    level: int | None = None
    first: int | None = None
    whole_numbers: bool = False


def _olymmath(label: str, subsets: Iterable[str]) -> QuestionSet:
    files = tuple(
        QuestionFile(
            (f'OlymMATH-{subset.upper()}.jsonl',),
            100,
            (subset[3:],),
            {'en': 'en', 'zh': 'cn'}[subset[:2]],
            subset,
        )
        for subset in subsets
    )
    return QuestionSet(label, 'OlymMATH', 'RUC-AIBOX/OlymMATH', files, 100 * len(files))


_AIME2024 = QuestionFile(('aime2024.jsonl', 'aime.jsonl'), 30, ('AIME2024',))
_AIME2025 = QuestionFile(('aime2025.jsonl',), 30, ('I', 'II'))
_MATH500 = QuestionFile(('test.jsonl', 'math500.jsonl', 'test_prm800k_500.jsonl'), 500, ())

QUESTION_SETS: Mapping[str, QuestionSet] = {
    questions.label.lower(): questions
    for questions in (
        QuestionSet('MATH500-L5', 'MATH500', 'HuggingFaceH4/MATH-500', (_MATH500,), 134, level=5),
        QuestionSet('AIME2024', 'AIME2024', 'opencompass/aime2024', (_AIME2024,), 30, whole_numbers=True),
        QuestionSet('AIME2025', 'AIME2025', 'opencompass/aime2025', (_AIME2025,), 30, whole_numbers=True),
        QuestionSet(
            'AIME2025-I', 'AIME2025', 'opencompass/aime2025', (_AIME2025,), 15, first=15, whole_numbers=True
        ),
        *(
            _olymmath(f'OlymMATH-{subset}', [subset])
            for subset in ('en-easy', 'en-hard', 'zh-easy', 'zh-hard')
        ),
        _olymmath('OlymMATH-easy', ['en-easy', 'zh-easy']),
        _olymmath('OlymMATH-hard', ['en-hard', 'zh-hard']),
    )
}
"""Name in a template: the benchmark."""


def live_math_bench_questions(version: str, splits: Iterable[str], languages: Iterable[str]) -> int | None:
    """The number of questions of LiveMathBench, None where it is not published.

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
