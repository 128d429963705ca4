from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import numpy as np

from workbench import kernels


def relu(x: np.ndarray) -> np.ndarray:
    return kernels.lookup("relu").run(x)  # type: ignore[union-attr,no-any-return]


def address(x: np.ndarray) -> int:
    return int(x.__array_interface__["data"][0])


def test_a_freed_result_is_used_again_and_a_living_one_is_not() -> None:
    kernels.release_memory()
    x = np.ones(100_000, np.float32)
    first = relu(x)
    place = address(first)
    second = relu(x)
    assert address(second) != place
    view = first[10:]
    del first
    gc.collect()
    assert address(relu(x)) != place
    del view
    gc.collect()
    assert address(relu(x)) == place


def test_results_are_aligned() -> None:
    for size in (1, 3, 100, 5000, 100_000):
        assert address(relu(np.ones(size, np.float32))) % 64 == 0


def test_the_pool_can_be_emptied() -> None:
    relu(np.ones(1_000_000, np.float32))
    gc.collect()
    assert kernels.pooled_bytes() >= 4_000_000
    kernels.release_memory()
    assert kernels.pooled_bytes() == 0


def test_results_outlive_the_module_and_threads_may_share_the_pool() -> None:
    x = np.arange(-5000, 5000, dtype=np.float32)
    expected = np.maximum(x, 0)
    right: list[bool] = []

    def work() -> None:
        right.append(all(np.array_equal(relu(relu(x)), expected) for _ in range(200)))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert right == [True] * 4


def test_numpy_temporaries_stay_in_the_heap() -> None:
    code = (
        "import resource, numpy as np\n"
        "from workbench import kernels\n"
        "x = np.ones(1 << 20, np.float32)\n"
        "def faults():\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for _ in range(5):\n"
        "    x * 2 + 1\n"
        "before = faults()\n"
        "for _ in range(20):\n"
        "    x * 2 + 1\n"
        "print(faults() - before < 2000)\n"
    )
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=clean)
    assert done.stdout == "True\n", done.stderr
