"""The benchmarks: what each is called, where its questions lie, and the questions as rows for every host."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, product, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from .errors import InputError, MissingExtraError
from .files import digest, parse_json

LIVE_MATH_BENCH = 'LiveMathBench'
LIVE_MATH_BENCH_HUB = 'opencompass/LiveMathBench'
STANDARD_SPLITS = ('CNMO', 'CCEE', 'AMC', 'WLPMC')
STANDARD_LANGUAGES = ('cn', 'en')

HUB_ERRORS = (ValueError, OSError)
"""What `datasets` raises for what it cannot load; its own errors are among them."""

_INSTRUCTION = re.compile(r'\n[^\n]*\\boxed\s*\{\s*\}[^\n]*\Z')
"""A last line that says how to answer (it has an empty box); the protocol's prompt says it already."""
_TRANSLATION = re.compile(r'-(?:EN|ZH)\Z')
_HUB_NAME = re.compile(r'[\w.-]+/[\w.-]+')
_COMMIT = re.compile(r'^hf://datasets/[^@]+@([0-9a-f]{40})/')
"""How `datasets` names a file of the hub in what it notes of a download."""

ENGLISH = '{question}\n\nWork this out step by step, and end with your final answer inside \\boxed{{}}.'
CHINESE = '{question}\n\n请一步一步地推导，并在最后把最终答案写在 \\boxed{{}} 里。'


class LiveMathBenchRows(NamedTuple):
    """A part of LiveMathBench: all questions of these splits in these languages."""

    version: str
    splits: tuple[str, ...] = STANDARD_SPLITS
    languages: tuple[str, ...] = STANDARD_LANGUAGES

    def __str__(self) -> str:
        """Return what it is called in names; the standard splits and languages are not written."""
        standard = self[1:] == (STANDARD_SPLITS, STANDARD_LANGUAGES)
        rows = '' if standard else f'-{"_".join(self.splits)}-{"_".join(self.languages)}'
        return f'{LIVE_MATH_BENCH}-v{self.version}{rows}'


@dataclass(frozen=True)
class QuestionFile:
    """One list of questions.

    The first of `names` that is in a folder is read, `subset` is the hub's name for it; a number of
    `questions` other than this (None: any) is refused. Equal runs of lines are of the groups `splits`: ('I',
    'II') are the first and the second half; with none, the group of a question is its field `subject`. A
    `language` of '' is told by each text.
    """

    names: tuple[str, ...]
    questions: int | None
    splits: tuple[str, ...] = ()
    language: str = 'en'
    subset: str | None = None


@dataclass(frozen=True)
class QuestionSet:
    """A benchmark of question files.

    Args:
        label: what it is called in abbreviations and file names; in lower case, in a template.
        series: begins the uid of a question, which so has the same seeds in every benchmark that has it.
        source: the hub name of the data.
        questions: how many it has; another number is refused.
        level: only questions whose field `level` says so.
        first: only so many questions of each file.
        whole_numbers: every answer is a whole number from 0 to 999, as AIME's are.
        question, answer: the fields of a row that may hold it; the first that is there counts.
    """

    label: str
    series: str
    source: str
    files: tuple[QuestionFile, ...]
    questions: int | None
    level: int | None = None
    first: int | None = None
    whole_numbers: bool = False
    question: Sequence[str] = ('question', 'problem', 'prompt', 'origin_prompt')
    answer: Sequence[str] = ('answer', 'gold_answer')


def _aime(label: str, first: int | None = None) -> QuestionSet:
    year = label[:8]
    file = QuestionFile((f'{year.lower()}.jsonl',), 30, ('I', 'II'))
    if year == 'AIME2024':
        file = QuestionFile((*file.names, 'aime.jsonl'), 30, (year,))
    source = f'opencompass/{year.lower()}'
    return QuestionSet(label, year, source, (file,), first or 30, first=first, whole_numbers=True)


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


_MATH500 = QuestionFile(('test.jsonl', 'math500.jsonl', 'test_prm800k_500.jsonl'), 500)
_SETS = (
    QuestionSet('MATH500-L5', 'MATH500', 'HuggingFaceH4/MATH-500', (_MATH500,), 134, level=5),
    _aime('AIME2024'),
    _aime('AIME2025'),
    _aime('AIME2025-I', first=15),
    *map(_olymmath, ('en-easy', 'en-hard', 'zh-easy', 'zh-hard')),
    _olymmath('easy', 'en-easy', 'zh-easy'),
    _olymmath('hard', 'en-hard', 'zh-hard'),
)

