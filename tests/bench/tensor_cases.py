"""The tensor core against PyTorch: dispatch, elementwise work and reductions, products, order, transforms, autograd."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import workbench as wb
from tests.bench.measure import Case, Timing, Work

Make = Callable[[], tuple[Work, Work]]
FLAT = (4096, 1024)
DEEP = (64, 64, 56, 56)
MANY = 1_000_000


def values(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Random float32 values."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def both(*arrays: np.ndarray[Any, Any]) -> tuple[list[wb.Tensor], list[torch.Tensor]]:
    """The same values as tensors of both libraries, which do not share memory."""
    return [wb.tensor(one) for one in arrays], [torch.tensor(one) for one in arrays]


def plain(
    ours: Callable[..., Any], theirs: Callable[..., Any], *arrays: np.ndarray[Any, Any]
) -> tuple[Work, Work]:
    """The same function of the same values, in both libraries."""
    x, t = both(*arrays)
    return (lambda: ours(*x)), (lambda: theirs(*t))


# ------------------------------------------------------------------------------------------------- dispatch


def _add(grad: bool, named: bool) -> Make:
    def make() -> tuple[Work, Work]:
        names = ("C",) if named else None
        x, y = wb.randn(8, names=names, requires_grad=grad), wb.randn(8, names=names)
        a, b = torch.randn(8, requires_grad=grad), torch.randn(8)
        return (lambda: x + y), (lambda: a + b)

    return make


def _step(named: bool) -> Make:
    def make() -> tuple[Work, Work]:
        row, column = (("N", "C"), ("C",)) if named else (None, None)
        x, w, b = wb.randn(8, 4, names=row), wb.randn(8, 4, names=row), wb.randn(4, names=column)
        t, u, c = torch.randn(8, 4), torch.randn(8, 4, requires_grad=True), torch.randn(4, requires_grad=True)
        w.requires_grad_()
        b.requires_grad_()

        def step(x: Any, w: Any, b: Any) -> None:
            w.grad = b.grad = None
            (x * w + b).relu().sum().backward()

        return (lambda: step(x, w, b)), (lambda: step(t, u, c))

    return make


def dispatch_cases() -> Iterator[Case]:
    """What the library itself costs."""
    for named in (False, True):
        word = ", named" if named else ""
        yield Case(f"small add, 8 values{word}", "torch", 0.7, _add(False, named))
        yield Case(f"small add, gradient recorded{word}", "torch", 0.7, _add(True, named))
        yield Case(f"(x*w+b).relu().sum(), forward and backward{word}", "torch", 0.7, _step(named))


# ------------------------------------------------------------------------------------- elementwise, reduce


def _smoothed(*shape: int) -> Make:
    """Cross entropy with label smoothing, and its gradient."""

    def make() -> tuple[Work, Work]:
        classes = np.random.default_rng(1).integers(0, shape[1], (shape[0], *shape[2:]))
        [x, y], [t, u] = both(values(*shape), classes)

        def work(lib: Any, scores: Any, labels: Any) -> Work:
            scores.requires_grad_()

            def run() -> None:
                scores.grad = None
                lib.nn.functional.cross_entropy(scores, labels, label_smoothing=0.1).backward()

            return run

        return work(wb, x, y), work(torch, t, u)

    return make


def wide_cases() -> Iterator[Case]:
    """Elementwise work and reductions on large arrays."""
    functional, nn = torch.nn.functional, wb.nn.functional
    for shape in (FLAT, DEEP):
        size = "×".join(map(str, shape))
        pairs: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
            "exp": (wb.exp, torch.exp, 1),
            "add": (wb.add, torch.add, 2),
            "gelu": (nn.gelu, functional.gelu, 1),
            "softmax(-1)": (lambda x: x.softmax(-1), lambda t: t.softmax(-1), 1),
            "layer_norm": (
                lambda x, shape=shape: nn.layer_norm(x, shape[-1:]),
                lambda t, shape=shape: functional.layer_norm(t, shape[-1:]),
                1,
            ),
            "sum(-1)": (lambda x: x.sum(-1), lambda t: t.sum(-1), 1),
        }
        for dim in range(len(shape)):
            pairs[f"mean({dim})"] = (lambda x, d=dim: x.mean(d), lambda t, d=dim: t.mean(d), 1)
        for name, (ours, theirs, operands) in pairs.items():
            yield Case(
                f"{name}, {size}",
                "torch",
                1.0,
                lambda ours=ours, theirs=theirs, shape=shape, n=operands: plain(
                    ours, theirs, *(values(*shape, seed=i) for i in range(n))
                ),
                rounds=15,
            )

    for shape in ((1024, 1000), (8, 21, 64, 64)):
        size = "×".join(map(str, shape))
        name = f"cross entropy with smoothing, forward and backward, {size}"
        yield Case(name, "torch", 1.0, _smoothed(*shape), rounds=15)


# ---------------------------------------------------------------------------------------------- products


def product_cases() -> Iterator[Case]:
    """Products of matrices."""
    yield Case(
        "matmul 1024",
        "torch",
        1.0,
        lambda: plain(wb.matmul, torch.matmul, values(1024, 1024), values(1024, 1024, seed=1)),
    )
    yield Case("batched matmul, 384×128×64 @ 384×64×128", "torch", 1.0,
               lambda: plain(wb.matmul, torch.matmul, values(384, 128, 64), values(384, 64, 128, seed=1)))  # fmt: skip
    words = "bhqd,bhkd->bhqk"
    yield Case("einsum of attention, 32×12×128×64", "torch", 1.0,
               lambda: plain(lambda q, k: wb.einsum(words, q, k), lambda q, k: torch.einsum(words, q, k),
                             values(32, 12, 128, 64), values(32, 12, 128, 64, seed=1)))  # fmt: skip


# ------------------------------------------------------------------------------------------ order, indices


def _index(kind: str) -> Make:
    def make() -> tuple[Work, Work]:
        data = values(1000, 1000)
        picks = np.random.default_rng(1).integers(0, 1000, (1000, 1000))
        (x,), (t,) = both(data)
        at, bt = wb.tensor(picks), torch.tensor(picks)
        flat, bflat = wb.tensor(picks.ravel()), torch.tensor(picks.ravel())
        if kind == "gather":
            return (lambda: x.gather(1, at)), (lambda: t.gather(1, bt))
        if kind == "scatter_add":
            zero, bzero = wb.zeros(1000, 1000), torch.zeros(1000, 1000)
            return (lambda: wb.scatter_add(zero, 1, at, x)), (lambda: torch.scatter_add(bzero, 1, bt, t))
        row, brow = x.reshape(-1), t.reshape(-1)
        return (lambda: row[flat]), (lambda: brow[bflat])

    return make


def order_cases() -> Iterator[Case]:
    """Sorting and picking among a million values."""
    yield Case(
        "sort, 1 M",
        "torch",
        1.2,
        lambda: plain(lambda x: wb.sort(x), lambda t: torch.sort(t), values(MANY)),
        rounds=9,
    )
    yield Case(
        "topk 100, 1 M",
        "torch",
        1.2,
        lambda: plain(lambda x: wb.topk(x, 100), lambda t: torch.topk(t, 100), values(MANY)),
    )
    yield Case(
        "cumsum, 1 M", "torch", 1.2, lambda: plain(lambda x: x.cumsum(0), lambda t: t.cumsum(0), values(MANY))
    )
    for kind in ("gather", "scatter_add", "advanced indexing"):
        yield Case(f"{kind}, 1 M", "torch", 1.2, _index(kind))


# ------------------------------------------------------------------------------- transforms, factorizations


def linalg_cases() -> Iterator[Case]:
    """Transforms and factorizations."""

    def spd() -> np.ndarray[Any, Any]:
        a = values(1024, 1024)
        return a @ a.T + 1024 * np.eye(1024, dtype=np.float32)

    signal = values(MANY) + 1j * values(MANY, seed=1)
    yield Case("fft, 1 M points", "torch", 1.0, lambda: plain(wb.fft.fft, torch.fft.fft, signal), rounds=11)
    yield Case("rfft, 2^20 points", "torch", 1.0,
               lambda: plain(wb.fft.rfft, torch.fft.rfft, values(1 << 20)), rounds=11)  # fmt: skip
    yield Case("fft of 256 rows of 1024", "torch", 1.0,
               lambda: plain(wb.fft.fft, torch.fft.fft, signal[: 256 * 1024].reshape(256, 1024)))  # fmt: skip
    yield Case(
        "svd 512", "torch", 1.0, lambda: plain(wb.linalg.svd, torch.linalg.svd, values(512, 512)), rounds=9
    )
    yield Case(
        "solve 1024",
        "torch",
        1.0,
        lambda: plain(wb.linalg.solve, torch.linalg.solve, spd(), values(1024, 16)),
        rounds=11,
    )
    yield Case(
        "cholesky 1024",
        "torch",
        1.0,
        lambda: plain(wb.linalg.cholesky, torch.linalg.cholesky, spd()),
        rounds=11,
    )


# ---------------------------------------------------------------------------------------------- autograd


def _network(order: str) -> Make:
    def make() -> tuple[Work, Work]:
        arrays = [values(64, 64, seed=i) / 8 for i in range(2)]
        (w1, w2), (u1, u2) = both(*arrays)
        (x,), (t,) = both(values(64, seed=3))
        ours, theirs = wb.autograd.functional, torch.autograd.functional
        if order == "jacobian":
            return (
                lambda: ours.jacobian(lambda v: w2 @ (w1 @ v).tanh(), x, vectorize=True),
                lambda: theirs.jacobian(lambda v: u2 @ (u1 @ v).tanh(), t, vectorize=True),
            )
        return (
            lambda: ours.hessian(lambda v: (w2 @ (w1 @ v).tanh()).tanh().sum(), x, vectorize=True),
            lambda: theirs.hessian(lambda v: (u2 @ (u1 @ v).tanh()).tanh().sum(), t, vectorize=True),
        )

    return make


PEAK = """
import sys
LAYERS, WIDTH, BATCH = 12, 1024, 4096
if sys.argv[1] == "ours":
    import workbench as lib
    lib.set_num_threads(int(sys.argv[2]))
