"""Models behind servers that speak OpenAI's protocol: a request a sample, over several servers at once."""

from __future__ import annotations

import json
import os
import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from opencompass.models import OpenAISDK
from opencompass.models.base import LMTemplateParser
from opencompass.models.openai_api import OAI_REASONING_MODEL_LIST, OPENAISDK_API_BASE
from opencompass.registry import MODELS
from opencompass.utils import get_logger

from .. import serving
from ..completion import ABOUT_LENGTH, Kind, Reply, Trouble, state_of_refusal, weights_of
from ..errors import IncompleteError, InputError
from ..files import mapping
from ..health import Generation
from ..keys import hidden, read_key
from ..marks import note, read_notes
from ..servers import ClientSettings, Clock, Request, Server, ask_all, endpoints, get_json, proxy_for
from .seeds import LENGTH, OF_SAMPLE, SERVER_BITS, Done, Seeded, refuse, response_of

if TYPE_CHECKING:
    from aiohttp import ClientSession

PATIENCE = 600.0
"""Seconds without a reply from any server after which a run ends; a large model takes minutes to load."""

_OWN = 'the model is named by path, and the prompt is that of the sample; remove it'
_OF_REQUEST = {**OF_SAMPLE, 'model': _OWN, 'messages': _OWN, 'stream': 'replies are read whole; remove it'}
_NO_FIELDS = dict.fromkeys(
    ('extra_headers', 'extra_query', 'extra_body', 'timeout'),
    'it is no field of a request; write fields into extra_body, and timeout beside path',
)
_ADVICE = {  # what a refusal of all requests says → what to do; the first that is found
    r'^HTTP 40[13]': 'Is the key right, and for this address? key_env names the variable that holds it',
    r'^HTTP 404': 'Is the name (path) one that the server lists at /v1/models, and the address right?',
    r'\bseed\b': 'It takes no seed: write random_seeds = None into the template, or random_seed=None',
    r'\btop_k\b': 'Leave top_ks out of the template',
    r'\brepetition_penalty\b': 'Leave repetition_penalties out of the template',
    r'\b(top_p|temperature)\b': 'Leave top_ps or temperatures out of the template, or change them',
    ABOUT_LENGTH.pattern: 'Lower max_out_lens of the template (max_out_len), or serve a longer context',
    r'quota|billing': 'See to the account that the key belongs to',
    '': 'Check path (the name of the model), the address, the key and extra_body',
}
_VERSIONS = {  # `owned_by` in a list of models → where its server tells its version, and under which name
    'vllm': ('/version', 'version'),
    'llamacpp': ('/props', 'build_info'),
    'sglang': ('/get_server_info', 'version'),
}


def _advise(trouble: Trouble) -> str:
    said = f'{trouble.reason} {trouble.message}'
    return next(text for words, text in _ADVICE.items() if re.search(words, said, re.IGNORECASE))


