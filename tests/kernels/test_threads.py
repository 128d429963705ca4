from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from workbench import kernels


def test_info_describes_what_runs() -> None:
    info = kernels.info()
    assert info["available"] is True
    assert info["reason"] == ""
    assert str(info["onednn"]).startswith("3.")
    assert "conv2d" in info["ops"]  # type: ignore[operator]


def test_one_and_two_threads_agree_and_several_callers_may_share_a_primitive() -> None:
    generator = np.random.default_rng(3)
    x = generator.standard_normal((8, 16, 12, 12)).astype(np.float32)
    weight = generator.standard_normal((16, 16, 3, 3)).astype(np.float32)
    run = kernels.lookup("conv2d").run  # type: ignore[union-attr]
    params = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    before = kernels.get_num_threads()
    try:
        kernels.set_num_threads(1)
        single = run(x, weight, None, **params)
        kernels.set_num_threads(2)
        np.testing.assert_allclose(run(x, weight, None, **params), single, rtol=1e-5, atol=1e-5)
        results: list[bool] = []

        def call(factor: float) -> None:
            for _ in range(20):
                y = run(x, weight * np.float32(factor), None, **params)
                results.append(bool(np.allclose(y, single * factor, rtol=1e-4, atol=1e-4)))

        callers = [threading.Thread(target=call, args=(factor,)) for factor in (1.0, 2.0, -3.0)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert results == [True] * 60
    finally:
        kernels.set_num_threads(before)


def test_kernels_run_in_a_forked_child() -> None:
    code = (
        "import os, warnings, numpy as np\n"
        "warnings.simplefilter('ignore')\n"
        "from workbench import kernels\n"
        "run = kernels.lookup('max_pool2d').run\n"
        "x = np.ones((8, 32, 64, 64), np.float32)\n"
        "p = dict(kernel=(2, 2), stride=(2, 2), padding=(0, 0), dilation=(1, 1))\n"
        "run(x, **p)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if run(x, **p)[0].all() else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "0\n", done.stderr


ALONE = """
import os, sys
import workbench as wb
from workbench.base.lazy import scipy_linalg
from workbench.kernels import threads

scipy_linalg.eigh  # brings a library of its own
def counts():
    return {blas.get() for blas in threads._blas.values()}

if not threads._blas:
    print("none"); sys.exit()
wb.set_num_threads(3)
assert counts() == {3}
with threads.one_blas_thread():
    assert counts() == {1} and wb.get_num_threads() == 3
    with threads.one_blas_thread():
        assert counts() == {1}
    assert counts() == {1}
    child = os.fork()
    if child == 0:
        os._exit(counts() != {3})
    assert os.waitpid(child, 0)[1] == 0, "a child has its threads"
    wb.set_num_threads(2)
    assert counts() == {1} and wb.get_num_threads() == 2
assert counts() == {2}
try:
    with threads.one_blas_thread():
        raise KeyError
except KeyError:
    assert counts() == {2}
print("fine")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a child keeps what its parent had set")
def test_one_thread_of_each_blas_for_a_while() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if done.stdout.strip() == "none":
        pytest.skip("no BLAS of this process is an OpenBLAS, whose threads are governed")
    assert done.stdout.strip() == "fine"
