"""What samples are drawn from: the settings in a config, the weights behind them, and what differs since.

A sample has two marks, kept in full in `run.provenance` beside the predictions. Its *task* is what config and
data give again at any time: question, reference, templates, settings. Its *source* is the model that drew it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from .errors import InputError
from .files import PROVENANCE, mapping, model_files, parse_json
from .record import digest_of, file_digest
from .serving import choosing
from .text import utc_now, whole_characters, words

if TYPE_CHECKING:
    from .record import Result

KEEP = ('questions', 'references', 'settings')
"""What may have changed since samples were drawn, where the user says so (`keep`)."""

OPERATIONAL = words("""
    abbr summarizer_abbr served_name run_cfg batch_size pred_postprocessor openai_api_base api_addr url urls
    base_url openai_proxy_url query_per_second rpm_verbose retry patience timeout max_workers concurrency
    workers rate attempts total_time verbose status_code_mappings http_client_cfg tp pp tensor_parallel_size
    pipeline_parallel_size data_parallel_size num_gpus device_map gpu_memory_utilization
    cache_max_entry_count max_batch_size max_num_seqs swap_space most_failed keep top_up judge_serve verdicts
""")
"""Fields that choose neither samples nor verdicts, at any depth: a run may go on with others."""

_LENGTHS = ('max_out_len', 'min_out_len')  # of a model; a data set may overrule them, so they count with it
_NO_SETTINGS = words(  # of an inferencer: what OpenCompass adds, or what chooses no samples
    'type model batch_size max_seq_len dump_res_length dump_only_message_path output_json_filepath '
    'output_json_filename save_every'
)
_SECRET = re.compile(
    r'(?:.*[_-])?(?:(?:api_?)?keys?|secret|password|authorization)(?:_env)?'
    r'|(?:(?:auth|access|bearer|hf|api)[_-]?)?token',
    re.IGNORECASE,
)
_FILE = re.compile(r'(.+)@sha256:([0-9a-f]{64})')

# What a config says


def settings_of(model: Mapping[str, Any], dataset: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that a config says of how samples are drawn, as JSON has it, without secrets.

    Of the data set's entry: its templates, and how long a response may be.
    """
    parts = dataset.get('infer_cfg') or {}
    own = {name: value for name, value in (parts.get('inferencer') or {}).items() if name not in _NO_SETTINGS}
    templates = {name: parts.get(name) for name in ('ice_template', 'prompt_template', 'retriever')}
    inference = {**{name: model.get(name) for name in _LENGTHS}, **plain(own), **plain(templates)}
    return {
        'model': {name: value for name, value in plain(model).items() if name not in _LENGTHS},
        'inference': {name: value for name, value in inference.items() if value is not None},
    }


