"""G-Pass@k as a metric of Lighteval: its responses, this package's judges and numbers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence, Sized
from contextlib import closing
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
from lighteval.metrics.metrics_sample import SampleLevelComputation, SamplingMetric
from lighteval.metrics.utils.metric_utils import SampleLevelMetric
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.requests import Doc, SamplingMethod
from loguru import logger

from .errors import IncompleteError, InputError
from .judges.build import build_judge
from .lighteval_settings import VARIABLES, Settings, read_settings, unread
from .results.health import Generation
from .results.record import Measures
from .results.samples import TOLD, SampleTable
from .scoring import Samples, Scored, score_samples
from .uncertainty.intervals import mean_interval

HOST_PACKAGES = ('lighteval', 'numpy', 'datasets', 'transformers', 'torch')
SAMPLE_FIELDS = ('uid', 'problem', 'question', 'reference', 'split', 'language')
"""What a metric of this package needs to know of a `Doc`, in its `specific`."""

NAME = 'G-Pass@k'
"""The name of the metric; with an @ in it, Lighteval hands a task's parameters on."""

FORGET = (
    'Delete the folder of this task from the cache (cache_dir of the model, by default '
    '~/.cache/huggingface/lighteval/<model>) and run the command again.'
)

Results = list[dict[str, Any]]


class GPassKSamples(SamplingMetric, SampleLevelComputation):  # type: ignore[misc]
    """n responses a question judged together, whatever the question.

    Parameters are those of `lighteval_settings.VARIABLES`; Lighteval sets them from `task@n=16@k=8`, and
    what stays None comes from the environment. They are checked before anything is generated.
    """

    def __init__(self) -> None:
        super().__init__()
        self.parameters: dict[str, Any] = dict.fromkeys(VARIABLES)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in VARIABLES:
            self.parameters[name] = value
        elif name in ('parameters', 'normalize', 'strip_strings', 'type_exact_match', 'compute_score'):
            super().__setattr__(name, value)
        else:
            raise InputError(f'{NAME} has no parameter {name!r}; it has {", ".join(VARIABLES)}')

    def __str__(self) -> str:
        """Return what decides about the responses: Lighteval keeps them under the text of the whole task.

        So another judge, or other k, finds the responses that are there, and another n draws anew.
        """
        return f'{type(self).__name__}(n={self.settings.n})'

    @property
    def settings(self) -> Settings:
        """Return the parameters with the environment's and the defaults; refuse what cannot be met."""
        return read_settings(self.parameters, os.environ)

    def num_samples(self) -> int:
        """Return n, and try the judge out: Lighteval asks for n before anything is generated."""
        settings = self.settings
        _try_out(json.dumps(settings.judge))
        _warn_of_unread(tuple(unread(os.environ, settings.judge).items()))
        return settings.n

    def compute(self, docs: Sequence[Doc], responses: Sequence[ModelResponse], **_: Any) -> Results:
        """Return one entry a question: its metrics, c, and each of its n answers beside its verdict.

        Raises:
            InputError: a response to another prompt.
            IncompleteError: fewer responses than n, or more unjudged ones than tolerated.
        """
        settings = self.settings
        for doc, response in zip(docs, responses, strict=True):
            _check_prompt(doc, response)
        # Lighteval shuffles its docs; in the order of the data the record is that of every other host.
        order = sorted(range(len(docs)), key=lambda place: int(docs[place].id or 0))
        told = [responses[place] for place in order]
        samples = samples_of(
            [docs[place] for place in order],
            [_texts(one) for one in told],
            settings.n,
            generations_of(told, settings.n),
        )
        scored = _score(samples, settings)
        _warn_of_unjudged(scored.record['gpassk'])
        return _by_question(docs, samples, scored, settings.measures)

    def corpus(self, results: Results) -> dict[str, float]:
        """Return the means over the questions, each with its standard error between source problems.

        Two shares come last: of samples that stayed unjudged (they count as wrong), and of different texts
        among the n of a question (1 / n: they are copies).
        """
        settings = self.settings
        measures = settings.measures
        means = measures.means(np.array([result['c'] for result in results]))
        problems = [result['problem'] for result in results]
        table = {}
        for name, mean in means.items():
            table[name] = mean
            values = [result['metrics'][name] for result in results]
            # NaN for one problem: Lighteval's average over a group would take a missing key for 0.
            table[f'{name}_stderr'] = mean_interval(values, problems).error
        for name in ('unjudged', 'distinct'):
            table[f'{name}_share'] = float(np.mean([result[name] for result in results])) / measures.n
        return table


