"""A GGUF file becomes the model that transformers makes of it, with a tokenizer that is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sweeping import NOT_INSTALLED

from gpassk_opencompass.demo.weights import write_model

gguf = pytest.importorskip('gguf', reason='gguf is an extra of the tests, `dev`')
torch = pytest.importorskip('torch', reason=NOT_INSTALLED)
transformers = pytest.importorskip('transformers', reason=NOT_INSTALLED)

pytestmark = pytest.mark.slow

SPECIAL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<extra>']
TEMPLATE = '{% for message in messages %}<|im_start|>{{ message["content"] }}<|im_end|>{% endfor %}'


@pytest.fixture(scope='module')
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of two layers in which heads share keys, with a vocabulary of bytes and two merges."""
    path = tmp_path_factory.mktemp('gguf') / 'tiny.gguf'
    writer = gguf.GGUFWriter(path, 'llama')
    writer.add_block_count(2)
    writer.add_context_length(64)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(96)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_rope_freq_base(1000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    letters = sorted(transformers.models.gpt2.tokenization_gpt2.bytes_to_unicode().values())
    tokens = [*SPECIAL, *letters, 'ab', 'abc']
    writer.add_tokenizer_model('gpt2')
    writer.add_tokenizer_pre('smollm')
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL)))
    writer.add_token_merges(['a b', 'ab c'])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_vocab_size(len(tokens))
    writer.add_chat_template(TEMPLATE)
    rng = np.random.default_rng(3)

    def add(name: str, *shape: int) -> None:
        values = rng.normal(size=shape).astype(np.float32)
        kind = gguf.GGMLQuantizationType.Q4_1 if len(shape) == 2 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(f'{name}.weight', gguf.quantize(values, kind), raw_dtype=kind)

    add('token_embd', len(tokens), 64)
    add('output_norm', 64)
    for layer in range(2):
        for name, shape in (
            ('attn_norm', (64,)),
            ('ffn_norm', (64,)),
            ('attn_q', (64, 64)),
            ('attn_k', (32, 64)),
            ('attn_v', (32, 64)),
            ('attn_output', (64, 64)),
            ('ffn_gate', (96, 64)),
            ('ffn_up', (96, 64)),
            ('ffn_down', (64, 96)),
        ):
            add(f'blk.{layer}.{name}', *shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_the_model_is_the_one_that_transformers_reads(file: Path, tmp_path: Path) -> None:
    """Weight by weight, and in its settings; a folder that is there is left alone."""
    write_model(file, tmp_path / 'model')
    found = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / 'model', dtype='auto')
    wanted = transformers.AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name)
    assert found.dtype is torch.bfloat16
    weights, others = found.state_dict(), wanted.to(torch.bfloat16).state_dict()
    assert weights.keys() == others.keys()
    assert all(torch.equal(weights[name], others[name]) for name in weights)
    for name in (
        'num_key_value_heads',
        'rope_theta',
        'rms_norm_eps',
        'max_position_embeddings',
        'vocab_size',
    ):
        assert getattr(found.config, name) == pytest.approx(getattr(wanted.config, name))
    assert (found.generation_config.eos_token_id, found.generation_config.do_sample) == (2, True)
    changed = (tmp_path / 'model' / 'config.json').stat().st_mtime_ns
    write_model(file, tmp_path / 'model')
    assert (tmp_path / 'model' / 'config.json').stat().st_mtime_ns == changed
    assert [path.name for path in tmp_path.iterdir()] == ['model']


def test_the_tokenizer_reads_the_files_own(file: Path, tmp_path: Path) -> None:
    """Merges, digits one by one, turns of the chat template; nothing is put before a text."""
    write_model(file, tmp_path / 'model')
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / 'model')
    assert tokenizer.tokenize('abcab 17') == ['abc', 'ab', 'Ġ', '1', '7']
    assert (tokenizer.bos_token, tokenizer.eos_token) == ('<|im_start|>', '<|im_end|>')
    for text in ('米娜 17+25\n', ' ab  c'):
        assert tokenizer.decode(tokenizer(text).input_ids) == text
    [first, *_, last] = tokenizer.apply_chat_template([{'role': 'user', 'content': 'ab'}])
    assert (first, last) == (1, 2)
