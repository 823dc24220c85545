"""The responses beside a page, in a browser that has opened it from disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from stored_run import ABBR, write_run

from gpassk_opencompass.cli import main

if TYPE_CHECKING:
    from browser import Page


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.mark.slow
def test_a_response_is_read_on_the_page(page: Page, tmp_path: Path) -> None:
    """From the file of samples to what stands there, with no complaint of the browser."""
    said = '<think>I add.</think>Look at </script><b>me</b> & 二 \U0001d465.'
    write_run(tmp_path / 'outputs', response=said)
    where = '#' + urlencode({'run': ABBR, 'question': 'q3'})
    report = tmp_path / 'report'
    arguments = [str(tmp_path / 'outputs'), '-o', str(report), '--responses', '--only', 'page']
    assert main(['report', *arguments]) == 0
    page.driver.get_log('browser')
    page.driver.get('about:blank')
    page.driver.get((report / 'index.html').as_uri() + where)
    page.wait_for('.question h2')
    opening = 'for (const one of document.querySelectorAll("main details")) one.open = true'
    shown = 'Look at </script><b>me</b> & 二 \U0001d465.'
    until(lambda: page.script(opening) or shown in page.find('main').text)
    assert 'Thought, 21 characters' in page.find('main').text
    assert page.complaints() == []
