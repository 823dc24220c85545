"""Tables of commands as JSON: one shape, all digits, and nothing else on standard output."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from doc_pages import page
from formats import complaints

from gpassk_opencompass.cli import COMMANDS, main, parser_for


def tables_of(capsys: pytest.CaptureFixture[str], *line: object, code: int = 0) -> list[dict[str, Any]]:
    """What a command prints as JSON, which is all of its standard output."""
    assert main([*map(str, line), '--json']) == code
    content = json.loads(capsys.readouterr().out)
    assert complaints('tables', content) == []
    assert content['command'] == line[0]
    tables: list[dict[str, Any]] = content['tables']
    assert all(list(row) == table['columns'] for table in tables for row in table['rows'])
    return tables


def test_scores_of_files_have_intervals_and_rerun_errors(tmp_path, capsys):
    """A title says of which run a table is."""
    rows = [{'uid': number, 'n': 16, 'c': number % 17, 'language': 'en'} for number in range(68)]
    file = tmp_path / 'counts.jsonl'
    file.write_text(''.join(json.dumps(row) + '\n' for row in rows))
    [table, *_] = tables_of(capsys, 'score', file, '--k', 4)
    assert table['title'].endswith(': all questions')
    [accuracy] = [row for row in table['rows'] if row['metric'] == 'accuracy']
    assert accuracy['score'] == 50.0
    assert accuracy['low'] < 50 < accuracy['high']
    assert accuracy['rerun'] > 0


def test_what_was_made_before_an_error_is_printed(tmp_path, capsys):
    """Of a command that fails at the second file; nothing of one that fails at once."""
    good, bad = tmp_path / 'good.jsonl', tmp_path / 'bad.jsonl'
    good.write_text('{"n": 4, "c": 2}\n')
    bad.write_text('{"n": 1, "c": 1}\n')
    assert len(tables_of(capsys, 'score', good, bad, '--k', 2, code=2)) == 1
    assert main(['score', str(bad), '--k', '2', '--json']) == 2
    assert capsys.readouterr().out == ''


def test_every_command_with_a_table_has_both_options_and_is_on_the_page():
    """As `check` and `score`."""
    with_tables = {
        command for command in COMMANDS if {'--json'} <= set(re.findall(r'--[a-z]+', usage_of(command)))
    }
    told = page('results-format').text.partition('## Tables of commands')[2].partition('```')[0]
    named = {name.partition(' ')[0] for name in re.findall('`([a-z -]+)`', told)} & set(COMMANDS)
    assert with_tables == named
    sources = (Path(main.__code__.co_filename).parent).glob('*.py')
    showing = {file.stem for file in sources if re.search(r'^ +show\(', file.read_text(), re.MULTILINE)}
    assert showing - with_tables == {'expand', 'run'}, 'of --dry-run'


def usage_of(command: str) -> str:
    parser = parser_for(command)
    parts = [one.choices.values() for one in parser._actions if one.dest == 'action']
    return ''.join(one.format_help() for one in (parser, *chain.from_iterable(parts)))
