"""`gpassk view`: the page over HTTP, to who knows the address and nobody else."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import pytest
from fake_opencompass import write_configs
from shard_files import read_shards
from stored_results import with_columns
from stored_run import ABBR, Run, write_run

from gpassk_opencompass.cli import main
from gpassk_opencompass.cli.report_responses import reader
from gpassk_opencompass.report.leaderboard import boards
from gpassk_opencompass.results.read import collect
from gpassk_opencompass.runs.lock import WorkDirLock

if TYPE_CHECKING:
    from browser import Page

pytest.importorskip('jinja2', reason='the extra "report" is not installed')


class Answer(NamedTuple):
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def policy(self) -> dict[str, set[str]]:
        """The directives of the policy with their values."""
        told = self.headers['Content-Security-Policy'].split('; ')
        return {name: set(values.split()) for name, _, values in (one.partition(' ') for one in told)}


class Viewed:
    """A `gpassk view` that runs."""

    def __init__(self, process: subprocess.Popen[str], address: str, hint: str) -> None:
        self.process, self.address, self.hint = process, address, hint
        found = re.fullmatch(r'http://127\.0\.0\.1:(\d+)/([\w-]{32})/', address)
        assert found, address
        self.port, self.token = int(found[1]), found[2]

    def ask(self, path: str, method: str = 'GET', host: str | None = None, **headers: str) -> Answer:
        """Ask for a path below the token, or, with a slash before it, for any."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
        try:
            connection.putrequest(
                method, path if path.startswith('/') else f'/{self.token}/{path}', skip_host=True
            )
            for name, value in {'Host': host or f'127.0.0.1:{self.port}', **headers}.items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders()
            reply = connection.getresponse()
            return Answer(reply.status, dict(reply.getheaders()), reply.read())
        finally:
            connection.close()

    def status(self) -> Any:
        return json.loads(self.ask('status.json').body)


@contextmanager
def viewing(*arguments: object) -> Iterator[Viewed]:
    """`gpassk view`, ended with SIGINT at the end."""
    command = [sys.executable, '-m', 'gpassk_opencompass.cli', 'view', *map(str, arguments), '--no-browser']
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise AssertionError(process.stderr.read())
            yield Viewed(process, line.strip(), process.stdout.readline())
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=30)
            finally:
                process.kill()


def content_of(found: Viewed) -> Any:
    """What Python gave the page."""
    text = found.ask('').body.decode()
    start = text.index('>', text.index('id="content"')) + 1
    return json.loads(text[start : text.index('</script>', start)])


def entries_of(found: Viewed) -> list[Any]:
    return [entry for board in content_of(found)['boards'] for entry in board['entries']]


def shard_names(outputs: Path) -> list[str]:
    """The addresses of the shards of the one entry of results."""
    [board] = boards(collect([outputs]).results)[0]
    from gpassk_opencompass.report.page.shards import find_shards

    folder = find_shards([board], reader()).folder_of(board.entries[0])
    return [f'responses/{folder}/{number}.js' for number in range(board.questions)]


@pytest.fixture(scope='module')
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Viewed, Run]]:
    run = write_run(tmp_path_factory.mktemp('viewed') / 'outputs')
    with viewing(run.work_dir) as found:
        yield found, run


def test_the_page_is_that_of_the_results(viewed: tuple[Viewed, Run]) -> None:
    """With its policy as a header, which lets it ask where it came from, and nowhere else."""
    found, _ = viewed
    answer = found.ask('')
    assert answer.status == 200
    assert answer.headers['Content-Type'] == 'text/html; charset=utf-8'
    text = answer.body.decode()
    assert 'demo_t1.0_rs42_l40' in text
    assert 'http-equiv' not in text
    assert answer.policy['default-src'] == {"'none'"}
    assert answer.policy['connect-src'] == {"'self'"}
    assert answer.policy['frame-ancestors'] == answer.policy['base-uri'] == {"'none'"}
    scripts = answer.policy['script-src']
    assert "'self'" in scripts
    assert all(one == "'self'" or one.startswith("'sha256-") for one in scripts)


