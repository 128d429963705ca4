"""Fixtures for one view on a bare page: what it shows, what it sends, and what it survives.

``harness`` lasts a test; ``harness_page`` is the page behind it, bundled once a session.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.views.harness import Harness, build_harness


@pytest.fixture(scope="session")
def harness_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test page, bundled once."""
    return build_harness(tmp_path_factory.mktemp("harness"))


@pytest.fixture
def harness(page: Page, harness_page: Path, screenshots: Path) -> Iterator[Harness]:
    """A page for one view. An error in the page fails the test."""
    folder = screenshots / "views"
    folder.mkdir(exist_ok=True)
    page.set_default_timeout(10_000)
    made = Harness(page, harness_page, folder)
    yield made
    assert made.errors == []
