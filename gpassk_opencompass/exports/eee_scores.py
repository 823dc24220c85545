"""The scores of a run as Every Eval Ever has them: metric, value, interval, data set, sampling, judge."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import GPassKError
from ..files import mapping
from ..judges.prompts import find_prompts, is_chinese
from ..metrics import ACCURACY, Kind, Metric, metrics_of
from ..results.groups import parted_group
from ..results.result import Result
from ..unseen import json_text
from .runs import UNKNOWN, judge_name

Json = dict[str, Any]

ERROR_METHOD = 'analytic, between source problems (translations of one problem are one cluster)'
INTERVAL_METHOD = (
    'Wilson, with the effective number of questions p(1 - p)/SE^2, and Student t with (problems - 1) degrees '
    'of freedom; of new questions of the same kind'
)

_HUB = re.compile(r'(?P<repo>[\w.-]+/[\w.-]+)@(?P<commit>[0-9a-f]{40})(?::(?P<subset>.+))?')
"""A source of questions that is a data set of the hub, as records tell it."""

_ABOUT = {
    Kind.ACCURACY: (
        'accuracy',
        'accuracy',
        'Share of correct answers: the mean over all samples of all questions. Samples without a verdict '
        'count as incorrect.',
    ),
    Kind.PASS: (
        'pass_at_k',
        'pass_rate',
        'Chance that one or more of k answers, drawn without replacement from the n of a question, are '
        'correct; unbiased estimate, mean over the questions (arXiv 2107.03374).',
    ),
    Kind.G_PASS: (
        'g_pass_at_k',
        'pass_rate',
        'G-Pass@k at threshold tau: chance that at least max(1, ceil(k * tau)) of k answers, drawn without '
        'replacement from the n of a question, are correct; unbiased estimate, mean over the questions '
        '(arXiv 2412.13147).',
    ),
    Kind.MG_PASS: (
        'mg_pass_at_k',
        'pass_rate',
        'mG-Pass@k: mean of G-Pass@k over the thresholds from 0.5 to 1, (2/k) * sum over i = ceil(k/2) + 1 '
        '... k of G-Pass@k at i/k; for odd k the largest value is (k - 1)/k (arXiv 2412.13147).',
    ),
}
"""Kind of metric → id, family and description."""


def metrics_in(result: Result) -> list[Metric]:
    """Return the metrics that the record of a run has, in their order."""
    if result.n == 1:
        return [ACCURACY]
    metrics = metrics_of(result.block['k'], result.block['thresholds'], pass_at=True)
    # The published sum of mG-Pass@1 is empty, and no record has its 0.
    return [ACCURACY, *(one for one in metrics if one != Metric.mg_pass_at(1))]


def scores_in(result: Result, evaluation_id: str, level: float) -> list[Json]:
    """Return `evaluation_results`: each metric of all questions, then of each group where there are several.

    Args:
        evaluation_id: with which the ids of the results begin.
        level: of confidence.
    """
    shared = {
        'source_data': source_data(result),
        'generation_config': generation_config(result),
    }
    judged = judged_by(result)
    return [
        {
            'evaluation_result_id': result_id(evaluation_id, name, metric),
            'evaluation_name': name,
            **shared,
            'metric_config': metric_config(metric, judged),
            'score_details': details,
        }
        for name, metric, details in _scores(result, level)
    ]


def result_id(evaluation_id: str, name: str, metric: Metric) -> str:
    """Return the id of one score within a run."""
    return f'{evaluation_id}/{name}/{metric}'


def _scores(result: Result, level: float) -> Iterator[tuple[str, Metric, Json]]:
    groups = list(dict.fromkeys(result.groups))
    for group in (None, *(groups if len(groups) > 1 else [])):
        for metric in metrics_in(result):
            name = result.benchmark if group is None else f'{result.benchmark}.{group}'
            yield name, metric, score_details(result, metric, level, group)


def score_details(result: Result, metric: Metric, level: float, group: str | None) -> Json:
    """Return value and interval of a metric; without uncertainty where no interval holds.

    Args:
        group: of which questions; None: of all.
    """
    found = result.interval(metric, level) if group is None else result.group_interval(group, metric, level)
    assert found is not None, group  # a group of the record itself
    rows = [row for row, one in enumerate(result.groups) if group in (None, one)]
    details = {
        'metric': str(metric),
        'questions': str(len(rows)),
        'problems': str(found.problems),
        'samples_per_question': str(result.n),
        'unjudged_samples': str(int(result.unjudged_of_each[rows].sum())),
    }
    if group is None and result.in_doubt.any():
        low, high = result.bounds(metric)
        details['bounds'] = f'{low!r} with all samples in doubt incorrect, {high!r} with all correct'
    if found.refused:
        details['no_interval'] = found.refused
        return {'score': _within(found.estimate), 'details': details}
    return {
        'score': _within(found.estimate),
        'details': details,
        'uncertainty': {
            'standard_error': {'value': found.error, 'method': ERROR_METHOD},
            'confidence_interval': {
                'lower': _within(found.low),
                'upper': _within(found.high),
                'confidence_level': level,
                'method': INTERVAL_METHOD,
            },
            'num_samples': len(rows),
        },
    }


def _within(share: float) -> float:
    """Return a share without the rounding that takes a sum of shares out of [0, 1]."""
    return min(max(share, 0.0), 1.0)


def metric_config(metric: Metric, judged: Json) -> Json:
    """Return what a metric is, and who judged.

    Args:
        judged: `judged_by` of the run.
    """
    name, family, description = _ABOUT[metric.kind]
    parameters: dict[str, float | int] = {} if metric.kind is Kind.ACCURACY else {'k': metric.k}
    if metric.threshold is not None:
        parameters['threshold'] = metric.threshold
    return {
        'evaluation_description': description,
        'metric_id': name,
        'metric_name': str(metric),
        'metric_kind': family,
        'metric_unit': 'proportion',
        **({'metric_parameters': parameters} if parameters else {}),
        'lower_is_better': False,
        'score_type': 'continuous',
        'min_score': 0.0,
        'max_score': 1.0,
        **judged,
    }


def judged_by(result: Result) -> Json:
    """Return who judged: `additional_details`, and `llm_scoring` where a model did whose prompts are at hand.

    The schema asks for the very prompts. They are those of this package or of the installed OpenCompass, if
    the record was made with the same ones; of others the record tells name and digest alone.
    """
    judge = result.judge
    told = {'judge': judge_name(judge), 'judge_identity': json_text(judge)}
    asked = _llm_of(judge)
    if asked is None:
        return {'additional_details': told}
    if not (prompt := _prompt(str(asked.get('prompts', '')), result.groups)):
        return {'additional_details': {**told, 'judge_prompts': str(asked.get('prompts') or UNKNOWN)}}
    model = str(asked.get('model') or UNKNOWN)
    temperature = mapping(asked.get('sampling')).get('temperature')
    known = isinstance(temperature, (int, float)) and math.isfinite(temperature)
    return {
        'llm_scoring': {
            'judges': [
                {
                    'model_info': {
                        'name': model,
                        'id': model if '/' in model else f'{UNKNOWN}/{model}',
                        'additional_details': {
                            'deployment_type': UNKNOWN,
                            'model_availability': UNKNOWN,
                        },
                    },
                    **({'temperature': temperature} if known else {}),
                }
            ],
            'input_prompt': prompt,
            'additional_details': {'prompts': str(asked['prompts'])},
        },
        'additional_details': told,
    }


def _llm_of(judge: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the identity of the judge that is a model: the judge itself, or one within a cascade."""
    if judge.get('name') == 'llm':
        return judge
    within = (_llm_of(part) for part in judge.values() if isinstance(part, dict))
    return next((found for found in within if found is not None), None)


