"""The command line of a server: what may stand in one, those of servers that people use, and its words."""

from __future__ import annotations

import hashlib
import math
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import InputError

PLACEHOLDERS = ('model', 'name', 'host', 'port', 'tp', 'pp', 'gpus')
"""What may stand in braces: the weights, what requests call them, where to listen, tensor and pipeline
parallelism, and the GPUs as CUDA_VISIBLE_DEVICES names them."""

TIMEOUT = 1800.0
"""Seconds for a server to be ready; a large model takes minutes to load, and its kernels to be compiled."""


class Preset(NamedTuple):
    """What is known of a server."""

    command: str
    ready: str = '/health'
    """The path that answers 200 once it takes requests."""
    repetition_penalty: str = 'repetition_penalty'
    """Its field for that in a request."""
    always_samples: bool = False
    """A temperature of 0 is not greedy there; top_k = 1 is."""


PRESETS: Mapping[str, Preset] = {
    # https://docs.vllm.ai, `vllm serve`, 0.30; all of them are in 0.14 as well.
    'vllm': Preset(
        'vllm serve {model} --served-model-name {name} --host {host} --port {port} '
        '--tensor-parallel-size {tp} --pipeline-parallel-size {pp}'
    ),
    # SGLang 0.5.23: srt/arg_groups/fields, srt/entrypoints/http_server.py, cli/serve.py.
    'sglang': Preset(
        'sglang serve --model-path {model} --served-model-name {name} --host {host} --port {port} '
        '--tp-size {tp} --pp-size {pp}'
    ),
    # lmdeploy 0.18.0: cli/serve.py, serve/openai/endpoints/management.py; no pipeline parallelism.
    'lmdeploy': Preset(
        'lmdeploy serve api_server {model} --model-name {name} --server-name {host} --server-port {port} '
        '--tp {tp}',
        always_samples=True,
    ),
    # llama.cpp, `llama-server --help`, build 10434; it spreads a model over the GPUs that it sees.
    'llama.cpp': Preset(
        'llama-server --model {model} --alias {name} --host {host} --port {port}',
        repetition_penalty='repeat_penalty',
    ),
}
"""The values of `server`."""

_PLACEHOLDER = re.compile(r'\{([A-Za-z_]\w*)\}')
_VARIABLE = re.compile(r'\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})')
_NAME = re.compile(r'[A-Za-z_]\w*')
_OF_KEYS = re.compile(r'(?i).*(?:KEY|TOKEN|SECRET|PASSWORD)')
_KEYS = frozenset({'--api-key', '--api-keys', '--admin-api-key', '--hf-token', '--access-token'})


