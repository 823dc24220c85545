"""What is known to be wrong with an old run: by its config, its responses and its result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..answers import final_answer, normal_form
from ..judges.protocol import Verdict
from ..judges.reply import read_verdict
from ..questions.wording import language_of
from ..replicas import describe_replicas
from ..sweep.computed import fixed_seeds
from .old_runs import EVALUATOR_CLASS, OldRun
from .old_scores import OldReplies, OldScores, old_replies
from .predictions import Replicas
from .questions import Questions

COPIES = 'NOT INDEPENDENT'
"""Begins what speaks against n samples being n samples; no judge can mend that."""


def findings(run: OldRun, replicas: Replicas, questions: Questions, old: OldScores) -> list[str]:
    """Sentences for people, the gravest first; nothing is judged for them."""
    replies = old_replies(run)
    return [
        *_of_samples(run, replicas),
        *_of_verdicts(run, replicas, old, replies),
        *_of_replies(questions, replies),
        *_of_result(run, old),
        *_of_questions(questions),
    ]


def seed_warnings(run: OldRun, n: int) -> list[str]:
    """That all samples of a question had one seed, by the config."""
    seeds = ', '.join(f'{name} = {value!r:.40}' for name, value in fixed_seeds(run.model_config).items())
    if n == 1 or not seeds:
        return []
    return [
        f'the config gives all n = {n} samples of a question one fixed seed ({seeds}); an engine that '
        'seeds each request by it draws n copies, of which no judge makes n samples: sample again'
    ]


def _of_samples(run: OldRun, replicas: Replicas) -> Iterator[str]:
    """One seed for all samples, greedy decoding, copies."""
    if replicas.n == 1:
        return
    responses = [text for texts in replicas.responses for text in texts]
    rows = np.arange(len(responses)).reshape(len(replicas.responses), replicas.n)
    told = describe_replicas(responses, rows)
    for warning in [*seed_warnings(run, replicas.n), *told['warnings']]:
        yield f'{COPIES}: {warning}'
    if told['distinct'] < replicas.n:
        yield f'{told["distinct"]:.1f} of n = {replicas.n} responses to a question are different, on average'


def _of_verdicts(run: OldRun, replicas: Replicas, old: OldScores, replies: OldReplies) -> Iterator[str]:
    """The verdict on the first sample, given to all n of them."""
    size = len(replicas.questions)
    if replicas.n == 1 or not run.had_llm_judge or not old.metrics or old.problem:
        return
    if 0 < len(replies.labels) < size * replicas.n:
        yield (
            f'WRONG SCORES: the old judge was asked {min(len(replies.labels), size)} times for '
            f'{size * replicas.n} samples (tmp_judge.json): the verdict on the first sample of a question '
            'counted for all of them'
        )
        return
    different = sum(_answers_differ(texts) for texts in replicas.responses)
    if old.verdicts and different and all(len(set(verdicts)) == 1 for verdicts in old.verdicts):
        yield (
            f'WRONG SCORES: all n = {replicas.n} samples of a question have one old verdict, in all {size} '
            f'questions, {different} of which have different final answers: as where the verdict on the '
            'first sample counts for all of them'
        )


def _answers_differ(texts: Sequence[str]) -> bool:
    return len({normal_form(final_answer(text).text) for text in texts}) > 1


def _of_replies(questions: Questions, replies: OldReplies) -> Iterator[str]:
    """Replies that were not understood, and questions that were put in the wrong language."""
    if len(replies.labels) > len(questions.rows):
        yield (
            f'tmp_judge.json holds {len(replies.labels)} replies for {len(questions.rows)} questions: '
            'verdicts of another data set that was evaluated in the same process'
        )
    said = {place: read_verdict(reply) for place, reply in replies.replies.items()}
    missed = sum(said[place] is Verdict.CORRECT and not label for place, label in replies.labels.items())
    unread = sum(verdict is None for verdict in said.values())
    if missed:
        yield f'{missed} replies of the old judge say yes, but not as \\boxed{{yes}}, and counted as no'
    if unread:
        yield f'{unread} replies of the old judge hold no verdict and counted as no'
    english = [place for place, row in enumerate(questions.rows) if row.language == 'en']
    chinese = sum(language_of(replies.prompts.get(place, '')[:20]) == 'cn' for place in english)
    if chinese:
        yield f'{chinese} of {len(english)} English questions were put to the old judge in Chinese'


def _of_result(run: OldRun, old: OldScores) -> Iterator[str]:
    if old.problem:
        yield old.problem if old.metrics else f'no old scores to compare: {old.problem}'
    if not old.metrics and run.evaluator_class == EVALUATOR_CLASS and '_' not in run.dataset:
        yield f'the built-in evaluator raises an IndexError for abbr = {run.dataset!r}, which has no "_"'
    parts = {name.partition('/')[0] for name in old.groups}
    if len(parts) == 1:
        yield f'the old breakdown has one part, {parts.pop()!r}, which repeats the total'
    if run.postprocessors:
        yield (
            f'the old evaluation applied {", ".join(run.postprocessors)} to each response before judging it; '
            'here the final answer is looked for in the response as it is, behind </think> if that is there'
        )


def _of_questions(questions: Questions) -> Iterator[str]:
    if questions.whole_prompts:
        yield (
            f'the question cannot be cut out of {questions.whole_prompts} prompts: a judge that reads '
            'questions is shown the whole prompt; --questions DATA gives the questions themselves'
        )
    if not questions.named:
        yield (
            'contest, language and place of the questions are not known, so they are numbered: this result '
            'cannot be paired with those of new runs; --questions DATA names them'
        )
