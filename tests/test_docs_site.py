"""The site that `make docs` builds: whole, readable from disk without a network, on a phone too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from browser import Page
from doc_pages import DOCS, ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('site')]

FETCHED = {'link': 'href', 'script': 'src', 'img': 'src', 'iframe': 'src', 'source': 'src'}
"""Elements that make a browser fetch something, and where they say what."""

PHONE = {'width': 390, 'height': 844, 'deviceScaleFactor': 1, 'mobile': True}


class Html(HTMLParser):
    """What a page links to, what it fetches, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.titles = 0
        self.feed(path.read_text(encoding='utf-8'))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value}
        self.anchors.add(found.get('id', ''))
        self.titles += tag == 'h1'
        if tag == 'a' and 'href' in found:
            self.links.append(found['href'])
        if tag in FETCHED and FETCHED[tag] in found and found.get('rel') not in ('canonical', 'next', 'prev'):
            self.fetched.append(found[FETCHED[tag]])


@cache
def read(path: Path) -> Html:
    return Html(path)


@pytest.fixture(scope='module')
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does, into a folder of its own."""
    folder = tmp_path_factory.mktemp('docs') / 'site'
    done = subprocess.run(
        [sys.executable, '-m', 'mkdocs', 'build', '--quiet', '--site-dir', str(folder)],
        cwd=ROOT,
        env={**os.environ, 'NO_MKDOCS_2_WARNING': '1'},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f'make docs fails:\n{done.stderr}'
    return folder


def pages_of(site: Path) -> Iterator[Path]:
    return (path for path in sorted(site.glob('*.html')) if path.name != '404.html')


def test_every_page_is_built_under_one_title(site: Path) -> None:
    """A page of the site for each in docs/."""
    assert {path.stem for path in pages_of(site)} == {path.stem for path in DOCS.glob('*.md')}
    assert [path.name for path in pages_of(site) if read(path).titles != 1] == []


def test_links_of_the_site_lead_somewhere(site: Path) -> None:
    """To files of the site, and to anchors in them."""
    for path in pages_of(site):
        for link in read(path).links:
            if re.match(r'(https|mailto):', link):
                continue
            name, anchor = urldefrag(link)
            target = (path.parent / unquote(name)).resolve() if name else path
            assert target.is_file(), f'{path.name} links to {link}'
            assert not anchor or unquote(anchor) in read(target).anchors, f'{path.name} links to {link}'


def test_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    """No font, script, style or picture of another server."""
    for path in pages_of(site):
        for address in read(path).fetched:
            name = unquote(urldefrag(address).url)
            assert (path.parent / name).is_file(), f'{path.name} fetches {address}'
    for style in site.rglob('*.css'):
        assert not re.search(r'(@import|url\()\s*["\']?(https?:)?//', style.read_text(encoding='utf-8')), (
            style
        )


def test_no_page_complains_or_is_wider_than_a_phone(site: Path, page: Page) -> None:
    """Opened from disk in a browser without a network."""
    page.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', PHONE)
    try:
        for path in pages_of(site):
            page.open(path)
            assert page.script('return document.documentElement.scrollWidth') <= PHONE['width'], path.name
            assert page.complaints() == [], path.name
            assert [url for url in page.requests() if not url.startswith(('file:', 'data:'))] == [], path.name
    finally:
        page.driver.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})


def test_the_search_works_from_disk(site: Path, page: Page) -> None:
    """Where a browser allows no worker."""
    page.open(site / 'index.html')
    page.script("document.querySelector('#__search').click()")
    deadline = time.monotonic() + 20
    while not page.all('.md-search-result__link') and time.monotonic() < deadline:
        page.set('.md-search__input', 'unjudged')
    found = page.wait_for('.md-search-result__link').get_attribute('href')
    assert re.search(r'/(judging|metrics|results-format)\.html', found)
    assert page.complaints() == []
