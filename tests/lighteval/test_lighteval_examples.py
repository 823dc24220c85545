"""The scripts in examples/lighteval and the commands in docs/lighteval.md, read by the real programs."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from gpassk_opencompass.cli import parser_for
from gpassk_opencompass.judges.store import STORE_VARIABLE
from gpassk_opencompass.lighteval_settings import VARIABLES, read_settings

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    import click
    from lighteval.__main__ import app
    from lighteval.models.endpoints.litellm_model import LiteLLMModelConfig
    from lighteval.models.transformers.transformers_model import TransformersModelConfig
    from lighteval.models.vllm.vllm_model import VLLMModelConfig
    from typer.main import get_command

    from gpassk_opencompass.lighteval_tasks import LENGTH_VARIABLE, QUESTIONS_VARIABLE, TASKS_TABLE

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / 'examples' / 'lighteval'
PAGE = ROOT / 'docs' / 'lighteval.md'
RUNS = sorted(path.name for path in EXAMPLES.glob('*.sh') if path.name != 'judge.sh')

CONFIGS = {
    'accelerate': TransformersModelConfig,
    'vllm': VLLMModelConfig,
    'endpoint litellm': LiteLLMModelConfig,
}
KNOWN = {*VARIABLES.values(), STORE_VARIABLE, QUESTIONS_VARIABLE, LENGTH_VARIABLE}
TASKS = {config.name for config in TASKS_TABLE}

RECORDER = """#!{python}
import json, os, sys
variables = {{name: value for name, value in os.environ.items() if name.startswith('GPASSK_')}}
with open({log!r}, 'a') as lines:
    lines.write(json.dumps([os.path.basename(sys.argv[0]), sys.argv[1:], variables]) + '\\n')
"""

Call = tuple[str, list[str], dict[str, str]]


def calls_of(script: str, folder: Path, *arguments: str) -> list[Call]:
    """What a script runs, with programs in its way that only write down how they were called."""
    log = folder / 'calls.jsonl'
    for program in ('lighteval', 'gpassk', 'lmdeploy', 'vllm'):
        (folder / program).write_text(RECORDER.format(python=sys.executable, log=str(log)))
        (folder / program).chmod(0o755)
    path = os.pathsep.join([str(folder), os.environ['PATH']])
    outside = {name: value for name, value in os.environ.items() if not name.startswith('GPASSK_')}
    done = subprocess.run(
        ['sh', EXAMPLES / script, *arguments],
        env={**outside, 'PATH': path},
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in log.read_text().splitlines()]


def check_lighteval(arguments: list[str], variables: dict[str, str]) -> None:
    """Every option, every argument of the model, the tasks and our settings."""
    command: Any = get_command(app)
    words, context = list(arguments), click.Context(command)
    names = []
    while isinstance(command, click.Group) or hasattr(command, 'commands'):
        names.append(words.pop(0))
        command = command.get_command(context, names[-1])
        assert command is not None, names
    given = command.make_context(' '.join(names), words).params
    CONFIGS[' '.join(names)].from_args(given['model_args'])
    assert given['custom_tasks'] == 'gpassk_opencompass.lighteval_tasks'
    assert given['save_details']
    for task in given['tasks'].split(','):
        name, *parameters = task.split('@')
        assert name in TASKS
        assert {parameter.partition('=')[0] for parameter in parameters} <= set(VARIABLES)
    check_variables(variables)


def check_variables(variables: dict[str, str]) -> None:
    assert {name for name in variables if not name.startswith('HF_')} <= KNOWN
    read_settings({}, variables)


@pytest.mark.parametrize('script', RUNS)
def test_the_example_calls_what_is_there(script: str, tmp_path: Path) -> None:
    """Every option, variable and task; and the report after it."""
    evaluation, report = calls_of(script, tmp_path)
    assert (evaluation[0], report[0]) == ('lighteval', 'gpassk')
    check_lighteval(*evaluation[1:])
    assert parser_for(report[1][0]).parse_args(report[1])


@pytest.mark.parametrize('program', ['lmdeploy', 'vllm'])
def test_the_judge_is_served_as_the_page_about_judges_says(program: str, tmp_path: Path) -> None:
    """Whose lines are parsed by lmdeploy's own parser in another test."""
    [(called, arguments, _)] = calls_of('judge.sh', tmp_path, program)
    assert called == program
    judging = (ROOT / 'docs' / 'judging.md').read_text(encoding='utf-8')
    assert ' '.join([program, *arguments]) in judging.splitlines()


def test_the_settings_of_an_llm_judge_are_settings() -> None:
    """The lines at the end of judge.sh."""
    script = (EXAMPLES / 'judge.sh').read_text(encoding='utf-8')
    lines = [shlex.split(line) for line in re.findall(r'^# (export .*|gpassk .*)$', script, re.M)]
    variables = dict(words[1].split('=', 1) for words in lines if words[0] == 'export')
    check_variables(variables)
    assert len(variables) == 5
    [ping] = [words[1:] for words in lines if words[0] == 'gpassk']
    assert parser_for(ping[0]).parse_args(ping)


def page_commands() -> list[tuple[list[str], dict[str, str]]]:
    """Calls of `lighteval` on the page, with the variables before them."""
    blocks = re.findall(r'^ *```sh\n(.*?)^ *```$', PAGE.read_text(encoding='utf-8'), re.DOTALL | re.MULTILINE)
    found = []
    for block in blocks:
        for line in block.replace('\\\n', ' ').splitlines():
            words = shlex.split(line, comments=True)
            if 'lighteval' in words:
                at = words.index('lighteval')
                found.append((words[at + 1 :], dict(word.split('=', 1) for word in words[:at])))
    return found


@pytest.mark.parametrize(('arguments', 'variables'), page_commands())
def test_the_commands_of_the_page_are_understood(arguments: list[str], variables: dict[str, str]) -> None:
    """To the last option."""
    check_lighteval(arguments, variables)


def test_the_page_names_every_setting() -> None:
    """And no other."""
    named = set(re.findall(r'\bGPASSK_[A-Z_]+\b', PAGE.read_text(encoding='utf-8')))
    assert named == KNOWN
    assert page_commands()