def test_shards_are_those_of_a_report(viewed: tuple[Viewed, Run], tmp_path: Path) -> None:
    """The same content under the same names, although nothing is written."""
    found, run = viewed
    assert found.ask('').status == 200
    report = tmp_path / 'report'
    assert main(['report', str(run.work_dir), '-o', str(report), '--only', 'page', '--responses']) == 0
    served = tmp_path / 'served'
    for name in shard_names(run.work_dir):
        answer = found.ask(name)
        assert answer.headers['Content-Type'] == 'text/javascript; charset=utf-8'
        path = served / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(answer.body)
    assert read_shards(served) == read_shards(report / 'responses')
    assert not list(run.work_dir.rglob('*.js'))


@pytest.mark.parametrize(
    ('path', 'status'),
    [
        ('/', 404),
        ('/x/', 404),
        ('/status.json', 404),
        ('/favicon.ico', 404),
        ('/{other}/', 404),
        ('/{token}x/', 404),
        ('//{token}/', 404),
        ('/x/../{token}/', 404),
        ('/{token}', 308),
        ('/{token}%2f', 200),
    ],
)
def test_without_the_token_nothing_is_there(viewed: tuple[Viewed, Run], path: str, status: int) -> None:
    """Neither for a part of it; without its last slash one is sent to the whole address."""
    found, _ = viewed
    token = found.token
    assert found.ask(path.format(token=token, other=token.swapcase())).status == status
    assert found.ask(f'/{token[:-1]}/').status == 404


@pytest.mark.parametrize(
    ('host', 'status'),
    [
        ('127.0.0.1', 200),
        ('localhost:1', 200),
        ('LOCALHOST', 200),
        ('[::1]:80', 200),
        ('evil.example', 403),
        ('127.0.0.1.evil.example', 403),
        ('evil.example@127.0.0.1', 403),
        ('127.0.0.1@evil.example', 403),
        ('0.0.0.0', 403),
        ('[', 403),
        (' ', 403),
    ],
)
def test_another_host_is_refused(viewed: tuple[Viewed, Run], host: str, status: int) -> None:
    """A name that somebody's DNS leads here; behind `ssh -L` the port is any."""
    found, _ = viewed
    for path in ('', 'status.json', 'responses/0123456789ab/0.js')[: 3 if status == 403 else 2]:
        answer = found.ask(path, host=host)
        assert answer.status == status
        assert status == 200 or b'demo' not in answer.body


@pytest.mark.parametrize('method', ['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'])
def test_there_is_only_get(viewed: tuple[Viewed, Run], method: str) -> None:
    """And no other origin is let in."""
    found, _ = viewed
    answer = found.ask('', method, Origin='http://evil.example')
    assert answer.status == 405
    assert answer.headers['Allow'] == 'GET'
    assert not [name for name in answer.headers if name.lower().startswith('access-control')]


@pytest.mark.parametrize('path', ['', 'status.json', 'no', '/no'])
def test_each_answer_says_what_a_browser_may_do_with_it(viewed: tuple[Viewed, Run], path: str) -> None:
    """Nothing is kept, guessed, or told to others."""
    found, _ = viewed
    answer = found.ask(path, Origin='http://evil.example')
    assert answer.headers['X-Content-Type-Options'] == 'nosniff'
    assert answer.headers['Referrer-Policy'] == 'no-referrer'
    assert answer.headers['Cache-Control'] == 'no-store'
    assert answer.headers['Cross-Origin-Resource-Policy'] == 'same-origin'
    assert "'none'" in answer.headers['Content-Security-Policy']
    assert not [name for name in answer.headers if name.lower().startswith('access-control')]


