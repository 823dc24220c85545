"""A real vLLM, in process and as a server, against transformers on the same model: `make test-engines`.

Each test draws through the model class of this package that a template's config names.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hosts import import_plugin
from sweeping import configs_of as expand
from vllm_server import SAME_TEXTS, VLLM_IN_PROCESS

if find_spec('vllm') is None:
    pytest.skip('no vLLM here: make test-engines', allow_module_level=True)

import_plugin()
pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings('ignore')]

QUESTION = '7'
"""To questions that it knows the shipped model begins with one token nearly always; not to this."""

QUESTIONS = ('7', '12345', '=', 'What is 7 + 5?')
N, LENGTH, CONTEXT = 48, 24, 512
GREEDY = {'temperature': 0.0}

Sample = tuple[str, int]  # uid and replica


class Engine:
    """A model class of this package, with the settings of a template handed to it before each draw.

    With `reload` other settings take a new object, which a client of a server does at no cost.
    """

    def __init__(self, name: str, lines: Mapping[str, Any], reload: bool = False) -> None:
        self.name, self._lines, self._reload = name, lines, reload
        self.model: Any = None  # from the first draw on

    def draw(
        self,
        prompts: Sequence[str],
        samples: Sequence[Sample],
        settings: Mapping[str, Any],
        length: int = LENGTH,
        stop: Sequence[str] = (),
    ) -> list[tuple[str, Any]]:
        """Draw one batch: a response a prompt, of these samples, and what the engine said of it."""
        from opencompass.utils import build_model_from_cfg

        config = self._config(settings, stop)
        if self.model is None or self._reload:
            self.model = build_model_from_cfg(config)
            self._own_stops = getattr(self.model, 'stop_words', [])
        if not self._reload:
            self.model.generation_kwargs = dict(config['generation_kwargs'])
            self.model.stop_words = [*self._own_stops, *stop]
        found: dict[int, tuple[str, Any]] = {}

        def done(number, text, told, said):
            found[number] = (text, told)

        self.model.sample([*prompts], [self.model.seed_of(*one) for one in samples], length, done)
        return [found[number] for number in range(len(prompts))]

    def texts(self, asked: Sequence[tuple[str, Sample]], settings: Mapping[str, Any], size: int) -> list[str]:
        batches = [zip(*asked[at : at + size], strict=True) for at in range(0, len(asked), size)]
        return [text for batch in batches for text, _ in self.draw(*batch, settings)]

    def _config(self, settings: Mapping[str, Any], stop: Sequence[str]) -> Any:
        from mmengine.config import ConfigDict

        axes = {f'{name}s'.replace('ys', 'ies'): [value] for name, value in settings.items()}
        template = {'temperatures': [1.0], **axes, 'random_seeds': [42]}
        template['greedy'] = template['temperatures'] == [0.0]
        template |= {'k_lists': [[4]], 'n': 4, 'max_out_lens': [LENGTH], 'engine': self.name}
        if stop and self._reload:
            template['extra_body'] = {'stop': [*stop]}
        [config] = expand({**template, **self._lines}).values()
        return ConfigDict(config['models'][0])


@pytest.fixture(scope='session')
def here(padded):
    """The engine `vllm`; its model is loaded once."""
    lines = {
        'llm_infos': [{'path': str(padded), 'name': 'm', 'batch_size': 16}],
        'model_kwargs': {'dtype': 'float32', 'enforce_eager': True},
        'max_seq_len': CONTEXT,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in VLLM_IN_PROCESS.items():
            patch.setenv(name, value)
        yield Engine('vllm', lines)


@pytest.fixture(scope='session')
def openai(padded, vllm_url):
    """The same model behind vLLM's server, asked by `openai`."""
    own = {'openai_api_base': f'{vllm_url}/v1', 'key': 'EMPTY', 'tokenizer_path': str(padded)}
    infos = [{'path': 'm', 'batch_size': 16}]
    return Engine('openai', {'llm_infos': infos, **own, 'query_per_second': 1000}, reload=True)


@pytest.fixture(scope='session')
def lmdeploy_server(vllm_url):
    """And by `lmdeploy_server`, which speaks the same protocol."""
    lines = {'llm_infos': [{'path': 'm', 'batch_size': 16}], 'api_addr': vllm_url}
    return Engine('lmdeploy_server', lines, reload=True)


@pytest.fixture(params=['here', 'openai', 'lmdeploy_server'])
def engine(request):
    return request.getfixturevalue(request.param)


