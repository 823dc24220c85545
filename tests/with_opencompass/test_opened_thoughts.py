"""A chat template that ends in `<think>`: a thought that the limit cuts is none the less one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import engine_fakes
import pytest
from engine_fakes import LMDEPLOY, fake_vllm
from hosts import drawn, import_plugin

from gpassk_opencompass.answers import final_answer
from gpassk_opencompass.demo import MODEL

plugin = import_plugin()

pytestmark = [pytest.mark.filterwarnings('ignore')]
REPLIES = [
    ('length', '6 · 7 is $\\boxed{42}$', ''),
    ('length', '6 · 7</think>$\\boxed{42}$', '42'),
    ('stop', 'It is $\\boxed{42}$', '42'),
]
"""Why a response ended, its text, and its answer. One that ended by itself without a mark had no thought."""


@pytest.fixture(params=['<think>\n', ''])
def thinking(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """A model whose template ends in a mark, and that mark; and one without."""
    folder = Path(shutil.copytree(MODEL, tmp_path / 'model'))
    file = folder / 'tokenizer_config.json'
    config = json.loads(file.read_text())
    config['chat_template'] += request.param
    file.write_text(json.dumps(config))
    return str(folder), request.param.strip()


def _vllm(patch: pytest.MonkeyPatch, path: str) -> Callable[[], Any]:
    def reply(seed: int) -> Any:
        reason, text, _ = REPLIES[seed]
        completion = SimpleNamespace(text=text, token_ids=[7], finish_reason=reason)
        return SimpleNamespace(prompt='', prompt_token_ids=[7], outputs=[completion])

    patch.setattr(engine_fakes, 'vllm_reply', reply)
    return lambda: plugin.SeededVLLM(path, generation_kwargs={'temperature': 1.0}, max_seq_len=512)


def _lmdeploy(patch: pytest.MonkeyPatch, path: str) -> Callable[[], Any]:
    if not LMDEPLOY.is_dir():
        pytest.skip('lmdeploy is not unpacked beside this environment; `make test` does it')
    patch.syspath_prepend(str(LMDEPLOY))

    def pipe(prompts: list[str], gen_config: list[Any], **_: Any) -> list[Any]:
        response = import_module('lmdeploy.messages').Response
        return [
            response(text=text, generate_token_len=7, input_token_len=7, finish_reason=reason)
            for reason, text, _ in (REPLIES[config.random_seed] for config in gen_config)
        ]

    patch.setattr('torch.cuda.is_available', lambda: True)
    patch.setattr('torch.cuda.device_count', lambda: 1)
    patch.setattr(import_module('lmdeploy'), 'pipeline', lambda *_, **__: pipe)
    return lambda: plugin.SeededTurboMind(path, gen_config={'do_sample': True}, engine_config={})


@pytest.mark.parametrize('engine', [_vllm, _lmdeploy])
def test_a_thought_that_the_template_began_and_the_limit_cut_holds_no_answer(
    engine: Any, thinking: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each engine whose prompt is rendered here, seeds standing for the replies."""
    path, mark = thinking
    with fake_vllm(monkeypatch, lambda *_: None):
        model = engine(monkeypatch, path)()
        texts = [text for text, *_ in drawn(model, ['6 · 7?'] * 3, range(3))]
    assert [final_answer(text).text for text in texts] == (
        [answer for *_, answer in REPLIES] if mark else ['42'] * 3
    )
    assert texts[0] == f'{mark}{REPLIES[0][1]}'
    assert texts[1:] == [text for _, text, _ in REPLIES[1:]]


def test_transformers_gets_the_mark_where_the_limit_cut(thinking: tuple[str, str]) -> None:
    """The model itself is drawn from: it knows no thoughts, so each response of two tokens is cut."""
    path, mark = thinking
    model = plugin.SeededHuggingFace(
        path,
        generation_kwargs={'do_sample': True, 'temperature': 1.0},
        model_kwargs={'torch_dtype': 'torch.float32', 'device_map': 'cpu'},
        max_seq_len=64,
    )
    texts, told, _ = zip(*drawn(model, ['What is 7 + 5?'] * 4, max_out_len=2), strict=True)
    cut = [text.startswith('<think>') for text in texts]
    assert cut == [mark != '' and one.finish_reason == 'length' for one in told]
    assert 'length' in {one.finish_reason for one in told}