@pytest.mark.parametrize(
    'path',
    [
        'responses/{folder}/12.js',
        'responses/{folder}/-1.js',
        'responses/{folder}/00.js',
        'responses/{folder}/0.json',
        'responses/0123456789ab/0.js',
        'responses/{folder}/../{folder}/0.js',
        'index.html',
        '..%2f..%2fetc/passwd',
        '%00',
    ],
)
def test_nothing_else_is_there(viewed: tuple[Viewed, Run], path: str) -> None:
    """Neither a question beyond the last one, nor a file of the disk."""
    found, run = viewed
    assert found.ask('').status == 200
    folder = shard_names(run.work_dir)[0].split('/')[1]
    assert found.ask(path.format(folder=folder)).status == 404


def test_what_is_no_http_is_answered_without_a_word_on_the_terminal(tmp_path: Path) -> None:
    """Anybody on the machine may send it, or ask for https: the terminal is for what concerns its reader."""
    (tmp_path / 'outputs').mkdir()
    with viewing(tmp_path / 'outputs') as found:
        for sent in (
            b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
            b'GET / HTTP/1.1\r\n\r\n',
            b'GET * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
            f'GET /{found.token}/{"a" * 9000} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.encode(),
        ):
            with socket.create_connection(('127.0.0.1', found.port), timeout=30) as connection:
                connection.sendall(sent)
                assert b' 400 ' in connection.recv(100)
        found.process.send_signal(signal.SIGINT)
        assert found.process.stderr is not None
        assert 'Traceback' not in (said := found.process.stderr.read())
        assert found.token not in said


def test_new_results_make_a_new_revision(tmp_path: Path) -> None:
    """The page is that of the results when it is loaded; the shards of the other runs stay where they are."""
    first = write_run(tmp_path / 'outputs' / 'one')
    names = shard_names(tmp_path / 'outputs')
    with viewing(tmp_path / 'outputs') as found:
        assert len(entries_of(found)) == 1
        before = found.status()
        assert before == {'revision': before['revision'], 'line': '', 'done': True}
        assert found.status() == before
        second = write_run(tmp_path / 'more')
        target = tmp_path / 'outputs' / 'two'
        (second.result.parent).rename(second.result.parent.with_name('other_t1.0_l40'))
        shutil.move(second.work_dir, target)
        until(lambda: found.status()['revision'] != before['revision'])
        assert len(entries_of(found)) == 2
        assert found.ask(names[0]).status == 200
        first.predictions.unlink()
        assert found.ask(names[0]).status == 200  # it was read already
        assert found.process.poll() is None


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_many_may_ask_at_once(viewed: tuple[Viewed, Run]) -> None:
    """Each gets the shard that it asked for."""
    found, run = viewed
    found.ask('')
    names = shard_names(run.work_dir)
    asked = names * 8
    random.Random(3).shuffle(asked)
    with ThreadPoolExecutor(16) as workers:
        answers = list(workers.map(found.ask, asked))
    for name, answer in zip(asked, answers, strict=True):
        assert answer.body.startswith(f'gpasskShard("{name[len("responses/") : -len(".js")]}","'.encode())
    assert len({answer.body for answer in answers}) == len(names)


def test_a_folder_without_results_is_waited_for(tmp_path: Path) -> None:
    """A page that looks again says so; what comes is shown."""
    outputs = tmp_path / 'outputs'
    outputs.mkdir()
    with viewing(outputs) as found:
        answer = found.ask('')
        assert answer.status == 200
        assert b'There is no complete result yet.' in answer.body
        assert b'http-equiv="refresh"' in answer.body
        write_run(outputs / 'w')
        until(lambda: b'demo_t1.0_rs42_l40' in found.ask('').body)


