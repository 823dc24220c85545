"""The `gpassk` command itself: cheap to start, quiet when it is stopped."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from formats import complaints
from judge_server import Asked, Hang, JudgeServer
from result_files import write_three

import gpassk_opencompass
from gpassk_opencompass import InputError
from gpassk_opencompass.cli import COMMANDS, main, read_options
from gpassk_opencompass.files import save

# Whoever starts the tests in the background of a shell has them ignore Ctrl-C, and all their children too.
GPASSK = [
    sys.executable,
    '-c',
    'import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); '
    'from gpassk_opencompass.cli import main; sys.exit(main())',
]
ROOT = Path(gpassk_opencompass.__file__).parent.parent


def start(*arguments: str, **settings: Any) -> subprocess.Popen[str]:
    pipes = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **settings}
    return subprocess.Popen([*GPASSK, *arguments], text=True, cwd=ROOT, **pipes)


def test_help_lists_every_command_and_loads_none():
    """Neither the subcommands' modules nor anything that takes long to import."""
    code = 'import sys; from gpassk_opencompass.cli import main; main(["--help"]); print(*sys.modules)'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert all(command in done.stdout for command in COMMANDS)
    loaded = done.stdout.splitlines()[-1].split()
    own = sorted(name.partition('.')[2] for name in loaded if name.startswith('gpassk_opencompass'))
    assert own == ['', 'cli', 'errors', 'text']
    foreign = {'opencompass', 'torch', 'numpy', 'scipy', 'pandas', 'aiohttp', 'asyncio', 'tabulate', 'loguru'}
    assert not foreign & set(loaded)


@pytest.mark.parametrize(
    ('arguments', 'name', 'said'),
    [
        ('report --onyl page .', 'gpassk report', 'unrecognized arguments: --onyl'),
        ('rport', 'gpassk', "there is no command 'rport': did you mean report?"),
        ('run o --max-num-workers 8', 'gpassk run', 'gpassk run … -- --max-num-workers 8'),
        ('score x --k 4,8', 'gpassk score', "--k: '4,8' is no whole number; several have blanks between"),
    ],
)
def test_a_slip_is_told_in_one_line(arguments, name, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f'{name}: error: ')
    assert error.endswith(f' (see {name} --help)\n')
    assert error.count('\n') == 1
    assert said in error


@pytest.mark.parametrize(
    ('command', 'option', 'name', 'values'),
    [
        ('judge ping', '--url', 'url', ['http://a', 'http://b']),
        ('score x', '--k', 'k', [2, 4]),
        ('score x', '--field', 'field', [('a', 'b'), ('c', 'd')]),
    ],
)
def test_an_option_given_twice_has_both_values(command, option, name, values):
    texts = ['='.join(value) if isinstance(value, tuple) else str(value) for value in values]
    words = command.split()
    for given in ([option, *texts], [option, texts[0], option, texts[1]]):
        assert read_options(words[0], [*words[1:], *given])[name] == values


@pytest.mark.parametrize('command', COMMANDS)
def test_the_help_of_a_command_is_one_screen(command, capsys, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')
    with pytest.raises(SystemExit) as end:
        main([command, '--help'])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f'usage: gpassk {command}')
    lines = shown.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert len(re.findall(r'^  (?:-\w, )?--(?!help)', shown, re.MULTILINE)) <= 12
    assert shown.partition('examples:')[2].count('  gpassk ') >= 3


PLAN = ('plan', '--half-width', '2')


@pytest.mark.parametrize('buffered', [True, False])
def test_a_full_disk_behind_standard_output_is_one_line(buffered):
    environment = {**os.environ, 'PYTHONUNBUFFERED': '' if buffered else '1'}
    with open('/dev/full', 'w') as full:
        process = start(*PLAN, stdout=full, env=environment)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1
    assert said == 'gpassk plan: cannot write all of the output: No space left on device\n'


@pytest.mark.parametrize(
    'command',
    [
        *('check', 'check . --configs', f'compare {ROOT}/tests/recorded/lighteval', 'judge agreement'),
        *('judge audit --labels l', 'plan --half-width 2', 'report', 'run', 'score'),
    ],
)
def test_a_path_that_the_system_refuses_is_one_line(command, capsys):
    """Here by too long a name; a folder of somebody else is refused in the same places, but not to root."""
    words = command.split()
    assert main([*words, 300 * 'a']) == 2
    said = capsys.readouterr().err
    assert said.startswith(f'gpassk {words[0]}: ')
    assert 300 * 'a' + ': File name too long' in said
    assert said.count('\n') == 1