@dataclass(frozen=True)
class Serve:
    """How a server is started; checked.

    Args:
        command: its command line, with `PLACEHOLDERS` in braces. It is split into words as a shell does, and
            no shell sees it. A word, or what follows its `=`, may be `$NAME`: that environment variable.
        ready: the path that answers 200 once it takes requests.
        timeout: seconds for that.
        env: further environment variables; a value may be `$NAME`, and that of a key must be.

    Raises:
        InputError: a placeholder that there is none of, no `{port}`, a key, or values of other types.
    """

    command: str
    ready: str = '/health'
    timeout: float = TIMEOUT
    env: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_command(self.command)
        if not isinstance(self.ready, str) or not re.fullmatch(r'/\S*', self.ready):
            raise InputError(
                f"serve.ready = {self.ready!r}: expected a path such as '/health' or '/v1/models'"
            )
        number = isinstance(self.timeout, (int, float)) and not isinstance(self.timeout, bool)
        if not number or not 0 < self.timeout < math.inf:
            raise InputError(f'serve.timeout = {self.timeout!r}: expected seconds above 0')
        if not isinstance(self.env, Mapping):
            raise InputError(f"serve.env = {self.env!r}: expected a dict, e.g. dict(HF_HUB_OFFLINE='1')")
        for name, value in self.env.items():
            if not (isinstance(name, str) and _NAME.fullmatch(name) and isinstance(value, str)):
                raise InputError(
                    f'serve.env has {name!r}: expected names of environment variables, and texts'
                )
            if _OF_KEYS.fullmatch(name) and not _VARIABLE.fullmatch(value):
                raise InputError(  # not repeated: it may be the key itself
                    f"serve.env.{name} would stand in files: write {name}='$MY_KEY', and export MY_KEY"
                )

    def config(self) -> dict[str, Any]:
        """Return this as it stands in a config."""
        return {
            'command': self.command,
            'ready': self.ready,
            'timeout': self.timeout,
            **({'env': dict(self.env)} if self.env else {}),
        }

    def words(self, values: Mapping[str, Any]) -> list[str]:
        """Return the words of the command line with these values, and what variables stand for.

        >>> Serve('serve {model} --port {port}').words({'model': '/my models/m', 'port': 80})
        ['serve', '/my models/m', '--port', '80']

        Raises:
            InputError: an environment variable is not set.
        """
        return [
            _PLACEHOLDER.sub(lambda found: str(values[found[1]]), _from_environment(word))
            for word in shlex.split(self.command)
        ]

    def check_program(self, values: Mapping[str, Any], where: str = 'serve') -> None:
        """Refuse a program that this machine does not have.

        Args:
            values: see `words`.
            where: what the command line is called in messages.

        Raises:
            InputError: there is no such program, or an environment variable is not set.
        """
        program = next(iter(self.words(values)), '')
        if shutil.which(program, path=self.variables().get('PATH')) is None:
            raise InputError(
                f'{where}.command begins with {program!r}, and there is no such program on $PATH: install '
                f'it, or write the path of it, as of another environment: {where} = dict(command=…)'
            )

    def variables(self) -> dict[str, str]:
        """Return the further environment variables; InputError if one that they are taken from is not set."""
        return {name: _from_environment(value) for name, value in self.env.items()}

    def secrets(self) -> list[str]:
        """Return what comes from the environment, and is to be hidden in what the server says."""
        texts = [*shlex.split(self.command), *self.env.values()]
        return [os.environ.get(name, '') for text in texts for name in _variables_in(text)]


def read_serve(given: Any, server: str | None = None) -> Serve:
    """Read what a template or config says of a server.

    Args:
        given: a dict with fields of `Serve`, and `arguments`, which are added to the command line.
        server: a key of `PRESETS`, whose command line is taken where there is no other.

    Raises:
        InputError: no such server, an unknown field, neither server nor command, or see `Serve`.

    >>> read_serve(dict(arguments='--max-model-len 8192'), 'vllm').command[-20:]
    '--max-model-len 8192'
    """
    if not isinstance(given, Mapping):
        raise InputError(f"serve = {given!r}: expected a dict, e.g. dict(arguments='--max-model-len 16384')")
    fields = dict(given)
    if unknown := sorted(set(map(str, fields)) - {'command', 'ready', 'timeout', 'env', 'arguments'}):
        raise InputError(f'serve has {unknown}; it takes command, arguments, ready, timeout and env')
    if server is not None and server not in PRESETS:
        raise InputError(f'server = {server!r}: expected {", ".join(PRESETS)}, or serve=dict(command=…)')
    preset = Preset('', '/v1/models') if server is None else PRESETS[server]
    command, more = fields.pop('command', preset.command), fields.pop('arguments', '')
    if not isinstance(command, str) or not isinstance(more, str):
        raise InputError('serve: command and arguments are texts, as on a command line')
    if not command:
        raise InputError(
            f"which server? server='vllm' (or {', '.join(list(PRESETS)[1:])}), or "
            "serve=dict(command='… {model} … --port {port}')"
        )
    return Serve(**{'ready': preset.ready, **fields, 'command': f'{command} {more}'.strip()})