STANDARD_ROWS: Mapping[str, LiveMathBenchRows] = {
    '202412': LiveMathBenchRows('202412'),
    '202505': LiveMathBenchRows('202505', ('all',), ('en',)),
}
"""Version of LiveMathBench: the part that is meant where nothing else is said."""

BENCHMARKS: Mapping[str, LiveMathBenchRows | QuestionSet] = {
    'livemathbench-v202412': STANDARD_ROWS['202412'],
    'livemathbench-v202412-hard': LiveMathBenchRows('202412', ('hard',)),
    'livemathbench-v202505': STANDARD_ROWS['202505'],
    'livemathbench-v202505-hard': LiveMathBenchRows('202505', ('hard',), ('en',)),
    **{questions.label.lower(): questions for questions in _SETS},
}
"""Name in a template: the benchmark."""

_SIZES = {'CNMO': (18, 18), 'CCEE': (44, 44), 'AMC': (46, 46), 'WLPMC': (11, 11), 'hard': (24, 21)}
"""Questions of a split of version 202412, cn and en: Table 4 and section F.1.5 of arXiv 2412.13147."""


def live_math_bench_questions(version: str, splits: Iterable[str], languages: Iterable[str]) -> int | None:
    """Return the number of questions of LiveMathBench, None where it is not published."""
    if version != '202412':
        return None
    sizes = [dict(zip(('cn', 'en'), _SIZES.get(split, ()), strict=False)) for split in splits]
    known = [one.get(language) for one, language in product(sizes, tuple(languages))]
    return sum(filter(None, known)) if None not in known else None


def content_uids(group: str, questions: Sequence[str]) -> list[str]:
    """Return a name for each question that follows its text alone, wherever it stands in its file.

    The first 12 digits of the SHA-256 of the text behind the name of the group, e.g. '202412/AMC_en'. Of
    questions with one text the second is `…-2`, and so on.

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

    `sizes`: how many questions the split has in each language. Where all have as many, line i is the same
    problem in all of them; not so in the hard splits (21 en, 24 cn).
    """
    uids = content_uids(f'{version}/{split}_{language}', questions)
    parallel = 'hard' not in split and len(set(sizes)) == 1
    return [(uid, f'{version}/{split}/{index}' if parallel else uid) for index, uid in enumerate(uids)]


def question_set(dataset: Mapping[str, Any]) -> QuestionSet:
    """Return the questions that a data set of a config of this package asks.

    It has `benchmark`, and `fields` if that is one of one's own; or the version, dataset_splits and
    dataset_languages of LiveMathBench, which has a file each, `<version>/<SPLIT>_<lang>.jsonl`.
    """
    if (name := dataset.get('benchmark')) is not None:
        if (fields := dataset.get('fields')) is not None:
            question, answer = ((fields.get(role, role),) for role in ('question', 'answer'))
            file = QuestionFile((f'{name}.jsonl',), None, language='')
            return QuestionSet(name, name, dataset['path'], (file,), None, question=question, answer=answer)
        if isinstance(known := BENCHMARKS.get(name), QuestionSet):
            return known
        expected = 'part of LiveMathBench, which has a class of its own'
        if not known:
            expected = f'expected one of {", ".join(BENCHMARKS)}'
        raise InputError(f'benchmark = {name!r}: {expected}')
    for line in ('dataset_splits', 'dataset_languages'):
        values = dataset[line]
        if isinstance(values, str) or not values or len(set(values)) != len(values):
            raise InputError(f'{line} = {values!r}: expected a list of different names')
    version = dataset['version']
    files = [
        QuestionFile((f'{version}/{part}.jsonl',), None, (split,), language, f'v{version}_{part}')
        for split, language in product(dataset['dataset_splits'], dataset['dataset_languages'])
        for part in [f'{split}_{language}']
    ]
    hub, question, answer = LIVE_MATH_BENCH_HUB, ('question',), ('answer',)
    return QuestionSet(LIVE_MATH_BENCH, version, hub, tuple(files), None, question=question, answer=answer)


# Where questions lie


class HubPart(NamedTuple):
    """A subset of a data set on the hub, or (`copied`) of a folder laid out as there.

    `revision` is a commit, branch or tag; None: what its main branch is now. `alternative`: what to do
    without the hub, for messages.
    """

    path: str
    subset: str | None
    alternative: str
    revision: str | None = None
    copied: bool = False


