"""Compiled code that no op has, on every layout: it gives what it gives for the same values row by row.

That those are right is tested with each: observers, codes, packed layers, running statistics, transforms, optimizers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.kernels.calls import floats, places
from tests.kernels.judge import Call, at_any_size, compare, ways
from tests.kernels.layouts import LAYOUTS, Layout
from workbench import kernels, optim
from workbench.kernels import (
    PackedConv2d,
    PackedNibbleLinear,
    PackedQuantizedConv2d,
    PackedQuantizedLinear,
)
from workbench.kernels.fourier import from_half, half, takes_from_half, takes_half, takes_transform, transform
from workbench.ops.nn.resample.separable import Along
from workbench.ops.quantized.code_arithmetic import powers_of_e
from workbench.ops.quantized.resampling import whole_taps

GEOMETRY: dict[str, Any] = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
CODES: dict[str, Any] = {"x_scale": 0.1, "x_zero_point": 3, "scale": 0.2, "zero_point": 5}
ROW_SCALES = np.linspace(0.1, 0.7, 7, dtype=np.float32)
WINDOWS = np.array([(0, 2), (3, 6)]), np.array([(0, 1, 5), (4, 3, 8)])
WINDOW = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}


def codes(*shape: int, dtype: str = "u1") -> Any:
    return places(100, *shape).astype(dtype)


def _of_kernel(name: str) -> tuple[Callable[..., Any], Callable[..., bool]]:
    kernel = kernels.lookup(name)
    assert kernel is not None

    def run(*arrays: Any, **params: Any) -> Any:
        found = kernel.run(*arrays, **params)
        if isinstance(found, dict):
            found = tuple(found.values())
        return tuple(map(np.asarray, found)) if isinstance(found, tuple) else found

    return run, kernel.accepts


def taps(size: int, places: int) -> tuple[Any, Any]:
    """What a linear interpolation reads, and by which whole weights."""
    along = Along("linear", size, places, None, False, False)
    return whole_taps(along)


def _packed_conv(x: Any, weight: Any, bias: Any) -> Any:
    return PackedConv2d(weight, bias, **GEOMETRY).run(x, True, (2, 2))


def _packed_codes(x: Any, weight: Any, scales: Any, bias: Any) -> Any:
    return PackedQuantizedConv2d(weight, scales, bias, **GEOMETRY).run(x, **CODES)


def _packed_linear(x: Any, weight: Any, scales: Any, bias: Any) -> Any:
    return PackedQuantizedLinear(weight, scales, bias).run(x, **CODES)


def _dynamic_linear(x: Any, weight: Any, scales: Any, bias: Any) -> Any:
    return PackedQuantizedLinear(weight, scales, bias).run_dynamic(x, by_row=True, highest=255)


def _nibbles(x: Any, weight: Any, scales: Any, zeros: Any, bias: Any) -> Any:
    return PackedNibbleLinear(weight, scales, zeros, bias).run(x)


def _always(*arrays: Any, **params: Any) -> bool:
    return True


CASES: dict[str, tuple[Callable[[], tuple[Callable[..., Any], Callable[..., bool]]], Call]] = {
    **{
        name: (lambda name=name: _of_kernel(name), ((floats(5, 37, 9), *rest), {}))  # type: ignore[misc]
        for name, rest in (
            ("min_max_nan_inf", ()), ("statistics", ()), ("histogram_counts", (-1.5, 2.0, 17)),
            ("observed_histogram", (-99.0, 99.0, 17)),
        )
    },
    "distances_to": (lambda: _of_kernel("distances_to"), ((floats(185, 9), 3), {})),
    "products_with": (
        lambda: _of_kernel("products_with"),
        ((floats(185, 9), floats(9).astype(np.float64)), {}),
    ),
    "products_of_columns": (lambda: _of_kernel("products_of_columns"), ((floats(185, 9), floats(9)), {})),
    "places_along": (lambda: _of_kernel("places_along"), ((floats(185, 9), floats(9), floats(2, 9)), {})),
    "nearest_of_products": (
        lambda: _of_kernel("nearest_of_products"),
        ((floats(4, 185), floats(185), np.abs(floats(185)), floats(185, 9), places(185, 4), np.abs(floats(4)), 7), {}),
    ),
    "row_extremes": (lambda: _of_kernel("row_extremes"), ((floats(185, 9),), {})),
    "dequantize_per_tensor": (lambda: _of_kernel("dequantize_per_tensor"), ((codes(5, 37, 9), 0.1, 3), {})),
    "dequantize_per_channel": (
        lambda: _of_kernel("dequantize_per_channel"),
        ((codes(5, 3, 9, dtype="i1"), (0.1, 0.2, 0.7), (3, 0, -4), 1), {}),
    ),
    "average_codes": (
        lambda: _of_kernel("average_codes"),
        (
            (codes(3, 17, 6, 8), WINDOWS, np.full((2, 3), 0.1, np.float32), 3),
            {},
        ),
    ),
    "signed average_codes": (
        lambda: _of_kernel("average_codes"),
        ((codes(2, 5, 9, dtype="i1"), (np.array([(0, 4), (4, 9)]),), np.full(2, 0.25, np.float32), -3), {}),
    ),
    "quantized_max_pool2d": (lambda: _of_kernel("quantized_max_pool2d"), ((codes(3, 17, 6, 8),), WINDOW)),
    "softmax_codes": (
        lambda: _of_kernel("softmax_codes"),
        ((codes(37, 19), powers_of_e(0.05), (1 / 256, 0, 0, 255)), {}),
    ),
    "normalise_codes": (
        lambda: _of_kernel("normalise_codes"),
        ((codes(9, 40), None, None, 1, 40, True, 1e-5, 0.1, 3, (0.05, 90, 0, 255)), {}),
    ),
    "multiply_matrices_of_codes": (
        lambda: _of_kernel("multiply_matrices_of_codes"),
        ((codes(3, 13, 37), 0.1, 3, codes(3, 37, 21), 0.2, 140, (4.0, 100, 0, 255)), {}),
    ),
    "resample_codes": (
        lambda: _of_kernel("resample_codes"),
        ((codes(3, 17, 6, 8), (taps(6, 9), taps(8, 5))), {}),
    ),
    "rows_of_codes": (
        lambda: _of_kernel("rows_of_codes"),
        ((codes(7, 20), ROW_SCALES, ROW_SCALES, 20, 8, np.array([1, 6, 1])), {}),
    ),
    "bags_of_codes": (
        lambda: _of_kernel("bags_of_codes"),
        ((codes(7, 10), ROW_SCALES, ROW_SCALES, 20, 4, np.array([1, 6, 1]), np.array([0, 2, 2, 3]), None, 2, 9), {}),
    ),
    "PackedConv2d": (
        lambda: (_packed_conv, _always),
        ((floats(2, 5, 8, 6), floats(17, 5, 3, 3), floats(17)), {}),
    ),
    "PackedQuantizedConv2d": (
        lambda: (_packed_codes, _always),
        ((codes(2, 5, 8, 6), codes(17, 5, 3, 3, dtype="i1"), np.abs(floats(17)) / 9, floats(17)), {}),
    ),
    "PackedQuantizedLinear": (
        lambda: (_packed_linear, _always),
        ((codes(7, 37), codes(17, 37, dtype="i1"), np.abs(floats(17)) / 9, floats(17)), {}),
    ),
    "dynamic PackedQuantizedLinear": (
        lambda: (_dynamic_linear, _always),
        ((floats(7, 37), codes(17, 37, dtype="i1"), np.abs(floats(17)) / 9, floats(17)), {}),
    ),
    "PackedNibbleLinear": (
        lambda: (_nibbles, _always),
        ((floats(7, 36), codes(17, 36) % 16, np.abs(floats(17, 4)), floats(17, 4), floats(17)), {}),
    ),
    "transform, long": (
        lambda: (
            lambda x: transform(x, (0,), inverse=False, norm="backward"),
            lambda x: takes_transform(x, (0,)),
        ),
        (((floats(1 << 16) + 1j * floats(1 << 16)).astype(np.complex64),), {}),
    ),
    "transform, rows and columns": (
        lambda: (
            lambda x: transform(x, (1, 2), inverse=True, norm="ortho"),
            lambda x: takes_transform(x, (1, 2)),
        ),
        (((floats(5, 20, 21) + 1j * floats(5, 20, 21)).astype(np.complex64),), {}),
    ),
    "half": (
        lambda: (lambda x: half(x, (0, 1), norm="backward"), lambda x: takes_half(x, (0, 1))),
        ((floats(35, 42),), {}),
    ),
    "from_half": (
        lambda: (
            lambda x: from_half(x, (0, 1), 42, norm="backward"),
            lambda x: takes_from_half(x, (0, 1), 42),
        ),
        (((floats(49, 22) + 1j * floats(49, 22)).astype(np.complex64),), {}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_results_do_not_depend_on_how_operands_lie(name: str) -> None:
    make, call = CASES[name]
    run, accepts = make()
    ran = 0
    with at_any_size():
        for where, layouts in ways(call[0]):
            try:
                ran += compare(run, run, call, layouts, accepts)
            except Exception as error:
                raise AssertionError(f"{name}, {where}: {error}") from error
    assert ran


WRITABLE = [one for one in LAYOUTS if one.keeps_values and one.name != "read-only"]


@pytest.mark.parametrize("layout", WRITABLE, ids=lambda one: one.name)
def test_running_statistics_move_in_any_memory(layout: Layout) -> None:
    values = [floats(37), np.abs(floats(37)) + 1, 2 * floats(37), np.abs(floats(37)) + 2]
    kernel = kernels.lookup("move_statistics")
    assert kernel is not None
    laid = [layout.make(one)[0] for one in values]
    dense = [one.copy() for one in values]
    rest = (40, 1e-5, 0.1)
    kernel.run(*dense, *rest)
    assert not np.array_equal(dense[0], values[0])
    if kernel.accepts(*laid, *rest):
        kernel.run(*laid, *rest)
        for have, want in zip(laid, dense, strict=True):
            np.testing.assert_array_equal(have, want)
    else:
        assert not laid[0].flags.behaved
    laid[0].flags.writeable = False
    assert not kernel.accepts(*laid, *rest)


@pytest.mark.parametrize("layout", WRITABLE, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam"]
)
def test_optimizers_step_in_any_memory(name: str, layout: Layout) -> None:
    """Parameters and gradients lie as they like; what does not suit compiled code is stepped by NumPy."""
    start, slopes = floats(5, 37), [floats(37, 5).T, floats(5, 37)]

    def stepped(lay: Callable[[Any], Any]) -> Any:
        parameter = wb.nn.Parameter(wb.zeros(5, 37))
        parameter.payload = lay(start)
        optimizer = getattr(optim, name)([parameter], lr=0.1)
        for slope in slopes:
            parameter.grad = wb.zeros(5, 37)
            parameter.grad.payload = lay(slope)
            optimizer.step()
        return parameter.payload

    found = stepped(lambda one: layout.make(one)[0])
    np.testing.assert_allclose(found, stepped(np.array), rtol=2e-6, atol=1e-7)