def test_shards_of_predictions_that_are_gone_are_not_there(tmp_path: Path) -> None:
    """The page is; and a changed response is lost in its place."""
    run = write_run(tmp_path / 'outputs')
    [zero, first, *_] = shard_names(tmp_path / 'outputs')
    run.edit(lambda rows: rows['1'].update(prediction='another one'))
    [_, changed, *_] = shard_names(tmp_path / 'outputs')
    assert changed != first
    with viewing(tmp_path / 'outputs') as found:
        found.ask('')
        assert found.ask(zero).status == found.ask(first).status == 404
        path = tmp_path / changed
        path.parent.mkdir(parents=True)
        path.write_bytes(found.ask(changed).body)
        [shard] = read_shards(tmp_path / 'responses').values()
        assert 'the one that was judged' in shard['samples'][0]['lost']
        assert shard['samples'][1]['response'] == json.loads(run.predictions.read_text())['13']['prediction']
    run.predictions.unlink()
    with viewing(tmp_path / 'outputs') as found:
        assert b'demo_t1.0_rs42_l40' in found.ask('').body
        assert found.ask(changed).status == 404


def test_a_sweep_at_work_is_followed(sweep: Path) -> None:
    """As `gpassk watch` tells it, until it is over."""
    from test_watch import half_drawn

    write_configs(sweep, 'draw')
    half_drawn(sweep)
    with viewing(sweep / 'out') as found:
        with WorkDirLock(sweep / 'out' / 'draw'):
            until(lambda: bool(found.status()['line']))
            until(lambda: '16 of 32 samples' in found.status()['line'])
            told = found.status()
            assert told['line'].startswith('1 run: 1 at work')
            assert told['done'] is False
            assert b'1 at work' in found.ask('').body
        until(lambda: not found.status()['line'])


def test_a_report_is_served_as_it_is(tmp_path: Path) -> None:
    """All of its files, none that is hidden, and nothing outside of it."""
    write_run(tmp_path / 'outputs')
    report = tmp_path / 'report'
    assert (
        main(['report', str(tmp_path / 'outputs'), '-o', str(report), '--responses', '--only', 'page']) == 0
    )
    (report / '.hidden').write_text('x')
    (tmp_path / 'secret.txt').write_text('x')
    (report / 'link.txt').symlink_to(tmp_path / 'secret.txt')
    (report / 'evil.html').write_text('<script>alert(1)</script>')
    with viewing(report) as found:
        page = found.ask('').body.decode()
        meta = re.search(
            '<meta http-equiv="Content-Security-Policy"[^>]*>\n', (report / 'index.html').read_text()
        )
        assert meta
        assert page == (report / 'index.html').read_text().replace(meta[0], '')
        [folder] = (report / 'responses').iterdir()
        for path in folder.iterdir():
            answer = found.ask(path.relative_to(report).as_posix())
            assert (answer.status, answer.body) == (200, path.read_bytes())
            assert answer.headers['Content-Type'] == 'text/javascript; charset=utf-8'
        for name in (
            '.hidden',
            'link.txt',
            '../secret.txt',
            '..%2fsecret.txt',
            '%2fetc%2fpasswd',
            'responses',
        ):
            assert found.ask(name).status == 404, name
        assert found.ask('status.json').status == 404
        assert 'script-src' not in found.ask('evil.html').policy


@pytest.mark.parametrize('given', ['sent', 'sent/index.html'], ids=['its folder', 'its page'])
def test_a_report_that_was_sent_around_is_served(given: str, tmp_path: Path) -> None:
    """Its page alone, or with the responses: what else was written with it may have stayed behind."""
    write_run(tmp_path / 'outputs')
    report, sent = tmp_path / 'report', tmp_path / 'sent'
    assert main(['report', str(tmp_path / 'outputs'), '-o', str(report), '--only', 'page']) == 0
    sent.mkdir()
    (report / 'index.html').rename(sent / 'index.html')
    with viewing(tmp_path / given) as found:
        assert entries_of(found)
        assert found.ask('status.json').status == 404


