"""What lm-evaluation-harness tells of a run beside its samples: `results_<date>.json`, settings in rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import mapping
from ..json_lines import Row

_SUMMARY = frozenset({'results', 'configs', 'versions'})
"""What a summary has."""

_NAME = re.compile(r'samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl(?:\.gz)?')

_GIVEN = {
    'temperature': 'temperature',
    'top_p': 'top_p',
    'top_k': 'top_k',
    'repetition_penalty': 'repetition_penalty',
    'max_gen_toks': 'max_out_len',
    'max_tokens': 'max_out_len',
    'max_new_tokens': 'max_out_len',
    'seed': 'random_seed',
}
"""Name of a generation setting there → here."""

_LARGEST = 100_000_000
"""Bytes of a summary beyond which it is not read: a task's is some thousands."""


def is_summary(row: Row) -> bool:
    """Whether a JSON object is a summary."""
    return set(row) >= _SUMMARY and 'gpassk' not in row


def request_of(row: Row) -> tuple[Any, Any]:
    """Return the prompt of a question, and how responses to it were generated.

    They stand in `{"gen_args_0": {"arg_0": …, "arg_1": …}}`.
    """
    first = mapping(row.get('arguments')).get('gen_args_0')
    both = list(first.values()) if isinstance(first, dict) else ['', {}]
    return both[0] if both else '', both[1] if len(both) > 1 else None


@dataclass(frozen=True)
class Summary:
    """The summary of a run, as far as it concerns one task.

    Args:
        told: what it says; {} where there is none beside the samples, or it is damaged.
        task: as the name of the file of samples has it; '' where it has been renamed.
    """

    told: Mapping[str, Any]
    task: str

    @classmethod
    def beside(cls, path: Path) -> Summary:
        """Return the summary that was written with a file of samples: in its folder, of the same moment."""
        named = _NAME.fullmatch(path.name)
        if named is None:
            return cls({}, '')
        for file in sorted(path.parent.glob(f'*_{named["date"]}.json')):
            try:
                text = file.read_text(encoding='utf-8') if file.stat().st_size < _LARGEST else ''
                told = mapping(json.loads(text))
            except (OSError, ValueError, RecursionError):
                continue
            if is_summary(dict(told)):
                return cls(told, named['task'])
        return cls({}, named['task'])

    @property
    def model(self) -> str:
        """Return what the run calls its model; '' where it says nothing."""
        told = mapping(self.told.get('config')).get('model_args')
        pairs = [pair.split('=', 1) for pair in str(told or '').split(',') if '=' in pair]
        arguments = mapping(told) or dict(pairs)
        names = [self.told.get('model_name'), *(arguments.get(name) for name in ('pretrained', 'model'))]
        return next((name for name in names if isinstance(name, str) and name), '')

    @property
    def written_by(self) -> str:
        """Return the harness, with its version where it tells that."""
        version = self.told.get('lm_eval_version')
        return f'lm-eval {version}' if isinstance(version, str) else 'lm-eval'

    def judge(self, metric: str, filter_name: str) -> dict[str, Any]:
        """Return who gave the verdicts: the judge of an exported result, else a metric of the task."""
        config = mapping(mapping(self.told.get('configs')).get(self.task))
        own = mapping(mapping(mapping(config.get('metadata')).get('gpassk')).get('judge'))
        if own.get('name'):
            return dict(own)
        told = {
            'task': self.task,
            'filter': filter_name,
            'version': mapping(self.told.get('versions')).get(self.task),
        }
        known = {name: value for name, value in told.items() if value not in (None, '')}
        return {'name': f'{metric} of lm-eval', **known}

    def settings(self, row: Row) -> dict[str, Any]:
        """Return how responses were sampled: the engine, and what a row of samples says."""
        asked = mapping(request_of(row)[1])
        known = {
            here: asked[name] for name, here in _GIVEN.items() if isinstance(asked.get(name), (int, float))
        }
        if asked.get('do_sample') is False:
            known['temperature'] = 0.0
        engine = mapping(self.told.get('config')).get('model')
        return {**known, **({'engine': engine} if isinstance(engine, str) else {})}
