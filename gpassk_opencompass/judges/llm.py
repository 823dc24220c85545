"""An LLM behind OpenAI-compatible servers as a judge."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from loguru import logger
from pydantic import Field, PositiveInt, field_validator, model_validator
from tqdm import tqdm

from ..answers import normal_form
from ..completion import Kind, Reply, Trouble
from ..errors import IncompleteError, InputError
from ..keys import is_literal_key, read_key
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
from .canaries import Canary, Served, UnfitJudge, canaries, told_by, told_in_list
from .parsing import EXPLAINED, Heard, parse_verdict
from .prompts import Asked, check_choice, find_prompts, is_chinese
from .protocol import EMPTY, SAME, Judgement, Pair, Verdict, checked
from .verdicts import STORE_VARIABLE, VerdictStore, store_folder, verdict_key

if TYPE_CHECKING:
    from aiohttp import ClientSession

_READ_BY = 2
"""The rules by which a reply becomes a verdict; one more wherever they change what a reply says."""

_RESERVED = frozenset({'model', 'messages', 'stream', 'n'})
_COUNTED = (
    'pairs empty string stored asked unboxed shortened requests replies failures canaries canaries_right '
    'repeated disagreed unjudged'
)


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

    @field_validator('model', 'urls', 'prompts', 'verdicts', 'api_key_env')
    @classmethod
    def _can_be_used(cls, value: Any, info: Any) -> Any:
        if info.field_name == 'model' and not value.strip():
            raise ValueError(f'model = {value!r}: an LLM judge needs the name that its servers know it by')
        checks: dict[str, Callable[[Any], Any]] = {
            'urls': endpoints,
            'prompts': check_choice,
            'verdicts': lambda folder: folder is None or store_folder(folder),
            'api_key_env': check_key_variable,
        }
        checks.get(info.field_name, str)(value)
        return value

    @field_validator('extra_body')
    @classmethod
    def _is_json(cls, value: Any) -> Any:
        if value is not None and not isinstance(value, Mapping):
            raise ValueError(f'extra_body = {value!r}: expected a dict, e.g. dict(seed=1)')
        extra = dict(value or {})
        if taken := sorted(_RESERVED & set(extra)):
            raise ValueError(f'extra_body holds {taken}, which the judge sets itself; leave them out')
        if secret := next((name for name, part in _fields(extra) if is_literal_key(name, str(part))), None):
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


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Return all fields with their names, at any depth."""
    parts = [*value.items()] if isinstance(value, Mapping) else []
    for name, part in [('', part) for part in value] if isinstance(value, list | tuple) else parts:
        inner = isinstance(part, Mapping | list | tuple)
        yield str(name), '' if inner else part
        yield from _fields(part)


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
        self.prompts = find_prompts(settings.prompts)
        probe = self.prompts.fill('en', question='', reference='', candidate='')
        self.canaries = canaries(probe.style.accept)
        extra = dict(settings.extra_body or {})
        given = {'temperature': settings.temperature, 'max_tokens': settings.max_tokens}
        if 'max_completion_tokens' in extra:
            del given['max_tokens']
        self.sampling = {**{name: value for name, value in given.items() if value is not None}, **extra}
        self._model, self._also_whole = settings.model, frozenset(settings.finish_reasons)

    def ask(self, pair: Pair) -> Asked:
        """Return the prompt for a pair with an answer."""
        texts = {'question': pair.question, 'reference': pair.reference, 'candidate': pair.answer}
        return self.prompts.fill(pair.language, **texts)

    def body(self, asked: Asked, vote: int = 0) -> bytes:
        """Return the body of the request."""
        fields = dict(self.sampling)
        if vote and isinstance(fields.get('seed'), int):
            fields['seed'] += vote
        messages = [{'role': 'user', 'content': asked.prompt}]
        return json.dumps({'model': self._model, 'messages': messages, **fields}).encode()

    def hear(self, reply: Reply, asked: Asked) -> Heard:
        """Return the verdict of the reply, or why there is none."""
        return parse_verdict(reply, asked, self._also_whole)


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
    text, shortened, form = answer or tail, len(answer or tail) > longest, ''
    if not text:
        return EMPTY
    if not answer:
        text = tail[-longest:]
    elif shortened:
        text = f'{answer[: longest // 2]} […] {answer[-(longest // 2) :]}'
    else:
        form = form_of(answer)
        if accept_equal and form and form == form_of(pair.reference):
            return SAME
    known_by = f'form {form}' if form else f'text {text}'
    # No server takes halves of characters.
    question, reference, text, known_by = (
        one.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')
        for one in (pair.question, pair.reference, text, known_by)
    )
    language = 'cn' if is_chinese(pair.language) else 'en'
    return Candidate(Pair(question, reference, text, language), known_by, not answer, shortened)


class _Item(NamedTuple):
    """What a request is for."""

    key: str
    asked: Asked
    pair: Pair


