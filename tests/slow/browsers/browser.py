"""A real browser, offline, for pages to be shown in."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest


class Page:
    """A page in the browser, with what a reader does to it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path) -> None:
        """From disk; what the browser said before is forgotten."""
        self.driver.get_log('browser')
        self.driver.get_log('performance')
        self.driver.get(path.resolve().as_uri())

    def script(self, code: str, *values: Any) -> Any:
        """What the code returns; a page cannot forbid this to its tester."""
        return self.driver.execute_script(code, *values)

    def find(self, selector: str) -> Any:
        return self.driver.find_element('css selector', selector)

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements('css selector', selector))

    def button(self, text: str, within: str = 'body') -> Any:
        return self.driver.find_element(
            'xpath', f'//{within}//button[starts-with(normalize-space(), "{text}")]'
        )

    def show(self, path: Path, **address: Any) -> None:
        """Open a view of a report as if the page had never been open, and wait until it is there."""
        self.driver.get('about:blank')
        self.driver.get(f'{path.resolve().as_uri()}#{urlencode(address, doseq=True)}')
        self.wait_for('main *')

    def emulate(self, width: int = 0, height: int = 800, scale: float = 1, scheme: str = '') -> None:
        """Be a screen of this size and scheme; without arguments be the window again."""
        size = {'width': width, 'height': height, 'deviceScaleFactor': scale, 'mobile': False}
        if width:
            self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', size)
        else:
            self.driver.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
        features = [{'name': 'prefers-color-scheme', 'value': scheme}] if scheme else []
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': features})

    def press(self, *keys: str) -> Any:
        self.driver.switch_to.active_element.send_keys(*keys)
        return self.driver.switch_to.active_element

    def until(self, code: str, seconds: float = 60) -> Any:
        end = time.monotonic() + seconds
        while not (value := self.script(code)):
            assert time.monotonic() < end, f'{code} did not become true'
            time.sleep(0.05)
        return value

    def choose(self, selector: str, text: str) -> None:
        from selenium.webdriver.support.select import Select

        Select(self.find(selector)).select_by_visible_text(text)

    def wait_for(self, selector: str, seconds: float = 20) -> Any:
        from selenium.webdriver.support.wait import WebDriverWait

        return WebDriverWait(self.driver, seconds, 0.05).until(lambda _: self.find(selector))

    def complaints(self) -> list[str]:
        return [entry['message'] for entry in self.driver.get_log('browser')]

    def requests(self) -> list[str]:
        """The addresses that the page asked for, without the page itself and its empty icon."""
        messages = [json.loads(entry['message'])['message'] for entry in self.driver.get_log('performance')]
        asked = [m['params'] for m in messages if m['method'] == 'Network.requestWillBeSent']
        own = [params['request']['url'] for params in asked if params['type'] != 'Document']
        return [url for url in own if url != 'data:,']


@contextmanager
def browser() -> Iterator[Page]:
    """Chromium without a window and without a network, driven by its own driver."""
    selenium = pytest.importorskip('selenium.webdriver', reason='selenium is not installed')
    programs = [shutil.which(name) for name in ('chromium', 'chromedriver')]
    if None in programs:
        pytest.skip('no chromium with chromedriver here: apt install chromium chromium-driver')
    options = selenium.ChromeOptions()
    options.binary_location = programs[0]
    switches = ('headless=new', 'no-sandbox', 'disable-gpu', 'disable-dev-shm-usage', 'window-size=1280,1200')
    for switch in (*switches, 'host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost'):
        options.add_argument(f'--{switch}')
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    driver = selenium.Chrome(options=options, service=selenium.ChromeService(programs[1]))
    try:
        yield Page(driver)
    finally:
        driver.quit()


@contextmanager
def static_host(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(('127.0.0.1', 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f'http://localhost:{server.server_port}'
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
