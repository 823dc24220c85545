"""G-Pass@k in Lighteval: `--custom-tasks gpassk_opencompass.lighteval`, tasks whose metric are our judges.

Lighteval also takes this file's path, and then it is in no package: so its imports are absolute.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import closing
from copy import deepcopy
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import yaml  # type: ignore[import-untyped]
from lighteval.metrics.metrics_sample import SampleLevelComputation, SamplingMetric
from lighteval.metrics.utils.metric_utils import SampleLevelMetric
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod
from loguru import logger
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from gpassk_opencompass import demo
from gpassk_opencompass.benchmarks import (
    BENCHMARKS,
    LIVE_MATH_BENCH_HUB,
    LiveMathBenchRows,
    dataset_rows,
    whole_prompt,
)
from gpassk_opencompass.errors import IncompleteError, InputError
from gpassk_opencompass.files import digest
from gpassk_opencompass.judges import build_judge, check_judge, problems, with_verdicts
from gpassk_opencompass.judges.verdicts import cache_folder
from gpassk_opencompass.metrics import DEFAULT_THRESHOLDS, Metric, metric_table
from gpassk_opencompass.record import Result, Share, Size, means, values
from gpassk_opencompass.samples import Counts, Samples
from gpassk_opencompass.scoring import score
from gpassk_opencompass.statistics import standard_error

VARIABLE = 'GPASSK_LIGHTEVAL'  # names a file of settings, YAML or JSON
PARAMETERS = ('n', 'k', 'thresholds', 'judge', 'unjudged_tolerance')  # of a task, task@n=16@k=8
NAME = 'G-Pass@k'  # of the metric; with an @ in it, Lighteval hands a task's parameters on
MOST_QUESTIONS = 1000  # rows of `question_numbers`, for each of which a task has a question or none
_FORGET = 'Delete the task in the cache (cache_dir; ~/.cache/huggingface/lighteval/<model>) and run it again.'
_PACKAGES = ('lighteval', 'numpy', 'datasets', 'transformers', 'torch')
_OF_QUESTION = ('uid', 'problem', 'question', 'split', 'language')
_OF_SAMPLE = ('answer', 'verdict', 'judged_by', 'why', 'reply_key', 'state')
_OF_RUN = {'n', 'ks', 'thresholds', 'judge', 'data', 'bounds', 'versions', 'signature'}

Rows = list[dict[str, Any]]


class TaskSettings(BaseModel):
    """What tasks are told, by a file or by their parameters; docs/lighteval.md explains each."""

    model_config = ConfigDict(extra='forbid', strict=True)

    n: Size = 48
    k: list[Size] = [4, 8, 16]
    thresholds: list[Share] = list(DEFAULT_THRESHOLDS)
    judge: dict[str, Any] = Field(default={'type': 'rule'}, validate_default=True)
    unjudged_tolerance: Share = 0.01
    questions: str = ''
    max_new_tokens: Size | None = None

    @field_validator('k', 'thresholds', mode='before')
    @classmethod
    def _items(cls, value: Any) -> Any:
        if isinstance(value, str):  # Lighteval takes no commas in parameters, so no lists
            return [yaml.safe_load(word) for word in value.split()]
        return list(value) if isinstance(value, (list, tuple)) else [value]

    @field_validator('judge', mode='before')
    @classmethod
    def _config(cls, value: Any) -> Any:
        config = {'type': value} if isinstance(value, str) else value
        check_judge(config)
        return with_verdicts(config, cache_folder('verdicts'))  # Lighteval tells a metric no output folder

    @model_validator(mode='after')
    def _metrics(self) -> TaskSettings:
        metric_table(self.n, self.k, self.thresholds)
        return self


def checked(model: type[BaseModel], given: object, where: str) -> Any:
    """Return a model of what is given; InputError lists all that is wrong with keys and values."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise InputError(f'{where} {problems(error, model)}') from None


def read_settings(path: str, model: type[BaseModel] = TaskSettings) -> Any:
    """Return the settings in a file, YAML or JSON; InputError lists all that is wrong in it."""
    try:
        given = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InputError(f'{path} cannot be read as YAML or JSON: {error}') from error
    return checked(model, given, f'{path}:')


