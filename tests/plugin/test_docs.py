"""What the documentation names is there: links, files, commands; and its examples run.

That links within the site lead somewhere, anchors too, is checked by mkdocs, which is strict.
"""

from __future__ import annotations

import ast
import doctest
import io
import re
from contextlib import redirect_stderr
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from doc_pages import ROOT, Block, pages

import gpassk_opencompass
from gpassk_opencompass.cli import COMMANDS, parser_for, read_options
from gpassk_opencompass.cli.expand import dump_configs_parser
from gpassk_opencompass.sweep.engines import ENGINES
from gpassk_opencompass.sweep.template import DEFAULT_ENGINE, SETTINGS

pytestmark = pytest.mark.slow

FOLDERS = r'(benchmarks|config_templates|constraints|docs|examples|gpassk_opencompass|tests|\.ci)/'
PIECES = {'judge', 'evaluator', 'datasets'}
"""What a block of Python may assign beside the lines of a template: a part of a config."""

OTHERS = {
    'pip', 'pip-audit', 'lmdeploy', 'transformers', 'vllm', 'lighteval', 'lm_eval', 'inspect', 'apt',
    'scancel', 'kubectl', 'ssh', 'ulimit', 'curl', 'cp', 'touch', 'source',
}  # fmt: skip
"""Programs of others; command lines of lmdeploy are parsed in test_docs_content.py."""

PAGES = pages()


def blocks(language: str) -> list[Block]:
    return [block for page in PAGES for block in page.blocks(language)]


def make_targets() -> set[str]:
    return {*re.findall(r'^([a-z-]+):', (ROOT / 'Makefile').read_text('utf-8'), re.M)}


def options_of(parser: Any) -> set[str]:
    """Of a subcommand of gpassk, and of those below it."""
    own = {option for action in parser._actions for option in action.option_strings}
    below = (action.choices.values() for action in parser._actions if isinstance(action.choices, dict))
    return own.union(*(options_of(further) for parsers in below for further in parsers))


def test_links_of_the_top_level_lead_somewhere():
    """README and CONTRIBUTING stand outside of the site: to a file, and to a heading in it."""
    for page in PAGES:
        for link in page.links:
            path, _, anchor = link.partition('#')
            if page.path.parent == ROOT and not re.match(r'(https|mailto):', link):
                target = page.path.parent / path if path else page.path
                assert target.exists(), f'{page} links to {link}: there is no such file'
                headings = re.findall(r'^#+ (.+)$', target.read_text('utf-8'), re.M) if anchor else []
                slugs = [re.sub(r'[^\w -]', '', heading).lower().replace(' ', '-') for heading in headings]
                assert not anchor or anchor in slugs, f'{page} links to {link}: there is no such heading'


def test_files_that_are_named_exist():
    for page in PAGES:
        words = [word for block in page.blocks('sh') for word in re.split(r'[\s"\']+', block.text)]
        for name in (*page.names, *words):
            path, _, place = name.partition('::')
            of_inspect = '/g_pass_' in path or '/mg_pass_' in path  # names in inspect_ai
            if re.match(FOLDERS, name) and not of_inspect and not re.search(r'[<>…*{} ]', path):
                assert (ROOT / path).exists(), f'{page} names {name}: there is no such file'
                assert not place or place in (ROOT / path).read_text('utf-8'), f'{page} names {name}'


def understand(program: str, arguments: list[str]) -> None:
    """Parse a command as its program does; AssertionError or SystemExit if it is not understood."""
    if program == 'gpassk':  # a variable of the shell is some value
        assert read_options(arguments[0], [re.sub(r'\$\w+', '1', word) for word in arguments[1:]])
    elif program == 'make':
        assert {word for word in arguments if '=' not in word} <= make_targets()
    elif program == 'opencompass':  # its parser cannot be had without importing all of it
        found = find_spec('opencompass')
        path = Path(found.origin).parent / 'cli/main.py' if found and found.origin else None
        source = path.read_text('utf-8') if path else ''
        options = [word for word in arguments if re.match(r'--?[a-z]', word)]
        assert not source or all(f"'{option}'" in source for option in options)
    elif program == 'python' and arguments[0] == '-m':
        assert find_spec(arguments[1]), 'no such module'
    elif program == 'python' and arguments[0] == '-c':
        compile(arguments[1], 'command', 'exec')
    elif program == 'python' and arguments[0] == 'dump_configs.py':
        dump_configs_parser().parse_args(arguments[1:])
    elif program == 'python':
        assert (ROOT / arguments[0]).exists(), 'no such file'
    else:
        assert program in OTHERS, 'nobody knows this program'


def test_commands_are_understood():
    called = set()
    for block in blocks('sh'):
        for program, *arguments in block.commands:
            called.add(program)
            with redirect_stderr(io.StringIO()) as said:
                try:
                    understand(program, arguments)
                except (SystemExit, AssertionError) as error:
                    pytest.fail(f'{block}: {program} {" ".join(arguments)}: {said.getvalue() or error}')
    assert called >= {'gpassk', 'opencompass', 'python', 'make'}


def test_commands_and_names_in_the_text_are_there():
    """`gpassk NAME --option`, `make NAME` and `gpassk_opencompass.room.name` between backticks."""
    for page in PAGES:
        for name in page.names:
            program, *rest = name.split()
            if program == 'gpassk' and rest and rest[0] != '…' and not rest[0].startswith('-'):
                assert rest[0] in COMMANDS, f'{page}: {name}'
                options = {word.partition('=')[0] for word in rest if word.startswith('--') and word != '--'}
                assert options <= options_of(parser_for(rest[0])), f'{page}: {name}'
            if program == 'make' and rest:
                assert rest[0] in make_targets(), f'{page}: {name}'
            if re.fullmatch(r'gpassk_opencompass(\.\w+)+', name) and '.plugin' not in name:
                module, _, attribute = name.rpartition('.')
                top = module == 'gpassk_opencompass' and attribute in gpassk_opencompass.__all__
                assert top or hasattr(import_module(module), attribute) or find_spec(name), f'{page}: {name}'


def test_python_is_python():
    """It compiles, what it imports is there, and the lines of a template are such lines."""
    for block in blocks('python'):
        if '>>>' in block.text:
            continue
        tree = ast.parse(block.text)
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        for node in imports:
            module = str(node.module)
            spec = find_spec(module) if module.startswith('gpassk_opencompass') else None
            if '.configs.' in module or module == 'gpassk_opencompass.inspect_ai':  # they import their host
                assert spec
            elif spec:
                assert all(hasattr(import_module(module), alias.name) for alias in node.names), block
        if not imports:
            nodes = [node for node in tree.body if isinstance(node, ast.Assign)]
            lines = {
                name.id: node.value for node in nodes for name in node.targets if isinstance(name, ast.Name)
            }
            engine = ast.literal_eval(lines['engine']) if 'engine' in lines else DEFAULT_ENGINE
            unknown = set(lines) - SETTINGS - set(ENGINES[engine].options) - PIECES
            assert not unknown, f'{block} is no template: {unknown}'


@pytest.mark.parametrize('page', [each for each in PAGES if '>>> ' in each.text], ids=str)
def test_examples_print_what_they_show(page):
    outcome = doctest.testfile(
        str(page.path), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert outcome.attempted > 0
    assert outcome.failed == 0
