"""What the documentation names is there: pages, files, commands, options, variables; and its examples run."""

from __future__ import annotations

import ast
import doctest
import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stderr
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from doc_commands import (
    FOREIGN_OPTIONS,
    FOREIGN_PREFIXES,
    FOREIGN_VARIABLES,
    OTHERS,
    PROGRAMS,
    known_options,
    known_variables,
    make_targets,
    make_variables,
    options_of,
)
from doc_pages import DOCS, ROOT, Block, Page, blocks, pages
from markdown.extensions.toc import slugify  # type: ignore[import-untyped]

import gpassk_opencompass
from gpassk_opencompass.cli import COMMANDS
from gpassk_opencompass.sweep.engines import ENGINES
from gpassk_opencompass.sweep.grid import DEFAULT_ENGINE, VARIABLES

pytestmark = pytest.mark.slow

FOLDERS = re.compile(
    r'(benchmarks|config_templates|constraints|docs|examples|gpassk_opencompass|tests|\.ci)/'
)
PIECES = {'judge', 'evaluator', 'datasets'}
"""What a block of Python may assign beside the lines of a template: a part of a config."""

each_page = pytest.mark.parametrize('page', pages(), ids=str)


def anchors(page: Page) -> set[str]:
    """As the site makes them."""
    found: set[str] = set()
    text = page.text.replace('--8<-- "CONTRIBUTING.md"', (ROOT / 'CONTRIBUTING.md').read_text('utf-8'))
    for heading in re.findall(r'^#{1,6} (.+)$', re.sub(r'```.*?```', '', text, flags=re.DOTALL), re.M):
        anchor, number = slugify(heading.replace('`', ''), '-'), 0
        while (name := f'{anchor}_{number}' if number else anchor) in found:
            number += 1
        found.add(name)
    return found


@each_page
def test_links_lead_somewhere(page: Page) -> None:
    """To a file beside the page, and to a heading in it."""
    for link in page.links:
        if re.match(r'(https|mailto):', link):
            continue
        path, _, anchor = link.partition('#')
        target = (page.path.parent / path).resolve() if path else page.path
        assert target.exists(), f'{page} links to {link}: there is no such file'
        if anchor:
            assert anchor in anchors(Page(target)), f'{page} links to {link}: there is no such heading'


def test_every_page_is_in_the_nav() -> None:
    """A page that nobody can find does not help; a line of `nav` without a page stops `make docs`."""
    nav = (ROOT / 'mkdocs.yml').read_text('utf-8').partition('\nnav:\n')[2]
    named = re.findall(r': ([\w-]+\.md)$', nav, re.M)
    there = {path.name for path in DOCS.rglob('*.md')}
    assert there - set(named) == set(), 'these pages have no line in `nav` of mkdocs.yml'
    assert set(named) - there == set(), 'these lines in `nav` of mkdocs.yml have no page in docs/'
    assert len(named) == len(set(named)), 'a page is in `nav` twice'


@each_page
def test_no_page_waits_for_its_numbers(page: Page) -> None:
    """`make bench` and `make test-faults` fill in what they measure."""
    assert re.findall(r'@[a-z]+@|begin -->\n<!--.*', page.text) == []


@each_page
def test_files_that_are_named_exist(page: Page) -> None:
    """Names with a folder of the repository, in the text and in commands."""
    words = [word for block in page.blocks('sh') for word in re.split(r'[\s"\']+', block.text)]
    for name in (*page.names, *words):
        path, _, place = name.partition('::')
        of_inspect = '/g_pass_' in path or '/mg_pass_' in path  # how inspect_ai calls what a package brings
        if FOLDERS.match(name) and not of_inspect and not re.search(r'[<>…*{} ]', path):
            assert (ROOT / path).exists(), f'{page} names {name}: there is no such file'
            assert not place or place in (ROOT / path).read_text('utf-8'), f'{page} names {name}'


@each_page
def test_variables_that_are_named_are_read(page: Page) -> None:
    """By this package; those of other programs are listed above."""
    shown = ' '.join([*page.names, *(block.text for block in page.blocks())])
    for name in set(re.findall(r'\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b', shown)):
        if name.startswith('GPASSK_'):
            assert name in known_variables(), f'{page} names the variable {name}, which nothing reads'


@pytest.mark.parametrize('block', blocks('sh'), ids=str)
def test_variables_of_commands_are_known(block: Block) -> None:
    """What a command sets or takes is ours, the Makefile's, or that of a program that is named above."""
    used = {*re.findall(r'\$\{?([A-Z_]+)', block.text), *re.findall(r'\b([A-Z][A-Z_]+)=', block.text)}
    set_here = set(re.findall(r'^(\w+)=', block.text, re.M))
    unknown = {name for name in used - set_here - FOREIGN_VARIABLES if not name.startswith(FOREIGN_PREFIXES)}
    assert unknown <= known_variables() | make_variables()


