"""Servers of models that are started here: their command lines, their start, their end with who started them.

Under `gpassk run` there is one server a model for all runs: its addresses stand in the environment.
"""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import shutil
import socket
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple, TypeVar

import psutil
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, field_validator
from pydantic.dataclasses import dataclass

from .errors import IncompleteError, InputError
from .files import digest, mapping
from .keys import hidden, read_key
from .log_errors import error_in, last_lines, last_said
from .processes import Child, described, marked
from .text import utc_folder, words

SERVERS = 'GPASSK_SERVERS'  # the variable with what `gpassk run` has started: JSON, `Served.key` → addresses
HOST = '127.0.0.1'
PLACEHOLDERS = ('model', 'name', 'host', 'port', 'tp', 'pp')  # may stand in braces on a command line

_ATTEMPTS = 5  # ports that others took between choice and use
_PLACEHOLDER = re.compile(r'\{([A-Za-z_]\w*)\}')
_KEYS = frozenset({'--api-key', '--api-keys', '--admin-api-key', '--hf-token', '--access-token'})
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Preset(NamedTuple):
    """What is known of a server."""

    command: str
    ready: str = '/health'  # the path that answers 200 once it takes requests
    repetition_penalty: str = 'repetition_penalty'  # its field for that in a request
    always_samples: bool = False  # a temperature of 0 is not greedy there; top_k = 1 is
    named_by_path: bool = False  # requests have to call the model as the command line does
    to_sample: Mapping[str, str] = {}  # fields without which it is greedy, whatever the temperature


PRESETS: Mapping[str, Preset] = {
    # vLLM 0.14 to 0.30, `vllm serve`
    'vllm': Preset(
        'vllm serve {model} --served-model-name {name} --host {host} --port {port} '
        '--tensor-parallel-size {tp} --pipeline-parallel-size {pp}'
    ),
    # SGLang 0.5.23: srt/arg_groups/fields, srt/entrypoints/http_server.py, cli/serve.py
    'sglang': Preset(
        'sglang serve --model-path {model} --served-model-name {name} --host {host} --port {port} '
        '--tp-size {tp} --pp-size {pp}'
    ),
    # lmdeploy 0.18.0: cli/serve.py, serve/openai/endpoints/management.py; no pipeline parallelism
    'lmdeploy': Preset(
        'lmdeploy serve api_server {model} --model-name {name} --server-name {host} --server-port {port} '
        '--tp {tp}',
        always_samples=True,
    ),
    # llama.cpp, build 10434; it spreads a model over the GPUs that it sees
    'llama.cpp': Preset(
        'llama-server --model {model} --alias {name} --host {host} --port {port}',
        repetition_penalty='repeat_penalty',
    ),
    # transformers 5.20: cli/serve.py; its list of models is that of the hub's cache
    'transformers': Preset(
        'transformers serve {model} --host {host} --port {port}',
        named_by_path=True,
        to_sample={'generation_config': '{"do_sample": true}'},
    ),
}
"""The values of `server`."""

_STRICT = ConfigDict(strict=True, extra='forbid')
T = TypeVar('T')


class _Entry:
    def config(self) -> dict[str, Any]:
        """Return this as it stands in a config: what differs from the defaults."""
        found: dict[str, Any] = TypeAdapter(type(self)).dump_python(self, exclude_defaults=True)
        return found