def g_pass_at_k_metric() -> SampleLevelMetric:
    """Return a metric for the `metrics` of a Lighteval task whose docs carry `SAMPLE_FIELDS`."""
    samples = GPassKSamples()
    return SampleLevelMetric(
        metric_name=NAME,
        higher_is_better=True,
        category=SamplingMethod.GENERATIVE,
        sample_level_fn=samples,
        corpus_level_fn=samples.corpus,
        batched_compute=True,
    )


def samples_of(
    docs: Sequence[Doc], texts: Sequence[Sequence[str]], n: int, generation: Sequence[Generation] = ()
) -> Samples:
    """Return the first n responses to each doc, in the columns that are scored.

    Args:
        generation: of each of them, question by question.

    Raises:
        InputError: a doc does not say which question it is.
        IncompleteError: a doc has fewer than n responses.
    """
    for doc, given in zip(docs, texts, strict=True):
        if missing := [name for name in SAMPLE_FIELDS if name not in (doc.specific or {})]:
            raise InputError(f'doc {doc.id} of {doc.task_name}: specific has no {", ".join(missing)}')
        if len(given) < n:
            raise IncompleteError(
                f'{len(given)} responses to {doc.specific["uid"]} of {doc.task_name}, n = {n} are needed: '
                'the model must sample (temperature above 0, no continuous batching), and an endpoint must '
                f'take n and answer. {FORGET}'
            )
    rows = [(doc.specific, text) for doc, given in zip(docs, texts, strict=True) for text in given[:n]]
    columns = {name: [specific[name] for specific, _ in rows] for name in SAMPLE_FIELDS}
    return Samples(
        replica=list(range(n)) * len(docs),
        response=[text for _, text in rows],
        generation=generation,
        **columns,
    )


def generations_of(responses: Sequence[ModelResponse], n: int) -> list[Generation]:
    """Return what Lighteval keeps of the first n responses of each entry: tokens, and no finish reasons.

    transformers without continuous batching pads the responses of a batch to one length, which nothing marks:
    where they may be padded, their tokens are not known.
    """
    said = [_token_lists(response) for response in responses]
    same_length = all(len(set(map(len, lists))) < 2 for lists in said)
    padded = same_length and any(len(one) > 1 and one[-1] == one[-2] for lists in said for one in lists)
    return [
        Generation(
            prompt_tokens=_prompt_tokens(response),
            output_tokens=len(lists[at]) if len(lists) >= n and not padded else None,
        )
        for response, lists in zip(responses, said, strict=True)
        for at in range(n)
    ]


def _token_lists(response: ModelResponse) -> list[Any]:
    """Return the tokens of each response; [] from models that keep something else there, or nothing."""
    kept = response.output_tokens
    whole = isinstance(kept, (list, tuple)) and all(isinstance(one, Sized) for one in kept)
    return list(kept) if whole else []


def _prompt_tokens(response: ModelResponse) -> int | None:
    """Return the tokens of a prompt, without those that pad it to the longest of its batch."""
    kept = 0 if response.input_tokens is None else len(response.input_tokens)
    return max(kept - (response.padded_tokens_count or 0), 0) or None


