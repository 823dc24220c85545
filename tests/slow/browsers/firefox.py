"""Firefox without a window, asked over WebDriver BiDi, which it speaks itself: no geckodriver is needed."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager

import aiohttp
import pytest

PROGRAMS = ('firefox-esr', 'firefox')
SECONDS = 60

PREFERENCES = {
    'browser.shell.checkDefaultBrowser': False, 'datareporting.policy.dataSubmissionEnabled': False,
    'network.proxy.type': 1, 'network.proxy.socks': '127.0.0.1', 'network.proxy.socks_port': 9,
    'network.proxy.no_proxies_on': 'localhost, 127.0.0.1', 'remote.active-protocols': 1,
    'toolkit.telemetry.server': '',
}  # fmt: skip
"""Of a profile of its own: nothing is asked of the network but loopback."""


class Firefox:
    """One tab, and what a reader does in it."""

    def __init__(self, socket, loop):
        self._socket, self._loop = socket, loop
        self._numbers = itertools.count(1)
        self.complaints = []
        """Errors and warnings of the console, as they came."""
        self._context = ''

    def begin(self):
        """Begin a session with an empty tab."""
        self._ask('session.new', capabilities={})
        self._ask('session.subscribe', events=['log.entryAdded'])
        self._context = self._ask('browsingContext.getTree')['contexts'][0]['context']

    def open(self, address):
        """Go to an address, and wait until it is loaded."""
        self._ask('browsingContext.navigate', context=self._context, url=address, wait='complete')

    def script(self, code):
        """Return the value of an expression as JSON would have it; a promise is waited for."""
        told = self._ask(
            'script.evaluate',
            expression=f'Promise.resolve({code}).then((value) => JSON.stringify(value ?? null))',
            target={'context': self._context},
            awaitPromise=True,
        )
        if told['type'] == 'exception':
            raise AssertionError(told['exceptionDetails']['text'])
        return json.loads(told['result']['value'])

    def wait_for(self, code, seconds=20):
        """Return the value of an expression once it is true."""
        end = time.monotonic() + seconds
        while not (value := self.script(code)):
            assert time.monotonic() < end, f'{code} did not become true'
            time.sleep(0.05)
        return value

    def _ask(self, method, **params):
        return self._loop.run_until_complete(asyncio.wait_for(self._answer(method, params), SECONDS))

    async def _answer(self, method, params):
        number = next(self._numbers)
        await self._socket.send_json({'id': number, 'method': method, 'params': params})
        while True:
            told = await self._socket.receive_json()
            if told.get('method') == 'log.entryAdded' and told['params']['level'] in ('warn', 'error'):
                self.complaints.append(str(told['params'].get('text')))
            if told.get('id') == number:
                if told['type'] == 'error':
                    raise AssertionError(f'{method}: {told["error"]}: {told["message"]}')
                return told['result']


@contextmanager
def firefox(folder):
    """Firefox with an empty profile below the folder; it is ended afterwards."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip('no firefox here: apt install firefox-esr')
    profile = folder / 'profile'
    profile.mkdir(parents=True)
    lines = [f'user_pref({json.dumps(name)}, {json.dumps(value)});' for name, value in PREFERENCES.items()]
    (profile / 'user.js').write_text('\n'.join(lines))
    command = [
        program, '--headless', '--no-remote', '--profile', str(profile), '--remote-debugging-port', '0',
    ]  # fmt: skip
    with (folder / 'log').open('w+') as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            with _connected(_address(folder / 'log', process)) as ready:
                yield ready
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)


@contextmanager
def _connected(address):
    loop = asyncio.new_event_loop()
    session = loop.run_until_complete(_session())
    try:
        socket = loop.run_until_complete(session.ws_connect(f'{address}/session', max_msg_size=2**28))
        browser = Firefox(socket, loop)
        browser.begin()
        yield browser
        loop.run_until_complete(socket.close())
    finally:
        loop.run_until_complete(session.close())
        loop.close()


async def _session():
    return aiohttp.ClientSession()


def _address(log, process):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(r'WebDriver BiDi listening on (ws://\S+)', log.read_text()):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f'firefox did not begin:\n{log.read_text()}')
