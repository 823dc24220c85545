"""What a work directory of EvalScope tells of a run, beside its samples: the config and the reports."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ..files import mapping

_SAMPLING = (
    'temperature',
    'top_p',
    'top_k',
    'max_tokens',
    'repetition_penalty',
    'presence_penalty',
    'frequency_penalty',
    'do_sample',
    'seed',
    'reasoning_effort',
)
"""What is kept of `generation_config`."""


class RunFolder:
    """The files of a work directory that are about one model.

    Args:
        root: the work directory; None: there is none, and nothing is known.
        model: its folder in `reviews`, which is its id.
    """

    def __init__(self, root: Path | None, model: str) -> None:
        self._root = root
        self.model = model

    @property
    def name(self) -> str:
        """Return what the folder is called in messages."""
        return str(self._root or 'EvalScope')

    @property
    def written_by(self) -> str:
        """Return the program with its version, where that is known."""
        return f'EvalScope {self._config.get("evalscope_version") or ""}'.strip()

    @property
    def judging(self) -> dict[str, Any]:
        """Return the strategy of the judge, unless it is the benchmark's own."""
        told = mapping(self._config.get('judge')).get('strategy')
        return {'strategy': told} if told and told != 'auto' else {}

    @property
    def settings(self) -> dict[str, Any]:
        """Return how the model sampled, as far as the config says so."""
        told = mapping(self._config.get('generation_config'))
        return {name: told[name] for name in _SAMPLING if told.get(name) is not None}

    def parted(self, stem: str) -> tuple[str, str]:
        """Return benchmark and subset of `<benchmark>_<subset>`; both may hold a `_`.

        The benchmarks are those of the configs and reports; '' is the subset where none of them fits.
        """
        fitting = [
            name for name in self._benchmarks if stem.startswith(f'{name}_') and len(name) < len(stem) - 1
        ]
        if fitting:
            benchmark = max(fitting, key=len)
            return benchmark, stem[len(benchmark) + 1 :]
        return (stem.removesuffix('_default'), 'default') if stem.endswith('_default') else (stem, '')

    def has_config(self, benchmark: str) -> bool:
        """Whether the config is of a run of this benchmark."""
        return benchmark in _datasets(self._config)

    def has_report(self, benchmark: str) -> bool:
        """Whether a run of this benchmark came to its end."""
        return benchmark in self._reports

    def repeats(self, benchmark: str) -> int | None:
        """Return the samples a question; None where no config says so."""
        told = self._config.get('repeats') if self.has_config(benchmark) else None
        return told if isinstance(told, int) and told > 0 else None

    def planned(self, benchmark: str, subset: str) -> int | None:
        """Return how many samples were asked for, see `Files.planned`."""
        if not self.has_report(benchmark):
            return None
        subsets = mapping(mapping(self._reports[benchmark].get('execution_summary')).get('subsets'))
        told = mapping(subsets.get(subset)).get('requested')
        return told if isinstance(told, int) and told > 0 else 0

    @cached_property
    def _configs(self) -> list[Mapping[str, Any]]:
        """Return the configs of all models, the last one first."""
        paths = self._root.glob('configs/task_config*.yaml') if self._root else ()
        return [_config_in(path) for path in sorted(paths, key=lambda path: -path.stat().st_mtime)]

    @cached_property
    def _config(self) -> Mapping[str, Any]:
        return next((one for one in self._configs if str(one.get('model_id')) == self.model), {})

    @cached_property
    def _benchmarks(self) -> set[str]:
        """Return those of all models."""
        paths = self._root.glob('reports/**/*.json') if self._root else ()
        return {name for one in self._configs for name in _datasets(one)} | {path.stem for path in paths}

    @cached_property
    def _reports(self) -> dict[str, Mapping[str, Any]]:
        """Return the reports of this model by benchmark; {} in the place of one that cannot be read."""
        if self._root is None:
            return {}
        return {
            path.stem: _json_in(path) for path in sorted((self._root / 'reports' / self.model).glob('*.json'))
        }


def _datasets(config: Mapping[str, Any]) -> list[str]:
    told = config.get('datasets')
    return [str(name) for name in told] if isinstance(told, list) else []


def _json_in(path: Path) -> Mapping[str, Any]:
    try:
        return mapping(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}


_LINE = re.compile(r'(?P<indent> *)(?P<key>[\w-]+):(?: (?P<value>.*))?$')


def _config_in(path: Path) -> dict[str, Any]:
    """Read the top of a YAML file as EvalScope writes it: `key: scalar`, lists, and one level below.

    That needs no YAML package; what lies deeper, or runs over several lines, is passed over.
    """
    found: dict[str, Any] = {}
    key = ''
    try:
        lines = path.read_text(encoding='utf-8').splitlines()
    except (OSError, ValueError):
        return {}
    for line in lines:
        told = _LINE.match(line)
        if told and not told['indent']:
            key = told['key']
            found[key] = _scalar(told['value']) if told['value'] else {}
        elif told and len(told['indent']) == 2 and isinstance(found.get(key), dict):
            found[key][told['key']] = _scalar(told['value'] or '')
        elif line.startswith('- ') and key:
            listed = found[key] if isinstance(found[key], list) else []
            found[key] = [*listed, _scalar(line[2:])]
    return found


def _scalar(text: str) -> Any:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    try:
        return json.loads(text)
    except ValueError:
        return text
