"""docs/judging.md says what works: every command line is parsed, every config built."""

from __future__ import annotations

import re
import shlex
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest

from gpassk_opencompass.cli import parser_for
from gpassk_opencompass.judges.build import judge_config

PAGE = (Path(__file__).resolve().parents[1] / 'docs' / 'judging.md').read_text(encoding='utf-8')
WHEEL = Path(sys.prefix) / 'lmdeploy-wheel'


def blocks(kind: str) -> list[str]:
    return re.findall(rf'^```{kind}\n(.*?)^```$', PAGE, re.DOTALL | re.MULTILINE)


def commands(program: str) -> list[list[str]]:
    """The arguments of each call of a program, without what stands before it."""
    lines = [shlex.split(line) for block in blocks('sh') for line in block.splitlines()]
    return [words[words.index(program) + 1 :] for words in lines if program in words]


@pytest.mark.parametrize('arguments', commands('gpassk'), ids=' '.join)
def test_its_own_commands_are_understood(arguments: list[str]) -> None:
    """By the parser of the command, to the last option."""
    assert parser_for(arguments[0]).parse_args(arguments)


@pytest.mark.parametrize('block', blocks('python'))
def test_its_configs_are_judges(block: str) -> None:
    """Each one names a judge with arguments that it takes."""
    found: dict[str, Any] = {}
    exec(block, found)
    if 'eval_urls' in found:
        assert judge_config(found['eval_model_name'], found['eval_urls'], None)['type'] == 'llm'
    else:
        judge_config('', (), found.get('judge') or found['evaluator']['judge'])


@pytest.fixture(scope='module')
def lmdeploy_parser() -> ArgumentParser:
    """That of the real lmdeploy 0.18.0, installed without its dependencies beside the environment."""
    if not WHEEL.is_dir():
        pytest.skip('lmdeploy is not unpacked beside this environment; `make test` does it')
    sys.path.insert(0, str(WHEEL))
    try:
        from lmdeploy.cli.cli import CLI
        from lmdeploy.cli.serve import SubCliServe

        SubCliServe.add_parsers()
    finally:
        sys.path.remove(str(WHEEL))
    parser: ArgumentParser = CLI.parser
    return parser


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('arguments', commands('lmdeploy'), ids=lambda words: ' '.join(words[2:]))
def test_lmdeploy_understands_its_command_lines(
    lmdeploy_parser: ArgumentParser, arguments: list[str]
) -> None:
    """And takes from them what was meant."""
    parsed = lmdeploy_parser.parse_args(arguments)
    assert parsed.model_name == arguments[2].rpartition('/')[2]
    assert (parsed.session_len, parsed.enable_prefix_caching) == (16384, True)
    assert parsed.tp == (4 if '72B' in parsed.model_name else 1)
    assert parsed.server_port in (23333, 23334)


@pytest.mark.parametrize('program', ['gpassk', 'lmdeploy', 'vllm'])
def test_there_are_command_lines_of_each(program: str) -> None:
    """So that the tests above do not pass for want of any."""
    assert len(commands(program)) >= 2