@pytest.mark.parametrize('block', blocks('sh'), ids=str)
def test_commands_are_understood(block: Block) -> None:
    """By the real parser, to the last option."""
    for program, *arguments in block.commands:
        check = PROGRAMS.get(program)
        assert check or program in OTHERS, f'{block}: who is {program}?'
        if check:
            with redirect_stderr(io.StringIO()) as said:
                try:
                    check(arguments)
                except (SystemExit, AssertionError) as error:
                    pytest.fail(f'{block}: {program} {" ".join(arguments)}: {said.getvalue() or error}')


@each_page
def test_commands_in_the_text_are_there(page: Page) -> None:
    """`gpassk NAME --option` and `make NAME` between backticks."""
    for name in page.names:
        program, *rest = name.split()
        if program == 'gpassk' and rest and rest[0] != '…' and not rest[0].startswith('-'):
            assert rest[0] in COMMANDS, f'{page}: {name}'
            options = {word.partition('=')[0] for word in rest if word.startswith('--') and word != '--'}
            assert options <= options_of(rest[0]), f'{page}: {name}'
        if program == 'make' and rest:
            assert rest[0] in make_targets(), f'{page}: {name}'


@each_page
def test_options_in_the_text_are_there(page: Page) -> None:
    """`--option` between backticks: of a command of ours or of OpenCompass, or one that is listed above."""
    for name in page.names:
        option = re.match(r'--[a-z][\w-]*', name)
        if option and option[0] not in FOREIGN_OPTIONS:
            assert option[0] in known_options(), f'{page} names {name}, which no command takes'


@each_page
def test_python_names_in_the_text_are_there(page: Page) -> None:
    """`gpassk_opencompass.room.name` between backticks."""
    for name in page.names:
        if re.fullmatch(r'gpassk_opencompass(\.\w+)+', name) and '.plugin' not in name:
            module, _, attribute = name.rpartition('.')
            top = module == 'gpassk_opencompass' and attribute in gpassk_opencompass.__all__
            assert top or find_spec(name) or hasattr(import_module(module), attribute), f'{page} names {name}'


@pytest.mark.parametrize('block', blocks('python'), ids=str)
def test_python_is_python(block: Block) -> None:
    """It compiles, what it imports is there, and the lines of a template are such lines."""
    if '>>>' in block.text:
        return
    tree = ast.parse(block.text)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    for node in imports:
        assert_importable(str(node.module), [alias.name for alias in node.names])
    if not imports:
        assert_lines_of_a_template(block, dict(assignments(tree)))


@pytest.mark.parametrize('page', [each for each in pages() if '>>> ' in each.text], ids=str)
def test_examples_print_what_they_show(page: Page) -> None:
    """Each `>>>`."""
    outcome = doctest.testfile(
        str(page.path), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize('block', blocks('json'), ids=str)
def test_json_is_json(block: Block) -> None:
    """One value, or one a line."""
    try:
        json.loads(block.text)
    except ValueError:
        assert [json.loads(line) for line in block.text.splitlines()]


@pytest.mark.parametrize('name', ['gpassk', 'opencompass', 'python', 'make', 'lmdeploy'])
def test_there_are_commands_of_each(name: str) -> None:
    """So that the tests above do not pass for want of any."""
    assert sum(command[0] == name for block in blocks('sh') for command in block.commands) >= 3


def assert_importable(module: str, names: list[str]) -> None:
    """A config of OpenCompass is not imported but found: it runs in OpenCompass alone; so do other hosts."""
    if '.configs.' in module:
        assert find_spec(module)
    elif '.hosts.' in module:
        spec = find_spec(module)
        assert spec
        assert spec.origin
        text = Path(spec.origin).read_text('utf-8')
        assert all(re.search(rf'^def {name}\(', text, re.M) for name in names), module
    elif module.startswith('gpassk_opencompass'):
        assert all(hasattr(import_module(module), name) for name in names), module


def assert_lines_of_a_template(block: Block, lines: dict[str, ast.expr]) -> None:
    """Or parts of a config."""
    engine = ast.literal_eval(lines['engine']) if 'engine' in lines else DEFAULT_ENGINE
    unknown = set(lines) - VARIABLES - set(ENGINES[engine].options) - PIECES
    assert not unknown, f'{block} is no template: {unknown}'


def assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