def _check_command(command: str) -> None:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f'serve.command = {command!r} cannot be split into words: {error}') from error
    used = {name for word in words for name in _PLACEHOLDER.findall(word)}
    if wrong := sorted(used - set(PLACEHOLDERS)):
        allowed = ', '.join(f'{{{name}}}' for name in PLACEHOLDERS)
        raise InputError(f'serve.command has {{{wrong[0]}}}; what may stand in braces is {allowed}')
    if 'port' not in used:
        raise InputError(
            f'serve.command = {command!r}: {{port}} is missing, a free port is chosen at the start'
        )
    for word, following in zip(words, [*words[1:], ''], strict=True):
        flag, equals, value = word.partition('=')
        given = value if equals else following
        if flag in _KEYS and given and not given.startswith(('$', '--')):
            raise InputError(  # not repeated: it may be the key itself
                f'serve.command has a key behind {flag}: write {flag} $MY_KEY, export MY_KEY, and say '
                "key_env='MY_KEY' for the requests"
            )


def _variables_in(text: str) -> Iterator[str]:
    head, equals, value = text.partition('=')
    if found := _VARIABLE.fullmatch(value if equals and not head.startswith('$') else text):
        yield found[1] or found[2]


def _from_environment(text: str) -> str:
    for name in _variables_in(text):
        if not os.environ.get(name):
            raise InputError(f'serve has ${name}: this environment variable is not set; export {name}=…')
        return f'{text[: text.index("$")]}{os.environ[name]}'
    return text


# What a server's command line says of the machine and of the traffic. All else may change what is drawn: the
# weights, their type and quantization, the cache's type, the context, the chat template, a speculative model.
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WITH_VALUE = _KEYS | _words("""
    --host --port --server-name --server-port --served-model-name --model-name --alias -a
    --log-level --uvicorn-log-level --log-file --download-dir
    --tensor-parallel-size -tp --tp --tp-size --pipeline-parallel-size -pp --pp-size
    --data-parallel-size -dp --dp --dp-size --distributed-executor-backend
    --nnodes --node-rank --dist-init-addr --master-addr --master-port
    --gpu-memory-utilization --mem-fraction-static --cache-max-entry-count --swap-space
    --max-num-seqs --max-running-requests --max-batch-size --max-concurrent-requests
    -np --parallel -t --threads -tb --threads-batch
    -ngl --gpu-layers --n-gpu-layers -ts --tensor-split -sm --split-mode
""")
_ALONE = _words("""
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
    time it takes, what it logs, and where the program lies: the samples mean the same with others. What is
    not known to be of these counts.

    >>> choosing({'command': '/opt/bin/vllm serve {model} --port {port} --dtype half -tp {tp}', 'timeout': 9})
    {'command': ['vllm', 'serve', '{model}', '--dtype', 'half']}
    """
    try:
        program, *words = shlex.split(str(serve.get('command', ''))) or ['']
    except ValueError:
        return dict(serve)
    env = {
        str(name): value
        for name, value in (serve.get('env') or {}).items()
        if not (_OPERATIONAL_VARIABLE.fullmatch(str(name)) or str(value).startswith('$'))
    }
    told: dict[str, Any] = {'command': [os.path.basename(program), *_choosing(words)]}
    return {**told, 'env': env} if env else told


def taken_from_environment(serve: Mapping[str, Any]) -> dict[str, str]:
    """Return what variables of the environment add to `choosing`: name → digest of the value, of no key.

    >>> taken_from_environment({'command': 'x --port {port} --api-key $MY_KEY --host $HERE'})
    {}
    """
    env = {str(name): str(text) for name, text in (serve.get('env') or {}).items()}
    texts = [text for name, text in env.items() if not _OPERATIONAL_VARIABLE.fullmatch(name)]
    texts += choosing(serve)['command'][1:]
    names = {name for text in texts for name in _variables_in(text) if not _OF_KEYS.fullmatch(name)}
    return {name: variable_digest(name) for name in sorted(names)}


def variable_digest(name: str) -> str:
    """Return a digest of the value of an environment variable."""
    return hashlib.sha256(os.environ.get(name, '').encode('utf-8', 'surrogateescape')).hexdigest()[:16]


def _choosing(words: Sequence[str]) -> list[str]:
    kept, skip = [], False
    for word in words:
        flag, equals, _ = word.partition('=')
        if skip and not word.startswith('--'):
            skip = False
        elif flag in _WITH_VALUE:
            skip = not equals
        elif flag not in _ALONE:
            kept.append(word)
    return kept
