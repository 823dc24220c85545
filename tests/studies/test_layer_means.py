"""Mean hidden states of output tokens: those of transformers, in bounded memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.studies.layer_means import LayerMeans, Tokens, load

torch = pytest.importorskip('torch', reason='torch is not installed in this environment')
transformers = pytest.importorskip('transformers', reason='transformers is not installed in this environment')

SIZES = {'vocab_size': 99, 'hidden_size': 32, 'intermediate_size': 48, 'num_hidden_layers': 3}
HEADS = {'num_attention_heads': 4, 'num_key_value_heads': 2}

KINDS = {
    'llama': ('LlamaConfig', {**SIZES, **HEADS}),
    'qwen2': ('Qwen2Config', {**SIZES, **HEADS}),
    'gemma2': ('Gemma2Config', {**SIZES, **HEADS, 'head_dim': 8, 'sliding_window': 16}),
    'gpt2': ('GPT2Config', {'vocab_size': 99, 'n_embd': 32, 'n_layer': 3, 'n_head': 4}),
    'mixtral': ('MixtralConfig', {**SIZES, **HEADS, 'num_local_experts': 3}),
}
"""Name → class of the config and its arguments; Mixtral has as many experts as layers."""


def model_of(kind: str, **more: Any) -> Any:
    """A model with random weights."""
    torch.manual_seed(0)
    name, settings = KINDS[kind]
    config = getattr(transformers, name)(**{**settings, **more})
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def drawn(lengths: Sequence[tuple[int, int]], vocabulary: int = 99) -> list[Tokens]:
    """Random prompts and responses of these lengths."""
    generator = np.random.default_rng(0)
    return [
        Tokens(*(generator.integers(vocabulary, size=size).tolist() for size in pair)) for pair in lengths
    ]


def plain(model: Any, tokens: Tokens) -> np.ndarray:
    """What transformers itself returns of one response, averaged by numpy in float64."""
    with torch.no_grad():
        states = model(torch.tensor([tokens.all]), output_hidden_states=True).hidden_states
    return np.array([one[0, len(tokens.prompt) :].numpy().astype(np.float64).mean(axis=0) for one in states])


@pytest.mark.parametrize('kind', KINDS)
def test_one_response_has_exactly_the_means_of_transformers(kind: str) -> None:
    """Hooks see the hidden states that `output_hidden_states` returns, embedding and final norm included."""
    model, [tokens] = model_of(kind), drawn([(7, 20)])
    found = LayerMeans(model).of([tokens])
    np.testing.assert_allclose(found[0], plain(model, tokens), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize('kind', KINDS)
def test_chunks_and_batches_change_the_last_bits_alone(kind: str) -> None:
    """Responses of several lengths padded in one batch, in chunks that cut prompts and responses anywhere."""
    model, batch = model_of(kind), drawn([(7, 20), (12, 1), (3, 41), (1, 5)])
    expected = [plain(model, tokens) for tokens in batch]
    for chunk in (5, 16, 1024):
        found = LayerMeans(model, chunk).of(batch)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-6, err_msg=str(chunk))


def test_the_model_of_the_demo_gives_the_means_of_transformers() -> None:
    """Loaded from its folder as a study loads it."""
    loaded = load(MODEL, device='cpu')
    assert (loaded.dtype, loaded.context) == ('float32', 8192)
    model = transformers.AutoModelForCausalLM.from_pretrained(MODEL)
    prompt, response = (loaded.tokenizer(text)['input_ids'] for text in ('计算 $7+9$。', '$7+9=16$'))
    tokens = Tokens(prompt, response)
    np.testing.assert_allclose(loaded.means.of([tokens])[0], plain(model, tokens), rtol=1e-12, atol=1e-14)


class Peak(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Measures the most bytes that tensors made within it hold at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0
        self._held: dict[int, tuple[Any, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for one in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(one, torch.Tensor):
                storage = one.untyped_storage()
                reference = torch.multiprocessing.reductions.StorageWeakRef(storage)
                self._held[storage._cdata] = reference, storage.nbytes()
        self._held = {key: held for key, held in self._held.items() if not held[0].expired()}
        self.most = max(self.most, sum(size for _, size in self._held.values()))
        return result


def peak_of(work: Any) -> int:
    with Peak() as peak, torch.inference_mode():
        work()
    return peak.most


def test_memory_does_not_grow_with_the_number_of_layers() -> None:
    """Eight times the layers take the same, and the sums; with all hidden states kept they take far more."""
    [tokens] = drawn([(20, 600)])
    took, kept = {}, {}
    for layers in (4, 32):
        model = model_of('llama', num_hidden_layers=layers)
        means, ids = LayerMeans(model), torch.tensor([tokens.all])
        took[layers] = peak_of(lambda means=means: means.of([tokens]))
        kept[layers] = peak_of(lambda model=model, ids=ids: model.model(ids, output_hidden_states=True))
    state = 620 * 32 * 4
    assert took[32] - took[4] < state / 4
    assert kept[32] - kept[4] > 27 * state


def test_memory_grows_with_a_long_response_by_its_cache_alone() -> None:
    """Four times the tokens take four times the keys and values, a mask of one chunk, and nothing else."""
    model = model_of('llama', max_position_embeddings=8192)
    means, took = LayerMeans(model, chunk=64), {}
    for length in (1024, 4096):
        batch = drawn([(10, length - 10)])
        took[length] = peak_of(lambda batch=batch: means.of(batch))
    cache = 3 * 2 * 2 * 8 * 4  # layers, keys and values, heads, size of a head, bytes
    whole = peak_of(lambda: model.model(torch.tensor([drawn([(10, 4086)])[0].all])))
    assert took[4096] - took[1024] < 3072 * (2 * cache + 64 * (1 + 4) + 16)
    assert took[4096] < whole / 2


def test_a_model_without_a_list_of_layers_is_refused() -> None:
    """The message names its class."""
    model = model_of('gpt2')
    model.config.n_layer = 7
    with pytest.raises(InputError, match='GPT2Model has no list of its 7 layers'):
        LayerMeans(model)


@pytest.mark.parametrize('device', ['mps', 'tpu', 'cuda:99'])
def test_a_device_that_is_not_there_is_refused(device: str) -> None:
    """Before the model is loaded."""
    with pytest.raises(InputError, match=f'--device {device}'):
        load(MODEL, device=device)


def test_a_folder_that_is_not_there_is_no_name_on_the_hub(tmp_path: Any) -> None:
    """Nobody asks the hub for it."""
    with pytest.raises(InputError, match=r'there is no folder .*none'):
        load(str(tmp_path / 'none'), device='cpu')


def test_a_folder_without_a_model_is_refused(tmp_path: Any) -> None:
    """In one line that names it."""
    with pytest.raises(InputError, match='transformers cannot load it') as refused:
        load(str(tmp_path), device='cpu')
    assert '\n' not in str(refused.value)


def cut(name: str, size: int = 100) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:size])


def configured(**settings: Any) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        path = folder / 'config.json'
        path.write_text(json.dumps(json.loads(path.read_text('utf-8')) | settings), encoding='utf-8')

    return change


DAMAGED: dict[str, Callable[[Path], object]] = {
    'weights cut': cut('model.safetensors'),
    'weights empty': cut('model.safetensors', 0),
    'config cut': cut('config.json'),
    'tokenizer cut': cut('tokenizer.json'),
    'other size': configured(hidden_size=128),
    'other vocabulary': configured(vocab_size=7),
    'more layers than weights': configured(num_hidden_layers=5),
    'no heads': configured(num_attention_heads=0),
    'odd config': lambda folder: (folder / 'config.json').write_text('[]'),
}


@pytest.mark.parametrize('name', DAMAGED)
def test_a_damaged_model_is_refused(name: str, tmp_path: Path) -> None:
    """In one line that names the folder and what to do; weights that are not there are not made up."""
    folder = tmp_path / 'model'
    shutil.copytree(MODEL, folder)
    DAMAGED[name](folder)
    with pytest.raises(InputError, match='transformers cannot load it') as refused:
        load(str(folder), device='cpu')
    told = str(refused.value)
    assert told.startswith(f'{folder}: ')
    assert told.endswith('--model PATH')
    assert '\n' not in told


def test_a_model_without_a_head_is_loaded(tmp_path: Path) -> None:
    """Hidden states need none; the body has its stored weights."""
    body = model_of('qwen2', tie_word_embeddings=False).model
    body.save_pretrained(tmp_path)
    [tokens] = drawn([(7, 20)])
    found = load(str(tmp_path), tokenizer=MODEL, device='cpu').means.of([tokens])
    np.testing.assert_allclose(found[0], plain(body, tokens), rtol=1e-12, atol=1e-14)
