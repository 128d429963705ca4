from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import numpy as np

from workbench import kernels
from workbench.kernels.loader import native


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


def test_large_results_are_aligned() -> None:
    # Up to 4 KB they lie in NumPy's memory: to tell it of an owner would cost more than the copy.
    for size in (1025, 5000, 100_000):
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


def test_large_numpy_arrays_come_from_the_pool() -> None:
    code = (
        "import gc, threading\n"
        "import numpy as np\n"
        "before = np.ones(1 << 20)\n"
        "from workbench import kernels\n"
        "x = np.ones(1 << 20, np.float32)\n"
        "assert np._core.multiarray.get_handler_name(x) == 'workbench_pool'\n"
        "place = x.__array_interface__['data'][0]\n"
        "assert place % 64 == 0\n"
        "del x, before\n"
        "assert kernels.pooled_bytes() >= 4 << 20\n"
        "zeros = np.zeros(1 << 20, np.float32)\n"
        "assert zeros.__array_interface__['data'][0] == place and not zeros.any()\n"
        "grown = np.arange(1 << 18)\n"
        "grown.resize(1 << 20, refcheck=False)\n"
        "assert grown[(1 << 18) - 1] == (1 << 18) - 1 and not grown[1 << 18:].any()\n"
        "grown.resize(10, refcheck=False)\n"
        "assert grown.tolist() == list(range(10))\n"
        "def work():\n"
        "    for n in range(1 << 17, 1 << 19, 40_001):\n"
        "        assert (np.full(n, n) * 2).sum() == 2 * n * n\n"
        "threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "[one.start() for one in threads]; work(); [one.join() for one in threads]\n"
        "kept = []\n"
        "thread = threading.Thread(target=lambda: kept.append(np.ones(1 << 20)))\n"
        "thread.start(); thread.join(); kept.clear()\n"
        "del zeros; kernels.release_memory()\n"
        "print(kernels.pooled_bytes())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "0\n", done.stderr


def test_the_pool_is_bounded() -> None:
    arrays = [np.empty(64 << 20, np.uint8) for _ in range(12)]
    del arrays
    assert kernels.pooled_bytes() <= 512 << 20
    kernels.release_memory()


def test_what_is_in_use_now_takes_the_place_of_what_was_in_use_once() -> None:
    kernels.release_memory()
    assert native is not None
    most = native.pool_state()["most_kept_bytes"]
    held = [np.empty(most // 8, np.uint8) for _ in range(8)]  # as much as the pool keeps, and a little more
    del held
    assert native.pool_state()["kept_bytes"] > most // 2
    try:
        for _ in range(2):
            small = np.empty(5_000_000, np.uint8)
            del small
        before = native.pool_state()
        small = np.empty(5_000_000, np.uint8)
        after = native.pool_state()
        assert after["hits"] == before["hits"] + 1, "the block went to the system and came back"
        assert after["kept_bytes"] <= most
        del small
    finally:
        kernels.release_memory()
