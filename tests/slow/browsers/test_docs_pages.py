"""The site that `make docs` builds, in a browser: from disk, without a network, on a phone."""

import re
import time

from doc_pages import site_pages

PHONE = {'width': 390, 'height': 844, 'deviceScaleFactor': 1, 'mobile': True}


def test_no_page_complains_or_is_wider_than_a_phone(site, page):
    page.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', PHONE)
    try:
        for path in site_pages(site):
            page.open(path)
            assert page.script('return document.documentElement.scrollWidth') <= PHONE['width'], path.name
            assert page.complaints() == [], path.name
            assert [url for url in page.requests() if not url.startswith(('file:', 'data:'))] == [], path.name
    finally:
        page.driver.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})


def test_the_search_works_from_disk(site, page):
    page.open(site / 'index.html')
    page.script("document.querySelector('#__search').click()")
    deadline = time.monotonic() + 20
    while not page.all('.md-search-result__link') and time.monotonic() < deadline:
        page.set('.md-search__input', 'unjudged')
    found = page.wait_for('.md-search-result__link').get_attribute('href')
    assert re.search(r'/(judging|metrics|results-format)\.html', found)
    assert page.complaints() == []