@dataclass(frozen=True, config=_STRICT)
class Serve(_Entry):
    """How a server is started."""

    command: str  # with `PLACEHOLDERS` in braces, split as a shell does, which never sees it
    ready: Annotated[str, Field(pattern=r'^/\S*$')]  # the path that answers 200 once it takes requests
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)]  # seconds for that
    # Variables beside those that are there.
    env: dict[Annotated[str, Field(pattern=r'^[A-Za-z_]\w*$')], str] = Field(default={})
    check_path: bool = True  # whether the weights have to be on this machine; not those in a container

    @field_validator('command')
    @classmethod
    def _check_command(cls, command: str) -> str:
        try:
            line = shlex.split(command)
        except ValueError as error:
            raise ValueError(f'{command!r} cannot be split into words: {error}') from error
        used = {name for word in line for name in _PLACEHOLDER.findall(word)}
        if wrong := sorted(used - set(PLACEHOLDERS)):
            allowed = ', '.join(f'{{{name}}}' for name in PLACEHOLDERS)
            raise ValueError(f'has {{{wrong[0]}}}; what may stand in braces is {allowed}')
        if 'port' not in used:
            raise ValueError(f'{command!r}: {{port}} is missing, a free port is chosen at the start')
        if key := next((flag for word in line if (flag := word.partition('=')[0]) in _KEYS), ''):
            raise ValueError(
                f'has {key}: a key would stand in files; the server has your environment, so export it '
                "where the server reads it, as VLLM_API_KEY, with key_env='VLLM_API_KEY' for the requests"
            )
        if variable := re.search(r'\$\{?\w+\}?', command):
            raise ValueError(f'has {variable[0]}: no shell fills it in; the server has your environment')
        return command

    @field_validator('env')
    @classmethod
    def _check_env(cls, env: dict[str, str]) -> dict[str, str]:
        for name in filter(re.compile(r'(?i).*(?:KEY|TOKEN|SECRET|PASSWORD)').fullmatch, env):
            raise ValueError(f'{name} would stand in files: export it, the server has your environment')
        return env


def _checked(kind: Callable[..., T], where: str, given: Mapping[str, Any]) -> T:
    """Return a `kind` of what was given; raise InputError with the first mistake, never with a key."""
    try:
        return kind(**given)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
    if wrong['type'] == 'unexpected_keyword_argument':
        fields = ', '.join(getattr(kind, '__dataclass_fields__', ()))
        raise InputError(f'{where} has {wrong["loc"][-1]!r}; it takes {fields}')
    received = '' if wrong['type'] == 'value_error' else f' = {wrong["input"]!r:.200}:'
    name, why = '.'.join([where, *map(str, wrong['loc'])]), wrong['msg'].removeprefix('Value error, ')
    raise InputError(f'{name}{received} {why}')


def read_serve(given: Any, server: str | None = None) -> Serve:
    """Read `serve` of a config: fields of `Serve`, `arguments` for the command line of a server."""
    if not isinstance(given, Mapping):
        raise InputError(f"serve = {given!r}: expected a dict, e.g. dict(arguments='--max-model-len 16384')")
    if server not in (None, *PRESETS):
        raise InputError(f'server = {server!r}: expected {", ".join(PRESETS)}, or serve=dict(command=…)')
    preset = Preset('', '/v1/models') if server is None else PRESETS[server]
    fields = {'command': preset.command, 'ready': preset.ready, 'timeout': 1800.0, **given}
    more = fields.pop('arguments', '')
    if not isinstance(fields['command'], str) or not isinstance(more, str):
        raise InputError('serve: command and arguments are texts, as on a command line')
    if not fields['command']:
        raise InputError(
            f"which server? server='vllm' (or {', '.join(list(PRESETS)[1:])}), or "
            "serve=dict(command='… {model} … --port {port}')"
        )
    return _checked(Serve, 'serve', {**fields, 'command': f'{fields["command"]} {more}'.strip()})