def evaluation_settings(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a data set's entry says of how its samples are judged and counted."""
    ks = dataset.get('k', 1)
    ks = sorted(set(ks)) if isinstance(ks, (list, tuple)) else [ks]
    evaluator = mapping(mapping(dataset.get('eval_cfg')).get('evaluator'))
    return {'n': dataset.get('n', 1), 'k': ks, 'evaluator': plain(evaluator, judges=True)}


def plain(value: Any, *, judges: bool = False) -> Any:
    """Return an entry of a config as JSON: classes by name, without secrets and operational fields.

    With `judges` a user's own class keeps all but its secrets: nobody knows what a `rate` chooses there.
    """
    if isinstance(value, Mapping):
        kind = value.get('type', '')
        path = kind if isinstance(kind, str) else f'{getattr(kind, "__module__", "")}.'
        users = judges and '.' in path and not path.startswith(('gpassk_opencompass.', 'opencompass.'))
        told: dict[str, Any] = {}
        for name, part in value.items():
            if (users or str(name) not in OPERATIONAL) and not _SECRET.fullmatch(str(name)):
                serve = name == 'serve' and isinstance(part, Mapping)
                told[str(name)] = plain(choosing(part) if serve else part, judges=judges)
        # A class has several paths: where it is defined, and where a package shows it.
        return told | ({'type': str(told['type']).rpartition('.')[2]} if 'type' in told else {})
    if isinstance(value, (list, tuple)):
        return [plain(part, judges=judges) for part in value]
    if callable(value):
        return getattr(value, '__qualname__', type(value).__qualname__)
    return value if isinstance(value, (int, float, type(None))) else whole_characters(str(value))


def as_json(value: Any) -> Any:
    """Return a value as it comes back from a file."""
    return value if isinstance(value, (str, int, type(None))) else json.loads(json.dumps(value, default=str))


def first_difference(was: Any, now: Any) -> str:
    """Say where two JSON values differ first, '' if they do not.

    >>> first_difference({'path': 'a', 'kwargs': {'top_p': 0.8}}, {'path': 'a', 'kwargs': {'top_p': 1}})
    '.kwargs.top_p = 0.8, and now has 1'
    """
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        parts = ((name, first_difference(was.get(name), now.get(name))) for name in sorted({*was, *now}))
        return next((f'.{name}{text}' for name, text in parts if text), '')
    shown = ['nothing' if value is None else f'{value!r:.80}' for value in (was, now)]
    return '' if was == now else f' = {shown[0]}, and now has {shown[1]}'


def read_keep(given: Collection[str] = ()) -> frozenset[str]:
    """Return what may have changed since samples were drawn: `given` and $GPASSK_KEEP."""
    from_environment = os.environ.get('GPASSK_KEEP', '').replace(',', ' ').split()
    for where, names in (('keep', given), ('GPASSK_KEEP', from_environment)):
        if isinstance(names, str) or not set(names) <= set(KEEP):
            raise InputError(f'{where} = {names!r}: expected a list of {", ".join(KEEP)}')
    return frozenset([*given, *from_environment])


def changed(result: Result, model: Mapping[str, Any], dataset: Mapping[str, Any]) -> str:
    """Say in what a result is not of a config as it is now, '' if in nothing.

    OpenCompass keeps a result that is there, whatever its config has become: who shows one asks first.
    Compared are the settings that its samples were drawn with, those of its evaluation (n and k among them),
    and the files that its questions were read from. What a result does not tell is not compared.
    """
    told, now, evaluation = result.provenance, settings_of(model, dataset), evaluation_settings(dataset)
    evaluator = mapping(mapping(dataset.get('eval_cfg')).get('evaluator'))
    if 'settings' not in read_keep(evaluator.get('keep') or ()):
        for part in ('model', 'inference'):
            if told.get(part) and (text := first_difference(told[part], now[part])):
                return f'its samples were drawn with {part}{text}'
    counted = {name: value for name, value in (('n', result.n), ('k', result.ks)) if name in dataset}
    if text := first_difference(mapping(told.get('evaluation')) or {**evaluation, **counted}, evaluation):
        return f'it was judged with {text.lstrip(".")}'
    root = Path(str(dataset.get('path') or '\0')).expanduser()
    folders = [root, root / str(dataset.get('version', '202412'))] if root.is_dir() else [root.parent]
    for named in filter(None, map(_FILE.fullmatch, result.data.sources or ())):
        for file in (folder / named[1] for folder in folders):
            if file.is_file() and file_digest(file) != named[2]:
                return f'its questions were read from {file.name} as it was before'
    return ''


# What a model is


def model_identity(settings: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """Return what tells a model from others of its settings: files by content or commit, and versions.

    One behind a server (`is_api`) has no files here, unless it `loads` them.
    """
    behind = bool(getattr(model, 'is_api', False))
    files = files_of(settings) if getattr(model, 'loads', not behind) else {}
    if behind:
        return {'files': files, 'versions': {}}
    homes = {kind.__module__.rpartition('.')[2].partition('_')[0] for kind in type(model).__mro__}
    # OpenCompass imports lmdeploy in every process that has it; peft comes with the weights.
    engines = ['torch', 'transformers', 'vllm', *([] if homes & {'huggingface', 'vllm'} else ['lmdeploy'])]
    used = {name: sys.modules[name] for name in engines if name in sys.modules}
    used |= {'peft': import_module('peft')} if settings.get('peft_path') else {}
    told = {name: getattr(module, '__version__', None) for name, module in used.items()}
    return {'files': files, 'versions': {name: str(one) for name, one in told.items() if one is not None}}


def files_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Identify the files behind the paths of a model: by the hub's commit, or by the content of local files.

    What is not here is left out.
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    engine = mapping(settings.get('engine_config'))  # of lmdeploy; its PyTorch engine has adapters
    paths = {name: settings.get(name) for name in ('path', 'tokenizer_path', 'peft_path', 'lora_path')}
    adapters = sorted(mapping(engine.get('adapters')).items())
    paths |= {f'engine_config.adapters.{name}': path for name, path in adapters}
    revisions = (part.get('revision') for part in (mapping(settings.get('model_kwargs')), engine))
    revision = next((one for one in revisions if isinstance(one, str) and one), 'main')
    files: dict[str, Any] = {}
    for name, path in paths.items():
        if not isinstance(path, str) or not path:
            continue
        if (local := Path(path).expanduser()).exists():
            files[name] = model_files(local)
            continue
        # Of these a repository on the hub has one, before its weights are loaded.
        for file in ('config.json', 'tokenizer_config.json', 'adapter_config.json'):
            with suppress(HFValidationError, ValueError, OSError):
                if isinstance(cached := try_to_load_from_cache(path, file, revision=revision), str):
                    files.setdefault(name, {'commit': Path(cached).parent.name})
    return files


def other_model(was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say in what two identities differ, '' if in nothing.

    What was not known then may be known now: a task may have brought the weights here.
    """
    for part in ('files', 'versions'):
        then, today = mapping(was.get(part)), mapping(now.get(part))
        if text := first_difference(then, {name: today.get(name) for name in then}):
            return f'{part}{text}'
    return ''


def hardware(visible: str | None = None) -> str:
    """Return the GPUs of this process by number and name, or else the processor; '' where it is not known.

    It is no part of any mark. `visible` are the GPUs, as CUDA_VISIBLE_DEVICES has them.
    """
    visible = os.environ.get('CUDA_VISIBLE_DEVICES') if visible is None else visible
    if visible != '':
        query = ['nvidia-smi', '--query-gpu=name', '--format=csv,noheader']
        query += ['-i', visible.replace(' ', '')] if visible else []
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(query, capture_output=True, text=True, timeout=60, check=True)
            names = Counter(filter(None, map(str.strip, done.stdout.splitlines())))
            return ', '.join(f'{count} x {name}' for name, count in names.items())
        if Path('/dev/kfd').exists():  # GPUs of AMD
            return ''
    with suppress(OSError):
        if found := re.search(r'^model name\s*:\s*(.+)$', Path('/proc/cpuinfo').read_text(), re.MULTILINE):
            return found[1].strip()
    return ''


# The notes beside the predictions of a model


@dataclass
class Notes:
    """What `run.provenance` says: settings and sources by their marks, and what was met."""

    created: str = ''  # when the first task began, in UTC
    settings: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    sources: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    servers: list[Mapping[str, str]] = field(default_factory=list)
    hardware: list[str] = field(default_factory=list)


def read_notes(folder: Path) -> Notes:
    """Read the notes beside predictions; lines that a kill has torn are passed over."""
    notes, lines = Notes(), list[str]()
    with suppress(OSError):
        lines = (folder / PROVENANCE).read_text(encoding='utf-8', errors='replace').splitlines()
    for line in lines:
        told: Mapping[str, Any] = {}
        with suppress(ValueError):
            told = mapping(parse_json(line))
        time = str(told.get('time', ''))
        notes.created = notes.created or time
        for name, known in (('settings', notes.settings), ('source', notes.sources)):
            if isinstance(told.get(name), dict):
                known[digest_of(told[name])[:16]] = told[name]
        if isinstance(told.get('server'), dict):
            notes.servers.append({'since': time, **told['server']})
        if told.get('hardware') and str(told['hardware']) not in notes.hardware:
            notes.hardware.append(str(told['hardware']))
    return notes


def note(folder: Path, **told: Any) -> None:
    """Add a line to the notes of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    append(folder / PROVENANCE, json.dumps({'time': utc_now(), **told}, ensure_ascii=True).encode())


def append(path: Path, line: bytes) -> int:
    """Add a line to a file in one write, behind one that a kill has torn; return where it ends.

    What another task adds meanwhile is not torn.
    """
    with path.open('ab+', buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        torn = bool(size) and (file.seek(size - 1), file.read(1))[1] != b'\n'
        if file.write(whole := (b'\n' if torn else b'') + line + b'\n') != len(whole):
            raise OSError(f'{path}: the disk is full')
        return file.tell()


def servers_told(notes: Notes) -> tuple[list[dict[str, str]], list[str]]:
    """Return what a result says of the servers of a run, and warnings of other versions or places of weights.

    Each different server stands there once, since its first reply, without its address, and of a path of
    weights the last part.
    """
    told: dict[str, dict[str, str]] = {}
    roots, versions = dict[str, None](), dict[str, None]()
    for one in notes.servers:
        shown = {name: text for name, text in one.items() if name not in ('url', 'since') and text}
        if 'version' in shown:
            versions[f'{shown.get("engine", "")} {shown["version"]}'.strip()] = None
        if 'root' in shown:
            roots[shown['root']] = None
            shown['root'] = PurePosixPath(shown['root']).name or shown['root']
        told.setdefault(repr(shown), {**shown, 'since': one['since']})
    warnings = []
    if len(versions) > 1:
        warnings.append(f'servers of {len(versions)} versions drew the samples: {", ".join(versions)}')
    if len(roots) > 1:
        places = f'{len(roots)} places that end in {PurePosixPath(next(iter(roots))).name!r}'
        warnings.append(f'the servers have their weights in {places}: are they the same?')
    return list(told.values()), warnings