class GPassKSamples(SamplingMetric, SampleLevelComputation):  # type: ignore[misc]
    """n responses a question judged together; Lighteval sets `PARAMETERS` as attributes."""

    def __init__(self, settings: TaskSettings) -> None:
        self.__dict__.update(base=settings, given={})

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in PARAMETERS:
            raise InputError(f'{NAME} has no parameter {name!r}; it has {", ".join(PARAMETERS)}')
        self.given[name] = value

    def __str__(self) -> str:
        """Return what decides about responses: Lighteval keeps them under the text of the whole task."""
        return f'{type(self).__name__}(n={self.settings.n})'

    @property
    def settings(self) -> TaskSettings:
        """Return the settings with the task's parameters; refuse what cannot be met."""
        return checked(TaskSettings, {**self.base.model_dump(), **self.given}, 'The task cannot be run:')  # type: ignore[no-any-return]

    def num_samples(self) -> int:
        """Return n, and build the judge: what it misses is found before anything is generated."""
        build_judge(self.settings.judge).close()
        return self.settings.n

    def compute(self, docs: Sequence[Doc], responses: Sequence[ModelResponse], **_: Any) -> Rows:
        """Return an entry a question, with each answer beside its verdict; errors are those of scoring."""
        settings = self.settings
        versions = {name: version(name) for name in _PACKAGES}
        wanted = settings.model_dump(include={'n', 'k', 'thresholds', 'unjudged_tolerance'})
        with closing(build_judge(settings.judge)) as judge:
            result = score(samples_of(docs, responses, settings.n), judge, versions=versions, **wanted)
        if lost := result.health.unjudged:
            told = f'{lost} of {result.health.samples} samples stayed unjudged and count as wrong'
            logger.warning(f'{told}; the same command again asks for them: {result.health.unjudged_reasons}')
        return _entries(docs, result)

    def corpus(self, entries: Rows) -> dict[str, float]:
        """Return the means over the questions, each with its standard error between source problems.

        Last come the shares of unjudged samples, and of different texts of a question (1 / n: copies).
        """
        n, counted = self.settings.n, [entry for entry in entries if not entry['left_out']]
        problem = [entry['problem'] for entry in counted]
        c, *shares = (np.array([one[name] for one in counted]) for name in ('c', 'unjudged', 'distinct'))
        counts = Counts(problem, problem, problem, np.full(len(c), n), c, shares[0])
        told: dict[str, float] = {}
        for name, mean in means(counts, sorted(self.settings.k), self.settings.thresholds).items():
            # NaN for one problem: Lighteval's average over a group would take a missing key for 0.
            error = standard_error(values(counts.n, counts.c, Metric.parse(name)), problem)
            told |= {name: mean, f'{name}_stderr': error}
        names = ('unjudged_share', 'distinct_share')
        return told | {name: float(one.mean()) / n for name, one in zip(names, shares, strict=True)}


def _entries(docs: Sequence[Doc], result: Result) -> Rows:
    """Return the entry of each doc; what is said of the whole run is the same text in each."""
    samples = result.samples()
    assert samples is not None  # those that were scored
    counts, rows = samples.counts(), samples.by_question()
    names = means(counts, result.ks, result.thresholds)
    metrics = {name: values(counts.n, counts.c, Metric.parse(name)).tolist() for name in names}
    left_out = {uid: reason for reason, uids in result.left_out.items() for uid in uids}
    run = result.model_dump_json(by_alias=True, include=_OF_RUN)
    entries = {}
    for place, uid in enumerate(counts.uid):
        own = samples.select(rows[uid])
        entries[uid] = {
            'metrics': {name: column[place] for name, column in metrics.items()},
            **{name: int(getattr(counts, name)[place]) for name in ('c', 'unjudged', 'undecided')},
            'distinct': len(set(own['response'])),
            'problem': counts.problem[place],
            'left_out': left_out.get(uid, ''),
            **{name + 's' * (name in _OF_SAMPLE[:2]): own[name] for name in _OF_SAMPLE if name in own},
            'gpassk': run,
        }
    return [entries[doc.specific['uid']] for doc in docs]


def samples_of(docs: Sequence[Doc], responses: Sequence[ModelResponse], n: int) -> Samples:
    """Return the first n responses to each doc, in the order of the data: Lighteval shuffles its docs.

    Raises:
        InputError: a response to another prompt: Lighteval pairs what its cache holds by row number alone.
        IncompleteError: a doc has fewer than n responses.
    """
    rows: Rows = []
    pairs = sorted(zip(docs, responses, strict=True), key=lambda pair: int(pair[0].id or 0))
    for (doc, response), lengths in zip(pairs, _output_tokens([said for _, said in pairs]), strict=True):
        about = {name: text for name, text in doc.specific.items() if name != 'benchmark'}
        where, count = f'{about["uid"]} of {doc.task_name}', len(response.text)
        if response.input and _letters(about['question']) not in _letters(response.input):
            other = 'was generated for another question: Lighteval kept it from other data under this name'
            raise InputError(f'what was generated for {where} {other}. {_FORGET}')
        if count < n:
            must = 'must sample (temperature above 0, no continuous batching), and an endpoint take n'
            raise IncompleteError(
                f'{count} responses to {where}, n = {n} are needed: a model {must}. {_FORGET}'
            )
        prompt = len([] if response.input_tokens is None else response.input_tokens)
        about['prompt_tokens'] = max(prompt - (response.padded_tokens_count or 0), 0) or None
        about['group'] = f'{about.pop("split")}_{about["language"]}'
        thoughts, tokens = (
            one if len(one) >= n else [None] * n for one in (response.reasonings or (), lengths)
        )
        for replica in range(n):
            # An endpoint that gives a choice no content (all tokens went into the thinking) said nothing.
            own = {'response': response.text[replica] or '', 'thought': thoughts[replica]}
            rows.append({**about, **own, 'output_tokens': tokens[replica], 'replica': replica})
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return Samples({name: column for name, column in columns.items() if set(column) != {None}})


