"""The site that `make docs` builds: whole, and readable from disk without a network."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from doc_pages import DOCS, site_pages

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group('site')]

FETCHED = {'link': 'href', 'script': 'src', 'img': 'src', 'iframe': 'src', 'source': 'src'}
"""Elements that make a browser fetch something, and where they say what."""


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


def test_every_page_is_built_under_one_title(site: Path) -> None:
    """A page of the site for each in docs/."""
    assert {path.stem for path in site_pages(site)} == {path.stem for path in DOCS.glob('*.md')}
    assert [path.name for path in site_pages(site) if read(path).titles != 1] == []


def test_links_of_the_site_lead_somewhere(site: Path) -> None:
    """To files of the site, and to anchors in them."""
    for path in site_pages(site):
        for link in read(path).links:
            if re.match(r'(https|mailto):', link):
                continue
            name, anchor = urldefrag(link)
            target = (path.parent / unquote(name)).resolve() if name else path
            assert target.is_file(), f'{path.name} links to {link}'
            assert not anchor or unquote(anchor) in read(target).anchors, f'{path.name} links to {link}'


def test_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    """No font, script, style or picture of another server."""
    for path in site_pages(site):
        for address in read(path).fetched:
            name = unquote(urldefrag(address).url)
            assert (path.parent / name).is_file(), f'{path.name} fetches {address}'
    for style in site.rglob('*.css'):
        assert not re.search(r'(@import|url\()\s*["\']?(https?:)?//', style.read_text(encoding='utf-8')), (
            style
        )
