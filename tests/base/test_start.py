"""The import leaves Python's collector as it was: at work or not, with nothing kept from it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("before", [True, False])
def test_the_collector_is_left_as_it_was(before: bool) -> None:
    text = f"""
import gc
gc.enable() if {before} else gc.disable()
import workbench
assert gc.isenabled() is {before}
assert gc.get_freeze_count() == 0
"""
    subprocess.run([sys.executable, "-c", text], check=True)
