from __future__ import annotations

import pytest
from browser import browser


@pytest.fixture(scope='module')
def page():
    with browser() as opened:
        yield opened
