"""Kernels called from several Python threads at once, in forked children, and while the interpreter ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import workbench as wb
from tests.kernels.callers import Arrays, at_once
from workbench import kernels
from workbench.kernels import PackedConv2d, PackedQuantizedConv2d, PackedQuantizedLinear

F = wb.nn.functional
CALLERS = 4

Case = Callable[..., Any]


def _conv(groups: int) -> Case:
    return lambda x, w: F.conv2d(x, w, stride=1, padding=1, groups=groups)


def _recurrent(kind: str) -> Case:
    layer = getattr(wb.nn, kind)(16, 24)
    return lambda x: layer(x)[0]


# (what is called, shapes of its operands): gradients of all of them are taken too.
CASES: dict[str, tuple[Case, list[tuple[int, ...]]]] = {
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=1), [(4, 8, 40), (8, 8, 3)]),
    "conv2d": (_conv(1), [(4, 16, 14, 14), (24, 16, 3, 3)]),
    "conv2d, groups": (_conv(4), [(4, 16, 14, 14), (16, 4, 3, 3)]),
    "conv2d, one channel a group": (_conv(16), [(4, 16, 14, 14), (16, 1, 3, 3)]),
    "conv2d, many channels": (lambda x, w: F.conv2d(x, w), [(2, 96, 7, 7), (96, 96, 1, 1)]),
    "conv3d": (lambda x, w: F.conv3d(x, w, padding=1), [(2, 4, 6, 6, 6), (8, 4, 3, 3, 3)]),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, stride=2), [(4, 16, 7, 7), (16, 8, 4, 4)]),
    "matmul": (lambda a, b: a @ b, [(96, 80), (80, 64)]),
    "matmul, batch": (lambda a, b: a @ b, [(6, 48, 32), (6, 32, 40)]),
    "linear": (F.linear, [(64, 96), (128, 96), (128,)]),
    "attention": (F.scaled_dot_product_attention, [(2, 4, 40, 16)] * 3),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (96,), w, b), [(300, 96), (96,), (96,)]),
    "rms_norm": (lambda x, w: F.rms_norm(x, (96,), w), [(300, 96), (96,)]),
    "group_norm": (lambda x, w, b: F.group_norm(x, 4, w, b), [(4, 16, 20, 20), (16,), (16,)]),
    "instance_norm": (F.instance_norm, [(4, 16, 20, 20)]),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        [(4, 16, 20, 20), (16,), (16,)],
    ),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), [(4, 16, 20, 20)]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), [(4, 16, 20, 20)]),
    "softmax": (lambda x: F.softmax(x, -1), [(200, 100)]),
    "log_softmax of columns": (lambda x: F.log_softmax(x, 1), [(4, 16, 20, 20)]),
    "elementwise": (lambda x, y: F.gelu(x * y + 1.0) / (x.exp() + 1.0), [(200, 300), (300,)]),
    "sums": (lambda x: x.sum(0) + x.mean() + x.amax(0), [(200, 300)]),
    "choosing": (lambda x, y: wb.where(x > y, x.clamp(-1, 1), y.tanh()), [(200, 300), (200, 300)]),
    "sorting": (lambda x: x.sort(-1)[0] + x.cumsum(-1), [(40, 3000)]),
    "rnn": (_recurrent("RNN"), [(12, 40, 16)]),
    "lstm": (_recurrent("LSTM"), [(12, 40, 16)]),
    "gru": (_recurrent("GRU"), [(12, 40, 16)]),
    "fft": (lambda x: wb.fft.fft(wb.complex(x, x * 2)).abs(), [(1 << 16,)]),
}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = kernels.get_num_threads()
    kernels.set_num_threads(2)
    yield
    kernels.set_num_threads(before)


def _floats(seed: int, *shape: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("name", CASES)
def test_several_callers_of_one_op_get_their_own_results(name: str) -> None:
    function, shapes = CASES[name]

    def caller(seed: int) -> Callable[[], Arrays]:
        values = [_floats(seed * 10 + i, *shape) for i, shape in enumerate(shapes)]

        def call() -> Arrays:
            operands = [wb.tensor(value, requires_grad=True) for value in values]
            y = function(*operands)
            direction = wb.tensor(_floats(seed, *y.shape))
            return [one.detach().numpy() for one in (y, *wb.autograd.grad(y, operands, direction))]

        return call

    at_once([caller(seed) for seed in range(CALLERS)])


def test_several_callers_share_packed_layers() -> None:
    weight = np.random.default_rng(0).integers(-100, 100, (16, 8, 3, 3)).astype(np.int8)
    scales = np.full(16, 0.01, np.float32)
    geometry: dict[str, Any] = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    conv = PackedConv2d(_floats(1, 16, 8, 3, 3), None, **geometry)
    coded = PackedQuantizedConv2d(weight, scales, None, **geometry)
    linear = PackedQuantizedLinear(weight.reshape(16, -1), scales, None)
    codes: dict[str, Any] = {"x_scale": 0.1, "x_zero_point": 3, "scale": 0.2, "zero_point": 5}

    def caller(seed: int) -> Callable[[], Arrays]:
        x = np.random.default_rng(seed).integers(0, 255, (4, 8, 12, 12)).astype(np.uint8)
        rows = x.reshape(-1, 72)
        floats = x.astype(np.float32)
        return lambda: [conv.run(floats, True), coded.run(x, **codes), linear.run(rows, **codes)]

    at_once([caller(seed) for seed in range(CALLERS)])


def test_memory_goes_round_between_threads() -> None:
    sizes = (300, 5_000, 400_000)

    def caller(seed: int) -> Callable[[], Arrays]:
        rows = [_floats(seed, size) for size in sizes]
        return lambda: [np.sqrt((wb.tensor(row).exp() * 2 + seed).numpy()) for row in rows]

    at_once([caller(seed) for seed in range(CALLERS)])


def _ran(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


_BUSY = """
import os, signal, sys, threading, time, warnings
import numpy as np
warnings.simplefilter("ignore")
import workbench as wb
from workbench import kernels
kernels.set_num_threads(2)
x, w = np.ones((4, 8, 12, 12), np.float32), np.ones((8, 8, 3, 3), np.float32)
params = dict(stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1)
conv, packed = kernels.lookup("conv2d").run, kernels.PackedConv2d(w, None, **params)
norm = kernels.lookup("layer_norm").run
def busy(k):
    i = 0
    while True:
        i += 1
        if k == 0: conv(x, w, None, **params), packed.run(x)
        elif k == 1: conv(x[:1, :, : 6 + i % 5, : 5 + i // 5], w, None, **params)  # a shape not seen before
        else: norm(x, None, None, count=1, eps=1e-5), (wb.tensor(x) * 2).sum()
for k in range(3): threading.Thread(target=busy, args=(k,), daemon=True).start()
time.sleep(0.1)
"""


def test_a_child_may_be_forked_while_kernels_run() -> None:
    code = (
        _BUSY
        + """
want, ends = conv(x, w, None, **params), []
for i in range(12):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        same = np.array_equal(conv(x, w, None, **params), want) and np.array_equal(packed.run(x), want)
        conv(x[:, :, : 7 + i, :9], w, None, **params), norm(x, None, None, count=1, eps=1e-5)
        os._exit(0 if same else 1)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if ends[-1]: break
print(ends, flush=True)
os._exit(0)
"""
    )
    done = _ran(code)
    assert done.stdout == f"{[0] * 12}\n", done.stderr


def test_a_forked_child_is_refused_threads_that_would_never_answer() -> None:
    code = (
        _BUSY
        + """
child = os.fork()
if child == 0:
    signal.alarm(20)
    kernels.set_num_threads(1)
    try:
        kernels.set_num_threads(2)
    except RuntimeError as error:
        print(error, kernels.get_num_threads(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
os._exit(0)
"""
    )
    done = _ran(code)
    assert "this process was forked" in done.stdout and "'spawn'" in done.stdout, done.stderr
    assert done.stdout.endswith(" 1\n")


def test_the_interpreter_ends_while_threads_run_kernels() -> None:
    for _ in range(3):
        done = _ran(_BUSY)
        assert (done.returncode, done.stderr) == (0, "")
