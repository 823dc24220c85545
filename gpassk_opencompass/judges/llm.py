"""An LLM behind OpenAI-compatible servers as a judge, and whether its servers are fit to be one."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from loguru import logger
from pydantic import AfterValidator, Field, PositiveInt, StringConstraints, field_validator, model_validator
from tqdm import tqdm

from .. import servers
from ..answers import normal_form
from ..completion import ABOUT_LENGTH, ENDS, Kind, Reply, Trouble, weights_of
from ..errors import IncompleteError, InputError
from ..keys import hidden, is_literal_key, read_key
from ..servers import Clock, Request, Server, endpoints, exchange, get_json, proxy_for
from . import EMPTY, SAME, Judge, Judgement, Pair, Verdict, checked
from .prompts import (
    EXPLAINED,
    STYLES,
    Asked,
    Canary,
    Heard,
    canaries,
    check_choice,
    find_prompts,
    is_chinese,
    parse_verdict,
)
from .verdicts import STORE_VARIABLE, VerdictStore, store_files, store_folder, verdict_key

if TYPE_CHECKING:
    from aiohttp import ClientSession

_READ_BY = 2
"""The rules by which a reply becomes a verdict; one more wherever they change what a reply says."""

_COUNTED = (
    'pairs empty string stored asked requests replies failures canaries canaries_right '
    'repeated disagreed unjudged'
)
_HOPELESS = (Kind.SETTING, Kind.REFUSED)


class UnfitJudge(InputError):
    """A judge whose verdicts cannot be used: it fails pairs with known verdicts, or is not one judge."""


class LLMSettings(servers.ClientSettings):
    """What an LLM judge is set to; see also `servers.ClientSettings`. Nothing is opened, no key is needed."""

    model: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    """The name under which the servers serve the judge."""
    urls: Annotated[Any, AfterValidator(endpoints)]
    """Of one server or several: http://host:port, with or without /v1 behind it."""
    prompts: Annotated[Any, AfterValidator(check_choice)] = 'auto'
    """See `prompts.find_prompts`; of a name no more is checked, as OpenCompass may be missing."""
    verdicts: Annotated[Any, AfterValidator(store_folder)] = None
    """A folder for the verdicts, `~` is the home directory; `$GPASSK_VERDICTS` goes before it. None: kept in
    memory only."""
    api_key_env: str = ''
    """The environment variable that holds the API key, if one is needed."""
    temperature: float | None = Field(0.0, ge=0, allow_inf_nan=False)
    """None leaves it to the server, as does `max_tokens`."""
    max_tokens: PositiveInt | None = 8192
    extra_body: Any = Field(default_factory=dict)
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
    `prompts.WHOLE`); '' for one that sends none."""
    canaries: bool = True
    """Ask the pairs with known verdicts; a judge that fails them is refused."""
    server_digest: str = ''
    """Of what its server is started with, where that is known: verdicts of a judge with another one are not
    reused."""
    progress: bool = True
    """Show a progress bar on stderr."""

    @field_validator('api_key_env')
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        if value and not re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', value):
            raise ValueError(
                'api_key_env is no name of an environment variable; write the name and not the key, e.g. '
                "api_key_env='JUDGE_KEY', and export the key in it"
            )
        return value

    @field_validator('extra_body')
    @classmethod
    def _is_json_without_keys(cls, value: Any) -> Any:
        if not isinstance(value, Mapping | None):
            raise ValueError(f'extra_body = {value!r}: expected a dict, e.g. dict(seed=1)')
        extra = dict(value or {})
        if taken := sorted({'model', 'messages', 'stream', 'n'} & set(extra)):
            raise ValueError(f'extra_body holds {taken}, which the judge sets itself; leave them out')
        try:
            text = json.dumps(extra, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f'extra_body cannot be written as JSON: {error}') from None

        def without_keys(fields: list[tuple[str, Any]]) -> dict[str, Any]:
            for name, part in fields:
                if is_literal_key(name, '' if isinstance(part, dict) else str(part)):
                    raise ValueError(
                        f'extra_body holds {name!r} (not shown): records and verdict stores say what a judge '
                        'was sent; name the environment variable with the key as api_key_env'
                    )
            return dict(fields)

        return json.loads(text, object_pairs_hook=without_keys)

    @field_validator('finish_reasons')
    @classmethod
    def _are_ends(cls, given: Any) -> Any:
        if isinstance(given, str) or not all(isinstance(reason, str) for reason in given):
            raise ValueError(f"finish_reasons = {given!r}: expected a list of texts, e.g. ['done'] or ['']")
        reasons = sorted({reason.casefold() for reason in given})
        if known := [reason for reason in reasons if reason in ENDS]:
            raise ValueError(f'finish_reasons: {known[0]} is no end of a whole reply; leave it out')
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

    def servers(self) -> list[Server]:
        """Return the servers with the API key, which is kept nowhere; refuse a key that is not there."""
        return [Server(url, read_key(self.api_key_env, 'api_key_env')) for url in self.urls]


# What a server serves, and how it judges pairs with known verdicts


class Served(NamedTuple):
    """What a server says that it serves; '' where it is silent.

    `model` is what its replies call it, e.g. the dated name behind an alias; `root` what its list of models
    says of the weights; `fingerprint` the `system_fingerprint` of its replies, where it is steady.
    """

    model: str = ''
    root: str = ''
    fingerprint: str = ''

    def as_json(self) -> dict[str, str]:
        """Return what is known, JSON-able."""
        return {name: value for name, value in self._asdict().items() if value}


class Outcome(NamedTuple):
    """What a server made of one canary."""

    canary: Canary
    verdict: Verdict
    seconds: float
    problem: str = ''
    """What is wrong, and what to do."""

    @property
    def passed(self) -> bool:
        """Whether a judge may say this; of an injected answer it may also say nothing."""
        silent = self.canary.injected and self.verdict is Verdict.UNJUDGED
        return silent or self.verdict is self.canary.verdict


class ServerHealth(NamedTuple):
    """What came of asking one server: an outcome a canary, or why there are none and what to do."""

    url: str
    served: Served
    outcomes: list[Outcome]
    failure: str = ''

    @property
    def fit(self) -> bool:
        """Whether all easy pairs are judged right, and no injected answer is accepted."""
        return not self.failure and all(outcome.passed for outcome in self.outcomes)


# The judge


class Candidate(NamedTuple):
    """A pair as it is asked, and what is `known_by` its verdict: answers of one normal form are one."""

    pair: Pair
    known_by: str


_form_of = lru_cache(8192)(normal_form)  # references and answers come again and again


def settle(pair: Pair, accept_equal: bool, longest: int) -> Judgement | Candidate:
    """Return the judgement where nobody has to be asked, else the answer, or the end of the response."""
    answer, tail, form = pair.answer.strip(), pair.tail.strip(), ''
    if not (text := answer or tail):
        return EMPTY
    if not answer:
        text = tail[-longest:]
    elif len(answer) > longest:
        text = f'{answer[: longest // 2]} […] {answer[-(longest // 2) :]}'
    else:
        form = _form_of(answer)
        if accept_equal and form and form == _form_of(pair.reference):
            return SAME
    # No server takes halves of characters.
    question, reference, text, known_by = (
        one.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')
        for one in (pair.question, pair.reference, text, f'form {form}' if form else f'text {text}')
    )
    return Candidate(Pair(question, reference, text, 'cn' if is_chinese(pair.language) else 'en'), known_by)


@dataclass
class _Call:
    """What a call of `LLMJudge.judge` asks for, and what it hears."""

    candidates: Sequence[Candidate]
    store: VerdictStore
    bar: Any
    keys: dict[Candidate, str] = field(default_factory=dict)
    replies: dict[str, list[tuple[Heard, str]]] = field(default_factory=dict)  # to one key so far
    reasons: dict[str, str] = field(default_factory=dict)  # why a key has no verdict
    silent: set[str] = field(default_factory=set)  # servers that did not answer


class LLMJudge(Judge):
    r"""Asks an LLM whether an answer agrees with the reference.

    Each different answer is asked once, also over several calls and, with a store, over several runs. A blank
    answer is incorrect and one that equals the reference in normal form correct without a call. A reply
    without a verdict or without its own end is asked for once more; a pair without a majority of votes is
    unjudged. Each server first says what it serves and judges pairs with known verdicts (`canaries`).

    Args:
        model, urls, settings: see `LLMSettings`.
        clock: the time to live by, for tests.

    Raises:
        InputError: arguments that cannot be used, all at once.
        MissingExtraError: prompts of OpenCompass without OpenCompass.
    """

    Settings = LLMSettings

    def __init__(self, model: str, urls: str | Sequence[str], *, clock: Clock | None = None, **settings: Any):
        self._settings = given = checked(LLMSettings, {'model': model, 'urls': urls, **settings})
        self._clock, self._prompts = clock or Clock(), find_prompts(given.prompts)
        self._canaries = canaries(STYLES[self._prompts.style].accept)
        limits = {'temperature': given.temperature, 'max_tokens': given.max_tokens}
        if 'max_completion_tokens' in given.extra_body:
            del limits['max_tokens']
        self._sampling = {name: value for name, value in limits.items() if value is not None}
        self._sampling |= given.extra_body
        more = {
            'finish_reasons': given.finish_reasons,
            'server_digest': given.server_digest,
            'votes': given.votes if given.votes > 1 else 0,
        }
        # All that may change what the model says of a candidate.
        self._asked_as = {
            'model': model,
            'prompts': f'{self._prompts.name}:{self._prompts.digest}',
            'sampling': self._sampling,
            'replies': _READ_BY,
            **{name: value for name, value in more.items() if value},
        }
        self._served: Served | None = None  # what verdicts are kept under, from the first server
        self._said, self._said_by = Served(), ''  # by any server so far, and by whom
        self._met: set[str] = set()
        self._counts: Counter[str] = Counter(dict.fromkeys(_COUNTED.split(), 0))
        given.servers()  # a missing key is found now, not when everything has been generated
        self._folder = store_folder(os.environ.get(STORE_VARIABLE) or None) or given.verdicts
        store_files(self._folder)  # so is a file there
        self._store: VerdictStore | None = None

    def identity(self) -> dict[str, Any]:
        """Return all that may change a verdict, and what was served as far as the name does not say it."""
        model, served = self._settings.model, self._served or Served()
        known = {'model': served.model, 'root': PurePosixPath(served.root).name}  # of a path the last part
        names = ('', model, PurePosixPath(model).name)
        shown = {part: value for part, value in known.items() if value not in names}
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
        longest, equal = self._settings.longest, self._settings.accept_equal
        cases = {pair: settle(pair, equal, longest) for pair in dict.fromkeys(pairs)}
        self._counts['pairs'] += len(pairs)
        self._counts.update(case.origin for case in cases.values() if isinstance(case, Judgement))
        if self._store is None:
            self._store = VerdictStore(self._folder)
        asks = [case for case in cases.values() if isinstance(case, Candidate)]
        judged = self._ask(asks, self._store) if asks else {}
        said = {pair: judged[case] if isinstance(case, Candidate) else case for pair, case in cases.items()}
        return [said[pair] for pair in pairs]

    def statistics(self) -> dict[str, int]:
        """Count so far: pairs, how each different answer was settled, requests, and what went wrong."""
        return {**self._counts, 'damaged_lines': self._store.damaged if self._store else 0}

    def close(self) -> None:
        """Let go of the store's file."""
        if self._store:
            self._store.close()

    def _keys(self, candidates: Sequence[Candidate], served: Served | None) -> dict[Candidate, str]:
        """Return what verdicts are kept under: the judge, what is served, and the texts."""
        judge = self._judge_of(served)
        return {
            one: verdict_key(judge, one.pair.language, one.pair.question, one.pair.reference, one.known_by)
            for one in candidates
        }

    def _judge_of(self, served: Served | None) -> dict[str, Any]:
        return {**self._asked_as, 'served': (served or Served()).as_json()}

    def _body(self, asked: Asked, vote: int = 0) -> bytes:
        fields = dict(self._sampling)
        if vote and isinstance(fields.get('seed'), int):
            fields['seed'] += vote
        messages = [{'role': 'user', 'content': asked.prompt}]
        return json.dumps({'model': self._settings.model, 'messages': messages, **fields}).encode()

    def _ask(self, candidates: Sequence[Candidate], store: VerdictStore) -> dict[Candidate, Judgement]:
        """Ask for what is not in the store."""
        bar = tqdm(
            total=0,
            unit='answer',
            disable=not self._settings.progress,
            mininterval=0.2 if sys.stderr.isatty() else 30.0,  # in a log file a line every half minute
            dynamic_ncols=True,
        )
        call = _Call(candidates, store, bar)
        try:
            servers.ask_all(
                self._settings.servers(),
                self._requests(call),
                partial(self._hear, call),
                self._settings,
                greet=partial(self._greet, call),
                clock=self._clock,
                counts=self._counts,
            )
        finally:
            bar.close()
            store.flush()
        return {
            candidate: Judgement(verdict, 'llm', reply_key=key)
            if (verdict := store.get(key))
            else Judgement(Verdict.UNJUDGED, 'llm', call.reasons.get(key, 'not asked'))
            for candidate, key in call.keys.items()
        }

    def _requests(self, call: _Call) -> Iterator[Request]:
        """Yield those for what is missing; drawn from once it is known what is served, a part of the keys."""
        call.keys = self._keys(call.candidates, self._served)
        asks = {call.keys[candidate]: candidate for candidate in reversed(call.candidates)}
        missing = {key: asks[key] for key in reversed(asks) if call.store.get(key) is None}
        stored = len(asks) - len(missing)
        self._counts.update({'stored': stored, 'asked': len(missing)})
        if missing:
            logger.info(f'{len(missing)} answers to ask {self._settings.model} for, {stored} are known')
        call.bar.set_description(f'judging ({stored} hits)', refresh=False)
        call.bar.reset(len(missing))
        for key, ask in missing.items():
            asked = self._prompts.fill(ask.pair)
            for vote in range(self._settings.votes):
                yield Request((key, asked, ask.pair), self._body(asked, vote))

    def _hear(self, call: _Call, request: Request, reply: Reply | Trouble) -> bool:
        """Count a vote, and after the last one keep the verdict of more than half, or why there is none."""
        key, asked, pair = request.item
        vote, text = Heard(None, reply.reason if isinstance(reply, Trouble) else ''), ''
        if isinstance(reply, Reply):
            self._agree(request.url, Served(reply.model, fingerprint=reply.steady_fingerprint))
            vote, text = parse_verdict(reply, asked, self._settings.finish_reasons), reply.text
            if vote.verdict is None and request.asked == 0:
                self._counts['repeated'] += 1
                return False
        votes = call.replies.setdefault(key, [])
        votes.append((vote, text))
        if len(votes) < self._settings.votes:
            return True
        del call.replies[key]
        said = [vote.verdict for vote, _ in votes]
        self._counts['disagreed'] += len({*said} - {None}) > 1
        verdict = next((one for one in said if one and 2 * said.count(one) > len(said)), None)
        if verdict:
            told = [vote.verdict.value if vote.verdict else vote.reason for vote, _ in votes]
            about = {
                'question': pair.question,
                'reference': pair.reference,
                'answer': pair.answer,
                'language': pair.language,
                'reply': next(text for vote, text in votes if vote.verdict is verdict)[-400:],
                **({'votes': told} if len(told) > 1 else {}),
                'judge': self._judge_of(self._served),
                'time': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
            }
            call.store.put(key, verdict, about)
        else:
            reason = next((vote.reason for vote, _ in votes if vote.reason), 'no majority')
            if reason in EXPLAINED and reason not in call.reasons.values():
                logger.warning(
                    f'an answer stays unjudged: a reply, twice, {EXPLAINED[reason]}; it ends {text[-200:]!r}'
                )
            call.reasons[key] = reason
            self._counts['unjudged'] += 1
        call.bar.update()
        return True

    async def _greet(self, call: _Call, session: ClientSession, server: Server, came_back: bool) -> None:
        """Refuse a server that is not fit to judge, once, or anew if it comes back: it may be another one.

        Where no server answers and all that is asked was judged before, the store is asked in their place.
        """
        if server.url in self._met and not came_back:
            return
        try:
            _, outcomes = await self._examine(session, server)
        except Trouble as trouble:
            call.silent.add(server.url)
            all_silent = self._served is None and call.silent >= {*self._settings.urls}
            if trouble.kind in _HOPELESS or not (all_silent and self._is_stored(call)):
                raise
            return
        for outcome in outcomes:
            if not outcome.passed:
                pair = outcome.canary.pair
                raise UnfitJudge(
                    f'{server.url} is not fit to judge as {self._settings.model!r}: of the answer '
                    f'{pair.answer!r} to {pair.question!r}, reference {pair.reference!r}, {outcome.problem}. '
                    'No result is written. `gpassk judge ping` shows all such pairs; canaries=False judges '
                    'without them, and the result says so'
                )
        self._met.add(server.url)

    def _is_stored(self, call: _Call) -> bool:
        """Take what was served when all of this was judged before, if there is exactly one such."""
        judges: list[Any] = [line.about.get('judge') for line in call.store.lines()]
        served = {
            Served(**judge['served'])
            for judge in judges
            if isinstance(judge, dict) and {**judge, 'served': {}} == self._judge_of(None)
        }
        whole = [one for one in served if all(map(call.store.get, self._keys(call.candidates, one).values()))]
        if len(whole) != 1:
            return False
        self._served = self._said = whole[0]
        self._said_by = 'the store'
        logger.warning(
            f'no server of {self._settings.model} answers; all that is asked was judged before, by '
            f'{self._served.as_json()}, and is taken from the store'
        )
        return True

    async def _examine(self, session: ClientSession, server: Server) -> tuple[Served, list[Outcome]]:
        """Ask what a server serves and, beside it, the canaries; an easy one twice if judged wrongly."""
        first, *others = (Request(one, self._body(self._prompts.fill(one.pair))) for one in self._canaries)
        outcomes: dict[Canary, Outcome] = {}

        def heard(request: Request, reply: Reply | Trouble) -> bool:
            outcome = outcomes[request.item] = self._outcome(request, reply)
            if outcome.passed or request.item.injected or request.asked or isinstance(reply, Trouble):
                return True
            self._counts['repeated'] += 1
            return False

        async def ask_first() -> Reply:
            self._counts['requests'] += 1
            start = time.perf_counter()
            try:
                reply = await exchange(session, server, first.body, proxy)
            except Trouble:
                self._counts['failures'] += 1
                raise
            first.seconds = time.perf_counter() - start
            self._counts['replies'] += 1
            return reply

        proxy = proxy_for(server.url, self._settings.proxy)
        rest = iter(others if self._settings.canaries else ())
        client = servers.Client(
            [server], rest, heard, self._settings, clock=self._clock, counts=self._counts, proven=True
        )
        tasks = [
            asyncio.create_task(work) for work in (get_json(session, server, 'models', proxy), client.go())
        ]
        try:
            reply = await ask_first()
            listed, root = await tasks[0], ''
            with suppress(ValueError, LookupError, TypeError, AttributeError):  # a list of another shape
                [card] = [card for card in listed['data'] if card['id'] == self._settings.model]
                root = hidden(weights_of(card), server.key)
            served = Served(reply.model, root, reply.steady_fingerprint)
            self._agree(server.url, served)
            self._served = self._served or self._said
            if not self._settings.canaries:
                return served, []
            if not heard(first, reply):
                first.asked = 1
                heard(first, await ask_first())
            await tasks[1]
        except IncompleteError as error:
            raise Trouble(Kind.DOWN, 'no connection', str(error)) from None
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._counts['canaries'] += len(outcomes)
        self._counts['canaries_right'] += sum(one.verdict is one.canary.verdict for one in outcomes.values())
        return served, [outcomes[canary] for canary in self._canaries]

    def _outcome(self, request: Request, reply: Reply | Trouble) -> Outcome:
        canary: Canary = request.item
        if isinstance(reply, Trouble):
            return Outcome(canary, Verdict.UNJUDGED, request.seconds, str(reply))
        verdict, why = parse_verdict(reply, self._prompts.fill(canary.pair), self._settings.finish_reasons)
        if verdict is canary.verdict:
            return Outcome(canary, verdict, request.seconds)
        twice = '' if canary.injected else ', twice'
        ends = f'; its reply ends {text[-200:]!r}' if (text := reply.text.strip()) else ''
        if verdict is None:
            known = f'did not come to its own end: if it did, finish_reasons=[{reply.finish!r}]'
            said, advice = f'it gives no verdict ({why})', f'it {EXPLAINED.get(why, known)}'
        else:
            said, advice = f'it says {verdict.value}', 'is it the right model, are they the right prompts?'
            if canary.injected:
                advice = 'it does what an answer tells it: prompts "own" quotes answers line by line'
        problem = f'{said}{twice}{ends}; {advice}'
        return Outcome(canary, verdict or Verdict.UNJUDGED, request.seconds, problem)

    def _agree(self, url: str, says: Served) -> None:
        """Raise UnfitJudge if a server serves another model than the first one said."""
        for name, mine, its in zip(Served._fields, self._said, says, strict=True):
            if mine and its and mine != its:
                before = f'{self._said_by} said' if url != self._said_by else 'it said before'
                raise UnfitJudge(
                    f'{url} serves as {self._settings.model!r}: {name} {its!r} instead of {mine!r}, which '
                    f'{before}. Verdicts of two models would be mixed: start the same model in the same way '
                    'everywhere, or name one server; the verdicts so far are kept'
                )
        self._said_by = self._said_by or url
        self._said = Served(*(mine or its for mine, its in zip(self._said, says, strict=True)))

    async def ping(self, session: ClientSession, server: Server) -> ServerHealth:
        """Return how a server judges the canaries, after a second try if there is hope."""
        for last in (False, True):
            try:
                return ServerHealth(server.url, *await self._examine(session, server))
            except UnfitJudge as error:
                return ServerHealth(server.url, Served(), [], str(error))
            except Trouble as trouble:
                failure = trouble
                if last or trouble.kind in _HOPELESS:
                    break
                await self._clock.sleep(1.0 if trouble.wait is None else trouble.wait)
        advice = ''
        if failure.kind in _HOPELESS:
            with suppress(Trouble, LookupError, TypeError):
                proxy = proxy_for(server.url, self._settings.proxy)
                listed = await get_json(session, server, 'models', proxy)
                names = [hidden(str(model['id']), server.key) for model in listed['data'][:20]]
                if self._settings.model not in names:
                    advice = f'it serves {", ".join(map(repr, names))}: give one as the model'
        if failure.reason == 'time-out':
            advice = f'is it still loading, or busy? timeout allows more than {self._settings.timeout:g} s'
        elif failure.status in (401, 403):
            advice = 'name the environment variable with the key as api_key_env'
        elif failure.kind is Kind.REFUSED and ABOUT_LENGTH.search(failure.message):
            advice = 'lower max_tokens, or serve it with a longer context'
        return ServerHealth(server.url, Served(), [], f'{failure} → {advice}' if advice else str(failure))


def ping(
    model: str, urls: str | Sequence[str], *, clock: Clock | None = None, timeout: float = 120.0, **more: Any
) -> list[ServerHealth]:
    """Ask each server the canaries, as `LLMJudge` of these settings would; nothing is stored."""
    settings = {'attempts': 2, 'patience': 4.0, 'total_time': 10.0, 'timeout': timeout, **more}
    settings['canaries'] = True  # also of a judge that does not ask them in a run
    judge = LLMJudge(model, urls, clock=clock, **settings)
    given = judge._settings

    async def visit_all() -> list[ServerHealth]:
        async with servers.open_session(given) as session:
            return list(await asyncio.gather(*(judge.ping(session, one) for one in given.servers())))

    return servers.in_own_loop(visit_all)
