"""An LLM behind OpenAI-compatible servers as a judge."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from loguru import logger
from pydantic import Field, PositiveInt, field_validator, model_validator
from tqdm import tqdm

from ..answers import normal_form
from ..completion import Kind, Reply, Trouble
from ..errors import IncompleteError, InputError
from ..keys import read_key
from ..servers import (
    ClientSettings,
    Clock,
    Request,
    Server,
    answer_all,
    ask_all,
    endpoints,
    exchange,
    get_json,
    proxy_for,
)
from .canaries import Canary, Served, UnfitJudge, canaries, served_of, told_by, told_in_list
from .parsing import EXPLAINED, Heard, parse_verdict
from .prompts import Asked, Prompts, check_choice, find_prompts, is_chinese
from .protocol import Judgement, Pair, Verdict
from .settings import checked
from .verdicts import STORE_VARIABLE, VerdictStore, store_folder, verdict_key

if TYPE_CHECKING:
    from aiohttp import ClientSession

_READ_BY = 2
"""The rules by which a reply becomes a verdict; one more wherever they change what a reply says."""

_FIRST, _EVERY = 16, 256
"""Requests before the first canary of a run, and between two of them."""

_RESERVED = frozenset({'model', 'messages', 'stream', 'n'})
_SECRET = re.compile(
    r'(?:.*[_-])?(?:api[_-]?key|secret|password|authorization)|(?:(?:auth|access|bearer|hf|api)[_-]?)?token|key',
    re.IGNORECASE,
)
_COUNTED = (
    'pairs empty string stored asked unboxed shortened requests replies failures canaries canaries_right '
    'repeated disagreed unjudged'
)
_EMPTY = Judgement(Verdict.INCORRECT, 'empty')
_EQUAL = Judgement(Verdict.CORRECT, 'string')


class LLMSettings(ClientSettings):
    """What an LLM judge is set to; see also `servers.ClientSettings`. Nothing is opened, no key is needed."""

    model: str
    """The name under which the servers serve the judge."""
    urls: Any
    """Of one server or several: http://host:port, with or without /v1 behind it."""
    prompts: Any = 'auto'
    """See `prompts.find_prompts`; of a name no more is checked, as OpenCompass may be missing."""
    verdicts: Any = None
    """A folder for the verdicts, `~` is the home directory; `$GPASSK_VERDICTS` goes before it. None: kept in
    memory only."""
    api_key_env: str = ''
    """The environment variable that holds the API key, if one is needed."""
    temperature: float | None = Field(0.0, ge=0, allow_inf_nan=False)
    """None leaves it to the server, as does `max_tokens`."""
    max_tokens: PositiveInt | None = 8192
    extra_body: Any = None
    """More fields of the request, e.g. dict(seed=1, chat_template_kwargs=…)."""
    votes: int = Field(1, ge=1)
    """How often each answer is asked about, an odd number; the verdict is that of more than half. The n-th
    request has `seed` + n, where `extra_body` has a seed."""
    accept_equal: bool = True
    """Accept an answer equal to the reference in normal form without a call."""
    longest: int = Field(8000, ge=2)
    """Characters of an answer that are sent; of a longer one its beginning and its end."""
    finish_reasons: Any = ()
    """What servers send as `finish_reason` of a whole reply, besides 'stop' and its like (see
    `parsing.WHOLE`); '' for one that sends none."""
    canaries: bool = True
    """Ask the pairs with known verdicts; a judge that fails them is refused."""
    server_digest: str = ''
    """Of what its server is started with, where that is known: verdicts of a judge with another one are not
    reused."""
    progress: bool = True
    """Show a progress bar on stderr."""

    @field_validator('model')
    @classmethod
    def _has_name(cls, model: str) -> str:
        if not model.strip():
            raise ValueError(f'model = {model!r}: an LLM judge needs the name that its servers know it by')
        return model

    @field_validator('urls', 'prompts', 'verdicts', 'api_key_env')
    @classmethod
    def _can_be_used(cls, value: Any, info: Any) -> Any:
        checks: dict[str, Callable[[Any], Any]] = {
            'urls': endpoints,
            'prompts': check_choice,
            'verdicts': lambda folder: folder is None or store_folder(folder),
            'api_key_env': check_key_variable,
        }
        checks[info.field_name](value)
        return value

    @field_validator('extra_body')
    @classmethod
    def _is_json(cls, value: Any) -> Any:
        if value is not None and not isinstance(value, Mapping):
            raise ValueError(f'extra_body = {value!r}: expected a dict, e.g. dict(seed=1)')
        extra = dict(value or {})
        if taken := sorted(_RESERVED & set(extra)):
            raise ValueError(f'extra_body holds {taken}, which the judge sets itself; leave them out')
        if secret := next(filter(_SECRET.fullmatch, _names_in(extra)), None):
            raise ValueError(
                f'extra_body holds {secret!r} (not shown): records and verdict stores say what a judge was '
                'sent; name the environment variable with the key as api_key_env'
            )
        try:
            return json.loads(json.dumps(extra, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ValueError(f'extra_body cannot be written as JSON: {error}') from None

    @field_validator('finish_reasons')
    @classmethod
    def _are_ends(cls, given: Any) -> Any:
        if isinstance(given, str) or not all(isinstance(reason, str) for reason in given):
            raise ValueError(f"finish_reasons = {given!r}: expected a list of texts, e.g. ['done'] or ['']")
        reasons = sorted({reason.casefold() for reason in given})
        for reason in ('length', 'max_tokens', 'content_filter', 'abort', 'error'):
            if reason in reasons:
                raise ValueError(f'finish_reasons: {reason} is no end of a whole reply; leave it out')
        return reasons

    @model_validator(mode='after')
    def _can_differ(self) -> LLMSettings:
        if self.votes % 2 == 0:
            raise ValueError(f'votes = {self.votes}: expected an odd number, so that there is a majority')
        if self.votes > 1 and self.temperature == 0:
            raise ValueError(
                f'votes = {self.votes} with temperature = 0 asks the same {self.votes} times: raise it'
            )
        return self

    def sampling(self) -> dict[str, Any]:
        """Return the fields of each request besides model and messages."""
        extra = dict(self.extra_body or {})
        given = {'temperature': self.temperature, 'max_tokens': self.max_tokens}
        if 'max_completion_tokens' in extra:
            del given['max_tokens']
        return {**{name: value for name, value in given.items() if value is not None}, **extra}


def _names_in(value: Any) -> Iterator[str]:
    """Return all names of fields, at any depth."""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    yield from map(str, value) if isinstance(value, Mapping) else ()
    for part in parts:
        yield from _names_in(part)


def check_key_variable(variable: str) -> None:
    """Refuse what cannot be the name of an environment variable; '' is none. It need not be set."""
    if not isinstance(variable, str) or (variable and not re.fullmatch(r'[A-Za-z_][A-Za-z0-9_]*', variable)):
        raise InputError(
            'api_key_env is no name of an environment variable; write the name and not the key, e.g. '
            "api_key_env='JUDGE_KEY', and export the key in it"
        )


def api_key(variable: str) -> str:
    """Return the API key in an environment variable, '' for none; it is kept nowhere."""
    check_key_variable(variable)
    key = read_key(variable) if variable else ''
    if variable and not key:
        raise InputError(
            f'api_key_env = {variable!r}: this environment variable is not set; export the key in it'
        )
    return key


class Wording:
    """How pairs are put to a judge, and how its replies are read."""

    def __init__(self, settings: LLMSettings) -> None:
        self.model, self.sampling = settings.model, settings.sampling()
        self.prompts: Prompts = find_prompts(settings.prompts)
        self.also_whole = frozenset(settings.finish_reasons)
        probe = self.prompts.fill('en', question='', reference='', candidate='')
        self.canaries = canaries(probe.style.accept)

    def ask(self, pair: Pair) -> Asked:
        """Return the prompt for a pair with an answer."""
        return self.prompts.fill(
            pair.language, question=pair.question, reference=pair.reference, candidate=pair.answer
        )

    def body(self, asked: Asked, vote: int = 0) -> bytes:
        """Return the body of the request."""
        fields = dict(self.sampling)
        if vote and isinstance(fields.get('seed'), int):
            fields['seed'] += vote
        messages = [{'role': 'user', 'content': asked.prompt}]
        return json.dumps({'model': self.model, 'messages': messages, **fields}).encode()

    def hear(self, reply: Reply, asked: Asked) -> Heard:
        """Return the verdict of the reply, or why there is none."""
        return parse_verdict(reply, asked, self.also_whole)


class Candidate(NamedTuple):
    """A pair as it is asked: the answer or, where there is none, the end of the response; shortened if too
    long."""

    pair: Pair
    known_by: str
    """Answers with one normal form are one candidate."""
    unboxed: bool
    shortened: bool

    def key(self, judge: Mapping[str, Any]) -> str:
        """Return the key of this judge's verdict."""
        return verdict_key(judge, self.pair.language, self.pair.question, self.pair.reference, self.known_by)


def settle(
    pair: Pair, accept_equal: bool, longest: int, form_of: Callable[[str], str] = normal_form
) -> Judgement | Candidate:
    """Return the judgement where nobody has to be asked, else what to ask.

    Args:
        pair: its answer counts or, if that is blank, its tail.
        accept_equal, longest: see `LLMSettings`; longer answers are not normalised.
        form_of: `normal_form`, or one that remembers.
    """
    answer, tail = pair.answer.strip(), pair.tail.strip()
    shortened = len(answer or tail) > longest
    form = ''
    if not answer:
        if not tail:
            return _EMPTY
        text = tail[-longest:]
    elif shortened:
        text = f'{answer[: longest // 2]} […] {answer[-(longest // 2) :]}'
    else:
        text, form = answer, form_of(answer)
        if accept_equal and form and form == form_of(pair.reference):
            return _EQUAL
    known_by = f'form {form}' if form else f'text {text}'
    question, reference, text, known_by = map(_encodable, (pair.question, pair.reference, text, known_by))
    language = 'cn' if is_chinese(pair.language) else 'en'
    return Candidate(Pair(question, reference, text, language), known_by, not answer, shortened)


def _encodable(text: str) -> str:
    """Return the text with U+FFFD for halves of characters, which no server takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')
    return text


class _AllStored(Exception):
    """No server answers, and all that is asked is known from one that did."""


class _Item(NamedTuple):
    """What a request is for."""

    key: str
    asked: Asked
    candidate: Candidate


class LLMJudge:
    r"""Asks an LLM whether an answer agrees with the reference.

    Each different answer is asked once, also over several calls and, with a store, over several runs. A blank
    answer is incorrect and one that equals the reference in normal form correct without a call. A reply
    without a verdict or without its own end is asked for once more; then the pair is unjudged. Each server
    first says what it serves and judges pairs with known verdicts (`canaries`), as it does now and then
    during the run.

    Args:
        model, urls, settings: see `LLMSettings`.
        clock: the time to live by, for tests.

    Raises:
        InputError: arguments that cannot be used, all at once.
        MissingExtraError: prompts of OpenCompass without OpenCompass.
    """

    def __init__(self, model: str, urls: str | Sequence[str], *, clock: Clock | None = None, **settings: Any):
        self._settings = checked(LLMSettings, {'model': model, 'urls': urls, **settings})
        self._wording = Wording(self._settings)
        self._clock = clock
        # All that may change what the model says of a candidate.
        told, wording = self._settings, self._wording
        self._asked_as = {
            'model': model,
            'prompts': f'{wording.prompts.name}:{wording.prompts.digest}',
            'sampling': wording.sampling,
            'replies': _READ_BY,
            **({'finish_reasons': told.finish_reasons} if told.finish_reasons else {}),
            **({'server_digest': told.server_digest} if told.server_digest else {}),
            **({'votes': told.votes} if told.votes > 1 else {}),
        }
        self._served: Served | None = None
        self._said, self._said_by = Served(), ''  # by any server so far, and by whom
        self._agreed: Served | None = None  # what was found to agree last
        self._met: set[str] = set()
        self._passed: dict[str, Any] = {}  # notes, kept with the first verdict: all else needs no writing
        self._counts: Counter[str] = Counter()
        api_key(told.api_key_env)  # a missing key is found now, not when everything has been generated
        self._store = VerdictStore(os.environ.get(STORE_VARIABLE) or told.verdicts)

    @staticmethod
    def check_arguments(arguments: Mapping[str, Any]) -> None:
        """See `build.build_judge`."""
        checked(LLMSettings, {name: value for name, value in arguments.items() if name != 'clock'})

    def identity(self) -> dict[str, Any]:
        """Return model, prompts and their digest, sampling settings, and what is decided without asking.

        Also what the servers say that they serve, once they were asked, as far as the name does not say it.
        """
        shown = self._served.shown(self._settings.model) if self._served else {}
        return {
            'name': 'llm',
            **self._asked_as,
            'accept_equal': self._settings.accept_equal,
            'longest': self._settings.longest,
            **({} if self._settings.canaries else {'canaries': False}),
            **({'served': shown} if shown else {}),
        }

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return one judgement a pair, in the order of `pairs`.

        May be called where an event loop runs. Whatever stops it (Ctrl-C too), verdicts that came are kept.

        Raises:
            InputError: the servers refuse the settings (key, model name, address, …), or are no fit judge.
            IncompleteError: no server answered for the patience given.
        """
        form_of = cache(normal_form)  # references and answers come again and again
        longest, equal = self._settings.longest, self._settings.accept_equal
        cases = {pair: settle(pair, equal, longest, form_of) for pair in dict.fromkeys(pairs)}
        self._counts['pairs'] += len(pairs)
        self._counts.update(case.origin for case in cases.values() if isinstance(case, Judgement))
        candidates = [case for case in cases.values() if isinstance(case, Candidate)]
        reasons = self._ask(candidates) if candidates else {}
        judge = self._judge_of(self._served or Served())

        def said(case: Candidate) -> Judgement:
            verdict = self._store.get(key := case.key(judge))
            if verdict is None:
                return Judgement(Verdict.UNJUDGED, 'llm', reasons.get(key, 'not asked'))
            return Judgement(verdict, 'llm', reply_key=key)

        judged = {pair: said(case) if isinstance(case, Candidate) else case for pair, case in cases.items()}
        return [judged[pair] for pair in pairs]

    def statistics(self) -> dict[str, int]:
        """Count so far: pairs, how each different answer was settled, requests, and what went wrong."""
        return {**dict.fromkeys(_COUNTED.split(), 0), **self._counts, 'damaged_lines': self._store.damaged}

    def close(self) -> None:
        """Let go of the store's file."""
        self._store.close()

    def _judge_of(self, served: Served) -> dict[str, Any]:
        """Return what a verdict is kept under besides its texts."""
        return {**self._asked_as, 'served': served.told()}

    def _ask(self, candidates: Sequence[Candidate]) -> dict[str, str]:
        """Ask for what is not in the store; return why a key stayed without a verdict."""
        self._store.refresh()
        key = api_key(self._settings.api_key_env)
        servers = [Server(url, key) for url in endpoints(self._settings.urls)]
        bar = tqdm(
            total=0,
            unit='answer',
            disable=not self._settings.progress,
            mininterval=0.2 if sys.stderr.isatty() else 30.0,  # in a log file a line every half minute
            dynamic_ncols=True,
        )
        with closing(bar):
            call = _Call(self._store, self._settings.votes, self._counts, bar)
            unreached: set[str] = set()

            async def greet(session: ClientSession, server: Server, came_back: bool) -> None:
                try:
                    await self._greet(session, server, came_back)
                except Trouble:
                    unreached.add(server.url)
                    before = (
                        None if self._served or len(unreached) < len(servers) else self._before(candidates)
                    )
                    if before is None:
                        raise
                    raise _AllStored(before) from None

            def heard(request: Request, reply: Reply | Trouble) -> bool:
                if isinstance(reply, Reply):
                    self._agree(request.url, told_by(reply))
                if isinstance(request.item, Canary):
                    return self._examine(request, reply)
                if isinstance(reply, Trouble):
                    call.add(request.item, Heard(None, reply.reason), '')
                    return True
                self._note_passed()
                said = self._wording.hear(reply, request.item.asked)
                if said.verdict is None and request.asked == 0:
                    self._counts['repeated'] += 1
                    return False
                call.add(request.item, said, reply.text)
                return True

            try:
                ask_all(
                    servers,
                    self._requests(candidates, call),
                    heard,
                    self._settings,
                    greet=greet,
                    clock=self._clock,
                    counts=self._counts,
                )
            except _AllStored as stored:
                [self._served] = stored.args
                told = self._served.told() if self._served else {}
                logger.warning(
                    f'no server of {self._settings.model} answers; all that is asked was judged before, by '
                    f'{told}, and is taken from the store'
                )
                list(self._requests(candidates, call))  # none; they are counted
            finally:
                self._store.flush()
        return call.reasons

    def _requests(self, candidates: Sequence[Candidate], call: _Call) -> Iterator[Request]:
        """Yield the requests for what is missing, and canaries among them.

        It is drawn from once a server has said what it serves, which is a part of the keys.
        """
        call.judge = self._judge_of(self._served or Served())
        asks: dict[str, Candidate] = {}
        for candidate in candidates:
            asks.setdefault(candidate.key(call.judge), candidate)
        missing = {key: ask for key, ask in asks.items() if self._store.get(key) is None}
        hits = len(asks) - len(missing)
        self._counts['stored'] += hits
        self._counts['asked'] += len(missing)
        self._counts['unboxed'] += sum(ask.unboxed for ask in asks.values())
        self._counts['shortened'] += sum(ask.shortened for ask in asks.values())
        if missing:
            logger.info(f'{len(missing)} answers to ask {self._settings.model} for, {hits} are known')
        call.bar.set_description(f'judging ({hits} hits)', refresh=False)
        call.bar.reset(len(missing))
        number = 0
        for key, ask in missing.items():
            asked = self._wording.ask(ask.pair)
            for vote in range(self._settings.votes):
                if self._settings.canaries and number % _EVERY == _FIRST:
                    every = self._wording.canaries
                    yield self._request(every[number // _EVERY % len(every)])
                number += 1
                yield Request(_Item(key, asked, ask), self._wording.body(asked, vote))

    def _request(self, canary: Canary, asked: int = 0) -> Request:
        return Request(canary, self._wording.body(self._wording.ask(canary.pair)), asked)

    async def _greet(self, session: ClientSession, server: Server, came_back: bool) -> None:
        """Get to know a server that is to judge, once, or anew if it comes back: it may be another one.

        It says what it serves, and judges the canaries. One that has passed under a name is asked a single
        one as long as the store remembers.

        Raises:
            Trouble: it does not answer.
            UnfitJudge: it serves another model than the others, or fails the canaries.
        """
        if server.url in self._met and not came_back:
            return
        proxy = proxy_for(server.url, self._settings.proxy)
        first, *easy = [canary for canary in self._wording.canaries if not canary.injected]
        request = self._request(first)
        request.url = server.url
        self._counts['requests'] += 1
        try:
            reply = await exchange(session, server, request.body, proxy)
        except Trouble:
            self._counts['failures'] += 1
            raise
        listed = await get_json(session, server, 'models', proxy)
        self._counts['replies'] += 1
        self._agree(server.url, told_by(reply).filled(told_in_list(listed, self._settings.model, server.key)))
        served = self._said if self._served is None else self._served
        self._served = served
        passed = verdict_key(
            {**self._asked_as, 'served': served.told()},
            *(text for canary in self._wording.canaries for text in canary.pair),
            server.url,
            str(self._settings.canaries),
        )
        if self._settings.canaries:
            rounds = [[] if self._examine(request, reply) else [self._request(first, asked=1)]]
            if came_back or passed not in self._store.notes:
                rounds[0] += map(self._request, easy)
                rounds.append([self._request(one) for one in self._wording.canaries if one.injected])
            for requests in filter(None, rounds):  # the easy ones first: a failure there says more
                await self._ask_canaries(server, requests)
        self._met.add(server.url)
        told = 'passed' if self._settings.canaries else 'not asked'
        self._passed[passed] = {'judge': self._asked_as, 'served': served.told(), 'canaries': told}

    async def _ask_canaries(self, server: Server, requests: Sequence[Request]) -> None:
        def heard(request: Request, reply: Reply | Trouble) -> bool:
            if isinstance(reply, Reply):
                self._agree(request.url, told_by(reply))
            return self._examine(request, reply)

        more: dict[str, Any] = {'clock': self._clock, 'counts': self._counts, 'proven': True}
        try:
            await answer_all([server], requests, heard, self._settings, **more)
        except IncompleteError as error:
            raise Trouble(Kind.DOWN, 'no connection', str(error)) from None

    def _examine(self, request: Request, reply: Reply | Trouble) -> bool:
        """Return whether that settles a canary; False asks once more.

        Raises:
            UnfitJudge: the judge must not be used.
        """
        canary: Canary = request.item
        if isinstance(reply, Trouble):
            heard, text = Heard(None, reply.reason), ''
        else:
            heard, text = self._wording.hear(reply, self._wording.ask(canary.pair)), reply.text
        passed = canary.passed(heard.verdict)
        if not passed and not canary.injected and request.asked == 0 and isinstance(reply, Reply):
            self._counts['repeated'] += 1
            return False
        self._counts['canaries'] += 1
        if passed:
            self._counts['canaries_right'] += heard.verdict is canary.verdict
            return True
        said = f'says {heard.verdict.value}' if heard.verdict else f'gives no verdict ({heard.reason})'
        times = ', twice' if not canary.injected else ''
        end = f'; its reply ends {text.strip()[-200:]!r}' if text.strip() else ''
        pair, model = canary.pair, self._settings.model
        raise UnfitJudge(
            f'{request.url} is not fit to judge as {model!r}: of the answer {pair.answer!r} to '
            f'{pair.question!r}, reference {pair.reference!r}, it {said}{times}{end}. No result is written. '
            '`gpassk judge ping` shows all such pairs and what to do; canaries=False judges without them, '
            'and the result says so'
        )

    def _note_passed(self) -> None:
        while self._passed:
            self._store.note(*self._passed.popitem())

    def _agree(self, url: str, says: Served) -> None:
        """Raise UnfitJudge if a server serves another model than the first one said."""
        if says == self._agreed:
            return
        if difference := self._said.differs(says):
            before = f'{self._said_by} said' if url != self._said_by else 'it said before'
            raise UnfitJudge(
                f'{url} serves as {self._settings.model!r}: {difference}, which {before}. Verdicts of '
                'two models would be mixed: start the same model in the same way everywhere, or name one '
                'server; the verdicts so far are kept'
            )
        self._said_by = self._said_by or url
        self._said, self._agreed = self._said.filled(says), says

    def _before(self, candidates: Sequence[Candidate]) -> Served | None:
        """Return what was served in the earlier run that judged all of these, if there is exactly one."""
        notes = [note for note in self._store.notes.values() if isinstance(note, Mapping)]
        told = [served_of(note.get('served')) for note in notes if note.get('judge') == self._asked_as]
        whole = []
        for served in dict.fromkeys(told):
            judge = self._judge_of(served)
            if all(self._store.get(candidate.key(judge)) is not None for candidate in candidates):
                whole.append(served)
        return whole[0] if len(whole) == 1 else None


class _Call:
    """What becomes of the replies of one call."""

    def __init__(self, store: VerdictStore, votes: int, counts: Counter[str], bar: Any) -> None:
        self.bar = bar
        self.judge: Mapping[str, Any] = {}
        """What its verdicts are kept under, once a server has said what it serves."""
        self.reasons: dict[str, str] = {}
        """Why a key has no verdict."""
        self._store, self._votes, self._counts = store, votes, counts
        self._heard: dict[str, list[tuple[Heard, str]]] = {}
        self._correct = 0
        self._shown: set[str] = set()

    def add(self, item: _Item, said: Heard, reply: str) -> None:
        """Take one of the votes on a key; the last one settles it."""
        heard = self._heard.setdefault(item.key, [])
        heard.append((said, reply))
        if len(heard) < self._votes:
            return
        del self._heard[item.key]
        votes = Counter(one.verdict for one, _ in heard)
        self._counts['disagreed'] += len(set(votes) - {None}) > 1
        verdict = next((one for one, count in votes.items() if one and 2 * count > self._votes), None)
        if verdict is None:
            reason = next((one.reason for one, _ in heard if one.reason), 'no majority')
            self.reasons[item.key] = reason
            self._counts['unjudged'] += 1
            if reason in EXPLAINED and reason not in self._shown:
                self._shown.add(reason)
                logger.warning(
                    f'a reply {EXPLAINED[reason]}, twice, so its answer stays unjudged; it ends '
                    f'{reply[-200:]!r}'
                )
        else:
            pair = item.candidate.pair
            said_by_vote = [one.verdict.value if one.verdict else one.reason for one, _ in heard]
            about = {
                'question': pair.question,
                'reference': pair.reference,
                'answer': pair.answer,
                'language': pair.language,
                'reply': next(text for one, text in heard if one.verdict is verdict)[-400:],
                **({'votes': said_by_vote} if self._votes > 1 else {}),
                'judge': self.judge,
                'time': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
            }
            self._store.put(item.key, verdict, about)
        self._correct += verdict is Verdict.CORRECT
        if not self.bar.disable:
            told = f'correct {self._correct}, unjudged {len(self.reasons)}'
            self.bar.set_postfix_str(told, refresh=False)
            self.bar.update()