def _output_tokens(responses: Sequence[ModelResponse]) -> list[list[int]]:
    """Return how many tokens each response has; [] where transformers may have padded them, or kept none."""
    said = (response.output_tokens for response in responses)
    lists = [list(kept) if isinstance(kept, (list, tuple)) else [] for kept in said]
    lists = [kept if all(isinstance(one, Sized) for one in kept) else [] for kept in lists]
    same_length = all(len(set(map(len, kept))) < 2 for kept in lists)
    padded = same_length and any(len(one) > 1 and one[-1] == one[-2] for kept in lists for one in kept)
    return [[] if padded else list(map(len, kept)) for kept in lists]


def _letters(prompt: str | Sequence[Any]) -> str:
    """Return the text of a prompt, which may be chat messages, without white space."""
    parts = [prompt] if isinstance(prompt, str) else prompt
    said = (part.get('content') if isinstance(part, Mapping) else part for part in parts)
    return ''.join(''.join(map(str, said)).split())


class Prompt:
    """The prompt function of a task: makes a `Doc` of a row's number, None beyond the last question.

    Lighteval keeps responses under a text of the task with this object's name. So it says what is asked, once
    that is known: responses to other questions are never taken for those to these.
    """

    def __init__(self, benchmark: str, read: Callable[[], Rows]) -> None:
        self._benchmark, self._read = benchmark, read
        self._docs: Rows = []

    @property
    def __name__(self) -> str:
        asked = repr([doc['query'] for doc in self._docs]).encode()
        return f'{self._benchmark} {digest(asked)[:16]}' if self._docs else self._benchmark

    def __call__(self, row: dict[str, Any], task_name: str) -> Doc | None:
        """Return the question of the number in `row`; the first call reads the whole list."""
        if row.get('__few_shots'):  # of the list itself, with their answers
            raise InputError(f'{task_name}: there are no few-shot examples; say {task_name} or {task_name}|0')
        if (number := row['number']) == 0 or not self._docs:
            self._docs = []
            for one in self._read():
                about = {name: one[name] for name in _OF_QUESTION} | {'reference': one['answer']}
                doc = {'query': whole_prompt(one['question'], one['language']), 'choices': [one['answer']]}
                about['benchmark'] = self._benchmark
                self._docs.append({**doc, 'gold_index': 0, 'specific': about})
        if (size := len(self._docs)) > MOST_QUESTIONS:
            raise InputError(f'{task_name}: {size} questions; a task has at most {MOST_QUESTIONS}: split it')
        return Doc(task_name=task_name, **deepcopy(self._docs[number])) if number < size else None


def task(name: str, benchmark: str, read: Callable[[], Rows], settings: TaskSettings) -> LightevalTaskConfig:
    """Return a task: its name in Lighteval, that of the benchmark in results, what reads the questions."""
    samples = GPassKSamples(settings)
    metric = SampleLevelMetric(NAME, True, SamplingMethod.GENERATIVE, samples, samples.corpus, True)
    return LightevalTaskConfig(
        name=name,
        prompt_function=Prompt(benchmark, read),
        # Lighteval calls load_dataset(hf_repo, hf_subset) and nothing else, which finds neither a folder in
        # LiveMathBench's layout nor several lists: so it loads numbers, and the prompt function reads.
        hf_repo=str(Path(demo.__file__).parents[1] / 'question_numbers'),
        hf_subset='default',
        hf_avail_splits=['test'],
        evaluation_splits=['test'],
        few_shots_split='test',
        generation_size=settings.max_new_tokens,
        metrics=[metric],
        version=1,
    )


def live_math_bench(name: str, rows: LiveMathBenchRows, settings: TaskSettings) -> LightevalTaskConfig:
    """Return a task that asks these questions of LiveMathBench."""
    part = {'version': rows.version, 'dataset_splits': rows.splits, 'dataset_languages': rows.languages}
    dataset = {'path': settings.questions or LIVE_MATH_BENCH_HUB, **part}
    return task(name, str(rows), partial(dataset_rows, dataset), settings)


def tasks(settings: TaskSettings) -> Iterator[LightevalTaskConfig]:
    """Yield a task a benchmark; of a version of LiveMathBench also one a split and language."""
    for name, found in BENCHMARKS.items():
        if isinstance(found, LiveMathBenchRows):
            for split, language in product(found.splits, found.languages):
                part = LiveMathBenchRows(found.version, (split,), (language,))
                yield live_math_bench(f'livemathbench:v{found.version}_{split}_{language}', part, settings)
            yield live_math_bench(name.replace('-', '_'), found, settings)
        else:
            dataset = {'benchmark': name, 'path': settings.questions}
            yield task(name, found.label, partial(dataset_rows, dataset), settings)
    of_demo = settings.model_copy(update={'questions': demo.QUESTIONS, 'max_new_tokens': 40})
    rows = LiveMathBenchRows(demo.VERSION, demo.SPLITS, demo.LANGUAGES)
    yield live_math_bench('gpassk_demo', rows, of_demo)


_FILE = os.environ.get(VARIABLE, '').strip()
TASKS_TABLE = list(tasks(read_settings(_FILE) if _FILE else TaskSettings()))
"""What Lighteval looks for."""