def test_what_programs_read_is_utf8_whatever_the_terminal_takes(tmp_path, monkeypatch):
    """Escapes of Python are no JSON, and in CSV they would be other characters."""
    row = {'reference': '7', 'answer': '7', 'label': True, 'source': '½ 二 𝔽'}
    (tmp_path / 'pairs.jsonl').write_text(json.dumps(row))
    output = TextIOWrapper(buffer := BytesIO(), encoding='ascii')
    monkeypatch.setattr(sys, 'stdout', output)
    assert main(['judge', 'agreement', str(tmp_path / 'pairs.jsonl'), '--judge', 'rule', '--json']) == 0
    output.flush()
    assert '½ 二 𝔽' in buffer.getvalue().decode('utf-8')


@pytest.mark.parametrize(
    ('command', 'name'),
    [
        ('report x --output-dir=~/o.json', 'output_dir'),
        ('score x --output=~/o.json', 'output'),
        ('run x --work-dir=~/o.json', 'work_dir'),
    ],
)
def test_what_is_written_goes_to_the_home_directory_where_that_is_meant(command, name, monkeypatch, capsys):
    """Shells leave `~` alone behind `=`; and an empty variable is not the folder that one is in."""
    monkeypatch.setenv('HOME', '/home/me')
    words = command.split()
    assert read_options(words[0], words[1:])[name] == Path('/home/me/o.json')
    with pytest.raises(SystemExit):
        read_options(words[0], [*words[1:-1], words[-1].removesuffix('~/o.json')])
    assert "'': expected a path; is a variable empty?" in capsys.readouterr().err


@pytest.mark.parametrize('buffered', [True, False])
def test_work_is_done_to_its_end_whoever_reads_of_it(tmp_path, buffered):
    """`gpassk report … | head -1` writes the report, and of what failed the exit code is not 0."""
    write_three(tmp_path / 'outputs')
    environment = {**os.environ, 'PYTHONUNBUFFERED': '' if buffered else '1'}
    report = ['report', str(tmp_path / 'outputs'), '--only', 'tables', '-o', str(tmp_path / 'report')]
    for arguments, code in ((report, 0), (['check', str(tmp_path / 'none')], 2)):
        reading, writing = os.pipe()
        os.close(reading)
        process = start(*arguments, stdout=writing, stderr=writing, env=environment)
        os.close(writing)
        assert process.wait(timeout=300) == code
    assert (tmp_path / 'report' / 'leaderboard.md').is_file()


def test_a_file_behind_the_parts_of_a_report_is_a_file(tmp_path):
    options = read_options('report', ['--only', 'tables', 'page', str(tmp_path)])
    assert (options['only'], options['paths']) == (['tables', 'page'], [tmp_path])


def test_ctrl_c_that_a_library_made_another_error_of_ends_it_so_too():
    """Compiled code may raise what it likes where a callback of its was stopped."""
    code = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from gpassk_opencompass.cli import init, main

def run(**options):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError('cannot cast') from None

init.run, sys.argv = run, ['gpassk', 'init']
sys.exit(main())
"""
    done = subprocess.run([sys.executable, '-c', code], check=False, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (130, 'gpassk init: stopped\n')


def test_ctrl_c_ends_it_with_one_line():
    process: list[subprocess.Popen[str]] = []

    def interrupt(asked: Asked) -> Hang:
        if asked.number == 0:
            process[0].send_signal(signal.SIGINT)
        return Hang()

    with JudgeServer(interrupt, fit=False) as server:
        process.append(start('judge', 'ping', '--model', 'm', '--url', server.url))
        printed, said = process[0].communicate(timeout=300)
    assert (process[0].returncode, printed, said) == (130, '', 'gpassk judge: stopped\n')


def test_a_link_stays_a_link(tmp_path):
    link = tmp_path / 'link.csv'
    link.symlink_to(tmp_path / 'table.csv')
    save(link, 'new')
    assert link.is_symlink()
    assert (tmp_path / 'table.csv').read_text() == 'new'


def test_a_file_that_cannot_be_written_to_its_end_leaves_the_old_one(tmp_path):
    """A full disk, here a limit on the size of files, costs nothing that was there."""
    file = tmp_path / 'table.csv'
    file.write_text('old')
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(InputError, match=r'cannot write .*table\.csv: File too large'):
            save(file, 'new' * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == ['table.csv']
    assert file.read_text() == 'old'


def test_tables_as_json_are_all_of_standard_output(tmp_path, capsys):
    """Also of a command that fails at its second file; of one that fails at once there are none."""
    good, bad = tmp_path / 'good.jsonl', tmp_path / 'bad.jsonl'
    good.write_text('{"n": 4, "c": 2}\n')
    bad.write_text('{"n": 1, "c": 1}\n')
    for words, code in (([str(good)], 0), ([str(good), str(bad)], 2)):
        assert main(['score', *words, '--k', '2', '--json']) == code
        content = json.loads(capsys.readouterr().out)
        assert complaints('tables', content) == []
        [table] = content['tables']
        assert all(list(row) == table['columns'] for row in table['rows'])
    assert main(['score', str(bad), '--k', '2', '--json']) == 2
    assert capsys.readouterr().out == ''
