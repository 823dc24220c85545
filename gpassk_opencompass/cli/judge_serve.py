"""`gpassk judge-serve`: a server for a judge, as long as it is wanted."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..runs.processes import Stop
from ..serving import PLACEHOLDERS, PRESETS, JudgeServer, Server, read_judge_server
from . import INCOMPLETE, INTERRUPTED
from .options import path, positive

URL, MODEL = 'GPASSK_JUDGE_URL', 'GPASSK_JUDGE_MODEL'
"""The variables that tell the program behind -- where the server is, and what the model is called there."""

_POLL = 0.5


def add_arguments(parser: ArgumentParser) -> None:
    """Add which server, of which model, and over which GPUs."""
    parser.usage = (
        f'{parser.prog} (--server NAME | COMMAND) --model PATH [--tp N] [--gpus LIST] [-- PROGRAM …]'
    )
    parser.epilog = (
        f'Without a program behind -- the server runs until Ctrl-C. A program finds it in ${URL} and '
        f'${MODEL}; its exit code is that of this command.'
    )
    add = parser.add_argument
    braces = ', '.join(f'{{{name}}}' for name in PLACEHOLDERS)
    add('command', nargs='?', metavar='COMMAND', help=f'the command line, in quotes; it may have {braces}')
    add('--server', choices=[*PRESETS], help='whose usual command line is taken')
    add('--model', required=True, metavar='PATH', help='the weights: a name of the hub, or a path')
    add('--name', metavar='NAME', help='what requests call it; default: the last part of the path')
    add('--arguments', metavar='TEXT', help='added to the command line, such as "--max-model-len 16384"')
    add('--tp', type=positive, default=1, metavar='N', help='GPUs of tensor parallelism (default: 1)')
    add('--pp', type=positive, default=1, metavar='N', help='of pipeline parallelism (default: 1)')
    add('--gpus', metavar='LIST', help='CUDA_VISIBLE_DEVICES of the server')
    add('--host', default='127.0.0.1', help='where it listens; 0.0.0.0 for other machines, too')
    add('--ready', metavar='PATH', help='what answers 200 once it takes requests')
    add('--timeout', type=float, metavar='SECONDS', help='for it to be ready (default: 1800)')
    add('--api-key-env', metavar='NAME', help="environment variable with the server's key")
    add('--logs', type=path, default=Path('logs', 'server'), metavar='FOLDER', help='default: logs/server')


def run(arguments: Namespace) -> int:
    """Start the server, say where it is, and end it at Ctrl-C or with the program; return the exit code."""
    told = _read(arguments)
    with Stop() as stop:
        server = Server(told.serve, told.asked(arguments.host), arguments.logs, _say, stop=lambda: bool(stop))
        try:
            server.start()
            if arguments.rest:
                return _run_program(arguments.rest, server, told.name, stop)
            _print_where(server, told)
            while not stop:
                server.check()
                stop.wait(_POLL)
            return INTERRUPTED
        finally:
            server.close()


def _read(arguments: Namespace) -> JudgeServer:
    if bool(arguments.command) == bool(arguments.server):
        raise InputError(
            "which server? --server NAME, or its command line in quotes: 'serve {model} --port {port}'"
        )
    fields = ('command', 'arguments', 'ready', 'timeout')
    serve = {name: value for name in fields if (value := getattr(arguments, name)) is not None}
    given: dict[str, Any] = {
        'path': arguments.model,
        'server': arguments.server,
        'serve': serve,
        'name': arguments.name,
        'tp': arguments.tp,
        'pp': arguments.pp,
        'gpus': arguments.gpus,
        'key_env': arguments.api_key_env,
    }
    return read_judge_server({name: value for name, value in given.items() if value is not None})


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _print_where(server: Server, told: JudgeServer) -> None:
    key = {'api_key_env': told.key_env} if told.key_env else {}
    judge = {'type': 'llm', 'model': told.name, 'urls': [server.url], **key}
    fields = ', '.join(f'{name}={value!r}' for name, value in judge.items())
    print(
        f'In a template:\n  judge = dict({fields})\nOn a command line:\n'
        f'  gpassk judge-ping --model {told.name} --url {server.url}\nCtrl-C ends it.',
        flush=True,
    )


def _run_program(words: list[str], server: Server, name: str, stop: Stop) -> int:
    """Run a program to its end; return its exit code."""
    environment = {**os.environ, URL: server.url, MODEL: name}
    try:
        program = subprocess.Popen(words, env=environment)
    except OSError as error:
        raise InputError(f'{words[0]} cannot be started: {error.strerror}') from error
    with program:
        while program.poll() is None:
            stop.wait(_POLL / 5)
            if stop:
                program.terminate()
                program.wait()
                return INTERRUPTED
    return program.returncode if program.returncode >= 0 else INCOMPLETE
