"""The site that `make docs` builds, in a browser: from disk, without a network, on a phone."""

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
