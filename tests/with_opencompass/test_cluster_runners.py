"""OpenCompass's runners for clusters in a template: compared with the installed ones, and passed on."""

from __future__ import annotations

from typing import Any

import pytest
from hosts import import_plugin

from gpassk_opencompass.errors import TemplateError
from gpassk_opencompass.sweep.runners import UNTESTED, _runners, check_runner

DLC: dict[str, Any] = {
    'type': 'opencompass.runners.DLCRunner',
    'max_num_workers': 8,
    'task': {'type': 'opencompass.tasks.OpenICLInferTask'},
    'aliyun_cfg': {
        'python_env_path': '/env',
        'workspace_id': '1',
        'resource_id': 'r',
        'worker_image': 'i',
        'data_sources': ['d'],
    },
}
VOLC = {'type': 'VOLCRunner', 'queue_name': 'q', 'volcano_cfg': {'volcano_config_path': 'x.yaml'}}
RJOB = {'type': 'opencompass.runners.RJOBRunner', 'rjob_cfg': {'image': 'i'}}


@pytest.mark.parametrize('runner', [DLC, VOLC, RJOB])
def test_a_whole_config_passes_and_is_said_to_be_untried(runner: dict[str, Any]) -> None:
    """Nobody here has such a service."""
    assert check_runner('infer', {'runner': runner})


def test_what_is_read_from_the_source_is_what_the_classes_take() -> None:
    """By the signatures of the imported classes; all three are there."""
    import_plugin()
    import inspect

    from opencompass import runners

    found = _runners()
    assert set(found) >= UNTESTED
    for name, runner in found.items():
        if hasattr(runners, name):
            taken = inspect.signature(getattr(runners, name)).parameters
            assert runner.arguments == set(taken), name
            needed = {key for key, one in taken.items() if one.default is one.empty} - {'task'}
            assert set(runner.required) == needed, name


def without(runner: dict[str, Any], *path: str) -> dict[str, Any]:
    """A copy that lacks one field."""
    first, *rest = path
    kept = {name: value for name, value in runner.items() if name != first or rest}
    return {**kept, first: without(runner[first], *rest)} if rest else kept


@pytest.mark.parametrize(
    ('runner', 'message'),
    [
        (without(DLC, 'aliyun_cfg'), 'has no aliyun_cfg'),
        (
            without(DLC, 'aliyun_cfg', 'workspace_id'),
            'aliyun_cfg in infer.runner of type DLCRunner has no workspace_id',
        ),
        ({**DLC, 'aliyun_cfg': 'x'}, "aliyun_cfg is 'x'; expected a dict"),
        ({**DLC, 'workers': 3}, "unknown argument of infer.runner of type DLCRunner 'workers'"),
        (without(VOLC, 'queue_name'), 'has no queue_name'),
        (without(VOLC, 'volcano_cfg', 'volcano_config_path'), 'has no volcano_config_path'),
        (without(RJOB, 'rjob_cfg'), 'has no rjob_cfg'),
    ],
)
def test_what_would_end_in_an_error_there_is_refused_here(runner: dict[str, Any], message: str) -> None:
    """With the name of what is wrong."""
    with pytest.raises(TemplateError, match='(?i)' + message.replace('.', r'\.')):
        check_runner('infer', {'runner': runner})
