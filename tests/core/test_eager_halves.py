"""Compiled dispatch of 16-bit values, and under `autocast`: as Python's, and Python is not in the way."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import workbench as wb
from tests.kernels.calls import LARGE, grown, samples
from workbench import kernels
from workbench.core import dispatch
from workbench.core.autocast import Autocast
from workbench.core.bases import eager
from workbench.core.op import Op, ops, table
from workbench.kernels.processor import multiplies_bfloat16

pytestmark = pytest.mark.skipif(eager is None, reason="the compiled module was not built")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
CAST = [op for op in table() if op.properties & {"narrow", "wide"} and not op.properties & {"random"}]
COMPUTED = [op for op in table() if op.half_kernel is not None]
BLOCKS = {
    "none": nullcontext,
    "bfloat16": lambda: wb.autocast(dtype="bfloat16"),
    "float16": lambda: wb.autocast(dtype="float16"),
}


def _values(inputs: tuple[Any, ...], dtype: Any) -> list[Any]:
    """Return tensors in which gradients gather; what is no float32 stays as it is."""
    made: list[Any] = []
    for one in inputs:
        if not isinstance(one, np.ndarray):
            made.append(one)
            continue
        cast = one.dtype == np.float32
        with np.errstate(all="ignore"):
            value = wb.from_numpy(one.astype(dtype) if cast else one.copy())
        made.append(value.requires_grad_() if cast else value)
    return made


def _seen(call: Any, values: list[Any], params: dict[str, Any]) -> list[Any]:
    """Return bits, types, names and the way on the tape of the results, or the refusal."""
    try:
        found = call(*values, **params)
    except Exception as error:
        return [type(error), str(error)]
    seen: list[Any] = []
    for one in found if isinstance(found, tuple) else (found,):
        array = one.payload
        seen += [array.dtype, array.shape, array.tobytes(), one._names, one._requires_grad, one._output]
        node = one._grad_fn
        seen.append(
            None if node is None else [_told(node), *(_told(each._grad_fn) for each in _inputs(node))]
        )
    return seen


def _inputs(node: Any) -> Iterator[Any]:
    return (one for one in node.inputs if isinstance(one, wb.Tensor) and one._grad_fn is not None)


def _told(node: Any) -> tuple[Any, ...]:
    saved = node.saved and [getattr(one, "shape", None) for one in node.saved]
    types = [getattr(getattr(one, "payload", None), "dtype", None) for one in node.inputs]
    return node.op.name, repr(node.params), saved, types, node.versions


def _hold(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    for dtype in (np.float32, BFLOAT16, np.float16):
        for word, block in BLOCKS.items():
            values = _values(inputs, dtype)
            with block():
                compiled = _seen(op, values, params)
                plain = _seen(lambda *inputs, **params: dispatch.apply(op, *inputs, **params), values, params)
            assert compiled == plain, (op.name, dtype, word)


@pytest.mark.parametrize("op", [*CAST, *COMPUTED], ids=lambda op: op.name)
def test_compiled_calls_are_those_of_python(op: Op) -> None:
    for calls in (samples(op), grown(op, LARGE)):
        for i, (inputs, params) in enumerate(calls):
            if i < 4:
                _hold(op, inputs, params)


def test_names_labels_and_refusals_are_those_of_python() -> None:
    layer, linear = wb.nn.Linear(3, 2), ops.linear
    with wb.autocast():
        for x in (wb.randn(N=4, C=3), wb.randn(4, 3), wb.randn(N=4, out_features=3), wb.randn(4, 5)):
            values = [x, layer.weight, layer.bias]
            assert _seen(linear, values, {}) == _seen(
                lambda *given: dispatch.apply(linear, *given), values, {}
            )


def _called(work: Callable[[], object], *functions: Any) -> list[str]:
    """Return which of some functions are called meanwhile, by Python's own events."""
    codes = {one.__code__: one.__qualname__ for one in functions}
    found: list[str] = []

    def see(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code in codes:
            found.append(codes[frame.f_code])

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.skipif(
    not kernels.available() or not multiplies_bfloat16(),
    reason="products in 16 bits are cast in Python first",
)
def test_python_dispatches_no_op_of_a_step_under_autocast() -> None:
    nn = wb.nn
    model = nn.Sequential(
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(1024, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 256),
    )  # fmt: skip
    x = wb.randn(32, 8, 16, 16)

    def step() -> None:
        with wb.autocast():
            loss = model(x).square().mean()
        loss.backward()

    step()
    assert _called(step, dispatch.apply, Autocast.process) == []


def test_gradients_are_the_same_to_the_last_bit_at_every_run() -> None:
    wb.manual_seed(0)
    model = wb.nn.Sequential(wb.nn.Conv2d(8, 16, 3), wb.nn.ReLU(), wb.nn.Flatten(), wb.nn.Linear(16 * 36, 64))
    x = wb.randn(32, 8, 8, 8)
    found = []
    for _ in range(3):
        model.zero_grad()
        with wb.autocast():
            loss = model(x).square().mean()
        loss.backward()
        found.append(
            [loss.detach().numpy().tobytes(), *(p.grad.numpy().tobytes() for p in model.parameters())]
        )
    assert found[0] == found[1] == found[2]