_READER = """
let loaded = [], failed = [];
async function inflated(packed) {
  const bytes = Uint8Array.from(atob(packed), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}
globalThis.gpasskShard = async (name, packed) => loaded.push([name, await inflated(packed)]);
globalThis.load = (name, from = 'responses/') => {
  const script = document.createElement('script');
  script.src = `${from}${name}.js`;
  script.onerror = () => failed.push(name);
  document.head.append(script);
};
globalThis.ends = () => [loaded.map(([name]) => name), failed];
// As numbers, since halves of characters do not reach the tester.
globalThis.units = () => loaded[0][1].samples.map(
  ({response}) => response.split('').map((one) => one.charCodeAt(0)));
"""


@pytest.mark.slow
@pytest.mark.parametrize('served', [True, False], ids=['served', 'from disk'])
def test_a_page_loads_shards_by_script_tags(page: Page, tmp_path: Path, served: bool) -> None:
    """In a browser, to the letter: from disk, and served under the policy of the page, from nowhere else."""
    run = write_run(tmp_path / 'outputs')
    hostile = '</script>\u2028\ud800\x00\U0001d465'
    run.edit(lambda rows: rows['0'].update(prediction=hostile))
    with_columns(run.result, response_characters=None)
    report = tmp_path / 'report'
    assert (
        main(['report', str(tmp_path / 'outputs'), '-o', str(report), '--responses', '--only', 'page']) == 0
    )
    hashed = base64.b64encode(hashlib.sha256(_READER.encode()).digest()).decode()
    own = f"default-src 'none'; img-src data:; script-src 'sha256-{hashed}'" + ('' if served else ' file:')
    meta = f'<meta http-equiv="Content-Security-Policy" content="{own}">'
    made_by = '<meta name="generator" content="gpassk_opencompass 0">'  # by which a report is known
    (report / 'index.html').write_text(
        f'<!doctype html>{meta}{made_by}<link rel="icon" href="data:,"><script>{_READER}</script>'
    )
    [folder] = (path.name for path in (report / 'responses').iterdir())
    with contextlib.ExitStack() as stack:
        address = (report / 'index.html').as_uri()
        if served:
            address = stack.enter_context(viewing(report)).address.replace('127.0.0.1', 'localhost')
        page.driver.get_log('browser')
        page.driver.get(address)
        page.script('load(arguments[0]); load(arguments[1])', f'{folder}/0', f'{folder}/99')
        until(lambda: all(page.script('return ends()')))
        assert page.script('return ends()') == [[f'{folder}/0'], [f'{folder}/99']]
        shown = [struct.pack(f'<{len(units)}H', *units) for units in page.script('return units()')]
        complaints = page.complaints()
        if served:
            page.script('load("0", "//localhost:9/")')
            until(lambda: 'Content Security Policy' in str(page.complaints()))
    other = json.loads(run.predictions.read_text())['12']['prediction']
    assert shown == [text.encode('utf-16-le', 'surrogatepass') for text in (hostile, other)]
    assert not [one for one in complaints if '99.js' not in one]


@pytest.mark.slow
def test_the_served_page_works_in_a_browser(page: Page, viewed: tuple[Viewed, Run]) -> None:
    """Its script runs under the policy that is sent, and nothing is complained of."""
    found, _ = viewed
    page.driver.get_log('browser')
    page.driver.get(found.address.replace('127.0.0.1', 'localhost'))
    until(lambda: 'demo' in page.find('main').text)
    assert page.complaints() == []