@dataclass(frozen=True, config=_STRICT)
class Served(_Entry):
    """A model, and the server that it is to have."""

    serve: Serve
    path: Annotated[str, Field(pattern=r'[^./ ]')]  # the weights: {model}
    name: str  # what requests call them: {name}
    tp: Annotated[int, Field(ge=0)] = 1  # × pp: over how many GPUs they are spread; 0: it needs none
    pp: Annotated[int, Field(ge=1)] = 1
    key_env: str = ''  # the environment variable with the server's key, if its command line gives it one

    @property
    def gpus(self) -> int:
        """Return how many GPUs it takes."""
        return self.tp * self.pp

    @property
    def key(self) -> str:
        """Return a text that is the same for who wants the same server."""
        return digest(json.dumps(self.config(), sort_keys=True).encode())[:16]

    def words(self, port: int) -> list[str]:
        """Return the words of its command line."""
        values = (self.path, self.name, HOST, port, max(1, self.tp), self.pp)
        filled = dict(zip(PLACEHOLDERS, map(str, values), strict=True))
        line = shlex.split(self.serve.command)
        return [_PLACEHOLDER.sub(lambda found: filled[found[1]], word) for word in line]

    def check(self) -> None:
        """Raise InputError for what cannot be started here: a program, weights or a key are missing."""
        program = self.words(0)[0]
        relative = os.path.dirname(program) and not os.path.isabs(program)
        if relative or shutil.which(program, path=self.serve.env.get('PATH')) is None:
            raise InputError(
                f'the command that serves {self.name!r} begins with {program!r}, and there is no such '
                'program on $PATH: install it, or write its whole path: serve = dict(command=…)'
            )
        if self.serve.check_path and os.path.isabs(self.path) and not os.path.exists(self.path):
            raise InputError(
                f'path = {self.path!r}: there is no such file or folder, so no model to serve; if it is one '
                'of a container, say serve = dict(check_path=False)'
            )
        read_key(self.key_env)

    def settings(self) -> dict[str, Any]:
        """Return what an LLM judge is told of it beside its name and address."""
        return {'api_key_env': self.key_env} if self.key_env else {}


def served_model(entry: Mapping[str, Any]) -> Served:
    """Return the server that a model of a config is to have, see `SeededServed`."""
    path = str(entry['path'])
    name = entry.get('served_name') or PurePosixPath(path).name or path
    tp, pp = int(entry.get('tp', 1)), int(entry.get('pp', 1))
    return Served(read_serve(entry['serve']), path, name, tp, pp, entry.get('key_env') or '')


def read_judge_server(given: Any) -> Served:
    """Read `judge_serve`: dict(server='vllm', path='Qwen/Qwen2.5-72B-Instruct', tp=4, serve=dict(…))."""
    if not isinstance(given, Mapping):
        raise InputError(f"judge_serve = {given!r}: expected a dict like dict(server='vllm', path='org/m')")
    fields = dict(given)
    path, server = fields.get('path'), fields.pop('server', None)
    if not isinstance(path, str):
        raise InputError(f"judge_serve.path = {path!r}: which model judges? e.g. 'Qwen/Qwen2.5-72B-Instruct'")
    try:
        fields['serve'] = read_serve(fields.get('serve', {}), server)
    except InputError as error:
        raise InputError(f'judge_serve: {error}') from error
    name = path if server and PRESETS[server].named_by_path else path.rstrip('/').rpartition('/')[2]
    return _checked(Served, 'judge_serve', {'name': name, **fields})


