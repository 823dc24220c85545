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
_LINK = re.compile(r'!?\[[^\]]*\]\(([^)\s]+)\)')
_CODE = re.compile(r'`([^`\n]+)`')
_HEADING = re.compile(r'^#{1,6} (.+)$', re.MULTILINE)
_CAPTURED = re.compile(r'^\w+=\$\((.*)\)$')
_ASSIGNED = re.compile(r'[A-Za-z_]+=.*')


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
        words = [shlex.split(_CAPTURED.sub(r'\1', line), comments=True) for line in lines]
        return [command for line in words for command in _commands(line)]


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
        """Without the code blocks."""
        return _BLOCK.sub('', self.text)

    def blocks(self, language: str | None = None) -> list[Block]:
        """The code blocks, those of one language or all."""
        found = [
            Block(
                str(self), self.text[: match.start()].count('\n') + 1, match[2], _dedented(match[3], match[1])
            )
            for match in _BLOCK.finditer(self.text)
        ]
        return [block for block in found if language in (None, block.language)]

    @cached_property
    def links(self) -> list[str]:
        """Targets of links and pictures."""
        return _LINK.findall(_CODE.sub('', self.prose))

    @cached_property
    def names(self) -> list[str]:
        """What stands between backticks."""
        return [' '.join(name.split()) for name in re.findall(r'`([^`]+)`', self.prose)]

    @cached_property
    def headings(self) -> list[str]:
        return _HEADING.findall(self.prose)

    def section(self, title: str) -> str:
        """From a heading of the second level to the next."""
        return self.text.partition(f'\n## {title}\n')[2].partition('\n## ')[0]

    def rows(self, first: str) -> list[list[str]]:
        """The cells of the table whose first heading is `first`, without its head."""
        table = re.search(rf'^\| +{re.escape(first)} +\|.*\n\|[-| :]+\|\n((?:\|.*\n)+)', self.text, re.M)
        assert table, f'{self} has no table that begins with {first!r}'
        return [[cell.strip() for cell in row.strip('|').split(' | ')] for row in table[1].splitlines()]


def pages() -> list[Page]:
    """Of the site, and those of the repository's top level."""
    top = (ROOT / name for name in ('README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'))
    return [Page(path) for path in (*sorted(DOCS.glob('*.md')), *top)]


def page(name: str) -> Page:
    """A page in docs/."""
    return Page(DOCS / f'{name}.md')


def site_pages(site: Path) -> list[Path]:
    """Of the site that `make docs` builds."""
    return [path for path in sorted(site.glob('*.html')) if path.name != '404.html']


def _dedented(text: str, indent: str) -> str:
    return re.sub(rf'^{indent}', '', text, flags=re.MULTILINE)


def _commands(words: list[str]) -> Iterator[list[str]]:
    """`A=b until x; do y; done` → x; pipes and redirections end a command."""
    if words and words[0] == 'srun':
        words = words[words.index('gpassk') :]
    while words and (_ASSIGNED.fullmatch(words[0]) or words[0] in ('until', 'while', 'export')):
        words = words[1:]
    if words:
        ends = [
            place for place, word in enumerate(words) if word in ('|', '&&', '<', '>') or word[-1:] == ';'
        ]
        yield words[: ends[0]] if ends else words