class LLMJudge:
    r"""Asks an LLM whether an answer agrees with the reference.

    Each different answer is asked once, also over several calls and, with a store, over several runs. A blank
    answer is incorrect and one that equals the reference in normal form correct without a call. A reply
    without a verdict or without its own end is asked for once more; then the pair is unjudged. Each server
    first says what it serves and judges pairs with known verdicts (`canaries`).

    Args:
        model, urls, settings: see `LLMSettings`.
        clock: the time to live by, for tests.

    Raises:
        InputError: arguments that cannot be used, all at once.
        MissingExtraError: prompts of OpenCompass without OpenCompass.
    """

    def __init__(self, model: str, urls: str | Sequence[str], *, clock: Clock | None = None, **settings: Any):
        self._settings = told = checked(LLMSettings, {'model': model, 'urls': urls, **settings})
        self._wording = wording = Wording(told)
        self._clock = clock
        more = {
            'finish_reasons': told.finish_reasons,
            'server_digest': told.server_digest,
            'votes': told.votes if told.votes > 1 else 0,
        }
        # All that may change what the model says of a candidate.
        self._asked_as = {
            'model': model,
            'prompts': f'{wording.prompts.name}:{wording.prompts.digest}',
            'sampling': wording.sampling,
            'replies': _READ_BY,
            **{name: value for name, value in more.items() if value},
        }
        self._served: Served | None = None  # what verdicts are kept under, from the first server
        self._said, self._said_by = Served(), ''  # by any server so far, and by whom
        self._met: set[str] = set()
        self._counts: Counter[str] = Counter(dict.fromkeys(_COUNTED.split(), 0))
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
        judged: dict[Pair, Judgement] = {}
        for pair, case in cases.items():
            if isinstance(case, Candidate):
                key = case.key(judge)
                if verdict := self._store.get(key):
                    judged[pair] = Judgement(verdict, 'llm', reply_key=key)
                else:
                    judged[pair] = Judgement(Verdict.UNJUDGED, 'llm', reasons.get(key, 'not asked'))
            else:
                judged[pair] = case
        return [judged[pair] for pair in pairs]

    def statistics(self) -> dict[str, int]:
        """Count so far: pairs, how each different answer was settled, requests, and what went wrong."""
        return {**self._counts, 'damaged_lines': self._store.damaged}

    def close(self) -> None:
        """Let go of the store's file."""
        self._store.close()

    def _judge_of(self, served: Served) -> dict[str, Any]:
        """Return what a verdict is kept under besides its texts."""
        return {**self._asked_as, 'served': served.as_json()}

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
        said: dict[str, list[tuple[Heard, str]]] = {}  # the votes on a key so far, each with its reply
        reasons: dict[str, str] = {}
        correct = 0

        def heard(request: Request, reply: Reply | Trouble) -> bool:
            nonlocal correct
            if isinstance(reply, Trouble):
                vote, text = Heard(None, reply.reason), ''
            else:
                self._agree(request.url, told_by(reply))
                vote, text = self._wording.hear(reply, request.item.asked), reply.text
                if vote.verdict is None and request.asked == 0:
                    self._counts['repeated'] += 1
                    return False
            votes = said.setdefault(request.item.key, [])
            votes.append((vote, text))
            if len(votes) == self._settings.votes:
                verdict = self._count_votes(request.item, said.pop(request.item.key), reasons)
                correct += verdict is Verdict.CORRECT
                bar.set_postfix_str(f'correct {correct}, unjudged {len(reasons)}', False)
                bar.update()
            return True

        requests = self._requests(candidates, bar)
        more = {'greet': self._greet, 'clock': self._clock, 'counts': self._counts}
        try:
            ask_all(servers, requests, heard, self._settings, **more)
        except IncompleteError:
            if self._served or not (stored := self._stored(candidates)):
                raise
            self._served = stored
            logger.warning(
                f'no server of {self._settings.model} answers; all that is asked was judged before, by '
                f'{stored.as_json()}, and is taken from the store'
            )
            list(requests)  # none; they are counted
        finally:
            bar.close()
            self._store.flush()
        return reasons

    def _requests(self, candidates: Sequence[Candidate], bar: Any) -> Iterator[Request]:
        """Yield the requests for what is missing.

        It is drawn from once a server has said what it serves, which is a part of the keys.
        """
        judge = self._judge_of(self._served or Served())
        asks = {candidate.key(judge): candidate for candidate in reversed(candidates)}
        missing = {key: asks[key] for key in reversed(asks) if self._store.get(key) is None}
        counts = {'stored': len(asks) - len(missing), 'asked': len(missing)}
        self._counts.update(counts)
        self._counts['unboxed'] += sum(ask.unboxed for ask in asks.values())
        self._counts['shortened'] += sum(ask.shortened for ask in asks.values())
        if missing:
            model, stored = self._settings.model, counts['stored']
            logger.info(f'{len(missing)} answers to ask {model} for, {stored} are known')
        bar.set_description(f'judging ({counts["stored"]} hits)', refresh=False)
        bar.reset(len(missing))
        for key, ask in missing.items():
            asked = self._wording.ask(ask.pair)
            for vote in range(self._settings.votes):
                yield Request(_Item(key, asked, ask.pair), self._wording.body(asked, vote))

    def _count_votes(
        self, item: _Item, votes: Sequence[tuple[Heard, str]], reasons: dict[str, str]
    ) -> Verdict | None:
        """Keep the verdict of more than half of the votes, or the reason why there is none."""
        numbers = Counter(vote.verdict for vote, _ in votes)
        self._counts['disagreed'] += len(set(numbers) - {None}) > 1
        verdict = next((one for one, number in numbers.items() if one and 2 * number > len(votes)), None)
        if verdict is None:
            reason = next((vote.reason for vote, _ in votes if vote.reason), 'no majority')
            if reason in EXPLAINED and reason not in reasons.values():
                logger.warning(
                    f'a reply {EXPLAINED[reason]}, twice, so its answer stays unjudged; it ends '
                    f'{votes[-1][1][-200:]!r}'
                )
            reasons[item.key] = reason
            self._counts['unjudged'] += 1
            return None
        said = [vote.verdict.value if vote.verdict else vote.reason for vote, _ in votes]
        pair, text = item.pair, next(text for vote, text in votes if vote.verdict is verdict)
        about = {
            'question': pair.question,
            'reference': pair.reference,
            'answer': pair.answer,
            'language': pair.language,
            'reply': text[-400:],
            **({'votes': said} if len(votes) > 1 else {}),
            'judge': self._judge_of(self._served or Served()),
            'time': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
        }
        self._store.put(item.key, verdict, about)
        return verdict

    async def _greet(self, session: ClientSession, server: Server, came_back: bool) -> None:
        """Get to know a server that is to judge, once, or anew if it comes back: it may be another one.

        It says what it serves, and judges the canaries.

        Raises:
            Trouble: it does not answer.
            UnfitJudge: it serves another model than the others, or fails the canaries.
        """
        if server.url in self._met and not came_back:
            return
        proxy = proxy_for(server.url, self._settings.proxy)
        first, *others = [self._asking(canary) for canary in self._wording.canaries]
        self._counts['requests'] += 1
        try:
            reply = await exchange(session, server, first.body, proxy)
        except Trouble:
            self._counts['failures'] += 1
            raise
        listed = await get_json(session, server, 'models', proxy)
        self._counts['replies'] += 1
        self._agree(server.url, told_by(reply).filled(told_in_list(listed, self._settings.model, server.key)))
        self._served = self._served or self._said
        first.url = server.url
        if self._settings.canaries:
            again = [] if self._examine(first, reply) else [self._asking(first.item, asked=1)]
            easy = [one for one in others if not one.item.injected]
            more: dict[str, Any] = {'clock': self._clock, 'counts': self._counts, 'proven': True}
            # The easy ones first: a failure there says more.
            for requests in ([*again, *easy], others[len(easy) :]):
                try:
                    await answer_all([server], requests, self._examine, self._settings, **more)
                except IncompleteError as error:
                    raise Trouble(Kind.DOWN, 'no connection', str(error)) from None
        self._met.add(server.url)

    def _asking(self, canary: Canary, asked: int = 0) -> Request:
        return Request(canary, self._wording.body(self._wording.ask(canary.pair)), asked)

    def _examine(self, request: Request, reply: Reply | Trouble) -> bool:
        """Return whether that settles a canary; False asks once more.

        Raises:
            UnfitJudge: the judge must not be used.
        """
        canary: Canary = request.item
        if isinstance(reply, Trouble):
            heard, text = Heard(None, reply.reason), ''
        else:
            self._agree(request.url, told_by(reply))
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

    def _agree(self, url: str, says: Served) -> None:
        """Raise UnfitJudge if a server serves another model than the first one said."""
        if difference := self._said.differs(says):
            before = f'{self._said_by} said' if url != self._said_by else 'it said before'
            raise UnfitJudge(
                f'{url} serves as {self._settings.model!r}: {difference}, which {before}. Verdicts of '
                'two models would be mixed: start the same model in the same way everywhere, or name one '
                'server; the verdicts so far are kept'
            )
        self._said_by = self._said_by or url
        self._said = self._said.filled(says)

    def _stored(self, candidates: Sequence[Candidate]) -> Served | None:
        """Return what was served when all of these were judged before, if there is exactly one such."""
        judges = [line.about.get('judge') for line in self._store.lines()]
        served = {
            Served(**told)
            for judge in judges
            if isinstance(judge, dict) and self._judge_of(Served()) == {**judge, 'served': {}}
            if (told := judge['served']).keys() <= {*Served._fields}
        }
        whole = [
            one
            for one in served
            if all(self._store.get(candidate.key(self._judge_of(one))) for candidate in candidates)
        ]
        return whole[0] if len(whole) == 1 else None