def places_of(questions: QuestionSet, path: str, revision: str | None = None) -> list[Path | HubPart]:
    """Return where each file of a benchmark is; a file may be missing.

    `path` is a folder with its files, the only one of them, a copy of a hub data set, or a hub name.
    InputError for anything else, and for a revision of what is here.
    """
    path, source = path or questions.source, questions.source
    local, files = Path(path).expanduser(), ', '.join(file.names[0] for file in questions.files)
    if revision is not None and local.exists():
        raise InputError(
            f'revision = {revision!r} with path = {str(local)!r}, which is a file or folder here: only data '
            'of the hub have revisions; leave one of the two out'
        )
    here = bool(path) and local.is_dir()
    if not here and local.suffix == '.jsonl' and len(questions.files) == 1:
        return [local]
    if not here and (local.suffix == '.jsonl' or not _HUB_NAME.fullmatch(path)):
        example = f' such as {source}' if _HUB_NAME.fullmatch(source) else ''
        raise InputError(
            f'no data at path={path!r}: expected a folder that holds {files}, such a file if there is but '
            f'one, or a hub name{example}'
        )
    card = local / 'README.md'  # of a copy of a hub data set it begins with its metadata
    copied = here and card.is_file() and card.read_bytes()[:3] == b'---'
    found: list[Path | HubPart] = []
    for file in questions.files:
        there = [local / name for name in file.names if here and (local / name).is_file()]
        if there or (here and not copied):
            found.append(there[0] if there else local / file.names[0])
        else:
            alternative = f'give path= a folder that holds {file.names[0]}.'
            found.append(HubPart(path, file.subset, alternative, revision, copied))
    return found


# Lists of questions as they lie there


class Listing(NamedTuple):
    """A list of questions, each with where it stands for messages, and what it was read from.

    `source`: `<file name>@sha256:<of its bytes>`, `<hub name>@<commit>`, or `<name>@sha256:<of the rows>`.
    """

    lines: list[tuple[str, Mapping[str, Any]]]
    source: str


def read_lines(file: Path) -> Listing:
    """Read the objects of a JSON Lines file; blank lines and a byte order mark do no harm."""
    if not file.is_file():
        there = ', '.join(sorted(other.name for other in file.parent.glob('*.jsonl'))) or 'no .jsonl file'
        raise InputError(f'{file} does not exist; its folder holds {there}')
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f'cannot read {file}: {error.strerror}') from error
    lines: list[tuple[str, Mapping[str, Any]]] = []
    for number, line in enumerate(io.BytesIO(content), start=1):
        if not line.strip():
            continue
        where = f'{file}, line {number}'
        try:
            row = parse_json(line.decode('utf-8-sig'))
        except ValueError as error:
            raise InputError(f'{where}: no JSON ({error}); expected an object') from None
        if not isinstance(row, dict):
            raise InputError(f'{where}: expected an object with question and answer, got {row!r:.80}')
        lines.append((where, row))
    if not lines:
        raise InputError(f'{file} is empty: expected one question a line, as JSON')
    return Listing(lines, f'{file.name}@sha256:{digest(content)}')


def read_hub(part: HubPart) -> Listing:
    """Read a data set of the hub, or a folder laid out as there: its split test, or its only one."""
    try:
        from datasets import load_dataset  # slow to import, and not needed for files
    except ModuleNotFoundError as error:
        raise MissingExtraError('datasets', 'opencompass') from error
    try:
        splits = load_dataset(part.path, part.subset, revision=part.revision)
    except HUB_ERRORS as error:
        subset = f'subset {part.subset!r} of ' if part.subset else ''
        revision = f' at revision {part.revision!r}' if part.revision else ''
        raise InputError(
            f'cannot load {subset}{part.path!r}{revision}: {error}\n'
            'What is no file or folder here is taken for a hub name. If the data set is gated, ask for '
            'access on its hub page, then run `hf auth login` or set HF_TOKEN. Without a network, '
            f'{part.alternative}'
        ) from error
    return rows_of(splits, part)


def is_cached(part: HubPart) -> bool:
    """Return whether `datasets` has loaded it before, and takes it from its cache where the hub refuses."""
    from datasets import config, naming  # slow to import

    owner, _, name = part.path.rpartition('/')
    folder = '___'.join([*filter(None, [owner]), naming.camelcase_to_snakecase(name)])
    return any(Path(config.HF_DATASETS_CACHE, folder).glob(f'{part.subset or "default"}/*/*'))


