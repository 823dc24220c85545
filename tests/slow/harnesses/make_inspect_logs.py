"""Logs that inspect_ai writes of a scripted model, of which `QUESTIONS` tells what is right."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

EPOCHS = 6
TASK = 'sums'

QUESTIONS: dict[str, tuple[str, list[str]]] = {
    '1': ('17 + 25', ['right', 'wrong', 'right', 'thought', 'cut', 'right']),
    '2': ('30 + 9', ['wrong', 'wrong', 'partial', 'wrong', 'none', 'wrong']),
    '3': ('8 + 8', ['right', 'right', 'right', 'right', 'right', 'right']),
    'a/b': ('70 + 1', ['right', 'failed', 'wrong', 'right', 'nan', 'parts']),
    '5': ('6 + 50', ['thought only', 'right', 'limit', 'right', 'wrong', 'filtered']),
}
"""Key of a question → its text, and what becomes of each of its samples, epoch by epoch.

right, parts, thought: correct; the second comes in several parts of content, the third after a thought.
wrong: another number. cut: cut off at the limit of tokens. none: a response without a number.
partial: worth 0.5. nan: a response that the scorers leave unscored. limit: a limit of tokens ends the
sample before its response is kept. failed: the model's server fails. thought only: a thought and no answer.
filtered: withheld by a filter.
"""

CORRECT = frozenset({'right', 'parts', 'thought'})
UNJUDGED = frozenset({'failed', 'nan', 'filtered'})


def truth(epochs: int) -> dict[str, str]:
    """Key of a question → a symbol of the verdict of each sample."""

    def symbol(kind: str) -> str:
        return '?' if kind in UNJUDGED else '01'[kind in CORRECT]

    return {uid: ''.join(map(symbol, kinds[:epochs])) for uid, (_, kinds) in QUESTIONS.items()}


def answer_of(text: str) -> int:
    return sum(map(int, text.split(' + ')))


def response_of(text: str, epoch: int, kind: str) -> str:
    """Return what the model says after any thought; it names the epoch, so that no two are copies."""
    right, how = answer_of(text), f'In attempt {epoch} I add the numbers of {text} one by one'
    return {
        'wrong': f'{how} and get {right + epoch}', 'cut': f'{how} and then',
        'none': 'I would rather not say.', 'partial': f'{how}, about {right + 1}', 'thought only': '',
        'filtered': '',
    }.get(kind, f'{how} and get {right}')  # fmt: skip


def _output(text: str, epoch: int, kind: str) -> Any:
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        ContentReasoning,
        ContentText,
        ModelOutput,
        ModelUsage,
    )

    if kind == 'failed':
        raise RuntimeError('the server of the model is gone')
    said = response_of(text, epoch, kind)
    content: Any = said
    thought = ContentReasoning(reasoning=f'Attempt {epoch}: {text} is easy.')
    if kind.startswith('thought'):
        content = [thought, ContentText(text=said)] if said else [thought]
    elif kind == 'parts':
        content = [ContentText(text=said[:20]), ContentText(text=said[20:])]
    stop: Any = {'cut': 'max_tokens', 'filtered': 'content_filter'}.get(kind, 'stop')
    message = ChatMessageAssistant(content=content, source='generate')
    used = 5000 if kind == 'limit' else 10 + epoch
    thinking = 4 if kind.startswith('thought') else None
    tokens = {'input_tokens': 20, 'input_tokens_cache_read': 3, 'output_tokens': used}
    usage = ModelUsage(**tokens, total_tokens=20 + used, reasoning_tokens=thinking)
    choice = ChatCompletionChoice(message=message, stop_reason=stop)
    return ModelOutput(model='scripted', choices=[choice], usage=usage)


def scripted_model() -> Any:
    """Return a model whose response is known from the question and the seed, which is the epoch."""
    from inspect_ai.model import get_model

    def respond(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
        text = messages[-1].text.removesuffix(' = ?')
        kinds = {question: kinds for question, kinds in QUESTIONS.values()}
        return _output(text, config.seed, kinds[text][config.seed - 1])

    return get_model('mockllm/model', custom_outputs=respond, memoize=False)


def _kind(state: Any) -> str:
    return QUESTIONS[str(state.sample_id)][1][state.epoch - 1]


def sums(copied_to: Path | None = None, **more: Any) -> Any:
    """Return the task.

    Args:
        copied_to: where the log is copied to while the sixth sample is drawn.
        more: arguments of `Task`, in the place of those that are given here.
    """
    from inspect_ai import Epochs, Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import Score, accuracy, mean, scorer
    from inspect_ai.solver import solver

    drawn: list[int] = []

    @solver
    def sampled() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            drawn.append(state.epoch)
            if copied_to is not None and len(drawn) == 6:
                [log] = copied_to.parent.glob('made/*.eval')
                shutil.copy(log, copied_to)
            return await generate(state, seed=state.epoch)

        return solve

    @scorer(metrics=[accuracy()], name='number')
    def number() -> Any:
        async def score(state: Any, target: Any) -> Any:
            found = re.findall(r'get (\d+)', state.output.completion)
            words = {'partial': 'P', 'none': 'N', 'nan': float('nan')}
            right = found[-1:] == [target[0]]
            value = words.get(_kind(state), 'C' if right else 'I')
            return Score(value=value, answer=found[-1] if found else None)

        return score

    @scorer(metrics=[mean()], name='credit')
    def credit() -> Any:
        async def score(state: Any, target: Any) -> Any:
            worth = {'partial': 0.5, 'nan': float('nan')}
            right = f'get {target[0]}' in state.output.completion
            return Score(value=worth.get(_kind(state), float(right)))

        return score

    @scorer(metrics={'*': [mean()]}, name='parts')
    def parts() -> Any:
        async def score(state: Any, target: Any) -> Any:
            said = state.output.completion
            return Score(value={'number': float(f'get {target[0]}' in said), 'work': float('add' in said)})

        return score

    samples = [
        Sample(
            id=int(key) if key.isdecimal() else key,
            input=f'{text} = ?',
            target=[str(answer_of(text)), f'{answer_of(text)}.0'] if key == '3' else str(answer_of(text)),
            metadata={'problem': 'even' if answer_of(text) % 2 == 0 else 'odd'},
        )
        for key, (text, _) in QUESTIONS.items()
    ]
    given = {
        'dataset': MemoryDataset(samples, name=TASK), 'solver': sampled(),
        'scorer': [number(), credit(), parts()], 'epochs': Epochs(EPOCHS, ['mean', 'at_least_2']),
        'token_limit': 4000, 'name': TASK,
    }  # fmt: skip
    return Task(**{**given, **more})


def _run(task: Any, folder: Path, **more: Any) -> Path:
    from inspect_ai import eval as run

    made = folder / 'made'
    settings = {
        'model': scripted_model(), 'temperature': 0.7, 'top_p': 0.9, 'max_tokens': 256, 'max_samples': 1,
        'fail_on_error': False, 'log_dir': str(made), 'display': 'none', 'log_buffer': 1,
    }  # fmt: skip
    [log] = run(task, **{**settings, **more})
    return Path(log.location.removeprefix('file://'))


def make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / 'made'
    _run(sums(copied_to=folder / 'running.eval'), folder).rename(folder / 'whole.eval')
    _run(sums(), folder, log_format='json').rename(folder / 'whole.json')
    _run(sums(), folder, fail_on_error=True).rename(folder / 'stopped.eval')
    shutil.rmtree(made)
