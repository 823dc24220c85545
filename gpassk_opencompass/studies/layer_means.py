"""The mean hidden state of a response at each layer, from one teacher-forced pass with transformers.

No hidden state outlives its layer: hooks add the output tokens of each layer to a sum of their own. So memory
does not grow with the number of layers, nor, as long responses go through in chunks over a key-value cache,
with the length of a response beyond that cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, MissingExtraError

CHUNK = 1024
"""Tokens of each response that go through the model at a time."""


class Tokens(NamedTuple):
    """A prompt as the model read it, and the response behind it, which has at least one token."""

    prompt: Sequence[int]
    response: Sequence[int]

    @property
    def all(self) -> list[int]:
        """Return the tokens that go through the model."""
        return [*self.prompt, *self.response]


class Loaded(NamedTuple):
    """A model that is ready, and its tokenizer."""

    means: LayerMeans
    tokenizer: Any
    context: int | None
    """The longest sequence that its config allows; None where it does not say."""
    dtype: str
    """Of the weights: 'float32', 'bfloat16', …"""


def load(
    path: str,
    tokenizer: str | None = None,
    device: str = 'auto',
    dtype: str = 'auto',
    chunk: int = CHUNK,
) -> Loaded:
    """Load a model and its tokenizer.

    Args:
        path: of the model: a folder, or a name on the hub.
        tokenizer: where the tokenizer is, if not there.
        device: `cpu`, `cuda`, `cuda:1`; 'auto': a GPU if there is one.
        dtype: of the weights: float32, bfloat16, float16; 'auto': as stored on a GPU, float32 on a CPU.
        chunk: see `LayerMeans`.

    Raises:
        InputError: there is no such folder or device, nothing in it that transformers can load, or no
            weights for a part of the model.
        MissingExtraError: transformers or torch is not installed.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise MissingExtraError('transformers', 'studies') from error
    where = _device(device)
    kind = 'float32' if dtype == 'auto' and where.type == 'cpu' else dtype
    _check_folder(path)
    _check_folder(tokenizer or path)
    try:
        words = AutoTokenizer.from_pretrained(tokenizer or path)
        model, report = AutoModelForCausalLM.from_pretrained(
            path, dtype=kind if kind == 'auto' else getattr(torch, kind), output_loading_info=True
        )
    except Exception as error:  # damaged files end in errors of safetensors, tokenizers, pickle, torch, …
        raise _unloadable(path, f'{type(error).__name__}: {error}') from error
    body = f'{model.base_model_prefix}.'
    if missing := sorted(name for name in report['missing_keys'] if name.startswith(body)):
        raise _unloadable(path, f'there are no weights for {len(missing)} tensors, such as {missing[0]}')
    model.eval().to(where)
    context = getattr(_config(model), 'max_position_embeddings', None)
    return Loaded(LayerMeans(model, chunk), words, context, str(model.dtype).removeprefix('torch.'))


def _unloadable(path: str, why: str) -> InputError:
    return InputError(
        f'{path}: transformers cannot load it ({" ".join(why.split())[:200]}); give the folder of the model '
        'that the responses were sampled with: --model PATH'
    )


def _check_folder(path: str) -> None:
    """Refuse a path that is no folder before anybody looks for a model of that name on the hub."""
    local = Path(path)
    if (local.is_absolute() or path.startswith(('.', '~'))) and not local.is_dir():
        raise InputError(
            f'there is no folder {path}; give the one of the model that the responses were sampled with: '
            '--model PATH'
        )


def _device(name: str) -> Any:
    import torch

    if name == 'auto':
        name = 'cuda' if torch.cuda.is_available() else 'cpu'
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f'--device {name}: expected auto, cpu, cuda or cuda:<number>') from error
    if device.type not in ('cpu', 'cuda'):  # the sums are of float64, which others lack
        raise InputError(f'--device {name}: expected auto, cpu, cuda or cuda:<number>')
    if device.type == 'cuda' and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(f'--device {name}: torch sees {torch.cuda.device_count()} GPUs here')
    return device


def _config(model: Any) -> Any:
    return model.config.get_text_config()