def judges_missing_here(configs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return why servers of judges of configs cannot be started on this machine, a line each."""
    lines: dict[str, None] = {}
    for dataset in (dataset for config in configs for dataset in config['datasets']):
        given = mapping(mapping(dataset.get('eval_cfg')).get('evaluator')).get('judge_serve')
        try:
            if given is not None:
                read_judge_server(given).check()
        except InputError as error:
            lines[f'judge_serve: {error}'] = None
    return list(lines)


class Running(NamedTuple):
    """A server at work, or servers that somebody else has started."""

    addresses: list[str]
    check: Callable[[], None]  # raises IncompleteError if it has ended, with the end of its log


class StartedServer:
    """A server that is started here, at an address of the loopback; InputError as of `Served.check`.

    `gpus` are named as in CUDA_VISIBLE_DEVICES, None: those of this process; `mark`: see `processes.Child`.
    """

    def __init__(self, served: Served, logs: Path, gpus: Sequence[str] | None = None, mark: str = '') -> None:
        served.check()
        self.served, self.is_ready, self.began = served, False, time.monotonic()
        self._gpus, self._mark, self._attempts = gpus, mark, 0
        self._key = read_key(served.key_env)
        name = re.sub(r'[^\w.-]+', '-', served.name)[:80]
        logs.mkdir(parents=True, exist_ok=True)
        self.log = logs / f'{name}-{utc_folder()}-{os.getpid()}-{random.SystemRandom().randrange(1000)}.log'
        self._start()

    def _start(self) -> None:
        self._attempts += 1
        self._port = _free_port()
        self.url = f'http://{HOST}:{self._port}'
        line, env = self.served.words(self._port), {**os.environ, **self.served.serve.env}
        if self._gpus is not None:
            env['CUDA_VISIBLE_DEVICES'] = ','.join(self._gpus)
        with self.log.open('a', encoding='utf-8') as file:
            file.write(f'{shlex.join(line)}\n')
        self.child = Child(line, self.log, env=env, mark=self._mark, secret=self._key)

    def advance(self) -> bool:
        """Return whether it takes requests for its model by now; InputError if it lists other models alone.

        IncompleteError if it has ended, or was not ready in time.
        """
        may_start = not self.is_ready and self._attempts < _ATTEMPTS
        if may_start and self.child.poll() is not None and not _is_free(self._port):
            self.child.end()
            self._start()  # another process has the port
        self.check()
        if not self.is_ready and self._get(self.served.serve.ready) is not None and self._listens():
            self.is_ready = self._lists_model()
        if not self.is_ready and time.monotonic() - self.began > self.served.serve.timeout:
            raise IncompleteError(
                f'the server of {self.served.name!r} was not ready after {self.served.serve.timeout:g} s '
                f'(timeout of serve): {self._cause()}'
            )
        return self.is_ready

    def check(self) -> None:
        """Raise IncompleteError if it has ended, with the end of its log."""
        if (code := self.child.poll()) is not None:
            how = f'{"was killed by" if code < 0 else "ended with"} {described(code)}'
            when = '' if self.is_ready else ' before it was ready'
            raise IncompleteError(f'the server of {self.served.name!r} {how}{when}: {self._cause()}')

    def last_lines(self) -> list[str]:
        """Return the last lines of its log, without its key."""
        return hidden('\n'.join(last_lines(self.log)), self._key).split('\n')

    def _cause(self) -> str:
        """Return the line of its log that says what went wrong, and the log's end."""
        lines = self.last_lines()
        cause = error_in(lines) or last_said(lines[1:]) or 'it said nothing'
        return '\n'.join([f'{cause} ({self.log})', *lines[-20:]])

    def _listens(self) -> bool:
        """Whether it has its port itself, and nobody else."""
        for process in marked(self.child.mark):
            with suppress(psutil.Error):
                places = {(one.status, one.laddr.port) for one in process.net_connections('tcp')}
                if (psutil.CONN_LISTEN, self._port) in places:
                    return True
        return False

    def _lists_model(self) -> bool:
        """Whether it lists its model; one without a list, or with that of a cache, is taken at its word."""
        try:
            names = [card['id'] for card in json.loads(self._get('/v1/models') or b'')['data']]
        except (ValueError, LookupError, TypeError):
            return True
        lists_cache = os.path.basename(self.served.words(0)[0]) == 'transformers'
        if names and self.served.name not in names and not lists_cache:
            raise InputError(
                f'the server has {", ".join(map(repr, names))}, and not {self.served.name!r}: its command '
                'line needs {name} where it says what the model is called'
            )
        return bool(names) or lists_cache

    def _get(self, path: str) -> bytes | None:
        """Return what it gives at a path; None for anything but 200."""
        request = urllib.request.Request(f'{self.url}{path}')
        if self._key:
            request.add_header('Authorization', f'Bearer {self._key}')
        try:
            with _DIRECT.open(request, timeout=5) as reply:
                content: bytes = reply.read(1 << 20)
                return content if reply.status == 200 else None
        except Exception:  # of the system, of http.client for what is no HTTP
            return None


@contextmanager
def server(served: Served, logs: Path, say: Callable[[str], None] = lambda line: None) -> Iterator[Running]:
    """Have a model served as long as the block lasts; `say` is told what happens, in lines.

    InputError or IncompleteError where it cannot be started, see `Served.check` and `StartedServer.advance`.
    """
    if known := mapping(json.loads(os.environ.get(SERVERS) or '{}')).get(served.key):
        yield Running(known, lambda: None)
        return
    running = StartedServer(served, logs)
    try:
        say(f'starting the server of {served.name!r}, log: {running.log}')
        while not running.advance():
            time.sleep(0.2)
        seconds = time.monotonic() - running.began
        say(f'the server of {served.name!r} is ready at {running.url} after {seconds:.0f} s')
        yield Running([running.url], running.check)
    finally:
        running.child.end()


def _free_port() -> int:
    """Return a port below those that the system gives to connections by itself."""
    chance = random.SystemRandom()  # copies of one process must not choose alike
    port = next(filter(_is_free, chance.sample(range(18000, 32000), 200)), None)
    if port is None:
        raise IncompleteError('no free port found between 18000 and 32000')
    return port


def _is_free(port: int) -> bool:
    with suppress(OSError), socket.create_server(('', port)):  # on all addresses, as a server may listen
        return True
    return False


# What a server's command line says of the machine and of the traffic. All else may change what is drawn: the
# weights, their type and quantization, the cache's type, the context, the chat template, a speculative model.
_WITH_VALUE = _KEYS | words("""
    --host --port --server-name --server-port --served-model-name --model-name --alias -a --log-level
    --uvicorn-log-level --log-file --download-dir --tensor-parallel-size -tp --tp --tp-size
    --pipeline-parallel-size -pp --pp-size --data-parallel-size -dp --dp --dp-size
    --distributed-executor-backend --nnodes --node-rank --dist-init-addr --master-addr --master-port
    --gpu-memory-utilization --mem-fraction-static --cache-max-entry-count --swap-space --max-num-seqs
    --max-running-requests --max-batch-size --max-concurrent-requests -np --parallel -t --threads -tb
    --threads-batch -ngl --gpu-layers --n-gpu-layers -ts --tensor-split -sm --split-mode
""")
_ALONE = words("""
    --disable-log-requests --disable-log-stats --disable-uvicorn-access-log --enable-log-requests
    --enable-metrics --no-ui --no-webui
""")
_OPERATIONAL_VARIABLE = re.compile(
    r'(?:CUDA|NCCL|GLOO|UCX|OMP|MKL|HF|RAY|SLURM)_.*|(?:NO|HTTPS?|ALL)_PROXY'
    r'|.*(?:KEY|TOKEN|SECRET|HOME|CACHE|DIR|PATH|PORT|HOST|IP|LEVEL|THREADS)',
    re.IGNORECASE,
)


def choosing(serve: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a server's entry in a config may change what it draws: a run may go on with other rest.

    Left out are where it listens, over which GPUs it is spread, how much memory and how many requests at a
    time it takes, what it logs, and where the program lies. What is not known to be of these counts.

    >>> choosing({'command': '/opt/bin/vllm serve {model} --port {port} --dtype half -tp {tp}', 'timeout': 9})
    {'command': ['vllm', 'serve', '{model}', '--dtype', 'half']}
    """
    try:
        program, *line = shlex.split(str(serve.get('command', ''))) or ['']
    except ValueError:
        return dict(serve)
    kept, skip = [os.path.basename(program)], False
    for word in line:
        flag, equals, _ = word.partition('=')
        if skip and not word.startswith('--'):
            skip = False
        elif flag in _WITH_VALUE:
            skip = not equals
        elif flag not in _ALONE:
            kept.append(word)
    variables = mapping(serve.get('env')).items()
    env = {name: value for name, value in variables if not _OPERATIONAL_VARIABLE.fullmatch(str(name))}
    return {'command': kept, **({'env': env} if env else {})}