else:
    import torch as lib
    lib.set_num_threads(int(sys.argv[2]))
def status(word):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(word))
weights = [lib.randn(WIDTH, WIDTH) * 0.03 for _ in range(LAYERS)]
for w in weights:
    w.requires_grad_()
x = lib.randn(BATCH, WIDTH)
(lib.randn(8, WIDTH) @ weights[0]).relu().sum().backward()
weights[0].grad = None
with open("/proc/self/clear_refs", "w") as mark:
    mark.write("5")  # the peak starts anew: it would be that of the process which started this one
before = status("VmRSS")
h = x
for w in weights:
    h = (h @ w).relu()
h.sum().backward()
print(status("VmHWM") - before)
"""
"""Prints by how many KiB the peak of resident memory rises in a forward and backward pass of a 12-layer network."""

START = {
    "ours": "import workbench",
    "theirs": "import torch",
}


def _environment() -> dict[str, str]:
    """The environment as users have it: Python may keep what it compiles."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class ProcessCase(Case):
    """A row that is measured in processes of its own: what each prints, or how long it takes."""

    def run(self) -> Timing:
        """Run both in turn, and take the medians."""
        for side in START:  # the disk is warm, and compiled Python beside its sources
            subprocess.run([sys.executable, "-c", START[side]], check=True, env=_environment())
        found: dict[str, list[float]] = {"ours": [], "theirs": []}
        for _ in range(self.rounds):
            for side, seen in found.items():
                seen.append(self._once(side))
        return Timing(float(np.median(found["ours"])), float(np.median(found["theirs"])))

    def _once(self, side: str) -> float:
        if self.name.startswith("peak memory"):
            command = [sys.executable, "-c", PEAK, side, str(wb.get_num_threads())]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            return float(done.stdout) * 1024
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", START[side]], check=True, env=_environment())
        whole = time.perf_counter() - start
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True, env=_environment())
        return whole - (time.perf_counter() - start)


def _nothing() -> tuple[Work, Work]:
    raise AssertionError("measured in processes of its own")


def autograd_cases() -> Iterator[Case]:
    """Derivatives of functions, and what they and the package itself take."""
    for order in ("jacobian", "hessian"):
        yield Case(f"{order} of a 64-64-64 network, vectorized", "torch", 0.8, _network(order))
    yield ProcessCase(
        "peak memory, forward and backward of 12 layers", "torch", 1.0, _nothing, rounds=3, unit="B"
    )
    yield ProcessCase("import, warm disk", "import torch", 0.2, _nothing, rounds=9)


def tensor_cases() -> Iterator[Case]:
    """Every row of the tensor core."""
    for group in (dispatch_cases, wide_cases, product_cases, order_cases, linalg_cases, autograd_cases):
        yield from group()
