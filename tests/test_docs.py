"""What the documentation names is there: links, files, commands; and its examples run."""

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
from doc_commands import OTHERS, PROGRAMS, make_targets, options_of
from doc_pages import DOCS, ROOT, Block, Page, pages
from markdown.extensions.toc import slugify  # type: ignore[import-untyped]

import gpassk_opencompass
from gpassk_opencompass.cli import COMMANDS
from gpassk_opencompass.sweep.engines import ENGINES
from gpassk_opencompass.sweep.template import DEFAULT_ENGINE, SETTINGS

pytestmark = pytest.mark.slow

FOLDERS = re.compile(
    r'(benchmarks|config_templates|constraints|docs|examples|gpassk_opencompass|tests|\.ci)/'
)
PIECES = {'judge', 'evaluator', 'datasets'}
"""What a block of Python may assign beside the lines of a template: a part of a config."""

PAGES = [page for page in pages() if page.path.name != 'CHANGELOG.md']
"""Whose names are those of today."""


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


def test_links_lead_somewhere() -> None:
    """To a file beside the page, and to a heading in it."""
    for page in PAGES:
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
    assert sorted(re.findall(r': ([\w-]+\.md)$', nav, re.M)) == sorted(
        path.name for path in DOCS.rglob('*.md')
    )


def test_files_that_are_named_exist() -> None:
    """Names with a folder of the repository, in the text and in commands."""
    for page in PAGES:
        words = [word for block in page.blocks('sh') for word in re.split(r'[\s"\']+', block.text)]
        for name in (*page.names, *words):
            path, _, place = name.partition('::')
            of_inspect = '/g_pass_' in path or '/mg_pass_' in path  # names in inspect_ai
            if FOLDERS.match(name) and not of_inspect and not re.search(r'[<>…*{} ]', path):
                assert (ROOT / path).exists(), f'{page} names {name}: there is no such file'
                assert not place or place in (ROOT / path).read_text('utf-8'), f'{page} names {name}'


def test_commands_are_understood() -> None:
    """By the real parser, to the last option."""
    called = set()
    for block in blocks('sh'):
        for program, *arguments in block.commands:
            check = PROGRAMS.get(program)
            assert check or program in OTHERS, f'{block}: who is {program}?'
            called.add(program)
            if check:
                with redirect_stderr(io.StringIO()) as said:
                    try:
                        check(arguments)
                    except (SystemExit, AssertionError) as error:
                        pytest.fail(f'{block}: {program} {" ".join(arguments)}: {said.getvalue() or error}')
    assert called >= {'gpassk', 'opencompass', 'python', 'make'}


def test_commands_in_the_text_are_there() -> None:
    """`gpassk NAME --option` and `make NAME` between backticks."""
    for page in PAGES:
        for name in page.names:
            program, *rest = name.split()
            if program == 'gpassk' and rest and rest[0] != '…' and not rest[0].startswith('-'):
                assert rest[0] in COMMANDS, f'{page}: {name}'
                options = {word.partition('=')[0] for word in rest if word.startswith('--') and word != '--'}
                assert options <= options_of(rest[0]), f'{page}: {name}'
            if program == 'make' and rest:
                assert rest[0] in make_targets(), f'{page}: {name}'


def test_python_names_in_the_text_are_there() -> None:
    """`gpassk_opencompass.room.name` between backticks."""
    for page in PAGES:
        for name in page.names:
            if re.fullmatch(r'gpassk_opencompass(\.\w+)+', name) and '.plugin' not in name:
                module, _, attribute = name.rpartition('.')
                top = module == 'gpassk_opencompass' and attribute in gpassk_opencompass.__all__
                assert top or hasattr(import_module(module), attribute) or find_spec(name), f'{page}: {name}'


def test_python_is_python() -> None:
    """It compiles, what it imports is there, and the lines of a template are such lines."""
    for block in blocks('python'):
        if '>>>' in block.text:
            continue
        tree = ast.parse(block.text)
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        for node in imports:
            assert_importable(str(node.module), [alias.name for alias in node.names])
        if not imports:
            assert_lines_of_a_template(block, dict(assignments(tree)))


@pytest.mark.parametrize('page', [each for each in PAGES if '>>> ' in each.text], ids=str)
def test_examples_print_what_they_show(page: Page) -> None:
    """Each `>>>`."""
    outcome = doctest.testfile(
        str(page.path), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_json_is_json() -> None:
    """One value, or one a line."""
    for block in blocks('json'):
        try:
            json.loads(block.text)
        except ValueError:
            assert [json.loads(line) for line in block.text.splitlines()], block


def blocks(language: str) -> list[Block]:
    """The code blocks of all pages."""
    return [block for page in PAGES for block in page.blocks(language)]


def assert_importable(module: str, names: list[str]) -> None:
    """A config of OpenCompass is not imported but found: it runs in OpenCompass; so inspect_ai's metric."""
    if '.configs.' in module:
        assert find_spec(module)
    elif module == 'gpassk_opencompass.inspect_ai':
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
    unknown = set(lines) - SETTINGS - set(ENGINES[engine].options) - PIECES
    assert not unknown, f'{block} is no template: {unknown}'


def assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
