"""What a config says of the model and the data set that a process of OpenCompass works on."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmengine.config import Config
from opencompass.utils import dataset_abbr_from_cfg, get_logger, model_abbr_from_cfg

from ..errors import InputError
from ..serving import choosing

LENGTHS = ('max_out_len', 'min_out_len')
"""Fields of a model that a data set may overrule; they count with the data set."""

OPERATIONAL = frozenset(
    {
        # what OpenCompass keeps for itself
        *('abbr', 'summarizer_abbr', 'served_name', 'run_cfg', 'batch_size', 'pred_postprocessor'),
        # where and how fast a server is asked
        *(
            'openai_api_base',
            'api_addr',
            'url',
            'base_url',
            'openai_proxy_url',
            'query_per_second',
            'rpm_verbose',
            'retry',
            'patience',
        ),
        *('timeout', 'max_workers', 'concurrency', 'verbose', 'status_code_mappings', 'http_client_cfg'),
        # over which devices a model is spread
        *(
            'tp',
            'pp',
            'tensor_parallel_size',
            'pipeline_parallel_size',
            'data_parallel_size',
            'num_gpus',
            'device_map',
        ),
        # when a run ends
        'most_failed',
        *('gpu_memory_utilization', 'cache_max_entry_count', 'max_batch_size', 'max_num_seqs', 'swap_space'),
    }
)
"""Fields of a model that do not choose its samples, at any depth: a run may be resumed with others."""

_SECRET = re.compile(
    r'(?:.*[_-])?(?:(?:api_?)?keys?|secret|password|authorization)(?:_env)?'
    r'|(?:(?:auth|access|bearer|hf|api)[_-]?)?token',
    re.IGNORECASE,
)
_PARAMETERS = re.compile(r'.*_params\.py')
_SHARD = re.compile(r'_\d+$')


@dataclass(frozen=True)
class Task:
    """The entries of a model and a data set in the config of the task that this process runs."""

    model: Mapping[str, Any]
    dataset: Mapping[str, Any]

    @property
    def model_settings(self) -> dict[str, Any]:
        """Return what of the model's entry chooses samples."""
        return {name: value for name, value in _plain(self.model).items() if name not in LENGTHS}

    @property
    def inference_settings(self) -> dict[str, Any]:
        """Return what of the data set's entry chooses samples: prompts, and how long a response may be."""
        asked = _plain(self.dataset).get('infer_cfg') or {}
        inferencer = asked.get('inferencer') or {}
        lengths = {name: self.model.get(name) for name in LENGTHS}
        own = {name: value for name, value in inferencer.items() if name != 'type'}
        templates = {
            name: asked[name] for name in ('ice_template', 'prompt_template', 'retriever') if name in asked
        }
        return {name: value for name, value in {**lengths, **own, **templates}.items() if value is not None}

    @property
    def postprocesses_references(self) -> bool:
        """Whether the evaluation sees other references than the inference did."""
        return 'dataset_postprocessor' in (self.dataset.get('eval_cfg') or {})


def current_task(below: Path, kind: str, *, kept: bool = False) -> Task | None:
    """Find what the config says of the model and the data set that a task works on.

    A task is a process with its config as argument; with `opencompass --debug` it is the command itself,
    whose config is kept under its process id.

    Args:
        below: `<work_dir>/<time>/<kind>/<model>/<data set or shard>`.
        kind: 'predictions' or 'results'.
        kept: else take the config that the last command has kept.

    Returns:
        None where no config tells: the caller is no task of OpenCompass.

    Raises:
        InputError: two models or data sets of the config share the abbreviation and differ.
    """
    root = next((above for above in below.parents[1:] if above.name == kind), None)
    if root is None:
        return None
    found = (_task_in(path, root, below) for path in _configs(root.parent, kept))
    return next((task for task in found if task is not None), None)


