"""Firefox without a window, asked over WebDriver BiDi, which it speaks itself: no geckodriver is needed."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import time
from contextlib import contextmanager

import pytest
from loopback import end

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

    def __init__(self, socket):
        self._socket, self._numbers = socket, itertools.count(1)
        self.complaints = []  # errors and warnings of the console
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
        assert told['type'] != 'exception', told['exceptionDetails']['text']
        return json.loads(told['result']['value'])

    def wait_for(self, code):
        """Return the value of an expression once it is true."""
        until = time.monotonic() + SECONDS
        while not (value := self.script(code)):
            assert time.monotonic() < until, f'{code} did not become true'
            time.sleep(0.05)
        return value

    def _ask(self, method, **params):
        number = next(self._numbers)
        self._socket.send(json.dumps({'id': number, 'method': method, 'params': params}))
        while True:
            told = json.loads(self._socket.recv())
            if told.get('method') == 'log.entryAdded' and told['params']['level'] in ('warn', 'error'):
                self.complaints.append(str(told['params'].get('text')))
            if told.get('id') == number:
                assert told['type'] != 'error', f'{method}: {told}'
                return told['result']


@contextmanager
def firefox(folder):
    """Firefox with an empty profile below the folder; it is ended afterwards."""
    websocket = pytest.importorskip('websocket', reason='selenium is not installed')
    program = shutil.which('firefox-esr') or shutil.which('firefox')
    if program is None:
        pytest.skip('no firefox here: apt install firefox-esr')
    profile = folder / 'profile'
    profile.mkdir(parents=True)
    lines = [f'user_pref({json.dumps(name)}, {json.dumps(value)});' for name, value in PREFERENCES.items()]
    (profile / 'user.js').write_text('\n'.join(lines))
    options = ['--headless', '--no-remote', '--profile', str(profile), '--remote-debugging-port', '0']
    with (folder / 'log').open('w+') as log:
        process = subprocess.Popen([program, *options], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            until, found = time.monotonic() + SECONDS, None
            while not found:
                told = (folder / 'log').read_text()
                assert time.monotonic() < until, f'firefox did not begin:\n{told}'
                assert process.poll() is None, f'firefox did not begin:\n{told}'
                time.sleep(0.1)
                found = re.search(r'WebDriver BiDi listening on (ws://\S+)', told)
            address = f'{found[1]}/session'
            socket = websocket.create_connection(address, timeout=SECONDS, suppress_origin=True)
            yield Firefox(socket)
            socket.close()
        finally:
            end(process)
