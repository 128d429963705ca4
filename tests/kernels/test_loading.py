from __future__ import annotations

import os
import subprocess
import sys

import pytest

from workbench import kernels


def test_switched_off_by_the_environment() -> None:
    code = (
        "from workbench import kernels\n"
        "assert not kernels.available()\n"
        "assert kernels.names() == () and kernels.lookup('conv2d') is None\n"
        "kernels.set_num_threads(1)\n"
        "print(kernels.reason(), kernels.get_num_threads(), kernels.info()['available'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "WORKBENCH_KERNELS": "off"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout == "they are switched off by WORKBENCH_KERNELS=off 1 False\n"


@pytest.mark.parametrize("wrong", [0, -1, 1025, True, 2.0, "2"])
def test_thread_counts_are_checked(wrong: object) -> None:
    before = kernels.get_num_threads()
    with pytest.raises(ValueError, match="give an integer from 1 to 1024"):
        kernels.set_num_threads(wrong)  # type: ignore[arg-type]
    assert kernels.get_num_threads() == before