def kept_tasks(out: Path, predictions: Sequence[Path]) -> dict[str, Task]:
    """Find what the configs that may have drawn predictions say of a model and a data set, by file name.

    OpenCompass keeps the config of each start. One that is younger than the predictions has drawn none.

    Args:
        out: `<work_dir>/<time>/results/<model>/<data set>`.
        predictions: the files; where no config is older, as in a copy that lost its times, all configs count.
    """
    root = next((above for above in out.parents[1:] if above.name == 'results'), out)
    finished = max(path.stat().st_mtime for path in predictions)
    configs = list(root.parent.glob('configs/*.py'))
    before = [path for path in configs if path.stat().st_mtime <= finished]
    found = {path.name: _task_in(path, root, out) for path in before or configs}
    return {name: task for name, task in found.items() if task is not None}


def _task_in(path: Path, root: Path, below: Path) -> Task | None:
    try:
        config = Config.fromfile(str(path), format_python_code=False)
    except Exception as error:  # of Python code: anything; a kill may have cut it
        get_logger().warning(f'{path} cannot be read: {type(error).__name__}: {error}')
        return None
    return _entry_of(config, str(below.relative_to(root)))


def difference(was: Any, now: Any) -> str:
    """Say where two JSON values differ first, '' if they do not.

    >>> difference({'path': 'a', 'kwargs': {'top_p': 0.8}}, {'path': 'a', 'kwargs': {'top_p': 1}})
    '.kwargs.top_p = 0.8, and now has 1'
    """
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for name in sorted({*was, *now}):
            if found := difference(was.get(name), now.get(name)):
                return f'.{name}{found}'
        return ''
    return '' if was == now else f' = {_shown(was)}, and now has {_shown(now)}'


def _configs(time_dir: Path, kept: bool) -> Iterator[Path]:
    if len(sys.argv) > 1 and _PARAMETERS.fullmatch(sys.argv[1]) and Path(sys.argv[1]).is_file():
        yield Path(sys.argv[1])
    kept_here = sorted(time_dir.glob('configs/*.py'), key=lambda path: path.stat().st_mtime, reverse=True)
    yield from (path for path in kept_here if path.stem.endswith(f'_{os.getpid()}'))  # in a container: all
    if kept:
        yield from _newest(time_dir)


def _newest(time_dir: Path) -> list[Path]:
    """Return the config that the last command has kept, if there is one."""
    return sorted(time_dir.glob('configs/*.py'), key=lambda path: path.stat().st_mtime)[-1:]


def _entry_of(config: Any, name: str) -> Task | None:
    """Find the entries of `<model>/<data set or shard>`, of which both may have slashes."""
    parts = [part if isinstance(part, list) else [part] for part in config.get('datasets', ())]
    models = [(model_abbr_from_cfg(entry), entry) for entry in config.get('models', ())]
    datasets = [(dataset_abbr_from_cfg(entry), entry) for part in parts for entry in part]
    for written in (name, _SHARD.sub('', name)):
        tasks = [Task(m, d) for own, m in models for of, d in datasets if f'{own}/{of}' == written]
        if tasks:
            return _only(tasks)
    return _only([Task(model, {}) for own, model in models if name.startswith(f'{own}/')])


def _only(tasks: Sequence[Task]) -> Task | None:
    for other in tasks[1:]:
        first, called = tasks[0], f'models of the config are called {model_abbr_from_cfg(tasks[0].model)}'
        found = difference(_plain(first.model), _plain(other.model))
        if not found:
            called = f'data sets of the config are called {dataset_abbr_from_cfg(first.dataset)}'
            found = difference(first.inference_settings, other.inference_settings)
        if found:
            raise InputError(
                f'two {called}, and differ in {found[1:]}: their samples would lie in one file; give each an '
                'abbr of its own'
            )
    return tasks[0] if tasks else None


def _plain(value: Any) -> Any:
    """Turn an entry of a config into JSON values: types by name, without secrets and operational fields."""
    if isinstance(value, Mapping):
        return {
            str(name): _plain(choosing(part) if name == 'serve' and isinstance(part, Mapping) else part)
            for name, part in value.items()
            if not _is_left_out(str(name))
        }
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, type) or callable(value):
        return f'{value.__module__}.{value.__qualname__}'
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _is_left_out(name: str) -> bool:
    return name in OPERATIONAL or bool(_SECRET.fullmatch(name))


def _shown(value: Any) -> str:
    return 'nothing' if value is None else f'{value!r:.80}'
