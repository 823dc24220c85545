"""Names of models and benchmarks come from files of somebody else: in all files they are mere text."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown import markdown
from result_files import rename

from gpassk_opencompass.cli import main
from gpassk_opencompass.text import Table, markdown_line
from gpassk_opencompass.text import escape as escaped
from gpassk_opencompass.text import markdown as markdown_of

GOOD = [
    'Qwen2.5-7B_t1.0_rs42_l8192', 'a|b', 'org/model', 'a*b', '__init__', 'm [v2]', 'a_b*c_d*', '1e5',
    'R&D <3', 'C#', '_t1.0_l8192',
]  # fmt: skip

LIVE = [
    '![x](http://e.org/x.png)', '[a](javascript:alert(1))', '[a]: javascript:alert(1)', '[a][a]', '[a][]',
    '<img src=x onerror=alert(1)>', '<javascript:alert(1)>', 'http://e.org', 'www.e.org', '`code`', '~~~',
    '```', '[![x](u)](javascript:0)', '\\[a](u)', '\\\\[a](u)', '![x]\\(u)', '# h', '- x', '+ x', '1. x',
    '> x', '- - x', '123. x', '---', '&lt;b&gt;', '&#60;b&#62;', '**bold**', '_it_', 'a\\|b', 'a\\',
    '\\*a\\*', '$x$',
]  # fmt: skip


class Rendered(HTMLParser):
    """The tags of a page, and what stands in its cells and items."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(markdown(text, extensions=['tables']))

    def handle_starttag(self, tag: str, attrs: Sequence[object]) -> None:
        self.tags.add(tag)
        if tag in {'td', 'th', 'li', 'h2'}:
            self.texts.append('')

    def handle_data(self, data: str) -> None:
        if self.texts:
            self.texts[-1] += data


def test_a_name_is_shown_as_it_is_and_does_nothing():
    """In a table, a list and a heading; no link, no image, no tag but those of the table."""
    for name in (*GOOD, *LIVE):
        table = markdown_of(Table('t', ['model'], [[name], ['other']]))
        shown = Rendered(f'## {markdown_line(name)}\n\n{table}\n\n- {markdown_line(name)}\n- x\n')
        assert shown.tags == {'h2', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'ul', 'li'}, name
        heading, _, cell, _, item, _ = [text.strip() for text in shown.texts]
        assert [heading, cell, item] == [name] * 3
        assert '://' not in table
    signature = 'G-Pass@k|n:16|k:4_8_16|judge:rule'  # is copied from the file
    assert markdown_line(signature) == signature


@pytest.fixture(scope='module')
def report(tmp_path_factory):
    """A report of results that call themselves so, by the real commands."""
    folder = tmp_path_factory.mktemp('names')
    counts = folder / 'counts.jsonl'
    rows = [{'uid': f'q{place}', 'n': 4, 'c': place % 5, 'split': SPLIT} for place in range(24)]
    counts.write_text(''.join(json.dumps(row) + '\n' for row in rows))
    files = []
    for number, name in enumerate([*LIVE, UNSEEN]):
        files.append(str(folder / f'{number}.gpassk.json'))
        assert main(['score', str(counts), '--k', '2', '4', '-o', files[-1]]) == 0
        rename(Path(files[-1]), model=name, dataset=LIVE[0])
    assert main(['report', *files, '-o', str(folder / 'report'), '--only', 'tables']) == 0
    return folder / 'report'


UNSEEN = 'm\x1b[2J\x07\x9b\u202e\ud800'
SPLIT = '[s](http://e.org)\x1b'


def test_a_leaderboard_has_no_link_and_no_image_of_a_name(report):
    """Model, benchmark and contest; what Markdown makes of the whole file is headings, tables and lists."""
    text = (report / 'leaderboard.md').read_text(encoding='utf-8')
    shown = Rendered(text)
    assert not shown.tags & {'a', 'img', 'script', 'code', 'pre', 'em', 'strong'}
    cells = {cell.strip() for cell in shown.texts}
    assert cells >= {*LIVE, escaped(UNSEEN)}
    assert any('![x](http://e.org/x.png)' in cell for cell in cells)
    assert '://' not in text


def test_no_file_of_a_report_can_steer_a_terminal(report):
    """`cat` of any of them is harmless; the CSV has the escapes where the characters were."""
    for path in report.rglob('*'):
        if path.is_file():
            text = path.read_text(encoding='utf-8')
            assert text == escaped(text, keep='\n'), path
    with (report / 'scores.csv').open(encoding='utf-8', newline='') as file:
        rows = list(csv.DictReader(file))
    assert escaped(UNSEEN) in {row['run'] for row in rows}
