"""An LLM behind OpenAI-compatible servers as a judge."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import fields
from functools import partial
from inspect import signature
from typing import Any

from loguru import logger

from .apart import run_apart
from .candidate import Candidate, settle
from .hearing import Hearing, progress_bar
from .limits import Limits
from .prompts import Prompts, find_prompts
from .protocol import Judgement, Pair, Verdict
from .request import MAX_TOKENS, api_key, completion_request
from .settings import llm_settings
from .store import STORE_VARIABLE, VerdictStore, verdict_key
from .traffic import Job, Traffic
from .waits import Clock

_EXCERPT = 400
_STATISTICS = dict.fromkeys(
    (
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
        'repeated',
        'unjudged',
    ),
    0,
)


class LLMJudge:
    r"""Asks an LLM whether an answer agrees with the reference.

    Each different answer is asked once, also over several calls and, with a store, over several runs. A blank
    answer is incorrect and one that equals the reference in normal form correct without a call. A reply
    without a verdict or cut at its greatest length is asked for once more; then the pair is unjudged.

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
        concurrency, rate, timeout, attempts, total_time, patience: see `limits.Limits`.
        progress: show a progress bar on stderr.
        clock: the time to live by, for tests.

    Raises:
        InputError: arguments that cannot be used.
        MissingExtraError: the protocol's prompts without OpenCompass.
    """

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
        concurrency: int = 64,
        rate: float | None = None,
        timeout: float = 600.0,
        attempts: int = 12,
        total_time: float = 1800.0,
        patience: float = 120.0,
        progress: bool = True,
        clock: Clock | None = None,
    ) -> None:
        self._urls, self._sampling = llm_settings(
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
            progress=progress,
        )
        self._model = model
        self._prompts = find_prompts(prompts)
        self._api_key_env = api_key_env
        self._accept_equal, self._longest = accept_equal, longest
        self._limits = Limits(concurrency, rate, timeout, attempts, total_time, patience)
        self._progress, self._clock = progress, clock
        # All that may change what the model says of a candidate.
        self._asked_as = {
            'model': model,
            'prompts': f'{self._prompts.name}:{self._prompts.digest}',
            'sampling': self._sampling,
        }
        self._counts: Counter[str] = Counter()
        api_key(api_key_env)  # a missing key is found now, not when everything has been generated
        self._store = VerdictStore(os.environ.get(STORE_VARIABLE) or store)

    @staticmethod
    def check_arguments(arguments: Mapping[str, Any]) -> None:
        """See `build.build_judge`."""
        llm_settings(**{name: arguments[name] for name in signature(llm_settings).parameters})
        Limits(**{field.name: arguments[field.name] for field in fields(Limits)})

    def identity(self) -> dict[str, Any]:
        """Model, prompts and their digest, sampling settings, and what is decided without asking."""
        return {
            'name': 'llm',
            **self._asked_as,
            'accept_equal': self._accept_equal,
            'longest': self._longest,
        }

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """One judgement a pair, in the order of `pairs`.

        May be called where an event loop runs. Whatever stops it (Ctrl-C too), verdicts that came are kept.

        Raises:
            InputError: the servers refuse the settings (key, model name, address, …).
            IncompleteError: no server answered for the patience given.
        """
        cases = {pair: settle(pair, self._accept_equal, self._longest) for pair in dict.fromkeys(pairs)}
        keys = {pair: self._key(case) for pair, case in cases.items() if isinstance(case, Candidate)}
        asks: dict[str, Candidate] = {}
        for pair, case in cases.items():
            if isinstance(case, Candidate):
                asks.setdefault(keys[pair], case)
        self._store.refresh()
        missing = {key: ask for key, ask in asks.items() if self._store.get(key) is None}
        self._counts['pairs'] += len(pairs)
        self._counts.update(case.origin for case in cases.values() if isinstance(case, Judgement))
        self._count(asks, missing)
        reasons = self._ask(missing, hits=len(asks) - len(missing)) if missing else {}
        judged = {
            pair: case if isinstance(case, Judgement) else self._judgement(keys[pair], reasons)
            for pair, case in cases.items()
        }
        return [judged[pair] for pair in pairs]

    def statistics(self) -> dict[str, int]:
        """So far: pairs, how each different answer was settled, requests, and what went wrong."""
        return {**_STATISTICS, **self._counts, 'damaged_lines': self._store.damaged}

    def close(self) -> None:
        """Let go of the store's file."""
        self._store.close()

    def _key(self, ask: Candidate) -> str:
        return verdict_key(self._asked_as, ask.language, ask.question, ask.reference, ask.known_by)

    def _judgement(self, key: str, reasons: Mapping[str, str]) -> Judgement:
        verdict = self._store.get(key)
        if verdict is None:
            return Judgement(Verdict.UNJUDGED, 'llm', reasons[key])
        return Judgement(verdict, 'llm')

    def _count(self, asks: Mapping[str, Candidate], missing: Mapping[str, Candidate]) -> None:
        self._counts['stored'] += len(asks) - len(missing)
        self._counts['asked'] += len(missing)
        self._counts['unboxed'] += sum(ask.unboxed for ask in asks.values())
        self._counts['shortened'] += sum(ask.shortened for ask in asks.values())

    def _ask(self, missing: Mapping[str, Candidate], hits: int) -> dict[str, str]:
        """Ask for what is missing; returns why a key stayed without a verdict."""
        logger.info(f'{len(missing)} answers to ask {self._model} for, {hits} are known')
        with closing(progress_bar(len(missing), hits, not self._progress)) as bar:
            hearing = Hearing(partial(self._keep, missing), self._counts, bar)
            traffic = Traffic(
                self._urls,
                self._limits,
                hearing.received,
                hearing.abandoned,
                api_key=api_key(self._api_key_env),
                counts=self._counts,
                clock=self._clock,
                proven=hits > 0,
            )
            jobs = (Job(key, self._body(ask)) for key, ask in missing.items())
            try:
                run_apart(partial(traffic.run, jobs))
            finally:
                self._store.flush()
        return hearing.reasons

    def _body(self, ask: Candidate) -> bytes:
        prompt = self._prompts.fill(
            ask.language, question=ask.question, reference=ask.reference, candidate=ask.text
        )
        return completion_request(self._model, prompt, self._sampling)

    def _keep(self, missing: Mapping[str, Candidate], key: str, verdict: Verdict, reply: str) -> None:
        ask = missing[key]
        about = {
            'question': ask.question,
            'reference': ask.reference,
            'answer': ask.text,
            'language': ask.language,
            'reply': reply[-_EXCERPT:],
            'judge': self._asked_as,
            'time': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
        }
        self._store.put(key, verdict, about)