def _texts(response: ModelResponse) -> list[str]:
    """Return the responses as every other host gives them: with the thinking, for `final_answer`.

    An endpoint that gives a choice no content (all tokens went into the thinking) said nothing.
    """
    return [text or '' for text in response.text]


def _score(samples: Samples, settings: Settings) -> Scored:
    with closing(build_judge(settings.judge)) as judge:
        return score_samples(
            samples,
            judge,
            n=settings.n,
            k=settings.k,
            thresholds=settings.thresholds,
            unjudged_tolerance=settings.unjudged_tolerance,
            versions={package: version(package) for package in HOST_PACKAGES},
        )


@lru_cache
def _try_out(config: str) -> None:
    """Build the judge once, so that a missing key, package or folder is found before generation."""
    build_judge(json.loads(config)).close()


@lru_cache
def _warn_of_unread(variables: Sequence[tuple[str, str]]) -> None:
    """Warn once, and raise nothing: a script may have variables of its own."""
    for name, meant in variables:
        hint = f'is ${meant} meant?' if meant else 'docs/lighteval.md has the variables'
        logger.warning(f'nothing reads the environment variable ${name}: {hint}')


def _check_prompt(doc: Doc, response: ModelResponse) -> None:
    """Refuse a response to another prompt: Lighteval pairs what its cache holds by row number alone."""
    question = (doc.specific or {}).get('question', '')
    if response.input and _squeezed(question) not in _squeezed(_prompt_text(response.input)):
        raise InputError(
            f'what was generated for {doc.id} of {doc.task_name} was generated for another question: '
            f'Lighteval kept it from other data under this name. {FORGET}'
        )


def _prompt_text(prompt: str | Sequence[Any]) -> str:
    """Return the text of a prompt, which is a text or chat messages."""
    if isinstance(prompt, str):
        return prompt
    contents = [part.get('content') if isinstance(part, Mapping) else part for part in prompt]
    return '\n'.join(map(str, contents))


def _squeezed(text: str) -> str:
    return ''.join(text.split())


def _warn_of_unjudged(block: Mapping[str, Any]) -> None:
    if block['unjudged']:
        widest = max(block['bounds'], key=lambda name: block['bounds'][name][1] - block['bounds'][name][0])
        low, high = (share / 100 for share in block['bounds'][widest])
        logger.warning(
            f'{block["unjudged"]} of {block["samples"]} samples stayed unjudged {block["unjudged_reasons"]} '
            f'and count as wrong; were all of them right, {widest} were {high:.4f} instead of {low:.4f}. '
            'The same command again asks for them once more.'
        )


def _by_question(docs: Sequence[Doc], samples: Samples, scored: Scored, measures: Measures) -> Results:
    """Return the entry of each of `docs`; the block `gpassk` of the record is the same text in each."""
    counts, n = scored.record['gpassk']['counts'], measures.n
    place = {uid: number for number, uid in enumerate(counts['uid'])}
    block = {key: value for key, value in scored.record['gpassk'].items() if key != 'counts'}
    common = json.dumps(block, sort_keys=True)
    table = SampleTable(n, scored.samples.get)
    deciders = table.deciders()
    told = {name: column for name in TOLD if (column := table.by_question(name)) is not None}
    results = []
    for doc in docs:
        at = place[doc.specific['uid']]
        own = slice(at * n, (at + 1) * n)
        results.append(
            {
                'metrics': measures.means(np.array([counts['c'][at]])),
                'c': counts['c'][at],
                'unjudged': counts['unjudged'][at],
                'undecided': counts['undecided'][at],
                'distinct': len(set(samples.response[own])),
                'problem': doc.specific['problem'],
                'answers': scored.record['details']['answers'][at],
                'verdicts': list(scored.record['details']['verdicts'][at]),
                'judged_by': deciders[own],
                **{name: column[at] for name, column in told.items()},
                'gpassk': common,
            }
        )
    return results
