"""What PyTorch's op database says of our functions, checked without PyTorch: a few recorded samples of every entry.

The same samples hold functions to their other forms: in place, and into ``out=``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.ops.recorded import FILE, array_at, manifest, read
from tests.peers.op_db.names import SPECIAL, function_for
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.dispatch import no_grad
from workbench.ops import FFT, FUNCTIONS, LINALG, METHODS, NN, offers
from workbench.ops import SPECIAL as SPECIAL_FUNCTIONS

ENTRIES = manifest()["entries"]
pytestmark = pytest.mark.filterwarnings("ignore")


def tensors(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [one for part in value for one in tensors(part)]
    return [value] if isinstance(value, wb.Tensor) else []


def arguments(sample: Any, requires_grad: bool = True) -> tuple[list[Any], dict[str, Any], list[Any]]:
    leaves: list[Any] = []
    args = read(sample["args"], leaves, requires_grad)
    return args, read({"dict": sample["kwargs"]["dict"]}, leaves, requires_grad), leaves


def close(mine: Any, place: Any, tolerance: Any) -> None:
    expected = array_at(place)
    array = mine.detach().numpy()
    assert array.shape == expected.shape
    assert array.dtype == expected.dtype
    rtol, atol = tolerance
    np.testing.assert_allclose(array, expected, rtol=rtol, atol=atol)


def test_the_file_is_small() -> None:
    assert FILE.stat().st_size < 5_000_000
    assert len(ENTRIES) > 400


@pytest.mark.parametrize("name", ENTRIES)
def test_entry(name: str) -> None:
    entry = ENTRIES[name]
    function = function_for(entry["name"], entry["variant"])
    for sample in entry["samples"]:
        args, kwargs, leaves = arguments(sample)
        outputs = tensors(function(*args, **kwargs))
        assert len(outputs) == len(sample["outputs"])
        for mine, place in zip(outputs, sample["outputs"], strict=True):
            close(mine, place, entry["tolerance"])
        wanted = {int(k): place for k, place in sample["gradients"].items()}
        ends = [one for one, starts in zip(outputs, sample["starts"], strict=True) if starts]
        if not wanted:
            continue
        found = wb.autograd.grad(
            ends,
            [leaves[k] for k in wanted],
            [wb.ones_like(one.detach()) for one in ends],
            allow_unused=True,
        )
        for (k, place), gradient in zip(wanted.items(), found, strict=True):
            close(
                wb.zeros_like(leaves[k].detach()) if gradient is None else gradient, place, entry["tolerance"]
            )


INPLACE = {one.name for one in offers() if one.in_place and one.place == "Tensor"}
OUT = {one.name for one in offers() if one.out}


def named(names: Any) -> list[tuple[str, Any]]:
    """The recorded samples of functions with these names."""
    return [
        (name, sample)
        for name, entry in ENTRIES.items()
        if entry["name"].rpartition(".")[2] in names and not {name, entry["name"]} & set(SPECIAL)
        for sample in entry["samples"]
    ]


def check_in_place(method: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    """``x.f_(…)`` leaves in x what ``x.f(…)`` gives, or refuses what does not fit and leaves x alone."""
    first = args[0]
    expected = METHODS[method](*args, **kwargs)
    target = first.clone()
    version, memory = target._version, target.payload
    try:
        result = METHODS[f"{method}_"](target, *args[1:], **kwargs)
    except (DimensionError, DTypeError):
        assert expected.shape != first.shape or expected.dtype != first.dtype
        np.testing.assert_array_equal(target.numpy(), first.numpy())
        assert target._version == version
        return
    assert result is target
    assert target._version > version
    assert target.dtype == first.dtype
    if expected.shape == first.shape:
        assert target.payload is memory
    np.testing.assert_allclose(target.numpy(), expected.to(first.dtype).numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", sorted({name for name, _ in named(INPLACE)}))
def test_in_place_is_the_same_in_the_memory_of_the_first(name: str) -> None:
    method = ENTRIES[name]["name"].rpartition(".")[2]
    for sample in ENTRIES[name]["samples"]:
        args, kwargs, _ = arguments(sample, requires_grad=False)
        if isinstance(args[0], wb.Tensor):
            check_in_place(method, args, kwargs)


@pytest.mark.parametrize("method", sorted(INPLACE - {ENTRIES[name]["name"] for name, _ in named(INPLACE)}))
def test_in_place_of_what_has_no_entry(method: str) -> None:
    floats, other = wb.tensor([[0.3, 0.6], [0.2, 0.9]]), wb.tensor([[0.5, 0.25], [0.75, 0.9]])
    tried = 0
    for x, y in (
        (floats, other),
        (floats.to(wb.int64) + 6, other.to(wb.int64) + 4),
        (floats > 0.5, other > 0.5),
    ):
        for args in ([x], [x, y], [x, y[0]], [x, 0.25, 0.5], [x, 1]):
            try:
                METHODS[method](*args)
            except (TypeError, ValueError, RuntimeError):
                continue
            check_in_place(method, list(args), {})
            tried += 1
    assert tried, f"no call of {method} was found"


@pytest.mark.parametrize("name", sorted({name for name, _ in named(OUT)}))
def test_out_takes_the_result(name: str) -> None:
    entry = ENTRIES[name]
    function = function_for(entry["name"], entry["variant"])
    if function not in [
        *FUNCTIONS.values(),
        *LINALG.values(),
        *FFT.values(),
        *SPECIAL_FUNCTIONS.values(),
        *NN.values(),
    ]:
        return  # a method of that name
    for sample in entry["samples"]:
        args, kwargs, _ = arguments(sample, requires_grad=False)
        with no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            expected = function(*args, **kwargs)
            several = tensors(expected)
            outs = [wb.empty(0, dtype=one.dtype) for one in several]
            given = tuple(outs) if isinstance(expected, tuple) else outs[0]
            result = function(*args, out=given, **kwargs)
            for mine, one, out in zip(tensors(result), several, outs, strict=True):
                assert mine is out
                assert out.dtype == one.dtype
                np.testing.assert_array_equal(out.numpy(), one.numpy())


def test_every_function_with_out_or_in_place_is_offered() -> None:
    everywhere = {*FUNCTIONS, *LINALG, *FFT, *SPECIAL_FUNCTIONS, *NN}
    assert everywhere >= OUT
    assert {f"{name}_" for name in INPLACE} <= set(METHODS)


TYPES = manifest()["promotion"]


def test_promotion_of_two_types() -> None:
    for pair, name in TYPES["pairs"].items():
        a, b = (getattr(wb, one) for one in pair.split())
        expected = getattr(wb, name)
        assert wb.promote_types(a, b) is expected, pair
        assert (wb.ones(2, dtype=a) * wb.ones(2, dtype=b)).dtype is expected, pair


def test_promotion_with_a_tensor_without_dims() -> None:
    for pair, name in TYPES["without dims"].items():
        a, b = (getattr(wb, one) for one in pair.split())
        if name != "complex32":  # complex numbers of two 16-bit floats: there are none
            assert (wb.ones(2, dtype=a) * wb.ones(dtype=b)).dtype is getattr(wb, name), pair


def test_promotion_with_a_number() -> None:
    for pair, name in TYPES["numbers"].items():
        dtype, kind = pair.split()
        number = {"bool": True, "int": 3, "float": 1.5, "complex": 1j}[kind]
        if name != "complex32":
            assert (wb.ones(2, dtype=getattr(wb, dtype)) * number).dtype is getattr(wb, name), pair
