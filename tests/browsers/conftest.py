"""What several tests of the page take as fixtures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import Page
from page_tables import View, viewing


@pytest.fixture(scope='module')
def view(page: Page, tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    """Thirty runs on three benchmarks; nothing may complain."""
    with viewing(page, tmp_path_factory.mktemp('page')) as ready:
        yield ready
