"""One worker process: reads jobs, answers each with one byte.

Started by `workers.Workers` as `python -c "… main(…)"` and ended by the end of its input. What a job does
to this process does not matter to anyone else: the kernel ends it when its processor time is spent, an
allocation beyond the limit fails, and nothing it prints reaches the answers.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

READY, YES, NO, FAILED, OUT_OF_MEMORY, TIMED_OUT = b'+', b'y', b'n', b'f', b'm', b't'

_GO_ON = 7


def main(
    target: str, timeout: float, memory_mb: int, rehearsals: Sequence[str] = (), fresh: bool = False
) -> None:
    """Serve jobs to the function `target` ("module:function") until the input ends.

    `timeout` is the processor time in seconds that one job may take, `memory_mb` the address space of the
    process. `rehearsals` are jobs done before the first one, so that it does not pay for what loads late.
    A copy of the process serves the jobs, and another one after a time-out; `fresh`: after each job.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), 'wb', buffering=0)
    with open(os.devnull, 'wb') as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    module, _, function = target.partition(':')
    decide = getattr(importlib.import_module(module), function)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    allowed = resource.getrlimit(resource.RLIMIT_AS)[1]
    memory = memory_mb << 20
    resource.setrlimit(resource.RLIMIT_AS, (memory if allowed < 0 else min(memory, allowed), allowed))
    for job in rehearsals:
        _answer(decide, job)
    answers.write(READY)
    while (copy := os.fork()) and _is_to_go_on(copy, answers):
        pass
    if copy == 0:
        os._exit(_GO_ON if _serve(decide, timeout, sys.stdin.buffer, answers, fresh) else 0)


def _is_to_go_on(copy: int, answers: Any) -> bool:
    """Wait for the end of the copy; return whether another one is needed.

    The timer runs during a job alone, so the job that the copy had is answered for it. Whatever else ends a
    copy ends this process too, and the parent sees that.
    """
    _, status = os.waitpid(copy, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
        answers.write(TIMED_OUT)
        return True
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == _GO_ON


def _serve(decide: Callable[[Any], bool], timeout: float, jobs: BinaryIO, answers: Any, fresh: bool) -> bool:
    """Answer jobs; return whether another copy is to go on."""
    for job in jobs:
        # The default action of SIGPROF ends the process, also inside C code and also when the parent is gone.
        signal.setitimer(signal.ITIMER_PROF, timeout)
        answer = _answer(decide, job)
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(answer)
        if fresh or answer == OUT_OF_MEMORY:
            return True
    return False


def _answer(decide: Callable[[Any], bool], job: bytes | str) -> bytes:
    try:
        return YES if decide(json.loads(job)) else NO
    except MemoryError:
        return OUT_OF_MEMORY
    except Exception:
        return FAILED
