"""What must hold for every engine, with transformers on the same model as the oracle.

Each check draws through the model class of this package that a template's config names, and says in a line
what it saw. `test_vllm.py` runs them on a CPU.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import chi2
from sweeping import configs_of as expand

from gpassk_opencompass.health import Generation

QUESTION = '7'
"""To questions that it knows the shipped model begins with one token nearly always; not to this."""

QUESTIONS = ('7', '12345', '=', 'What is 7 + 5?')
N = 48
LENGTH = 24
CONTEXT = 512

DRAWS = 4000
"""First tokens per setting that are compared with the exact distribution."""

LEAST_EXPECTED = 20
"""Texts expected less often are counted together: with fewer, chi-square gives small p values too often."""

FALSE_ALARM = 1e-4
"""Below this p value a distribution is another one than transformers'; one test in 10,000 is wrong."""

TOLD_APART = 1e-9
"""With at most this p value the draws must contradict the distribution without the setting."""

SAME_TEXTS = 0.95
"""Least share of texts that a rerun, another batch size or order leaves as they are: last bits may change."""

AXES = {
    'temperature': 'temperatures',
    'top_k': 'top_ks',
    'top_p': 'top_ps',
    'repetition_penalty': 'repetition_penalties',
}
"""Setting -> the line of a template that has it."""


class Drawn(NamedTuple):
    """A response, and what the engine said of it."""

    text: str
    told: Generation


class Sample(NamedTuple):
    """Which sample a prompt is for."""

    uid: str
    replica: int


class Engine:
    """A model class of this package, with the settings of a template handed to it before each draw.

    `path` has the model's weights, for transformers; with `reload` other settings take a new object, which a
    client of a server does at no cost.
    """

    def __init__(self, name: str, path: Path, lines: Mapping[str, Any], reload: bool = False) -> None:
        self.name, self.path, self._lines, self._reload = name, path, lines, reload
        self.model: Any = None  # from the first draw on

    def draw(
        self,
        prompts: Sequence[str],
        samples: Sequence[Sample],
        settings: Mapping[str, Any],
        length: int = LENGTH,
        stop: Sequence[str] = (),
    ) -> list[Drawn]:
        """Draw one batch: a response a prompt, of these samples, with the settings of one config."""
        model = self._set(settings, stop)
        found: dict[int, Drawn] = {}
        seeds = [model.seed_of(*sample) for sample in samples]

        def done(number, text, told, said):
            found[number] = Drawn(text, told)

        model.sample([*prompts], seeds, length, done)
        return [found[number] for number in range(len(prompts))]

    def seeds_of(self, samples: Sequence[Sample]) -> list[int]:
        """Return the seeds that the last settings give to samples."""
        return [self.model.seed_of(*sample) for sample in samples]

    def _set(self, settings: Mapping[str, Any], stop: Sequence[str]) -> Any:
        from opencompass.utils import build_model_from_cfg

        config = self._config(settings, stop)
        if self.model is None or self._reload:
            self.model = build_model_from_cfg(config)
            self._own_stops = getattr(self.model, 'stop_words', [])
        for field in ('generation_kwargs', 'gen_config'):
            if field in config and not self._reload:
                setattr(self.model, field, dict(config[field]))
        if not self._reload:
            self.model.stop_words = [*self._own_stops, *stop]
        return self.model

    def _config(self, settings: Mapping[str, Any], stop: Sequence[str]) -> Any:
        from mmengine.config import ConfigDict

        axes = {AXES[name]: [value] for name, value in settings.items()}
        template = {'temperatures': [1.0], **axes, 'random_seeds': [42]}
        template['greedy'] = template['temperatures'] == [0.0]
        template |= {'k_lists': [[4]], 'n': 4, 'max_out_lens': [LENGTH], 'engine': self.name}
        if stop and self._reload:
            template['extra_body'] = {'stop': [*stop]}
        (config,) = expand({**template, **self._lines}).values()
        return ConfigDict(config['models'][0])


class Finding(NamedTuple):
    """One check: its name, whether it holds, and what was seen."""

    check: str
    holds: bool
    seen: str


def seeds_reach_the_sampler(engine: Engine) -> Finding:
    """The n samples of a question differ, and a rerun gives them again."""
    settings = {'temperature': flat_temperature(engine.path)}
    samples = [Sample('q', replica) for replica in range(N)]
    first, again = (engine.draw([QUESTION] * N, samples, settings) for _ in range(2))
    texts = [one.text for one in first]
    same = _share_of_same(texts, [one.text for one in again])
    different = len(set(texts))
    holds = different > N / 2 and same >= SAME_TEXTS
    return Finding('seeds', holds, f'{different} of {N} texts differ; {same:.1%} the same in a rerun')


