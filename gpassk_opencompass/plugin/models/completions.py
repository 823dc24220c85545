"""A server that completes texts (`/v1/completions`), asked with the chat template applied here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass.registry import MODELS
from yarl import URL

from ...answers.thoughts import END_MARKS
from ...chat.routes import text_endpoint
from ...errors import InputError
from ...results.health import Generation
from ..serial import BreakLinks, Piece, break_links, templated
from .openai_api import SeededOpenAISDK

MOST_STOPS = 4
"""Stop words that OpenAI's protocol has room for; vLLM's server refuses more."""


@MODELS.register_module()
class SeededCompletions(SeededOpenAISDK):
    """A server's endpoint for texts, with a seed a sample, and responses that may go on behind their end.

    A server of chats takes whole messages: nobody can have a model go on in the middle of its answer or its
    thought. So the prompt is made here, with the chat template of the model's own tokenizer, and sent as its
    tokens; vLLM and llama.cpp take these, and add no second token for the beginning. Thoughts stand in the
    text as the model marks them, whatever parser the server has for chats.

    Args:
        path: the name of the model at the server.
        tokenizer_path: the folder, or name on the hub, of the model's tokenizer with its chat template.
        chat_template_kwargs: for the template, such as {'enable_thinking': True}.
        max_seq_len: tokens of prompt and response together; a response has as much room as the prompt leaves.
        serial_links, serial_link_text: how often a response is made to go on behind its end, and with which
            words; see `serial.BreakLinks`.
        kwargs: as for `SeededOpenAISDK`.

    Raises:
        InputError: as for `SeededOpenAISDK`; there is no tokenizer with a chat template; or with links there
            are more stop words than leave one for the end of a thought.
    """

    def __init__(
        self,
        path: str,
        *,
        tokenizer_path: str,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        serial_links: int | None = None,
        serial_link_text: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.links = break_links(serial_links, serial_link_text)
        self.chat_template_kwargs = dict(chat_template_kwargs or {})
        super().__init__(path, tokenizer_path=tokenizer_path, **kwargs)
        more = {**(self.openai_extra_kwargs or {}), **(self.extra_body or {})}
        words = more.pop('stop', None) or []
        self._more, self._stops = more, [words] if isinstance(words, str) else list(words)
        self._marks = self._end_marks() if self.links and self.links.count else []

    def generate(
        self, inputs: list[Any], max_out_len: int = 512, temperature: float = 0.7, **kwargs: Any
    ) -> list[str]:
        """Return the text of each response, '' where there is none; its state is in `generations`.

        With seeds, those of the batch must have been announced. As in the base class a temperature counts
        only as an argument of the class.
        """
        seed_of = _unseeded if self.seeds is None else self.seeds.take_by_round(len(inputs))
        prompts = templated(inputs, self.tokenizer, self.chat_template_kwargs)
        heard: list[str] = []

        def draw(pieces: Sequence[Piece], stops: Sequence[str]) -> Sequence[tuple[str, Generation]]:
            bodies = [self._text_body(piece, stops) for piece in pieces]
            answers, said = self.chats.ask(bodies, max_out_len)
            heard.append(said)
            return answers

        answers = (self.links or BreakLinks(0)).responses(prompts, seed_of, max_out_len, draw)
        told = [one if self.links else one._replace(links=None) for _, one in answers]
        self.generations.note(told, next(filter(None, heard), ''))
        return [text for text, _ in answers]

    def _init_tokenizer(self) -> None:
        """Load the tokenizer; the base class takes that of GPT-4 where there is none."""
        from transformers import AutoTokenizer

        try:
            self.tokenizer = AutoTokenizer.from_pretrained(self.tokenizer_path, trust_remote_code=True)
        except (OSError, ValueError) as error:
            raise InputError(
                f'tokenizer_path = {self.tokenizer_path!r} cannot be loaded: {error!s:.200}; give the folder '
                "with the model's tokenizer"
            ) from error
        self.tokenizer_type = 'hf'
        if not self.tokenizer.chat_template:
            raise InputError(
                f'tokenizer_path = {self.tokenizer_path!r} has no chat template, with which prompts are made'
            )

    def _endpoints(self, urls: Sequence[URL]) -> list[URL]:
        return [text_endpoint(url) for url in urls]

    def _end_marks(self) -> list[str]:
        """Return the stop words of a round that shall end with the thought.

        As many as a server takes beside those of the template, the ones that the model has first.

        Raises:
            InputError: those of the template leave no room for one.
        """
        room = MOST_STOPS - len(self._stops)
        if room < 1:
            raise InputError(
                f'extra_body has {len(self._stops)} stop words; a server takes {MOST_STOPS}, and with '
                f'serial_links one is needed for the end of a thought: leave {MOST_STOPS - 1} at most'
            )
        template, tokens = str(self.tokenizer.chat_template), self.tokenizer.get_vocab()
        return sorted(END_MARKS, key=lambda mark: mark not in template and mark not in tokens)[:room]

    def _text_body(self, piece: Piece, stops: Sequence[str]) -> dict[str, Any] | None:
        """Return a request; None if the text so far fills the context."""
        tokens = self.tokenizer(piece.text, add_special_tokens=False)['input_ids']
        room = min(piece.room, self.max_seq_len - len(tokens))
        if room < 1:
            return None
        ends = [*self._stops, *(self._marks if stops else ())]
        return {
            'model': self.path,
            'prompt': tokens,
            'max_tokens': room,
            **({} if self.temperature is None else {'temperature': self.temperature}),
            **self._more,
            **({'stop': ends} if ends else {}),
            **({} if piece.seed is None else {'seed': piece.seed}),
        }


def _unseeded(place: int, turn: int) -> None:
    """Return no seed."""