def _prompt(called: str, groups: list[str]) -> str:
    """Return the prompts of a name with digest in the languages of the questions; '' if they are not here."""
    for choice in ('own', 'protocol'):
        try:
            prompts = find_prompts(choice)
        except GPassKError:  # OpenCompass is not installed, or has no such prompts
            continue
        if called == f'{prompts.name}:{prompts.digest}':
            chinese = {is_chinese(parted_group(group)[1]) for group in groups}
            texts = [prompts.chinese if one else prompts.english for one in sorted(chinese)]
            return '\n\n'.join(texts)
    return ''


def source_data(result: Result) -> Json:
    """Return which questions were asked: the data set of the hub where the record tells one."""
    told = mapping(result.block.get('data'))
    sources = [one for one in told.get('sources') or () if isinstance(one, str)]
    details = {
        'questions': str(len(result.uids)),
        'questions_sha256': result.data,
        **({'sources': json_text(sources)} if sources else {}),
    }
    found = [_HUB.fullmatch(one) for one in sources]
    repos = {one['repo'] for one in found if one}
    if len(repos) == 1 and all(found):
        return {
            'dataset_name': result.benchmark,
            'source_type': 'hf_dataset',
            'hf_repo': repos.pop(),
            'samples_number': len(result.uids),
            'sample_ids': result.uids,
            'additional_details': details,
        }
    return {'dataset_name': result.benchmark, 'source_type': 'other', 'additional_details': details}


def generation_config(result: Result) -> Json:
    """Return how the model sampled, as far as the run tells it."""
    sampling = result.sampling
    arguments: Json = {name: sampling[name] for name in ('temperature', 'top_p', 'top_k') if name in sampling}
    if sampling.get('max_out_len', 0) >= 1:
        arguments['max_tokens'] = sampling['max_out_len']
    others = ('repetition_penalty', 'random_seed')
    return {
        'generation_args': arguments,
        'additional_details': {
            'samples_per_question': str(result.n),
            **{name: str(sampling[name]) for name in others if name in sampling},
        },
    }