def test_seeds_reach_the_sampler(engine, padded):
    """The n samples of a question differ; a rerun, another batch size and order leave them as they are.

    But for rare ties in the last bits.
    """
    settings = {'temperature': flat_temperature(padded)}
    asked = [(text, (text, replica)) for replica in range(N // 4) for text in QUESTIONS]
    first = dict(zip(asked, engine.texts(asked, settings, N), strict=True))
    assert len({first[one] for one in asked if one[0] == QUESTION}) > N / 8
    for name, order, size in (
        ('again', asked, N),
        ('one at a time', asked[:8], 1),
        ('batches of 5', asked, 5),
        ('shuffled', random.Random(7).sample(asked, len(asked)), 16),
    ):
        others = engine.texts(order, settings, size)
        share = sum(first[one] == text for one, text in zip(order, others, strict=True)) / len(order)
        print(f'{engine.name} | {name} | {share:.1%} of the texts the same')
        assert share >= SAME_TEXTS, name


@pytest.mark.parametrize('name', ['here', 'openai'])
def test_each_token_is_the_one_of_its_seed(name, padded, request):
    """Transformers' scores and vLLM's random numbers of a seed give the very token, with each setting.

    Whatever else is in the batch. So each setting arrives, and none beside it.
    """
    import torch
    from vllm.v1.sample.ops.topk_topp_sampler import TopKTopPSampler

    engine, base = request.getfixturevalue(name), flat_temperature(padded)
    samples = [('seeded', replica) for replica in range(200)]
    decode = partial(tokenizer_of(padded).decode, skip_special_tokens=True)
    texts = [class_of(decode([token])) for token in range(model_of(padded).config.vocab_size)]
    for more in ({}, {'temperature': 1.5 * base}, {'top_k': 3}, {'top_p': 0.6}, {'repetition_penalty': 0.8}):
        settings = {'temperature': base, **more}
        drawn = engine.draw([QUESTION] * len(samples), samples, settings, length=1)
        rows = first_scores(padded, settings).expand(len(samples), -1).contiguous()
        seeds = [engine.model.seed_of(*one) for one in samples]
        generators = {row: torch.Generator().manual_seed(seed) for row, seed in enumerate(seeds)}
        tokens = TopKTopPSampler()(rows, generators, None, None)[0].tolist()
        assert [class_of(text) for text, _ in drawn] == [texts[token] for token in tokens], more


def test_greedy_is_transformers_greedy(engine, padded):
    """Also beside a prompt that is too long, and ended by a stop word, without the word."""
    whole = greedy_text(padded)
    drawn = engine.draw([QUESTION * CONTEXT, *[QUESTION] * 4], [('q', at) for at in range(5)], GREEDY)
    assert [told.state for _, told in drawn] == ['too long', *[None] * 4]
    assert {text.strip() for text, _ in drawn[1:]} == {whole}
    word = whole[len(whole) // 2 :][:2]
    [(text, told)] = engine.draw([QUESTION], [('q', 0)], GREEDY, stop=[word])
    assert (text.strip(), told.finish_reason) == (whole.partition(word)[0].strip(), 'stop')


def test_a_cut_response_says_so(engine, padded):
    """And the prompt has as many tokens as transformers' chat template gives it: it is applied once."""
    [(_, told)] = engine.draw([QUESTION], [('q', 0)], GREEDY, length=3)
    assert (told.finish_reason, told.output_tokens, told.state) == ('length', 3, None)
    assert told.prompt_tokens == len(prompt_ids(padded)[0])


# transformers


@cache
def model_of(path: Path) -> Any:
    return import_module('transformers').AutoModelForCausalLM.from_pretrained(path).float().eval()


@cache
def tokenizer_of(path: Path) -> Any:
    return import_module('transformers').AutoTokenizer.from_pretrained(path)


def prompt_ids(path: Path) -> Any:
    """The tokens of the question with the model's chat template, as a batch of one."""
    chat = [{'role': 'user', 'content': QUESTION}]
    text = tokenizer_of(path).apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    return import_module('torch').tensor([tokenizer_of(path).encode(text, add_special_tokens=False)])


def first_scores(path: Path, settings: Mapping[str, Any]) -> Any:
    """The scores of each token as the first one, after transformers' own processors."""
    import torch
    import transformers

    made = {
        'repetition_penalty': transformers.RepetitionPenaltyLogitsProcessor,
        'temperature': transformers.TemperatureLogitsWarper,
        'top_k': transformers.TopKLogitsWarper,
        'top_p': transformers.TopPLogitsWarper,
    }
    with torch.no_grad():
        scores = model_of(path)(prompt_ids(path)).logits[:, -1].float()
    processors = [made[name](settings[name]) for name in made if name in settings]
    return transformers.LogitsProcessorList(processors)(prompt_ids(path), scores)[0]


def flat_temperature(path: Path) -> float:
    """A temperature at which the likeliest first token has less than 60 %, or the highest tried."""
    tried = (1.0, 1.15, 1.3)  # 1.5 times as much is compared, too; servers take at most 2

    def likeliest(temperature):
        shares: Counter[str] = Counter()
        for token, share in enumerate(first_scores(path, {'temperature': temperature}).softmax(-1).tolist()):
            shares[class_of(tokenizer_of(path).decode([token], skip_special_tokens=True))] += share
        return max(shares.values())

    return next((one for one in tried if likeliest(one) < 0.6), tried[-1])


def greedy_text(path: Path) -> str:
    """What transformers generates without sampling."""
    ids = prompt_ids(path)
    settings = {'do_sample': False, 'max_new_tokens': LENGTH, 'attention_mask': ids.new_ones(ids.shape)}
    out = model_of(path).generate(ids, **settings)
    text: str = tokenizer_of(path).decode(out[0, ids.shape[1] :], skip_special_tokens=True)
    return text.strip()


def class_of(text: str) -> str:
    """Engines differ in spaces around a text, and in what they make of half a character."""
    return text.replace('\ufffd', '').strip()