def rows_of(splits: Any, part: HubPart) -> Listing:
    """Take the rows of the split test, or of the only one, of what `load_dataset` returned for this part."""
    from datasets import DatasetDict

    path, subset = part.path, part.subset
    where = f'{path}, {subset}' if subset else path
    if isinstance(splits, DatasetDict):
        name = 'test' if 'test' in splits or len(splits) != 1 else next(iter(splits))
        if name not in splits:
            raise InputError(f'{where} has no split test, only {", ".join(splits)}')
        splits = splits[name]
    if not len(splits):
        raise InputError(f'{where} is empty: expected one question a row')
    rows = list(splits)
    downloaded = getattr(getattr(splits, 'info', None), 'download_checksums', None) or {}
    version = next((found[1] for found in map(_COMMIT.match, downloaded) if found), '')
    if not version:
        version = f'sha256:{digest(json.dumps(rows, sort_keys=True, default=str).encode())}'
    name = Path(path).name if Path(path).exists() else path
    lines = [(f'{where}, row {number}', row) for number, row in enumerate(rows)]
    return Listing(lines, f'{name}@{version}{f":{subset}" if subset else ""}')


def _text_of(row: Mapping[str, Any], names: Sequence[str], where: str) -> str:
    """Return the first of these fields that the row has."""
    name = next((name for name in names if name in row), names[0])
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f'{where}: {name!r} must be a text that is not empty, got {value!r:.80}')
    if half := re.search('[\ud800-\udfff]', value):
        raise InputError(
            f'{where}: {name!r} holds {half[0]!r}, one half of a character (a surrogate), which no file and '
            'no model takes; write the whole character'
        )
    return value


# Rows


def dataset_rows(
    dataset: Mapping[str, Any], known: Mapping[str, Callable[[HubPart], Listing]] | None = None
) -> list[dict[str, Any]]:
    """Read the questions of a data set of a config of this package as rows, in their order.

    A row has question, answer, `uid`, `problem` (which translations share), split, language and source; of
    LiveMathBench also question_type and options. InputError, with file and line, also if questions are
    missing, too many or there twice: the numbers would not be those of the benchmark.

    Args:
        dataset: its `path` (see `places_of`), `revision`, and the fields that `question_set` reads.
        known: hub names that the host loads in its own way.
    """
    questions, path = question_set(dataset), dataset.get('path', '')
    listings = []
    for place in places_of(questions, path, dataset.get('revision')):
        if isinstance(place, Path):
            listings.append(read_lines(place))
        else:
            own = (known or {}).get(place.path) if place.revision is None else None
            listings.append((own or read_hub)(place))
    pairs = list(zip(questions.files, listings, strict=True))
    if 'benchmark' not in dataset:
        return _live_math_bench_rows(questions, pairs)
    rows = [row for file, listing in pairs for row in _rows(questions, file, listing)]
    for name, called in (('own', 'unique_id'), ('question', 'question')):
        seen: dict[str, str] = {}
        for row in rows:
            if (other := seen.setdefault(row[name], row['where'])) != row['where']:
                raise InputError(f'{row["where"]}: the same {called} as in {other}: {row[name]!r:.80}')
    if questions.questions not in (None, len(rows)):
        raise InputError(
            f'{path or questions.source}: {len(rows)} questions are of {questions.label}, expected '
            f'{questions.questions}: the data are of another benchmark, or not complete'
        )
    return [{name: row[name] for name in row if name not in ('where', 'own')} for row in rows]


def _live_math_bench_rows(
    questions: QuestionSet, listings: Sequence[tuple[QuestionFile, Listing]]
) -> list[dict[str, Any]]:
    rows = []
    for file, listing in listings:
        [split], language = file.splits, file.language
        sizes = {len(other.lines) for each, other in listings if each.splits == file.splits}
        texts = [_text_of(row, questions.question, where) for where, row in listing.lines]
        names = live_math_bench_names(questions.series, split, language, texts, sizes)
        for (where, row), question, (uid, problem) in zip(listing.lines, texts, names, strict=True):
            options = row.get('options') or []
            if not isinstance(options, list):
                raise InputError(f"{where}: 'options' must be a list, got {options!r:.80}")
            kind = str(row.get('question_type') or 'problem-solving')
            answer = {'answer': _text_of(row, questions.answer, where), 'question_type': kind}
            place = {'uid': uid, 'problem': problem, 'split': split, 'language': language}
            own = {'question': question, **answer, 'options': list(map(str, options))}
            rows.append({**own, **place, 'source': listing.source})
    return rows


