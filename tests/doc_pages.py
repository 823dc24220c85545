"""The pages of the documentation, taken apart: code blocks, commands, links, names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / 'docs'

_BLOCK = re.compile(r'^( *)```(\w*)\n(.*?)^\1```$', re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A code block."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f'{self.page}:{self.line}'

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command, without variables, loops and comments around it."""
        lines = self.text.replace('\\\n', ' ').splitlines()
        captured = (re.sub(r'^\w+=\$\((.*)\)$', r'\1', line) for line in lines)
        return [command for line in captured for command in _commands(shlex.split(line, comments=True))]


def _commands(words: list[str]) -> Iterator[list[str]]:
    """`A=b until x; do y; done` → x; pipes and redirections end a command."""
    if words and words[0] == 'srun':
        words = words[words.index('gpassk') :]
    while words and (re.fullmatch(r'[A-Za-z_]+=.*', words[0]) or words[0] in ('until', 'while', 'export')):
        words = words[1:]
    ends = [place for place, word in enumerate(words) if word in ('|', '&&', '<', '>') or word[-1:] == ';']
    if words:
        yield words[: ends[0]] if ends else words


@dataclass(frozen=True)
class Page:
    """A page in Markdown."""

    path: Path

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding='utf-8')

    @cached_property
    def prose(self) -> str:
        return _BLOCK.sub('', self.text)

    def blocks(self, language: str) -> list[Block]:
        return [
            Block(
                str(self),
                self.text[: match.start()].count('\n') + 1,
                language,
                re.sub(rf'^{match[1]}', '', match[3], flags=re.MULTILINE),
            )
            for match in _BLOCK.finditer(self.text)
            if match[2] == language
        ]

    @cached_property
    def links(self) -> list[str]:
        return re.findall(r'!?\[[^\]]*\]\(([^)\s]+)\)', re.sub(r'`[^`\n]+`', '', self.prose))

    @cached_property
    def names(self) -> list[str]:
        return [' '.join(name.split()) for name in re.findall(r'`([^`]+)`', self.prose)]

    def rows(self, first: str) -> list[list[str]]:
        """The cells of the table whose first heading is `first`, without its head."""
        table = re.search(rf'^\| +{re.escape(first)} +\|.*\n\|[-| :]+\|\n((?:\|.*\n)+)', self.text, re.M)
        assert table, f'{self} has no table that begins with {first!r}'
        return [[cell.strip() for cell in row.strip('|').split(' | ')] for row in table[1].splitlines()]


def pages() -> list[Page]:
    """Of the site, and those of the repository's top level."""
    return [Page(path) for path in (*sorted(DOCS.glob('*.md')), ROOT / 'README.md', ROOT / 'CONTRIBUTING.md')]


def page(name: str) -> Page:
    return Page(DOCS / f'{name}.md')


def site_pages(site: Path) -> list[Path]:
    return [path for path in sorted(site.glob('*.html')) if path.name != '404.html']