@MODELS.register_module()
class SeededOpenAISDK(Seeded, OpenAISDK):  # type: ignore[misc]
    """`OpenAISDK` with a seed a sample, in the field `seed` of each request; retries keep theirs.

    Requests have the fields that those of OpenAISDK have, but all servers are asked at once, and a request is
    tried again while there is hope; one without a reply in the end is a sample with a state. A server that is
    killed and comes back costs time only. vLLM and lmdeploy draw by a seed, others may ignore or refuse it.

    Args:
        path: the name of the model at the server.
        openai_api_base: of one server or several.
        max_workers, query_per_second: requests under way at once, and started a second (None: no limit), a
            server.
        retry: attempts of a request that a server answers with an error, or loses; one that it cannot take
            now is none.
        timeout, patience: seconds that a reply may take, and to go on without any when every server fails.
        random_seed: the seed of the run; those of the samples are derived from it. None: no seed is sent.
        key_env: the environment variable with the API key, in place of `key`.
    """

    bits = SERVER_BITS
    one_by_one = True
    clock = Clock()
    folder: Path | None = None
    """Of predictions, beside which it is noted what servers say that they are."""
    _counts = True  # tokens of prompts, by a tokenizer that is loaded here
    _ends: Sequence[str] = ()  # what a response ends before
    _running: serving.Running | None = None  # the server that was started here

    def __init__(
        self,
        path: str,
        *,
        openai_api_base: str | Sequence[str] = OPENAISDK_API_BASE,
        query_per_second: float | None = None,
        retry: int = 12,
        timeout: float = 3600.0,
        patience: float = PATIENCE,
        random_seed: int | None = None,
        key_env: str | None = None,
        **kwargs: Any,
    ) -> None:
        extra = kwargs.get('openai_extra_kwargs') or {}
        for where in ('openai_extra_kwargs', 'extra_body'):
            refuse(where, kwargs.get(where) or {}, _OF_REQUEST)
        refuse('openai_extra_kwargs', extra, _NO_FIELDS)
        self._reasons = any(part in path for part in OAI_REASONING_MODEL_LIST)
        if self._reasons and kwargs.get('temperature') is not None and 'temperature' not in extra:
            raise InputError(
                f'temperature = {kwargs["temperature"]}: OpenAISDK sends none to a model with one of '
                f'{OAI_REASONING_MODEL_LIST} in its path ({path!r}); leave it out, or write it into '
                'openai_extra_kwargs, which is always sent'
            )
        client = kwargs.get('http_client_cfg') or {}
        if unknown := sorted(set(client) - {'proxy', 'verify', 'trust_env'}):
            raise InputError(f'http_client_cfg has {unknown}; only proxy, verify and trust_env are used')
        proxy = kwargs.get('openai_proxy_url') or client.get('proxy') or ''
        if proxy and not str(proxy).startswith(('http://', 'https://')):
            raise InputError('openai_proxy_url, or proxy in http_client_cfg: expected http://host:port')
        urls = endpoints(openai_api_base, 'key_env')
        if key_env:
            kwargs['key'] = read_key(key_env, 'key_env')
        elif kwargs.get('key', 'ENV') == 'ENV' and (found := read_key('OPENAI_API_KEY')):
            kwargs['key'] = [part.strip() for part in found.split(',') if part.strip()]
        super().__init__(path, openai_api_base=urls[0], **kwargs)
        self.random_seed = random_seed
        orgs = [*(self.orgs or ()), os.environ.get('OPENAI_ORG_ID')]
        if len(orgs) > 2:
            raise InputError(f'org has {len(orgs) - 1} organizations: give one')
        named = {'Organization': orgs[0], 'Project': os.environ.get('OPENAI_PROJECT_ID')}
        headers = {f'OpenAI-{name}': value for name, value in named.items() if value}
        self._client = ClientSettings(
            concurrency=-(-self.max_workers // len(self.keys)),
            rate=query_per_second,
            timeout=timeout,
            attempts=retry,
            total_time=float('inf'),
            patience=patience,
            proxy=str(proxy),
            verify=client.get('verify', True),
        )
        self._servers = [Server(url, key, headers, verbatim=True) for url in urls for key in self.keys]
        self._proven = False
        self._about: dict[str, dict[str, str]] = {}  # of each server: what it says that it is
        self._noted: dict[str, dict[str, str]] = {}

    @property
    def addresses(self) -> list[str]:
        """Return where its servers are."""
        return sorted({server.url for server in self._servers})

    def _create_fresh_client(self) -> None:
        """Make no client of the base class."""

    def _init_tokenizer(self) -> None:
        if self._counts:
            super()._init_tokenizer()

    def get_token_len(self, prompt: str) -> int:
        """Return the tokens of a text, 0 where the server counts them."""
        return int(super().get_token_len(prompt)) if self._counts else 0

    def _body(self, prompt: Any, max_out_len: int, seed: int | None) -> dict[str, Any] | None:
        """Return a request with the fields of the base class; None if the prompt does not fit the context."""
        try:
            messages, room = self._preprocess_messages(
                prompt, max_out_len, self.max_seq_len, self.mode, self.get_token_len
            )
        except ValueError as error:
            if 'max_seq_len' not in str(error):
                raise
            return None
        length = {'max_completion_tokens' if self._reasons else 'max_tokens': room}
        sampling = {'temperature': None if self._reasons else self.temperature, 'seed': seed}
        return {
            'model': self.path,
            'messages': self._messages_to_chat_completions(messages),
            'n': 1,
            **length,
            **{name: value for name, value in sampling.items() if value is not None},
            **(self.openai_extra_kwargs or {}),
            **(self.extra_body or {}),
        }

    def sample(
        self, prompts: Sequence[Any], seeds: Sequence[Any], max_out_len: int, done: Done, **options: Any
    ) -> None:
        """See `Seeded`; an option more is `at_once`: requests under way, at all servers together."""
        settings = self._client
        if (most := options.get('at_once')) is not None:
            most = min(settings.concurrency, max(1, most // len(self._servers)))
            settings = settings.model_copy(update={'concurrency': most})
        ends = [*self._ends, *(options.get('stopping_criteria') or ())]
        stop = {'stop': ends} if ends else {}

        def requests() -> Iterator[Request]:
            for number, (prompt, seed) in enumerate(zip(prompts, seeds, strict=True)):
                if (body := self._body(prompt, max_out_len, seed)) is not None:
                    yield Request(number, json.dumps({**stop, **body}).encode())
                else:
                    done(number, '', Generation(state='too long'), 'the prompt is longer than max_seq_len')

        def probe(request: Request) -> bytes:  # what no server has a reason to refuse
            harmless = {'messages': [{'role': 'user', 'content': 'Hi'}]}
            return json.dumps(json.loads(request.body) | harmless).encode()

        def heard(request: Request, reply: Reply | Trouble) -> bool:
            done(request.item, *self._response_to(request, reply))
            return True

        ask_all(
            self._servers,
            requests(),
            heard,
            settings,
            greet=self._greet,
            probe=probe,
            check=self._running.check if self._running else lambda: None,
            final=self.status_code_mappings,
            clock=self.clock,
            proven=self._proven,
            advice=_advise,
            kept='The samples so far',
        )

    def _response_to(self, request: Request, reply: Reply | Trouble) -> tuple[str, Generation, str]:
        if isinstance(reply, Trouble) and reply.status in self.status_code_mappings:
            reply = Reply(self.status_code_mappings[reply.status])
        if isinstance(reply, Trouble):
            state = reply.reason if reply.reason in ('aborted', 'no choice') else 'failed'
            if state == 'failed' and reply.kind is Kind.REFUSED:
                state = state_of_refusal(reply.status, reply.message)
            return '', Generation(state=state), str(reply)
        text, generation = response_of(reply, request.seconds, self.think_tag)
        if generation.state == 'aborted':  # as by a server that is being stopped
            raise Trouble(Kind.BROKEN, 'aborted', f'finish_reason {reply.finish}')
        self._proven = True
        told = {'model': reply.model, 'fingerprint': reply.steady_fingerprint}
        if self.folder is not None and self._noted.get(request.url) != told:
            self._noted[request.url] = told
            said = {'url': request.url, **self._about.get(request.url, {}), **told}
            note(self.folder, server={name: value for name, value in said.items() if value})
        return text, generation, ''

    async def _greet(self, session: ClientSession, server: Server, came_back: bool) -> None:
        """Ask a server what it is; refuse one that has other weights than those of the samples so far."""
        if server.url in self._about and not came_back:
            return
        proxy = proxy_for(server.url, self._client.proxy)
        cards = mapping(await get_json(session, server, 'models', proxy)).get('data') or ()
        card: Any = next((one for one in cards if mapping(one).get('id') == self.path), {})
        about = {'engine': str(card.get('owned_by') or ''), 'root': weights_of(card)}
        if about['engine'] in _VERSIONS:
            place, field = _VERSIONS[about['engine']]
            about['version'] = str(mapping(await get_json(session, server, place, proxy)).get(field) or '')
        about = {name: hidden(text, server.key) for name, text in about.items() if text}
        for known in read_notes(self.folder).servers if self.folder and 'root' in about else ():
            now, then = (PurePosixPath(one.get('root', '')).name for one in (about, known))
            if then and now != then:
                raise IncompleteError(
                    f'{server.url} serves {now!r}, and this run has samples from {then!r}: serve that again, '
                    'or start anew in another work directory'
                )
        self._about[server.url] = about
        self._noted.pop(server.url, None)


@MODELS.register_module()
class SeededServed(SeededOpenAISDK):
    """A server that is started for this model, at the first need, and asked as `SeededOpenAISDK` asks one.

    It ends with the process. Should it die the run ends, with the end of its log in the error; the log is in
    `<work_dir>/<time>/logs/server`. Under `gpassk run` the server is there already, for all runs of the
    model.

    Args:
        path: the weights, as the command line names them: {model}.
        serve: how the server is started: command, ready, timeout, env; see `serving.Serve`.
        patience: seconds to go on without a single reply; by default as long as the server may take to be
            ready.
        tokenizer_path: counts tokens, where `max_seq_len` is to shorten prompts; by default the server says
            which are too long.
        more: `served_name`, `tp`, `pp` and `key_env`, see `serving.Served`, and what `SeededOpenAISDK` takes.
    """

    loads = True
    """The weights behind `path` are loaded for this model, whoever answers its requests."""

    def __init__(
        self,
        path: str,
        *,
        serve: Mapping[str, Any],
        patience: float | None = None,
        tokenizer_path: str | None = None,
        **more: Any,
    ) -> None:
        if taken := sorted({'openai_api_base', 'openai_proxy_url', 'http_client_cfg'} & set(more)):
            raise InputError(f'{taken[0]}: the server is started here, and asked without a proxy; remove it')
        own: dict[str, Any] = {'path': path, 'serve': serve, 'key_env': more.get('key_env')}
        own |= {name: more.pop(name) for name in ('served_name', 'tp', 'pp') if name in more}
        self._served, self._counts = serving.served_model(own), tokenizer_path is not None
        super().__init__(
            self._served.name,
            openai_api_base='http://127.0.0.1:9/v1',  # until it has an address; port 9 discards what it gets
            key='EMPTY',
            patience=max(PATIENCE, self._served.serve.timeout) if patience is None else patience,
            tokenizer_path=tokenizer_path,
            **more,
        )

    def sample(self, *arguments: Any, **options: Any) -> None:
        """See `SeededOpenAISDK`; the server is started at the first call."""
        if self._running is None:
            # `<work_dir>/<time>/logs/server`, for another caller than OpenCompass ./logs/server.
            folders = self.folder.parents if self.folder else ()
            above = [one.parent for one in folders if one.name == 'predictions'] or [Path.cwd()]
            stack, logs = ExitStack(), above[-1] / 'logs' / 'server'
            self._running = stack.enter_context(serving.server(self._served, logs, get_logger().info))
            # With --debug the process goes on, to other models and to the evaluation.
            weakref.finalize(self, stack.close)
            urls = endpoints(self._running.addresses)
            self._servers = [Server(url, self.keys[0], verbatim=True) for url in urls]
        self._running.check()
        super().sample(*arguments, **options)


@MODELS.register_module()
class SeededTurboMindAPI(SeededOpenAISDK):
    """A server of lmdeploy, named as OpenCompass's `TurboMindAPIModel` is, asked as `SeededOpenAISDK`.

    OpenCompass's class needs `APIClient`, which lmdeploy 0.18 no longer has, and completes the bare prompt
    without the model's chat template. This one asks `/v1/chat/completions`, without the session ids by which
    two processes would interrupt each other.

    Args:
        path: the name of the model at the server.
        api_addr: where the server is, or the servers are, such as 'http://node1:23333'.
        temperature, top_p, top_k: None leaves one to the server, whose default is the model's own.
        gen_config: further fields of a request, such as `repetition_penalty` or `chat_template_kwargs`.
        end_str: what a response ends before.
        max_seq_len: not used: the server says which prompts are too long.
        max_workers: requests under way at once, a server; None: 256.
    """

    _counts = False

    def __init__(
        self,
        path: str,
        api_addr: str | Sequence[str] = 'http://0.0.0.0:23333',
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        gen_config: Mapping[str, Any] | None = None,
        *,
        end_str: str | None = None,
        max_seq_len: int | None = None,
        max_workers: int | None = None,
        meta_template: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        ruled = dict.fromkeys(('max_tokens', 'max_new_tokens', 'max_completion_tokens'), LENGTH)
        greedy = 'a server of lmdeploy always samples; top_k = 1 is greedy'
        refuse('gen_config', gen_config or {}, {**_OF_REQUEST, **ruled, 'do_sample': greedy})
        sampling = {'temperature': temperature, 'top_p': top_p, 'top_k': top_k}
        fields = {name: value for name, value in sampling.items() if value is not None}
        more |= {'max_seq_len': 1 << 40, 'max_workers': max_workers or 256, 'key': 'EMPTY'}
        more['openai_extra_kwargs'] = {**fields, **(gen_config or {})}
        super().__init__(path, openai_api_base=api_addr, **more)
        self.template_parser = LMTemplateParser(meta_template)
        self._ends = [end_str] if end_str else []