class LayerMeans:
    """Computes mean hidden states of responses with a model.

    Args:
        model: of transformers, for causal language modelling; the head is not used.
        chunk: tokens of each response that go through at a time.

    Raises:
        InputError: the model has no list of layers that could be watched.
    """

    def __init__(self, model: Any, chunk: int = CHUNK) -> None:
        self._model = model.base_model
        self._chunk = chunk
        self._layers = _layers_of(self._model, _config(model).num_hidden_layers)

    def of(self, batch: Sequence[Tokens]) -> NDArray[np.float64]:
        """Return the mean over the output tokens behind the embedding and behind each layer.

        As in `hidden_states` of transformers the last one is behind the final norm.

        Args:
            batch: responses that go through together; the shorter ones are padded on the right, where
                causal attention does not see it.

        Returns:
            Shape (responses, layers + 1, hidden size).
        """
        import torch

        rows = [one.all for one in batch]
        longest = max(map(len, rows))
        ids = torch.zeros((len(rows), longest), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = torch.tensor(row)
            mask[place, : len(row)] = 1
        ids, mask = ids.to(self._model.device), mask.to(self._model.device)
        padded = not bool(mask.all())
        sums = _Sums([range(len(one.prompt), len(row)) for one, row in zip(batch, rows, strict=True)])
        cache = None
        with torch.inference_mode(), self._watched(sums):
            for start in range(0, longest, self._chunk):
                end = min(start + self._chunk, longest)
                sums.begin(start, end)
                output = self._model(
                    input_ids=ids[:, start:end],
                    attention_mask=mask[:, :end] if padded else None,
                    past_key_values=cache,
                    use_cache=longest > self._chunk,
                    output_hidden_states=False,
                    output_attentions=False,
                    return_dict=True,
                )
                cache = getattr(output, 'past_key_values', None)
                sums.add(len(self._layers), output.last_hidden_state)
        return sums.means(len(self._layers) + 1)

    @contextmanager
    def _watched(self, sums: _Sums) -> Iterator[None]:
        """Add what goes into each layer, that is, what came out of the one before, to its sum."""
        handles = [
            layer.register_forward_pre_hook(_adding(sums, number), with_kwargs=True)
            for number, layer in enumerate(self._layers)
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _adding(sums: _Sums, layer: int) -> Callable[[Any, Any, Any], None]:
    def hook(_: Any, args: Any, kwargs: Any) -> None:
        sums.add(layer, args[0] if args else kwargs['hidden_states'])

    return hook


class _Sums:
    """Sums of hidden states in float64, of each layer and response.

    Args:
        outputs: where the output tokens of each response stand.
    """

    def __init__(self, outputs: Sequence[range]) -> None:
        self._outputs = outputs
        self._sums: dict[int, Any] = {}
        self._start, self._end = 0, 0

    def begin(self, start: int, end: int) -> None:
        """Say which tokens go through the layers next."""
        self._start, self._end = start, end

    def add(self, layer: int, states: Any) -> None:
        """Add the output tokens of what goes through a layer; states of shape (responses, tokens, d)."""
        import torch

        wanted = (len(self._outputs), self._end - self._start)
        if states.shape[:2] != wanted:
            raise InputError(
                f'layer {layer} of this model takes states of shape {tuple(states.shape)} for {wanted[0]} '
                f'responses of {wanted[1]} tokens: architectures of this kind cannot be studied'
            )
        if layer not in self._sums:
            self._sums[layer] = states.new_zeros((wanted[0], states.shape[2]), dtype=torch.float64)
        for place, output in enumerate(self._outputs):
            first = max(output.start, self._start) - self._start
            last = min(output.stop, self._end) - self._start
            if first < last:
                self._sums[layer][place] += states[place, first:last].sum(0, dtype=torch.float64)

    def means(self, states: int) -> NDArray[np.float64]:
        """Return the means, shape (responses, states, d)."""
        import torch

        sums = torch.stack([self._sums[number] for number in range(states)], dim=1).cpu().numpy()
        lengths = np.array([len(output) for output in self._outputs], dtype=np.float64)
        means: NDArray[np.float64] = sums / lengths[:, None, None]
        return means


def _layers_of(model: Any, count: int) -> list[Any]:
    """Return the decoder's layers: the outermost list of modules that has as many as the config says."""
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == count:
            return list(module)
    raise InputError(
        f'{type(model).__name__} has no list of its {count} layers: architectures of this kind cannot be '
        'studied'
    )
