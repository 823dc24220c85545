"""What is written for browsers, spreadsheets, TeX and viewers: texts of others stay texts, never code."""

from __future__ import annotations

import csv
import json
import re
from functools import partial
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

from damaged_records import good_record
from drawn import answers, any_text
from fuzzing import fuzz
from hypothesis import strategies as st
from tabulate import LATEX_ESCAPE_RULES

from gpassk_opencompass.record import read, result_of, write
from gpassk_opencompass.report.frame import Board, boards, frame
from gpassk_opencompass.report.page import write_page
from gpassk_opencompass.report.tables import sections, write_tables
from gpassk_opencompass.samples import Samples
from gpassk_opencompass.text import Table, csv_text, latex, markdown, one_line, read_csv_cell
from gpassk_opencompass.text import escape as escaped

NAMES = [
    'model', 'dataset', 'judge', 'group', 'uid', 'problem', 'signature', 'warning', 'question', 'reference',
    'answer', 'reason', 'response',
]  # fmt: skip
texts = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, any_text | answers))


def board_with(folder: Path, texts: dict[str, str]) -> list[Board]:
    """The boards of one result whose texts are these; none where they make it damaged."""
    record, places = good_record(), range(24 * 4)
    block, counts = record['gpassk'], record['gpassk']['counts']
    names = {'model': texts.get('model', 'm'), 'dataset': texts.get('dataset', 'MATH500-L5')}
    block['run'] = {**names, 'host': 'file'}
    block['judge'] = {'name': texts.get('judge', 'rule'), 'model': texts.get('judge', 'Q')}
    block['signature'] = texts.get('signature', 's')
    block['health']['warnings'] = [texts.get('warning', 'w')]
    block['health']['unjudged_reasons'] = {texts.get('reason', 'r'): 1}
    for name in ('group', 'uid', 'problem'):
        counts[name] = [f'{texts.get(name, name)}{row if name == "uid" else ""}' for row in range(24)]
    same = {'question': 'question', 'reference': 'reference', 'response': 'response'}
    same |= {'why': 'reason', 'judged_by': 'judge'}
    samples = {
        **{name: [counts[name][row // 4] for row in places] for name in ('group', 'uid', 'problem')},
        'replica': [row % 4 for row in places],
        'verdict': ['correct' if row % 4 < counts['c'][row // 4] else 'incorrect' for row in places],
        'answer': [texts.get('answer', '2') if row % 4 == 1 else '1' for row in places],
        **{column: [texts.get(name, 'x')] * 96 for column, name in same.items()},
    }
    path = folder / 'drawn.gpassk.json'
    try:
        write(path, result_of(path, record).with_samples(Samples(samples)))
        return boards([read(path)])[0]
    except ValueError:
        assert texts, 'without odd texts the result is whole'
        return []


class Elements(HTMLParser):
    """Tags, attributes and declarations of a page, without its texts, and what its scripts hold."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[Any] = []
        self.scripts: list[str] = []
        for kind in ('starttag', 'endtag', 'comment', 'decl', 'pi'):
            setattr(self, f'handle_{kind}', partial(self._note, kind))
        self.unknown_decl = partial(self._note, 'unknown')  # type: ignore[method-assign]
        self.feed(page)
        self.close()

    def _note(self, *what: Any) -> None:
        self.seen.append(what)
        self.scripts += [''] if what[:2] == ('starttag', 'script') else []

    def handle_data(self, data: str) -> None:
        if self.seen[-1][:2] == ('starttag', 'script'):
            self.scripts[-1] += data


@fuzz(texts, share=0.5)
def test_no_text_becomes_markup_or_script(folder, texts):
    """The page has the elements of a page of plain texts; its data is JSON with the texts as they were."""
    plain, path = (folder / name / 'index.html' for name in ('plain', 'drawn'))
    first = board_with(folder, {})
    write_page(first, frame(first), plain.parent)
    if not (found := board_with(folder, texts)):
        return
    write_page(found, frame(found), path.parent)
    written = path.read_bytes()
    expected, shown = Elements(plain.read_text(encoding='utf-8')), Elements(written.decode())
    assert shown.seen == expected.seen
    assert shown.scripts[1:] == expected.scripts[1:]
    assert shown.scripts[0].isascii()
    assert not set(shown.scripts[0]) & set('<>&\x00')
    [board] = json.loads(shown.scripts[0])['boards']
    assert board['entries'][0]['name'] == found[0].entries[0].name
    assert board['uids'] == found[0].entries[0].result.counts.uid
    assert b'\x00' not in written


cells = (
    any_text
    | answers
    | st.integers()
    | st.none()
    | st.sampled_from(['=1+1', '-5', '+a', '@x', '\t=1', '\n=1', '＝1', "'=", '1'])
)


@fuzz(st.lists(st.tuples(cells, cells), min_size=1, max_size=4), share=3)
def test_no_cell_is_a_formula_or_two_cells(rows):
    """Spreadsheets run what begins like a formula; read back, each text is what can be seen of it."""
    text = csv_text([['a', '=b'], *map(list, rows)])
    read = list(csv.reader(StringIO(text, newline='')))  # as of a file
    assert len(read) == 1 + len(rows)
    for row, given in zip(read[1:], rows, strict=True):
        assert len(row) == len(given)
        for cell, value in zip(row, given, strict=True):
            if isinstance(value, str):
                assert cell[:1] not in {*'=+-@\t\r\n', *'＝＋－＠'}
                assert read_csv_cell(cell) == escaped(value, keep='\n\t')


ESCAPED = {escape: character for character, escape in LATEX_ESCAPE_RULES.items()} | {r'\textbar{}': '|'}
_TOKEN = re.compile(
    '|'.join(re.escape(escape) for escape in sorted(ESCAPED, key=len, reverse=True)) + r'|\{\}(?=[\[*-])|.',
    re.DOTALL,
)


def typeset(cell: str) -> str:
    """What TeX shows for a cell; fails for a character that means something to TeX and is not escaped."""
    shown = ''
    assert '--' not in cell  # a dash
    for token in _TOKEN.findall(cell):
        if token != '{}':
            assert token in ESCAPED or token not in '\\{}$&#^_%~|\n', token
            shown += ESCAPED.get(token, token)
    return shown


@fuzz(st.lists(any_text | answers, min_size=1, max_size=3), any_text | answers, share=3)
def test_no_cell_of_a_latex_table_is_a_command(names, title):
    table = Table(title, [title, 'x'], [[name, '1'] for name in names], [title])
    lines = latex(table).split('\n')
    assert lines[0].startswith('% ')
    assert lines[1].startswith(r'\noindent\begin{tabular}')
    body = lines[lines.index(r'\midrule') + 1 : lines.index(r'\bottomrule')]
    assert len(body) == len(names)
    for line, name in zip(body, names, strict=True):
        cell, _, rest = line.rpartition(' & ')
        assert rest.split() == ['1', r'\\']
        assert typeset(cell).strip() == one_line(name)
    [note] = lines[lines.index(r'\end{tabular}') + 1 : -1]
    note = note.removeprefix(r'\\{\footnotesize ').removesuffix('}')
    assert typeset(note).rstrip() == one_line(title).rstrip()


@fuzz(st.lists(any_text | answers, min_size=1, max_size=3), any_text, share=3)
def test_no_cell_of_a_markdown_table_is_html_or_two_cells(names, note):
    text = markdown(Table('t', ['model', 'x'], [[name, '1'] for name in names], [note]))
    assert '<' not in text.replace('&lt;', '')
    text.encode()
    rows = text.split('\n')[2 : 2 + len(names)]
    for row in rows:
        assert len(re.findall(r'(?<!\\)\|', row)) == 3


@fuzz(texts)
def test_all_tables_can_be_written_and_read_back(folder, texts):
    """Inside their folder, in UTF-8, and the scores with the names, what cannot be seen of them escaped."""
    found = board_with(folder, texts)
    out = folder / 'tables_of_one'
    data = frame(found)
    write_tables(data, sections(found, data), out)
    for path in out.rglob('*.*'):
        assert path.resolve().is_relative_to(out)
        path.read_text(encoding='utf-8')
        assert path.name.isprintable()
    if found:
        with (out / 'scores.csv').open(encoding='utf-8', newline='') as file:
            names = {read_csv_cell(row['run']) for row in csv.DictReader(file)}
        assert names == {escaped(found[0].entries[0].name, keep='\n\t')}