def batches_change_no_random_numbers(engine: Engine) -> Finding:
    """Batch size and order leave the texts as they are, but for rare ties in the last bits."""
    settings = {'temperature': flat_temperature(engine.path)}
    asked = [(text, Sample(text, replica)) for replica in range(N // 4) for text in QUESTIONS]
    whole = dict(zip([sample for _, sample in asked], _texts(engine, asked, settings, N), strict=True))
    shares = {}
    for name, order, size in (
        ('one at a time', asked[:8], 1),
        ('batches of 5', asked, 5),
        ('shuffled', random.Random(7).sample(asked, len(asked)), 16),
    ):
        others = _texts(engine, order, settings, size)
        shares[name] = _share_of_same([whole[sample] for _, sample in order], others)
    seen = ', '.join(f'{name}: {share:.1%} the same' for name, share in shares.items())
    return Finding('batch size and order', min(shares.values()) >= SAME_TEXTS, seen)


def each_setting_arrives(engine: Engine) -> list[Finding]:
    """First tokens are distributed as transformers says, with each setting; and not as without it."""
    (first, without), *others = settings_of(engine.path).items()
    plain = first_texts(engine.path, without)
    found = [_compared(first, engine, without, None)]
    return found + [_compared(name, engine, settings, plain) for name, settings in others]


def settings_of(path: Path) -> dict[str, dict[str, Any]]:
    """Return each setting that is compared, under its name; the first is without any."""
    base = flat_temperature(path)
    return {
        'no other setting': {'temperature': base},
        'temperature': {'temperature': 1.5 * base},
        'top_k': {'temperature': base, 'top_k': 3},
        'top_p': {'temperature': base, 'top_p': 0.6},
        'repetition_penalty': {'temperature': base, 'repetition_penalty': 0.8},
    }


def _compared(
    name: str, engine: Engine, settings: Mapping[str, Any], plain: Mapping[str, float] | None
) -> Finding:
    samples = [Sample(name, replica) for replica in range(DRAWS)]
    drawn = engine.draw([QUESTION] * DRAWS, samples, settings, length=1)
    seen = Counter(class_of(one.text) for one in drawn)
    right = p_value(seen, first_texts(engine.path, settings))
    text = f'{DRAWS} first tokens, {len(seen)} different: p = {right:.3f} for transformers with it'
    if plain is None:
        return Finding(name, right > FALSE_ALARM, text)
    without = p_value(seen, plain)
    return Finding(name, right > FALSE_ALARM and without <= TOLD_APART, f'{text}, {without:.0e} without')


def greedy_is_transformers_greedy(engine: Engine) -> Finding:
    """Temperature 0 gives the text of `generate(do_sample=False)`."""
    samples = [Sample('q', replica) for replica in range(4)]
    texts = {one.text.strip() for one in engine.draw([QUESTION] * 4, samples, {'temperature': 0.0})}
    expected = greedy_text(engine.path)
    return Finding('greedy', texts == {expected}, f'{sorted(texts)}, transformers {expected!r}')


def a_stop_word_ends_the_response(engine: Engine) -> Finding:
    """The text up to a word of the greedy response, without the word."""
    whole = greedy_text(engine.path)
    word = whole[len(whole) // 2 :][:2]
    (drawn,) = engine.draw([QUESTION], [Sample('q', 0)], {'temperature': 0.0}, stop=[word])
    expected, reason = whole.partition(word)[0].strip(), drawn.told.finish_reason
    holds = drawn.text.strip() == expected and reason == 'stop'
    return Finding('stop words', holds, f'{word!r} ends with {drawn.text!r}, finish reason {reason}')


def the_chat_template_is_applied_once(engine: Engine) -> Finding:
    """The prompt has as many tokens as transformers' template gives it."""
    (drawn,) = engine.draw([QUESTION], [Sample('q', 0)], {'temperature': 1.0})
    expected = len(prompt_ids(engine.path))
    told = drawn.told.prompt_tokens
    return Finding('chat template', told == expected, f'{told} prompt tokens, transformers {expected}')


def a_cut_response_says_so(engine: Engine) -> Finding:
    """Finish reason and tokens of a response that may have three tokens."""
    (drawn,) = engine.draw([QUESTION], [Sample('q', 0)], {'temperature': 0.0}, length=3)
    told = drawn.told
    holds = (told.finish_reason, told.output_tokens, told.state) == ('length', 3, None)
    return Finding('cut response', holds, f'{told.finish_reason}, {told.output_tokens} tokens')


def a_prompt_that_is_too_long_is_a_state(engine: Engine) -> Finding:
    """And the others of its batch are drawn."""
    long = QUESTION * CONTEXT
    samples = [Sample('long', 0), Sample('q', 0)]
    first, second = engine.draw([long, QUESTION], samples, {'temperature': 0.0})
    alone = first.told.state, second.told.state
    holds = alone == ('too long', None) and second.text.strip() == greedy_text(engine.path)
    return Finding('too long a prompt', holds, f'states {alone}, the other {second.text!r}')


CHECKS: tuple[Callable[[Engine], Finding | list[Finding]], ...] = (
    seeds_reach_the_sampler, batches_change_no_random_numbers, each_setting_arrives,
    greedy_is_transformers_greedy, a_stop_word_ends_the_response, the_chat_template_is_applied_once,
    a_cut_response_says_so, a_prompt_that_is_too_long_is_a_state,
)  # fmt: skip


def p_value(seen: Mapping[str, int], expected: Mapping[str, float]) -> float:
    """Return Pearson's chi-square p value; what is expected less often than `LEAST_EXPECTED` is one class."""
    total = sum(seen.values())
    if any(expected.get(text, 0.0) == 0.0 for text in seen):
        return 0.0
    often = [text for text, share in expected.items() if share * total >= LEAST_EXPECTED]
    pairs = [(seen.get(text, 0), expected[text] * total) for text in often]
    rest = total - sum(count for count, _ in pairs), total - sum(mean for _, mean in pairs)
    pairs += [rest] if rest[1] > 1e-6 else []
    statistic = sum((count - mean) ** 2 / mean for count, mean in pairs)
    return float(chi2.sf(statistic, max(len(pairs) - 1, 1)))


def first_texts(path: Path, settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the exact distribution of the first token's text."""
    shares: Counter[str] = Counter()
    for text, share in zip(token_texts(path), first_scores(path, settings).softmax(-1).tolist(), strict=True):
        shares[text] += share
    return dict(shares)


def token_texts(path: Path) -> list[str]:
    """Return the text of each token, as texts are compared here."""
    count = _model(path).config.vocab_size
    return [class_of(_tokenizer(path).decode([token], skip_special_tokens=True)) for token in range(count)]


def first_scores(path: Path, settings: Mapping[str, Any]) -> Any:
    """Return the scores of each token as the first one, after transformers' own processors."""
    import torch
    import transformers

    made = {
        'repetition_penalty': transformers.RepetitionPenaltyLogitsProcessor,
        'temperature': transformers.TemperatureLogitsWarper,
        'top_k': transformers.TopKLogitsWarper,
        'top_p': transformers.TopPLogitsWarper,
    }
    ids = torch.tensor([prompt_ids(path)])
    with torch.no_grad():
        scores = _model(path)(ids).logits[:, -1].float()
    processors = [made[name](settings[name]) for name in made if name in settings]
    return transformers.LogitsProcessorList(processors)(ids, scores)[0]


def flat_temperature(path: Path) -> float:
    """Return a temperature at which the likeliest first token has less than 60 %, or the highest tried."""
    tried = (1.0, 1.15, 1.3)  # 1.5 times as much is compared, too; servers take at most 2
    shares = (max(first_texts(path, {'temperature': one}).values()) for one in tried)
    return next((one for one, share in zip(tried, shares, strict=True) if share < 0.6), tried[-1])


def prompt_ids(path: Path) -> list[int]:
    """Return the tokens of the question with the model's chat template."""
    chat = [{'role': 'user', 'content': QUESTION}]
    text = _tokenizer(path).apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    ids: list[int] = _tokenizer(path).encode(text, add_special_tokens=False)
    return ids


def greedy_text(path: Path) -> str:
    """Return what transformers generates without sampling."""
    import torch

    ids = torch.tensor([prompt_ids(path)])
    out = _model(path).generate(
        ids, do_sample=False, max_new_tokens=LENGTH, attention_mask=torch.ones_like(ids)
    )
    text: str = _tokenizer(path).decode(out[0, ids.shape[1] :], skip_special_tokens=True)
    return text.strip()


@cache
def _model(path: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(path).float().eval()


@cache
def _tokenizer(path: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(path)


def class_of(text: str) -> str:
    """Engines differ in spaces around a text, and in what they make of half a character."""
    return text.replace('\ufffd', '').strip()


def _texts(
    engine: Engine, asked: Sequence[tuple[str, Sample]], settings: Mapping[str, Any], size: int
) -> list[str]:
    texts: list[str] = []
    for start in range(0, len(asked), size):
        prompts, samples = zip(*asked[start : start + size], strict=True)
        texts += [one.text for one in engine.draw(prompts, samples, settings)]
    return texts


def _share_of_same(texts: Sequence[str], others: Sequence[str]) -> float:
    return sum(map(str.__eq__, texts, others)) / len(texts)
