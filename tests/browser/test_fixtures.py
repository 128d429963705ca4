"""The driver itself: what other tests rely on must fail when it should."""

from __future__ import annotations

import json
import re

import pytest

from tests.browser.jupyterlab import Lab


def test_cells_run_and_python_answers(lab: Lab) -> None:
    lab.new(["value = [1, 2, 3]", "sum(value)"])
    lab.run_all()
    assert lab.outputs(1)[0]["data"]["text/plain"] == "6"
    assert lab.python("value") == [1, 2, 3]
    lab.wait_python("len(value)", 3)
    assert lab.screenshot("fixtures-notebook", lab.notebook).stat().st_size > 1000


def test_an_exception_in_a_cell_is_a_failure(lab: Lab) -> None:
    lab.new(["1 / 0"])
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        lab.run_all()
    with pytest.raises(AssertionError, match=re.escape("missing raised NameError")):
        lab.python("missing")


def test_a_running_cell_can_be_watched(lab: Lab) -> None:
    lab.new(["import time", "for step in range(3):\n    time.sleep(0.2)\n    print(step)"])
    lab.run_cell(0)
    lab.start_cell(1)
    assert lab.python("step") == 2


def test_the_page_finds_the_panels(lab: Lab) -> None:
    config = json.loads(lab.page.locator("#jupyter-config-data").text_content() or "")
    assert "@workbench/lab" in [extension["name"] for extension in config["federated_extensions"]]
    assert config["buildCheck"] is False, "each page would start node"
