"""`gpassk completion` in real shells: what a Tab offers."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpassk_opencompass.cli import COMMANDS

pytestmark = pytest.mark.slow

BASH = """
eval "$(gpassk completion bash)"
[[ "$(complete -p gpassk)" == *"_python_argcomplete gpassk" ]] || exit 9
COMP_LINE="$1" COMP_POINT=${#1} COMP_TYPE=9 COMP_WORDS=($1)
[[ "$1" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_python_argcomplete gpassk
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""A Tab behind $1, as readline calls the function that `complete` names."""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One in which `gpassk` is this checkout's."""
    program = tmp_path / 'bin' / 'gpassk'
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m gpassk_opencompass.cli "$@"\n')
    program.chmod(0o755)
    path = f'{program.parent}{os.pathsep}{os.environ["PATH"]}'
    return {**os.environ, 'PATH': path, 'HOME': str(tmp_path), 'PWD': str(tmp_path)}


def offered(line: str, environment: dict[str, str], shell: str = 'bash') -> list[str]:
    """What a Tab behind a line offers."""
    if shell == 'bash':
        command = ['bash', '--norc', '-c', BASH, 'bash', line]
    else:
        command = [shell, '-c', f"gpassk completion {shell} | source; complete -C '{line}'"]
    done = subprocess.run(
        command, env=environment, cwd=environment['HOME'], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, '')
    return [one.partition('\t')[0].strip() for one in done.stdout.splitlines()]


@pytest.fixture(params=['bash', 'fish'])
def shell(request: pytest.FixtureRequest) -> str:
    """A shell that is installed here."""
    if not shutil.which(request.param):
        pytest.skip(f'{request.param} is not installed')
    return str(request.param)


@pytest.mark.parametrize(
    ('line', 'wanted'),
    [
        ('gpassk rep', {'report'}),
        ('gpassk compare --ag', {'--against'}),
        ('gpassk report --only ', {'tables', 'figures', 'page'}),
    ],
)
def test_a_tab_offers_commands_options_and_values(
    line: str, wanted: set[str], shell: str, environment: dict[str, str]
) -> None:
    """Also of the subcommands of subcommands, whose modules nothing else loads."""
    assert set(offered(line, environment, shell)) == wanted


def test_all_commands_are_offered(shell: str, environment: dict[str, str]) -> None:
    """Behind the program's name."""
    assert set(COMMANDS) <= set(offered('gpassk ', environment, shell))


def test_files_are_offered_where_a_path_is_wanted(shell: str, environment: dict[str, str]) -> None:
    """As the shell itself does."""
    (Path(environment['HOME']) / 'outputs-of-mine').mkdir()
    assert offered('gpassk report outp', environment, shell) == ['outputs-of-mine/']


@pytest.mark.skipif(not shutil.which('zsh'), reason='zsh is not installed')
def test_a_zsh_completes_an_option(environment: dict[str, str]) -> None:
    """In a terminal: the word is whole after the Tab."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        ['zsh', '-f', '-i'],
        env={**environment, 'TERM': 'dumb'},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as zsh:
        os.write(
            ours, b'autoload -U compinit; compinit -u -D; eval "$(gpassk completion zsh)"; echo rea""dy\n'
        )
        shown_until('ready\r\n', ours)
        os.write(ours, b'gpassk compare --ag\t')
        shown_until('--against', ours)
        zsh.kill()
    os.close(theirs)
    os.close(ours)


def shown_until(text: str, terminal: int) -> None:
    """Read what a terminal shows until there is a text in it."""
    shown, end = '', time.monotonic() + 30
    while text not in shown:
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 1 << 16).decode(errors='replace')
