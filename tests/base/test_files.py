"""Who has a folder alone, and for how long."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from workbench.base.files import alone

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no locks of folders")


def test_a_number_of_seconds_is_waited(tmp_path: Path) -> None:
    with alone(tmp_path):
        start = time.monotonic()
        with alone(tmp_path, wait=0.2) as had:
            assert not had
        assert time.monotonic() - start >= 0.2
    with alone(tmp_path, wait=0.2) as had:
        assert had


def test_a_process_forked_meanwhile_does_not_keep_the_lock(tmp_path: Path) -> None:
    ends, goes = os.pipe()
    with alone(tmp_path):
        child = os.fork()
        if child == 0:
            os.close(goes)
            os.read(ends, 1)  # until the parent has closed its end
            os._exit(0)
    try:
        with alone(tmp_path, wait=False) as had:
            assert had
    finally:
        os.close(goes)
        os.close(ends)
        os.waitpid(child, 0)


def test_what_fails_inside_lets_go(tmp_path: Path) -> None:
    with pytest.raises(KeyError), alone(tmp_path):
        raise KeyError
    with alone(tmp_path, wait=False) as had:
        assert had