def _rows(questions: QuestionSet, file: QuestionFile, listing: Listing) -> list[dict[str, Any]]:
    lines, source = listing
    if file.questions is not None and questions.questions is not None:
        # The whole file, or only what the benchmark takes of it.
        allowed = sorted({file.questions, questions.questions // len(questions.files)})
        if len(lines) not in allowed:
            raise InputError(
                f'{lines[-1][0]} is the last of {len(lines)} questions; {questions.label} expects '
                f'{" or ".join(map(str, allowed))} there: the file is another one, or not complete'
            )
    rows = []
    for index, (where, row) in enumerate(lines[: questions.first]):
        if questions.level is not None:
            match = re.fullmatch(r'(?:Level )?([1-5])', level := str(row.get('level')))
            if match is None:
                raise InputError(f"{where}: 'level' is {level!r}; expected 1 … 5 or 'Level 1' … 'Level 5'")
            if int(match[1]) != questions.level:
                continue
        if file.splits:
            split = file.splits[index * len(file.splits) // (file.questions or len(lines))]
        else:  # as it goes into names of metrics: Counting-Probability
            split = '-'.join(re.findall(r'\w+', str(row.get('subject') or 'all')))
        question = _INSTRUCTION.sub('', _text_of(row, questions.question, where).rstrip())
        language, own = file.language or language_of(question), row.get('unique_id')
        # The problem by its own id, else by its place in the file, which is the same in both languages.
        group = f'{split}_{language}' if own is None else str(own)
        problem = f'{split}/{index}' if own is None else _TRANSLATION.sub('', str(own))
        text = {'question': question, 'answer': _answer(row, questions, where)}
        names = {'uid': f'{questions.series}/{group}', 'problem': f'{questions.series}/{problem}'}
        place = {'split': split, 'language': language, 'source': source}
        rows.append({**text, **names, **place, 'where': where, 'own': own or where})
    uids: dict[str, Iterator[str]] = {}
    for group in dict.fromkeys(row['uid'] for row in rows):
        uids[group] = iter(content_uids(group, [row['question'] for row in rows if row['uid'] == group]))
    return [{**row, 'uid': next(uids[row['uid']])} for row in rows]


def _answer(row: Mapping[str, Any], questions: QuestionSet, where: str) -> str:
    value = next((row[name] for name in questions.answer if name in row), None)
    if not questions.whole_numbers:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and questions.questions is None:
            return str(value)
        return _text_of(row, questions.answer, where)
    text = str(value).strip()
    if isinstance(value, (bool, float)) or not re.fullmatch('[0-9]{1,3}', text):
        raise InputError(f"{where}: 'answer' is {value!r:.80}; expected a whole number from 0 to 999")
    return str(int(text))


def limited(groups: Sequence[Hashable], limit: int) -> list[int]:
    """Return the places of the first questions of each group, as many of one group as of another.

    The groups (contest and language) are gone through in turn, in the order in which they first appear. So 10
    questions of LiveMathBench are of all contests, and in both languages, as its files are parallel.
    """
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InputError(f'limit = {limit!r}: expected a whole number of questions, 1 or more')
    places: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        places.setdefault(group, []).append(place)
    turns: Iterable[tuple[int | None, ...]] = zip_longest(*places.values())
    return sorted([place for place in chain.from_iterable(turns) if place is not None][:limit])


def language_of(text: str) -> str:
    """Return 'cn' for a text with Chinese characters, 'en' for any other."""
    return 'cn' if re.search('[\u4e00-\u9fff]', text) else 'en'


@cache
def _prompts() -> tuple[str, str]:
    from .judges.prompts import protocol_constants

    try:
        texts = protocol_constants()
    except MissingExtraError:
        return ENGLISH, CHINESE
    return texts['PROMPT_EN'], texts['PROMPT_CN']


def whole_prompt(question: str, language: str) -> str:
    """Return the whole prompt: the protocol's as the installed OpenCompass has it, else this package's."""
    from .judges.prompts import is_chinese

    return _prompts()[is_chinese(language)].format(question=question)
