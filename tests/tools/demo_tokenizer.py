"""The demo model's tokenizer: a small byte-level BPE that reads numbers digit by digit.

Every text can be tokenised and comes back unchanged, as each byte is a token of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

PAD, END, USER, ASSISTANT = '<|pad|>', '<|end|>', '<|user|>', '<|assistant|>'

VOCABULARY = 512
"""The most entries; 256 of them are the bytes."""

# A digit | one or two words | a LaTeX command and its brace | one to four Chinese characters | signs | space.
_PIECES = (
    r'\d| ?[A-Za-z]+(?: [A-Za-z]+)?| ?\\[A-Za-z]+\{?|[\u4e00-\u9fff]{1,4}'
    r'| ?[^\sA-Za-z0-9\\\u4e00-\u9fff]+|\\|\s+'
)

# Trimmed, as OpenCompass ends a prompt with one more line break than the protocol's text has.
_CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] | trim + '<|end|>' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def train_tokenizer(texts: Iterable[str], longest: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer trained on `texts`, with the chat template, that warns beyond `longest` tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), 'isolated'),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, END, USER, ASSISTANT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[USER, ASSISTANT],
        chat_template=_CHAT_TEMPLATE,
        padding_side='left',
        model_max_length=longest,
        # Otherwise it adds token_type_ids, which Llama's generate refuses.
        model_input_names=['input_ids', 'attention_mask'],
        clean_up_tokenization_spaces=False,
    )
