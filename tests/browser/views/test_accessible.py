"""What axe-core says of each view, in each of its example states: nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.accessible import findings
from tests.browser.views.harness import Harness
from workbench.live.messages import VIEWS

# The same rows and nodes as in other states, a hundred times.
LARGE = {"huge", "flow-huge", "flat", "ten"}


@pytest.mark.parametrize(("theme", "width"), [("light", 400), ("dark", 900)])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_in_any_state_of_a_view(
    harness: Harness, view: str, width: int, theme: str
) -> None:
    root = harness.open(view, "", width=width, theme=theme, height=700)
    found = {"empty": findings(harness.page, "#stage")}
    for name in set(harness.do("names()")) - LARGE:
        harness.do("destroy()")
        harness.do("mount()")
        harness.do("show(argument)", name)
        harness.settle()
        expect(root.get_by_test_id("wb-title")).to_be_attached()
        found[name] = findings(harness.page, "#stage")
    said = [f"{name}: {one}" for name, some in found.items() for one in some]
    assert not said, "\n".join(said)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_in_an_open_menu(harness: Harness, view: str, theme: str) -> None:
    root = harness.open(view, width=900, theme=theme, height=700)
    root.get_by_test_id("wb-menu-button").click()
    expect(harness.at("wb-menu")).to_be_visible()
    assert findings(harness.page, "#stage", ".wb-menu") == []
