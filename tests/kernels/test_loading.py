from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from workbench import kernels
from workbench.kernels import loader


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


@pytest.mark.parametrize(("found", "age"), [(None, "older"), (1, "older"), (10_000, "newer")])
def test_a_module_of_another_age_is_not_used(found: int | None, age: str) -> None:
    code = (
        "import sys, types\n"
        "module = types.ModuleType('workbench._kernels')\n"
        f"if {found} is not None: module.interface = {found}\n"
        "sys.modules['workbench._kernels'] = module\n"
        "import workbench as wb\n"
        "from workbench import kernels\n"
        "assert kernels.names() == () and wb.ones(3).sum().item() == 3\n"
        "print(kernels.available(), kernels.info()['reason'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"False the compiled module is {age} than the Python code beside it")


def test_both_sides_state_the_same_interface() -> None:
    source = pathlib.Path(__file__).parents[2] / "extensions" / "kernels" / "source" / "module.cpp"
    assert f'module.attr("interface") = {loader.INTERFACE};' in source.read_text(encoding="utf-8")


@pytest.mark.parametrize("wrong", [0, -1, 1025, True, 2.0, "2"])
def test_thread_counts_are_checked(wrong: object) -> None:
    before = kernels.get_num_threads()
    with pytest.raises(ValueError, match="give an integer from 1 to 1024"):
        kernels.set_num_threads(wrong)  # type: ignore[arg-type]
    assert kernels.get_num_threads() == before
