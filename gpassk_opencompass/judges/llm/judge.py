"""An LLM behind OpenAI-compatible servers as a judge."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import fields
from functools import cache, partial
from inspect import signature
from typing import Any

from loguru import logger

from ...answers import normal_form
from ...chat.apart import run_apart
from ...chat.completion import Reply
from ...chat.exchange import Access
from ...chat.jobs import Job
from ...chat.limits import Limits
from ...chat.served import Served
from ...chat.traffic import Traffic
from ...chat.waiting import Clock
from ..filling import Asked
from ..lines import Encoded
from ..prompts import Candidate, Prompts, find_prompts, settle
from ..protocol import Judgement, Pair, Verdict
from ..store import STORE_VARIABLE, VerdictKeys, VerdictStore
from .asking import Asking, Heard
from .canaries import UnfitJudge
from .hearing import Hearing, progress_bar
from .reception import Reception
from .settings import MAX_TOKENS, api_key, llm_settings

_EXCERPT = 400
_READ_BY = 2
"""The rules by which a reply becomes a verdict; one more wherever they change what a reply says."""
_STATISTICS = dict.fromkeys(
    [
        'pairs',
        'empty',
        'string',
        'stored',
        'asked',
        'unboxed',
        'shortened',
        'requests',
        'replies',
        'failures',
        'canaries',
        'canaries_right',
        'repeated',
        'unjudged',
    ],
    0,
)


class LLMJudge:
    r"""Asks an LLM whether an answer agrees with the reference.

    Each different answer is asked once, also over several calls and, with a store, over several runs. A blank
    answer is incorrect and one that equals the reference in normal form correct without a call. A reply
    without a verdict or without its own end is asked for once more; then the pair is unjudged. Each server
    first says what it serves and judges pairs with known verdicts (`canaries.CANARIES`), as it does now and
    then during the run.

    Args:
        model: the name under which the servers serve the judge.
        urls: of one server or several: http://host:port, with or without /v1 behind it.
        prompts: 'auto', 'protocol', 'own' or prompts of yours, see `prompts.find_prompts`.
        store: a folder for the verdicts, `~` is the home directory; `$GPASSK_VERDICTS` goes before it. None:
            kept in memory only.
        api_key_env: the environment variable that holds the API key, if one is needed.
        temperature, max_tokens: None leaves it to the server.
        extra_body: more fields of the request, e.g. dict(seed=1, chat_template_kwargs=…).
        accept_equal: accept an answer equal to the reference without a call.
        longest: characters of an answer that are sent; of a longer one its beginning and its end.
        finish_reasons: what servers send as `finish_reason` of a whole reply, besides 'stop' and its like
            (see `asking.WHOLE`); '' for one that sends none.
        canaries: ask the pairs with known verdicts; a judge that fails them is refused.
        server_digest: of what its server is started with, where that is known: verdicts of a judge with
            another one are not reused. '': what servers say that they serve tells them apart alone.
        concurrency, rate, timeout, attempts, total_time, patience: see `chat.limits.Limits`.
        progress: show a progress bar on stderr.
        clock: the time to live by, for tests.

    Raises:
        InputError: arguments that cannot be used.
        MissingExtraError: the protocol's prompts without OpenCompass.
    """

    __module__ = 'gpassk_opencompass.judges.llm'  # the path that configs and their signatures have

    def __init__(
        self,
        model: str,
        urls: str | Sequence[str],
        *,
        prompts: str | Mapping[str, str] | Prompts = 'auto',
        store: str | os.PathLike[str] | None = None,
        api_key_env: str = '',
        temperature: float | None = 0.0,
        max_tokens: int | None = MAX_TOKENS,
        extra_body: Mapping[str, Any] | None = None,
        accept_equal: bool = True,
        longest: int = 8000,
        finish_reasons: Sequence[str] = (),
        canaries: bool = True,
        server_digest: str = '',
        concurrency: int = 64,
        rate: float | None = None,
        timeout: float = 600.0,
        attempts: int = 12,
        total_time: float = 1800.0,
        patience: float = 120.0,
        progress: bool = True,
        clock: Clock | None = None,
    ) -> None:
        self._urls, sampling, also_whole = llm_settings(
            model=model,
            urls=urls,
            prompts=prompts,
            store=store,
            api_key_env=api_key_env,
            temperature=temperature,
            max_tokens=max_tokens,
            extra_body=extra_body,
            accept_equal=accept_equal,
            longest=longest,
            finish_reasons=finish_reasons,
            canaries=canaries,
            server_digest=server_digest,
            progress=progress,
        )
        self._asking = Asking(model, find_prompts(prompts), sampling, also_whole)
        self._api_key_env = api_key_env
        self._accept_equal, self._longest, self._canaries = accept_equal, longest, canaries
        self._limits = Limits(concurrency, rate, timeout, attempts, total_time, patience)
        self._progress, self._clock = progress, clock
        # All that may change what the model says of a candidate.
        self._asked_as = {
            'model': model,
            'prompts': f'{self._asking.prompts.name}:{self._asking.prompts.digest}',
            'sampling': sampling,
            'replies': _READ_BY,
            **({'finish_reasons': sorted(also_whole)} if also_whole else {}),
            **({'server_digest': server_digest} if server_digest else {}),
        }
        self._served: Served | None = None
        self._counts: Counter[str] = Counter()
        api_key(api_key_env)  # a missing key is found now, not when everything has been generated
        self._store = VerdictStore(os.environ.get(STORE_VARIABLE) or store)
        self._reception = Reception(
            self._asking,
            self._urls,
            self._limits,
            self._store,
            about=self._asked_as,
            canaries=canaries,
            counts=self._counts,
            clock=clock,
        )

    @staticmethod
    def check_arguments(arguments: Mapping[str, Any]) -> None:
        """See `build.build_judge`."""
        llm_settings(**{name: arguments[name] for name in signature(llm_settings).parameters})
        Limits(**{field.name: arguments[field.name] for field in fields(Limits)})

    def identity(self) -> dict[str, Any]:
        """Return model, prompts and their digest, sampling settings, and what is decided without asking.

        Also what the servers say that they serve, once they were asked, as far as the name does not say it.
        """
        shown = self._served.shown(self._asking.model) if self._served else {}
        return {
            'name': 'llm',
            **self._asked_as,
            'accept_equal': self._accept_equal,
            'longest': self._longest,
            **({} if self._canaries else {'canaries': False}),
            **({'served': shown} if shown else {}),
        }

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return one judgement a pair, in the order of `pairs`.

        May be called where an event loop runs. Whatever stops it (Ctrl-C too), verdicts that came are kept.

        Raises:
            InputError: the servers refuse the settings (key, model name, address, …).
            IncompleteError: no server answered for the patience given.
        """
        form_of = cache(normal_form)  # references and answers come again and again
        cases = {
            pair: settle(pair, self._accept_equal, self._longest, form_of) for pair in dict.fromkeys(pairs)
        }
        candidates = {pair: case for pair, case in cases.items() if isinstance(case, Candidate)}
        self._counts['pairs'] += len(pairs)
        self._counts.update(case.origin for case in cases.values() if isinstance(case, Judgement))
        said = self._said_of(candidates) if candidates else {}
        judged = {pair: case if isinstance(case, Judgement) else said[pair] for pair, case in cases.items()}
        return [judged[pair] for pair in pairs]

    def statistics(self) -> dict[str, int]:
        """Count so far: pairs, how each different answer was settled, requests, and what went wrong."""
        return {**_STATISTICS, **self._counts, 'damaged_lines': self._store.damaged}

    def close(self) -> None:
        """Let go of the store's file."""
        self._store.close()

    def _said_of(self, candidates: Mapping[Pair, Candidate]) -> dict[Pair, Judgement]:
        """Return what the judge says of each: stored, or asked for now."""
        self._store.refresh()
        served = self._meet(list(candidates.values()))
        known = VerdictKeys(self._judge_of(served))
        keys = {pair: _key(known, ask) for pair, ask in candidates.items()}
        asks: dict[str, Candidate] = {}
        for pair, ask in candidates.items():
            asks.setdefault(keys[pair], ask)
        missing = {key: ask for key, ask in asks.items() if self._store.get(key) is None}
        self._count(asks, missing)
        reasons = self._ask(missing, hits=len(asks) - len(missing)) if missing else {}
        return {pair: self._judgement(key, reasons) for pair, key in keys.items()}

    def _meet(self, asks: Sequence[Candidate]) -> Served:
        """Return what the servers serve; where none answers and all is known, what an earlier run heard."""
        if self._reception.served is None:
            key = api_key(self._api_key_env)
            if not run_apart(partial(self._reception.meet, key, wait=False)):
                if (before := self._known_under(asks)) is not None:
                    logger.warning(
                        f'no server of {self._asking.model} answers; all that is asked was judged before, by '
                        f'{before.told()}, and is taken from the store'
                    )
                    self._served = before
                    return before
                run_apart(partial(self._reception.meet, key, wait=True))
        met = self._reception.served or Served()
        if self._served is not None and (difference := self._served.differs(met)):
            raise UnfitJudge(
                f'{self._asking.model!r} is now served with {difference}, as verdicts of before say'
            )
        self._served = met
        return met

    def _known_under(self, asks: Sequence[Candidate]) -> Served | None:
        """Return what was served in the earlier run that judged all of these, if there is exactly one."""
        whole = [
            served
            for served in self._reception.known_before()
            if self._knows_all(VerdictKeys(self._judge_of(served)), asks)
        ]
        return whole[0] if len(whole) == 1 else None

    def _knows_all(self, known: VerdictKeys, asks: Sequence[Candidate]) -> bool:
        return all(self._store.get(_key(known, ask)) is not None for ask in asks)

    def _judge_of(self, served: Served) -> dict[str, Any]:
        """Return what a verdict is kept under besides its texts."""
        return {**self._asked_as, 'served': served.told()}

    def _judgement(self, key: str, reasons: Mapping[str, str]) -> Judgement:
        verdict = self._store.get(key)
        if verdict is None:
            return Judgement(Verdict.UNJUDGED, 'llm', reasons[key])
        return Judgement(verdict, 'llm', reply_key=key)

    def _count(self, asks: Mapping[str, Candidate], missing: Mapping[str, Candidate]) -> None:
        self._counts['stored'] += len(asks) - len(missing)
        self._counts['asked'] += len(missing)
        self._counts['unboxed'] += sum(ask.unboxed for ask in asks.values())
        self._counts['shortened'] += sum(ask.shortened for ask in asks.values())

    def _ask(self, missing: Mapping[str, Candidate], hits: int) -> dict[str, str]:
        """Ask for what is missing; returns why a key stayed without a verdict."""
        logger.info(f'{len(missing)} answers to ask {self._asking.model} for, {hits} are known')
        key = api_key(self._api_key_env)
        with closing(progress_bar(len(missing), hits, not self._progress)) as bar:
            examination = self._reception.examination
            judge = Encoded.of(self._judge_of(self._served or Served()))
            opened: dict[str, Asked] = {}  # so that no prompt is filled in twice
            hear, keep = partial(self._hear, missing, opened), partial(self._keep, missing, judge)
            hearing = Hearing(hear, keep, examination, self._counts, bar)

            def received(job: Job, reply: Reply) -> bool:
                reply = reply.hiding(key, in_answers=True)  # what it says is kept, in the store
                self._reception.check(job, reply)
                return hearing.received(job, reply)

            traffic = Traffic(
                self._urls,
                self._limits,
                received,
                hearing.abandoned,
                access=Access((key,)),
                counts=self._counts,
                clock=self._clock,
                proven=hits > 0,
                greet=partial(self._reception.greet, key),
            )
            jobs = (self._job(key, ask, opened) for key, ask in missing.items())
            mixed = examination.mixed_into(jobs) if self._canaries else jobs
            try:
                run_apart(partial(traffic.run, mixed))
            finally:
                self._store.flush()
        return hearing.reasons

    def _asked(self, ask: Candidate) -> Asked:
        return self._asking.prompts.asked(
            ask.language, question=ask.question, reference=ask.reference, candidate=ask.text
        )

    def _job(self, key: str, ask: Candidate, opened: dict[str, Asked]) -> Job:
        opened[key] = self._asked(ask)
        return self._asking.job(key, opened[key])

    def _hear(
        self, missing: Mapping[str, Candidate], opened: dict[str, Asked], key: str, reply: Reply
    ) -> Heard:
        asked = opened.pop(key) if key in opened else self._asked(missing[key])
        return self._asking.hear(reply, asked)

    def _keep(
        self,
        missing: Mapping[str, Candidate],
        judge: Encoded,
        key: str,
        verdict: Verdict,
        reply: Reply,
    ) -> None:
        ask = missing[key]
        about = {
            'question': ask.question,
            'reference': ask.reference,
            'answer': ask.text,
            'language': ask.language,
            'reply': reply.text[-_EXCERPT:],
            'judge': judge,
            'time': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
        }
        self._store.put(key, verdict, about)


def _key(known: VerdictKeys, ask: Candidate) -> str:
    """Return the key of a verdict of a judge."""
    return known.key(ask.language, ask.question, ask.reference, ask.known_by)
