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


def test_what_a_program_has_frozen_stays_so() -> None:
    text = """
import gc
gc.freeze()
before = gc.get_freeze_count()
import workbench
assert gc.get_freeze_count() > before / 2 > 0  # some of them go by their counts
"""
    subprocess.run([sys.executable, "-c", text], check=True)


def test_what_the_rooms_are_made_of_is_old_at_once() -> None:
    text = """
import gc
gc.set_threshold(1_000_000_000)  # at work, and never called by itself
import workbench
young, old = len(gc.get_objects(generation=0)), len(gc.get_objects(generation=2))
assert young < old, (young, old)
"""
    subprocess.run([sys.executable, "-c", text], check=True)
