"""The scripts in examples/lighteval and the commands in docs/lighteval.md, read by the real programs."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml
from made import EXAMPLES, TASKS, run

from gpassk_opencompass.cli import read_options

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    import click
    from lighteval.__main__ import app
    from lighteval.models.endpoints.litellm_model import LiteLLMModelConfig
    from lighteval.models.transformers.transformers_model import TransformersModelConfig
    from lighteval.models.vllm.vllm_model import VLLMModelConfig
    from typer.main import get_command

    from gpassk_opencompass.lighteval import (
        PARAMETERS,
        TASKS_TABLE,
        VARIABLE,
        TaskSettings,
        checked,
    )

DOCS = EXAMPLES.parents[1] / 'docs'
PAGE = (DOCS / 'lighteval.md').read_text(encoding='utf-8')
BLOCKS = re.findall(r'^ *```(\w+)\n(.*?)^ *```$', PAGE, re.DOTALL | re.MULTILINE)
CONFIGS = {
    'accelerate': TransformersModelConfig,
    'vllm': VLLMModelConfig,
    'endpoint litellm': LiteLLMModelConfig,
}
RECORDER = """#!{python}
import json, os, sys
with open({log!r}, 'a') as lines:
    lines.write(json.dumps([*sys.argv, os.environ.get('GPASSK_LIGHTEVAL')]) + '\\n')
"""


def calls_of(script: str, folder: Path, *arguments: str) -> list[list[str]]:
    """What a script runs, with programs in its way that only write down how they were called."""
    for program in ('lighteval', 'gpassk', 'lmdeploy', 'vllm'):
        (folder / program).write_text(RECORDER.format(python=sys.executable, log=str(folder / 'calls')))
        (folder / program).chmod(0o755)
    path = os.pathsep.join([str(folder), os.environ['PATH']])
    done = run(folder, '/bin/sh', str(EXAMPLES / script), *arguments, PATH=path)
    assert done.returncode == 0, done.stderr
    calls = [json.loads(line) for line in (folder / 'calls').read_text().splitlines()]
    return [[Path(program).name, *words] for program, *words in calls]


def check_lighteval(words: list[str]) -> None:
    """Every option, every argument of the model, the tasks and their parameters."""
    command: Any = get_command(app)
    context, names = click.Context(command), []
    while isinstance(command, click.Group) or hasattr(command, 'commands'):
        names.append(words.pop(0))
        command = command.get_command(context, names[-1])
        assert command is not None, names
    given = command.make_context(' '.join(names), words).params
    CONFIGS[' '.join(names)].from_args(given['model_args'])
    assert (given['custom_tasks'], given['save_details']) == (TASKS, True)
    for task in given['tasks'].split(','):
        name, *parameters = task.split('@')
        assert name in {config.name for config in TASKS_TABLE}
        assert {parameter.partition('=')[0] for parameter in parameters} <= set(PARAMETERS)


@pytest.mark.parametrize('script', ['accelerate.sh', 'endpoint.sh', 'vllm.sh'])
def test_the_example_calls_what_is_there(script, tmp_path):
    """Every option, setting and task; and the report after it."""
    evaluation, report = calls_of(script, tmp_path)
    assert (evaluation[0], report[0]) == ('lighteval', 'gpassk')
    check_lighteval(evaluation[1:-1])
    assert Path(evaluation[-1]) == EXAMPLES / 'settings.yaml'
    assert read_options(report[1], report[2:-1])


def page_commands() -> list[list[str]]:
    lines = [
        line for kind, block in BLOCKS if kind == 'sh' for line in block.replace('\\\n', ' ').splitlines()
    ]
    calls = [shlex.split(line, comments=True) for line in lines]
    return [words[words.index('lighteval') + 1 :] for words in calls if 'lighteval' in words]


@pytest.mark.parametrize('words', page_commands())
def test_the_commands_of_the_page_are_understood(words):
    check_lighteval(list(words))


def test_the_page_names_every_setting():
    rows = re.findall(r'^\| `(\w+)` \|', PAGE.partition('## Settings')[2].partition('\n## ')[0], re.M)
    assert rows == list(TaskSettings.model_fields)
    shown = [yaml.safe_load(block) for kind, block in BLOCKS if kind == 'yaml']
    assert [checked(TaskSettings, one, 'docs').judge['type'] for one in shown] == ['cascade']
    assert set(re.findall(r'\bGPASSK_[A-Z_]+\b', PAGE)) == {VARIABLE, 'GPASSK_VERDICTS'}
    assert page_commands()