@pytest.mark.slow
@pytest.mark.parametrize('served', [True, False], ids=['served', 'from disk'])
def test_a_response_is_read_on_the_page(page: Page, tmp_path: Path, served: bool) -> None:
    """From the predictions of OpenCompass to what stands there, with no complaint of the browser."""
    run = write_run(tmp_path / 'outputs')
    said = '<think>I add.</think>Look at </script><b>me</b> & 二 \U0001d465.'
    run.edit(lambda rows: rows['15'].update(prediction=said))
    with_columns(run.result, response_characters=None)
    where = '#' + urlencode({'run': ABBR, 'question': 'q3'})
    report = tmp_path / 'report'
    with contextlib.ExitStack() as stack:
        if served:
            found = stack.enter_context(viewing(tmp_path / 'outputs'))
            address = found.address.replace('127.0.0.1', 'localhost')
            content = content_of(found)
            assert content['live'] == {'poll': 'status.json'}
            assert content['revision'] == found.status()['revision'] != ''
        else:
            arguments = [str(tmp_path / 'outputs'), '-o', str(report), '--responses', '--only', 'page']
            assert main(['report', *arguments]) == 0
            address = (report / 'index.html').as_uri()
        page.driver.get_log('browser')
        page.driver.get('about:blank')
        page.driver.get(address + where)
        page.wait_for('.question h2')
        opening = 'for (const one of document.querySelectorAll("main details")) one.open = true'
        shown = 'Look at </script><b>me</b> & 二 \U0001d465.'
        until(lambda: page.script(opening) or shown in page.find('main').text)
        assert 'Thought, 21 characters' in page.find('main').text
        assert page.complaints() == []


@pytest.mark.slow
def test_the_page_offers_new_results(page: Page, tmp_path: Path) -> None:
    """A button that loads them, once they are there."""
    write_run(tmp_path / 'outputs' / 'one')
    with viewing(tmp_path / 'outputs') as found:
        page.driver.get(found.address.replace('127.0.0.1', 'localhost'))
        page.wait_for('main')
        assert page.all('.live button') == []
        second = write_run(tmp_path / 'more')
        second.result.parent.rename(second.result.parent.with_name('other_t1.0_l40'))
        shutil.move(second.work_dir, tmp_path / 'outputs' / 'two')
        page.wait_for('.live button', 40).click()
        until(lambda: 'other' in page.find('main').text)
        until(lambda: page.all('.live button') == [])


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    """With the code and the line of the other commands; the port is free again."""
    write_run(tmp_path / 'outputs')
    with viewing(tmp_path / 'outputs') as found:
        found.ask('')
        found.process.send_signal(signal.SIGINT)
        out, err = found.process.communicate(timeout=30)
    assert found.process.returncode == 130
    assert found.hint == 'Only who has this address can see the page. Ctrl-C ends it.\n'
    assert out == ''
    assert err.splitlines()[-1] == 'gpassk view: stopped'
    assert 'Traceback' not in err
    with viewing(tmp_path / 'outputs', '--port', found.port) as again:
        assert (again.port, again.token == found.token) == (found.port, False)
        assert main(['view', str(tmp_path / 'outputs'), '--no-browser', '--port', str(found.port)]) == 2


@pytest.mark.parametrize(
    ('arguments', 'why'),
    [
        (['nowhere'], 'nowhere is neither a file nor a folder; expected one with work directories'),
        ([], 'outputs is neither a file nor a folder'),
        (['.', '--k', '1'], 'k = 1: expected at least 2'),
        (['file.json'], 'file.json holds no result that can be shown, see above'),
        (['report', '--k', '8'], 'report is a report, which is shown as it was written: --k and'),
        (['report', '--with-limited'], 'report is a report, which is shown as it was written: --k and'),
    ],
)
def test_what_cannot_be_shown_is_said_at_once(
    arguments: list[str],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With the code of bad input."""
    monkeypatch.chdir(tmp_path)
    Path('file.json').write_text('{}')
    Path('report').mkdir()
    Path('report', 'index.html').write_text('<meta name="generator" content="gpassk_opencompass 0">')
    assert main(['view', *arguments, '--no-browser']) == 2
    assert why in capsys.readouterr().err


def test_the_browser_is_opened_where_there_is_a_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And not where one would take over the terminal."""
    import webbrowser

    write_run(tmp_path / 'outputs')
    opened: list[str] = []

    def end(address: str) -> bool:
        opened.append(address)
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        return True

    monkeypatch.setattr(webbrowser, 'open', end)
    monkeypatch.setenv('DISPLAY', ':0')
    assert main(['view', str(tmp_path / 'outputs')]) == 130
    assert opened == [capsys.readouterr().out.splitlines()[0]]
